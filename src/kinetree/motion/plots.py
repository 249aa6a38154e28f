"""Pictures of trajectories: angles, rates, torques with their limits, and energy, over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.extras import need
from kinetree.motion.bounds import Bounds, bounds_of
from kinetree.motion.dynamics import robot_of
from kinetree.motion.energy import energy_balance, joint_forces
from kinetree.motion.limit_report import LimitReport
from kinetree.motion.limits import POSITION, SPEED, TORQUE, check_limits
from kinetree.simulate.trajectory import Trajectory

PANELS = ("q", "dq", "ddq", "tau", "energy")
NAMES = {"q": "position", "dq": "rate", "ddq": "acceleration", "tau": "joint force"}
CHECKED = {"q": POSITION, "dq": SPEED, "tau": TORQUE}
NEAR = 1.6  # limits are shown where they are no further than this from zero, over the data
RED, GREY = "#c62828", "#616161"


@dataclass(frozen=True, eq=False)
class Drawing:
    """All that the panels are drawn from; robot, bounds and report where a robot is known."""

    trajectory: Trajectory
    robot: Any
    bounds: Bounds | None
    report: LimitReport | None
    colours: Any


def plot(
    trajectory: Trajectory,
    robot: Any = None,
    *,
    panels: Sequence[str] | None = None,
    path: Any = None,
    title: str | None = None,
    show: bool = False,
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

    Returns:
        the matplotlib Figure. Times in which a limit is violated are shaded red in its panel.
    """
    need("matplotlib", "plot", "a plot")
    drawing = _drawing(trajectory, robot)
    chosen = _panels(drawing, panels)
    figure = _figure(chosen, show)
    axes = np.atleast_1d(figure.subplots(len(chosen), 1, sharex=True))
    for k, (axis, panel) in enumerate(zip(axes, chosen, strict=True)):
        _draw_energy(axis, drawing) if panel == "energy" else _draw(axis, drawing, panel)
        if k == 0 or panel == "energy":
            axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=9)
    axes[-1].set_xlabel("time, s")
    axes[-1].set_xlim(trajectory.t[0], trajectory.t[-1])
    figure.suptitle(trajectory.name if title is None else title)
    if path is not None:
        figure.savefig(path, dpi=130)
    if show:
        need("matplotlib.pyplot", "plot", "a plot").show()
    return figure


def _drawing(trajectory: Trajectory, robot: Any) -> Drawing:
    matplotlib = need("matplotlib", "plot", "a plot")
    many = len(trajectory.coordinate_names)
    colours = matplotlib.colormaps["tab10" if many <= 10 else "turbo"]
    pick = [colours(k if many <= 10 else k / (many - 1)) for k in range(many)]
    if robot is None and trajectory.model is None:
        return Drawing(trajectory, None, None, None, pick)
    robot = robot_of(trajectory, robot, "a plot")
    report = None if trajectory.batch_shape else check_limits(robot, trajectory)
    return Drawing(trajectory, robot, bounds_of(robot.model), report, pick)


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
            way = (
                "a robot; pass robot=..."
                if drawing.robot is None
                else ("one motion, not a batch; choose trajectory.rollout(k).")
            )
            raise InputError(f"panel {panel!r} needs {way}")
    return list(panels)


def _figure(panels: Sequence[str], show: bool) -> Any:
    """A figure that needs no screen, unless it is to be shown."""
    size = {"figsize": (9, 0.8 + 2.1 * len(panels)), "layout": "constrained"}
    if show:
        return need("matplotlib.pyplot", "plot", "a plot").figure(**size)
    return need("matplotlib.figure", "plot", "a plot").Figure(**size)


def _draw(axis: Any, drawing: Drawing, panel: str) -> None:
    """Lines of all joints, their limits dashed, violations shaded."""
    trajectory = drawing.trajectory
    x = getattr(trajectory, panel)
    if panel == "tau" and x is None:
        x = joint_forces(trajectory, drawing.robot)
    names = trajectory.coordinate_names if panel == "q" else trajectory.dof_names
    flat = x.reshape(len(trajectory), -1, x.shape[-1])
    width, alpha = (1.6, 1.0) if flat.shape[1] == 1 else (0.6, max(0.15, 2 / flat.shape[1]))
    for k, name in enumerate(names):
        lines = axis.plot(
            trajectory.t, flat[:, :, k], color=drawing.colours[k], lw=width, alpha=alpha
        )
        lines[0].set_label(name)
    axis.set_ylabel(f"{NAMES[panel]}, {trajectory.units[panel]}")
    axis.grid(True, color="#e0e0e0", lw=0.6)
    axis.margins(y=0.08)
    if drawing.bounds is not None and panel in CHECKED:
        _draw_limits(axis, drawing, panel, x)
    if drawing.report is not None:
        _draw_violations(axis, drawing, CHECKED.get(panel, ""), x, names)


def _draw_violations(
    axis: Any, drawing: Drawing, quantity: str, x: Array, names: Sequence[str]
) -> None:
    """Red shade while anything is beyond a limit; what is beyond is drawn bold."""
    t = drawing.trajectory.t
    found = [v for v in getattr(drawing.report, "violations", ()) if v.quantity == quantity]
    last = -np.inf
    for start, end in sorted((v.start, v.end) for v in found):
        if end > last:
            axis.axvspan(max(start, last), end, color=RED, alpha=0.12, lw=0)
            last = end
    for v in found:
        during, k = (t >= v.start) & (t <= v.end), names.index(v.joint)
        axis.plot(t[during], x[during, k], color=drawing.colours[k], lw=4, solid_capstyle="butt")


def _draw_limits(axis: Any, drawing: Drawing, panel: str, x: Array) -> None:
    """The limits that are near the motion, dashed."""
    bounds = drawing.bounds
    assert bounds is not None
    low, high = {
        "q": (bounds.lower, bounds.upper),
        "dq": (-bounds.velocity, bounds.velocity),
        "tau": (-bounds.effort, bounds.effort),
    }[panel]
    reach = max(float(np.max(np.abs(x))), 1e-12)
    hidden = False
    for limits in (low, high):
        for value in np.unique(limits[np.isfinite(limits)]):
            if abs(value) > NEAR * reach:
                hidden = True
                continue
            own = np.flatnonzero(limits == value)
            _draw_limit(axis, drawing, float(value), bounds.coords[own] if panel == "q" else own)
    if hidden:
        axis.text(
            1.01, 0, "further limits\nare out of view", transform=axis.transAxes,
            ha="left", va="bottom", fontsize=8, color=GREY,
        )  # fmt: skip


def _draw_limit(axis: Any, drawing: Drawing, value: float, own: Array) -> None:
    """A dashed line: grey if it is everybody's, else with dashes in the colours of its joints."""
    if len(own) == len(drawing.trajectory.dof_names):
        axis.axhline(value, color=GREY, ls="--", lw=1.2, zorder=1)
        return
    dash, period = 6, max(10, 7 * len(own))
    for k, column in enumerate(own):
        style = (7 * k, (dash, period - dash))
        axis.axhline(value, color=drawing.colours[int(column)], ls=style, lw=1.2, zorder=1)


def _draw_energy(axis: Any, drawing: Drawing) -> None:
    """Energies since the start: what was put in, and where it is."""
    balance = energy_balance(drawing.trajectory, drawing.robot)
    lines = {
        "kinetic": balance.kinetic,
        "potential, since start": balance.potential - balance.potential[0],
        "work of the joints": balance.work,
        "lost to friction": balance.losses,
    }
    styles = (("#1565c0", "-"), ("#2e7d32", "-"), ("#212121", "--"), (RED, ":"))
    for (label, x), (colour, style) in zip(lines.items(), styles, strict=True):
        if label != "lost to friction" or np.any(x != 0):
            axis.plot(balance.t, x, color=colour, ls=style, lw=1.6, label=label)
    axis.set_ylabel("energy, J")
    axis.grid(True, color="#e0e0e0", lw=0.6)
    axis.margins(y=0.08)
