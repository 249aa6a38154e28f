"""Optimal control against SciPy, IPOPT and the definitions of the costs, written in NumPy."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from reference_robots import DOUBLE, G, double_acceleration, double_mass_matrix, double_pendulum
from scipy.optimize import lsq_linear, minimize

import kinetree as kt
from kinetree import optimal
from kinetree.errors import KinetreeError
from kinetree.friction import Friction
from kinetree.joints import Actuator, Spring
from kinetree.scalars import where

TIGHT = {"iterations": 300, "tolerance": 1e-13}
GOAL = np.array([0.8, 0.1])
IPOPT_COST = 1.7044815289794943  # of swing_up(), by swing_up_by_ipopt


# LQR


def random_system(rng):
    n, m = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    A, B = rng.normal(size=(n, n)) / np.sqrt(n), rng.normal(size=(n, m))
    J, r = rng.normal(size=(n, n)), rng.normal(size=(m, m))
    return A, B, J @ J.T + np.eye(n), r @ r.T + np.eye(m), 0.1 * rng.normal(size=(n, m))


@pytest.mark.parametrize("discrete", [False, True])
def test_gains_satisfy_the_riccati_equation_and_are_stable(discrete):
    rng = np.random.default_rng(3)
    for _ in range(12):
        A, B, Q, R, N = random_system(rng)
        found = optimal.lqr(A, B, Q, R, N, discrete=discrete)
        P, K, scale = found.P, found.K, np.abs(found.P).max()
        if discrete:
            rest = A.T @ P @ A - P - (A.T @ P @ B + N) @ K + Q
            gradient = (R + B.T @ P @ B) @ K - B.T @ P @ A - N.T
        else:
            rest, gradient = A.T @ P + P @ A - (P @ B + N) @ K + Q, R @ K - B.T @ P - N.T
        np.testing.assert_allclose(rest, 0, atol=1e-9 * scale)
        np.testing.assert_allclose(gradient, 0, atol=1e-9 * scale)
        np.testing.assert_allclose(found.poles, np.linalg.eigvals(A - B @ K))
        assert (np.abs(found.poles) < 1 if discrete else found.poles.real < 0).all()


def test_sampled_costs_are_those_of_the_continuous_motion():
    A, B, Q, R, _ = random_system(np.random.default_rng(5))
    n, m = B.shape
    dt, x, u = 0.3, np.arange(1.0, n + 1), np.ones(m)
    Ad, Bd, Qd, Rd, Nd = optimal.sampled(A, B, Q, R, dt)

    def rate(t, y):
        return np.append(A @ y[:n] + B @ u, y[:n] @ Q @ y[:n] + u @ R @ u)

    y = scipy.integrate.solve_ivp(rate, (0, dt), np.append(x, 0), rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(Ad @ x + Bd @ u, y[:n], rtol=1e-8)
    assert x @ Qd @ x + 2 * x @ Nd @ u + u @ Rd @ u == pytest.approx(y[n], rel=1e-8)


@pytest.mark.parametrize("dt", [None, 0.02])
def test_a_regulator_is_that_of_the_linearized_robot_and_holds_it(dt):
    robot, q, h = double_pendulum(), np.array([np.pi, 0.0]), 1e-6
    A, B = np.zeros((4, 4)), np.zeros((4, 2))
    A[:2, 2:], B[2:] = np.eye(2), np.linalg.inv(double_mass_matrix(q))
    for k in range(2):
        ends = [double_acceleration(q + s * h * np.eye(2)[k], [0, 0]) for s in (1, -1)]
        A[2:, k] = (ends[0] - ends[1]) / (2 * h)
    Q, R = np.diag([2.0, 1, 0.5, 0.3]), 0.1 * np.eye(2)
    found = optimal.regulate(robot, q, Q, R, dt=dt)
    if dt is None:
        P = scipy.linalg.solve_continuous_are(A, B, Q, R)
        K = np.linalg.solve(R, B.T @ P)
    else:
        Ad, Bd, Qd, Rd, Nd = optimal.sampled(A, B, Q, R, dt)
        P = scipy.linalg.solve_discrete_are(Ad, Bd, Qd, Rd, s=Nd)
        K = np.linalg.solve(Rd + Bd.T @ P @ Bd, Bd.T @ P @ Ad + Nd.T)
    np.testing.assert_allclose(found.K, K, atol=1e-5 * np.abs(K).max())
    if dt is None:
        run = robot.simulate(q + np.array([0.1, -0.05]), duration=6, method="DOP853",
                             tau=lambda t, x, v: -found.K @ np.concatenate([x - q, v]))  # fmt: skip
        assert np.abs(run.q[-1] - q).max() < 1e-3


@pytest.mark.parametrize(
    "changed",
    [
        {"A": np.diag([1.0, 2.0]), "B": [[1.0], [0.0]], "R": [[1.0]]},
        {"Q": -np.eye(2)}, {"R": np.zeros((2, 2))}, {"Q": [[1.0, np.nan], [0.0, 1.0]]},
        {"B": np.ones((3, 1))}, {"Q": [[1.0, 1.0], [0.0, 1.0]]},
    ],
    ids=["out of reach", "negative", "free forces", "NaN", "shape", "not symmetric"],
)  # fmt: skip
def test_regulators_that_do_not_exist_are_refused(changed):
    given = {"A": np.eye(2), "B": np.eye(2), "Q": np.eye(2), "R": np.eye(2)} | changed
    with pytest.raises(KinetreeError):
        optimal.lqr(**given)


# a linear robot


def slides(rng, n):
    """A chain of sliding joints along random axes: a linear robot with a full mass matrix."""
    built = kt.Builder("slides").link("base")
    for k in range(n):
        built.link(f"link{k}", rng.uniform(0.5, 2), (0, 0, 0))
        axis = rng.normal(size=3)
        built.joint(f"slide{k}", "prismatic", f"link{k - 1}" if k else "base", f"link{k}",
                    axis=axis / np.linalg.norm(axis))  # fmt: skip
    return built.build()


def linear_problem(rng, n, N, limits, **more):
    costs = {
        "posture": optimal.Posture(rng.normal(size=n), rng.uniform(0.5, 2, n), 50.0),
        "rates": optimal.Rates(None, 0.2, 1.0),
        "effort": optimal.Effort(rng.normal(size=n), rng.uniform(0.001, 0.1, n)),
    }
    return optimal.Problem(slides(rng, n), dt=0.05, steps=N, costs=costs | more, limits=limits)


def linear_system(problem):
    """A, B and c of the next state A x + B u + c."""
    robot, h, n = problem.robot, problem.dt, problem.robot.n
    light = np.linalg.inv(robot.mass_matrix(np.zeros(n)))
    A = np.block([[np.eye(n), h * np.eye(n)], [np.zeros((n, n)), np.eye(n)]])
    B = np.concatenate([h * h * light, h * light])
    return A, B, -B @ robot.gravity_forces(np.zeros(n))


def weights_of(problem, key):
    n = problem.robot.n
    parts = [problem.costs[x] for x in ("posture", "rates")]
    return np.concatenate([np.broadcast_to(getattr(x, key), n) for x in parts])


@pytest.mark.parametrize("seed", range(3))
def test_plans_of_a_linear_robot_are_a_bounded_least_squares_problem(seed):
    """All forces at once, by SciPy."""
    rng, n, N = np.random.default_rng(seed), 3, 8
    problem = linear_problem(rng, n, N, rng.uniform(2, 6, n))
    q0, dq0 = rng.normal(size=(2, n))
    A, B, c = linear_system(problem)
    h, size, effort = problem.dt, n * N, problem.costs["effort"]
    aim = np.concatenate([problem.costs["posture"].target, np.zeros(n)])
    by_u, x, rows, right = np.zeros((2 * n, size)), np.concatenate([q0, dq0]), [], []
    for t in range(N + 1):
        w = np.sqrt(weights_of(problem, "final") if t == N else weights_of(problem, "weight") * h)
        rows.append(w[:, None] * by_u)
        right.append(w * (aim - x))
        if t < N:
            step = np.zeros((n, size))
            step[:, t * n : (t + 1) * n] = np.eye(n)
            w = np.sqrt(effort.weight * h)
            rows.append(w[:, None] * step)
            right.append(w * effort.target)
            by_u, x = A @ by_u + B @ step, A @ x + c
    limits = np.tile(problem.limits, N)
    best = lsq_linear(np.concatenate(rows), np.concatenate(right), (-limits, limits),
                      method="bvls", tol=1e-14)  # fmt: skip
    plan = problem.solve(q0, dq0, **TIGHT)
    assert plan.converged and (np.abs(best.x) > 0.999 * limits).sum() > 3
    assert plan.cost == pytest.approx(best.cost, rel=1e-9)
    np.testing.assert_allclose(plan.tau.ravel(), best.x, atol=1e-5 * limits.max())
    assert (np.abs(plan.tau) <= problem.limits).all()


def test_gains_of_a_long_plan_are_those_of_the_riccati_equation():
    rng = np.random.default_rng(1)
    problem = linear_problem(rng, 2, 400, None)
    A, B, _ = linear_system(problem)
    h = problem.dt
    Q, R = np.diag(weights_of(problem, "weight")) * h, np.diag(problem.costs["effort"].weight) * h
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    plan = problem.solve(np.zeros(2), np.zeros(2), **TIGHT)
    np.testing.assert_allclose(plan.gains[0], -K, atol=1e-6 * np.abs(K).max())


def test_one_iteration_solves_a_linear_robot_also_from_a_guess_that_is_no_motion():
    """The guess is the plan of another start: its first step misses the start by a gap."""
    problem = linear_problem(np.random.default_rng(4), 2, 12, None)
    best = problem.solve([0.5, -0.2], [0.1, 0.3], **TIGHT)
    guess = problem.solve([-1.0, 0.8], [0.0, -0.5], **TIGHT)
    once = problem.solve([0.5, -0.2], [0.1, 0.3], guess=guess, iterations=1, tolerance=0)
    assert once.cost == pytest.approx(best.cost, rel=1e-9) and once.gap < 1e-9
    np.testing.assert_allclose(once.tau, best.tau, atol=1e-8 * np.abs(best.tau).max())


# plans of the double pendulum, whose equations are in NumPy


def reach(*, limits=15.0, steps=20, dt=0.05, **costs):
    costs = {
        "posture": optimal.Posture(target=GOAL, weight=1.0, final=20.0),
        "rates": optimal.Rates(weight=0.1, final=2.0),
        "effort": optimal.Effort(weight=0.02),
        **costs,
    }
    return optimal.Problem(double_pendulum(), dt=dt, steps=steps, costs=costs, limits=limits)


def rolled_out(tau, x0, dt):
    """States of semi-implicit Euler steps."""
    q, dq = np.array(x0[:2], float), np.array(x0[2:], float)
    rows = [np.concatenate([q, dq])]
    for u in tau:
        dq = dq + dt * double_acceleration(q, dq, u)
        q = q + dt * dq
        rows.append(np.concatenate([q, dq]))
    return np.array(rows)


def cost_of(tau, x0, dt):
    x = rolled_out(tau, x0, dt)
    running = ((x[:-1, :2] - GOAL) ** 2).sum() + 0.1 * (x[:-1, 2:] ** 2).sum()
    ends = 20 * ((x[-1, :2] - GOAL) ** 2).sum() + 2 * (x[-1, 2:] ** 2).sum()
    return 0.5 * dt * (running + 0.02 * (np.asarray(tau) ** 2).sum()) + 0.5 * ends


@pytest.mark.parametrize("limits", [None, 4.0])
def test_plans_have_the_least_cost_that_scipy_finds(limits):
    x0, N = [0.3, -0.4, 0.5, 0.0], 8
    problem = reach(limits=limits, steps=N)
    plan = problem.solve(x0[:2], x0[2:], **TIGHT)
    np.testing.assert_allclose(np.hstack([plan.q, plan.dq]), rolled_out(plan.tau, x0, 0.05),
                               atol=1e-10)  # fmt: skip
    assert plan.cost == pytest.approx(cost_of(plan.tau, x0, 0.05), rel=1e-10)
    bounds = None if limits is None else [(-limits, limits)] * (2 * N)
    best = minimize(lambda u: cost_of(u.reshape(N, 2), x0, 0.05), np.zeros(2 * N), bounds=bounds,
                    method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    assert plan.converged and plan.cost == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(plan.tau.ravel(), best.x, atol=5e-3 * np.abs(best.x).max())
    if limits is not None:
        assert (np.abs(plan.tau) == limits).sum() > 2
        assert np.abs(plan.tau).max() == limits


def swing_up():
    """The knee alone swings the double pendulum up; the hip has no motor."""
    costs = {
        "upright": optimal.Posture(target=[np.pi, 0.0], final=500.0),
        "still": optimal.Rates(weight=0.01, final=50.0),
        "effort": optimal.Effort(weight=0.01),
    }
    return optimal.Problem(double_pendulum(), dt=0.03, steps=60, costs=costs, limits=12.0,
                           actuated=["knee"])  # fmt: skip


def swing_up_by_ipopt(problem, guess):
    """The least cost of the same steps from the same guess, by CasADi and IPOPT."""
    ca = pytest.importorskip("casadi")
    p, N, h = DOUBLE, problem.steps, problem.dt
    X, U = ca.MX.sym("X", 4, N), ca.MX.sym("U", N)

    def rates(x, u):
        s, c = ca.sin(x[1]), ca.cos(x[1])
        last, coupling = p["I2"] + p["m2"] * p["c2"] ** 2, p["m2"] * p["L"] * p["c2"]
        first = p["I1"] + p["m1"] * p["c1"] ** 2 + p["m2"] * p["L"] ** 2 + last + 2 * coupling * c
        M = ca.vertcat(
            ca.horzcat(first, last + coupling * c), ca.horzcat(last + coupling * c, last)
        )
        far = p["m2"] * p["c2"] * G * ca.sin(x[0] + x[1])
        near = (p["m1"] * p["c1"] + p["m2"] * p["L"]) * G * ca.sin(x[0])
        bias = ca.vertcat(-coupling * s * (2 * x[2] + x[3]) * x[3] + near + far,
                          coupling * s * x[2] ** 2 + far)  # fmt: skip
        return x[2:] + h * ca.solve(M, ca.vertcat(0, u) - bias)

    states, gaps, total = [ca.DM.zeros(4), *ca.horzsplit(X)], [], 0
    for t in range(N):
        dq = rates(states[t], U[t])
        gaps.append(states[t + 1] - ca.vertcat(states[t][:2] + h * dq, dq))
        total += 0.5 * h * 0.01 * (ca.sumsqr(states[t][2:]) + U[t] ** 2)
    end = states[N]
    total += 250 * ca.sumsqr(end[:2] - ca.DM([np.pi, 0])) + 25 * ca.sumsqr(end[2:])
    z = ca.vertcat(ca.vec(X), U)
    quiet = {"print_time": 0, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-10}
    solver = ca.nlpsol("s", "ipopt", {"x": z, "f": total, "g": ca.vertcat(*gaps)}, quiet)
    begin = np.concatenate([np.hstack([guess.q[1:], guess.dq[1:]]).ravel(), guess.tau[:, 1]])
    bounds = np.concatenate([np.full(4 * N, np.inf), np.full(N, problem.limits)])
    found = solver(x0=begin, lbx=-bounds, ubx=bounds, lbg=0, ubg=0)
    assert solver.stats()["success"]
    return float(found["f"]), np.array(found["x"])[4 * N :].ravel()


def test_a_swing_up_has_the_cost_of_ipopt():
    problem = swing_up()
    plan = problem.solve([0.0, 0.0], iterations=600, tolerance=1e-10)
    assert plan.converged and not plan.tau[:, 0].any()
    assert np.abs(plan.tau).max() <= 12.0
    np.testing.assert_allclose(plan.q[-1], [np.pi, 0], atol=0.1)
    assert plan.cost == pytest.approx(IPOPT_COST, rel=1e-6)
    cost, forces = swing_up_by_ipopt(problem, plan)
    assert cost == pytest.approx(IPOPT_COST, rel=1e-7)
    assert plan.cost == pytest.approx(cost, rel=1e-6)
    np.testing.assert_allclose(plan.tau[:, 1], forces, atol=1e-3 * 12)


def test_plans_need_iterations_and_say_whether_they_converged():
    problem = swing_up()
    first = problem.solve([0.0, 0.0], iterations=2, tolerance=1e-13)
    assert not first.converged and len(first.history) == 2
    plan = problem.solve([0.0, 0.0], tolerance=1e-6, iterations=300)
    costs = [row["cost"] for row in plan.history]
    assert (np.diff(costs) <= 1e-12).all() and costs[-1] == pytest.approx(plan.cost)
    again = problem.solve([0.0, 0.0], guess=plan, iterations=0)
    assert again.cost == pytest.approx(plan.cost, rel=1e-12)


def test_a_search_that_ends_at_a_kink_is_stalled_and_not_converged():
    """The cost falls towards q0 = 0.3 from both sides, so that its slope never becomes small."""

    def residual(t, q, dq, tau):
        return np.array([1 + where(q[0] > 0.3, q[0] - 0.3, 0.9 - 3 * q[0])])

    kink = optimal.Residual(function=residual, entries=1, weight=0.0, final=100.0)
    costs = [kink, optimal.Effort(weight=1e-4)]
    problem = optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=12, limits=None, costs=costs)
    for start in ([0.3, 0.1], [0.1, -0.2], [0.29, 0.0]):
        plan = problem.solve(start, iterations=100)
        assert not plan.converged and plan.reason.startswith("stalled")


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "euler", "implicit"])
def test_the_motion_of_a_plan_is_that_of_its_steps(method):
    robot = double_pendulum(*[{"friction": Friction(0.5), "spring": Spring(3.0)}] * 2)
    costs = [optimal.Posture(GOAL, 1.0, 20.0), optimal.Effort(weight=0.1)]
    options = {"dt": 0.02, "steps": 20, "limits": 15.0, "method": method}
    try:
        problem = optimal.Problem(robot, costs=costs, **options)
    except KinetreeError:
        assert method == "implicit"  # a method that plans do not have is refused by name
        return
    plan = problem.solve([0.3, -0.4], [0.5, 0.0], tolerance=1e-10)
    assert plan.converged
    q, dq = np.array([0.3, -0.4]), np.array([0.5, 0.0])
    for k, tau in enumerate(plan.tau):
        q, dq = robot.step(q, dq, tau, 0.02, method=method)
        np.testing.assert_allclose(plan.q[k + 1], q, atol=1e-10)
    near = [problem.solve([0.3, -0.4], [0.5, 0.0], iterations=0,
                          guess=plan.tau + s * 1e-4 * np.sin(np.arange(40)).reshape(20, 2)).cost
            for s in (1, -1)]  # fmt: skip
    assert min(near) > plan.cost


# costs by their definitions


def rotation_vector(R):
    return scipy.spatial.transform.Rotation.from_matrix(R).as_rotvec()


def test_costs_are_what_their_definitions_say():
    robot, rng = kt.robots.panda(), np.random.default_rng(3)
    home = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    twist, momentum, place = rng.normal(size=6), rng.normal(size=6), rng.normal(size=3)
    rates, efforts, goal = rng.normal(size=(5, 7)), rng.normal(size=7), rng.normal(size=7)
    frames = robot.model.link_names[2:5:2]

    def leaning(t, q, dq, tau, poses, target):
        return np.array([poses[0][2, 3] * target[0] - poses[1][0, 3], tau[0] * t - target[1]])

    w = {"weight": 2.0, "final": 3.0}
    costs = {
        "posture": optimal.Posture(goal, weight=rng.uniform(1, 2, 7), final=3.0),
        "rates": optimal.Rates(rates, **w),
        "effort": optimal.Effort(efforts, weight=2.0),
        "change": optimal.EffortChange(weight=2.0),
        "place": optimal.FramePosition(place, **w),
        "turn": optimal.FrameRotation(robot.pose(home + 0.3)[:3, :3], **w),
        "body": optimal.FrameTwist(target=twist, expressed="body", **w),
        "aligned": optimal.FrameTwist(frame=frames[1], **w),
        "centre": optimal.CenterOfMass(place, **w),
        "momentum": optimal.Momentum(target=momentum, **w),
        "limits": optimal.JointLimits(target=[0.9], **w),
        "speed": optimal.SpeedLimits(target=[0.1], **w),
        "own": optimal.Residual([2.0, 0.3], function=leaning, entries=2, frames=frames, **w),
    }
    before = rng.normal(size=7)
    problem = optimal.Problem(robot, dt=0.02, steps=4, costs=costs, before=before)
    forces = robot.gravity_forces(home) + 5 * rng.normal(size=(4, 7))
    found = problem.solve(home, 0.5 * rng.normal(size=7), guess=forces, iterations=0)
    np.testing.assert_array_equal(found.tau, forces)
    most = 0.1 * np.array([joint.limits.velocity for joint in robot.model.joints[:7]])
    low, high = np.array([(x.limits.lower, x.limits.upper) for x in robot.model.joints[:7]]).T

    def squares(k):
        t, q, dq = 0.02 * k, found.q[k], found.dq[k]
        tau = forces[k] if k < 4 else np.zeros(7)
        z, x = robot.pose(q, frames[0])[2, 3], robot.pose(q, frames[1])[0, 3]
        last = forces[k - 1] if k else before
        R = costs["turn"].target.T @ robot.pose(q)[:3, :3]
        beyond = np.maximum(q - (high - 0.9), 0) + np.maximum(low + 0.9 - q, 0)
        weight = costs["posture"].weight / 2 if k < 4 else 1.0
        return {
            "posture": (weight * (q - goal) ** 2).sum(),
            "rates": ((dq - rates[k]) ** 2).sum(),
            "effort": ((tau - efforts) ** 2).sum(),
            "change": (((tau - last) / 0.02) ** 2).sum(),
            "place": ((robot.pose(q)[:3, 3] - place) ** 2).sum(),
            "turn": (rotation_vector(R) ** 2).sum(),
            "body": ((robot.frame_velocity(q, dq) - twist) ** 2).sum(),
            "aligned": (robot.frame_velocity(q, dq, frames[1], expressed="aligned") ** 2).sum(),
            "centre": ((robot.center_of_mass(q) - place) ** 2).sum(),
            "momentum": ((robot.centroidal_momentum(q, dq) - momentum) ** 2).sum(),
            "limits": (beyond**2).sum(),
            "speed": (np.maximum(np.abs(dq) - most, 0) ** 2).sum(),
            "own": (2 * z - x) ** 2 + (tau[0] * t - 0.3) ** 2,
        }

    rows = [squares(k) for k in range(5)]
    for name, cost in costs.items():
        ends = 0 if name in ("effort", "change") else cost.final / 2 * rows[4][name]
        wanted = 0.02 * sum(row[name] for row in rows[:4]) + ends
        assert found.costs[name] == pytest.approx(wanted, rel=2e-5), name
    assert found.cost == pytest.approx(sum(found.costs.values()))


@pytest.mark.parametrize(
    "cost",
    [
        optimal.FramePosition(target=[0.5, 0, -0.5], weight=200.0),
        optimal.FrameTwist(target=[0, 0.5, 0, 0.2, 0, 0], weight=20.0),
        optimal.Momentum(target=[0, 0.1, 0, 0.5, 0, 0], weight=20.0),
        optimal.CenterOfMass(target=[0.3, 0, -0.2], weight=100.0),
        optimal.EffortChange(weight=1e-3),
        optimal.Residual(function=lambda t, q, dq, tau: q * tau[0] - t, entries=2, weight=1.0),
    ],
    ids=lambda cost: type(cost).__name__,
)
def test_plans_with_a_cost_are_stationary(cost):
    """The slope of the cost along random changes of the forces vanishes."""
    problem = reach(own=cost, limits=None, steps=15, dt=0.02)
    plan = problem.solve([0.2, 0.4], **TIGHT)
    assert plan.converged and plan.costs["own"] > 0
    rng = np.random.default_rng(0)
    step = 1e-3 * (np.abs(plan.tau).max() + 1e-3) * rng.normal(size=plan.tau.shape)
    ends = [problem.solve([0.2, 0.4], guess=plan.tau + s * step, iterations=0).cost
            for s in (1, -1)]  # fmt: skip
    bend = sum(ends) - 2 * plan.cost
    assert bend > 0 and abs(ends[0] - ends[1]) < 0.05 * bend


def test_weights_and_the_order_of_costs_do_not_change_a_plan():
    problem = reach(limits=6.0)
    plan = problem.solve([0.3, -0.4])
    scaled = {name: type(x)(x.target, 128 * x.weight, 128 * x.final)
              for name, x in problem.costs.items()}  # fmt: skip
    doubled = problem.with_costs(**scaled).solve([0.3, -0.4])
    np.testing.assert_array_equal(plan.tau, doubled.tau)
    assert doubled.cost == 128 * plan.cost
    turned = optimal.Problem(problem.robot, dt=0.05, steps=20, limits=6.0,
                             costs=dict(reversed(problem.costs.items())))  # fmt: skip
    np.testing.assert_allclose(turned.solve([0.3, -0.4]).tau, plan.tau, atol=1e-6)


def test_what_pushes_a_plan_is_in_balance():
    problem = reach(limits=6.0)
    plan = problem.solve([0.3, -0.4], **TIGHT)
    free = plan.explain(15)
    assert set(free) == {"posture", "rates", "effort"}
    inside = np.abs(plan.tau[15]) < 6.0
    assert np.abs(sum(free.values()))[inside].max(initial=0) < 1e-3
    np.testing.assert_allclose(free["effort"][inside], -0.05 * 0.02 * plan.tau[15][inside],
                               atol=1e-6)  # fmt: skip


# constraints, actuators, batches


def test_a_plan_of_a_closed_loop_stays_closed():
    robot = kt.robots.four_bar()
    q = robot.neutral()
    goal = kt.constraints.project(robot, q + 0.6 * np.eye(3)[0], keep=["crank"])
    costs = [optimal.Posture(goal, final=100.0), optimal.Rates(final=5.0),
             optimal.Effort(weight=1e-3)]  # fmt: skip
    problem = optimal.Problem(robot, dt=0.02, steps=15, costs=costs)
    plan = problem.solve(q, tolerance=1e-12)
    assert plan.converged and np.abs(kt.constraints.errors(robot, plan.q)).max() < 1e-9
    assert not plan.tau[:, 1:].any()
    np.testing.assert_allclose(plan.q[-1], goal, atol=1e-2)
    at, rates = q, np.zeros(3)
    for k, tau in enumerate(plan.tau):
        at, rates = robot.step(at, rates, tau, 0.02)
        np.testing.assert_allclose(plan.q[k + 1], at, atol=1e-9)


def test_controls_of_actuators_are_planned_within_their_ranges():
    robot = double_pendulum().with_actuators({
        "first": Actuator.motor("hip", control_range=(-6, 6)),
        "second": Actuator.position("knee", kp=30, kd=2, time_constant=0.05),
    })  # fmt: skip
    costs = [optimal.Posture([0.5, 0.8], final=300.0), optimal.Rates(weight=0.1, final=3.0),
             optimal.Effort(weight=1e-2)]  # fmt: skip
    problem = optimal.Problem(robot, dt=0.02, steps=25, costs=costs, controls=True)
    plan = problem.solve([0.0, 0.2], **TIGHT)
    q, dq, a = np.array([0.0, 0.2]), np.zeros(2), np.zeros(1)
    for k, u in enumerate(plan.controls):
        q, dq, a = robot.step(q, dq, [0, 0], 0.02, controls=u, activation=a)
        np.testing.assert_allclose(plan.q[k + 1], q, atol=1e-9)
    assert np.abs(plan.controls[:, 0]).max() <= 6
    assert plan.gains.shape == (25, 2, 5)


def test_problems_of_a_batch_are_those_one_by_one():
    problem = reach(limits=8.0)
    starts = np.array([[0.3, -0.4], [0.0, 0.0], [-0.5, 1.0]])
    together = problem.solve(starts, **TIGHT)
    assert together.tau.shape == (20, 3, 2)
    many = problem.batch(weights={"effort": [0.02, 0.2]}, targets={"posture": [GOAL, -GOAL]})
    varied = many.solve(starts[0], **TIGHT)
    for b, start in enumerate(starts):
        alone = problem.solve(start, **TIGHT)
        assert together.cost[b] == pytest.approx(alone.cost, rel=1e-9)
        np.testing.assert_allclose(together.tau[:, b], alone.tau, atol=1e-4)
        assert together[b].converged
    other = problem.with_costs(effort=optimal.Effort(weight=0.2),
                               posture=optimal.Posture(-GOAL, 1.0, 20.0))  # fmt: skip
    assert varied.cost[0] == pytest.approx(together.cost[0], rel=1e-9)
    assert varied.cost[1] == pytest.approx(other.solve(starts[0], **TIGHT).cost, rel=1e-9)
    heavy = problem.batch(mass=problem.robot.model.m * np.array([[1.0], [1.5]]))
    costs = heavy.solve(starts[0], **TIGHT).cost
    assert costs[0] == pytest.approx(together.cost[0], rel=1e-9) and costs[1] != costs[0]


# samples


@pytest.mark.parametrize("method", ["mppi", "cross-entropy"])
def test_samples_come_near_the_optimum_and_their_seed_decides(method):
    problem, start = reach(limits=3.0), [0.3, -0.4]
    best = problem.solve(start, **TIGHT)
    assert np.abs(best.tau).max() == 3.0
    options = {"method": method, "samples": 512, "iterations": 25}
    with kt.kernels.threads(1):
        found = problem.sample(start, **options, seed=5)
    with kt.kernels.threads(2):
        again = problem.sample(start, **options, seed=5)
    np.testing.assert_array_equal(found.tau, again.tau)
    assert found.cost != problem.sample(start, **options, seed=6).cost
    assert best.cost < found.cost < 1.1 * best.cost
    assert np.abs(found.tau).max() <= 3.0
    assert found.cost == min(row["cost"] for row in found.history)
    assert found.cost == pytest.approx(cost_of(found.tau, [*start, 0, 0], 0.05), rel=1e-9)
    polished = problem.solve(start, guess=found, **TIGHT)
    assert polished.cost == pytest.approx(best.cost, rel=1e-7)


def test_the_result_of_samples_is_the_best_of_all_iterations():
    found = swing_up().sample([0.0, 0.0], method="cross-entropy", samples=128, iterations=6,
                              noise=2.0)  # fmt: skip
    costs = [row["cost"] for row in found.history]
    assert found.cost == min(costs) < costs[-1]


# MPC


def test_a_tick_with_many_iterations_is_a_plan_and_failures_go_on_with_the_last():
    problem = reach(limits=8.0)
    mpc = optimal.MPC(problem, iterations=200)
    for q in ([0.3, -0.4], [0.5, 0.1], [0.0, -0.6]):
        expected = problem.solve(q, [0.1, 0.0], iterations=200, tolerance=1e-12)
        np.testing.assert_allclose(mpc(q, [0.1, 0.0]), expected.tau[0], atol=1e-3)
        assert mpc.tick.cost == pytest.approx(expected.cost, rel=1e-8)
    assert mpc.tick.good and mpc.tick.age == 0
    plan = mpc.plan
    for age in (1, 2):
        np.testing.assert_array_equal(mpc([np.nan, 0], [0, 0]), plan.tau[age])
        assert mpc.tick.age == age and not mpc.tick.good
    away = np.array([0.01, -0.02])
    mpc(plan.q[3], plan.dq[3])
    now = mpc.plan
    pulled = now.tau[0] + mpc.gains[:, :2] @ away
    np.testing.assert_allclose(mpc.between(now.q[0] + away, now.dq[0]), np.clip(pulled, -8, 8),
                               atol=1e-9)  # fmt: skip


def test_one_iteration_a_tick_stays_near_the_best_plan():
    """The plan before it, moved by a step, is nearly the plan of the next tick."""
    problem = reach(limits=8.0)
    mpc, q, dq = optimal.MPC(problem, iterations=1), np.array([-1.5, 1.0]), np.array([2.0, -3.0])
    for _ in range(5):
        tau = mpc(q, dq)
        assert mpc.tick.cost < problem.solve(q, dq, **TIGHT).cost * (1 + 2e-5)
        q, dq = problem.robot.step(q, dq, tau, problem.dt)


@pytest.mark.parametrize("rate", [None, 25.0])
def test_one_iteration_a_tick_reaches_the_goal_within_the_limits(rate):
    costs = {"posture": optimal.Posture(GOAL, 50.0, 50.0), "rates": optimal.Rates(None, 1.0),
             "effort": optimal.Effort(weight=1e-3)}  # fmt: skip
    problem = reach(dt=0.02, steps=25, **costs)
    mpc = optimal.MPC(problem, rate=rate)
    run = problem.robot.simulate([0, 0], controller=mpc, duration=3, dt=0.02, method="rk4")
    again = problem.robot.simulate([0, 0], controller=mpc, duration=3, dt=0.02, method="rk4")
    assert np.abs(run.q[-1] - GOAL).max() < 0.05 and np.abs(run.tau).max() <= 15
    np.testing.assert_array_equal(run.q, again.q)


def test_a_path_in_time_is_followed_from_tick_to_tick():
    path = np.linspace(0, 1, 31)[:, None] * [0.3, -0.2]
    costs = {"posture": optimal.Posture(path, 100.0, 1.0), "effort": optimal.Effort(weight=1e-6),
             "rates": optimal.Rates()}  # fmt: skip
    problem = reach(limits=None, dt=0.02, steps=30, **costs)
    run = problem.robot.simulate([0, 0], controller=optimal.MPC(problem), duration=0.6,
                                 dt=0.02, method="rk4")  # fmt: skip
    np.testing.assert_allclose(run.q[20], [0.2, -2 / 15], atol=0.03)


@pytest.mark.parametrize(
    "changed",
    [{"steps": 0}, {"dt": -0.1}, {"actuated": ["toe"]}, {"limits": -1.0}, {"costs": {}},
     {"costs": [optimal.Posture([0.0])]}, {"costs": [optimal.Posture(GOAL, -1.0)]},
     {"robot": double_pendulum({"friction": Friction(0, 1.0)})}],
    ids=["steps", "dt", "motor", "limits", "no costs", "target", "weight", "dry friction"],
)  # fmt: skip
def test_problems_that_make_no_sense_are_refused(changed):
    given = {"robot": double_pendulum(), "dt": 0.05, "steps": 5,
             "costs": [optimal.Posture(GOAL, 1.0)]} | changed  # fmt: skip
    with pytest.raises(KinetreeError):
        optimal.Problem(given.pop("robot"), **given).solve([0.0, 0.0])
