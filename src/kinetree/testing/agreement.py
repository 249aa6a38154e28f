"""Agreement of several ways to one quantity: formulations, algorithms and compiled kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kinetree import algorithms
from kinetree.base.arrays import Array
from kinetree.robot import Robot
from kinetree.testing.case import Case, size
from kinetree.testing.check import Check, Measured, NotApplicable, inverting, rounding

AGREEMENT_GROUP, KERNEL_GROUP = "agreement", "kernels"


def formulation(name: str) -> Callable[[Case], Measured]:
    """Compare tau of a formulation of the book with that of the Tree, under wrenches."""

    def measure(case: Case) -> Measured:
        tau = algorithms.inverse_dynamics(
            case.model, case.q, case.dq, case.ddq, case.F_ext, formulation=name
        )
        return rounding(case, tau - case.tau, case.forces + case.pushes)

    return measure


def mass_matrix(way: str) -> Callable[[Case], Measured]:
    """Compare M of another algorithm with that of composite bodies."""

    def measure(case: Case) -> Measured:
        M = getattr(algorithms, way)(case.model, case.q)
        return rounding(case, M - case.M, size(case.M))

    return measure


def inversion(way: str, *, mimics: bool) -> Callable[[Case], Measured]:
    """Compare ddq of another algorithm with that of composite bodies.

    mimics: True if the algorithm supports joints that follow others.
    """

    def accelerations(case: Case, name: str) -> Array:
        return getattr(algorithms, name)(case.model, case.q, case.dq, case.tau, case.F_ext)

    def measure(case: Case) -> Measured:
        followers = [joint.name for joint in case.model.joints if joint.follows is not None]
        if followers and not mimics:
            raise NotApplicable(
                f"joint {followers[0]!r} follows another, which this algorithm does not support"
            )
        return inverting(case, accelerations(case, way) - accelerations(case, "forward_dynamics"))

    return measure


AGREEMENT = [
    *(
        Check(AGREEMENT_GROUP, f"tau: {name} formulation = Tree", formulation(name))
        for name in algorithms.FORMULATIONS
    ),
    Check(
        AGREEMENT_GROUP,
        "M: Jacobians = composite bodies",
        mass_matrix("mass_matrix_by_jacobians"),
    ),
    Check(
        AGREEMENT_GROUP,
        "M: inverse dynamics = composite bodies",
        mass_matrix("mass_matrix_by_inverse_dynamics"),
    ),
    Check(
        AGREEMENT_GROUP,
        "ddq: inverse dynamics = composite bodies",
        inversion("forward_dynamics_by_inverse_dynamics", mimics=True),
        inverts=True,
    ),
    Check(
        AGREEMENT_GROUP,
        "ddq: articulated bodies = composite bodies",
        inversion("forward_dynamics_by_articulated_bodies", mimics=False),
        inverts=True,
    ),
]


@dataclass(frozen=True)
class Compared:
    """A kernel: its arguments, the size of its terms, and True if it inverts M."""

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
    "spring_forces": Compared(("q",), lambda case: size(case.joint_springs)),
    "body_jacobian": Compared(
        ("q",), lambda case: size(algorithms.body_jacobian(case.model, case.q))
    ),
    "space_jacobian": Compared(
        ("q",), lambda case: size(algorithms.space_jacobian(case.model, case.q))
    ),
    "kinetic_energy": Compared(("q", "dq"), lambda case: size(case.M) * size(case.dq) ** 2),
    "potential_energy": Compared(("q",), lambda case: case.heights),
}


def kernel_checks(robot: Robot, cases: Sequence[Case], names: Sequence[str]) -> list[Check]:
    """One check for each kernel of KERNELS in `names`."""
    batches = _Batches(robot, cases)
    return [
        Check(
            KERNEL_GROUP,
            f"robot.{name}",
            partial(_compared, name, batches),
            inverts=KERNELS[name].inverts,
        )
        for name in names
    ]


def _compared(name: str, batches: "_Batches", case: Case) -> Measured:
    """Compare a kernel at one state, called alone and in a batch, with the direct evaluation."""
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


class _Batches(dict[str, Array]):
    """Results of each kernel for all states at once, computed when they are first needed."""

    def __init__(self, robot: Robot, cases: Sequence[Case]) -> None:
        super().__init__()
        self.robot, self.cases = robot, cases

    def __missing__(self, name: str) -> Array:
        columns = [
            np.array([getattr(case, argument) for case in self.cases])
            for argument in KERNELS[name].arguments
        ]
        self[name] = getattr(self.robot, name.partition(" ")[0])(*columns)
        return self[name]
