"""Units of joint vectors: of every entry of q, dq, ddq and tau, in SI units or with degrees.

Degrees concern angles alone: positions, rates and accelerations of hinges and screws, the angle of
a planar joint, and angular rates. Lengths stay in m, quaternions are numbers, forces stay in N m
and N.
"""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC
from kinetree.model import Model
from kinetree.model.joint import COORDINATES, RATES

RAD, METRE, NUMBER = "rad", "m", ""  # kinds of entries, before they are divided by time
ANGLES = ("theta", "wx", "wy", "wz")  # parts of joints with several degrees of freedom
LENGTHS = ("x", "y", "z", "vx", "vy", "vz")
PER_TIME = {"q": "", "dq": "/s", "ddq": "/s^2"}
DEGREE = np.pi / 180


def entry_names(model: Model, quantity: str) -> tuple[str, ...]:
    """Names of the entries of q, or of dq, ddq and tau."""
    return model.coordinate_names if quantity == "q" else model.dof_names


def kinds(model: Model, quantity: str) -> list[str]:
    """RAD, METRE or NUMBER (a part of a quaternion) for every entry of a joint vector.

    The kind of a force is that of its motion: RAD for a moment, METRE for a force.
    """
    parts_of = COORDINATES if quantity == "q" else RATES
    found: list[str] = []
    for joint in model.joints:
        if joint.follows is not None:
            continue
        parts = parts_of.get(joint.type)
        if parts is None:
            found.append(METRE if joint.type == PRISMATIC else RAD)
        else:
            found += [RAD if x in ANGLES else METRE if x in LENGTHS else NUMBER for x in parts]
    return found


def units(model: Model, quantity: str, degrees: bool = False) -> list[str]:
    """Unit of every entry of "q", "dq", "ddq" or "tau"; "1" for a part of a quaternion."""
    if quantity == "tau":
        return ["N" if kind == METRE else "N m" for kind in kinds(model, quantity)]
    angle = "deg" if degrees else RAD
    return [
        (angle if kind == RAD else kind) + PER_TIME[quantity] if kind else "1"
        for kind in kinds(model, quantity)
    ]


def factors(model: Model, quantity: str, degrees: bool) -> Array | float:
    """SI units in one unit of the user, for every entry: pi/180 for angles in degrees, else 1."""
    if not degrees or quantity == "tau":
        return 1.0
    return np.array([DEGREE if kind == RAD else 1.0 for kind in kinds(model, quantity)])
