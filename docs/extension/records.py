"""Curves of dated records in benchmarks/results, for plots of the documentation."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
OURS, THEIRS = "kinetree", "Pinocchio, Python loop"

Curves = dict[str, tuple[np.ndarray, np.ndarray]]


@cache
def newest(pattern: str) -> Any:
    """The newest record whose file name matches."""
    path = max(RESULTS.glob(pattern), key=lambda path: path.name)
    return json.loads(path.read_text(encoding="utf-8"))


def growth(question: str, factor: float, quantity: str = "forward_dynamics") -> Curves:
    """A measurement against the number of joints, by family of mechanisms.

    Times of a core that also had other work are its processor time.
    """
    found: Curves = {}
    for who, words in ((OURS, "{}"), (THEIRS, "{}, Pinocchio")):
        families: dict[str, dict[int, float]] = {}
        for row in newest("*-growth.json")["rows"]:
            if (row["question"], row["quantity"], row["who"]) == (question, quantity, who):
                family, n = row["robot"].split()
                shared = row["share"] is not None and row["share"] < 0.95
                value = row["cpu" if shared else "value"]
                families.setdefault(family, {})[int(n)] = factor * value
        for family, values in families.items():
            joints = np.array(sorted(values))
            found[words.format(family)] = joints, np.array([values[n] for n in joints])
    return found
