"""Positions on the constraints, which decide ranks and where a robot starts.

Equations are measured by their size: angles in rad, lengths of a closure by the largest lever of
the joints that turn it. Newton's method (closing.py) leaves out singular values below RANK, so that
it comes to the accuracy that the digits of a file allow, and no further: a loop that has more
equations than joints to satisfy them (a planar four-bar in space) stays open by about the last
digit of its lengths and angles. A gap up to WIDEST is accepted; errors of such a robot count as
closed up to `Constraints.tolerance`. Where more stays open, the equations are meant as they are,
and singular values down to rounding count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closing import Closed, close, textbook, unclosed
from kinetree.dynamics.constraints.closures import item_dofs, placed
from kinetree.dynamics.constraints.ranks import RANK
from kinetree.dynamics.joints.configuration import (
    integrate,
    neutral,
    position_range,
    random,
    rest_position,
)
from kinetree.errors import InputError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.constraints import Closure, Coupling
from kinetree.model.units import RAD, kinds

SAMPLES = 4
TRIES = 80
REPEATS = 6  # starts that end with the same least error, after which the constraints contradict
CLOSED = 1e-9  # residual of a sample, rad or m
WIDEST = 1e-5  # of the size: the widest gap that rounded digits explain
OPEN = 1e-2  # of the size: a position with a wider gap is not one that rounding left open
MOVED = 0.5  # rad or m: the least distance of positions that rounded digits leave open
EXACT = 1e-7  # least singular values where every digit counts
DIGITS = 10  # of positions: what is decided there is the same on every processor
POLISHING = 8  # steps
POLISHED = 1e-2  # rad or m: the longest way that all singular values add to that of large ones
AROUND = (0.05, 0.3, 1.0, 2.0)  # distances of starts from a given position, rad or m, in turn


@dataclass(frozen=True, eq=False)
class Sizes:
    """Of rows, (m,), and rates, (n,): J / rows * rates is without units, with entries up to 1."""

    rows: Array
    rates: Array


@dataclass(frozen=True, eq=False)
class Samples:
    """Closed positions, (nq,) each, and the largest error there, 0 up to CLOSED, rad or m.

    least: singular values of measured rows that count.
    """

    positions: list[Array]
    gap: float
    sizes: Sizes
    least: float


@dataclass(frozen=True, eq=False)
class Part:
    """Constraints that share no joint with the others: items, rows of Phi, rates that move them.

    Parts are closed on their own: a start would lead to a closed position of all of them only if it
    does for every part.
    """

    items: list[Closure | Coupling]
    rows: list[int]
    dofs: frozenset[int]

    def closing(self, model: Model, sizes: Sizes) -> Callable[[Array, float], Closed]:
        """The function that closes this part from q, for least singular values."""
        evaluate, own = textbook(model, self.items), sizes.rows[self.rows]
        unit = np.array([x if d in self.dofs else 0 for d, x in enumerate(sizes.rates)])

        def measured(q: Array) -> tuple[Array, Array]:
            Phi, J = evaluate(q)
            return Phi / own, J / own[:, None]

        def closed(q: Array, least: float) -> Closed:
            found = close(model, q, measured, unit, (0.0, least))
            # next to a singular position closing goes on; rounded digits would need a long way
            last = close(model, found.q, measured, unit, (0.0, EXACT), steps=POLISHING)
            found = last if np.abs(last.q - found.q).max() < POLISHED else found
            Phi = np.zeros(len(sizes.rows))
            Phi[self.rows] = found.Phi * own
            return Closed(found.q, float(np.abs(Phi).max(initial=0)), Phi)

        return closed


def separate_parts(model: Model) -> list[Part]:
    """The constraints of a robot in parts, each in the order of the constraints."""
    tree, parts, first = book_tree(model, neutral(model)), list[Part](), 0
    for item in placed(model):
        end = first + len(item.row_names)
        part, first = Part([item], list(range(first, end)), item_dofs(tree, item)), end
        for x in [x for x in parts if x.dofs & part.dofs]:
            parts.remove(x)
            part = Part([*x.items, *part.items], [*x.rows, *part.rows], x.dofs | part.dofs)
        parts.append(part)
    return parts


def measured_sizes(model: Model) -> Sizes:
    """Typical sizes of the rows and rates of a model of floats, at positions that may be open."""
    evaluate, turns = textbook(model), np.array(kinds(model, "dq")) == RAD
    Js = [evaluate(q)[1] for q in islice(starts(model, None), SAMPLES)]
    J = np.median(np.nan_to_num(np.abs(Js), posinf=0.0), axis=0)
    rows, first = np.ones(len(J)), 0
    for item in placed(model):
        own = list(range(first, first + len(item.row_names)))
        first += len(own)
        if isinstance(item, Closure):
            own = [
                k for k, name in zip(own, item.row_names, strict=True) if ".angular_" not in name
            ]
        columns = J[own] if isinstance(item, Coupling) else J[own][:, turns]
        rows[own] = np.linalg.norm(columns, axis=0).max(initial=0) or 1.0
    return Sizes(rows, 1 / np.maximum(1, np.linalg.norm(J / rows[:, None], axis=0)))


def closed_positions(model: Model, near: Array | None) -> Samples:
    """Positions on the constraints of a model of floats, around a given one or anywhere.

    Raises:
        InputError: no start leads to a closed position; the message has the residual and a name.
    """
    sizes, parts = measured_sizes(model), separate_parts(model)
    for least, widest in ((RANK, WIDEST), (EXACT, 0.0)):
        tried = [_closed_part(model, part, near, sizes, (least, widest)) for part in parts]
        found = [closed for closed, _ in tried]
        if all(found):
            break
    else:
        k = found.index([])
        words = unclosed(model, constraints_of(model, "mobility"), tried[k][1], ())
        raise InputError(
            f"the constraints {listing([x.name for x in parts[k].items], 8)} contradict one "
            f"another, or the start is too far away: {words} A position at which they are nearly "
            "closed can be given as `near`."
        )
    positions = [np.array(near if near is not None else neutral(model))] * SAMPLES
    for k, q in enumerate(positions):
        positions[k] = q = np.array(q, float)
        for part, closed in zip(parts, found, strict=True):
            coords = [
                x for joint in model.joints if part.dofs & {*joint.dofs} for x in joint.coords
            ]
            q[coords] = closed[k % len(closed)].q[coords]
    residual = max(x.residual for closed in found for x in closed)
    gap = residual if residual > CLOSED else 0.0
    return Samples([q.round(DIGITS) for q in positions], gap, sizes, least)


def _closed_part(
    model: Model, part: Part, near: Array | None, sizes: Sizes, accuracy: tuple[float, float]
) -> tuple[list[Closed], Closed]:
    """Closed positions of a part, none where gaps are too wide for rounded digits; and the best.

    accuracy: least singular values, and the widest gap as a part of the size.
    """
    size = min(1.0, float(sizes.rows[part.rows].max()))
    tried, widest = list[Closed](), max(CLOSED, accuracy[1] * size)
    exact, closed, opened = list[Closed](), list[Closed](), 0
    from_start = part.closing(model, sizes)
    for start in starts(model, near):
        x = from_start(start, accuracy[0])
        tried.append(x)
        exact += [x] if x.residual <= CLOSED else []
        closed += [x] if x.residual <= widest else []
        opened += widest < x.residual <= OPEN * size
        least = min(x.residual for x in tried)
        repeats = sum(x.residual <= least * (1 + 1e-6) for x in tried)
        if len(exact) == SAMPLES or len(closed) == 2 * SAMPLES:
            break
        if not closed and (repeats == REPEATS or opened == SAMPLES):
            break
    best = min(tried, key=lambda x: x.residual)
    if accuracy[1] == 0 or len(exact) > max(len(closed) - len(exact), opened):
        return exact, best
    spread = np.ptp([x.q for x in closed], axis=0).max(initial=0) if closed else 0.0
    return (closed if not opened and spread > MOVED else []), best


def starts(model: Model, near: Array | None) -> Iterator[Array]:
    """Positions to close: around a given one; or around that of rest, and anywhere.

    Of those anywhere, every other one has joints as far from the base as each other stand alike. A
    mechanism of many equal cells has many ways to close each of them, and nearly all combinations
    are singular; if the cells start alike, they close alike.
    """
    rest = rest_position(model)
    for attempt in range(TRIES):
        rng = np.random.default_rng((2017, attempt))
        if near is not None:
            away = AROUND[attempt % len(AROUND)] * (attempt > 0)
            yield integrate(model, near, rng.normal(size=model.n) * away)
        elif attempt % 2 == 0:
            yield _alike(model, rng)
        elif attempt % 4 == 1:
            yield integrate(model, rest, rng.normal(size=model.n) * 0.1)
        else:
            yield random(model, rng)


def _alike(model: Model, rng: np.random.Generator) -> Array:
    """A random position in which joints as far from the base as each other stand alike."""
    q, depth = random(model, rng), dict[int, int]()
    for i in model.links:
        depth[i] = depth.get(model.parent[i], 0) + 1
    share = rng.uniform(size=max(depth.values()) + 1)
    for i, joint in enumerate(model.joints):
        if joint.follows is None and joint.type in SCREW_TYPES:
            low, high = position_range(joint)
            q[joint.coords[0]] = low + (high - low) * share[depth[i]]
    return q
