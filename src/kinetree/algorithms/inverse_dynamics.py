"""Inverse dynamics: joint forces from a motion, in any of four formulations."""

from collections.abc import Callable
from typing import Any

from kinetree.algorithms.closed_form import closed_recursion
from kinetree.algorithms.inputs import TipWrench, Wrenches
from kinetree.algorithms.link_recursion import link_recursion
from kinetree.algorithms.recursion import Recursion
from kinetree.algorithms.screw_recursion import screw_recursion
from kinetree.algorithms.space_recursion import space_recursion
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model

FORMULATIONS: dict[str, Callable[..., Recursion]] = {
    "screw": screw_recursion,
    "closed": closed_recursion,
    "link": link_recursion,
    "space": space_recursion,
}


def newton_euler(
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
) -> Recursion:
    """Inverse dynamics with every intermediate by name; see `inverse_dynamics`."""
    if formulation not in FORMULATIONS:
        raise InputError(
            f"there is no formulation {formulation!r}; choose {', '.join(FORMULATIONS)}."
        )
    run = FORMULATIONS[formulation]
    return run(model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base)


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
