"""Where motion has no derivative: joints with dry friction that stand still or come to rest."""

from collections.abc import Sequence

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.friction.stiction import dry_friction
from kinetree.simulate.sensitivity.inputs import PARAMETERS, Input

ROUNDING = 1e-9  # of the forces: what a step's own friction may differ from that of sliding


def rough(model: Model, friction: Array | None) -> Array:
    """Which degrees of freedom have Coulomb friction, (S or 1, n); friction: (S, links, 4)."""
    if friction is None:
        dry = dry_friction(model)
        return np.array([[d in dry for d in range(model.n)]])
    found = np.zeros((len(friction), model.n), bool)
    for i, joint in enumerate(model.joints):
        for d in joint.dofs:
            found[:, d] |= (friction[:, i, 2:] != 0).any(-1)
    return found


def check_sliding(model: Model, dry: Array, t: Array, dq: Array, tau: Array, smooth: Array) -> None:
    """Refuse states in which friction holds or stops a joint.

    Args:
        model: the robot.
        dry: joints with Coulomb friction, (S or 1, n).
        t: (S,); dq: (S, n); tau: joint forces that acted, (S, n).
        smooth: those that the same accelerations would need if all joints slid, (S, n).
    """
    size = 1 + np.abs(tau).max(-1, keepdims=True, initial=0)
    bad = dry & ((dq == 0) | (np.abs(tau - smooth) > ROUNDING * size))
    if bad.any():
        row, d = (int(k) for k in np.argwhere(bad)[0])
        raise InputError(
            f"joint {model.dof_names[d]!r} stands still or is stopped by its Coulomb friction at "
            f"t = {t[row]:.6g} s, where its motion has no derivative. Start with dq0 that is not "
            "0, end before it rests, or take the Coulomb friction out of the robot."
        )


def without_slope(model: Model, dq: Array, slopes: Array, constants: Sequence[Input]) -> Array:
    """Slopes, (S, n, c), with NaN where a joint at rest would be given Coulomb friction."""
    rest = dq == 0
    if not rest.any():
        return slopes
    at, found = 0, slopes.copy()
    for given in constants:
        first = {"friction": (0, 4), PARAMETERS: (10 * len(model.links), 5)}.get(given.name)
        if first is not None:
            for i, joint in enumerate(model.joints):
                still = rest[:, list(joint.dofs)].any(-1)
                place = at + first[0] + first[1] * i + 2
                found[still, :, place : place + 2] = np.nan
        at += given.size
    return found
