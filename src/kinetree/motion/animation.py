"""The robot in motion: a stick figure, or frames for a viewer of the caller's choice."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.extras import need
from kinetree.model import WORLD, Model
from kinetree.motion.dynamics import check_single, robot_of
from kinetree.motion.inputs import positive, sample_times
from kinetree.motion.interpolation import resample
from kinetree.trajectory import Trajectory


def animate(
    trajectory: Trajectory,
    robot: Any = None,
    *,
    viewer: Callable[[Model, Array, Array], Any] | None = None,
    fps: float = 25,
    speed: float = 1,
    path: Any = None,
) -> Any:
    """Play a motion.

    Args:
        trajectory: one motion.
        robot: None is the robot that the trajectory remembers.
        viewer: is called with the model, the times of the frames, (F,), in seconds of playing, and
            the positions, (F, nq); what it returns is returned. None draws a stick figure.
        fps: frames a second of playing.
        speed: seconds of motion a second of playing.
        path: file to write the stick figure to, such as "motion.gif".

    Returns:
        what the viewer returns, or a matplotlib animation (`.save`, `.to_jshtml`).
    """
    robot = robot_of(trajectory, robot, "an animation")
    check_single(trajectory, "an animation")
    speed = positive(speed, "speed", "s/s")
    played = max(trajectory.duration / speed, 1e-9)
    t = sample_times(played, 1 / positive(fps, "fps", "frames a second"))
    q = resample(trajectory, np.minimum(trajectory.t[0] + t * speed, trajectory.t[-1])).q
    if viewer is not None:
        return viewer(robot.model, t, q)
    drawn = _stick_figure(robot.model, robot.link_poses(q), t, trajectory, fps)
    if path is not None:
        writer = "pillow" if str(path).lower().endswith(".gif") else None
        drawn.save(path, writer=writer, fps=fps)
    return drawn


def stick_points(model: Model, T_si: Array) -> list[Array]:
    """Lines of a stick figure, (F, points, 3) each: from each link's parent to it, to the tool."""
    origin = np.zeros((len(T_si), 3))
    places = {WORLD: origin, **{i: T_si[:, i, :3, 3] for i in model.links}}
    lines = [np.stack([places[model.parent[i]], places[i]], axis=1) for i in model.links]
    tool = model.frame()
    if tool.link != WORLD:
        tip = T_si[:, tool.link] @ np.append(np.asarray(tool.T_if, float)[:3, 3], 1.0)
        lines.append(np.stack([places[tool.link], tip[:, :3]], axis=1))
    return lines


def _stick_figure(model: Model, T_si: Array, t: Array, trajectory: Trajectory, fps: float) -> Any:
    Figure = need("matplotlib.figure", "plot", "an animation").Figure
    canvas = need("matplotlib.backends.backend_agg", "plot", "an animation").FigureCanvasAgg
    FuncAnimation = need("matplotlib.animation", "plot", "an animation").FuncAnimation
    figure = Figure(figsize=(6, 6), layout="constrained")
    canvas(figure)
    axis = figure.add_subplot(projection="3d")
    lines = stick_points(model, T_si)
    _frame(axis, np.concatenate([line.reshape(-1, 3) for line in lines]))
    sticks = [axis.plot(*line[0].T, "-o", color="#37474f", lw=3, ms=4)[0] for line in lines]
    (trace,) = axis.plot([], [], [], color="#1565c0", lw=1)
    title = axis.set_title("")

    def draw(k: int) -> list[Any]:
        for stick, line in zip(sticks, lines, strict=True):
            stick.set_data_3d(*line[k].T)
        trace.set_data_3d(*lines[-1][: k + 1, 1].T)
        share = t[k] / t[-1] if t[-1] else 0.0
        title.set_text(f"{trajectory.name}, t = {share * trajectory.duration:.2f} s")
        return [*sticks, trace, title]

    return FuncAnimation(figure, draw, frames=len(t), interval=1000 / fps, blit=False)


def _frame(axis: Any, points: Array) -> None:
    """A cube around all points, so that lengths look alike in all directions."""
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
