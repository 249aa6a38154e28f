"""Imports: how long `import kinetree` takes, and what it pulls in."""

import json
import subprocess
import sys

from benchmarks.questions.labels import HEAVY
from benchmarks.rows import Answer, Row
from benchmarks.timing import Effort, Timing

KINDS = (
    ("kinetree, NumPy included", "total", "cpu"),
    ("NumPy alone", "numpy", "numpy_cpu"),
)


def ask(robot: str, effort: Effort) -> Answer:
    """Fresh processes; NumPy's share is given apart."""
    command = [sys.executable, "-m", "benchmarks.fresh", "import"]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(effort.processes)
    ]
    rows = []
    for who, key, work in KINDS:
        timing = Timing(tuple(run[key] for run in runs), tuple(run[work] for run in runs))
        rows.append(
            Row(
                question="import",
                robot="",
                quantity="",
                who=who,
                value=timing.best * 1e3,
                unit="ms",
                spread=timing.spread,
                repeats=len(timing.seconds),
                cpu=min(timing.cpu) * 1e3,
                share=timing.share,
            )
        )
    heavy = ", ".join(runs[0]["heavy"]) or "none"
    return Answer(rows, [f"{HEAVY} {heavy}"])
