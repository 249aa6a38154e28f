"""Inverse dynamics: joint forces from a motion, in any of four formulations."""

from typing import Any

from kinetree.base.arrays import Array
from kinetree.formulations.newton_euler import newton_euler
from kinetree.model import Model
from kinetree.model.inputs import TipWrench, Wrenches


def inverse_dynamics(
    model: Model,
    q: Any,
    dq: Any,
    ddq: Any,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: Any = None,
    dV_base: Any = None,
    formulation: str = "screw",
) -> Array:
    """Joint forces of a motion: tau = M ddq + c + g + friction - J^T F_ext.

    Args:
        model: the robot.
        q: joint positions, (nq,), rad or m, or quaternions.
        dq, ddq: joint rates and accelerations, (n,), rad/s or m/s, rad/s^2 or m/s^2.
        F_ext: wrench (moment, force) from the world ONTO each link, in its frame, (links, 6).
        F_tip: the book's wrench exerted BY the tool on the world, in the tool frame, (6,), or a
            mapping from frame names to such wrenches.
        V_base, dV_base: twist of the base frame in its own axes and its derivative, (6,).
        formulation: "screw", "closed", "link" or "space"; all give the same to rounding.

    Returns:
        tau: shape (n,), N m or N, with armature, rotors and friction.
    """
    record = newton_euler(
        model, q, dq, ddq, F_ext,
        F_tip=F_tip, V_base=V_base, dV_base=dV_base, formulation=formulation,
    )  # fmt: skip
    return record.tau
