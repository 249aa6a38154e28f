"""Pieces: the polynomials of a planned motion, from which it can be sampled at any time.

Planners know the polynomials of their motions, and a trajectory keeps them, so that sampling it at
other times gives the same motion. `Polynomials` has one polynomial for each piece and joint. If
only samples are known, `kinetree.motion.curve.between.Interpolant` finds the motion between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.motion.curve.between import Forces, Interpolant, Motion, column, located
from kinetree.motion.curve.splines import Number, evaluate

JUMP_TOLERANCE = 1e-9  # share of the largest acceleration: a smaller change at a knot is rounding


@dataclass(frozen=True, eq=False)
class Polynomials:
    """q(t) = c[0] + c[1] s + c[2] s^2 + ..., with s = t - t[k], from t[k] up to t[k + 1].

    t: beginnings of the pieces, (P,), s; the last piece has no length, it is the state at the end.
    c: coefficients, (degree + 1, P, ..., n), of degree 2 at least. samples: the samples of a
    trajectory that was resampled, so that it has them again, to the last bit, at their times.
    forces: tau that the motion was first given with.
    """

    t: Array
    c: Array
    samples: Interpolant | None = None
    forces: Forces | None = None

    def __call__(self, t: Array, before: bool | Array = False) -> Motion:
        """q, dq and ddq at times t, (T,), within the pieces.

        before: a bool or (T,); True gives the values just before t, of the piece that ends there.
        """
        k = located(self.t, t, before)
        return evaluate(tuple(self.c[:, k]), column(t - self.t[k], self.c.ndim - 1))

    @cached_property
    def jumps(self) -> Array:
        """Times within the motion at which ddq jumps, (J,)."""
        inner = self.t[1:-1]
        left, right = self(inner, before=True)[2], 2 * self.c[2, 1:-1]
        most = np.max(np.abs([left, right]), initial=0.0)
        change = np.max(np.abs(right - left), axis=tuple(range(1, left.ndim)), initial=0.0)
        return inner[change > JUMP_TOLERANCE * most]

    def rollout(self, index: tuple[int, ...]) -> Polynomials:
        """Pieces of one motion of a batch."""
        samples = None if self.samples is None else self.samples.rollout(index)
        forces = None if self.forces is None else self.forces.rollout(index)
        return Polynomials(self.t, self.c[(slice(None), slice(None), *index)], samples, forces)

    def slower(self, factor: float, start: float) -> Polynomials:
        """The same path at 1/factor of the speed, beginning at time `start`; without forces."""
        powers = float(factor) ** np.arange(len(self.c))
        c = self.c / powers.reshape(-1, *(1,) * (self.c.ndim - 1))
        return Polynomials(start + (self.t - start) * factor, c)


Pieces = Polynomials | Interpolant


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


def to_arrays(pieces: Pieces | None) -> dict[str, Array]:
    """The pieces as named arrays for files; empty for None."""
    if pieces is None:
        return {}
    arrays: dict[str, Array] = {}
    if pieces.forces is not None:
        arrays |= {"forces_t": pieces.forces.t, "forces_tau": pieces.forces.tau}
    if isinstance(pieces, Polynomials):
        arrays |= {"pieces_t": pieces.t, "pieces_c": pieces.c}
        return arrays | to_arrays(pieces.samples)
    arrays |= {f"samples_{name}": getattr(pieces, name) for name in ("t", "q", "dq", "ddq")}
    return arrays | {"samples_smooth": np.array(pieces.smooth)}


def from_arrays(found: Mapping[str, ArrayLike], model: Model | None = None) -> Pieces | None:
    """The pieces that `to_arrays` wrote, or None if `found` has none.

    model: needed if q is not a vector, see `Interpolant`.
    """
    samples = forces = None
    if "forces_t" in found:
        forces = Forces(*_arrays(found, "forces_t", "forces_tau"))
    if "samples_t" in found:
        names = [f"samples_{name}" for name in ("t", "q", "dq", "ddq", "smooth")]
        t, q, dq, ddq, smooth = _arrays(found, *names)
        samples = Interpolant(t, q, dq, ddq, bool(smooth), model)
    if "pieces_t" in found:
        t, c = _arrays(found, "pieces_t", "pieces_c")
        if c.ndim < 3 or len(c) < 3 or c.shape[1] != len(t):
            raise ShapeError(
                f"pieces_c has shape {c.shape}; expected (degree + 1, {len(t)}, ..., n), of "
                "degree 2 or more."
            )
        return Polynomials(t, c, samples, forces)
    return None if samples is None else replace(samples, forces=forces)


def _arrays(found: Mapping[str, ArrayLike], first: str, *names: str) -> list[Array]:
    """Increasing times and arrays over these times, all finite."""
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(f"no array {missing[0]}, but {first}; expected both.")
    t, *rest = (_numbers(found[name], name) for name in (first, *names))
    if t.ndim != 1 or not len(t) or np.any(np.diff(t) <= 0):
        raise InputError(f"{first} has shape {t.shape}; expected times that increase, (P,).")
    for name, x in zip(names, rest, strict=True):
        if name not in ("samples_smooth", "pieces_c") and (x.ndim < 2 or len(x) != len(t)):
            raise ShapeError(f"{name} has shape {x.shape}; expected ({len(t)}, ..., n).")
    return [t, *rest]


def _numbers(value: ArrayLike, name: str) -> Array:
    try:
        x = np.array(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}.") from None
    if not np.isfinite(x).all():
        raise InputError(f"{name} has entries that are not finite; expected numbers.")
    x.flags.writeable = False
    return x
