"""Quantities of a constrained robot at one state, in the textbook form, over any scalars.

With floats, a motion that the constraints forbid, or that the motors cannot make, raises an error
that names the row or the joint. Kernels of the same quantities return the residuals instead.
"""

from collections.abc import Callable, Sequence

import numpy as np

from kinetree.core.arrays import Array, StateLike, is_numeric
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.derivatives import constrained_forward_derivatives, whole
from kinetree.dynamics.constraints.dynamics import (
    Accelerations,
    Impulse,
    MotorForces,
    Reduced,
    tree_constrained_dynamics,
    tree_constrained_forces,
    tree_impulse,
    tree_reduced,
)
from kinetree.dynamics.constraints.projection import kept_entries, nearest_motion
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import CARRIED, constraints_of, moving_constraints
from kinetree.model.documented import documented
from kinetree.model.inputs import TipWrench, Wrenches, coordinates, rates
from kinetree.model.labelled import labelled

TOLERANCE = 1e-6  # of the residuals, relative to the size of their terms


def _evaluated(
    function: Callable[..., Sequence[Array]],
    model: Model,
    name: str,
    q: StateLike,
    loads: tuple[Wrenches, TipWrench] = (None, None),
    **motion: StateLike,
) -> list[Array]:
    """Results of a function of a tree, its constraints, q and some rates, at a checked state.

    name: of the quantity, for the error of a robot without constraints.
    """
    constraints_of(model, name)
    q = coordinates(model, q)
    checked = [rates(model, value, argument) for argument, value in motion.items()]
    results = function(book_tree(model, q, *loads), placed(model), q, *checked)
    return [np.array(x.tolist()).reshape(x.shape) for x in results]


@documented
def constraint_errors(model: Model, q: StateLike) -> Array:
    """Phi(q), (m,): how far each equation is from being satisfied, rad or m."""
    return _evaluated(lambda *at: [tree_constraints(*at).Phi], model, "constraint_errors", q)[0]


@documented
def constraint_jacobian(model: Model, q: StateLike) -> Array:
    """J(q), (m, n): dPhi/dt = J dq."""
    return _evaluated(lambda *at: [tree_constraints(*at).J], model, "constraint_jacobian", q)[0]


@documented
def constraint_bias(model: Model, q: StateLike, dq: StateLike) -> Array:
    """Gamma = dJ/dt dq, (m,): d^2 Phi/dt^2 = J ddq + gamma."""
    name = "constraint_bias"
    return _evaluated(lambda *at: [tree_constraints(*at).gamma], model, name, q, dq=dq)[0]


@documented
def constrained_forward_dynamics(
    model: Model,
    q: StateLike,
    dq: StateLike,
    tau: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
) -> Accelerations:
    """ddq, the forces lambda of all equations, and the residual J ddq + gamma.

    Args:
        F_ext, F_tip: as in `inverse_dynamics`.
    """
    name, loads = "constrained_forward_dynamics", (F_ext, F_tip)
    results = _evaluated(tree_constrained_dynamics, model, name, q, loads, dq=dq, tau=tau)
    return Accelerations(*results)


@documented
def constrained_inverse_dynamics(
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
        F_ext, F_tip: as in `inverse_dynamics`.

    Raises:
        InputError: floats of a motion that the constraints forbid or the motors cannot make.
    """
    name, loads = "constrained_inverse_dynamics", (F_ext, F_tip)
    forces = MotorForces(
        *_evaluated(tree_constrained_forces, model, name, q, loads, dq=dq, ddq=ddq)
    )
    if all(is_numeric(x) for x in forces):
        _check_motion(model, q, rates(model, dq, "dq"), rates(model, ddq, "ddq"), forces)
    return forces


def _check_motion(model: Model, q: StateLike, dq: Array, ddq: Array, forces: MotorForces) -> None:
    """Raise InputError if a residual of numbers is not zero."""
    constraints = constraints_of(model, "constrained_inverse_dynamics")
    J = np.asarray(constraint_jacobian(model, q), float)
    sizes = np.abs(J) @ np.abs(np.asarray(ddq, float)) + np.abs(J @ dq) + 1
    worst = int(np.argmax(np.abs(forces.motion_residual) / sizes))
    if abs(forces.motion_residual[worst]) > TOLERANCE * sizes[worst]:
        raise InputError(
            f"the constraints of {model.name!r} forbid this motion: row "
            f"{constraints.row_names[worst]!r} of constraint {constraints.owner(worst)!r} would "
            "accelerate by "
            f"{forces.motion_residual[worst]:.3g}, expected 0. Take ddq from "
            "constrained_forward_dynamics, or from independent rates by reduced_dynamics."
        )
    left = np.abs(forces.force_residual)
    scale = 1 + np.abs(forces.tau).max(initial=0) + np.abs(J.T @ forces.lam).max(initial=0)
    joint = int(np.argmax(left))
    if left[joint] > TOLERANCE * scale:
        motors = ", ".join(model.dof_names[d] for d in constraints.actuated) or "none"
        raise InputError(
            f"the motors of {model.name!r} cannot make this motion: joint "
            f"{model.dof_names[joint]!r}, which has none, would need "
            f"{forces.force_residual[joint]:.3g} (N m or N) more than the constraints carry. The "
            f"joints with motors are {motors}; choose others with "
            "robot.constrained(..., actuated=[...])."
        )


@documented
def constraint_impulse(model: Model, q: StateLike, dq: StateLike) -> Impulse:
    """Rates after the constraints close without rebound, the impulses, and the residual J dq.

    Args:
        dq: joint rates before, shape (n,), rad/s or m/s.
    """
    return Impulse(*_evaluated(tree_impulse, model, "constraint_impulse", q, dq=dq))


@labelled("n")
def project_rates(model: Model, q: StateLike, dq: StateLike, *, keep: Sequence[str] = ()) -> Array:
    """The rates nearest to dq, measured by M, that the constraints allow, (n,).

    Args:
        keep: names of joints whose rates stay as they are.

    Raises:
        InputError: the constraints do not allow the rates that are kept.
    """
    if not keep:
        return constraint_impulse(model, q, dq).dq
    x = np.asarray(rates(model, dq, "dq"), float)
    J, M = (np.asarray(f(model, q), float) for f in (constraint_jacobian, mass_matrix))
    return nearest_motion(model, J, M, x, np.zeros(len(J)), kept_entries(model, keep), "rates")


@labelled("n")
def project_accelerations(
    model: Model, q: StateLike, dq: StateLike, ddq: StateLike, *, keep: Sequence[str] = ()
) -> Array:
    """The accelerations nearest to ddq, measured by M, that the constraints allow, (n,).

    Args:
        keep: names of joints whose accelerations stay as they are.

    Raises:
        InputError: the constraints do not allow the accelerations that are kept.
    """
    x = np.asarray(rates(model, ddq, "ddq"), float)
    J, M = (np.asarray(f(model, q), float) for f in (constraint_jacobian, mass_matrix))
    wanted = -np.asarray(constraint_bias(model, q, dq), float)
    return nearest_motion(model, J, M, x, wanted, kept_entries(model, keep), "accelerations")


@documented
def reduced_dynamics(model: Model, q: StateLike, dq: StateLike) -> Reduced:
    """M_r, h_r and N of the independent rates: M_r y'' + h_r = N^T tau, dq = N y'.

    Args:
        q: joint positions on the constraints, shape (nq,), rad or m.
        dq: joint rates that the constraints allow, shape (n,), rad/s or m/s.

    Raises:
        ModelError: the constraints leave no degree of freedom.
        SingularityError: the rates do not follow from the independent ones at this position.
    """
    moving_constraints(model, "reduced_dynamics", CARRIED)
    return Reduced(*_evaluated(tree_reduced, model, "reduced_dynamics", q, dq=dq))


@documented
def constrained_forward_dynamics_derivatives(
    model: Model, q: StateLike, dq: StateLike, tau: StateLike, F_ext: Wrenches = None
) -> tuple[Array, Array, Array]:
    """d ddq/d q (along tangent vectors of `integrate`), d ddq/d dq and d ddq/d tau, each (n, n).

    Args:
        F_ext: wrenches onto the links, as in `inverse_dynamics`.
    """
    constraints_of(model, "constrained_forward_dynamics_derivatives")
    q, dq, tau = coordinates(model, q), rates(model, dq, "dq"), rates(model, tau, "tau")
    tree = book_tree(model, q, F_ext)
    by_q, by_dq, by_tau = constrained_forward_derivatives(
        lambda x: book_tree(model, x), tree, placed(model), q, dq, tau
    )
    return whole(model, by_q), whole(model, by_dq), whole(model, by_tau)
