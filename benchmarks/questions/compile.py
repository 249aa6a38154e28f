"""Compile: how long it takes to have a kernel, cold and from the cache on disk."""

import json
import os
import subprocess
import sys
import tempfile
import time

from benchmarks.questions.labels import COLD, FIRST, READY, WARM
from benchmarks.rows import Answer, Row
from benchmarks.timing import Effort, Timing

QUANTITIES = ("inverse_dynamics", "forward_dynamics")


def ask(robot: str, effort: Effort) -> Answer:
    """Each repeat is a fresh process; the time runs from the model to the first result."""
    answer = Answer()
    with tempfile.TemporaryDirectory(prefix="kinetree-bench-") as folder:
        for question, more in ((COLD, {"KINETREE_CACHE": "0"}), (WARM, {"KINETREE_CACHE": "1"})):
            environment = {**os.environ, "KINETREE_CACHE_DIR": folder, **more}
            for quantity in QUANTITIES:
                for state, ready in ((FIRST, ()), (READY, ("ready",))):
                    if question == WARM:
                        once(environment, robot, quantity, *ready)  # fills the cache
                    timing = repeated(environment, effort, robot, quantity, *ready)
                    answer.rows.append(row(question, robot, quantity, state, timing))
    return answer


def repeated(environment: dict[str, str], effort: Effort, *arguments: str) -> Timing:
    """Fresh processes one after the other, at least three."""
    start, runs = time.perf_counter(), []
    while len(runs) < effort.processes:
        runs.append(once(environment, *arguments))
        if len(runs) >= 3 and time.perf_counter() - start > effort.seconds:
            break
    return Timing(tuple(run["total"] for run in runs), tuple(run["cpu"] for run in runs))


def once(environment: dict[str, str], *arguments: str) -> dict[str, float]:
    """Seconds in one fresh process, by the clock and of work."""
    command = [sys.executable, "-m", "benchmarks.fresh", "compile", *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def row(question: str, robot: str, quantity: str, state: str, timing: Timing) -> Row:
    """Milliseconds."""
    return Row(
        question=question,
        robot=robot,
        quantity=quantity,
        who=state,
        value=timing.best * 1e3,
        unit="ms",
        spread=timing.spread,
        repeats=len(timing.seconds),
        cpu=None if timing.best_cpu is None else timing.best_cpu * 1e3,
        share=timing.share,
    )
