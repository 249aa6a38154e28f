"""Rollouts of a study: those of `robot.simulate`, with the same bits in any chunk."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ShapeError
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q0": [0.0]}, r"q0 of the study .* shape \(7,\)"),
        ({"q0": None}, "q0 is None; expected numbers"),
        ({"q0": Noise(1, 1)}, "q0 is Noise"),
        ({"tau": Noise(-1, 1)}, "std of the noise of tau"),
        ({"tau": Noise(1, 0)}, "hold of the noise of tau"),
        ({"tau": lambda t: t}, "tau is .* code"),
        ({"controller": lambda t, q, dq: q}, "controller is .* code"),
        ({"controller": kt.controllers.PD(lambda t: t, 1, 1)}, "controller.reference is .* code"),
        ({"parameters": {"colour": 1}}, "'colour' cannot be left free"),
        ({"method": "heun"}, "method is 'heun'"),
        ({"method": "dop853", "every": 2}, "every is 2"),
        ({"every": 0}, "every is 0"),
        ({"duration": -1}, "duration is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": 2**63}, r"seed is .* below 2\*\*63"),
        ({"chunk": 0}, "chunk is 0"),
        ({"workers": 0}, "workers is 0"),
        ({"executor": "abacus"}, "executor is 'abacus'"),
        ({"colour": 1}, "no option colour"),
        ({"n": 0}, "n is 0"),
        ({"n": np.array([2, 3])}, "n is array"),
        ({"parameters": 3}, "parameters are 3"),
        ({"output": 3}, "output is 3; expected the name of a file"),
        ({"robot": 3}, "robot is 3"),
    ],
)
def test_what_makes_no_study_is_refused(change, message):
    study = {"n": 3, "q0": HOME, "duration": 0.01, **change}
    with pytest.raises((InputError, ShapeError), match=message):
        rollouts(**{"robot": PANDA, **study})


LAWS = {
    "tau": lambda robot: {"tau": kt.law(lambda t, q, dq: np.sin(t) - q - dq, robot)},
    "time": lambda robot: {"tau": kt.law(lambda t: np.array([t, -t]))},
    "F_ext": lambda robot: {"F_ext": kt.law(lambda t, q, dq: np.ones((2, 6)) * q[0], robot)},
    "controller": lambda robot: {"controller": kt.law(lambda t, q, dq: -5 * q - dq, robot)},
    "Law": lambda robot: {
        "controller": kt.controllers.Law(kt.law(lambda t, q, dq: -5 * q - dq, robot))
    },
    "Stateful": lambda robot: {
        "controller": kt.controllers.Stateful(
            kt.law(lambda t, q, dq, z: (-5 * q - z, q - z), robot, shapes={"z": 2}), [0.1, 0.2]
        )
    },
}


@pytest.mark.parametrize("name", LAWS)
def test_a_law_that_is_a_value_acts_in_every_place(name):
    robot = kt.robots.planar_2r()
    given, q0 = LAWS[name](robot), [0.1, 0.2]
    found = rollouts(robot, 3, q0=q0, duration=0.05, seed=1, **given)
    expected = robot.simulate(q0, duration=0.05, method="rk4", limits="record", **given)
    assert np.array_equal(found["q"], np.tile(expected.q[-1], (3, 1)))
    assert not np.array_equal(expected.q, robot.simulate(q0, duration=0.05, method="rk4").q)


def test_a_law_is_no_state_and_a_function_in_a_record_is_code():
    robot = kt.robots.planar_2r()
    with pytest.raises(InputError, match="q0 of the study is <law"):
        rollouts(robot, 1, q0=kt.law(lambda t, q, dq: q, robot), duration=0.1)
    with pytest.raises(InputError, match=r"controller\.function is .*kinetree\.law\(f, robot\)"):
        law = kt.controllers.Law(lambda t, q, dq: -q)
        rollouts(robot, 1, q0=[0.1, 0.2], duration=0.1, controller=law)


ROBOT = kt.robots.double_pendulum()
STUDY = {"q0": Normal(0, 1), "duration": 0.01}


def test_nothing_is_said_without_a_terminal(capfd):
    rollouts(ROBOT, 10, **STUDY)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_request(capfd):
    rollouts(ROBOT, 10, progress=True, chunk=3, **STUDY)
    out, err = capfd.readouterr()
    assert out == "" and f"rollouts of {ROBOT.name}" in err and "10/10" in err
