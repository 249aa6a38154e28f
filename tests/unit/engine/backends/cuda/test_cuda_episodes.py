"""Steps of environments in CUDA C++: the bits of the CPU, and resets on a GPU."""

from dataclasses import replace

import numpy as np
import pytest
from ground.episodes import episode_graph, episode_kernel
from ground.tasks import TASKS

import kinetree as kt
from kinetree.engine import CudaKernel

LAST, COUNT = 12, 37


def arguments(task, count=COUNT):
    """States of which some have fallen or are late, actions and starts."""
    rng = np.random.default_rng(3)
    q, dq = task.starts(count, rng)
    q[::5, 1 if task.on_plane else 6] = -1.0
    ages = rng.integers(0, LAST, count).astype(float)
    actions = rng.uniform(-1, 1, (count, len(task.servos)))
    return [q, dq, ages, np.zeros(count), actions, *task.starts(count, rng)]


@pytest.mark.parametrize("name", TASKS)
def test_kernels_on_a_gpu(cp, name):
    task = replace(TASKS[name](), spread=0.1)
    given = arguments(task, 1000)
    expected = episode_kernel(task, LAST, True)(*given)
    kernel = CudaKernel(episode_graph(task, LAST, True, ()), "environment_step")
    for a, b in zip(kernel(*map(cp.asarray, given)), expected, strict=True):
        np.testing.assert_array_equal(a.get(), b)


@pytest.mark.parametrize("arrays", ["cupy", "torch"])
def test_environments_on_a_gpu_are_those_of_the_cpu(cp, arrays):
    pytest.importorskip("gymnasium")
    pytest.importorskip(arrays)
    task = replace(TASKS["monoped"](), spread=0.3, seconds=0.2, lowest=0.42)
    device = {"device": "cuda"} if arrays == "torch" else {}
    make = kt.contacts.environments.make
    plain, env = make(task, 70), make(task, 70, arrays=arrays, **device)
    plain.reset(seed=1)
    env.reset(seed=1)
    ends = 0
    for action in np.random.default_rng(0).uniform(-1, 1, (25, 70, 2)):
        expected, found = plain.step(action), env.step(env.arrays.of(action))
        ends += expected[2].sum() + expected[3].sum()
        for a, b in zip(found[:4], expected[:4], strict=True):
            a = a.get() if arrays == "cupy" else a.cpu().numpy()
            np.testing.assert_array_equal(a, b)
    assert ends > 70
