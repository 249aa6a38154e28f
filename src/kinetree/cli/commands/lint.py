"""`kinetree lint`: print what `kinetree.lint` finds in a robot file."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli import writer
from kinetree.cli.app import command
from kinetree.core.text import counted

if TYPE_CHECKING:
    from kinetree.linting import Lint

VERDICTS = {"fine": "fine", "problems": "not in order", "unreadable": "cannot be read"}


@command("Look at a robot", also="validate verify doctor check-urdf check_urdf sanity")
def run(
    robot: opt.RobotName,
    /,
    *,
    meshes: Annotated[opt.Flag, Parameter(negative="--no-meshes")] = True,
    json: opt.Json = False,
    reading: opt.BasicReading = opt.BASIC,
) -> int:
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

    Args:
        meshes: A mesh that is not found is a problem; --no-meshes does not look.
    """
    from kinetree.linting import lint

    options = replace(reading, strict=False).options()
    del options["strict"]
    found = lint(robot, meshes=meshes, mesh_folder=reading.mesh_folder, **options)
    writer.give(json, found.to_dict, lambda: parts(found))
    return 1 if found.problems or (reading.strict and found.remarks) else 0


def parts(found: "Lint") -> Iterator[writer.Part]:
    """The verdict, then problems and remarks, each with its correction."""
    listed = {"problem": found.problems, "remark": found.remarks}
    counts = ", ".join(counted(len(some), level) for level, some in listed.items() if some)
    verdict = f"{found.source}: {VERDICTS[found.verdict]}"
    style = "good" if found.verdict == "fine" else "bad"
    yield verdict + (f" ({counts})" if counts else ""), style
    for some in listed.values():
        for x in some:
            yield f"- {x.text}" + (f" [{x.where}]" if x.where else "")
            if x.correction:
                yield f"  Correction: {x.correction}."
