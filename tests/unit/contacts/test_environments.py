"""Environments: the vector interface of Gymnasium, resets in the step, other kinds of arrays."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError

gymnasium = pytest.importorskip("gymnasium")
TASKS = ("monoped", "quadruped", "humanoid")
make = kt.contacts.environments.make


@pytest.fixture(scope="module", params=TASKS)
def env(request):
    return make(request.param, 8)


def test_steps_have_the_spaces_that_are_declared(env):
    assert isinstance(env, gymnasium.vector.VectorEnv)
    seen, infos = env.reset(seed=1)
    assert env.observation_space.contains(seen) and infos == {}
    for _ in range(3):
        seen, reward, ended, late, infos = env.step(env.action_space.sample())
    assert env.observation_space.contains(seen) and np.isfinite(reward).all()
    assert ended.dtype == late.dtype == bool and reward.shape == ended.shape == (8,)
    assert infos["final_obs"].shape == seen.shape


def test_a_seed_decides_everything(env):
    runs = []
    for _ in range(2):
        first, _ = env.reset(seed=5)
        runs.append((first, *env.step(np.zeros(env.action_space.shape))[:4]))
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(env.reset(seed=6)[0], runs[0][0])


def test_the_stance_stands(env):
    """With the goals of the stance, robots stay up for a second, except the monoped's balance."""
    env.reset(seed=2)
    steps = 10 if env.task.on_plane else 50
    fallen = [env.step(np.zeros(env.action_space.shape))[2] for _ in range(steps)]
    assert np.mean(fallen) < 0.01


def test_a_robot_that_falls_begins_anew_in_the_same_step(env):
    env.reset(seed=3)
    env.q[0, 1 if env.task.on_plane else 6] = -1.0  # far below
    seen, reward, ended, late, infos = env.step(np.zeros(env.action_space.shape))
    assert ended[0] and not late.any() and reward[0] == 0
    assert infos["_final_obs"][0] and infos["final_obs"][0, 0] < env.task.lowest < seen[0, 0]


def test_resets_in_the_next_step_suit_wrappers_of_observations():
    env = make("monoped", 4, autoreset="next_step")
    wrapped = gymnasium.wrappers.vector.NormalizeObservation(env)
    wrapped.reset(seed=3)
    env.q[0, 1] = -1.0  # far below
    still = np.zeros(env.action_space.shape)
    _, _, ended, _, infos = wrapped.step(still)
    assert ended.tolist() == [True, False, False, False] and env.q[0, 1] < 0 and infos == {}
    _, reward, ended, late, _ = wrapped.step(still)
    assert not ended.any() and not late.any() and env.q[0, 1] > env.task.lowest
    assert reward[0] == 0 and (reward[1:] > 0).all() and env.age.tolist() == [0, 2, 2, 2]


def test_an_episode_ends_after_its_time():
    env = make("monoped", 2)
    env.reset(seed=0)
    env.age = env.age + env.last - 1
    _, _, ended, late, _ = env.step(np.zeros((2, 2)))
    assert late.all() and not ended.any() and (env.age == 0).all()


@pytest.mark.parametrize("arrays", ["torch", "jax"])
def test_tensors_stay_tensors_with_the_same_numbers(arrays):
    module = pytest.importorskip(arrays)
    if arrays == "jax":
        module.config.update("jax_enable_x64", True)
    env, plain = make("monoped", 3, arrays=arrays), make("monoped", 3)
    seen, expected = env.reset(seed=1)[0], plain.reset(seed=1)[0]
    for _ in range(3):
        actions = np.full((3, 2), 0.3)
        seen = env.step(env.arrays.of(actions))[0]
        expected = plain.step(actions)[0]
    assert type(seen).__module__.partition(".")[0] in (arrays, "jaxlib")
    np.testing.assert_array_equal(np.asarray(seen), expected)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="there is no task 'snake'; choose humanoid, monoped"):
        make("snake", 2)
    with pytest.raises(InputError, match="arrays is 'mxnet'; expected one of numpy, torch"):
        make("monoped", 2, arrays="mxnet")
    with pytest.raises(InputError, match="autoreset is 'never'; expected same_step or next_step"):
        make("monoped", 2, autoreset="never")
