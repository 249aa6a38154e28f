"""Closed loops and other constraints against minimal coordinates and dense equations in NumPy."""

import mpmath
import numpy as np
import pytest
from reference_robots import G, energy, exact, order

import kinetree as kt
from kinetree import controllers
from kinetree.constraints import Couple, Hold, Loop, Rod
from kinetree.errors import KinetreeError
from kinetree.scalars import sin
from kinetree.simulate import SimulationError, event
from spacing import by

CRANK, ROD = 0.3, 0.8  # m
INERTIA = 0.03  # kg m^2, of every body
TIGHT = {"rtol": 1e-12, "atol": 1e-12}
ORDERS = {"euler": 1, "semi_implicit_euler": 1, "implicit": 1, "implicitfast": 1, "rk4": 4}
PUSH = np.array([0.4, 0.0, 0.0])  # N m on the crank


def slider_crank(friction=None, **options):
    built = kt.Builder("slider_crank", gravity=(0, -G, 0)).link("base")
    built.link("arm", m=1.2, com=(CRANK / 2, 0, 0), I_com=INERTIA * np.eye(3))
    built.link("bar", m=0.7, com=(ROD / 2, 0, 0), I_com=INERTIA * np.eye(3))
    built.link("block", m=2.0, I_com=INERTIA * np.eye(3))
    built.joint("crank", "revolute", "base", "arm", friction=friction or kt.friction.Friction())
    built.joint("rod", "revolute", "arm", "bar", at=(CRANK, 0, 0))
    built.joint("slide", "prismatic", "base", "block", axis=(1, 0, 0))
    tree = built.frame("tip", "bar", (ROD, 0, 0)).build()
    return tree.constrained({"pin": Loop("block", "tip", "axis")}, actuated=["crank"], **options)


def position(angle):
    """Positions for an angle of the crank, with the slider to its right."""
    lift = -np.arcsin(CRANK * np.sin(angle) / ROD)
    return np.array([angle, lift - angle, CRANK * np.cos(angle) + ROD * np.cos(lift)])


def slope(angle):
    """Derivatives of the positions by the angle."""
    lift = -np.arcsin(CRANK * np.sin(angle) / ROD)
    d = -CRANK * np.cos(angle) / (ROD * np.cos(lift))
    return np.array([1, d - 1, -CRANK * np.sin(angle) - ROD * np.sin(lift) * d])


def crank_inertia(a):
    lift = -np.arcsin(CRANK * np.sin(a) / ROD)
    d = -CRANK * np.cos(a) / (ROD * np.cos(lift))
    bar = np.array([-CRANK * np.sin(a) - ROD / 2 * np.sin(lift) * d, CRANK / 2 * np.cos(a)])
    arm = INERTIA + 1.2 * (CRANK / 2) ** 2
    return arm + INERTIA * d**2 + 0.7 * (bar @ bar) + 2.0 * slope(a)[2] ** 2


def crank_acceleration(a, w, torque):
    """m(a) a'' + m'(a) a'^2 / 2 + V'(a) = torque."""
    taps, e = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}, 1e-3
    bend = sum(c * (crank_inertia(a + k * e) - crank_inertia(a - k * e)) for k, c in taps.items())
    pull = G * np.cos(a) * CRANK / 2 * (1.2 + 0.7)
    return (torque - pull - bend / e * w * w / 2) / crank_inertia(a)


def crank_rate(torque):
    return lambda t, x: np.array([x[1], crank_acceleration(x[0], x[1], torque(t))])


# forces and accelerations


def test_accelerations_and_forces_solve_the_equations_of_lagrange():
    """[M -J^T; J 0] (ddq, lambda) = (tau - h, -dJ dq), and the crank's own equation."""
    robot, rng = slider_crank(), np.random.default_rng(0)
    for angle in rng.uniform(-3, 3, 5):
        q, dq = position(angle), 3.0 * slope(angle)
        ddq, lam, residual = kt.constraints.forward_dynamics(robot, q, dq, [2.0, 0, 0])
        expected = crank_acceleration(angle, 3.0, 2.0)
        e = 1e-5
        bent = (slope(angle + e) - slope(angle - e)) / (2 * e) * 9.0
        np.testing.assert_allclose(ddq, slope(angle) * expected + bent, rtol=1e-6, atol=1e-7)
        M, J = robot.mass_matrix(q), kt.constraints.jacobian(robot, q)
        balance = M @ ddq + robot.bias_forces(q, dq) - [2.0, 0, 0] - J.T @ lam
        np.testing.assert_allclose(balance, 0, atol=1e-9)
        np.testing.assert_allclose(J @ ddq + kt.constraints.bias(robot, q, dq), 0, atol=1e-9)
        assert np.abs(residual).max() < 1e-9
        np.testing.assert_allclose(robot.inverse_dynamics(q, dq, ddq), [2.0, 0, 0], atol=1e-8)
        reduced, h, N = kt.constraints.reduced_dynamics(robot, q, dq)
        assert reduced[0, 0] == pytest.approx(crank_inertia(angle), rel=1e-9)
        np.testing.assert_allclose(N[:, 0], slope(angle), atol=1e-9)
        assert (2.0 - h[0]) / reduced[0, 0] == pytest.approx(expected, rel=1e-6)


def test_the_mobility_is_that_of_a_crank():
    mobility = kt.constraints.mobility(slider_crank())
    assert len(mobility.rows) == 5
    assert tuple(mobility.independent) == ("crank",)
    assert len(mobility.redundant) == 3


def test_positions_rates_and_accelerations_are_projected():
    robot = slider_crank()
    q = kt.constraints.project(robot, [0.7, -0.9, 1.0], keep=["crank"])
    np.testing.assert_allclose(q, position(0.7), atol=1e-9)
    dq = kt.constraints.project_rates(robot, q, [2.0, 0, 0], keep=["crank"])
    np.testing.assert_allclose(dq, 2.0 * slope(0.7), atol=1e-9)
    J = kt.constraints.jacobian(robot, q)
    wanted = np.array([1.0, 2.0, 3.0])
    light = np.linalg.inv(robot.mass_matrix(q))  # nearest by kinetic energy
    nearest = wanted - light @ J.T @ np.linalg.pinv(J @ light @ J.T, rcond=1e-9) @ J @ wanted
    np.testing.assert_allclose(kt.constraints.project_rates(robot, q, wanted), nearest, atol=1e-9)
    e = 1e-5
    ddq = kt.constraints.project_accelerations(robot, q, dq, [0.5, 0, 0], keep=["crank"])
    bent = (slope(0.7 + e) - slope(0.7 - e)) / (2 * e) * 4 + 0.5 * slope(0.7)
    np.testing.assert_allclose(ddq, bent, atol=1e-6)
    with pytest.raises(KinetreeError):
        kt.constraints.project(robot, [0.7, -0.9, 5.0], keep=["crank", "slide"])


# motions


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "Radau", "BDF"])
def test_a_slider_crank_moves_as_its_equation_in_the_crank(method):
    motion = slider_crank().simulate(
        position(0.4), 9 * slope(0.4), duration=1, tau=PUSH,
        **by(method, 0.05, rtol=1e-10, atol=1e-11),
    )  # fmt: skip
    true = exact(crank_rate(lambda t: PUSH[0]), [0.4, 9.0], motion.t)
    assert true[-1, 0] > 2 * np.pi
    np.testing.assert_allclose(motion.q, [position(a) for a in true[:, 0]], atol=1e-7)
    np.testing.assert_allclose(motion.dq[:, 0], true[:, 1], atol=1e-6)
    assert motion.meta["closure"].max() < 1e-9


@pytest.mark.parametrize("method", ORDERS)
def test_fixed_steps_converge_with_their_order(method):
    true = exact(crank_rate(lambda t: PUSH[0]), [0.4, 3.0], [0.4])[-1, 0]
    steps = (0.02 if method == "rk4" else 1e-3) / 2 ** np.arange(3)
    run = {"duration": 0.4, "tau": PUSH, "method": method}
    robot, q, dq = slider_crank(), position(0.4), 3 * slope(0.4)
    ends = [robot.simulate(q, dq, dt=h, **run) for h in steps]
    errors = [abs(x.q[-1, 0] - true) for x in ends]
    assert order(steps, errors) == pytest.approx(ORDERS[method], abs=0.25)
    assert all(x.meta["closure"].max() < 1e-10 for x in ends)


def test_a_four_bar_keeps_energy_and_closure_for_many_turns():
    robot = kt.robots.four_bar()
    q = robot.neutral()
    dq = kt.constraints.project_rates(robot, q, [14.0, 0, 0], keep=["crank"])
    motion = robot.simulate(q, dq, duration=5, dt=2e-4, method="rk4", every=50)
    total = energy(robot, motion)
    assert motion.q[-1, 0] - q[0] > 8 * 2 * np.pi
    assert np.ptp(total) < 1e-7 * robot.kinetic_energy(q, dq)
    assert motion.meta["closure"].max() < 1e-10
    J = kt.constraints.jacobian(robot, motion.q)
    assert np.abs(np.einsum("tij,tj->ti", J, motion.dq)).max() < 1e-8


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_recorded_forces_are_those_of_the_states(method):
    robot = slider_crank()
    motion = robot.simulate(position(1.0), 5 * slope(1.0), duration=0.3, dt=0.01, tau=PUSH,
                            method=method)  # fmt: skip
    ddq, lam, _ = kt.constraints.forward_dynamics(robot, motion.q, motion.dq, motion.tau)
    np.testing.assert_allclose(motion.ddq, ddq, atol=1e-8)
    np.testing.assert_allclose(motion.meta["constraint_forces"]["pin"], lam, atol=1e-7)


def test_a_rod_makes_a_pendulum_with_its_tension():
    """A point on two sliders and a rod: the period is an elliptic integral, the rod pulls."""
    m, length, start = 1.5, 0.8, 1.2
    built = kt.Builder("held", gravity=(0, 0, -G)).link("base").link("carriage", m=1e-9)
    built.link("bob", m=m).frame("anchor", "base", (0, 0, 0)).frame("end", "bob", (0, 0, 0))
    built.joint("x", "prismatic", "base", "carriage", axis=(1, 0, 0))
    built.joint("z", "prismatic", "carriage", "bob", axis=(0, 0, 1))
    robot = built.build().constrained({"rod": Rod("anchor", "end", length)})
    q0 = length * np.array([np.sin(start), -np.cos(start)])
    period = 4 * float(mpmath.ellipk(np.sin(start / 2) ** 2)) * np.sqrt(length / G)
    turns = event(lambda t, q, dq: dq[0], direction=-1)
    motion = robot.simulate(q0, duration=1.2 * period, events=turns, method="DOP853",
                            rtol=1e-10, atol=1e-12)  # fmt: skip
    assert motion.meta["events"][0].t == pytest.approx(period, rel=1e-7)
    np.testing.assert_allclose(np.hypot(*motion.q.T), length, atol=1e-9)
    height = motion.q[:, 1] / length
    tension = m * G * (3 * -height - 2 * np.cos(start))
    np.testing.assert_allclose(motion.meta["constraint_forces"]["rod"][:, 0], -tension, atol=1e-5)


def test_a_coupling_is_a_gear():
    """q1 = 2 q2 - 0.3 q2^2: one equation with the inertia J1 r^2 + J2 and its slope."""
    built = kt.Builder("gear", gravity=(0, 0, 0)).link("base")
    for name, inertia in (("first", 0.2), ("second", 0.5)):
        built.link(name, m=1.0, I_com=inertia * np.eye(3))
        built.joint(f"j_{name}", "revolute", "base", name)
    tree = built.build()
    robot = tree.constrained({"gear": Couple("j_first", {"j_second": (2.0, -0.3)}, 0.1)})

    def rate(t, x):
        r, bend = 2 - 0.6 * x[0], -0.6
        inertia = 0.2 * r * r + 0.5
        return np.array([x[1], (0.4 * r - 0.1 - 0.2 * r * bend * x[1] ** 2) / inertia])

    q0 = [2 * 0.5 - 0.3 * 0.25 + 0.1, 0.5]
    dq0 = [(2 - 0.6 * 0.5) * 0.7, 0.7]
    motion = robot.simulate(q0, dq0, duration=1, tau=[0.4, -0.1], **by("DOP853", 0.1, **TIGHT))
    true = exact(rate, [0.5, 0.7], motion.t)
    np.testing.assert_allclose(motion.q[:, 1], true[:, 0], atol=1e-8)
    np.testing.assert_allclose(
        motion.q[:, 0], 2 * true[:, 0] - 0.3 * true[:, 0] ** 2 + 0.1, atol=1e-8
    )


def test_a_welded_chain_is_a_rigid_body_and_a_held_frame_stays():
    """The weld of the lower link makes the compound pendulum; a held point carries the weight."""
    built = kt.Builder("arm").link("base")
    built.link("upper", m=1.0, com=(0, 0, -0.2), I_com=0.02 * np.eye(3))
    built.link("lower", m=0.5, com=(0, 0, -0.1), I_com=0.01 * np.eye(3))
    built.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0))
    built.joint("knee", "revolute", "upper", "lower", axis=(0, 1, 0), at=(0, 0, -0.4))
    tree = built.frame("socket", "upper", (0, 0, -0.4)).frame("end", "lower", (0, 0, -0.2)).build()
    welded = tree.constrained({"weld": Loop("socket", "lower", "pose")})
    motion = welded.simulate([1.0, 0.0], duration=1, **by("DOP853", 0.01, **TIGHT))
    inertia = 0.02 + 0.01 + 1.0 * 0.2**2 + 0.5 * 0.5**2

    def rate(t, x):
        return np.array([x[1], -(1.0 * 0.2 + 0.5 * 0.5) * G * np.sin(x[0]) / inertia])

    true = exact(rate, [1.0, 0.0], motion.t)
    np.testing.assert_allclose(motion.q[:, 0], true[:, 0], atol=1e-7)
    np.testing.assert_allclose(motion.q[:, 1], 0, atol=1e-9)
    q = np.array([0.3, 0.4])
    place = tree.pose(q, "end")[:3, 3]
    held = tree.constrained({"hold": Hold("end", "point", place)}, near=q)
    still = held.simulate(q, duration=0.5, **by("DOP853", 0.01))
    np.testing.assert_allclose(still.q, np.tile(q, (len(still), 1)), atol=1e-8)
    J = tree.space_jacobian(q, "end")
    lam = still.meta["constraint_forces"]["hold"][0]
    joint = (J[3:] + np.cross(J[:3].T, place).T).T @ lam
    np.testing.assert_allclose(np.abs(joint), np.abs(tree.gravity_forces(q)), atol=1e-6)


@pytest.mark.parametrize("method", ["implicit", "implicitfast"])
def test_an_implicit_step_solves_the_dense_equations(method):
    """(M + h D + h^2 K) on the motions that J allows, and projected rates."""
    damped = slider_crank(friction=kt.friction.Friction(viscous=5.0))
    q, dq, h, kp, kd = position(0.7), 2 * slope(0.7), 1e-3, 1e4, 300.0
    tau = np.array([3.0, 0, 0])
    slopes = {"kp": [kp, 0, 0], "kd": [kd, 0, 0]} if method == "implicit" else {}
    kp_used, kd_used = (kp, kd) if slopes else (0.0, 0.0)
    gains = np.diag([kd_used + 5.0, 0, 0]) * h + np.diag([kp_used, 0, 0]) * h * h
    J = kt.constraints.jacobian(damped, q)
    M_h = damped.mass_matrix(q) + gains
    b = tau - damped.bias_forces(q, dq) - h * np.diag([kp_used, 0, 0]) @ dq
    _, sizes, basis = np.linalg.svd(J)
    N = basis[(sizes > 1e-9).sum() :].T
    nu = np.linalg.pinv(J, rcond=1e-9) @ -kt.constraints.bias(damped, q, dq)
    rates = dq + h * (nu + N @ np.linalg.solve(N.T @ M_h @ N, N.T @ (b - M_h @ nu)))
    end, after = damped.step(q, dq, tau, h, method=method, **slopes)
    assert np.abs(kt.constraints.errors(damped, end)).max() < 1e-10
    # the end is the position of the moved crank; rates are projected there
    np.testing.assert_allclose(end, q + h * rates, atol=1e-5)
    np.testing.assert_allclose(
        after, kt.constraints.project_rates(damped, end, rates), rtol=1e-6, atol=1e-7
    )


# splitting, batches, friction, controllers


@pytest.mark.parametrize("method", ["DOP853", "rk4", "semi_implicit_euler", "implicit"])
def test_a_run_can_be_split_shifted_and_batched(method):
    robot, T = slider_crank(), 1 / 512
    run = by(method, T, **TIGHT)

    def later(start):
        return lambda t, q, dq: np.array([3 * sin(5 * (t + start)), 0 * t, 0 * t])

    q, dq = position(0.4), 4 * slope(0.4)
    whole = robot.simulate(q, dq, duration=128 * T, tau=later(0), **run)
    half = robot.simulate(q, dq, duration=64 * T, tau=later(0), **run)
    rest = robot.simulate(half.q[-1], half.dq[-1], duration=64 * T, tau=later(64 * T), **run)
    np.testing.assert_allclose(rest.q, whole.q[64:], atol=1e-9)
    states = np.array([position(0.4), position(-1.0)]), np.array([4 * slope(0.4), slope(-1.0)])
    both = robot.simulate(*states, duration=64 * T, tau=later(0), **run)
    same = np.testing.assert_array_equal
    if method == "DOP853":
        same = lambda a, b: np.testing.assert_allclose(a, b, atol=1e-9)  # noqa: E731
    same(both.q[:, 0], half.q)
    assert both.meta["closure"].shape == (65, 2)


def test_dry_friction_stops_a_crank_where_its_equation_stops():
    level, w = 3.0, 6.0
    robot = slider_crank(friction=kt.friction.Friction(coulomb=level))

    def rate(t, x):
        return np.array([x[1], crank_acceleration(x[0], x[1], -level)])

    times = np.linspace(0, 1, 20001)
    path = exact(rate, [0.7, w], times)
    stop = np.argmax(path[:, 1] <= 0)
    assert 0 < stop < 20000
    for method, dt, off in (("DOP853", 0.01, 1e-4), ("rk4", 1e-3, 1e-3), ("implicit", 1e-3, 1e-2)):
        motion = robot.simulate(position(0.7), w * slope(0.7), duration=times[stop] + 0.1,
                                **by(method, dt))  # fmt: skip
        assert motion.q[-1, 0] == pytest.approx(path[stop, 0], abs=off)
        assert np.abs(motion.dq[-1]).max() < 1e-14
    held = robot.simulate(position(0.7), duration=0.3, dt=0.01, method="rk4")
    assert np.abs(held.q - position(0.7)).max() < 1e-12


def test_computed_torque_follows_a_reference_by_the_motor_alone():
    robot = slider_crank()
    goal = kt.constraints.project(robot, [1.2, -1.5, 0.8], keep=["crank"])
    law = controllers.ComputedTorque(goal, kp=100.0, kd=20.0)
    motion = robot.simulate(position(0.7), duration=1, controller=law, **by("DOP853", 0.01))
    assert np.abs(motion.q[-1] - goal).max() < 2e-3
    assert np.abs(motion.tau[:, 1:]).max() == 0
    still = controllers.GravityCompensation()
    held = robot.simulate(position(0.7), duration=0.5, controller=still, **by("DOP853", 0.01))
    np.testing.assert_allclose(held.q[-1], position(0.7), atol=1e-7)
    pull = G * np.cos(0.7) * CRANK / 2 * 1.9
    np.testing.assert_allclose(held.tau[0], [pull, 0, 0], rtol=1e-9)


def test_starts_that_are_open_and_constraints_that_contradict_are_refused():
    robot = slider_crank()
    opened = position(0.7) + np.array([0, 0, 0.01])
    with pytest.raises(KinetreeError) as refused:
        robot.simulate(opened, duration=0.1)
    assert "pin" in str(refused.value)
    assert np.isnan(robot.step(opened, np.zeros(3), PUSH, 1e-3)[0]).all()
    with pytest.raises(KinetreeError):
        kt.constraints.unconstrained(robot).constrained({"far": Rod("base", "block", 50.0),
                                           "near": Rod("base", "block", 1.0)})  # fmt: skip
    with pytest.raises(SimulationError):
        robot.simulate(position(0.7), 3000 * slope(0.7), duration=1, dt=0.05, method="euler")


@pytest.mark.parametrize("kind", ["point", "axis", "plane", "pose"])
def test_gamma_of_a_loop_between_two_branches_is_the_rate_of_its_jacobian(kind):
    """Also where the loop is open, with rates that would open it further."""
    rng = np.random.default_rng(3)
    builder = kt.Builder("branches").link("base")
    for branch in "ab":
        before = "base"
        for k in range(3):
            builder.link(f"{branch}{k}", 1.0, (0.1, 0, 0), np.eye(3) / 50)
            axis, at = rng.normal(size=3), 0.3 * rng.normal(size=3)
            joint = {"axis": axis / np.linalg.norm(axis), "at": at}
            builder.joint(f"{branch}{k}", "revolute", before, f"{branch}{k}", **joint)
            before = f"{branch}{k}"
    robot = builder.build()
    T_a, T_b = (robot.pose(robot.neutral(), f"{x}2") for x in "ab")
    robot = robot.with_tool("end", at=np.linalg.inv(T_b) @ T_a, frame="b2")
    model = robot.constrained({"loop": Loop("a2", "end", kind)}).model
    q, dq, h = 0.2 * rng.normal(size=6), rng.normal(size=6), 1e-4
    ends = [kt.dynamics.constraint_jacobian(model, q + s * h * dq) @ dq for s in (1, -1)]
    gamma = kt.dynamics.constraint_bias(model, q, dq)
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), gamma, atol=1e-6)


@pytest.mark.parametrize("method", ["rk4", "time_stepping"])
def test_friction_as_a_parameter_is_that_of_the_robot(method):
    robot = kt.robots.four_bar()
    rough = robot.with_friction({x: kt.friction.Friction(0.1, 0.5) for x in robot.joint_names})
    q, data = robot.neutral(), np.tile([0.1, 0.1, 0.5, 0.5], (robot.n, 1))
    dq = kt.constraints.project_rates(robot, q, [3.0, 0, 0], keep=["crank"])
    options = {"duration": 0.3, "method": method, "limits": "ignore"}
    found = robot.simulate(q, dq, parameters={"friction": data}, **options)
    expected = rough.simulate(q, dq, **options)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-9)
    smooth = robot.simulate(q, dq, **options)
    assert np.abs(found.q - smooth.q).max() > 1e-2
    with pytest.raises(kt.errors.KinetreeError):
        robot.simulate(q, dq, duration=0.3, method="DOP853", parameters={"friction": data})
