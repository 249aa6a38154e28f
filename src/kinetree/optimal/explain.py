"""What a plan shows of itself: its plot, and which residual pushes which joint at a step.

The gradient of the whole cost by the forces u of step k is a sum over the costs c,

    l_u^c + B^T lambda^c,    lambda^c = l_x^c + A^T (lambda^c of the next state)

A cost is linear in its weights, so the gradients of one cost are those of a stage whose other
weights are zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import count
from kinetree.core.text import number
from kinetree.errors import InputError
from kinetree.model.units import units
from kinetree.motion.plots import charts_of
from kinetree.motion.record import FilePath, Record
from kinetree.optimal.ilqr import Plans, Solver
from kinetree.present.charts import Chart, Series, draw
from kinetree.present.tables import Table, text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANING = (
    "What the cost falls by per N m, or N, of more force at this step, if later forces stay: above "
    "0, the residual wants more force. At the optimum the sum is 0, or at a limit its price."
)


@dataclass(frozen=True, eq=False)
class Pushes:
    """Which residual pushes which joint at a step of a plan.

    Args:
        step: the step.
        t: its time, s.
        names: the degrees of freedom with a motor.
        units: of their forces, N m or N.
        forces: of the plan at the step, shape (m,).
        limits: of the forces, shape (m,); inf: none.
        by_cost: minus the slope of the whole cost by the forces of the step that each cost has,
            shape (m,), 1 / (N m) or 1 / N: above 0 it wants more force.
    """

    step: int
    t: float
    names: tuple[str, ...]
    units: tuple[str, ...]
    forces: Array
    limits: Array
    by_cost: Mapping[str, Array]

    @property
    def total(self) -> Array:
        """The sum of all costs, shape (m,): minus the slope of the whole cost."""
        return np.sum(list(self.by_cost.values()), axis=0)

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        """Title, heads and rows."""
        columns = [*self.by_cost.values(), self.total]
        rows = [
            [
                name, f"{number(self.forces[k])} {self.units[k]}",
                "at its limit" if abs(self.forces[k]) >= self.limits[k] else "",
                *(number(x[k]) for x in columns),
            ]
            for k, name in enumerate(self.names)
        ]  # fmt: skip
        heads = ["joint", "force", "", *self.by_cost, "sum"]
        return f"step {self.step}, t = {self.t:.6g} s", heads, rows

    def __str__(self) -> str:
        title, heads, rows = self._table()
        return "\n".join([title, *text_table([heads, *rows]), MEANING])

    def _repr_html_(self) -> str:
        title, heads, rows = self._table()
        return Table(title, heads, rows, notes=[MEANING]).html()


def pushes(solver: Solver, plans: Plans, step: int, numbers: Array, limits: Array) -> Pushes:
    """Which residual pushes which joint at a step of one plan.

    numbers: p of all stages, (N + 1, p). limits: of the motors' forces, (m,).
    """
    step, N, this = count(step, "step"), len(plans.u), solver.this
    if len(plans.reasons) > 1:
        raise InputError("the plans are of many starts; choose one: solution[0].explain(step).")
    if not 0 <= step < N:
        raise InputError(f"step is {step}; expected 0 to {N - 1}.")
    s, weights, x, u = solver.sizes, this.layout.weights, plans.x[:, 0], plans.u[:, 0]
    n, end, size = s.n, s.end["v"], s.n + s.m
    by_cost = {}
    for name in weights:
        p = np.array(numbers)
        for other, place in weights.items():
            if other != name:
                p[..., place] = 0
        blocks, _ = solver.slopes(x[step:], u[step:], p[step:])
        F = blocks[:, : n * s.wide].reshape(-1, n, s.wide)[..., :size]
        g = blocks[:, s.block["gradient"] :][:, :size]
        costate = solver.kernels["last"](x[-1], p[-1])[0][end : end + n]
        for k in range(N - step - 1, 0, -1):
            costate = g[k, :n] + F[k, :, :n].T @ costate
        by_cost[name] = -(g[0, n:] + F[0, :, n:].T @ costate)
    names, forces = this.model.dof_names, units(this.model, "tau")
    return Pushes(
        step, step * this.h, tuple(names[k] for k in this.actuated),
        tuple(forces[k] for k in this.actuated), plans.u[step, 0], limits, by_cost,
    )  # fmt: skip


def plot_of(
    motion: Record,
    effort: Array,
    rows: list[dict[str, Array]],
    names: Sequence[str],
    path: FilePath | None,
) -> "Figure":
    """States and forces with their limits over time, and the costs over the iterations.

    effort: limits of force, (n,). rows: the history of the plans. names: of the costs.
    """
    charts = charts_of(motion, panels=("q", "dq", "tau"), effort=effort)
    if rows:
        at = np.array([np.max(row["iteration"]) for row in rows], float)
        costs = np.array([row["costs"] for row in rows])  # (iterations, B, kinds)
        parts = zip(names, np.moveaxis(costs, 2, 0), strict=True)
        lines = {"sum": costs.sum(2), **dict(parts)}
        series = tuple(
            Series(
                name, at, np.median(x, axis=1), dots=len(at) == 1,
                band=(x.min(axis=1), x.max(axis=1)) if x.shape[1] > 1 else None,
            )
            for name, x in lines.items()
        )  # fmt: skip
        charts.append(Chart("cost", "", series, "iteration", log="y", together=True))
    return draw(motion.name, charts, path=path)
