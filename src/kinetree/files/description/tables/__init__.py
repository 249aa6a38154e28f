"""Tables of joints -> records: screw axes, DH parameters, points and axes.

Here are the options that every table takes, and the records of the chain or tree that it gives.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.core.text import counted
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description import records
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import Friction

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


def check_options(options: JointOptions) -> None:
    """Raise InputError for an option that does not exist."""
    for option in options:
        if option not in JointOptions.__annotations__:
            known = ", ".join(JointOptions.__annotations__)
            raise InputError(f"there is no option {option!r}; expected one of {known}.")


def per_joint(value: Any, n: int, default: object, name: str) -> list[Any]:
    """One entry per joint, from one value for all, a list, or None."""
    refuse_labels(value, name, "a list with an entry for each joint")
    if not isinstance(value, list | tuple) and getattr(value, "ndim", 0) == 0:
        return [default if value is None else value] * n
    if len(value) != n:
        raise ShapeError(
            f"{name} has {counted(len(value), 'entry')}; expected {n}, one for each joint."
        )
    return [default if entry is None else entry for entry in value]


def joint_options(n: int, options: JointOptions) -> list[dict[str, Any]]:
    """Keyword arguments of each JointDescription: name, friction, armature, limits and others."""
    check_options(options)
    names = per_joint(options.get("joint_names"), n, None, "joint_names")
    columns = {
        "friction": per_joint(options.get("friction"), n, Friction(), "friction"),
        "armature": per_joint(options.get("armature"), n, 0, "armature"),
        "rotor": per_joint(options.get("rotors"), n, None, "rotors"),
        "limits": per_joint(options.get("limits"), n, records.Limits(), "limits"),
        "drive": per_joint(options.get("drives"), n, None, "drives"),
    }
    return [
        {"name": names[i] or f"joint{i + 1}"} | {key: column[i] for key, column in columns.items()}
        for i in range(n)
    ]


def link_names(n: int, options: JointOptions) -> list[str]:
    """Names of the base and of the links that move."""
    names = per_joint(options.get("link_names"), n, None, "link_names")
    return [options.get("base_name", "base")] + [
        name or f"link{i + 1}" for i, name in enumerate(names)
    ]


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
    n = len(screws)
    names = link_names(n, options)
    joints = tuple(
        records.JointDescription(
            type=kinds[i],
            parent=names[parent[i] + 1],
            child=names[i + 1],
            M_pc=poses[i],
            A=screws[i],
            **extra,
        )
        for i, extra in enumerate(joint_options(n, options))
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


def check_parents(parent: Sequence[int] | None, n: int) -> list[int]:
    """Parents as checked numbers from -1 (the base) to n - 1; None is a chain."""
    if parent is None:
        return list(range(-1, n - 1))
    if np.ndim(parent) != 1 or len(parent) != n:
        raise ShapeError(f"parent is {parent!r}; expected {n} numbers, one for each link.")
    for i, p in enumerate(parent):
        if p not in range(-1, n):
            raise ModelError(
                f"parent[{i}] is {p!r}; expected a whole number, -1 (the base) to {n - 1}."
            )
    return [int(p) for p in parent]
