"""MPC in closed loop, and what it does when a tick fails."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree import optimal
from kinetree.errors import KinetreeError


@pytest.fixture(scope="module")
def problem():
    costs = {
        "posture": optimal.Posture(target=[0.5, -0.3], weight=50.0, final=50.0),
        "rates": optimal.Rates(weight=1.0),
        "effort": optimal.Effort(weight=1e-3),
    }
    return optimal.Problem(kt.robots.double_pendulum(), dt=0.02, steps=25, costs=costs, limits=15.0)


@pytest.mark.parametrize("rate", [None, 100.0, 25.0])
def test_one_iteration_a_tick_reaches_the_goal(problem, rate):
    robot, mpc = problem.robot, kt.controllers.MPC(problem, rate=rate)
    run = robot.simulate([0, 0], controller=mpc, duration=3.0, dt=0.01)
    assert np.abs(run.q[-1] - [0.5, -0.3]).max() < 0.02
    assert np.abs(run.tau).max() <= 15.0
    assert mpc.tick.age == 0
    assert mpc.tick.good
    assert mpc.gains.shape == (2, 4)
    again = robot.simulate([0, 0], controller=mpc, duration=3.0, dt=0.01)
    np.testing.assert_array_equal(again.q, run.q)  # every run begins anew


def test_a_robot_that_differs_from_its_model_is_held():
    """Friction and a payload, one iteration a tick: every tick begins with a motion."""
    model = kt.robots.panda()
    other = kt.robots.panda(friction=True).with_payload(1.5, (0, 0, 0.05))
    costs = [
        optimal.FramePosition(target=[-0.5, 0, 0.5], weight=20.0, final=1e4),
        optimal.FrameRotation(target=np.diag([1.0, -1, -1]), weight=2.0, final=1e3),
        optimal.Rates(weight=0.5, final=10.0),
        optimal.Effort(weight=1e-3),
        optimal.JointLimits(target=[0.05], weight=1e3),
    ]
    mpc = optimal.MPC(optimal.Problem(model, dt=0.02, steps=100, costs=costs))
    q, dq, first = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5]), np.zeros(7), np.inf
    for _ in range(15):
        tau = mpc(q, dq)
        first = min(first, mpc.tick.cost)
        assert mpc.tick.cost < 5 * first
        run = other.simulate(q, dq, tau=tau, duration=0.02, dt=0.02, limits="ignore")
        q, dq = run.q[-1], run.dq[-1]
        assert np.abs(dq).max() < 10


def test_time_goes_on_from_tick_to_tick():
    """A target that moves, as a path and as a function of t, is followed."""
    path = np.linspace(0, 1, 31)[:, None] * [0.3, -0.2]
    costs = {
        "path": optimal.Posture(target=path, weight=100.0, final=1.0),
        "moving": optimal.Residual(
            function=lambda t, q, dq, tau: q - t * np.array([0.5, -1 / 3]), entries=2, weight=0.0
        ),
        "effort": optimal.Effort(weight=1e-6),
    }
    robot = kt.robots.double_pendulum()
    problem = optimal.Problem(robot, dt=0.02, steps=30, costs=costs, limits=None)
    moving = replace(costs["moving"], weight=100.0)
    other = problem.with_costs(path=replace(costs["path"], weight=0.0), moving=moving)
    for one in (problem, other):
        run = robot.simulate([0, 0], controller=kt.controllers.MPC(one), duration=0.6, dt=0.01)
        np.testing.assert_allclose(run.q[40], [0.2, -2 / 15], atol=0.02)


def test_the_change_of_force_is_that_from_the_last_tick():
    robot = kt.robots.double_pendulum()
    costs = [
        optimal.Posture(target=[0.3, 0.2], weight=100.0),
        optimal.EffortChange(weight=1e-2),
        optimal.Effort(weight=1e-4),
    ]
    problem = optimal.Problem(robot, dt=0.02, steps=20, costs=costs, limits=None)
    mpc = kt.controllers.MPC(problem, iterations=50)
    tau = mpc([0, 0], [0, 0])
    plan = mpc.plan
    second = mpc(plan.q[1], plan.dq[1])
    alone = replace(problem, before=tau).solve(plan.q[1], plan.dq[1], tolerance=1e-12)
    np.testing.assert_allclose(second, alone.tau[0], rtol=1e-4)


def test_ticks_move_the_plan_by_their_time(problem):
    """A tick of half a step begins between two states, with the mean of two forces."""
    mpc = kt.controllers.MPC(problem, rate=100.0, iterations=30)
    mpc([0.2, 0.1], [0, 0])
    first = mpc.plan
    halfway = (first.q[0] + first.q[1]) / 2, (first.dq[0] + first.dq[1]) / 2
    mpc(*halfway)
    np.testing.assert_allclose(mpc.plan.q[:-2], (first.q[:-2] + first.q[1:-1]) / 2, atol=1e-2)
    for age in (1, 2, 3):
        np.testing.assert_array_equal(mpc([np.nan, 0], [0, 0]), mpc.plan.tau[age // 2])


def test_feedback_between_ticks(problem):
    """At the plan it is the plan; beside it, the gains pull back, within the limits."""
    mpc = kt.controllers.MPC(problem, iterations=30)
    mpc([0.45, -0.25], [0, 0])
    plan = mpc.plan
    half = (plan.q[0] + plan.q[1]) / 2, (plan.dq[0] + plan.dq[1]) / 2
    np.testing.assert_allclose(mpc.between(*half, after=0.01), plan.tau[0], atol=1e-9)
    away = np.array([0.01, -0.02])
    pulled = plan.tau[0] + mpc.gains[:, :2] @ away
    np.testing.assert_allclose(
        mpc.between(plan.q[0] + away, plan.dq[0]), np.clip(pulled, -15, 15), atol=1e-9
    )
    assert np.abs(mpc.between([3.0, 3.0], [9, 9])).max() <= 15.0
    np.testing.assert_array_equal(mpc.between([np.nan, 0], [0, 0]), plan.tau[0])
    for args, word in (
        (([0, 0], [0, 0], np.nan), "after"), (([0, 0], [0, 0], -0.1), "after"),
        (([0, 0, 0], [0, 0]), "q has shape"), (([0, 0], 0.0), "dq has shape"),
    ):  # fmt: skip
        with pytest.raises(KinetreeError, match=word):
            mpc.between(*args)


def test_a_tick_from_a_far_state_tells_that_its_plan_is_not_good():
    costs = [
        optimal.FramePosition(target=[0, 0, 9.0], final=50, weight=1),
        optimal.Effort(weight=1e-3),
    ]
    robot, rng = kt.robots.double_pendulum(), np.random.default_rng(0)
    mpc = optimal.MPC(optimal.Problem(robot, dt=0.1, steps=20, costs=costs, limits=None))
    mpc([0, 0], [0, 0])
    assert mpc.tick.good
    told = set()
    for _ in range(12):
        mpc(rng.uniform(-3, 3, 2), rng.uniform(-10, 10, 2))
        assert not (mpc.tick.good and mpc.tick.gap > 1e-3)
        assert mpc.tick.good == (mpc.tick.reason in ("iterations", "converged"))
        told.add(mpc.tick.reason)
    assert "no better step" in told


def test_a_deadline_that_cannot_be_kept_is_told(problem):
    mpc = kt.controllers.MPC(problem, deadline=1e-9, iterations=5)
    tau = mpc([0, 0], [0, 0])
    assert np.isfinite(tau).all()
    assert len(mpc.plan.history) == 1
    assert mpc.tick.reason.startswith("late")
    assert not mpc.tick.good


def test_a_plan_that_is_over_is_told(problem):
    mpc = kt.controllers.MPC(problem)
    mpc([0, 0], [0, 0])
    for _ in range(problem.steps):
        mpc([np.nan, 0], [0, 0])
    assert mpc.tick.age == problem.steps
    assert "over" in mpc.tick.reason
    assert not mpc.tick.good


def test_a_tick_that_fails_goes_on_with_the_last_plan(problem):
    mpc = optimal.MPC(problem, iterations=5)
    first = mpc([0, 0], [0, 0])
    plan = mpc.plan
    np.testing.assert_array_equal(first, plan.tau[0])
    for age in (1, 2):
        np.testing.assert_array_equal(mpc([np.nan, 0], [0, 0]), plan.tau[age])
        assert mpc.tick.age == age
        assert "finite" in mpc.tick.reason
        assert not mpc.tick.good
    mpc(plan.q[3], plan.dq[3])
    assert mpc.tick.age == 0


def test_targets_change_while_it_runs(problem):
    mpc = optimal.MPC(problem, iterations=20)
    mpc([0, 0], [0, 0])
    solver = problem.solver
    mpc.problem = problem.with_costs(posture=problem.costs["posture"].with_target([-0.5, 0.3]))
    mpc([0, 0], [0, 0])
    assert mpc.problem.solver is solver  # nothing was compiled
    assert mpc.plan.q[-1] == pytest.approx([-0.5, 0.3], abs=0.1)


def test_what_makes_no_sense_is_refused(problem):
    for given in (
        {"iterations": 0}, {"iterations": -1}, {"deadline": 0.0}, {"deadline": np.nan},
        {"rate": 0}, {"rate": np.inf}, {"problem": 5},
        {"problem": problem.batch(weights={"rates": [1.0, 2.0]})},
    ):  # fmt: skip
        with pytest.raises(KinetreeError):
            optimal.MPC(**({"problem": problem} | given))
    mpc = optimal.MPC(problem)
    mpc([0, 0], [0, 0])
    mpc.problem = optimal.Problem(problem.robot, dt=0.02, steps=9, costs=problem.costs, limits=15.0)
    with pytest.raises(KinetreeError):
        mpc([0, 0], [0, 0])
    with pytest.raises(KinetreeError):
        optimal.MPC(problem)([0, 0, 0], [0, 0])
    with pytest.raises(KinetreeError):
        optimal.MPC(problem)(np.zeros((3, 2)), np.zeros((3, 2)))
    with pytest.raises(KinetreeError):
        optimal.MPC(problem)([np.nan, 0], [0, 0])
    with pytest.raises(KinetreeError):
        _ = optimal.MPC(problem).gains
