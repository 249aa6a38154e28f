"""kt.load and kt.load_string: a robot from a file, a name or a text, with a report of its contents.

A word without an ending and without a separator is a name (see `kinetree.robots.names`); anything
else is the path of a file, whose ending decides the format. The format of a text is that of its
root element.
"""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from kinetree.core.options import typed
from kinetree.core.text import counted, listing, nearest
from kinetree.errors import InputError, ModelError, ParseError, argument, warn
from kinetree.files.description.joints import FREE
from kinetree.files.description.records import (
    ArgumentValue,
    Friction,
    JointDescription,
    LinkDescription,
    Note,
    RobotDescription,
)
from kinetree.model import Model, build_model
from kinetree.robot import Robot
from kinetree.robots.names import built_in, described, is_name, unknown_robot

# readers are imported when a file or text is read, so that built-in robots load quickly

URDF, MJCF, SDF = (".urdf", ".xacro"), (".xml", ".mjcf"), (".sdf", ".world")
ROBOT_FILES = (*URDF, *MJCF, *SDF)
THE_TEXT = "the text"  # replaces the name of a file in messages
FrictionOf = Literal["file", "none"]
ConstraintsOf = Literal["file", "none"]
ContactsOf = Literal["file", "none"]
TextFormat = Literal["urdf", "xacro", "mjcf", "sdf"]
ROOTS = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}
MOST_FILES = 5  # of a folder that are named in a message
OTHER_ENDINGS = {  # formats of other files
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


@typed
def load(
    path: str | os.PathLike[str],
    *,
    floating: bool = False,
    mimic: bool = True,
    strict: bool = False,
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    environment: bool = False,
    friction: FrictionOf = "file",
    constraints: ConstraintsOf = "file",
    contacts: ContactsOf = "none",
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
    _check_choice("friction", friction)
    _check_choice("constraints", constraints)
    _check_choice("contacts", contacts)
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise InputError(
            "path is XML text; expected a path or a name. Texts are loaded by kt.load_string."
        )
    if isinstance(path, str) and (is_name(path) or not path.strip()):
        robot = built_in(path)
        if robot is not None:
            _refuse_model(robot.name, model)
            if arguments:
                raise InputError(
                    f"{robot.name} is a built-in robot and has no arguments, found "
                    f"{', '.join(map(str, arguments))}; expected them for .xacro files. Leave "
                    "--arg (in Python, arguments) out."
                )
            _warn_of_files(path, strict)
            if contacts == "file":
                raise InputError(
                    f"{robot.name} is a built-in robot without collision shapes; "
                    f"{argument('contacts', 'file')} needs a file. Add points with "
                    "robot.with_contacts([kt.contacts.ContactPoint('tip', 'tool')])."
                )
            return _with_options(robot, floating, mimic, friction, constraints)
        described_robot = described(path)
        if described_robot is not None:
            path, folders = described_robot.path, (*folders, *described_robot.folders)
            arguments = {**described_robot.arguments, **(arguments or {})} or None
        elif not os.path.exists(path):
            raise unknown_robot(path, ROBOT_FILES, _robot_files(Path()))
    start = contacts == "file"
    description = read(path, folders, mimic, arguments, floating, model, environment, start)
    is_sdf = Path(path).suffix.lower() in SDF  # its reader knows the world, and floats the robot
    description = _changed(description, floating and not is_sdf, friction, constraints)
    return _reported(
        description, Path(path), folders, arguments, environment, strict, contacts=contacts
    )


@typed
def load_string(
    text: "str | bytes",  # in quotes: the error below says more than the type
    *,
    format: TextFormat | None = None,
    floating: bool = False,
    mimic: bool = True,
    strict: bool = False,
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    environment: bool = False,
    friction: FrictionOf = "file",
    constraints: ConstraintsOf = "file",
    contacts: ContactsOf = "none",
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
    from kinetree.files.description.mjcf import read_mjcf
    from kinetree.files.description.sdf import read_sdf
    from kinetree.files.description.urdf import read_urdf_text, read_xacro, refuse_arguments

    _check_choice("friction", friction)
    _check_choice("constraints", constraints)
    _check_choice("contacts", contacts)
    content = _content(text)
    kind = _format(content, format)
    if kind != "sdf":
        _refuse_model(THE_TEXT, model)
    if kind != "xacro":
        refuse_arguments(THE_TEXT, arguments)
    if kind == "urdf":
        description = read_urdf_text(content, name=THE_TEXT, mimic=mimic)
    elif kind == "xacro":
        description = read_xacro(THE_TEXT, folders, mimic, arguments, content, environment)
    elif kind == "mjcf":
        start = contacts == "file"
        description = read_mjcf(THE_TEXT, folders=folders, text=content, start=start)
    else:
        description = read_sdf(
            THE_TEXT, folders=folders, mimic=mimic, floating=floating, model=model, text=content
        )
    description = _changed(description, floating and kind != "sdf", friction, constraints)
    source = Path(THE_TEXT)
    return _reported(
        description, source, folders, arguments, environment, strict, content, contacts
    )


def _reported(
    description: RobotDescription,
    source: Path,
    folders: Sequence[str | os.PathLike[str]],
    arguments: Mapping[str, ArgumentValue] | None,
    environment: bool,
    strict: bool,
    text: str | None = None,
    contacts: ContactsOf = "none",
) -> Robot:
    """The robot of a description, with its report, and one warning for all that is odd."""
    from kinetree.files.report import Report

    model = _built(description, str(source))
    if contacts == "file":
        from kinetree.dynamics.contacts.file_contacts import with_file_contacts

        model = with_file_contacts(model, source, folders, text)
    report = Report.of(source, description, model, folders, arguments, text, environment)
    announce(model, str(source), strict)
    return Robot(model, report=report)


def read(
    path: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    arguments: Mapping[str, ArgumentValue] | None = None,
    floating: bool = False,
    model: str | None = None,
    environment: bool = False,
    start: bool = False,
) -> RobotDescription:
    """Read the records of a file, by the ending of its name."""
    from kinetree.files.description.mjcf import read_mjcf
    from kinetree.files.description.sdf import read_sdf
    from kinetree.files.description.source import MissingFileError, path_text
    from kinetree.files.description.urdf import read_urdf, refuse_arguments

    try:
        place = Path(path_text(path))
    except (TypeError, InputError) as error:
        raise InputError(f"path is {path!r}; expected the name of a robot file. {error}") from None
    ending = place.suffix.lower()
    if place.is_dir():
        raise InputError(f"{place} is a folder; expected a robot file.{_inside(place)}")
    if ending in ROBOT_FILES:
        if not os.path.lexists(place):
            seen = "" if place.is_absolute() else f" It was looked for in {os.getcwd()}."
            raise MissingFileError(
                f"there is no file {place}; expected a robot.{_beside(place)}{seen}"
            )
        if ending not in SDF:
            _refuse_model(place.name, model)
        if ending in URDF:
            return read_urdf(path, package_paths=folders, mimic=mimic, arguments=arguments,
                             environment=environment)  # fmt: skip
        refuse_arguments(place.name, arguments)
        if ending in MJCF:
            return read_mjcf(path, folders=folders, start=start)
        return read_sdf(path, folders=folders, mimic=mimic, floating=floating, model=model)
    expected = f"expected {', '.join(ROBOT_FILES)}"
    if ending in OTHER_ENDINGS:
        raise InputError(f"{place}: {OTHER_ENDINGS[ending]}; {expected}.")
    found = f"ends with {ending!r}" if ending else "has no ending"
    raise InputError(f"{place} {found}; {expected}. If it is such a file, give it that ending.")


def _check_choice(name: str, value: str) -> None:
    if value not in get_args(FrictionOf):
        raise InputError(f"{name} is {value!r}; expected 'file' or 'none'.")


def _refuse_model(source: str, model: str | None) -> None:
    if model is not None:
        raise InputError(
            f"{source} is one robot; a model is chosen for SDF files only, found {model!r}. Leave "
            "--model (in Python, model) out."
        )


# texts


def _content(text: str | bytes) -> str:
    """The text, decoded; raise InputError for other types and for what looks like a path."""
    from kinetree.files.description.source import decode
    from kinetree.files.description.xml import clip

    content = decode(text, THE_TEXT)
    if "<" not in content and content.strip() and len(content) < 1000:
        raise InputError(
            f"text is {clip(content)!r}, which is not XML; expected the content of a robot file. "
            "Load a file or a name by kt.load."
        )
    return content


def _format(content: str, given: TextFormat | None) -> str:
    """The format of a text: by its root, and for URDF by the xacro elements in it."""
    from kinetree.files.description.xml import clip

    if given is not None and given not in get_args(TextFormat):
        raise InputError(
            f"format is {given!r}; expected {', '.join(map(repr, get_args(TextFormat)))} or None."
        )
    tag = root_tag(content)
    kind = ROOTS.get(tag)
    if kind is None and tag:
        raise ParseError(
            f"{THE_TEXT}: the root is <{clip(tag)}>; expected <robot> (URDF, xacro), <mujoco> "
            "(MJCF) or <sdf>."
        )
    if kind == "urdf" and "<xacro:" in content:
        kind = "xacro"
    fits = kind is None or given in (None, kind) or {given, kind} == {"urdf", "xacro"}
    if not fits:
        raise InputError(f"format is {given!r}, but the root <{clip(tag)}> is that of {kind}.")
    return given or kind or "urdf"


def root_tag(content: str) -> str:
    """The tag of the root element, behind declarations and comments; empty if there is none."""
    place = len(content) - len(content.lstrip("\ufeff \t\r\n"))
    for start, end in (("<?", "?>"), ("<!--", "-->")) * 50:
        if content.startswith(start, place):
            stop = content.find(end, place)
            if stop < 0:
                return ""
            place = stop + len(end)
            place += len(content[place:]) - len(content[place:].lstrip())
    tag = re.compile(r"<([^\s<>/!?]+)").match(content, place)
    return tag[1] if tag else ""


# files and names


def _robot_files(folder: Path) -> list[str]:
    """Names of the robot files in a folder."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [x for x in names if Path(x).suffix.lower() in ROBOT_FILES]


def _inside(folder: Path) -> str:
    """Name the robot files of a folder."""
    files = _robot_files(folder)
    if not files:
        return f" It has no file that ends with {', '.join(ROBOT_FILES)}."
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    return f" It has {', '.join(files[:MOST_FILES])}{more}."


def _beside(path: Path) -> str:
    """Name a file with a similar name in the same folder."""
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {folder} either."
    # the ending, which most files share, makes unlike names look alike
    files = [x for x in _robot_files(folder) if nearest(path.stem, [Path(x).stem])]
    return nearest(path.name, files)


def _warn_of_files(name: str, strict: bool) -> None:
    """Warn if the current folder has a file that a built-in robot's name could mean, too."""
    files = [x for x in _robot_files(Path()) if Path(x).stem.lower() == name.lower()]
    if not files:
        return
    text = (
        f"{name!r} is the built-in robot, not the file {files[0]!r} of this folder; give its whole "
        "name to load the file."
    )
    if strict:
        raise InputError(text)
    warn(text)


# robots that were read


def _with_options(
    robot: Robot, floating: bool, mimic: bool, friction: FrictionOf, constraints: ConstraintsOf
) -> Robot:
    """A built-in robot with the options of `load`."""
    if constraints == "none":
        robot = robot.unconstrained()
    if mimic and not floating and friction == "file":
        return robot
    description = robot.model.description
    if not mimic:
        joints = tuple(dataclasses.replace(x, mimic=None) for x in description.joints)
        description = dataclasses.replace(description, joints=joints)
    return Robot(_built(_changed(description, floating, friction), robot.name))


def _built(description: RobotDescription, source: str) -> Model:
    """The model of a description, with its constraints."""
    closure = description.constrained
    model = build_model(dataclasses.replace(description, constrained=None), unphysical="allow")
    if closure is None:
        return model
    from kinetree.dynamics.constraints.mobility import IdleConstraintsError, constrain
    from kinetree.dynamics.joints.configuration import neutral

    near = neutral(model) if closure.near else None
    for joint in model.joints:
        if near is not None and joint.follows is None and joint.name in closure.near:
            near[list(joint.coords)] = closure.near[joint.name]
    try:
        robot = constrain(model, closure.constraints, actuated=closure.actuated, near=near)
        return _freed(model, robot)
    except IdleConstraintsError as error:
        return model.replace(warnings=(*model.warnings, Note(str(error))))
    except (InputError, ModelError) as error:
        reason = str(error).partition(" A position at which")[0]  # there is no place for it here
        raise ModelError(
            f"{source}: the constraints of the file cannot be used: {reason} Leave them out with "
            f"{argument('constraints', 'none')}."
        ) from error


def _freed(tree: Model, robot: Model) -> Model:
    """The robot with a warning if its constraints hold every joint, and none says so already."""
    closure = robot.constraints
    if closure is None or closure.independent or len(robot.warnings) > len(tree.warnings):
        return robot
    note = Note(
        f"the constraints {listing(list(closure.given), 8)} leave {robot.name!r} no degree of "
        "freedom: it stands still. If it is meant to move, check the axes and positions of its "
        "joints; "
        f"{argument('constraints', 'none')} gives the tree."
    )
    return robot.replace(warnings=(*robot.warnings, note))


def _changed(
    description: RobotDescription,
    floating: bool,
    friction: FrictionOf,
    constraints: ConstraintsOf = "file",
) -> RobotDescription:
    """The description with the options that apply to every format."""
    if constraints == "none" and description.constrained is not None:
        names = listing(description.constrained.constraints, 6)
        note = Note(f"constraints are left out, as asked: {names}")
        notes = (*description.notes, note)
        description = dataclasses.replace(description, constrained=None, notes=notes)
    if friction == "none":
        description = without_friction(description)
    return float_base(description) if floating else description


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
    from kinetree.files.description.tree import check_tree

    root = check_tree(description.links, description.joints, description.name)
    at_root = [joint for joint in description.joints if joint.parent == root]
    if at_root and all(joint.type == FREE for joint in at_root):
        raise ModelError(
            f"{description.name!r} floats already: its root {root!r} carries the free joint "
            f"{at_root[0].name!r}; expected a robot that stands. "
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
            f"{source} has {counted(len(texts), 'warning')} and {argument('strict', True)}: "
            f"{' '.join(texts)}"
        )
    more = f" (and {len(texts) - 3} more, see robot.report)" if len(texts) > 3 else ""
    text = f"{' '.join(texts[:3])}{more}"
    name = os.path.basename(source)  # most warnings begin with it; the folder is added
    warn(f"{source}{text[len(name) :]}" if text.startswith(f"{name}:") else f"{source}: {text}")
