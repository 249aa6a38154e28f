"""Derivatives of the dynamics by kinetree, by Pinocchio in a Python loop, and by CasADi's C.

Results are stacked, (2, N, n, n): by q, then by dq; (3, N, n, n) of the second derivatives of
y . tau: q q, q dq, dq dq. CasADi differentiates the graph of `casadi_dynamics.py`, for inverse
dynamics alone.
"""

import shutil
import subprocess
from resource import RLIMIT_CPU, setrlimit
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.peers.labels import CASADI, PYTHON_LOOP
from benchmarks.robots import Arrays, Case, scratch
from benchmarks.timing import Job

ID, FD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
SECOND = "inverse_dynamics, second derivatives"  # times a vector
SPARSE_SECOND = f"{SECOND}, sparse"  # without zeros, and without the lower halves of q q and dq dq
NAMES = {SECOND: "second", SPARSE_SECOND: "sparse_second"}  # of the files of generated C
LARGE = 20  # joints above which gcc -O3 takes longer than a question may
SECONDS = 200  # for gcc


def kinetree_job(case: Case, quantity: str, states: Arrays) -> dict[str, Job]:
    """One call into arrays that exist."""
    kt.kernels.threads(1)
    if quantity == SECOND:
        kernel = case.robot.derivative("inverse_dynamics", ["q", "dq"], order=2)
    else:
        kernel = getattr(case.robot, quantity)
    out = kernel(*states)
    count = 3 if quantity == SECOND else 2
    names = {"kernel": kernel, "out": out, "states": states}
    return {"kinetree": Job("kernel(*states, out=out)", names, lambda: np.stack(out[:count]))}


def pinocchio_job(case: Case, quantity: str, states: Arrays) -> dict[str, Job]:
    """Each state in turn; the matrices are copied out of Pinocchio's data."""
    import pinocchio as pin

    from benchmarks.peers.loops import reorder
    from benchmarks.peers.pinocchio import model_of

    if quantity == SECOND:
        raise Absent("its Python has no second derivatives")
    model, data, columns = model_of(case)
    function = pin.computeRNEADerivatives if quantity == ID else pin.computeABADerivatives
    fields = ("dtau_dq", "dtau_dv") if quantity == ID else ("ddq_dq", "ddq_dv")
    own = reorder(states, columns)
    n, back = len(columns), np.argsort(columns)
    out = np.empty((2, len(states[0]), n, n))

    def run() -> None:
        by_q, by_dq = out
        for k, state in enumerate(zip(*own, strict=True)):
            function(model, data, *state)
            by_q[k] = getattr(data, fields[0])
            by_dq[k] = getattr(data, fields[1])

    return {PYTHON_LOOP: Job("run()", {"run": run}, lambda: out[..., back][..., back, :])}


def casadi_job(case: Case, quantity: str, states: Arrays) -> dict[str, Job]:
    """The Jacobian of CasADi's graph as C, mapped over the states on buffers."""
    if quantity == FD:
        raise Absent("its derivatives of forward dynamics are not measured")
    if shutil.which("gcc") is None:
        raise Absent("no gcc here, so its generated C is not measured")
    return mapped_job(generated(case, quantity), quantity, states)


def mapped_job(function: Any, quantity: str, states: Arrays) -> dict[str, Job]:
    """The function mapped over the states on buffers."""
    count, n = states[1].shape
    mapped = function.map(count)
    buffer, run = mapped.buffer()
    for k, array in enumerate(states):
        buffer.set_arg(k, memoryview(array))
    patterns = [function.sparsity_out(k) for k in range(function.n_out())]
    outs = [np.zeros((count, pattern.nnz())) for pattern in patterns]
    for k, out in enumerate(outs):
        buffer.set_res(k, memoryview(out))

    def result() -> np.ndarray:
        blocks = np.zeros((len(outs), count, n, n))
        for k, (pattern, out) in enumerate(zip(patterns, outs, strict=True)):
            rows, columns = pattern.get_triplet()
            blocks[k][:, rows, columns] = out
            if quantity == SPARSE_SECOND and k != 1:  # q q and dq dq
                blocks[k][:, columns, rows] = out
        return blocks

    kept = {"buffer": buffer, "states": states}  # the buffer has their addresses only
    return {CASADI: Job("run()", {"run": run, **kept}, result)}


def generated(case: Case, quantity: str, effort: str = "", seconds: int = SECONDS) -> Any:
    """d tau/d(q, dq), or the second derivatives of y . tau, in machine code by gcc.

    effort: an option of gcc for any number of joints. seconds: of work, the most for gcc.
    """
    import casadi

    n, name = case.model.n, f"{case.key}_{NAMES.get(quantity, ID)}"
    if quantity in NAMES and n > LARGE and not effort:
        raise Absent("second derivatives of so many joints are not generated")
    graph = case_graph(case, quantity, name)
    source, library = scratch() / f"{name}.c", scratch() / f"{name}.so"
    generator = casadi.CodeGenerator(source.name)
    generator.add(graph)
    generator.generate(f"{scratch()}/")
    effort = effort or ("-O3" if n <= LARGE else "-O1")
    command = ["gcc", effort, "-march=native", "-fPIC", "-shared", str(source)]
    # a limit on the work also ends the compiler that gcc starts, and a busy machine does not count
    done = subprocess.run(
        [*command, "-o", str(library), "-lm"],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: setrlimit(RLIMIT_CPU, (seconds, seconds)),
    )
    if done.returncode:
        size = f"{source.stat().st_size / 1e6:.1f} MB of C"
        raise Absent(f"gcc {effort} did not finish within {seconds} s of work ({size})")
    return casadi.external(name, str(library))


def case_graph(case: Case, quantity: str, name: str) -> Any:
    """The function of q, dq, ddq and, for second derivatives, y; a free first link has w, x, y, z.

    A free link is turned by small angles; the second derivative by them is taken at zero. Moves of
    it change nothing.
    """
    import casadi

    from benchmarks.peers.casadi_dynamics import Dynamics

    model, n = case.model, case.model.n
    q, angles = casadi.SX.sym("q", model.nq), casadi.SX.sym("angles", 3)
    dq, ddq, y = (casadi.SX.sym(letter, n) for letter in ("dq", "x", "y"))
    free = model.nq > n
    R = (rotation(q[:4]) @ small_rotation(angles)) if free else None
    rows = None if R is None else [[R[i, j] for j in range(3)] for i in range(3)]
    places = [0, *q[7:].elements()] if free else q.elements()
    tau = Dynamics(model, places, casadi, rows).inverse_dynamics(dq.elements(), ddq.elements())
    tau, given = casadi.vertcat(*tau), [q, dq, ddq]
    moves = casadi.vertcat(angles, casadi.SX.sym("moved", 3), q[7:]) if free else q
    if quantity in NAMES:
        given = [*given, y]
        by_q, by_dq = (casadi.gradient(casadi.dot(y, tau), x) for x in (moves, dq))
        blocks = [(by_q, moves), (by_q, dq), (by_dq, dq)]
        found = [casadi.jacobian(slopes, x) for slopes, x in blocks]
    else:
        found = [casadi.jacobian(tau, x) for x in (moves, dq)]
    if free:
        found = casadi.substitute(found, [angles], [casadi.SX.zeros(3)])
    if quantity == SPARSE_SECOND:
        found = [casadi.triu(found[0]), found[1], casadi.triu(found[2])]
        found = [casadi.sparsify(x) for x in found]
    else:
        found = [casadi.densify(x) for x in found]
    return casadi.Function(name, given, casadi.cse(found))


def rotation(x: Any) -> Any:
    """The rotation of a unit quaternion (w, x, y, z)."""
    import casadi

    v = casadi.skew(x[1:])
    return casadi.SX.eye(3) + 2 * x[0] * v + 2 * v @ v


def small_rotation(angles: Any) -> Any:
    """The exponential of a rotation vector, up to the second order."""
    import casadi

    v = casadi.skew(angles)
    return casadi.SX.eye(3) + v + v @ v / 2


MAKERS = {"kinetree": kinetree_job, "pinocchio": pinocchio_job, "casadi_c": casadi_job}
