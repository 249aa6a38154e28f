"""Plans of iLQR against IPOPT, a dense reference with bounds, differences, and laws."""

import platform

import numpy as np
import pytest

import kinetree as kt
from kinetree import optimal
from kinetree.errors import KinetreeError
from kinetree.scalars import cos, sin

PANDA = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])


def reach(robot, target, *, limits=None, steps=25, **options):
    costs = {
        "posture": optimal.Posture(target=target, weight=0.1, final=200.0),
        "rates": optimal.Rates(weight=0.1, final=5.0),
        "effort": optimal.Effort(weight=0.01),
    }
    return optimal.Problem(robot, dt=0.02, steps=steps, costs=costs, limits=limits, **options)


def by_ipopt(problem, start, guess):
    """Cost and forces of the same transcription, by CasADi and IPOPT."""
    ca = pytest.importorskip("casadi")
    robot, n, N, dt = problem.robot, problem.robot.n, problem.steps, problem.dt
    names = {}
    exec(str(kt.export(robot, "forward_dynamics", "casadi")), names)
    acceleration = next(v for k, v in names.items() if k.endswith("forward_dynamics"))()
    opti = ca.Opti()
    X, U = opti.variable(2 * n, N + 1), opti.variable(n, N)
    posture, rates, effort = problem.costs.values()

    def state_cost(x, key):
        apart = ca.sumsqr(x[:n] - np.asarray(posture.target)) * getattr(posture, key)
        return 0.5 * (apart + getattr(rates, key) * ca.sumsqr(x[n:]))

    total = state_cost(X[:, N], "final")
    opti.subject_to(X[:, 0] == np.concatenate([start, np.zeros(n)]))
    for t in range(N):
        dq = X[n:, t] + dt * acceleration(X[:n, t], X[n:, t], U[:, t])
        opti.subject_to(X[:, t + 1] == ca.vertcat(X[:n, t] + dt * dq, dq))
        total += dt * (state_cost(X[:, t], "weight") + 0.5 * effort.weight * ca.sumsqr(U[:, t]))
    if problem.limits is not None:
        opti.subject_to(opti.bounded(-problem.limits, ca.vec(U), problem.limits))
    opti.minimize(total)
    opti.set_initial(X, np.concatenate([guess.q, guess.dq], axis=1).T)
    opti.set_initial(U, guess.tau.T)
    quiet = {"print_time": 0, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    opti.solver("ipopt", quiet, {"tol": 1e-11, "max_iter": 500})
    found = opti.solve()
    return float(found.value(total)), np.array(found.value(U)).T


@pytest.mark.parametrize(
    ("robot", "start", "limits"),
    [
        (kt.robots.double_pendulum, [0.3, -0.4], None),
        (kt.robots.double_pendulum, [0.3, -0.4], 6.0),
        (kt.robots.panda, PANDA, 30.0),
    ],
    ids=["pendulum", "pendulum with limits", "panda with limits"],
)
def test_optimum_agrees_with_ipopt(robot, start, limits):
    robot = robot()
    problem = reach(robot, np.asarray(start) + 0.5, limits=limits)
    found = problem.solve(start, iterations=300, tolerance=1e-12)
    assert found.converged
    cost, forces = by_ipopt(problem, start, found)
    assert found.cost == pytest.approx(cost, rel=1e-6)
    np.testing.assert_allclose(found.tau, forces, atol=1e-4 * np.abs(forces).max())
    if limits is not None:
        assert np.abs(found.tau).max() <= limits


def test_the_cost_and_motion_are_those_of_the_robot():
    """The plan steps as robot.step does, and its cost is what its definition says."""
    robot, rng = kt.robots.panda(), np.random.default_rng(0)
    problem = reach(robot, PANDA + 0.3, steps=8)
    found = problem.solve(PANDA, guess=rng.normal(size=(8, 7)), iterations=3)
    q, dq = found.q[0], found.dq[0]
    total = 0.0
    for t, tau in enumerate(found.tau):
        total += 0.01 * (0.1 * ((q - PANDA - 0.3) ** 2).sum() + 0.1 * dq @ dq + 0.01 * tau @ tau)
        q, dq = robot.step(q, dq, tau, 0.02, method="semi_implicit_euler")
        np.testing.assert_allclose(found.q[t + 1], q, atol=1e-12)
        np.testing.assert_allclose(found.dq[t + 1], dq, atol=1e-11)
    total += 100 * ((q - PANDA - 0.3) ** 2).sum() + 2.5 * dq @ dq
    assert found.cost == pytest.approx(total, rel=1e-11)
    assert sum(found.costs.values()) == pytest.approx(found.cost, rel=1e-13)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_no_small_change_of_the_forces_is_better(method):
    robot, rng = kt.robots.double_pendulum(), np.random.default_rng(4)
    problem = reach(robot, [1.0, 0.5], method=method)
    found = problem.solve([0.0, 0.0], iterations=300, tolerance=1e-13)
    assert found.converged
    for _ in range(5):
        change = 1e-3 * rng.normal(size=found.tau.shape)
        other = problem.solve([0.0, 0.0], guess=found.tau + change, iterations=0)
        assert other.cost > found.cost


def test_a_robot_with_a_free_base_uses_its_tangent_space():
    """Quaternions stay of length 1, the base has no motor, and every neighbour costs more."""
    robot = kt.robots.quadruped()
    start = robot.neutral()
    problem = optimal.Problem(
        robot, dt=0.01, steps=6, limits=None,
        costs=[optimal.Posture(target=start, weight=1, final=50), optimal.Effort(weight=1e-3)],
    )  # fmt: skip
    found = problem.solve(start, [0.5, -0.3, 0.2, *np.zeros(15)], tolerance=1e-13)
    assert found.converged
    np.testing.assert_allclose(np.linalg.norm(found.q[:, :4], axis=1), 1, atol=1e-14)
    assert not found.tau[:, :6].any()
    rng = np.random.default_rng(1)
    for _ in range(3):
        change = 1e-3 * rng.normal(size=(6, 12))
        other = problem.solve(
            start, [0.5, -0.3, 0.2, *np.zeros(15)], guess=found.tau[:, 6:] + change, iterations=0
        )
        assert other.cost > found.cost


@pytest.mark.parametrize("method", ["semi_implicit_euler", "euler", "rk4"])
def test_a_free_base_at_rest_has_slopes(method):
    whole = kt.robots.humanoid()
    body = whole.lock({name: 0.0 for name in whole.joint_names if name != "base"})
    costs = [optimal.Rates(weight=1.0, final=1.0), optimal.Effort(weight=1e-3)]
    motors = {"actuated": body.dof_names, "limits": None}
    plan = optimal.Problem(body, dt=0.01, steps=3, costs=costs, method=method, **motors).solve()
    assert plan.converged
    assert np.isfinite(plan.gains).all()


def test_slopes_that_are_not_finite_are_told():
    """The slope of a square root is infinite at 0, where the rates of the guess are."""
    root = optimal.Residual(function=lambda t, q, dq, tau: (dq * dq) ** 0.5, entries=2, weight=1.0)
    costs = [root, optimal.Effort(weight=1.0)]
    problem = optimal.Problem(
        kt.robots.double_pendulum(), dt=0.02, steps=5, costs=costs, limits=None
    )
    plan = problem.solve([0, 0])
    assert plan.reason == "the slopes of step 4 are not finite, or too large"
    assert not plan.gains.any()
    with pytest.raises(KinetreeError, match="slopes of step 4 are not finite"):
        kt.controllers.MPC(problem)([0, 0], [0, 0])


def test_a_start_that_falls_is_no_guess():
    """A joint that turns by 8 rad in a step: the plan begins with the start at all times."""
    robot = kt.robots.double_pendulum()
    costs = [optimal.Posture(target=[np.pi, 0.0], weight=1.0), optimal.Effort(weight=1e-3)]
    fast = optimal.Problem(robot, dt=0.02, steps=20, costs=costs, limits=None)
    plan = fast.solve([np.pi, 0.0], [0.0, 400.0], iterations=0)
    np.testing.assert_array_equal(plan.q, np.tile([np.pi, 0.0], (21, 1)))


def test_many_problems_at_once_are_those_one_by_one():
    """Bit for bit: every problem of many is solved as it would be alone."""
    robot, rng = kt.robots.double_pendulum(), np.random.default_rng(2)
    problem = reach(robot, [0.5, 0.5], limits=8.0)
    starts = rng.uniform(-0.5, 0.5, (5, 2))
    together = problem.solve(starts, iterations=200, tolerance=1e-12)
    assert together.converged.all()
    for b, start in enumerate(starts):
        alone = problem.solve(start, iterations=200, tolerance=1e-12)
        np.testing.assert_array_equal(together.q[:, b], alone.q)
        np.testing.assert_array_equal(together.tau[:, b], alone.tau)
        assert together.cost[b] == alone.cost


def test_bits_do_not_depend_on_the_width_of_vectors(monkeypatch):
    plans = []
    for target in ("", "sse2" if platform.machine() in ("x86_64", "AMD64") else "generic"):
        monkeypatch.setenv("KINETREE_TARGET", target)
        problem = reach(kt.robots.double_pendulum(), [0.9, 0.4], limits=7.0)
        plans.append(problem.solve([0, 0], [0.3, -0.2], iterations=6))
    np.testing.assert_array_equal(plans[0].tau, plans[1].tau)
    np.testing.assert_array_equal(plans[0].gains, plans[1].gains)


@pytest.mark.parametrize("limits", [None, 10.0])
def test_iterations_without_llvm_are_the_same(limits, monkeypatch):
    """Some of them fail to find a better plan, and go on with more regularisation."""
    plans = []
    for there in (True, False):
        monkeypatch.setattr("kinetree.optimal.ilqr.has_llvm", lambda there=there: there)
        problem = optimal.Problem(
            kt.robots.double_pendulum(), dt=0.02, steps=60, actuated=["elbow"], limits=limits,
            costs=[
                optimal.Posture(target=[np.pi, 0], final=500), optimal.Rates(final=50),
                optimal.Effort(weight=0.01),
            ],
        )  # fmt: skip
        plans.append(problem.solve([0.2, 0.1], iterations=30))
    compiled, plain = plans
    assert plain.costs == pytest.approx(compiled.costs, rel=1e-6)
    for key in ("iteration", "length", "mu", "expected", "cost"):
        both = [[row[key] for row in one.history] for one in plans]
        assert both[0] == pytest.approx(both[1], rel=1e-4)
    np.testing.assert_allclose(plain.tau, compiled.tau, atol=1e-4)


def test_limits_are_kept_by_the_best_change_of_every_step():
    """The error of the quadratic problems with bounds, and their optimum at the end."""
    problem = reach(kt.robots.panda(), PANDA + 0.8, limits=12.0)
    found = problem.solve(PANDA, iterations=60)
    assert max(row["limit error"] for row in found.history) < 1e-10
    assert (np.abs(found.tau) == 12.0).sum() > 20


def test_convergence_is_of_second_order_where_residuals_vanish():
    """Targets are those of a motion: the expected decrease squares in every iteration."""
    robot, rng, N = kt.robots.double_pendulum(), np.random.default_rng(0), 30
    tau = rng.normal(size=(N + 1, 2))
    q, dq = [np.array([0.3, -0.4])], [np.zeros(2)]
    for force in tau[:-1]:
        after = robot.step(q[-1], dq[-1], force, 0.02, method="semi_implicit_euler")
        for states, x in zip((q, dq), after, strict=True):
            states.append(x)
    problem = optimal.Problem(
        robot, dt=0.02, steps=N, limits=None,
        costs=[
            optimal.Posture(target=np.array(q), weight=10.0, final=100.0),
            optimal.Rates(target=np.array(dq), weight=1.0),
            optimal.Effort(target=tau, weight=1e-3),
        ],
    )  # fmt: skip
    found = problem.solve(q[0], guess=0 * tau[:-1], tolerance=1e-24)
    expected = np.array([row["expected"] for row in found.history])
    near = np.flatnonzero(expected < 1e-3)
    assert len(found.history) < 8
    assert expected[near[1]] < 100 * expected[near[0]] ** 2
    np.testing.assert_allclose(found.tau, tau[:-1], atol=1e-9)


def upright(t, q, dq, tau):
    """Zero for both arms upright, whichever way round."""
    first, second = q[0], q[0] + q[1]
    return np.array([1 + cos(first), sin(first), 1 + cos(second), sin(second)])


def test_swing_up_succeeds_from_random_starts():
    """The elbow alone lifts both arms, from any angles; 200 of 200 starts of this seed succeed."""
    rng = np.random.default_rng(0)
    problem = optimal.Problem(
        kt.robots.double_pendulum(), dt=0.02, steps=200, actuated=["elbow"], limits=10.0,
        costs={
            "upright": optimal.Residual(function=upright, entries=4, final=1000.0),
            "still": optimal.Rates(final=100.0),
            "effort": optimal.Effort(weight=0.01),
        },
    )  # fmt: skip
    q0, dq0 = rng.uniform(-np.pi, np.pi, (200, 2))[:4], rng.uniform(-1, 1, (200, 2))[:4]
    found = problem.solve(q0, dq0, iterations=300, tolerance=1e-5, tries=16)
    away = np.angle(np.exp(1j * (found.q[-1] - [np.pi, 0])))
    assert np.abs(away).max() < 0.05
    assert np.abs(found.dq[-1]).max() < 0.1
    assert np.abs(found.tau).max() <= 10.0
    again = problem.solve(q0[1], dq0[1], iterations=300, tolerance=1e-5, tries=16, seed=3)
    assert again.single
    assert again.cost < 2.0


def test_step_errors_are_those_of_simulations_of_single_steps():
    plan = reach(kt.robots.planar_2r(), [1.0, 0.5]).solve([0.0, 0.2])
    run = plan.problem.robot.simulate(
        plan.q[:-1], plan.dq[:-1], tau=plan.tau, duration=0.02, limits="ignore", rtol=1e-10
    )
    missed = np.cumsum(run.q[-1] - plan.q[1:], axis=0)
    assert 1e-3 < abs(missed).max() < 0.1
    np.testing.assert_allclose(plan.step_errors, missed, atol=1e-8)


@pytest.mark.parametrize("scale", [7.0, 1e-9])
def test_weights_scaled_together_keep_the_plan(scale):
    robot = kt.robots.double_pendulum()
    one = reach(robot, [0.5, 0.5])
    scaled = {
        name: type(x)(target=x.target, weight=scale * x.weight, final=scale * x.final)
        for name, x in one.costs.items()
    }
    first, second = (problem.solve([0, 0]) for problem in (one, one.with_costs(**scaled)))
    assert second.converged
    assert len(second.history) == len(first.history)
    np.testing.assert_allclose(first.tau, second.tau, atol=1e-5)
    assert second.cost == pytest.approx(scale * first.cost, rel=1e-9)


def test_a_plan_from_halfway_is_its_second_half():
    robot = kt.robots.double_pendulum()
    whole = reach(robot, [0.5, 0.5], steps=20).solve([0, 0], tolerance=1e-13)
    rest = reach(robot, [0.5, 0.5], steps=8).solve(whole.q[12], whole.dq[12], tolerance=1e-13)
    np.testing.assert_allclose(rest.tau, whole.tau[12:], atol=1e-4)


def test_a_guess_that_is_no_motion_closes_its_gaps():
    robot = kt.robots.double_pendulum()
    problem = reach(robot, [0.5, 0.5])
    guess = problem.solve([0.4, 0.1], iterations=2)
    found = problem.solve([0, 0], guess=guess, tolerance=1e-12, iterations=200)
    assert found.converged
    assert found.gap < 1e-9
    alone = problem.solve([0, 0], tolerance=1e-12, iterations=200)
    assert found.cost == pytest.approx(alone.cost, rel=1e-8)


def test_gains_of_a_linear_robot_are_those_of_riccati():
    """Two sliding joints are linear, so the gains are those of the recursion written out here."""
    slides = [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]
    robot = kt.Robot.from_screws(slides, [np.eye(4)] * 3, [np.diag([1.0] * 3 + [2.0] * 3)] * 2)
    problem = reach(robot, [0.5, 0.5], steps=10)
    found = problem.solve([0, 0], tolerance=1e-13)
    assert len(found.history) == 1  # Newton's method needs one step
    dt, M = 0.02, robot.mass_matrix([0, 0])
    B = np.concatenate([dt * np.linalg.inv(M) * dt, dt * np.linalg.inv(M)])
    A = np.block([[np.eye(2), dt * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
    P = np.diag([200.0, 200, 5, 5])
    for t in range(9, -1, -1):
        K = np.linalg.solve(0.01 * dt * np.eye(2) + B.T @ P @ B, B.T @ P @ A)
        np.testing.assert_allclose(found.gains[t], -K, rtol=1e-9)
        P = 0.1 * dt * np.eye(4) + A.T @ P @ (A - B @ K)


def test_residuals_of_the_user_and_of_frames():
    robot = kt.robots.panda()
    goal = robot.pose(PANDA + 0.2)
    problem = optimal.Problem(
        robot, dt=0.02, steps=20,
        costs={
            "place": optimal.FramePosition(target=goal[:3, 3], final=1e4),
            "turn": optimal.FrameRotation(target=goal[:3, :3], final=1e3),
            "still": optimal.Residual(
                function=lambda t, q, dq, tau: dq * (1 + t), entries=7, weight=0.1, final=10
            ),
            "effort": optimal.Effort(weight=1e-4),
            "limits": optimal.JointLimits(weight=10.0, final=10.0),
        },
    )  # fmt: skip
    found = problem.solve(PANDA, iterations=200)
    np.testing.assert_allclose(robot.pose(found.q[-1]), goal, atol=5e-3)
    assert set(found.costs) == {"place", "turn", "still", "effort", "limits"}
    np.testing.assert_array_equal(found.trajectory.q, found.q)


def refuse(**changed):
    given = {
        "dt": 0.02,
        "steps": 5,
        "costs": [optimal.Posture(final=1.0), optimal.Effort(weight=1.0)],
    }
    return optimal.Problem(changed.pop("robot", kt.robots.planar_2r()), **(given | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": 0},
        {"dt": 0.0},
        {"dt": np.nan},
        {"costs": []},
        {"costs": [optimal.Posture(weight=-1.0)]},
        {"costs": [optimal.Posture(weight=np.nan)]},
        {"costs": [optimal.Posture(target=[0.0] * 7, weight=1.0)]},
        {"costs": [optimal.Posture(target=np.zeros((3, 2)), weight=1.0)]},
        {"costs": [optimal.FramePosition(frame="nowhere", weight=1.0)]},
        {"limits": [-1.0, 1.0]},
        {"actuated": ["nothing"]},
        {"method": "magic"},
        {"robot": kt.robots.planar_2r().with_friction({"joint1": kt.Friction(1.0, 1.0)})},
    ],
)
def test_problems_without_sense_are_refused(changed):
    with pytest.raises(KinetreeError):
        refuse(**changed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": 10**9}, "steps is 1000000000; expected at most"),
        ({"actuated": ["joint1", "joint7"]}, "actuated has 'joint7'; expected"),
        ({"actuated": ["joint1", "joint1"]}, "actuated has 'joint1' twice"),
        ({"costs": [optimal.JointLimits(weight=1.0)]}, "limits that 'planar 2R' does not have"),
        ({"costs": [optimal.Residual(function=lambda *x: None)]}, "returned None"),
        (
            {"costs": [optimal.Residual(function=lambda *x: x[1], frames="tool")]},
            r"expected a tuple, \('tool',\)",
        ),
        (
            {
                "robot": kt.robots.ur5e(),
                "costs": [optimal.JointLimits(target=[-1.0], weight=1.0)],
            },
            "expected margins from 0 to 6.28",
        ),
        (
            {"robot": kt.robots.ur5e(), "costs": [optimal.SpeedLimits(target=[0], weight=1.0)]},
            "expected shares > 0",
        ),
    ],
)
def test_what_is_wrong_is_named(changed, message):
    with pytest.raises(KinetreeError, match=message):
        refuse(**changed)


def test_starts_have_quaternions_and_plans_numbers_and_files_folders(tmp_path):
    costs = [optimal.Rates(weight=1.0), optimal.Effort(weight=1.0)]
    problem = optimal.Problem(kt.robots.quadruped(), dt=0.01, steps=2, costs=costs)
    start = problem.robot.neutral()
    start[:4] *= 2
    with pytest.raises(KinetreeError, match="in q0 has length 2; expected 1"):
        problem.solve(start)
    plans = refuse().solve(np.zeros((2, 2)), iterations=1)
    assert len(list(plans)) == 2
    with pytest.raises(IndexError, match="there is no plan 7; expected 0 to 1"):
        plans[7]
    with pytest.raises(KinetreeError, match="there is no folder"):
        plans.plot(tmp_path / "none" / "plan.svg")
    pytest.importorskip("matplotlib")
    with pytest.raises(KinetreeError, match="expected a name ending with"):
        plans.plot(tmp_path / "plan.foo")


def test_starts_and_guesses_without_sense_are_refused():
    problem = refuse()
    for given in (
        {"q0": [0.0]},
        {"q0": [np.nan, 0]},
        {"q0": np.zeros((0, 2))},
        {"guess": np.zeros((2, 2))},
        {"guess": np.full((5, 2), np.nan)},
        {"guess": "hold"},
        {"iterations": -1},
        {"tolerance": np.nan},
        {"tolerance": -1.0},
        {"seconds": np.nan},
        {"tries": 0},
        {"seed": -1, "tries": 2},
    ):
        with pytest.raises(KinetreeError):
            problem.solve(**given)
    divides = refuse(
        costs=[optimal.Residual(function=lambda t, q, dq, tau: q[:1] / q[1:], weight=1.0)]
    )
    assert "not a finite number" in divides.solve([0.0, 0.0]).reason


def test_a_problem_keeps_the_numbers_with_which_it_was_made():
    robot, target, limits = kt.robots.double_pendulum(), np.array([1.0, 0.5]), np.full(2, 30.0)
    targets = np.array([[0.5, 0.0], [0.0, 0.5]])
    names = list(robot.joint_names)
    problem = reach(robot, target, limits=limits, actuated=names)
    many = problem.batch(targets={"posture": targets})
    cost, costs = problem.solve([0, 0]).cost, many.solve([0, 0]).cost
    for numbers in (target, limits, targets):
        numbers[:] = 0.1
    names.pop()
    assert problem.solve([0, 0]).cost == cost
    assert problem.with_costs(**problem.costs).solve([0, 0]).cost == cost
    np.testing.assert_array_equal(many.solve([0, 0]).cost, costs)
