"""The Newton-Euler recursion in any of four formulations, and M and ddq by calling it n + 1 times.

This is the book's way to the mass matrix and to forward dynamics: joint forces of unit
accelerations are the columns of M. `dynamics` has faster ways; these are kept to check them.
"""

from collections.abc import Callable

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import is_one_of
from kinetree.dynamics.joints.springs import without_passive_forces
from kinetree.dynamics.textbook.closed import closed_recursion
from kinetree.dynamics.textbook.link import link_recursion
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.dynamics.textbook.screw import screw_recursion
from kinetree.dynamics.textbook.space import space_recursion
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import tree_of, without_constraints
from kinetree.model.edit import with_gravity
from kinetree.model.inputs import Motion, TipWrench, Wrenches, rates, read_motion, zeros
from kinetree.model.labelled import labelled
from kinetree.model.model import for_robots
from kinetree.spatial.matrices import solve

FORMULATIONS: dict[str, Callable[[Model, Motion], Recursion]] = {
    "screw": screw_recursion,
    "closed": closed_recursion,
    "link": link_recursion,
    "space": space_recursion,
}


@for_robots
def newton_euler(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
    formulation: str = "screw",
) -> Recursion:
    """Inverse dynamics with every intermediate by name.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2.
        F_ext, F_tip, V_base, dV_base: as in `dynamics.inverse_dynamics`.
        formulation: "screw", "closed", "link" or "space"; all give the same tau to rounding.
    """
    without_constraints(model, "newton_euler", "Use dynamics.constrained_inverse_dynamics")
    if not is_one_of(formulation, FORMULATIONS):
        raise InputError(
            f"there is no formulation {formulation!r:.60}; choose {', '.join(FORMULATIONS)}."
        )
    x = read_motion(model, q, dq, ddq, F_ext, F_tip, V_base, dV_base)
    return FORMULATIONS[formulation](model, x)


@labelled("n", "n")
def mass_matrix_by_inverse_dynamics(model: Model, q: StateLike) -> Array:
    """M(q), (n, n), column by column: joint forces of unit accelerations at rest, weightless.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    still = with_gravity(without_passive_forces(tree_of(model)), zeros(3))
    unit = np.eye(model.n, dtype=int)
    columns = [newton_euler(still, q, zeros(model.n), e).tau for e in unit]
    return np.array(columns).reshape(model.n, model.n).T


@labelled("n")
def forward_dynamics_by_inverse_dynamics(
    model: Model,
    q: StateLike,
    dq: StateLike,
    tau: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
) -> Array:
    """ddq, (n,): one call for h, n calls for the columns of M, then M ddq = tau - h is solved.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        tau: joint forces, shape (n,), N m or N.
        F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
            shape (l, 6), N m and N; None: no wrench.
        F_tip: the book's wrench, exerted by the tool on the world, shape (6,), in the tool frame, N
            m and N; or {frame: wrench}; None: no wrench.
    """
    tau = rates(model, tau, "tau")
    M = factor_mass_matrix(model, mass_matrix_by_inverse_dynamics(model, q))
    h = newton_euler(model, q, dq, zeros(model.n), F_ext, F_tip=F_tip).tau
    return solve(M, tau - h)
