"""Derivatives: what a state takes in a batch of 256 on one core, and what the kernel costs."""

import os
import tempfile

from benchmarks.peers import Absent, check
from benchmarks.peers.derivatives import FD, ID, MAKERS, SECOND
from benchmarks.questions.compile import ONCE, repeated, row
from benchmarks.questions.labels import COLD, FIRST, READY, WARM
from benchmarks.robots import load, states
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side

COUNT = 256


def ask(robot: str, effort: Effort) -> Answer:
    """d tau, d ddq and the second derivatives of y . tau; then the first two in new processes."""
    answer, case = Answer(), load(robot)
    with one_core():
        for quantity in (ID, FD, SECOND):
            jobs: dict[str, Job] = {}
            for name, make in MAKERS.items():
                try:
                    given = states(case, quantity, COUNT)
                    given += (given[2][::-1].copy(),) if quantity == SECOND else ()
                    jobs |= make(case, quantity, given)
                except ImportError as problem:
                    answer.notes.append(f"{name}: not installed ({problem.name or problem})")
                except Absent as reason:
                    answer.notes.append(f"{name}: {reason}")
            if not jobs:
                continue
            agreed, notes = check(jobs)
            answer.notes += [f"{quantity} of {robot}, {note}" for note in notes]
            timings = side_by_side(agreed, effort, COUNT)
            answer.rows += timing_rows("derivatives", robot, quantity, timings, COUNT)
    compiling(answer, robot, effort)
    return answer


def compiling(answer: Answer, robot: str, effort: Effort) -> None:
    """From the model to the first result: with nothing on disk, and with everything."""
    with tempfile.TemporaryDirectory(prefix="kinetree-bench-") as folder:
        known = {**os.environ, "KINETREE_CACHE_DIR": folder, "KINETREE_CACHE": "1"}
        for quantity in (ID, FD):
            timing = repeated({**known, "KINETREE_CACHE": "0"}, effort, robot, quantity)
            answer.rows.append(row(COLD, robot, quantity, FIRST, timing))
            repeated(known, ONCE, robot, quantity, "ready")
            timing = repeated(known, effort, robot, quantity, "ready")
            answer.rows.append(row(WARM, robot, quantity, READY, timing))
