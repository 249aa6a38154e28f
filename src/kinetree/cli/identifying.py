"""Identification as the command line runs it: read, identify, write, and say how well it went."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kinetree.base.extras import need
from kinetree.base.tables import counted
from kinetree.cli.angles import units
from kinetree.cli.arguments import BasicReading
from kinetree.cli.choices import find_robot
from kinetree.cli.show import console, print_json, table
from kinetree.cli.trajectories import as_file
from kinetree.cli.words import STREAM
from kinetree.cli.writing import check_output
from kinetree.errors import InputError
from kinetree.identify import Identification, identify, read_recording

PAGES = (".html", ".htm")
WRITERS = {".urdf": "to_urdf", ".xml": "to_mjcf", ".mjcf": "to_mjcf"}


@dataclass(frozen=True)
class Files:
    """What is read and written: a robot by name or file, recordings, results."""

    robot: str
    data: str
    test: Path | None
    output: Path
    report: Path | None


def run_identify(
    files: Files,
    reading: BasicReading,
    *,
    json: bool,
    degrees: bool,
    cutoff: float | None,
    **options: Any,
) -> None:
    """Read, identify, write, and say how well it went; progress goes to stderr."""
    writer = WRITERS.get(files.output.suffix.lower())
    if writer is None:
        raise InputError(
            f"-o is {files.output}; expected a name that ends with .urdf, .xml or .mjcf."
        )
    check_output(files.output, files.robot)
    if files.report is not None:
        check_report(files.report)
    for path in (files.data, files.test):
        if path not in (None, STREAM) and not Path(path).is_file():
            raise InputError(f"{path} is no file; expected a recording.")
    robot = find_robot(files.robot, reading)
    with as_file(files.data) as path:
        recording = read_recording(path, robot, cutoff=cutoff, degrees=degrees)
    other = None
    if files.test is not None:
        other = read_recording(files.test, robot, cutoff=cutoff, degrees=degrees)
    found = _with_progress(robot, recording, test=other, **options)
    files.output.write_text(getattr(found.robot, writer)(), encoding="utf-8")
    report = None if files.report is None else str(write_report(found, files.report))
    if json:
        print_json(document(found) | {"output": str(files.output), "report": report})
        return
    show(found)
    console().print(f"robot   {files.output}", soft_wrap=True)
    if report is not None:
        console().print(f"report  {report}", soft_wrap=True)


def check_report(path: Path) -> None:
    """Refuse a place for the report before anything is computed for it."""
    if path.suffix.lower() in PAGES:
        if path.is_dir() or not path.parent.is_dir():
            raise InputError(f"--report is {path}; expected a file in a folder that is there.")
        return
    if path.exists() and not path.is_dir():
        raise InputError(f"--report is {path}, a file; expected a folder, or a name with .html.")
    need("matplotlib.figure", "plot", "a report in a folder (one with .html needs nothing)")


def write_report(found: Identification, path: Path) -> Path:
    """One page where the name ends with .html, else a folder with report.md and its plots."""
    if path.suffix.lower() not in PAGES:
        return found.save_report(path)
    from kinetree.views.identification_page import identification_page

    path.write_text(identification_page(found), encoding="utf-8")
    return path


def _with_progress(robot: Any, recording: Any, **options: Any) -> Identification:
    """`identify` with a line that says what is being done, where stderr is a terminal."""
    progress = Console(stderr=True)
    with progress.status("reading") as status:
        return identify(robot, recording, watch=lambda text: status.update(escape(text)), **options)


def document(found: Identification) -> dict[str, Any]:
    """How well it went, as JSON shows it."""
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


def show(found: Identification) -> None:
    """Errors of every joint, and the notes."""
    data, screen = document(found), console()
    columns = [data[x] for x in ("rms", "described", "found", "noise")]
    rows = [[name, *(f"{x[k]:.4g}" for x in columns)] for k, name in enumerate(data["joints"])]
    heads = ["joint", "rms", "error as\ndescribed", "error now", "noise of\nthe fit"]
    title = f"{found.robot.name}: joint forces on held-out motion, N m or N"
    screen.print(table(title, heads, rows))
    screen.print(
        f"{counted(data['base_parameters'], 'base parameter')} of "
        f"{counted(data['unknowns'], 'unknown')}, condition "
        f"{data['condition']:.3g}, {counted(data['samples'], 'sample')}."
    )
    for note in found.notes:
        screen.print(f"note: {note}")
