"""Animations of a motion: in notebooks and files, or frames for a viewer of the caller's choice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.model import HasModel, Model
from kinetree.motion.curve.interpolation import resample
from kinetree.motion.inputs import check_single, model_for, positive, sample_times
from kinetree.motion.record import FilePath, Record
from kinetree.present.display import shown_html


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """A motion that a notebook plays; `save` writes it to a file.

    Args:
        trajectory: one motion.
        model: the robot that moves.
        fps: frames per second of a file, 1/s.
        speed: seconds of motion per second of the animation, dimensionless.
        robot: the robot that was given, whose file may have meshes; None: only the model is known.
    """

    trajectory: Record
    model: Model
    fps: float
    speed: float
    robot: Model | HasModel | None = None

    def save(self, path: FilePath) -> None:
        """Write the motion as a movie or a page.

        Args:
            path: file that ends with .gif, .mp4 (needs the program ffmpeg) or .html.
        """
        shown_html("animation_file", self, path)

    def _repr_html_(self) -> str:
        return shown_html("animation", self)

    def __repr__(self) -> str:
        motion = self.trajectory
        return f"Animation({motion.name!r} of {self.model.name!r}, {motion.duration:g} s)"


@typed
def animate(
    trajectory: Record,
    path: FilePath | None = None,
    *,
    robot: Model | HasModel | None = None,
    viewer: Callable[[Model, Array, Array], Any] | None = None,
    fps: float = 25,
    speed: float = 1,
) -> Any:
    """Play a motion in a notebook, as a movie or in a viewer.

    Args:
        trajectory: one motion.
        path: file to write: .gif, .mp4 or .html.
        robot: a Robot is drawn with the meshes of its file; None is the model that the trajectory
            was made with.
        viewer: a function of the model, the times of the frames in the animation, (F,), s, and the
            positions, (F, nq). None: the robot is drawn.
        fps: frames per second of the animation, 1/s.
        speed: seconds of motion per second of the animation, dimensionless.

    Returns:
        the result of the viewer, or an Animation, which a notebook plays.
    """
    model = model_for(trajectory, robot, "an animation")
    check_single(trajectory, "an animation")
    speed, fps = positive(speed, "speed", "s/s"), positive(fps, "fps", "frames a second")
    if viewer is not None:
        return viewer(model, *frames(trajectory, fps, speed))
    shown = Animation(trajectory, model, fps, speed, robot)
    if path is not None:
        shown.save(path)
    return shown


def frames(trajectory: Record, fps: float, speed: float) -> tuple[Array, Array]:
    """Times of the frames in the animation, (F,), s, and the positions, (F, nq)."""
    t = sample_times(max(trajectory.duration / speed, 1e-9), 1 / fps)
    return t, resample(trajectory, np.minimum(trajectory.t[0] + t * speed, trajectory.t[-1])).q
