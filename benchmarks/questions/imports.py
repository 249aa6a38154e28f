"""Imports: how long `import kinetree` takes, and what it pulls in."""

import json
import subprocess
import sys

from benchmarks.questions.labels import HEAVY
from benchmarks.rows import Answer, Row
from benchmarks.timing import Effort, Timing


def ask(robot: str, effort: Effort) -> Answer:
    """Fresh processes; NumPy's share is given apart."""
    command = [sys.executable, "-m", "benchmarks.fresh", "import"]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(effort.processes)
    ]
    rows = []
    for who, key in (("kinetree, NumPy included", "total"), ("NumPy alone", "numpy")):
        timing = Timing(tuple(run[key] for run in runs))
        rows.append(
            Row("import", "", "", who, timing.best * 1e3, "ms", timing.spread, len(timing.seconds))
        )
    heavy = ", ".join(runs[0]["heavy"]) or "none"
    return Answer(rows, [f"{HEAVY} {heavy}"])
