"""The motion between samples: the polynomials of a plan, or those through samples alone.

Planners know the polynomials of their motions, and a trajectory keeps them, so that sampling it at
other times gives the same motion. `Polynomials` has one polynomial for each piece and joint. If
only samples are known, an `Interpolant` goes through them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.motion.curve.splines import (
    Number,
    cubic_coefficients,
    evaluate,
    quintic_coefficients,
)

Motion = tuple[Array, Array, Array]
JUMP_TOLERANCE = 1e-9  # share of the largest acceleration: a smaller change at a knot is rounding
ROUNDED = 1e-13  # of positions; over the square of a short piece it is the rounding of ddq


@dataclass(frozen=True, eq=False)
class Polynomials:
    """q(t) = c[0] + c[1] s + c[2] s^2 + ..., with s = t - t[k], from t[k] up to t[k + 1].

    t: beginnings of the pieces, (P,), s; the last piece has no length, it is the state at the end.
    c: coefficients, (degree + 1, P, ..., n), of degree 2 at least.
    """

    t: Array
    c: Array

    def __call__(self, t: Array, before: bool | Array = False) -> Motion:
        """q, dq and ddq at times t, (T,), within the pieces.

        before: a bool or (T,); True gives the values just before t, of the piece that ends there.
        """
        k = located(self.t, t, before)
        return evaluate(tuple(self.c[:, k]), column(t - self.t[k], self.c.ndim - 1))

    @property
    def jumps(self) -> Array:
        """Times within the motion at which ddq jumps, (J,)."""
        inner = self.t[1:-1]
        left, right = self(inner, before=True)[2], 2 * self.c[2, 1:-1]
        most = np.max(np.abs([left, right]), initial=0.0)
        change = np.max(np.abs(right - left), axis=tuple(range(1, left.ndim)), initial=0.0)
        shortest = np.diff(self.t).min(initial=np.inf)
        noise = ROUNDED * np.max(np.abs(self.c[0]), initial=0.0) / shortest**2
        return inner[change > JUMP_TOLERANCE * most + noise]

    def rollout(self, index: tuple[int, ...]) -> Self:
        """Pieces of one motion of a batch."""
        return replace(self, c=self.c[(slice(None), slice(None), *index)])

    def slower(self, factor: float, start: float) -> Self:
        """The same path at 1/factor of the speed, beginning at time `start`."""
        powers = float(factor) ** np.arange(len(self.c))
        c = self.c / powers.reshape(-1, *(1,) * (self.c.ndim - 1))
        return replace(self, t=start + (self.t - start) * factor, c=c)


@dataclass(frozen=True, eq=False)
class Interpolant:
    """The motion through samples: t, (T,), q, (T, ..., nq), dq and ddq, (T, ..., n).

    q is the quintic with q, dq and ddq of both neighbours. dq is the cubic with dq and ddq of both,
    and ddq a straight line: they stay between the samples, also where the acceleration jumps or
    q, dq and ddq do not quite belong together, as after steps of Euler.

    model: needed if q is not a vector; quaternions and planar positions move at a constant rate
    from sample to sample.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    model: Model | None = None
    jumps = np.zeros(0)  # of ddq; none are known

    def __call__(self, t: Array, before: bool | Array = False) -> Motion:
        """q, dq and ddq at times t, (T,), within the samples; at their times exactly the samples.

        before: does not matter, since nothing jumps.
        """
        if len(self.t) == 1:
            at = np.zeros(len(t), int)
            return self.q[at], self.dq[at], self.ddq[at]
        k = np.minimum(located(self.t, t), len(self.t) - 2)
        h = column(self.t[k + 1] - self.t[k], self.dq.ndim)
        s = column(t - self.t[k], self.dq.ndim)
        (dq0, dq1), (ddq0, ddq1) = ((x[k], x[k + 1]) for x in (self.dq, self.ddq))
        if self.model is None:
            ends = self.q[k], dq0, ddq0, self.q[k + 1], dq1, ddq1
            q = evaluate(quintic_coefficients(h, *ends), s)[0]
        else:
            q = self._on_manifold(self.model, t)
        dq = evaluate(cubic_coefficients(h, dq0, ddq0, dq1, ddq1), s)[0]
        ddq = ddq0 + (ddq1 - ddq0) * (s / h)
        for x, samples in ((q, self.q), (dq, self.dq), (ddq, self.ddq)):
            put(x, self.t, samples, t)
        return q, dq, ddq

    def _on_manifold(self, model: Model, t: Array) -> Array:
        """q, (T, ..., nq): geodesics, and quintics of joints with one degree of freedom."""
        q = np.empty((len(t), *self.q.shape[1:]))
        k = np.minimum(located(self.t, t), len(self.t) - 2)
        share = (t - self.t[k]) / (self.t[k + 1] - self.t[k])
        for row, *at in np.ndindex(q.shape[:-1]):
            q0, q1 = self.q[(k[row], *at)], self.q[(k[row] + 1, *at)]
            step = dynamics.difference(model, q0, q1)
            q[(row, *at)] = dynamics.integrate(model, q0, share[row] * step)
        coords, dofs = screw_columns(model)
        simple = Interpolant(self.t, self.q[..., coords], self.dq[..., dofs], self.ddq[..., dofs])
        if coords:
            q[..., coords] = simple(t)[0]
        return q

    def rollout(self, index: tuple[int, ...]) -> Self:
        """One motion of a batch."""
        at = (slice(None), *index)
        return replace(self, q=self.q[at], dq=self.dq[at], ddq=self.ddq[at])

    def slower(self, factor: float, start: float) -> Self:
        """The same path at 1/factor of the speed, beginning at time `start`."""
        t = start + (self.t - start) * factor
        return replace(self, t=t, dq=self.dq / factor, ddq=self.ddq / factor**2)


Pieces = Polynomials | Interpolant


def located(knots: Array, t: Array, before: bool | Array = False) -> Array:
    """Index of the last knot at or before each time; strictly before it where `before`."""
    right, left = (np.searchsorted(knots, t, side) - 1 for side in ("right", "left"))
    return np.clip(np.where(before, left, right), 0, len(knots) - 1)


def column(x: Array, dimensions: int) -> Array:
    """x, (T,), with axes of length 1 appended."""
    return x.reshape(-1, *(1,) * (dimensions - 1))


def put(x: Array, knots: Array, samples: Array, t: Array) -> None:
    """Write samples into x at those times t, (T,), that are knots."""
    k = np.clip(np.searchsorted(knots, t), 0, len(knots) - 1)
    own = knots[k] == t
    x[own] = samples[k[own]]


def curved(model: Model) -> bool:
    """Return True if q is not a vector: some joint has a quaternion or a planar position."""
    return any(kind not in SCREW_TYPES for kind in model.joint_types)


def screw_columns(model: Model) -> tuple[list[int], list[int]]:
    """Entries of q and of dq that belong to joints of one degree of freedom."""
    screws = [x for x in model.joints if x.follows is None and x.type in SCREW_TYPES]
    return [x.coords[0] for x in screws], [x.dofs[0] for x in screws]


def polynomials(
    t: Sequence[float] | Array, c: Array, end: Sequence[Number] | None = None
) -> Polynomials:
    """Pieces from t[k] to t[k + 1] with coefficients c, and the state at the end.

    Args:
        t: ends of all pieces, (P + 1,), s.
        c: coefficients of the P pieces, (degree + 1, P, ..., n).
        end: q and dq, and possibly ddq, at the end; the rest is that of the last piece.
    """
    t, c = np.array(t, float), np.array(c, float)
    last: list[Number] = list(evaluate(tuple(c[:, -1]), t[-1] - t[-2]))
    if end is not None:
        last[: len(end)] = end
    closing = np.zeros_like(c[:, :1])
    closing[:3, 0] = last[0], last[1], np.asarray(last[2]) / 2
    c = np.concatenate([c, closing], axis=1)
    for x in (t, c):
        x.flags.writeable = False
    return Polynomials(t, c)


def smooth_pieces(t: Array, q: Array, dq: Array, ddq: Array) -> Polynomials:
    """Quintics through samples of a smooth motion: t, (T,), the others (T, n)."""
    h = column(np.diff(t), q.ndim)
    c = quintic_coefficients(h, q[:-1], dq[:-1], ddq[:-1], q[1:], dq[1:], ddq[1:])
    return polynomials(t, np.array(c), end=(q[-1], dq[-1], ddq[-1]))


def to_arrays(pieces: Pieces | None) -> dict[str, Array]:
    """The polynomials of a plan as named arrays for files; empty for samples alone."""
    if not isinstance(pieces, Polynomials):
        return {}
    return {"pieces_t": pieces.t, "pieces_c": pieces.c}


def from_arrays(found: Mapping[str, ArrayLike]) -> Polynomials | None:
    """The polynomials that `to_arrays` wrote, or None if `found` has none."""
    if "pieces_t" not in found:
        return None
    try:
        t, c = (np.array(found[name], np.float64) for name in ("pieces_t", "pieces_c"))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"pieces_t and pieces_c are no numbers, or one is missing: {error}."
        ) from None
    sound = t.ndim == 1 and len(t) and c.ndim >= 3 and len(c) >= 3 and c.shape[1] == len(t)
    if not (sound and (np.diff(t) > 0).all() and np.isfinite(t).all() and np.isfinite(c).all()):
        raise ShapeError(
            f"pieces_t has shape {t.shape} and pieces_c {c.shape}; expected finite times that "
            "increase, (P,), and coefficients (degree + 1, P, ..., n), of degree 2 or more."
        )
    t.flags.writeable = c.flags.writeable = False
    return Polynomials(t, c)
