"""Forward dynamics three ways: n+1 inverse-dynamics calls, composite bodies, articulated bodies."""

from typing import Any

from kinetree.algorithms.factor import Factor, factor, solve
from kinetree.algorithms.inputs import TipWrench, Wrenches, rates, zeros
from kinetree.algorithms.inverse_dynamics import inverse_dynamics
from kinetree.algorithms.mass_matrix import mass_matrix, mass_matrix_by_inverse_dynamics
from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.model.joint import rate_names


def forward_dynamics(
    model: Model, q: Any, dq: Any, tau: Any, F_ext: Wrenches = None, *, F_tip: TipWrench = None
) -> Array:
    """ddq = M^-1 (tau - h + J^T F_ext), (n,), by composite bodies and a factor without fill.

    Args:
        model: the robot.
        q: joint positions, (nq,), rad or m, or quaternions.
        dq: joint rates, (n,), rad/s or m/s.
        tau: joint forces, (n,), N m or N.
        F_ext, F_tip: as in `inverse_dynamics`.

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    tau = rates(model, tau, "tau")
    h = inverse_dynamics(model, q, dq, zeros(model.n), F_ext, F_tip=F_tip)
    return solve(factor_mass_matrix(model, mass_matrix(model, q)), tau - h)


def forward_dynamics_by_inverse_dynamics(
    model: Model, q: Any, dq: Any, tau: Any, F_ext: Wrenches = None, *, F_tip: TipWrench = None
) -> Array:
    """The book's way: one call for h, n calls for the columns of M, then a solve."""
    tau = rates(model, tau, "tau")
    h = inverse_dynamics(model, q, dq, zeros(model.n), F_ext, F_tip=F_tip)
    return solve(factor_mass_matrix(model, mass_matrix_by_inverse_dynamics(model, q)), tau - h)


def factor_mass_matrix(model: Model, M: Array) -> Factor:
    """M = L^T D L; a joint that moves no inertia is named, and its link."""
    return factor(M, [name for i in model.links for name in inertia_names(model, i)])


def inertia_names(model: Model, i: int) -> list[str]:
    """How messages speak of the rows of M that belong to link i."""
    joint, link = model.joints[i], model.link_names[i]
    own = rate_names(joint) if joint.follows is None else []
    return [f"joint {name!r}, which moves link {link!r}," for name in own]
