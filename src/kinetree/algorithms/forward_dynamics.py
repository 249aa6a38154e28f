"""Forward dynamics: M by composite bodies, factored without fill, and solved for ddq."""

from typing import Any

from kinetree.algorithms.inverse_dynamics import inverse_dynamics
from kinetree.algorithms.mass_matrix import mass_matrix
from kinetree.base.arrays import Array
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.inputs import TipWrench, Wrenches, rates, zeros
from kinetree.spatial.factor import solve


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
