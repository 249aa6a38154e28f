"""Picture of how cost grows with the number of joints: docs/_made/growth.png.

It is drawn from the newest record of `python -m benchmarks.growth` when the documentation is built
and is never stored.
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_made"
QUANTITY = "forward_dynamics"
OURS, THEIRS = "kinetree", "Pinocchio, Python loop"
PANELS = (
    ("growth, a state", "time a state, microseconds", 1e-3),
    ("growth, operations", "operations a state", 1.0),
    ("growth, first answer", "first answer, s", 1e-3),
)


def newest() -> dict[str, Any]:
    """The newest record."""
    records = (ROOT / "benchmarks" / "results").glob("*-growth.json")
    return json.loads(max(records, key=lambda path: path.name).read_text(encoding="utf-8"))


def points(rows: list[dict[str, Any]], question: str, who: str) -> dict[str, dict[int, float]]:
    """Values by family of mechanisms and number of joints."""
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        if (row["question"], row["quantity"], row["who"]) == (question, QUANTITY, who):
            family, n = row["robot"].split()
            shared = row["share"] is not None and row["share"] < 0.95  # a core with other work
            found.setdefault(family, {})[int(n)] = row["cpu" if shared else "value"]
    return found


def draw(folder: Path = FOLDER) -> None:
    """Write growth.png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = newest()["rows"]
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (question, label, factor) in zip(figure.subplots(1, 3), PANELS, strict=True):
        for k, (family, values) in enumerate(points(rows, question, OURS).items()):
            axes.loglog(*xy(values, factor), f"C{k}o-", ms=3, label=family)
        for k, (family, values) in enumerate(points(rows, question, THEIRS).items()):
            axes.loglog(*xy(values, factor), f"C{k}:", label=f"{family}, Pinocchio")
        axes.set(xlabel="joints", title=label)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=7)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "growth.png", dpi=120)


def xy(values: dict[int, float], factor: float) -> tuple[list[int], list[float]]:
    """Joints in order, and the values in the unit of the panel."""
    joints = sorted(values)
    return joints, [factor * values[n] for n in joints]


if __name__ == "__main__":
    draw()
