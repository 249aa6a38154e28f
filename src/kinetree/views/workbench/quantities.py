"""Quantities of a robot for requests: at first from plain functions, later from its kernels.

Compiling all kernels of a robot takes seconds. The functions of `kinetree.algorithms` on numbers
answer within milliseconds, so they are used until a thread has compiled the kernels.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.base.arrays import Array
from kinetree.errors import KinetreeError
from kinetree.kernels.memo import remembered
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.views.loops import closed_rest

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
THREAD = "kinetree workbench compiler"  # name of a thread that compiles
Quantity = Callable[..., Any]

PLAIN: dict[str, Quantity] = {
    "link_poses": algorithms.forward_kinematics,
    "mass_matrix": algorithms.mass_matrix,
    "inverse_dynamics": algorithms.inverse_dynamics,
    "loaded_inverse_dynamics": algorithms.inverse_dynamics,  # with F_ext: another kernel
    "coriolis_forces": algorithms.coriolis_forces,
    "gravity_forces": algorithms.gravity_forces,
    "spring_forces": algorithms.spring_forces,
    "friction_forces": algorithms.friction_forces,
    "kinetic_energy": algorithms.kinetic_energy,
    "potential_energy": algorithms.potential_energy,
    "center_of_mass": algorithms.center_of_mass,
}
PLAIN_CONSTRAINED: dict[str, Quantity] = {
    "constraint_errors": algorithms.constraint_errors,
    "constraint_jacobian": algorithms.constraint_jacobian,
    "constraint_bias": algorithms.constraint_bias,
    "constrained_inverse_dynamics": algorithms.constrained_inverse_dynamics,
    "loaded_constrained_inverse_dynamics": algorithms.constrained_inverse_dynamics,
}


def quantity(robot: Robot, name: str) -> Quantity:
    """A function of a robot: its kernel, or the plain function while there is no kernel yet."""
    found = _ready(robot.model).get(name)
    return found or partial((PLAIN | PLAIN_CONSTRAINED)[name], robot.model)


def _ready(model: Model) -> dict[str, Quantity]:
    """Kernels of a model that are compiled, by the names of PLAIN."""
    return remembered(model, ("workbench", "ready"), dict[str, Quantity])


def compile_in_thread(robot: Robot, closing: threading.Event) -> threading.Thread:
    """Start a thread that compiles the kernels of a robot one after the other.

    closing: set when the workbench ends, after which no more kernels are begun.
    """

    def run() -> None:
        try:
            for name, function in kernels(robot):
                if closing.is_set():
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
    q, zero = closed_rest(robot)[0], np.zeros(robot.n)
    F_ext = np.zeros((len(model.links), 6))
    arguments: dict[str, tuple[Array, ...]] = {
        "friction_forces": (zero,),
        **dict.fromkeys(("inverse_dynamics", "constrained_inverse_dynamics"), (q, zero, zero)),
        "loaded_inverse_dynamics": (q, zero, zero, F_ext),
        "loaded_constrained_inverse_dynamics": (q, zero, zero, F_ext),
        **dict.fromkeys(("coriolis_forces", "kinetic_energy", "constraint_bias"), (q, zero)),
    }
    own = PLAIN | (PLAIN_CONSTRAINED if model.constraints is not None else {})
    for name in own:
        if name == "spring_forces" and not model.springs:
            continue
        if name == "center_of_mass" and not has_mass(model):
            continue

        def called(name: str = name) -> Quantity:
            kernel: Quantity = getattr(robot, name.removeprefix("loaded_"))
            kernel(*arguments.get(name, (q,)))
            return kernel

        yield name, called


def has_mass(model: Model) -> bool:
    """Return True if the robot has a mass at all, and so a centre of mass."""
    return float(algorithms.total_mass(model)) > 0
