"""kt.load: a robot from a file, with a report of what was read."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kinetree.counting import counted
from kinetree.description.joints import FREE
from kinetree.description.mjcf import read_mjcf
from kinetree.description.records import JointDescription, LinkDescription, RobotDescription
from kinetree.description.urdf import read_urdf
from kinetree.errors import InputError, ModelError, warn
from kinetree.model import Model, build_model
from kinetree.model.checks import check_tree
from kinetree.report import Report
from kinetree.robot import Robot

URDF, MJCF = (".urdf", ".xacro"), (".xml", ".mjcf")


def load(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    mimic: bool = True,
    strict: bool = False,
    folders: Sequence[str | os.PathLike[str]] = (),
) -> Robot:
    """The robot of a URDF (.urdf, .xacro) or MJCF (.xml, .mjcf) file.

    Args:
        path: the file.
        floating: hang the root link on a free joint called "base" instead of fixing it.
        mimic: joints that mimic another follow it and have no entry in q; False keeps them
            independent.
        strict: warnings are errors.
        folders: further folders that ROS packages, includes and meshes may lie in.

    Returns:
        The robot; `robot.report` says what was read, assumed, merged and ignored.
    """
    description = read(path, folders, mimic)
    if floating:
        description = float_base(description)
    model = build_model(description, unphysical="allow")
    report = Report.of(Path(path), description, model)
    announce(model, str(path), strict)
    return Robot(model, report=report)


def read(
    path: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
) -> RobotDescription:
    """The records of a file, by the ending of its name."""
    try:
        ending = Path(path).suffix.lower()
    except TypeError:
        raise InputError(f"path is {path!r}; expected the name of a URDF or MJCF file.") from None
    if ending in URDF:
        return read_urdf(path, package_paths=folders, mimic=mimic)
    if ending in MJCF:
        return read_mjcf(path, folders=folders)
    raise InputError(
        f"{os.fspath(path)} ends with {ending!r}; expected {', '.join((*URDF, *MJCF))}. "
        "Rename the file by what it contains."
    )


def float_base(description: RobotDescription) -> RobotDescription:
    """The same robot on a free joint "base" between a link "world" and its root.

    Where the robot has such names itself, the new ones begin with "kinetree_".
    """
    root = check_tree(description)
    own = [joint for joint in description.joints if joint.parent == root]
    if own and all(joint.type == FREE for joint in own):
        raise ModelError(
            f"{description.name!r} floats already: its root {root!r} carries the free joint "
            f"{own[0].name!r}; expected a robot that stands. Leave floating=True (--floating) out."
        )
    world = _unused("world", description.links)
    base = JointDescription(
        name=_unused("base", description.joints),
        type=FREE,
        parent=world,
        child=root,
        M_pc=np.eye(4, dtype=int),
    )
    return dataclasses.replace(
        description,
        links=(LinkDescription(world), *description.links),
        joints=(base, *description.joints),
    )


def _unused(name: str, taken: Sequence[LinkDescription | JointDescription]) -> str:
    while any(x.name == name for x in taken):
        name = f"kinetree_{name}"
    return name


def announce(model: Model, source: str, strict: bool) -> None:
    """One Python warning for all that the file says and dynamics cannot honour; or an error."""
    if not model.warnings:
        return
    texts = [f"{note.where}: {note.text}" if note.where else note.text for note in model.warnings]
    if strict:
        raise ModelError(
            f"{source} has {counted(len(texts), 'warning')} and strict=True: {' '.join(texts)}"
        )
    more = f" (and {len(texts) - 3} more, see robot.report)" if len(texts) > 3 else ""
    told = f"{' '.join(texts[:3])}{more}"
    name = os.path.basename(source)  # which most remarks begin with; the folder may be needed, too
    told = f"{source}{told[len(name) :]}" if told.startswith(f"{name}:") else f"{source}: {told}"
    warn(told)
