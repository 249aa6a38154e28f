"""Plans do not depend on how their problem is written down.

Most laws compare the same iterations of two problems that are one: only rounding differs.
"""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from changed_robots import places, renumbered, seen_from
from kinetree import optimal
from kinetree.algorithms.joints.friction import frictionless
from kinetree.model import random_model, random_pose
from kinetree.spatial.so3 import from_quaternion, quaternion
from other_units import Units
from robot_states import relative

SEEDS = [0, 1, pytest.param(2, marks=pytest.mark.many), pytest.param(3, marks=pytest.mark.many)]
ITERATIONS = {"iterations": 3, "tolerance": 0}
ROUNDING = 1e-9  # three iterations, each of which solves for the forces of every step


def arm(seed):
    """A tree of three or four joints with rotors; some follow others, or have springs."""
    n, kind = 3 + seed % 2, {0: "springs", 1: "mimic"}[seed % 2]
    return kt.Robot(frictionless(random_model(seed, n, **{kind: True})))


def costs_of(robot, seed):
    """Random costs of every kind that a robot without quaternions has."""
    rng = np.random.default_rng(seed)
    n, goal = robot.n, rng.uniform(-0.5, 0.5, robot.nq)
    return {
        "posture": optimal.Posture(goal, rng.uniform(0, 2, n), rng.uniform(10, 50, n)),
        "rates": optimal.Rates(None, *rng.uniform(0.1, 1, 2)),
        "effort": optimal.Effort(rng.normal(size=n), rng.uniform(0.01, 0.1, n)),
        "place": optimal.FramePosition(robot.pose(goal)[:3, 3], *rng.uniform(1, 20, 2)),
        "turn": optimal.FrameRotation(robot.pose(goal)[:3, :3], *rng.uniform(0.1, 2, 2)),
        "centre": optimal.CenterOfMass(rng.normal(size=3), *rng.uniform(0.1, 2, 2)),
    }


def posed(robot, seed, *, costs=None, limits=10.0, steps=8):
    """A problem, and its start."""
    rng = np.random.default_rng(seed)
    costs = costs or costs_of(robot, seed)
    problem = optimal.Problem(robot, dt=0.03, steps=steps, costs=costs, limits=limits)
    return problem, rng.uniform(-0.3, 0.3, robot.nq), rng.uniform(-1, 1, robot.n)


def scaled(costs, factor):
    """The costs with all weights times a factor."""
    return {
        name: replace(x, weight=factor * np.asarray(x.weight), final=factor * np.asarray(x.final))
        for name, x in costs.items()
    }


def same(plan, other, cost=1.0):
    """Assert that two plans are one, up to rounding."""
    assert len(plan.history) == len(other.history) > 0
    for name in ("q", "dq", "tau"):
        assert relative(getattr(other, name), getattr(plan, name)) < ROUNDING, name
    assert other.cost == pytest.approx(cost * plan.cost, rel=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_times_a_number_keep_the_plan(seed):
    """Those times a power of two keep the bits."""
    problem, q0, dq0 = posed(arm(seed), seed)
    plan = problem.solve(q0, dq0, **ITERATIONS)
    doubled = problem.with_costs(**scaled(problem.costs, 2.0**7)).solve(q0, dq0, **ITERATIONS)
    np.testing.assert_array_equal(plan.tau, doubled.tau)
    np.testing.assert_array_equal(plan.gains, doubled.gains)
    assert doubled.cost == 2.0**7 * plan.cost
    other = problem.with_costs(**scaled(problem.costs, 1 / 300)).solve(q0, dq0, **ITERATIONS)
    same(plan, other, 1 / 300)


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_may_be_split_and_added(seed):
    """Two halves of each cost, and a cost without weight, change nothing."""
    robot = arm(seed)
    problem, q0, dq0 = posed(robot, seed)
    halves = scaled(problem.costs, 0.5)
    both = halves | {f"other {name}": x for name, x in halves.items()}
    idle = optimal.Residual(function=lambda t, q, dq, tau: q * tau[0] + t, entries=robot.nq)
    split = optimal.Problem(
        robot, dt=problem.dt, steps=problem.steps, costs=both | {"idle": idle}, limits=10.0
    )
    plan, other = (x.solve(q0, dq0, **ITERATIONS) for x in (problem, split))
    same(plan, other)
    assert other.costs["idle"] == 0
    for name, cost in plan.costs.items():
        assert other.costs[name] == other.costs[f"other {name}"]
        assert 2 * other.costs[name] == pytest.approx(cost, rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_joints_orders_the_plan(seed):
    robot = kt.Robot(frictionless(random_model(seed, 4, mimic=seed % 2 == 1)))
    other = kt.Robot(renumbered(robot.model, np.random.default_rng(seed)))
    order = places(other.dof_names, robot.dof_names)
    problem, q0, dq0 = posed(robot, seed)
    moved = {}
    for name, cost in problem.costs.items():
        by_joint = {
            key: x[order]
            for key in ("target", "weight", "final")
            if (x := np.asarray(getattr(cost, key), float)).shape == (robot.n,)
            and not (key == "target" and name in ("place", "centre"))
        }
        moved[name] = replace(cost, **by_joint)
    plan = problem.solve(q0, dq0, **ITERATIONS)
    again, *_ = posed(other, seed, costs=moved)
    found = again.solve(q0[order], dq0[order], **ITERATIONS)
    assert relative(found.tau, plan.tau[:, order]) < ROUNDING
    assert relative(found.q, plan.q[:, order]) < ROUNDING
    assert found.cost == pytest.approx(plan.cost, rel=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_robot_that_stands_elsewhere_has_the_same_plan(seed):
    robot, T = arm(seed), random_pose(np.random.default_rng(seed))
    problem, q0, dq0 = posed(robot, seed)
    costs = dict(problem.costs)
    for name in ("place", "centre"):
        costs[name] = costs[name].with_target(T[:3, :3] @ costs[name].target + T[:3, 3])
    costs["turn"] = costs["turn"].with_target(T[:3, :3] @ costs["turn"].target)
    moved, *_ = posed(kt.Robot(seen_from(robot.model, T)), seed, costs=costs)
    same(*(x.solve(q0, dq0, **ITERATIONS) for x in (problem, moved)))


def floating(seed):
    """A body that floats, with two joints."""
    model = frictionless(random_model(seed, 2, drives=False, fixed=False))
    builder = kt.Builder("floating").link("world").link("body", 3.0, (0.1, 0, 0), np.eye(3) / 9)
    builder.joint("base", "free", "world", "body")
    for i, joint in enumerate(model.joints):
        builder.link(f"link{i}", model.m[i], model.com[i], model.I_com[i])
        builder.joint(joint.name, "revolute", "body", f"link{i}", at=(0.2, 0.1 * i, 0))
    return builder.build()


def turned(T, q):
    """The position of a robot whose free base is moved by T."""
    turn, place = T[:3, :3] @ from_quaternion(q[:4]), T[:3, :3] @ q[4:7] + T[:3, 3]
    return np.concatenate([quaternion(turn), place, q[7:]])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_turns_with_the_base_and_gravity(seed):
    """Quaternions of the other sign, of start or target, change no bit of the forces."""
    robot, rng = floating(seed), np.random.default_rng(seed)
    T = random_pose(rng)
    q0 = robot.integrate(robot.neutral(), rng.uniform(-1, 1, robot.n))
    goal = robot.integrate(q0, rng.uniform(-0.5, 0.5, robot.n))
    dq0, place = rng.normal(size=robot.n), rng.normal(size=3)

    def plan(robot, q0, goal, place):
        costs = {
            "posture": optimal.Posture(goal, 1.0, 20.0),
            "rates": optimal.Rates(None, 0.2, 1.0),
            "effort": optimal.Effort(None, 0.01),
            "place": optimal.FramePosition(place, 1.0, 5.0, frame=robot.model.tips[-1]),
        }
        problem = optimal.Problem(robot, dt=0.03, steps=8, costs=costs, limits=None)
        return problem.solve(q0, dq0, **ITERATIONS)

    first = plan(robot, q0, goal, place)
    elsewhere = robot.with_gravity(T[:3, :3] @ robot.model.gravity[3:])
    other = plan(elsewhere, turned(T, q0), turned(T, goal), T[:3, :3] @ place + T[:3, 3])
    assert other.cost == pytest.approx(first.cost, rel=ROUNDING)
    assert relative(other.tau, first.tau) < ROUNDING
    assert relative(other.dq, first.dq) < ROUNDING
    assert relative(elsewhere.link_poses(other.q), T @ robot.link_poses(first.q)) < ROUNDING
    sign = np.where(np.arange(robot.nq) < 4, -1.0, 1.0)
    for flipped in (plan(robot, sign * q0, goal, place), plan(robot, q0, sign * goal, place)):
        np.testing.assert_array_equal(flipped.tau, first.tau)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_is_the_same_in_other_units(seed):
    """Lengths in mm, masses in g, times in ms; those units leave the mass of a fixed base alone."""
    units = Units(1e3, 1e3, 1e3)
    robot = kt.Robot(frictionless(random_model(seed, 3, types=["revolute", "prismatic"])))
    costs = costs_of(robot, seed)
    del costs["centre"]
    problem, q0, dq0 = posed(robot, seed, limits=None, costs=costs)
    ones, L, s = np.ones(robot.n), units.length, units.time
    way, rate, _, force = units.motion(robot.model, ones, ones, ones, ones)
    unit = {"posture": way, "rates": rate, "effort": force, "place": L, "turn": 1.0}
    costs = {}
    for name, cost in problem.costs.items():
        target = None if cost.target is None else unit[name] * np.asarray(cost.target)
        costs[name] = replace(
            cost, target=target, weight=cost.weight / unit[name] ** 2 / s,
            final=cost.final / unit[name] ** 2,
        )  # fmt: skip
    other = optimal.Problem(
        kt.Robot(units.model(robot.model)), dt=s * problem.dt, steps=problem.steps, costs=costs,
        limits=None,
    )  # fmt: skip
    plan = problem.solve(q0, dq0, **ITERATIONS)
    found = other.solve(way * q0, rate * dq0, **ITERATIONS)
    assert relative(found.q / way, plan.q) < ROUNDING
    assert relative(found.tau / force, plan.tau) < ROUNDING
    assert found.cost == pytest.approx(plan.cost, rel=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_second_part_of_a_plan_is_the_plan_of_the_second_part(seed):
    """Paths and functions of time are those that are left."""
    robot, rng, cut = arm(seed), np.random.default_rng(seed), 5
    path = 0.5 * np.sin(np.linspace(0, 2, 13))[:, None] + rng.uniform(-0.2, 0.2, robot.nq)

    def from_step(k):
        begun = k * 0.03
        costs = costs_of(robot, seed) | {
            "posture": optimal.Posture(path[k:], 20.0, 50.0),
            "wave": optimal.Residual(
                function=lambda t, q, dq, tau: dq[0] - np.cos(3 * (t + begun)), weight=5, final=2
            ),
        }
        return posed(robot, seed, costs=costs, limits=20.0, steps=12 - k)

    problem, q0, dq0 = from_step(0)
    options = {"iterations": 300, "tolerance": 1e-14}
    whole = problem.solve(q0, dq0, **options)
    left = from_step(cut)[0].solve(whole.q[cut], whole.dq[cut], **options)
    assert whole.converged
    assert left.converged
    assert relative(left.tau, whole.tau[cut:]) < 1e-5
    assert relative(left.q, whole.q[cut:]) < 1e-6


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_five_problems_at_once_are_five_problems(seed):
    """Lengths of steps may differ on the way, not where it ends."""
    problem, q0, dq0 = posed(arm(seed), seed)
    starts = q0 + np.random.default_rng(seed).uniform(-0.3, 0.3, (5, problem.robot.nq))
    options = {"iterations": 300, "tolerance": 1e-14}
    together = problem.solve(starts, dq0, **options)
    for b, start in enumerate(starts):
        alone = problem.solve(start, dq0, **options)
        assert together.cost[b] == pytest.approx(alone.cost, rel=1e-10)
        assert relative(together.tau[:, b], alone.tau) < 1e-5


@pytest.mark.parametrize("make", [arm, floating])
def test_gains_answer_a_disturbed_start_as_a_new_plan_would(make):
    """Near a goal, where the Hessian of Gauss is that of the cost."""
    robot, rng = make(0).with_gravity((0, 0, 0)), np.random.default_rng(0)
    n, dt = robot.n, 0.03
    goal, dq0 = robot.start_position(), 0.01 * rng.normal(size=robot.n)
    costs = [optimal.Posture(goal, 5.0, 50.0), optimal.Rates(None, 0.1, 1.0)]
    costs.append(optimal.Effort(None, 0.01))
    problem = optimal.Problem(robot, dt=dt, steps=8, costs=costs, limits=None)
    plan = problem.solve(goal, dq0, tolerance=1e-14)
    change, motors = 1e-3 * rng.normal(size=2 * n), list(problem.motors)
    start = robot.integrate(goal, change[:n]), dq0 + change[n:]

    def cost(answered):
        q, dq = start
        forces = plan.tau.copy()
        for t, tau in enumerate(forces):
            apart = np.concatenate([robot.difference(plan.q[t], q), dq - plan.dq[t]])
            tau[motors] += answered * plan.gains[t] @ apart
            q, dq = robot.step(q, dq, tau, dt)
        return problem.solve(*start, guess=forces[:, motors], iterations=0).cost

    best = problem.solve(*start, tolerance=1e-14).cost
    assert 0 <= cost(1) - best < 1e-4 * (cost(0) - best)


def test_a_tick_of_mpc_with_many_iterations_is_a_plan():
    """Wherever the plan before it was."""
    problem, q0, dq0 = posed(arm(0), 0)
    mpc = optimal.MPC(problem, iterations=200)
    for q in (q0, q0 + 0.2, q0 - 0.3):
        expected = problem.solve(q, dq0, iterations=200, tolerance=1e-12)
        assert relative(mpc(q, dq0), expected.tau[0]) < 1e-5
        assert mpc.tick.cost == pytest.approx(expected.cost, rel=1e-9)
