"""kt.load: a robot from a file, with a report of its contents."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from kinetree.base.tables import counted
from kinetree.description.joints import FREE
from kinetree.description.mjcf import read_mjcf
from kinetree.description.records import (
    ArgumentValue,
    Friction,
    JointDescription,
    LinkDescription,
    Note,
    RobotDescription,
)
from kinetree.description.tree import check_tree
from kinetree.description.urdf import SDF_HINT, read_urdf, refuse_arguments
from kinetree.errors import InputError, ModelError, warn
from kinetree.model import Model, build_model
from kinetree.report import Report
from kinetree.robot import Robot

URDF, MJCF = (".urdf", ".xacro"), (".xml", ".mjcf")
FrictionOf = Literal["file", "none"]
OTHER_ENDINGS = {  # formats of other files
    ".sdf": SDF_HINT,
    ".world": SDF_HINT,
    ".srdf": "this is SRDF (groups and collisions for MoveIt); load the URDF that it belongs to",
    ".usd": "this is USD, which is not read; export the robot as URDF or MJCF",
    ".usda": "this is USD, which is not read; export the robot as URDF or MJCF",
    ".usdz": "this is USD, which is not read; export the robot as URDF or MJCF",
    ".mjb": "this is a compiled MuJoCo model; load the .xml file that it was made from",
    ".stl": "this is a mesh; load the robot file that uses it",
    ".dae": "this is a mesh; load the robot file that uses it",
    ".obj": "this is a mesh; load the robot file that uses it",
    ".launch": "this is a ROS launch file; load the URDF or xacro file that it names",
    ".py": "this is a Python file; load the URDF or xacro file that it names",
}


def load(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    mimic: bool = True,
    strict: bool = False,
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    friction: FrictionOf = "file",
) -> Robot:
    """Load the robot of a URDF (.urdf, .xacro) or MJCF (.xml, .mjcf) file.

    Args:
        path: the file.
        floating: hang the root link on a free joint called "base" instead of fixing it.
        mimic: joints that mimic another follow it and have no entry in q; False keeps them
            independent.
        strict: warnings are errors.
        folders: further folders that ROS packages, includes and meshes may lie in, at any depth.
        arguments: values of the arguments of a xacro file, such as {"ur_type": "ur5e"}.
        friction: "file" keeps the joint friction of the file (damping, dry friction), which is part
            of tau; "none" leaves it out.

    Returns:
        The robot; `robot.report` lists what was read, assumed, merged and ignored, and what changes
        tau besides the rigid bodies.
    """
    if friction not in get_args(FrictionOf):
        raise InputError(f"friction is {friction!r}; expected 'file' or 'none'.")
    description = read(path, folders, mimic, arguments)
    if friction == "none":
        description = without_friction(description)
    if floating:
        description = float_base(description)
    model = build_model(description, unphysical="allow")
    report = Report.of(Path(path), description, model, folders, arguments)
    announce(model, str(path), strict)
    return Robot(model, report=report)


def read(
    path: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    arguments: Mapping[str, ArgumentValue] | None = None,
) -> RobotDescription:
    """Read the records of a file, by the ending of its name."""
    try:
        ending = Path(path).suffix.lower()
    except TypeError:
        raise InputError(f"path is {path!r}; expected the name of a URDF or MJCF file.") from None
    if ending in URDF:
        return read_urdf(path, package_paths=folders, mimic=mimic, arguments=arguments)
    if ending in MJCF:
        refuse_arguments(Path(path).name, arguments)
        return read_mjcf(path, folders=folders)
    expected = f"expected {', '.join((*URDF, *MJCF))}"
    if ending in OTHER_ENDINGS:
        raise InputError(f"{os.fspath(path)}: {OTHER_ENDINGS[ending]}; {expected}.")
    found = f"ends with {ending!r}" if ending else "has no ending"
    raise InputError(
        f"{os.fspath(path)} {found}; {expected}. If it is such a file, give it that ending."
    )


def without_friction(description: RobotDescription) -> RobotDescription:
    """The same robot without the friction of its joints, with a note."""
    had = [joint.name for joint in description.joints if joint.friction != Friction()]
    if not had:
        return description
    joints = tuple(dataclasses.replace(j, friction=Friction()) for j in description.joints)
    names = f"{', '.join(map(repr, had[:3]))}{' and more' if len(had) > 3 else ''}"
    text = f"friction of {counted(len(had), 'joint')} ({names}) is left out, as asked."
    notes = (*description.notes, Note(text))
    return dataclasses.replace(description, joints=joints, notes=notes)


def float_base(description: RobotDescription) -> RobotDescription:
    """The same robot on a free joint "base" between a link "world" and its root.

    Where the robot has such names itself, the new ones begin with "kinetree_".
    """
    root = check_tree(description.links, description.joints, description.name)
    own = [joint for joint in description.joints if joint.parent == root]
    if own and all(joint.type == FREE for joint in own):
        raise ModelError(
            f"{description.name!r} floats already: its root {root!r} carries the free joint "
            f"{own[0].name!r}; expected a robot that stands. "
            "Leave out --floating (in Python, floating)."
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
    """Give one Python warning for all warnings of the model; raise ModelError if `strict`."""
    if not model.warnings:
        return
    texts = [f"{note.where}: {note.text}" if note.where else note.text for note in model.warnings]
    if strict:
        raise ModelError(
            f"{source} has {counted(len(texts), 'warning')} and strict=True: {' '.join(texts)}"
        )
    more = f" (and {len(texts) - 3} more, see robot.report)" if len(texts) > 3 else ""
    text = f"{' '.join(texts[:3])}{more}"
    name = os.path.basename(source)  # most warnings begin with it; the folder is added
    warn(f"{source}{text[len(name) :]}" if text.startswith(f"{name}:") else f"{source}: {text}")
