"""Terms of control laws: the dynamics of the robot, references, tracking errors and gains.

The dynamics are those of the lean form of the robot, so that a law compiled into a loop costs
little.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.lean import LeanModel, lean_model, lean_tree
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.base.arrays import Array, ArrayLike, is_numeric
from kinetree.base.containers import has_labels, refuse_labels
from kinetree.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.errors import InputError, ShapeError
from kinetree.formulations.drives import frictionless
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.kernels.memo import remembered
from kinetree.model import HasModel, Joint, Model, model_of
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinate_axis, dof_axis, zeros
from kinetree.scalars import Scalar, cos, sign, sin
from kinetree.simulate.core.controller import NamedFields, Reference, SignalValues
from kinetree.spatial import cross
from kinetree.spatial.matrices import solve
from kinetree.spatial.so3 import quaternion_rotation

RobotLike = Model | HasModel

# the names along the fields of controllers that follow a motion of the joints
BY_JOINT: NamedFields = {"reference": coordinate_axis, "kp": dof_axis, "kd": dof_axis}


def lean(model: Model) -> LeanModel:
    """The lean form; remembered for robots of plain numbers, which do not change between steps."""
    without_constraints(model, "A controller")
    numbers = (model.m, model.com, model.I_com, model.gravity)
    if all(is_numeric(np.asarray(x)) for x in numbers):
        return remembered(model, ("lean form of controllers",), lambda: lean_model(model))
    return lean_model(model, regrouped=False)


def inverse_dynamics(model: Model, q: Array, dq: Array, ddq: Array) -> Array:
    """tau of a motion, friction and rotors included, (n,)."""
    return tree_inverse_dynamics(lean_tree(lean(model), q), dq, ddq)


def static_forces(model: Model, q: Array) -> Array:
    """g(q) and the forces of springs, (n,): joint forces that keep the robot at rest."""
    smooth, rest = replace(lean(model), model=frictionless(model)), zeros(model.n)
    return tree_inverse_dynamics(lean_tree(smooth, q), rest, rest)


def solve_mass_matrix(model: Model, q: Array, columns: Array) -> Array:
    """M(q)^-1 times columns (n, k)."""
    M = factor_mass_matrix(model, tree_mass_matrix(lean_tree(lean(model), q)))
    return np.array([*map(list, solve(M, columns))])


def model_for(robot: RobotLike | None, controlled: Model) -> Model:
    """The model that a controller computes with: that of `robot`, or if None the controlled one."""
    model = controlled if robot is None else model_of(robot)
    return without_constraints(model, "A controller")


class Following:
    """The part shared by controllers that follow a reference."""

    reference: Reference

    @property
    def signals(self) -> Mapping[str, Any]:
        """The reference, by name."""
        return {"reference": as_reference(self.reference)}


def as_reference(value: Reference, name: str = "reference") -> Any:
    """Check a position (..., nq), a function of t, or a Trajectory; positions become arrays."""
    if callable(value) or hasattr(value, "ddq") or has_labels(value):
        return value  # labelled positions are aligned when the robot is known
    try:
        x = np.array(value, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {value!r}; expected a position q (..., nq), a function of t that returns "
            "q, (q, dq) or (q, dq, ddq), or a Trajectory."
        ) from None
    if x.ndim == 0 or not np.isfinite(x).all():
        raise InputError(f"{name} is {x.tolist()}; expected finite positions (..., nq).")
    return x


def motion(
    model: Model, given: SignalValues, name: str = "reference"
) -> tuple[Array, Array, Array]:
    """q, dq and ddq of a reference at one time; rates that are not given are zero."""
    parts = given[name]
    if not 1 <= len(parts) <= 3:
        raise ShapeError(f"{name} has {len(parts)} parts; expected q, (q, dq) or (q, dq, ddq).")
    rest = [np.zeros(model.n, int)] * (3 - len(parts))
    q, dq, ddq = (*parts, *rest)
    for label, x, size in (("q", q, model.nq), ("dq", dq, model.n), ("ddq", ddq, model.n)):
        if np.shape(x) != (size,):
            raise ShapeError(
                f"{label} of the {name} has shape {np.shape(x)}; {model.name!r} needs ({size},)."
            )
    return q, dq, ddq


def errors(
    model: Model, q: Array, dq: Array, given: SignalValues, name: str = "reference"
) -> tuple[Array, Array, Array]:
    """Position error e and its rate de, both (n,), and the ddq of the reference."""
    q_d, dq_d, ddq_d = motion(model, given, name)
    return position_error(model, q, q_d), dq_d - dq, ddq_d


def gain(value: ArrayLike, size: int, name: str) -> Array:
    """Gains as a matrix (size, size), from a number, a diagonal (size,) or the matrix itself."""
    refuse_labels(value, name, f"a number, ({size},) or a matrix")
    x = np.asarray(value, float)
    if x.ndim < 2:
        if x.shape not in ((), (size,)):
            raise ShapeError(f"{name} has shape {x.shape}; expected (), ({size},) or a matrix.")
        x = np.diag(np.broadcast_to(x, size))
    if x.shape != (size, size) or not np.isfinite(x).all():
        raise ShapeError(f"{name} has shape {x.shape}; expected finite numbers ({size}, {size}).")
    if np.linalg.eigvalsh((x + x.T) / 2).min() < 0:
        raise InputError(f"{name} is not positive semi-definite: it would push away from the goal.")
    return x


def position_error(model: Model, q: Array, q_d: Array) -> Array:
    """Tangent vector from q to q_d, (n,).

    The error of a quaternion is twice the vector part of the shorter rotation: its angle if that is
    small, and without the trouble of the logarithm at half a turn.
    """
    parts: dict[int, Scalar] = {}
    for joint in model.joints:
        if joint.follows is None:
            own = list(joint.coords)
            parts.update(zip(joint.dofs, _joint_error(joint, q[own], q_d[own]), strict=True))
    return np.array([parts[k] for k in range(model.n)])


def _joint_error(joint: Joint, q: Array, q_d: Array) -> Array:
    if joint.type == PLANAR:
        c, s = cos(q[0]), sin(q[0])
        x, y = q_d[1] - q[1], q_d[2] - q[2]
        return np.array([q_d[0] - q[0], c * x + s * y, c * y - s * x])
    if joint.type not in (SPHERICAL, FREE):
        return q_d - q
    w, v, u, x = q[0], q[1:4], q_d[0], q_d[1:4]
    turn = (w * x - u * v - cross(v, x)) * (2 * sign(w * u + v @ x))
    if joint.type == SPHERICAL:
        return turn
    return np.concatenate([turn, quaternion_rotation(q[:4]).T @ (q_d[4:] - q[4:])])
