"""`kinetree identify`: find the parameters of a robot in recordings, write the robot, report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli.app import command
from kinetree.cli.output import PAGES, check_output, give, show, waiting
from kinetree.cli.recordings import as_file, request_of
from kinetree.cli.robots import find_robot
from kinetree.errors import InputError, need
from kinetree.files.write import to_mjcf, to_urdf

if TYPE_CHECKING:
    from kinetree.identify import Identification, KnownLoad, Recording
    from kinetree.identify.gains import GainChoice
    from kinetree.identify.laws import AutoChoices

CHOICES = ("auto", "symmetric", "directional", "stribeck", "sigmoid", "known")
Choices = Annotated[opt.Words, Parameter(metavar="CHOICE...")]


@command("Identify", also="calibrate estimate fit sysid identification")
def run(
    robot: opt.RobotName,
    data: Annotated[list[str], opt.TABLE],
    /,
    *,
    output: opt.OutputFile,
    test: opt.File = None,
    report: opt.File = None,
    method: Literal["ordinary", "weighted", "robust"] = "robust",
    friction: Choices = None,
    armature: Annotated[opt.Flag, Parameter(negative="--no-armature")] = True,
    offsets: Annotated[bool | None, Parameter(negative="--no-offsets", show_default=False)] = None,
    payload: Annotated[opt.Words, Parameter(metavar="FILE=MASS...")] = None,
    gains: Choices = None,
    lag: opt.Number = None,
    prior: opt.Real = 1.0,
    cutoff: opt.Number = None,
    torque_cutoff: opt.Number = None,
    hold_out: opt.Number = None,
    rate: opt.Number = None,
    json: opt.Json = False,
    degrees: opt.Degrees = False,
    recorded: opt.Recorded = opt.RECORDED,
    reading: opt.BasicReading = opt.BASIC,
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

    Args:
        data: One or more recordings (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, tau:JOINT,
            optionally dq:JOINT and ddq:JOINT; or - for standard input. a.csv+b.csv are files whose
            columns stand side by side.
        output: File to write, .urdf or .xml.
        test: Another recording for the test; the end of each DATA is used if left out.
        report: File for a report with plots, .html; or a folder for one in Markdown.
        method: Kind of least squares: robust gives outliers little weight.
        friction: Friction to find: auto, symmetric, directional, stribeck, sigmoid or known (that
            of the file), for all joints, or for some as JOINT=CHOICE. auto chooses for each joint
            by the error on rows that the fit has not seen, and is the default. Joints left out are
            symmetric.
        armature: Find the inertias of armatures and rotors, too; --no-armature keeps the file's.
        offsets: Measured joint forces have constant offsets to find; --no-offsets: they have none.
            Chosen with the friction if left out.
        payload: Known payload on the tool in a recording: FILE=MASS or FILE=MASS,X,Y,Z with its
            centre, kg and m.
        gains: tau has signals of drives, such as currents: find finds their gains, which needs a
            recording with a known payload and one without it; description takes those that fit the
            masses of the file; or known ones as JOINT=NUMBER, signal per N m or N.
        lag: Time by which joint forces are later than the motion, s; found if left out.
        prior: Relative error that the parameters of the file may have.
        cutoff: Low-pass frequency for rates and accelerations, Hz; chosen from the data if left
            out.
        torque_cutoff: Compare joint forces below this frequency only, Hz; chosen from the data if
            left out.
        hold_out: Share of each recording that is kept for the test; a third if left out.
        rate: Samples per second of recordings without times, Hz.
    """
    from kinetree import identify as library
    from kinetree.cli.identified import document, is_fine, parts
    from kinetree.identify.recording import recording_of

    check_output(output, robot, endings=(".urdf", ".xml", ".mjcf"))
    check_report(report)
    if data.count(opt.STREAM) > 1:
        raise InputError("standard input (-) is given twice; expected it once.")
    laws, loads, drives = friction_choices(friction), read_loads(payload, data), read_gains(gains)
    described, share = find_robot(robot, reading), 1 / 3 if hold_out is None else hold_out
    request = request_of(described.model, recorded, degrees, ("t", "q", "tau"))
    request = replace(request, rate=rate)
    with waiting("reading") as progress:

        def read(name: str) -> "Recording":
            progress(f"reading {name}")
            with as_file(name) as path:
                return recording_of(path, described, request, cutoff=cutoff)

        result = library.identify(
            described, [read(name) for name in data],
            test=None if test is None else read(str(test)), hold_out=share,
            method=method, friction=laws, armature=armature, offsets=offsets, payloads=loads,
            gains=drives, lag=lag, prior=prior, torque_cutoff=torque_cutoff,
        )  # fmt: skip
    write = to_urdf if output.suffix.lower() == ".urdf" else to_mjcf
    output.write_text(write(result.robot), encoding="utf-8", newline="\n")
    page = None if report is None else str(write_report(result, report))
    files = {"output": str(output), "report": page}
    give(json, lambda: document(result) | files, lambda: parts(result))
    if not json:
        show([f"robot   {output}", *([f"report  {page}"] if page else [])])
    return 0 if is_fine(result) else 1


def friction_choices(words: Sequence[str] | None) -> "AutoChoices":
    """The friction to find, for all joints or {joint: choice}; the library checks the names."""
    choices: dict[str, Any] = {}
    for word in words or ["auto"]:
        joint, _, choice = word.rpartition("=")
        if choice not in CHOICES:
            raise InputError(
                f"--friction is {word!r}; expected one of {', '.join(CHOICES)}, or JOINT=CHOICE."
            )
        if joint in choices or ("" in choices and joint) or (not joint and choices):
            raise InputError(
                f"--friction is {' '.join(words or ())!r}; expected one choice for all joints, or "
                "one for each joint as JOINT=CHOICE."
            )
        choices[joint] = choice
    return choices.get("", choices)


def read_loads(words: Sequence[str] | None, data: Sequence[str]) -> "list[KnownLoad | None] | None":
    """The payload of each recording, FILE=MASS or FILE=MASS,X,Y,Z; None if none has one."""
    from kinetree.identify import KnownLoad

    loads: dict[str, KnownLoad] = {}
    for word in words or ():
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
    return [loads.get(name) for name in data] if loads else None


def read_gains(words: Sequence[str] | None) -> "GainChoice":
    """The gains of --gains: find, description or JOINT=NUMBER."""
    if not words or list(words) in (["find"], ["description"]):
        return False if not words else True if words[0] == "find" else "description"
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


def check_report(path: Path | None) -> None:
    """Raise an error if the report, a page or a folder, cannot be written to that place."""
    if path is None:
        return
    if path.suffix.lower() in PAGES:
        check_output(path, name="--report")
    elif path.exists() and not path.is_dir():
        raise InputError(f"--report is {path}, a file; expected a folder, or a name with .html.")
    else:
        need("matplotlib.figure", "plot", "a report in a folder (one with .html needs nothing)")


def write_report(result: "Identification", path: Path) -> Path:
    """Write one page if the name ends with .html, else a folder with report.md and its plots."""
    from kinetree.identify import save_report

    if path.suffix.lower() not in PAGES:
        return save_report(result, path)
    from kinetree.views.page.identification import identification_page

    path.write_text(identification_page(result), encoding="utf-8", newline="\n")
    return path
