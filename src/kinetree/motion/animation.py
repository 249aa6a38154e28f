"""Animations of a motion: in notebooks and files, or frames for a viewer of the caller's choice."""

from dataclasses import dataclass

from kinetree.core.options import typed
from kinetree.model import HasModel, Model
from kinetree.motion.inputs import check_single, model_for, positive
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
    fps: float = 25,
    speed: float = 1,
) -> Animation:
    """Play a motion in a notebook, or write it as a movie.

    Args:
        trajectory: one motion.
        path: file to write: .gif, .mp4 or .html.
        robot: a Robot is drawn with the meshes of its file; None is the model that the trajectory
            was made with.
        fps: frames per second of the animation, 1/s.
        speed: seconds of motion per second of the animation, dimensionless.

    Returns:
        an Animation, which a notebook plays.
    """
    model = model_for(trajectory, robot, "an animation")
    check_single(trajectory, "an animation")
    speed, fps = positive(speed, "speed", "s/s"), positive(fps, "fps", "frames a second")
    shown = Animation(trajectory, model, fps, speed, robot)
    if path is not None:
        shown.save(path)
    return shown
