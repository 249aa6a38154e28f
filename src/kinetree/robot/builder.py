"""Builder: a robot one link and one joint at a time."""

from typing import Literal, Self

import numpy as np

from kinetree.core.arrays import ArrayLike
from kinetree.errors import InputError
from kinetree.files.description.drive import Drive
from kinetree.files.description.joints import joint_screw
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    Friction,
    JointDescription,
    Limits,
    LinkDescription,
    Mimic,
    RobotDescription,
    Rotor,
    Spring,
)
from kinetree.model import Model, build_model
from kinetree.robot import Robot
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import placement

JointType = Literal["revolute", "prismatic", "helical", "spherical", "planar", "free", "fixed"]
Unphysical = Literal["error", "warn", "allow"]


class Builder:
    """Collector of links, joints and frames; `build` makes the robot.

    Links may come in any order; joints connect them by name. The first link without a parent is
    the base, fixed in {s}. Numbers may be SymPy symbols, for `kt.symbolic`.

    Args:
        name: name of the robot.
        gravity: acceleration of free fall in {s}, (3,), m/s^2.

    Example:
        >>> arm = kt.Builder("pendulum").link("base").link("rod", m=1, com=(0, 0, -0.5))
        >>> arm.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build()
        Robot('pendulum', joints: pivot)
    """

    def __init__(self, name: str = "robot", gravity: ArrayLike = (0, 0, -9.81)) -> None:
        self.name = name
        self.gravity = gravity
        self._links: list[LinkDescription] = []
        self._joints: list[JointDescription] = []
        self._frames: list[FrameDescription] = []
        self._springs: dict[str, Spring] = {}
        self._tool: str | None = None

    def link(
        self,
        name: str,
        m: Scalar | None = None,
        com: ArrayLike = (0, 0, 0),
        I_com: ArrayLike | None = None,
    ) -> Self:
        """Add a link.

        Args:
            name: its name; its frame has the same name.
            m: mass, kg; None: massless.
            com: centre of mass in the link's frame, (3,), m.
            I_com: inertia about the centre of mass in the axes of the link's frame, (3, 3),
                kg m^2; None: a point mass.

        Returns:
            The builder, for further calls.
        """
        bodies = ()
        if m is not None or I_com is not None:
            I = np.zeros((3, 3)) if I_com is None else I_com
            bodies = (Body(0.0 if m is None else m, com, I),)
        self._links.append(LinkDescription(name, bodies))
        return self

    def joint(
        self,
        name: str,
        type: JointType,
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
        spring: Spring | None = None,
        drive: Drive | None = None,
    ) -> Self:
        """Add a joint between two links.

        Args:
            name: its name.
            type: "revolute", "prismatic", "helical", "spherical", "planar" (in the xy-plane),
                "free" or "fixed".
            parent: name of the link on the side of the base.
            child: name of the link that it moves.
            at: the child's frame in the parent's at q = 0: a position (3,), m, or a pose (4, 4).
            axis: direction of the axis in the child's frame, (3,), of length 1.
            point: a point on the axis in the child's frame, (3,), m, if it misses the origin.
            pitch: translation per turn of a helical joint, m/rad.
            friction: viscous, Coulomb or other friction; see `kt.friction.Friction`.
            armature: inertia of the drive as seen by the joint, kg m^2 or kg.
            rotor: a spinning rotor behind a gear; None: no rotor. See `kt.joints.Rotor`.
            mimic: the joint that this one follows; None: it moves by itself. See `kt.joints.Mimic`.
            offset: the joint stands at q + offset, rad or m.
            limits: limits of position, rate and force; see `kt.joints.Limits`. A joint with `mimic`
                has those of the joint that it follows and takes none.
            spring: a spring of the joint; None: no spring. See `kt.joints.Spring`.
            drive: limits of the motor's force, its loss and delay; None: an ideal one. See
                `kt.joints.Drive`.

        Returns:
            The builder, for further calls.
        """
        if mimic is not None and limits != Limits():
            raise InputError(
                f"joint {name!r} follows another one and has limits of its own; expected none. "
                "Give them to the joint that it follows."
            )
        self._joints.append(
            JointDescription(
                name=name,
                type=type,
                parent=parent,
                child=child,
                M_pc=placement(at, f"'at' of joint {name!r}"),
                A=joint_screw(type, axis, pitch, point, name),
                friction=friction,
                armature=armature,
                rotor=rotor,
                mimic=mimic,
                offset=offset,
                limits=limits,
                drive=drive,
            )
        )
        return self if spring is None else self.spring(name, spring)

    def spring(self, name: str, spring: Spring) -> Self:
        """Add a spring of a joint, or between joints.

        Args:
            name: its name; that of the joint, if the spring lists no joints.
            spring: stiffness, rest position and joints; see `kt.joints.Spring`.

        Returns:
            The builder, for further calls.
        """
        if name in self._springs:
            raise InputError(
                f"{self.name!r} has a spring {name!r} already; expected a name for each. The sum "
                "of two springs on one joint is one spring."
            )
        self._springs[name] = spring
        return self

    def frame(self, name: str, link: str, at: ArrayLike = (0, 0, 0), *, tool: bool = False) -> Self:
        """Add a frame fixed in a link.

        Args:
            name: its name.
            link: name of the link.
            at: the frame in the link's frame: a position (3,), m, or a pose (4, 4).
            tool: whether it is the tool, the frame that poses and Jacobians are of by default.

        Returns:
            The builder, for further calls.
        """
        self._frames.append(FrameDescription(name, link, placement(at, f"'at' of frame {name!r}")))
        if tool:
            self._tool = name
        return self

    def build(self, *, unphysical: Unphysical = "error") -> Robot:
        """Build and check the robot.

        Args:
            unphysical: a mass or inertia that no body can have: "error" raises, "warn" warns,
                "allow" accepts it.
        """
        return Robot(self.build_model(unphysical=unphysical))

    def build_model(self, *, unphysical: Unphysical = "error") -> Model:
        """Build and check the model, the data of the robot without kernels.

        Args:
            unphysical: as in `build`.
        """
        return build_model(self.describe(), unphysical=unphysical)

    def describe(self) -> RobotDescription:
        """The records of links, joints and frames collected so far."""
        return RobotDescription(
            name=self.name,
            links=tuple(self._links),
            joints=tuple(self._joints),
            frames=tuple(self._frames),
            tool=self._tool,
            gravity=self.gravity,
            springs=dict(self._springs),
        )
