"""Tensors: what a state takes in a function that JAX maps over a batch and compiles; one core."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import Absent, check
from benchmarks.peers.labels import ADAM, FRAX, JAXSIM
from benchmarks.questions.labels import GRADIENT
from benchmarks.robots import Case, load, states
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side

COUNT = 4096
PEERS = {FRAX: "frax", ADAM: "adam", JAXSIM: "jaxsim"}
QUANTITIES = ("inverse_dynamics", "forward_dynamics")
GRADIENT_OF = "panda"  # to trace and compile the gradients of peers takes half a minute


def ask(robot: str, effort: Effort) -> Answer:
    """jit(vmap(f)) of kinetree and of libraries written in JAX, and jit(vmap(grad(sum of tau)))."""
    answer, case = Answer(), load(robot)
    kt.kernels.threads(1)
    with one_core():
        for quantity in QUANTITIES:
            compare(answer, case, quantity, effort)
        if robot == GRADIENT_OF:
            compare(answer, case, "inverse_dynamics", effort, gradient=True)
    return answer


def compare(
    answer: Answer, case: Case, quantity: str, effort: Effort, *, gradient: bool = False
) -> None:
    """One quantity of everybody who has it, timed side by side."""
    from benchmarks.peers.jax_batch import mapped

    given = states(case, quantity, COUNT)
    name = f"{GRADIENT} of {quantity}" if gradient else quantity
    jobs: dict[str, Job] = {}
    for label, make in {"kinetree": own, **{x: peer(m) for x, m in PEERS.items()}}.items():
        try:
            function, columns = make(case, quantity)
            function = slopes(function, len(given)) if gradient else function
            jobs[label] = mapped(function, quantity, given, columns)
        except ImportError as problem:
            answer.notes.append(f"{label}: not installed ({problem.name or problem})")
        except Absent as reason:
            answer.notes.append(f"{label}: {reason}")
    agreed, notes = check(jobs)
    answer.notes += [f"{name} of {case.key}, {note}" for note in notes]
    timings = side_by_side(agreed, effort, COUNT)
    answer.rows += timing_rows("tensors", case.key, name, timings, COUNT)


def own(case: Case, quantity: str) -> tuple[Callable[..., Any], np.ndarray]:
    """kinetree's kernel, as a function of one state like any other."""
    return getattr(case.robot, quantity), np.arange(case.model.n)


def peer(module: str) -> Callable[[Case, str], tuple[Callable[..., Any], np.ndarray]]:
    """What a peer has, imported when asked for."""

    def function_of(case: Case, quantity: str) -> tuple[Callable[..., Any], np.ndarray]:
        return importlib.import_module(f"benchmarks.peers.{module}").function_of(case, quantity)

    return function_of


def slopes(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """d (sum of the results)/d argument for each argument, (count, n)."""
    import jax

    grad = jax.grad(lambda *x: function(*x).sum(), argnums=tuple(range(count)))
    return lambda *x: jax.numpy.stack(grad(*x))
