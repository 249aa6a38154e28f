"""Quantities of a constrained robot at one state, in the textbook form, over any scalars.

With floats, a motion that the constraints forbid, or that the motors cannot make, raises an error
that names the row or the joint. Kernels of the same quantities return the residuals instead.
"""

import numpy as np

from kinetree.core.arrays import Array, StateLike, is_numeric
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import (
    Items,
    Kkt,
    MotorForces,
    constraint_forces,
)
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.plain import evaluate
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.inputs import TipWrench, Wrenches, coordinates, rates
from kinetree.model.quantity import at_state, quantity

TOLERANCE = 1e-6  # of the residuals, relative to the size of their terms


@quantity(
    "q dq ddq -> tau: n, lam: m, force_residual: n, motion_residual: m",
    over="constraints",
    wrenches=True,
    solves=True,
    weighs=True,
    caution="motion_residual is not zero if the constraints forbid ddq; force_residual is not "
    "zero if the motors cannot make the motion. tau and lam are an answer only where "
    "both are zero.",
    method=False,
)
def constrained_inverse_dynamics(
    tree: Tree, items: Items, q: Array, dq: Array, ddq: Array
) -> MotorForces:
    """Forces of the motors and of the constraints: tau + J^T lambda = M ddq + h.

    Returns:
        tau: motor forces of least weighted norm, 0 without motor [N m or N].
        lam: forces onto frame_b in axes of frame_a, of least norm [N or N m].
        force_residual: M ddq + h - tau - J^T lambda [N m or N].
        motion_residual: J ddq + gamma [rad/s^2 or m/s^2; 0 if Phi stays 0].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("constrained_inverse_dynamics")([0.1, -0.2], [1, -2], [1, -2])[0].round(3)
        array([ 47.002, -94.004])
    """
    kkt = Kkt(tree, tree_constraints(tree, items, q, dq))
    r = inverse_dynamics(tree, dq, ddq)
    lam = constraint_forces(kkt.given, kkt.rows, kkt.J, r) * kkt.A.sound
    carried = kkt.J.T @ lam
    motors = set(kkt.given.actuated)
    tau = np.array(
        [x - y if d in motors else 0 for d, (x, y) in enumerate(zip(r, carried, strict=True))]
    )
    return MotorForces(tau, kkt.shared(lam), r - tau - carried, kkt.all.J @ ddq + kkt.all.gamma)


@at_state(constrained_inverse_dynamics)
def constrained_inverse_dynamics_at_state(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
) -> MotorForces:
    """Forces of the motors and of the constraints for a motion, with residuals.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2.
        F_ext, F_tip: as in `inverse_dynamics`.

    Raises:
        InputError: floats of a motion that the constraints forbid or the motors cannot make.
    """
    state = {"q": q, "dq": dq, "ddq": ddq, "F_ext": F_ext, "F_tip": F_tip}
    forces = evaluate("constrained_inverse_dynamics", model, **state)
    if all(is_numeric(x) for x in forces):
        _check_motion(model, q, rates(model, dq, "dq"), rates(model, ddq, "ddq"), forces)
    return forces


def _check_motion(model: Model, q: StateLike, dq: Array, ddq: Array, forces: MotorForces) -> None:
    """Raise InputError if a residual of numbers is not zero."""
    constraints = constraints_of(model, "constrained_inverse_dynamics")
    q = coordinates(model, q)
    J = np.asarray(tree_constraints(book_tree(model, q), placed(model), q).J, float)
    sizes = np.abs(J) @ np.abs(np.asarray(ddq, float)) + np.abs(J @ dq) + 1
    worst = int(np.argmax(np.abs(forces.motion_residual) / sizes))
    opening = forces.motion_residual[worst]
    if abs(opening) > TOLERANCE * sizes[worst]:
        raise InputError(
            f"the constraints of {model.name!r} forbid this motion: row "
            f"{constraints.row_names[worst]!r} of constraint {constraints.owner(worst)!r} would "
            f"accelerate by {opening:.3g}, expected 0. Take ddq from constrained_forward_dynamics."
        )
    left = np.abs(forces.force_residual)
    scale = 1 + np.abs(forces.tau).max(initial=0) + np.abs(J.T @ forces.lam).max(initial=0)
    joint = int(np.argmax(left))
    if left[joint] > TOLERANCE * scale:
        motors = ", ".join(model.dof_names[d] for d in constraints.actuated) or "none"
        raise InputError(
            f"the motors of {model.name!r} cannot make this motion: joint "
            f"{model.dof_names[joint]!r}, which has none, would need {left[joint]:.3g} (N m or N) "
            f"more than the constraints carry. Joints with motors: {motors}."
        )
