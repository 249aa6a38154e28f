"""Elastic joints: a joint split into its motor and the deflection of the gear behind it.

Harmonic drives, belts and long shafts give way under load. The link of such a joint stands at

    q_link = q + d,     q: position of the motor at the joint,  d: deflection

and the spring of the gear turns the deflection into the force k d + b dd/dt between motor and link.
With the motor's position and the deflection as coordinates the robot stays a tree: a carrier
without mass turns with the motor, and the link turns on the carrier. The inertia of the motor is
the armature or the rotor of the first joint; the spring and the damping belong to the second. The
first joint keeps its name, its drive and its limits, so that a force for it is the force of the
motor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import known, scalar
from kinetree.core.options import name as read_name
from kinetree.errors import InputError, ModelError
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FREE, SCREW_TYPES
from kinetree.files.description.records import (
    JointDescription,
    Limits,
    LinkDescription,
    RobotDescription,
    Spring,
)
from kinetree.model.build import build_model
from kinetree.model.constrain import without_constraints
from kinetree.model.joint import Joint, is_plain
from kinetree.model.model import Model
from kinetree.scalars import Scalar

DEFLECTION, CARRIER = "_elastic", "_motor"  # after the joint's name: the new joint, the new link


def with_elastic_joint(
    model: Model,
    joint: str,
    stiffness: Scalar,
    damping: Scalar = 0,
    motor_inertia: Scalar | None = None,
    play: Scalar = 0,
) -> Model:
    """Return the robot with a spring between the motor of a joint and its link.

    The joint keeps its name for the position of the motor. A new joint, the name with "_elastic"
    after it, is the deflection; it follows the first one in q. Friction, drive, actuators and all
    limits stay with the motor: a limit of position is that of the motor, which differs from the
    link by the deflection. Springs on the joint act on the link, at the sum of both positions.
    Arguments as in `Robot.with_elastic_joint`.
    """
    without_constraints(model, "with_elastic_joint")
    elastic = _checked_joint(model, read_name(joint, "joint"))
    k = _number(stiffness, f"stiffness of the elastic joint {joint!r}", zero=False)
    b = _number(damping, f"damping of the elastic joint {joint!r}", zero=True)
    w = _number(play, f"play of the elastic joint {joint!r}", zero=True)
    spring, c = Spring(k), b
    if not is_plain(w, 0):  # there is no damping within the play
        spring, c = Spring(k, damping=b, play=w), 0
    description = model.description
    _check_names(description, joint)
    records: list[JointDescription] = []
    for record in description.joints:
        if record.name == joint:
            records += _split(record, elastic, c, _motor(record, motor_inertia))
        else:
            records.append(record)
    carrier = LinkDescription(joint + CARRIER)
    springs = {name: _on_link(name, x, joint) for name, x in description.springs.items()}
    changed = replace(
        description,
        links=(*description.links, carrier),
        joints=tuple(records),
        springs={**springs, joint + DEFLECTION: spring},
    )
    return build_model(changed, unphysical="allow")


def _split(
    record: JointDescription, elastic: Joint, damping: Scalar, motor: JointDescription
) -> list[JointDescription]:
    """The joint of the motor, onto the carrier, and that of the deflection, from there."""
    deflection = JointDescription(
        name=record.name + DEFLECTION,
        type=elastic.type,
        parent=record.name + CARRIER,
        child=record.child,
        M_pc=np.eye(4, dtype=int),
        A=record.A,
        friction=Friction(viscous=damping),
        limits=Limits(),
    )
    return [replace(motor, child=record.name + CARRIER), deflection]


def _motor(record: JointDescription, inertia: Scalar | None) -> JointDescription:
    """The joint with the inertia of its motor, which must not be zero."""
    if inertia is not None:
        value = _number(inertia, f"motor inertia of the elastic joint {record.name!r}", zero=False)
        return replace(record, armature=value, rotor=None)
    rotor = record.rotor
    total = record.armature
    if rotor is not None:
        total = total + rotor.inertia * rotor.ratio * rotor.ratio
    number = known(np.asarray(total))
    if number is not None and number == 0:
        raise ModelError(
            f"joint {record.name!r} has no motor inertia, so nothing would move between the force "
            "of the motor and the spring; expected an armature or a rotor. Give motor_inertia: the "
            "inertia of the rotor times the square of the gear ratio, kg m^2 (kg if it slides)."
        )
    return record


def _on_link(name: str, spring: Spring, joint: str) -> Spring:
    """The spring with the deflection added wherever it acts on the joint."""
    joints: Mapping[str, Scalar] = {name: 1} if spring.joints is None else spring.joints
    if joint not in joints:
        return spring
    return replace(spring, joints={**joints, joint + DEFLECTION: joints[joint]})


def _checked_joint(model: Model, name: str) -> Joint:
    joint = model.joint(name)
    if joint.type not in SCREW_TYPES:
        raise ModelError(
            f"joint {name!r} is {joint.type}; expected a joint of one degree of freedom "
            f"({', '.join(SCREW_TYPES)}) to be elastic."
        )
    followers = [x.name for x in model.joints if x.follows == name]
    if joint.follows is not None or followers:
        leader, follower = (
            (joint.follows, name) if joint.follows is not None else (name, followers[0])
        )
        raise ModelError(
            f"joint {follower!r} follows {leader!r}, so the deflection of {name!r} would have two "
            "meanings; expected a joint that moves by itself and is followed by no other. Build "
            "the robot without this mimic joint."
        )
    return joint


def _check_names(description: RobotDescription, joint: str) -> None:
    """Raise ModelError if a name that the new parts need is taken."""
    taken = {
        "joint": ({x.name for x in description.joints}, joint + DEFLECTION),
        "spring": (set(description.springs), joint + DEFLECTION),
        "link or frame": (
            {x.name for x in (*description.links, *description.frames)},
            joint + CARRIER,
        ),
    }
    for kind, (names, new) in taken.items():
        if new in names:
            raise ModelError(
                f"{description.name!r} has a {kind} {new!r} already; expected this name to be free "
                f"for the elastic joint {joint!r}. A joint can be made elastic once."
            )


def _number(value: Scalar, name: str, *, zero: bool) -> Scalar:
    checked = scalar(value, name)
    number = known(np.asarray(checked))
    if number is not None and not (number >= 0 if zero else number > 0):
        raise InputError(f"{name} is {checked}; expected {'0 or more' if zero else 'above 0'}.")
    return checked


def motor_rows(model: Model, actuated: Sequence[str] | None) -> tuple[int, ...]:
    """Degrees of freedom with a motor.

    Args:
        model: the robot.
        actuated: their names; None: all but free joints and deflections, or those of
            `robot.constrained(actuated=...)`.
    """
    names, held = model.dof_names, model.constraints
    if actuated is None:
        free = {d for joint in model.joints if joint.type == FREE for d in joint.dofs}
        motors = {name + DEFLECTION for name in names}
        rows = range(model.n) if held is None else held.actuated
        return tuple(k for k in rows if k not in free and names[k] not in motors)
    chosen = [] if isinstance(actuated, str) else list(actuated)
    twice = [name for k, name in enumerate(chosen) if name in chosen[:k]]
    wrong = [f"{name!r:.60}" for name in chosen if name not in names]
    wrong += [f"{name!r} twice" for name in twice if name in names]
    if wrong or not chosen:
        problem = f"has {wrong[0]}" if wrong else f"is {actuated!r:.60}"
        raise InputError(
            f"actuated {problem}; expected different degrees of freedom of {model.name!r}, "
            f"at least one of {', '.join(names)}."
        )
    return tuple(names.index(name) for name in chosen)
