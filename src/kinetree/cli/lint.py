"""`kinetree lint`: print what `kinetree.lint` finds in a robot file."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from kinetree.cli.arguments import BASIC, BasicReading, Json, RobotName, option
from kinetree.cli.choices import check_folders, mesh_folder
from kinetree.cli.messages import ERROR, WARNING, wrapped
from kinetree.core.text import counted

if TYPE_CHECKING:
    from kinetree.linting import Lint

MAX_SHOWN = 20  # findings on the screen; --json has all


def lint(
    robot: RobotName,
    /,
    *,
    meshes: Annotated[
        bool,
        option(
            "--meshes", "A mesh that is not found is a problem; --no-meshes does not look.",
            negative="--no-meshes",
        ),
    ] = True,
    json: Json = False,
    reading: BasicReading = BASIC,
) -> int:  # fmt: skip
    """Judge a robot file: its masses, inertias, limits, names and meshes, with corrections.

    A problem is data that no robot can have, or that ROS, Pinocchio, MuJoCo or Drake refuse. A
    remark is worth a look; --strict counts remarks as problems. A correction is a suggestion: the
    file is never changed. The exit code is 0 if there is no problem, 1 if there is one or the file
    cannot be read, 2 if there is no such file.

    For example:

    ```
    kinetree lint panda
    kinetree lint arm.urdf
    kinetree lint arm.urdf --no-meshes --json
    ```

    JSON has robot, source, verdict (fine, problems or unreadable), problems and remarks, each a
    list with text, where (file:line), correction and code.
    """
    from kinetree.cli.output import print_json
    from kinetree.linting import lint as judge

    check_folders(reading)
    options = replace(reading, strict=False).options()
    options = {k: v for k, v in options.items() if k not in ("strict", "contacts")}
    found = judge(robot, meshes=meshes, mesh_folder=mesh_folder(reading), **options)
    if json:
        print_json(found.to_dict())
    else:
        print_findings(found)
    return 1 if found.problems or (reading.strict and found.remarks) else 0


def print_findings(found: "Lint") -> None:
    """Print the verdict, then problems and remarks, each with its correction."""
    from kinetree.cli.tables import console

    screen = console()
    listed = {"problem": found.problems, "remark": found.remarks}
    counts = [counted(len(some), level) for level, some in listed.items() if some]
    words = {"fine": "fine", "problems": "not in order", "unreadable": "cannot be read"}
    colour = "bold green" if found.verdict == "fine" else f"bold {ERROR}"
    verdict = f"{found.source}: {words[found.verdict]}"
    summary = verdict + (f" ({', '.join(counts)})" if counts else "")
    screen.print(summary, style=colour, soft_wrap=True)
    for level, some in listed.items():
        for x in some[:MAX_SHOWN]:
            place = f" [{x.where}]" if x.where else ""
            text = wrapped(f"- {x.text}{place}", screen.width, "  ")
            screen.print(text, style=WARNING if level == "problem" else None, soft_wrap=True)
            if x.correction:
                text = wrapped(f"  Correction: {x.correction}.", screen.width, "  ")
                screen.print(text, soft_wrap=True)
        if len(some) > MAX_SHOWN:
            screen.print(f"- and {counted(len(some) - MAX_SHOWN, f'more {level}')} (--json)")
