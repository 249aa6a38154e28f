"""Impulses of contacts and of dry joint friction in one step: one problem, solved together.

With w = A r + b the velocities at the end of the step, every contact satisfies, exactly,

    0 <= r_n,  w_n >= 0,  r_n w_n = 0                  it pushes or it leaves
    |r_t| <= mu r_n,  r_t = -mu r_n w_t / |w_t|        Coulomb's friction in the round cone

where the last holds if w_t is not 0, and every joint with dry friction low <= r <= high, with
r = low where w > 0 and r = high where w < 0. In units of velocity, with u = a r - w and a the
weight of a row, that is one equation e(r) = 0,

    e_n = a r_n - max(0, u_n),   e_t = a r_t - u_t min(1, mu max(0, u_n) / |u_t|)

and for a joint e = a r - clip(u, a low, a high). The length of e, relative to the velocities
into the ground that the step begins with, is the residual.

It is solved by Newton's method with corners that are rounded by eps: max(0, x) is
(x + sqrt(x^2 + 4 eps^2)) / 2 there, and likewise for the cone and for limits. eps shrinks as the
error does, and grows where a step does not make it smaller, so that the search does not stop at a
corner. A round has one linear system, made more stiff by eps, and takes the best of LENGTHS of its
step. The impulses of the round with the smallest e are the result.
benchmarks/results/2026-11-17-contact-solver.md compares it with others.

**Redundant forces.** A is singular where more points touch than the robot can push apart, as with
four legs or a flat foot. All points have soft pads of one softness, SHARING times the mean of A_ii;
they decide on forces that the motion leaves open. The velocities of contact change by this share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.repeat import constant, repeated
from kinetree.scalars import absolute, clip, maximum, minimum, sqrt, where

SHARING = 1e-6  # of the mean of A_ii: pads of this softness decide on redundant forces
TOLERANCE = 1e-8  # of the residual, relative to the velocities into the ground
ROUNDS = 40  # few of 10,000 steps of falling robots need more; see the record
ROUNDED = 0.3  # eps of the first round, of the velocities into the ground
SHRINKING = ((10, 0.3), (1, 0.1))  # where the error is below so many eps, eps is multiplied by this
STALLED, GROWING = 0.8, 3  # where a round leaves so much of e^2, eps is multiplied by this
START = 1  # e of contacts that stop, relative, with which the search begins there
LENGTHS = (1, 0.5)  # of a Newton step
TINY = 1e-300  # keeps quotients of zeros at zero


@dataclass(frozen=True, eq=False)
class Problem:
    """Contacts in rows (normal, two tangents) of A, (N, N), and b, (N,), then dry joint friction.

    A: symmetric, m/s for a unit impulse. b: velocities without impulses, m/s or rad/s, with those
    that close gaps and rebound. friction: mu of every contact, (m,). limits: least and largest
    impulse of every joint with dry friction, k pairs; N = 3 m + k. smooth: the impulses have
    derivatives by A, b and friction, one-sided where a contact is between two modes.
    """

    A: Array
    b: Array
    friction: Sequence[Any]
    limits: Sequence[tuple[Any, Any]] = ()
    smooth: bool = False

    @property
    def contacts(self) -> int:
        """Count of contacts."""
        return len(self.friction)


@dataclass(frozen=True, eq=False)
class Solution:
    """impulses: (N,), N s or N m s. residual: relative, 0 where nothing touches. rounds: taken.

    scale: largest velocity into the ground, and of joints, before the impulses.
    """

    impulses: Array
    residual: Any
    rounds: Any
    scale: Any


Pair = tuple[int, Any]


def rounded(x: Any, eps: Any) -> tuple[Any, Any]:
    """max(0, x) with a corner that is rounded by eps, and its slope."""
    root = sqrt(x * x + 4 * eps * eps + TINY)
    return (x + root) / 2, (1 + x / root) / 2


@dataclass(frozen=True, eq=False)
class Corner:
    """The friction of a contact: u_t times most / longest, with longest about max(most, |u_t|).

    t: u_t, (2,). slope, rise: those of the push and of `most` by u_n. over: slope of `longest` by
    the length of t.
    """

    t: Array
    slope: Any
    rise: Any
    most: Any
    length: Any
    longest: Any
    over: Any

    def slopes(self) -> tuple[Array, Array]:
        """Slopes of the friction by u_n, (2,), and by u_t, (2, 2)."""
        share = self.most / self.longest
        by_most = (1 - share * (1 - self.over)) / self.longest
        by_length = -share * self.over / self.longest
        by_t = np.eye(2, dtype=int) * share + np.outer(self.t, self.t) * (by_length / self.length)
        return self.t * (by_most * self.rise), by_t


@dataclass(frozen=True, eq=False)
class Round:
    """Numbers of a problem as the rounds read them: A, b, weights (N,), friction and limits."""

    A: Array
    b: Array
    weights: Array
    friction: Array
    limits: Array

    @staticmethod
    def of(problem: Problem) -> "Round":
        """The problem with rows that give way, and their weights.

        Both tangents of a contact have the larger eigenvalue of their block as weight.
        """
        n, m = len(problem.b), problem.contacts
        A = np.array(problem.A, dtype=object)
        weights = [A[i, i] + TINY for i in range(n)]
        for i in range(1, 3 * m, 3):
            half, across = (A[i, i] - A[i + 1, i + 1]) / 2, A[i, i + 1]
            mean = (A[i, i] + A[i + 1, i + 1]) / 2
            weights[i] = weights[i + 1] = mean + sqrt(half * half + across * across + TINY)
        pads = sum(A[i, i] for i in range(0, 3 * m, 3)) * (SHARING / max(m, 1))
        for i in range(3 * m):
            A[i, i] = A[i, i] + pads
        friction, limits = np.array(problem.friction), np.array(problem.limits, dtype=object)
        return Round(A, np.array(problem.b), np.array(weights), friction, limits.reshape(-1, 2))

    @property
    def flat(self) -> Array:
        """All numbers in one array; the half of A above the diagonal is left out."""
        half = [self.A[i, j] for i in range(len(self.b)) for j in range(i + 1)]
        return np.array([*half, *self.b, *self.weights, *self.friction, *self.limits.flat])

    @staticmethod
    def from_flat(flat: Array, n: int, m: int) -> "Round":
        """The inverse of `flat` for n rows and m contacts."""
        size = n * (n + 1) // 2
        half, b, weights, friction, limits = np.split(flat, np.cumsum([size, n, n, m]))
        at = [[max(i, j) * (max(i, j) + 1) // 2 + min(i, j) for j in range(n)] for i in range(n)]
        return Round(half[at], b, weights, friction, limits.reshape(-1, 2))

    def velocities(self, r: Array) -> Array:
        """w = A r + b, (N,)."""
        return self.A @ r + self.b

    @property
    def groups(self) -> tuple[range, range]:
        """The first rows of contacts, and the rows of joints."""
        m = 3 * len(self.friction)
        return range(0, m, 3), range(m, len(self.b))

    def stuck(self) -> Array:
        """Impulses that stop every contact that approaches the ground, and every joint, (N,)."""
        n, (contacts, joints) = len(self.b), self.groups
        holds: list[Any] = [x for i in contacts for x in [where(-self.b[i], 1, 0)] * 3]
        holds += [1 for _ in joints]
        rows = [[self.A[i, j] * (holds[i] * holds[j]) for j in range(n)] for i in range(n)]
        for i in range(n):
            rows[i][i] = rows[i][i] + self.weights[i] * (1 - holds[i])
        return eliminated(rows, [-self.b[i] * holds[i] for i in range(n)])

    def error(self, r: Array, w: Array, eps: Any) -> tuple[Array, list[Corner | Pair]]:
        """e with corners rounded by eps, (N,), and what its slopes are made of."""
        scaled, a = self.weights * r, self.weights
        u, allowed, corners = scaled - w, list[Any](), list[Corner | Pair]()
        contacts, joints = self.groups
        for i in contacts:
            push, slope = rounded(u[i], eps)
            steep = self.friction[i // 3] * (a[i + 1] / a[i])
            t = u[i + 1 : i + 3]
            length = sqrt(t @ t + eps * eps + TINY)
            most = steep * push
            over, share_over = rounded(length - most, eps)
            longest = most + over + TINY
            corners.append(Corner(t, slope, steep * slope, most, length, longest, share_over))
            allowed += [push, *(t * (most / longest))]
        for i, (low, high) in zip(joints, self.limits, strict=True):
            above, by_low = rounded(u[i] - a[i] * low, eps)
            over, by_high = rounded(above - a[i] * (high - low), eps)
            allowed.append(a[i] * low + above - over)
            corners.append((i, by_low * (1 - by_high)))
        return scaled - np.array(allowed), corners

    def newton(self, e: Array, corners: Sequence[Corner | Pair], more: Any) -> Array:
        """The step that makes e zero, (N,); more: by which part of its weight a row is stiffer."""
        a = self.weights
        B = np.diag(a) - self.A  # d u/d r
        rows = [list(row) for row in np.diag(a * (1 + more))]
        contacts, _ = self.groups
        for i, corner in zip(contacts, corners, strict=False):
            assert isinstance(corner, Corner)
            by_n, by_t = corner.slopes()
            rows[i] = [x - corner.slope * y for x, y in zip(rows[i], B[i], strict=True)]
            for k in range(2):
                parts = by_n[k] * B[i] + by_t[k, 0] * B[i + 1] + by_t[k, 1] * B[i + 2]
                rows[i + 1 + k] = [x - y for x, y in zip(rows[i + 1 + k], parts, strict=True)]
        for joint in corners[len(contacts) :]:
            assert not isinstance(joint, Corner)
            i, slope = joint
            rows[i] = [x - slope * y for x, y in zip(rows[i], B[i], strict=True)]
        return eliminated(rows, list(-e))

    def within(self, r: Array) -> Array:
        """Impulses moved into the cones and limits, by no more than e."""
        parts = list(r)
        contacts, joints = self.groups
        for i in contacts:
            push, x, y = maximum(r[i], 0), r[i + 1], r[i + 2]
            share = minimum(self.friction[i // 3] * push / sqrt(x * x + y * y + TINY), 1)
            parts[i : i + 3] = push, x * share, y * share
        for i, (low, high) in zip(joints, self.limits, strict=True):
            parts[i] = clip(r[i], low, high)
        return np.array(parts)


def solve_contacts(problem: Problem, rounds: int = ROUNDS) -> Solution:
    """Impulses that satisfy all conditions, with the residual that is left, over any scalars.

    rounds: how many at most; it ends as soon as the residual is TOLERANCE.
    """
    n, m = len(problem.b), problem.contacts
    round_ = Round.of(problem)
    scale = _scale(round_)
    most = scale * TOLERANCE
    r = round_.stuck()
    error = _square(round_.error(r, round_.velocities(r), 0)[0])
    is_open = where(scale, where(error - most * most, 1, 0), 0)
    near = where(START * START * scale * scale - error, 1, 0)  # else it begins anew
    r = where(near, r, 0 * r)
    eps = where(near, sqrt(error), scale * ROUNDED)
    carried = np.array([is_open, 0, where(near, error, scale * scale), eps, *r, *r])
    size = where(scale, scale, 1)
    fixed = np.concatenate([round_.flat, [most * most, 1 / size]])
    end = repeated(partial(_next, n, m), rounds, carried, fixed, solves=problem.smooth)
    residual = where(scale, sqrt(end[2]) / size, 0)
    r = round_.within(end[4 : 4 + n])
    if problem.smooth:  # by the implicit function theorem, at a solution without an error
        r, known = constant(r), Round.from_flat(constant(round_.flat), n, m)
        r = r + known.newton(*known.error(r, known.velocities(r), 0), 0)
        corners = known.error(r, known.velocities(r), 0)[1]
        r = r + known.newton(round_.error(r, round_.velocities(r), 0)[0], corners, 0)
    return Solution(r, residual, end[1], scale)


def _scale(problem: Round) -> Any:
    """Largest velocity of the contacts that would go into the ground, and of joints; 0: none."""
    scale: Any = 0
    contacts, joints = problem.groups
    for i in contacts:
        x, y, z = (absolute(problem.b[k]) for k in (i, i + 1, i + 2))
        scale = maximum(scale, where(-problem.b[i], maximum(maximum(x, y), z), 0))
    for i in joints:
        scale = maximum(scale, absolute(problem.b[i]))
    return scale


def _next(n: int, m: int, carried: Array, fixed: Array) -> Array:
    """One round; carried: open, rounds, e^2 and eps, the best impulses and the last, (N,) each."""
    problem, (enough, per_scale) = Round.from_flat(fixed[:-2], n, m), fixed[-2:]
    (_, rounds, error, eps), best, start = carried[:4], carried[4 : 4 + n], carried[4 + n :]
    w = problem.velocities(start)
    e, corners = problem.error(start, w, eps)
    step = problem.newton(e, corners, eps * per_scale)
    change = problem.A @ step
    r, v = start + step, w + change
    left = _square(problem.error(r, v, eps)[0])
    for t in LENGTHS[1:]:
        to, reached = start + step * t, w + change * t
        other = _square(problem.error(to, reached, eps)[0])
        better = where(left - other, 1, 0)
        r, v, left = where(better, to, r), where(better, reached, v), minimum(left, other)
    factor = where(left - STALLED * (e @ e), GROWING, 1)
    for times, share in SHRINKING:
        factor = where(times * times * eps * eps - left, share, factor)
    exact = _square(problem.error(r, v, 0)[0])
    smaller = where(error - exact, 1, 0)
    best, error = where(smaller, r, best), minimum(exact, error)
    return np.array([where(error - enough, 1, 0), rounds + 1, error, eps * factor, *best, *r])


def _square(e: Array) -> Any:
    return e @ e


def eliminated(rows: list[list[Any]], right: list[Array]) -> Array:
    """Solve M x = right, (N, k), without exchanging rows; not a number where a pivot vanishes."""
    n = len(right)
    rows, x = [list(row) for row in rows], list(right)
    for i in reversed(range(n)):
        inverse = 1 / where(absolute(rows[i][i]), rows[i][i], TINY)
        for j in range(i):
            share = rows[j][i] * inverse
            x[j] = x[j] - x[i] * share
            rows[j][:i] = [a - share * b for a, b in zip(rows[j][:i], rows[i][:i], strict=True)]
        rows[i] = [a * inverse for a in rows[i][:i]]
        x[i] = x[i] * inverse
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - x[j] * rows[i][j]
    return np.array(x)
