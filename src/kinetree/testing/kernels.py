"""Compiled kernels of the robot against the direct evaluation of the same quantity."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.robot import Robot
from kinetree.testing.case import Case, size
from kinetree.testing.check import Check, Measured, inverting, rounding

GROUP = "kernels"


@dataclass(frozen=True)
class Compared:
    """A kernel: its arguments, the size of its terms, and whether it inverts M."""

    arguments: tuple[str, ...]
    scale: Callable[[Case], float]
    inverts: bool = False


def _forces(case: Case) -> float:
    return case.forces


def _pushed(case: Case) -> float:
    return case.forces + case.pushes


KERNELS = {
    "inverse_dynamics": Compared(("q", "dq", "ddq"), _forces),
    "inverse_dynamics with F_ext": Compared(("q", "dq", "ddq", "F_ext"), _pushed),
    "forward_dynamics": Compared(("q", "dq", "tau_alone"), _forces, inverts=True),
    "mass_matrix": Compared(("q",), lambda case: size(case.M)),
    "coriolis_matrix": Compared(
        ("q", "dq"), lambda case: size(case.M) * (case.turning + size(case.dq))
    ),
    "gravity_forces": Compared(("q",), lambda case: case.weights),
    "bias_forces": Compared(("q", "dq"), _forces),
    "body_jacobian": Compared(
        ("q",), lambda case: size(algorithms.body_jacobian(case.model, case.q))
    ),
    "space_jacobian": Compared(
        ("q",), lambda case: size(algorithms.space_jacobian(case.model, case.q))
    ),
    "kinetic_energy": Compared(("q", "dq"), lambda case: size(case.M) * size(case.dq) ** 2),
    "potential_energy": Compared(("q",), lambda case: case.heights),
}


def compared(name: str, case: Case, batches: dict[str, Any]) -> Measured:
    """A kernel at one state, called for it alone and in a batch of all, against the algorithm."""
    quantity, given = name.partition(" ")[0], KERNELS[name]
    arguments = [getattr(case, argument) for argument in given.arguments]
    direct = getattr(algorithms, quantity)(case.model, *arguments)
    alone = getattr(case.robot, quantity)(*arguments)
    if np.shape(alone) != np.shape(direct):
        raise TypeError(f"the kernel gave shape {np.shape(alone)}, expected {np.shape(direct)}")
    together = batches[name][case.index]
    error = max(size(alone - direct), size(together - direct))
    if given.inverts:
        return inverting(case, error)
    return rounding(case, error, given.scale(case))


class Batches(dict[str, Any]):
    """Results of each kernel for all states at once, computed when first asked for."""

    def __init__(self, robot: Robot, cases: list[Case]) -> None:
        super().__init__()
        self.robot, self.cases = robot, cases

    def __missing__(self, name: str) -> Any:
        columns = [
            np.array([getattr(case, argument) for case in self.cases])
            for argument in KERNELS[name].arguments
        ]
        self[name] = getattr(self.robot, name.partition(" ")[0])(*columns)
        return self[name]


def kernel_checks(robot: Robot, cases: list[Case], names: tuple[str, ...]) -> list[Check]:
    """One check for each kernel."""
    batches = Batches(robot, cases)
    return [
        Check(
            GROUP,
            f"robot.{name}",
            partial(compared, name, batches=batches),
            inverts=KERNELS[name].inverts,
        )
        for name in names
    ]
