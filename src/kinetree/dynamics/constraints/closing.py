"""Positions that the constraints allow, near given ones.

A position with Phi(q) = 0 is found by Newton's method. Each step is the shortest tangent vector v
with J v = -Phi in the sense of least squares: small singular values are left out, so that redundant
rows and singular positions do no harm. A step is shortened to half a radian or half a metre, and
halved while it does not reduce |Phi|. A stretched mechanism has no slope towards closing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.ranks import least_squares
from kinetree.dynamics.frames import chains
from kinetree.dynamics.joints.configuration import neutral
from kinetree.dynamics.joints.tangents import moved_along
from kinetree.dynamics.tree import book_link
from kinetree.model import Model
from kinetree.model.constraints import Closure, Constraints, Coupling

Evaluate = Callable[[Array], tuple[Array, Array]]  # q to Phi (m,) and J (m, n), of floats

LONGEST = 0.5  # of a step, rad or m
SHORTEST = 1e-14  # of a step: rounding
MOST_STEPS = 200
HALVINGS = 12
SLOW = 0.9  # of |Phi|^2: a step that leaves more of it is slow; near a solution it leaves 1/16
SLOW_STEPS = 8  # slow steps in a row after which the constraints count as open
CUTOFF = 1e-9  # singular values below this part of the largest one are left out


@dataclass(frozen=True, eq=False)
class Closed:
    """A position, (nq,), the largest entry of Phi there, rad or m, and Phi, (m,)."""

    q: Array
    residual: float
    Phi: Array


def textbook(model: Model, items: Sequence[Closure | Coupling] | None = None) -> Evaluate:
    """Phi and J of floats by the functions of this folder; links without constraints stay.

    items: some of the constraints; None: all.
    """
    model = model.astype(float)
    items = placed(model) if items is None else items
    at_zero = book_tree(model, neutral(model))
    closures = [x for x in items if isinstance(x, Closure)]
    moved = {i for x in closures for way in chains(at_zero, x.link_a, x.link_b) for i in way}

    def evaluate(q: Array) -> tuple[Array, Array]:
        links = list(at_zero.links)
        for i in moved:
            links[i] = book_link(model, q, i)
        with np.errstate(all="ignore"):  # frames that are half a turn apart have infinite errors
            at = tree_constraints(replace(at_zero, links=tuple(links)), items, q)
        return at.Phi.astype(float), at.J.astype(float)

    return evaluate


def close(
    model: Model,
    q: Array,
    evaluate: Evaluate,
    unit: Array | None = None,
    cutoff: tuple[float, float] = (CUTOFF, 0.0),
    *,
    steps: int = MOST_STEPS,
) -> Closed:
    """Newton's method from q; the best position found, closed or not.

    Args:
        q: the position to start from, (nq,).
        evaluate: Phi and J at a position.
        unit: by which rates are measured, (n,); 0 for those that stay; None: 1.
        cutoff: least singular values, relative and absolute.
        steps: how many there are at most.
    """
    unit = np.ones(model.n) if unit is None else unit
    joints = [x for x in model.joints if x.follows is None and unit[list(x.dofs)].any()]
    Phi, J = evaluate(q)
    slow = 0
    with np.errstate(all="ignore"):  # of Phi that is infinite
        for _ in range(steps):
            if slow > SLOW_STEPS or not (np.isfinite(Phi).all() and np.isfinite(J).all()):
                break
            v = -unit * least_squares(J * unit, Phi, *cutoff)
            length = float(np.abs(v).max(initial=0))
            if length < SHORTEST:
                break
            step, before = v * min(1.0, LONGEST / length), Phi @ Phi
            halvings = HALVINGS if length > np.sqrt(SHORTEST) else 1
            tried = (moved_along(joints, q, step / 2**k) for k in range(halvings))
            better = ((x, *evaluate(x)) for x in tried)
            found = next((x for x in better if x[1] @ x[1] < before), None)
            if found is None:
                break
            slow = 0 if length > LONGEST or found[1] @ found[1] < SLOW * before else slow + 1
            q, Phi, J = found
    Phi = np.where(np.isnan(Phi), np.inf, Phi)
    return Closed(q, float(np.abs(Phi).max(initial=0)), Phi)


def unclosed(model: Model, constraints: Constraints, best: Closed, keep: Sequence[str]) -> str:
    """The message for a position at which the constraints stay open."""
    row = int(np.argmax(np.abs(best.Phi)))
    kept = f" with {', '.join(keep)} kept" if keep else ""
    owner, name = constraints.owner(row), constraints.row_names[row]
    start = f"the constraints of {model.name!r} cannot be closed from this position{kept}: "
    if not np.isfinite(best.Phi[row]):
        return f"{start}the frames of {owner!r} are turned by half a turn from one another."
    return (
        f"{start}constraint {owner!r} stays open by {abs(best.Phi[row]):.3g} (row {name!r}, rad or "
        f"m). Start nearer to a closed position{', or keep fewer joints' if keep else ''}."
    )
