"""`kinetree render`: a robot or its motion as a picture or a movie."""

import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from kinetree.cli.arguments import (
    USUAL,
    Options,
    Position,
    Recorded,
    RobotName,
    number_argument,
    option,
    split,
    table_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot, mesh_folder
from kinetree.cli.messages import notify, notify_missing
from kinetree.cli.output import check_output, print_json, progress_bar, waiting
from kinetree.cli.states import closed_position, typed_number, vector
from kinetree.core.text import counted
from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.motion.trajectory import Trajectory
    from kinetree.robot import Robot

PARTS = "body, joint, loop, visual, inertia, frame, floor, gravity, trace"
DEGREE = 0.017453292519943295  # rad


def render(
    robot: RobotName,
    trajectory: Annotated[
        str | None,
        table_argument(
            "Recording of a motion (CSV, Parquet, NPZ, ROS bag) with t and q:JOINT; or - for "
            "standard input."
        ),
    ] = None,
    /,
    *,
    output: Annotated[
        Path,
        Parameter(
            name=["--output", "-o"],
            metavar="FILE",
            help="File to write: .png for a picture, .gif or .mp4 for a movie.",
        ),
    ],
    q: Position = None,
    time: Annotated[
        float | None,
        number_argument("Time of the motion that a picture shows, s; its end if left out."),
    ] = None,
    size: Annotated[
        str, Parameter(metavar="WIDTHxHEIGHT", help="Pixels, such as 1280x720.")
    ] = "640x480",
    fps: Annotated[float, number_argument("Frames per second of a movie.")] = 25,
    speed: Annotated[float, number_argument("Speed of a movie: 2 plays twice as fast.")] = 1,
    theme: Annotated[
        Literal["light", "dark"], Parameter(help="Colours of the background and the floor.")
    ] = "light",
    camera: Annotated[
        list[str] | None,
        words_argument(
            "Turn of the camera about the vertical from its usual place, and its height above the "
            "horizon, rad.",
            "TURN HEIGHT",
        ),
    ] = None,
    zoom: Annotated[float, number_argument("Factor on the size of the robot.")] = 1,
    add: Annotated[
        list[str] | None, words_argument(f"Drawn besides the usual, some of {PARTS}.")
    ] = None,
    hide: Annotated[list[str] | None, words_argument("Not drawn, of the same names.")] = None,
    plan: Annotated[
        str | None,
        table_argument("Recording of a motion whose way of the tool is drawn faintly."),
    ] = None,
    transparent: Annotated[
        bool, option("--transparent", "Leave the background of a picture out.")
    ] = False,
    options: Options = USUAL,
) -> None:
    """Draw a robot into a picture, or its motion into a movie.

    It needs no window and no browser. A movie without TRAJECTORY goes once around the robot. The
    camera has the whole motion in view; --add trace draws the way of the tool. MP4 needs the
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
    """
    from kinetree.views.render import render as draw

    check_output(output, trajectory)
    pixels, place = read_size(size), read_camera(camera, options.degrees)
    loaded, degrees = find_robot(robot, options.reading), options.degrees
    motion = None
    if trajectory is not None:
        motion = read_motion(loaded, trajectory, options.recorded, degrees)
    plans = [] if plan is None else [read_motion(loaded, plan, options.recorded, degrees)]
    position = None
    if q is not None:
        position = closed_position(loaded, vector(loaded.model, "q", q, degrees), q, degrees)
    moving = output.suffix.lower() in (".gif", ".mp4")
    with frames_bar() if moving else nullcontext() as progress:
        with waiting(f"drawing {loaded.name}") if not moving else nullcontext():
            made = draw(
                loaded, motion, path=output, q=position, time=time, size=pixels, fps=fps,
                speed=speed, theme=theme, camera=place, zoom=zoom, add=split(add),
                hide=split(hide), plans=plans, transparent=transparent,
                folder=mesh_folder(options.reading), progress=progress,
            )  # fmt: skip
    notify_missing(made.not_drawn)
    length = output.stat().st_size
    if options.json:
        width, height = made.size
        print_json(
            {
                "robot": loaded.name,
                "file": str(output),
                "bytes": length,
                "width": width,
                "height": height,
                "frames": made.frames,
                "duration": made.duration,
                "not_drawn": list(made.not_drawn),
            }
        )
    else:
        frames = f"{counted(made.frames, 'frame')}, {made.duration:g} s, " if moving else ""
        notify(f"wrote {output}, {frames}{length / 1e6:.2f} MB")


def read_motion(robot: "Robot", data: str, recorded: Recorded, degrees: bool) -> "Trajectory":
    """Read the motion of a recording."""
    from kinetree.cli.rows import read_trajectory, request_of

    return read_trajectory(data, request_of(robot.model, recorded, degrees=degrees))


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
    pieces = split(words)
    if len(pieces) != 2:
        raise InputError(
            f"--camera has {counted(len(pieces), 'number')}; expected two: its turn about the "
            "vertical and its height above the horizon, such as --camera 0.5 0.3."
        )
    unit = DEGREE if degrees else 1.0
    turn, height = (
        typed_number("--camera", *x) for x in zip(("turn", "height"), pieces, strict=True)
    )
    return turn * unit, height * unit


@contextmanager
def frames_bar() -> Generator[Callable[[int, int], None] | None]:
    """A function that shows the number of frames done on stderr; None if it is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with progress_bar() as show:
        yield lambda done, total: show(done, total, f"{done} of {counted(total, 'frame')}")
