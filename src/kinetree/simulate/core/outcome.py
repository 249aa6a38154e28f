"""Outcome: the arrays that a loop leaves, and the places of the numbers y that a rate gives.

The same code serves the CPU and the GPU: `xp` is the module of the arrays, NumPy or CuPy; arrays on
the GPU stay there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.methods import Method
from kinetree.dynamics.row_forces import row_sizes
from kinetree.model import Model
from kinetree.simulate.core.forces import ActingForces

Places = dict[str, slice]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Records (R, B, size) by name, of q, dq, ddq, tau and z, and the violations on the way.

    There is no record of tau if it is constant, and none of z if the controller has no state.
    times: of all evaluations, (E,). kept: numbers of those that are recorded, (R,). first,
    (B, watched): number of the evaluation at which something was wrong for the first time, or -1;
    amount: the number found there. What is watched are the entries of x, then the margins.
    counts: of steps and events, for `meta`.
    """

    records: dict[str, Array]
    first: Array
    amount: Array
    times: Array
    kept: Array
    counts: Mapping[str, Any] = field(default_factory=dict)
    xp: ModuleType = np

    def thinned(self, every: int) -> "Outcome":
        """The outcome with every so many rows of its records, and the last, as a copy."""
        _, rows = record_rows(len(self.kept), every)
        records = {name: np.ascontiguousarray(x[rows]) for name, x in self.records.items()}
        return replace(self, records=records, kept=self.kept[rows])


def record_rows(count: int, every: int) -> tuple[Array, Array]:
    """The row of the records for each evaluation, -1 for none, and the evaluations recorded."""
    kept = np.unique([*range(0, count, every), count - 1])
    rows = np.full(count, -1)
    rows[kept] = np.arange(len(kept))
    return rows, kept


def result_places(
    model: Model,
    method: Method | None,
    acting: ActingForces | None,
    *,
    stops: bool = False,
    varied: Sequence[str] = (),
) -> Places:
    """Places in y, in this order; varied: data of the robot that change, if `acting` is None.

    - tau, (n,), the joint forces;
    - ddq, (n,), of an implicit method, whose rate has the acceleration of the step instead;
    - friction of joints in a mode, of the adaptive method (None);
    - lam and Phi, the forces and errors of the constraints of a robot that has some;
    - the results of rows: contacts, stops of joints, dry friction (dynamics/row_forces.py);
    - controls of actuators, and command, (n,), the joint forces before the drives.
    """
    sizes = {"tau": model.n}
    if method is None:
        sizes["friction"] = len(dry_dofs(model, () if acting is None else acting.parameters))
    elif method.implicit:
        sizes["ddq"] = model.n
    if model.constraints is not None:
        sizes |= dict.fromkeys(("lam", "Phi"), len(model.constraints.row_names))
    if method is not None:
        dry = bool(dry_dofs(model, varied if acting is None else acting.parameters))
        sizes |= row_sizes(model, dry=dry, stops=stops)
    if acting is not None and acting.actuation is not None:
        sizes |= {} if acting.controls is None else {"controls": len(model.actuators)}
        sizes |= {"command": model.n} if acting.actuation.driven else {}
    places, start = Places(), 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places
