"""A kinetree model as a Pinocchio model, joint by joint, and its vectors in Pinocchio's orders.

Pinocchio counts linear parts first and quaternions as (x, y, z, w), and its joint axes pass through
the origins of their frames; ours may pass elsewhere, so its frames are ours moved onto the axes.
Its joints must be numbered depth first (its mass matrix is wrong otherwise), ours need not be.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from kinetree.algorithms.joints.friction import frictionless
from kinetree.model import WORLD, Model
from kinetree.spatial import Ad, screw_parts, swap_order, translation

# where each entry of Pinocchio's vectors is found in ours
RATES = {"spherical": (0, 1, 2), "planar": (1, 2, 0), "free": (3, 4, 5, 0, 1, 2)}


@dataclass(frozen=True, eq=False)
class Twin:
    """Both models; `links` are ours in their order, T[i] is their frame of link i in ours."""

    ours: Model
    theirs: Any
    links: list[int]
    T: dict[int, Any]

    def q(self, q):
        """Our positions in their order."""
        parts = []
        for joint in (self.ours.joints[i] for i in self.links):
            own = q[list(joint.coords)]
            if joint.type == "spherical":
                own = own[[1, 2, 3, 0]]
            elif joint.type == "free":
                own = own[[4, 5, 6, 1, 2, 3, 0]]
            elif joint.type == "planar":
                own = [own[1], own[2], np.cos(own[0]), np.sin(own[0])]
            parts.append(own)
        return np.concatenate(parts)

    @property
    def order(self):
        """Our number of each of their degrees of freedom."""
        return [
            joint.dofs[k]
            for joint in (self.ours.joints[i] for i in self.links)
            for k in RATES.get(joint.type, range(len(joint.dofs)))
        ]

    def wrenches(self, F_ext):
        """Wrenches onto the links, in their frames and order."""
        own = [pin.Force(swap_order(Ad(self.T[i]).T @ F_ext[i])) for i in self.links]
        return [pin.Force.Zero(), *own]


def without_what_it_leaves_out(model: Model) -> Model:
    """The robot without friction, springs, rotors, and armature of free and planar joints.

    Pinocchio takes such armature as I_a ddq in the axes of the link and leaves out I_a w x v, which
    the equations of motion need; MuJoCo, whose rates are in the axes of the world, has it.
    """
    joints = tuple(
        replace(joint, armature=0) if joint.type in ("free", "planar") else joint
        for joint in frictionless(model).joints
    )
    return model.replace(joints=joints, rotors=(), springs=())


def twin(model: Model) -> Twin:
    """Pinocchio's model of a robot without mimic joints."""
    theirs = pin.Model()
    theirs.gravity = pin.Motion(swap_order(np.asarray(model.gravity, float)))
    links, T = depth_first(model, WORLD), {WORLD: np.eye(4)}
    number = {WORLD: 0} | {i: k + 1 for k, i in enumerate(links)}
    for i in links:
        kind, T[i] = _joint(model.joints[i])
        p = model.parent[i]
        placement = np.linalg.inv(T[p]) @ model.M_pi[i] @ T[i]
        theirs.addJoint(number[p], kind, pin.SE3(placement), model.joints[i].name)
        body = pin.Inertia(float(model.m[i]), model.com[i] - T[i][:3, 3], model.I_com[i])
        theirs.appendBodyToJoint(number[i], body, pin.SE3.Identity())
    tool = model.frame(model.tool or model.tips[-1])
    place = pin.SE3(np.linalg.inv(T[tool.link]) @ tool.T_if)
    theirs.addFrame(pin.Frame("tool", number[tool.link], place, pin.FrameType.OP_FRAME))
    joints = [model.joints[i] for i in links]
    theirs.armature = np.concatenate([[joint.armature] * len(joint.dofs) for joint in joints])
    return Twin(model, theirs, links, T)


def depth_first(model: Model, i: int) -> list[int]:
    """The links beyond link i, each followed by all that hang on it."""
    return [k for c in model.children[i] for k in (c, *depth_first(model, c))]


def _joint(joint: Any) -> tuple[Any, Any]:
    if joint.type == "spherical":
        return pin.JointModelSpherical(), np.eye(4)
    if joint.type == "free":
        return pin.JointModelFreeFlyer(), np.eye(4)
    if joint.type == "planar":
        return pin.JointModelPlanar(), np.eye(4)
    point, axis, pitch = screw_parts(joint.screw)
    if joint.type == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis), np.eye(4)
    if joint.type == "revolute":
        return pin.JointModelRevoluteUnaligned(axis), translation(point)
    return pin.JointModelHelicalUnaligned(axis, float(pitch)), translation(point)
