"""Controls, activations and drives in simulations: laws, closed forms, and refusals in words."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.joints.actuation import actuate, actuator_gains, drive_forces
from kinetree.simulate import signal

A = kt.Actuator
ARM = kt.robots.planar_2r()
SERVOS = ARM.with_actuators(
    {"elbow": A.position("joint2", 50, 5, time_constant=0.1), "m": A.motor("joint1")}
)
H = 1 / 1024
START = {"q0": [0.1, 0.2], "dq0": [1.0, 0.0], "limits": "ignore"}
FIXED = ("euler", "semi_implicit_euler", "implicit", "implicitfast", "rk4")


def run(robot, steps=32, **options):
    given = START | {"method": "semi_implicit_euler", "dt": H} | options
    return robot.simulate(duration=steps * given["dt"], **given)


@pytest.mark.parametrize("method", FIXED)
def test_steps_with_controls_are_those_of_simulate_to_the_last_bit(method):
    motion = run(SERVOS, tau=[0, 0.1], controls=[0.5, 1.0], method=method)
    q, dq, a = np.array([0.1, 0.2]), np.array([1.0, 0.0]), np.zeros(1)
    for _ in range(32):
        q, dq, a = SERVOS.step(q, dq, [0, 0.1], H, controls=[0.5, 1.0], activation=a, method=method)
    assert (q == motion.q[-1]).all() and (dq == motion.dq[-1]).all()
    assert a[0] == motion.meta["activation"]["elbow"][-1]
    assert motion.meta["compiled"]


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "rk4", "dop853"])
def test_motors_without_limits_are_joint_forces_to_the_last_bit(method):
    motors = ARM.with_actuators({"a": A.motor("joint1"), "b": A.motor("joint2")})
    step = {} if method == "dop853" else {"dt": H}
    given = START | {"method": method, "duration": 1 / 32} | step
    with_controls = motors.simulate(controls=[0.5, -1.0], **given)
    with_forces = motors.simulate(tau=[0.5, -1.0], **given)
    assert (with_controls.q == with_forces.q).all()
    assert (with_controls.tau == with_forces.tau).all()
    assert (with_controls.meta["controls"]["b"] == -1).all()


def test_actuators_do_not_act_without_controls():
    assert (run(SERVOS, tau=[1, 2]).q == run(ARM, tau=[1, 2]).q).all()


def test_controls_and_joint_forces_add():
    motors = ARM.with_actuators({"a": A.motor("joint1"), "b": A.motor("joint2")})
    both = run(motors, tau=[0.25, 0.5], controls=[0.5, -1.0])
    assert (both.tau == np.array([0.75, -0.5])).all()
    law = run(motors, controller=lambda t, q, dq: -dq, controls=[0.5, -1.0])
    assert abs(law.tau - (np.array([0.5, -1.0]) - law.dq)).max() < 1e-15


def test_the_order_of_actuators_does_not_matter():
    names = list(SERVOS.model.actuator_names)
    records = {"elbow": A.position("joint2", 50, 5, time_constant=0.1), "m": A.motor("joint1")}
    turned = ARM.with_actuators({name: records[name] for name in reversed(names)})
    values = {"m": 0.7, "elbow": 0.3}
    one, two = run(SERVOS, controls=values), run(turned, controls=values)
    assert abs(one.q - two.q).max() < 1e-15


def test_controls_are_taken_in_every_form():
    u = np.array([0.5, 1.0])
    expected = run(SERVOS, controls=u)
    forms = {
        "dict": {"m": 1.0, "elbow": 0.5},
        "signal": signal([0, 1], [u, u]),
        "time": lambda t: u + 0 * t,
        "law": lambda t, q, dq: u + 0 * q[0],
    }
    for form, value in forms.items():
        assert abs(run(SERVOS, controls=value).q - expected.q).max() < 1e-15, form
    batch = run(SERVOS, controls=np.array([u, 2 * u]))
    assert (batch.q[:, 0] == expected.q).all() and batch.q.shape == (33, 2, 2)
    assert batch.meta["activation"]["elbow"].shape == (33, 2)


def test_a_law_that_runs_in_python_gives_the_same_motion():
    def traced(t, q, dq):
        return np.array([0.5 - q[1], -dq[0]])

    def untraced(t, q, dq):
        return [0.5 - float(q[1]), -float(dq[0])]

    expected, found = run(SERVOS, 8, controls=traced), run(SERVOS, 8, controls=untraced)
    assert expected.meta["compiled"] and not found.meta["compiled"]
    assert abs(found.q - expected.q).max() < 1e-14
    assert (found.meta["controls"]["m"] == -found.dq[:, 0]).all()


def test_lag_of_an_activation_is_the_closed_form():
    for method in ("semi_implicit_euler", "implicit", "rk4", "dop853"):
        step = {} if method == "dop853" else {"dt": H}
        motion = SERVOS.simulate(duration=0.125, method=method, controls=[0.5, 0], **START, **step)
        exact = 0.5 * (1 - np.exp(-motion.t / 0.1))
        tolerance = 1e-10 if method in ("rk4", "dop853") else 1e-14
        assert abs(motion.meta["activation"]["elbow"] - exact).max() < tolerance, method


def test_fixed_and_adaptive_steps_agree_in_the_limit():
    adaptive = SERVOS.simulate(duration=0.2, controls=[0.5, 1.0], **START)
    fine = SERVOS.simulate(
        duration=0.2, controls=[0.5, 1.0], method="rk4", dt=2.5e-4, every=40, **START
    )
    assert abs(adaptive.q - fine.q).max() < 1e-9


@pytest.mark.parametrize("method", [*FIXED, "dop853"])
def test_an_activation_stays_in_its_range(method):
    servo = A.integrated_velocity("joint1", 20, activation_range=(-0.1, 0.02))
    robot = ARM.with_actuators({"x": servo})
    up = run(robot, 64, controls=[3.0], method=method).meta["activation"]["x"]
    down = run(robot, 64, controls=[-3.0], method=method).meta["activation"]["x"]
    assert up.max() == up[-1] == 0.02 and down.min() == down[-1] == -0.1


def test_forces_stay_in_their_ranges():
    rng = np.random.default_rng(0)
    robot = ARM.with_actuators(
        {
            "a": A.position("joint1", 300, 5, force_range=(-2, 1)),
            "b": A.motor("joint2", gear=3, control_range=(-0.5, 0.25)),
        }
    )
    motion = run(robot, 200, controls=signal(np.arange(200) * H, rng.normal(size=(200, 2)) * 9))
    low, high = motion.tau.min(0), motion.tau.max(0)
    assert (low == [-2, -1.5]).all() and (high == [1, 0.75]).all()


def test_a_run_can_be_split_in_two():
    robot = SERVOS.with_drives({"joint1": kt.Drive(lag=0.05, delay=4 * H, peak=0.6)})
    whole = run(robot, 64, controls=[0.3, 0.9])
    first = run(robot, 32, controls=[0.3, 0.9])
    second = run(
        robot, 32, q0=first.q[-1], dq0=first.dq[-1], controls=[0.3, 0.9],
        activation={"elbow": first.meta["activation"]["elbow"][-1]},
        drive_state=first.meta["drive_state"][-1],
    )  # fmt: skip
    assert (second.q == whole.q[32:]).all() and (second.tau == whole.tau[32:]).all()


def test_implicit_steps_hold_stiff_servos():
    stiff = ARM.with_actuators(
        {"a": A.position("joint1", 1e5, 1e4), "b": A.position("joint2", 1e5, 1e4)}
    )
    motion = run(stiff, 400, dt=0.01, method="implicit", controls=[0.5, -0.4])
    sag = stiff.gravity_forces(motion.q[-1]) / 1e5
    assert abs(motion.q[-1] - ([0.5, -0.4] - sag)).max() < 1e-12
    with pytest.raises(kt.KinetreeError, match="not finite"):
        run(stiff, 400, dt=0.01, controls=[0.5, -0.4])


def test_gains_are_the_slopes_of_the_forces():
    model = ARM.with_actuators(
        {
            "pair": A({"joint1": 2, "joint2": -1}, (3, 0.5, 0.2), (0.1, -4, -1)),
            "clamped": A.position("joint1", 1000, 10, force_range=(-1, 1)),
        }
    ).model
    q, dq, u = np.array([0.3, 0.8]), np.array([0.2, -0.5]), np.array([0.7, 5.0])
    found = actuator_gains(model, actuate(model, q, dq, u, np.zeros(0)))
    for slope, at in ((found.kp, 0), (found.kd, 1)):
        for j, change in enumerate(np.eye(2) * 1e-6):
            states = [(q + s * change, dq) if at == 0 else (q, dq + s * change) for s in (1, -1)]
            plus, minus = (actuate(model, *x, u, np.zeros(0)).tau for x in states)
            assert abs(-(plus - minus) / 2e-6 - slope[:, j].astype(float)).max() < 1e-8


DRIVEN = ARM.with_drives(
    {"joint1": kt.Drive(peak=3, lag=0.05), "joint2": kt.Drive(curve=((0, 2), (1, 2), (3, 0)))}
)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "implicit"])
def test_lag_and_delay_of_a_drive_are_the_closed_form(method):
    robot = ARM.with_drives({"joint1": kt.Drive(lag=0.05, delay=8 * H)})
    motion = run(robot, 64, tau=[2.0, 0.0], method=method)
    late = np.arange(65) - 8
    exact = np.where(late < 0, 0, 2 * (1 - np.exp(-np.maximum(late, 0) * H / 0.05)))
    assert abs(motion.tau[:, 0] - exact).max() < 1e-14
    assert (motion.meta["command"] == [2, 0]).all()


def test_a_delay_shifts_by_whole_samples_exactly():
    rng = np.random.default_rng(1)
    commands = rng.normal(size=(65, 2))
    robot = ARM.with_drives({"joint1": kt.Drive(delay=5 * H), "joint2": kt.Drive(delay=H)})
    motion = run(robot, 64, tau=signal(np.arange(65) * H, commands))
    assert (motion.tau[5:, 0] == commands[:-5, 0]).all() and (motion.tau[:5, 0] == 0).all()
    assert (motion.tau[1:, 1] == commands[:-1, 1]).all() and motion.tau[0, 1] == 0
    motors = {"a": A.motor("joint1", delay=5 * H), "b": A.motor("joint2", delay=H)}
    late = run(ARM.with_actuators(motors), 64, controls=signal(np.arange(65) * H, commands))
    assert (late.tau == motion.tau).all() and (late.q == motion.q).all()


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "dop853"])
def test_forces_of_a_drive_stay_below_its_curve(method):
    step = {} if method == "dop853" else {"dt": H}
    motion = DRIVEN.simulate(duration=0.4, method=method, tau=[9.0, 9.0], **START, **step)
    assert abs(motion.tau[:, 0]).max() <= 3
    speed = motion.dq[:, 1]
    most = np.interp(np.maximum(speed, 0), [0, 1, 3], [2, 2, 0])
    assert abs(motion.tau[:, 1] - most).max() < 1e-12
    assert speed.max() > 1.2  # the falling part of the curve is reached


def test_the_limits_of_a_drive_count_in_a_single_step():
    q, dq = np.array([0.1, 0.2]), np.array([0.0, 2.0])
    robot = DRIVEN.with_drives({"joint1": kt.Drive(peak=3)})
    limited = robot.step(q, dq, [9.0, 9.0], H)
    assert np.allclose(limited, ARM.step(q, dq, [3.0, 1.0], H), rtol=0, atol=1e-15)
    assert list(drive_forces(robot.model, dq, np.array([-9.0, -9.0]))) == [-3, -2]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ARM.simulate([0, 0], duration=1, controls=[1]), "has no actuators"),
        (lambda: run(SERVOS, controls={"elbo": 1, "m": 1}), "Was 'elbow' meant by 'elbo'"),
        (lambda: run(SERVOS, controls=[1]), r"expected \(..., 2\): elbow, m"),
        (lambda: run(SERVOS, controls=[np.nan, 0]), "controls.* is nan"),
        (lambda: run(SERVOS, activation=[1]), "give controls"),
        (lambda: run(ARM, activation=[1]), "no actuator of 'planar 2R' has a state; leave it out"),
        (lambda: run(SERVOS, controls=[0, 0], activation=[1, 2]), r"expected \(..., 1\): elbow"),
        (
            lambda: run(ARM.with_drives({"joint1": kt.Drive(delay=0.01)}), dt=0.003),
            "not a whole number of time steps of 0.003 s; expected 0.009 or 0.012 s",
        ),
        (
            lambda: ARM.with_drives({"joint1": kt.Drive(delay=0.01)}).simulate([0, 0], duration=1),
            "adaptive method has no time step",
        ),
        (
            lambda: ARM.with_drives({"joint1": kt.Drive(delay=0.01)}).simulate(
                [0, 0], duration=0.0255, dt=0.005, method="rk4"
            ),
            "the last step would be 0.0005 s long",
        ),
        (
            lambda: run(ARM.with_drives({"joint1": kt.Drive(delay=1e9)}), dt=0.001),
            r"joint 'joint1' is 1e\+09 s, which is 1e\+12 time steps .* at most 10,000",
        ),
        (
            lambda: run(
                ARM.with_actuators({"m": A.motor("joint1", delay=1e300)}), controls=[0], dt=1e-9
            ),
            "delay of actuator 'm' is .* at most 10,000",
        ),
        (lambda: DRIVEN.sensitivities([0, 0], duration=0.1), "sensitivities .* joint 'joint1'"),
        (lambda: DRIVEN.step([0, 0], [0, 0], [0, 0], H), "has a lag of 0.05 s"),
        (lambda: SERVOS.step([0, 0], [0, 0], dt=H, controls=[0, 0]), "activation is missing"),
        (lambda: SERVOS.step([0, 0], [0, 0], dt=H), "tau is missing"),
        (
            lambda: SERVOS.step([0, 0], [0, 0], dt=H, controls=[0.0] * 9, activation=[0.0]),
            r"controls has shape \(9,\).* The actuators are ",
        ),
        (lambda: SERVOS.compile("step_rk4_with_controls"), "ends with '_with_activation'"),
        (
            lambda: SERVOS.step([0, 0], [0, 0], [0, 0], H, controls=[0, 0], activation=[0], kp=1),
            "not taken together with controls",
        ),
    ],
)
def test_senseless_input_is_refused_in_words(call, words):
    with pytest.raises(kt.KinetreeError, match=words):
        call()
