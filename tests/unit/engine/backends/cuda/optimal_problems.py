"""Problems that a GPU and the CPU both solve."""

from typing import Any

import numpy as np

import kinetree as kt
from kinetree import optimal
from kinetree.scalars import where

METHODS = ("euler", "semi_implicit_euler", "rk4", "implicit", "implicitfast")
RNG = np.random.default_rng(5)
START = np.array([0.3, 0.2, -0.1, -1.8, 0.1, 1.9, 0.2])
# roundings of sums in another order, times the condition of the problems; steps of the line search
# are compared with margins far above
CLOSE = 1e-9


def arm(**options: Any) -> optimal.Problem:
    costs = {
        "posture": optimal.Posture(target=[1, 0.5], final=1e3),
        "rates": optimal.Rates(final=10),
        "effort": optimal.Effort(weight=1e-3),
    }
    return optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=13, costs=costs, **options)


def bent_arm(count: int = 8, **options: Any) -> tuple[optimal.Problem, Any]:
    """Panda, and starts around its target."""
    costs = {
        "posture": optimal.Posture(target=START, weight=10, final=100),
        "rates": optimal.Rates(weight=0.1, final=1),
        "effort": optimal.Effort(weight=1e-3),
    }
    problem = optimal.Problem(kt.robots.panda(), dt=0.02, costs=costs, **options)
    return problem, START + 0.2 * np.random.default_rng(1).normal(size=(count, 7))


def hopping() -> tuple[optimal.Problem, Any]:
    """A quadruped in flight, and its neutral position."""
    robot = kt.robots.quadruped()
    q0 = np.asarray(kt.dynamics.neutral(robot.model), float)
    costs = {"posture": optimal.Posture(target=q0, weight=1), "effort": optimal.Effort(weight=1e-2)}
    problem = optimal.Problem(robot, dt=0.01, steps=4, costs=costs)
    return problem, np.stack([q0, q0])


def agree(problem: optimal.Problem, q0: Any, **options: Any) -> None:
    """Compare the plans of both."""
    found, expected = (problem.solve(q0, target=x, **options) for x in ("cuda", "cpu"))
    assert found.reason == expected.reason
    assert len(found.history) == len(expected.history)
    for name in ("q", "dq", "tau", "gains", "cost"):
        x, y = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
        np.testing.assert_allclose(x, y, rtol=0, atol=CLOSE * max(1, np.abs(y).max()))
    np.testing.assert_allclose(found.plans.mu, expected.plans.mu, rtol=CLOSE)
    assert found.gap < CLOSE


def kinked() -> optimal.Problem:
    """A cost with a kink, at which no step lowers it."""

    def residual(t: Any, q: Any, dq: Any, tau: Any) -> Any:
        return np.array([1 + where(q[0] > 0.3, q[0] - 0.3, 0.9 - 3 * q[0])])

    kink = optimal.Residual(function=residual, entries=1, weight=0.0, final=100.0)
    costs = [kink, optimal.Effort(weight=1e-4)]
    return optimal.Problem(kt.robots.planar_2r(), dt=0.02, steps=12, limits=None, costs=costs)


def check_plans() -> None:
    """A search to its end, an arm of seven joints, and a robot with a free base."""
    agree(arm(limits=8.0), np.array([0.3, -0.4]), iterations=60)
    agree(kinked(), np.array([[0.3, 0.1], [0.1, -0.2]]), iterations=60)
    problem, q0 = bent_arm(steps=8)
    agree(problem, q0, iterations=2)
    problem, q0 = hopping()
    agree(problem, q0, iterations=1)
