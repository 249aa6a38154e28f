"""Pictures of trajectories: angles, rates, torques with their limits, and energy, over time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.base.extras import need
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.bounds import bounds_of, with_limits
from kinetree.motion.dynamics import robot_of
from kinetree.motion.limits import check_limits
from kinetree.motion.panels import Drawing, draw, draw_energy
from kinetree.trajectory import Trajectory

PANELS = ("q", "dq", "ddq", "tau", "energy")


def plot(
    trajectory: Trajectory,
    robot: Any = None,
    *,
    panels: Sequence[str] | None = None,
    path: Any = None,
    title: str | None = None,
    show: bool = False,
    effort: Any = None,
    velocity: Any = None,
) -> Any:
    """A matplotlib figure of the trajectory, one panel below the other over time.

    Args:
        trajectory: one motion, or a batch, whose motions are drawn as thin lines.
        robot: gives limits (dashed), torques where the trajectory has none, and energy; None is
            the robot that the trajectory remembers, if any.
        panels: some of "q", "dq", "ddq", "tau", "energy"; None is all that is known but "ddq".
        path: file to write, such as "motion.png"; its ending chooses the format.
        title: above the figure; None is the name of the trajectory.
        show: opens a window.
        effort: other limits of force than the robot's own, a number or (n,).
        velocity: other limits of speed.

    Returns:
        the matplotlib Figure. Times in which a limit is violated are shaded red in its panel.
    """
    need("matplotlib", "plot", "a plot")
    drawing = _drawing(trajectory, robot, {"effort": effort, "velocity": velocity})
    chosen = _panels(drawing, panels)
    figure = _figure(chosen, show)
    axes = np.atleast_1d(figure.subplots(len(chosen), 1, sharex=True))
    for axis, panel in zip(axes, chosen, strict=True):
        draw_energy(axis, drawing) if panel == "energy" else draw(axis, drawing, panel)
    _legend(figure, drawing)
    axes[-1].set_xlabel("time, s")
    axes[-1].set_xlim(trajectory.t[0], trajectory.t[-1])
    figure.suptitle(trajectory.name if title is None else title)
    if path is not None:
        figure.savefig(path, dpi=130)
    if show:
        need("matplotlib.pyplot", "plot", "a plot").show()
    return figure


def _legend(figure: Any, drawing: Drawing) -> None:
    """Names of the joints to the right of all panels, in two columns where they are very many."""
    names = drawing.trajectory.coordinate_names
    Line = need("matplotlib.lines", "plot", "a plot").Line2D
    lines = [Line([], [], color=colour, lw=1.6) for colour in drawing.colours]
    many = len(names) > 30
    figure.legend(
        lines, names, loc="outside right upper", frameon=False, fontsize=7 if many else 9,
        ncols=1 + many,
    )  # fmt: skip


def _drawing(trajectory: Trajectory, robot: Any, limits: dict[str, Any]) -> Drawing:
    matplotlib = need("matplotlib", "plot", "a plot")
    many = len(trajectory.coordinate_names)
    colours = matplotlib.colormaps["tab10" if many <= 10 else "turbo"]
    pick = [colours(k if many <= 10 else k / (many - 1)) for k in range(many)]
    if robot is None and trajectory.model is None:
        return Drawing(trajectory, None, None, None, pick, pick)
    robot = robot_of(trajectory, robot, "a plot")
    report = None if trajectory.batch_shape else check_limits(robot, trajectory, **limits)
    bounds = with_limits(bounds_of(robot.model), **limits)
    return Drawing(trajectory, robot, bounds, report, pick, _rate_colours(robot.model, pick))


def _rate_colours(model: Model, colours: list[Any]) -> list[Any]:
    """The colours of the coordinates; of a quaternion's rates those of its vector part."""
    found = [colours[0]] * model.n
    for joint in model.joints:
        if joint.follows is None:
            for dof, coord in zip(joint.dofs, joint.coords[-len(joint.dofs) :], strict=True):
                found[dof] = colours[coord]
    return found


def _panels(drawing: Drawing, panels: Sequence[str] | None) -> list[str]:
    known = {"q", "dq", "ddq"}
    if drawing.robot is not None:
        known |= {"tau"} if drawing.trajectory.batch_shape else {"tau", "energy"}
    elif drawing.trajectory.tau is not None:
        known |= {"tau"}
    if panels is None:
        return [panel for panel in PANELS if panel in known and panel != "ddq"]
    for panel in panels:
        if panel not in PANELS:
            raise InputError(f"there is no panel {panel!r}; choose from {', '.join(PANELS)}.")
        if panel not in known:
            way = "one motion, not a batch; choose trajectory.rollout(k)."
            if drawing.robot is None:
                way = "a robot; pass robot=..."
            raise InputError(f"panel {panel!r} needs {way}")
    return list(panels)


def _figure(panels: Sequence[str], show: bool) -> Any:
    """A figure that needs no screen, unless it is to be shown."""
    size = {"figsize": (9, 0.8 + 2.1 * len(panels)), "layout": "constrained"}
    if show:
        return need("matplotlib.pyplot", "plot", "a plot").figure(**size)
    return need("matplotlib.figure", "plot", "a plot").Figure(**size)
