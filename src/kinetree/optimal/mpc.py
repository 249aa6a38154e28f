"""MPC: a problem solved again at every tick, from where the robot is now.

The plan of the last tick, moved by one step, begins the next one, so that one iteration a tick
follows the optimum. A tick that fails (a state that is not a number, a cost that is not finite, no
better step) or is late never reaches the motors: the last good plan goes on, and its age says so.
"""

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.errors import InputError
from kinetree.optimal.ilqr import CONVERGED, ITERATIONS, STUCK
from kinetree.optimal.problem import Problem, Solution
from kinetree.simulate.core.sampling import Sampled

GOOD = (CONVERGED, ITERATIONS, STUCK)  # a plan that cannot be improved is still a plan


@dataclass(frozen=True, eq=False)
class Tick:
    """One call of an MPC.

    Args:
        tau: joint forces, (n,), N m or N.
        cost: of the plan, in its units.
        gap: by which the plan misses being a motion, units of the state.
        age: ticks since the plan was made; 0: now.
        seconds: time that the tick took, s.
        reason: why the solver ended, or why the plan is an old one.
    """

    tau: Array
    cost: float
    gap: float
    age: int
    seconds: float
    reason: str


@dataclass(eq=False)
class MPC:
    """A controller that plans at every tick: `mpc(q, dq)` returns tau, (n,).

    A tick is one step of the problem, dt.

    Args:
        problem: the problem; `mpc.problem = problem.with_costs(...)` changes targets while it runs.
        iterations: of iLQR in a tick.
        deadline: s; a tick ends its iterations when it is over. None: no deadline.

    Example:
        >>> from kinetree import optimal
        >>> robot = kt.robots.planar_2r()
        >>> costs = [optimal.Posture(target=[1, 0.5], weight=100), optimal.Effort(weight=1e-4)]
        >>> mpc = optimal.MPC(optimal.Problem(robot, dt=0.02, steps=20, costs=costs))
        >>> run = robot.simulate([0, 0], controller=mpc.controller(), duration=0.1, dt=0.02)
        >>> mpc.tick.age
        0
    """

    problem: Problem
    iterations: int = 1
    deadline: float | None = None
    plan: Solution | None = field(default=None, init=False)
    tick: Tick | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InputError(f"iterations is {self.iterations}; expected at least 1.")
        if self.deadline is not None and not self.deadline > 0:
            raise InputError(f"deadline is {self.deadline}; expected a time > 0, in s.")

    def __call__(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Joint forces, (n,), for the state q, dq; `self.tick` tells more."""
        begun, problem = perf_counter(), self.problem
        q, dq = np.asarray(q, float), np.asarray(dq, float)
        reason = "the state is not finite"
        if np.isfinite(q).all() and np.isfinite(dq).all():
            solved = problem.solve(
                q, dq, guess=self._shifted(), iterations=self.iterations, tolerance=1e-12,
                seconds=np.inf if self.deadline is None else self.deadline, progress=False,
            )  # fmt: skip
            reason = solved.reason
            if reason in GOOD and np.isfinite(solved.tau).all():
                self.plan, self._age = solved, -1
        if self.plan is None:
            raise InputError(f"the first tick has no plan: {reason}.")
        self._age += 1
        k = min(self._age, problem.steps - 1)
        self.tick = Tick(
            self.plan.tau[k], self.plan.cost, self.plan.gap, self._age, perf_counter() - begun,
            reason,
        )  # fmt: skip
        return self.tick.tau

    _age = 0

    @property
    def gains(self) -> Array:
        """K, (m, 2n), of the current step, for a faster loop around the plan."""
        if self.plan is None:
            raise InputError("there is no plan yet; call the MPC with a state first.")
        return self.plan.gains[min(self._age, self.problem.steps - 1)]

    def controller(self) -> Sampled:
        """The controller for `robot.simulate`, called once every dt of the problem."""
        return Sampled(lambda t, q, dq: self(q, dq), self.problem.dt)

    def _shifted(self) -> Solution | None:
        """The last plan, moved by the steps that have passed."""
        plan = self.plan
        if plan is None:
            return None
        by = min(self._age + 1, self.problem.steps - 1)
        x, u = (np.roll(a, -by, axis=0) for a in (plan.plans.x, plan.plans.u))
        x[-by:], u[-by:] = plan.plans.x[-1], plan.plans.u[-1]
        moved = plan.plans.moved_to(x, u)
        return Solution(plan.problem, moved, plan.single)
