"""The report of an identification, as Markdown: errors, parameters, what cannot be found."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.identify.identify import Identification

Table = tuple[list[str], list[list[str]]]  # names of the columns, and rows
BASE = "The combinations of unknowns that joint forces depend on, by least squares alone."
ROBOT = (
    "The most likely robot whose bodies exist, from the data and the description. 'told' is the "
    "share of the description's uncertainty that the data have removed: where it is small, the "
    "value is the description's."
)
ALL = "Nothing: every unknown has its own effect."
POOR = 0.1  # an unknown of which the data remove less of the prior's variance is not identified


def summary(found: Identification) -> str:
    """The report without its pictures."""
    parts = [
        f"# Identification of {plain(found.robot.name)}",
        overview(found),
        "## Joint forces",
        table(*force_rows(found)),
        "## Base parameters",
        BASE,
        table(*base_rows(found)),
        "## The robot",
        ROBOT.replace("'told'", "`told`"),
        table(*unknown_rows(found)),
        "## Not identifiable",
        "\n".join(f"- {plain(line)}" for line in unidentifiable(found)) or ALL,
    ]
    if found.notes:
        parts += ["## Notes", "\n".join(f"- {plain(str(note))}" for note in found.notes)]
    return "\n\n".join(parts) + "\n"


def save_report(found: Identification, folder: Any) -> Path:
    """Write report.md, forces.png and parameters.png into a folder, made if needed."""
    from kinetree.identify.plots import plot_forces, plot_parameters

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    plot_forces(found, folder / "forces.png")
    plot_parameters(found, folder / "parameters.png")
    text = summary(found).replace(
        "## Base parameters", "![measured and predicted](forces.png)\n\n## Base parameters", 1
    )
    text = text.replace("## The robot", "![base parameters](parameters.png)\n\n## The robot", 1)
    path = folder / "report.md"
    path.write_text(text, encoding="utf-8")
    return path


def plain(text: str) -> str:
    """Text with names from files as plain words of Markdown, on one line.

    What could mark up is escaped: code, emphasis, HTML, links, ends of cells. Brackets and
    underscores inside words, as in m[link_1], mark nothing and stay readable.
    """
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+", " ", text)
    text = re.sub(r"([\\`*<>|&#~$])", r"\\\1", text)
    text = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)
    return re.sub(r"\](?=[(:\[])", r"]\\", text)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, padded so that it reads well as text too."""
    rows = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    widths[-1] = len(header[-1])  # what is long stands last
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(x.ljust(width) for x, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def overview(found: Identification) -> str:
    """How much was found, from how much, in a sentence."""
    train, test = found.train, found.test
    held = "the same samples (none held out)" if test is train else f"{len(test)} samples held out"
    return (
        f"{found.base.r} base parameters of {len(found.sought.names)} unknowns, {found.method} "
        f"least squares on {len(train)} samples over {train.t[-1] - train.t[0]:.3g} s; tested on "
        f"{held}. Condition of the regressor: {found.fit.condition:.3g}."
    )


def force_rows(found: Identification) -> Table:
    """Joint forces on held-out motion, and what of them is not explained, joint by joint."""
    test = found.test
    described = found.prior.inverse_dynamics(test.q, test.dq, test.ddq)
    before = np.sqrt(((test.tau - described) ** 2).mean(axis=0))
    size = np.sqrt((test.tau**2).mean(axis=0))
    columns = (
        size, before, found.error(), found.error(physical=False), found.folds.mean(axis=0),
        found.fit.sigma,
    )  # fmt: skip
    header = ["joint", "rms", "error as described", "error of the robot", "error of the base",
              "error, cross-validated", "noise of the fit"]  # fmt: skip
    rows = [
        [name, *(f"{x[k]:.4g}" for x in columns)]
        for k, name in enumerate(found.robot.model.dof_names)
    ]
    return header, rows


def base_rows(found: Identification) -> Table:
    """Base parameters with their errors; the combination, which may be long, stands last."""
    interval, error = found.interval(), found.fit.standard_error
    described = found.base.K @ found.sought.values(found.prior.model)
    rows = []
    for k, at in enumerate(found.base.kept):
        low, high = interval[k]
        rows.append([
            f"{found.fit.beta[k]:.5g}", f"{error[k]:.2g}", f"{low:.5g} to {high:.5g}",
            f"{described[k]:.5g}", found.sought.units[at], found.base.formula(k),
        ])  # fmt: skip
    header = ["value", "std. error", "95% interval", "described", "unit", "combination"]
    return header, rows


def unknown_rows(found: Identification) -> Table:
    """Every unknown of the robot, and how much of it the data told."""
    described, status = found.sought.values(found.prior.model), found.base.status()
    rows = []
    for k, name in enumerate(found.sought.names):
        rows.append([
            name, f"{found.estimate.x[k]:.5g}", f"{found.estimate.deviation[k]:.2g}",
            f"{described[k]:.5g}", f"{found.estimate.learned[k]:.0%}", status[k],
            found.sought.units[k],
        ])  # fmt: skip
    header = ["unknown", "value", "deviation", "described", "told", "by itself", "unit"]
    return header, rows


def unidentifiable(found: Identification) -> list[str]:
    """Sentences on what no motion, or not this one, can tell."""
    status, names = found.base.status(), found.sought.names
    none = [name for name, x in zip(names, status, strict=True) if x == "no effect"]
    still = [name for name in none if name in found.untold]
    silent = [name for name in none if name not in found.untold]
    mixed = [
        name
        for name, x, share in zip(names, status, found.estimate.learned, strict=True)
        if x == "in combination" and share < POOR
    ]
    lines = []
    if silent:
        lines.append(f"No joint force depends on {', '.join(silent)}.")
    if still:
        lines.append(f"In this recording nothing depends on {', '.join(still)}.")
    if mixed:
        lines.append(
            f"Told only in combination with others, and hardly: {', '.join(mixed)}. "
            "Their values are the description's."
        )
    return lines
