"""Simulation: how long a Runge-Kutta step of one rollout takes, free and controlled."""

from dataclasses import replace

import numpy as np

from benchmarks.peers import Absent
from benchmarks.robots import Case, load
from benchmarks.rows import Answer, timing_rows
from benchmarks.simulation import (
    CONSTANT,
    CONTROLLED,
    LOOP,
    MUJOCO,
    ROLLOUTS,
    STEPS,
    Jobs,
    kinetree_job,
    mujoco_job,
    pinocchio_job,
)
from benchmarks.timing import Effort, Timing, one_core, side_by_side
from kinetree.engine.call.threads import cores

ROBOT = "panda"
AGREEMENT = 1e-7  # a thousand steps of the same method; a rollout may amplify roundings


def ask(robot: str, effort: Effort) -> Answer:
    """A thousand rollouts of a thousand steps, on one core and on all, against the peers."""
    answer = Answer()
    if robot != ROBOT:
        return answer
    case, effort = load(robot), replace(effort, repeats=min(effort.repeats, 5), least=0.01)
    if cores() > 1:  # first: threads that are made on one core stay there
        measure(answer, case, CONSTANT, cores(), f"simulation, all {cores()} cores", effort)
    for quantity in (CONSTANT, CONTROLLED):
        with one_core():
            measure(answer, case, quantity, 1, "simulation", effort)
    return answer


def measure(
    answer: Answer, case: Case, quantity: str, threads: int, question: str, effort: Effort
) -> None:
    """Rows of one kind of simulation, everybody's time for one step of one rollout."""
    jobs: Jobs = {"kinetree": (kinetree_job(case, quantity, threads), ROLLOUTS * STEPS)}
    for who, make in peers(case, quantity, threads).items():
        try:
            job, steps = make()
            check(case, quantity, who, job.result())
            jobs[who] = job, steps
        except (Absent, ImportError) as missing:
            answer.notes.append(f"{question}: {who} is not measured: {missing}")
    found = side_by_side({who: job for who, (job, _) in jobs.items()}, effort)
    timings = {who: per_step(found[who], steps) for who, (_, steps) in jobs.items()}
    answer.rows += timing_rows(question, case.key, quantity, timings, ROLLOUTS)


def peers(case: Case, quantity: str, threads: int) -> dict:
    """MuJoCo's rollout has no place for a controller, so it runs free for both."""
    found = {MUJOCO: lambda: mujoco_job(case, threads)}
    return found if threads > 1 else found | {LOOP: lambda: pinocchio_job(case, quantity)}


def check(case: Case, quantity: str, who: str, found: np.ndarray) -> None:
    """Nobody is timed who ends elsewhere."""
    what = CONSTANT if who == MUJOCO else quantity
    ours = kinetree_job(case, what, 1, len(found)).result()
    error = np.abs(found - ours).max() / np.abs(ours).max()
    if not error < AGREEMENT:
        raise Absent(f"ends {error:.1e} away from kinetree")


def per_step(timing: Timing, steps: int) -> Timing:
    """The same for one step."""
    return Timing(tuple(s / steps for s in timing.seconds), tuple(s / steps for s in timing.cpu))
