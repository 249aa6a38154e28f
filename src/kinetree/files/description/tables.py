"""Tables of joints -> records: screw axes, DH parameters (standard, Craig), points and axes.

`describe_screws` takes the data of Modern Robotics, `describe_transforms` parent-to-child poses,
`describe_points` joints P, centres of mass C and axes k in the absolute frame at q = 0.
`JointOptions` has the options that every table takes.
"""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

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
from kinetree.files.description.records import Body, RobotDescription
from kinetree.present.labels import Axis, by_name
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
    friction: Friction | Sequence[Friction | None] | None
    armature: ArrayLike
    rotors: records.Rotor | Sequence[records.Rotor | None] | None
    limits: records.Limits | Sequence[records.Limits | None] | None
    drives: Drive | Sequence[Drive | None] | None


def per_joint(value: Any, n: int, default: object, name: str) -> list[Any]:
    """One entry per joint, from one value for all, a list, or None."""
    refuse_labels(value, name, "a list with an entry for each joint")
    if not isinstance(value, list | tuple) and getattr(value, "ndim", 0) == 0:
        return [default if value is None else value] * n
    if len(value) != n:
        text = f"{name} has {counted(len(value), 'entry')}"
        raise ShapeError(f"{text}; expected {n}, one for each joint.")
    return [default if entry is None else entry for entry in value]


PER_JOINT = {  # options with a value for each joint: the field of its record, and the default
    "friction": ("friction", Friction()),
    "armature": ("armature", 0),
    "rotors": ("rotor", None),
    "limits": ("limits", records.Limits()),
    "drives": ("drive", None),
}


def describe_chain(
    poses: Sequence[Array],
    screws: Sequence[Array],
    kinds: Sequence[str],
    bodies: Sequence[records.Body],
    parent: Sequence[int],
    tool: Array | None,
    options: JointOptions,
) -> records.RobotDescription:
    """Records of a chain or tree.

    Args:
        poses: M_pi, pose of each link in its parent at q = 0.
        screws: joint screws in the frames of their links.
        kinds: joint types.
        bodies: bodies of the links, in their frames.
        parent: number of each link's parent, -1: the base.
        tool: pose of the tool in the last link; None: no tool frame.
        options: names and drives.
    """
    for option in options:
        if option not in JointOptions.__annotations__:
            text = ", ".join(JointOptions.__annotations__)
            raise InputError(f"there is no option {option!r}; expected one of {text}.")
    n = len(screws)
    given = per_joint(options.get("link_names"), n, None, "link_names")
    names = [options.get("base_name", "base")]
    names += [name or f"link{i + 1}" for i, name in enumerate(given)]
    given = per_joint(options.get("joint_names"), n, None, "joint_names")
    columns = {
        field: per_joint(options.get(key), n, default, key)
        for key, (field, default) in PER_JOINT.items()
    }
    joints = tuple(
        records.JointDescription(
            name=given[i] or f"joint{i + 1}",
            type=kinds[i],
            parent=names[parent[i] + 1],
            child=names[i + 1],
            M_pc=poses[i],
            A=screws[i],
            **{field: column[i] for field, column in columns.items()},
        )
        for i in range(n)
    )
    links = [records.LinkDescription(names[0])]
    links += [records.LinkDescription(names[i + 1], (bodies[i],)) for i in range(n)]
    frames = () if tool is None else (records.FrameDescription(TOOL, names[n], tool),)
    return records.RobotDescription(
        name=options.get("name", "robot"),
        links=tuple(links),
        joints=joints,
        frames=frames,
        tool=None if tool is None else TOOL,
        gravity=options.get("gravity", (0, 0, -9.81)),
    )


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
    if np.ndim(parent) != 1 or len(parent) != n:
        raise ShapeError(f"parent is {parent!r}; expected {n} numbers, one for each link.")
    for i, p in enumerate(parent):
        if p not in range(-1, n):
            expected = f"expected an integer, -1 (the base) to {n - 1}"
            raise ModelError(f"parent[{i}] is {p!r}; {expected}.")
    return [int(p) for p in parent]


# screw axes and home poses


def describe_screws(
    S: ArrayLike,
    M: ArrayLike,
    G: ArrayLike,
    *,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a robot by its data in Modern Robotics: everything in the space frame {s} at q = 0.

    Args:
        S: screw axes of the joints in {s}, shape (n, 6).
        M: home poses of the link frames in {s}, (n, 4, 4); with n + 1 entries the last is the tool.
        G: spatial inertias in the link frames, (n, 6, 6).
        parent: for a tree, the number of each link's parent (-1: the base); a chain when None.
        options: names, gravity, friction, armature, rotors, limits, see `JointOptions`.
    """
    given = array(S, (None, 6), "S")
    n = len(given)
    M_si = _poses(M, n)
    parent = check_parents(parent, n)
    poses = [times(inverse(M_si[p]), M_si[i]) if p >= 0 else M_si[i] for i, p in enumerate(parent)]
    S_s = [check_screw(given[i], f"S[{i}]") for i in range(n)]
    screws = [move_twist(inverse(M_si[i]), S_s[i]) for i in range(n)]
    kinds = [joint_type(x) for x in S_s]  # of S: in {i} the rounding of Ad may look like a pitch
    tool = times(inverse(M_si[n - 1]), M_si[n]) if len(M_si) > n else None
    return describe_chain(poses, screws, kinds, bodies_of(G, n), parent, tool, options)


def describe_transforms(
    M: ArrayLike,
    G: ArrayLike,
    *,
    S: ArrayLike | None = None,
    A: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a robot by parent-to-child transforms at q = 0 and joint screws in either frame.

    Args:
        M: M_pi, pose of each link frame in its parent's, (n, 4, 4); an entry n + 1 is the tool's
            pose in the last link.
        G: spatial inertias in the link frames, (n, 6, 6).
        S: screw axes in the parents' frames, (n, 6); or
        A: screw axes in the links' own frames, (n, 6).
        parent: see `describe_screws`.
        options: see `JointOptions`.
    """
    if S is not None and A is None:
        letter, given = "S", array(S, (None, 6), "S")
    elif A is not None and S is None:
        letter, given = "A", array(A, (None, 6), "A")
    else:
        text = "give the joint screws as S (in the parents' frames) or as A (in the links' own)"
        raise ModelError(f"{text}; found {'neither' if S is None else 'both'}.")
    n = len(given)
    M_pi = _poses(M, n)
    screws = [check_screw(given[i], f"{letter}[{i}]") for i in range(n)]
    kinds = [joint_type(screw) for screw in screws]
    if A is None:
        screws = [move_twist(inverse(M_pi[i]), screws[i]) for i in range(n)]
    tool = M_pi[n] if len(M_pi) > n else None
    bodies, parent = bodies_of(G, n), check_parents(parent, n)
    return describe_chain(M_pi[:n], screws, kinds, bodies, parent, tool, options)


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


CONVENTIONS = ("standard", "modified")
COLUMNS = Axis(("a", "alpha", "d", "theta"), "column")  # of a data frame


def describe_dh(
    table: ArrayLike,
    *,
    m: ArrayLike,
    com: ArrayLike,
    I_com: ArrayLike,
    convention: str = "standard",
    types: str | Sequence[str] = REVOLUTE,
    tool: ArrayLike | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a chain by its DH table.

    Args:
        table: rows (a, alpha, d, theta), shape (n, 4), m and rad; the joint variable is added to
            theta (revolute) or d (prismatic). In the modified convention a and alpha of row i are
            Craig's a_{i-1} and alpha_{i-1}.
        m, com, I_com: masses (n,), centres (n, 3) and inertias about the centres (n, 3, 3), in the
            DH frames of the links.
        convention: "standard" (joint i turns about z_{i-1}) or "modified" (about z_i).
        types: "revolute" or "prismatic", one for all or one per row.
        tool: pose of the tool in the last DH frame, (4, 4).
        options: see `JointOptions`.
    """
    rows = array(by_name(table, COLUMNS, "DH table"), (None, 4), "DH table")
    n = len(rows)
    if convention not in CONVENTIONS:
        raise ModelError(f"convention is {convention!r}; expected {' or '.join(CONVENTIONS)}.")
    kinds = _kinds(types, n, (REVOLUTE, PRISMATIC))
    row = standard_row if convention == "standard" else modified_row
    frames = [
        row(a, alpha, d, theta, kind)
        for (a, alpha, d, theta), kind in zip(rows, kinds, strict=True)
    ]
    masses, centres = array(m, (n,), "m"), array(com, (n, 3), "com")
    bodies = zip(masses, centres, array(I_com, (n, 3, 3), "I_com"), strict=True)
    return describe_chain(
        [M for M, _ in frames],
        [A for _, A in frames],
        kinds,
        [Body(*body) for body in bodies],
        check_parents(None, n),
        None if tool is None else check_pose(tool, "tool"),
        options,
    )


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


def _turn(k: int, angle: Scalar) -> Array:
    return pose(_clean(rotation(np.eye(3, dtype=int)[k], angle)), np.zeros(3, int))


def _clean(x: Sequence[Scalar] | Array) -> Array:
    """Zeros where a multiple of pi/2 leaves 6e-17, so that the axes of the table stay straight."""
    x = np.array(x)
    if x.dtype == object:
        return x
    return np.where(np.abs(x - np.round(x)) < 4 * np.finfo(float).eps, np.round(x), x)


# points and axes


def describe_points(
    P: ArrayLike,
    C: ArrayLike,
    k: ArrayLike,
    *,
    m: ArrayLike,
    I_com: ArrayLike,
    types: str | Sequence[str] = REVOLUTE,
    pitch: ArrayLike = 0,
    R: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a chain or tree by points in the absolute frame at q = 0.

    The frame of link i has its origin at P[i].

    Args:
        P: a point on the axis of each joint, (n, 3), m; an entry n + 1 is the tip of the last link.
        C: centres of mass, (n, 3).
        k: unit axes of the joints, (n, 3).
        m, I_com: masses (n,), inertias about the centres (n, 3, 3) in the axes of the link frames.
        types: "revolute", "prismatic" or "helical", one for all or one per joint.
        pitch: of helical joints, m/rad, one for all or one per joint.
        R: orientation of each link frame, (n, 3, 3); parallel to the absolute frame when None.
        parent: for a tree, see `describe_screws`.
        options: see `JointOptions`.
    """
    points, centres = array(P, (None, 3), "P"), array(C, (None, 3), "C")
    axes = array(k, (None, 3), "k")
    n = len(axes)
    if len(centres) != n or len(points) not in (n, n + 1):
        text = f"there are {n} axes k, {len(points)} points P and {len(centres)} centres C"
        raise ShapeError(f"{text}; expected equally many, or one more point (the tip).")
    masses, inertias = array(m, (n,), "m"), array(I_com, (n, 3, 3), "I_com")
    turns = np.array([np.eye(3, dtype=int)] * n) if R is None else array(R, (n, 3, 3), "R")
    R_si = [check_rotation(turns[i], f"R[{i}]") for i in range(n)]
    kinds, pitches = _kinds(types, n, SCREW_TYPES), per_joint(pitch, n, 0, "pitch")
    parent = check_parents(parent, n)
    M_si = [pose(R_si[i], points[i]) for i in range(n)]
    screws: list[Array] = []
    for i in range(n):
        axis = times(R_si[i].T, unit(axes[i], f"k[{i}]"))
        screws.append(screw_axis(kinds[i], axis, pitches[i], (0, 0, 0), f"joint{i + 1}"))
    bodies = [
        Body(masses[i], times(R_si[i].T, centres[i] - points[i]), inertias[i]) for i in range(n)
    ]
    poses = [times(inverse(M_si[p]), M_si[i]) if p >= 0 else M_si[i] for i, p in enumerate(parent)]
    tool = None
    if len(points) > n:
        tool = pose(np.eye(3, dtype=int), times(R_si[-1].T, points[n] - points[n - 1]))
    return describe_chain(poses, screws, kinds, bodies, parent, tool, options)
