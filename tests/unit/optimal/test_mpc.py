"""MPC in closed loop, and what it does when a tick fails."""

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


def test_one_iteration_a_tick_reaches_the_goal(problem):
    robot, mpc = problem.robot, optimal.MPC(problem)
    run = robot.simulate([0, 0], controller=mpc.controller(), duration=3.0, dt=0.01)
    assert np.abs(run.q[-1] - [0.5, -0.3]).max() < 0.02
    assert np.abs(run.tau).max() <= 15.0
    assert mpc.tick.age == 0
    assert mpc.gains.shape == (2, 4)


def test_a_tick_that_fails_goes_on_with_the_last_plan(problem):
    mpc = optimal.MPC(problem, iterations=5)
    first = mpc([0, 0], [0, 0])
    plan = mpc.plan
    np.testing.assert_array_equal(first, plan.tau[0])
    for age in (1, 2):
        np.testing.assert_array_equal(mpc([np.nan, 0], [0, 0]), plan.tau[age])
        assert mpc.tick.age == age
        assert "not finite" in mpc.tick.reason
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
    for given in ({"iterations": 0}, {"deadline": 0.0}):
        with pytest.raises(KinetreeError):
            optimal.MPC(problem, **given)
    with pytest.raises(KinetreeError):
        optimal.MPC(problem)([np.nan, 0], [0, 0])
    with pytest.raises(KinetreeError):
        _ = optimal.MPC(problem).gains
