"""Rows of a step: what an impulse r and the velocity w at the end of the step have to satisfy.

    friction of a joint    low <= r <= high, r = low where w > 0, r = high where w < 0
    stop of a joint        low <= w <= high, r >= 0 at w = low, r <= 0 at w = high, else r = 0
    contact                0 <= r_n, w_n >= 0, r_n w_n = 0, and |r_t| <= mu r_n with
                           r_t = -mu r_n w_t / |w_t| where w_t is not 0: Coulomb's round cone

With u = a r - w and a the weight of the row, in units of velocity, each is one equation e = 0:

    friction   e = a r - clip(u, a low, a high)
    stop       e = a r - (u - clip(u, -high, -low))
    contact    e_n = a r_n - max(0, u_n),   e_t = a r_t - u_t min(1, mu max(0, u_n) / |u_t|)

For Newton's method corners are rounded: max(0, x) is (x + sqrt(x^2 + 4 eps^2)) / 2. The velocities
of a row are w = X V for some rows V of the carriers: a joint rate, or the twist of a link.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.solve import float_choice
from kinetree.scalars import absolute, clip, maximum, minimum, sqrt, where
from kinetree.spatial import cross, skew
from kinetree.spatial.matrices import solve_unsymmetric

# of the range of friction: nearer to a bound it may be that of a sliding joint
INSIDE, INSIDE_FLOAT32 = 1e-9, 1e-4
# of the weight: the softness of friction and stops, which bounds their slopes
HOLDING, HOLDING_FLOAT32 = 1e-12, 1e-5
TINY = 2.0**-120  # keeps quotients of zeros at zero, in float32 too


@dataclass(frozen=True, eq=False)
class Seat:
    """A row on its carrier: its velocities are w = X V for the carrier's rows V from `first` on.

    With an arm p, (3,), V is the twist (omega, v) of a link at a point, in {s}, p leads from there
    to the contact, and X = axes [-[p], 1] with the normal and two tangents in the rows of `axes`,
    (3, 3). Without an arm, w is V, (size,).
    """

    first: int
    arm: Array | None = None
    axes: Array | None = None
    size: int = 1

    @property
    def carrier(self) -> slice:
        """The rows of the carrier."""
        return slice(self.first, self.first + (self.size if self.arm is None else 6))

    def velocities(self, V: Array) -> Array:
        """X V for the rows V of the carrier."""
        if self.arm is None:
            return V
        return self.axes @ (V[3:] + cross(V[:3], self.arm))

    def impulses(self, r: Array) -> Array:
        """X^T r, the impulses along the rows of the carrier."""
        if self.arm is None:
            return r
        force = self.axes.T @ r  # type: ignore[union-attr]
        return np.concatenate([cross(self.arm, force), force])

    def stiffness(self, K: Array) -> Array:
        """X^T K X."""
        if self.arm is None:
            return K
        K, P = self.axes.T @ K @ self.axes, skew(self.arm)  # type: ignore[union-attr]
        return np.block([[P @ K @ P.T, P @ K], [K @ P.T, K]])

    def response(self, A: Array) -> Array:
        """X A X^T: velocities of the row for its own impulses."""
        if self.arm is None:
            return A
        X = self.axes @ np.concatenate([skew(self.arm).T, np.eye(3, dtype=int)], axis=1)
        return X @ A @ X.T


def rounded(x: Any, eps: Any) -> tuple[Any, Any]:
    """max(0, x) with a corner that is rounded by eps, and its slope."""
    root = sqrt(x * x + 4 * eps * eps + TINY)
    return (x + root) / 2, (1 + x / root) / 2


@dataclass(frozen=True, eq=False)
class Row(ABC):
    """The law of a row; numbers: all its numbers in one array, for the loop of the solver."""

    size: ClassVar[int] = 1

    seat: Seat
    numbers: Array

    @property
    @abstractmethod
    def soft(self) -> Array:
        """Softness of the row, (size,): what w has more per impulse."""

    @abstractmethod
    def scale(self, b: Array) -> Any:
        """Largest velocity that the impulses have to change, for w = b without impulses."""

    @abstractmethod
    def error(self, r: Array, w: Array) -> Array:
        """e, (size,)."""

    @abstractmethod
    def within(self, r: Array) -> Array:
        """Impulses moved into their bounds, by no more than e."""

    @abstractmethod
    def stuck(self, b: Array) -> tuple[Array, Any]:
        """e and the slopes with which a round finds impulses that stop the row."""

    @abstractmethod
    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, Any]:
        """The same with corners that are rounded by eps, and its slopes."""

    @abstractmethod
    def eliminated(self, e: Array, slopes: Any, more: Any) -> tuple[Array, Array]:
        """P^-1 e and P^-1 S, where P dr + S dw = -e is the linearised equation.

        more: by which part of its weight the row is stiffer.
        """


class JointRow(Row):
    """A row of one joint: numbers are its weight and two bounds."""

    @property
    def soft(self) -> Array:
        """None beside HOLDING, which the elimination adds."""
        return np.zeros(1, int)

    def eliminated(self, e: Array, slopes: Any, more: Any) -> tuple[Array, Array]:
        """For one equation."""
        a = self.numbers[0]
        soft = a * float_choice(a, HOLDING, HOLDING_FLOAT32)
        per = 1 / (a * (1 - slopes + more) + slopes * soft)
        return e * per, np.array([[slopes * per]])


class FrictionRow(JointRow):
    """Dry friction of a joint; numbers: weight, and least and largest impulse."""

    def holds(self, r: Any, w: Any) -> Any:
        """1 where an impulse holds the joint at rest, else 0, by the side of the bounds u is on."""
        a, low, high = self.numbers
        u, margin = a * r - w, a * float_choice(a, INSIDE, INSIDE_FLOAT32) * (high - low)
        return where(minimum(u - a * low, a * high - u) - margin, 1, 0)

    def scale(self, b: Array) -> Any:
        """The rate itself."""
        return absolute(b[0])

    def error(self, r: Array, w: Array) -> Array:
        """A r - clip(u, a low, a high)."""
        a, low, high = self.numbers
        return np.array([a * r[0] - clip(a * r[0] - w[0], a * low, a * high)])

    def within(self, r: Array) -> Array:
        """Between least and largest."""
        return np.array([clip(r[0], self.numbers[1], self.numbers[2])])

    def stuck(self, b: Array) -> tuple[Array, Any]:
        """Friction holds the joint."""
        return b, 1

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, Any]:
        """Two rounded corners."""
        a, low, high = self.numbers
        above, by_low = rounded(a * r[0] - w[0] - a * low, eps)
        over, by_high = rounded(above - a * (high - low), eps)
        return np.array([a * r[0] - (a * low + above - over)]), by_low * (1 - by_high)


class StopRow(JointRow):
    """Stops of a joint; numbers: weight, and least and largest rate; infinite without a stop."""

    def _beyond(self, b: Array) -> tuple[Any, Any]:
        """By how much a rate is below the least one and above the largest one."""
        _, low, high = self.numbers
        return maximum(low - b[0], 0), maximum(b[0] - high, 0)

    def scale(self, b: Array) -> Any:
        """The part of the rate that leads beyond a stop."""
        return maximum(*self._beyond(b))

    def error(self, r: Array, w: Array) -> Array:
        """Impulses of the stops are 0 for rates between them."""
        a, low, high = self.numbers
        u = a * r[0] - w[0]
        return np.array([a * r[0] - maximum(u + low, 0) + maximum(-u - high, 0)])

    def within(self, r: Array) -> Array:
        """Every impulse may act."""
        return r

    def stuck(self, b: Array) -> tuple[Array, Any]:
        """A joint that would pass a stop is held there."""
        below, above = self._beyond(b)
        return np.array([above - below]), where(below + above, 1, 0)

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, Any]:
        """Two rounded corners."""
        a, low, high = self.numbers
        u = a * r[0] - w[0]
        push, by_push = rounded(u + low, eps)
        pull, by_pull = rounded(-u - high, eps)
        return np.array([a * r[0] - push + pull]), by_push + by_pull


@dataclass(frozen=True, eq=False)
class ConeSlopes:
    """Slopes of the impulses that are allowed for u, in units of velocity, of a contact.

    Those of the normal by u_n: normal; of the tangents by u_n: t times by_normal; of the tangents
    by u_t: share + along t t^T.
    """

    t: Array
    normal: Any
    by_normal: Any
    share: Any
    along: Any


class ConeRow(Row):
    """A contact; numbers: weights of normal and tangents, softness of both, friction mu."""

    size = 3

    @property
    def _weights(self) -> Array:
        return self.numbers[[0, 1, 1]]

    @property
    def soft(self) -> Array:
        """Compliance and pads."""
        return self.numbers[[2, 3, 3]]

    @property
    def _steep(self) -> Any:
        """Friction in units of velocity."""
        a, a_t, _, _, mu = self.numbers
        return mu * (a_t / a)

    def scale(self, b: Array) -> Any:
        """Velocities of a contact that would go into the ground."""
        x, y, z = (absolute(v) for v in b)
        return where(-b[0], maximum(maximum(x, y), z), 0)

    def error(self, r: Array, w: Array) -> Array:
        """Coulomb's law."""
        scaled = self._weights * r
        u = scaled - w
        push, (x, y) = maximum(u[0], 0), u[1:]
        share = minimum(self._steep * push / sqrt(x * x + y * y + TINY), 1)
        return np.array([scaled[0] - push, scaled[1] - x * share, scaled[2] - y * share])

    def within(self, r: Array) -> Array:
        """In the cone."""
        push, (x, y) = maximum(r[0], 0), r[1:]
        share = minimum(self.numbers[4] * push / sqrt(x * x + y * y + TINY), 1)
        return np.array([push, x * share, y * share])

    def stuck(self, b: Array) -> tuple[Array, Any]:
        """A contact that approaches the ground stops there and does not slip."""
        holds = where(-b[0], 1, 0)
        return b * holds, ConeSlopes(np.array([0, 0]), holds, 0, holds, 0)

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, Any]:
        """Friction is u_t times most / longest, with `longest` about max(most, |u_t|)."""
        scaled = self._weights * r
        u = scaled - w
        t = u[1:]
        push, slope = rounded(u[0], eps)
        most, length = self._steep * push, sqrt(t @ t + eps * eps + TINY)
        over, by_over = rounded(length - most, eps)
        per_longest = 1 / (most + over + TINY)
        share = most * per_longest
        slopes = ConeSlopes(
            t,
            slope,
            (1 - share * (1 - by_over)) * per_longest * (self._steep * slope),
            share,
            -share * by_over * per_longest / length,
        )
        return scaled - np.array([push, *(t * share)]), slopes

    def eliminated(self, e: Array, slopes: Any, more: Any) -> tuple[Array, Array]:
        """P = a (1 + more) - S (a - soft), without differences of equal numbers in a stick."""
        a, a_t, soft, soft_t, _ = self.numbers
        s = slopes
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
        (t, v), crossed = s.t, K_1 * s.t[0] * s.t[1]
        K = [
            [K_n, 0, 0],
            [K_t[0], K_0 + K_1 * t * t, crossed],
            [K_t[1], crossed, K_0 + K_1 * v * v],
        ]
        return x, np.array(K, dtype=object)


class LorentzRow(Row):
    """A contact force of least square: r in the cone r_n >= |r_t|, w in it too, and r w = 0.

    numbers: weight, softness of the normal and of the tangents. Other than with Coulomb's law, a
    contact that slips may lift off: this is the condition of a minimum, not that of a motion. With
    u = a r - w and l = u_n +- |u_t|, e = a r - P(u), where P is the nearest point of the cone,
    (max(0, l+) (1, t) + max(0, l-) (1, -t)) / 2 for the direction t of u_t.
    """

    size = 3

    @property
    def soft(self) -> Array:
        """That of the forces."""
        return self.numbers[[1, 2, 2]]

    def scale(self, b: Array) -> Any:
        """The largest entry."""
        return maximum(maximum(absolute(b[0]), absolute(b[1])), absolute(b[2]))

    def error(self, r: Array, w: Array) -> Array:
        """The condition of a minimum."""
        return self.rounded(r, w, 0)[0]

    def within(self, r: Array) -> Array:
        """In the cone."""
        push, (x, y) = maximum(r[0], 0), r[1:]
        share = minimum(push / sqrt(x * x + y * y + TINY), 1)
        return np.array([push, x * share, y * share])

    def stuck(self, b: Array) -> tuple[Array, Any]:
        """All forces that do not pull."""
        holds = where(-b[0], 1, 0)
        return b * holds, np.diag([holds] * 3)

    def rounded(self, r: Array, w: Array, eps: Any) -> tuple[Array, Any]:
        """The nearest point of the cone, for a length of u_t that is not below eps."""
        scaled = self.numbers[0] * r
        u = scaled - w
        t = u[1:]
        length = sqrt(t @ t + eps * eps + TINY)
        (more, by_more), (less, by_less) = (rounded(u[0] + x, eps) for x in (length, -length))
        share, mean = (more - less) / (2 * length), (by_more + by_less) / 2
        tilt = t * ((by_more - by_less) / (2 * length))
        along = np.outer(t, t) * ((mean - share) / (length * length))
        S = np.block([[mean, tilt], [tilt[:, None], np.diag([share, share]) + along]])
        return scaled - np.array([(more + less) / 2, *(t * share)]), S

    def eliminated(self, e: Array, slopes: Any, more: Any) -> tuple[Array, Array]:
        """P = a (1 + more) - S (a - soft)."""
        a = self.numbers[0]
        P = np.diag([a * (1 + more)] * 3) - slopes * (a - self.soft)
        solved = solve_unsymmetric(P, np.column_stack([e, slopes]))
        return solved[:, 0], solved[:, 1:]
