"""Identification as the command line runs it: read, identify, write, and say how well it went."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kinetree.cli.angles import units
from kinetree.cli.arguments import Reading
from kinetree.cli.choices import find_robot
from kinetree.cli.show import console, print_json, table
from kinetree.cli.trajectories import as_file
from kinetree.cli.words import STREAM
from kinetree.cli.writing import check_output
from kinetree.errors import InputError
from kinetree.identify import Identification, identify, read_recording

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
    reading: Reading,
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
    report = None if files.report is None else str(found.save_report(files.report))
    if json:
        print_json(document(found) | {"output": str(files.output), "report": report})
        return
    show(found)
    console().print(f"robot   {files.output}", soft_wrap=True)
    if report is not None:
        console().print(f"report  {report}", soft_wrap=True)


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
        f"{data['base_parameters']} base parameters of {data['unknowns']} unknowns, condition "
        f"{data['condition']:.3g}, {data['samples']} samples."
    )
    for note in found.notes:
        screen.print(f"note: {note}")
