"""Identification as the command line runs it: read, identify, write, and say how well it went."""

import sys
import warnings
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kinetree.errors import InputError, KinetreeWarning
from kinetree.identify import Identification, identify, read_recording
from kinetree.loading import load


def run_identify(
    console: Console,
    robot: Path,
    data: Path,
    output: Path,
    *,
    test: Path | None,
    report: Path | None,
    method: str,
    friction: str,
    armature: bool,
    prior: float,
    cutoff: float | None,
    torque_cutoff: float | None,
    degrees: bool,
    hold_out: float,
) -> None:
    """Read, identify, write, and say how well it went; progress goes to stderr."""
    writer = {".urdf": "to_urdf", ".xml": "to_mjcf", ".mjcf": "to_mjcf"}.get(output.suffix.lower())
    if writer is None:
        raise InputError(f"-o is {output}; expected a name that ends with .urdf, .xml or .mjcf.")
    for path in (robot, data, *([] if test is None else [test])):
        if not path.is_file():
            raise InputError(f"{path} is no file; expected a robot and a recording.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinetreeWarning)
        described = load(robot)
        recording = read_recording(data, described, cutoff=cutoff, degrees=degrees)
        other = None
        if test is not None:
            other = read_recording(test, described, cutoff=cutoff, degrees=degrees)
        found = _with_progress(
            described, recording, test=other, hold_out=hold_out, method=method, friction=friction,
            armature=armature, prior=prior, torque_cutoff=torque_cutoff,
        )  # fmt: skip
        text = getattr(found.robot, writer)()
    for warning in caught:
        print(f"kinetree: {warning.message}", file=sys.stderr)
    output.write_text(text, encoding="utf-8")
    show(console, found)
    console.print(f"robot   {output}", soft_wrap=True, highlight=False, markup=False)
    if report is not None:
        path = found.save_report(report)
        console.print(f"report  {path}", soft_wrap=True, highlight=False, markup=False)


def _with_progress(robot, recording, **options) -> Identification:  # type: ignore[no-untyped-def]
    """`identify` with a line that says what is being done, where stderr is a terminal."""
    progress = Console(stderr=True)
    with progress.status("reading") as status:
        return identify(robot, recording, watch=lambda text: status.update(escape(text)), **options)


def show(console: Console, found: Identification) -> None:
    """Errors of every joint, and the notes."""
    table = Table(title=f"{escape(found.robot.name)}: joint forces on held-out motion, N m or N")
    for column in ("joint", "rms", "error as described", "error now", "noise of the fit"):
        table.add_column(column, justify="left" if column == "joint" else "right", overflow="fold")
    test = found.test
    before = test.tau - found.prior.inverse_dynamics(test.q, test.dq, test.ddq)
    now = found.error()
    for k, name in enumerate(found.robot.model.dof_names):
        rms = [float((x[:, k] ** 2).mean() ** 0.5) for x in (test.tau, before)]
        numbers = (*rms, now[k], found.fit.sigma[k])
        table.add_row(escape(name), *(f"{x:.4g}" for x in numbers))
    console.print(table)
    console.print(
        f"{found.base.r} base parameters of {len(found.sought.names)} unknowns, condition "
        f"{found.fit.condition:.3g}, {len(found.train)} samples.",
        highlight=False,
    )
    for note in found.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
