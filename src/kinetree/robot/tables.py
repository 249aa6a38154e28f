"""Robots from tables: screw axes, home poses, Denavit-Hartenberg rows, or points of joints."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, known, times, unit
from kinetree.core.containers import refuse_labels
from kinetree.core.text import counted
from kinetree.errors import InertiaError, InputError, ModelError, ShapeError
from kinetree.files.description import records
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import (
    PRISMATIC,
    REVOLUTE,
    SCREW_TYPES,
    joint_type,
    screw_axis,
)
from kinetree.files.description.records import Body
from kinetree.model import build_model
from kinetree.present.labels import Axis, by_name
from kinetree.robot import Robot
from kinetree.robot.builder import Unphysical
from kinetree.scalars import Scalar, cos, sin
from kinetree.spatial.inertia import inertia_parts, spatial_inertia
from kinetree.spatial.se3 import (
    check_pose,
    check_screw,
    inverse,
    move_twist,
    pose,
    screw,
    translation,
)
from kinetree.spatial.so3 import check_rotation, rotation

TOOL = "tool"


class JointOptions(TypedDict, total=False):
    """Names and drive data of the joints, and the fields of the robot itself.

    Each of friction, armature, rotors, limits and drives is one value for all joints or a list with
    one entry per joint (None: nothing there).
    """

    name: str
    gravity: ArrayLike
    joint_names: Sequence[str] | None
    link_names: Sequence[str] | None
    base_name: str
    unphysical: Unphysical
    friction: Friction | Sequence[Friction | None] | None
    armature: ArrayLike
    rotors: records.Rotor | Sequence[records.Rotor | None] | None
    limits: records.Limits | Sequence[records.Limits | None] | None
    drives: Drive | Sequence[Drive | None] | None


def per_joint(value: Any, n: int, default: object, name: str) -> list[Any]:
    """One entry per joint, from one value for all, a list, or None."""
    refuse_labels(value, name, "a list with an entry for each joint")
    if not isinstance(value, list | tuple) and getattr(value, "ndim", 0) == 0:
        value = [value] * n
    if len(value) != n:
        raise ShapeError(f"{name} has {counted(len(value), 'entry')}; expected {n}, one a joint.")
    return [default if entry is None else entry for entry in value]


PER_JOINT = {  # options with a value for each joint: the field of its record, and the default
    "friction": ("friction", Friction()),
    "armature": ("armature", 0),
    "rotors": ("rotor", None),
    "limits": ("limits", records.Limits()),
    "drives": ("drive", None),
}


def _chain(
    poses: Sequence[Array],
    screws: Sequence[Array],
    kinds: Sequence[str],
    bodies: Sequence[Body],
    parent: Sequence[int],
    options: JointOptions,
) -> Robot:
    """A chain or tree.

    Args:
        poses: M_pi, pose of each link in its parent at q = 0; one more is that of the tool in the
            last link.
        screws: joint screws in the frames of their links.
        kinds: joint types.
        bodies: bodies of the links, in their frames.
        parent: number of each link's parent, -1: the base.
        options: names and drives.
    """
    for option in options:
        if option not in JointOptions.__annotations__:
            text = ", ".join(JointOptions.__annotations__)
            raise InputError(f"there is no option {option!r}; expected one of {text}.")
    n = len(screws)

    def named(of: str) -> list[str]:
        given = per_joint(options.get(f"{of}_names"), n, None, f"{of}_names")
        return [name or f"{of}{i}" for i, name in enumerate(given, 1)]

    links = [options.get("base_name", "base"), *named("link")]
    columns = {
        field: per_joint(options.get(key), n, default, key)
        for key, (field, default) in PER_JOINT.items()
    }
    joints = tuple(
        records.JointDescription(
            name=name,
            type=kinds[i],
            parent=links[parent[i] + 1],
            child=links[i + 1],
            M_pc=poses[i],
            A=screws[i],
            **{field: column[i] for field, column in columns.items()},
        )
        for i, name in enumerate(named("joint"))
    )
    frames = tuple(records.FrameDescription(TOOL, links[n], tool) for tool in poses[n:])
    carried = [(), *((body,) for body in bodies)]
    description = records.RobotDescription(
        name=options.get("name", "robot"),
        links=tuple(map(records.LinkDescription, links, carried)),
        joints=joints,
        frames=frames,
        tool=TOOL if frames else None,
        gravity=options.get("gravity", (0, 0, -9.81)),
    )
    return Robot(build_model(description, unphysical=options.get("unphysical", "error")))


def _kinds(types: str | Sequence[str], n: int, known: Sequence[str]) -> list[str]:
    kinds = per_joint(types, n, REVOLUTE, "types")
    for i, kind in enumerate(kinds):
        if kind not in known:
            raise ModelError(f"types[{i}] is {kind!r}; expected {', '.join(known)}.")
    return kinds


def check_parents(parent: Sequence[int] | None, n: int) -> list[int]:
    """Parents as checked numbers from -1 (the base) to n - 1; None is a chain."""
    if parent is None:
        return list(range(-1, n - 1))
    if np.shape(parent) != (n,) or any(p not in range(-1, n) for p in parent):
        expected = f"{n} whole numbers, one for each link, -1 (the base) to {n - 1}"
        raise ModelError(f"parent is {parent!r:.60}; expected {expected}.")
    return [int(p) for p in parent]


# screw axes and home poses


def from_screws(
    S: ArrayLike,
    M: ArrayLike,
    G: ArrayLike,
    *,
    parent: Sequence[int] | None = None,
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
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name; unphysical,
            the reaction to a mass or inertia that no body can have: "error", "warn" or "allow";
            and of each joint friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    given = array(S, (None, 6), "S")
    n = len(given)
    M_si, parent = _poses(M, n), check_parents(parent, n)
    S_s = [check_screw(x, f"S[{i}]") for i, x in enumerate(given)]
    screws = [move_twist(inverse(T), x) for T, x in zip(M_si, S_s, strict=False)]
    kinds = [joint_type(x) for x in S_s]  # of S: in {i} the rounding of Ad may look like a pitch
    M_pi = _in_parents(M_si, parent)
    return _chain(M_pi, screws, kinds, bodies_of(G, n), parent, options)


def _in_parents(M_si: Sequence[Array], parent: Sequence[int]) -> list[Array]:
    """Poses of the links, and of the tool if there is one more, in their parents."""
    carriers = [*parent, len(parent) - 1]
    pairs = zip(carriers, M_si, strict=False)
    return [T if p < 0 else times(inverse(M_si[p]), T) for p, T in pairs]


def from_transforms(
    M: ArrayLike,
    G: ArrayLike,
    *,
    S: ArrayLike | None = None,
    A: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
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
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name; unphysical,
            the reaction to a mass or inertia that no body can have: "error", "warn" or "allow";
            and of each joint friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    if (S is None) == (A is None):
        text = "give the joint screws as S (in the parents' frames) or as A (in the links' own)"
        raise ModelError(f"{text}; found {'neither' if S is None else 'both'}.")
    letter = "A" if S is None else "S"
    given: Any = A if S is None else S
    rows = array(given, (None, 6), letter)
    screws = [check_screw(x, f"{letter}[{i}]") for i, x in enumerate(rows)]
    n, kinds = len(screws), [joint_type(screw) for screw in screws]
    M_pi = _poses(M, n)
    if A is None:
        screws = [move_twist(inverse(T), x) for T, x in zip(M_pi, screws, strict=False)]
    parent = check_parents(parent, n)
    return _chain(M_pi, screws, kinds, bodies_of(G, n), parent, options)


def bodies_of(G: ArrayLike, n: int) -> list[Body]:
    """Mass, centre and inertia of each 6x6 matrix, which must have the form of an inertia."""
    bodies: list[Body] = []
    for i, G_i in enumerate(array(G, (n, 6, 6), "G")):
        m, com, I_com = inertia_parts(G_i)
        given, read = known(G_i), known(spatial_inertia(m, com, I_com))
        if given is not None and read is not None:
            error = float(np.abs(read - given).max())
            if error > 1e-9 * float(np.abs(given).max()):
                text = f"G[{i}] is not a spatial inertia: it differs by {error:.3g} from "
                raise InertiaError(f"{text}[[I, m [c]], [-m [c], m 1]]; angular rows come first.")
        bodies.append(Body(m, com, I_com))
    return bodies


def _poses(M: ArrayLike, n: int) -> list[Array]:
    poses = array(M, (None, 4, 4), "M")
    if len(poses) not in (n, n + 1):
        text = f"M has {len(poses)} poses for {n} joints"
        raise ShapeError(f"{text}; expected {n}, or {n + 1} with the tool.")
    return [check_pose(x, f"M[{i}]") for i, x in enumerate(poses)]


# Denavit-Hartenberg parameters

COLUMNS = Axis(("a", "alpha", "d", "theta"), "column")  # of a data frame


def from_dh(
    table: ArrayLike,
    *,
    m: ArrayLike,
    com: ArrayLike,
    I_com: ArrayLike,
    convention: Literal["standard", "modified"] = "standard",
    types: str | Sequence[str] = "revolute",
    tool: ArrayLike | None = None,
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
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name; unphysical,
            the reaction to a mass or inertia that no body can have: "error", "warn" or "allow";
            and of each joint friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    rows = array(by_name(table, COLUMNS, "DH table"), (None, 4), "DH table")
    n = len(rows)
    if convention not in CONVENTIONS:
        raise ModelError(f"convention is {convention!r}; expected {' or '.join(CONVENTIONS)}.")
    kinds, row = _kinds(types, n, (REVOLUTE, PRISMATIC)), CONVENTIONS[convention]
    frames = [
        row(a, alpha, d, theta, kind)
        for (a, alpha, d, theta), kind in zip(rows, kinds, strict=True)
    ]
    masses, centres = array(m, (n,), "m"), array(com, (n, 3), "com")
    bodies = list(map(Body, masses, centres, array(I_com, (n, 3, 3), "I_com")))
    M_pi, screws = [M for M, _ in frames], [A for _, A in frames]
    M_pi += [] if tool is None else [check_pose(tool, "tool")]
    return _chain(M_pi, screws, kinds, bodies, check_parents(None, n), options)


def standard_row(
    a: Scalar, alpha: Scalar, d: Scalar, theta: Scalar, kind: str
) -> tuple[Array, Array]:
    """Home pose Rz(theta) Tz(d) Tx(a) Rx(alpha), and z_{i-1} as a screw in frame {i}."""
    M = times(_turn(2, theta), translation((a, 0, d)), _turn(0, alpha))
    axis = _clean([0, sin(alpha), cos(alpha)])
    return M, screw((-a, 0, 0), axis, np.inf if kind == PRISMATIC else 0)


def modified_row(
    a: Scalar, alpha: Scalar, d: Scalar, theta: Scalar, kind: str
) -> tuple[Array, Array]:
    """Home pose Rx(alpha) Tx(a) Rz(theta) Tz(d), and z_i as a screw in frame {i}."""
    M = times(_turn(0, alpha), translation((a, 0, 0)), _turn(2, theta), translation((0, 0, d)))
    return M, screw((0, 0, 0), (0, 0, 1), np.inf if kind == PRISMATIC else 0)


CONVENTIONS = {"standard": standard_row, "modified": modified_row}


def _turn(k: int, angle: Scalar) -> Array:
    return pose(_clean(rotation(np.eye(3, dtype=int)[k], angle)), np.zeros(3, int))


def _clean(x: Sequence[Scalar] | Array) -> Array:
    """Zeros where a multiple of pi/2 leaves 6e-17, so that the axes of the table stay straight."""
    x = np.array(x)
    if x.dtype == object:
        return x
    return np.where(np.abs(x - np.round(x)) < 4 * np.finfo(float).eps, np.round(x), x)


# points and axes


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
        options: name, gravity (3,) in m/s^2, joint_names, link_names, base_name; unphysical,
            the reaction to a mass or inertia that no body can have: "error", "warn" or "allow";
            and of each joint friction, armature (n,) in kg m^2 or kg, rotors, limits, drives.
    """
    axes, points = array(k, (None, 3), "k"), array(P, (None, 3), "P")
    n = len(axes)
    if len(points) not in (n, n + 1):
        text = f"there are {n} axes k and {len(points)} points P"
        raise ShapeError(f"{text}; expected equally many, or one more point (the tip).")
    centres, masses = array(C, (n, 3), "C"), array(m, (n,), "m")
    inertias = array(I_com, (n, 3, 3), "I_com")
    turns = np.array([np.eye(3, dtype=int)] * n) if R is None else array(R, (n, 3, 3), "R")
    R_si = [check_rotation(turns[i], f"R[{i}]") for i in range(n)]
    kinds, pitches = _kinds(types, n, SCREW_TYPES), per_joint(pitch, n, 0, "pitch")
    screws: list[Array] = []
    for i, kind in enumerate(kinds):
        axis = times(R_si[i].T, unit(axes[i], f"k[{i}]"))
        screws.append(screw_axis(kind, axis, pitches[i], (0, 0, 0), f"joint{i + 1}"))
    bodies = [
        Body(masses[i], times(R_si[i].T, centres[i] - points[i]), inertias[i]) for i in range(n)
    ]
    parent, M_si = check_parents(parent, n), list(map(pose, [*R_si, *R_si[-1:]], points))
    M_pi = _in_parents(M_si, parent)
    return _chain(M_pi, screws, kinds, bodies, parent, options)
