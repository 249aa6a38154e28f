"""Inverse kinematics: joint positions that bring frames to poses, for batches, within limits."""

from dataclasses import replace
from functools import partial

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, StateLike, array, array_module
from kinetree.core.options import count, numbers
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.bounds import Bounds, bounds_of
from kinetree.model.inputs import check_quaternions, coordinate_axis, coordinates
from kinetree.motion.inputs import positive
from kinetree.motion.kinematics.descent import descent_kernel
from kinetree.motion.kinematics.gradient import package_of, with_gradient
from kinetree.motion.kinematics.problem import Problem
from kinetree.motion.kinematics.result import IKResult
from kinetree.motion.kinematics.single import near_start
from kinetree.motion.kinematics.targets import Target, read_targets
from kinetree.present.labels import Alignment, Axis, vector_by_name

OUTSIDE = 1e-9  # rad or m by which q0 may be outside the limits, and is put at them
QUATERNION = 1e-6  # of the length of a quaternion in q0


def inverse_kinematics(
    robot: Model | HasModel,
    T: Target,
    q0: StateLike | None = None,
    *,
    frame: str | None = None,
    posture: StateLike | None = None,
    weights: ArrayLike | None = None,
    lower: StateLike | None = None,
    upper: StateLike | None = None,
    tolerance: float = 1e-9,
    restarts: int = 500,
    solutions: int | None = None,
    seed: int = 0,
) -> IKResult:
    """q within the limits, with T_sb(q) = T, for poses of any leading shape.

    Damped Gauss-Newton steps (Levenberg-Marquardt) in a compiled kernel, from q0 and from further
    starts within the limits. Poses that are out of reach get the nearest position that was found,
    and `reached` is False. Closed loops are kept closed. A result does not depend on the batch.

    Args:
        robot: the robot.
        T: poses in {s}, shape (..., 4, 4), positions in m; or positions alone, (..., 3), which
            leave the orientation free; or {frame: either of them} for several frames at once,
            where "center of mass" is one, too. Arrays of CuPy are solved on their GPU.
        q0: position to start from, shape (..., nq), rad or m; the result is usually the nearest
            solution. None: the position at rest.
        frame: frame to move; None is the tool.
        posture: position to be near to where the targets leave a choice, shape (nq,), rad or m.
        weights: of angles and of distances in the error that is least where a target is out of
            reach, shape (2,), or (targets, 2), 1/rad and 1/m; None: all 1.
        lower: lower limits instead of those of the joints, shape (n,), rad or m.
        upper: upper limits, shape (n,), rad or m.
        tolerance: largest error of a pose that is reached, rad and m.
        restarts: largest number of further starts.
        solutions: number of different positions to look for with all starts: q then has the shape
            (..., solutions, nq), and those that are not found are not `reached`; None: one.
        seed: of the further starts.

    Raises:
        InputError: T is not a pose, a frame is unknown, q0 or the limits exclude everything.

    Example:
        >>> robot = kt.robots.panda()
        >>> T = robot.pose([0.1, -0.5, 0.2, -2, 0.3, 1.5, 0.4])
        >>> found = robot.inverse_kinematics(T)
        >>> bool(found.reached), bool(abs(robot.pose(found.q) - T).max() < 1e-9)
        (True, True)
    """
    model = model_of(robot)
    if posture is weights is lower is upper is solutions is None:
        if found := near_start(model, T, q0, frame, tolerance, _limits(model, None, None)):
            return found
    if package := package_of(T):
        solve = partial(
            inverse_kinematics, model, q0=q0, frame=frame, posture=posture, weights=weights,
            lower=lower, upper=upper, tolerance=tolerance, restarts=restarts, seed=seed,
        )  # fmt: skip
        return with_gradient(model, T, frame, _limits(model, lower, upper), solve, package)
    if array_module(q0) is not np:
        q0 = q0.get()  # type: ignore[union-attr]
    alignment = Alignment([(q0, coordinate_axis(model), "q0")])
    start = None if q0 is None else alignment.values[0]
    problem, q, shape, defect = read_problem(
        model, T, start, frame, weights, (lower, upper), tolerance, seed
    )
    restarts = count(restarts, "restarts")
    if solutions is None:
        found, tries = problem.search(q, restarts)
    elif problem.xp is not np:
        raise InputError("solutions= takes targets in arrays of NumPy; T is on a GPU.")
    else:
        shape = (*shape, max(1, count(solutions, "solutions")))
        found, tries, problem = problem.several(q, restarts, shape[-1])
    if posture is not None:
        found = problem.towards(found, np.asarray(coordinates(model, posture, "posture"), float))
    positions = found.q.reshape(*shape, model.nq)
    if problem.xp is np:
        positions = alignment.label(positions, [coordinate_axis(model)], "q")
    return IKResult(
        positions,
        problem.reached(found).reshape(shape)[()],
        (found.distance**0.5).reshape(shape)[()],
        (found.angle**0.5).reshape(shape)[()],
        tries.reshape(shape)[()],
        defect,
    )


def read_problem(
    model: Model,
    T: Target,
    q0: ArrayLike | None,
    frame: str | None,
    weights: ArrayLike | None,
    limits: tuple[StateLike | None, StateLike | None],
    tolerance: float,
    seed: int,
) -> tuple[Problem, Array, tuple[int, ...], float]:
    """The problem of the arguments, its starts (B, nq), the leading shape, `rotation_defect`."""
    targets = read_targets(model, T, frame)
    bounds = _limits(model, *limits)
    start = _start(model, bounds, q0)
    shape = np.broadcast_shapes(targets.shape, start.shape[:-1])
    problem = Problem(
        model,
        bounds,
        targets.flat(shape),
        descent_kernel(model, targets.tasks, "llvm" if targets.xp is np else "cuda"),
        _weights(weights, len(targets.tasks)),
        positive(tolerance, "tolerance", "rad and m"),
        count(seed, "seed"),
        targets.xp,
    )
    xp = targets.xp
    q = xp.broadcast_to(xp.asarray(start), (*shape, model.nq)).reshape(-1, model.nq)
    return problem, xp.array(q), shape, targets.defect


# ----- input


def _limits(model: Model, lower: StateLike | None, upper: StateLike | None) -> Bounds:
    """The limits of joints and of those that follow them, or others."""
    if lower is None and upper is None:
        return remembered(model, ("limits of inverse kinematics",), lambda: _narrowed(model))
    return _narrowed(model, lower, upper)


def _narrowed(
    model: Model, lower: StateLike | None = None, upper: StateLike | None = None
) -> Bounds:
    bounds = bounds_of(model)
    low, high = bounds.lower.copy(), bounds.upper.copy()
    for joint in model.joints:  # q = scale q_leader + offset of those that follow
        if joint.follows is not None and (scale := float(joint.scale)):
            limits, k = (joint.limits.lower, joint.limits.upper), joint.dofs[0]
            ends = [(x - float(joint.offset)) / scale for x in limits]
            low[k], high[k] = max(low[k], min(ends)), min(high[k], max(ends))
    if lower is not None:
        low = _vector(lower, bounds.names, "lower")
    if upper is not None:
        high = _vector(upper, bounds.names, "upper")
    for k in np.flatnonzero(~(low <= high))[:1]:
        raise InputError(
            f"the limits of {bounds.names[k]!r} exclude everything: lower = {low[k]:g}, upper = "
            f"{high[k]:g}; expected lower <= upper."
        )
    return replace(bounds, lower=low, upper=high)


def _vector(value: StateLike, names: tuple[str, ...], name: str) -> Array:
    x = np.asarray(vector_by_name(value, Axis(names), name), float)
    if x.shape != (len(names),):
        raise ShapeError(f"{name} has shape {x.shape}; expected ({len(names)},).")
    return x


def _start(model: Model, bounds: Bounds, q0: ArrayLike | None) -> Array:
    """Where the first start begins, (..., nq), within the limits."""
    own = bounds.coords >= 0
    coords, low, high = bounds.coords[own], bounds.lower[own], bounds.upper[own]
    if q0 is None:
        q = np.array(dynamics.start_position(model), float)
    else:
        q = np.array(numbers(q0, "q0", f"joint positions, shape (..., {model.nq})"), float)
        if q.shape[-1:] != (model.nq,):
            raise ShapeError(f"q0 has shape {q.shape}; expected (..., {model.nq}).")
        array(q, q.shape, "q0")  # which refuses NaN
        check_quaternions(model, q, "q0", QUATERNION)
        outside = np.maximum(low - q[..., coords], q[..., coords] - high)
        for at in np.argwhere(outside > OUTSIDE)[:1].tolist():
            name, x = np.array(bounds.names)[own][at[-1]], q[..., coords][tuple(at)]
            raise InputError(
                f"q0 of {str(name)!r} is {x:.6g}, outside its limits {low[at[-1]]:.6g} ... "
                f"{high[at[-1]]:.6g}; expected a position within."
            )
    q[..., coords] = np.clip(q[..., coords], low, high)
    return q


def _weights(given: ArrayLike | None, count: int) -> Array:
    x = np.ones((count, 2)) if given is None else numbers(given, "weights", "(angle, distance)")
    if x.shape not in ((2,), (count, 2)) or not (np.isfinite(x).all() and x.min() >= 0):
        raise InputError(f"weights is {given!r:.60}; expected {(count, 2)} numbers, not below 0.")
    return np.array(np.broadcast_to(x, (count, 2)), float)
