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
from kinetree.core.text import listing
from kinetree.dynamics.constraints.closing import (
    Closed,
    close,
    unclosed,
)
from kinetree.dynamics.constraints.mobility import Mobility, mobility
from kinetree.dynamics.constraints.ranks import RANK, least_squares
from kinetree.dynamics.constraints.regularity import margin as distance
from kinetree.dynamics.joints.configuration import integrate
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.files.description.constraints import Constraint, Couple, Hold, Loop, Rod
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import HasModel, Model, model_of
from kinetree.model.constrain import constraints_of, dofs_named, tree_of
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


CLOSED = 1e-10  # rad or m: the largest error of an equation at a projected position
ATTEMPTS = 20  # positions around, from which it is tried again
NEAR = 0.3  # their distance, rad or m
LEFT = 1e-9  # of the terms of J x: what may be left of an equation for rates or accelerations

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


STEP = 0.2  # rad or m: steps in which positions that are kept are reached from a start


def project(
    robot: Model | HasModel,
    q: StateLike,
    *,
    keep: Sequence[str] = (),
    start: StateLike | None = None,
) -> Array:
    """A position near q at which all constraints are satisfied, by Newton's method.

    It is not always the nearest one: every step is the shortest that closes the linear part of
    the constraints. From stretched bars, which have no slope towards closing, positions around
    are tried, always the same ones.

    Args:
        robot: a Robot or a Model.
        q: joint positions, shape (..., nq), rad or m.
        keep: names of joints that stay where they are.
        start: a closed position, (nq,); the joints that are kept move from it to q in short steps,
            so that the loops stay as they are assembled. If a step cannot be closed, or a joint
            that is kept has several degrees of freedom, q itself is closed.

    Returns:
        q: shape (..., nq), rad or m.

    Raises:
        InputError: no such position is found; the message has the residual, the constraint,
            and the state of a batch.
    """
    model = model_of(robot)
    kept = _kept(model, keep)
    if start is not None and all(model.joint(x).type in SCREW_TYPES for x in keep):
        try:
            return _followed(model, q, keep, np.asarray(start, float))
        except InputError:
            pass
    alignment = Alignment([(q, coordinate_axis(model), "q")])
    given = np.asarray(alignment.values[0], float)
    closed = np.empty(given.shape)
    for at in np.ndindex(given.shape[:-1]):
        start = np.array(coordinates(model, given[at]), float)
        try:
            closed[at] = _closed(model, start, kept, keep)
        except InputError as problem:
            raise InputError(f"{_state(at)}{problem}") from problem
    return alignment.label(closed, [coordinate_axis(model)], "project")


def _followed(model: Model, q: StateLike, keep: Sequence[str], start: Array) -> Array:
    """Close q in steps from a start, in which the joints that are kept move together."""
    goal, at = np.asarray(q, float), start
    moving = [c for x in keep for c in model.joint(x).coords]
    count = max(int(np.ceil(np.abs(goal - start).max(initial=0) / STEP)), 1)
    for k in range(1, count + 1):
        at = at.copy()
        at[moving] = (start + (goal - start) * (k / count) if k < count else goal)[moving]
        at = project(model, at, keep=keep)
    return at


def _kept(model: Model, keep: Sequence[str]) -> list[int]:
    """Entries of dq of the joints that are kept."""
    return sorted({d for name in names(keep, "keep") for d in dofs_named(model, name, "keep")})


def _state(at: tuple[int, ...]) -> str:
    """The beginning of an error for one state of a batch."""
    return f"state {list(at)} of the batch: " if at else ""


def _closed(model: Model, q: Array, kept: Sequence[int], keep: Sequence[str]) -> Array:
    """A closed position near one state."""
    constraints = constraints_of(model, "project")
    Phi, J = kernel(model, "constraint_errors"), kernel(model, "constraint_jacobian")
    free = np.ones(model.n)
    free[list(kept)] = 0

    def closing(start: Array) -> Closed:
        return close(model, start, lambda x: (Phi(x), J(x)), free)

    first = closed = closing(q)
    for attempt in range(ATTEMPTS):
        if closed.residual <= CLOSED + 10 * constraints.gap:
            return closed.q
        away = np.random.default_rng((2017, attempt)).normal(size=model.n) * NEAR * free
        closed = closing(integrate(model, q, away))
    raise InputError(unclosed(model, constraints, first, keep))


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
    if not _kept(model, keep):
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
    jacobian = kernel(model, "constraint_jacobian")  # refuses robots without constraints
    kept = _kept(model, keep)
    q, *motion = (numbers(x, "an entry of the motion", "numbers") for x in alignment.values)
    J, M = jacobian(q), kernel(model, "mass_matrix")(q)
    wanted = np.zeros(J.shape[:-1])
    if len(motion) > 1:
        wanted = -kernel(model, "constraint_bias")(q, motion[0])
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in (q, *motion)))
    J, M = (np.broadcast_to(x, (*shape, *x.shape[-2:])) for x in (J, M))
    x, wanted = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (motion[-1], wanted))
    nearest = np.empty((*shape, model.n))
    for at in np.ndindex(*shape):
        try:
            nearest[at] = _nearest_motion(model, J[at], M[at], x[at], wanted[at], kept, what)
        except InputError as problem:
            raise InputError(f"{_state(at)}{problem}") from problem
    return alignment.label(nearest, [dof_axis(model)], f"project_{what}")


def _nearest_motion(
    model: Model, J: Array, M: Array, x: Array, wanted: Array, kept: Sequence[int], what: str
) -> Array:
    """x + v, (n,), with J (x + v) = wanted, v zero for the kept entries, and v^T M v least (Gauss).

    x: rates or accelerations, (n,). what: "rates" or "accelerations", for the message.
    """
    constraints = constraints_of(model, f"project_{what}")
    free = [d for d in range(model.n) if d not in kept]
    rows, before = list(constraints.kept), x
    x = np.array(x, float)
    missing = wanted - J @ x
    if free and np.abs(missing).max(initial=0) > 0:
        C = np.linalg.inv(np.linalg.cholesky(M[np.ix_(free, free)])).T  # C C^T is M_ff^-1
        scales = np.sqrt(np.array(constraints.scales))
        A = J[rows][:, free] @ C / scales[:, None]
        x[free] += C @ least_squares(A, missing[rows] / scales, RANK)
    left = np.abs(J @ x - wanted)
    sizes = np.abs(J) @ (np.abs(x) + np.abs(before)) + np.abs(wanted)
    tolerance = (LEFT + 10 * constraints.gap) * (sizes + float(sizes.max(initial=0)))
    worst = int(np.argmax(left - tolerance))
    if left[worst] > tolerance[worst]:
        kept_names = listing([model.dof_names[d] for d in kept], 8) if kept else "no joint"
        raise InputError(
            f"the constraints of {model.name!r} allow no {what} with {kept_names} kept: constraint "
            f"{constraints.owner(worst)!r} would open with {left[worst]:.3g} (row "
            f"{constraints.row_names[worst]!r}). Keep fewer joints, at most as many as the robot "
            f"has degrees of freedom ({model.n - len(constraints.basis)}), and joints that can "
            "move independently of each other; or leave the singular position."
        )
    return x


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
    constraints = constraints_of(model, "constraint_margin")
    alignment = Alignment([(q, coordinate_axis(model), "q")])
    values = np.asarray(alignment.values[0], float)
    J, M = (kernel(model, name)(values) for name in ("constraint_jacobian", "mass_matrix"))
    return alignment.label(distance(constraints, J, M), [], "constraint_margin")
