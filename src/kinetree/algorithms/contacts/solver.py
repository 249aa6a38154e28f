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

The search begins with all contacts stopped that approach the ground. Each round takes SWEEPS sweeps
of Gauss-Seidel, which approach a solution slowly and from anywhere, and one Newton step from the
better state so far, which ends the search once every contact is in its mode. The step is shortened
to the best of LENGTHS, or to the first cone that it leaves; where none makes e clearly smaller, the
search goes on from the sweeps. benchmarks/results/2026-11-17-contact-solver.md compares it with
others.

**Redundant forces.** A is singular where more points touch than the robot can push apart, as with
four legs or a flat foot. A Newton step then lets each row give way a little, SHARING times its
weight: forces are those of equal soft pads under all points. Where these would leave a friction
cone, as next to slipping on a slope, forces are the nearest to those of the sweeps. The motion is
the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.repeat import repeated
from kinetree.scalars import absolute, clip, maximum, minimum, sqrt, where

SHARING = 1e-10  # of A_ii: far above the rounding of a solved step, far below its accuracy
TOLERANCE = 1e-6  # of the residual, relative to the velocities into the ground
AIM = 1e-8  # of the residual in the first AIM_ROUNDS; most steps have it
AIM_ROUNDS = 4
ROUNDS = 40  # all of 10,000 steps of falling robots needed less; see the record
SWEEPS = 4
LENGTHS = (1, 0.5, 0.25, 0.125)  # of a Newton step
TRIALS = 2  # rounds that look for other forces of the same motion
PROGRESS = 0.8  # a Newton step is taken if it leaves less than this of e^2
TINY = 1e-300  # keeps quotients of zeros at zero


@dataclass(frozen=True, eq=False)
class Problem:
    """Contacts in rows (normal, two tangents) of A, (N, N), and b, (N,), then dry joint friction.

    A: symmetric, m/s for a unit impulse. b: velocities without impulses, m/s or rad/s, with those
    that close gaps and rebound. friction: mu of every contact, (m,). limits: least and largest
    impulse of every joint with dry friction, k pairs; N = 3 m + k.
    """

    A: Array
    b: Array
    friction: Sequence[Any]
    limits: Sequence[tuple[Any, Any]] = ()

    @property
    def contacts(self) -> int:
        """Count of contacts."""
        return len(self.friction)


@dataclass(frozen=True, eq=False)
class Solution:
    """impulses: (N,), N s or N m s. residual: relative, 0 where nothing touches. rounds: taken."""

    impulses: Array
    residual: Any
    rounds: Any


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
            weights[i] = weights[i + 1] = mean + sqrt(half * half + across * across) + TINY
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

    def bounded(self, i: int, u: Array) -> tuple[Any, Any, Any]:
        """Of a contact at row i: max(0, u_n), the most that a u_t may measure, and |u_t|."""
        a, x, y = self.weights, u[i + 1], u[i + 2]
        push = maximum(u[i], 0)
        most = self.friction[i // 3] * (a[i + 1] / a[i]) * push
        return push, most, sqrt(x * x + y * y + TINY)

    def error(self, r: Array, w: Array) -> Any:
        """Square of the length of e."""
        scaled = self.weights * r
        u, allowed = scaled - w, list[Any]()
        contacts, joints = self.groups
        for i in contacts:
            push, most, length = self.bounded(i, u)
            share = minimum(most / length, 1)
            allowed += [push, u[i + 1] * share, u[i + 2] * share]
        for i, (low, high) in zip(joints, self.limits, strict=True):
            allowed.append(clip(u[i], self.weights[i] * low, self.weights[i] * high))
        e = scaled - np.array(allowed)
        return e @ e

    def swept(self, r: Array) -> Array:
        """Impulses after one sweep: each contact and joint moved by its own velocities.

        A contact that would stick alone gets the impulse that stops it. One that would slip gets
        the normal impulse that stops it with friction along its direction so far, and friction by
        a projected step.
        """
        r, a = list(r), self.weights
        contacts, joints = self.groups
        for i in contacts:
            mu, A = self.friction[i // 3], self.A[i : i + 3, i : i + 3]
            w = np.array([self._velocity(j, r) for j in range(i, i + 3)])
            v = w - A @ np.array(r[i : i + 3])
            push, x, y = eliminated(A.tolist(), list(-v))
            sticks = where(push, where(mu * mu * push * push - x * x - y * y, 1, 0), 0)
            t = np.array(r[i + 1 : i + 3]) - w[1:] / a[i + 1]
            steep = A[0, 0] + mu * (A[0, 1:] @ t) / sqrt(t @ t + TINY)
            slip = maximum(r[i] - w[0] / maximum(steep, a[i] / 4), 0)
            t = t - A[1:, 0] * (slip - r[i]) / a[i + 1]
            t = t * minimum(mu * slip / sqrt(t @ t + TINY), 1)
            after = where(sticks, np.array([push, x, y]), np.array([slip, *t]))
            r[i : i + 3] = where(-v[0], after, 0)
        for i, (low, high) in zip(joints, self.limits, strict=True):
            r[i] = clip(r[i] - self._velocity(i, r) / a[i], low, high)
        return np.array(r)

    def _velocity(self, i: int, r: Sequence[Any]) -> Any:
        return self.A[i] @ np.array(r) + self.b[i]

    def slips(self, r: Array, w: Array) -> list[Any]:
        """1 for every contact that u shows to slip, 0 for others, (m,)."""
        u, flags = self.weights * r - w, list[Any]()
        for i in self.groups[0]:
            _, most, length = self.bounded(i, u)
            flags.append(where(u[i], where(length - most * (1 + SHARING), 1, 0), 0))
        return flags

    def newton(self, r: Array, w: Array) -> Array:
        """Steps to e = 0 with all contacts and joints in the modes that u shows, (N, 2).

        The first leads to the forces of soft pads, the second to the nearest forces.
        """
        n, a = len(r), self.weights
        u, slipping = a * r - w, self.slips(r, w)
        pads = a * SHARING
        A, one = self.A + np.diag(pads), np.ones(2, int)
        rows: list[list[Any]] = []
        right: list[Any] = []
        w = np.array([w + pads * r, w]).T
        unit = np.eye(n, dtype=int)
        contacts, joints = self.groups
        for i in contacts:
            _, most, length = self.bounded(i, u)
            touches, slips = where(u[i], 1, 0), slipping[i // 3]
            rows.append(list(A[i] * touches + unit[i] * (a[i] * (1 - touches))))
            right.append(-(w[i] * touches + one * (a[i] * r[i] * (1 - touches))))
            d = u[i + 1 : i + 3] / length
            # Q: how far the velocity decides along each tangent: fully where the point sticks,
            # across its direction where it slips, not at all where it is open
            across = slips * minimum(most / length, 1)
            sticks = touches - slips
            Q = [
                [sticks + across * (1 - d[0] * d[0]), -across * d[0] * d[1]],
                [-across * d[0] * d[1], sticks + across * (1 - d[1] * d[1])],
            ]
            rub = slips * self.friction[i // 3] * a[i + 1]
            for k, (q_x, q_y) in enumerate(Q):
                j = i + 1 + k
                row = A[i + 1] * q_x + A[i + 2] * q_y
                row = row + (unit[j] - unit[i + 1] * q_x - unit[i + 2] * q_y) * a[j]
                rows.append(list(row - unit[i] * (rub * d[k])))
                # a sticking point has no velocity afterwards, any other one the friction of r_n
                end = rub * d[k] * r[i] - a[j] * r[j] * (1 - sticks)
                right.append(one * end - w[j] * sticks)
        for i, (low, high) in zip(joints, self.limits, strict=True):
            allowed = clip(u[i], a[i] * low, a[i] * high)
            sticks = 1 - where(absolute(u[i] - allowed), 1, 0)
            rows.append(list(A[i] * sticks + unit[i] * (a[i] * (1 - sticks))))
            end = allowed - a[i] * r[i]
            right.append(one * (end * (1 - sticks)) - w[i] * sticks)
        return eliminated(rows, right)

    def stuck(self) -> Array:
        """Impulses that stop every contact that approaches the ground, and every joint, (N,)."""
        n, (contacts, joints) = len(self.b), self.groups
        holds: list[Any] = [x for i in contacts for x in [where(-self.b[i], 1, 0)] * 3]
        holds += [1 for _ in joints]
        A = self.A + np.diag(self.weights * SHARING)
        unit = np.eye(n, dtype=int)
        rows = [A[i] * x + unit[i] * (self.weights[i] * (1 - x)) for i, x in enumerate(holds)]
        return eliminated([list(row) for row in rows], list(-self.b * np.array(holds)))

    def to_cone(self, r: Array, w: Array, x: Array) -> Any:
        """Part of a step x from r after which the first sticking contact is on its cone, up to 1.

        mu^2 (r_n + t x_n)^2 = |r_t + t x_t|^2, as A t^2 + 2 B t + C = 0 with C > 0.
        """
        u, t = self.weights * r - w, 1
        for i in self.groups[0]:
            _, most, length = self.bounded(i, u)
            mu2 = self.friction[i // 3] * self.friction[i // 3]
            A, B, C = (
                mu2 * a[0] * b[0] - a[1] * b[1] - a[2] * b[2]
                for a, b in ((x[i : i + 3],) * 2, (r[i : i + 3], x[i : i + 3]), (r[i : i + 3],) * 2)
            )
            square = B * B - A * C
            below = sqrt(maximum(square, 0)) - B
            leaves = where(most - length, 1, 0) * where(C, 1, 0) * where(below, 1, 0)
            t = minimum(t, where(leaves * where(-square, 0, 1), C / where(below, below, 1), 1))
        return t

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

    rounds: how many at most; it ends as soon as the residual is AIM, later TOLERANCE: corners of a
    flat foot at slightly different heights cannot all rest exactly.
    """
    n, m = len(problem.b), problem.contacts
    round_ = Round.of(problem)
    scale = _scale(round_)
    most = scale * AIM
    start = round_.stuck()
    error = round_.error(start, round_.velocities(start))
    # not yet solved: the first round looks whether other forces suit better
    start = np.array([where(scale, 1, 0), 0, maximum(error, 2 * most * most), 0, *start])
    carried = np.concatenate([start, np.zeros(n, int)])
    fixed = np.concatenate([round_.flat, [most * most]])
    end = repeated(partial(_next, n, m), rounds, carried, fixed)
    size = where(scale, scale, 1)
    residual = where(scale, sqrt(end[2]) / size, 0)
    return Solution(round_.within(end[4 : 4 + n]), residual, end[1])


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
    """One round; carried: open, rounds, e^2, trials, and impulses of search and sweeps, (N,) each.

    trials: rounds after the first solution, in which forces of soft pads were looked for.
    """
    problem, enough = Round.from_flat(fixed[:-1], n, m), fixed[-1]
    error, trials, r, swept = carried[2], carried[3], carried[4 : 4 + n], carried[4 + n :]
    solved = where(enough - error, 1, 0)
    for _ in range(SWEEPS):
        swept = problem.swept(swept)
    w = problem.velocities(swept)
    e_swept = problem.error(swept, w)
    # the first round begins with the sweeps, the second with the contacts stopped if that failed
    first, second = where(1 - carried[1], 1, 0), where(2 - carried[1], 1, 0)
    better = where(first, 1, where(second, 0, where(error - e_swept, 1 - solved, 0)))
    start, keep = where(better, swept, r), maximum(solved, first)
    fallback = where(keep, r, swept), where(keep, error, e_swept)
    w = where(better, w, problem.velocities(r))
    error = where(better, e_swept, error)
    steps = problem.newton(start, w)
    changes = problem.A @ steps
    cone = problem.to_cone(start, w, steps[:, 1])
    least, shared = maximum(error * PROGRESS, enough), 0
    r, error = fallback
    for k, t in ((0, 1), *((1, t) for t in LENGTHS), (1, cone)):
        to = start + steps[:, k] * t
        left = problem.error(to, w + changes[:, k] * t)
        shorter = least - left
        r, error = where(shorter, to, r), where(shorter, left, error)
        least = where(shorter, where(enough - left, 0, left), least)  # 0: it is solved
        if k == 0:  # forces of pads, unless a contact that slipped at the start now sticks
            pairs = zip(problem.slips(start, w), problem.slips(to, w + changes[:, 0]), strict=True)
            stopped = sum((maximum(a - b, 0) for a, b in pairs), 0)
            shared = where(enough - left, where(stopped, 0, 1), 0)
    trials = trials + solved
    again = where(TRIALS - trials, 1 - shared, 0)
    early = where(AIM_ROUNDS - 1 - carried[1], 1, 0)
    is_open = where(error - enough, where(error - enough * (TOLERANCE / AIM) ** 2, 1, early), again)
    return np.array([is_open, carried[1] + 1, error, trials, *r, *swept])


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
