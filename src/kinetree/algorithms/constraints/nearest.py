"""The nearest rates and accelerations that the constraints allow, with some joints as they are.

x is changed to x + v with J (x + v) = wanted, v zero for the joints that are kept, and v^T M v
least over the others (Gauss). With the columns J_f of these and M_ff = L^T D L, v = L^-1 D^-1/2 y,
where y is the shortest solution of J_f L^-1 D^-1/2 y = wanted - J x (row_space.py).
"""

from collections.abc import Sequence

import numpy as np

from kinetree.algorithms.constraints.dynamics import eliminated_rows
from kinetree.algorithms.constraints.regularity import RANK
from kinetree.algorithms.constraints.row_space import dots, least_squares
from kinetree.base.arrays import Array
from kinetree.base.tables import listing
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of, dofs_named
from kinetree.spatial.matrices import factor, solve_outward

LEFT = 1e-9  # of the terms of J x: what may be left of an equation


def kept_entries(model: Model, keep: Sequence[str]) -> list[int]:
    """Entries of dq of the joints that are kept."""
    if isinstance(keep, str):
        raise InputError(f"keep is {keep!r}; expected names of joints, such as [{keep!r}].")
    return sorted({d for name in keep for d in dofs_named(model, name, "keep")})


def nearest_motion(
    model: Model, J: Array, M: Array, x: Array, wanted: Array, kept: Sequence[int], what: str
) -> Array:
    """x, (n,), with the entries that are not kept changed as little as possible.

    Args:
        model: the robot, with constraints.
        J: the Jacobian of all rows, (m, n).
        M: the mass matrix, (n, n).
        x: rates or accelerations, (n,).
        wanted: J x of motions that the constraints allow, (m,).
        kept: entries of x that stay.
        what: "rates" or "accelerations", for the message.

    Raises:
        InputError: the constraints do not allow what is kept.
    """
    given = constraints_of(model, f"project_{what}")
    free = [d for d in range(model.n) if d not in kept]
    rows, before = list(given.kept), x
    x = np.array(x, float)
    missing = wanted - dots(J, x)
    if free and float(np.abs(missing).max(initial=0)) > 0:
        names = [model.dof_names[d] for d in free]
        M_ff = factor(M[np.ix_(free, free)], [f"joint {name!r}" for name in names])
        root = np.sqrt(np.array(M_ff.D, float))
        scales = np.sqrt(np.array(given.scales))
        measured = eliminated_rows(M_ff, J[rows][:, free])[0].astype(float) / root
        y = least_squares(measured / scales[:, None], missing[rows] / scales, RANK)
        x[free] = x[free] + solve_outward(M_ff, y * root)
    left = np.abs(dots(J, x) - wanted)
    sizes = dots(np.abs(J), np.abs(x) + np.abs(before)) + np.abs(wanted)
    tolerance = (LEFT + 10 * given.gap) * (sizes + float(sizes.max(initial=0)))
    worst = int(np.argmax(left - tolerance))
    if left[worst] > tolerance[worst]:
        kept_names = listing([model.dof_names[d] for d in kept], 8) if kept else "no joint"
        raise InputError(
            f"the constraints of {model.name!r} allow no {what} with {kept_names} kept: constraint "
            f"{given.owner(worst)!r} would open with {left[worst]:.3g} (row "
            f"{given.row_names[worst]!r}). Keep fewer joints, at most as many as the robot has "
            f"degrees of freedom ({model.n - len(given.basis)}), and joints that can move "
            "independently of each other; or leave the singular position."
        )
    return x
