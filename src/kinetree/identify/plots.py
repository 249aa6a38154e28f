"""Pictures of an identification: measured and predicted joint forces, errors of the parameters."""

from typing import Any

import numpy as np

from kinetree.base.extras import need
from kinetree.identify.identify import Identification

MEASURED, PREDICTED, PRIOR = "#9e9e9e", "#1565c0", "#c62828"
MOST_POINTS = 2000


def plot_forces(found: Identification, path: Any = None) -> Any:
    """Held-out joint forces, measured and predicted, with their difference; a matplotlib Figure."""
    figure = need("matplotlib.figure", "plot", "a plot")
    data, names = found.test, found.robot.model.dof_names
    predicted, error = found.predict(data), found.error()
    fig = figure.Figure(figsize=(10, 1.2 + 1.9 * len(names)), layout="constrained")
    axes = fig.subplots(len(names), 2, sharex=True, squeeze=False, width_ratios=(2, 1))
    some = slice(None, None, max(1, len(data) // MOST_POINTS))
    for k, name in enumerate(names):
        left, right = axes[k]
        left.plot(data.t[some], data.tau[some, k], color=MEASURED, lw=1.4, label="measured")
        left.plot(data.t[some], predicted[some, k], color=PREDICTED, lw=1, label="predicted")
        left.set_title(name, loc="left", fontsize=9, parse_math=False)
        left.set_ylabel("N m or N" if _mixed(found) else "N m", fontsize=8)
        rest = data.tau[some, k] - predicted[some, k]
        right.plot(data.t[some], rest, ".", ms=1.5, color=MEASURED)
        for bound in (-2 * found.fit.sigma[k], 2 * found.fit.sigma[k]):
            right.axhline(bound, color=PREDICTED, lw=0.8, ls="--")
        right.set_title(f"error, rms {error[k]:.3g}; dashed: 2 sigma of the fit", loc="left",
                        fontsize=9)  # fmt: skip
        for ax in (left, right):
            ax.tick_params(labelsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("t, s", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper right", ncols=2, fontsize=8, frameon=False)
    fig.suptitle(f"{found.robot.name}: joint forces on held-out motion", x=0.01, ha="left",
                 fontsize=11, parse_math=False)  # fmt: skip
    if path is not None:
        fig.savefig(path, dpi=110)
    return fig


def plot_parameters(found: Identification, path: Any = None) -> Any:
    """Base parameters with 95% intervals, next to what the description says; a Figure.

    Each line is scaled by the larger of its value and its error, so that all fit on one axis.
    """
    figure = need("matplotlib.figure", "plot", "a plot")
    interval, beta = found.interval(), found.fit.beta
    described = found.base.K @ found.sought.values(found.prior.model)
    scale = np.maximum(np.abs(beta), 2 * found.fit.standard_error)
    y = np.arange(found.base.r)[::-1]
    fig = figure.Figure(figsize=(8, 1.2 + 0.2 * found.base.r), layout="constrained")
    ax = fig.subplots()
    ax.hlines(y, interval[:, 0] / scale, interval[:, 1] / scale, color=PREDICTED, lw=2)
    ax.plot(beta / scale, y, "o", ms=4, color=PREDICTED, label="identified, with 95% interval")
    shown = np.clip(described / scale, -2.9, 2.9)
    ax.plot(shown, y, "x", ms=5, color=PRIOR, label="described")
    ax.axvline(0, color=MEASURED, lw=0.8)
    labels = [found.sought.names[k] + _more(found, j) for j, k in enumerate(found.base.kept)]
    ax.set_yticks(y, labels, fontsize=7, parse_math=False)  # names, in which $ is a character
    ax.set_xlim(-3, 3)
    ax.set_ylim(-1, found.base.r)
    ax.set_xlabel(
        "value over its size (descriptions beyond the edge stand at the edge)", fontsize=8
    )
    ax.tick_params(axis="x", labelsize=8)
    fig.legend(loc="outside upper right", ncols=2, fontsize=8, frameon=False)
    fig.suptitle(f"{found.robot.name}: base parameters", x=0.01, ha="left", fontsize=11,
                 parse_math=False)  # fmt: skip
    if path is not None:
        fig.savefig(path, dpi=110)
    return fig


def _more(found: Identification, k: int) -> str:
    others = int(np.count_nonzero(found.base.K[k])) - 1
    return f" + {others} more" if others else ""


def _mixed(found: Identification) -> bool:
    return "prismatic" in found.robot.model.joint_types
