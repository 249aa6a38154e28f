"""kt.load and kt.load_string: a robot from a file, a name or a text, with a report of its contents.

A word without an ending and without a separator is a name (see `kinetree.robots.names`); anything
else is the path of a file, whose ending decides the format. The format of a text is that of its
root element.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from kinetree.constraints import unconstrained
from kinetree.core.options import typed
from kinetree.core.text import clip, counted, listing, nearest
from kinetree.errors import InputError, ModelError, ParseError, SingularityError, argument, warn
from kinetree.files.description import records
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FREE
from kinetree.files.description.source import (
    ArgumentValue,
    FileOrNone,
    MissingFileError,
    Pathlike,
    RobotFile,
    decode,
    path_text,
)
from kinetree.model import Model, build_model
from kinetree.robot import Robot
from kinetree.robots.names import built_in, described, is_name, unknown_robot

# readers are imported when a file or text is read, so that built-in robots load quickly

URDF, MJCF, SDF = (".urdf", ".xacro"), (".xml", ".mjcf"), (".sdf", ".world")
ROBOT_FILES = (*URDF, *MJCF, *SDF)
KINDS = dict(zip(ROBOT_FILES, "urdf xacro mjcf mjcf sdf sdf".split(), strict=True))
THE_TEXT = "the text"  # replaces the name of a file in messages
TextFormat = Literal["urdf", "xacro", "mjcf", "sdf"]
ROOTS = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}
OTHER_ENDINGS = {  # formats of other files
    ".srdf": "this is SRDF (groups and collisions for MoveIt); load the URDF that it belongs to",
    ".mjb": "this is a compiled MuJoCo model; load the .xml file that it was made from",
    **dict.fromkeys((".usd", ".usda", ".usdz"), "this is USD; export the robot as URDF or MJCF"),
    **dict.fromkeys((".stl", ".dae", ".obj"), "this is a mesh; load the file that uses it"),
    **dict.fromkeys((".launch", ".py"), "this is a program; load the robot file that it names"),
}
TAKEN_BY = {"arguments": "xacro", "model": "sdf"}  # options of one kind of file


@typed
def load(
    path: Pathlike,
    *,
    floating: bool = False,
    mimic: bool = True,
    strict: bool = False,
    folders: Sequence[Pathlike] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    environment: bool = False,
    friction: FileOrNone = "file",
    constraints: FileOrNone = "file",
    contacts: FileOrNone = "none",
    model: str | None = None,
) -> Robot:
    """Load a robot: a URDF, xacro, MJCF or SDF file, or a robot by its name.

    Args:
        path: the file (.urdf, .xacro, .xml, .mjcf, .sdf, .world), or a name: a built-in robot
            ("panda", see `kinetree.robots`) or a module of the package robot_descriptions
            ("panda_description"). A word with an ending or a separator is a file ("panda.urdf",
            "./panda"), any other word is a name.
        floating: hang the root link on a free joint called "base" instead of fixing it; of an SDF
            model with several roots, each on a free joint called "ROOT/base".
        mimic: joints that mimic another follow it and have no entry in q; False keeps them
            independent.
        strict: warnings are errors.
        folders: further folders that ROS packages, includes and meshes may lie in, at any depth.
            No file is read outside these, the file's own package, and packages that it uses.
        arguments: values of the arguments of a xacro file, such as {"ur_type": "ur5e"}. One that
            the file does not have is ignored with a warning.
        environment: let a xacro file see environment variables, $(env NAME) and $(optenv NAME).
        friction: "file" keeps the joint friction of the file (damping, dry friction), which is part
            of tau; "none" leaves it out.
        constraints: "file" keeps closed loops and other constraints of the file (<equality> of
            MJCF, loops of SDF); "none" leaves them out, and all joints of the tree move
            independently.
        contacts: "file" lets all collision shapes of the file touch its ground, or else the plane
            z = 0, with the friction of the file, or else 1; "none" makes no contacts, which
            `Robot.with_contacts` can add. Meshes, ellipsoids and pairs of links have no contacts:
            `robot.report` names them, and a file is refused where they touch at its start.
        model: name of the model, for an SDF world with several.

    Returns:
        The robot; `robot.report` lists what was read, assumed, merged and ignored, and what changes
        tau besides the rigid bodies. It is None for a built-in robot.
    """
    file = RobotFile(
        path, None, floating, mimic, strict, folders, arguments, environment, friction,
        constraints, contacts, model,
    )  # fmt: skip
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise InputError("path is XML text, which kt.load_string loads; expected a path or a name.")
    if isinstance(path, str) and (is_name(path) or not path.strip()):
        robot = built_in(path)
        if robot is not None:
            return _with_options(robot, path, file)
        found = described(path)
        if found is not None:
            given = {**found.arguments, **(arguments or {})} or None
            folders = (*folders, *found.folders)
            file = replace(file, path=found.path, folders=folders, arguments=given)
        elif not os.path.exists(path):
            raise unknown_robot(path, ROBOT_FILES, _robot_files(Path()))
    return _loaded(_kind_of(file.path), file)


@typed
def load_string(
    text: "str | bytes",  # in quotes: the error below says more than the type
    *,
    format: TextFormat | None = None,
    floating: bool = False,
    mimic: bool = True,
    strict: bool = False,
    folders: Sequence[Pathlike] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    environment: bool = False,
    friction: FileOrNone = "file",
    constraints: FileOrNone = "file",
    contacts: FileOrNone = "none",
    model: str | None = None,
) -> Robot:
    """Load a robot from the text of a URDF, xacro, MJCF or SDF file.

    This is for a text that lies in no file, such as the ROS parameter robot_description.

    Args:
        text: the whole document. Bytes are decoded by their byte order mark, by the encoding that
            the XML declaration states, or as UTF-8; a str is taken as it is, whatever its
            declaration states.
        format: "urdf", "xacro", "mjcf" or "sdf"; None: by the root element.
        floating, mimic, strict: as in `load`.
        folders: folders of ROS packages, includes and meshes. A text has no folder of its own, so
            relative paths in it start from each of these.
        arguments, environment: as in `load`.
        friction: "file" keeps the joint friction of the file, "none" leaves it out, as in `load`.
        constraints: "file" keeps the constraints of the file, "none" leaves them out, as in `load`.
        contacts: "file" makes contacts of the collision shapes of the file, as in `load`.
        model: as in `load`.

    Returns:
        The robot. In messages and in `robot.report` the text is called "the text", with line and
        column.
    """
    content = _content(text)
    file = RobotFile(
        THE_TEXT, content, floating, mimic, strict, folders, arguments, environment, friction,
        constraints, contacts, model,
    )  # fmt: skip
    return _loaded(_format(content, format), file)


def _loaded(kind: str, file: RobotFile) -> Robot:
    """The robot of a file or text, with its report, and one warning for all that is odd."""
    from kinetree.files.report import Report

    source, description = Path(file.path), _read(kind, file)
    model = _built(_changed(description, file, kind), str(source))
    if file.contacts == "file":
        from kinetree.dynamics.contacts.file_contacts import with_file_contacts

        model = with_file_contacts(model, file)
    links, joints = len(description.links), len(description.joints)
    report = Report(file, links, joints, model, model.notes, model.warnings)
    announce(model, str(source), file.strict)
    return Robot(model, report=report)


def read(path: Pathlike, **options: Any) -> records.RobotDescription:
    """Read the records of a file, by the ending of its name; options: as of `load`."""
    return _read(_kind_of(path), RobotFile(path, **options))


def _read(kind: str, file: RobotFile) -> records.RobotDescription:
    """Read the records of a file or text of a kind."""
    _refuse_options(file, file.name, kind)
    module = import_module(f"kinetree.files.description.{'urdf' if kind == 'xacro' else kind}")
    return getattr(module, f"read_{kind}")(file)


def _refuse_options(file: RobotFile, source: str, kind: str = "") -> None:
    """Raise InputError for an option that files of this kind do not have."""
    for name, taken_by in TAKEN_BY.items():
        value = getattr(file, name)
        if value and kind != taken_by:
            given = ", ".join(map(str, value)) if name == "arguments" else repr(value)
            text = f"{source} takes no {name}, found {given}; they are for {taken_by} files"
            raise InputError(f"{text}. Leave {argument(name)} out.")


def _kind_of(path: Pathlike) -> str:
    """The kind of a robot file that exists, by the ending of its name."""
    place = Path(path_text(path))
    ending = place.suffix.lower()
    if place.is_dir():
        files = listing(_robot_files(place), 5) or "none"
        raise InputError(f"{place} is a folder; expected a robot file, of which it has {files}.")
    if ending not in KINDS:
        what = OTHER_ENDINGS.get(ending, f"ends with {ending!r}; if it is a robot file, rename it")
        raise InputError(f"{place}: {what}; expected {', '.join(ROBOT_FILES)}.{_beside(place)}")
    if not os.path.lexists(place):
        seen = "" if place.is_absolute() else f" It was looked for in {os.getcwd()}."
        raise MissingFileError(f"there is no file {place}; expected a robot.{_beside(place)}{seen}")
    return KINDS[ending]


# texts


def _content(text: str | bytes) -> str:
    """The text, decoded; raise InputError for other types and for what looks like a path."""
    content = decode(text, THE_TEXT)
    if "<" not in content and content.strip() and len(content) < 1000:
        what = f"text is {clip(content)!r}; expected the content of a robot file"
        raise InputError(f"{what}. kt.load loads a file or a name.")
    return content


def _format(content: str, given: TextFormat | None) -> str:
    """The format of a text: by its root, and for URDF by the xacro elements in it."""
    if given not in (None, *get_args(TextFormat)):
        raise InputError(f"format is {given!r}; expected one of {get_args(TextFormat)} or None.")
    tag = root_tag(content)
    kind = ROOTS.get(tag, "" if tag else "urdf")
    if not kind:
        expected = "<robot> (URDF, xacro), <mujoco> (MJCF) or <sdf>"
        raise ParseError(f"{THE_TEXT}: the root is <{clip(tag)}>; expected {expected}.")
    if tag and given not in (None, kind) and (given, kind) != ("xacro", "urdf"):
        raise InputError(f"format is {given!r}, but the root <{clip(tag)}> is that of {kind}.")
    return given or ("xacro" if kind == "urdf" and "<xacro:" in content else kind)


BEFORE_ROOT = re.compile(r"\ufeff?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*", re.DOTALL)
ROOT = re.compile(r"<([^\s<>/!?]+)")


def root_tag(content: str) -> str:
    """The tag of the root element, behind declarations and comments; empty if there is none."""
    start = BEFORE_ROOT.match(content)
    tag = ROOT.match(content, start.end() if start else 0)
    return tag[1] if tag else ""


# files and names


def _robot_files(folder: Path) -> list[str]:
    """Names of the robot files in a folder."""
    try:
        return sorted(x for x in os.listdir(folder) if Path(x).suffix.lower() in ROBOT_FILES)
    except OSError:
        return []


def _beside(path: Path) -> str:
    """Name a file with a similar name in the same folder."""
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    # the ending, which most files share, makes unlike names look alike
    files = [x for x in _robot_files(path.parent) if nearest(path.stem, [Path(x).stem])]
    return nearest(path.name, files)


def _warn_of_files(name: str, strict: bool) -> None:
    """Warn if the current folder has a file that a built-in robot's name could mean, too."""
    files = [x for x in _robot_files(Path()) if Path(x).stem.lower() == name.lower()]
    if files:
        text = f"{name!r} is the built-in robot; {files[0]!r} loads the file of this folder."
        if strict:
            raise InputError(text)
        warn(text)


# robots that were read


def _with_options(robot: Robot, name: str, options: RobotFile) -> Robot:
    """A built-in robot with the options of `load`."""
    _refuse_options(options, robot.name)
    _warn_of_files(name, options.strict)
    if options.contacts == "file":
        text = f"{robot.name} is a built-in robot without collision shapes"
        raise InputError(f"{text}; {argument('contacts', 'file')} needs a file.")
    if options.constraints == "none":
        robot = unconstrained(robot)
    if options.mimic and not options.floating and options.friction == "file":
        return robot
    description = robot.model.description
    if not options.mimic:
        joints = tuple(replace(x, mimic=None) for x in description.joints)
        description = replace(description, joints=joints)
    options = replace(options, constraints="file")
    return Robot(_built(_changed(description, options, ""), robot.name))


def _built(description: records.RobotDescription, source: str) -> Model:
    """The model of a description, with its constraints."""
    given = description.constrained
    model = build_model(replace(description, constrained=None), unphysical="allow")
    if given is None:
        return model
    from kinetree.dynamics.constraints.mobility import IdleConstraintsError, constrain
    from kinetree.dynamics.joints.configuration import neutral

    near, way_out = neutral(model) if given.near else None, argument("constraints", "none")
    for joint in model.joints:
        if near is not None and joint.follows is None and joint.name in given.near:
            near[list(joint.coords)] = given.near[joint.name]
    try:
        robot = constrain(model, given.constraints, actuated=given.actuated, near=near)
    except IdleConstraintsError as error:
        return model.replace(warnings=(*model.warnings, records.Note(str(error))))
    except (InputError, ModelError, SingularityError) as error:
        reason = str(error).partition(" A position at which")[0]  # there is no place for it here
        text = f"{source}: the constraints of the file cannot be used: {reason}"
        raise ModelError(f"{text} Leave them out with {way_out}.") from error
    held = robot.constraints is not None and not robot.constraints.independent
    if not held or len(robot.warnings) > len(model.warnings):
        return robot
    text = f"the constraints {listing(given.constraints, 8)} leave {robot.name!r} no degree of "
    text += f"freedom: it stands still. Check axes and positions; {way_out} gives the tree."
    return robot.replace(warnings=(*robot.warnings, records.Note(text)))


def _changed(
    description: records.RobotDescription, options: RobotFile, kind: str
) -> records.RobotDescription:
    """The description with the options that apply to every format."""
    notes, joints = [*description.notes], description.joints
    constrained = description.constrained
    if options.constraints == "none" and constrained is not None:
        names = listing(constrained.constraints, 6)
        notes.append(records.Note(f"constraints are left out, as asked: {names}"))
        constrained = None
    had = [x.name for x in joints if x.friction != Friction()]
    if options.friction == "none" and had:
        joints = tuple(replace(x, friction=Friction()) for x in joints)
        text = f"friction of {counted(len(had), 'joint')} is left out, as asked: {listing(had, 3)}"
        notes.append(records.Note(text))
    description = replace(description, joints=joints, constrained=constrained, notes=tuple(notes))
    # the reader of SDF knows the world, and floats the robot itself
    return float_base(description) if options.floating and kind != "sdf" else description


def float_base(description: records.RobotDescription) -> records.RobotDescription:
    """The same robot on a free joint "base" between a link "world" and its root.

    Where the robot has such names itself, the new ones begin with "kinetree_".
    """
    from kinetree.files.description.tree import check_tree

    root = check_tree(description.links, description.joints, description.name)
    at_root = [joint for joint in description.joints if joint.parent == root]
    if at_root and all(joint.type == FREE for joint in at_root):
        text = f"{description.name!r} floats already on the free joint {at_root[0].name!r}"
        raise ModelError(f"{text}. Leave out {argument('floating')}.")
    world = "kinetree_world" if any(x.name == "world" for x in description.links) else "world"
    name = "kinetree_base" if any(x.name == "base" for x in description.joints) else "base"
    M = np.eye(4, dtype=int)
    base = records.JointDescription(name=name, type=FREE, parent=world, child=root, M_pc=M)
    links = (records.LinkDescription(world), *description.links)
    return replace(description, links=links, joints=(base, *description.joints))


def announce(model: Model, source: str, strict: bool) -> None:
    """Give one Python warning for all warnings of the model; raise ModelError if `strict`."""
    texts = [f"{note.where}: {note.text}" if note.where else note.text for note in model.warnings]
    if strict and texts:
        count, allow = counted(len(texts), "warning"), argument("strict", True)
        raise ModelError(f"{source} has {count} and {allow}: {' '.join(texts)}")
    if texts:
        more = f" (and {len(texts) - 3} more, see robot.report)" if len(texts) > 3 else ""
        text = f"{' '.join(texts[:3])}{more}"
        name = os.path.basename(source)  # most warnings begin with it; the folder is added
        same = text.startswith(f"{name}:")
        warn(f"{source}{text[len(name) :]}" if same else f"{source}: {text}")
