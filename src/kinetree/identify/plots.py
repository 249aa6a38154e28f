"""Plots of an identification with matplotlib: friction curves and spectra of errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.present.charts import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED, PREDICTED, PRIOR = "#9e9e9e", "#1565c0", "#c62828"


@dataclass(frozen=True, eq=False)
class FrictionCurve:
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


def plot_friction(
    curves: Sequence[FrictionCurve], title: str, path: str | PathLike[str] | None = None
) -> "Figure":
    """Measured friction of every joint as points, with the curves found and described.

    Args:
        curves: of every joint, from `Identification.friction_curves`.
        title: of the figure.
        path: file for the figure; None: it is not saved.
    """
    columns = min(3, len(curves))
    rows = -(-len(curves) // columns)
    fig = new_figure(3.6 * columns, 0.8 + 2.4 * rows)
    axes = np.ravel(fig.subplots(rows, columns, squeeze=False))
    for ax, x in zip(axes, curves, strict=False):
        ax.plot(x.speed, x.force, ".", ms=2, color=MEASURED, label="measured")
        ax.plot(x.grid, x.described, color=PRIOR, lw=1, label="described")
        ax.plot(x.grid, x.found, color=PREDICTED, lw=1.4, label="found")
        ax.set_title(x.name, loc="left", fontsize=9, parse_math=False)
        ax.set_xlabel("rad/s" if x.unit == "N m" else "m/s", fontsize=8)
        ax.set_ylabel(x.unit, fontsize=8)
        ax.tick_params(labelsize=8)
    for ax in axes[len(curves) :]:
        ax.set_visible(False)
    return finished(fig, title, path, axes[0])


def plot_error_spectrum(
    f: Array,
    density: Array,
    names: Sequence[str],
    title: str,
    path: str | PathLike[str] | None = None,
) -> "Figure":
    """Power density of the errors of every joint; a flat line is white noise.

    Args:
        f: frequencies, shape (k,), Hz.
        density: of the errors, shape (k, n), squared N m or N per Hz.
        names: of the degrees of freedom.
        title: of the figure.
        path: file for the figure; None: it is not saved.
    """
    fig = new_figure(8, 4.5)
    ax = fig.subplots()
    root = np.sqrt(np.maximum(density, const.LOWEST_POWER * density.max(initial=0)))
    for k, name in enumerate(names):
        if np.any(root[:, k]):
            (line,) = ax.semilogy(f, root[:, k], lw=1.2)
            line.set_label(name if not name.startswith("_") else f" {name}")
    ax.set_xlabel("frequency, Hz", fontsize=8)
    ax.set_ylabel("N m or N per √Hz", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.grid(True, alpha=0.3)
    for text in fig.legend(loc="outside right upper", fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)
    return finished(fig, title, path)


def finished(
    fig: "Figure", title: str, path: str | PathLike[str] | None, legend_of: "Axes | None" = None
) -> "Figure":
    """The figure under its title, with the legend of some axes, saved if there is a path."""
    fig.suptitle(title, x=0.01, ha="left", fontsize=11, parse_math=False)
    if legend_of is not None:
        handles, labels = legend_of.get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=8, frameon=False)
    if path is not None:
        fig.savefig(path, dpi=110)
    return fig
