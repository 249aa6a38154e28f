"""render: a robot or its motion as a picture or a movie, without a window or a browser."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import typed
from kinetree.core.text import nearest
from kinetree.errors import InputError, KinetreeWarning
from kinetree.model import Model
from kinetree.model.inputs import coordinates
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot
from kinetree.views.camera import Camera
from kinetree.views.contacts import force_parts
from kinetree.views.loops import closed_rest
from kinetree.views.movie import ffmpeg, write_gif, write_mp4, write_png
from kinetree.views.parts import Part, parts_of
from kinetree.views.scene import check_motion_of, numeric_model, scene
from kinetree.views.shapes import Scene
from kinetree.views.studio import PAPER, SHOWN, Studio, studio

STILL, MOVING = (".png",), (".gif", ".mp4")
SMALLEST, LARGEST = 16, 8192  # width and height, pixels
FASTEST_GIF = 50  # frames per second: browsers slow down delays below 2/100 s
MAX_FRAMES = 5000
LONGEST_TRACE = 1000  # points
STILL_SAMPLES, MOVIE_SAMPLES = 3, 2
STEEPEST = 1.5  # height of the camera above the horizon, rad, as in orbit.js
AROUND = 6.0  # s of a turn of the camera about a robot without a motion

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Rendering:
    """A written picture or movie.

    Args:
        path: the file.
        size: width and height, pixels.
        frames: number of frames; 1: a picture.
        duration: of the movie, s; 0: a picture.
        not_drawn: visuals of the robot's file that could not be drawn, and why.
    """

    path: Path
    size: tuple[int, int]
    frames: int
    duration: float
    not_drawn: tuple[str, ...]


@typed
def render(
    robot: Robot | Model,
    trajectory: Trajectory | None = None,
    *,
    path: str | os.PathLike[str],
    q: ArrayLike | None = None,
    time: float | None = None,
    size: tuple[int, int] = (640, 480),
    fps: float = 25,
    speed: float = 1,
    theme: Literal["light", "dark"] = "light",
    camera: Camera | tuple[float, float] | None = None,
    zoom: float = 1,
    add: Sequence[str] = (),
    hide: Sequence[str] = (),
    plans: Sequence[Trajectory] = (),
    transparent: bool = False,
    source: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    drawn: Scene | None = None,
    progress: Progress | None = None,
) -> Rendering:
    """Draw a robot into a PNG file, or its motion into a GIF or MP4 file.

    The camera has the whole motion in view. A movie without a trajectory goes once around the
    robot. The file appears when it is complete; an interruption leaves none behind. MP4 needs the
    program ffmpeg.

    Args:
        robot: the robot or its model, of numbers.
        trajectory: one motion of it; None: it does not move.
        path: file that ends with .png, .gif or .mp4.
        q: joint positions, shape (nq,), rad or m; None: those of rest, closed if the robot has
            constraints. Not with a trajectory.
        time: of the trajectory, s, that a picture shows; None: its end.
        size: width and height, pixels, from 16 to 8192; even for MP4.
        fps: frames per second of a movie, 1/s; at most 50 for GIF.
        speed: of the movie, dimensionless; 2 plays twice as fast.
        theme: "light" or "dark".
        camera: its turn about the vertical from the usual place and its height above the horizon,
            rad; or a Camera, which is used as it is; None: the usual place.
        zoom: factor on the size of the robot in the picture, dimensionless.
        add: drawn besides the usual, some of "body", "joint", "loop", "contact", "ground",
            "visual", "inertia", "frame", "floor", "gravity", "trace", "force", "cone". Contact
            forces of a simulated motion are usual: the robot's weight is 0.6 of its size long.
        hide: not drawn, of the same names.
        plans: motions of the robot whose ways of the tool are drawn faintly, such as the
            `trajectory` of a solution.
        transparent: whether the background is left out, of PNG.
        source, folder: as in `report_page`.
        drawn: the robot's scene, if it is known already; source and folder are then not used.
        progress: called with the number of frames done and of all frames.
    """
    file = Path(path)
    kind = check_kind(file, transparent)
    width, height = check_size(size, kind)
    check_numbers(fps, speed, zoom, kind)
    if theme not in PAPER:
        raise InputError(f"theme is {theme!r}; expected one of {', '.join(PAPER)}.")
    check_camera(camera)
    model = numeric_model(robot)
    robot = Robot(model) if isinstance(robot, Model) else robot
    motion = check_motion(robot, trajectory, q, time, kind)
    for one in plans:
        check_motion_of(robot, one, "the way of a plan")
    if kind == ".mp4":
        ffmpeg()  # an error before the work
    drawn = scene(robot, source, folder) if drawn is None else drawn
    shown = check_shown(drawn, add, hide)
    moments = frame_times(motion, fps, speed) if kind in MOVING else np.zeros(1)
    seen, rows, passed = positions(robot, motion, q, time, kind, moments * speed)
    place = studio(
        model, drawn, parts_of(drawn.shapes), seen, shown=shown, size=(width, height), theme=theme,
        camera=camera, zoom=zoom, around=motion is None and kind in MOVING,
        plans=[np.asarray(one.q, float)[traced(one)] for one in plans],
    )  # fmt: skip
    at = np.array([0.0]) if motion is None else shown_times(motion, time, kind, moments * speed)
    marks = [force_parts(model, drawn.extent, motion, float(t)) for t in at]
    if kind == ".png":
        picture = place.frame(rows[0], STILL_SAMPLES, transparent=transparent, marks=marks[0])
        write_png(file, picture if transparent else picture[..., :3])
    else:
        turns = 2 * np.pi * moments / AROUND if motion is None else np.zeros(len(moments))
        marks = marks * (len(rows) if motion is None else 1)
        frames = movie_frames(place, rows, turns, passed, marks, progress)
        if kind == ".gif":
            write_gif(file, frames, np.append(moments, len(moments) / fps))
        else:
            write_mp4(file, frames, fps, (width, height))
    duration = len(moments) / fps if kind in MOVING else 0.0
    return Rendering(file, (width, height), len(moments), duration, drawn.remarks)


def movie_frames(
    place: Studio,
    q: Array,
    turns: Array,
    passed: Array,
    marks: Sequence[Sequence[Part]],
    progress: Progress | None,
) -> Iterator[Array]:
    """Frames, uint8 (height, width, 3), at positions q (k, nq) and turns of the camera (k,).

    passed: points of the trace that are passed in each frame, (k,). marks: parts of each frame.
    """
    for k, (row, turn) in enumerate(zip(q, turns, strict=True)):
        picture = place.frame(
            row, MOVIE_SAMPLES, float(turn), passed=int(passed[k]), marks=marks[k]
        )
        yield picture[..., :3]
        if progress is not None:
            progress(k + 1, len(q))


def frame_times(motion: Trajectory | None, fps: float, speed: float) -> Array:
    """When each frame of a movie begins, s from its start; the last is at the motion's end."""
    if motion is None:
        count = max(1, round(AROUND * fps))
    else:
        count = int(motion.duration / speed * fps * (1 + 1e-12)) + 1
    if count > MAX_FRAMES:
        raise InputError(
            f"the movie would have {count} frames; expected at most {MAX_FRAMES}. Choose fewer "
            "frames per second (fps=10) or a larger speed (speed=10)."
        )
    return np.arange(count) / fps


def positions(
    robot: Robot,
    motion: Trajectory | None,
    q: ArrayLike | None,
    time: float | None,
    kind: str,
    moments: Array,
) -> tuple[Array, Array, Array]:
    """Positions that have to be in view and those of the frames, (k, nq); how many are passed."""
    model = robot.model
    if motion is None:
        if q is None:
            row = closed_rest(robot)[:1]
        else:
            row = np.asarray(coordinates(model, q, "q"), float)[None]
        return row, np.broadcast_to(row[0], (len(moments), model.nq)), np.zeros(len(moments), int)
    kept = traced(motion)
    at = shown_times(motion, time, kind, moments)
    passed = np.searchsorted(motion.t[kept], at, "right")
    with warnings.catch_warnings():  # accelerations between the samples are not drawn
        warnings.simplefilter("ignore", KinetreeWarning)
        rows = np.asarray(motion.resample(at).q, float)
    return np.asarray(motion.q, float)[kept], rows, passed


def shown_times(motion: Trajectory, time: float | None, kind: str, moments: Array) -> Array:
    """Times of the motion that are drawn, (k,), s."""
    if kind in STILL:
        return np.array([motion.t[-1] if time is None else time])
    return np.minimum(motion.t[0] + moments, motion.t[-1])


def traced(motion: Trajectory) -> Array:
    """Indices of the samples that a trace goes through."""
    step = max(1, -(-len(motion) // LONGEST_TRACE))
    return np.unique(np.append(np.arange(0, len(motion), step), len(motion) - 1))


def check_kind(file: Path, transparent: bool) -> str:
    """The ending of the file; InputError if it is not known or cannot be written."""
    kind = file.suffix.lower()
    if kind not in (*STILL, *MOVING):
        raise InputError(
            f"the file is {str(file)!r}; expected a name that ends with .png (a picture), .gif or "
            ".mp4 (a movie)."
        )
    if transparent and kind in MOVING:
        raise InputError(f"{kind} has no transparent background; expected .png.")
    if not file.parent.is_dir() or file.is_dir():
        raise InputError(f"{str(file)!r} is no file in an existing folder; expected such a name.")
    return kind


def check_size(size: tuple[int, int], kind: str) -> tuple[int, int]:
    """Width and height as whole numbers; InputError if there are others."""
    whole = [int(x) for x in size]
    if len(whole) != 2 or not all(SMALLEST <= x <= LARGEST for x in whole):
        raise InputError(
            f"size is {' x '.join(map(str, size))}; expected width x height, whole numbers from "
            f"{SMALLEST} to {LARGEST}."
        )
    if kind == ".mp4" and any(x % 2 for x in whole):
        raise InputError(f"size is {whole[0]} x {whole[1]}; .mp4 needs even numbers.")
    return whole[0], whole[1]


def check_numbers(fps: float, speed: float, zoom: float, kind: str) -> None:
    """Raise InputError if a number is not in its range; GIF counts hundredths of a second."""
    fastest = FASTEST_GIF if kind == ".gif" else 1000.0
    for name, x, most in (("fps", fps, fastest), ("speed", speed, 1e6), ("zoom", zoom, 1000.0)):
        if not 0 < x <= most:
            raise InputError(f"{name} is {x:g}; expected more than 0 and at most {most:g}.")


def check_camera(camera: Camera | tuple[float, float] | None) -> None:
    """Raise InputError if turn and height of the camera are not two angles below the vertical."""
    if camera is None or isinstance(camera, Camera):
        return
    turn, height = (*camera, np.nan, np.nan)[:2]
    if len(camera) != 2 or not (np.isfinite(turn) and abs(height) <= STEEPEST):
        raise InputError(
            f"camera is {camera!r}; expected its turn and its height above the horizon, rad, the "
            f"height from -{STEEPEST} to {STEEPEST}."
        )


def check_motion(
    robot: Robot,
    trajectory: Trajectory | None,
    q: ArrayLike | None,
    time: float | None,
    kind: str,
) -> Trajectory | None:
    """The motion; InputError if it is of another robot, or if others contradict it."""
    if trajectory is None:
        if time is not None:
            raise InputError("time needs a trajectory; expected both of them, or neither.")
        return None
    if q is not None:
        raise InputError("q and the trajectory both give positions; expected one of them.")
    first, last = float(trajectory.t[0]), float(trajectory.t[-1])
    if time is not None and (kind in MOVING or not first <= time <= last):
        raise InputError(
            f"time is {time:g} s; expected a picture, and a time from {first:g} to {last:g} s."
        )
    check_motion_of(robot, trajectory, "a picture of a motion")
    return trajectory


def check_shown(drawn: Scene, add: Sequence[str], hide: Sequence[str]) -> frozenset[str]:
    """Names of what is drawn: the usual, what is added, without what is hidden."""
    for option, given in (("add", add), ("hide", hide)):
        for name in given:
            if name not in SHOWN:
                raise InputError(
                    f"there is no {name!r} to {option}; expected some of {', '.join(SHOWN)}."
                    f"{nearest(name, SHOWN)}"
                )
    both = [x for x in add if x in hide]
    if both:
        raise InputError(f"add and hide both name {both[0]!r}; expected it in one of them.")
    shown = frozenset({*drawn.shown, "floor", "force", *add}) - {*hide}
    if not drawn.of(*shown):
        groups = [x for x in SHOWN if drawn.of(x)]
        raise InputError(
            f"nothing of {drawn.name!r} is left to draw; expected one of {', '.join(groups)} that "
            "is not hidden."
        )
    return shown
