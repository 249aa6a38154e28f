"""`kinetree convert`: a robot in another file format, read back and compared."""

from collections.abc import Iterator
from dataclasses import asdict

from kinetree.cli import options as opt
from kinetree.cli import robots, writer
from kinetree.cli.app import command
from kinetree.core.text import counted, number


@command(
    "Write files, equations and code", also="to-urdf to-mjcf save transform urdf2mjcf mjcf2urdf"
)
def run(
    robot: opt.RobotName,
    /,
    *,
    output: opt.OutputFile,
    json: opt.Json = False,
    reading: opt.Reading = opt.READING,
) -> None:
    """Write a robot as URDF or MJCF, and report everything that is lost.

    The text is read back and compared before the file is written: poses and inertias of all links
    at three positions, and limits, friction and armature. Shapes and meshes are not part of the
    model and are never written. Data that the format cannot represent are comments in the file.

    For example:

    ```
    kinetree convert panda -o panda.urdf
    kinetree convert hand -o hand.xml
    kinetree convert quadruped -o quadruped.xml --json
    ```

    JSON has robot, file, format, losses (a list of sentences), joints (how many were compared)
    and difference (the largest one of poses and inertias, relative).

    Args:
        output: File to write: .urdf, or .xml or .mjcf (MJCF).
    """
    from kinetree.files.saving import FORMATS, save
    from kinetree.views.visuals import visual_source

    writer.check_output(output, robot, endings=[*FORMATS])
    loaded = robots.find_robot(robot, reading)
    with writer.waiting(f"writing {output.name}"):
        saved = save(loaded, output)
    losses, source = list(saved.losses), visual_source(loaded)
    if source is not None and (count := sum(1 for _ in source.visuals())):
        shapes = counted(count, "shape")
        losses.append(f"{shapes} and meshes for drawing and collisions, with their colours")

    def parts() -> Iterator[writer.Part]:
        yield (
            f"{output}: {loaded.name} as {saved.format}; read back, "
            f"{counted(saved.joints, 'joint')} agree to {number(saved.difference, 2)}"
        )
        if losses:
            yield "not written:", "title"
        yield from (f"- {loss}" for loss in losses)

    about = {"robot": loaded.name, "file": str(output)} | asdict(saved) | {"losses": losses}
    writer.give(json, lambda: about, parts)
