"""Latency: how long one state takes from Python, called plainly."""

from benchmarks.peers import single_jobs
from benchmarks.robots import QUANTITIES, load, states
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, one_core, side_by_side

NAMES = ("kinetree", "pinocchio", "casadi_c", "mujoco")


def ask(robot: str, effort: Effort) -> Answer:
    """Arrays of length n in, a new array out."""
    answer, case = Answer(), load(robot)
    with one_core():
        for quantity in QUANTITIES:
            jobs, notes = single_jobs(case, quantity, states(case, quantity, None), NAMES)
            timings = side_by_side(jobs, effort)
            answer.rows += timing_rows("latency", robot, quantity, timings)
            answer.notes += notes
    return answer
