"""`kinetree identify`: find the parameters of a robot in recordings, write the robot, report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from rich.markup import escape

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
from kinetree.cli.output import PAGES, check_output, check_page, print_json
from kinetree.cli.tables import console
from kinetree.cli.terminal import Terminal
from kinetree.errors import InputError, need
from kinetree.files.write import to_mjcf, to_urdf

if TYPE_CHECKING:
    from kinetree.identify import Identification, KnownLoad, Recording
    from kinetree.identify.gains import GainChoice
    from kinetree.identify.laws import AutoChoices

CHOICES = "auto, symmetric, directional, stribeck, sigmoid or known"
URDF, MJCF = (".urdf",), (".xml", ".mjcf")


def identify(
    robot: RobotName,
    data: Annotated[
        list[str],
        table_argument(
            "One or more recordings (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, tau:JOINT, "
            "optionally dq:JOINT and ddq:JOINT; or - for standard input. a.csv+b.csv are files "
            "whose columns stand side by side."
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
            "Another recording for the test; the end of each DATA is used if left out.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        file_argument(
            "File for a report with plots, .html; or a folder for one in Markdown.",
        ),
    ] = None,
    method: Annotated[
        Literal["ordinary", "weighted", "robust"],
        Parameter(help="Kind of least squares: robust gives outliers little weight."),
    ] = "robust",
    friction: Annotated[
        list[str] | None,
        words_argument(
            f"Friction to find: {CHOICES} (that of the file), for all joints, or for some as "
            "JOINT=CHOICE. auto chooses for each joint by the error on rows that the fit has not "
            "seen, and is the default. Joints left out are symmetric.",
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
    offsets: Annotated[
        bool | None,
        option(
            "--offsets",
            "Measured joint forces have constant offsets to find; --no-offsets: they have none. "
            "Chosen with the friction if left out.",
            negative="--no-offsets",
        ),
    ] = None,
    payload: Annotated[
        list[str] | None,
        words_argument(
            "Known payload on the tool in a recording: FILE=MASS or FILE=MASS,X,Y,Z with its "
            "centre, kg and m.",
            "FILE=MASS...",
        ),
    ] = None,
    gains: Annotated[
        list[str] | None,
        words_argument(
            "tau has signals of drives, such as currents: find finds their gains, which needs a "
            "recording with a known payload and one without it; description takes those that fit "
            "the masses of the file; or known ones as JOINT=NUMBER, signal per N m or N.",
            "CHOICE...",
        ),
    ] = None,
    lag: Annotated[
        float | None,
        number_argument(
            "Time by which joint forces are later than the motion, s; found if left out."
        ),
    ] = None,
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
        number_argument(
            "Compare joint forces below this frequency only, Hz; chosen from the data if left out."
        ),
    ] = None,
    hold_out: Annotated[
        float | None,
        number_argument("Share of each recording that is kept for the test; a third if left out."),
    ] = None,
    rate: Annotated[
        float | None,
        number_argument("Samples per second of recordings without times, Hz."),
    ] = None,
    json: Json = False,
    degrees: Degrees = False,
    recorded: Recorded = AS_NAMED,
    reading: BasicReading = BASIC,
) -> int:
    """Find friction, payload and all parameters in recordings, and write the robot with them.

    The geometry of the robot is trusted, its masses are a first guess. The verdict is "good",
    "usable" or "not usable", with the reasons: a sign, a wrong zero, a tilted base, compensated
    gravity or friction, joints that stick, and others. The exit code is 0 for the first two and 1
    for "not usable"; the robot is written in any case.

    For example, from a recorded motion that excites the arm:

    ```
    kinetree identify arm.urdf data.csv -o found.urdf --report findings.html
    ```

    JSON has robot, ok, verdict (word, reasons), causes (kind, joints, text, effect), output,
    report, joints, units, rms (of the joint forces held out), described, plain, base and found (rms
    error of the robot as described, of plain least squares, of the base parameters and of the
    better of these and the robot), noise, friction, springs, masses and offsets (of, kind, value,
    margin, described, learned, unit; value and margin are null where the data do not determine
    them), payload (frame, mass, margin, com, error; or null), choices (of friction), lag, gains,
    cutoff, method, base_parameters, unidentified (names), unknowns, condition, samples, held_out,
    notes.
    """
    from kinetree import identify as library
    from kinetree.cli.identified import document, is_fine, show
    from kinetree.cli.rows import as_file, request_of
    from kinetree.identify.recording import recording_of

    _check_files(robot, data, test, output, report)
    laws, loads, drives = friction_choices(friction), read_loads(payload, data), read_gains(gains)
    described = find_robot(robot, reading)
    request = replace(
        request_of(described.model, recorded, degrees=degrees, required=("t", "q", "tau")),
        rate=rate,
    )
    with Terminal(stderr=True).status("reading") as status:  # on a terminal only

        def read(name: str) -> "Recording":
            status.update(escape(f"reading {name}"))
            with as_file(name) as path:
                return recording_of(path, described, request, cutoff=cutoff)

        recordings = [read(name) for name in data]
        status.update("identifying")
        result = library.identify(
            described, recordings, test=None if test is None else read(str(test)),
            hold_out=1 / 3 if hold_out is None else hold_out, method=method, friction=laws,
            armature=armature, offsets=offsets, payloads=loads, gains=drives, lag=lag, prior=prior,
            torque_cutoff=torque_cutoff,
        )  # fmt: skip
    urdf = output.suffix.lower() in URDF
    text = to_urdf(result.robot) if urdf else to_mjcf(result.robot)
    output.write_text(text, encoding="utf-8", newline="\n")
    page = None if report is None else str(write_report(result, report))
    if json:
        print_json(document(result) | {"output": str(output), "report": page})
        return 0 if is_fine(result) else 1
    show(result)
    console().print(f"robot   {output}", soft_wrap=True)
    if page is not None:
        console().print(f"report  {page}", soft_wrap=True)
    return 0 if is_fine(result) else 1


def friction_choices(words: Sequence[str] | None) -> "AutoChoices":
    """The friction to find, for all joints or {joint: choice}; the library checks the names.

    Raises:
        InputError: choices for all joints and for some, several for all, or two for one joint.
    """
    choices: dict[str, Any] = {}
    for word in words or ["auto"]:
        joint, _, choice = word.rpartition("=")
        if choice not in CHOICES.replace(" or ", ", ").split(", "):
            raise InputError(
                f"--friction is {word!r}; expected {CHOICES}, or one of them as JOINT=CHOICE."
            )
        if joint in choices or ("" in choices and joint) or (not joint and choices):
            raise InputError(
                f"--friction is {' '.join(words or ())!r}; expected one choice for all joints, or "
                "one for each joint as JOINT=CHOICE."
            )
        choices[joint] = choice
    return choices.get("", choices)


def read_loads(words: Sequence[str] | None, data: Sequence[str]) -> "list[KnownLoad | None] | None":
    """The payload of each recording, or None if no recording has one.

    Raises:
        InputError: a payload that is not FILE=MASS or FILE=MASS,X,Y,Z, or of a file not in `data`.
    """
    if not words:
        return None
    from kinetree.identify import KnownLoad

    loads: dict[str, KnownLoad] = {}
    for word in words:
        name, _, numbers = word.rpartition("=")
        try:
            mass, *centre = (float(x) for x in numbers.split(","))
        except ValueError:
            mass, centre = float("nan"), []
        if not (0 < mass < float("inf") and len(centre) in (0, 3) and np.isfinite(centre).all()):
            raise InputError(
                f"--payload is {word!r}; expected FILE=MASS or FILE=MASS,X,Y,Z with a mass above 0 "
                "in kg and its centre in the tool's frame in m, such as loaded.csv=2.5,0,0,0.1."
            )
        if name not in data or name in loads:
            raise InputError(
                f"--payload names the recording {name!r}; expected one of {', '.join(data)}, once."
            )
        loads[name] = KnownLoad(mass, centre or (0.0, 0.0, 0.0))
    return [loads.get(name) for name in data]


def read_gains(words: Sequence[str] | None) -> "GainChoice":
    """The gains of --gains.

    Raises:
        InputError: words other than find, description or JOINT=NUMBER.
    """
    if not words:
        return False
    if list(words) == ["find"]:
        return True
    if list(words) == ["description"]:
        return "description"
    gains: dict[str, float] = {}
    for word in words:
        joint, _, value = word.rpartition("=")
        try:
            x = float(value)
        except ValueError:
            x = 0.0
        if not joint or joint in gains or not np.isfinite(x) or x == 0:
            raise InputError(
                f"--gains is {' '.join(words)!r}; expected find, description, or the gain of each "
                "joint once as JOINT=NUMBER, other than 0."
            )
        gains[joint] = x
    return gains


def _check_files(
    robot: str, data: Sequence[str], test: Path | None, output: Path, report: Path | None
) -> None:
    """Raise InputError for a file that cannot be read or written, before the work begins."""
    if output.suffix.lower() not in (*URDF, *MJCF):
        raise InputError(f"-o is {output}; expected a name that ends with .urdf, .xml or .mjcf.")
    check_output(output, robot)
    if report is not None:
        check_report(report)
    if list(data).count(STREAM) > 1:
        raise InputError("standard input (-) is given twice; expected it once.")
    for name in (*data, *(() if test is None else (test,))):
        if name != STREAM and not Path(name).exists():
            raise InputError(f"{name} is not a file; expected a recording.")


def check_report(path: Path) -> None:
    """Raise an error if the report cannot be written to that place."""
    if path.suffix.lower() in PAGES:
        check_page(path)
        return
    if path.exists() and not path.is_dir():
        raise InputError(f"--report is {path}, a file; expected a folder, or a name with .html.")
    need("matplotlib.figure", "plot", "a report in a folder (one with .html needs nothing)")


def write_report(result: "Identification", path: Path) -> Path:
    """Write one page if the name ends with .html, else a folder with report.md and its plots."""
    from kinetree.identify import save_report

    if path.suffix.lower() not in PAGES:
        return save_report(result, path)
    from kinetree.views.page.identification import identification_page

    path.write_text(identification_page(result), encoding="utf-8", newline="\n")
    return path
