"""Threads: the gain from one to all cores, beside the bandwidth of copies on as many threads.

A large batch reads and writes memory once. Where its bytes per second reach those of a copy on as
many threads (the roof), more cores cannot help. `python -m benchmarks.questions.threads [ROBOT]`
prints a record and draws it in results/<date>-<machine>-threads.svg; it needs no other package, and
no file of a robot for "panda".
"""

import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.machine import describe, slug
from benchmarks.peers import batch_jobs
from benchmarks.peers.kinetree import batch
from benchmarks.record import busy, table, title
from benchmarks.robots import Case, load, states
from benchmarks.rows import Answer, Row, timing_rows
from benchmarks.timing import Effort, Job, Timing, side_by_side
from kinetree.engine.call.threads import cores, run
from kinetree.present.charts import Chart, Series, draw, save

COPY = "copy of memory"
MANY, MOST = 1_000_000, 8_000_000  # states of a batch, and joints of all of them together
COUNT = 65_536  # for the peers, of which some take seconds for a million states
QUANTITIES = ("inverse_dynamics", "forward_dynamics")
RECORDED = (*QUANTITIES, "mass_matrix")
NAMES = ("kinetree", "pinocchio", "casadi_c")
COPIED = 2**25  # numbers of an array that is copied, 256 MB, more than any cache
PIECE = 2**20  # numbers that a thread copies at once: smaller ones wait for Python


def ask(robot: str, effort: Effort) -> Answer:
    """kinetree on 1, 2, 4, ... threads; then everybody with all cores on smaller batches."""
    answer, case = Answer(), load(robot)
    effort = replace(effort, repeats=min(effort.repeats, 10))
    if cores() < 2:
        answer.notes.append("one core, so two threads are not measured")
        return answer
    answer.rows += copies(robot, effort)
    for quantity in QUANTITIES:
        answer.rows += gains(case, quantity, effort)
        few = states(case, quantity, COUNT)
        jobs, notes = batch_jobs(case, quantity, few, cores(), NAMES)
        timings = side_by_side(jobs, effort, COUNT)
        answer.rows += timing_rows(f"all {cores()} cores", robot, quantity, timings, COUNT)
        answer.notes += notes
    return answer


def counts() -> list[int]:
    """Numbers of threads: powers of two, and all cores."""
    return sorted({2**k for k in range(cores().bit_length()) if 2**k <= cores()} | {cores()})


def label(count: int) -> str:
    """A number of threads in words."""
    return f"{count} thread{'s' if count > 1 else ''}"


def gains(case: Case, quantity: str, effort: Effort) -> list[Row]:
    """Rows of a large batch with every number of threads, one after the other."""
    many = min(MANY, MOST // case.model.n)
    (job,) = batch(case, quantity, states(case, quantity, many), 1).values()
    jobs = {
        label(count): Job(
            f"with threads({count}): {job.statement}",
            {**job.names, "threads": kt.kernels.threads},
            job.result,
        )
        for count in counts()
    }
    timings = side_by_side(jobs, effort, many)
    return rows_of(case.key, quantity, timings, many)


def copies(robot: str, effort: Effort) -> list[Row]:
    """Rows of copies, ns for a byte that is read and a byte that is written."""
    source, target = np.ones(COPIED), np.zeros(COPIED)
    pieces = [
        functools.partial(np.copyto, target[k : k + PIECE], source[k : k + PIECE])
        for k in range(0, COPIED, PIECE)
    ]
    names = {"run": run, "pieces": pieces}
    jobs = {label(count): Job(f"run(pieces, {count})", names, lambda: target) for count in counts()}
    timings = side_by_side(jobs, effort, source.nbytes)
    return rows_of(robot, COPY, timings, source.nbytes)


def rows_of(robot: str, quantity: str, timings: dict[str, Timing], n: int) -> list[Row]:
    """One row for each number of threads; the ratio is the gain over one thread."""
    one = timings[label(1)].best
    return [
        Row(
            question="threads",
            robot=robot,
            quantity=quantity,
            who=f"kinetree, {who}" if quantity != COPY else who,
            value=timing.best * 1e9,
            unit="ns",
            spread=timing.spread,
            repeats=len(timing.seconds),
            ratio=one / timing.best,
            n=n,
            share=timing.share,
        )
        for who, timing in timings.items()
    ]


# the record


def bytes_each(quantity: str, n: int) -> int:
    """Bytes that a state reads and writes: 8 for every number in and out."""
    return 8 * (n + n * n if quantity == "mass_matrix" else 4 * n)


def record(case: Case, effort: Effort) -> tuple[list[str], Any]:
    """The lines of a record in Markdown, and its picture."""
    about, n = describe(), case.model.n
    roof = {row.who: 2 / row.value for row in copies(case.key, effort)}  # GB/s
    lines: list[tuple[str, ...]] = []
    curves: dict[str, list[float]] = {f"{COPY}, the roof": list(roof.values())}
    for quantity in RECORDED:
        rows = gains(case, quantity, effort)
        moved = [bytes_each(quantity, n) / row.value for row in rows]
        curves[quantity.replace("_", " ")] = moved
        for row, rate, count in zip(rows, moved, counts(), strict=True):
            share = rate / roof[label(count)]
            words = quantity.replace("_", " "), str(count), f"{1 / row.value:.3f}"
            lines.append((*words, f"{row.ratio:.2f}", f"{rate:.1f}", f"{share:.0%}"))
    return list(written(about, case, roof, lines)), drawn(about, case, curves)


def written(
    about: dict, case: Case, roof: dict[str, float], lines: Sequence[Sequence[str]]
) -> Iterator[str]:
    """The record: the machine, the roof, and every quantity."""
    machine, many = about["machine"], min(MANY, MOST // case.model.n)
    yield f"# Threads, {about['date'][:10]}"
    yield ""
    yield f"Command: `python -m benchmarks.questions.threads {case.key}`. {title(case.key)} joints,"
    yield f"no contact, {many:,} states, C-contiguous (N, n), float64, into arrays that exist."
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; load "
        f"{machine['load']} before the run. Commit {about['commit']}."
        + (" The machine was busy: no figures to quote." if busy(machine) else "")
    )
    yield ""
    yield "The roof is the bandwidth of copies on as many threads, reads and writes counted."
    yield ""
    first = next(iter(roof.values()))
    yield from table(
        ("threads", "copy, GB/s", "gain"),
        [(who.split()[0], f"{x:.1f}", f"{x / first:.2f}") for who, x in roof.items()],
    )
    yield ""
    yield from table(("quantity", "threads", "1e9 states/s", "gain", "GB/s", "of the roof"), lines)


def drawn(about: dict, case: Case, curves: dict[str, list[float]]) -> Any:
    """Bytes per second over the number of threads, with the roof."""
    x = np.array(counts(), float)
    series = tuple(Series(name, x, np.array(y)) for name, y in curves.items())
    head = f"{case.key}, {about['machine']['processor']}, {about['date'][:10]}"
    log, unit = "xy" if len(x) > 3 else "", "GB/s read and written"
    chart = Chart("Memory that a batch moves", unit, series, "threads", log=log, together=True)
    return draw(head, [chart])


def built_in() -> Case:
    """Panda from kinetree itself, for machines without the package of robots."""
    return Case("panda", kt.robots.panda().model, "")


def main() -> None:
    """Print the record, and write the picture beside the other records."""
    from benchmarks.run import RESULTS

    robot = sys.argv[1] if len(sys.argv) > 1 else "panda"
    try:
        case = load(robot)
    except FileNotFoundError:
        case = built_in()
    lines, figure = record(case, Effort())
    print("\n".join(lines))
    save(figure, RESULTS / f"{slug(describe())}-threads.svg")


if __name__ == "__main__":
    main()
