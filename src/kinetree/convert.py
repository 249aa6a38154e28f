"""Robots and joint vectors in other forms: tables, URDF, MJCF, and the orders of other libraries.

    robot = kt.convert.from_dh(table, m=m, com=com, I_com=I_com)
    text = kt.convert.to_urdf(robot)
    there, back = kt.convert.to_pinocchio(robot), kt.convert.from_pinocchio(robot)
    q_pin, v_pin = there.q(q), there.dq(q, dq)
    a_pin = pinocchio.aba(pin_model, data, q_pin, v_pin, there.tau(q, tau))
    ddq = back.ddq(q_pin, v_pin, a_pin)

A converter converts `q`, `dq`, `ddq`, `tau`, `mass_matrix`, `jacobian`, `twist` and `wrench`, over
any leading axes; an argument q is in the order that the converter starts from.
"""

from collections.abc import Collection, Sequence
from math import isinf

from kinetree.core.options import typed
from kinetree.files.convert.converter import Converter, Order, make_order
from kinetree.files.convert.libraries import drake, mujoco, pinocchio
from kinetree.files.description.joints import REVOLUTE
from kinetree.files.saving import Saved, save
from kinetree.files.write import to_mjcf, to_urdf
from kinetree.model import HasModel, Model, model_of
from kinetree.robot.tables import from_dh, from_points, from_screws, from_transforms

__all__ = [
    "Converter",
    "Saved",
    "from_dh",
    "from_drake",
    "from_mujoco",
    "from_pinocchio",
    "from_points",
    "from_screws",
    "from_transforms",
    "save",
    "to_drake",
    "to_mjcf",
    "to_mujoco",
    "to_pinocchio",
    "to_urdf",
]


@typed
def to_pinocchio(
    model: Model | HasModel,
    joints: Sequence[str] | None = None,
    continuous: Collection[str] | None = None,
) -> Converter:
    """Make the converter to Pinocchio: 6-vectors linear first, quaternions x y z w after positions.

    A free joint has q = (x, y, z, qx, qy, qz, qw) and the body twist (v, omega); a planar one
    q = (x, y, cos, sin) and (vx, vy, wz) in its own axes. Jacobians are those of the LOCAL frame
    for `body_jacobian`.

    Args:
        model: the robot, or its model.
        joints: names of its joints in Pinocchio's order, `list(pin_model.names)[1:]`; None: the
            order they have here.
        continuous: revolute joints for which Pinocchio's q holds cos and sin. None: those without
            position limits, as Pinocchio's reader of URDF makes them.
    """
    return Converter(_pinocchio(model, joints, continuous), outward=True)


@typed
def from_pinocchio(
    model: Model | HasModel,
    joints: Sequence[str] | None = None,
    continuous: Collection[str] | None = None,
) -> Converter:
    """Make the inverse of `to_pinocchio`; continuous joints come back between -pi and pi.

    Args:
        model: a Robot or a Model.
        joints: names of the joints in the order of the library; None: the order they have here.
        continuous: names of joints that the library gives as (cos, sin); None: those without
            limits.
    """
    return Converter(_pinocchio(model, joints, continuous), outward=False)


@typed
def to_mujoco(model: Model | HasModel, joints: Sequence[str] | None = None) -> Converter:
    """Make the converter to MuJoCo: positions before quaternions w x y z, free bodies in the world.

    A free joint has qpos = (x, y, z, qw, qx, qy, qz) in the world and qvel = (v in the axes of the
    world, omega in those of the body). A planar joint is two slides along x and y and a hinge, with
    q = (x, y, theta) and their rates. Wrenches are those of xfrc_applied, force first; Jacobians
    have the rows of jacp, then those of jacr; twists (mj_objectVelocity) stay angular first.

    Args:
        model: the robot, or its model.
        joints: names of its joints in MuJoCo's order; None: the order they have here.
    """
    return Converter(make_order(model, mujoco(), joints), outward=True)


@typed
def from_mujoco(model: Model | HasModel, joints: Sequence[str] | None = None) -> Converter:
    """Make the inverse of `to_mujoco`.

    Args:
        model: a Robot or a Model.
        joints: names of the joints in the order of the library; None: the order they have here.
    """
    return Converter(make_order(model, mujoco(), joints), outward=False)


@typed
def to_drake(model: Model | HasModel, joints: Sequence[str] | None = None) -> Converter:
    """Make the converter to Drake: angular first, twists of bodies in the axes of the parent.

    A free joint is a QuaternionFloatingJoint: q = (qw, qx, qy, qz, x, y, z) and v = (omega, v),
    both in the axes of the frame it floats in. A spherical joint is a BallRpyJoint: roll, pitch and
    yaw, and omega in the axes of the parent. A planar joint has q = (x, y, theta) and their rates.

    Args:
        model: the robot, or its model.
        joints: names of its joints in Drake's order; None: the order they have here.
    """
    return Converter(make_order(model, drake(), joints), outward=True)


@typed
def from_drake(model: Model | HasModel, joints: Sequence[str] | None = None) -> Converter:
    """Make the inverse of `to_drake`.

    Args:
        model: a Robot or a Model.
        joints: names of the joints in the order of the library; None: the order they have here.
    """
    return Converter(make_order(model, drake(), joints), outward=False)


def _pinocchio(
    model: Model | HasModel, joints: Sequence[str] | None, continuous: Collection[str] | None
) -> Order:
    if continuous is None:
        continuous = [
            joint.name
            for joint in model_of(model).joints
            if joint.type == REVOLUTE and isinf(joint.limits.lower) and isinf(joint.limits.upper)
        ]
    return make_order(model, pinocchio(frozenset(continuous)), joints)
