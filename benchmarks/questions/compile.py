"""Compile: how long it takes to have a kernel, cold and from the cache on disk."""

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.questions.labels import COLD, FIRST, READY, WARM
from benchmarks.rows import Answer, Row
from benchmarks.timing import Effort, Timing

ONCE = Effort(processes=1)
QUANTITIES = ("inverse_dynamics", "forward_dynamics")


def ask(robot: str, effort: Effort) -> Answer:
    """Each repeat is a fresh copy; the time runs from the model to the first result."""
    answer = Answer()
    with tempfile.TemporaryDirectory(prefix="kinetree-bench-") as folder:
        for question, more in ((COLD, {"KINETREE_CACHE": "0"}), (WARM, {"KINETREE_CACHE": "1"})):
            environment = {**os.environ, "KINETREE_CACHE_DIR": folder, **more}
            for quantity in QUANTITIES:
                for state, ready in ((FIRST, ()), (READY, ("ready",))):
                    if question == WARM and not ready:
                        repeated(environment, ONCE, robot, quantity)  # fills the cache
                    timing = repeated(environment, effort, robot, quantity, *ready)
                    answer.rows.append(row(question, robot, quantity, state, timing))
    return answer


def repeated(environment: dict[str, str], effort: Effort, *arguments: str) -> Timing:
    """Copies of one fresh process, which has imported everything but LLVM and has the robot."""
    limits = str(effort.processes), str(effort.seconds)
    command = [sys.executable, "-m", "benchmarks.fresh", "compile", *limits, *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, work = zip(*json.loads(done.stdout), strict=True)
    return Timing(seconds, work)


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
