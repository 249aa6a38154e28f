"""Actuators of the model from their descriptions: joints by number, mimic joints resolved.

A joint that follows another stands at scale * q + offset of its leader, so an actuator on it acts
through the leader: scale becomes a part of the gear, and offset a part of the length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.errors import InputError
from kinetree.files.description.actuators import Actuator, Coefficients, Range, checked_actuator
from kinetree.model.joint import Joint
from kinetree.model.springs import Frames, PathPoint, described_points, joint_arms, path_points

SAME = (  # fields that are those of the record
    *("gain", "bias", "dynamics", "time_constant", "delay", "early"),
    *("control_range", "force_range", "activation_range"),
)


@dataclass(frozen=True)
class JointActuator:
    """An actuator of length x = sum of gears[k] * q[coords[k]] + shift; see `Actuator`.

    joints, dofs: the joints and the entries of dq and tau that belong to `coords`. points: of an
    actuator between points, which has no gears: x is the length of the path through them.
    """

    name: str
    joints: tuple[str, ...]
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    gears: tuple[float, ...]
    shift: float
    gain: Coefficients
    bias: Coefficients
    dynamics: str
    time_constant: float
    delay: float
    early: bool
    control_range: Range
    force_range: Range
    activation_range: Range
    points: tuple[PathPoint, ...] = ()

    @property
    def has_activation(self) -> bool:
        """Whether a state of the actuator acts, and not the control itself."""
        return self.dynamics != "none"

    @property
    def record(self) -> Actuator:
        """The actuator as a user gives it; the shift of mimic joints is in its gain and bias."""
        joints = dict(zip(self.joints, self.gears, strict=True))
        laws = shifted_law(self.gain, self.bias, self.shift) if self.shift else {}
        own = {x: getattr(self, x) for x in SAME} | laws
        return Actuator(joints, points=described_points(self.points), **own)


def actuator_kind(x: JointActuator) -> str:
    """The kind of an actuator in a word, from its law; "general" if it is not a usual one."""
    (g0, g1, g2), (b0, b1, b2) = x.gain, x.bias
    if g1 or b0:
        return "general"
    if x.dynamics == "integrator":
        return "integrated velocity" if (b1 == -g0 and not g2) else "general"
    if not (g2 or b1 or b2):
        return "motor"
    if not g2 and b1 == -g0:
        return "position"
    if not (g2 or b1) and b2 == -g0:
        return "velocity"
    return "damper" if not (g0 or b1 or b2) else "general"


def shifted_law(gain: Coefficients, bias: Coefficients, shift: float) -> dict[str, Any]:
    """Gain and bias over the rest of a length of which `shift` is a constant part."""
    (g0, g1, g2), (b0, b1, b2) = gain, bias
    return {"gain": (g0 + g1 * shift, g1, g2), "bias": (b0 + b1 * shift, b1, b2)}


def build_actuator(
    name: str, actuator: Actuator, joints: Sequence[Joint], frames: Frames
) -> JointActuator:
    """The actuator over the joints of a model; frames: its links and frames by name."""
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of an actuator is {name!r:.60}; expected a text.")
    record = checked_actuator(actuator, name)
    own = {x: getattr(record, x) for x in SAME}
    if record.points is not None:
        points = path_points("actuator", name, record.points, frames)
        return JointActuator(name, (), (), (), (), 0.0, points=points, **own)
    (ends, coords, dofs, gears), shift = joint_arms("actuator", name, record.joints, joints)
    return JointActuator(name, ends, coords, dofs, tuple(map(float, gears)), float(shift), **own)
