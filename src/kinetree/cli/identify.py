"""`kinetree identify`: find the parameters of a robot in a recording, write the robot, report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape

from kinetree.base.tables import counted, number
from kinetree.cli.arguments import (
    BASIC,
    STREAM,
    BasicReading,
    Degrees,
    Json,
    RobotName,
    table_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import check_output, print_json
from kinetree.cli.states import units
from kinetree.cli.tables import console, screen_table
from kinetree.errors import InputError, need

if TYPE_CHECKING:
    from kinetree.identify import Identification

PAGES = (".html", ".htm")
URDF, MJCF = (".urdf",), (".xml", ".mjcf")


def identify(
    robot: RobotName,
    data: Annotated[
        str,
        table_argument(
            "CSV file with columns t, q:JOINT, tau:JOINT, optionally dq:JOINT and ddq:JOINT; or - "
            "for standard input."
        ),
    ],
    /,
    *,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="File to write, .urdf or .xml.")
    ],
    test: Annotated[
        Path | None,
        Parameter(help="Another recording for the test; the end of DATA is used if left out."),
    ] = None,
    report: Annotated[
        Path | None,
        Parameter(help="File for a report with plots, .html; or a folder for one in Markdown."),
    ] = None,
    method: Annotated[
        Literal["ordinary", "weighted", "robust"], Parameter(help="Kind of least squares.")
    ] = "weighted",
    friction: Annotated[
        Literal["symmetric", "directional", "known"],
        Parameter(help="Friction to find; known keeps that of the file."),
    ] = "symmetric",
    armature: Annotated[
        bool,
        Parameter(negative="--no-armature", help="Find the inertias of armatures and rotors, too."),
    ] = True,
    prior: Annotated[
        float, Parameter(help="Relative error that the parameters of the file may have.")
    ] = 1.0,
    cutoff: Annotated[
        float | None,
        Parameter(
            help="Low-pass frequency for rates and accelerations, Hz; chosen from the data if left "
            "out."
        ),
    ] = None,
    torque_cutoff: Annotated[
        float | None, Parameter(help="Compare joint forces below this frequency only, Hz.")
    ] = None,
    hold_out: Annotated[
        float, Parameter(help="Share of the recording that is kept for the test.")
    ] = 0.25,
    json: Json = False,
    degrees: Degrees = False,
    reading: BasicReading = BASIC,
) -> None:
    """Find a robot's parameters in a recording, and write the robot with these parameters.

    The geometry of the robot is trusted, its masses are a first guess. JSON has robot, output,
    report, joints, units, rms (of the joint forces held out), described and found (rms error of
    the robot as described and as found), noise, base_parameters, unknowns, condition, samples,
    notes.

    For example, from a recorded motion that excites the arm:

    ```
    kinetree identify arm.urdf data.csv -o found.urdf --report findings.html
    ```
    """
    from kinetree import identify as library
    from kinetree.cli.trajectories import as_file

    _check_files(robot, data, test, output, report)
    described = find_robot(robot, reading)
    with as_file(data) as path:
        recording = library.read_recording(path, described, cutoff=cutoff, degrees=degrees)
    other = None
    if test is not None:
        other = library.read_recording(test, described, cutoff=cutoff, degrees=degrees)
    with Console(stderr=True).status("reading") as status:  # on a terminal only
        found = library.identify(
            described, recording, test=other, hold_out=hold_out, method=method, friction=friction,
            armature=armature, prior=prior, torque_cutoff=torque_cutoff,
            watch=lambda text: status.update(escape(text)),
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
        if path not in (None, STREAM) and not Path(path).is_file():
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


def document(found: "Identification") -> dict[str, Any]:
    """The quality of the result, as JSON."""
    test, model = found.test, found.robot.model
    before = test.tau - found.prior.inverse_dynamics(test.q, test.dq, test.ddq)
    return {
        "robot": found.robot.name,
        "joints": list(model.dof_names),
        "units": {"tau": units(model, "tau")},
        "rms": (test.tau**2).mean(axis=0) ** 0.5,
        "described": (before**2).mean(axis=0) ** 0.5,
        "found": found.error(),
        "noise": found.fit.sigma,
        "base_parameters": found.base.r,
        "unknowns": len(found.sought.names),
        "condition": found.fit.condition,
        "samples": len(found.train),
        "notes": list(found.notes),
    }


def show(found: "Identification") -> None:
    """Print the errors of every joint, and the notes."""
    data, screen = document(found), console()
    columns = [data[x] for x in ("rms", "described", "found", "noise")]
    rows = [[name, *(number(x[k]) for x in columns)] for k, name in enumerate(data["joints"])]
    heads = ["joint", "rms", "error as\ndescribed", "error now", "noise of\nthe fit"]
    title = f"{found.robot.name}: joint forces on held-out motion, N m or N"
    screen.print(screen_table(title, heads, rows))
    screen.print(
        f"{counted(data['base_parameters'], 'base parameter')} of "
        f"{counted(data['unknowns'], 'unknown')}, condition "
        f"{number(data['condition'], 3)}, {counted(data['samples'], 'sample')}."
    )
    for note in found.notes:
        screen.print(f"note: {note}")
