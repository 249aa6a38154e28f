"""Solution: the plans of a problem, as motions, forces, feedback and costs."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import count
from kinetree.core.text import counted
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError
from kinetree.motion.plots import charts_of, lines_of
from kinetree.motion.record import FilePath
from kinetree.motion.trajectory import Trajectory
from kinetree.optimal.ilqr import BAD_START, CONVERGED, Plans
from kinetree.optimal.transcription import compiled
from kinetree.present.charts import Chart, draw
from kinetree.simulate.inputs import on_cpu

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINER = 8  # steps in each step of a plan, by which `step_errors` makes it again


@dataclass(frozen=True, eq=False)
class Solution:
    """The plans of a problem. With many starts, arrays have an axis of problems after time.

    Args:
        problem: the problem that was solved.
        plans: the plans of the solver.
        single: whether one start was given.
    """

    problem: Any
    plans: Plans
    single: bool

    def _shown(self, x: Array) -> Array:
        return x[:, 0] if self.single else x

    @property
    def q(self) -> Array:
        """Joint positions, (steps + 1, nq), rad or m."""
        return self._shown(self.plans.x[..., : self.problem.model.nq])

    @property
    def dq(self) -> Array:
        """Joint rates, (steps + 1, n), rad/s or m/s."""
        nq, n = self.problem.model.nq, self.problem.model.n
        return self._shown(self.plans.x[..., nq : nq + n])

    @property
    def controls(self) -> Array:
        """What was planned, (steps, m): controls of the actuators, or forces of the motors."""
        return self._shown(self.plans.u)

    @property
    def tau(self) -> Array:
        """Joint forces, (steps, n), N m or N; zero for joints without a motor."""
        return self._shown(self.problem._joint_forces(self.plans.x[:-1], self.plans.u))

    @property
    def gains(self) -> Array:
        """K, (steps, m, 2n): the motors' forces change by K times the deviation of (q, dq)."""
        return self._shown(self.plans.K)

    @property
    def cost(self) -> Any:
        """The whole cost: a number, or (B,)."""
        return float(self.plans.cost[0]) if self.single else self.plans.cost

    @property
    def costs(self) -> dict[str, Any]:
        """The cost by residual."""
        return self._by_name(self.plans.costs)

    def _by_name(self, costs: Array) -> dict[str, Any]:
        columns = zip(map(str, self.problem.costs), costs.T, strict=True)
        return {name: float(x[0]) if self.single else x for name, x in columns}

    @property
    def reason(self) -> Any:
        """Why it ended: "converged", "iterations", "time", "stalled: ..." or what went wrong."""
        bad = [~np.isfinite(row) for row in self.plans.costs]
        reasons = [
            f"{reason}: {', '.join(np.array(list(self.problem.costs))[which])}"
            if reason == BAD_START
            else reason
            for reason, which in zip(self.plans.reasons, bad, strict=True)
        ]
        return reasons[0] if self.single else reasons

    @property
    def converged(self) -> Any:
        """Whether it converged: True or False, or (B,)."""
        done = np.array([x == CONVERGED for x in self.plans.reasons])
        return bool(done[0]) if self.single else done

    @property
    def gap(self) -> float:
        """The largest entry by which a step misses the next state; 0 for a motion."""
        return float(np.abs(on_cpu(self.plans.gaps)).max(initial=0))

    @cached_property
    def step_errors(self) -> Array:
        """What the length of the steps changes, (steps, n), rad or m, added up over time.

        Each step is made again from the plan's state, with its forces or controls and eight steps
        of Runge and Kutta: the difference of q, which a smaller dt makes smaller.
        """
        problem = self.problem
        fine = replace(problem.transcription, h=problem.dt / FINER, method="rk4")
        states = Port("x", (fine.space.size,)), Port("reached", (fine.space.size,))
        step, apart = remembered(
            problem.model,
            ("finer", fine.key),
            lambda: (
                compiled(fine.next_state, fine.ports, "finer"),
                compiled(fine.deviation, states, "apart"),
            ),
        )
        x, u = on_cpu(self.plans.x), on_cpu(self.plans.u)
        p, reached = problem._data(x.shape[1])[:-1], x[:-1]
        for _ in range(FINER):
            reached = step(reached, u, p)
        missed = apart(x[1:], reached)[..., : problem.model.n]
        return self._shown(np.cumsum(missed, axis=0))

    @property
    def history(self) -> list[dict[str, Any]]:
        """What each iteration did: cost and costs, length of the step, decrease expected."""
        return [
            {key: float(np.ravel(x)[0]) if self.single else x for key, x in row.items()}
            | {"costs": self._by_name(row["costs"])}
            for row in self.plans.history
        ]

    @property
    def trajectory(self) -> Trajectory:
        """The motion; the forces of the last sample are those of the last step."""
        q, rates, tau = (on_cpu(x) for x in (self.q, self.dq, self.tau))
        t = np.arange(self.problem.steps + 1) * self.problem.dt
        ddq = np.diff(rates, axis=0) / self.problem.dt
        return Trajectory(
            t=t,
            q=q,
            dq=rates,
            ddq=np.concatenate([ddq, ddq[-1:]]),
            tau=np.concatenate([tau, tau[-1:]]),
            model=self.problem.model,
            name="plan",
            meta={} if self.problem.controls else {"tau_held": True},
        )

    def __getitem__(self, k: int) -> "Solution":
        """The plan of one of many starts."""
        k = range(len(self.plans.reasons))[k]
        return replace(self, plans=self.plans.some([k]), single=True)

    def plot(self, path: FilePath | None = None) -> "Figure":
        """A figure of states and forces with their limits, and of the costs over the iterations.

        Args:
            path: file to write: .png, .svg, .pdf and others.

        Returns:
            The figure of matplotlib (extra `plot`), which a notebook shows; of many starts the
            median and the range.
        """
        problem, history = self.problem, self.plans.history
        effort = np.full(problem.model.n, np.inf)
        if not problem.controls:
            effort[list(problem.motors)] = problem._bounds.high
        charts = charts_of(self.trajectory, panels=("q", "dq", "tau"), effort=effort)
        if history:
            at = np.array([np.max(row["iteration"]) for row in history], float)
            costs = np.array([row["costs"] for row in history])  # (iterations, B, kinds)
            costs = np.concatenate([costs.sum(2, keepdims=True), costs], axis=2)
            series = lines_of(at, ["sum", *map(str, problem.costs)], costs)
            charts.append(Chart("cost", "", tuple(series), "iteration", log="y", together=True))
        return draw("plan", charts, path=path)

    def explain(self, step: int) -> dict[str, Array]:
        """Which residual pushes which joint at a step: minus the slope of each cost by its forces.

        Args:
            step: from 0 to steps - 1, dimensionless.

        Returns:
            For each cost what it falls by per N m, or N, of more force of each motor at this step,
            shape (m,), if later forces stay: above 0 it wants more force. At the optimum their sum
            is 0 where a motor is free, and at a limit the limit's price. With the costate lambda of
            a cost, lambda = l_x + A^T (lambda of the next state), it is -(l_u + B^T lambda).
        """
        if len(self.plans.reasons) > 1:
            raise InputError("the plans are of many starts; choose one: solution[0].explain(step).")
        step, problem = count(step, "step"), self.problem
        if not 0 <= step < problem.steps:
            raise InputError(f"step is {step}; expected 0 to {problem.steps - 1}.")
        numbers, ocp, solver = problem._data(1), problem.transcription, problem.solver
        x, u = self.plans.x[step:, 0], self.plans.u[step:, 0]
        pushes: dict[str, Array] = {}
        for name in ocp.costs:  # a cost is linear in its weights: the others are zero
            p = np.array(numbers[step:, 0])
            for other, place in ocp.layout.weights.items():
                if other != name:
                    p[..., place] = 0
            A, B, l_x, l_u, costate = solver.slopes(x, u, p)
            for k in range(len(u) - 1, 0, -1):
                costate = l_x[k] + A[k].T @ costate
            pushes[name] = -(l_u[0] + B[0].T @ costate)
        return pushes

    def __repr__(self) -> str:
        what = f"{counted(self.problem.steps, 'step')} of {self.problem.dt:g} s"
        if not self.single:
            done = int(np.sum(self.converged))
            return f"Solution({what}, {done} of {len(self.plans.reasons)} converged)"
        rounds = counted(len(self.plans.history), "iteration")
        return f"Solution({what}: cost {self.cost:.6g} after {rounds}, {self.reason})"
