"""`kinetree identify`: a recording and a description become a robot that fits."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def identify(
    robot: Path,
    data: Path,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    test: Path | None = None,
    report: Path | None = None,
    method: str = "weighted",
    friction: str = "symmetric",
    armature: bool = True,
    prior: float = 1.0,
    cutoff: float | None = None,
    torque_cutoff: float | None = None,
    degrees: bool = False,
    hold_out: float = 0.25,
) -> None:
    """Find a robot's parameters in a recording, and write the robot that has them.

    Parameters
    ----------
    robot:
        URDF or MJCF file: its geometry is trusted, its masses are a first guess.
    data:
        CSV file with columns t, q:JOINT, tau:JOINT, perhaps dq:JOINT and ddq:JOINT.
    output:
        File to write, .urdf or .xml.
    test:
        Another recording to try the result on; else the end of the first is held out.
    report:
        Folder for a report with plots.
    method:
        "ordinary", "weighted" or "robust" least squares.
    friction:
        "symmetric", "directional", or "known" (as in the file).
    armature:
        Whether inertias of armatures and rotors are unknown.
    prior:
        How far off the file may be, relative.
    cutoff:
        Of the low-pass that gives rates and accelerations, Hz; chosen by itself when left out.
    torque_cutoff:
        Compare joint forces below this frequency only, Hz.
    degrees:
        Angles are in degrees.
    hold_out:
        Share of the recording that is kept for the test.
    """
    from rich.console import Console

    from kinetree.cli.identifying import run_identify

    run_identify(
        Console(), robot, data, output, test=test, report=report, method=method,
        friction=friction, armature=armature, prior=prior, cutoff=cutoff,
        torque_cutoff=torque_cutoff, degrees=degrees, hold_out=hold_out,
    )  # fmt: skip
