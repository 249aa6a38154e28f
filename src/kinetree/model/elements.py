"""Springs, actuators and motors of the model: joints and points by number, mimic joints resolved.

Each acts at a length x, the sum of c_j q_j over its joints or the length of a path through points.
A joint that follows another stands at scale * q + offset of its leader: scale becomes a part of the
coefficient of the leader, and offset a part of the constant of x. So the model has coefficients of
joints that move by themselves alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, scalar
from kinetree.core.records import checked, mapping
from kinetree.core.text import look_up
from kinetree.errors import InputError
from kinetree.files.description.actuators import (
    Actuator,
    Coefficients,
    Points,
    Range,
    checked_actuator,
)
from kinetree.files.description.joints import PRISMATIC
from kinetree.files.description.records import Friction, Motor, Spring
from kinetree.model.friction import checked_friction, is_zero
from kinetree.model.joint import Joint, check_one_dof, is_plain
from kinetree.scalars import Scalar

# fields of an actuator that are those of its record
SAME = tuple(x.name for x in fields(Actuator) if x.name not in ("joints", "points"))
DEPENDENT = 1e-9  # share of a row of N left by the rows before it; rounding leaves 1e-15
Frames = Mapping[str, Any]  # of the model: a number of a link and T_if, the pose in it


@dataclass(frozen=True)
class PathPoint:
    """A point of a link, by name and number: at, (3,), in its frame."""

    name: str
    link: int
    at: tuple[Scalar, ...]


@dataclass(frozen=True, kw_only=True)
class Element:
    """What acts over x = sum of arms[k] * q[coords[k]], or over the length of a path.

    joints, dofs: the joints and the entries of dq and tau that belong to `coords`. points: of the
    path of an element without arms.
    """

    name: str
    joints: tuple[str, ...] = ()
    coords: tuple[int, ...] = ()
    dofs: tuple[int, ...] = ()
    arms: tuple[Scalar, ...] = ()
    points: tuple[PathPoint, ...] = ()

    @property
    def arm_of(self) -> dict[str, Scalar]:
        """The arm of each joint, by name."""
        return dict(zip(self.joints, self.arms, strict=True))

    @property
    def arm_of_dof(self) -> dict[int, Scalar]:
        """The arm of each joint, by its entry of dq."""
        return dict(zip(self.dofs, self.arms, strict=True))


@dataclass(frozen=True, kw_only=True)
class JointSpring(Element):
    """A spring of the energy stiffness/2 (x - rest)^2.

    play: width of the range about `rest` without force, beyond which x - rest counts from its end.
    """

    stiffness: Scalar
    rest: Scalar
    damping: Scalar = 0
    play: Scalar = 0

    @property
    def record(self) -> Spring:
        """The spring as a user gives it, on joints that move by themselves."""
        single = self.joints == (self.name,) and is_plain(self.arms[0], 1)
        joints = None if single or self.points else self.arm_of
        return Spring(
            self.stiffness, self.rest, joints, self.damping, _described(self.points), self.play
        )


@dataclass(frozen=True, kw_only=True)
class JointActuator(Element):
    """An actuator of length x + shift; see `Actuator`."""

    arms: tuple[float, ...] = ()
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

    @property
    def has_activation(self) -> bool:
        """Whether a state of the actuator acts, and not the control itself."""
        return self.dynamics != "none"

    @property
    def record(self) -> Actuator:
        """The actuator as a user gives it; the shift of mimic joints is in its gain and bias."""
        laws = shifted_law(self.gain, self.bias, self.shift) if self.shift else {}
        own = {x: getattr(self, x) for x in SAME} | laws
        joints = dict(zip(self.joints, self.arms, strict=True))
        return Actuator(joints, points=_described(self.points), **own)


@dataclass(frozen=True, kw_only=True)
class GearedMotor(Element):
    """A motor at the angle x, and a constant of mimic joints.

    It turns at the sum of N_kj dq_j over its joints: coupled wrists, parallelograms and
    differentials have several joints in a row of N, which are its arms.
    """

    inertia: Scalar
    friction: Friction

    @property
    def record(self) -> Motor:
        """The motor as a user gives it, on joints that move by themselves."""
        return Motor(self.arm_of, self.inertia, self.friction)

    def rate(self, dq: Array) -> Any:
        """The sum of arms times dq: of rates the motor's rate, of accelerations its own."""
        pairs = zip(self.dofs, self.arms, strict=True)
        parts: list[Any] = [dq[d] if is_plain(arm, 1) else dq[d] * arm for d, arm in pairs]
        return sum(parts[1:], parts[0])


def build_spring(name: str, spring: Spring, joints: Sequence[Joint], frames: Frames) -> JointSpring:
    """The spring over the joints and frames of a model."""
    owner = f"spring {name!r}"
    x = checked(spring, Spring, owner)
    if x.points is not None and x.joints is not None:
        raise InputError(f"{owner} has joints and points; expected one of them.")
    place, shift = _place(owner, x.joints or {name: 1}, x.points, joints, frames)
    rest = x.rest if is_plain(shift, 0) else x.rest - shift
    return JointSpring(
        name=name, stiffness=x.stiffness, rest=rest, damping=x.damping, play=x.play, **place
    )


def build_actuator(
    name: str, actuator: Actuator, joints: Sequence[Joint], frames: Frames
) -> JointActuator:
    """The actuator over the joints and frames of a model."""
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of an actuator is {name!r:.60}; expected a text.")
    x = checked_actuator(actuator, name)
    place, shift = _place(f"actuator {name!r}", x.joints, x.points, joints, frames)
    place["arms"] = tuple(map(float, place.get("arms", ())))
    law = {field: getattr(x, field) for field in SAME}
    return JointActuator(name=name, shift=float(shift), **place, **law)


def build_motor(name: str, motor: Motor, joints: Sequence[Joint], frames: Frames) -> GearedMotor:
    """The motor over the joints of a model."""
    x = checked(motor, Motor, f"motor {name!r}")
    friction = checked_friction(x.friction, name, kind="motor")
    if not is_zero(friction.load):
        raise InputError(
            f"motor {name!r} has load friction. Give it to the joints that the motor drives."
        )
    place, _ = _place(f"motor {name!r}", x.joints, None, joints, frames)
    return GearedMotor(name=name, inertia=x.inertia, friction=friction, **place)


def _place(
    owner: str,
    coefficients: Mapping[str, Scalar],
    points: Points | None,
    joints: Sequence[Joint],
    frames: Frames,
) -> tuple[dict[str, Any], Scalar]:
    """Where an element acts: fields of `Element`; the constant part of its length."""
    if points is not None:
        return {"points": _path_points(owner, points, frames)}, 0
    example = "{joint: coefficient}, such as {'hip': 1, 'knee': -1}"
    if not mapping(coefficients, f"joints of {owner}", example):
        raise InputError(f"{owner} has no joints; expected {example}.")
    by_name = {joint.name: joint for joint in joints}
    arms: dict[Joint, Scalar] = {}
    shift: Scalar = 0
    for key, value in coefficients.items():
        joint = look_up(by_name, key, f"the moving joint that {owner} acts on")
        check_one_dof(joint.type, f"{owner} acts on joint {key!r}")
        coefficient = scalar(value, f"coefficient of joint {key!r} in {owner}")
        if is_plain(coefficient, 0):
            raise InputError(f"coefficient of joint {key!r} in {owner} is 0; leave the joint out.")
        leader = joint if joint.follows is None else by_name[joint.follows]
        if leader is not joint and not is_plain(joint.offset, 0):
            shift = shift + coefficient * joint.offset
        arm = coefficient if is_plain(joint.scale, 1) else coefficient * joint.scale
        arms[leader] = arms[leader] + arm if leader in arms else arm
    place = {x: tuple(getattr(joint, x)[0] for joint in arms) for x in ("coords", "dofs")}
    return {"joints": tuple(x.name for x in arms), "arms": tuple(arms.values()), **place}, shift


def _path_points(owner: str, pairs: Points, frames: Frames) -> tuple[PathPoint, ...]:
    """The points of a spring or actuator, checked, in the frames of their links."""
    points = list[PathPoint]()
    pair_like = isinstance(pairs, Sequence) and all(
        isinstance(x, Sequence) and len(x) == 2 and isinstance(x[0], str) for x in pairs
    )
    if not pair_like or len(pairs) < 2:
        raise InputError(
            f"points of {owner} are {pairs!r:.60}; expected [(link or frame, position (3,) in m), "
            "...], two or more."
        )
    for of, position in pairs:
        frame = look_up(frames, of, f"the link or frame that {owner} passes")
        at = array(position, (3,), f"point of {owner} on {of!r}")
        moved = frame.T_if[:3, :3] @ at + frame.T_if[:3, 3]
        link = next(key for key, x in frames.items() if x.link == frame.link)
        points.append(PathPoint(link, frame.link, tuple(moved.tolist())))
    for first, last in pairwise(points):
        if first == last:
            raise InputError(f"{owner} passes the same point of {first.name!r} twice in a row.")
    return tuple(points)


def _described(points: Sequence[PathPoint]) -> list[tuple[str, ArrayLike]] | None:
    """Points as a user gives them; None if there are none."""
    return [(point.name, point.at) for point in points] or None


def motor_matrix(motors: Sequence[GearedMotor], n: int) -> Array:
    """N, (k, n): the rates of the motors are N dq."""
    rows = [[x.arm_of_dof.get(d, 0) for d in range(n)] for x in motors]
    return np.array(rows).reshape(len(motors), n)


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


def spring_units(spring: JointSpring, joints: Sequence[Joint]) -> tuple[str, str, str]:
    """Units of stiffness, of stiffness times rest position, and of the rest position.

    Coefficients of a spring between joints count as plain numbers if all joints turn or all slide;
    the sum over joints of both kinds has no unit of its own.
    """
    if spring.points:
        return "N/m", "N", "m"
    sliding = {x.type == PRISMATIC for x in joints if set(x.coords) & set(spring.coords)}
    if len(sliding) > 1:
        return "J", "J", "1"
    return ("N/m", "N", "m") if True in sliding else ("N m/rad", "N m", "rad")
