"""`kinetree identify`: a recording and a description become a robot that fits."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kinetree.cli.arguments import BASIC, BasicReading, Degrees, Json, RobotName
from kinetree.cli.completing import complete_table


def identify(
    robot: RobotName,
    data: Annotated[
        str,
        Parameter(
            help="CSV file with columns t, q:JOINT, tau:JOINT, perhaps dq:JOINT and ddq:JOINT; or "
            "- for standard input.",
            completer=complete_table,
        ),
    ],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    test: Path | None = None,
    report: Path | None = None,
    method: str = "weighted",
    friction: str = "symmetric",
    armature: Annotated[bool, Parameter(negative="--no-armature")] = True,
    prior: float = 1.0,
    cutoff: float | None = None,
    torque_cutoff: float | None = None,
    hold_out: float = 0.25,
    json: Json = False,
    degrees: Degrees = False,
    reading: BasicReading = BASIC,
) -> None:
    """Find a robot's parameters in a recording, and write the robot that has them.

    The geometry of the robot is trusted, its masses are a first guess. JSON has robot, output,
    report, joints, units, rms (of the joint forces held out), described and found (rms error of
    the robot as described and as found), noise, base_parameters, unknowns, condition, samples,
    notes.

    For example, from a motion that excites the arm and was recorded (`kinetree.motion.excitation`
    plans one):

    ```
    kinetree identify arm.urdf data.csv -o found.urdf --report findings.html
    ```

    Parameters
    ----------
    output:
        File to write, .urdf or .xml.
    test:
        Another recording to try the result on; else the end of the first is held out.
    report:
        File for a report with plots, .html; or a folder for one in Markdown.
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
    hold_out:
        Share of the recording that is kept for the test.
    """
    from kinetree.cli.identifying import Files, run_identify

    run_identify(
        Files(robot, data, test, output, report), reading, json=json, degrees=degrees,
        cutoff=cutoff, method=method, friction=friction, armature=armature, prior=prior,
        torque_cutoff=torque_cutoff, hold_out=hold_out,
    )  # fmt: skip
