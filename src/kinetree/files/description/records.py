"""The records between a source (file, table, list of screws) and the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.records import number
from kinetree.files.description.actuators import UNLIMITED, Actuator, Points, Range
from kinetree.files.description.collisions import Collisions
from kinetree.files.description.constraints import Constrained
from kinetree.files.description.contacts import Contacts
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import Friction
from kinetree.scalars import Scalar


@dataclass(frozen=True)
class Body:
    """Mass m in kg, centre of mass in m, inertia about the centre in kg m^2, all in one frame."""

    m: Scalar = 0
    com: ArrayLike = (0, 0, 0)
    I_com: ArrayLike = field(default_factory=lambda: np.zeros((3, 3), int))


@dataclass(frozen=True)
class Spring:
    """A linear spring of a joint, between joints or between points, with a damper.

    Its energy is stiffness / 2 (x - rest)^2. x is the position of the joint, the sum of c_j q_j
    over `joints`, or the length of a path through `points`. The joint force that it needs, dx/dq_j
    (stiffness (x - rest) + damping dx/dt), is part of tau. Of a joint that follows another, the
    position counts at which it stands.

    Args:
        stiffness: stiffness, N m/rad or N/m.
        rest: value of x without force, rad or m, counted as q is.
        joints: {joint name: coefficient c_j}, of one degree of freedom each, dimensionless or
            m/rad; None: the joint that the spring is given to.
        damping: force for a rate dx/dt, N m s/rad or N s/m.
        points: of a spring or cable between points: [(link or frame, position in it, (3,), m)],
            in their order along it, two or more; None: a spring of joints.
        play: width of the range about `rest` in which it has neither force nor damping, rad or m:
            the backlash of a gear. Beyond it, x - rest counts from the end of the range.
    """

    stiffness: Scalar = number("N m/rad or N/m", "at least 0")
    rest: Scalar = number("rad or m", default=0)
    joints: Mapping[str, Scalar] | None = None
    damping: Scalar = number("N m s/rad or N s/m", "at least 0", default=0)
    points: Points | None = None
    play: Scalar = number("rad or m", "at least 0", default=0)


@dataclass(frozen=True)
class Motor:
    """A motor that turns with several joints: one row of a coupled transmission.

    Its angle is the sum of ratio_j q_j over `joints`. Its inertia and friction act on the motor:
    the joints need ratio_j times the motor's force.

    Args:
        joints: {joint name: ratio_j}, of one degree of freedom each, dimensionless or rad/m.
        inertia: inertia about its axis, with the gear, kg m^2. It moves as armature does, without
            gyroscopic forces.
        friction: friction over the rate of the motor, without load friction.
    """

    joints: Mapping[str, Scalar]
    inertia: Scalar = number("kg m^2", "at least 0", default=0)
    friction: Friction = Friction()


@dataclass(frozen=True)
class Rotor:
    """The rotor of a joint's motor, spinning at ratio * dq relative to the link that carries it.

    The carrier's mass and inertia are those of the link with the rotor locked in.

    Args:
        inertia: inertia about the spin axis, kg m^2.
        ratio: gear ratio, dimensionless.
        axis: direction of the spin axis in the frame of `link`, shape (3,), of length 1; None: the
            joint's own axis at q = 0.
        link: name of the link that carries the motor; None: the joint's parent.
    """

    inertia: Scalar = number("kg m^2", "at least 0")
    ratio: Scalar = number("dimensionless", default=1)
    axis: ArrayLike | None = None
    link: str | None = None


@dataclass(frozen=True)
class Limits:
    """Position (rad or m), velocity and effort limits of a joint; infinite where not given.

    Args:
        lower: lowest position, rad or m.
        upper: highest position, rad or m.
        velocity: highest rate, rad/s or m/s.
        effort: highest joint force, N m or N.
    """

    lower: float = number("rad or m", default=-inf, infinite=True)
    upper: float = number("rad or m", default=inf, infinite=True)
    velocity: float = number("rad/s or m/s", "at least 0", default=inf, infinite=True)
    effort: float = number("N m or N", "at least 0", default=inf, infinite=True)


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q = multiplier * q of `joint` + offset.

    Args:
        joint: name of the joint to follow.
        multiplier: ratio of the positions, dimensionless or m/rad or rad/m.
        offset: position where the other joint is at zero, rad or m.
    """

    joint: str
    multiplier: Scalar = number("dimensionless or m/rad or rad/m", default=1)
    offset: Scalar = number("rad or m", default=0)


@dataclass(frozen=True)
class Note:
    """A remark on the source; `where` is file:line, or empty.

    source: "file"; "model" of what building a model finds anew each time; "constraints".
    code, fields: what it is about and the numbers and names in it, for programs.
    """

    text: str
    where: str = ""
    source: str = field(default="file", compare=False, repr=False)
    code: str = field(default="", compare=False, repr=False)
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)


@dataclass(frozen=True)
class LinkDescription:
    """A link: the bodies it consists of, each in the link's frame; `where` is its file:line."""

    name: str
    bodies: tuple[Body, ...] = ()
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class JointDescription:
    """A joint: M_pc is the child's frame seen from the parent's where the joint is at zero.

    A is the screw axis of a revolute, prismatic or helical joint in the child's frame; other
    types need none. The joint stands at q + offset (a file may count q from elsewhere).
    actuation: least and most force of all actuators of the joint together, N m or N.
    """

    name: str
    type: str
    parent: str
    child: str
    M_pc: Array
    A: Array | None = None
    offset: Scalar = number("rad or m", default=0)
    mimic: Mimic | None = None
    friction: Friction = Friction()
    armature: Scalar = number("kg m^2 or kg", "at least 0", default=0)
    rotor: Rotor | None = None
    limits: Limits = Limits()
    drive: Drive | None = None
    actuation: Range = UNLIMITED
    where: str = ""


@dataclass(frozen=True)
class FrameDescription:
    """A named frame fixed in a link."""

    name: str
    link: str
    T: Array


@dataclass(frozen=True, kw_only=True)
class RobotDescription:
    """Links, joints and frames in the order of the source; `tool` names the end-effector frame.

    springs: by name; one that lists no joints belongs to the joint of its name. actuators and
    motors: by name.
    constrained: closed loops and other constraints, beyond the tree; None: there are none.
    contacts: points that may touch the ground; None: there are none. collisions: shapes of a file
    that contacts can be made of.
    """

    name: str
    links: tuple[LinkDescription, ...]
    joints: tuple[JointDescription, ...]
    frames: tuple[FrameDescription, ...] = ()
    tool: str | None = None
    gravity: ArrayLike = (0, 0, -9.81)
    springs: Mapping[str, Spring] = field(default_factory=dict[str, Spring])
    actuators: Mapping[str, Actuator] = field(default_factory=dict[str, Actuator])
    motors: Mapping[str, Motor] = field(default_factory=dict[str, Motor])
    notes: tuple[Note, ...] = ()  # contents that are read differently from what one may expect
    warnings: tuple[Note, ...] = ()  # contents that the dynamics cannot honour
    constrained: Constrained | None = None
    contacts: Contacts | None = None
    collisions: Collisions = Collisions()
