"""Second derivatives of inverse dynamics: Panda, a quadruped and Talos beside Pinocchio and CasADi.

`python -m benchmarks.second_order [ROBOT ...]` prints a record of some minutes: g++ takes 50 s for
Pinocchio's headers, gcc up to 60 s for the C of CasADi. All tensors (by q q, q dq, dq dq)
are compared with those of Pinocchio, sums with weights y with CasADi's Hessian of y . tau; a
planner needs the sums alone, for which a user of Pinocchio also computes its tensors. Sparse
results are those without zeros and mirrored halves: Pinocchio's tensors are as they are, and
CasADi's are sparse, too.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.machine import describe
from benchmarks.peers import Absent, check, derivatives, pinocchio_second
from benchmarks.peers.labels import CASADI, CPP
from benchmarks.record import table
from benchmarks.required import AT_LEAST, Measured, Verdict, judge
from benchmarks.robots import OTHERS, SOURCES, Arrays, Case, load
from benchmarks.rows import over
from benchmarks.timing import Effort, Job, Timing, one_core, side_by_side
from kinetree import dynamics

TENSORS, WEIGHTED = "all tensors", "times y"
SPARSE = {TENSORS: "sparse tensors", WEIGHTED: "sparse times y"}
RESULTS = (TENSORS, SPARSE[TENSORS], WEIGHTED, SPARSE[WEIGHTED])
# robot: states in a batch of tensors, whose results (0.7, 1.5 and 22 MB) stay in caches as those
# of Pinocchio do, which has one state at a time
ROBOTS = {"panda": 64, "hyq": 8, "talos": 8}
COUNT = 256  # states in a batch of sums
REQUIRED = 10.0
GCC_SECONDS, GCC_EFFORTS = 60, ("-O3", "-O1")  # the second where the first takes longer
DIRECTIONS = 4  # random motions along which results are compared with fifty digits
FIRST_ANSWER = """
import sys, time
from benchmarks.second_order import case_of, kernel_of, states
case = case_of(sys.argv[1])
x = states(case, sys.argv[2], 1)
wall, work = time.perf_counter(), time.process_time()
kernel_of(case, sys.argv[2])(*x)
print(time.perf_counter() - wall, time.process_time() - work)
"""


def case_of(key: str) -> Case:
    """A robot of the record; those that walk on four legs float."""
    return load(key, floating=key in OTHERS)


def kernel_of(case: Case, what: str) -> kt.kernels.Kernel:
    """All tensors, or their sums with weights."""
    sparse = what in SPARSE.values()
    if is_weighted(what):
        return case.robot.derivative("inverse_dynamics", ["q", "dq"], order=2, sparse=sparse)
    return case.robot.derivative("inverse_dynamics_derivatives", ["q", "dq"], sparse=sparse)


def is_weighted(what: str) -> bool:
    """Return True for sums with weights."""
    return what in (WEIGHTED, SPARSE[WEIGHTED])


def dense(kernel: kt.kernels.Kernel, what: str, out: Any) -> tuple[np.ndarray, ...]:
    """The blocks q q, q dq and dq dq of a result; of tensors, the third is the second turned."""
    blocks: Any = kernel.pattern.dense(out) if what in SPARSE.values() else out
    return blocks if is_weighted(what) else (blocks[0], blocks[1], blocks[3])


def states(case: Case, what: str, count: int) -> Arrays:
    """Positions, rates, accelerations and, for sums, weights."""
    rng = np.random.default_rng(7)
    q = np.array([case.robot.random(rng=rng) for _ in range(count)])
    return q, *rng.normal(size=(3 if is_weighted(what) else 2, count, case.model.n))


def jobs_of(case: Case, what: str, x: Arrays) -> tuple[dict[str, Job], list[str]]:
    """Ours and those of the peers that give the same numbers, and notes on the others."""
    kernel = kernel_of(case, what)
    out = kernel(*x)
    names = {"kernel": kernel, "out": out, "x": x}
    result = Job("kernel(*x, out=out)", names, lambda: np.stack(dense(kernel, what, out)))
    jobs, notes = {"kinetree": result}, []
    second = derivatives.SECOND if what == WEIGHTED else derivatives.SPARSE_SECOND
    for effort in GCC_EFFORTS if is_weighted(what) else ("",):
        try:
            if not is_weighted(what):
                jobs |= pinocchio_second.tensor_jobs(case, x)
            else:
                function = derivatives.generated(case, second, effort, GCC_SECONDS)
                jobs |= derivatives.mapped_job(function, second, x)
            break
        except (Absent, ImportError) as reason:
            notes.append(f"{case.key}, {what}: {reason}")
    agreed, wrong = check(jobs)
    return agreed, notes + [f"{case.key}, {what}, {note}" for note in wrong]


def accuracy(case: Case, what: str) -> float:
    """The largest relative error along random motions, against fifty digits.

    q moves along h v and dq along h u: the second derivative of y . tau by h has all blocks.
    """
    import mpmath

    (q, dq, ddq), kernel = states(case, TENSORS, 1), kernel_of(case, what)
    rng, model = np.random.default_rng(5), case.model.astype(mpmath.mpf)
    errors = []
    for y, v, u in rng.normal(size=(DIRECTIONS, 3, case.model.n)):
        weights = (y[None],) if is_weighted(what) else ()
        blocks = [x[0] for x in dense(kernel, what, kernel(q, dq, ddq, *weights))]
        if not weights:
            blocks = [np.einsum("k,kab->ab", y, x) for x in blocks]
        pairs = ((v, v), (2 * v, u), (u, u))
        found = sum(a @ block @ b for block, (a, b) in zip(blocks, pairs, strict=True))
        with mpmath.workdps(50):
            h = mpmath.mpf(10) ** -14  # of central differences, whose error is h^2
            start = [exact(x[0]) for x in (q, dq, ddq)]

            def power(t: Any, start: Any = start, y: Any = y, v: Any = v, u: Any = u) -> Any:
                place = dynamics.integrate(model, start[0], exact(v) * t)
                rates = start[1] + exact(u) * t
                return exact(y) @ dynamics.inverse_dynamics(model, place, rates, start[2])

            right = float((power(h) - 2 * power(0 * h) + power(-h)) / h**2)
        errors.append(abs(found - right) / abs(right))
    return max(errors)


def exact(x: np.ndarray) -> np.ndarray:
    """The numbers of an array with fifty digits."""
    import mpmath

    return np.array([mpmath.mpf(float(value)) for value in x], dtype=object)


def first_answer(key: str, what: str) -> tuple[float, float]:
    """Seconds from the robot to a first result with nothing on disk: by the clock, of work."""
    environment = {**os.environ, "KINETREE_CACHE": "0"}
    command = [sys.executable, "-c", FIRST_ANSWER, key, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    clock, work = map(float, done.stdout.split())
    return clock, work


def line(
    key: str, what: str, count: int, who: str, timings: Mapping[str, Timing]
) -> tuple[str, ...]:
    """A line of the table."""
    timing = timings[who]
    ratio = over(timing, timings["kinetree"])
    best = timing.best_cpu or timing.best
    return (
        key,
        what,
        f"{count}",
        who,
        f"{best * 1e9:,.0f}",
        f"{ratio:.1f}",
        f"{timing.spread:.2f}",
    )


def main() -> None:
    """Print the record."""
    keys = sys.argv[1:] or list(ROBOTS)
    titles = {key: source.title for key, source in (SOURCES | OTHERS).items()}
    about = describe()
    rows, kernels, verdicts, notes = [], [], list[Verdict](), list[str]()
    with one_core(), kt.kernels.threads(1):
        found: dict[tuple[str, str], Mapping[str, Timing]] = {}
        for key, what in product(keys, RESULTS):
            case, count = case_of(key), COUNT if is_weighted(what) else ROBOTS[key]
            jobs, missing = jobs_of(case, what, states(case, what, count))
            notes += missing
            timings = found[key, what] = side_by_side(jobs, Effort(), count)
            rows += [line(titles[key], what, count, who, timings) for who in timings]
            operations = f"{kernel_of(case, what).graph.operations:,}"
            seconds = [f"{x:.1f}" for x in first_answer(key, what)]
            error = f"{accuracy(case, what):.0e}"
            kernels.append((titles[key], what, operations, error, *seconds))
        for key in keys:
            for what, who, ours in (
                *((what, CASADI if is_weighted(what) else CPP, what) for what in RESULTS),
                (TENSORS, CPP, WEIGHTED),
            ):
                peer, own = found[key, what].get(who), found[key, ours]["kinetree"]
                words = f"{ours} vs {who}" + ("'s tensors" if ours != what else "")
                value = Measured(over(peer, own), max(peer.spread, own.spread)) if peer else None
                verdicts.append(judge(words, titles[key], AT_LEAST, REQUIRED, "x", value))
    machine = about["machine"]
    print(f"{machine['processor']}, load {machine['load']}, commit {about['commit']}\n")
    header = ("robot", "result", "states", "who", "ns a state", "over kinetree", "spread")
    print(*table(header, rows), sep="\n")
    print()
    header = ("", "robot", "required", "measured", "")
    judged = [(v.what, v.robot, v.required, v.measured, v.word) for v in verdicts]
    print(*table(header, judged), sep="\n")
    print()
    waits = ("kernel, s", "work, s", "first answer, s", "work, s")
    header = ("robot", "result", "operations", "relative error", *waits)
    print(*table(header, kernels), sep="\n")
    print(*(f"\n- {note}" for note in notes))


if __name__ == "__main__":
    main()
