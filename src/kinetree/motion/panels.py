"""The panels of a picture: lines of joints, dashed limits, red violations, energy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.motion.bounds import Bounds
from kinetree.motion.energy import energy_balance, joint_forces
from kinetree.motion.limit_report import LimitReport
from kinetree.motion.limits import POSITION, SPEED, TORQUE
from kinetree.trajectory import Trajectory

NAMES = {"q": "position", "dq": "rate", "ddq": "acceleration", "tau": "joint force"}
CHECKED = {"q": POSITION, "dq": SPEED, "tau": TORQUE}
NEAR = 1.6  # limits are shown where they are no further than this from zero, over the data
RED, GREY = "#c62828", "#616161"


@dataclass(frozen=True, eq=False)
class Drawing:
    """All that the panels are drawn from; robot, bounds and report where a robot is known.

    colours: of the entries of q; rate_colours: of those of dq, ddq and tau.
    """

    trajectory: Trajectory
    robot: Any
    bounds: Bounds | None
    report: LimitReport | None
    colours: list[Any]
    rate_colours: list[Any]


def draw(axis: Any, drawing: Drawing, panel: str) -> None:
    """Lines of all joints, their limits dashed, violations shaded."""
    trajectory = drawing.trajectory
    x = getattr(trajectory, panel)
    if panel == "tau" and x is None:
        x = joint_forces(trajectory, drawing.robot)
    colours = drawing.colours if panel == "q" else drawing.rate_colours
    flat = x.reshape(len(trajectory), -1, x.shape[-1])
    width, alpha = (1.6, 1.0) if flat.shape[1] == 1 else (0.6, max(0.15, 2 / flat.shape[1]))
    for k, colour in enumerate(colours):
        axis.plot(trajectory.t, flat[:, :, k], color=colour, lw=width, alpha=alpha)
    axis.set_ylabel(f"{NAMES[panel]}, {trajectory.units[panel]}")
    axis.grid(True, color="#e0e0e0", lw=0.6)
    axis.margins(y=0.08)
    if drawing.bounds is not None and panel in CHECKED:
        _draw_limits(axis, drawing, panel, x)
    if drawing.report is not None:
        _draw_violations(axis, drawing, panel, x, colours)


def _draw_violations(
    axis: Any, drawing: Drawing, panel: str, x: Array, colours: Sequence[Any]
) -> None:
    """Red shade while anything is beyond a limit; what is beyond is drawn bold."""
    trajectory, report = drawing.trajectory, drawing.report
    t, names = trajectory.t, trajectory.coordinate_names if panel == "q" else trajectory.dof_names
    found = [v for v in report.violations if v.quantity == CHECKED.get(panel)] if report else []
    last = -np.inf
    for start, end in sorted((v.start, v.end) for v in found):
        if end > last:
            axis.axvspan(max(start, last), end, color=RED, alpha=0.12, lw=0)
            last = end
    for v in found:
        during, k = (t >= v.start) & (t <= v.end), names.index(v.joint)
        axis.plot(t[during], x[during, k], color=colours[k], lw=4, solid_capstyle="butt")


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
            _draw_limit(axis, float(value), [drawing.rate_colours[k] for k in own], len(limits))
    if hidden:
        axis.text(
            0.995, 0.04, "further limits are out of view", transform=axis.transAxes,
            ha="right", va="bottom", fontsize=7.5, color=GREY, zorder=1.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
        )  # fmt: skip


def _draw_limit(axis: Any, value: float, colours: Sequence[Any], total: int) -> None:
    """A dashed line: grey if it is everybody's, else with dashes in the colours of its joints."""
    if len(colours) == total:
        axis.axhline(value, color=GREY, ls="--", lw=1.2, zorder=1)
        return
    dash, period = 6, max(10, 7 * len(colours))
    for k, colour in enumerate(colours):
        style = (7 * k, (dash, period - dash))
        axis.axhline(value, color=colour, ls=style, lw=1.2, zorder=1)


def draw_energy(axis: Any, drawing: Drawing) -> None:
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
    axis.margins(y=0.25)  # room for the legend
    axis.legend(loc="upper left", ncols=4, fontsize=8, frameon=False)
