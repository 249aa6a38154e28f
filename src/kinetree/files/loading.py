"""kt.load and kt.load_string: a robot from a file, a name or a text, with a report of its contents.

A word without an ending and without a separator is a name (see `kinetree.robots.names`); anything
else is the path of a file, whose ending decides the format. The format of a text is that of its
root element.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from kinetree.constraints import unconstrained
from kinetree.core.options import typed
from kinetree.core.text import counted, listing, nearest
from kinetree.errors import InputError, ModelError, ParseError, SingularityError, argument, warn
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
KINDS = {  # of files, by the endings of their names
    **dict.fromkeys(MJCF, "mjcf"),
    **dict.fromkeys(SDF, "sdf"),
    ".urdf": "urdf",
    ".xacro": "xacro",
}
OTHER_ENDINGS = {  # formats of other files
    ".srdf": "this is SRDF (groups and collisions for MoveIt); load the URDF that it belongs to",
    **dict.fromkeys(
        (".usd", ".usda", ".usdz"),
        "this is USD, which is not read; export the robot as URDF or MJCF",
    ),
    ".mjb": "this is a compiled MuJoCo model; load the .xml file that it was made from",
    **dict.fromkeys((".stl", ".dae", ".obj"), "this is a mesh; load the robot file that uses it"),
    ".launch": "this is a ROS launch file; load the URDF or xacro file that it names",
    ".py": "this is a Python file; load the URDF or xacro file that it names",
}


@dataclass(frozen=True)
class Options:
    """The options of `load`."""

    floating: bool = False
    mimic: bool = True
    strict: bool = False
    folders: Sequence[str | os.PathLike[str]] = ()
    arguments: Mapping[str, ArgumentValue] | None = None
    environment: bool = False
    friction: FrictionOf = "file"
    constraints: ConstraintsOf = "file"
    contacts: ContactsOf = "none"
    model: str | None = None

    def __post_init__(self) -> None:
        for name in ("friction", "constraints", "contacts"):
            if (value := getattr(self, name)) not in get_args(FrictionOf):
                raise InputError(f"{name} is {value!r}; expected 'file' or 'none'.")

    def refuse(self, source: str, *names: str) -> None:
        """Raise InputError if one of these is given for a source that has none."""
        kinds = {"arguments": ".xacro files", "model": "SDF files with several models"}
        for name in names:
            if value := getattr(self, name):
                given = ", ".join(map(str, value)) if name == "arguments" else repr(value)
                raise InputError(
                    f"{source} takes no {name}, found {given}; expected for {kinds[name]} only. "
                    f"Leave {argument(name)} out."
                )


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
    options = Options(
        floating, mimic, strict, folders, arguments, environment, friction, constraints, contacts,
        model,
    )  # fmt: skip
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise InputError(
            "path is XML text; expected a path or a name. Texts are loaded by kt.load_string."
        )
    if isinstance(path, str) and (is_name(path) or not path.strip()):
        robot = built_in(path)
        if robot is not None:
            return _with_options(robot, path, options)
        found = described(path)
        if found is not None:
            path, given = found.path, {**found.arguments, **(arguments or {})} or None
            options = replace(options, folders=(*folders, *found.folders), arguments=given)
        elif not os.path.exists(path):
            raise unknown_robot(path, ROBOT_FILES, _robot_files(Path()))
    return _loaded(_kind_of(path), path, options)


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
    options = Options(
        floating, mimic, strict, folders, arguments, environment, friction, constraints, contacts,
        model,
    )  # fmt: skip
    content = _content(text)
    return _loaded(_format(content, format), THE_TEXT, options, content)


def _loaded(
    kind: str, path: str | os.PathLike[str], options: Options, text: str | None = None
) -> Robot:
    """The robot of a file or text, with its report, and one warning for all that is odd."""
    from kinetree.files.report import Report

    source = Path(path)
    description = _read(kind, path, options, text)
    model = _built(_changed(description, options, kind), str(source))
    if options.contacts == "file":
        from kinetree.dynamics.contacts.file_contacts import with_file_contacts

        model = with_file_contacts(model, source, options.folders, text)
    report = Report.of(source, description, model, options, text)
    announce(model, str(source), options.strict)
    return Robot(model, report=report)


def read(path: str | os.PathLike[str], **options: Any) -> RobotDescription:
    """Read the records of a file, by the ending of its name; options: as of `load`."""
    return _read(_kind_of(path), path, Options(**options))


def _read(
    kind: str, path: str | os.PathLike[str], options: Options, text: str | None = None
) -> RobotDescription:
    """Read the records of a file or text of a kind."""
    others = {"xacro": ("model",), "sdf": ("arguments",)}.get(kind, ("arguments", "model"))
    options.refuse(os.path.basename(path), *others)
    mimic, folders = options.mimic, options.folders
    if kind == "mjcf":
        from kinetree.files.description.mjcf import read_mjcf

        return read_mjcf(path, folders=folders, text=text, start=options.contacts == "file")
    if kind == "sdf":
        from kinetree.files.description.sdf import read_sdf

        return read_sdf(path, folders=folders, mimic=mimic, floating=options.floating,
                        model=options.model, text=text)  # fmt: skip
    from kinetree.files.description.urdf import read_urdf, read_xacro

    if kind == "urdf":
        return read_urdf(path, mimic=mimic, text=text)
    arguments, environment = options.arguments, options.environment
    return read_xacro(path, folders, mimic, arguments, text, environment)


def _kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of a robot file that exists, by the ending of its name."""
    from kinetree.files.description.source import MissingFileError, path_text

    try:
        place = Path(path_text(path))
    except (TypeError, InputError) as error:
        raise InputError(f"path is {path!r}; expected the name of a robot file. {error}") from None
    ending = place.suffix.lower()
    if place.is_dir():
        raise InputError(f"{place} is a folder; expected a robot file.{_inside(place)}")
    if ending not in KINDS:
        found = f"ends with {ending!r}" if ending else "has no ending"
        what = OTHER_ENDINGS.get(ending, f"{found}; if it is a robot file, give it its ending")
        raise InputError(f"{place}: {what}; expected {', '.join(ROBOT_FILES)}.")
    if not os.path.lexists(place):
        seen = "" if place.is_absolute() else f" It was looked for in {os.getcwd()}."
        raise MissingFileError(f"there is no file {place}; expected a robot.{_beside(place)}{seen}")
    return KINDS[ending]


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


def _with_options(robot: Robot, name: str, options: Options) -> Robot:
    """A built-in robot with the options of `load`."""
    options.refuse(robot.name, "model", "arguments")
    _warn_of_files(name, options.strict)
    if options.contacts == "file":
        raise InputError(
            f"{robot.name} is a built-in robot without collision shapes; "
            f"{argument('contacts', 'file')} needs a file. Add points with "
            "robot.with_contacts([kt.contacts.ContactPoint('tip', 'tool')])."
        )
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


def _built(description: RobotDescription, source: str) -> Model:
    """The model of a description, with its constraints."""
    closure = description.constrained
    model = build_model(replace(description, constrained=None), unphysical="allow")
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
    except (InputError, ModelError, SingularityError) as error:
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


def _changed(description: RobotDescription, options: Options, kind: str) -> RobotDescription:
    """The description with the options that apply to every format."""
    if options.constraints == "none" and description.constrained is not None:
        names = listing(description.constrained.constraints, 6)
        notes = (*description.notes, Note(f"constraints are left out, as asked: {names}"))
        description = replace(description, constrained=None, notes=notes)
    if options.friction == "none":
        description = without_friction(description)
    # the reader of SDF knows the world, and floats the robot itself
    return float_base(description) if options.floating and kind != "sdf" else description


def without_friction(description: RobotDescription) -> RobotDescription:
    """The same robot without the friction of its joints, with a note."""
    had = [joint.name for joint in description.joints if joint.friction != Friction()]
    if not had:
        return description
    joints = tuple(replace(j, friction=Friction()) for j in description.joints)
    names = f"{', '.join(map(repr, had[:3]))}{' and more' if len(had) > 3 else ''}"
    text = f"friction of {counted(len(had), 'joint')} ({names}) is left out, as asked."
    notes = (*description.notes, Note(text))
    return replace(description, joints=joints, notes=notes)


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
    return replace(
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
