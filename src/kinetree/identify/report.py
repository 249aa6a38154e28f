"""The report of an identification as Markdown, with pictures of matplotlib."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.identify.band import in_band
from kinetree.identify.identification import (
    BASE,
    ROBOT,
    Identification,
    base_rows,
    choice_rows,
    described_base,
    unknown_rows,
)
from kinetree.identify.loops import motor_dofs
from kinetree.model.bounds import bounds_of
from kinetree.present.charts import new_figure
from kinetree.present.tables import markdown_table, markdown_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED, PREDICTED, PRIOR = "#9e9e9e", "#1565c0", "#c62828"


@typed
def save_report(found: Identification, folder: str | PathLike[str]) -> Path:
    """Write report.md and its pictures into a folder, which is made if needed.

    Pictures: forces.png, friction.png and parameters.png.

    Args:
        found: the result of `identify`.
        folder: path of the folder.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    plot_forces(found, folder / "forces.png")
    plot_friction(found, folder / "friction.png")
    plot_parameters(found, folder / "parameters.png")
    sections = [
        found.summary().rstrip(),
        "![measured and predicted](forces.png)",
        "## Friction", markdown_table(*choice_rows(found)) if found.choices else "",
        "![friction](friction.png)",
        "## Base parameters", BASE, "![base parameters](parameters.png)",
        markdown_table(*base_rows(found)),
        "## The robot", markdown_text(ROBOT), markdown_table(*unknown_rows(found)),
        "## Notes", "\n".join(f"- {markdown_text(x)}" for x in found.notes) or "None.",
    ]  # fmt: skip
    path = folder / "report.md"
    text = "\n\n".join(x for x in sections if x) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


class FrictionCurve(NamedTuple):
    """Friction of a degree of freedom over its speed: measured, as found and as described.

    Args:
        name: of the degree of freedom.
        unit: of its force, "N m" or "N".
        speed: of measured rows, shape (rows,), rad/s or m/s.
        force: measured force less all predicted ones but friction, shape (rows,), N m or N.
        grid: speeds of the curves, shape (k,), rad/s or m/s.
        found: friction found, shape (k,), N m or N.
        described: friction of the description, shape (k,), N m or N.
    """

    name: str
    unit: str
    speed: Array
    force: Array
    grid: Array
    found: Array
    described: Array


def friction_curves(found: Identification) -> list[FrictionCurve]:
    """Friction of every measured joint over its speed; points are in the band of the fit.

    Args:
        found: the result of `identify`.
    """
    model, data = found.robot.model, found.train.part(slice(0, 20_000))  # enough points
    left = data.tau - found.predict(data, physical=True) + found.robot.friction_forces(data.dq)
    speed, force = in_band(data, data.dq, found.cutoff), in_band(data, left, found.cutoff)
    # fine about zero, where friction changes fastest; friction of a joint has its own rate
    grid = np.abs(speed).max(axis=0) * np.linspace(-1, 1, 201)[:, None] ** 3
    curves = [speed, force, grid, *(x.friction_forces(grid) for x in (found.robot, found.prior))]
    units = np.where(bounds_of(model).sliding, "N", "N m")
    return [
        FrictionCurve(model.dof_names[k], str(units[k]), *(np.asarray(x)[:, k] for x in curves))
        for k in motor_dofs(model)
    ]


@typed
def plot_friction(found: Identification, path: str | PathLike[str] | None = None) -> "Figure":
    """Measured friction of every joint as points, with the curves found and described.

    Args:
        found: the result of `identify`.
        path: file for the figure; None: it is not saved.
    """
    curves = friction_curves(found)
    columns = min(3, len(curves))
    rows = -(-len(curves) // columns)
    fig = new_figure(3.6 * columns, 0.8 + 2.4 * rows)
    axes = np.ravel(fig.subplots(rows, columns, squeeze=False))
    for ax, x in zip(axes, curves, strict=False):
        ax.plot(x.speed, x.force, ".", ms=2, color=MEASURED, label="measured")
        ax.plot(x.grid, x.described, color=PRIOR, lw=1, label="described")
        ax.plot(x.grid, x.found, color=PREDICTED, lw=1.4, label="found")
        ax.set_xlabel("rad/s" if x.unit == "N m" else "m/s", fontsize=8)
        _titled(ax, x.name, x.unit)
    for ax in axes[len(curves) :]:
        ax.set_visible(False)
    return _finished(fig, f"{found.robot.name}: friction", path, axes[0])


@typed
def plot_forces(found: Identification, path: str | PathLike[str] | None = None) -> "Figure":
    """Held-out joint forces: measured, as described, as found, and errors; a matplotlib Figure.

    Args:
        found: the result of `identify`.
        path: file for the figure; None: it is not saved.
    """
    data, motors = found.test, motor_dofs(found.robot.model)
    predicted, error = found.predict(data), found.error()
    described = found.prior.inverse_dynamics(data.q, data.dq, data.ddq)
    sliding = bounds_of(found.robot.model).sliding
    fig = new_figure(10, 1.2 + 1.9 * len(motors))
    axes = fig.subplots(len(motors), 2, sharex=True, squeeze=False, width_ratios=(2, 1))
    some = slice(None, None, max(1, len(data) // 2000))  # points of a curve
    for (left, right), k in zip(axes, motors, strict=True):
        for x, color, width, label in (
            (data.tau, MEASURED, 1.4, "measured"),
            (described, PRIOR, 0.8, "described"),
            (predicted, PREDICTED, 1.0, "found"),
        ):
            left.plot(data.t[some], x[some, k], color=color, lw=width, label=label)
        residual = data.tau[some, k] - predicted[some, k]
        right.plot(data.t[some], residual, ".", ms=1.5, color=MEASURED)
        _titled(left, found.robot.dof_names[k], "N" if sliding[k] else "N m")
        _titled(right, f"error, rms {error[k]:.3g}", "")
    for ax in axes[-1]:
        ax.set_xlabel("t, s", fontsize=8)
    return _finished(fig, f"{found.robot.name}: joint forces on held-out motion", path, axes[0][0])


@typed
def plot_parameters(found: Identification, path: str | PathLike[str] | None = None) -> "Figure":
    """Base parameters with 95% intervals beside those of the description; a matplotlib Figure.

    Each line is scaled by the larger of its value and its error, so that all fit on one axis.

    Args:
        found: the result of `identify`.
        path: file for the figure; None: it is not saved.
    """
    interval, beta, r = found.interval(), found.fit.beta, found.base.r
    described, lacks = described_base(found)
    scale = np.maximum(np.abs(beta), 2 * found.fit.standard_error)
    y = np.arange(r)[::-1]
    fig = new_figure(8, 1.2 + 0.2 * r)
    ax = fig.subplots()
    ax.hlines(y, interval[:, 0] / scale, interval[:, 1] / scale, color=PREDICTED, lw=2)
    ax.plot(beta / scale, y, "o", ms=4, color=PREDICTED, label="identified, with 95% interval")
    shown = np.where(lacks, np.nan, np.clip(described / scale, -2.9, 2.9))
    ax.plot(shown, y, "x", ms=5, color=PRIOR, label="described")
    ax.axvline(0, color=MEASURED, lw=0.8)
    others = np.count_nonzero(found.base.K, axis=1) - 1
    labels = [
        found.params.names[k] + (f" + {more} more" if more else "")
        for k, more in zip(found.base.kept, others, strict=True)
    ]
    ax.set_yticks(y, labels, fontsize=7, parse_math=False)  # names, in which $ is a character
    ax.set_xlim(-3, 3)
    ax.set_ylim(-1, r)
    words = "value over its size (descriptions beyond the edge are drawn at the edge)"
    ax.set_xlabel(words, fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    return _finished(fig, f"{found.robot.name}: base parameters", path, ax)


def _titled(ax: "Axes", title: str, unit: str) -> None:
    ax.set_title(title, loc="left", fontsize=9, parse_math=False)
    ax.set_ylabel(unit, fontsize=8)
    ax.tick_params(labelsize=8)


def _finished(
    fig: "Figure", title: str, path: str | PathLike[str] | None, legend_of: "Axes"
) -> "Figure":
    """The figure under its title, with the legend of some axes, saved if there is a path."""
    fig.suptitle(title, x=0.01, ha="left", fontsize=11, parse_math=False)
    handles, labels = legend_of.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=8, frameon=False)
    if path is not None:
        fig.savefig(path, dpi=110)
    return fig
