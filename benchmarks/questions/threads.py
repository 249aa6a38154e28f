"""Threads: what two threads, and all cores, give over one."""

from dataclasses import replace

import kinetree as kt
from benchmarks.peers import batch_jobs
from benchmarks.peers.kinetree import batch
from benchmarks.robots import load, states
from benchmarks.rows import Answer, Row, timing_rows
from benchmarks.timing import Effort, Job, side_by_side
from kinetree.engine.call.threads import cores

MANY = 1_000_000
COUNT = 65_536  # for the peers, of which some take seconds for a million states
QUANTITIES = ("inverse_dynamics", "forward_dynamics")
NAMES = ("kinetree", "pinocchio", "casadi_c")


def ask(robot: str, effort: Effort) -> Answer:
    """kinetree with one and two threads on a million states; everybody with all cores."""
    answer, case = Answer(), load(robot)
    effort = replace(effort, repeats=min(effort.repeats, 30))
    if cores() < 2:
        answer.notes.append("one core, so two threads are not measured")
        return answer
    for quantity in QUANTITIES:
        answer.rows += two_threads(case, quantity, effort)
        few = states(case, quantity, COUNT)
        jobs, notes = batch_jobs(case, quantity, few, cores(), NAMES)
        timings = side_by_side(jobs, effort, COUNT)
        answer.rows += timing_rows(f"all {cores()} cores", robot, quantity, timings, COUNT)
        answer.notes += notes
    return answer


def two_threads(case, quantity: str, effort: Effort) -> list[Row]:
    """Seconds of a million states with one and with two threads, one after the other."""
    many = states(case, quantity, MANY)
    (job,) = batch(case, quantity, many, 1).values()
    jobs = {
        f"{count} thread{'s' if count > 1 else ''}": Job(
            f"with threads({count}): {job.statement}",
            {**job.names, "threads": kt.threads},
            job.result,
        )
        for count in (1, 2)
    }
    timings = side_by_side(jobs, effort, MANY)
    one = timings["1 thread"].best
    return [
        Row(
            question="threads",
            robot=case.key,
            quantity=quantity,
            who=f"kinetree, {who}",
            value=timing.best * 1e9,
            unit="ns",
            spread=timing.spread,
            repeats=len(timing.seconds),
            ratio=one / timing.best,
            n=MANY,
            share=timing.share,
        )
        for who, timing in timings.items()
    ]
