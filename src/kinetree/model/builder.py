"""Builder: a robot one link and one joint at a time."""

import numpy as np

from kinetree.base.arrays import Array, ArrayLike, array
from kinetree.description.joints import joint_screw
from kinetree.description.records import (
    Body,
    FrameDescription,
    Friction,
    JointDescription,
    Limits,
    LinkDescription,
    Mimic,
    RobotDescription,
    Rotor,
)
from kinetree.errors import ShapeError
from kinetree.model.build import build_model
from kinetree.model.model import Model
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import check_pose, translation


class Builder:
    """Collector of links, joints and frames; `build` makes the model.

    Links may come in any order; joints connect them by name. The first link without a parent is
    the base, fixed in {s}.

        Builder("pendulum").link("base").link("rod", m=1, com=(0, 0, -0.5)).joint(
            "pivot", "revolute", "base", "rod", axis=(0, 1, 0)
        ).build()
    """

    def __init__(self, name: str = "robot", gravity: ArrayLike = (0, 0, -9.81)) -> None:
        self.name = name
        self.gravity = gravity
        self._links: list[LinkDescription] = []
        self._joints: list[JointDescription] = []
        self._frames: list[FrameDescription] = []
        self._tool: str | None = None

    def link(
        self,
        name: str,
        m: Scalar | None = None,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
    ) -> "Builder":
        """Add a link of mass m with inertia `I_com` about its centre `com`; None: massless."""
        bodies = ()
        if m is not None or I_com is not None:
            I = np.zeros((3, 3)) if I_com is None else I_com
            bodies = (Body(0.0 if m is None else m, com, I),)
        self._links.append(LinkDescription(name, bodies))
        return self

    def joint(
        self,
        name: str,
        type: str,
        parent: str,
        child: str,
        *,
        at: ArrayLike = (0, 0, 0),
        axis: ArrayLike = (0, 0, 1),
        point: ArrayLike = (0, 0, 0),
        pitch: Scalar = 0,
        friction: Friction = Friction(),  # noqa: B008 (frozen)
        armature: Scalar = 0,
        rotor: Rotor | None = None,
        mimic: Mimic | None = None,
        offset: Scalar = 0,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
    ) -> "Builder":
        """Add a joint between two links.

        Args:
            name: its name.
            type: "revolute", "prismatic", "helical", "spherical", "planar" (in the xy-plane),
                "free" or "fixed".
            parent: name of the link on the side of the base.
            child: name of the link that it moves.
            at: the child's frame in the parent's at q = 0: a position (3,) or a pose (4, 4).
            axis: direction of the axis in the child's frame, length 1.
            point: a point on the axis in the child's frame, when it misses the origin.
            pitch: m/rad, of a helical joint.
            friction: see `Friction`.
            armature: inertia seen by the joint, kg m^2 or kg.
            rotor: see `Rotor`.
            mimic: see `Mimic`.
            offset: the joint stands at q + offset.
            limits: see `Limits`.
        """
        self._joints.append(
            JointDescription(
                name=name,
                type=type,
                parent=parent,
                child=child,
                M_pc=_pose(at, f"'at' of joint {name!r}"),
                A=joint_screw(type, axis, pitch, point, name),
                friction=friction,
                armature=armature,
                rotor=rotor,
                mimic=mimic,
                offset=offset,
                limits=limits,
            )
        )
        return self

    def frame(
        self, name: str, link: str, at: ArrayLike = (0, 0, 0), *, tool: bool = False
    ) -> "Builder":
        """Add a frame fixed in a link, at a position or pose; `tool`: it is the end-effector."""
        self._frames.append(FrameDescription(name, link, _pose(at, f"'at' of frame {name!r}")))
        if tool:
            self._tool = name
        return self

    def build(self, *, unphysical: str = "error") -> Model:
        """Build and check the model; `unphysical` as in `build_model`."""
        return build_model(self.describe(), unphysical=unphysical)

    def describe(self) -> RobotDescription:
        """The records collected so far."""
        return RobotDescription(
            name=self.name,
            links=tuple(self._links),
            joints=tuple(self._joints),
            frames=tuple(self._frames),
            tool=self._tool,
            gravity=self.gravity,
        )


def _pose(at: ArrayLike, name: str) -> Array:
    try:
        shape = np.asarray(at).shape
    except ValueError:
        shape = "a ragged list"
    if shape == (3,):
        return translation(array(at, (3,), name))
    if shape == (4, 4):
        return check_pose(at, name)
    raise ShapeError(f"{name} must be a position (3,) or a pose (4, 4), found {shape}.")
