"""Positions, rates and accelerations that the constraints allow, near given ones.

A position with Phi(q) = 0 is found by Newton's method.

Each step is the shortest tangent vector v with J v = -Phi in the sense of least squares (rows that
depend on others up to a threshold are left out, so that redundant rows and singular positions do no
harm). A step is shortened to half a radian or half a metre, and halved while it does not reduce
|Phi|. A stretched mechanism has no slope towards closing, so positions nearby are tried as well.

Rates or accelerations x are changed to x + v with J (x + v) = wanted, v zero for the joints that
are kept, and v^T M v least over the others (Gauss). With the columns J_f of these and
M_ff = L^T D L, v = L^-1 D^-1/2 y, where y is the shortest solution of
J_f L^-1 D^-1/2 y = wanted - J x (row_space.py).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.text import listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import (
    item_dofs,
    placed,
    plain_floats,
    tree_constraints,
)
from kinetree.dynamics.constraints.dynamics import eliminated_rows
from kinetree.dynamics.constraints.regularity import RANK
from kinetree.dynamics.constraints.row_space import dots, least_squares
from kinetree.dynamics.frames import ways
from kinetree.dynamics.joints.configuration import integrate, neutral
from kinetree.dynamics.joints.tangents import moved_along
from kinetree.dynamics.tree import book_link
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of, dofs_named
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.model.inputs import coordinates
from kinetree.model.labelled import labelled
from kinetree.spatial.matrices import factor, solve_outward

Evaluate = Callable[[Array], tuple[Array, Array]]  # q to Phi (m,) and J (m, n), of floats

TOLERANCE = 1e-10
LONGEST = 0.5  # of a step, rad or m
MOST_STEPS = 200
HALVINGS = 12
# a step that fails where all errors are below ROUNDING, rad or m, is halved to gain the last bits;
# not with MANY_EQUATIONS, where each try takes as long as a step
ROUNDING = 1e-12
MANY_EQUATIONS = 40
SLOW = 0.9  # of |Phi|^2: a step that leaves more of it is slow; near a solution it leaves 1/16
SLOW_STEPS = 8  # slow steps in a row after which the constraints count as open
ATTEMPTS = 20  # positions around, from which it is tried again
NEAR = 0.3  # their distance, rad or m
LEFT = 1e-9  # of the terms of J x: what may be left of an equation for rates or accelerations
CUTOFF = 1e-9  # rows closer to the span of others than this part of the longest are left out


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

    From a position without a slope towards closing, such as stretched bars, positions around it are
    tried: always the same ones, so that the result is the same everywhere.

    Args:
        model: the robot.
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
    constraints = constraints_of(model, "project")
    kept = kept_dofs(model, keep, tolerance)
    free = np.ones(model.n)
    free[kept] = 0
    first = closed = close(model, q, evaluate, kept)
    for attempt in range(ATTEMPTS):
        if closed.residual <= tolerance + 10 * constraints.gap:
            return closed.q
        away = np.random.default_rng((2017, attempt)).normal(size=model.n) * NEAR * free
        closed = close(model, integrate(model, q, away), evaluate, kept)
    raise InputError(unclosed(model, constraints, first, keep))


def kept_dofs(model: Model, keep: Sequence[str], tolerance: float) -> list[int]:
    """Entries of dq of joints that stay where they are; checks the options of `project`."""
    if not tolerance > 0:
        raise InputError(
            f"tolerance is {tolerance!r}; expected a number > 0: the largest error of an equation "
            f"to accept, rad or m, such as {TOLERANCE:g}."
        )
    return kept_entries(model, keep)


@dataclass(frozen=True, eq=False)
class Part:
    """Constraints that share no joint with the others: Phi and J of their rows.

    fixed: entries of dq that do not move them.

    Parts are closed one after the other: a step for all of them at once would be as short as the
    worst part needs, and a start would lead to a closed position only if it does for every part.
    """

    rows: list[int]
    fixed: list[int]
    evaluate: Evaluate


def separate_parts(model: Model) -> list[Part]:
    """The constraints of a robot in parts, each in the order of the constraints."""
    tree, items = book_tree(plain_floats(model), neutral(model)), placed(model)
    groups: list[tuple[frozenset[int], list[int]]] = []  # dofs, and numbers of constraints
    for k, item in enumerate(items):
        dofs, members = item_dofs(tree, item), [k]
        for group in [x for x in groups if x[0] & dofs]:
            groups.remove(group)
            dofs, members = dofs | group[0], sorted(members + group[1])
        groups.append((dofs, members))
    ends = np.cumsum([len(item.row_names) for item in items]).tolist()
    rows = [list(range(end - len(x.row_names), end)) for x, end in zip(items, ends, strict=True)]
    parts = list[Part]()
    for dofs, members_of in groups:
        fixed = [d for d in range(model.n) if d not in dofs]
        evaluate = textbook(model, [items[k] for k in members_of])
        parts.append(Part([row for k in members_of for row in rows[k]], fixed, evaluate))
    return parts


def close_parts(model: Model, q: Array, parts: Sequence[Part], cutoff: float = CUTOFF) -> Closed:
    """Close all parts from q, one after the other; the position and the residual of all."""
    Phi = np.zeros(sum(len(part.rows) for part in parts))
    for part in parts:
        closed = close(model, q, part.evaluate, part.fixed, cutoff)
        q, Phi[part.rows] = closed.q, closed.Phi
    return Closed(q, float(np.abs(Phi).max(initial=0)), Phi)


def textbook(model: Model, items: Sequence[Closure | Coupling] | None = None) -> Evaluate:
    """Phi and J of floats by the functions of this folder; links without constraints stay.

    items: some of the constraints; None: all.
    """
    model = plain_floats(model)
    items = placed(model) if items is None else items
    at_zero = book_tree(model, neutral(model))
    closures = [x for x in items if isinstance(x, Closure)]
    moved = {i for x in closures for way in ways(at_zero, x.link_a, x.link_b) for i in way}

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
    fixed: Sequence[int] = (),
    cutoff: float = CUTOFF,
) -> Closed:
    """Newton's method from q; the best position found, closed or not.

    Args:
        q: the position to start from, (nq,).
        evaluate: Phi and J at a position.
        fixed: entries of dq that stay where they are.
        cutoff: rows closer to the span of others than this part of the longest are left out.
    """
    moving = np.ones(model.n)
    moving[list(fixed)] = 0
    with np.errstate(all="ignore"):  # of Phi that is infinite
        return _newton(model, q, evaluate, moving, cutoff)


def _newton(model: Model, q: Array, evaluate: Evaluate, moving: Array, cutoff: float) -> Closed:
    Phi, J = evaluate(q)
    joints = [x for x in model.joints if x.follows is None and moving[list(x.dofs)].any()]
    slow = 0
    for _ in range(MOST_STEPS):
        size = float(np.abs(Phi).max(initial=0))
        if size == 0 or not np.isfinite(size) or slow > SLOW_STEPS:
            break
        v = -least_squares(J * moving, Phi, cutoff)
        length = float(np.abs(v).max(initial=0))
        if length == 0:
            break
        step = v * min(1.0, LONGEST / length)
        polished = size < ROUNDING and len(Phi) >= MANY_EQUATIONS
        for halvings in range(1 if polished else HALVINGS):  # noqa: B007
            tried = moved_along(joints, q, step)
            Phi_new, J_new = evaluate(tried)
            if _smaller(Phi_new, Phi):
                break
            step = step / 2
        else:
            break
        whole = length > LONGEST and halvings == 0  # a step that was shortened may gain little
        gained = whole or dots(Phi_new, Phi_new) < SLOW * dots(Phi, Phi)
        slow = 0 if gained else slow + 1
        q, Phi, J = tried, Phi_new, J_new
    Phi = np.where(np.isnan(Phi), np.inf, Phi)
    return Closed(q, float(np.abs(Phi).max(initial=0)), Phi)


def _smaller(new: Array, old: Array) -> bool:
    return bool(np.isfinite(new).all() and dots(new, new) < dots(old, old))


def unclosed(model: Model, constraints: Constraints, best: Closed, keep: Sequence[str]) -> str:
    """The message for a position at which the constraints stay open."""
    row = int(np.argmax(np.abs(best.Phi)))
    kept = f" with {', '.join(keep)} kept" if keep else ""
    if not np.isfinite(best.Phi[row]):
        return (
            f"the constraints of {model.name!r} cannot be closed from this position{kept}: the "
            f"frames of constraint {constraints.owner(row)!r} are turned by half a turn from one "
            f"another (row {constraints.row_names[row]!r}). Turn one of the frames, or start "
            "elsewhere."
        )
    return (
        f"the constraints of {model.name!r} cannot be closed from this position{kept}: constraint "
        f"{constraints.owner(row)!r} stays open by {abs(best.Phi[row]):.3g} (row "
        f"{constraints.row_names[row]!r}, rad or m). Start nearer to a closed position"
        + (", or keep fewer joints." if keep else ", or check lengths and frames.")
    )


def kept_entries(model: Model, keep: Sequence[str]) -> list[int]:
    """Entries of dq of the joints that are kept."""
    if isinstance(keep, str):
        raise InputError(f"keep is {keep!r}; expected names of joints, such as [{keep!r}].")
    return sorted({d for name in keep for d in dofs_named(model, name, "keep")})


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
    missing = wanted - dots(J, x)
    if free and float(np.abs(missing).max(initial=0)) > 0:
        names = [model.dof_names[d] for d in free]
        M_ff = factor(M[np.ix_(free, free)], [f"joint {name!r}" for name in names])
        root = np.sqrt(np.array(M_ff.D, float))
        scales = np.sqrt(np.array(constraints.scales))
        measured = eliminated_rows(M_ff, J[rows][:, free])[0].astype(float) / root
        y = least_squares(measured / scales[:, None], missing[rows] / scales, RANK)
        x[free] = x[free] + solve_outward(M_ff, y * root)
    left = np.abs(dots(J, x) - wanted)
    sizes = dots(np.abs(J), np.abs(x) + np.abs(before)) + np.abs(wanted)
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
