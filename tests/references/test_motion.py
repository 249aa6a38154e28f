"""Planned motions, their limits and their timing, against closed forms, SciPy and a phase plane."""

import numpy as np
import pytest
from reference_robots import G, cart, double_bias, double_mass_matrix, double_pendulum, pendulum
from scipy.interpolate import CubicSpline
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree import motion
from kinetree.errors import KinetreeError

PANDA = kt.robots.panda()
HOME = np.array([0, -0.5, 0, -2, 0, 1.5, 0.5])
GOAL = np.array([1.5, 1.2, -0.3, -0.5, 0.4, 2.9, 0])
M = 2.0  # kg, of the cart
W = 2 * np.pi


def rail(friction=None, **limits):
    return cart(M, limits=kt.joints.Limits(**limits), friction=friction or kt.friction.Friction())


def rates_belong(trajectory, share=3e-3):
    """Central differences of q and dq are dq and ddq."""
    for low, high in ((trajectory.q, trajectory.dq), (trajectory.dq, trajectory.ddq)):
        slope = np.gradient(low, trajectory.t, axis=0, edge_order=2)[1:-1]
        assert np.abs(slope - high[1:-1]).max() < share * np.abs(high).max()


# plans


def test_cubics_and_quintics_are_the_polynomials_of_their_ends():
    q0, q1, T = np.array([0.1, -0.5]), np.array([1.0, 2.0]), 2.0
    rest = motion.cubic(q0, q1, T, 0.01)
    s = rest.t[:, None] / T
    np.testing.assert_allclose(rest.q, q0 + (q1 - q0) * s * s * (3 - 2 * s), atol=1e-13)
    smooth = motion.quintic(q0, q1, T, 0.01)
    rise = s**3 * (10 - 15 * s + 6 * s * s)
    np.testing.assert_allclose(smooth.q, q0 + (q1 - q0) * rise, atol=1e-13)
    ends = {"dq0": [0.3, 0.1], "dq1": [-1.0, 0.2], "ddq0": [1.0, 2.0], "ddq1": [0.5, -3.0]}
    fast = motion.quintic(q0, q1, T, 0.001, **ends)
    found = [fast.dq[0], fast.dq[-1], fast.ddq[0], fast.ddq[-1], fast.q[0], fast.q[-1]]
    np.testing.assert_allclose(found, [*ends.values(), q0, q1], atol=1e-10)
    for plan in (rest, smooth, fast):
        rates_belong(plan)
        assert plan.t[0] == 0 and plan.t[-1] == T
    met = motion.cubic(q0, q1, T, 0.001, dq0=ends["dq0"], dq1=ends["dq1"])
    np.testing.assert_allclose([met.dq[0], met.dq[-1]], [ends["dq0"], ends["dq1"]], atol=1e-12)


@pytest.mark.parametrize("ends", ["clamped", "natural", "not-a-knot"])
def test_splines_are_those_of_scipy(ends):
    rng = np.random.default_rng(0)
    points, times = rng.normal(size=(6, 3)), np.cumsum(rng.uniform(0.5, 1.5, 6)) - 0.5
    times -= times[0]
    plan = motion.spline(points, times, 0.01, ends=ends)
    expected = CubicSpline(times, points, bc_type=ends)
    for name, order in (("q", 0), ("dq", 1), ("ddq", 2)):
        np.testing.assert_allclose(getattr(plan, name), expected(plan.t, order), atol=1e-9)
    given = motion.spline(points, times, 0.01, dq0=[1, 2, 3], dq1=[0.1, 0.2, 0.3])
    rates = ((1, np.array([1.0, 2, 3])), (1, np.array([0.1, 0.2, 0.3])))
    np.testing.assert_allclose(given.q, CubicSpline(times, points, bc_type=rates)(given.t),
                               atol=1e-9)  # fmt: skip


@pytest.mark.parametrize(("way", "peak"), [(2.0, 0.8), (0.1, np.sqrt(0.3))])
def test_a_trapezoid_takes_the_least_time(way, peak):
    """It reaches 0.8 m/s at 3 m/s^2, or turns to braking half way."""
    plan = motion.trapezoid([0], [way], velocity=0.8, acceleration=3, dt=1e-3)
    duration = way / peak + peak / 3
    assert plan.t[-1] == pytest.approx(duration, rel=1e-12)
    assert np.abs(plan.dq).max() == pytest.approx(peak, rel=3e-3)
    assert np.abs(plan.ddq).max() == pytest.approx(3)
    t = plan.t
    rise, fall = 1.5 * t**2, way - 1.5 * (duration - t) ** 2
    line = peak * (t - peak / 6)
    expected = np.where(t < peak / 3, rise, np.where(t > duration - peak / 3, fall, line))
    np.testing.assert_allclose(plan.q[:, 0], expected, atol=1e-12)
    both = motion.trapezoid([0, 1], [way, 1 - way / 2], velocity=0.8, acceleration=3)
    np.testing.assert_allclose(both.q[:, 1], 1 - both.q[:, 0] / 2, atol=1e-12)
    longer = motion.trapezoid([0], [way], velocity=0.8, acceleration=3, duration=5)
    assert longer.t[-1] == 5 and longer.q[-1, 0] == pytest.approx(way)


def test_sinusoids_are_their_formula_and_excitations_stay_within_limits():
    t = np.linspace(0, 2, 201)
    wave = motion.sinusoid([0.1, -0.2], [1.0, 0.5], [0.7, 1.5], 2, 0.01, phase=[0.2, 0])
    expected = [0.1, -0.2] + np.array([1, 0.5]) * np.sin(W * np.outer(t, [0.7, 1.5]) + [0.2, 0])
    np.testing.assert_allclose(wave.q, expected, atol=1e-12)
    rates_belong(wave)
    plan = motion.excitation(PANDA, 4, 0.005, seed=3)
    again = motion.excitation(PANDA, 4, 0.005, seed=3)
    np.testing.assert_array_equal(plan.q, again.q)
    assert np.abs(motion.excitation(PANDA, 4, 0.005, seed=4).q - plan.q).max() > 0.1
    limits = [x.limits for x in PANDA.model.joints[:7]]
    assert (plan.q.min(0) >= [x.lower for x in limits]).all()
    assert (plan.q.max(0) <= [x.upper for x in limits]).all()
    assert (np.abs(plan.dq).max(0) <= [x.velocity for x in limits]).all()
    assert np.abs(plan.dq[[0, -1]]).max() < 1e-9 and np.abs(plan.ddq[[0, -1]]).max() < 1e-9
    rates_belong(plan)


def test_a_straight_line_is_straight_and_its_rates_are_the_least():
    T = PANDA.pose(HOME)
    turn = Rotation.from_rotvec([0.3, -0.2, 0.4])
    goal = T.copy()
    goal[:3, :3], goal[:3, 3] = T[:3, :3] @ turn.as_matrix(), T[:3, 3] + [0.1, 0.25, -0.1]
    plan = motion.straight_line(PANDA, HOME, goal, 1.0, 0.01)
    found, s = PANDA.pose(plan.q), plan.t**3 * (10 - 15 * plan.t + 6 * plan.t**2)
    np.testing.assert_allclose(found[:, :3, 3], T[:3, 3] + s[:, None] * [0.1, 0.25, -0.1],
                               atol=1e-11)  # fmt: skip
    turned = Rotation.from_matrix(T[:3, :3].T @ found[:, :3, :3]).as_rotvec()
    np.testing.assert_allclose(turned, s[:, None] * turn.as_rotvec(), atol=1e-11)
    rates_belong(plan)
    for q, dq in zip(plan.q[::20], plan.dq[::20], strict=True):
        null = np.linalg.svd(PANDA.body_jacobian(q))[2][6:]
        assert np.abs(null @ dq).max() < 1e-10
    free = motion.straight_line(kt.robots.planar_2r(), [0.3, 0.8], goal_of([0.5, 1.2]), 1.0,
                                part="position")  # fmt: skip
    p = kt.robots.planar_2r().pose(free.q)[:, :3, 3]
    line = p[-1] - p[0]
    assert np.abs(np.cross(p - p[0], line / np.linalg.norm(line))).max() < 1e-10
    with pytest.raises(KinetreeError):
        motion.straight_line(PANDA, HOME, kt.spatial.translation((3, 0, 0)), 1.0)


def goal_of(q):
    return kt.robots.planar_2r().pose(q)


# inverse kinematics


# checks and uniform scaling


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("quantity", ["position", "speed", "torque"])
def test_a_peak_beyond_a_limit_is_found_between_samples(quantity, side):
    """1 sin(w t) of a cart, with samples that miss the peak."""
    w, near = W * 0.7, 1 + 2e-6 * side
    limits = {
        "position": {"lower": -near, "upper": near},
        "speed": {"velocity": w * near},
        "torque": {"effort": M * w * w * near},
    }[quantity]
    robot = rail(**limits)
    plan = motion.sinusoid([0], [1], [0.7], 3, 0.0107, phase=0.2, robot=robot)
    report = kt.motion.check_limits(robot, plan)
    assert report.ok == (side > 0)
    assert {(v.joint, v.quantity) for v in report.violations} == (
        set() if side > 0 else {("rail", quantity)}
    )


def test_a_report_has_the_means_and_peaks_of_a_sine():
    b = 0.3
    robot = rail(friction=kt.friction.Friction(viscous=b))
    load = kt.motion.check_limits(
        robot, motion.sinusoid([0], [1], [1.0], 3.0, 0.001, robot=robot)
    ).joint("rail")
    peak = np.hypot(M * W * W, b * W)
    assert abs(load.peak_torque) == pytest.approx(peak, rel=1e-7)
    assert load.rms_torque == pytest.approx(peak / np.sqrt(2), rel=1e-9)
    assert load.mean_torque == pytest.approx(0, abs=1e-8)
    assert load.work == pytest.approx(3 * b * W * W / 2, rel=1e-9)
    assert load.mean_power == pytest.approx(b * W * W / 2, rel=1e-9)
    most = (b * W * W + np.hypot(M * W**3, b * W * W)) / 2
    assert load.peak_power == pytest.approx(most, rel=1e-6)
    assert (load.lowest, load.highest) == pytest.approx((-1, 1), abs=1e-8)
    assert abs(load.peak_speed) == pytest.approx(W, rel=1e-8)
    forces = np.maximum(0, [
        x * (-M * W * W * np.sin(W * t) + b * x) for t in np.linspace(0, 3, 100001)
        for x in [W * np.cos(W * t)]
    ])  # fmt: skip
    assert load.drawn == pytest.approx(np.trapezoid(forces, dx=3e-5), rel=1e-4)


def test_violations_have_their_times():
    robot = rail(velocity=2.0, upper=0.5)
    report = kt.motion.check_limits(
        robot, motion.sinusoid([0], [1], [0.5], 2.0, 0.001, robot=robot)
    )
    first = {v.quantity: v for v in reversed(report.violations)}
    upper = first["position"]
    assert (upper.start, upper.t, upper.end) == pytest.approx((1 / 6, 0.5, 5 / 6), abs=1e-5)
    speeds = [v for v in report.violations if v.quantity == "speed"]
    assert len(speeds) == 3  # the ends of the range, and the passage between


@pytest.mark.parametrize("case", ["inertia", "speed", "gravity", "friction"])
def test_the_slower_motion_has_the_factor_of_its_equation(case):
    if case in ("inertia", "speed"):
        limits = {"effort": M * W * W / 3} if case == "inertia" else {"velocity": W / 5}
        robot = rail(**limits)
        factor = np.sqrt(3) if case == "inertia" else 5
    elif case == "gravity":  # a lift: tau = m (s^2 ddq + g)
        built = kt.Builder("lift").link("base").link("cabin", M)
        built.joint("rise", "prismatic", "base", "cabin",
                    limits=kt.joints.Limits(effort=M * (G + 0.5 * W * W)))  # fmt: skip
        robot, factor = built.build(), np.sqrt(2)
    else:  # s^2 m ddq + s b dq + c = limit, at one sample
        robot = rail(effort=12.0, friction=kt.friction.Friction(viscous=4.0, coulomb=2.0))
        one = motion.Trajectory(t=[0], q=[[0]], dq=[[3.0]], ddq=[[5.0]], model=robot.model)
        s = np.roots([M * 5.0, 12.0, 2.0 - 12.0]).max()
        assert kt.motion.check_limits(robot, one).slower == pytest.approx(1 / s, rel=1e-9)
        return
    plan = motion.sinusoid([0], [1], [1.0], 2.0, 0.0107, phase=0.2, robot=robot)
    report = kt.motion.check_limits(robot, plan)
    assert report.slower == pytest.approx(factor, rel=1e-6)
    slow = motion.scale_time(plan, report.slower)
    assert kt.motion.check_limits(robot, slow).ok
    np.testing.assert_array_equal(slow.q, plan.q)
    np.testing.assert_allclose(slow.dq * factor, plan.dq, rtol=1e-5, atol=1e-9)
    assert not kt.motion.check_limits(robot, motion.scale_time(plan, report.slower * (1 - 1e-5))).ok


def test_friction_of_the_load_counts_when_it_drives_and_when_it_brakes():
    """(1 + 0.25) m a while the motor pushes ahead, (1 - 0.2) m a while it brakes."""
    robot = rail(friction=kt.friction.Friction(2.0, load=(0.25, 0.2)))
    plan = motion.quintic([0], [1], 1, 0.001, robot=robot)
    tau = kt.motion.without_load_friction(robot).inverse_dynamics(plan.q, plan.dq, plan.ddq)
    pushes = (plan.ddq * plan.dq > 0) * 1.25 + (plan.ddq * plan.dq < 0) * 0.8
    expected = pushes * M * plan.ddq + 2.0 * plan.dq
    np.testing.assert_allclose(kt.motion.motor_forces(robot, tau, plan.dq), expected, atol=1e-9)
    robot = rail(friction=kt.friction.Friction(load=(0.25, 0.2)))
    peak = M * np.abs(plan.ddq).max()
    assert kt.motion.check_limits(robot, plan).joint("rail").peak_torque == pytest.approx(
        1.25 * peak, rel=1e-4
    )
    report = kt.motion.check_limits(robot, plan, effort=1.25 * peak / 2)
    assert report.slower == pytest.approx(np.sqrt(2), rel=1e-4)


def test_what_gravity_breaks_no_slower_motion_mends():
    robot = pendulum(1.0, 1.0, 0.0, limits=kt.joints.Limits(effort=0.99 * G))
    report = kt.motion.check_limits(robot, motion.quintic([0], [np.pi / 2], 100, 0.05, robot=robot))
    assert report.slower is None and report.scaling.overloads[0].joint == "hinge"
    strong = pendulum(1.0, 1.0, 0.0, limits=kt.joints.Limits(effort=1.001 * G))
    assert kt.motion.check_limits(
        strong, motion.quintic([0], [np.pi / 2], 100, 0.05, robot=strong)
    ).ok


def test_a_slower_motion_of_an_arm_fits_and_no_faster_one_does():
    plan = motion.excitation(PANDA, 2.0, 0.005, seed=2)
    tau = np.abs(PANDA.inverse_dynamics(plan.q, plan.dq, plan.ddq)).max(0)
    limits = {"effort": np.maximum(0.8 * tau, 1.05 * np.abs(PANDA.gravity_forces(plan.q)).max(0))}
    factor = kt.motion.check_limits(PANDA, plan, **limits).slower
    assert (
        factor > 1 and kt.motion.check_limits(PANDA, motion.scale_time(plan, factor), **limits).ok
    )
    assert not kt.motion.check_limits(
        PANDA, motion.scale_time(plan, factor * (1 - 1e-5)), **limits
    ).ok


@pytest.mark.parametrize("dq", [3.0, -3.0])
def test_a_torque_speed_curve_limits_what_pushes_ahead(dq):
    force, speed = 20.0, 4.0
    robot = rail().with_drives({"rail": kt.joints.Drive([(0, force), (speed, 0)])})
    limit = force * (1 - 3 / speed)

    def at(tau):
        rows = {"t": [0], "q": [[0]], "dq": [[dq]], "ddq": [[tau / M]]}
        return kt.motion.check_limits(robot, motion.Trajectory(**rows, model=robot.model))

    sign = np.sign(dq)
    assert at(sign * 0.999 * limit).ok and not at(sign * 1.01 * limit).ok
    assert at(-sign * 0.999 * force).ok and not at(-sign * 1.01 * force).ok
    ddq = 30.0
    s = np.roots([M * ddq, force * 3 / speed, -force]).max()
    assert at(sign * M * ddq).slower == pytest.approx(1 / s, rel=1e-9)


def test_motors_have_the_torques_of_their_side_of_the_gear():
    plan = motion.sinusoid([0], [1], [1.0], 3.0, 0.001, robot=rail())
    motor = motion.Motor("motor", ratio=50.0, peak=3.0, rated=1.0, speed=400.0, inertia=1e-3)
    (load,) = motion.motor_loads(rail(), plan, [motor])
    peak = W * W * (M / 50 + 1e-3 * 50)
    assert load.peak_torque == pytest.approx(peak, rel=1e-5)
    assert load.rms_torque == pytest.approx(peak / np.sqrt(2), rel=1e-5)
    assert load.peak_speed == pytest.approx(50 * W, rel=1e-6)
    assert load.shares == pytest.approx((peak / 3, peak / np.sqrt(2), 50 * W / 400), rel=1e-5)


# time-optimal motions


def test_bang_bang_and_cruise_are_the_optimum_of_a_cart():
    F, plan = 3.0, motion.quintic([0], [1], 1, robot=rail())
    found = motion.time_optimal(rail(effort=F), plan)
    assert found.duration == pytest.approx(2 * np.sqrt(M / F), rel=1e-5)
    assert np.mean(np.abs(M * found.resample(1e-3).ddq) > F * (1 - 1e-4)) > 0.98
    cruise = motion.time_optimal(rail(effort=F, velocity=0.5), plan)
    assert cruise.duration == pytest.approx(1 / 0.5 + 0.5 / (F / M), rel=1e-4)
    gentle = motion.time_optimal(rail(effort=F), plan, acceleration=0.3)
    assert gentle.duration == pytest.approx(2 * np.sqrt(1 / 0.3), rel=1e-5)


def test_gravity_and_friction_change_the_optimum_as_their_equations_say():
    built = kt.Builder("lift").link("base").link("cabin", M)
    built.joint("rise", "prismatic", "base", "cabin", limits=kt.joints.Limits(effort=M * G + 3.0))
    lift = built.build()
    a, b = 3.0 / M, 2 * G + 3.0 / M
    v = np.sqrt(2 / (1 / a + 1 / b))
    found = motion.time_optimal(lift, motion.quintic([0], [1], 1, robot=lift))
    assert found.duration == pytest.approx(v / a + v / b, rel=1e-4)
    c = 0.5
    rubbing = rail(effort=3.0, friction=kt.friction.Friction(coulomb=c))
    a, b = (3.0 - c) / M, (3.0 + c) / M
    v = np.sqrt(2 / (1 / a + 1 / b))
    found = motion.time_optimal(rubbing, motion.quintic([0], [1], 1, robot=rubbing))
    assert found.duration == pytest.approx(v / a + v / b, rel=1e-3)


def fastest_by_phase_plane(start, end, effort, velocity, N=300):
    """Duration along a straight line of the double pendulum: controllable sets, then greedily.

    tau(s) = a u + b x + c with u = s'' and x = s'^2; linear programs on a grid of s.
    """
    way, ds = end - start, 1 / N
    zero, rows = np.zeros(2), []
    for k in range(N):
        q = start + (k + 0.5) * ds * way
        g = double_bias(q, zero)
        rows.append((double_mass_matrix(q) @ way, double_bias(q, way) - g, g))
    fast = np.min(velocity / np.abs(way)) ** 2
    most = np.zeros(N + 1)
    for k in reversed(range(N)):
        a, b, c = rows[k]
        # unknowns u and x at the start of the interval; x + ds u is x in its middle
        left = np.array([a + ds * b, b]).T
        found = linprog(
            [0, -1], np.vstack([left, -left, [[2 * ds, 1]], [[-2 * ds, -1]]]),
            np.concatenate([effort - c, effort + c, [most[k + 1], 0]]),
            bounds=[(None, None), (0, fast)],
        )  # fmt: skip
        most[k] = found.x[1]
    x = np.zeros(N + 1)
    for k in range(N):
        a, b, c = rows[k]
        slope, free = a + ds * b, b * x[k] + c
        room = np.where(slope > 0, effort - free, -effort - free) / slope
        x[k + 1] = min(most[k + 1], x[k] + 2 * ds * room.min(), fast)
    return (2 * ds / (np.sqrt(x[:-1]) + np.sqrt(np.maximum(x[1:], 1e-300)))).sum()


@pytest.mark.parametrize("velocity", [100.0, 2.0])
def test_a_double_pendulum_is_as_fast_as_its_phase_plane_allows(velocity):
    effort, start, end = np.array([12.0, 4.0]), np.array([-0.5, 0.3]), np.array([0.9, 1.2])
    limits = [{"limits": kt.joints.Limits(velocity=velocity, effort=x)} for x in effort]
    robot = double_pendulum(*limits)
    found = motion.time_optimal(robot, motion.quintic(start, end, 1, robot=robot), dt=0.005)
    expected = fastest_by_phase_plane(start, end, effort, velocity)
    assert found.duration == pytest.approx(expected, rel=0.01)
    fine = found.resample(1e-3 / np.sqrt(7))
    tau = np.array([double_mass_matrix(q) @ a + double_bias(q, v)
                    for q, v, a in zip(fine.q, fine.dq, fine.ddq, strict=True)])  # fmt: skip
    use = np.maximum(np.abs(tau) / effort, np.abs(fine.dq) / velocity).max(axis=1)
    assert use.max() < 1 + 1e-5 and use.mean() > 0.97
    share = (fine.q - start) / (end - start)
    np.testing.assert_allclose(share[:, 0], share[:, 1], atol=1e-9)


@pytest.mark.parametrize("name", ["quintic", "spline"])
def test_the_fastest_motion_of_an_arm_keeps_its_limits_on_its_path(name):
    middle = (HOME + GOAL) / 2 + 0.3
    plan = {
        "quintic": lambda: motion.quintic(HOME, GOAL, 1, robot=PANDA),
        "spline": lambda: motion.spline([HOME, middle, GOAL], 3, robot=PANDA),
    }[name]()
    found = motion.time_optimal(PANDA, plan, dt=0.01)
    fine = found.resample(0.01 / 10 / np.sqrt(7))
    tau = PANDA.inverse_dynamics(fine.q, fine.dq, fine.ddq)
    limits = [x.limits for x in PANDA.model.joints[:7]]
    use = np.maximum(np.abs(tau) / [x.effort for x in limits],
                     np.abs(fine.dq) / [x.velocity for x in limits]).max(axis=1)  # fmt: skip
    assert use.max() <= 1 + 1e-5 and use.mean() > 0.97
    assert (
        found.report.ok
        and found.duration < kt.motion.check_limits(PANDA, plan).scaling.fastest * plan.t[-1]
    )
    dense = plan.resample(1e-3)
    for q in fine.q[:: len(fine) // 15]:
        assert np.abs(dense.q - q).max(axis=1).min() < 5e-3


def test_motions_within_limits_take_their_share_of_speed():
    plan = motion.within_limits(PANDA, [HOME, GOAL], 0.01, speed=0.5)
    assert kt.motion.check_limits(PANDA, plan).ok
    assert kt.motion.check_limits(PANDA, plan).scaling.fastest == pytest.approx(0.5, rel=2e-3)
    np.testing.assert_allclose(plan.q[[0, -1]], [HOME, GOAL], atol=1e-12)


# between samples, energies


def test_plans_are_resampled_by_their_own_polynomials_and_recordings_by_quintics():
    plan = motion.trapezoid([0], [1], velocity=0.8, acceleration=3, dt=0.05)
    exact = motion.trapezoid([0], [1], velocity=0.8, acceleration=3, dt=1e-3)
    np.testing.assert_allclose(plan.resample(exact.t).q, exact.q, atol=1e-12)
    wanted = motion.sinusoid(0, 1, 0.5, 2, 0.001)
    worst = []
    for dt in (0.1, 0.05):
        wave = motion.sinusoid(0, 1, 0.5, 2, dt)
        plain = motion.Trajectory(t=wave.t, q=wave.q, dq=wave.dq, ddq=wave.ddq)
        worst.append(np.abs(motion.resample(plain, wanted.t).q - wanted.q).max())
    assert np.log2(worst[0] / worst[1]) == pytest.approx(6, abs=0.3)


def test_the_energy_of_a_motion_is_balanced():
    robot = double_pendulum(*[{"friction": kt.friction.Friction(viscous=0.3)}] * 2)
    worst = []
    for dt in (0.02, 0.01):
        plan = motion.quintic([-0.3, 0.2], [0.9, -1.0], 1, dt, robot=robot)
        balance = plan.energy()
        worst.append(np.abs(balance.defect).max() / np.abs(balance.work).max())
    assert worst[1] < 1e-5 and worst[0] / worst[1] > 8
    rise = robot.potential_energy(plan.q[-1]) - robot.potential_energy(plan.q[0])
    losses = np.trapezoid(0.3 * (plan.dq**2).sum(1), plan.t)
    assert balance.work[-1] == pytest.approx(rise + losses, rel=1e-4)
    assert balance.losses[-1] == pytest.approx(losses, rel=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: motion.quintic([0], [1, 2], 1), lambda: motion.quintic([0], [1], -1),
        lambda: motion.cubic([0], [np.nan], 1), lambda: motion.spline([[0], [1]], [0, 0]),
        lambda: motion.trapezoid([0], [1], acceleration=-3), lambda: motion.scale_time(None, 2),
        lambda: PANDA.inverse_kinematics(2 * np.eye(4)),
        lambda: kt.motion.check_limits(PANDA, motion.quintic([0], [1], 1)),
        lambda: motion.time_optimal(rail(effort=0.4, friction=kt.friction.Friction(coulomb=0.5)),
                                    motion.quintic([0], [1], 1, robot=rail())),
    ],
)  # fmt: skip
def test_plans_that_make_no_sense_are_refused(make):
    with pytest.raises((KinetreeError, TypeError)):
        make()
