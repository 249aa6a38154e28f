"""Exported C: inverse dynamics of a Panda for targets, beside the export without a target.

Every function is compiled by gcc, and a loop in C calls it on 256 states that stay in the cache.
Write a record: `python -m benchmarks.questions.exported_c > benchmarks/results/DATE-exported-c.md`.
"""

import ctypes
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import kinetree as kt
from benchmarks.machine import describe
from benchmarks.peers import Absent
from benchmarks.record import busy, cells, table
from benchmarks.rows import Answer, Row, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.engine.export import TARGETS, ExportedCode
from kinetree.engine.export.export import Dtype, TargetName

EXPORTED = "exported C, one state"
ROBOT, QUANTITY, STATES = "panda", "inverse_dynamics", 256
NUMBERS: dict[Dtype, type[np.floating]] = {"float": np.float32, "double": np.float64}
AGREEMENT = {"float": 1e-5, "double": 1e-13}  # of the largest torque of a state
PLAIN, V3 = "-O2", "-O2 -march=x86-64-v3 -ffp-contract=off"
BARE, LIBM = "without a target", "without a target, libm=True"
REQUIRED = 3.0  # of c99 in float beside the export without a target, with -O2 alone
LOOP = """
void f(const {0} *, const {0} *, const {0} *, {0} *);
void run(const {0} *q, const {0} *dq, const {0} *ddq, {0} *tau, long count)
{{
    for (long k = 0; k < count; ++k) {{
        f(q + {1} * k, dq + {1} * k, ddq + {1} * k, tau + {1} * k);
    }}
}}
"""


def ask(robot: str, effort: Effort) -> Answer:
    """All exports in both types; a function that finds other torques is not timed."""
    answer = Answer()
    if shutil.which("gcc") is None:
        answer.notes.append(f"{EXPORTED}: not measured: gcc is not installed")
        return answer
    panda = kt.robots.panda()
    with one_core():
        for dtype in NUMBERS:
            of_flags(answer, panda, dtype, "c99", PLAIN, effort)
            if platform.machine() in ("x86_64", "AMD64"):
                of_flags(answer, panda, dtype, "x86-64-v3", V3, effort)
    return answer


def of_flags(
    answer: Answer, robot: kt.Robot, dtype: Dtype, target: TargetName, flags: str, effort: Effort
) -> None:
    """The target's code with its flags, and the export without a target with the same processor."""
    rng = np.random.default_rng(7)
    given = [rng.uniform(-3, 3, (STATES, robot.n)).astype(NUMBERS[dtype]) for _ in range(3)]
    expected = robot.inverse_dynamics(*[x.astype(float) for x in given])
    code = kt.export(robot, QUANTITY, target=target, dtype=dtype, name="f")
    texts = {
        "kinetree": (code, TARGETS[target].flags),
        BARE: (kt.export(robot, QUANTITY, dtype=dtype, name="f"), flags),
        LIBM: (kt.export(robot, QUANTITY, dtype=dtype, name="f", libm=True), flags),
    }
    jobs: dict[str, Job] = {}
    for who, (text, words) in texts.items():
        try:
            jobs[who] = loop_job(text, words, given)
        except Absent as problem:
            answer.notes.append(f"{EXPORTED}: {who} is not measured: {problem}")
            continue
        error = np.abs(jobs[who].result() - expected).max(1) / np.abs(expected).max(1)
        if not error.max() < AGREEMENT[dtype]:
            answer.notes.append(f"{EXPORTED}: {who} is not measured: {error.max():.1e} away")
            del jobs[who]
    if "kinetree" in jobs:
        found = side_by_side(jobs, effort, STATES)
        found = {f"target {target}" if who == "kinetree" else who: x for who, x in found.items()}
        named = {"kinetree": found[f"target {target}"], **found}
        rows = timing_rows(EXPORTED, ROBOT, f"{dtype}, gcc {flags}", named)
        answer.rows += [row for row in rows if row.who != "kinetree"]


def loop_job(text: str | ExportedCode, flags: str, given: list[np.ndarray]) -> Job:
    """A library of the function and of the loop, each compiled by itself."""
    n = given[0].shape[1]
    kind = "float" if given[0].dtype == np.float32 else "double"
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        if isinstance(text, str):
            (here / "f.c").write_text(text)
        else:
            text.save(here / "f.c")
        (here / "loop.c").write_text(LOOP.format(kind, n))
        files = [str(here / "f.c"), str(here / "loop.c"), "-o", str(here / "f.so"), "-lm"]
        command = ["gcc", *flags.split(), "-shared", "-fPIC", *files]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"gcc failed: {done.stderr[:200]}")
        run = ctypes.CDLL(str(here / "f.so")).run
    tau = np.empty_like(given[0])
    places = [ctypes.c_void_p(x.ctypes.data) for x in (*given, tau)]
    arguments = (*places, ctypes.c_long(len(tau)))

    def result() -> np.ndarray:
        run(*arguments)
        return tau.astype(float)

    return Job("run(*arguments)", {"run": run, "arguments": arguments, "kept": given}, result)


def required(rows: list[Row]) -> str:
    """The sentence on the requirement."""
    found = [row for row in rows if row.quantity == f"float, gcc {PLAIN}" and row.who == BARE]
    if not found or found[0].ratio is None:
        return "The requirement was not measured."
    verdict = "met" if found[0].ratio >= REQUIRED else "NOT met"
    return (
        f"Required: in float with `gcc -O2` alone, the target c99 at least {REQUIRED:g} times as "
        f"fast as the export without a target. Measured: {found[0].ratio:.2f}, {verdict}."
    )


def record(effort: Effort) -> Iterator[str]:
    """The lines of a record in Markdown."""
    about = describe()
    machine = about["machine"]
    answer = ask("", effort)
    yield f"# Exported C for targets, {about['date'][:10]}"
    yield ""
    yield "Command: `python -m benchmarks.questions.exported_c`, or as JSON"
    yield "`python -m benchmarks.ask exported_c`. Inverse dynamics of a Panda, 7 joints."
    yield ""
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; load "
        f"{machine['load']} before the run. gcc {about['versions']['gcc']}. "
        f"Commit {about['commit']}."
        + (" The machine was busy: ratios can be quoted, times cannot." if busy(machine) else "")
    )
    yield ""
    yield required(answer.rows)
    yield ""
    yield (
        f"A loop in C calls the function on {STATES} states; time of one call. Repeats are "
        "interleaved on one core; the best counts, the spread is the median over it. A ratio is "
        "the time over that of the target in the same run. Share: how much of the best repeat "
        "the core was its own; below 0.95 ratios are of processor times. The export without a "
        "target has the bits of the kernel, and so has x86-64-v3; libm has other sines."
    )
    yield ""
    lines = [(line[2], *line[3:]) for line in cells(answer.rows)]
    yield from table(("type and compiler", "export", "time", "ratio", "spread", "share"), lines)
    if answer.notes:
        yield ""
        yield from (f"- {note}" for note in answer.notes)


if __name__ == "__main__":
    # many short repeats: on a shared machine some of them have the core for themselves
    print("\n".join(record(Effort(repeats=200, least=0.002))))
