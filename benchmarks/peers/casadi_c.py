"""CasADi: a graph of the same algorithms, generated to C, compiled by gcc, mapped over states."""

import functools
import shutil
import subprocess
import time
from typing import Any

import casadi
import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.casadi_dynamics import Dynamics
from benchmarks.peers.labels import CASADI
from benchmarks.robots import Arrays, Case, scratch
from benchmarks.timing import Job

FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")


@functools.cache
def compiled(case: Case, quantity: str) -> tuple[Any, float]:
    """The function in machine code, and the seconds from the model to it."""
    if shutil.which("gcc") is None:
        raise Absent("no gcc here, so its generated C is not measured")
    start = time.perf_counter()
    name = f"{case.key}_{quantity}"
    source, library = scratch() / f"{name}.c", scratch() / f"{name}.so"
    generator = casadi.CodeGenerator(source.name)
    generator.add(function_of(case, quantity, name))
    generator.generate(f"{scratch()}/")
    subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    return casadi.external(name, str(library)), time.perf_counter() - start


def function_of(case: Case, quantity: str, name: str) -> Any:
    """The graph, with equal subexpressions shared."""
    n = case.model.n
    q, dq, last = (casadi.SX.sym(letter, n) for letter in ("q", "dq", "x"))
    robot = Dynamics(case.model, [q[i] for i in range(n)], casadi)
    if quantity == "mass_matrix":
        M = casadi.SX.zeros(n, n)
        for (i, j), entry in robot.mass_matrix().items():
            M[i, j] = M[j, i] = entry
        return casadi.Function(name, [q], [casadi.cse(M)])
    rates = [dq[i] for i in range(n)]
    given = [last[i] for i in range(n)]
    found = casadi.vertcat(*getattr(robot, quantity)(rates, given))
    return casadi.Function(name, [q, dq, last], [casadi.cse(found)])


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """`Function.map` on buffers: (n, N) in Fortran order, which is (N, n) in C order."""
    count, n = states[0].shape
    function, _ = compiled(case, quantity)
    mapped = function.map(count, "thread", threads) if threads > 1 else function.map(count)
    shape = (count, n, n) if quantity == "mass_matrix" else (count, n)
    return {CASADI: buffered(mapped, states, np.zeros(shape))}


def single(case: Case, quantity: str, state: Arrays) -> dict[str, Job]:
    """One state through buffers, which is far faster than CasADi's plain call."""
    n = case.model.n
    function, _ = compiled(case, quantity)
    out = np.zeros((n, n) if quantity == "mass_matrix" else n)
    return {"CasADi, generated C, buffers": buffered(function, state, out)}


def buffered(function: Any, arrays: Arrays, out: np.ndarray) -> Job:
    """A call that reads and writes arrays in place."""
    buffer, run = function.buffer()
    for k, array in enumerate(arrays):
        buffer.set_arg(k, memoryview(array))
    buffer.set_res(0, memoryview(out))
    return Job("run()", {"run": run, "buffer": buffer}, lambda: out)
