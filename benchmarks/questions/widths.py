"""Vector widths: one state in a batch with every family of instructions of this processor.

All widths run in one process on the same states, and their results must have the same bits.
Write a record: `python -m benchmarks.questions.widths > benchmarks/results/DATE-widths.md`.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.machine import describe
from benchmarks.record import busy, cells, table
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import LEAST, VARIABLE, host_target
from kinetree.errors import InputError

WIDTHS = "vector widths"
ROBOTS, QUANTITIES = ("panda", "hand"), ("inverse_dynamics", "forward_dynamics")
COUNT, LIMIT = 512, 500  # states in a call, s for the process with fma in software
OWN, SOFTWARE = "own choice", "fma in software"
# glibc then computes fma in software, as it does on a processor without that instruction
NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"}


def ask(robot: str, effort: Effort) -> Answer:
    """Every width that this processor has, and sse2 with fma in software where that can be had."""
    answer = measured(able(), effort)
    if platform.libc_ver()[0] != "glibc" or "sse2" not in able():
        answer.notes.append(f"{WIDTHS}: {SOFTWARE} is not measured: it needs x86-64 and glibc")
        return answer
    command = [sys.executable, "-m", "benchmarks.questions.widths", SOFTWARE]
    command += [str(max(5, effort.repeats // 15)), str(effort.least)]  # a call takes 0.1 s there
    done = subprocess.run(
        command, env={**os.environ, **NO_FMA}, cwd=Path(__file__).parents[2],
        capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        answer.notes.append(f"{WIDTHS}: {SOFTWARE} is not measured: {last[:200]}")
        return answer
    found = Answer.from_json(json.loads(done.stdout.splitlines()[-1]))
    named = [replace(row, who=f"sse2, {SOFTWARE}") for row in found.rows if row.who == "sse2"]
    place = [(robot, quantity) for robot in ROBOTS for quantity in QUANTITIES]
    answer.rows = sorted(answer.rows + named, key=lambda x: place.index((x.robot, x.quantity)))
    answer.notes += found.notes
    return answer


def able() -> list[str]:
    """Families that this processor has."""
    found: list[str] = []
    for name in LEAST:
        try:
            host_target(name)
        except InputError:
            continue
        found.append(name)
    return found


def measured(names: list[str], effort: Effort) -> Answer:
    """Times of the widths; one with other bits than the first is not timed."""
    answer = Answer()
    with one_core(), kt.kernels.threads(1):
        for robot in ROBOTS:
            for quantity in QUANTITIES:
                of_quantity(answer, robot, quantity, names, effort)
    return answer


def of_quantity(
    answer: Answer, robot: str, quantity: str, names: list[str], effort: Effort
) -> None:
    """One quantity of one robot."""
    n = getattr(kt.robots, robot)().n
    rng = np.random.default_rng(7)
    given = [rng.uniform(-1, 1, (COUNT, n)) for _ in range(3)]
    jobs: dict[str, Job] = {}
    for name in ("", *names):
        with environment({VARIABLE: name}):
            kernel: Any = getattr(kt.robots, robot)().compile(quantity)
            out = kernel(*given)
        label = name or "kinetree"
        values = {"kernel": kernel, "out": out, "given": given}
        jobs[label] = Job("kernel(*given, out=out)", values, lambda out=out: out)
        if jobs[label].result().tobytes() != jobs["kinetree"].result().tobytes():
            answer.notes.append(f"{WIDTHS}: {robot}, {quantity}: {name} has OTHER BITS")
            del jobs[label]
    timings = side_by_side(jobs, effort, COUNT)
    rows = timing_rows(WIDTHS, robot, quantity, timings, COUNT)
    answer.rows += [replace(row, who=OWN if row.who == "kinetree" else row.who) for row in rows]


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def family_lines() -> list[tuple[str, ...]]:
    """What the widths are: states at a time, and who computes fused products."""
    found: list[tuple[str, ...]] = []
    for label, name in ((OWN, None), *((name, name) for name in able())):
        target = host_target(name)
        by = "the processor" if engine.fuses(target) else "the C library"
        found.append((label, target.cpu or "default", str(target.lanes64), by))
    return found


def record(effort: Effort) -> Iterator[str]:
    """The lines of a record in Markdown."""
    about = describe()
    machine = about["machine"]
    answer = ask("", effort)
    different = [note for note in answer.notes if "OTHER BITS" in note]
    yield f"# Vector widths, {about['date'][:10]}"
    yield ""
    yield "Command: `python -m benchmarks.questions.widths`, or as JSON"
    yield "`python -m benchmarks.ask widths`."
    yield ""
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; load "
        f"{machine['load']} before the run. llvmlite {about['versions']['llvmlite']}. "
        f"Commit {about['commit']}."
        + (" The machine was busy: ratios can be quoted, times cannot." if busy(machine) else "")
    )
    yield ""
    yield from table(("width", "processor for LLVM", "states", "fused products"), family_lines())
    yield ""
    yield (
        "Bits: DIFFERENT, see the notes."
        if different
        else f"Bits: all widths computed the same, on {COUNT} states of each quantity."
    )
    yield ""
    yield (
        f"Time of one state in a call with {COUNT}, float64, one thread. Repeats are interleaved "
        "on one core in one process; the best counts, the spread is the median over it. A ratio "
        f"is the time over that of the {OWN} in the same process. Share: how much of the best "
        "repeat the core was its own; below 0.95 ratios are of processor times. "
        f"{SOFTWARE.capitalize()}: glibc was started as on a processor without that instruction, "
        "in a process of its own."
    )
    yield ""
    lines = [(line[1], line[2], *line[3:]) for line in cells(answer.rows)]
    yield from table(("robot", "quantity", "width", "time", "ratio", "spread", "share"), lines)
    if answer.notes:
        yield ""
        yield from (f"- {note}" for note in answer.notes)


def main() -> None:
    """Print a record, or the answer of the process with fma in software."""
    if SOFTWARE in sys.argv:
        effort = Effort(repeats=int(sys.argv[2]), least=float(sys.argv[3]))
        print(json.dumps(measured(["sse2"], effort).to_json()))
        return
    # many short repeats: on a shared machine some of them have the core for themselves
    print("\n".join(record(Effort(repeats=150, least=0.002))))


if __name__ == "__main__":
    main()
