"""A batch for a library that takes one state at a time: a Python loop that fills an array."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.robots import Arrays
from benchmarks.timing import Job


def loop_job(
    function: Callable[..., Any], quantity: str, states: Arrays, columns: np.ndarray
) -> Job:
    """`function` of each state in turn; `columns` are the peer's joints in kinetree's order."""
    own = reorder(states, columns)
    n = len(columns)
    out = np.empty((len(states[0]), *((n, n) if quantity == "mass_matrix" else (n,))))

    def run() -> None:
        for row, *state in zip(out, *own, strict=True):
            row[...] = function(*state)

    return Job("run()", {"run": run}, lambda: restore(out, quantity, columns))


def reorder(states: Arrays, columns: np.ndarray) -> Arrays:
    """The same states in the peer's order of joints, C-contiguous."""
    return tuple(np.ascontiguousarray(x[..., columns]) for x in states)


def restore(found: Any, quantity: str, columns: np.ndarray) -> np.ndarray:
    """A peer's result in kinetree's order of joints; a matrix on both axes."""
    back = np.argsort(columns)
    found = np.asarray(found)[..., back]
    return found[..., back, :] if quantity == "mass_matrix" else found
