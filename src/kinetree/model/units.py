"""Units of joint vectors: of every entry of q, dq, ddq and tau, in SI units or with degrees.

Degrees concern angles alone: positions, rates and accelerations of hinges and screws, the angle of
a planar joint, and angular rates. Lengths stay in m, quaternions are numbers, forces stay in N m
and N. The control of a servo is the goal of a position or a rate and has its unit; the controls of
other actuators have units of their own, which a model does not know.
"""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import Model
from kinetree.model.elements import JointActuator, actuator_kind
from kinetree.model.joint import COORDINATES, RATES

RAD, METRE, NUMBER = "rad", "m", ""  # kinds of entries, before they are divided by time
ANGLES = ("theta", "wx", "wy", "wz")  # parts of joints with several degrees of freedom
LENGTHS = ("x", "y", "z", "vx", "vy", "vz")
PER_TIME = {"q": "", "dq": "/s", "ddq": "/s^2"}
DEGREE = np.pi / 180
SERVOS = {  # units of control and activation, before they are divided by time
    "position": ("", ""),
    "velocity": ("/s", "/s"),
    "integrated velocity": ("/s", ""),
}


def entry_names(model: Model, quantity: str) -> tuple[str, ...]:
    """Names of the entries of q, or of dq, ddq and tau."""
    return model.coordinate_names if quantity == "q" else model.dof_names


def kinds(model: Model, quantity: str) -> list[str]:
    """RAD, METRE or NUMBER (a part of a quaternion) for every entry of a joint vector.

    The kind of a force is that of its motion: RAD for a moment, METRE for a force.
    """
    parts_of = COORDINATES if quantity == "q" else RATES
    entries: list[str] = []
    for joint in model.leaders:
        parts = parts_of.get(joint.type)
        if parts is None:
            entries.append(METRE if joint.type == PRISMATIC else RAD)
        else:
            entries += [RAD if x in ANGLES else METRE if x in LENGTHS else NUMBER for x in parts]
    return entries


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


def goal_kind(model: Model, x: JointActuator) -> str | None:
    """RAD or METRE if the control of an actuator is the goal of one joint, with a gear of 1 or -1.

    NUMBER for controls that are not such a goal. None for a servo whose goal is a sum or multiple
    of angles: with a gear the goal may be an angle, or the length of a belt. The goal of an
    actuator between points is a length.
    """
    if actuator_kind(x) not in SERVOS:
        return NUMBER
    if x.points:
        return METRE
    measured = [kinds(model, "q")[k] for k in x.coords]
    if len(measured) == 1 and abs(x.arms[0]) == 1:
        return measured[0]
    return None if RAD in measured else NUMBER


def control_units(model: Model, x: JointActuator, degrees: bool = False) -> tuple[str, str]:
    """Units of the control and the activation of an actuator; "" where the model knows none."""
    kind = goal_kind(model, x)
    if not kind:
        return "", ""
    word = "deg" if degrees and kind == RAD else kind
    control, activation = (word + per_time for per_time in SERVOS[actuator_kind(x)])
    return control, activation if x.has_activation else ""


def control_factors(model: Model, degrees: bool) -> Array:
    """SI units in one unit of the user, for the control and activation of every actuator."""
    turning = [degrees and goal_kind(model, x) == RAD for x in model.actuators]
    return np.where(turning, DEGREE, 1.0)
