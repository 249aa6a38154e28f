"""`kinetree identify`: find the parameters of a robot in a recording, write the robot, report."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from rich.console import Console, Group
from rich.markup import escape
from rich.text import Text

from kinetree.base.arrays import Array
from kinetree.base.tables import counted, number
from kinetree.cli.arguments import (
    AS_NAMED,
    BASIC,
    STREAM,
    BasicReading,
    Degrees,
    Json,
    Recorded,
    RobotName,
    file_argument,
    number_argument,
    option,
    table_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import check_output, print_json
from kinetree.cli.states import units
from kinetree.cli.tables import NO_UNIT, console, screen_table, unit_column
from kinetree.errors import InputError, SingularityError, need
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.identify import Identification
    from kinetree.identify.laws import FrictionChoices

LAWS = ("static", "speed", "size", "steepness", "offset", "load")
JOINT, MASS = ("viscous", "coulomb", *LAWS, "armature"), ("m",)
SPRING = ("stiffness", "preload")
KINDS = {"coulomb": "Coulomb", "speed": "Stribeck\nspeed", "size": "sigmoid\nsize",
         "steepness": "sigmoid\nsteepness", "offset": "sigmoid\noffset"}  # fmt: skip
CHOICES = "symmetric, directional, stribeck, sigmoid, load or known"
ERRORS = {"rms": "rms", "described": "error as described", "found": "error now", "noise": "noise"}
LEAST_CHANGE = 0.01  # of the described mass: smaller changes are not worth a sentence
CLOSE = 1.2  # times the error of the robot found: a load that explains the data as well
POOR = 0.1  # a mass of which the data remove less of the uncertainty is the description's
PAGES = (".html", ".htm")
URDF, MJCF = (".urdf",), (".xml", ".mjcf")


def identify(
    robot: RobotName,
    data: Annotated[
        str,
        table_argument(
            "Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, tau:JOINT, optionally "
            "dq:JOINT and ddq:JOINT; or - for standard input."
        ),
    ],
    /,
    *,
    output: Annotated[
        Path,
        Parameter(metavar="FILE", name=["--output", "-o"], help="File to write, .urdf or .xml."),
    ],
    test: Annotated[
        Path | None,
        file_argument(
            "Another recording for the test; the end of DATA is used if left out.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        file_argument(
            "File for a report with plots, .html; or a folder for one in Markdown.",
        ),
    ] = None,
    method: Annotated[
        Literal["ordinary", "weighted", "robust"], Parameter(help="Kind of least squares.")
    ] = "weighted",
    friction: Annotated[
        list[str] | None,
        words_argument(
            f"Friction to find: {CHOICES} (that of the file), for all joints, or for some as "
            "JOINT=CHOICE. Joints left out are symmetric.",
            "CHOICE...",
        ),
    ] = None,
    armature: Annotated[
        bool,
        option(
            "--armature",
            "Find the inertias of armatures and rotors, too; --no-armature keeps the file's.",
            negative="--no-armature",
        ),
    ] = True,
    prior: Annotated[
        float,
        number_argument("Relative error that the parameters of the file may have."),
    ] = 1.0,
    cutoff: Annotated[
        float | None,
        number_argument(
            "Low-pass frequency for rates and accelerations, Hz; chosen from the data if left out.",
        ),
    ] = None,
    torque_cutoff: Annotated[
        float | None,
        number_argument("Compare joint forces below this frequency only, Hz."),
    ] = None,
    hold_out: Annotated[
        float, number_argument("Share of the recording that is kept for the test.")
    ] = 0.25,
    json: Json = False,
    degrees: Degrees = False,
    recorded: Recorded = AS_NAMED,
    reading: BasicReading = BASIC,
) -> None:
    """Find friction, payload and all parameters in a recording, and write the robot with them.

    The geometry of the robot is trusted, its masses are a first guess. JSON has robot, output,
    report, joints, units, rms (of the joint forces held out), described and found (rms error of
    the robot as described and as found), noise, friction, springs and masses (of, kind, value,
    margin, described, learned, unit), payload (frame, mass, margin, com, error; or null),
    base_parameters, unknowns, condition, samples, notes.

    For example, from a recorded motion that excites the arm:

    ```
    kinetree identify arm.urdf data.csv -o found.urdf --report findings.html
    ```
    """
    from kinetree import identify as library
    from kinetree.cli.rows import as_file, wish_of
    from kinetree.identify.recording import recording_of

    _check_files(robot, data, test, output, report)
    described = find_robot(robot, reading)
    wish = wish_of(described.model, recorded, degrees=degrees, required=("t", "q", "tau"))
    with as_file(data) as path:
        recording = recording_of(path, described, wish, cutoff=cutoff)
    other = None
    if test is not None:
        other = recording_of(test, described, wish, cutoff=cutoff)
    with Console(stderr=True).status("reading") as status:  # on a terminal only
        found = library.identify(
            described, recording, test=other, hold_out=hold_out, method=method,
            friction=friction_choices(friction), armature=armature, prior=prior,
            torque_cutoff=torque_cutoff, watch=lambda text: status.update(escape(text)),
        )  # fmt: skip
    urdf = output.suffix.lower() in URDF
    text = found.robot.to_urdf() if urdf else found.robot.to_mjcf()
    output.write_text(text, encoding="utf-8")
    page = None if report is None else str(write_report(found, report))
    if json:
        print_json(document(found) | {"output": str(output), "report": page})
        return
    show(found)
    console().print(f"robot   {output}", soft_wrap=True)
    if page is not None:
        console().print(f"report  {page}", soft_wrap=True)


def friction_choices(words: Sequence[str] | None) -> "FrictionChoices":
    """The friction to find, for all joints or {joint: choice}; the library checks the names.

    Raises:
        InputError: choices for all joints and for some, several for all, or two for one joint.
    """
    found: dict[str, Any] = {}
    for word in words or ["symmetric"]:
        joint, _, choice = word.rpartition("=")
        if choice not in CHOICES.replace(" or ", ", ").split(", "):
            raise InputError(
                f"--friction is {word!r}; expected {CHOICES}, or one of them as JOINT=CHOICE."
            )
        if joint in found or ("" in found and joint) or (not joint and found):
            raise InputError(
                f"--friction is {' '.join(words or ())!r}; expected one choice for all joints, or "
                "one for each joint as JOINT=CHOICE."
            )
        found[joint] = choice
    return found.get("", found)


def _check_files(
    robot: str, data: str, test: Path | None, output: Path, report: Path | None
) -> None:
    """Raise InputError for a file that cannot be read or written, before the work begins."""
    if output.suffix.lower() not in (*URDF, *MJCF):
        raise InputError(f"-o is {output}; expected a name that ends with .urdf, .xml or .mjcf.")
    check_output(output, robot)
    if report is not None:
        check_report(report)
    for path in (data, test):
        if path not in (None, STREAM) and not Path(path).exists():
            raise InputError(f"{path} is not a file; expected a recording.")


def check_report(path: Path) -> None:
    """Raise an error if the report cannot be written to that place."""
    if path.suffix.lower() in PAGES:
        if path.is_dir() or not path.parent.is_dir():
            raise InputError(f"--report is {path}; expected a file in an existing folder.")
        return
    if path.exists() and not path.is_dir():
        raise InputError(f"--report is {path}, a file; expected a folder, or a name with .html.")
    need("matplotlib.figure", "plot", "a report in a folder (one with .html needs nothing)")


def write_report(found: "Identification", path: Path) -> Path:
    """Write one page if the name ends with .html, else a folder with report.md and its plots."""
    if path.suffix.lower() not in PAGES:
        return found.save_report(path)
    from kinetree.views.page.identification import identification_page

    path.write_text(identification_page(found), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Found:
    """One unknown of a joint or link: its value, 95 % margin, described value, and unit.

    described: None for a number of a friction law that the description does not have.
    learned: share of the description's uncertainty that the data have removed, 0 to 1.
    """

    of: str
    kind: str
    value: float
    margin: float
    described: float | None
    learned: float
    unit: str


def findings(found: "Identification", kinds: Collection[str]) -> list[Found]:
    """The unknowns of some kinds: viscous, coulomb, armature, ... (also viscous+), or m."""
    described, estimate = found.sought.values(found.prior.model), found.estimate
    lacks = found.sought.lacks(found.prior.model)
    listed: list[Found] = []
    for k, name in enumerate(found.sought.names):
        kind, _, of = name.removesuffix("]").partition("[")
        if kind.rstrip("+-") in kinds:
            margin = 1.96 * float(estimate.deviation[k])
            value, share = float(estimate.x[k]), float(estimate.learned[k])
            unit = found.sought.units[k]
            before = None if lacks[k] else float(described[k])
            listed.append(Found(of, kind, value, margin, before, share, unit))
    return listed


def document(found: "Identification") -> dict[str, Any]:
    """The quality of the result, friction and masses, as JSON."""
    test, model, load = found.test, found.robot.model, load_of(found)
    before = test.tau - found.prior.inverse_dynamics(test.q, test.dq, test.ddq)
    return {
        "robot": found.robot.name,
        "joints": list(model.dof_names),
        "units": {"tau": units(model, "tau")},
        "rms": (test.tau**2).mean(axis=0) ** 0.5,
        "described": (before**2).mean(axis=0) ** 0.5,
        "found": found.error(),
        "noise": found.fit.sigma,
        "friction": [asdict(x) for x in findings(found, JOINT)],
        "springs": [asdict(x) for x in findings(found, SPRING)],
        "masses": [asdict(x) for x in findings(found, MASS)],
        "payload": None if load is None else asdict(load),
        "base_parameters": found.base.r,
        "unknowns": len(found.sought.names),
        "condition": found.fit.condition,
        "samples": len(found.train),
        "notes": list(found.notes),
    }


def show(found: "Identification") -> None:
    """Print the errors of every joint, friction, changes of mass, and the notes."""
    data, screen = document(found), console()
    load = data["payload"]
    names, unit = data["joints"], data["units"]["tau"]
    heads, columns = ["joint"], [names]
    for key, head in ERRORS.items():
        head, cells = unit_column(head, [number(x) for x in data[key]], unit)
        heads.append(head)
        columns.append(cells)
    title = f"{found.robot.name}: joint forces on held-out motion"
    screen.print(screen_table(title, heads, list(zip(*columns, strict=True))))
    screen.print(
        f"{counted(data['base_parameters'], 'base parameter')} of "
        f"{counted(data['unknowns'], 'unknown')}, condition "
        f"{number(data['condition'], 3)}, {counted(data['samples'], 'sample')}."
    )
    screen.print()
    friction = drive_table(found, JOINT, "friction and armature found", "joint")
    if friction is None:
        screen.print("friction: not sought (--friction known keeps that of the file)")
    else:
        screen.print(friction)
        screen.print("+- is the 95 % margin; what the data do not determine is as described.")
    springs = drive_table(found, SPRING, "springs found", "spring")
    if springs is not None:
        screen.print()
        screen.print(springs)
        screen.print("preload is stiffness times rest position.")
    screen.print()
    screen.print(load_line(None if load is None else Load(**load), data["found"]))
    for line in mass_lines(found):
        screen.print(line)
    for note in found.notes:
        screen.print(Text.assemble(("note", "yellow"), f": {note}"))


def drive_table(
    found: "Identification", wanted: Collection[str], title: str, owner: str
) -> Group | None:
    """Unknowns of some kinds by joint or spring, with 95 % margins; None if none was sought."""
    listed = findings(found, wanted)
    if not listed:
        return None
    order = list(wanted)
    kinds = sorted(
        dict.fromkeys(x.kind for x in listed), key=lambda kind: order.index(kind.rstrip("+-"))
    )
    joints = list(dict.fromkeys(x.of for x in listed))
    by_name = {(x.kind, x.of): x for x in listed}
    heads, columns = [owner], [joints]
    for kind in kinds:
        cells = [by_name.get((kind, joint)) for joint in joints]
        texts = aligned_pairs([None if x is None else (x.value, x.margin) for x in cells])
        unit = [NO_UNIT if x is None else x.unit for x in cells]
        head, texts = unit_column(
            KINDS.get(kind.rstrip("+-"), kind.rstrip("+-")) + _sign(kind), texts, unit
        )
        heads.append(head)
        columns.append(texts)
    return screen_table(title, heads, list(zip(*columns, strict=True)))


def _sign(kind: str) -> str:
    return {"+": ", dq > 0", "-": ", dq < 0"}.get(kind[-1], "")


def aligned_pairs(pairs: Sequence[tuple[float, float] | None]) -> list[str]:
    """Texts such as "0.61 +- 0.02", both numbers aligned over all rows; "-" for None."""
    texts = [("-", "") if x is None else (number(x[0]), number(x[1], 2)) for x in pairs]
    width = max(len(b) for _, b in texts)
    return [f"{a} +- {b:<{width}}" if b else a for a, b in texts]


def mass_lines(found: "Identification") -> Iterator[str]:
    """Sentences on links that are heavier or lighter than described, by more than their margin."""
    for x in findings(found, MASS):
        before = x.described or 0.0
        more = x.value - before
        if abs(more) <= max(x.margin, LEAST_CHANGE * abs(before)) or x.learned < POOR:
            continue
        word = "heavier" if more > 0 else "lighter"
        yield (
            f"mass: link {x.of!r} is {number(abs(more), 3)} kg {word} than described: "
            f"{number(x.value)} kg +- {number(x.margin, 2)}, described {number(before)} kg"
        )


@dataclass(frozen=True, eq=False)
class Load:
    """A body on the tool that explains the data if all else is as described, friction as found.

    mass, kg, with its 95 % margin; com in the frame, m; error: rms of every joint with it.
    """

    frame: str
    mass: float
    margin: float
    com: Array
    error: Array


def load_of(found: "Identification") -> Load | None:
    """The load on the tool; None if no body there explains anything, or the data cannot show it."""
    from kinetree.identify import identify_payload

    described = Robot(found.prior.model.replace(joints=found.robot.model.joints))
    try:
        load = identify_payload(described, found.train)
    except (InputError, SingularityError):
        return None
    margin = 1.96 * float(load.standard_error[0])
    test = found.test
    rest = test.tau - load.robot.inverse_dynamics(test.q, test.dq, test.ddq)
    return Load(
        load.frame or found.robot.model.tool,
        load.m,
        margin,
        load.com,
        (rest**2).mean(axis=0) ** 0.5,
    )


def load_line(load: Load | None, now: Array) -> str:
    """A sentence on the load; `now`: rms errors with all parameters found."""
    if load is None or load.mass <= load.margin:
        seen = "" if load is None else f" ({number(load.mass, 3)} +- {number(load.margin, 2)} kg)"
        return f"payload: the data show none on the tool{seen}."
    centre = ", ".join(number(x, 3) for x in load.com.tolist())
    worse = float((load.error / np.maximum(now, np.finfo(float).tiny)).max())
    fit = "as well as" if worse < CLOSE else f"up to {number(worse, 2)} times worse than"
    return (
        f"payload: if the links are as described, {load.frame!r} carries {number(load.mass, 3)} kg "
        f"+- {number(load.margin, 2)} with its centre at ({centre}) m; that predicts the joint "
        f"forces {fit} the robot found."
    )
