"""Quantities of a robot for requests: at first from plain functions, later from its kernels.

Compiling all kernels of a robot takes seconds. The functions of `kinetree.dynamics` on numbers
answer within milliseconds, so they are used until a thread has compiled the kernels.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import KinetreeError
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.views.loops import closed_rest

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
THREAD = "kinetree workbench compiler"  # name of a thread that compiles
Quantity = Callable[..., Any]

NAMES = (
    "link_poses", "mass_matrix", "inverse_dynamics", "coriolis_forces", "gravity_forces",
    "spring_forces", "friction_forces", "kinetic_energy", "potential_energy", "center_of_mass",
)  # fmt: skip
CONSTRAINED_NAMES = (
    "constraint_errors", "constraint_jacobian", "constraint_bias", "constrained_inverse_dynamics",
)  # fmt: skip
# degrees of freedom, and links: for a chain of 200 the matrices and ellipsoids of the readings take
# 2 to 4 s in plain functions, for one of 1500 many minutes
MAX_FULL = 200
LOADED = "loaded_"  # begins the name of a kernel with F_ext, which is another one


def quantity(robot: Robot, name: str) -> Quantity:
    """A function of a robot: its kernel, or the plain function while there is no kernel yet."""
    kernel = _ready(robot.model).get(name)
    return kernel or partial(getattr(dynamics, name.removeprefix(LOADED)), robot.model)


def _ready(model: Model) -> dict[str, Quantity]:
    """Kernels of a model that are compiled, by name."""
    return remembered(model, ("workbench", "ready"), dict[str, Quantity])


def compile_in_thread(robot: Robot, ended: Callable[[], bool]) -> threading.Thread:
    """Start a thread that compiles the kernels of a robot one after the other.

    ended: whether the workbench has ended or the robot is not open any more, after which no more
    kernels are begun.
    """

    def run() -> None:
        try:
            for name, function in kernels(robot):
                if ended():
                    return
                _ready(robot.model)[name] = function()
        except KinetreeError:  # the plain functions go on answering, and name the problem
            log.exception("A kernel of %r could not be compiled.", robot.name)

    thread = threading.Thread(target=run, name=THREAD, daemon=True)
    thread.start()
    return thread


def kernels(robot: Robot) -> Iterator[tuple[str, Callable[[], Quantity]]]:
    """Names of all quantities of a robot, and functions that compile and call their kernels."""
    model = robot.model
    if not robot.n:  # there is no kernel for a robot that cannot move
        return
    rates = dict.fromkeys(("dq", "ddq"), np.zeros(robot.n))
    state: dict[str, Array] = {"q": closed_rest(robot)[0], **rates}
    F_ext = np.zeros((len(model.links), 6))
    names = NAMES + (CONSTRAINED_NAMES if model.constraints is not None else ())
    for name in names:
        if name == "spring_forces" and not model.springs:
            continue
        if name == "center_of_mass" and not has_mass(model):
            continue
        arguments = [state[x] for x in DECLARED[name].inputs]
        yield name, partial(_called, robot, name, *arguments)
        if name.endswith("inverse_dynamics"):
            yield LOADED + name, partial(_called, robot, name, *arguments, F_ext)


def _called(robot: Robot, name: str, *arguments: Array) -> Quantity:
    """The kernel of a quantity, after a first call, which compiles it."""
    kernel: Quantity = robot.compile(name)
    kernel(*arguments)
    return kernel


def is_large(model: Model) -> bool:
    """Return True if only quantities whose work grows with n, not n^2 or n^3, are computed."""
    return max(model.n, len(model.links)) > MAX_FULL


def has_mass(model: Model) -> bool:
    """Return True if the robot has a mass at all, and so a centre of mass."""
    return float(dynamics.total_mass(model)) > 0
