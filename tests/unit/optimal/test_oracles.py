"""Plans against IPOPT on random problems, fifty digits, and quadratic programs with bounds."""

from itertools import product

import numpy as np
import pytest
from benchmarks.questions.optimal import Task
from benchmarks.robots import load

import kinetree as kt
from kinetree import algorithms, optimal
from kinetree.scalars import atan2, sqrt
from precise_robots import derivative, numbers, precise

PANDA = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
# one problem for each seed: twenty with --many
ROBOTS = ["planar_2r"] * 8 + ["panda"] * 7 + ["quadruped"] * 5


def by_casadi(robot, quantity):
    """A quantity as a CasADi function, whose slopes are CasADi's."""
    names = {}
    exec(str(kt.export(robot, quantity, "casadi")), names)
    return next(x for name, x in names.items() if name.endswith(quantity))()


def turned(ca, a, b):
    """The product of two quaternions."""
    w = a[0] * b[0] - ca.dot(a[1:4], b[1:4])
    return ca.vertcat(w, a[0] * b[1:4] + b[0] * a[1:4] + ca.cross(a[1:4], b[1:4]))


def rotated(ca, q, v):
    """The vector v turned by a quaternion."""
    return v + 2 * ca.cross(q[1:4], ca.cross(q[1:4], v) + q[0] * v)


def moved(ca, free, q, v):
    """q after the tangent vector v: of a free base along a screw, of other joints by addition."""
    if not free:
        return q + v
    w, angle = v[:3], ca.sqrt(ca.sumsqr(v[:3]) + 1e-20)
    half = ca.vertcat(ca.cos(angle / 2), w * ca.sin(angle / 2) / angle)
    once = ca.cross(w, v[3:6])
    along = v[3:6] + 2 * (ca.sin(angle / 2) / angle) ** 2 * once
    along += (angle - ca.sin(angle)) / angle**3 * ca.cross(w, once)
    place = q[4:7] + rotated(ca, q[:4], along)
    return ca.vertcat(turned(ca, q[:4], half), place, q[7:] + v[6:])


def apart(ca, free, target, q):
    """The residual of Posture."""
    if not free:
        return q - target
    back = target[:4] * np.array([1, -1, -1, -1])
    place = rotated(ca, ca.DM(back), q[4:7] - target[4:7])
    turn = turned(ca, ca.DM(back), q[:4])  # of less than a quarter: w > 0
    sine = ca.sqrt(ca.sumsqr(turn[1:4]) + 1e-20)
    vector = turn[1:4] * (2 * ca.atan2(sine, turn[0]) / sine)
    return ca.vertcat(vector, place, q[7:] - target[7:])


def by_ipopt(problem, x0, guess):
    """The least cost of the same transcription, from the motion of a guess."""
    ca = pytest.importorskip("casadi")
    robot, N, dt, motors = problem.robot, problem.steps, problem.dt, list(problem.motors)
    n, nq, free = robot.n, robot.nq, robot.nq != robot.n
    acceleration, pose = by_casadi(robot, "forward_dynamics"), by_casadi(robot, "pose")
    posture, rates, effort, place = problem.costs.values()
    X, U = ca.MX.sym("X", nq + n, N), ca.MX.sym("U", len(motors), N)

    def squares(weight, r):
        return 0.5 * ca.dot(ca.DM(np.broadcast_to(weight, r.shape[0])), r**2)

    def state_cost(x, key):
        q, dq = x[:nq], x[nq:]
        total = squares(getattr(posture, key), apart(ca, free, posture.target, q))
        total += squares(getattr(place, key), pose(q)[:3, 3] - place.target)
        return total + squares(getattr(rates, key), dq)

    states = [ca.DM(x0), *ca.horzsplit(X)]
    total, gaps = state_cost(states[N], "final"), []
    for t, (x, u) in enumerate(zip(states[:-1], ca.horzsplit(U), strict=True)):
        tau = ca.MX.zeros(n)
        tau[motors] = u
        dq = x[nq:] + dt * acceleration(x[:nq], x[nq:], tau)
        gaps.append(states[t + 1] - ca.vertcat(moved(ca, free, x[:nq], dt * dq), dq))
        total += dt * (state_cost(x, "weight") + squares(effort.weight, tau))
    z = ca.vertcat(ca.vec(X), ca.vec(U))
    quiet = {"print_time": 0, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-10}
    solver = ca.nlpsol("s", "ipopt", {"x": z, "f": total, "g": ca.vertcat(*gaps)}, quiet)
    limit = np.inf if problem.limits is None else problem.limits
    bounds = np.concatenate([np.full(X.numel(), np.inf), np.full(U.numel(), limit)])
    begin = np.concatenate([guess.q[1:], guess.dq[1:]], 1).ravel(), guess.tau[:, motors].ravel()
    found = solver(x0=np.concatenate(begin), lbx=-bounds, ubx=bounds, lbg=0, ubg=0)
    assert solver.stats()["success"]
    return float(found["f"]), np.array(found["x"])[X.numel() :].reshape(N, -1)


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=[pytest.mark.many] * (k == 15)) for k in range(len(ROBOTS))]
)
def test_random_problems_have_the_cost_of_ipopt(seed):
    rng, robot = np.random.default_rng(seed), getattr(kt.robots, ROBOTS[seed])()
    n, free = robot.n, robot.nq != robot.n
    q0 = robot.neutral() if free else (PANDA if n == 7 else np.zeros(n))
    q0 = robot.integrate(q0, rng.uniform(-0.3, 0.3, n))
    dq0 = rng.uniform(-0.5, 0.5, n)
    goal = robot.integrate(q0, rng.uniform(-0.4, 0.4, n))
    costs = {
        "posture": optimal.Posture(goal, rng.uniform(0, 2, n), rng.uniform(10, 100, n)),
        "rates": optimal.Rates(None, *rng.uniform(0.1, 1, 2)),
        "effort": optimal.Effort(None, 10.0 ** rng.uniform(-4, -2)),
        "place": optimal.FramePosition(robot.pose(goal)[:3, 3], *rng.uniform(0, 50, 2)),
    }
    size = {"dt": rng.uniform(0.005, 0.03), "steps": 6 if free else int(rng.integers(5, 20))}
    problem = optimal.Problem(robot, **size, costs=costs, limits=None)
    hold = problem.solve(q0, dq0, iterations=0)
    if seed % 2:  # limits that hold some of the forces
        forces = np.abs(problem.solve(q0, dq0).tau)
        limits = float(0.6 * forces.max())
        problem = optimal.Problem(robot, **size, costs=costs, limits=limits)
        hold = problem.solve(q0, dq0, iterations=0)
    plan = problem.solve(q0, dq0, iterations=500, tolerance=1e-12)
    assert plan.converged
    cost, forces = by_ipopt(problem, np.concatenate([q0, dq0]), hold)
    assert plan.cost == pytest.approx(cost, rel=1e-6)
    scale = np.abs(forces).max()
    np.testing.assert_allclose(plan.tau[:, list(problem.motors)], forces, atol=1e-3 * scale)


@pytest.mark.parametrize(
    ("key", "cost"),
    [
        ("panda", 0.3018778353335571),
        pytest.param("talos", 1.0389668100446146, marks=pytest.mark.many),
    ],
)
def test_the_least_cost_is_that_of_crocoddyl(key, cost):
    """What SolverDDP of Crocoddyl 3.2.1 finds in the problem of the benchmark."""
    try:
        task = Task(load(key))
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    plan = task.problem().solve(task.q0, tolerance=1e-12)
    assert plan.converged
    assert plan.cost == pytest.approx(cost, rel=1e-10)


def floating_arm():
    """A body that floats, with an arm of two joints."""
    builder = kt.Builder("floating arm").link("base")
    builder.link("body", 2.0, (0.1, 0, 0.05), np.diag([0.05, 0.06, 0.07]))
    builder.joint("free", "free", "base", "body")
    for parent, child, axis in (("body", "upper", (0, 0, 1)), ("upper", "lower", (0, 1, 0))):
        builder.link(child, 1.0, (0.2, 0.02, 0), np.diag([0.01, 0.02, 0.02]))
        builder.joint(child, "revolute", parent, child, axis=axis, at=(0.3, 0, 0.1))
    return builder.build()


def precise_posture(model, aim, q):
    """The residual of Posture; a base is the joint of the first link."""
    if model.nq == model.n:
        return q - aim
    a, b = aim[:4] * [1, -1, -1, -1], q[:4]
    v, w = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]), a[0] * b[0] - a[1:] @ b[1:]
    turn = v * (2 * atan2(sqrt(v @ v), w) / sqrt(v @ v))
    R = algorithms.pose(model, aim, model.link_names[0])[:3, :3]
    return np.concatenate([turn, R.T @ (q[4:7] - aim[4:7]), q[7:] - aim[7:]])


def precise_turn(R):
    """The rotation vector of a turn that is not small and less than half."""
    v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = sqrt(v @ v)
    return v * (atan2(sine, R[0, 0] + R[1, 1] + R[2, 2] - 1) / sine)


def precise_cost(problem, x0, forces):
    """The whole cost of a motion in fifty digits, by the definitions of the costs."""
    model, dt, N = precise(problem.robot.model), problem.dt, problem.steps
    q, dq = numbers(x0[: model.nq]), numbers(x0[model.nq :])
    costs, total = problem.costs, 0
    aim = numbers(costs["posture"].target)
    for t in range(N + 1):
        tau = numbers(np.zeros(model.n))
        if t < N:
            tau[list(problem.motors)] = forces[t]
        T = algorithms.pose(model, q)
        residuals = {
            "posture": precise_posture(model, aim, q),
            "rates": dq,
            "place": T[:3, 3] - numbers(costs["place"].target),
            "turn": precise_turn(numbers(costs["turn"].target).T @ T[:3, :3]),
            "centre": algorithms.center_of_mass(model, q) - numbers(costs["centre"].target),
            "work": np.array([tau[-1] * dq[-1] + t * dt * q[-1]]),
        }
        for name, r in residuals.items():
            w = costs[name].final if t == N else np.asarray(costs[name].weight) * numbers(dt)
            total = total + (w * r) @ r / 2
        if t < N:
            dq = dq + numbers(dt) * algorithms.forward_dynamics(model, q, dq, tau)
            q = algorithms.integrate(model, q, numbers(dt) * dq)
    return total


@pytest.mark.parametrize("make", [kt.robots.double_pendulum, kt.robots.spatial_3r, floating_arm])
def test_the_first_step_is_the_gradient_in_fifty_digits(make, fifty_digits):
    """A huge weight of forces that are zero makes the first step the gradient over that weight."""
    robot, rng, dt, N = make(), np.random.default_rng(5), 0.1, 3
    n, weight = robot.n, 3e12
    q0, dq0 = robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, n)), rng.normal(size=n)
    goal = robot.integrate(q0, rng.uniform(-0.5, 0.5, n))
    T = robot.pose(goal)
    costs = {
        "posture": optimal.Posture(goal, rng.uniform(1, 2, n), rng.uniform(1, 2, n)),
        "rates": optimal.Rates(None, 0.3, 0.5),
        "place": optimal.FramePosition(T[:3, 3], 2.0, 3.0),
        "turn": optimal.FrameRotation(T[:3, :3], 0.4, 0.7),
        "centre": optimal.CenterOfMass([0.1, 0.2, 0.3], 1.0, 2.0),
        "work": optimal.Residual(
            function=lambda t, q, dq, tau: tau[-1] * dq[-1] + t * q[-1], weight=0.7, final=0.2
        ),
        "effort": optimal.Effort(None, weight / dt),
    }
    problem = optimal.Problem(robot, dt=dt, steps=N, costs=costs, limits=None)
    motors = list(problem.motors)
    zero = np.zeros((N, len(motors)))
    plan = problem.solve(q0, dq0, guess=zero, iterations=1, tolerance=0)
    assert plan.history[0]["length"] == 1
    gradient = -weight * plan.tau[:, motors]
    expected = np.empty_like(gradient)
    for place in np.ndindex(*zero.shape):

        def along(h, place=place):
            forces = numbers(zero)
            forces[place] = forces[place] + h
            return precise_cost(problem, np.concatenate([q0, dq0]), forces)

        expected[place] = derivative(along)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def slides(rng, n):
    """A chain of sliding joints along random axes: a linear robot with a full mass matrix."""
    builder = kt.Builder("slides").link("base")
    for k in range(n):
        builder.link(f"link{k}", rng.uniform(0.5, 2), (0, 0, 0))
        parent, axis = f"link{k - 1}" if k else "base", rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        builder.joint(f"slide{k}", "prismatic", parent, f"link{k}", axis=axis)
    return builder.build()


def linear_problem(rng, n, N, limits):
    costs = {
        "posture": optimal.Posture(rng.normal(size=n), rng.uniform(0, 2, n), 50.0),
        "rates": optimal.Rates(None, 0.2, 1.0),
        "effort": optimal.Effort(rng.normal(size=n), rng.uniform(0.001, 0.1, n)),
    }
    robot = slides(rng, n)
    return optimal.Problem(robot, dt=0.05, steps=N, costs=costs, limits=limits)


def linear_system(problem):
    """A, B and c of the next state A x + B u + c."""
    robot, h, n = problem.robot, problem.dt, problem.robot.n
    at = np.zeros(n)
    M, g = robot.mass_matrix(at), robot.gravity_forces(at)
    one, light = np.eye(n), np.linalg.inv(M)
    A = np.block([[one, h * one], [np.zeros((n, n)), one]])
    to_state = np.concatenate([h * h * light, h * light])
    return A, to_state, -to_state @ g


def stage_weights(problem, key):
    posture, rates, _ = problem.costs.values()
    n = problem.robot.n
    return np.concatenate([np.broadcast_to(getattr(x, key), n) for x in (posture, rates)])


def test_plans_of_a_linear_robot_are_a_bounded_least_squares_problem():
    """All forces at once, by SciPy."""
    from scipy.optimize import lsq_linear

    for seed in range(3):
        rng = np.random.default_rng(seed)
        n, N = 3, 8
        problem = linear_problem(rng, n, N, rng.uniform(2, 6, n))
        q0, dq0 = rng.normal(size=(2, n))
        A, B, c = linear_system(problem)
        h, size = problem.dt, n * N
        posture, _, effort = problem.costs.values()
        aim = np.concatenate([posture.target, np.zeros(n)])
        by_u, x = np.zeros((2 * n, size)), np.concatenate([q0, dq0])
        rows, right = [], []
        for t in range(N + 1):
            w = np.sqrt(stage_weights(problem, "weight") * h)
            if t == N:
                w = np.sqrt(stage_weights(problem, "final"))
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
        matrix, right = np.concatenate(rows), np.concatenate(right)
        best = lsq_linear(matrix, right, (-limits, limits), method="bvls", tol=1e-14)
        plan = problem.solve(q0, dq0, iterations=300, tolerance=1e-14)
        assert plan.converged
        assert (np.abs(best.x) > 0.999 * limits).sum() > 3  # limits hold some of the forces
        assert plan.cost == pytest.approx(best.cost, rel=1e-10)
        np.testing.assert_allclose(plan.tau.ravel(), best.x, atol=1e-5 * limits.max())


def best_of_all(M, g, low, high):
    """The minimum of g k + k M k / 2 within bounds, over all sets of held entries; and these."""
    found, least = None, np.inf
    for choice in product((0, 1, 2), repeat=len(g)):
        held = np.array(choice)
        k, free = np.where(held == 1, low, np.where(held == 2, high, 0.0)), held == 0
        if free.any():
            k[free] = np.linalg.solve(M[np.ix_(free, free)], -(g + M @ k)[free])
        height = g @ k + k @ M @ k / 2
        if (k >= low - 1e-12).all() and (k <= high + 1e-12).all() and height < least - 1e-13:
            found, least = (k, free), height
    return found


@pytest.mark.parametrize("seed", range(4))
def test_an_iteration_solves_a_quadratic_program_at_every_step(seed):
    """The recursion written out, with every set of held forces tried at every step."""
    rng = np.random.default_rng(seed)
    n, N = 4, 6
    limits = rng.uniform(2, 6, n)
    problem = linear_problem(rng, n, N, limits)
    q0, dq0 = rng.normal(size=(2, n))
    u = rng.uniform(-1, 1, (N, n)) * limits
    before = problem.solve(q0, dq0, guess=u, iterations=0)
    plan = problem.solve(q0, dq0, guess=u, iterations=1, tolerance=0)
    A, B, c = linear_system(problem)
    h = problem.dt
    posture, _, effort = problem.costs.values()
    aim = np.concatenate([posture.target, np.zeros(n)])
    states = np.concatenate([before.q, before.dq], axis=1)
    V = np.diag(stage_weights(problem, "final"))
    v, W = V @ (states[N] - aim), np.diag(stage_weights(problem, "weight")) * h
    gains, held = [], 0
    for t in range(N - 1, -1, -1):
        M = np.diag(effort.weight) * h + B.T @ V @ B
        g = effort.weight * h * (u[t] - effort.target) + B.T @ v
        k, free = best_of_all(M, g, -limits - u[t], limits - u[t])
        held += (~free).sum()
        K = np.zeros((n, 2 * n))
        by_x = B.T @ V @ A
        K[free] = -np.linalg.solve(M[np.ix_(free, free)], by_x[free])
        gains.insert(0, (k, K))
        v = W @ (states[t] - aim) + A.T @ v + by_x.T @ k
        V = W + A.T @ V @ A + by_x.T @ K
    assert held > 3
    x = states[0]
    for t, (k, K) in enumerate(gains):
        np.testing.assert_allclose(plan.gains[t], K, atol=1e-9 * np.abs(K).max())
        step = u[t] + plan.history[0]["length"] * k + K @ (x - states[t])
        expected = np.clip(step, -limits, limits)
        np.testing.assert_allclose(plan.tau[t], expected, atol=1e-9)
        x = A @ x + B @ expected + c
