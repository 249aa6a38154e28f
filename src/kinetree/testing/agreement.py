"""Different roads to one quantity: four formulations, three mass matrices, three inversions."""

from collections.abc import Callable

from kinetree import algorithms
from kinetree.base.arrays import Array
from kinetree.testing.case import Case, size
from kinetree.testing.check import Check, Measured, NotApplicable, inverting, rounding

GROUP = "agreement"


def formulation(name: str) -> Callable[[Case], Measured]:
    """tau of a formulation against that of the screw recursion, wrenches included."""

    def measure(case: Case) -> Measured:
        tau = algorithms.inverse_dynamics(
            case.model, case.q, case.dq, case.ddq, case.F_ext, formulation=name
        )
        return rounding(case, tau - case.tau, case.forces + case.pushes)

    return measure


def mass_matrix(way: str) -> Callable[[Case], Measured]:
    """M of another way against composite bodies."""

    def measure(case: Case) -> Measured:
        M = getattr(algorithms, way)(case.model, case.q)
        return rounding(case, M - case.M, size(case.M))

    return measure


def inversion(way: str, *, mimics: bool) -> Callable[[Case], Measured]:
    """ddq of another way against composite bodies; `mimics` when it can follow mimic joints."""

    def measure(case: Case) -> Measured:
        followers = [joint.name for joint in case.model.joints if joint.follows is not None]
        if followers and not mimics:
            raise NotApplicable(f"joint {followers[0]!r} mimics another, which this way cannot do")
        ddq = _accelerations(case, way) - _accelerations(case, "forward_dynamics")
        return inverting(case, ddq)

    return measure


def _accelerations(case: Case, way: str) -> Array:
    return getattr(algorithms, way)(case.model, case.q, case.dq, case.tau, case.F_ext)


AGREEMENT = [
    *(
        Check(GROUP, f"tau: {name} formulation = screw", formulation(name))
        for name in algorithms.FORMULATIONS
        if name != "screw"
    ),
    Check(GROUP, "M: Jacobians = composite bodies", mass_matrix("mass_matrix_by_jacobians")),
    Check(
        GROUP,
        "M: inverse dynamics = composite bodies",
        mass_matrix("mass_matrix_by_inverse_dynamics"),
    ),
    Check(
        GROUP,
        "ddq: inverse dynamics = composite bodies",
        inversion("forward_dynamics_by_inverse_dynamics", mimics=True),
        inverts=True,
    ),
    Check(
        GROUP,
        "ddq: articulated bodies = composite bodies",
        inversion("forward_dynamics_by_articulated_bodies", mimics=False),
        inverts=True,
    ),
]
