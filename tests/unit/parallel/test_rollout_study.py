"""Rollouts of a study: those of `robot.simulate`, with the same bits in any chunk."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.parallel import Anywhere, Grid, Noise, Normal, Spread, Uniform, rollouts
from kinetree.simulate import signal

PANDA = kt.robots.panda()
HOME = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5])
PLAN = kt.motion.quintic(HOME, HOME + 0.2, duration=0.05, dt=0.01, robot=PANDA)
CASES = {
    "falls": {"q0": Anywhere(), "dq0": Normal(0, 0.2)},
    "other robots": {"q0": HOME, "parameters": {"mass": Spread(0.2), "gravity": Spread(0.1)}},
    "friction": {
        "q0": Normal(HOME, 0.1),
        "parameters": {"friction": Uniform(0, np.tile([1.0, 1, 3, 3], (7, 1)))},
    },
    "held": {
        "q0": Normal(HOME, 0.1),
        "controller": kt.controllers.PD(HOME, 100.0, 10.0, gravity=True),
        "tau": Noise(2.0, 0.01),
    },
    "pushed": {"q0": HOME, "F_ext": Noise(1.0, 0.02), "tau": Uniform(-1, 1)},
    "follows": {
        "q0": Normal(HOME, 0.01),
        "controller": kt.controllers.ComputedTorque(PLAN, 400.0, 40.0, model=PANDA),
        "parameters": {"mass": Spread(0.2)},
    },
    "adaptive": {"q0": Anywhere(), "method": "dop853", "dt": 0.01},
    "euler": {"q0": Anywhere(), "method": "semi_implicit_euler"},
}


@pytest.mark.parametrize("case", CASES)
def test_chunks_change_no_bit(case):
    study = {"duration": 0.05, "every": 1, **CASES[case]}
    expected = rollouts(PANDA, 21, chunk=21, workers=1, **study)
    assert np.isfinite(expected["q"]).all()
    for chunk in (1, 13):
        found = rollouts(PANDA, 21, chunk=chunk, workers=2, **study)
        assert found.table.tobytes() == expected.table.tobytes()


def test_quaternions_too():
    robot = kt.robots.quadruped()
    study = {"q0": Normal(robot.neutral(), 0.1), "dq0": Normal(0, 1), "duration": 0.02}
    expected = rollouts(robot, 19, chunk=19, **study)
    found = rollouts(robot, 19, chunk=4, **study)
    assert found.table.tobytes() == expected.table.tobytes()
    assert np.allclose(np.linalg.norm(found["q"][:, :4], axis=1), 1, atol=1e-14)


def test_a_study_is_a_batch_of_simulations():
    found = rollouts(
        PANDA, 30, q0=Normal(HOME, 0.1), dq0=Uniform(-1, 1), tau=Uniform(-5, 5),
        parameters={"mass": Spread(0.1)}, duration=0.03,
    )  # fmt: skip
    motion = PANDA.simulate(
        found["q0"], found["dq0"], tau=found["tau"], parameters={"mass": found["mass"]},
        duration=0.03, method="rk4", limits="ignore",
    )  # fmt: skip
    assert np.array_equal(found["q"], motion.q[-1])
    assert np.array_equal(found["dq"], motion.dq[-1])
    assert np.array_equal(found["peak_dq"], abs(motion.dq).max(axis=0))
    assert np.array_equal(found["peak_tau"], abs(motion.tau).max(axis=0))


def test_recorded_steps_are_rows():
    study = {"q0": Normal(HOME, 0.1), "duration": 0.02, "dt": 0.002}
    steps = rollouts(PANDA, 5, every=3, **study)
    last = rollouts(PANDA, 5, **study)
    assert steps["q"].shape == (5, 5, 7)  # 0, 6, 12, 18 ms and the last
    assert np.allclose(steps["t"], [0, 0.006, 0.012, 0.018, 0.02], atol=1e-15)
    assert np.array_equal(steps["q"][:, -1], last["q"])
    assert np.array_equal(steps["q"][:, 0], last["q0"])
    assert np.array_equal(steps["sample"], np.repeat(np.arange(5), 5).reshape(5, 5))


def test_noise_is_held_and_normal():
    robot = kt.robots.double_pendulum()
    found = rollouts(
        robot, 200, q0=[0.0, 0.0], tau=Noise([1.0, 3.0], 0.01), duration=0.1, dt=0.002, every=1
    )
    held = found["tau"][:, :-1].reshape(200, 10, 5, 2)
    assert np.array_equal(held, np.repeat(held[:, :, :1], 5, axis=2))
    values = held[:, :, 0].reshape(-1, 2)
    # 2000 numbers: five standard errors of a standard deviation
    assert np.allclose(values.std(axis=0), [1, 3], rtol=5 / np.sqrt(2 * 2000))
    # and it is what simulate makes of the same signal
    one = signal(np.arange(10) * 0.01, held[7, :, 0])
    motion = robot.simulate([0.0, 0.0], tau=one, duration=0.1, dt=0.002, method="rk4")
    assert np.array_equal(found["q"][7], motion.q)


@pytest.mark.filterwarnings("ignore:the energy of")  # the second rollout is meant to be lost
def test_limits_and_lost_numbers_are_noted():
    low, high = PANDA.model.joints[3].limits.lower, PANDA.model.joints[3].limits.upper
    inside = np.array(HOME)
    beyond = HOME.copy()
    beyond[3] = high + 0.1
    assert low < inside[3] < high
    found = rollouts(PANDA, 1, q0=Grid([inside, beyond]), duration=0.002)
    assert np.isnan(found["violated_at"][0]) and found["violated_at"][1] == 0
    assert np.isnan(found["lost_at"]).all()
    wild = rollouts(
        PANDA, 1, q0=HOME, dq0=Grid([0.0, 1e100]), duration=0.02, method="euler", every=1
    )
    noted = rollouts(PANDA, 1, q0=HOME, dq0=Grid([0.0, 1e100]), duration=0.02, method="euler")
    assert np.isnan(noted["lost_at"][0]) and noted["lost_at"][1] >= 0
    ended = wild["t"][1] > noted["lost_at"][1] - 1.5e-3  # accelerations go one step before
    for name in ("q", "dq", "tau"):  # no numbers where there was no motion any more
        assert np.isfinite(wild[name][0]).all()
        assert np.array_equal(np.isnan(wild[name][1]).all(axis=-1), ended)
    for name in ("q", "dq", "peak_dq", "peak_tau"):
        assert np.isfinite(noted[name][0]).all() and np.isnan(noted[name][1]).all()
    assert wild.lost().tolist() == noted.lost().tolist() == [1]
