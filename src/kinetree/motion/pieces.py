"""Pieces: what a motion is between its samples.

Planners know the polynomials that their motions consist of, and a trajectory keeps them, so that
sampling it at other times gives the same motion. `Polynomials` has one polynomial a piece and
joint. Where there are samples alone, `kinetree.motion.between.Samples` finds the motion between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, ShapeError
from kinetree.motion.between import Forces, Motion, Samples, column, located
from kinetree.motion.hermite import evaluate

if TYPE_CHECKING:
    from kinetree.trajectory import Trajectory

SAME = 1e-9  # share of the largest acceleration: a smaller change at a knot is rounding
AGREE = 1e-6  # share of the largest value by which samples may differ from their pieces


@dataclass(frozen=True, eq=False)
class Polynomials:
    """q(t) = c[0] + c[1] s + c[2] s^2 + ..., with s = t - t[k], from t[k] up to t[k + 1].

    t: where pieces begin, (P,), s; the last one has no length, it is the state at the end.
    c: coefficients, (degree + 1, P, ..., n), of degree 2 at least. samples: those of the trajectory
    that was resampled, which it has again at their times; forces: those that it was given with.
    """

    t: Array
    c: Array
    samples: Samples | None = None
    forces: Forces | None = None

    def __call__(self, t: Array, before: Any = False) -> Motion:
        """q, dq and ddq at times t, (T,), within the pieces.

        `before`, a bool or (T,), asks for the values just before t: those of the piece that ends.
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
        return inner[change > SAME * most]

    def rollout(self, index: tuple[int, ...]) -> Polynomials:
        """The pieces of one motion of a batch."""
        samples = None if self.samples is None else self.samples.rollout(index)
        forces = None if self.forces is None else self.forces.rollout(index)
        return Polynomials(self.t, self.c[(slice(None), slice(None), *index)], samples, forces)

    def slower(self, factor: float, start: float) -> Polynomials:
        """The same path at 1/factor of the speed, from the time `start` on."""
        powers = float(factor) ** np.arange(len(self.c))
        c = self.c / powers.reshape(-1, *(1,) * (self.c.ndim - 1))
        return Polynomials(start + (self.t - start) * factor, c)


Pieces = Polynomials | Samples


def polynomials(t: Any, c: Any, end: Sequence[Any] | None = None) -> Polynomials:
    """Pieces from t[k] to t[k + 1] with coefficients c, (degree + 1, P, ..., n), and their end.

    Args:
        t: ends of all pieces, (P + 1,), s.
        c: coefficients of the P pieces.
        end: q and dq, and possibly ddq, at the end; what is not given is that of the last piece.
    """
    t, c = np.array(t, float), np.array(c, float)
    last = list(evaluate(tuple(c[:, -1]), t[-1] - t[-2]))
    if end is not None:
        last[: len(end)] = end
    closing = np.zeros_like(c[:, :1])
    closing[:3, 0] = last[0], last[1], np.asarray(last[2]) / 2
    c = np.concatenate([c, closing], axis=1)
    for x in (t, c):
        x.flags.writeable = False
    return Polynomials(t, c)


def check_pieces(pieces: Any, trajectory: Trajectory) -> None:
    """Refuse pieces that are not those of the samples."""
    if not isinstance(pieces, Polynomials | Samples):
        raise InputError(
            f"pieces of trajectory {trajectory.name!r} are {pieces!r:.60}; expected those that a "
            "planner of kinetree.motion made, or None."
        )
    t = trajectory.t
    if t[0] < pieces.t[0] or t[-1] > pieces.t[-1]:
        raise InputError(
            f"pieces of trajectory {trajectory.name!r} reach from {pieces.t[0]:.9g} to "
            f"{pieces.t[-1]:.9g} s, its samples from {t[0]:.9g} to {t[-1]:.9g} s. Pass pieces=None "
            "for other samples."
        )
    sides = pieces(t), pieces(t, before=True)
    for name, after, before in zip(("q", "dq", "ddq"), *sides, strict=True):
        x = getattr(trajectory, name)
        if after.shape != x.shape:
            raise ShapeError(
                f"pieces of trajectory {trajectory.name!r} give {name} of shape {after.shape}; "
                f"expected {x.shape}. Pass pieces=None for other samples."
            )
        off = np.minimum(np.abs(after - x), np.abs(before - x)).reshape(len(t), -1)
        scale = float(np.abs(x).max(initial=0.0)) + float(name == "q")
        k = int(np.argmax(off.max(axis=1, initial=0.0)))
        if not off[k].max(initial=0.0) <= AGREE * scale:
            raise InputError(
                f"pieces of trajectory {trajectory.name!r} differ from its samples: {name} at "
                f"t = {t[k]:.6g} s by {off[k].max():.3g}. trajectory.replace leaves out pieces "
                "that no longer fit; or pass pieces=None."
            )


def to_arrays(pieces: Pieces | None) -> dict[str, Array]:
    """The pieces as arrays with names, for files; nothing where there are none."""
    if pieces is None:
        return {}
    found: dict[str, Array] = {}
    if pieces.forces is not None:
        found |= {"forces_t": pieces.forces.t, "forces_tau": pieces.forces.tau}
    if isinstance(pieces, Polynomials):
        found |= {"pieces_t": pieces.t, "pieces_c": pieces.c}
        return found | to_arrays(pieces.samples)
    found |= {f"samples_{name}": getattr(pieces, name) for name in ("t", "q", "dq", "ddq")}
    return found | {"samples_smooth": np.array(pieces.smooth)}


def from_arrays(found: Mapping[str, Any], model: Any = None) -> Pieces | None:
    """The pieces that `to_arrays` wrote; None where there are none.

    model: of joints whose q is no vector.
    """
    samples = forces = None
    if "forces_t" in found:
        forces = Forces(*_arrays(found, "forces_t", "forces_tau"))
    if "samples_t" in found:
        names = [f"samples_{name}" for name in ("t", "q", "dq", "ddq", "smooth")]
        t, q, dq, ddq, smooth = _arrays(found, *names)
        samples = Samples(t, q, dq, ddq, bool(smooth), model)
    if "pieces_t" in found:
        t, c = _arrays(found, "pieces_t", "pieces_c")
        if c.ndim < 3 or len(c) < 3 or c.shape[1] != len(t):
            raise ShapeError(
                f"pieces_c has shape {c.shape}; expected (degree + 1, {len(t)}, ..., n), of "
                "degree 2 or more."
            )
        return Polynomials(t, c, samples, forces)
    return None if samples is None else replace(samples, forces=forces)


def _arrays(found: Mapping[str, Any], first: str, *names: str) -> list[Array]:
    """Times that increase and arrays that belong to them, finite numbers all."""
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


def _numbers(value: Any, name: str) -> Array:
    try:
        x = np.array(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}.") from None
    if not np.isfinite(x).all():
        raise InputError(f"{name} has entries that are not finite; expected numbers.")
    x.flags.writeable = False
    return x
