"""Measured positions made usable: radians, quaternions of length 1, angles without leaps."""

from typing import Any

import numpy as np

from kinetree.algorithms.natural_units import natural_units
from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError
from kinetree.identify.suspicions import listing
from kinetree.motion.bounds import bounds_of

ROUNDED = 1e-2  # of a quaternion's length: few digits in a file, or a filter
TURN = 2 * np.pi
WILD = 8  # times what nine samples in ten keep to: 13 standard deviations
FINE, LEAST = 1e-3, 2e-4  # of a joint's range, and rad or lengths of the robot: no leap is smaller


def unit_quaternions(model: Any, q: Array) -> Array:
    """Measured quaternions brought to length 1; those that are no rotations are refused."""
    found = q
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            own = list(joint.coords[:4])
            length = np.linalg.norm(q[:, own], axis=1)
            worst = int(np.abs(length - 1).argmax())
            if abs(length[worst] - 1) > ROUNDED:
                raise InputError(
                    f"the quaternion (w, x, y, z) of joint {joint.name!r} has length "
                    f"{length[worst]:.6g} in sample {worst}; expected 1."
                )
            found = found.copy() if found is q else found
            found[:, own] = q[:, own] / length[:, None]
    return found


def in_radians(model: Any, q: Array, rates: list[Any]) -> tuple[Array, list[Any]]:
    """Degrees to radians where joints turn; lengths stay."""
    factor = np.where(bounds_of(model).sliding, 1.0, np.pi / 180)
    if model.n != model.nq:
        raise InputError(f"{model.name!r} has quaternions in q; give angles in radians.")
    return q * factor, [x if x is None else x * factor for x in rates]


def unwound(model: Any, q: Array) -> tuple[Array, list[str]]:
    """Angles that were brought into one turn go on beyond it; and a note on those.

    From one sample to the next a whole turn less or more, to a quarter, is no motion.
    """
    bounds = bounds_of(model)
    own = bounds.coords[(bounds.coords >= 0) & ~bounds.sliding]
    steps = np.diff(q[:, own], axis=0)
    turns = np.where(np.abs(np.abs(steps) - TURN) < TURN / 4, np.sign(steps), 0)
    if not turns.any():
        return q, []
    q = q.copy()
    q[1:, own] -= TURN * np.cumsum(turns, axis=0)
    names = [name for name, k in zip(bounds.names, bounds.coords, strict=True) if k in own]
    wrapped = [name for name, x in zip(names, turns.T, strict=True) if x.any()]
    return q, [f"q of {listing(wrapped)} leaps by whole turns; it was unwound"]


def leaps(model: Any, t: Array, q: Array) -> list[str]:
    """A note on samples far off the cubic through their four neighbours: filters spread them."""
    far, near = q[:-4] + q[4:], q[1:-3] + q[3:-1]
    rest = np.zeros_like(q)
    rest[2:-2] = np.abs(q[2:-2] - (4 * near - far) / 6)
    common = np.quantile(rest, 0.9, axis=0)  # noise, and steps of an encoder
    units = natural_units(model)
    least = np.where(units.positions, LEAST * units.length, LEAST)
    wild = rest > np.maximum(WILD * common, np.maximum(FINE * np.ptp(q, axis=0), least))
    largest = np.max([rest[k : len(q) - 4 + k] for k in range(5)], axis=0)
    wild[2:-2] &= rest[2:-2] == largest  # a leap throws its neighbours off their cubics too
    if not wild.any():
        return []
    names = [name for name, x in zip(model.coordinate_names, wild.T, strict=True) if x.any()]
    rows = np.flatnonzero(wild.any(axis=1))
    return [
        f"q of {listing(names)} leaps in {counted(len(rows), 'sample')}, the first at "
        f"t = {t[rows[0]]:.6g} s: if that is no motion, take them out of the recording"
    ]
