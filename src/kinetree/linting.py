"""`kt.lint`: one verdict on a robot file, and a suggested correction for every problem.

A problem is data that no body or joint can have, or that a common reader of the format (urdfdom of
ROS and Pinocchio, MuJoCo, Drake) refuses. Most are found by the loader, whose errors and warnings
have codes that RULES judges and answers; what it has no reason to look at (shapes, names, the form
of numbers) is read here.
"""

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.core.options import typed
from kinetree.core.text import counted, listing, number
from kinetree.errors import KinetreeError, KinetreeWarning, ModelError, ParseError
from kinetree.files.description.joints import FIXED
from kinetree.files.description.records import Body, Note, RobotDescription
from kinetree.files.description.source import (
    ArgumentValue,
    FileOrNone,
    decode,
    path_text,
    read_bytes,
)
from kinetree.files.description.sources import Sources
from kinetree.files.description.xml import Element, parse_xml, show
from kinetree.files.loading import MJCF, load, read
from kinetree.robot import Robot
from kinetree.spatial.inertia import check_body, physical_faults, second_moment
from kinetree.views.visuals import missing_meshes, visual_source

Level = Literal["problem", "remark"]
Verdict = Literal["fine", "problems", "unreadable"]
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

OF_BODIES = ("body", "massless")  # codes of the loader for which `_bodies` has corrections
# codes of the loader: how each is judged; the correction, with the fields of the note or error
RULES: dict[str, tuple[Level, str]] = {
    "mass-negative": ("problem", "write the mass as a positive number of kg"),
    "mass-missing": ("problem", 'add <mass value="..."/> in kg, or remove the <inertial>'),
    "products-missing": ("problem", 'write "0" for {names}'),
    "inertia-missing": ("problem", "add <inertia> with all six moments"),
    "limits-reversed": ("problem", 'lower="{upper:g}" upper="{lower:g}"'),
    "limit-missing": ("problem", f'add {LIMIT} of the data sheet, or write type="continuous"'),
    "limit-negative": ("problem", '{key}="{size:g}"'),
    "limit-zero": ("remark", "write the {key} limit of the data sheet: others take 0 as 0"),
    "limits-all-zero": ("remark", f"write {LIMIT} with the numbers of the data sheet"),
    "limits-both-zero": ("remark", 'write its range, or type="fixed": MuJoCo ignores such limits'),
    "limits-incomplete": ("remark", "write both"),
    "axis-length": ("remark", "divide the axis by {length:.9g}"),
    "mimic-fixed": ("problem", "remove the <mimic>: Drake refuses it"),
    "transmission-joint": ("problem", "name a joint of the file, or remove it"),
    "no-world": ("problem", 'add <link name="world"/>'),
    "robot-unnamed": ("problem", 'write <robot name="...">'),
    "unit-degrees": ("remark", "if so, multiply by 0.0174533"),
    "unit-millimetres": ("remark", "if so, multiply by 0.001"),
    "shape-skipped": ("problem", "correct the numbers of the shape"),
    "word-near": ("problem", "write {word}"),
}


@dataclass(frozen=True)
class Finding:
    """Something odd in a file.

    Args:
        level: "problem" or "remark".
        text: what was found.
        where: its file:line.
        correction: what to write instead; empty where there is no suggestion.
        code: what it is about, for programs; empty where none is known.
    """

    level: Level
    text: str
    where: str = ""
    correction: str = ""
    code: str = ""


@dataclass(frozen=True)
class Lint:
    """The verdict on a robot file.

    Args:
        robot: name of the robot; None: the file cannot be read.
        source: the file.
        findings: problems and remarks, in the order of the file.
    """

    robot: str | None
    source: str
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Data that no robot can have, or that a common reader refuses."""
        return tuple(x for x in self.findings if x.level == "problem")

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Data that are worth a look."""
        return tuple(x for x in self.findings if x.level == "remark")

    @property
    def verdict(self) -> Verdict:
        """fine, problems or unreadable."""
        if self.robot is None:
            return "unreadable"
        return "problems" if self.problems else "fine"

    def to_dict(self) -> dict[str, Any]:
        """Robot, source, verdict, problems and remarks, as plain data."""
        listed = {"problems": self.problems, "remarks": self.remarks}
        rows = {
            key: [{k: v for k, v in asdict(x).items() if k != "level"} for x in some]
            for key, some in listed.items()
        }
        about = {"robot": self.robot, "source": self.source, "verdict": self.verdict}
        return about | rows

    def __str__(self) -> str:
        return "\n".join(
            f"{x.level}: {x.text}" + (f" [{x.where}]" if x.where else "") for x in self.findings
        )


@typed
def lint(
    path: str | os.PathLike[str],
    *,
    meshes: bool = True,
    mesh_folder: str | os.PathLike[str] | None = None,
    floating: bool = False,
    mimic: bool = True,
    folders: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, ArgumentValue] | None = None,
    environment: bool = False,
    constraints: FileOrNone = "file",
    model: str | None = None,
) -> Lint:
    """Judge a robot file: its masses, inertias, limits, names and meshes, with corrections.

    A file that cannot be read is judged too: all faults of its links and joints are listed, and
    what else was found before them. The file is never changed.

    Args:
        path: the file, or the name of a robot, as in `load`.
        meshes: whether a mesh that is not found is a problem.
        mesh_folder: the only folder that meshes are looked for in; None: that of the file.
        floating, mimic, folders, arguments, environment, constraints, model: as in `load`.
    """
    options: dict[str, Any] = {"mimic": mimic, "folders": folders, "arguments": arguments}
    options |= {"environment": environment, "model": model}
    source = path_text(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        try:
            robot = load(path, floating=floating, constraints=constraints, **options)
        except (ParseError, ModelError) as error:
            if not Path(source).is_file():
                raise
            return Lint(None, source, tuple(dict.fromkeys(_unreadable(error, Path(source)))))
        folder = None if mesh_folder is None else Path(path_text(mesh_folder))
        findings = dict.fromkeys(_findings(robot, options, meshes, folder))
    return Lint(robot.name, source, tuple(findings))


def _unreadable(error: ParseError | ModelError, file: Path) -> Iterator[Finding]:
    """All faults of a file that cannot be read, and what was found besides them."""
    if isinstance(error, ParseError):
        for x in error.faults or (error,):
            yield _judge(Note(str(x), code=x.code, fields=x.fields), "problem")
        yield from map(_judge, error.warnings)
    else:
        yield _judge(Note(str(error)), "problem")
    if file.suffix.lower() == ".urdf":
        with suppress(ParseError):  # the fault is listed already
            yield from _elements(file)


def _findings(
    robot: Robot, options: dict[str, Any], meshes: bool, folder: Path | None
) -> Iterator[Finding]:
    """Everything odd about a robot that could be loaded."""
    report = robot.report
    if report is None:  # a built-in robot, which no other program reads
        bodies = _bodies(robot.model.description, robot)
        yield from (x for x in bodies if x.code == "unphysical")
        return
    file = report.file
    options = options | {"folders": file.folders, "arguments": file.arguments}
    description = read(file.path, **options)
    is_mjcf = report.source.suffix.lower() in MJCF
    if not is_mjcf:  # MuJoCo itself has compiled an MJCF file: its bodies are in order
        yield from _bodies(description, robot)
    yield from _dense(description, robot, is_mjcf)
    yield from (_judge(x) for x in report.warnings if x.code not in OF_BODIES)
    yield from (_judge(x) for x in report.notes if x.code in ("shape-skipped", "mujoco"))
    if report.source.suffix.lower() == ".urdf":
        yield from _elements(report.source)
    if meshes and (missing := _missing(robot, description, folder, is_mjcf)):
        text = f"{counted(len(missing), 'mesh file')} not found: {listing(missing, MAX_NAMES)}."
        remedy = "name the folder of their package with --folder, or put them in their place"
        yield Finding("problem", text, "", remedy, "mesh-missing")


def _judge(note: Note, level: Level = "remark") -> Finding:
    """A finding of the loader with its level and correction, by its code."""
    judged_as, correction = RULES.get(note.code, (level, ""))
    return Finding(judged_as, note.text, note.where, correction.format(**note.fields), note.code)


# bodies


def _bodies(description: RobotDescription, robot: Robot) -> Iterator[Finding]:
    """Masses and inertias that no body has, that have another unit, or that are missing."""
    size = max(SIZE, sum(float(np.linalg.norm(x.M_pc[:3, 3])) for x in description.joints))
    reported = set[str]()
    for link in description.links:
        for body in link.bodies:
            found = _fault_of(body, size)
            if found is not None:
                text, correction, code = found
                reported |= {link.name} if code in ("unphysical", "singular") else set()
                level: Level = "remark" if code == "massless" else "problem"
                text = f"link {link.name!r} {text}"
                yield Finding(level, text, link.where, correction, code)
    model = robot.model
    light = [  # with the links that are fixed to them
        name for name, m, I in zip(model.link_names, model.m, model.I_com, strict=True)
        if float(m) < SMALLEST or np.linalg.eigvalsh(np.asarray(I, float))[0] < SMALLEST
    ]  # fmt: skip
    moving = {x.child for x in description.joints if x.type != FIXED} - reported
    if light := [name for name in light if name in moving]:
        every = len(light) == len(model.joints)
        which = "no moving link has them" if every else listing(light, MAX_NAMES)
        text = f"moving links without mass or moments of inertia: {which}. Forward dynamics may be "
        text += "impossible, and MuJoCo refuses the file."
        where = next(x.where for x in description.links if x.name == light[0])
        tag = inertia_tag(0.4 * 0.1 * BALL**2 * np.eye(3))
        example = f'such as <mass value="0.1"/> with {tag} (a ball of {number(2 * BALL)} m)'
        correction = f"give each an <inertial>, {example}, or fix its joint"
        yield Finding("problem", text, where, correction)


def _fault_of(body: Body, size: float) -> tuple[str, str, str] | None:
    """What is wrong with the inertia of a body in a robot of a size, a correction, and the code."""
    m, _, I = check_body(body.m, body.com, body.I_com, "")
    moments = known(np.asarray(I))
    if moments is None:
        return None
    radius = (max(float(np.trace(moments)), 0) / 2 / m) ** 0.5 if m > 0 else 0.0
    if faults := physical_faults(m, moments):
        return f"is not a physical body: {'; '.join(faults)}.", _physical(body), "unphysical"
    if radius > LONGEST * size:
        text = f"of {number(m)} kg has the inertia of a body {number(2 * radius)} m across; the "
        factor = 10.0 ** -(3 * round(np.log10(radius / BALL) * 2 / 3))
        words = f"if the unit is mistaken: {inertia_tag(moments * factor)}, {number(factor)} of it"
        return f"{text}robot is about {number(size)} m long.", words, "large"
    if m > 0 and moments.any() and float(np.linalg.eigvalsh(moments)[0]) < LEAST_MOMENT:
        text = "has a singular inertia: its least principal moment is 0."
        return text, _physical(body), "singular"
    if m == 0 and moments.any():
        text = "has moments of inertia and no mass."
        return text, "write its mass, or remove <inertial>", "massless"
    return None


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
            level: Level = "problem" if link.name in moving and not is_mjcf else "remark"
            what = f"link {link.name!r} of {number(m)} kg"
            if sound and density > DENSEST:
                ball = f"a solid ball {number(2 * radius, 2)} m across, of {_grams(density)}"
                text = f"{what} has the inertia of {ball}; no material has more than 23."
                yield Finding(level, text, link.where, _lighter(m, density))
            elif m > DENSEST * volume > 0:
                drawn = f"{number(volume * 1e6, 3)} cm^3: {_grams(m / volume)}"
                text = f"{what} is drawn with {drawn}, and no material has more than 23."
                yield Finding("remark", text, link.where, "write the mass in kg, sizes in m")


def _grams(density: float) -> str:
    return f"{number(density / 1e3, 3)} g/cm^3"


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
    I = np.where(np.abs(I) > 1e-9 * np.abs(I).max(), I, 0)  # less is rounding
    words = (f'i{"xyz"[j]}{"xyz"[k]}="{I[j, k]:.4g}"' for j in range(3) for k in range(j, 3))
    return f"<inertia {' '.join(words)}/>"


# elements that the dynamics do not need


def _elements(file: Path) -> Iterator[Finding]:
    """Shapes, materials, names and numbers of a URDF that other readers refuse."""
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
    report, drawn = robot.report, visual_source(robot, folder=folder)
    if report is None or drawn is None:
        return ()
    if is_mjcf:
        return missing_meshes(drawn)
    sources = Sources(report.source, report.file.folders)

    def is_there(path: str) -> bool:
        with suppress(KinetreeError):
            return sources.locate(path, [report.source.parent], "").is_file()
        with suppress(KinetreeError):
            return drawn.meshes.find(path).is_file()
        return False

    paths = [x.path for x in drawn.visuals() if x.path]
    paths += [x.path for x in description.collisions.shapes if x.path]
    return [path for path in dict.fromkeys(paths) if not is_there(path)]
