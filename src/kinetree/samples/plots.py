"""Plots of a motion over time: positions, rates, joint forces with their limits, and energy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.base.arrays import Array, StateLike
from kinetree.errors import InputError, need
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds, bounds_of, with_limits
from kinetree.samples.energy import energy_balance, joint_forces
from kinetree.samples.inputs import model_for
from kinetree.samples.limits.check import POSITION, SPEED, TORQUE, check_limits
from kinetree.samples.limits.report import LimitReport
from kinetree.samples.record import FilePath, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("q", "dq", "ddq", "tau", "energy")
NAMES = {"q": "position", "dq": "rate", "ddq": "acceleration", "tau": "joint force"}
CHECKED = {"q": POSITION, "dq": SPEED, "tau": TORQUE}
NEAR = 1.6  # limits are drawn up to this multiple of the largest value
RED, GREY = "#c62828", "#616161"
Colour = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Drawing:
    """Everything that the panels are drawn from; model, bounds and report only with a robot.

    colours: of the entries of q; rate_colours: of the entries of dq, ddq and tau.
    """

    trajectory: Record
    model: Model | None
    bounds: Bounds | None
    report: LimitReport | None
    colours: list[Colour]
    rate_colours: list[Colour]


def plot(
    trajectory: Record,
    robot: Model | HasModel | None = None,
    *,
    panels: Sequence[str] | None = None,
    path: FilePath | None = None,
    title: str | None = None,
    show: bool = False,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
) -> "Figure":
    """A matplotlib figure of the trajectory, one panel below the other over time.

    Args:
        trajectory: one motion, or a batch, whose motions are drawn as thin lines.
        robot: gives limits (dashed), torques if the trajectory has none, and energy; None is the
            robot that the trajectory was made with, if any.
        panels: some of "q", "dq", "ddq", "tau", "energy"; None is all that is known but "ddq".
        path: file to write, such as "motion.png"; its ending chooses the format.
        title: above the figure; None is the name of the trajectory.
        show: opens a window.
        effort: limits of joint force to draw, a number or shape (n,), N m or N; None: those of the
            robot.
        velocity: limits of rate to draw, a number or shape (n,), rad/s or m/s; None: those of the
            robot.

    Returns:
        the matplotlib Figure. Times at which a limit is violated are shaded red in its panel.
    """
    need("matplotlib", "plot", "a plot")
    drawing = _drawing(trajectory, robot, effort, velocity)
    chosen = _panels(drawing, panels)
    figure = _figure(chosen, show)
    axes = np.atleast_1d(figure.subplots(len(chosen), 1, sharex=True))
    for axis, panel in zip(axes, chosen, strict=True):
        _draw_energy(axis, drawing) if panel == "energy" else _draw(axis, drawing, panel)
    _legend(figure, drawing)
    axes[-1].set_xlabel("time, s")
    axes[-1].set_xlim(trajectory.t[0], trajectory.t[-1])
    figure.suptitle(literal(trajectory.name) if title is None else title)
    if path is not None:
        figure.savefig(path, dpi=130)
    if show:
        need("matplotlib.pyplot", "plot", "a plot").show()
    return figure


def literal(name: str) -> str:
    """A name as matplotlib has to be given it; `$` would begin a formula."""
    return name.replace("$", r"\$")


def _drawing(
    trajectory: Record,
    robot: Model | HasModel | None,
    effort: StateLike | None,
    velocity: StateLike | None,
) -> Drawing:
    matplotlib = need("matplotlib", "plot", "a plot")
    many = len(trajectory.coordinate_names)
    colours = matplotlib.colormaps["tab10" if many <= 10 else "turbo"]
    pick = [colours(k if many <= 10 else k / (many - 1)) for k in range(many)]
    if robot is None and trajectory.model is None:
        return Drawing(trajectory, None, None, None, pick, pick)
    model = model_for(trajectory, robot, "a plot")
    report = None  # violations are not shaded in batches, nor with constraints, see check_limits
    if not trajectory.batch_shape and model.constraints is None:
        report = check_limits(model, trajectory, effort=effort, velocity=velocity)
    bounds = with_limits(bounds_of(model), effort, velocity)
    return Drawing(trajectory, model, bounds, report, pick, _rate_colours(model, pick))


def _rate_colours(model: Model, colours: list[Colour]) -> list[Colour]:
    """Colours of the rates: those of the coordinates, of a quaternion those of its vector part."""
    found = [colours[0]] * model.n
    for joint in model.joints:
        if joint.follows is None:
            for dof, coord in zip(joint.dofs, joint.coords[-len(joint.dofs) :], strict=True):
                found[dof] = colours[coord]
    return found


def _panels(drawing: Drawing, panels: Sequence[str] | None) -> list[str]:
    known = {"q", "dq", "ddq"}
    if drawing.model is not None:
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
            if drawing.model is None:
                way = "a robot; pass robot=..."
            raise InputError(f"panel {panel!r} needs {way}")
    return list(panels)


def _figure(panels: Sequence[str], show: bool) -> "Figure":
    """An empty figure; it needs a screen only if it is to be shown."""
    size = {"figsize": (9, 0.8 + 2.1 * len(panels)), "layout": "constrained"}
    if show:
        return need("matplotlib.pyplot", "plot", "a plot").figure(**size)
    return need("matplotlib.figure", "plot", "a plot").Figure(**size)


def _legend(figure: Any, drawing: Drawing) -> None:
    """Add names of the joints to the right of all panels, in two columns if there are many."""
    names = [literal(name) for name in drawing.trajectory.coordinate_names]
    Line = need("matplotlib.lines", "plot", "a plot").Line2D
    lines = [Line([], [], color=colour, lw=1.6) for colour in drawing.colours]
    many = len(names) > 30
    figure.legend(
        lines, names, loc="outside right upper", frameon=False, fontsize=7 if many else 9,
        ncols=1 + many,
    )  # fmt: skip


def _draw(axis: "Axes", drawing: Drawing, panel: str) -> None:
    """Draw the lines of all joints, their limits dashed, and shade violations."""
    trajectory = drawing.trajectory
    x: Array | None = getattr(trajectory, panel)
    if x is None:
        assert drawing.model is not None  # `_panels` has checked it
        x = joint_forces(trajectory, drawing.model)
    colours = drawing.colours if panel == "q" else drawing.rate_colours
    flat = x.reshape(len(trajectory), -1, x.shape[-1])
    width, alpha = (1.6, 1.0) if flat.shape[1] == 1 else (0.6, max(0.15, 2 / flat.shape[1]))
    for k, colour in enumerate(colours):
        axis.plot(trajectory.t, flat[:, :, k], color=colour, lw=width, alpha=alpha)
    axis.set_ylabel(f"{NAMES[panel]}, {trajectory.units[panel]}")
    axis.grid(True, color="#e0e0e0", lw=0.6)
    axis.margins(y=0.08)
    if drawing.bounds is not None and panel in CHECKED:
        _draw_limits(axis, drawing, drawing.bounds, panel, x)
    if drawing.report is not None and panel in CHECKED:
        _draw_violations(axis, trajectory, drawing.report, panel, x, colours)


def _draw_violations(
    axis: "Axes",
    trajectory: Record,
    report: LimitReport,
    panel: str,
    x: Array,
    colours: Sequence[Colour],
) -> None:
    """Shade times red at which a limit is violated, and draw the joint in bold there."""
    t, names = trajectory.t, trajectory.coordinate_names if panel == "q" else trajectory.dof_names
    found = [v for v in report.violations if v.quantity == CHECKED[panel]]
    last = -np.inf
    for start, end in sorted((v.start, v.end) for v in found):
        if end > last:
            axis.axvspan(max(start, last), end, color=RED, alpha=0.12, lw=0)
            last = end
    for v in found:
        during, k = (t >= v.start) & (t <= v.end), names.index(v.joint)
        axis.plot(t[during], x[during, k], color=colours[k], lw=4, solid_capstyle="butt")


def _draw_limits(axis: "Axes", drawing: Drawing, bounds: Bounds, panel: str, x: Array) -> None:
    """Draw the limits that are near the motion, dashed; those of drives as they change."""
    colours = drawing.rate_colours
    low, high = {
        "q": (bounds.lower, bounds.upper),
        "dq": (-bounds.velocity, bounds.velocity),
        "tau": (-bounds.effort, bounds.effort),
    }[panel]
    reach = max(float(np.max(np.abs(x))), 1e-12)
    hidden = False
    curved = np.array([bounds.curve(k) is not None for k in range(len(bounds.names))])
    curved = curved & (panel == "tau" and not drawing.trajectory.batch_shape)
    for k in np.flatnonzero(curved).tolist():
        for side in bounds.forces(drawing.trajectory.dq):
            near = np.where(np.abs(side[:, k]) > NEAR * reach, np.nan, side[:, k])
            axis.plot(drawing.trajectory.t, near, color=colours[k], ls="--", lw=1.2, zorder=1)
            hidden = hidden or bool(np.isnan(near).any())
    for limits in (low, high):
        if curved.any():
            limits = np.where(curved, np.inf, limits)
        for value in np.unique(limits[np.isfinite(limits)]):
            if abs(value) > NEAR * reach:
                hidden = True
                continue
            own = [colours[k] for k in np.flatnonzero(limits == value).tolist()]
            _draw_limit(axis, float(value), own, len(limits))
    if hidden:
        axis.text(
            0.995, 0.04, "further limits are out of view", transform=axis.transAxes,
            ha="right", va="bottom", fontsize=7.5, color=GREY, zorder=1.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
        )  # fmt: skip


def _draw_limit(axis: "Axes", value: float, colours: Sequence[Colour], total: int) -> None:
    """Draw a dashed line: grey if all joints have this limit, else in the colours of its joints."""
    if len(colours) == total:
        axis.axhline(value, color=GREY, ls="--", lw=1.2, zorder=1)
        return
    dash, period = 6, max(10, 7 * len(colours))
    for k, colour in enumerate(colours):
        style = (7 * k, (dash, period - dash))
        axis.axhline(value, color=colour, ls=style, lw=1.2, zorder=1)


def _draw_energy(axis: "Axes", drawing: Drawing) -> None:
    """Draw the energies since the start."""
    balance = energy_balance(drawing.trajectory, drawing.model)
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
