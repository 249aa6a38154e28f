"""Terms of control laws: the dynamics of the robot, references, tracking errors and gains.

The dynamics are those of the lean form of the robot, so that a law compiled into a loop costs
little.

A law for a robot with constraints is first written for its tree. Its joint forces r are then
replaced by those of the motors that have the same effect: tau + J^T lambda = r with some lambda,
and tau zero in joints without a motor. The constraints carry J^T lambda, which moves nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, is_numeric
from kinetree.core.containers import has_labels, refuse_labels
from kinetree.dynamics.constraints.closures import lean_items, tree_constraints
from kinetree.dynamics.constraints.dynamics import (
    check_sufficient,
    motor_shares,
    solvable,
    tree_motion,
)
from kinetree.dynamics.dry_friction import dry_friction, slip, without_dry_friction
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.friction import friction_forces, frictionless
from kinetree.dynamics.joints.motors import motor_rates
from kinetree.dynamics.lean import LeanModel, lean_model, lean_tree
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.engine.kernels.memo import kernel, remembered
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.model import HasModel, Joint, Model, model_of
from kinetree.model.constrain import without_constraints
from kinetree.model.elastic import motor_rows
from kinetree.model.inputs import coordinate_axis, dof_axis, zeros
from kinetree.motion.trajectory import Trajectory
from kinetree.scalars import Scalar, absolute, cos, minimum, sign, sin, where
from kinetree.simulate.controller import ByValue, NamedFields, Reference, SignalValues, as_reference
from kinetree.spatial import cross
from kinetree.spatial.matrices import solve
from kinetree.spatial.so3 import quaternion_rotation

RobotLike = Model | HasModel
AT_REST = 1e-9  # rad/s or m/s: fixed steps leave about 1e-14 to a joint that friction holds
STARTING = 1e-4  # rad/s or m/s: of a reference; the sign of a slower one may be rounding
REFERENCE_OPEN = 1e-5  # rad or m: the most that a reference may miss the constraints by

# the names along the fields of controllers that follow a motion of the joints
BY_JOINT: NamedFields = {"reference": coordinate_axis, "kp": dof_axis, "kd": dof_axis}

GAINS = ("kp", "kd", "ki", "K", "D", "damping")  # fields of controllers that are 0 or more


def lean(model: Model) -> LeanModel:
    """The lean form; remembered for robots of plain numbers, which do not change between steps."""
    numbers = (model.m, model.com, model.I_com, model.gravity)
    if all(is_numeric(np.asarray(x)) for x in numbers):
        return remembered(model, ("lean form of controllers",), lambda: lean_model(model))
    return lean_model(model, regrouped=False)


def tree_forces(model: Model, q: Array, dq: Array, ddq: Array) -> Array:
    """tau of a motion of the tree, friction and rotors included, (n,)."""
    return inverse_dynamics(lean_tree(lean(model), q), dq, ddq)


def starting_inverse_dynamics(model: Model, q: Array, dq: Array, ddq: Array, dq_d: Array) -> Array:
    """tau of a motion whose joints at rest are about to slide as their reference moves, (n,).

    The dry friction of a joint that slides is that of its rate dq. At rest h(q, 0) has none, and a
    motion that needs less than the dry friction would never begin: there it is the static friction
    against the direction of dq_d, which sets in as |dq_d| grows to STARTING. Where the reference
    rests, too, it is zero.
    """
    dry = dry_friction(model, dq)
    if not dry or all(isinstance(x, int) and x == 0 for x in dq_d.tolist()):
        return tree_forces(model, q, dq, ddq)
    bare = replace(lean(model), model=frictionless(model))
    moving = inverse_dynamics(lean_tree(bare, q), dq, ddq)
    smooth, way, share = friction_forces(without_dry_friction(model), dq), list[Any](), list[Any]()
    motors = motor_rates(model)
    if motors is not None:
        dq, dq_d = motors.T @ dq, motors.T @ dq_d
    for rate, wanted in zip(dq, dq_d, strict=True):
        moves = absolute(rate) - AT_REST
        way.append(where(moves, sign(rate), sign(wanted)))
        share.append(where(moves, 1, minimum(absolute(wanted) / STARTING, 1)))
    slipping = [slip(dry[d], way[d]) if d in dry else 0 for d in range(model.n)]
    rubbing = np.array(slipping) * np.array(share)
    rubbing = rubbing if motors is None else motors.T.T @ rubbing
    return moving + smooth + rubbing


def static_forces(model: Model, q: Array) -> Array:
    """g(q) and the forces of springs, (n,): joint forces that keep the tree at rest."""
    smooth, none = replace(lean(model), model=frictionless(model)), zeros(model.n)
    return inverse_dynamics(lean_tree(smooth, q), none, none)


def solve_mass_matrix(model: Model, q: Array, columns: Array) -> Array:
    """M(q)^-1 times columns (n, k)."""
    M = factor_mass_matrix(model, mass_matrix(lean_tree(lean(model), q)))
    return np.array([*map(list, solve(M, columns))])


def unactuated(model: Model) -> list[int]:
    """Degrees of freedom without a motor: of free joints, deflections, and as constrained."""
    motors = motor_rows(model, None)
    return [d for d in range(model.n) if d not in motors]


def require_motors(model: Model, law: str) -> None:
    """Raise ModelError for a robot without constraints that has joints without motors."""
    names = [model.dof_names[d] for d in unactuated(model)]
    if names and model.constraints is None:
        raise ModelError(
            f"{', '.join(names)} of {model.name!r} have no motor; expected one in every joint for "
            f"the controller {law}. PD, PID and GravityCompensation act on joints with motors."
        )


def motor_forces(model: Model, q: Array, r: Array) -> Array:
    """Forces of the motors with the same effect as joint forces r; without constraints theirs."""
    if model.constraints is None:
        bare = unactuated(model)
        return np.array([0 if d in bare else x for d, x in enumerate(r)]) if bare else r
    form = lean(model)
    J = tree_constraints(lean_tree(form, q), lean_items(form), q).J
    return motor_shares(solvable(model), J, r)


def allowed_acceleration(model: Model, q: Array, dq: Array, ddq: Array) -> Array:
    """ddq of all joints that the constraints allow, from those of the independent joints, (n,)."""
    if model.constraints is None:
        return ddq
    form = lean(model)
    N, nu = tree_motion(lean_tree(form, q), lean_items(form), q, dq)
    return N @ ddq[list(model.constraints.independent)] + nu


def model_for(robot: RobotLike | None, controlled: Model, law: str) -> Model:
    """The model that a law computes with: that of `robot`, or if None the controlled one.

    law: name of the controller, which cannot honour constraints and refuses robots with some.
    """
    instead = "GravityCompensation, PD, PID and ComputedTorque do; or use a robot without them"
    without_constraints(controlled, f"The controller {law}", instead)
    require_motors(controlled, law)
    model = _same_joints(controlled if robot is None else model_of(robot), controlled, law)
    return without_constraints(model, f"The controller {law}", instead)


def _same_joints(model: Model, controlled: Model, law: str) -> Model:
    """The model; raise ModelError if it has other coordinates than the controlled robot."""
    if (model.nq, model.n) != (controlled.nq, controlled.n):
        raise ModelError(
            f"the controller {law} computes with {model.name!r}, which has {model.n} degrees of "
            f"freedom; expected the {controlled.n} of {controlled.name!r}, which it moves."
        )
    return model


def moved_model_for(robot: RobotLike | None, controlled: Model, law: str) -> Model:
    """The same for a law whose forces the motors of a robot with constraints give.

    Raises:
        ModelError: `robot` has other constraints or motors than the controlled robot, or its motors
            cannot give the forces of the law.
    """
    model = _same_joints(controlled if robot is None else model_of(robot), controlled, law)
    if model.constraints is None and controlled.constraints is None:
        return model
    if _described(model) != _described(controlled):
        raise ModelError(
            f"the controller {law} computes with {model.name!r}, whose constraints or motors are "
            f"not those of {controlled.name!r}, which it moves: {_described(model)}, expected "
            f"{_described(controlled)}. Give it a robot with the same constraints and other masses."
        )
    solvable(model)
    check_sufficient(
        model,
        law,
        f"they cannot give the forces of the controller {law}",
        "PD and PID without gravity need none of the robot's dynamics",
    )
    return model


def _described(model: Model) -> str:
    constraints = model.constraints
    if constraints is None:
        return "no constraints"
    motors = ", ".join(model.dof_names[d] for d in constraints.actuated) or "none"
    return f"{', '.join(constraints.given)} (motors: {motors})"


def check_reference(model: Model, reference: Reference, law: str) -> None:
    """Raise InputError if a reference is not on the constraints of the robot.

    Constant positions and all samples of a Trajectory are looked at, and a function at t = 0.
    """
    constraints = model.constraints
    if constraints is None:
        return
    if isinstance(reference, Trajectory):
        value = reference.q
    else:
        value = reference(0.0) if callable(reference) else reference
    q = np.asarray(value[0] if isinstance(value, tuple) else value, float)
    if q.shape[-1:] != (model.nq,):
        return  # refused with its shape when the law is called
    off = np.abs(kernel(model, "constraint_errors")(q)).reshape(-1, len(constraints.row_names))
    at, row = np.unravel_index(int(np.argmax(off)), off.shape)
    if not off[at, row] <= REFERENCE_OPEN:
        where = "" if len(off) == 1 else f" at sample {at}"
        raise InputError(
            f"the reference of {law} does not satisfy the constraints of {model.name!r}{where}: "
            f"constraint {constraints.owner(int(row))!r} is open by {off[at, row]:.3g} (rad or m) "
            f"in {constraints.row_names[row]!r}, expected at most {REFERENCE_OPEN:g}. "
            "kt.constraints.project(robot, q, keep=[...]) closes a position."
        )


class Gained(ByValue):
    """The part shared by controllers with gains, which are checked when the controller is made.

    Their size is that of the robot, and is checked with it; so are gains by name.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in GAINS:
            value = getattr(self, name, None)
            if value is not None and not has_labels(value):
                _gain_numbers(value, name)


class Following(Gained):
    """The part shared by controllers that follow a reference."""

    reference: Reference

    @property
    def signals(self) -> Mapping[str, Any]:
        """The reference, by name."""
        return {"reference": as_reference(self.reference)}


def motion(
    model: Model, given: SignalValues, name: str = "reference"
) -> tuple[Array, Array, Array]:
    """q, dq and ddq of a reference at one time; rates that are not given are zero."""
    parts = given[name]
    if not 1 <= len(parts) <= 3:
        raise ShapeError(f"{name} has {len(parts)} parts; expected q, (q, dq) or (q, dq, ddq).")
    missing = [np.zeros(model.n, int)] * (3 - len(parts))
    q, dq, ddq = (*parts, *missing)
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
    x = _gain_numbers(value, name)
    if x.ndim < 2:
        if x.shape not in ((), (size,)):
            raise ShapeError(f"{name} has shape {x.shape}; expected (), ({size},) or a matrix.")
        x = np.diag(np.broadcast_to(x, size))
    if x.shape != (size, size):
        raise ShapeError(f"{name} has shape {x.shape}; expected (), ({size},) or ({size}, {size}).")
    return x


def motor_gain(model: Model, value: ArrayLike, name: str) -> Array:
    """Gains of joints with motors, (n, n): a number counts for these alone.

    Raises:
        InputError: an array has gains for joints without motors.
    """
    matrix, bare = gain(value, model.n, name), unactuated(model)
    if not np.shape(value):  # type: ignore[arg-type]
        matrix[bare] = 0
    wrong = [model.dof_names[d] for d in bare if matrix[d].any()]
    if wrong:
        raise InputError(
            f"{name} has gains for {', '.join(wrong)}, which have no motor; expected 0 there, "
            f"or one number for all joints of {model.name!r} with motors."
        )
    return matrix


def _gain_numbers(value: ArrayLike, name: str) -> Array:
    """A gain as an array; raise unless it is a positive semi-definite matrix or a diagonal."""
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {value!r}; expected a number, a diagonal of shape (n,) or a matrix (n, n)."
        ) from None
    if x.ndim > 2 or (x.ndim == 2 and x.shape[0] != x.shape[1]):
        raise ShapeError(f"{name} has shape {x.shape}; expected (), (n,) or (n, n).")
    if not np.isfinite(x).all():
        raise InputError(f"{name} is {x.tolist()}; expected finite numbers.")
    eigenvalues = np.linalg.eigvalsh((x + x.T) / 2) if x.ndim == 2 else np.atleast_1d(x)
    # a singular gain such as v v.T has eigenvalues of 0 plus or minus the rounding of a library
    if eigenvalues.min(initial=0) < -1e-12 * eigenvalues.max(initial=0):
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
            coords = list(joint.coords)
            parts.update(zip(joint.dofs, _joint_error(joint, q[coords], q_d[coords]), strict=True))
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
