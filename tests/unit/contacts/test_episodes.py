"""Steps of environments in one kernel, against a loop in Python that resets by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from ground.environments import make
from ground.episodes import episode_graph, episode_kernel
from ground.tasks import TASKS
from scipy.spatial.transform import Rotation

import kinetree as kt
from exact_graphs import interpret


def short(name="monoped", **changes):
    """A task whose episodes last for few steps."""
    return replace(TASKS[name](), **({"seconds": 0.24, "spread": 0.3} | changes))


def rounded_once(x, y, z):
    """x + y z, each rounded once, as compiled code fuses them."""
    exact = [Fraction(a) + Fraction(b) * Fraction(c) for a, b, c in zip(x, y, z, strict=True)]
    return np.array([float(x) for x in exact])


def by_hand(task, env, actions, same, friction=None):
    """The same environment, robot after robot, with steps of `Robot.step` and plain Python.

    Returns q, dq, reward, fallen and late of every step, and the starts that were drawn.
    """
    starts = [np.asarray(x) for x in env.table]
    robots = [task.robot] * env.num_envs
    if friction is not None:
        points = task.robot.model.contacts.points
        robots = [
            task.robot.with_contacts([replace(p, friction=float(mu)) for p in points])
            for mu in friction
        ]
    states = [(starts[0][i % 256], starts[1][i % 256], 0, False) for i in range(env.num_envs)]
    rows = []
    for k, action in enumerate(actions):
        row = []
        for i, (q, dq, age, ended) in enumerate(states):
            a = np.clip(action[i], -1, 1)
            goals = rounded_once(task.stance[task.servos], task.reach, a)
            for _ in range(task.substeps):
                q, dq = robots[i].step(q, dq, None, task.dt, controls=goals, method="implicit")
            if task.on_plane:
                height, upright, forward = q[1], np.cos(q[2]), dq[0]
            else:
                R = Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix()
                height, upright, forward = q[6], R[2, 2], (R @ dq[3:6])[0]
            stands = height > task.lowest and upright > 0.5
            age += 1
            reward = 1 - task.effort * np.mean(a * a)
            if task.speed:
                reward += np.clip(forward, -task.speed, task.speed) / task.speed
            fallen = not stands and not ended
            late = stands and age >= env.last and not ended
            reward = reward if stands and not ended else 0.0
            fresh = (fallen or late) if same else ended
            if fresh:
                q, dq, age = starts[0][(i + k + 1) % 256], starts[1][(i + k + 1) % 256], 0
            states[i] = q, dq, age, (fallen or late) and not same
            row.append((q, dq, reward, fallen, late))
        rows.append(row)
    return rows


def assert_same(task, env, actions, same, friction=None):
    env.reset(seed=4)
    expected = by_hand(task, env, actions, same, friction)
    counts = np.zeros(2, int)
    for action, row in zip(actions, expected, strict=True):
        _, reward, fallen, late, _ = env.step(action)
        q, dq, rewards, fell, ended = (np.array(x) for x in zip(*row, strict=True))
        np.testing.assert_array_equal(env.q, q)
        np.testing.assert_array_equal(env.dq, dq)
        np.testing.assert_allclose(reward, rewards, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(fallen, fell)
        np.testing.assert_array_equal(late, ended)
        counts += fallen.sum(), late.sum()
    assert (counts > 0).all()  # some fall, some last


@pytest.mark.parametrize("same", [True, False], ids=["same_step", "next_step"])
def test_states_rewards_and_resets_are_those_of_a_loop_by_hand(same):
    task = short(lowest=0.42)
    env = make(task, 7, autoreset="same_step" if same else "next_step")
    actions = np.random.default_rng(0).uniform(-1.5, 1.5, (40, 7, 2))
    assert_same(task, env, actions, same)


def test_the_number_of_environments_and_threads_changes_no_bit(monkeypatch):
    task = short()
    kernel = episode_kernel(task, 12, True)
    rng = np.random.default_rng(3)
    q, dq = task.starts(37, rng)
    q[5, 1] = 0.0  # has fallen
    q0, dq0 = task.starts(37, rng)
    arguments = (q, dq, rng.integers(0, 12, 37).astype(float), np.zeros(37),
                 rng.uniform(-1, 1, (37, 2)), q0, dq0)  # fmt: skip
    whole = kernel(*arguments)
    assert whole[6][5] == 1 and whole[7].any()
    for piece in (slice(0, 1), slice(5, 6), slice(3, 20)):
        for a, b in zip(kernel(*(x[piece] for x in arguments)), whole, strict=True):
            np.testing.assert_array_equal(a, b[piece])
    with kt.kernels.threads(2):
        for a, b in zip(kernel(*arguments), whole, strict=True):
            np.testing.assert_array_equal(a, b)
    graph = episode_graph(task, 12, True, ())
    few = [x[4:7] for x in arguments]
    for a, b in zip(interpret(graph, *few), whole, strict=True):
        np.testing.assert_array_equal(a, b[4:7])


def test_a_state_that_is_not_finite_has_fallen_and_begins_anew():
    env = make(short(), 3)
    env.reset(seed=0)
    env.q[1, 3] = np.nan
    actions = np.zeros((3, 2))
    actions[2] = np.nan
    seen, reward, fallen, late, infos = env.step(actions)
    assert fallen.tolist() == [False, True, True] and not late.any()
    assert np.isfinite(seen).all() and np.isfinite(env.q).all() and reward[1:].tolist() == [0, 0]
    assert infos["_final_obs"].tolist() == [False, True, True]
