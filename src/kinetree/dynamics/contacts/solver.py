"""Impulses of contacts and of dry joint friction in one step: one problem, solved together.

With w the velocities at the end of the step, which are linear in the impulses r, every contact
satisfies, exactly,

    0 <= r_n,  w_n >= 0,  r_n w_n = 0                  it pushes or it leaves
    |r_t| <= mu r_n,  r_t = -mu r_n w_t / |w_t|        Coulomb's friction in the round cone

where the last holds if w_t is not 0, and every joint with dry friction low <= r <= high, with
r = low where w > 0 and r = high where w < 0. In units of velocity, with u = a r - w and a the
weight of a row, that is one equation e(r) = 0,

    e_n = a r_n - max(0, u_n),   e_t = a r_t - u_t min(1, mu max(0, u_n) / |u_t|)

and for a joint e = a r - clip(u, a low, a high). The length of e, relative to the velocities
into the ground that the step begins with, is the residual.

**Newton's method, with rounded corners.** max(0, x) is (x + sqrt(x^2 + 4 eps^2)) / 2, and likewise
for the cone and for limits. eps shrinks with the error, and grows where a round does not make the
error smaller, so that the search does not stop at a corner, and not always by as much, so that it
does not go round in circles. With dry friction in joints, steps that make e larger are shortened in
some rounds (DAMPED), which helps there and hinders contacts alone. The impulses of the round with
the smallest e are the result.
benchmarks/results/2026-11-18-contact-solver.md compares variants.

**Carriers.** Several contacts of one link move with its twist: their velocities are w = X V + b
with V = A X^T r, where V has six entries for a link, however many contacts it has (`Seat`). With
e = 0 linearised, P dr + S X dV = -e for each contact by itself, and dV = A X^T dr, a round solves

    (A^-1 + sum X^T P^-1 S X) dV = -sum X^T P^-1 e

which has the size of V, 12 for a humanoid on two feet.

**Restitution.** Newton's law can gain energy, because it fixes the velocity after an impact and not
the work of the impulses: with friction, or where contacts of different restitution hit at once.
Where r (v + w) / 2 is positive, with v and w the velocities before and after all impulses, the
rebound is halved and the rounds go on, until there is no gain. Without friction one restitution of
all contacts gains none. Robots that stand apart in one model are looked at one by one (`trees`).

**Redundant forces.** More points touch than the robot can push apart with four legs or a flat foot.
All points of a link have soft pads of one softness, SHARING times the mean of their A_nn; they
decide on forces that the motion leaves open. The velocities of contact change by this share.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.repeat import constant, repeated
from kinetree.scalars import absolute, clip, maximum, minimum, sqrt, where
from kinetree.spatial import cross, skew
from kinetree.spatial.matrices import InverseFactor, factor

SHARING = 1e-6  # of the mean of A_nn with compliance: the softness of pads of a link's contacts
HOLDING = 1e-12  # of A_ii: the softness of a joint that friction holds
REGULAR = (
    1e-9  # of A_ii, added to it before A is inverted; rounds converge by this factor or faster
)
TOLERANCE = 1e-8  # of the residual, relative to the velocities into the ground
FINE = 1e-10  # the same where one more round reaches it: pads move velocities by SHARING alone
ROUNDS = 80  # 1 of 10,000 steps of G1 needs more, with dry joints up to 70; see the record
DAMPED, SHORTER = ((20, 40), (60, 80)), 0.3  # rounds that try this share of a step, too
ROUNDED = 0.3  # eps of the first round, of the velocities into the ground
# where the error is below so many eps, eps is multiplied by this
SHRINKING = ((30, 0.3), (3, 0.1), (0.3, 0.01), (0.03, 0.001))
STALLED = 0.8  # where a round leaves so much of e^2, eps is multiplied by one of GROWING, in turn
GROWING = (3, 3, 10)
GAIN = 1e-6  # of r A r: work of the impulses that counts as a gain of energy
LEAST_REBOUND = 0.1  # of the restitution: where less would be left there is none
START = 0.3  # e of contacts that stop, relative, with which the search begins there
TINY = 1e-300  # keeps quotients of zeros at zero


@dataclass(frozen=True, eq=False)
class Seat:
    """A contact on its carrier: its velocities are w = X V for the rows V of A from `first` on.

    With an arm p, (3,), V is the twist (omega, v) of a link at a point, in {s}, p leads from there
    to the contact, and X = axes [-[p], 1] with the normal and two tangents in the rows of `axes`,
    (3, 3). Without an arm, V are the three velocities of the contact.
    """

    first: int
    arm: Array | None = None
    axes: Array | None = None

    @property
    def rows(self) -> slice:
        """The rows of A."""
        return slice(self.first, self.first + (3 if self.arm is None else 6))

    def velocities(self, V: Array) -> Array:
        """X V, (3,), for all rows V of A, (D,)."""
        V = V[self.rows]
        if self.arm is None:
            return V
        return self.axes @ (V[3:] + cross(V[:3], self.arm))

    def impulses(self, r: Array) -> Array:
        """X^T r, the impulses along the rows, for those of the contact, (3,)."""
        if self.arm is None:
            return r
        force = self.axes.T @ r  # type: ignore[union-attr]
        return np.concatenate([cross(self.arm, force), force])

    def stiffness(self, K: Array) -> Array:
        """X^T K X for K, (3, 3)."""
        if self.arm is None:
            return K
        K, P = self.axes.T @ K @ self.axes, skew(self.arm)  # type: ignore[union-attr]
        return np.block([[P @ K @ P.T, P @ K], [K @ P.T, K]])

    def response(self, A: Array) -> Array:
        """X A X^T, (3, 3): velocities of the contact for its own impulses."""
        A = A[self.rows, self.rows]
        if self.arm is None:
            return A
        X = self.axes @ np.concatenate([skew(self.arm).T, np.eye(3, dtype=int)], axis=1)
        return X @ A @ X.T


@dataclass(frozen=True, eq=False)
class Problem:
    """Contacts with their normals and two tangents, and joints with dry friction after them.

    A: symmetric, (D, D), velocities of the carriers for unit impulses, those of the k joints last.
    b: velocities without impulses, (N,) with N = 3 m + k, m/s or rad/s, and those that close gaps
    and rebound. friction: mu of every contact, (m,). limits: least and largest impulse of every
    joint, k pairs. seats: of the contacts; None: each has rows of its own, in their order.
    softness: of the normals, (m,), m/s for a unit impulse. smooth: the impulses have derivatives by
    A, b and friction, one-sided where a contact is between two modes. rebound: None without
    restitution, else the part of b of every normal that is due to it, (m,), and the velocities
    without impulses, (N,), without those that close gaps. links: the number of every contact's
    link, (m,). trees: that of the tree, from 0 on, of every contact and joint, (m + k,), which do
    not move one another. None: one for all.
    """

    A: Array
    b: Array
    friction: Sequence[Any]
    limits: Sequence[tuple[Any, Any]] = ()
    seats: Sequence[Seat] | None = None
    softness: Any = 0
    smooth: bool = False
    rebound: tuple[Array, Array] | None = None
    links: Sequence[int] | None = None
    trees: Sequence[int] | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """impulses: (N,), N s or N m s. residual: relative, 0 where nothing touches. rounds: taken.

    carried: impulses along the rows of A, (D,). scale: largest velocity into the ground, and of
    joints, before the impulses. weights: of the normals, (m,), m/s for a unit impulse.
    """

    impulses: Array
    carried: Array
    residual: Any
    rounds: Any
    scale: Any
    weights: Array


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of the impulses that are allowed for u, in units of velocity, of a contact.

    Those of the normal by u_n: normal; of the tangents by u_n: t times by_normal; of the tangents
    by u_t: share + along t t^T.
    """

    t: Array
    normal: Any
    by_normal: Any
    share: Any
    along: Any


def rounded(x: Any, eps: Any) -> tuple[Any, Any]:
    """max(0, x) with a corner that is rounded by eps, and its slope."""
    root = sqrt(x * x + 4 * eps * eps + TINY)
    return (x + root) / 2, (1 + x / root) / 2


@dataclass(frozen=True, eq=False)
class Contact:
    """Numbers of a contact: weights and softness of its normal and tangents, friction, seat.

    steep: friction in units of velocity, mu times the weight of the tangents over the normal's.
    """

    seat: Seat
    a: tuple[Any, Any]
    soft: tuple[Any, Any]
    mu: Any
    steep: Any

    @property
    def scaled(self) -> Array:
        """The weights of its three rows."""
        return np.array([self.a[0], self.a[1], self.a[1]])

    def within(self, r: Array) -> Array:
        """Impulses moved into the cone."""
        push, (x, y) = maximum(r[0], 0), r[1:]
        share = minimum(self.mu * push / sqrt(x * x + y * y + TINY), 1)
        return np.array([push, x * share, y * share])

    def error(self, r: Array, w: Array) -> Array:
        """e of the contact, (3,)."""
        scaled = self.scaled * r
        u = scaled - w
        push, (x, y) = maximum(u[0], 0), u[1:]
        most = self.steep * push
        share = minimum(most / sqrt(x * x + y * y + TINY), 1)
        return np.array([scaled[0] - push, scaled[1] - x * share, scaled[2] - y * share])

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, Slopes]:
        """The same with corners that are rounded by eps, and its slopes.

        Friction is u_t times most / longest, with `longest` about max(most, |u_t|).
        """
        scaled = self.scaled * r
        u = scaled - w
        t = u[1:]
        push, slope = rounded(u[0], eps)
        most, length = self.steep * push, sqrt(t @ t + eps * eps + TINY)
        over, by_over = rounded(length - most, eps)
        per_longest = 1 / (most + over + TINY)
        share = most * per_longest
        slopes = Slopes(
            t,
            slope,
            (1 - share * (1 - by_over)) * per_longest * (self.steep * slope),
            share,
            -share * by_over * per_longest / length,
        )
        return scaled - np.array([push, *(t * share)]), slopes

    def eliminated(self, e: Array, s: Slopes, more: Any) -> tuple[Array, Array]:
        """P^-1 e, (3,), and P^-1 S, (3, 3), of this contact.

        P = a (1 + more) - S (a - soft); more: by which part of its weight a row is stiffer. P is
        written without differences of numbers that are equal where a contact sticks.
        """
        (a, a_t), (soft, soft_t) = self.a, self.soft
        per_n = 1 / (a * (1 - s.normal + more) + s.normal * soft)
        across = a_t * (1 - s.share + more) + s.share * soft_t
        kappa = s.along * (a_t - soft_t)
        stiff = across - kappa * (s.t @ s.t)  # along t
        per_both = 1 / (across * stiff)
        n, tied = e[0] * per_n, s.by_normal * (a - soft)
        right = e[1:] + s.t * (tied * n)
        along = kappa * (s.t @ right)
        x = np.array([n, *((right * stiff + s.t * along) * per_both)])
        K_n = s.normal * per_n
        K_t = s.t * ((s.by_normal + tied * K_n) * (across * per_both))
        K_0, K_1 = s.share * (stiff * per_both), (s.along * across + s.share * kappa) * per_both
        (t, v), zero = s.t, 0
        crossed = K_1 * t * v
        K = [[K_n, zero, zero], [K_t[0], K_0 + K_1 * t * t, crossed],
             [K_t[1], crossed, K_0 + K_1 * v * v]]  # fmt: skip
        return x, np.array(K, dtype=object)


@dataclass(frozen=True, eq=False)
class Shape:
    """What is the same in every round: D, seats as (first, has an arm), and the count of joints.

    trees: of contacts and joints, if contacts rebound, else none.
    """

    size: int
    seats: tuple[tuple[int, bool], ...]
    joints: int
    trees: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Round:
    """Numbers of a problem as the rounds read them.

    inverse: of A, (D, D). weights: of the joints, (k,). limits: (k, 2). rebound: as in `Problem`.
    """

    A: Array
    inverse: Array
    b: Array
    contacts: Sequence[Contact]
    weights: Array
    limits: Array
    rebound: tuple[Array, Array] | None
    trees: tuple[int, ...] = ()

    @staticmethod
    def of(problem: Problem) -> "Round":
        """The problem with rows that give way, and their weights.

        Both tangents of a contact have the larger eigenvalue of their block as weight.
        """
        A, m = np.array(problem.A, dtype=object), len(problem.friction)
        seats = [Seat(3 * k) for k in range(m)] if problem.seats is None else problem.seats
        responses = [seat.response(A) for seat in seats]
        links = [0] * m if problem.links is None else problem.links
        contacts: list[Contact] = []
        for seat, x, mu, link in zip(seats, responses, problem.friction, links, strict=True):
            own = [y[0, 0] for y, other in zip(responses, links, strict=True) if other == link]
            pads = (sum(own) * (1 / len(own)) + problem.softness) * SHARING
            half, across, mean = (x[1, 1] - x[2, 2]) / 2, x[1, 2], (x[1, 1] + x[2, 2]) / 2
            largest = mean + sqrt(half * half + across * across + TINY)
            a = x[0, 0] + problem.softness + TINY, largest
            soft = pads + problem.softness, pads
            contacts.append(Contact(seat, a, soft, mu, mu * (a[1] / a[0])))
        more = np.diag([A[i, i] * REGULAR + TINY for i in range(len(A))])
        inverse = InverseFactor(factor(A + more, None)).matrix() if len(A) else A
        limits = np.array(problem.limits, dtype=object).reshape(-1, 2)
        joints = [A[i, i] + TINY for i in range(len(A) - len(limits), len(A))]
        b, weights = np.array(problem.b), np.array(joints)
        trees = [0] * (m + len(limits)) if problem.trees is None else problem.trees
        return Round(A, inverse, b, contacts, weights, limits, problem.rebound, tuple(trees))

    @property
    def shape(self) -> Shape:
        """The shape of the problem."""
        seats = tuple((x.seat.first, x.seat.arm is not None) for x in self.contacts)
        trees = () if self.rebound is None else self.trees
        return Shape(len(self.A), seats, len(self.limits), trees)

    @property
    def flat(self) -> Array:
        """All numbers in one array; the halves of A and of its inverse above the diagonal not."""
        numbers: list[Any] = []
        for X in (self.A, self.inverse):
            numbers += [X[i, j] for i in range(len(X)) for j in range(i + 1)]
        for x in self.contacts:
            numbers += [*x.a, *x.soft, x.mu, x.steep]
            if x.seat.arm is not None:
                numbers += [*x.seat.arm, *x.seat.axes.flat]  # type: ignore[union-attr]
        numbers += [] if self.rebound is None else [*self.rebound[0], *self.rebound[1]]
        return np.array([*self.b, *self.weights, *self.limits.flat, *numbers])

    @staticmethod
    def from_flat(shape: Shape, flat: Array) -> "Round":
        """The inverse of `flat`."""
        numbers, n = iter(flat), shape.size
        take = lambda count: np.array([next(numbers) for _ in range(count)])  # noqa: E731
        at = [[max(i, j) * (max(i, j) + 1) // 2 + min(i, j) for j in range(n)] for i in range(n)]
        m, k = len(shape.seats), shape.joints
        b, weights, limits = take(3 * m + k), take(k), take(2 * k).reshape(-1, 2)
        A, inverse = (take(n * (n + 1) // 2)[at] if n else np.zeros((0, 0)) for _ in range(2))
        contacts: list[Contact] = []
        for first, has_arm in shape.seats:
            a, a_t, soft, soft_t, mu, steep = take(6)
            seat = Seat(first, take(3), take(9).reshape(3, 3)) if has_arm else Seat(first)
            contacts.append(Contact(seat, (a, a_t), (soft, soft_t), mu, steep))
        rebound = (take(m), take(3 * m + k)) if shape.trees else None
        return Round(A, inverse, b, contacts, weights, limits, rebound, shape.trees)

    def rebounding(self, shares: Array) -> "Round":
        """The problem with a share of the restitution for every tree."""
        if self.rebound is None:
            return self
        b = list(self.b)
        for k, part in enumerate(self.rebound[0]):
            b[3 * k] = b[3 * k] - part * (1 - shares[self.trees[k]])
        return replace(self, b=np.array(b))

    def gains(self, r: Array, w: Array) -> Array:
        """1 where the impulses gain energy, else 0, of every tree."""
        assert self.rebound is not None
        work: list[Any] = [0] * (max(self.trees) + 1)
        m = len(self.contacts)
        rows = [range(3 * k, 3 * k + 3) for k in range(m)]
        rows += [range(i, i + 1) for i in range(3 * m, len(r))]
        for tree, own in zip(self.trees, rows, strict=True):
            at = list(own)
            change = r[at] @ (w - self.b)[at]
            work[tree] = work[tree] + (r[at] @ self.rebound[1][at] + change * (0.5 - GAIN))
        return np.array([where(x, 1, 0) for x in work])

    def velocities(self, r: Array) -> Array:
        """w of all rows for impulses r, (N,)."""
        V, parts = self.A @ self.carried(r), list[Any]()
        for k, x in enumerate(self.contacts):
            own = r[3 * k : 3 * k + 3] * np.array([x.soft[0], x.soft[1], x.soft[1]])
            parts += list(x.seat.velocities(V) + own)
        joints = len(V) - len(self.limits)
        return np.array([*parts, *V[joints:]]) + self.b

    def carried(self, r: Array) -> Array:
        """Impulses along the rows of A, (D,), for those of all contacts and joints, (N,)."""
        total: list[Any] = [0] * len(self.A)
        for k, x in enumerate(self.contacts):
            part = x.seat.impulses(r[3 * k : 3 * k + 3])
            for i, value in zip(range(len(total))[x.seat.rows], part, strict=True):
                total[i] = total[i] + value
        joints = len(total) - len(self.limits)
        return np.array([*total[:joints], *r[3 * len(self.contacts) :]], dtype=object)

    def scale(self) -> Any:
        """Largest velocity of the contacts that would go into the ground, and of joints."""
        scale: Any = 0
        for i in range(0, 3 * len(self.contacts), 3):
            x, y, z = (absolute(self.b[k]) for k in (i, i + 1, i + 2))
            scale = maximum(scale, where(-self.b[i], maximum(maximum(x, y), z), 0))
        for v in self.b[3 * len(self.contacts) :]:
            scale = maximum(scale, absolute(v))
        return scale

    def error(self, r: Array, w: Array) -> Any:
        """e^2, with exact corners."""
        total: Any = 0
        for k, x in enumerate(self.contacts):
            e = x.error(r[3 * k : 3 * k + 3], w[3 * k : 3 * k + 3])
            total = total + e @ e
        for i, a, (low, high) in self._joints():
            e = a * r[i] - clip(a * r[i] - w[i], a * low, a * high)
            total = total + e * e
        return total

    def within(self, r: Array) -> Array:
        """Impulses moved into the cones and limits, by no more than e."""
        parts: list[Any] = []
        for k, x in enumerate(self.contacts):
            parts += list(x.within(r[3 * k : 3 * k + 3]))
        return np.array([*parts, *(clip(r[i], low, high) for i, _, (low, high) in self._joints())])

    def stuck(self) -> Array:
        """Impulses that stop every contact that approaches the ground, and every joint, (N,)."""
        parts: list[Slopes | Any] = []
        e = list(self.b)
        for k in range(len(self.contacts)):
            holds = where(-self.b[3 * k], 1, 0)
            parts.append(Slopes(np.array([0, 0]), holds, 0, holds, 0))
            e[3 * k : 3 * k + 3] = [holds * x for x in e[3 * k : 3 * k + 3]]
        parts += [1 for _ in self.limits]
        return self.step(np.array(e), parts, 0)

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, list[Slopes | Any]]:
        """e of all rows with corners rounded by eps, (N,), and its slopes."""
        errors, parts = list[Any](), list[Slopes | Any]()
        for k, x in enumerate(self.contacts):
            at = slice(3 * k, 3 * k + 3)
            e, slopes = x.rounded(r[at], w[at], eps)
            errors += list(e)
            parts.append(slopes)
        for i, a, (low, high) in self._joints():
            u = a * r[i] - w[i]
            above, by_low = rounded(u - a * low, eps)
            over, by_high = rounded(above - a * (high - low), eps)
            errors.append(a * r[i] - (a * low + above - over))
            parts.append(by_low * (1 - by_high))
        return np.array(errors), parts

    def step(self, e: Array, slopes: Sequence[Any], more: Any) -> Array:
        """dr, (N,), from P dr + S X dV = -e and dV = A X^T dr; see the top of this file.

        more: by which part of its weight a row is stiffer.
        """
        B, right = self.inverse.astype(object), [0] * len(self.A)
        solved: list[tuple[Array, Array]] = []
        for k, x in enumerate(self.contacts):
            free, K = x.eliminated(e[3 * k : 3 * k + 3], slopes[k], more)
            B[x.seat.rows, x.seat.rows] = B[x.seat.rows, x.seat.rows] + x.seat.stiffness(K)
            for i, part in zip(range(len(B))[x.seat.rows], x.seat.impulses(free), strict=True):
                right[i] = right[i] - part
            solved.append((free, K))
        first = len(B) - len(self.limits)
        for d, (i, a, _) in enumerate(self._joints(), first):
            slope = slopes[i - 2 * len(self.contacts)]
            per = 1 / (a * (1 - slope + more) + slope * (a * HOLDING))
            B[d, d], right[d] = B[d, d] + slope * per, -e[i] * per
        dV = _eliminated(B, right)
        parts: list[Any] = []
        for x, (free, K) in zip(self.contacts, solved, strict=True):
            parts += list(-free - K @ x.seat.velocities(dV))
        # A^-1 dV, because a difference of nearly equal numbers would be left of e and dV
        return np.array([*parts, *(self.inverse[first:] @ dV)])

    def _joints(self) -> list[tuple[int, Any, Array]]:
        """Row, weight and limits of every joint."""
        first = 3 * len(self.contacts)
        pairs = zip(self.weights, self.limits, strict=True)
        return [(first + k, a, limits) for k, (a, limits) in enumerate(pairs)]


def solve_contacts(problem: Problem, rounds: int = ROUNDS) -> Solution:
    """Impulses that satisfy all conditions, with the residual that is left, over any scalars.

    rounds: how many at most; it ends a round after the residual is TOLERANCE, or where it is FINE.
    """
    round_ = Round.of(problem)
    scale = round_.scale()
    most = scale * TOLERANCE
    r = round_.stuck()
    w = round_.velocities(r)
    error = round_.error(r, w)
    fine = scale * FINE
    is_open = where(scale, where(error - fine * fine, 1, 0), 0)
    if problem.rebound is not None:
        is_open = where(scale, 1, 0)  # a round looks at the energy
    near = where(START * START * scale * scale - error, 1, 0)  # else it begins anew
    r, w = where(near, r, 0 * r), where(near, w, round_.b)
    error = where(near, error, scale * scale)
    eps = where(near, sqrt(error), scale * ROUNDED)
    n, size = len(r), where(scale, scale, 1)
    trees = len(set(round_.shape.trees))
    carried = np.array([is_open, 0, 0, error, error, eps, *[1] * trees, *r, *r, *w])
    fixed = np.concatenate([round_.flat, [most * most, fine * fine, scale, 1 / size]])
    end = repeated(
        functools.partial(_next, round_.shape), rounds, carried, fixed, solves=problem.smooth
    )
    residual = where(scale, sqrt(end[3]) / size, 0)
    shares, best = np.split(end[6 : 6 + trees + n], [trees])
    round_, r = round_.rebounding(shares), round_.within(best)
    if problem.smooth:  # by the implicit function theorem, at a solution without an error
        r, known = constant(r), Round.from_flat(round_.shape, constant(round_.flat))
        r = r + known.step(*known.rounded(r, known.velocities(r), 0), 0)
        slopes = known.rounded(r, known.velocities(r), 0)[1]
        for _ in range(2):  # the second step takes the share REGULAR out of the derivatives
            e = round_.rounded(r, round_.velocities(r), 0)[0]
            r = r + known.step(e, slopes, 0)
    weights = np.array([x.a[0] for x in round_.contacts])
    return Solution(r, round_.carried(r), residual, end[1], scale, weights)


def _next(shape: Shape, carried: Array, fixed: Array) -> Array:
    """One round.

    carried: open, rounds, rounds modulo those of GROWING, least and last e^2, eps, the share of the
    restitution of every tree, the best and the last impulses, and the last w.
    """
    _, rounds, turn, least, last, eps = carried[:6]
    n, (enough, fine, scale, per_scale) = 3 * len(shape.seats) + shape.joints, fixed[-4:]
    elastic, best, r, w = np.split(carried[6:], len(carried) - 6 - np.array([3, 2, 1]) * n)
    problem = Round.from_flat(shape, fixed[:-4]).rebounding(elastic)
    step = problem.step(*problem.rounded(r, w, eps), eps * per_scale)
    start, before = r, w
    r, w = start + step, problem.velocities(start + step)
    error, change = problem.error(r, w), w - before
    if shape.joints:
        damped = sum(
            where(rounds - first + 0.5, 1, 0) * where(end - 0.5 - rounds, 1, 0)
            for first, end in DAMPED
        )
        shorter, reached = start + step * SHORTER, before + change * SHORTER
        other = problem.error(shorter, reached)
        better = damped * where(error - last, 1, 0) * where(error - other, 1, 0)
        r, w = where(better, shorter, r), where(better, reached, w)
        error = where(better, other, error)
    grown: Any = GROWING[0]
    for k, growing in enumerate(GROWING[1:]):
        grown = where(turn - (k + 0.5), growing, grown)
    factor = where(error - STALLED * last, grown, 1)
    for times, share in SHRINKING:
        factor = where(times * times * eps * eps - error, share, factor)
    turn = where(len(GROWING) - 1.5 - turn, turn + 1, 0)
    best = where(where(least - error, 1, 0), r, best)
    was, least = least, minimum(error, least)
    is_open = where(was - enough, 1, 0) * where(least - fine, 1, 0)
    eps = minimum(eps * factor, scale)
    if shape.trees:  # begin again with half of the restitution of trees that gain energy
        gains = [(1 - is_open) * x for x in problem.gains(r, w)]
        gains = [x * where(share, 1, 0) for x, share in zip(gains, elastic, strict=True)]
        halves = [where(x / 2 - LEAST_REBOUND, x / 2, 0) for x in elastic]
        elastic = np.array([where(*x) for x in zip(gains, halves, elastic, strict=True)])
        again = functools.reduce(maximum, gains)
        changed = Round.from_flat(shape, fixed[:-4]).rebounding(elastic).b - problem.b
        is_open, w = maximum(is_open, again), w + changed
        least, error = where(again, scale * scale, least), where(again, scale * scale, error)
        eps = where(again, scale * ROUNDED, eps)
    return np.array([is_open, rounds + 1, turn, least, error, eps, *elastic, *best, *r, *w])


def _eliminated(rows: Array, right: Sequence[Any]) -> Array:
    """Solve M x = right without exchanging rows; not a number where a pivot vanishes."""
    n, x = len(right), list(right)
    M = [list(row) for row in rows]
    for i in reversed(range(n)):
        inverse = 1 / where(absolute(M[i][i]), M[i][i], TINY)
        for j in range(i):
            share = M[j][i] * inverse
            x[j] = x[j] - x[i] * share
            M[j][:i] = [a - share * b for a, b in zip(M[j][:i], M[i][:i], strict=True)]
        M[i], x[i] = [a * inverse for a in M[i][:i]], x[i] * inverse
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - x[j] * M[i][j]
    return np.array(x)
