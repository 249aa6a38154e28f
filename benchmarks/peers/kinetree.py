"""kinetree itself: the kernel called as users call it."""

import numpy as np

import kinetree as kt
from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

LABEL = "kinetree"


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """One call on (N, n) arrays, into an array that exists."""
    kt.kernels.threads(threads)
    kernel = getattr(case.robot, quantity)
    out = np.empty_like(kernel(*states))
    return {LABEL: Job(statement(states, ", out=out"), names(kernel, states, out), lambda: out)}


def single(case: Case, quantity: str, state: Arrays) -> dict[str, Job]:
    """The plain call: arrays in, a new array out."""
    kernel = getattr(case.robot, quantity)
    return {LABEL: Job(statement(state), names(kernel, state, None), lambda: kernel(*state))}


def statement(arrays: Arrays, more: str = "") -> str:
    """The call as a user writes it."""
    return f"kernel({', '.join('abc'[: len(arrays)])}{more})"


def names(kernel: object, arrays: Arrays, out: object) -> dict[str, object]:
    """What the statement names."""
    return {"kernel": kernel, "out": out, **dict(zip("abc", arrays, strict=False))}
