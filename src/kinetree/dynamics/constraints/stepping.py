"""The way back onto the constraints after a step, and the states that steps can begin with.

A method of integration follows ddq, so q and dq drift away from Phi(q) = 0 and J dq = 0 by its
errors. `closed_state` moves a state back, without a branch, so that compiled loops run it. Each
correction of q is the shortest one, measured by M,

    v = M^-1 J^T y,    J M^-1 J^T y = -Phi(q)

The first two corrections share one factor of A = J M^-1 J^T, that of the state before; the last
has its own, with which the rates are projected too. From an error e before, they leave e^2, e^3 and
e^6 of Phi (times constants of the mechanism) and e^3 of J dq: errors of a step of 1e-3 vanish in
the rounding. The projection of the rates is that of `constraint_impulse`, which does no work in
motions that the constraints allow. Masses that are arguments of a motion are not known here: M is
that of the robot itself. Another M changes the result by a part of the correction, which is an
error of the step, so that methods keep their order. Joints that dry friction holds stay where they
are: they would creep otherwise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.constraints.closures import tree_constraints
from kinetree.dynamics.constraints.dynamics import Items, Kkt, solvable
from kinetree.dynamics.constraints.solve import float_choice, one_or_nan
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.joints.tangents import integrate
from kinetree.dynamics.methods import Close
from kinetree.dynamics.step_system import stiffened
from kinetree.dynamics.tree import Tree
from kinetree.errors import ModelError
from kinetree.model import Model
from kinetree.scalars import absolute, where
from kinetree.spatial.matrices import is_zero

# of J dq, relative to 1 and to the sum of its terms: after projection, a step error e leaves
# closure errors of order e^6 in position and e^3 in velocity
RATE_TOLERANCE = 1e-4

Place = Callable[[Array], Tree]  # the tree at a position


def closed_state(
    place: Place, items: Items, q: Array, dq: Array, dry: Sequence[int] = ()
) -> tuple[Array, Array]:
    """The position and the rates on the constraints that are nearest to a state next to them.

    place: gives the tree at a position. dry: entries of dq with dry friction; those of them that
    are 0 stay, and so do their q.
    """
    held = {d: where(absolute(dq[d]), 0, 1) for d in dry}

    def errors(q: Array) -> Array:
        return tree_constraints(place(q), items, q).Phi

    model, correction, Phi = _corrections(place, items, q, held)
    q = integrate(model, q, correction(Phi))
    q = integrate(model, q, correction(errors(q)))
    model, correction, Phi = _corrections(place, items, q, held)
    dq = dq + correction(tree_constraints(place(q), items, q).J @ dq)
    return integrate(model, q, correction(Phi)), dq


def _corrections(
    place: Place, items: Items, q: Array, held: Mapping[int, Any]
) -> tuple[Model, Callable[[Array], Array], Array]:
    """The robot, the shortest v with J v = -missing that is 0 for held joints, and Phi."""
    tree = place(q)
    kkt = Kkt(tree, tree_constraints(tree, items, q))
    if held:
        kkt = kkt.with_matrix(stiffened(kkt.matrix, held)[0])
    free = np.array([1 - held.get(d, 0) for d in range(tree.model.n)])
    return tree.model, lambda missing: kkt.nearest(missing[kkt.rows])[0] * free, kkt.all.Phi


def closed_start(tree: Tree, items: Items, q: Array, dq: Array) -> Any:
    """1, or NaN for a state that the constraints do not allow, from which no step begins.

    The tolerances are those of a simulation, wider for rates, which are projected less exactly
    after a long step, and for float32.
    """
    at = tree_constraints(tree, items, q, dq)
    sizes = [1 + _total(x * v for x, v in zip(row, dq, strict=True)) for row in at.J]
    opening = [_total([x]) / size for x, size in zip(at.J @ dq, sizes, strict=True)]
    sound: Any = 1
    closed = solvable(tree.model).tolerance
    for errors, double, single in ((at.Phi, closed, 1e-4), (opening, RATE_TOLERANCE, 1e-3)):
        for error in errors:
            if is_zero(error):
                continue
            size = absolute(error)
            sound = where(size - float_choice(1 + size, double, single), 0, sound)
    return one_or_nan(sound)


def _total(values: Iterable[Any]) -> Any:
    return sum((absolute(x) for x in values if not is_zero(x)), 0)


def closing(model: Model, place: Place, items: Items) -> Close:
    """The function that moves states x = (q, dq, z) back to the constraints."""
    a, b, dry = model.nq, model.nq + model.n, dry_dofs(model)

    def close(x: Array) -> Array:
        return np.concatenate([*closed_state(place, items, x[:a], x[a:b], dry), x[b:]])

    return close


def check_modes(model: Model, varied: Sequence[str] = ()) -> None:
    """Raise ModelError if held joints may leave open how they share a force, between switches.

    Fixed steps share it as equal soft pads would.
    """
    dry, constraints = dry_dofs(model, varied), model.constraints
    if constraints is None or {*dry} <= {*constraints.independent}:
        return
    names, independent = (
        listing([model.dof_names[d] for d in dofs], 6) for dofs in (dry, constraints.independent)
    )
    raise ModelError(
        f"joints {names} of {model.name!r} have dry friction, which holds joints at rest; an "
        "adaptive method needs dry friction in independent joints alone, here "
        f"{independent or 'none'}. Choose a method of fixed steps, such as 'rk4', or name these "
        "joints: robot.constrained({}, independent=[...])."
    )
