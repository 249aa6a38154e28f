"""frax on JAX: its recursions, mapped over states."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import Absent
from benchmarks.peers.jax_batch import jax, mapped
from benchmarks.peers.labels import FRAX
from benchmarks.robots import Arrays, Case
from benchmarks.timing import Job

UP = (0.0, 0.0, 9.81, 0.0, 0.0, 0.0)  # linear first


@functools.cache
def robot_of(case: Case) -> tuple[Any, np.ndarray]:
    """frax's robot and the columns of its joints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on settings for single calls
        import frax
    robot = frax.Robot(case.urdf)
    return robot, case.columns(robot.joint_names)


def function_of(case: Case, quantity: str) -> tuple[Callable[..., Any], np.ndarray]:
    """A quantity of one state, and the columns of its joints."""
    robot, columns = robot_of(case)
    functions = {
        "inverse_dynamics": lambda q, dq, ddq: robot.rnea(q, dq, ddq, jax.numpy.array(UP), None),
        "forward_dynamics": lambda q, dq, tau: robot.forward_dynamics(q, dq, tau, None),
        "mass_matrix": robot.crba,
    }
    return functions[quantity], columns


def batch(case: Case, quantity: str, states: Arrays, threads: int) -> dict[str, Job]:
    """One compiled call on the batch, on the cores that the process may use."""
    if threads > 1:
        raise Absent("measured on one core alone")
    function, columns = function_of(case, quantity)
    return {FRAX: mapped(function, quantity, states, columns)}
