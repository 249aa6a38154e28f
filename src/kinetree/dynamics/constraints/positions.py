"""Positions on the constraints: samples that decide ranks, and the one in which a robot starts.

Starts are closed by Newton's method (projection.py). They have fixed seeds, and the arithmetic is
that of Python and of row_space.py: every processor finds the same positions to the last bit.

Lengths in files are rounded, and a loop that has more equations than joints to satisfy them (a
planar four-bar in space) then stays open everywhere, by about the last digit of the file. A gap up
to WIDEST_GAP (of mechanisms of 1 m; less of smaller ones) is accepted: errors of such a robot count
as closed up to `Constraints.tolerance`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee

import numpy as np

from kinetree.core.arrays import Array, nearest_length
from kinetree.core.text import listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.alignment import EXACT, WEAK, Misalignment
from kinetree.dynamics.constraints.closures import plain_floats
from kinetree.dynamics.constraints.projection import (
    ROUNDING,
    Closed,
    Part,
    close,
    close_parts,
    separate_parts,
    textbook,
    unclosed,
)
from kinetree.dynamics.constraints.regularity import ClosedPosition, closed_at, distance
from kinetree.dynamics.frames import ways
from kinetree.dynamics.joints.configuration import (
    integrate,
    neutral,
    position_range,
    random,
    rest_position,
)
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError, ModelError
from kinetree.files.description.joints import REVOLUTE, SCREW_TYPES, SPHERICAL
from kinetree.model import Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.constrain import constraints_of
from kinetree.model.constraints import Closure, Constraints

TURNING = (REVOLUTE, SPHERICAL)  # joints that keep the origin of a link at its distance
SAMPLES = 8
ENOUGH = 3  # exact samples, with which the others are left out
TRIES = 80
REPEATS = 6  # starts that end with the same least error, after which the constraints contradict
CLOSED = 1e-9  # residual of a sample, rad or m
WIDEST_GAP = 1e-5  # rad or m, for mechanisms of 1 m and more: 1.5708 is 4e-6 from a right angle
OPEN = 0.01  # rad or m, for mechanisms of 1 m: larger errors are not those of a misalignment
NEAR = (0.05,)  # distances of starts from a given position, rad or m
FAR = (0.05, 0.3, 1.0, 2.0)  # the same to reach all of a motion
GOOD_START = 1e-3  # `distance` of a position to start from: 0.03 rad from a dead centre


@dataclass(frozen=True, eq=False)
class Samples:
    """Closed positions, and the largest error of an equation there, 0 up to CLOSED, rad or m.

    relative: the gap as a part of the size of a mechanism below 1 m.
    """

    positions: list[ClosedPosition]
    gap: float
    relative: float

    @property
    def accepted(self) -> bool:
        """Whether the gap is one that rounded numbers of a source leave."""
        return self.relative <= WIDEST_GAP


def as_floats(model: Model) -> Model:
    """The model with floats; symbols raise ModelError."""
    try:
        return model.astype(float)
    except (TypeError, ValueError) as problem:
        raise ModelError(
            f"the rank of the constraints of {model.name!r} is found with numbers, and some of its "
            f"data are symbols ({problem}). Constrain the robot with numbers first, then convert "
            "it, for example with model.astype."
        ) from problem


def closed_positions(model: Model, starts: Iterator[Array]) -> Samples:
    """Positions on the constraints that are reached from some starts, of a model of floats.

    Raises:
        InputError: no start leads to a closed position; the message has the residual and a name.
    """
    evaluate, parts = textbook(model), separate_parts(model)
    reach = _reach(model)
    widest = WIDEST_GAP * reach
    _check_lengths(model, widest)
    each = [
        _closed_part(model, part, own_starts, widest)
        for part, own_starts in zip(parts, tee(starts, len(parts)), strict=True)
    ]
    whole = [
        _joined(model, parts, [x[k % len(x)] for x in each])
        for k in range(max(len(x) for x in each))
    ]
    # some linkages lose their rank only where they are closed: less exact samples decide it only
    # where Newton's method does not come to ROUNDING
    levels = [[x for x in whole if x.residual <= most] for most in (ROUNDING, CLOSED, widest)]
    used = next((x for x in levels if len(x) >= ENOUGH), levels[-1])
    closed = sorted(x.residual for x in levels[-1])
    gap = closed[-1] if closed[len(closed) // 2] > CLOSED else 0.0  # more than half stay open
    plain = plain_floats(model)
    samples = [closed_at(plain, x.q, evaluate(x.q)[1]) for x in used]
    return Samples(samples, gap, gap / reach)


def _check_lengths(model: Model, widest: float) -> None:
    """Raise InputError if a loop has a bar that is longer than all its others together.

    Such a loop is open everywhere, and no start needs to be tried. Loops with joints that slide
    have no such bound.
    """
    tree = book_tree(model, neutral(model))
    for item in constraints_of(model, "mobility").items:
        if not isinstance(item, Closure):
            continue
        way_a, way_b = ways(tree, item.link_a, item.link_b)
        a, b = _bars(model, tree, way_a, item.T_a), _bars(model, tree, way_b, item.T_b)
        if a is None or b is None or item.kind == "plane":
            continue
        lengths = [nearest_length((a[0] - b[0]).tolist()), float(item.length)]
        lengths += [nearest_length(x.tolist()) for x in (*a[1:], *b[1:])]
        longest = max(lengths)
        apart = 2 * longest - sum(lengths)
        if apart > 2 * widest:  # lengths and errors of equations differ by at most this factor
            raise InputError(
                f"the constraint {item.name!r} of {model.name!r} stays open by {apart:.3g} m or "
                f"more in every position: one distance on its way, {longest:.3g} m, is longer than "
                f"all the others together, {sum(lengths) - longest:.3g} m. Check lengths and "
                "frames."
            )


def _bars(model: Model, tree: Tree, way: Sequence[int], T: Array) -> list[Array] | None:
    """Vectors between the joints on a way to a frame T, each in its link; None: one slides."""
    if any(model.joints[i].type not in TURNING or np.any(tree.links[i].A[3:] != 0) for i in way):
        return None
    poses = [*(model.M_pi[i] for i in way), T]
    return [np.asarray(pose, float)[:3, 3] for pose in poses]


def _closed_part(model: Model, part: Part, starts: Iterator[Array], widest: float) -> list[Closed]:
    """Closed positions of one part of the constraints."""
    tried = list[Closed]()
    for start in starts:
        tried.append(close(model, start, part.evaluate, part.fixed))
        closed = [x for x in tried if x.residual <= widest]
        if len(closed) == SAMPLES or (not closed and _repeats([x.residual for x in tried])):
            break
    if closed := [x for x in tried if x.residual <= widest]:
        return closed
    best = min(tried, key=lambda x: x.residual)
    constraints = constraints_of(model, "mobility")
    Phi = np.zeros(len(constraints.row_names))
    Phi[part.rows] = best.Phi
    names = list(dict.fromkeys(constraints.owner(row) for row in part.rows))
    raise InputError(
        f"the constraints {listing(names, 8)} contradict one another, or the start "
        f"is too far away, after {len(tried)} attempts: "
        f"{unclosed(model, constraints, replace(best, Phi=Phi), ())} A "
        "position at which they are nearly closed can be given as `near`."
    )


def _joined(model: Model, parts: Sequence[Part], found: Sequence[Closed]) -> Closed:
    """A position of each part as one of all; joints without constraints as in the first."""
    q, Phi = np.array(found[0].q), np.zeros(sum(len(part.rows) for part in parts))
    for part, closed in zip(parts, found, strict=True):
        free = {*range(model.n)}.difference(part.fixed)
        coords = [x for joint in model.joints if free & {*joint.dofs} for x in joint.coords]
        q[coords], Phi[part.rows] = closed.q[coords], closed.Phi
    return Closed(q, max(x.residual for x in found), Phi)


def eased_positions(model: Model, tilt: Misalignment, near: Array | None) -> Samples | None:
    """Positions of the whole motion, on all equations but those that are nearly redundant.

    Their errors are the gap; `Samples.accepted` tells whether rounding of a source explains it.

    tilt: the equations that are nearly redundant. near: a position near which the constraints can
    be closed; None: not known.

    Returns:
        The positions, or None where too few are found.
    """
    evaluate, reach, plain = textbook(model), _reach(model), plain_floats(model)

    def divided(part: Part) -> Part:
        sizes = tilt.sizes[part.rows]

        def evaluate(q: Array) -> tuple[Array, Array]:
            Phi, J = part.evaluate(q)
            return Phi / sizes, J / sizes[:, None]

        return replace(part, evaluate=evaluate)

    parts = [divided(part) for part in separate_parts(model)]
    closed, gap = list[ClosedPosition](), 0.0
    for start in random_starts(model, near, FAR):
        q = close_parts(model, start, parts, WEAK).q
        Phi, J = evaluate(q)
        residual = float(np.abs(Phi).max(initial=0))
        if residual <= OPEN * reach:
            closed.append(closed_at(plain, q, J))
            gap = max(gap, residual)
        if len(closed) == SAMPLES:
            return Samples(closed, gap, gap / reach)
    return None


def _reach(model: Model) -> float:
    """Sum of the distances between joints, at most 1 m: small mechanisms have small gaps."""
    ends = [x.T_b for x in constraints_of(model, "mobility").items if isinstance(x, Closure)]
    offsets = [np.asarray(T, float)[:3, 3] for T in (*model.M_pi, *ends)]
    total = 0.0
    for p in offsets:
        total += nearest_length(p.tolist())
    return min(1.0, max(total, CLOSED / WIDEST_GAP))


def _repeats(residuals: Sequence[float]) -> bool:
    """Return True if the least residual was reached many times: nothing closer will be found."""
    least = min(residuals)
    return len([x for x in residuals if x <= least * (1 + 1e-6)]) >= REPEATS


def gap_words(constraints: Constraints, name: str, tilt: Misalignment | None) -> str:
    """The warning for a robot whose loops stay open by their rounding."""
    cause = "More digits in the source close them."
    if tilt is not None:
        cause = f"The cause is that {tilt.words()}; {EXACT}."
    return (
        f"the constraints {listing(list(constraints.given), 8)} of {name!r} stay open by "
        f"{constraints.gap:.2g} (rad or m), as after rounding of its numbers; they count as "
        f"closed, and errors up to {constraints.tolerance:.2g} are accepted. {cause}"
    )


def random_starts(
    model: Model, near: Array | None, away: Sequence[float] = NEAR
) -> Iterator[Array]:
    """Positions to close: around a given one, or around that of rest and anywhere."""
    for attempt in range(TRIES):
        rng = np.random.default_rng((2017, attempt))
        if near is not None:
            spread = away[attempt % len(away)] * (attempt > 0)
            yield integrate(model, near, rng.normal(size=model.n) * spread)
        elif attempt % 4 == 0:
            yield integrate(model, rest_position(model), rng.normal(size=model.n) * 0.1)
        else:
            yield random(model, rng)


def regular_starts(model: Model, spread: float | None = None) -> Iterator[Array]:
    """Positions in which joints as far from the base as each other stand alike.

    A mechanism of many equal cells has many ways to close each of them, and nearly all combinations
    are singular; if the cells start alike, they close alike.

    spread: largest distance from the position of rest, rad or m; None: anywhere.
    """
    rest, depth = rest_position(model), dict[int, int]()
    for i in model.links:
        depth[i] = depth.get(model.parent[i], 0) + 1
    for attempt in range(TRIES):
        rng = np.random.default_rng((2018, attempt))
        share = rng.uniform(size=max(depth.values()) + 1)
        q = random(model, rng) if spread is None else np.array(rest)
        for i, joint in enumerate(model.joints):
            if joint.follows is None and joint.type in SCREW_TYPES:
                low, high = position_range(joint)
                if spread is not None:
                    low, high = rest[joint.coords[0]] - spread, rest[joint.coords[0]] + spread
                q[joint.coords[0]] = low + (high - low) * share[depth[i]]
        yield q


def home_position(model: Model, samples: Sequence[ClosedPosition], near: Array | None) -> Array:
    """The closed position in which a robot starts, (nq,): `robot.neutral()`, and where views begin.

    The first of these that is within the limits and at a distance from singular positions: zero, if
    it is closed; the position near which the robot was constrained; the position of rest, closed;
    the samples. If there is none, the one that is farthest from singular positions.

    model: the robot, of floats, with its constraints and all their choices. near: a position near
    which the constraints can be closed; None: not known.
    """
    evaluate, constraints = textbook(model), constraints_of(model, "home_position")
    parts = separate_parts(model)

    def candidates() -> Iterator[Array]:
        zero = neutral(model)
        if float(np.abs(evaluate(zero)[0]).max(initial=0)) <= CLOSED + constraints.gap:
            yield zero
        for start in (near, rest_position(model)):
            if start is not None:
                closed = close_parts(model, start, parts)
                if closed.residual <= CLOSED + constraints.gap:
                    yield closed.q
        yield from (at.q for at in samples)

    bounds, plain = bounds_of(model), plain_floats(model)
    best: tuple[bool, float, Array] | None = None
    for q in candidates():
        x = positions(bounds, q)
        inside = bool(((x >= bounds.lower - 1e-9) & (x <= bounds.upper + 1e-9)).all())
        away = distance(model, closed_at(plain, q, evaluate(q)[1]))
        if inside and away > GOOD_START:
            return q
        if best is None or (inside, away) > best[:2]:
            best = inside, away, q
    assert best is not None  # there are samples
    return best[2]
