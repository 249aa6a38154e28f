"""Sensitivities: shapes, batches, controllers, signals, costs, and what is refused in words."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, ModelError, NameLookupError, ShapeError
from kinetree.kernels.free import free_values
from kinetree.scalars import cos, sin
from kinetree.simulate import SimulationError, signal

ARM = kt.robots.ur5e()
Q0, DQ0 = np.array([0.2, -1.2, 1.0, -0.5, 0.3, 0.1]), np.array([0.4, -0.3, 0.5, 0.2, -0.6, 1.0])
SHORT = {"duration": 0.05, "dt": 0.005, "limits": "ignore"}
# central differences of step h leave h^2 / 6 of third derivatives and 1e-14 / h of rounding
H, CLOSE = 1e-5, 1e-7


def end(robot, q0=Q0, dq0=DQ0, **options):
    motion = robot.simulate(q0, dq0, method="rk4", **SHORT, **options)
    return np.concatenate([motion.q[-1], motion.dq[-1]])


def slope(function, v):
    return (function(H * v) - function(-H * v)) / (2 * H)


def agrees(found, wanted):
    return np.abs(found - wanted).max() <= CLOSE * max(1.0, np.abs(wanted).max())


def test_the_motion_is_the_simulation_itself():
    found = ARM.sensitivities(Q0, DQ0, **SHORT)
    motion = ARM.simulate(Q0, DQ0, method="rk4", **SHORT)
    assert np.array_equal(found.motion.q, motion.q) and np.array_equal(found.motion.dq, motion.dq)
    assert found.by("q0").shape == (11, 12, 6) and found.A.shape == (10, 12, 12)
    assert np.array_equal(found.by("q0")[0], np.eye(12)[:, :6])
    assert np.array_equal(found.by("dq0")[0], np.eye(12)[:, 6:])


CONTROLLERS = {
    "PID, with a state of its own": controllers.PID(Q0 + 0.3, kp=0.5, kd=0.02, ki=1.0),
    "computed torque, with the robot's data": controllers.ComputedTorque(Q0 + 0.3, 100.0, 20.0),
    "a law": lambda t, q, dq: -0.02 * dq + sin(q) * t,
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_are_part_of_the_motion(name):
    law, rng = CONTROLLERS[name], np.random.default_rng(0)
    wrt = ("q0", "dq0", "tau", "mass", "gravity")
    found = ARM.sensitivities(Q0, DQ0, controller=law, wrt=wrt, **SHORT)
    for key in wrt:
        x0 = {"q0": Q0, "dq0": DQ0, "tau": np.zeros(6)}.get(key)
        given = key in ("q0", "dq0", "tau")
        x0 = x0 if given else free_values(ARM.model, key)
        v = rng.normal(size=np.shape(x0))

        def changed(dx, key=key, x0=x0, given=given):
            options = {key: x0 + dx} if given else {"parameters": {key: x0 + dx}}
            return end(ARM, controller=law, **options)

        assert agrees(found.by(key)[-1] @ v, slope(changed, v)), key


def test_a_controller_that_knows_the_robot_follows_all_its_parameters():
    law = CONTROLLERS["computed torque, with the robot's data"]
    found = ARM.sensitivities(Q0, DQ0, controller=law, wrt="parameters", **SHORT).by("parameters")
    single = ARM.sensitivities(Q0, DQ0, controller=law, wrt="inertia", **SHORT).by("inertia")
    for i in range(6):  # pi has Izz about the link's origin, which moves one to one with I_com
        assert agrees(found[:, :, 10 * i + 9], single[:, :, i, 2, 2])
        assert agrees(found[:, :, 10 * i + 5], single[:, :, i, 0, 1] + single[:, :, i, 1, 0])


@pytest.mark.parametrize("kind", ["hold", "linear"])
@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_signals_are_differentiated_by_their_samples(kind, method):
    rng = np.random.default_rng(1)
    t, values = [0, 0.012, 0.02, 0.2], rng.normal(size=(4, 6)) * 5
    options = {**SHORT, "method": method}
    found = ARM.sensitivities(Q0, DQ0, tau=signal(t, values, kind), wrt="tau", **options).by("tau")
    assert found.shape == (11, 12, 4, 6)

    def changed(dv):
        motion = ARM.simulate(Q0, DQ0, tau=signal(t, values + dv, kind), **options)
        return np.concatenate([motion.q[-1], motion.dq[-1]])

    v = rng.normal(size=(4, 6))
    assert agrees(np.einsum("isk,sk->i", found[-1], v), slope(changed, v))
    if kind == "hold":  # a sample has no effect before its time, and the last one none at all
        assert not found[2, :, 1:].any() and not found[-1, :, 3].any()


def test_forces_held_throughout_are_all_samples_together():
    constant = ARM.sensitivities(Q0, DQ0, tau=np.ones(6), wrt="tau", **SHORT).by("tau")
    held = signal(np.arange(10) * 0.005, np.ones((10, 6)))
    single = ARM.sensitivities(Q0, DQ0, tau=held, wrt="tau", **SHORT).by("tau")
    assert np.abs(single.sum(axis=-2) - constant).max() < 1e-12 * np.abs(constant).max()


def test_wrenches_that_depend_on_the_motion():
    def drag(t, q, dq):
        return np.concatenate([np.zeros((5, 6), int), [[0, 0, 0, dq[0] * -2, cos(q[1]), t]]])

    found = ARM.sensitivities(Q0, DQ0, F_ext=drag, **SHORT)
    v = np.linspace(-1, 1, 6)
    wanted = slope(lambda d: end(ARM, dq0=DQ0 + d, F_ext=drag), v)
    assert agrees(found.by("dq0")[-1] @ v, wanted)
    by_load = ARM.sensitivities(Q0, DQ0, wrt="F_ext", **SHORT).by("F_ext")[-1]
    W = np.random.default_rng(2).normal(size=(6, 6))
    assert agrees(np.einsum("ilk,lk->i", by_load, W), slope(lambda d: end(ARM, F_ext=d), W))


def test_batches_are_single_motions_side_by_side():
    rng = np.random.default_rng(3)
    q0, tau, mass = Q0 + rng.normal(size=(3, 1, 6)) * 0.1, rng.normal(size=(2, 6)), ARM.model.m
    many = mass * rng.uniform(0.8, 1.2, (3, 2, 6))
    wrt = ("q0", "tau", "mass")
    found = ARM.sensitivities(q0, DQ0, tau=tau, parameters={"mass": many}, wrt=wrt, **SHORT)
    slopes = rng.normal(size=(11, 3, 2, 12))
    back = found.gradient(slopes)
    for i, j in ((0, 1), (2, 0)):
        single = ARM.sensitivities(
            q0[i, 0], DQ0, tau=tau[j], parameters={"mass": many[i, j]}, wrt=wrt, **SHORT
        )
        assert np.array_equal(found.A[:, i, j], single.A)
        for name in wrt:
            a, b = found.by(name)[:, i, j], single.by(name)
            assert np.abs(a - b).max() <= 1e-13 * np.abs(b).max()
            single_back = single.gradient(slopes[:, i, j])[name]
            assert np.allclose(back[name][i, j], single_back, rtol=1e-12, atol=1e-13)


def test_coulomb_friction_that_slides_is_differentiated():
    robot = kt.robots.puma_560()
    dq0 = np.array([1.0, -1.0, 2.0, 3.0, -3.0, 4.0])
    options = {"duration": 0.02, "dt": 0.002, "limits": "ignore"}
    found = robot.sensitivities(Q0, dq0, wrt=("dq0", "friction"), **options)
    own = free_values(robot.model, "friction")
    assert own[:, 2:].any()

    def changed(d):
        motion = robot.simulate(Q0, dq0, method="rk4", parameters={"friction": own + d}, **options)
        return np.concatenate([motion.q[-1], motion.dq[-1]])

    v = np.random.default_rng(4).normal(size=(6, 4))
    assert agrees(np.einsum("ilk,lk->i", found.by("friction")[-1], v), slope(changed, v))


def test_joints_that_dry_friction_holds_or_stops_are_refused():
    robot = kt.robots.puma_560()
    for dq0, t in ((np.zeros(6), "t = 0 s"), (np.full(6, 0.01), "stopped by its Coulomb")):
        with pytest.raises(InputError, match=t):
            robot.sensitivities(Q0, dq0, tau=robot.gravity_forces(Q0), **SHORT)


def test_friction_given_to_a_joint_at_rest_has_no_slope_but_all_else_has():
    found = ARM.sensitivities(Q0, wrt=("q0", "friction", "parameters")[:2], **SHORT)
    by = found.by("friction")
    assert np.isfinite(found.by("q0")).all() and np.isfinite(by[..., :2]).all()
    assert np.isnan(by[-1, :, :, 2:]).all()
    pi = ARM.sensitivities(Q0, wrt="parameters", **SHORT).by("parameters")[-1]
    names = [x.kind for x in kt.algorithms.parameter_list(ARM.model)]
    assert np.array_equal(np.isnan(pi[0]), [x.startswith("coulomb") for x in names])


def test_costs_come_with_their_slopes():
    def final(q, dq):
        return (q - 1) @ (q - 1) + dq @ dq * 0.1

    def running(t, q, dq):
        return sin(q[0]) * dq[1] + t * dq @ dq

    def J(q0, tau):
        motion = ARM.simulate(q0, DQ0, tau=tau, method="rk4", **SHORT)
        steps = zip(motion.t, motion.q[:-1], motion.dq[:-1], np.diff(motion.t), strict=False)
        total = sum(h * running(t, q, dq) for t, q, dq, h in steps)
        return final(motion.q[-1], motion.dq[-1]) + total

    tau = np.linspace(-2, 2, 6)
    value, slopes = ARM.sensitivities(Q0, DQ0, tau=tau, wrt=("q0", "tau"), **SHORT).cost(
        final, running
    )
    assert value == pytest.approx(J(Q0, tau), rel=1e-13)
    v = np.linspace(1, -1, 6)
    assert agrees(slopes["q0"] @ v, slope(lambda d: J(Q0 + d, tau), v))
    assert agrees(slopes["tau"] @ v, slope(lambda d: J(Q0, tau + d), v))


def test_newtons_steps_bring_a_swing_to_its_goal():
    """Forces over time that end at rest in a pose: exact slopes make errors fall quadratically."""
    robot = kt.robots.double_pendulum()
    t, values, goal = np.arange(20) * 0.05, np.zeros((20, 2)), np.array([0.5, 0.2, 0, 0])
    errors = []
    for _ in range(6):
        found = robot.sensitivities(
            [0.0, 0.0], tau=signal(t, values), duration=1.0, dt=0.025, wrt="tau"
        )
        error = np.concatenate([found.motion.q[-1], found.motion.dq[-1]]) - goal
        errors.append(np.linalg.norm(error))
        step = np.linalg.lstsq(found.by("tau")[-1].reshape(4, -1), -error)[0]
        values = values + step.reshape(values.shape)
    assert errors[-1] < 1e-12 < 0.1 < errors[0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"limits": "mind"}, "expected one of stop, record, ignore"),
        ({"method": "dop853", "rtol": -1.0}, "rtol is -1"),
        ({"wrt": "friction_"}, "expected some of q0, dq0, tau"),
        ({"wrt": ()}, "wrt is empty"),
        ({"wrt": 5}, "wrt is 5; expected text in quotes or a list"),
        ({"events": lambda t, q, dq: q[0]}, "found by 'dop853' alone"),
        ({"wrt": ("q0", "q0")}, "twice"),
        ({"wrt": ("parameters", "mass")}, "among them"),
        ({"wrt": "parameters", "parameters": {"com": np.zeros((6, 3))}}, "among them"),
        ({"wrt": "tau", "tau": lambda t: np.zeros(6)}, "no numbers to differentiate by"),
        ({"tau": lambda t, q, dq: dq if q[0] > 0 else -dq}, "cannot be traced"),
        ({"duration": 2e3, "dt": 1e-3}, "Take fewer rollouts"),
    ],
)
def test_what_has_no_derivative_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        ARM.sensitivities(Q0, DQ0, **{**SHORT, **options})


def test_a_rollout_that_ran_away_is_named():
    def push(t, q, dq):
        return dq * dq * dq * 1e4

    dq0 = np.array([[0.0] * 6, [5.0] * 6])
    with pytest.raises(InputError, match=r"rollout \[1\] is not finite after t = 0 s"):
        ARM.sensitivities(Q0, dq0, tau=push, **SHORT)


def test_robots_that_do_not_move_are_refused():
    still = kt.Builder("still").link("base").build()
    with pytest.raises(ModelError, match="no joint that moves"):
        still.sensitivities([], duration=1.0)


def test_records_say_what_they_do_not_have():
    found = ARM.sensitivities(Q0, DQ0, wrt="q0", **SHORT)
    assert repr(found) == "Sensitivities('Universal Robots UR5e', 10 steps, 0.05 s, by q0)"
    with pytest.raises(NameLookupError, match="only by q0"):
        found.by("tau")
    with pytest.raises(ShapeError, match=r"expected \(11, 12\)"):
        found.gradient(np.zeros((11, 6)))
    with pytest.raises(InputError, match="no parts"):
        found.cost()
    with pytest.raises(InputError, match="one number"):
        found.cost(final=lambda q, dq: q)
    with pytest.raises(InputError, match="cannot be traced"):
        found.cost(final=lambda q, dq: float(q[0]))
    with pytest.raises(SimulationError, match="beyond its limit"):
        ARM.sensitivities(Q0, DQ0 * 20, duration=1.0, dt=0.01)
