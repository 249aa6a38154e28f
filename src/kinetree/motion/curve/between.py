"""The motion between samples of q, dq and ddq, without peaks that the samples do not show.

Between two samples of a smooth motion, the quintic with q, dq and ddq of both is used. If the
acceleration jumps in between, that quintic overshoots; then the accelerations a0 and a1 at the ends
of the interval, of length h, are joined by a change w that q and dq determine. They fix the mean
and the first moment of the acceleration,

    a(t) = a1 + (a0 - a1) w(t/h),   mean w = theta,   2 mean (t/h) w = theta^2 + sigma^2,

where w falls from 1 to 0: theta is when the change happens on average, sigma how long it takes.
With sigma = 0 there is one jump, at theta. A uniform ramp takes sqrt(12) sigma; if that is longer
than the interval, two jumps are used. In each case the acceleration stays between a0 and a1. The
remainder in q and dq (rounding, filtered data) is added as a quintic without acceleration at its
ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.motion.curve.splines import Number, evaluate, quintic_coefficients

Motion = tuple[Array, Array, Array]
EPS = float(np.finfo(float).eps)
ROUNDING = 64 * EPS
SMOOTH = 0.25  # share of h^2 |d2(ddq)/dt2| that a smooth ddq may overshoot; a parabola does 1/8
PARABOLA = 0.1  # relative difference at which the moments of ddq are not those of a parabola
BEYOND = 0.5  # share of the range of four samples: an acceleration further outside is reported
SLIGHT = 0.02  # share of the largest acceleration (or speed / duration) that is not reported


@dataclass(frozen=True, eq=False)
class Forces:
    """Joint forces tau, (T, ..., n), at times t, (T,), with straight lines in between."""

    t: Array
    tau: Array

    def __call__(self, t: Array) -> Array:
        """tau at times t, (K,), within the samples; at the times of samples exactly the samples."""
        last = len(self.t) - 1
        k = np.clip(np.searchsorted(self.t, t, "right") - 1, 0, max(last - 1, 0))
        after = np.minimum(k + 1, last)
        width = np.where(after > k, self.t[after] - self.t[k], 1.0)
        share = column((t - self.t[k]) / width, self.tau.ndim)
        found = self.tau[k] + (self.tau[after] - self.tau[k]) * share
        put(found, self.t, self.tau, t)
        return found

    def rollout(self, index: tuple[int, ...]) -> Forces:
        """Forces of one motion of a batch."""
        return Forces(self.t, self.tau[(slice(None), *index)])


@dataclass(frozen=True, eq=False)
class Excess:
    """The worst interval whose acceleration is outside the range of the samples around it."""

    interval: int
    at: tuple[int, ...]  # batch and joint
    least: float  # acceleration
    most: float  # acceleration
    count: int  # number of such intervals, of any joint


@dataclass(frozen=True, eq=False)
class Interpolant:
    """The motion through samples: t, (T,), q, (T, ..., nq), dq and ddq, (T, ..., n).

    smooth: True if the motion is known to be smooth, so that every interval has a quintic;
    otherwise intervals in which the acceleration jumps are found. forces: tau that the motion was
    first given with. model: needed if q is not a vector; quaternions and planar positions move at
    a constant rate from sample to sample, with linear dq and ddq.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    smooth: bool = False
    model: Model | None = None
    forces: Forces | None = None

    def __call__(self, t: Array, before: bool | Array = False) -> Motion:
        """q, dq and ddq at times t, (T,), within the samples.

        before: a bool or (T,); True gives the values just before t, which differ where ddq jumps.
        The values just after the time of a sample are the sample.
        """
        if len(self.t) == 1:
            at = np.zeros(len(t), int)
            return self.q[at], self.dq[at], self.ddq[at]
        k = np.minimum(located(self.t, t, before), len(self.t) - 2)
        if self.model is None:
            motion = self._along(t, k, before)
        else:
            motion = self._mixed(self.model, t, k, before)
        return self._as_given(t, before, motion)

    def _along(self, t: Array, k: Array, before: bool | Array) -> Motion:
        """Motion of joints with one degree of freedom: quintics, or jumps and ramps of ddq."""
        since = t - self.t[k]
        rows = column(since, self.q.ndim)
        found = evaluate(_quintics(self, k), rows)
        if self.smooth or not len(self.changes.h):
            return found
        which = self.changes.index[k]
        at = np.nonzero(which >= 0)
        edge = np.where(before, 1, -1) * (4 * EPS * max(abs(self.t[0]), abs(self.t[-1])))
        edge = np.broadcast_to(column(edge + 0 * t, self.q.ndim), which.shape)[at]
        values = self.changes(which[at], np.broadcast_to(rows, which.shape)[at], edge)
        for x, value in zip(found, values, strict=True):
            x[at] = value
        return found

    def _mixed(self, model: Model, t: Array, k: Array, before: bool | Array) -> Motion:
        """Motion of any joints; those with several degrees of freedom follow geodesics."""
        share = column((t - self.t[k]) / (self.t[k + 1] - self.t[k]), self.dq.ndim)
        dq, ddq = (x[k] + (x[k + 1] - x[k]) * share for x in (self.dq, self.ddq))
        q = _geodesics(self, model, k, share.ravel())
        coords, dofs = screw_columns(model)
        if coords:
            part = self.simple._along(t, k, before)
            for x, own, value in zip((q, dq, ddq), (coords, dofs, dofs), part, strict=True):
                x[..., own] = value
        return q, dq, ddq

    def _as_given(self, t: Array, before: bool | Array, motion: Motion) -> Motion:
        """The motion with the samples written in at their times; ddq only where not `before`."""
        q, dq, ddq = motion
        put(q, self.t, self.q, t)
        put(dq, self.t, self.dq, t)
        put(ddq, self.t, self.ddq, t, ~np.broadcast_to(before, t.shape))
        return motion

    @cached_property
    def simple(self) -> Interpolant:
        """The motion of only those joints that have one degree of freedom."""
        assert self.model is not None
        coords, dofs = screw_columns(self.model)
        motion = self.q[..., coords], self.dq[..., dofs], self.ddq[..., dofs]
        return Interpolant(self.t, *motion, self.smooth)

    @cached_property
    def changes(self) -> Changes:
        """Intervals and joints in which the acceleration jumps or has a ramp."""
        return find_changes(self)

    @cached_property
    def jumps(self) -> Array:
        """Times within the motion at which ddq jumps or a ramp begins or ends, (J,)."""
        if self.model is not None:
            return self.simple.jumps
        if self.smooth or len(self.t) < 2:
            return np.zeros(0)
        changes, k = self.changes, np.nonzero(self.changes.index >= 0)[0]
        left, right, h = self.t[k], self.t[k + 1], changes.h
        times = [  # at an end of the interval exactly the sample's time
            np.where(x >= h, right, np.where(x <= 0, left, left + x))
            for x in (changes.first, changes.second)
        ]
        found = np.unique(np.concatenate(times))
        slack = 8 * EPS * max(abs(self.t[0]), abs(self.t[-1]))  # of joints that jump together
        apart = np.diff(found, prepend=-np.inf) > slack
        return found[apart & (found > self.t[0]) & (found < self.t[-1])]

    @cached_property
    def excess(self) -> Excess | None:
        """The worst interval whose acceleration leaves the range of the samples, if any."""
        if self.model is not None:
            return self.simple.excess if screw_columns(self.model)[0] else None
        if self.smooth or len(self.t) < 2:
            return None
        return find_excess(self)

    def rollout(self, index: tuple[int, ...]) -> Interpolant:
        """One motion of a batch."""
        at = (slice(None), *index)
        forces = None if self.forces is None else self.forces.rollout(index)
        return replace(self, q=self.q[at], dq=self.dq[at], ddq=self.ddq[at], forces=forces)

    def slower(self, factor: float, start: float) -> Interpolant:
        """The same path at 1/factor of the speed, beginning at time `start`; without forces."""
        t = start + (self.t - start) * factor
        return replace(self, t=t, dq=self.dq / factor, ddq=self.ddq / factor**2, forces=None)


@dataclass(frozen=True, eq=False)
class Changes:
    """The M intervals of joints in which the acceleration jumps or has a ramp; arrays (M,).

    index: entry for each interval and joint, (T - 1, ..., n); -1 where a quintic is used. The
    acceleration is a0 until `first`, then `middle` + `slope` (t - first) until `second`, then a1
    until h; times count from the left end. q0 and dq0: state at the left end. rest: coefficients of
    the quintic that is added, (6, M).
    """

    index: Array
    h: Array
    q0: Array
    dq0: Array
    a0: Array
    a1: Array
    first: Array
    second: Array
    middle: Array
    slope: Array
    rest: Array

    def __call__(self, m: Array, since: Array, edge: Number = 0.0) -> Motion:
        """q, dq and ddq of entries m, (K,), at times `since` the left end, (K,).

        edge: shifts the jumps, to choose the side on which a time at a jump counts in spite of
        rounding. A small negative number gives the acceleration after it, a positive one before.
        """
        first, second = self.first[m], self.second[m]
        state = self.q0[m], self.dq0[m]
        early = _steady(*state, self.a0[m], 0 * first, since)
        state = _steady(*state, self.a0[m], 0 * first, first)[:2]
        ramp = self.middle[m], self.slope[m]
        during = _steady(*state, *ramp, since - first)
        state = _steady(*state, *ramp, second - first)[:2]
        late = _steady(*state, self.a1[m], 0 * first, since - second)
        rest = evaluate(tuple(self.rest[:, m]), since)
        parts = zip(early, during, late, rest, strict=True)
        q, dq, ddq = (
            np.where(since < first + edge, a, np.where(since < second + edge, b, c)) + d
            for a, b, c, d in parts
        )
        return q, dq, ddq


def located(knots: Array, t: Array, before: bool | Array) -> Array:
    """Index of the last knot at or before each time; strictly before it where `before`."""
    right, left = (np.searchsorted(knots, t, side) - 1 for side in ("right", "left"))
    return np.clip(np.where(before, left, right), 0, len(knots) - 1)


def column(x: Array, dimensions: int) -> Array:
    """x, (T,), with axes of length 1 appended."""
    return x.reshape(-1, *(1,) * (dimensions - 1))


def put(x: Array, knots: Array, given: Array, t: Array, where: bool | Array = True) -> None:
    """Write the given samples into x at those times t, (T,), that are knots, where `where`."""
    k = np.clip(np.searchsorted(knots, t), 0, len(knots) - 1)
    own = (knots[k] == t) & where
    x[own] = given[k[own]]


def curved(model: Model) -> bool:
    """Return True if q is not a vector: some joint has a quaternion or a planar position."""
    return any(kind not in SCREW_TYPES for kind in model.joint_types)


def screw_columns(model: Model) -> tuple[list[int], list[int]]:
    """Entries of q and of dq that belong to joints of one degree of freedom."""
    screws = [x for x in model.joints if x.follows is None and x.type in SCREW_TYPES]
    return [x.coords[0] for x in screws], [x.dofs[0] for x in screws]


def find_changes(samples: Interpolant) -> Changes:
    """Find the quintics that overshoot without need, and the jumps and ramps to use instead."""
    t, a = samples.t, samples.ddq
    k = np.arange(len(t) - 1)
    h = column(np.diff(t), a.ndim)
    noise = _noise(samples)
    over = _overshoot(_quintics(samples, k), h, a[:-1], a[1:])
    # without need: more than rounding, and more than a smooth acceleration that bends would
    asked = over > noise + 1e-9 * np.maximum(np.abs(a[:-1]), np.abs(a[1:])) + _bending(samples)
    asked &= a[:-1] != a[1:]
    at = np.nonzero(asked)
    shapes = _shapes(samples, at, noise[at])
    better = _overshoot(tuple(shapes.rest), shapes.h, 0 * shapes.h, 0 * shapes.h) < over[at]
    index = np.full(a[1:].shape, -1)
    index[tuple(x[better] for x in at)] = np.arange(int(better.sum()))
    kept = {name: getattr(shapes, name)[better] for name in Changes.__dataclass_fields__
            if name not in ("index", "rest")}  # fmt: skip
    return Changes(index=index, rest=shapes.rest[:, better], **kept)


def _shapes(samples: Interpolant, at: tuple[Array, ...], noise: Array) -> Changes:
    """Jumps or a ramp in the intervals and joints `at`; the head of this file has the method."""
    after = (at[0] + 1, *at[1:])
    h = samples.t[after[0]] - samples.t[at[0]]
    q0, q1, v0, v1 = samples.q[at], samples.q[after], samples.dq[at], samples.dq[after]
    a0, a1 = samples.ddq[at], samples.ddq[after]
    change = a0 - a1
    fuzz = 1e-9 + noise / np.abs(change)
    # dq gives the mean of w, q the mean of (1 - t/h) w; near 0 and 1 theta is rounded to them, so
    # that a jump at a sample is exactly at its time
    theta = ((v1 - v0) / h - a1) / change
    moment = ((q1 - q0 - v0 * h) / (h * h) - a1 / 2) / change
    theta = np.clip(np.where(np.abs(theta - np.rint(theta)) <= fuzz, np.rint(theta), theta), 0, 1)
    spread = np.clip(2 * (theta - moment) - theta * theta, 0, theta * (1 - theta))
    spread = np.where(spread <= fuzz, 0, spread)  # sigma^2
    half = np.sqrt(3 * spread)  # of the width of a ramp
    ramp = (theta - half >= 0) & (theta + half <= 1)
    first, second, weight = _two_jumps(theta, spread)
    first, second = np.where(ramp, theta - half, first), np.where(ramp, theta + half, second)
    middle = np.where(ramp, a0, a1 + change * weight)
    width = (second - first) * h
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(ramp & (width > 0), -change / width, 0.0)
    own = Changes(np.zeros(0), h, q0, v0, a0, a1, first * h, second * h, middle, slope,
                  np.zeros((6, len(h))))  # fmt: skip
    q, v, _ = own(np.arange(len(h)), h)
    dq, dv = _unless_rounding(q1 - q, q0, q1, v0 * h), _unless_rounding(v1 - v, v0, v1, a0 * h)
    zero = 0 * h
    rest = np.array(quintic_coefficients(h, zero, zero, zero, dq, dv, zero)).reshape(6, len(h))
    return replace(own, rest=rest)


def _two_jumps(theta: Array, spread: Array) -> tuple[Array, Array, Array]:
    """Times of two jumps with mean theta and variance spread, and the value of w in between.

    They are symmetric about theta with w = 1/2; if one of them would be outside the interval, it is
    put at its end, and the other one and w follow from mean and variance.
    """
    sigma = np.sqrt(spread)
    low, high = theta - sigma, theta + sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        from_start, to_end = theta + spread / theta, theta - spread / (1 - theta)
    early, late = low < 0, high > 1
    first = np.where(early, 0.0, np.where(late, to_end, low))
    second = np.where(early, from_start, np.where(late, 1.0, high))
    width = second - first
    share = np.divide(theta - first, width, out=np.zeros_like(width), where=width > 0)
    return first, second, share


def _unless_rounding(x: Array, *sizes: Array) -> Array:
    """x, but 0 where it is rounding of numbers of the given sizes."""
    most = np.max(np.abs(sizes), axis=0)
    return np.where(np.abs(x) <= 16 * EPS * most, 0.0, x)


def _steady(q: Array, dq: Array, a: Array, slope: Array, t: Array) -> Motion:
    """q, dq and ddq after a time t with acceleration a + slope t."""
    return (
        q + t * (dq + t * (a / 2 + t * (slope / 6))),
        dq + t * (a + t * (slope / 2)),
        a + t * slope,
    )


def _quintics(samples: Interpolant, k: Array) -> tuple[Number, ...]:
    """Coefficients of the quintics in intervals k, (K,)."""
    h = column(samples.t[k + 1] - samples.t[k], samples.q.ndim)
    ends = [x[k + side] for side in (0, 1) for x in (samples.q, samples.dq, samples.ddq)]
    return quintic_coefficients(h, *ends)


def _range(c: Sequence[Number], h: Array) -> tuple[Array, Array]:
    """The least and the largest second derivative of quintics from 0 to h."""
    terms = 2 * c[2], 6 * c[3] * h, 12 * c[4] * h**2, 20 * c[5] * h**3
    a, b, d, e = (np.asarray(term) for term in terms)
    with np.errstate(divide="ignore", invalid="ignore"):  # zeros of b + 2 d x + 3 e x^2
        root = np.sqrt(d * d - 3 * e * b)
        half = -(d + np.where(d >= 0, root, -root))
        places = [np.nan_to_num(np.clip(x, 0, 1), nan=0.0) for x in (half / (3 * e), b / half)]
    values = [a, a + b + d + e, *(a + x * (b + x * (d + x * e)) for x in places)]
    return np.min(values, axis=0), np.max(values, axis=0)


def _overshoot(c: Sequence[Number], h: Array, a0: Array, a1: Array) -> Array:
    """How far the second derivative of quintics leaves the range from a0 to a1."""
    least, most = _range(c, h)
    return np.maximum(np.minimum(a0, a1) - least, most - np.maximum(a0, a1)).clip(0)


def _noise(samples: Interpolant) -> Array:
    """Error of ddq that rounding of q and dq causes, in every interval."""
    h = column(np.diff(samples.t), samples.q.ndim)
    q, v = (np.maximum(np.abs(x[1:]), np.abs(x[:-1])) for x in (samples.q, samples.dq))
    return ROUNDING * (q / h + v) / h


def _bending(samples: Interpolant) -> Array:
    """How far a smooth ddq may overshoot in every interval, estimated from the samples around it.

    The second derivative of ddq is taken from either side, without the interval itself, and the
    lesser one counts. The result is 0 where dq and q show that ddq is not a parabola: a parabola
    that exceeds the line from a0 to a1 by d on average has a first moment that is larger by d / 2;
    at a jump the ratio is another.
    """
    h = column(np.diff(samples.t), samples.ddq.ndim)
    slope = np.diff(samples.ddq, axis=0) / h
    second = 2 * np.abs(np.diff(slope, axis=0)) / (h[1:] + h[:-1])  # at the inner samples
    none = np.full((2, *samples.ddq.shape[1:]), np.inf)
    left = np.concatenate([none, second[:-1]])[: len(h)] if len(h) > 1 else none[:1]
    right = np.concatenate([second[1:], none])[-len(h) :] if len(h) > 1 else none[:1]
    least = np.minimum(left, right)
    (q0, q1), (v0, v1), (a0, a1) = ((x[:-1], x[1:]) for x in (samples.q, samples.dq, samples.ddq))
    mean = (v1 - v0) / h - (a0 + a1) / 2
    moment = (q1 - q0 - v0 * h) / (h * h) - a0 / 3 - a1 / 6
    parabola = np.abs(moment - mean / 2) <= PARABOLA * np.abs(mean)
    return SMOOTH * h * h * np.where(np.isfinite(least) & parabola, least, 0.0)


def find_excess(samples: Interpolant) -> Excess | None:
    """The interval whose acceleration is furthest outside the range of the four samples around.

    None for steps of Euler, explicit or semi-implicit, whose q is half a step early or late.
    """
    if _steps_of_euler(samples):
        return None
    a, k = samples.ddq, np.arange(len(samples.t) - 1)
    h = column(np.diff(samples.t), a.ndim)
    least, most = _range(_quintics(samples, k), h)
    changes = samples.changes
    if len(changes.h):
        at = np.nonzero(changes.index >= 0)
        low, high = _range(tuple(changes.rest), changes.h)
        least[at] = np.minimum(changes.a0, changes.a1) + low
        most[at] = np.maximum(changes.a0, changes.a1) + high
    around = [a[np.clip(k + j, 0, len(a) - 1)] for j in (-1, 0, 1, 2)]
    low, high = np.min(around, axis=0), np.max(around, axis=0)
    over = np.maximum(low - least, most - high)
    usual = np.abs(samples.dq).max(axis=0) / (samples.t[-1] - samples.t[0])
    worth = _noise(samples) + SLIGHT * np.maximum(np.abs(a).max(axis=0), usual)
    beyond = over > BEYOND * (high - low) + worth
    if not beyond.any():
        return None
    worst = np.unravel_index(int(np.argmax(np.where(beyond, over, -1.0))), over.shape)
    count = int(beyond.reshape(len(k), -1).any(axis=1).sum())
    interval, *rest = (int(x) for x in worst)
    return Excess(interval, tuple(rest), float(least[worst]), float(most[worst]), count)


def _steps_of_euler(samples: Interpolant) -> bool:
    """Whether q moves from sample to sample by the rates at one end of the intervals."""
    h, moved = column(np.diff(samples.t), samples.q.ndim), np.diff(samples.q, axis=0)
    slack = 1e-9 * np.abs(moved).max(initial=0) + 8 * EPS * np.abs(samples.q).max(initial=0)
    ends = samples.dq[1:], samples.dq[:-1]
    return any(bool((np.abs(moved - h * rates) <= slack).all()) for rates in ends)


def _geodesics(samples: Interpolant, model: Model, k: Array, share: Array) -> Array:
    """q in intervals k, (K,), at given shares of their length, (K,)."""
    out = np.empty((len(k), *samples.q.shape[1:]))
    for row, (i, part) in enumerate(zip(k, share, strict=True)):
        for at in np.ndindex(samples.q.shape[1:-1]):
            q0, q1 = samples.q[(i, *at)], samples.q[(i + 1, *at)]
            step = dynamics.difference(model, q0, q1)
            out[(row, *at)] = dynamics.integrate(model, q0, part * step)
    return out
