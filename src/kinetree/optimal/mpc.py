"""A plan that is made again and again, from where the robot is now, in memory that stays.

The last good plan, moved by the time that has passed, begins the next one. Its states are between
those of the old plan, and the force of each new step is the mean of the old ones during it. Its
feedback leads from where the robot is now to the plan, so that a tick begins with a motion.
"""

from time import perf_counter
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import numbers
from kinetree.engine.compiler.graph import Port
from kinetree.errors import InputError, KinetreeError, ShapeError
from kinetree.optimal.forward import compiled
from kinetree.optimal.ilqr import BAD_START, CONVERGED, Plans, Solver

TOLERANCE = 1e-12  # of the decrease that is expected; a tick has few iterations anyway
NO_STEP = "no better step"  # of a tick
FAR = 1e-3  # of the cost: a decrease that is expected, from which a tick shall find a step
LARGEST_GAP = 1e-3  # rad, m, rad/s or m/s of a plan that is good
INTEGER = 1e-9  # steps: times nearer to a step of the plan are that step


class Horizon:
    """The plan of a problem over the time to come.

    `good`: the rows of the last plan that may be followed; None before the first. `reason`: why the
    last solve ended. `doubt`: what speaks against the good plan, or nothing.
    """

    def __init__(self, problem: Any) -> None:
        self.solver: Solver = problem.solver
        self.memory = self.solver.memory(problem.steps, 1)
        self.good: Array | None = None
        self.reason, self.doubt = "nothing was solved", ""
        this, nx = self.solver.this, self.solver.sizes.nx

        def between(x: Array, y: Array, part: Any) -> Array:
            return this.space.plus(x, this.deviation(x, y) * part)

        pair = [Port("x", (nx,)), Port("y", (nx,))]
        self.between = compiled(between, [*pair, Port("part", ())], "state between two")
        self.deviation = compiled(this.deviation, pair, "deviation")
        self.problem = problem
        self.take(problem)

    def take(self, problem: Any) -> None:
        """Plan for a problem that differs in numbers alone."""
        if problem.solver is not self.solver or problem.steps != self.problem.steps:
            raise InputError(
                "the problem of an MPC changed in more than weights and targets; expected "
                "problem.with_costs(...), or a new MPC."
            )
        self.problem, self.bounds, self.numbers = problem, *problem._data(1)
        self.memory.limit(self.bounds)
        forward, state = self.solver.forward, np.zeros((1, self.solver.sizes.candidate))
        params = forward.params(np.zeros(1), self.bounds)  # a step of length 0: feedback alone
        self.following = forward.prepared(state, self.memory.plans[0, :-1, None], params)

    def _set_time(self, passed: float) -> None:
        """Write the numbers of the stages so many steps after the problem was given.

        Targets that move are read at the time of their step; the last one stays.
        """
        this, N = self.solver.this, self.problem.steps
        p, rows = self.memory.part("p"), np.minimum(np.arange(N + 1) + int(passed + INTEGER), N)
        p[:] = self.numbers
        for place in this.layout.targets.values():
            p[..., place] = self.numbers[rows][..., place]
        p[..., 0] += passed * this.h

    def improve(
        self, q: ArrayLike, dq: ArrayLike, later: float, passed: float, iterations: int,
        seconds: float,
    ) -> bool:  # fmt: skip
        """Plan from a state.

        Args:
            q: position, (nq,). dq: rates, (n,).
            later: steps, whole or not, since the good plan began. passed: since the problem was
                given.
            iterations: at most so many.
            seconds: no iteration begins that would end later, but the first.

        Returns:
            True if there is a new good plan.
        """
        begun, memory = perf_counter(), self.memory
        if np.ndim(q) != 1 or np.ndim(dq) != 1:  # type: ignore[arg-type]
            shapes = f"{np.shape(q)} and {np.shape(dq)}"  # type: ignore[arg-type]
            raise ShapeError(f"a tick has q and dq of shapes {shapes}; expected one state.")
        try:
            x0 = self.problem._start(q, dq)[0]
        except ShapeError:
            raise
        except KinetreeError as problem:  # not finite, or no state of the robot
            self.reason = str(problem).rstrip(".")
            return False
        x, u = memory.part("x")[:, 0], memory.part("u")[:-1, 0]
        self._set_time(passed)
        if self.good is None:
            first, forces = self.problem._guess(None, x0, memory.part("p"), self.bounds)
            x[:], u[:] = first[:, 0], forces[:, 0]
        else:
            self._move(later, x, u)
            known = self.problem.model.nq + self.problem.model.n
            x[0, :known] = x0[0, :known]  # activations are those of the plan
            if self.solver.this.remembers:
                x[0, -u.shape[1] :] = self.acting
            self._follow(x, u)
        rows, reasons = memory.improve(iterations, TOLERANCE, begun + seconds)
        self.reason = reasons[0]
        if self.reason == BAD_START or not np.isfinite(memory.plans).all():
            self.reason = memory.result(rows, reasons).reasons[0]
            return False
        self.good = np.array(memory.plans)
        self.kept = memory.costs.copy(), memory.records.copy(), rows, reasons
        self.doubt = self._doubt()
        return True

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
        """Write states and forces of the good plan, moved by some steps."""
        assert self.good is not None
        good, row = self.good[0], self.solver.sizes.row
        old_x, old_u = good[:, : row["u"]], good[:-1, row["u"] : row["gap"]]
        N = len(old_u)
        whole = min(int(later + INTEGER), N)
        part, left = later - whole, N - whole
        x[: left + 1], u[:left] = old_x[whole:], old_u[whole:]
        # beyond its end the plan holds the last position, as nearly as forces can
        x[left + 1 :], u[left:] = old_x[-1], self.problem._forces(None, old_x[-1:], self.bounds)[0]
        gains, old = self.memory.part("gains")[:, 0], good[:, row["gains"] :]
        gains[:left], gains[left:] = old[whole:N], old[N - 1]
        if INTEGER < part < 1:
            x[:-1] = self.between(x[:-1].copy(), x[1:].copy(), part)
            u[:-1] += part * (u[1:] - u[:-1])

    def _follow(self, x: Array, u: Array) -> None:
        """Write the motion from the first state that follows the plan by its feedback."""
        self.memory.part("gap")[:] = 0
        run, nx = self.following, x.shape[1]
        run.state[:] = 0
        run.state[0, :nx] = x[0]
        self.solver.forward.loop.run(run)
        if np.isfinite(run.state).all():  # else the gap of the first step closes by itself
            x[:-1], x[-1], u[:] = run.records[0][:, 0], run.state[0, :nx], run.records[1][:, 0]

    def at(self, later: float) -> tuple[Array, Array, Array]:
        """State, u and K of the good plan so many steps after its start."""
        if self.good is None:
            raise InputError("there is no plan yet; call the MPC with a state first.")
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
        model, parts = self.problem.model, list[Array]()
        for name, value, size in (("q", q, model.nq), ("dq", dq, model.n)):
            parts.append(numbers(value, name, "a state"))
            if parts[-1].shape != (size,):
                raise ShapeError(f"{name} has shape {parts[-1].shape}; expected ({size},).")
        state = np.concatenate(parts)
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

    def plans(self) -> Plans:
        """The good plan."""
        assert self.good is not None
        memory = self.memory
        memory.plans[:], memory.costs[:], memory.records[:] = self.good, *self.kept[:2]
        return memory.result(*self.kept[2:])
