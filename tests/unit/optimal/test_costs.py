"""What problems can state: costs by hand, robots of all kinds, many problems that differ."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import optimal
from kinetree.errors import KinetreeError

PANDA = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
CRANK = np.array([1.0, 0.0, 0.0])


def servo_arm():
    """An arm with a lagging position servo, a motor, springs, smooth friction and a drive."""
    robot = kt.robots.double_pendulum().with_actuators(
        {
            "first": kt.Actuator.motor("shoulder", control_range=(-6, 6)),
            "second": kt.Actuator.position("elbow", kp=30, kd=2, time_constant=0.05),
        }
    )
    robot = robot.with_springs({"shoulder": kt.Spring(3.0, rest=0.2)})
    robot = robot.with_friction({"elbow": kt.Friction(0.3)})
    return robot.with_drives({"shoulder": kt.Drive(curve=((0, 20.0), (4, 10.0)), peak=15.0)})


def standing():
    """A quadruped that stands on four feet with bent knees, and its position."""
    robot = kt.robots.quadruped()
    bent = {"swing": 0.6, "knee": -1.2}
    q = robot.neutral()
    for k, name in enumerate(robot.model.dof_names):
        q[k + 1] += sum(angle for part, angle in bent.items() if name.endswith(part))
    feet = [name for name in robot.model.frames if name.endswith("foot")]
    hold = {foot: kt.constraints.Hold(foot, "point", robot.pose(q, foot)) for foot in feet}
    return robot.constrained(hold, near=q), q


def stationary(problem, found, q0, dq0=None, *, scale=1e-3, tolerance=1e-9):
    """The slope of the cost along random changes of u vanishes, against that at other forces."""
    rng = np.random.default_rng(0)
    u = found.controls
    size = np.abs(u).max() + 1e-3
    assert found.converged
    for _ in range(2):
        step = scale * size * rng.normal(size=u.shape)
        ahead, behind = (
            problem.solve(q0, dq0, guess=u + sign * step, iterations=0).cost for sign in (1, -1)
        )
        bend = ahead + behind - 2 * found.cost
        assert bend > 20 * tolerance * found.cost
        assert abs(ahead - behind) < 0.05 * bend + tolerance * found.cost


def slopes_of(problem, x, u):
    """A and B of a state, (rates, rates) and (rates, m)."""
    solver = problem.solver
    n, m, wide = solver.sizes.n, solver.sizes.m, solver.sizes.wide
    blocks, _ = solver.slopes(np.stack([x, x]), u[None], np.zeros((2, solver.sizes.p)))
    return np.split(blocks[0, : n * wide].reshape(n, wide)[:, : n + m], [n], axis=1)


@pytest.mark.parametrize("columns", [False, True], ids=["graph", "columns"])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_slopes_of_a_closed_loop_are_those_of_its_steps(method, columns, monkeypatch):
    """Along motions that the loop allows, against differences of robot.step."""
    if columns:
        monkeypatch.setattr("kinetree.optimal.stages.LONGEST_JACOBIAN", 0)
    robot = kt.robots.four_bar()
    costs = [optimal.Posture(weight=1.0)]
    problem = optimal.Problem(robot, dt=0.02, steps=2, costs=costs, method=method)
    q = robot.project([1.1, -0.9, 1.4], keep=["crank"])
    dq, tau = robot.project_rates(q, [2.0, 0, 0], keep=["crank"]), np.array([3.0])

    def state(crank, rate, force):
        at = robot.project([crank, *q[1:]], keep=["crank"])
        rates = robot.project_rates(at, [rate, 0, 0], keep=["crank"])
        ends = robot.step(at, rates, [force, 0, 0], 0.02, method=method)
        return np.concatenate([at, rates]), np.concatenate(ends)

    A, B = slopes_of(problem, np.concatenate([q, dq]), tau)
    h = 1e-5
    for k in range(3):
        moved = h * np.eye(3)[k]
        (x1, y1), (x0, y0) = (state(*([q[0], dq[0], 3.0] + s * moved)) for s in (1, -1))
        wanted, dx, du = (y1 - y0) / (2 * h), (x1 - x0) / (2 * h), float(k == 2)
        np.testing.assert_allclose(A @ dx + B[:, 0] * du, wanted, atol=1e-7)


def test_a_closed_loop_moves_as_its_robot_does():
    robot = kt.robots.four_bar()
    q = robot.neutral()
    goal = robot.project(q + 0.6 * CRANK, keep=["crank"])
    costs = {
        "goal": optimal.Posture(target=goal, final=100.0),
        "still": optimal.Rates(final=5.0),
        "effort": optimal.Effort(weight=1e-3),
    }
    problem = optimal.Problem(robot, dt=0.02, steps=15, costs=costs)
    assert problem.motors == (0,)
    found = problem.solve(q, tolerance=1e-13)
    stationary(problem, found, q)
    assert np.abs(robot.constraint_errors(found.q)).max() < 1e-12
    at, rates = q, np.zeros(3)
    for t, tau in enumerate(found.tau):
        at, rates = robot.step(at, rates, tau, 0.02)
        np.testing.assert_allclose(found.q[t + 1], at, atol=1e-12)
    np.testing.assert_allclose(found.q[-1], goal, atol=1e-3)
    with pytest.raises(KinetreeError, match="project"):
        problem.solve(q + 0.1 * CRANK)


def test_held_feet_stay_where_they_are():
    robot, q = standing()
    place = robot.center_of_mass(q) + np.array([0.02, 0.01, -0.01])
    problem = optimal.Problem(
        robot, dt=0.02, steps=6,
        costs={
            "shift": optimal.CenterOfMass(target=place, weight=10.0, final=1e4),
            "rates": optimal.Rates(weight=0.1, final=1.0),
            "effort": optimal.Effort(weight=1e-5),
        },
    )  # fmt: skip
    assert problem.solver.column is not None
    found = problem.solve(q, tolerance=1e-11)
    stationary(problem, found, q)
    assert np.abs(robot.constraint_errors(found.q)).max() < 1e-9
    assert not found.tau[:, :6].any()
    np.testing.assert_allclose(robot.center_of_mass(found.q[-1]), place, atol=2e-3)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_controls_of_actuators_are_planned(method):
    """The plan moves as robot.step does with its controls and activations, within their ranges."""
    robot = servo_arm()
    problem = optimal.Problem(
        robot, dt=0.02, steps=25, method=method, controls=True,
        costs={
            "goal": optimal.Posture(target=[0.5, 0.8], final=300.0),
            "still": optimal.Rates(final=3.0, weight=0.1),
            "effort": optimal.Effort(weight=1e-2),
        },
    )  # fmt: skip
    found = problem.solve([0.0, 0.2], tolerance=1e-12, iterations=300)
    assert found.converged
    assert found.gains.shape == (25, 2, 5)
    q, dq, a, total = np.array([0.0, 0.2]), np.zeros(2), np.zeros(1), 0.0
    for t, u in enumerate(found.controls):
        total += 0.01 * (0.1 * dq @ dq + 0.01 * found.tau[t] @ found.tau[t])
        q, dq, a = robot.step(q, dq, [0, 0], 0.02, method=method, controls=u, activation=a)
        np.testing.assert_allclose(found.q[t + 1], q, atol=1e-10)
    total += 150 * ((q - [0.5, 0.8]) ** 2).sum() + 1.5 * dq @ dq
    assert found.cost == pytest.approx(total, rel=1e-9)
    assert np.abs(found.controls[:, 0]).max() <= 6.0
    sampled = problem.sample([0.0, 0.2], noise=[2.0, 0.3], samples=64, iterations=2)
    assert sampled.cost < problem.sample([0.0, 0.2], noise=1.0, iterations=0).cost
    with pytest.raises(KinetreeError, match="'second' has no range"):
        problem.sample([0.0, 0.2])
    inside = problem.with_costs(goal=optimal.Posture(target=[0.2, 0.3], final=3.0))
    found = inside.solve([0.0, 0.2], tolerance=1e-12, iterations=300)
    assert np.abs(found.controls[:, 0]).max() < 6.0
    stationary(inside, found, [0.0, 0.2], scale=1e-4, tolerance=1e-10)


def test_the_start_has_its_activations_and_forces():
    robot = servo_arm()
    costs = {"change": optimal.EffortChange(weight=1.0), "rates": optimal.Rates(weight=1.0)}
    options = {"dt": 0.02, "steps": 3, "costs": costs, "controls": True, "activation": [0.7]}
    problem = optimal.Problem(robot, **options, before=[1.0, 2.0])
    u = np.array([[3.0, 1.0], [2.0, 0.5], [2.5, 0.0]])
    found = problem.solve([0.1, 0.2], guess=u, iterations=0)
    q, dq, a, last, rates = np.array([0.1, 0.2]), np.zeros(2), np.array([0.7]), [1.0, 2.0], 0.0
    for row in u:
        rates += 0.01 * dq @ dq
        q, dq, a = robot.step(q, dq, [0, 0], 0.02, controls=row, activation=a)
    change = np.diff([last, *u], axis=0) / 0.02
    assert found.costs["change"] == pytest.approx(0.01 * (change**2).sum())
    assert found.costs["rates"] == pytest.approx(rates)
    still = optimal.Problem(kt.robots.panda(), dt=0.02, steps=3, costs=costs)
    assert still.solve(PANDA, iterations=0).costs["change"] == 0  # it begins with holding forces


def test_slow_forces_are_the_optimum_of_their_change():
    robot = kt.robots.double_pendulum()
    costs = {
        "goal": optimal.Posture(target=[0.5, 0.5], final=200.0),
        "still": optimal.Rates(final=5.0),
        "effort": optimal.Effort(weight=1e-3),
        "change": optimal.EffortChange(weight=1e-4),
    }
    problem = optimal.Problem(robot, dt=0.02, steps=20, costs=costs, limits=None)
    found = problem.solve([0.0, 0.0], tolerance=1e-13)
    stationary(problem, found, [0.0, 0.0])
    rough = problem.with_costs(change=optimal.EffortChange(weight=0.0)).solve([0.0, 0.0])
    assert np.abs(np.diff(found.tau, axis=0)).max() < np.abs(np.diff(rough.tau, axis=0)).max()


def nearest(points, x):
    """The distance of x from a polyline, by ten thousand of its points."""
    s = np.linspace(0, len(points) - 1, 10001)
    dense = np.array([np.interp(s, np.arange(len(points)), column) for column in points.T]).T
    return np.linalg.norm(dense - x, axis=1).min()


def test_costs_are_what_their_definitions_say():
    robot, rng = kt.robots.panda(), np.random.default_rng(3)
    place = robot.pose(PANDA)[:3, 3]
    tool_path = place + np.array([[0, 0, 0], [0.05, 0, 0.02], [0.05, 0, 0.02], [0.1, 0.1, 0.0]])
    joint_path = PANDA + 0.2 * rng.normal(size=(3, 7))
    twist, momentum = rng.normal(size=6), rng.normal(size=6)

    def leaning(t, q, dq, tau, poses, target):
        return np.array([poses[0][2, 3] * target[0] - poses[1][0, 3], tau[0] * t - target[1]])

    costs = {
        "body": optimal.FrameTwist(target=twist, weight=2.0, final=3.0, expressed="body"),
        "twist": optimal.FrameTwist(weight=2.0, final=3.0),
        "momentum": optimal.Momentum(target=momentum, weight=2.0, final=3.0),
        "joints": optimal.JointPath(target=joint_path, weight=2.0, final=3.0),
        "tool": optimal.FramePath(target=tool_path, weight=2.0, final=3.0),
        "speed": optimal.SpeedLimits(target=[0.1], weight=2.0, final=3.0),
    }
    frames = robot.model.link_names[2:5:2]
    costs["own"] = optimal.Residual(
        target=[2.0, 0.3], function=leaning, entries=2, weight=2.0, final=3.0, frames=frames
    )
    problem = optimal.Problem(robot, dt=0.02, steps=4, costs=costs)
    forces = robot.gravity_forces(PANDA) + 5 * rng.normal(size=(4, 7))
    found = problem.solve(PANDA, 0.5 * rng.normal(size=7), guess=forces, iterations=0)
    most = 0.1 * np.array([joint.limits.velocity for joint in robot.model.joints[:7]])

    def squares(t, q, dq, tau):
        z, x = robot.pose(q, frames[0])[2, 3], robot.pose(q, frames[1])[0, 3]
        return {
            "body": ((robot.frame_velocity(q, dq) - twist) ** 2).sum(),
            "twist": (robot.frame_velocity(q, dq, expressed="aligned") ** 2).sum(),
            "momentum": ((robot.centroidal_momentum(q, dq) - momentum) ** 2).sum(),
            "joints": nearest(joint_path, q) ** 2,
            "tool": nearest(tool_path, robot.pose(q)[:3, 3]) ** 2,
            "speed": (np.maximum(np.abs(dq) - most, 0) ** 2).sum(),
            "own": (2 * z - x) ** 2 + (tau[0] * t - 0.3) ** 2,
        }

    rows = [squares(0.02 * k, found.q[k], found.dq[k], found.tau[k]) for k in range(4)]
    end = squares(0.08, found.q[4], found.dq[4], np.zeros(7))
    for name in costs:
        wanted = 0.02 * sum(row[name] for row in rows) + 1.5 * end[name]
        assert found.costs[name] == pytest.approx(wanted, rel=1e-5), name
    assert found.costs["speed"] > 0
    with kt.threads(1):
        sampled = problem.sample(PANDA, guess=found.tau, samples=8, iterations=1, noise=1e-9)
    again = problem.solve(PANDA, guess=found.tau, iterations=0)
    assert sampled.costs["tool"] == pytest.approx(again.costs["tool"], rel=1e-9)


@pytest.mark.parametrize(
    "cost",
    [
        optimal.FrameTwist(target=[0, 0, 0.5, 0.2, 0, 0], weight=20.0),
        optimal.Momentum(target=[0, 0, 0.1, 0, 0.5, 0], weight=20.0),
        optimal.JointPath(target=[[0.2, 0.0], [0.4, 0.6], [1.0, 0.6]], weight=200.0),
        optimal.FramePath(target=[[1.0, 1.0, 0.0], [0.5, 1.5, 0.0]], weight=200.0),
        optimal.SpeedLimits(target=[0.5], weight=200.0),
        optimal.Residual(
            function=lambda t, q, dq, tau, poses, target: poses[0][:2, 3] - target * (1 + t),
            frames=("tool",), target=[1.0, 1.0], entries=2, weight=100.0,
        ),
    ],
    ids=lambda cost: type(cost).__name__,
)  # fmt: skip
def test_plans_of_a_cost_are_stationary(cost):
    robot = kt.robots.planar_2r()
    if isinstance(cost, optimal.Residual):
        frame = list(robot.model.frames)[-1]
        cost = type(cost)(**{**vars(cost), "frames": (frame,)})
    start, goal = np.array([0.2, 0.4]), np.array([1.0, 0.6])
    if isinstance(cost, optimal.SpeedLimits):
        robot, start, goal = kt.robots.panda(), PANDA, PANDA + 0.5
    others = [optimal.Posture(target=goal, final=20.0), optimal.Effort(weight=1e-3)]
    problem = optimal.Problem(robot, dt=0.02, steps=15, costs=[cost, *others], limits=None)
    found = problem.solve(start, tolerance=1e-12, iterations=300)
    # the curvature of a barrier jumps at its border, where the plan is
    sizes = (1e-7, 1e-11) if isinstance(cost, optimal.SpeedLimits) else (1e-3, 1e-9)
    stationary(problem, found, start, scale=sizes[0], tolerance=sizes[1])
    assert found.costs[type(cost).__name__.lower()] > 0


def arm(**changed):
    costs = {
        "reach": optimal.FramePosition(target=[1.0, 1.0, 0.0], final=300.0),
        "rates": optimal.Rates(weight=0.1, final=3.0),
        "effort": optimal.Effort(weight=1e-3),
    }
    return optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=15, costs=costs, **changed)


def test_problems_of_a_batch_are_those_one_by_one():
    problem, B = arm(), 3
    targets = np.array([[1.0, 1.0, 0.0], [0.5, 1.2, 0.0], [1.4, 0.2, 0.0]])
    weights, finals = np.array([1e-3, 1e-2, 1e-1]), np.array([[1.0, 2.0]] * 3) * [[1], [2], [3]]
    q = np.array([0.3, 0.5])
    many = problem.batch(
        targets={"reach": targets}, weights={"effort": weights}, finals={"rates": finals}
    )
    together = many.solve(q, tolerance=1e-12)
    sampled = many.sample(q, samples=64, iterations=2)
    assert together.tau.shape == (15, B, 2)
    for b in range(B):
        one = problem.with_costs(
            reach=optimal.FramePosition(target=targets[b], final=300.0),
            rates=optimal.Rates(weight=0.1, final=finals[b]),
            effort=optimal.Effort(weight=weights[b]),
        )
        alone = one.solve(q, tolerance=1e-12)
        assert together.cost[b] == pytest.approx(alone.cost, rel=1e-9)
        np.testing.assert_array_equal(
            sampled.tau[:, b], one.sample(q, samples=64, iterations=2).tau
        )
    path = np.linspace([0.8, 0.8, 0], [1.0, 1.0, 0], 16)
    moving = problem.batch(targets={"reach": np.array([path, path + 0.1])})
    fixed = problem.with_costs(reach=optimal.FramePosition(target=path + 0.1, final=300.0))
    assert moving.solve(q).cost[1] == pytest.approx(fixed.solve(q).cost, rel=1e-9)
    assert moving.sample(q, samples=32, iterations=1).cost[1] == pytest.approx(
        fixed.sample(q, samples=32, iterations=1).cost
    )


def test_masses_differ_between_problems():
    problem = arm()
    robot, q = problem.robot, np.array([[0.3, 0.5], [0.1, 0.4]])
    mass = np.array(robot.model.m)[None] * [[1.0], [1.7]]
    many = problem.batch(mass=mass)
    found = many.solve(q, tolerance=1e-12)
    assert found.converged.all()
    assert found.cost[0] == pytest.approx(problem.solve(q[0], tolerance=1e-12).cost, rel=1e-9)
    step = robot.compile("step_semi_implicit_euler", free=("mass",))
    for b in range(2):
        at, rates = found.q[0, b], found.dq[0, b]
        for t, tau in enumerate(found.tau[:, b]):
            at, rates = step(at, rates, tau, 0.02, mass[b])
            np.testing.assert_allclose(found.q[t + 1, b], at, atol=1e-11)
    rng = np.random.default_rng(0)
    change = 1e-3 * rng.normal(size=found.tau.shape)
    ahead, behind = (many.solve(q, guess=found.tau + s * change, iterations=0) for s in (1, -1))
    bend = ahead.cost + behind.cost - 2 * found.cost
    assert (np.abs(ahead.cost - behind.cost) < 0.05 * bend + 1e-7 * found.cost).all()


SERVO = {"servo": kt.Actuator.position("joint1", kp=10, delay=0.02)}


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: arm(controls=True), "no actuators"),
        (lambda: arm(before=[1.0]), r"before has shape \(1,\)"),
        (lambda: arm(activation=[0.1]), "activation"),
        (lambda: arm().batch(), "no arrays"),
        (lambda: arm().batch(targets={"reach": np.zeros((2, 3))}, mass=np.ones((3, 2))), "axis"),
        (lambda: arm().batch(targets={"nothing": np.zeros((2, 3))}), "no cost 'nothing'"),
        (lambda: arm().batch(targets={"reach": np.zeros((2, 4))}), "FramePosition"),
        (lambda: arm().batch(weights={"reach": [-1.0, 1.0]}), ">= 0"),
        (lambda: arm().batch(mass=[[1.0, -1.0]]), "mass"),
        (lambda: arm().batch(friction=np.ones((2, 2, 4))), "friction"),
        (lambda: optimal.Problem(
            kt.robots.planar_2r().with_actuators(SERVO), dt=0.02, steps=3, controls=True,
            costs=[optimal.Rates(weight=1.0)]), "delay"),
        (lambda: optimal.Problem(
            kt.robots.planar_2r().with_drives({"joint1": kt.Drive(lag=0.1)}), dt=0.02, steps=3,
            costs=[optimal.Rates(weight=1.0)]), "lag"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_refused(make, word):
    with pytest.raises(KinetreeError, match=word):
        make()


@pytest.mark.parametrize(
    ("cost", "word"),
    [
        (optimal.FrameTwist(expressed="there", weight=1.0), "expressed"),
        (optimal.FrameTwist(frame="nowhere", weight=1.0), "nowhere"),
        (optimal.FramePath(weight=1.0), "points"),
        (optimal.FramePath(target=[[0.0, 0, 0]], weight=1.0), "at least two"),
        (optimal.JointPath(target=np.zeros((4, 7)), weight=1.0), "points"),
        (optimal.Momentum(target=np.zeros(3), weight=1.0), "'planar 2R'"),
        (optimal.EffortChange(weight=1.0, final=1.0), "last state"),
        (optimal.Residual(function=lambda *x: [0.0], frames=("nowhere",)), "nowhere"),
        (optimal.Residual(function=lambda *x: [0.0], target=[np.nan]), "finite"),
    ],
)
def test_costs_without_sense_are_refused(cost, word):
    with pytest.raises(KinetreeError, match=word):
        optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=3, costs=[cost])


def test_the_cost_that_is_not_finite_is_named():
    costs = {
        "sound": optimal.Rates(weight=1.0),
        "ratio": optimal.Residual(function=lambda t, q, dq, tau: q[:1] / q[1:], weight=1.0),
    }
    problem = optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=3, costs=costs)
    assert problem.solve([0.0, 0.0]).reason.endswith("number: ratio")


def test_a_function_counts_as_it_is_when_the_problem_is_made():
    """A captured number that changes later belongs to the next problem, which is compiled anew."""
    robot, goal = kt.robots.double_pendulum(), {"place": 0.5}

    def off(t, q, dq, tau):
        return q - goal["place"]

    def planned():
        costs = [
            optimal.Residual(function=off, entries=2, final=100.0),
            optimal.Effort(weight=1e-3),
        ]
        return optimal.Problem(robot, dt=0.02, steps=10, costs=costs, limits=None)

    first = planned()
    before = first.solve([0.0, 0.0]).cost
    goal["place"] = -0.2
    second = planned()
    assert first.solve([0.0, 0.0]).cost == before
    assert second.solve([0.0, 0.0]).cost < 0.5 * before


def test_targets_are_those_of_the_time_the_problem_was_made():
    target = np.array([0.5, 0.5])
    costs = [optimal.Posture(target=target, final=10.0)]
    problem = optimal.Problem(kt.robots.double_pendulum(), dt=0.02, steps=5, costs=costs)
    before = problem.solve([0.0, 0.0], iterations=0).cost
    target[:] = 0
    assert problem.solve([0.0, 0.0], iterations=0).cost == before


def test_motors_keep_the_order_of_their_names():
    robot = kt.robots.double_pendulum()
    costs = [optimal.Posture(target=[2.0, 1.0], final=1e3), optimal.Effort(weight=1e-4)]
    options = {"dt": 0.02, "steps": 15, "costs": costs}
    one = optimal.Problem(robot, **options, actuated=["shoulder", "elbow"], limits=[5.0, 1.0])
    two = optimal.Problem(robot, **options, actuated=["elbow", "shoulder"], limits=[1.0, 5.0])
    first, second = one.solve([0.0, 0.0]), two.solve([0.0, 0.0])
    np.testing.assert_allclose(first.tau, second.tau, atol=1e-6)
    np.testing.assert_allclose(first.controls, second.controls[:, ::-1], atol=1e-6)
    assert (np.abs(first.tau).max(0) == [5.0, 1.0]).all()


def one_sided():
    builder = kt.Builder("slide", gravity=(0, 0, 0)).link("base")
    builder.link("block", m=1.0, I_com=0.1 * np.eye(3))
    limits = kt.Limits(upper=0.3)
    builder.joint("slide", "prismatic", "base", "block", axis=(1, 0, 0), limits=limits)
    return builder.build()


def test_a_limit_on_one_side_is_a_limit():
    robot = one_sided()
    costs = {"limits": optimal.JointLimits(weight=2.0), "rates": optimal.Rates(weight=1.0)}
    problem = optimal.Problem(robot, dt=0.02, steps=1, costs=costs)
    for q, beyond in ((0.4, 0.15), (0.2, 0.0), (-5.0, 0.0)):
        cost = problem.solve([q], iterations=0).costs["limits"]
        assert cost == pytest.approx(0.02 * beyond**2)


@pytest.mark.parametrize("angle", [1e-6, 0.5, 2.5, 3.08, np.pi])
def test_turns_cost_the_square_of_their_angle(angle):
    robot = kt.robots.quadruped()
    axis = np.array([0.6, 0.0, 0.8])
    start, q = robot.neutral(), robot.neutral()
    q[:4] = [np.cos(angle / 2), *(np.sin(angle / 2) * axis)]
    R = robot.pose(start, "trunk")[:3, :3]
    costs = {
        "posture": optimal.Posture(target=start, final=2.0),
        "turn": optimal.FrameRotation(target=R, final=2.0, frame="trunk"),
    }
    problem = optimal.Problem(robot, dt=1e-6, steps=1, costs=costs)
    found = problem.solve(q, iterations=0).costs
    assert found["posture"] == pytest.approx(angle**2, rel=1e-5)
    assert found["turn"] == pytest.approx(angle**2, rel=1e-5)


def test_half_a_turn_is_not_an_optimum():
    arm = kt.robots.planar_2r()
    turned = arm.pose([0.0, 0.0])[:3, :3] @ np.diag([-1.0, -1.0, 1.0])
    costs = [optimal.FrameRotation(target=turned, final=100.0), optimal.Effort(weight=1e-6)]
    problem = optimal.Problem(arm.with_gravity([0, 0, 0]), dt=0.05, steps=20, costs=costs)
    found = problem.solve([0.0, 0.0], iterations=200)
    R = arm.pose(found.q[-1])[:3, :3]
    assert np.trace(turned.T @ R) > 2.99


def test_the_deflection_of_an_elastic_joint_has_no_motor():
    robot = kt.robots.planar_2r().with_elastic_joint("joint1", 5000, motor_inertia=0.2)
    problem = optimal.Problem(robot, dt=0.01, steps=2, costs=[optimal.Rates(weight=1.0)])
    assert [robot.model.dof_names[k] for k in problem.motors] == ["joint1", "joint2"]


def plain(**changed):
    options = {"dt": 0.02, "steps": 3, "costs": [optimal.Rates(weight=1.0)], **changed}
    return optimal.Problem(options.pop("robot", kt.robots.planar_2r()), **options)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: plain(actuated=[]), "at least one"),
        (lambda: plain(actuated=["joint1", "joint1"]), "different"),
        (lambda: plain(actuated="joint1"), "actuated"),
        (lambda: plain(dt=None), "dt"),
        (lambda: plain(dt=True), "dt"),
        (lambda: plain(limits=True), "limits"),
        (lambda: plain(limits="much"), "limits"),
        (lambda: plain(limits=["a", "b"]), "limits"),
        (lambda: plain(costs=None), "list or dict"),
        (lambda: plain(costs=optimal.Rates(weight=1.0)), "list or dict"),
        (lambda: plain(costs=[optimal.Rates(weight="much")]), "weight"),
        (lambda: plain(costs=[optimal.Rates(target="there")]), "target"),
        (lambda: plain(costs=[optimal.Residual(function=lambda t, q, dq: q, entries=2)]), "traced"),
        (lambda: plain(costs=[optimal.Residual(function=lambda *x: x[1], entries=-1)]), "entries"),
        (lambda: plain(costs=[optimal.Residual(function=lambda *x: x[1], entries=2.0)]), "entries"),
        (lambda: plain(costs=[optimal.Residual(function=lambda *x: x[1], entries=3)]), "shape"),
        (lambda: plain(costs=[optimal.Residual(entries=3)]), "function"),
        (lambda: plain().solve("here"), "q0"),
        (lambda: plain().solve(np.zeros((3, 2)), np.zeros((2, 2))), "same number"),
        (lambda: plain().batch(mass=[[np.nan, 1.0]]), "finite"),
        (lambda: plain(costs=[optimal.FrameRotation(target=np.diag([1, 1, -1.0]))]), "rotation"),
        (lambda: plain(robot=kt.robots.quadruped(),
                       costs=[optimal.Posture(target=2 * kt.robots.quadruped().neutral())]),
         "length 2"),
    ],
)  # fmt: skip
def test_input_without_sense_is_refused_in_a_sentence(make, word):
    with pytest.raises(KinetreeError, match=word):
        make()


def test_targets_that_move_are_ahead_at_a_later_tick():
    path = np.linspace([0.0, 0.0], [1.0, 0.5], 4)
    cost, at = optimal.Posture(target=path, weight=1.0, final=1.0), ([0.1, 0.2], [0.0, 0.0])
    mpc = kt.controllers.MPC(plain(costs={"p": cost}), iterations=100)
    for _ in range(3):
        mpc(*at)
    later = plain(costs={"p": cost.with_target(path[[2, 3, 3, 3]])}).solve(*at)
    assert mpc.plan.cost == pytest.approx(later.cost, rel=1e-6)
