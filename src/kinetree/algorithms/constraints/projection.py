"""Close the constraints: a position with Phi(q) = 0 near a given one, by Newton's method.

Each step is the shortest tangent vector v with J v = -Phi, by the singular values of J (those below
a threshold are left out, so that redundant rows and singular positions do no harm). A step is
shortened to half a radian or half a metre, and halved while it does not reduce |Phi|.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.configuration import integrate
from kinetree.algorithms.constraints.closures import placed, tree_constraints
from kinetree.base.arrays import Array, StateLike
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of, dofs_named
from kinetree.model.constraints import Constraints
from kinetree.model.inputs import coordinates
from kinetree.model.labelled import labelled

Evaluate = Callable[[Array], tuple[Array, Array]]  # q to Phi (m,) and J (m, n), of floats

TOLERANCE = 1e-10
LONGEST = 0.5  # of a step, rad or m
MOST_STEPS = 200
HALVINGS = 12
CUTOFF = 1e-9  # singular values below this part of the largest one are left out


@dataclass(frozen=True, eq=False)
class Closed:
    """A position and the largest entry of Phi there, rad or m."""

    q: Array
    residual: float
    Phi: Array


@labelled("nq")
def project(
    model: Model,
    q: StateLike,
    *,
    keep: Sequence[str] = (),
    tolerance: float = TOLERANCE,
) -> Array:
    """A position near q, (nq,), at which all constraints are satisfied; not always the nearest.

    Args:
        model: the robot, with constraints.
        q: joint positions, shape (nq,), rad or m.
        keep: names of joints that stay where they are.
        tolerance: largest entry of Phi to accept, rad or m.

    Raises:
        InputError: no such position is found; the message has the residual and the constraint.
    """
    q = np.array(coordinates(model, q), float)
    return closed_position(model, q, textbook(model), keep=keep, tolerance=tolerance)


def closed_position(
    model: Model, q: Array, evaluate: Evaluate, *, keep: Sequence[str], tolerance: float
) -> Array:
    """A position near q, found with any way to compute Phi and J."""
    given = constraints_of(model, "project")
    kept = kept_dofs(model, keep, tolerance)
    found = close(model, q, evaluate, kept)
    if not found.residual <= tolerance:
        raise InputError(unclosed(model, given, found, keep))
    return found.q


def kept_dofs(model: Model, keep: Sequence[str], tolerance: float) -> list[int]:
    """Entries of dq of joints that stay where they are; checks the options of `project`."""
    if not tolerance > 0:
        raise InputError(
            f"tolerance is {tolerance!r}; expected a number > 0: the largest error of an equation "
            f"to accept, rad or m, such as {TOLERANCE:g}."
        )
    if isinstance(keep, str):
        raise InputError(f"keep is {keep!r}; expected names of joints, such as [{keep!r}].")
    return [d for name in keep for d in dofs_named(model, name, "keep")]


def textbook(model: Model) -> Evaluate:
    """Phi and J of floats by the functions of this folder."""
    items = placed(model)

    def evaluate(q: Array) -> tuple[Array, Array]:
        found = tree_constraints(book_tree(model, q), items, q)
        return found.Phi.astype(float), found.J.astype(float)

    return evaluate


def close(model: Model, q: Array, evaluate: Evaluate, fixed: Sequence[int] = ()) -> Closed:
    """Newton's method from q; the best position found, closed or not."""
    moving = np.ones(model.n)
    moving[list(fixed)] = 0
    with np.errstate(all="ignore"):  # frames that are half a turn apart have infinite errors
        return _newton(model, q, evaluate, moving)


def _newton(model: Model, q: Array, evaluate: Evaluate, moving: Array) -> Closed:
    Phi, J = evaluate(q)
    for _ in range(MOST_STEPS):
        size = float(np.abs(Phi).max(initial=0))
        if size == 0 or not np.isfinite(size):
            break
        v = -(np.linalg.pinv(J * moving, rcond=CUTOFF) @ Phi)
        length = float(np.abs(v).max(initial=0))
        if length == 0:
            break
        step = v * min(1.0, LONGEST / length)
        for _ in range(HALVINGS):
            tried = integrate(model, q, step)
            Phi_new, J_new = evaluate(tried)
            if _smaller(Phi_new, Phi):
                break
            step = step / 2
        else:
            break
        q, Phi, J = tried, Phi_new, J_new
    Phi = np.where(np.isnan(Phi), np.inf, Phi)
    return Closed(q, float(np.abs(Phi).max(initial=0)), Phi)


def _smaller(new: Array, old: Array) -> bool:
    return bool(np.isfinite(new).all() and new @ new < old @ old)


def unclosed(model: Model, given: Constraints, found: Closed, keep: Sequence[str]) -> str:
    """The message for a position at which the constraints stay open."""
    row = int(np.argmax(np.abs(found.Phi)))
    kept = f" with {', '.join(keep)} kept" if keep else ""
    if not np.isfinite(found.Phi[row]):
        return (
            f"the constraints of {model.name!r} cannot be closed from this position{kept}: the "
            f"frames of constraint {given.owner(row)!r} are turned by half a turn from one another "
            f"(row {given.row_names[row]!r}). Turn one of the frames, or start elsewhere."
        )
    return (
        f"the constraints of {model.name!r} cannot be closed from this position{kept}: constraint "
        f"{given.owner(row)!r} stays open by {abs(found.Phi[row]):.3g} (row "
        f"{given.row_names[row]!r}, rad or m). Start nearer to a closed position"
        + (", or keep fewer joints." if keep else ", or check lengths and frames.")
    )
