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

from kinetree.core.arrays import known_number, scalar
from kinetree.core.options import names
from kinetree.core.records import check_range, checked
from kinetree.core.text import look_up
from kinetree.errors import InputError, ModelError
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FREE
from kinetree.files.description.records import JointDescription, LinkDescription, Rotor, Spring
from kinetree.model.constrain import without_constraints
from kinetree.model.edit import edited
from kinetree.model.joint import check_one_dof, is_plain
from kinetree.model.model import Model, edit
from kinetree.scalars import Scalar

DEFLECTION, CARRIER = "_elastic", "_motor"  # after the joint's name: the new joint, the new link


@edit
def with_elastic_joint(
    model: Model,
    joint: str,
    stiffness: Scalar,
    damping: Scalar = 0,
    motor_inertia: Scalar | None = None,
    *,
    play: Scalar = 0,
) -> Model:
    """The same robot with a spring between the motor of a joint and its link.

    The joint keeps its name for the position of the motor, and with it its friction, drive,
    actuators and limits: a limit of position is that of the motor, which differs from the link by
    the deflection. A new joint behind it, the name with "_elastic" after it, is the deflection; it
    follows the first one in q. Springs on the joint act on the link, at the sum of both positions.

    Args:
        model: the robot.
        joint: name of a joint of one degree of freedom that moves by itself.
        stiffness: stiffness of the gear at the joint, above 0, N m/rad or N/m.
        damping: damping of the deflection, N m s/rad or N s/m.
        motor_inertia: inertia of the motor as seen by the joint, kg m^2 or kg, in place of the
            joint's armature and rotor; None: these.
        play: backlash of the gear at the joint, the whole width in which the deflection has
            neither stiffness nor damping, rad or m.

    Example:
        >>> arm = kt.robots.planar_2r().with_elastic_joint("joint1", 5000, motor_inertia=0.2)
        >>> arm.joint_names
        ('joint1', 'joint1_elastic', 'joint2')
    """
    without_constraints(model, "with_elastic_joint")
    _check_joint(model, joint)
    what = f"elastic joint {joint!r}"
    gear = checked(Spring(stiffness, damping=damping, play=play), Spring, what)
    check_range(gear.stiffness, f"stiffness of {what}", "above 0", "N m/rad or N/m")
    spring, damper = replace(gear, damping=0), gear.damping
    if not is_plain(gear.play, 0):  # there is no damping within the play
        spring, damper = gear, 0
    description = model.description
    at = next(k for k, x in enumerate(description.joints) if x.name == joint)
    record = description.joints[at]
    deflection = JointDescription(
        name=joint + DEFLECTION,
        type=record.type,
        parent=joint + CARRIER,
        child=record.child,
        M_pc=np.eye(4, dtype=int),
        A=record.A,
        friction=Friction(viscous=damper),
    )
    motor = replace(_with_inertia(record, motor_inertia), child=joint + CARRIER)
    springs = {name: _on_link(name, x, joint) for name, x in description.springs.items()}
    if joint + DEFLECTION in springs:  # names of joints and links are checked by the build
        raise ModelError(f"{model.name!r} has a spring {joint + DEFLECTION!r} already.")
    return edited(
        model,
        links=(*description.links, LinkDescription(joint + CARRIER)),
        joints=(*description.joints[:at], motor, deflection, *description.joints[at + 1 :]),
        springs={**springs, joint + DEFLECTION: spring},
    )


def _with_inertia(record: JointDescription, inertia: Scalar | None) -> JointDescription:
    """The joint with the inertia of its motor, which must not be zero."""
    if inertia is not None:
        name = f"motor_inertia of the elastic joint {record.name!r}"
        check_range(scalar(inertia, name), name, "above 0", "kg m^2 or kg")
        return replace(record, armature=inertia, rotor=None)
    rotor = record.rotor or Rotor(0)
    total = record.armature + rotor.inertia * rotor.ratio * rotor.ratio
    if known_number(total) == 0:
        raise ModelError(
            f"joint {record.name!r} has no motor inertia; expected an armature or a rotor. Give "
            "motor_inertia: rotor inertia times the square of the gear ratio, kg m^2 or kg."
        )
    return record


def _on_link(name: str, spring: Spring, joint: str) -> Spring:
    """The spring with the deflection added wherever it acts on the joint."""
    joints: Mapping[str, Scalar] = {name: 1} if spring.joints is None else spring.joints
    if joint not in joints:
        return spring
    return replace(spring, joints={**joints, joint + DEFLECTION: joints[joint]})


def _check_joint(model: Model, name: str) -> None:
    """Raise unless the joint moves by itself and is followed by no other."""
    check_one_dof(model.joint(name).type, f"joint {name!r} shall be elastic")
    for follower in model.joints:
        if follower.follows is not None and name in (follower.name, follower.follows):
            raise ModelError(
                f"joint {follower.name!r} follows {follower.follows!r}; expected an elastic joint "
                "that moves by itself and is followed by no other."
            )


def motor_rows(model: Model, actuated: Sequence[str] | None) -> tuple[int, ...]:
    """Degrees of freedom with a motor.

    Args:
        model: the robot.
        actuated: their names; None: all but free joints and deflections, or those of
            `robot.constrained(actuated=...)`.
    """
    held = model.constraints
    if actuated is None:
        free = {d for joint in model.joints if joint.type == FREE for d in joint.dofs}
        motors = {name + DEFLECTION for name in model.dof_names}
        rows = range(model.n) if held is None else held.actuated
        return tuple(k for k in rows if k not in free and model.dof_names[k] not in motors)
    numbers = {name: k for k, name in enumerate(model.dof_names)}
    rows = [look_up(numbers, name, "actuated") for name in names(actuated, "actuated")]
    if not rows or len(set(rows)) < len(rows):
        raise InputError(
            f"actuated is {actuated!r:.60}; expected different degrees of freedom, at least one."
        )
    return tuple(rows)
