"""MPC: a problem of optimal control solved again at every tick, from where the robot is now.

The last good plan, moved by the time that has passed, begins the next one. Its states are between
those of the old plan, and the force of each new step is the mean of the old ones during it. Its
feedback leads from where the robot is now to the plan, so that a tick begins with a motion; that
and the iterations are one call of machine code.

A tick that fails (a state that is not a number or that the robot cannot have, a cost that is not
finite) never reaches the motors: the last good plan goes on, and its age says so.
"""

from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.core.options import count, finite, numbers
from kinetree.engine.compiler.graph import Port
from kinetree.errors import InputError, KinetreeError, ShapeError
from kinetree.motion.inputs import positive
from kinetree.optimal.ilqr import BAD_START, CONVERGED
from kinetree.optimal.problem import Problem
from kinetree.optimal.solution import Solution
from kinetree.optimal.transcription import compiled
from kinetree.simulate.controller import Sampled
from kinetree.simulate.setup import check_start

FIRST_ITERATIONS = 100  # at most of the first tick, which has no plan to begin with
TOLERANCE = 1e-12  # of the decrease that is expected; a tick has few iterations anyway
NO_STEP = "no better step"  # of a tick
FAR = 1e-3  # of the cost: a decrease that is expected, from which a tick shall find a step
LARGEST_GAP = 1e-3  # rad, m, rad/s or m/s of a plan that is good
INTEGER = 1e-9  # steps: times nearer to a step of the plan are that step


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

    problem: Problem
    rate: float | None = None
    iterations: int = 1
    deadline: float | None = None
    tick: Tick | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            raise InputError(
                f"an MPC was given {self.problem!r:.60}; expected a kinetree.optimal.Problem."
            )
        self._check_single()
        if count(self.iterations, "iterations") < 1:
            raise InputError(f"iterations is {self.iterations}; expected at least 1.")
        if self.deadline is not None:
            self.deadline = positive(self.deadline, "deadline of an MPC", "s")
        rate = None if self.rate is None else positive(self.rate, "rate of an MPC", "1/s")
        self._period = self.problem.dt if rate is None else 1 / rate
        self._horizon: Horizon | None = None
        self._age = self._ticks = 0

    def __call__(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Joint forces, (n,), for the state q, dq; `self.tick` tells more."""
        begun, problem = perf_counter(), self.problem
        if self._horizon is None:
            self._horizon = Horizon(problem)
        horizon = self._horizon
        if horizon.problem is not problem:
            self._check_single()
            horizon.take(problem)
            self._ticks = 0
        limit = np.inf if self.deadline is None else self.deadline
        times = self._steps(self._age + 1), self._steps(self._ticks)
        cold = horizon.good is None
        iterations = max(self.iterations, FIRST_ITERATIONS) if cold else self.iterations
        made = horizon.improve(q, dq, *times, iterations, begun + limit)
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
        good = made and not late and not horizon.doubt
        self.tick = Tick(tau, horizon.cost, horizon.gap, self._age, seconds, reason, good)
        return tau

    def _check_single(self) -> None:
        if self.problem.many is not None:
            raise InputError("an MPC was given many problems at once; expected one, not a batch.")

    def _steps(self, ticks: int) -> float:
        """The time of some ticks in steps of the problem."""
        return ticks * (self._period / self.problem.dt)

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
    def plan(self) -> Solution | None:
        """The last good plan; None before the first tick."""
        horizon = self._horizon
        return None if horizon is None or horizon.good is None else horizon.solution()

    def _planned(self) -> "Horizon":
        if self._horizon is None or self._horizon.good is None:
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

        return Sampled(law, self._period, initial=lambda: replace(self))


class Horizon:
    """The plan of a problem over the time to come, in memory that stays.

    good: the rows of the last plan that may be followed; None before the first. reason: why the
    last solve ended. doubt: what speaks against the good plan, or nothing.
    """

    def __init__(self, problem: Problem) -> None:
        self.solver = problem.solver
        self.memory = self.solver.memory(problem.steps, 1)
        self.good: Array | None = None
        self.reason, self.doubt = "nothing was solved", ""
        ocp, nx = self.solver.ocp, self.solver.sizes.nx
        pair = [Port("x", (nx,)), Port("y", (nx,))]
        self.between = compiled(
            lambda x, y, part: ocp.space.plus(x, ocp.deviation(x, y) * part),
            [*pair, Port("part", ())],
            "state between two",
        )
        self.deviation = compiled(ocp.deviation, pair, "deviation")
        self.problem = problem
        self.take(problem)

    def take(self, problem: Problem) -> None:
        """Plan for a problem that differs in numbers alone."""
        if problem.solver is not self.solver or problem.steps != self.problem.steps:
            raise InputError(
                "the problem of an MPC changed in more than weights and targets; expected "
                "problem.with_costs(...), or a new MPC."
            )
        self.problem, self.bounds, self.numbers = problem, problem._bounds, problem._data(1)
        self.memory.limit(self.bounds)

    def _set_time(self, passed: float) -> None:
        """Write the numbers of the stages so many steps after the problem was given.

        Targets that move are read at the time of their step; the last one stays.
        """
        ocp, N = self.solver.ocp, self.problem.steps
        p, rows = self.memory.part("p"), np.minimum(np.arange(N + 1) + int(passed + INTEGER), N)
        p[:] = self.numbers
        for place in ocp.layout.targets.values():
            p[..., place] = self.numbers[rows][..., place]
        p[..., 0] += passed * ocp.h

    def improve(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        later: float,
        passed: float,
        iterations: int,
        until: float,
    ) -> bool:
        """Plan from a state; True if there is a new good plan.

        Args:
            q: position, (nq,). dq: rates, (n,).
            later: steps, whole or not, since the good plan began. passed: since the problem was
                given.
            iterations: at most so many.
            until: no iteration begins that would end later but the first, of perf_counter.
        """
        memory = self.memory
        state = self._state(q, dq)
        try:
            array(state, state.shape, "the state")
            check_start(self.problem.model, *np.split(state[None], [self.problem.model.nq], 1))
        except KinetreeError as problem:  # not finite, or no state of the robot
            self.reason = str(problem).rstrip(".")
            return False
        x, u = memory.part("x")[:, 0], memory.part("u")[:-1, 0]
        self._set_time(passed)
        if self.good is None:
            x0 = self.problem._start(q, dq)[0]
            first, forces = self.problem._guess(None, x0, memory.part("p"))
            x[:], u[:] = first[:, 0], forces[:, 0]
        else:
            self._move(later, x, u)
            x[0, : len(state)] = state  # activations are those of the plan
            if self.solver.ocp.remembers:
                x[0, -u.shape[1] :] = self.acting
        follow = self.good is not None
        rows, reasons = memory.improve(iterations, TOLERANCE, until, follow=follow)
        self.reason = reasons[0]
        if self.reason == BAD_START or not np.isfinite(memory.plans).all():
            self.reason = memory.result(rows, reasons).reasons[0]
            return False
        self.good = memory.plans.copy()
        self.kept = memory.costs.copy(), memory.records.copy(), rows, reasons
        self.doubt = self._doubt()
        return True

    def _state(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """q and dq in one array, (nq + n,)."""
        model, parts = self.problem.model, list[Array]()
        for name, value, size in (("q", q, model.nq), ("dq", dq, model.n)):
            parts.append(numbers(value, name, "a state"))
            if parts[-1].shape != (size,):
                raise ShapeError(
                    f"{name} of one state has shape {parts[-1].shape}; expected ({size},)."
                )
        return np.concatenate(parts)

    def _doubt(self) -> str:
        """What speaks against the good plan: no step though one was expected, or gaps."""
        length, expected = np.concatenate(self.kept[2], axis=1)[0, :, 1:3].T
        near = self.reason == CONVERGED or np.fmin.reduce(expected) <= FAR * self.cost
        if not near and not (length > 0).any():
            return NO_STEP
        if self.gap > LARGEST_GAP:
            return f"the plan is no motion: a step misses the next state by {self.gap:.2g}"
        return ""

    def _move(self, later: float, x: Array, u: Array) -> None:
        """Write states, forces and gains of the good plan, moved by some steps."""
        assert self.good is not None
        good, row = self.good[0], self.solver.sizes.row
        old_x, old_u = good[:, : row["u"]], good[:-1, row["u"] : row["gap"]]
        N = len(old_u)
        whole = min(int(later + INTEGER), N)
        part, left = later - whole, N - whole
        x[: left + 1], u[:left] = old_x[whole:], old_u[whole:]
        # beyond its end the plan holds the last position, as nearly as forces can
        x[left + 1 :], u[left:] = old_x[-1], self.problem._forces(None, old_x[-1:])[0]
        gains, old = self.memory.part("gains")[:, 0], good[:, row["gains"] :]
        gains[:left], gains[left:] = old[whole:N], old[N - 1]
        if INTEGER < part < 1:
            x[:-1] = self.between(x[:-1].copy(), x[1:].copy(), part)
            u[:-1] += part * (u[1:] - u[:-1])

    def at(self, later: float) -> tuple[Array, Array, Array]:
        """State, u and K of the good plan so many steps after its start."""
        assert self.good is not None
        good, s = self.good[0], self.solver.sizes
        k = min(int(later + INTEGER), len(good) - 2)
        x, row = good[:, : s.nx], good[k]
        state = self.between(x[k], x[k + 1], min(later - k, 1.0))
        gains = row[s.row["gains"] :].reshape(s.m, s.n + 1)
        return state, row[s.row["u"] : s.row["gap"]], gains[:, : s.n]

    def forces(self, later: float) -> Array:
        """Joint forces, (n,), so many steps after the start of the good plan; they act now."""
        x, u, _ = self.at(later)
        self.acting = u.copy()
        return self.problem._joint_forces(x, u)

    def feedback(self, q: ArrayLike, dq: ArrayLike, later: float) -> Array:
        """Joint forces, (n,), with the gains for a state beside the plan, within the limits.

        For a state that is not finite they are those of the plan.
        """
        x, u, K = self.at(later)
        state = self._state(q, dq)
        if not np.isfinite(state).all():
            return self.problem._joint_forces(x, u)
        here = np.concatenate([state, x[len(state) :]])
        u = np.clip(u + K @ self.deviation(x, here), self.bounds.low, self.bounds.high)
        return self.problem._joint_forces(here, u)

    @property
    def cost(self) -> float:
        """Of the good plan."""
        return float(self.kept[0].sum())

    @property
    def gap(self) -> float:
        """The largest entry by which a step of the good plan misses the next state."""
        assert self.good is not None
        row = self.solver.sizes.row
        return float(np.abs(self.good[0, :-1, row["gap"] : row["p"]]).max())

    def solution(self) -> Solution:
        """The good plan."""
        memory = self.memory
        memory.plans[:], memory.costs[:], memory.records[:] = self.good, *self.kept[:2]
        return Solution(self.problem, memory.result(*self.kept[2:]), single=True)
