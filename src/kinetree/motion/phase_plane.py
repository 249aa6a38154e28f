"""The phase plane of a path: the fastest speed profile within linear bounds.

With x = (ds/dt)^2 and u = d2s/dt2 constant between knots, x grows by 2 u times the length of the
interval, and every joint force is A(s) u + B(s) x + C(s). Each bound of it, at the left and at the
right end of an interval, is a row a u + b x <= c. A pass from the goal to the start finds, for each
knot, the largest x from which the goal can still be reached; a pass forward then takes the
largest u that stays below. Both solve problems of two unknowns, exactly, by eliminating u.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array

FLAT = 1e-13  # of the largest entry: a row that does not depend on u


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows a u + b x <= c of every interval, (N, rows) each, for x at the left knot.

    `most` bounds x at the knots, (N + 1,).
    """

    a: Array
    b: Array
    c: Array
    most: Array
    lengths: Array


def fastest_profile(rows: Rows) -> tuple[Array, Array] | None:
    """x at the knots, (N + 1,), and u in the intervals, (N,), at rest at both ends.

    None where the rows leave no way to move.
    """
    reach = _reachable(rows)
    if reach is None:
        return None
    x, us = [0.0], []
    for i, length in enumerate(rows.lengths):
        u = _largest_u(rows.a[i], rows.b[i], rows.c[i], x[-1], length, reach[i + 1])
        last = i + 1 == len(rows.lengths)
        after = 0.0 if last else max(min(x[-1] + 2 * length * u, reach[i + 1]), 0.0)
        if not max(after, x[-1]) > 0:
            return None  # from rest to rest: the robot would stand still for ever
        us.append((after - x[-1]) / (2 * length))
        x.append(after)
    return np.array(x), np.array(us)


def _reachable(rows: Rows) -> Array | None:
    """The largest x at each knot from which the rest of the path can be driven to its end."""
    reach = np.zeros(len(rows.lengths) + 1)
    for i in range(len(rows.lengths) - 1, -1, -1):
        length = 2 * rows.lengths[i]
        # next x between zero and what can be reached there
        a = np.append(rows.a[i], [length, -length])
        b = np.append(rows.b[i], [1.0, -1.0])
        c = np.append(rows.c[i], [reach[i + 1], 0.0])
        x = min(_largest_x(a, b, c), rows.most[i])
        if not x >= 0:
            return None
        reach[i] = x
    return reach


def _largest_x(a: Array, b: Array, c: Array) -> float:
    """The largest x for which some u satisfies all rows: pairs of rows with u eliminated."""
    small = FLAT * np.max(np.abs(a))
    up, down, flat = a > small, a < -small, np.abs(a) <= small
    # a_k > 0 bounds u from above, a_l < 0 from below: a_k row_l - a_l row_k is free of u
    slope = np.outer(a[up], b[down]) - np.outer(b[up], a[down])
    bound = np.outer(a[up], c[down]) - np.outer(c[up], a[down])
    slope = np.append(slope.ravel(), b[flat])
    bound = np.append(bound.ravel(), c[flat])
    growing = slope > FLAT * np.max(np.abs(slope))
    return float(np.min(bound[growing] / slope[growing], initial=np.inf))


def _largest_u(a: Array, b: Array, c: Array, x: float, length: float, reach: float) -> float:
    """The largest u at x that the rows allow and that stays within reach."""
    up = a > FLAT * np.max(np.abs(a))
    rest = c[up] - b[up] * x
    return min(float(np.min(rest / a[up], initial=np.inf)), (reach - x) / (2 * length))
