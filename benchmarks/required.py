"""Requirements of the benchmark, as a table, and whether the rows meet them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.peers.derivatives import SECOND
from benchmarks.peers.labels import CASADI, CONSTRAINED, POOL, PYTHON_LOOP, SOLVERS
from benchmarks.questions import (
    constrained,
    optimal,
    step,
)
from benchmarks.questions.labels import COLD, FIRST, FORBIDDEN, HEAVY, READY, WARM
from benchmarks.robots import SOURCES
from benchmarks.rows import Row, disturbed
from benchmarks.simulation import CONSTANT, CONTROLLED, LOOP, MUJOCO

ID, FD, M = "inverse_dynamics", "forward_dynamics", "mass_matrix"
DID, DFD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
AT_LEAST, AT_MOST = ">=", "<="


@dataclass(frozen=True)
class Measured:
    """A number from the rows, and the larger spread of the timings behind it.

    `by_cpu`: other processes used the core, so processor time was used instead.
    """

    value: float
    spread: float
    by_cpu: bool = False


Find = Callable[[Sequence[Row], str], Measured | None]


@dataclass(frozen=True)
class Verdict:
    """One requirement, and what was measured of it."""

    what: str
    robot: str
    required: str
    measured: str
    passed: bool | None  # None: not measured
    spread: float | None = None
    by_cpu: bool = False

    @property
    def word(self) -> str:
        """For the table."""
        word = {True: "pass", False: "SHORT", None: "not measured"}[self.passed]
        return f"{word} (CPU time)" if self.by_cpu else word


def value(question: str, quantity: str, who: str) -> Find:
    """The number of one row."""

    def find(rows: Sequence[Row], robot: str) -> Measured | None:
        row = one(rows, question, robot, quantity, who)
        if row is None:
            return None
        if disturbed(row.share) and row.cpu is not None:
            return Measured(row.cpu, row.spread, by_cpu=True)
        return Measured(row.value, row.spread)

    return find


def faster(question: str, quantity: str, who: str, *, inverse: bool = False) -> Find:
    """How many times as long as kinetree a peer takes; inverse: kinetree's part of its time."""

    def find(rows: Sequence[Row], robot: str) -> Measured | None:
        peer = one(rows, question, robot, quantity, who)
        ours = one(rows, question, robot, quantity, "kinetree")
        if peer is None or ours is None:
            return None
        by_cpu = disturbed(peer.share) or disturbed(ours.share)
        mine, other = (ours.cpu, peer.cpu) if by_cpu else (ours.value, peer.value)
        if mine is None or other is None:
            return None
        ratio = mine / other if inverse else other / mine
        return Measured(ratio, max(peer.spread, ours.spread), by_cpu)

    return find


def one(rows: Iterable[Row], question: str, robot: str, quantity: str, who: str) -> Row | None:
    """The row with these names."""
    key = (question, robot, quantity, who)
    return next((r for r in rows if (r.question, r.robot, r.quantity, r.who) == key), None)


def two_threads(quantity: str) -> Find:
    """How many times as fast two threads are."""

    def find(rows: Sequence[Row], robot: str) -> Measured | None:
        row = one(rows, "threads", robot, quantity, "kinetree, 2 threads")
        return None if row is None or row.ratio is None else Measured(row.ratio, row.spread)

    return find


# title, sense, bounds for panda, ur5, talos, unit, where the number is
REQUIRED: list[tuple[str, str, tuple[float, float, float], str, Find]] = [
    ("inverse dynamics, operations", AT_MOST, (714, 391, 5177), "",
     value("operations", ID, "kinetree")),
    ("inverse dynamics vs Pinocchio's pool, 1 thread", AT_LEAST, (35, 45, 16), "x",
     faster("throughput", ID, POOL)),
    ("forward dynamics vs Pinocchio's pool, 1 thread", AT_LEAST, (35, 50, 15), "x",
     faster("throughput", FD, POOL)),
    ("inverse dynamics vs CasADi-generated C", AT_LEAST, (10, 11, 5), "x",
     faster("throughput", ID, CASADI)),
    ("forward dynamics vs CasADi-generated C", AT_LEAST, (9, 10, 4.5), "x",
     faster("throughput", FD, CASADI)),
    ("mass matrix vs a Python loop over pin.crba", AT_LEAST, (30, 35, 4), "x",
     faster("throughput", M, PYTHON_LOOP)),
    ("one state, time over that of pin.rnea", AT_MOST, (0.35, 0.35, 0.5), "x",
     faster("latency", ID, "Pinocchio", inverse=True)),
    ("one state, time over that of pin.aba", AT_MOST, (0.35, 0.35, 0.5), "x",
     faster("latency", FD, "Pinocchio", inverse=True)),
    ("cold compile, inverse dynamics, LLVM's start included", AT_MOST, (300, 200, 1500), " ms",
     value(COLD, ID, FIRST)),
    ("cold compile, forward dynamics, LLVM's start included", AT_MOST, (400, 300, 4000), " ms",
     value(COLD, FD, FIRST)),
    ("load from disk, inverse dynamics, LLVM running", AT_MOST, (10, 10, 30), " ms",
     value(WARM, ID, READY)),
    ("load from disk, forward dynamics, LLVM running", AT_MOST, (10, 10, 30), " ms",
     value(WARM, FD, READY)),
    ("d tau/d(q, dq) vs a Python loop over Pinocchio's", AT_LEAST, (25, 30, 5), "x",
     faster("derivatives", DID, PYTHON_LOOP)),
    ("d tau/d(q, dq) vs CasADi-generated C", AT_LEAST, (7, 8, 2), "x",
     faster("derivatives", DID, CASADI)),
    ("d ddq/d(q, dq) vs a Python loop over Pinocchio's", AT_LEAST, (20, 20, 5), "x",
     faster("derivatives", DFD, PYTHON_LOOP)),
    ("cold compile, d tau/d(q, dq), LLVM's start included", AT_MOST, (12e3, 12e3, 12e3), " ms",
     value(COLD, DID, FIRST)),
    ("load from disk, d tau/d(q, dq), LLVM running", AT_MOST, (100, 100, 100), " ms",
     value(WARM, DID, READY)),
    ("cold compile, d ddq/d(q, dq), LLVM's start included", AT_MOST, (12e3, 12e3, 12e3), " ms",
     value(COLD, DFD, FIRST)),
    ("load from disk, d ddq/d(q, dq), LLVM running", AT_MOST, (100, 100, 100), " ms",
     value(WARM, DFD, READY)),
    ("two threads over one, inverse dynamics, large batches", AT_LEAST, (1.8, 1.8, 1.8), "x",
     two_threads(ID)),
    ("two threads over one, forward dynamics, large batches", AT_LEAST, (1.8, 1.8, 1.8), "x",
     two_threads(FD)),
]  # fmt: skip
# the same for what is measured with the Panda alone
OF_PANDA: list[tuple[str, str, float, str, Find]] = [
    (f"simulation, {quantity}, vs {who}", AT_LEAST, bound, "x", faster("simulation", quantity, who))
    for quantity in (CONSTANT, CONTROLLED)
    for who, bound in ((MUJOCO, 20), (LOOP, 100))
]
OF_PANDA += [
    (f"one step of one state, {method}, time over that of forward dynamics", AT_MOST, bound, "x",
     faster(step.ONE, method, step.FORWARD, inverse=True))
    for method, bound in ((name, 8 if name == "rk4" else 2) for name in step.SINGLE)
]  # fmt: skip
OF_PANDA += [
    (f"a step of {step.COUNT} states, {method}{servos}, vs {who}", AT_LEAST, bound, "x",
     faster(step.MANY, f"{method}{servos}", who))
    for method in step.METHODS
    for servos in ("", step.SERVOS)
    for who, bound in ((step.LOOP, 40), (step.ROLLOUT, 15))
]  # fmt: skip
# robot, title, sense, bound, unit, where the number is
OF_ONE: list[tuple[str, str, str, float, str, Find]] = [
    (robot, f"{what}, {held}, vs pin.constraintDynamics", AT_LEAST, bound, "x",
     faster(question, f"{constrained.FORWARD}, {held}", CONSTRAINED))
    for robot, cases in constrained.HELD.items()
    for held in cases
    for question, what, bound in (
        (constrained.MANY, f"{constrained.COUNT} states", 20),
        (constrained.ONE, "one state", 3),
    )
]  # fmt: skip
OF_ONE += [
    (robot, f"cold compile, {held}, LLVM's start included", AT_MOST, 20e3, " ms",
     value(COLD, f"{constrained.FORWARD}, {held}", FIRST))
    for robot, cases in constrained.HELD.items()
    for held in cases
]  # fmt: skip
OF_ONE += [
    (robot, f"an iteration of iLQR, N = {optimal.ROBOTS[robot][0]}, vs {who}", AT_LEAST, bound, "x",
     faster(optimal.ITERATION, optimal.horizon(robot), who))
    for robot, bound in (("panda", 8), ("talos", 4))
    for who in SOLVERS
]  # fmt: skip
OF_PANDA += [
    ("an iteration of iLQR, N = 32", AT_MOST, 150e3, " ns",
     value(optimal.ITERATION, optimal.horizon("panda"), "kinetree")),
    (f"an iteration of MPPI, {optimal.RUNS}, vs {optimal.ROLLOUT}", AT_LEAST, 40, "x",
     faster(optimal.SAMPLING, optimal.RUNS, optimal.ROLLOUT)),
    ("a tick of an MPC at 1 kHz, 99.9th percentile", AT_MOST, 500e3, " ns",
     value(optimal.TICKS, optimal.percentile(99.9), "kinetree")),
    ("ticks of an MPC at 1 kHz, missed deadlines", AT_MOST, 0, "",
     value(optimal.TICKS, optimal.LATE, "kinetree")),
]  # fmt: skip
OF_ONE += [
    (robot, "second derivatives of y . tau vs CasADi-generated C", AT_LEAST, 10, "x",
     faster("derivatives", SECOND, CASADI))
    for robot in ("panda", "ur5")
]  # fmt: skip
IMPORT_LIMIT = 250.0


def verdicts(rows: Sequence[Row], notes: Sequence[str]) -> list[Verdict]:
    """Every requirement, in the order of the table."""
    found = []
    for what, sense, bounds, unit, find in REQUIRED:
        for (robot, source), bound in zip(SOURCES.items(), bounds, strict=True):
            found.append(judge(what, source.title, sense, bound, unit, find(rows, robot)))
    for what, sense, bound, unit, find in OF_PANDA:
        measured = find(rows, "panda")
        found.append(judge(what, SOURCES["panda"].title, sense, bound, unit, measured))
    for robot, what, sense, bound, unit, find in OF_ONE:
        title = SOURCES[robot].title if robot in SOURCES else robot
        found.append(judge(what, title, sense, bound, unit, find(rows, robot)))
    whole = value("import", "", "kinetree, NumPy included")(rows, "")
    found.append(judge("import kinetree", "", AT_MOST, IMPORT_LIMIT, " ms", whole))
    found.append(light(notes))
    return found


def judge(
    what: str, robot: str, sense: str, bound: float, unit: str, measured: Measured | None
) -> Verdict:
    """Compare one number with its bound."""
    required = f"{sense} {bound:g}{unit}"
    if measured is None:
        return Verdict(what, robot, required, "", None)
    passed = measured.value >= bound if sense == AT_LEAST else measured.value <= bound
    text = f"{measured.value:.4g}{unit}"
    return Verdict(what, robot, required, text, passed, measured.spread, measured.by_cpu)


def light(notes: Sequence[str]) -> Verdict:
    """True if importing kinetree imports no heavy packages."""
    what, required = "import kinetree imports", f"no {', '.join(FORBIDDEN)}"
    listed = next((note.removeprefix(HEAVY).strip() for note in notes if HEAVY in note), None)
    if listed is None:
        return Verdict(what, "", required, "", None)
    return Verdict(what, "", required, listed, not set(listed.split(", ")) & set(FORBIDDEN))
