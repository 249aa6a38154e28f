"""Plots of a motion over time: positions, rates, joint forces with their limits, and energy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.dynamics.joints.configuration import difference
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds, bounds_of, with_limits
from kinetree.motion.energy import energy_balance, joint_forces
from kinetree.motion.inputs import model_for
from kinetree.motion.limits.check import POSITION, SPEED, TORQUE, check_limits
from kinetree.motion.limits.report import LimitReport
from kinetree.motion.record import FilePath, Record
from kinetree.present.charts import TIME, Axis, Bound, Chart, Series
from kinetree.present.figure import Figure

PANELS = ("q", "error", "dq", "ddq", "tau", "friction_state", "contacts", "energy")
NAMES = {"q": "position", "dq": "rate", "ddq": "acceleration", "tau": "joint force"}
ERROR = "position less reference"
BENT = "deflection of bristles"
ROUNDING = 1e-12  # rad or m: smaller errors are those of rounding, and are drawn as zero
CHECKED = {"q": POSITION, "dq": SPEED, "tau": TORQUE}
PER = {"q": ("rad", "m"), "dq": ("rad/s", "m/s"), "ddq": ("rad/s^2", "m/s^2"), "tau": ("N m", "N")}
BATCH = "Of {count} motions: the median, and shaded the range of all."
ENERGIES = (0, 2, 7, 3, 1)  # colours
SMALL_DEFECT = 0.01  # of the largest energy, up to which the panel has no line of the defect


@dataclass(frozen=True, eq=False)
class Drawing:
    """Everything that the charts are made from; model, bounds and report only with a robot.

    colours: of the entries of dq, ddq and tau; those of q are in order.
    """

    trajectory: Record
    model: Model | None
    bounds: Bounds | None
    report: LimitReport | None
    colours: list[int]


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
) -> Figure:
    """A figure of the trajectory, one chart below the other over time.

    Args:
        trajectory: one motion, or a batch, of which the median and the range are drawn.
        path: file to write: .svg and .html, or .png, .pdf and others with matplotlib.
        robot: gives limits (dashed), torques if the trajectory has none, and energy; None is the
            robot that the trajectory was made with, if any.
        panels: some of "q", "error", "dq", "ddq", "tau", "friction_state", "contacts", "energy";
            None is all that is known but "ddq". "error" is the distance from the reference of the
            controller, which "q" has dotted; "contacts" are the sizes of the forces of contacts
            that ever touch.
        title: above the figure; None is the name of the trajectory.
        show: opens a window of matplotlib.
        effort: limits of joint force to draw, a number or shape (n,), N m or N; None: those of the
            robot.
        velocity: limits of rate to draw, a number or shape (n,), rad/s or m/s; None: those of the
            robot.

    Returns:
        the Figure, which a notebook shows; `.matplotlib()` gives it as a figure of matplotlib.
        Times at which a limit is violated are shaded.
    """
    drawing = _drawing(trajectory, robot, effort, velocity)
    charts = [CHARTS.get(panel, _chart)(drawing, panel) for panel in _panels(drawing, panels)]
    count = int(np.prod(trajectory.batch_shape))
    notes = (BATCH.format(count=count),) if trajectory.batch_shape else ()
    figure = Figure(trajectory.name if title is None else title, tuple(charts), notes)
    if path is not None:
        figure.save(path)
    if show:
        figure.show()
    return figure


def _drawing(
    trajectory: Record,
    robot: Model | HasModel | None,
    effort: StateLike | None,
    velocity: StateLike | None,
) -> Drawing:
    if robot is None and trajectory.model is None:
        return Drawing(trajectory, None, None, None, list(range(len(trajectory.dof_names))))
    model = model_for(trajectory, robot, "a plot")
    report = None  # violations are not shaded in batches, nor with constraints, see check_limits
    if not trajectory.batch_shape and model.constraints is None:
        report = check_limits(model, trajectory, effort=effort, velocity=velocity)
    bounds = with_limits(bounds_of(model), effort, velocity)
    return Drawing(trajectory, model, bounds, report, _rate_colours(model))


def _rate_colours(model: Model) -> list[int]:
    """Colours of the rates: those of the coordinates, of a quaternion those of its vector part."""
    colours = [0] * model.n
    for joint in model.joints:
        if joint.follows is None:
            for dof, coord in zip(joint.dofs, joint.coords[-len(joint.dofs) :], strict=True):
                colours[dof] = coord
    return colours


def _panels(drawing: Drawing, panels: Sequence[str] | None) -> list[str]:
    sources = {"error": "reference", "contacts": "contact_forces"}
    sources["friction_state"] = "friction_state"
    known = {"q", "dq", "ddq"}
    known |= {panel for panel, name in sources.items() if name in drawing.trajectory.meta}
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
            if panel == "error":
                way = "a simulation with a controller that follows joint positions."
            elif panel == "friction_state":
                way = "a simulation of friction with presliding."
            elif panel == "contacts":
                way = "a simulation of a robot with contacts."
            elif drawing.model is None:
                way = "a robot; pass robot=..."
            raise InputError(f"panel {panel!r} needs {way}")
    return list(panels)


def _chart(drawing: Drawing, panel: str) -> Chart:
    """The lines of all joints, with their limits and the times at which they are violated."""
    trajectory = drawing.trajectory
    x: Array | None = getattr(trajectory, panel)
    if x is None:
        assert drawing.model is not None  # `_panels` has checked it
        x = joint_forces(trajectory, drawing.model)
    names = trajectory.coordinate_names if panel == "q" else trajectory.dof_names
    unit = trajectory.units[panel]
    units, limits = _units(drawing, panel, len(names)), _limits(drawing, panel, len(names))
    flat = x.reshape(len(trajectory), -1, x.shape[-1])
    wanted = trajectory.meta.get("reference")
    lines = [
        Series(
            name, trajectory.t, np.median(flat[:, :, k], axis=1),
            unit=units[k] if units[k] != unit else "", limits=limits[k],
            band=(flat[:, :, k].min(axis=1), flat[:, :, k].max(axis=1)) if x.ndim > 2 else None,
            colour=k if panel == "q" else drawing.colours[k],
            reference=(wanted["t"], wanted["q"][:, k]) if wanted and panel == "q" else None,
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    axes = TIME, Axis(unit)
    return Chart(NAMES[panel], axes, tuple(lines), beyond=_beyond(drawing.report, panel))


def _error_chart(drawing: Drawing, panel: str) -> Chart:
    """The tangent vectors from the reference to the positions, at the samples of the reference."""
    trajectory, model = drawing.trajectory, drawing.model
    assert model is not None  # a simulation has one
    t, wanted = (trajectory.meta["reference"][name] for name in ("t", "q"))
    q = trajectory.q[np.searchsorted(trajectory.t, t)]
    away = np.array([difference(model, a, b) for a, b in zip(wanted, q, strict=True)])
    away[np.abs(away) < ROUNDING] = 0.0
    lines = [
        Series(name, t, away[:, k], colour=drawing.colours[k])
        for k, name in enumerate(model.dof_names)
    ]
    return Chart(ERROR, (TIME, Axis(trajectory.units["q"])), tuple(lines))


def _friction_chart(drawing: Drawing, panel: str) -> Chart:
    """The deflections of bristles over time; of a batch, the median and the range."""
    trajectory = drawing.trajectory
    lines: list[Series] = []
    for k, (name, z) in enumerate(trajectory.meta[panel].items()):
        flat = z.reshape(len(trajectory), -1)
        band = (flat.min(axis=1), flat.max(axis=1)) if z.ndim > 1 else None
        lines.append(Series(name, trajectory.t, np.median(flat, axis=1), band=band, colour=k))
    return Chart(BENT, (TIME, Axis(trajectory.units["q"])), tuple(lines))


def _beyond(report: LimitReport | None, panel: str) -> tuple[tuple[float, float, str], ...] | None:
    if report is None:
        return None
    violations = [v for v in report.violations if v.quantity == CHECKED.get(panel)]
    return tuple((v.start, v.end, v.joint) for v in violations)


def _units(drawing: Drawing, panel: str, count: int) -> list[str]:
    """Unit of each line, where the axis has those of turning and of sliding joints."""
    if drawing.bounds is None:
        return [drawing.trajectory.units[panel]] * count
    sliding = drawing.bounds.sliding.astype(int)
    if panel != "q":
        return [PER[panel][k] for k in sliding]
    units = [""] * count  # entries of quaternions and of followers have no unit of their own here
    for dof, coord in enumerate(drawing.bounds.coords):
        if coord >= 0:
            units[coord] = PER["q"][sliding[dof]]
    return [unit or drawing.trajectory.units["q"] for unit in units]


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


def _energy_chart(drawing: Drawing, panel: str) -> Chart:
    """The energies since the start."""
    balance = energy_balance(drawing.trajectory, drawing.model)
    lines = {
        "kinetic": balance.kinetic,
        "potential, since start": balance.potential - balance.potential[0],
        "work of the joints": balance.work,
        "lost to friction": balance.losses,
        "defect": balance.defect,
    }
    largest = max(float(np.abs(x).max()) for x in lines.values())
    hidden = {"lost to friction": 0.0, "defect": SMALL_DEFECT * largest}
    series = tuple(
        Series(name, balance.t, y, colour=colour)
        for (name, y), colour in zip(lines.items(), ENERGIES, strict=True)
        if name not in hidden or np.abs(y).max() > hidden[name]
    )
    return Chart("energy", (TIME, Axis("J")), series)


def _contact_chart(drawing: Drawing, panel: str) -> Chart:
    """Sizes of the forces of the contacts that ever touch; of a batch the median and the range."""
    t = drawing.trajectory.t
    lines: list[Series] = []
    for k, (name, force) in enumerate(drawing.trajectory.meta["contact_forces"].items()):
        size = np.linalg.norm(np.asarray(force, float), axis=-1).reshape(len(t), -1)
        band = (size.min(axis=1), size.max(axis=1)) if drawing.trajectory.batch_shape else None
        if size.any():
            lines.append(Series(name, t, np.median(size, axis=1), band=band, colour=k))
    return Chart("contact force", (TIME, Axis("N")), tuple(lines))


CHARTS = {
    "energy": _energy_chart,
    "error": _error_chart,
    "contacts": _contact_chart,
    "friction_state": _friction_chart,
}
