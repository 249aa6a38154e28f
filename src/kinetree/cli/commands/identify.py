"""`kinetree identify`: find the parameters of a robot in recordings, write the robot, report."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, writer
from kinetree.cli.app import command
from kinetree.errors import InputError, warn
from kinetree.files.loading import load
from kinetree.files.write import to_mjcf, to_urdf

if TYPE_CHECKING:
    from kinetree.identify import Identification, KnownLoad, Recording
    from kinetree.identify.gains import GainChoice
    from kinetree.identify.laws import AutoChoices

WORSE = 1.1  # of the held-out error: a file whose robot is worse is named
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
    """Find friction, masses and all parameters in recordings, and write the robot with them.

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
    better of these and the robot), noise, unknowns (name, value, margin,
    described, learned, unit; value and margin are null where the data do not determine them),
    choices (of friction), lag, gains, cutoff, method,
    base_parameters, unidentified (names), condition, samples, held_out, notes.

    Args:
        data: One or more recordings (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, tau:JOINT,
            optionally dq:JOINT and ddq:JOINT; or - for standard input. a.csv+b.csv are files whose
            columns stand side by side.
        output: File to write, .urdf or .xml.
        test: Another recording for the test; the end of each DATA is used if left out.
        report: File for a report with plots, .html.
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

    writer.check_output(output, robot, endings=(".urdf", ".xml", ".mjcf"))
    writer.check_output(report, name="--report", endings=writer.PAGES)
    if data.count(opt.STREAM) > 1:
        raise InputError("standard input (-) is given twice; expected it once.")
    laws, loads = friction_choices(friction), read_loads(payload, data)
    described, share = robots.find_robot(robot, reading), 1 / 3 if hold_out is None else hold_out
    request = recordings.request_of(described.model, recorded, degrees, ("t", "q", "tau"))
    request = replace(request, rate=rate)
    with writer.waiting("reading") as progress:

        def read(name: str) -> "Recording":
            progress(f"reading {name}")
            with recordings.as_file(name) as path:
                return recording_of(path, described, request, cutoff=cutoff)

        result = library.identify(
            described, [read(name) for name in data],
            test=None if test is None else read(str(test)), hold_out=share,
            method=method, friction=laws, armature=armature, offsets=offsets, payloads=loads,
            gains=read_gains(gains, described.dof_names), lag=lag, prior=prior,
            torque_cutoff=torque_cutoff,
        )  # fmt: skip
    write = to_urdf if output.suffix.lower() == ".urdf" else to_mjcf
    output.write_text(write(result.robot), encoding="utf-8", newline="\n")
    compare_written(result, output)
    if report is not None:
        from kinetree.views.page.identification import identification_page

        report.write_text(identification_page(result), encoding="utf-8", newline="\n")
    files = {"output": str(output), "report": None if report is None else str(report)}
    writer.give(json, lambda: document(result) | files, lambda: parts(result))
    if not json:
        writer.show([f"robot   {output}", *([f"report  {report}"] if report else [])])
    return 0 if is_fine(result) else 1


def compare_written(result: "Identification", output: Path) -> None:
    """Warn if the robot in the file is worse than the one found, since formats hold less."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written = load(output)
    names = written.model.dof_names
    if names != result.robot.model.dof_names:
        return
    found, file = (x.error(physical=True) for x in (result, replace(result, robot=written)))
    worse = [
        f"{name} {b:.3g} instead of {a:.3g}"
        for name, a, b in zip(names, found, file, strict=True)
        if b > WORSE * a
    ]
    if worse:
        warn(
            f"{output} does not hold all that was found: its held-out errors are larger, "
            f"{', '.join(worse[:8])}. --friction symmetric finds friction that it holds."
        )


def friction_choices(words: Sequence[str] | None) -> "AutoChoices":
    """The friction to find, for all joints or {joint: choice}; the library checks both."""
    choices: dict[str, Any] = robots.words_by_name("--friction", words or ["auto"])
    if "" in choices and len(choices) > 1:
        raise InputError(
            f"--friction is {' '.join(words or ())}; expected one choice for all joints, or "
            "one for each as JOINT=CHOICE."
        )
    return choices.get("", choices)


def read_loads(words: Sequence[str] | None, data: Sequence[str]) -> "list[KnownLoad | None] | None":
    """The payload of each recording, FILE=MASS or FILE=MASS,X,Y,Z; None if none has one."""
    from kinetree.identify import KnownLoad

    loads: dict[str, KnownLoad] = {}
    for name, text in robots.words_by_name("--payload", words or ()).items():
        mass, *centre = (robots.typed_number("--payload", name, x) for x in text.split(","))
        if name not in data or mass <= 0 or len(centre) not in (0, 3):
            raise InputError(
                f"--payload is {name}={text}; expected one of {', '.join(data)} with a mass above "
                "0 in kg, and perhaps its centre in the tool's frame, m, such as a.csv=2,0,0,0.1."
            )
        loads[name] = KnownLoad(mass, centre or (0.0, 0.0, 0.0))
    return [loads.get(name) for name in data] if loads else None


def read_gains(words: Sequence[str] | None, joints: Sequence[str]) -> "GainChoice":
    """The gains of --gains: find, description or JOINT=NUMBER."""
    if not words or words[0] in ("find", "description"):
        return False if not words else True if words[0] == "find" else "description"
    return robots.numbers_by_name("--gains", words, joints)
