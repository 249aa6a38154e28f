"""Plots of a motion over time: positions, rates, joint forces with their limits, and energy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.core.text import without_rounding
from kinetree.dynamics.joints.configuration import difference
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds, bounds_of, with_limits
from kinetree.model.units import kinds, units
from kinetree.motion.energy import energy_balance, joint_forces
from kinetree.motion.inputs import model_for
from kinetree.motion.limits.check import POSITION, SPEED, TORQUE, check_limits
from kinetree.motion.limits.report import LimitReport
from kinetree.motion.record import FilePath, Record
from kinetree.present.charts import Bound, Chart, Series, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"q": "position", "dq": "rate", "ddq": "acceleration", "tau": "joint force"}
CHECKED = {"q": POSITION, "dq": SPEED, "tau": TORQUE}
BATCH = "Of {count} motions: the median, and shaded the range of all."
SMALL_DEFECT = 0.01  # of the largest energy, up to which the panel has no line of the defect


@dataclass(frozen=True, eq=False)
class Drawing:
    """Everything that the charts are made from; model, bounds and report only with a robot."""

    trajectory: Record
    model: Model | None
    bounds: Bounds | None
    report: LimitReport | None


@typed
def plot(
    trajectory: Record,
    path: FilePath | None = None,
    *,
    robot: Model | HasModel | None = None,
    panels: Sequence[str] | None = None,
    title: str | None = None,
    show: bool = False,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
) -> "Figure":
    """A figure of the trajectory over time, drawn by matplotlib (extra `plot`).

    Angles and lengths have separate panels, and of more than four joints each has its own.

    Args:
        trajectory: one motion, or a batch, of which the median and the range are drawn.
        path: file to write: .png, .svg, .pdf and others.
        robot: gives limits (dashed), torques if the trajectory has none, and energy; None is the
            robot that the trajectory was made with, if any.
        panels: some of "q", "error", "dq", "ddq", "tau", "energy"; None is all that is known but
            "ddq". "error" is the distance from the reference of the controller, which "q" has
            dotted.
        title: above the figure; None is the name of the trajectory.
        show: opens a window.
        effort: limits of joint force to draw, a number or shape (n,), N m or N; None: those of the
            robot.
        velocity: limits of rate to draw, a number or shape (n,), rad/s or m/s; None: those of the
            robot.

    Returns:
        the figure of matplotlib, which a notebook shows. Times at which a limit is violated are
        shaded.
    """
    charts = charts_of(trajectory, robot, panels, effort, velocity)
    count = int(np.prod(trajectory.batch_shape))
    notes = [BATCH.format(count=count)] if trajectory.batch_shape else []
    words = trajectory.name if title is None else title
    return draw(words, charts, notes=notes, path=path, show=show)


def charts_of(
    trajectory: Record,
    robot: Model | HasModel | None = None,
    panels: Sequence[str] | None = None,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
) -> list[Chart]:
    """The charts of the figure of a trajectory; arguments as of `plot`."""
    drawing = Drawing(trajectory, None, None, None)
    if robot is not None or trajectory.model is not None:
        model = model_for(trajectory, robot, "a plot")
        report = None  # violations are not shaded in batches, nor with constraints
        if not trajectory.batch_shape and model.constraints is None:
            report = check_limits(model, trajectory, effort=effort, velocity=velocity)
        bounds = with_limits(bounds_of(model), effort, velocity)
        drawing = Drawing(trajectory, model, bounds, report)
    charts: list[Chart] = []
    for panel in _panels(drawing, panels):
        charts += PANELS[panel](drawing, panel)
    return charts


def _panels(drawing: Drawing, panels: Sequence[str] | None) -> list[str]:
    """The panels that are asked for, or all that are known but "ddq"."""
    trajectory, robot = drawing.trajectory, drawing.model is not None
    known = dict.fromkeys(PANELS, True)
    known["error"] = "reference" in trajectory.meta
    known["tau"] = robot or trajectory.tau is not None
    known["energy"] = robot and not trajectory.batch_shape
    if panels is None:
        return [panel for panel, there in known.items() if there and panel != "ddq"]
    for panel in panels:
        if panel not in known:
            raise InputError(f"there is no panel {panel!r}; choose from {', '.join(PANELS)}.")
        if not known[panel]:
            raise InputError(
                f"trajectory {trajectory.name!r} has nothing for panel {panel!r}: 'tau' needs a "
                "robot, 'energy' a robot and a single motion, 'error' a run with a controller."
            )
    return list(panels)


def _joint_charts(drawing: Drawing, panel: str) -> list[Chart]:
    """The lines of all joints, with their limits and the times at which they are violated."""
    trajectory, model = drawing.trajectory, drawing.model
    x: Array | None = getattr(trajectory, panel)
    if x is None:
        assert model is not None  # `_panels` has checked it
        x = joint_forces(trajectory, model)
    names = trajectory.coordinate_names if panel == "q" else trajectory.dof_names
    limits = _limits(drawing, panel, len(names))
    wanted = trajectory.meta.get("reference") if panel == "q" else None
    lines = [
        replace(
            line,
            colour=k,
            limits=limits[k],
            reference=(wanted["t"], wanted["q"][:, k]) if wanted else None,
        )
        for k, line in enumerate(lines_of(trajectory.t, names, x))
    ]
    unit = [trajectory.units[panel]] * len(names) if model is None else units(model, panel)
    beyond = None
    if drawing.report is not None:
        violations = [v for v in drawing.report.violations if v.quantity == CHECKED.get(panel)]
        beyond = tuple((v.start, v.end, v.joint) for v in violations)
    return _by_unit(NAMES[panel], lines, unit, beyond)


def lines_of(t: Array, names: Sequence[str], x: Array) -> list[Series]:
    """Columns of (T, ..., k) as lines; of a batch the median, and the range as a band."""
    flat = x.reshape(len(t), -1, x.shape[-1])
    batch = x.ndim > 2
    return [
        Series(
            name,
            t,
            np.median(flat[:, :, k], axis=1),
            band=(flat[:, :, k].min(axis=1), flat[:, :, k].max(axis=1)) if batch else None,
        )
        for k, name in enumerate(names)
    ]


def _by_unit(
    title: str,
    lines: Sequence[Series],
    unit: Sequence[str],
    beyond: tuple[tuple[float, float, str], ...] | None = None,
) -> list[Chart]:
    """A chart for each unit, because radians hide metres."""
    charts: list[Chart] = []
    for each in dict.fromkeys(unit):
        some = tuple(line for line, x in zip(lines, unit, strict=True) if x == each)
        names = {line.name for line in some}
        shaded = None if beyond is None else tuple(x for x in beyond if x[2] in names)
        words = "quaternion" if each == "1" else each.replace("^2", "²")
        charts.append(Chart(title, words, some, beyond=shaded))
    return charts


def _error_charts(drawing: Drawing, panel: str) -> list[Chart]:
    """The tangent vectors from the reference to the positions, at the samples of the reference."""
    trajectory, model = drawing.trajectory, drawing.model
    assert model is not None  # a simulation has one
    t, wanted = (trajectory.meta["reference"][name] for name in ("t", "q"))
    q = trajectory.q[np.searchsorted(trajectory.t, t)]
    away = np.array([difference(model, a, b) for a, b in zip(wanted, q, strict=True)])
    lines = lines_of(t, model.dof_names, without_rounding(away, 1.0))
    return _by_unit("position minus reference", lines, kinds(model, "dq"))


def _limits(drawing: Drawing, panel: str, count: int) -> list[tuple[Bound, Bound]]:
    """Limits of each line; those of drives with a torque-speed curve change with the rate."""
    limits: list[tuple[Bound, Bound]] = [(None, None)] * count
    bounds = drawing.bounds
    if bounds is None or panel not in CHECKED:
        return limits
    low, high = {
        "q": (bounds.lower, bounds.upper),
        "dq": (-bounds.velocity, bounds.velocity),
        "tau": (-bounds.effort, bounds.effort),
    }[panel]
    curved = panel == "tau" and not drawing.trajectory.batch_shape
    for k in range(len(bounds.names)):
        at = int(bounds.coords[k]) if panel == "q" else k
        if at < 0:
            continue
        if curved and bounds.curve(k) is not None:
            least, most = bounds.forces(drawing.trajectory.dq)
            limits[at] = least[:, k], most[:, k]
        else:
            limits[at] = _finite(low[k]), _finite(high[k])
    return limits


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _energy_charts(drawing: Drawing, panel: str) -> list[Chart]:
    """The energies since the start."""
    balance = energy_balance(drawing.trajectory, drawing.model)
    lines = {
        "kinetic": ("kinetic", balance.kinetic, 0.0),
        "potential": ("potential, since start", balance.potential - balance.potential[0], 0.0),
        "work": ("work of the joints", balance.work, 0.0),
        "friction": ("lost to friction", balance.losses, 0.0),
        "defect": ("defect", balance.defect, SMALL_DEFECT),
    }
    largest = max(float(np.abs(y).max()) for _, y, _ in lines.values())
    series = tuple(
        Series(name, balance.t, y, colour=colour)
        for colour, (name, y, small) in lines.items()
        if np.abs(y).max() > small * largest or colour in ("kinetic", "potential", "work")
    )
    return [Chart("energy", "J", series, together=True)]


# the panels in their order
PANELS: dict[str, Callable[[Drawing, str], list[Chart]]] = {
    "q": _joint_charts,
    "error": _error_charts,
    "dq": _joint_charts,
    "ddq": _joint_charts,
    "tau": _joint_charts,
    "energy": _energy_charts,
}
