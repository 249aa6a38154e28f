"""Throughput: how long a state takes in a batch, on one core."""

from benchmarks.peers import PEERS, batch_jobs
from benchmarks.robots import QUANTITIES, load, states
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, one_core, side_by_side

COUNT = 4096
# adam is measured by the question `tensors`: to trace its functions takes half a minute
NAMES = PEERS


def ask(robot: str, effort: Effort) -> Answer:
    """C-contiguous (4096, n) arrays of float64, one thread, results into an array that exists."""
    answer, case = Answer(), load(robot)
    with one_core():
        for quantity in QUANTITIES:
            jobs, notes = batch_jobs(case, quantity, states(case, quantity, COUNT), 1, NAMES)
            timings = side_by_side(jobs, effort, COUNT)
            answer.rows += timing_rows("throughput", robot, quantity, timings, COUNT)
            answer.notes += notes
    return answer
