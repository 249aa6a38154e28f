"""`kinetree lint`: one verdict on a robot file, and a suggested correction for every problem.

A problem is data that no body or joint can have, or that a common reader of the format (urdfdom of
ROS and Pinocchio, MuJoCo, Drake) refuses. Most are found by the loader, whose warnings RULES sorts
and answers; what it has no reason to look at (shapes, names, the form of numbers) is read here.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from kinetree.cli.arguments import BASIC, BasicReading, Json, RobotName, option
from kinetree.cli.choices import find_robot, mesh_folder
from kinetree.cli.messages import ERROR, WARNING, wrapped
from kinetree.core.arrays import Array, known
from kinetree.core.text import counted, listing, number
from kinetree.errors import KinetreeError, KinetreeWarning, ModelError, ParseError
from kinetree.files.description.joints import FIXED
from kinetree.files.description.records import Body, Note, RobotDescription
from kinetree.files.description.xml import Element, show
from kinetree.robot import Robot
from kinetree.spatial.inertia import check_body, physical_faults, second_moment

Level = Literal["problem", "remark"]
MAX_SHOWN = 20  # findings on the screen; --json has all
MAX_NAMES = 6  # in one sentence
SMALLEST = 1e-15  # MuJoCo's mjMINVAL, kg or kg m^2: it refuses moving bodies with less
LEAST_MOMENT = 1e-14  # kg m^2, a principal moment that MuJoCo takes as 0
LONGEST = 20  # radii of gyration, in sizes of the robot, that are taken as a mistaken unit
SIZE = 0.5  # m, of a robot whose joints all lie in one place
SPARE = 1e-3  # of the largest second moment, that a corrected inertia has in every direction
BALL = 0.05  # m, radius of the solid ball whose inertia is suggested where there is none
DENSEST = 25e3  # kg/m^3; osmium, the densest metal, has 22.6e3
ALUMINIUM = 2.7e3  # kg/m^3, of the ball whose inertia is suggested where one is too small
LEAST_JUDGED = 0.2  # kg; lighter links are often dummies (frames of sensors) with nominal numbers
LIMIT = '<limit lower="-3.1416" upper="3.1416" velocity="1" effort="100"/>'

STOPPED = "Reading stopped here: what follows in the file is not judged."

# what the loader reports on masses and inertias, for which `_bodies` has corrections
BODIES = "is not a physical body|moves no mass|moves has a mass|is that of a body of"
# what else it reports; how it is judged; the correction, in which {1} is the first group
RULES: tuple[tuple[str, Level, str], ...] = (
    (r"mass is (-\S+) kg, less than zero", "problem", "write the mass as a positive number of kg"),
    (r"has no <mass>", "problem", 'add <mass value="..."/> in kg, or remove the <inertial>'),
    (r"<inertia> has no (.+); taken as 0", "problem", 'write "0" for {1}'),
    (r"has no <inertia>", "problem", "add <inertia> with all six moments"),
    (r"lower limit (\S+) is above upper limit (\S+);", "problem", 'lower="{2}" upper="{1}"'),
    (r"needs a <limit>", "problem", f'add {LIMIT} with the numbers of the data sheet, '
                                    'or write type="continuous"'),
    (r"(velocity|effort) limit -(\S+) is negative", "problem", '{1}="{2}"'),
    (r"(velocity|effort) limit 0 ", "remark",
     "write the {1} limit of the data sheet: other programs take 0 as 0"),
    (r"<limit> has zeros only", "remark", f"write {LIMIT} with the numbers of the data sheet"),
    (r"both 0: the joint can only stand", "remark",
     'write its range, or type="fixed": MuJoCo ignores such limits'),
    (r"<limit> has no (.+); 0 by the rules", "remark", "write both"),
    (r"axis has length (\S+), expected 1", "remark", "divide the axis by {1}"),
    (r"joint is fixed; its <mimic>", "problem", "remove the <mimic>: Drake refuses it"),
    (r"drives joint .* does not exist", "problem", "name a joint of the file, or remove it"),
    (r"has parent 'world', which is not declared", "problem", 'add <link name="world"/>'),
    (r"<robot> has no name", "problem", 'write <robot name="...">'),
    (r"radians, are these degrees", "remark", "if so, multiply by 0.0174533"),
    (r"metres, are these millimetres", "remark", "if so, multiply by 0.001"),
    (r"a mesh is skipped, dynamics do not need it", "problem", "correct the numbers of the mesh"),
    (r"was '(.+)' meant\?$", "problem", "write {1}"),
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Something odd in a file: what was found, its file:line, and what to write instead."""

    level: Level
    text: str
    where: str = ""
    correction: str = ""


def lint(
    robot: RobotName,
    /,
    *,
    meshes: Annotated[
        bool,
        option(
            "--meshes", "A mesh that is not found is a problem; --no-meshes does not look.",
            negative="--no-meshes",
        ),
    ] = True,
    json: Json = False,
    reading: BasicReading = BASIC,
) -> int:  # fmt: skip
    """Judge a robot file: its masses, inertias, limits, names and meshes, with corrections.

    A problem is data that no robot can have, or that ROS, Pinocchio, MuJoCo or Drake refuse. A
    remark is worth a look; --strict counts remarks as problems. A correction is a suggestion: the
    file is never changed. The exit code is 0 if there is no problem, 1 if there is one or the file
    cannot be read, 2 if there is no such file.

    For example:

    ```
    kinetree lint panda
    kinetree lint arm.urdf
    kinetree lint arm.urdf --no-meshes --json
    ```

    JSON has robot, source, verdict (fine, problems or unreadable), problems and remarks, each a
    list with text, where (file:line) and correction.
    """
    from kinetree.cli.output import print_json

    name, verdict, findings = judged(robot, reading, meshes)
    levels: tuple[Level, ...] = ("problem", "remark")
    listed: dict[Level, list[Finding]] = {
        level: [x for x in findings if x.level == level] for level in levels
    }
    if json:
        parts = {
            f"{level}s": [{k: v for k, v in asdict(x).items() if k != "level"} for x in some]
            for level, some in listed.items()
        }
        source = robot if Path(robot).is_file() else None
        print_json({"robot": name, "source": source, "verdict": verdict} | parts)
    else:
        print_findings(robot, verdict, listed)
    return 1 if listed["problem"] or (reading.strict and findings) else 0


def judged(
    robot: str, reading: BasicReading, meshes: bool
) -> tuple[str | None, str, list[Finding]]:
    """Name of the robot (None: it could not be read), the verdict in a word, and the findings.

    Raises:
        KinetreeError: there is no such robot, or an option does not fit.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        try:
            loaded = find_robot(robot, replace(reading, strict=False))
        except (ParseError, ModelError) as error:
            if not Path(robot).is_file():
                raise
            first = _judge(Note(str(error)), "problem")
            return None, "unreadable", [replace(first, text=f"{first.text} {STOPPED}")]
        findings = list(dict.fromkeys(_findings(loaded, reading, meshes)))
    problems = any(x.level == "problem" or reading.strict for x in findings)
    return loaded.name, "problems" if problems else "fine", findings


def print_findings(robot: str, verdict: str, listed: dict[Level, list[Finding]]) -> None:
    """Print the verdict, then problems and remarks, each with its correction."""
    from kinetree.cli.tables import console

    screen = console()
    counts = [counted(len(some), level) for level, some in listed.items() if some]
    words = {"fine": "fine", "problems": "not in order", "unreadable": "cannot be read"}
    colour = "bold green" if verdict == "fine" else f"bold {ERROR}"
    summary = f"{robot}: {words[verdict]}" + (f" ({', '.join(counts)})" if counts else "")
    screen.print(summary, style=colour, soft_wrap=True)
    for level, some in listed.items():
        for x in some[:MAX_SHOWN]:
            place = f" [{x.where}]" if x.where else ""
            text = wrapped(f"- {x.text}{place}", screen.width, "  ")
            screen.print(text, style=WARNING if level == "problem" else None, soft_wrap=True)
            if x.correction:
                text = wrapped(f"  Correction: {x.correction}.", screen.width, "  ")
                screen.print(text, soft_wrap=True)
        if len(some) > MAX_SHOWN:
            screen.print(f"- and {counted(len(some) - MAX_SHOWN, f'more {level}')} (--json)")


def _findings(robot: Robot, reading: BasicReading, meshes: bool) -> Iterator[Finding]:
    """Everything odd about a robot that could be loaded."""
    from kinetree.files.loading import MJCF, read

    report = robot.report
    if report is None:  # a built-in robot, which no other program reads
        bodies = _bodies(robot.model.description, robot)
        yield from (x for x in bodies if "is not a physical body" in x.text)
        return
    description = read(
        report.source, report.folders, reading.mimic, report.arguments or None,
        model=reading.model, environment=report.environment,
    )  # fmt: skip
    is_mjcf = report.source.suffix.lower() in MJCF
    if not is_mjcf:  # MuJoCo itself has compiled an MJCF file: its bodies are in order
        yield from _bodies(description, robot)
    yield from _dense(description, robot, is_mjcf)
    for note in report.warnings:
        if not re.search(BODIES, note.text):
            yield _judge(note)
    yield from (_judge(x) for x in report.notes if re.match("a mesh is skip|MuJoCo notes", x.text))
    if report.source.suffix.lower() == ".urdf":
        yield from _elements(report.source)
    if meshes and (missing := _missing(robot, description, mesh_folder(reading), is_mjcf)):
        yield Finding(
            "problem", f"{counted(len(missing), 'mesh file')} not found: "
            f"{listing(missing, MAX_NAMES)}.",
            correction="name the folder of their package with --folder, or put them in their place",
        )  # fmt: skip


def _judge(note: Note, level: Level = "remark") -> Finding:
    """A finding of the loader with its level and correction, by the first rule that fits."""
    for pattern, judged_as, correction in RULES:
        if match := re.search(pattern, note.text):
            words = (
                correction.format(match[0], *match.groups()) if "{" in correction else correction
            )
            return Finding(judged_as, note.text, note.where, words)
    return Finding(level, note.text, note.where)


# bodies


def _bodies(description: RobotDescription, robot: Robot) -> Iterator[Finding]:
    """Masses and inertias that no body has, that have another unit, or that are missing."""
    model = robot.model
    size = max(SIZE, sum(float(np.linalg.norm(x.M_pc[:3, 3])) for x in description.joints))
    reported = set[str]()
    for link in description.links:
        for body in link.bodies:
            owner, (m, _, I) = f"link {link.name!r}", check_body(body.m, body.com, body.I_com, "")
            moments = known(np.asarray(I))
            if moments is None:
                continue
            least = float(np.linalg.eigvalsh(moments)[0])
            radius = (max(float(np.trace(moments)), 0) / 2 / m) ** 0.5 if m > 0 else 0.0
            faults = physical_faults(m, moments)
            if faults:
                reported.add(link.name)
                text = f"{owner} is not a physical body: {'; '.join(faults)}."
                yield Finding("problem", text, link.where, _physical(body))
            elif radius > LONGEST * size:
                text = (
                    f"{owner} of {number(m)} kg has the inertia of a body {number(2 * radius)} m "
                    f"across; the robot is about {number(size)} m long."
                )
                factor = 10.0 ** -(3 * round(np.log10(radius / BALL) * 2 / 3))
                words = f"if the unit is mistaken: {inertia_tag(moments * factor)}"
                yield Finding("problem", text, link.where, f"{words}, {number(factor)} of it")
            elif m > 0 and moments.any() and least < LEAST_MOMENT:
                reported.add(link.name)
                text = f"the inertia of {owner} is singular: its least principal moment is 0."
                yield Finding("problem", text, link.where, _physical(body))
            elif m == 0 and moments.any():
                text = f"{owner} has moments of inertia and no mass."
                yield Finding("remark", text, link.where, "write its mass, or remove <inertial>")
    light = [  # with the links that are fixed to them
        name for name, m, I in zip(model.link_names, model.m, model.I_com, strict=True)
        if float(m) < SMALLEST or np.linalg.eigvalsh(np.asarray(I, float))[0] < SMALLEST
    ]  # fmt: skip
    moving = {x.child for x in description.joints if x.type != FIXED} - reported
    if light := [name for name in light if name in moving]:
        every = len(light) == len(model.joints)
        which = "no moving link has them" if every else listing(light, MAX_NAMES)
        example = inertia_tag(0.4 * 0.1 * BALL**2 * np.eye(3))
        yield Finding(
            "problem",
            f"moving links without mass or moments of inertia: {which}. Forward dynamics may be "
            "impossible, and MuJoCo refuses the file.",
            next(x.where for x in description.links if x.name == light[0]),
            f'give each an <inertial>, such as <mass value="0.1"/> with {example} (a ball of '
            f"{number(2 * BALL)} m), or fix its joint",
        )


def _dense(description: RobotDescription, robot: Robot, is_mjcf: bool) -> Iterator[Finding]:
    """Links that are denser than any material, by their inertias or in their drawn shapes.

    Of all bodies with a mass and no part denser than a limit, the solid ball has the least trace of
    the inertia: if that ball is too dense, so is a part of the body, whatever its shape is.
    """
    moving = {x.child for x in description.joints if x.type != FIXED}
    volumes = {} if is_mjcf else _drawn_volumes(robot)
    for link in description.links:
        for body in link.bodies:
            m, moments = known(np.asarray(body.m)), known(np.asarray(body.I_com))
            if m is None or moments is None or float(m) < LEAST_JUDGED:
                continue
            m, volume = float(m), volumes.get(link.name, np.inf)
            radius = (5 / 6 * max(float(np.trace(moments)), 0) / m) ** 0.5
            density = m / (_ball(radius) or np.inf)
            sound = not physical_faults(m, moments) and np.linalg.eigvalsh(moments)[0] > SMALLEST
            if sound and density > DENSEST:
                text = (
                    f"link {link.name!r} of {number(m)} kg has the inertia of a solid ball "
                    f"{number(2 * radius, 2)} m across, of {number(density / 1e3, 3)} g/cm^3; no "
                    "material has more than 23."
                )
                level: Level = "problem" if link.name in moving and not is_mjcf else "remark"
                yield Finding(level, text, link.where, _lighter(m, density))
            elif m > DENSEST * volume > 0:
                text = (
                    f"link {link.name!r} of {number(m)} kg is drawn with {number(volume * 1e6, 3)} "
                    f"cm^3: {number(m / volume / 1e3, 3)} g/cm^3, and no material has more than 23."
                )
                yield Finding("remark", text, link.where, "write the mass in kg, sizes in m")


def _ball(radius: float) -> float:
    """Volume of a ball."""
    return 4 / 3 * np.pi * radius**3


def _lighter(m: float, density: float) -> str:
    """A correction of a link that is too dense: its mass is in grams, or its inertia too small."""
    if m > 20 and density < 1e3**2.5 * DENSEST:  # at a thousandth of m, the ball is possible
        mass = f'<mass value="{number(m / 1e3)}"/>'
        return f"if the mass is in grams, write {mass}, and look whether its inertia is in g m^2"
    radius = (m / ALUMINIUM / _ball(1)) ** (1 / 3)
    tag = inertia_tag(0.4 * m * radius**2 * np.eye(3))
    return f"a ball of aluminium of that mass has {tag}; write the mass in kg, moments in kg m^2"


def _drawn_volumes(robot: Robot) -> dict[str, float]:
    """Volume of the visuals of every link that is drawn without meshes, m^3."""
    from kinetree.views.visuals import visual_source

    volumes, drawn = dict[str, float](), visual_source(robot)
    for x in () if drawn is None else drawn.visuals():
        size = np.array(x.size)
        volume = {
            "box": np.prod(size), "sphere": _ball(size[0]), "ellipsoid": _ball(1) * np.prod(size),
            "cylinder": np.pi * size[0] ** 2 * size[-1],
            "capsule": np.pi * size[0] ** 2 * size[-1] + _ball(size[0]),
        }.get(x.kind, np.inf)  # fmt: skip
        volumes[x.link] = volumes.get(x.link, 0.0) + float(volume)
    return volumes


def _physical(body: Body) -> str:
    """The nearest inertia that a body of that mass can have, as an element of URDF."""
    Sigma = np.asarray(second_moment(np.asarray(body.I_com, float)))
    values, axes = np.linalg.eigh(Sigma)
    largest = values[-1] if values[-1] > 0 else 0.2 * max(float(body.m), SMALLEST) * BALL**2
    Sigma = axes @ np.diag(np.clip(values, SPARE * largest, None)) @ axes.T
    tag = inertia_tag(np.trace(Sigma) * np.eye(3) - Sigma)
    return f"the nearest one that is physical: {tag}, in the axes of the link (rpy 0 0 0)"


def inertia_tag(I: Array) -> str:
    """An inertia as an element of URDF, in four digits."""
    places = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2)}
    least = 1e-9 * float(np.abs(I).max())  # less is rounding
    words = [
        f'{key}="{I[at] if abs(I[at]) > least else 0:.4g}"'
        for key, at in (places | {"izz": (2, 2)}).items()
    ]
    return f"<inertia {' '.join(words)}/>"


# elements that the dynamics do not need


def _elements(file: Path) -> Iterator[Finding]:
    """Shapes, materials, names and numbers of a URDF that other readers refuse."""
    from kinetree.files.description.source import decode, read_bytes
    from kinetree.files.description.xml import parse_xml

    root = parse_xml(decode(read_bytes(file), file.name), file.name)
    for tag in ("material", "transmission"):
        names = Counter(x.attributes.get("name", "") for x in root.all(tag))
        for name in (x for x, count in names.items() if count > 1):
            text = f"{tag} {show(name)} is defined {names[name]} times; ROS and Drake refuse it."
            yield Finding("problem", text, root.where, "keep one of them")
    for owner in (*root.all("link"), *root.all("joint")):
        name = f"{owner.tag} {show(owner.attributes.get('name', ''))}"
        for element in _inside(owner):
            yield from _element(element, name)


def _inside(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _inside(child)


def _element(element: Element, name: str) -> Iterator[Finding]:
    """Findings on one element of a link or joint."""
    words = element.attributes
    for key, word in words.items():
        if element.tag in ("mass", "inertia", "limit", "dynamics") and word != word.strip():
            text = f'{key}="{word}" of {name} has a blank, which ROS and Pinocchio do not read.'
            yield Finding("problem", text, element.where, f'{key}="{word.strip()}"')
    for key in ("size", "radius", "length"):
        if element.tag in ("box", "cylinder", "sphere", "capsule") and _is_flat(
            words.get(key, "1")
        ):
            text = f'a <{element.tag}> of {name} has {key}="{words[key]}"; Drake refuses it.'
            yield Finding("problem", text, element.where, f'{key} > 0, such as "0.001" for each')
    if element.tag == "visual" and len(element.all("material")) > 1:
        text = f"a <visual> of {name} has {len(element.all('material'))} <material>."
        yield Finding("problem", text, element.where, "keep one: MuJoCo refuses the file")
    absent = [x for x in ("effort", "velocity") if x not in words]
    if element.tag == "limit" and absent:
        text = f"<limit> of {name} has no {' and no '.join(absent)}; ROS and Pinocchio refuse it."
        added = " ".join(f'{x}="..."' for x in absent)
        yield Finding("problem", text, element.where, f"add {added} of the data sheet")


def _is_flat(word: str) -> bool:
    """Return True if a size has a number that is not positive."""
    try:
        return any(float(x) <= 0 for x in word.split())
    except ValueError:
        return False


def _missing(
    robot: Robot, description: RobotDescription, folder: Path | None, is_mjcf: bool
) -> Sequence[str]:
    """Mesh files that are not there, neither beside the file nor in a package."""
    from kinetree.cli.info import missing_of
    from kinetree.files.description.sources import Sources
    from kinetree.views.visuals import visual_source

    report, drawn = robot.report, visual_source(robot, folder=folder)
    if report is None or drawn is None or is_mjcf:
        return missing_of(robot, folder)
    sources = Sources(report.source, report.folders)

    def is_there(path: str) -> bool:
        with suppress(KinetreeError):
            return sources.locate(path, [report.source.parent], "").is_file()
        with suppress(KinetreeError):
            return drawn.meshes.find(path).is_file()
        return False

    return [
        path for path in dict.fromkeys(x.path for x in description.meshes) if not is_there(path)
    ]
