"""Animations of a motion: in notebooks and files, or frames for a viewer of the caller's choice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import need
from kinetree.model import WORLD, HasModel, Model
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

    def matplotlib(self) -> Any:
        """A stick figure as an animation of matplotlib, to be changed; needs the extra `plot`."""
        t, q = frames(self.trajectory, self.fps, self.speed)
        poses = kernel(self.model, "link_poses")(q)
        return _stick_figure(self.model, poses, t, self.trajectory, self.fps)

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


def stick_points(model: Model, T_si: Array) -> list[Array]:
    """Lines of a stick figure, (F, 2, 3) each: from parent to link, and from a link to the tool."""
    origin = np.zeros((len(T_si), 3))
    places = {WORLD: origin, **{i: T_si[:, i, :3, 3] for i in model.links}}
    lines = [np.stack([places[model.parent[i]], places[i]], axis=1) for i in model.links]
    tool = None if model.tool is None else model.frame()
    if tool is not None and tool.link != WORLD:
        tip = T_si[:, tool.link] @ np.append(np.asarray(tool.T_if, float)[:3, 3], 1.0)
        lines.append(np.stack([places[tool.link], tip[:, :3]], axis=1))
    return lines


def _stick_figure(model: Model, T_si: Array, t: Array, trajectory: Record, fps: float) -> Any:
    from kinetree.present.charts import literal

    Figure = need("matplotlib.figure", "plot", "an animation").Figure
    canvas = need("matplotlib.backends.backend_agg", "plot", "an animation").FigureCanvasAgg
    FuncAnimation = need("matplotlib.animation", "plot", "an animation").FuncAnimation
    figure = Figure(figsize=(6, 6), layout="constrained")
    canvas(figure)
    axis = figure.add_subplot(projection="3d")
    lines = stick_points(model, T_si)
    _set_view(axis, np.concatenate([line.reshape(-1, 3) for line in lines]))
    sticks = [axis.plot(*line[0].T, "-o", color="#37474f", lw=3, ms=4)[0] for line in lines]
    (trace,) = axis.plot([], [], [], color="#1565c0", lw=1)
    title, name = axis.set_title(""), literal(trajectory.name)

    def draw(k: int) -> list[Any]:
        for stick, line in zip(sticks, lines, strict=True):
            stick.set_data_3d(*line[k].T)
        trace.set_data_3d(*lines[-1][: k + 1, 1].T)
        share = t[k] / t[-1] if t[-1] else 0.0
        title.set_text(f"{name}, t = {share * trajectory.duration:.2f} s")
        return [*sticks, trace, title]

    return FuncAnimation(figure, draw, frames=len(t), interval=1000 / fps, blit=False)


def _set_view(axis: Any, points: Array) -> None:
    """Show a cube around all points, with the same scale along all axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.55 * max(float(np.max(high - low)), 1e-3)
    for set_limits, middle in zip(
        (axis.set_xlim, axis.set_ylim, axis.set_zlim), (low + high) / 2, strict=True
    ):
        set_limits(middle - half, middle + half)
    axis.set_box_aspect((1, 1, 1))
    axis.set_xlabel("x, m")
    axis.set_ylabel("y, m")
    axis.set_zlabel("z, m")
