"""Growth: time, operations and time to the first answer of mechanisms with 8 to 1,024 joints.

Everything is compared with Pinocchio's `rnea` and `aba` on the same states. A mechanism with n
joints is called "<family> <n>" in the rows; the families are in `benchmarks.mechanisms`.
"""

import functools
import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.fresh import in_a_copy, wake
from benchmarks.mechanisms import SIZES, mechanism
from benchmarks.peers import check
from benchmarks.peers import kinetree as ours
from benchmarks.robots import Arrays, Case, states
from benchmarks.rows import Answer, Row, disturbed, timing_rows
from benchmarks.timing import Effort, Job, Timing, one_core, side_by_side

TIME, OPERATIONS = "growth, a state", "growth, operations"
FIRST, CODE = "growth, first answer", "growth, machine code"
QUANTITIES = ("inverse_dynamics", "forward_dynamics")
MOST = 131_072  # joints of all states of a batch together, which Pinocchio computes in 0.05 s
WAIT = 10.0  # seconds of compiling after which larger mechanisms are left out
LEAN = 128  # joints up to which Pinocchio's whole Data and its pool are used
FROM = 32  # joints from which on growth is judged
LIKE_ALL = (15, 100)  # joints of kernels that are straight-line and loops, as all others are


def ask(family: str, effort: Effort) -> Answer:
    """Every second size and the largest, or all, until a kernel takes over `WAIT` s to compile."""
    os.environ["KINETREE_CACHE"] = "0"  # kernels are compiled, never loaded
    answer = Answer()
    wake()
    for n in LIKE_ALL:
        complete(mechanism(family, n), "forward_dynamics")
    left_out: dict[str, str] = {}
    for n in SIZES if effort.whole else (*SIZES[::2], SIZES[-1]):
        case = mechanism(family, n)
        for quantity in QUANTITIES:
            if quantity not in left_out:
                slow = of_one(answer, case, f"{family} {n}", quantity, effort)
                if slow > WAIT:
                    left_out[quantity] = f"{slow:.0f} s to compile at {n} joints"
    for quantity, reason in left_out.items():
        answer.notes.append(f"growth, {quantity} of {family}: larger ones are left out, {reason}")
    return answer


def of_one(answer: Answer, case: Case, name: str, quantity: str, effort: Effort) -> float:
    """Add the rows of one quantity of one mechanism; return seconds of compiling."""
    n = case.model.n
    first, whole = first_answers(case, quantity, effort)
    answer.rows.append(row(FIRST, name, quantity, first))
    answer.rows.append(row(CODE, name, quantity, whole))
    operations = complete(case, quantity).operations
    answer.rows.append(Row(OPERATIONS, name, quantity, "kinetree", operations, ""))
    count = min(4096, MOST // n)
    batch = states(case, quantity, count)
    with one_core():
        jobs = ours.batch(case, quantity, batch, 1)
        try:
            jobs |= pinocchio_jobs(case, quantity, batch)
        except ImportError as missing:
            answer.notes.append(f"growth: Pinocchio is not installed ({missing.name})")
        agreed, wrong = check(jobs)
        answer.notes += [f"growth, {quantity} of {name}, {note}" for note in wrong]
        fewer = replace(effort, repeats=min(effort.repeats, 5))
        timings = side_by_side(agreed, fewer, count)
    answer.rows += timing_rows(TIME, name, quantity, timings, count)
    return min(whole.best, whole.best_cpu or whole.best)


def pinocchio_jobs(case: Case, quantity: str, batch: Arrays) -> dict[str, Job]:
    """Pinocchio called from Python state by state, and its pool for mechanisms that it can copy."""
    import pinocchio as pin

    from benchmarks.peers import pinocchio as peer
    from benchmarks.peers.labels import PYTHON_LOOP

    if case.model.n <= LEAN:
        return peer.batch(case, quantity, batch, 1)
    model = pin.buildModelFromUrdf(case.urdf)
    function = functools.partial(getattr(pin, peer.FUNCTIONS[quantity]), model, lean_data(model))
    columns = case.columns(list(model.names)[1:])
    return {PYTHON_LOOP: peer.loop_job(function, quantity, batch, columns)}


def lean_data(model: Any) -> Any:
    """Pinocchio's Data with the fields of rnea and aba alone.

    A whole one has four tensors of n x n x n numbers for derivatives, 34 GB at 1,024 joints. Both
    give the same bits in the same time where a whole one fits.
    """
    import pinocchio as pin

    data, pattern = pin.Data(), pin.Data(pin.Model())
    for name in ("v", "a", "a_gf", "f", "h", "liMi", "oMi", "Yaba"):
        getattr(data, name).extend([getattr(pattern, name)[0]] * model.njoints)
    data.joints.extend([joint.createData() for joint in model.joints])
    data.tau, data.ddq = np.zeros(model.nv), np.zeros(model.nv)
    return data


def first_answers(case: Case, quantity: str, effort: Effort) -> tuple[Timing, Timing]:
    """Seconds from the model to the first result, and to machine code.

    Each repeat is a copy of this process, which has imported everything and has built the model,
    and has compiled kernels of other robots. Nothing is compiled in this process meanwhile: it
    waited for the machine code of all its kernels.
    """
    state = states(case, quantity, None)
    found: list[tuple[float, ...]] = []
    begin = time.perf_counter()
    while len(found) < 3 and (not found or time.perf_counter() - begin < effort.seconds):
        found.append(in_a_copy(lambda: answers(case, quantity, state)))
    first, first_cpu, whole, whole_cpu = zip(*found, strict=True)
    return Timing(first, first_cpu), Timing(whole, whole_cpu)


def complete(case: Case, quantity: str) -> Any:
    """The kernel with its own machine code, which may take over after the first answers."""
    return getattr(case.robot, quantity)


def answers(case: Case, quantity: str, state: Arrays) -> tuple[float, ...]:
    """Seconds of the first answer and of machine code, by the clock and of work."""
    start, cpu = time.perf_counter(), time.process_time()
    getattr(case.robot, quantity)(*state)
    first = time.perf_counter() - start, time.process_time() - cpu
    complete(case, quantity)
    return *first, time.perf_counter() - start, time.process_time() - cpu


def row(question: str, name: str, quantity: str, timing: Timing) -> Row:
    """Milliseconds."""
    return Row(
        question=question,
        robot=name,
        quantity=quantity,
        who="kinetree",
        value=timing.best * 1e3,
        unit="ms",
        spread=timing.spread,
        repeats=len(timing.seconds),
        cpu=None if timing.best_cpu is None else timing.best_cpu * 1e3,
        share=timing.share,
    )


def undisturbed(row: Row) -> float:
    """The value of a row: of work on the processor if the core was shared with others."""
    return row.cpu if disturbed(row.share) and row.cpu is not None else row.value


def slope(rows: Sequence[Row], question: str, family: str, quantity: str) -> float | None:
    """Exponent of growth: the slope of log(value) over log(n) from `FROM` joints on.

    Fewer than three sizes give None.
    """
    points = [
        (math.log(n), math.log(undisturbed(row)))
        for row in rows
        for n in SIZES
        if (row.question, row.robot, row.quantity, row.who)
        == (question, f"{family} {n}", quantity, "kinetree")
        and n >= FROM
    ]
    if len(points) < 3:
        return None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0])
