"""Positions, rates and accelerations that the constraints allow, near given ones.

A position with Phi(q) = 0 is found by Newton's method. Each step is the shortest tangent vector v
with J v = -Phi in the sense of least squares: small singular values are left out, so that redundant
rows and singular positions do no harm. A step is shortened to half a radian or half a metre, and
halved while it does not reduce |Phi|. A stretched mechanism has no slope towards closing, so
positions nearby are tried as well.

Rates or accelerations x are changed to x + v with J (x + v) = wanted, v zero for the joints that
are kept, and v^T M v least over the others (Gauss).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.ranks import RANK, least_squares
from kinetree.dynamics.frames import chains
from kinetree.dynamics.joints.configuration import integrate, neutral
from kinetree.dynamics.joints.tangents import moved_along
from kinetree.dynamics.tree import book_link
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of, dofs_named
from kinetree.model.constraints import Closure, Constraints, Coupling

Evaluate = Callable[[Array], tuple[Array, Array]]  # q to Phi (m,) and J (m, n), of floats

TOLERANCE = 1e-10
LONGEST = 0.5  # of a step, rad or m
SHORTEST = 1e-14  # of a step: rounding
MOST_STEPS = 200
HALVINGS = 12
SLOW = 0.9  # of |Phi|^2: a step that leaves more of it is slow; near a solution it leaves 1/16
SLOW_STEPS = 8  # slow steps in a row after which the constraints count as open
ATTEMPTS = 20  # positions around, from which it is tried again
NEAR = 0.3  # their distance, rad or m
LEFT = 1e-9  # of the terms of J x: what may be left of an equation for rates or accelerations
CUTOFF = 1e-9  # singular values below this part of the largest one are left out


@dataclass(frozen=True, eq=False)
class Closed:
    """A position, (nq,), the largest entry of Phi there, rad or m, and Phi, (m,)."""

    q: Array
    residual: float
    Phi: Array


def closed_position(
    model: Model, q: Array, evaluate: Evaluate, *, keep: Sequence[str], tolerance: float
) -> Array:
    """A position near q, found with any way to compute Phi and J."""
    constraints = constraints_of(model, "project")
    free = np.ones(model.n)
    free[kept_dofs(model, keep, tolerance)] = 0
    first = closed = close(model, q, evaluate, free)
    for attempt in range(ATTEMPTS):
        if closed.residual <= tolerance + 10 * constraints.gap:
            return closed.q
        away = np.random.default_rng((2017, attempt)).normal(size=model.n) * NEAR * free
        closed = close(model, integrate(model, q, away), evaluate, free)
    raise InputError(unclosed(model, constraints, first, keep))


def kept_dofs(model: Model, keep: Sequence[str], tolerance: float) -> list[int]:
    """Entries of dq of joints that stay where they are; checks the options of `project`."""
    if not tolerance > 0:
        raise InputError(
            f"tolerance is {tolerance!r}; expected a number > 0: the largest error of an equation "
            f"to accept, rad or m, such as {TOLERANCE:g}."
        )
    return kept_entries(model, keep)


def kept_entries(model: Model, keep: Sequence[str]) -> list[int]:
    """Entries of dq of the joints that are kept."""
    if isinstance(keep, str):
        raise InputError(f"keep is {keep!r}; expected names of joints, such as [{keep!r}].")
    return sorted({d for name in keep for d in dofs_named(model, name, "keep")})


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
        return (
            f"{start}the frames of constraint {owner!r} are turned by half a turn from one another "
            f"(row {name!r}). Turn one of the frames, or start elsewhere."
        )
    return (
        f"{start}constraint {owner!r} stays open by {abs(best.Phi[row]):.3g} (row {name!r}, rad or "
        "m). Start nearer to a closed position"
        + (", or keep fewer joints." if keep else ", or check lengths and frames.")
    )


def nearest_motion(
    model: Model, J: Array, M: Array, x: Array, wanted: Array, kept: Sequence[int], what: str
) -> Array:
    """x, (n,), with the entries that are not kept changed as little as possible.

    x: rates or accelerations, (n,). wanted: J x of motions that the constraints allow, (m,). what:
    "rates" or "accelerations", for the message.

    Raises:
        InputError: the constraints do not allow what is kept.
    """
    constraints = constraints_of(model, f"project_{what}")
    free = [d for d in range(model.n) if d not in kept]
    rows, before = list(constraints.kept), x
    x = np.array(x, float)
    missing = wanted - J @ x
    if free and np.abs(missing).max(initial=0) > 0:
        C = np.linalg.inv(np.linalg.cholesky(M[np.ix_(free, free)])).T  # C C^T is M_ff^-1
        scales = np.sqrt(np.array(constraints.scales))
        A = J[rows][:, free] @ C / scales[:, None]
        x[free] += C @ least_squares(A, missing[rows] / scales, RANK)
    left = np.abs(J @ x - wanted)
    sizes = np.abs(J) @ (np.abs(x) + np.abs(before)) + np.abs(wanted)
    tolerance = (LEFT + 10 * constraints.gap) * (sizes + float(sizes.max(initial=0)))
    worst = int(np.argmax(left - tolerance))
    if left[worst] > tolerance[worst]:
        kept_names = listing([model.dof_names[d] for d in kept], 8) if kept else "no joint"
        raise InputError(
            f"the constraints of {model.name!r} allow no {what} with {kept_names} kept: constraint "
            f"{constraints.owner(worst)!r} would open with {left[worst]:.3g} (row "
            f"{constraints.row_names[worst]!r}). Keep fewer joints, at most as many as the robot "
            f"has degrees of freedom ({model.n - len(constraints.basis)}), and joints that can "
            "move independently of each other; or leave the singular position."
        )
    return x
