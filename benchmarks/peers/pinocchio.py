"""Pinocchio: from a Python loop, and through its own parallel pool."""

import functools
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks.peers import Absent
from benchmarks.peers.labels import POOL, PYTHON_LOOP
from benchmarks.peers.loops import loop_job, reorder, restore
from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

FUNCTIONS = {"inverse_dynamics": "rnea", "forward_dynamics": "aba", "mass_matrix": "crba"}
POOLED = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}


@functools.cache
def model_of(case: Case) -> tuple[Any, Any, np.ndarray]:
    """Pinocchio's model and data, and the columns of its joints."""
    model = pin.buildModelFromUrdf(case.urdf)
    if model.nv != case.model.n:
        raise Absent(f"reads {model.nv} joints, expected {case.model.n}")
    return model, model.createData(), case.columns(list(model.names)[1:])


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """The loop where one thread is asked for, and the pool where it has the quantity."""
    model, data, columns = model_of(case)
    function = functools.partial(getattr(pin, FUNCTIONS[quantity]), model, data)
    jobs = {}
    if threads == 1:
        jobs[PYTHON_LOOP] = loop_job(function, quantity, states, columns)
    pooled = getattr(pin, POOLED.get(quantity, ""), None)
    if pooled is not None:
        jobs[POOL] = pool_job(pooled, model, quantity, states, columns, threads)
    return jobs


def pool_job(
    pooled: Any, model: Any, quantity: str, states: Arrays, columns: np.ndarray, threads: int
) -> Job:
    """The pool works on (n, N) in Fortran order, which is (N, n) in C order, into an array."""
    pool = pin.ModelPool(model, threads)
    own = [x.T for x in reorder(states, columns)]
    out = np.empty_like(own[0], order="F")
    names = {"run": pooled, "threads": threads, "pool": pool, "out": out}
    names |= dict(zip("abc", own, strict=True))
    return Job("run(threads, pool, a, b, c, out)", names, lambda: restore(out.T, quantity, columns))


def single(case: Case, quantity: str, state: Arrays) -> dict[str, Job]:
    """The plain call."""
    model, data, columns = model_of(case)
    function = getattr(pin, FUNCTIONS[quantity])
    own = reorder(state, columns)
    letters = "abc"[: len(own)]
    names = {"run": function, "model": model, "data": data, **dict(zip("abc", own, strict=False))}

    def result() -> np.ndarray:
        return restore(function(model, data, *own), quantity, columns)

    return {"Pinocchio": Job(f"run(model, data, {', '.join(letters)})", names, result)}
