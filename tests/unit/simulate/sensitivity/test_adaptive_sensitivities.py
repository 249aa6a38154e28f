"""Sensitivities of adaptive motions: batches, controllers, friction, events and refusals."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.base.progress import Progress
from kinetree.errors import InputError, KinetreeError
from kinetree.kernels.free import free_values
from kinetree.scalars import sin
from kinetree.simulate import signal
from kinetree.simulate.core.events import event
from kinetree.simulate.core.fixed_steps import fixed_steps
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import read_setup

ARM = kt.robots.ur5e()
Q0, DQ0 = np.array([0.2, -1.2, 1.0, -0.5, 0.3, 0.1]), np.array([0.4, -0.3, 0.5, 0.2, -0.6, 1.0])
SHORT = {"duration": 0.05, "dt": 0.02, "limits": "ignore", "method": "dop853"}
TIGHT = {"rtol": 1e-11, "atol": 1e-12}
# differences of whole runs, whose steps change with h: tolerance / h and h^2 remain
H, CLOSE = 1e-4, 1e-6


def end(robot, q0=Q0, dq0=DQ0, **options):
    motion = robot.simulate(q0, dq0, **SHORT, **TIGHT, **options)
    return np.concatenate([motion.q[-1], motion.dq[-1]])


def slope(function, v):
    return (function(H * v) - function(-H * v)) / (2 * H)


def agrees(found, wanted):
    return np.abs(found - wanted).max() <= CLOSE * max(1.0, np.abs(wanted).max())


def test_the_motion_is_the_simulation_itself():
    found = ARM.sensitivities(Q0, DQ0, **SHORT)
    motion = ARM.simulate(Q0, DQ0, **SHORT)
    for name in ("t", "q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(found.motion, name), getattr(motion, name)), name
    assert found.motion.meta == motion.meta
    assert found.A.shape == (motion.meta["steps"], 12, 12)
    assert np.array_equal(found.by("q0")[0], np.eye(12)[:, :6])
    spacing = ARM.sensitivities(Q0, DQ0, duration=0.05, method="dop853", limits="ignore").motion.t
    assert np.array_equal(spacing, ARM.simulate(Q0, DQ0, duration=0.05, limits="ignore").t)


LAWS = {
    "PID, with a state of its own": controllers.PID(Q0 + 0.3, kp=0.5, kd=0.02, ki=1.0),
    "computed torque, with the robot's data": controllers.ComputedTorque(Q0 + 0.3, 100.0, 20.0),
    "a law": lambda t, q, dq: -0.02 * dq + sin(q) * t,
}


@pytest.mark.parametrize("name", LAWS)
def test_controllers_are_part_of_the_motion(name):
    law, rng = LAWS[name], np.random.default_rng(0)
    wrt = ("q0", "dq0", "tau", "mass")
    found = ARM.sensitivities(Q0, DQ0, controller=law, wrt=wrt, **SHORT, **TIGHT)
    values = {"q0": Q0, "dq0": DQ0, "tau": np.zeros(6), "mass": ARM.model.m}
    for key, x0 in values.items():
        v = rng.normal(size=np.shape(x0))

        def changed(dx, key=key, x0=x0):
            options = {"parameters": {key: x0 + dx}} if key == "mass" else {key: x0 + dx}
            return end(ARM, controller=law, **options)

        assert agrees(found.by(key)[-1] @ v, slope(changed, v)), key


def test_batches_are_single_motions_side_by_side():
    rng = np.random.default_rng(3)
    q0, dq0 = Q0 + rng.normal(size=(3, 1, 6)) * 0.1, DQ0 * np.array([[1.0], [8.0]])
    tau = signal([0, 0.011, 0.03], rng.normal(size=(3, 2, 6)), "linear")
    mass = ARM.model.m * rng.uniform(0.8, 1.2, (3, 2, 6))
    wrt = ("q0", "tau", "mass", "com")
    found = ARM.sensitivities(q0, dq0, tau=tau, parameters={"mass": mass}, wrt=wrt, **SHORT)
    slopes = rng.normal(size=(*found.motion.q.shape[:-1], 12))
    back = found.gradient(slopes)
    for i, j in ((0, 1), (2, 0)):
        single = ARM.sensitivities(
            q0[i, 0], dq0[j], tau=signal(tau.t, tau.values[:, j], "linear"),
            parameters={"mass": mass[i, j]}, wrt=wrt, **SHORT,
        )  # fmt: skip
        single_back = single.gradient(slopes[:, i, j])
        for name in wrt:
            a, b = found.by(name)[:, i, j], single.by(name)
            assert a.shape == b.shape
            assert np.abs(a - b).max() <= 1e-12 * np.abs(b).max(), name
            assert np.allclose(back[name][i, j], single_back[name], rtol=1e-11, atol=1e-12), name


def test_one_sample_is_a_constant():
    constant = ARM.sensitivities(Q0, DQ0, tau=np.ones(6), wrt="tau", **SHORT).by("tau")
    for kind in ("hold", "linear"):
        held = signal([0.0], np.ones((1, 6)), kind)
        single = ARM.sensitivities(Q0, DQ0, tau=held, wrt="tau", **SHORT).by("tau")
        assert single.shape == (4, 12, 1, 6)
        assert np.abs(single[:, :, 0] - constant).max() < 1e-12 * np.abs(constant).max()


def test_signals_of_other_lengths_follow_one_another():
    """What was compiled for one signal serves the next, whose samples are its own."""
    for times in ([0.0, 0.01, 0.02, 0.03], [0.0, 0.02], [0.1]):
        held = signal(times, np.ones((len(times), 6)))
        by = ARM.sensitivities(Q0, DQ0, tau=held, wrt="tau", **SHORT).by("tau")
        assert by.shape == (4, 12, len(times), 6)
        constant = ARM.sensitivities(Q0, DQ0, tau=np.ones(6), wrt="tau", **SHORT).by("tau")
        assert agrees(by.sum(-2), constant)


def test_coulomb_friction_that_slides_is_differentiated():
    robot = kt.robots.puma_560()
    dq0 = np.array([1.0, -1.0, 2.0, 3.0, -3.0, 4.0])
    found = robot.sensitivities(Q0, dq0, wrt=("dq0", "friction"), **SHORT, **TIGHT)
    own = free_values(robot.model, "friction")
    v = np.random.default_rng(4).normal(size=(6, 4))
    wanted = slope(lambda d: end(robot, dq0=dq0, parameters={"friction": own + d}), v)
    assert agrees(np.einsum("ilk,lk->i", found.by("friction")[-1], v), wanted)


def test_some_joints_may_rub_and_others_not():
    robot = ARM.with_friction({ARM.model.joint_names[2]: kt.Friction(coulomb=0.5)})
    fast = np.array(
        [3.0, -2.5, 4.0, 4.0, -5.0, 8.0]
    )  # no joint comes to rest, where its friction would bend
    found = robot.sensitivities(Q0, fast, wrt=("dq0", "parameters"), **SHORT, **TIGHT)
    fine = {**SHORT, "method": "rk4", "dt": 2e-4}
    fixed = robot.sensitivities(Q0, fast, wrt=("dq0", "parameters"), **fine)
    for name in ("dq0", "parameters"):
        assert agrees(found.by(name)[-1], fixed.by(name)[-1]), name


@pytest.mark.parametrize("dq0", [np.zeros(6), np.full(6, 0.01)])
def test_joints_that_dry_friction_holds_or_stops_are_refused(dq0):
    robot = kt.robots.puma_560()
    with pytest.raises(InputError, match="stands still or is stopped by its Coulomb"):
        robot.sensitivities(Q0, dq0, tau=robot.gravity_forces(Q0), **SHORT)


def test_friction_of_a_joint_at_rest_has_no_slope_but_all_else_has():
    pi = ARM.sensitivities(Q0, wrt="parameters", **SHORT).by("parameters")[-1]
    names = [x.kind for x in kt.algorithms.parameter_list(ARM.model)]
    assert np.array_equal(np.isnan(pi[0]), [x.startswith("coulomb") for x in names])
    with pytest.raises(InputError, match=r'method="rk4" passes through rest'):
        ARM.sensitivities(Q0, wrt="friction", **SHORT)


def test_friction_of_zero_may_be_varied():
    none = {"friction": np.zeros((6, 4))}
    assert np.abs(end(ARM, parameters=none) - end(ARM)).max() < 1e-9


def test_events_are_noted_and_a_terminal_one_ends_the_motion():
    def passes(t, q, dq):
        return q[0] - 0.21

    plain = ARM.sensitivities(Q0, DQ0, **SHORT)
    noted = ARM.sensitivities(Q0, DQ0, events=passes, **SHORT)
    assert len(noted.motion.meta["events"]) == 1
    assert np.array_equal(noted.by("q0"), plain.by("q0"))
    ended = ARM.sensitivities(Q0, DQ0, events=event(passes, terminal=True), **SHORT)
    count = len(ended.motion)
    assert 1 < count < len(plain.motion)
    assert np.array_equal(ended.by("q0"), plain.by("q0")[:count])
    slopes = np.ones((count, 12))
    wanted = np.einsum("ti,tij->j", slopes, ended.by("q0"))
    assert np.allclose(ended.gradient(slopes)["q0"], wanted, rtol=1e-12)


def test_rollouts_that_ran_away_are_named():
    def push(t, q, dq):
        return dq * dq * dq * 1e4

    with pytest.raises(InputError, match=r"rollout \[1\] is not finite after t = "):
        ARM.sensitivities(Q0, np.array([[0.0] * 6, [5.0] * 6]), tau=push, **SHORT)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tau": lambda t, q, dq: dq if q[0] > 0 else -dq}, "cannot be traced"),
        ({"duration": 2e4, "dt": 1e-3, "atol": 1e9}, "Take fewer rollouts"),
    ],
)
def test_what_has_no_derivative_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        ARM.sensitivities(Q0, DQ0, **{**SHORT, **options})


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_batch_of_nothing_is_refused(method):
    for run in (ARM.simulate, ARM.sensitivities):
        with pytest.raises(KinetreeError, match="give at least one state"):
            run(np.zeros((0, 6)), duration=0.1, method=method)


def test_a_loop_leaves_its_first_state_as_it_was():
    run = Run(model=ARM.model, q0=Q0, dq0=DQ0, duration=0.02, dt=0.01, method="rk4")
    setup = read_setup(run)
    steps, before = fixed_steps(run, setup), setup.x0.copy()
    with Progress("", 1.0, False) as bar:
        steps.run(run, setup, bar)
    assert np.array_equal(setup.x0, before)
