"""Robots from tables: screw axes, home poses, Denavit-Hartenberg rows, or points of joints."""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from kinetree.core.arrays import ArrayLike
from kinetree.files.description.tables import (
    JointOptions,
    describe_dh,
    describe_points,
    describe_screws,
    describe_transforms,
)
from kinetree.model import build_model
from kinetree.robot import Robot

Unphysical = Literal["error", "warn", "allow"]


def from_screws(
    S: ArrayLike,
    M: ArrayLike,
    G: ArrayLike,
    *,
    parent: Sequence[int] | None = None,
    unphysical: Unphysical = "error",
    **options: Unpack[JointOptions],
) -> Robot:
    """Build a robot from screw axes and home poses in {s} at q = 0, and spatial inertias.

    Args:
        S: screw axes of the joints (angular, linear) in {s}, shape (n, 6), rad and m for a unit
            of q.
        M: poses of the link frames in {s}, shape (n, 4, 4), positions in m; an entry n + 1 is
            the tool.
        G: spatial inertias in the link frames, shape (n, 6, 6), kg m^2, kg m and kg.
        parent: number of each link's parent for a tree, -1 for the base; None: a chain.
        unphysical: reaction to a mass or inertia that no body can have: "error", "warn" or "allow".
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name, and of each joint
            friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    description = describe_screws(S, M, G, parent=parent, **options)
    return Robot(build_model(description, unphysical=unphysical))


def from_transforms(
    M: ArrayLike,
    G: ArrayLike,
    *,
    S: ArrayLike | None = None,
    A: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
    unphysical: Unphysical = "error",
    **options: Unpack[JointOptions],
) -> Robot:
    """Build a robot from the pose of each link in its parent's frame at q = 0.

    Args:
        M: pose of each link frame in its parent's, shape (n, 4, 4), positions in m; an entry n
            + 1 is the tool in the last link.
        G: spatial inertias in the link frames, shape (n, 6, 6), kg m^2, kg m and kg.
        S: screw axes in the parents' frames, shape (n, 6), rad and m for a unit of q; or
        A: screw axes in the links' own frames, shape (n, 6), rad and m for a unit of q.
        parent: number of each link's parent for a tree, -1 for the base; None: a chain.
        unphysical: reaction to a mass or inertia that no body can have: "error", "warn" or "allow".
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name, and of each joint
            friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    description = describe_transforms(M, G, S=S, A=A, parent=parent, **options)
    return Robot(build_model(description, unphysical=unphysical))


def from_dh(
    table: ArrayLike,
    *,
    m: ArrayLike,
    com: ArrayLike,
    I_com: ArrayLike,
    convention: Literal["standard", "modified"] = "standard",
    types: str | Sequence[str] = "revolute",
    tool: ArrayLike | None = None,
    unphysical: Unphysical = "error",
    **options: Unpack[JointOptions],
) -> Robot:
    """Build a robot from a Denavit-Hartenberg table.

    Args:
        table: rows (a, alpha, d, theta), shape (n, 4), m and rad; q is added to theta or, of a
            prismatic joint, to d.
        m: masses of the links, shape (n,), kg.
        com: centres of mass in the DH frames, shape (n, 3), m.
        I_com: inertias about the centres in the axes of the DH frames, shape (n, 3, 3), kg m^2.
        convention: "standard" (joint i turns about z of frame i - 1) or "modified" (about z of
            frame i).
        types: "revolute" or "prismatic", one for all or one per row.
        tool: pose of the tool in the last DH frame, shape (4, 4), position in m; None: that
            frame.
        unphysical: reaction to a mass or inertia that no body can have: "error", "warn" or "allow".
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name, and of each joint
            friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    kinds: dict[str, Any] = {"convention": convention, "types": types, "tool": tool}
    description = describe_dh(table, m=m, com=com, I_com=I_com, **kinds, **options)
    return Robot(build_model(description, unphysical=unphysical))


def from_points(
    P: ArrayLike,
    C: ArrayLike,
    k: ArrayLike,
    *,
    m: ArrayLike,
    I_com: ArrayLike,
    types: str | Sequence[str] = "revolute",
    pitch: ArrayLike = 0,
    R: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
    unphysical: Unphysical = "error",
    **options: Unpack[JointOptions],
) -> Robot:
    """Build a robot from joint points, mass centres and axes in {s} at q = 0.

    Args:
        P: a point on the axis of each joint, shape (n, 3), m; an entry n + 1 is the tip of the
            last link.
        C: centres of mass, shape (n, 3), m.
        k: directions of the joint axes, shape (n, 3), of length 1.
        m: masses of the links, shape (n,), kg.
        I_com: inertias about the centres in the axes of the link frames, shape (n, 3, 3), kg
            m^2.
        types: "revolute", "prismatic" or "helical", one for all or one per joint.
        pitch: of helical joints, m/rad, a number or shape (n,).
        R: orientation of each link frame in {s}, rotations of shape (n, 3, 3); None: parallel
            to {s}.
        parent: number of each link's parent for a tree, -1 for the base; None: a chain.
        unphysical: reaction to a mass or inertia that no body can have: "error", "warn" or "allow".
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name, and of each joint
            friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    description = describe_points(
        P, C, k, m=m, I_com=I_com, types=types, pitch=pitch, R=R, parent=parent, **options
    )
    return Robot(build_model(description, unphysical=unphysical))
