"""Inverse kinematics on a GPU: the bits of the CPU."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError


@pytest.mark.parametrize("kind", ["poses", "positions", "several frames"])
def test_a_gpu_finds_the_same_positions(cp, kind):
    robot = kt.robots.panda()
    q = np.array([robot.random(rng=k) for k in range(300)])
    T = robot.pose(q)
    target = {"poses": T, "positions": T[:, :3, 3]}.get(kind)
    if target is None:
        target = {"panda_link7": robot.pose(q, "panda_link7"), "tool": T[:, :3, 3]}
    on_gpu = (
        {name: cp.asarray(x) for name, x in target.items()}
        if isinstance(target, dict)
        else cp.asarray(target)
    )
    found, expected = robot.inverse_kinematics(on_gpu), robot.inverse_kinematics(target)
    assert isinstance(found.q, cp.ndarray) and found.q.shape == q.shape
    assert np.array_equal(found.q.get(), expected.q)
    assert np.array_equal(found.restarts.get(), expected.restarts)
    assert np.array_equal(found.reached.get(), expected.reached)


def test_bad_targets_on_a_gpu_are_refused(cp):
    robot = kt.robots.panda()
    for wrong in (cp.full((2, 4, 4), cp.nan), cp.ones((2, 4, 4))):
        with pytest.raises(InputError):
            robot.inverse_kinematics(wrong)
