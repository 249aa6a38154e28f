"""`kinetree render`: a robot or its motion as a picture or a movie."""

import re
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, states, writer
from kinetree.cli.app import command
from kinetree.core.text import counted
from kinetree.errors import InputError

DEGREE = 0.017453292519943295  # rad


@command("Look at a robot", also="draw picture image movie video screenshot animate")
def run(
    robot: opt.RobotName,
    trajectory: opt.RecordingOrNone = None,
    /,
    *,
    output: opt.OutputFile,
    q: opt.Position = None,
    time: opt.Number = None,
    size: Annotated[str, Parameter(metavar="WIDTHxHEIGHT")] = "640x480",
    fps: opt.Real = 25,
    speed: opt.Real = 1,
    theme: Literal["light", "dark"] = "light",
    camera: Annotated[opt.Words, Parameter(metavar="TURN HEIGHT")] = None,
    zoom: opt.Real = 1,
    add: opt.Words = None,
    hide: opt.Words = None,
    plan: opt.RecordingOrNone = None,
    transparent: opt.Flag = False,
    options: opt.Options = opt.USUAL,
) -> None:
    """Draw a robot into a picture, or its motion into a movie.

    It needs no window and no browser. A movie without TRAJECTORY goes once around the robot. The
    camera has the whole motion in view; --add trace draws the path of the tool. MP4 needs the
    program ffmpeg. The file appears when it is complete. Meshes are read from the folder of the
    robot's file, or from the first --folder, and from nowhere else.

    For example:

    ```
    kinetree render panda -o panda.png
    kinetree simulate double_pendulum --q 1.5 0 --duration 2 -o swing.csv
    kinetree render double_pendulum swing.csv -o swing.gif --add trace --fps 10
    kinetree render cart_pole -o cart_pole.png --theme dark --json
    ```

    JSON has robot, file, bytes, width, height, frames, duration (s), not_drawn (visuals of the file
    that could not be drawn, and why).

    Args:
        trajectory: Recording of a motion (CSV, Parquet, NPZ, ROS bag) with t and q:JOINT; or - for
            standard input.
        output: File to write: .png for a picture, .gif or .mp4 for a movie.
        time: Time of the motion that a picture shows, s; its end if left out.
        size: Pixels, such as 1280x720.
        fps: Frames per second of a movie.
        speed: Speed of a movie: 2 plays twice as fast.
        theme: Colours of the background and the floor.
        camera: Turn of the camera about the vertical from its usual place, and its height above the
            horizon, rad.
        zoom: Factor on the size of the robot.
        add: Drawn besides the usual, some of body, joint, loop, visual, inertia, frame, floor,
            gravity, trace.
        hide: Not drawn, of the same names.
        plan: Recording of a motion whose path of the tool is drawn faintly.
        transparent: Leave the background of a picture out.
    """
    from kinetree.views.render import render

    writer.check_output(output, trajectory)
    pixels, place = read_size(size), read_camera(camera, options.degrees)
    loaded, folder = robots.find_robot(robot, options.reading), options.reading.mesh_folder
    moving = output.suffix.lower() in (".gif", ".mp4")
    with writer.waiting(f"drawing {loaded.name}") as progress:
        motion, faint = (
            None if data is None else recordings.read_motion(data, loaded.model, options)
            for data in (trajectory, plan)
        )
        given: dict[str, Any] = (
            {} if q is None else {"q": states.position(loaded, q, options.degrees)}
        )
        made = render(
            loaded, motion, path=output, time=time, size=pixels, fps=fps, speed=speed, theme=theme,
            camera=place, zoom=zoom, add=opt.split(add), hide=opt.split(hide),
            plans=[] if faint is None else [faint], transparent=transparent, folder=folder,
            progress=lambda done, total: progress(f"{done} of {counted(total, 'frame')}"), **given,
        )  # fmt: skip
    writer.notify_missing(made.not_drawn)
    about = {"robot": loaded.name, "file": str(output), "bytes": output.stat().st_size}
    if options.json:
        about |= {"width": made.size[0], "height": made.size[1], "frames": made.frames}
        writer.print_json(about | {"duration": made.duration, "not_drawn": list(made.not_drawn)})
    else:
        frames = f"{counted(made.frames, 'frame')}, {made.duration:g} s, " if moving else ""
        writer.notify(f"wrote {output}, {frames}{output.stat().st_size / 1e6:.2f} MB")


def read_size(text: str) -> tuple[int, int]:
    """Read a size such as 640x480."""
    size = re.fullmatch(r"(\d{1,6})[x×*,](\d{1,6})", text)
    if size is None:
        raise InputError(f"--size is {text!r}; expected WIDTHxHEIGHT, such as 1280x720.")
    return int(size[1]), int(size[2])


def read_camera(words: list[str] | None, degrees: bool) -> tuple[float, float] | None:
    """Read turn and height of the camera, rad; None if they were not typed."""
    if words is None:
        return None
    angles = states.typed_vector("--camera", "the camera", ("turn", "height"), words)
    unit = DEGREE if degrees else 1.0
    return angles.get("turn", 0.0) * unit, angles.get("height", 0.0) * unit
