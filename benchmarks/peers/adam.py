"""adam on JAX: its mass matrix and bias forces with the base held still, mapped over states."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.jax_batch import jax, mapped
from benchmarks.peers.labels import ADAM
from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

LARGE = 20  # joints


@functools.cache
def computations(case: Case) -> Any:
    """adam's functions of the robot; it takes joints in the order it is given."""
    from adam.jax import KinDynComputations

    gravity = jax.numpy.array([0, 0, -9.81, 0, 0, 0])
    return KinDynComputations(case.urdf, list(case.model.joint_names), gravity=gravity)


def function_of(case: Case, quantity: str) -> tuple[Callable[..., Any], np.ndarray]:
    """A quantity of the arm alone, out of those with a free base, whose entries come first.

    Its order of joints is the one that it is given, kinetree's.
    """
    if case.model.n > LARGE:
        raise Absent(f"left out for {case.key}: XLA compiles its graph for more than a minute")
    robot = computations(case)
    T, V = np.eye(4), np.zeros(6)

    def mass_matrix(q: Any) -> Any:
        return robot.mass_matrix(T, q)[6:, 6:]

    def bias(q: Any, dq: Any) -> Any:
        return robot.bias_force(T, q, V, dq)[6:]

    def inverse_dynamics(q: Any, dq: Any, ddq: Any) -> Any:
        return mass_matrix(q) @ ddq + bias(q, dq)

    def forward_dynamics(q: Any, dq: Any, tau: Any) -> Any:
        factor = jax.scipy.linalg.cho_factor(mass_matrix(q))
        return jax.scipy.linalg.cho_solve(factor, tau - bias(q, dq))

    return locals()[quantity], np.arange(case.model.n)


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """One compiled call on the batch, on the cores that the process may use."""
    if threads > 1:
        raise Absent("measured on one core alone")
    function, columns = function_of(case, quantity)
    return {ADAM: mapped(function, quantity, states, columns)}
