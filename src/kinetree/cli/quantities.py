"""Quantities of a robot for the command line: kernels, or plain algorithms where these are sooner.

A kernel of forward dynamics or C grows with the cube of a chain's length and takes minutes to
compile for a hundred joints, where the algorithm that it comes from takes a blink for a state.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.base.arrays import Array
from kinetree.cli.waiting import compiling, waiting
from kinetree.model import Model
from kinetree.robot import Robot

FOR_ONE, FOR_ROWS = 30, 100  # degrees of freedom up to which one state, or rows, get a kernel
LINEAR = ("inverse_dynamics", "gravity_forces", "coriolis_forces", "friction_forces")

Function = Callable[..., Array]


def function_of(robot: Robot, quantity: str, rows: bool) -> Function:
    """The quantity as a function of (..., n) arrays; `rows`: of many states, else of one."""
    model = robot.model
    if model.n > (FOR_ROWS if rows else FOR_ONE) and not (rows and quantity in LINEAR):
        return partial(_each, _algorithm(model, quantity))
    with waiting(compiling(quantity.replace("_", " "), model)):
        return getattr(robot, quantity)


def _algorithm(model: Model, quantity: str) -> Function:
    """The quantity of one state in plain NumPy; the form whose work grows least."""
    following = any(joint.follows is not None for joint in model.joints)
    if quantity == "forward_dynamics" and not following:
        quantity = "forward_dynamics_by_articulated_bodies"
    return partial(getattr(algorithms, quantity), model)


def _each(function: Function, *state: Any) -> Array:
    """A function of one state, of many."""
    if np.ndim(state[0]) == 1:
        return np.asarray(function(*state), float)
    return np.array([function(*x) for x in zip(*state, strict=True)], float)
