"""Units of joint vectors, and the factor that turns degrees into what the library computes in.

Degrees concern angles alone: positions, rates and accelerations of hinges and screws, the angle of
a planar joint and angular rates. Lengths stay in m, quaternions are numbers, forces stay N m and N.
"""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC
from kinetree.model import Model
from kinetree.model.joint import COORDINATES, RATES

ANGLES = ("theta", "wx", "wy", "wz")  # parts of joints with several degrees of freedom
LENGTHS = ("x", "y", "z", "vx", "vy", "vz")
PER_TIME = {"q": "", "dq": "/s", "ddq": "/s^2"}


def names(model: Model, quantity: str) -> tuple[str, ...]:
    """Names of the entries of q, or of dq, ddq and tau."""
    return model.coordinate_names if quantity == "q" else model.dof_names


def units(model: Model, quantity: str, degrees: bool = False) -> list[str]:
    """Unit of every entry of "q", "dq", "ddq" or "tau"."""
    kinds = _kinds(model, quantity)
    if quantity == "tau":
        return ["N" if kind == "m" else "N m" for kind in kinds]
    angle = "deg" if degrees else "rad"
    return [(angle if x == "rad" else x) + PER_TIME[quantity] if x else "1" for x in kinds]


def factors(model: Model, quantity: str, degrees: bool) -> Array | float:
    """SI units in one unit of the user, an entry each: pi/180 for angles in degrees, else 1."""
    if not degrees or quantity == "tau":
        return 1.0
    return np.array([np.pi / 180 if x == "rad" else 1.0 for x in _kinds(model, quantity)])


def _kinds(model: Model, quantity: str) -> list[str]:
    """'rad', 'm' or '' (a number) of every entry, not yet per time."""
    table = COORDINATES if quantity == "q" else RATES
    found = []
    for joint in model.joints:
        if joint.follows is not None:
            continue
        parts = table.get(joint.type)
        if parts is None:
            found.append("m" if joint.type == PRISMATIC else "rad")
        else:
            found += ["rad" if x in ANGLES else "m" if x in LENGTHS else "" for x in parts]
    return found
