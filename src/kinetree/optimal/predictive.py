"""MPC: a problem of optimal control solved again at every tick, from where the robot is now.

A tick that fails (a state that is not a number or that the robot cannot have, a cost that is not
finite) never reaches the motors: the last good plan goes on, and its age says so.
"""

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import count, finite
from kinetree.errors import InputError
from kinetree.motion.inputs import positive
from kinetree.simulate.controller import Sampled

FIRST_ITERATIONS = 100  # at most of the first tick, which has no plan to begin with


class Plannable(Protocol):
    """A problem of optimal control; kinetree.optimal.Problem is one."""

    dt: float
    steps: int

    def horizon(self) -> Any:
        """Return a plan in memory that can be made again and again."""
        ...

    def solution(self, horizon: Any) -> Any:
        """Return the plan as the result of a solve."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Tick:
    """One call of an MPC.

    Args:
        tau: joint forces, (n,), N m or N.
        cost: of the plan, in its units.
        gap: by which the plan misses being a motion, units of the state.
        age: ticks since the plan was made; 0: now.
        seconds: time that the tick took, s.
        reason: why the solver ended, why the plan is an old one, or that the tick was late.
        good: whether the plan is new, was there before the deadline, is a motion (gap up to 1e-3),
            and a step was found where more than 1e-3 of the cost was to be saved.
    """

    tau: Array
    cost: float
    gap: float
    age: int
    seconds: float
    reason: str
    good: bool


@dataclass(eq=False)
class MPC:
    """A controller that plans at every tick: `mpc(q, dq)` returns tau, (n,).

    Args:
        problem: a kinetree.optimal.Problem; `mpc.problem = problem.with_costs(...)` changes targets
            while it runs. Its time begins with the tick that it is given to: targets that move are
            read at the time of each tick, and the last one stays.
        rate: ticks in a second, 1/s; None: 1 / problem.dt.
        iterations: of iLQR in a tick; the first one takes as many as it needs, up to 100.
        deadline: s; no further iteration begins that would end later. None: no deadline.

    Example:
        >>> from kinetree import optimal
        >>> robot = kt.robots.planar_2r()
        >>> costs = [optimal.Posture(target=[1, 0.5], weight=100), optimal.Effort(weight=1e-4)]
        >>> mpc = kt.optimal.MPC(optimal.Problem(robot, dt=0.02, steps=20, costs=costs))
        >>> run = robot.simulate([0, 0], controller=mpc, duration=0.1, dt=0.02)
        >>> mpc.tick.age
        0
    """

    problem: Plannable
    rate: float | None = None
    iterations: int = 1
    deadline: float | None = None
    tick: Tick | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not hasattr(self.problem, "horizon"):
            raise InputError(
                f"an MPC was given {self.problem!r:.60}; expected a kinetree.optimal.Problem."
            )
        self._check_single()
        self.iterations = count(self.iterations, "iterations")
        if self.iterations < 1:
            raise InputError(f"iterations is {self.iterations}; expected at least 1.")
        if self.deadline is not None:
            self.deadline = positive(self.deadline, "deadline of an MPC", "s")
        self._period: float | None = None
        if self.rate is not None:
            self._period = 1 / positive(self.rate, "rate of an MPC", "1/s")
        self._horizon: Any = None
        self._age = self._ticks = 0

    def __call__(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Joint forces, (n,), for the state q, dq; `self.tick` tells more."""
        begun, problem = perf_counter(), self.problem
        if self._horizon is None:
            self._horizon = problem.horizon()
        horizon = self._horizon
        if horizon.problem is not problem:
            self._check_single()
            horizon.take(problem)
            self._ticks = 0
        limit = np.inf if self.deadline is None else self.deadline
        times = self._steps(self._age + 1), self._steps(self._ticks)
        cold = horizon.good is None
        iterations = max(self.iterations, FIRST_ITERATIONS) if cold else self.iterations
        made = horizon.improve(q, dq, *times, iterations, limit)
        self._ticks += 1
        reason = (made and horizon.doubt) or horizon.reason
        if horizon.good is None:
            raise InputError(f"the first tick has no plan: {reason}.")
        self._age = 0 if made else self._age + 1
        later = self._steps(self._age)
        tau, seconds = horizon.forces(later), perf_counter() - begun
        if later >= problem.steps:
            reason = f"{reason}; the last good plan is over, and its last forces are held"
        late = seconds > limit
        if late:
            reason = f"late: the tick took {seconds:.2g} s, beyond its deadline of {limit:.2g} s"
        self.tick = Tick(
            tau, horizon.cost, horizon.gap, self._age, seconds, reason,
            made and not late and not horizon.doubt,
        )  # fmt: skip
        return tau

    def _check_single(self) -> None:
        if getattr(self.problem, "many", None) is not None:
            raise InputError("an MPC was given many problems at once; expected one, not a batch.")

    def _steps(self, ticks: int) -> float:
        """The time of some ticks in steps of the problem."""
        return float(ticks) if self._period is None else ticks * self._period / self.problem.dt

    def between(self, q: ArrayLike, dq: ArrayLike, after: float = 0.0) -> Array:
        """Joint forces, (n,), between two ticks: those of the plan and its feedback, within limits.

        Args:
            q: position, shape (nq,), rad or m. For a state that is not finite the forces are those
                of the plan, without feedback.
            dq: rates, shape (n,), rad/s or m/s.
            after: time since the last tick, s.
        """
        if finite(after, "after") < 0:
            raise InputError(f"after is {after:g}; expected a time >= 0 since the last tick, in s.")
        later = self._steps(self._age) + after / self.problem.dt
        return self._planned().feedback(q, dq, later)

    @property
    def gains(self) -> Array:
        """K, (m, 2n), of the current step, for a faster loop around the plan."""
        return self._planned().at(self._steps(self._age))[2].copy()

    @property
    def plan(self) -> Any:
        """The last good plan, a kinetree.optimal.Solution; None before the first tick."""
        done = self._horizon is not None and self._horizon.good is not None
        return self.problem.solution(self._horizon) if done else None

    def _planned(self) -> Any:
        if self._horizon is None:
            raise InputError("there is no plan yet; call the MPC with a state first.")
        return self._horizon

    def controller(self) -> Sampled:
        """The controller for `robot.simulate`, called once a tick; `controller=mpc` is the same.

        Every run begins anew, with an MPC of its own; `tick` and `plan` are those of the last run.
        """

        def law(t: float, q: Array, dq: Array, run: MPC) -> Array:
            run.problem = self.problem
            tau = run(q, dq)
            self.tick, self._horizon, self._age = run.tick, run._horizon, run._age
            return tau

        return Sampled(law, self._period or self.problem.dt, initial=lambda: replace(self))
