"""Derivatives of the dynamics by kinetree, by Pinocchio in a Python loop, and by CasADi's C.

Results are stacked, (2, N, n, n): by q, then by dq; (3, N, n, n) of the second derivatives of
y . tau: q q, q dq, dq dq. CasADi differentiates the graph of `casadi_dynamics.py`, for inverse
dynamics alone.
"""

import shutil
import subprocess
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent
from benchmarks.peers.labels import CASADI, PYTHON_LOOP
from benchmarks.robots import Arrays, Case, scratch
from benchmarks.timing import Job

ID, FD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"
SECOND = "inverse_dynamics, second derivatives"  # times a vector
LARGE = 20  # joints above which gcc -O3 takes longer than a question may
SECONDS = 200  # for gcc


def kinetree_job(case: Case, quantity: str, states: Arrays) -> dict[str, Job]:
    """One call into arrays that exist."""
    kt.threads(1)
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
        raise Absent("its wheel has no second derivatives")
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
    function = generated(case, quantity)
    count, n = states[0].shape
    mapped = function.map(count)
    buffer, run = mapped.buffer()
    for k, array in enumerate(states):
        buffer.set_arg(k, memoryview(array))
    outs = [np.zeros((count, n, n)) for _ in range(3 if quantity == SECOND else 2)]
    for k, out in enumerate(outs):
        buffer.set_res(k, memoryview(out))

    def result() -> np.ndarray:
        return np.stack(outs).swapaxes(-1, -2)  # CasADi writes columns

    kept = {"buffer": buffer, "states": states}  # the buffer has their addresses only
    return {CASADI: Job("run()", {"run": run, **kept}, result)}


def generated(case: Case, quantity: str) -> Any:
    """d tau/d(q, dq), or the second derivatives of y . tau, in machine code."""
    import casadi

    from benchmarks.peers.casadi_dynamics import Dynamics

    n, name = case.model.n, f"{case.key}_{'second' if quantity == SECOND else ID}"
    if quantity == SECOND and n > LARGE:
        raise Absent("second derivatives of so many joints are not generated")
    q, dq, ddq, y = (casadi.SX.sym(letter, n) for letter in ("q", "dq", "x", "y"))
    robot = Dynamics(case.model, [q[i] for i in range(n)], casadi)
    tau = robot.inverse_dynamics([dq[i] for i in range(n)], [ddq[i] for i in range(n)])
    tau = casadi.vertcat(*tau)
    given = [q, dq, ddq]
    if quantity == SECOND:
        given = [*given, y]
        by_q, by_dq = (casadi.gradient(casadi.dot(y, tau), x) for x in (q, dq))
        blocks = [(by_q, q), (by_q, dq), (by_dq, dq)]
        found = [casadi.densify(casadi.jacobian(slopes, x)) for slopes, x in blocks]
    else:
        found = [casadi.densify(casadi.jacobian(tau, x)) for x in (q, dq)]
    source, library = scratch() / f"{name}.c", scratch() / f"{name}.so"
    generator = casadi.CodeGenerator(source.name)
    generator.add(casadi.Function(name, given, casadi.cse(found)))
    generator.generate(f"{scratch()}/")
    effort = "-O3" if n <= LARGE else "-O1"
    command = ["gcc", effort, "-march=native", "-fPIC", "-shared", str(source)]
    try:
        subprocess.run([*command, "-o", str(library), "-lm"], check=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as problem:
        raise Absent(f"gcc {effort} did not finish within {SECONDS} s") from problem
    return casadi.external(name, str(library))


MAKERS = {"kinetree": kinetree_job, "pinocchio": pinocchio_job, "casadi_c": casadi_job}
