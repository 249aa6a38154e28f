"""What a plan shows of itself: which residual pushes which joint, and its plot."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import optimal
from kinetree.errors import InputError

TARGET = np.array([0.4, 0.2, 0.5])


def reach(**options):
    """A problem of Panda with four kinds of costs."""
    costs = {
        "place": optimal.FramePosition(target=TARGET, weight=5.0, final=300.0),
        "rates": optimal.Rates(weight=0.1, final=5.0),
        "effort": optimal.Effort(weight=0.01),
        "elbow": optimal.Residual(function=lambda t, q, dq, tau: [q[3] + 1.5], weight=2.0),
    }
    options = {"dt": 0.02, "steps": 12, "costs": costs, "limits": None} | options
    return optimal.Problem(kt.robots.panda(), **options)


def rerun(robot, q, dq, tau, dt):
    """The costs of `reach`, written out along the motion of `robot.step`."""
    costs = np.zeros(4)
    for row in tau:
        p = np.asarray(robot.pose(q))[:3, 3]
        squares = [5 * (p - TARGET) @ (p - TARGET), 0.1 * dq @ dq, 0.01 * row @ row,
                   2 * (q[3] + 1.5) ** 2]  # fmt: skip
        costs += dt / 2 * np.array(squares)
        q, dq = robot.step(q, dq, row, dt=dt)
    p = np.asarray(robot.pose(q))[:3, 3]
    return costs + np.array([150 * (p - TARGET) @ (p - TARGET), 2.5 * dq @ dq, 0, 0])


def test_pushes_are_slopes_of_each_cost_by_the_forces_of_a_step():
    problem, rng = reach(), np.random.default_rng(0)
    start = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    guess = np.asarray(problem.robot.gravity_forces(start)) + rng.normal(size=(12, 7))
    plan = problem.solve(start, guess=guess, iterations=1)  # not at the optimum
    step, small = 4, 1e-4
    explained = plan.explain(step)
    assert tuple(explained.by_cost) == ("place", "rates", "effort", "elbow")
    for k in range(7):
        costs = []
        for sign in (1, -1):
            tau = plan.tau.copy()
            tau[step, k] += sign * small
            costs.append(rerun(problem.robot, plan.q[0], plan.dq[0], tau, problem.dt))
        slope = (costs[0] - costs[1]) / (2 * small)
        parts = np.array([x[k] for x in explained.by_cost.values()])
        np.testing.assert_allclose(-parts, slope, rtol=1e-6, atol=1e-9)
        assert explained.total[k] == pytest.approx(-slope.sum(), rel=1e-6, abs=1e-9)


def swing_up():
    costs = {
        "upright": optimal.Posture(target=[np.pi, 0.0], final=500.0),
        "still": optimal.Rates(weight=0.01, final=50.0),
        "effort": optimal.Effort(weight=0.01),
    }
    problem = optimal.Problem(
        kt.robots.double_pendulum(), dt=0.02, steps=150, costs=costs, limits=10.0,
        actuated=["elbow"],
    )  # fmt: skip
    return problem.solve([0.0, 0.0], tolerance=1e-13)


def test_at_the_optimum_pushes_cancel_but_at_limits():
    plan = swing_up()
    assert plan.converged
    held = np.abs(plan.tau[:, 1]) == 10
    assert held.sum() > 5
    for step in (0, 8, 60, 120, 149):
        explained = plan.explain(step)
        assert explained.names == ("elbow",) and explained.limits == 10
        push = explained.total[0]
        if held[step]:  # the costs would push further
            assert push * plan.tau[step, 1] > 0
        else:
            assert abs(push) < 1e-5 * np.abs(explained.by_cost["upright"][0])
    text = str(plan.explain(8))
    assert "step 8, t = 0.16 s" in text and "-10 N m  at its limit" in text
    assert "upright" in text and "<table" in plan.explain(8)._repr_html_()
    with pytest.raises(InputError, match="step is 150; expected 0 to 149"):
        plan.explain(150)


def test_a_plot_has_states_forces_with_limits_and_costs_over_iterations(tmp_path):
    pytest.importorskip("matplotlib")
    plan = swing_up()
    figure = plan.plot(tmp_path / "plan.png")
    assert [chart.title for chart in figure.charts] == ["position", "rate", "joint force", "cost"]
    force, cost = figure.charts[2:]
    assert [one.limits for one in force.series] == [(None, None), (-10, 10)]
    assert [one.name for one in cost.series] == ["sum", "upright", "still", "effort"]
    ends = [one.y[-1] for one in cost.series]
    assert ends == pytest.approx([plan.cost, *plan.costs.values()], rel=1e-12)
    assert plan.history[-1]["costs"] == pytest.approx(plan.costs, rel=1e-12)
    axes = figure.matplotlib().axes
    assert [axis.get_xlabel() for axis in axes[2:]] == ["time, s", "iteration"]
    assert axes[0].get_xlim() == (0, 3) and axes[3].get_xlim()[1] == len(plan.history)
    assert (tmp_path / "plan.png").stat().st_size > 20_000


def test_one_of_many_plans_is_a_plan():
    problem = reach()
    starts = np.array([[0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7], [0.3, -0.3, 0.0, -1.8, 0.0, 1.5, 0]])
    many = problem.solve(starts, iterations=4)
    one = many[-1]
    np.testing.assert_array_equal(one.tau, many.tau[:, 1])
    assert one.cost == many.cost[1] and one.reason == many.reason[1]
    assert one.history[-1]["costs"] == pytest.approx(one.costs)
    assert one.explain(3).forces == pytest.approx(many.tau[3, 1])
    assert many.plot().charts[3].series[0].band is not None
    with pytest.raises(InputError, match=r"many starts; choose one: solution\[0\]"):
        many.explain(3)
    with pytest.raises(IndexError):
        many[2]


def test_the_bar_of_a_solve_counts_iterations(capsys):
    reach().solve([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7], iterations=3, progress=True)
    assert "of 3 iterations" in capsys.readouterr().err
