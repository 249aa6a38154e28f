"""Closed loops and other constraints: records that `Robot.constrained` takes, and what they allow.

    loop = kt.constraints.Loop("left_tip", "right_tip")
    robot = robot.constrained({"loop": loop}, actuated=["left", "right"])
    q = kt.constraints.project(robot, q)

`robot.forward_dynamics` and `robot.inverse_dynamics` honour the constraints of a robot.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import names, numbers
from kinetree.dynamics.constraints.closing import (
    closed_position,
    kept_dofs,
    kept_entries,
    nearest_motion,
)
from kinetree.dynamics.constraints.mobility import Mobility, mobility
from kinetree.dynamics.constraints.regularity import margin as distance
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.files.description.constraints import Constraint, Couple, Hold, Loop, Rod
from kinetree.model import HasModel, Model, model_of
from kinetree.model.constrain import constraints_of, tree_of
from kinetree.model.inputs import coordinate_axis, coordinates, dof_axis
from kinetree.model.model import edit
from kinetree.present.labels import Alignment
from kinetree.robot.quantities import of_robots

__all__ = [
    "Constraint",
    "Couple",
    "Hold",
    "Loop",
    "Mobility",
    "Rod",
    "bias",
    "errors",
    "forward_dynamics",
    "impulse",
    "inverse_dynamics",
    "jacobian",
    "margin",
    "mobility",
    "project",
    "project_accelerations",
    "project_rates",
    "reduced_dynamics",
    "unconstrained",
]


errors = of_robots("constraint_errors", f"{__name__}.errors")
jacobian = of_robots("constraint_jacobian", f"{__name__}.jacobian")
bias = of_robots("constraint_bias", f"{__name__}.bias")
impulse = of_robots("constraint_impulse", f"{__name__}.impulse")
forward_dynamics = of_robots("constrained_forward_dynamics", f"{__name__}.forward_dynamics")
inverse_dynamics = of_robots("constrained_inverse_dynamics", f"{__name__}.inverse_dynamics")
reduced_dynamics = of_robots("reduced_dynamics", f"{__name__}.reduced_dynamics")


@edit
def unconstrained(model: Model) -> Model:
    """The tree of the robot, without its constraints; all joints then move independently.

    Args:
        model: the robot.

    Example:
        >>> tree = kt.constraints.unconstrained(kt.robots.four_bar())
        >>> tree.gravity_forces([0, 0, 0]).round(3)
        array([12.017,  6.131,  3.924])
    """
    return tree_of(model)


def project(
    robot: Model | HasModel, q: StateLike, *, keep: Sequence[str] = (), tolerance: float = 1e-10
) -> Array:
    """A position near q at which all constraints are satisfied, by Newton's method.

    It is not always the nearest one: every step is the shortest that closes the linear part of
    the constraints. From stretched bars, which have no slope towards closing, positions around
    are tried, always the same ones.

    Args:
        robot: a Robot or a Model.
        q: joint positions, shape (..., nq), rad or m.
        keep: names of joints that stay where they are.
        tolerance: largest entry of Phi to accept, rad or m.

    Returns:
        q: shape (..., nq), rad or m.

    Raises:
        InputError: no such position is found; the message has the residual, the constraint,
            and the state of a batch.
    """
    model = model_of(robot)
    Phi, J = kernel(model, "constraint_errors"), kernel(model, "constraint_jacobian")
    kept_dofs(model, keep, tolerance)
    alignment = Alignment([(q, coordinate_axis(model), "q")])
    given = np.asarray(alignment.values[0], float)
    rows = given.reshape(-1, given.shape[-1]) if given.ndim else given.reshape(1, 1)
    closed: list[Array] = []
    for k, row in enumerate(rows):
        try:
            start = np.array(coordinates(model, row), float)
            found = closed_position(
                model, start, lambda x: (Phi(x), J(x)), keep=keep,
                tolerance=tolerance,
            )  # fmt: skip
        except InputError as problem:
            if given.ndim < 2:
                raise
            at = [int(x) for x in np.unravel_index(k, given.shape[:-1])]
            raise InputError(f"state {at} of the batch: {problem}") from problem
        closed.append(found)
    found = np.array(closed).reshape(given.shape)
    return alignment.label(found, [coordinate_axis(model)], "project")


def project_rates(
    robot: Model | HasModel, q: StateLike, dq: StateLike, *, keep: Sequence[str] = ()
) -> Array:
    """The rates nearest to dq, measured by the mass matrix, that the constraints allow.

    Args:
        robot: a Robot or a Model.
        q: joint positions, shape (..., nq), rad or m.
        dq: joint rates, shape (..., n), rad/s or m/s.
        keep: names of joints whose rates stay as they are; the others follow.

    Returns:
        dq: shape (..., n), rad/s or m/s.

    Raises:
        InputError: the constraints do not allow the rates that are kept.

    Example:
        >>> robot = kt.robots.slider_crank()
        >>> dq = kt.constraints.project_rates(robot, robot.neutral(), [2, 0, 0], keep=["crank"])
        >>> dq.round(3) + 0
        array([ 2.   , -2.667,  0.   ])
    """
    model = model_of(robot)
    if not names(keep, "keep"):
        return kernel(model, "constraint_impulse")(q, dq)[0]
    axes = coordinate_axis(model), dof_axis(model)
    alignment = Alignment([(q, axes[0], "q"), (dq, axes[1], "dq")])
    return _nearest(model, alignment, keep, "rates")


def project_accelerations(
    robot: Model | HasModel,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    *,
    keep: Sequence[str] = (),
) -> Array:
    """The accelerations nearest to ddq, measured by M, that the constraints allow.

    Args:
        robot: a Robot or a Model.
        q: joint positions, shape (..., nq), rad or m.
        dq: joint rates, shape (..., n), rad/s or m/s.
        ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
        keep: names of joints whose accelerations stay as they are; the others follow.

    Returns:
        ddq: shape (..., n), rad/s^2 or m/s^2.

    Raises:
        InputError: the constraints do not allow the accelerations that are kept.

    Example:
        >>> robot = kt.robots.slider_crank()
        >>> q, dq = robot.neutral(), [3, -4, 0]
        >>> ddq = kt.constraints.project_accelerations(robot, q, dq, [0] * 3, keep=["crank"])
        >>> ddq.round(3) + 0
        array([ 0. ,  0. , -2.4])
    """
    model = model_of(robot)
    axes = coordinate_axis(model), dof_axis(model), dof_axis(model)
    alignment = Alignment(list(zip((q, dq, ddq), axes, ("q", "dq", "ddq"), strict=True)))
    return _nearest(model, alignment, keep, "accelerations")


def _nearest(model: Model, alignment: Alignment, keep: Sequence[str], what: str) -> Array:
    """Rates or accelerations of a batch of states, one after the other."""
    n = model.n
    jacobian = kernel(model, "constraint_jacobian")  # refuses robots without constraints
    kept = kept_entries(model, names(keep, "keep"))
    q, *motion = (numbers(x, "an entry of the motion", "numbers") for x in alignment.values)
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in (q, *motion)))
    J, M = jacobian(q), kernel(model, "mass_matrix")(q)
    bias = kernel(model, "constraint_bias")(q, motion[0])
    wanted = np.zeros(J.shape[:-1]) if len(motion) == 1 else -bias
    m = J.shape[-2]
    Js, Ms = np.broadcast_to(J, (*shape, m, n)), np.broadcast_to(M, (*shape, n, n))
    xs, rights = np.broadcast_to(motion[-1], (*shape, n)), np.broadcast_to(wanted, (*shape, m))
    nearest = np.empty((*shape, n))
    for at in np.ndindex(*shape):
        state = f"state {list(at)} of the batch: " if at else ""
        try:
            nearest[at] = nearest_motion(model, Js[at], Ms[at], xs[at], rights[at], kept, what)
        except InputError as problem:
            raise InputError(f"{state}{problem}") from problem
    return alignment.label(nearest, [dof_axis(model)], f"project_{what}")


def margin(robot: Model | HasModel, q: StateLike) -> Array:
    """Distance of positions from singular ones: 0 there, 0.01 to 1 at typical positions.

    The smallest eigenvalue of A = J M^-1 J^T, each row divided by its typical length. Results
    of constrained dynamics are good to rounding above 1e-6. Below about 3e-8, 2e-4 rad from a
    dead centre, they are not a number; in between their relative error is below 1e-5.

    Args:
        robot: a Robot or a Model.
        q: joint positions on the constraints, shape (..., nq), rad or m.

    Returns:
        margin: shape (...), without unit.

    Example:
        >>> robot = kt.robots.slider_crank()
        >>> kt.constraints.margin(robot, [0.0, 0.0, 0.0]) > 0.1
        np.True_
    """
    model = model_of(robot)
    model = model_of(robot)

    constraints = constraints_of(model, "constraint_margin")
    alignment = Alignment([(q, coordinate_axis(model), "q")])
    values = np.asarray(alignment.values[0], float)
    J, M = (kernel(model, name)(values) for name in ("constraint_jacobian", "mass_matrix"))
    return alignment.label(distance(constraints, J, M), [], "constraint_margin")
