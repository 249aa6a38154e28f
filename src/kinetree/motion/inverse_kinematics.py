"""Inverse kinematics: joint positions that bring a frame to a pose, within the limits."""

from typing import Any

import numpy as np

from kinetree.model.inputs import coordinates
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.bounds import Bounds, bounds_of, positions
from kinetree.spatial.se3 import check_pose, inverse, log_se3

POSE, POSITION = "pose", "position"
LEAST_GAIN = 1e-14  # below it a step is rounding


def inverse_kinematics(
    robot: Any,
    T: Any,
    q0: Any = None,
    *,
    frame: str | None = None,
    part: str = POSE,
    tolerance: float = 1e-10,
    iterations: int = 200,
    restarts: int = 30,
    seed: int = 0,
) -> Array:
    """q, (nq,), within the limits, with T_sb(q) = T.

    Damped Newton steps on the error in the body frame: V = log(T_sb^-1 T), and the step solves
    (J_b^T J_b + damping) dq = J_b^T V for the joints that are not held by a limit. Where it ends
    in a local minimum, it starts again from random positions.

    Args:
        robot: the robot.
        T: pose to reach, (4, 4), in {s}.
        q0: where to start, (nq,); the answer is usually the nearest one. None is neutral.
        frame: frame to move; None is the tool.
        part: "pose", or "position" to leave the orientation free.
        tolerance: length of V to reach, rad and m together.
        iterations: most steps from one start.
        restarts: random starts after the first.
        seed: of the random starts.

    Raises:
        InputError: the pose is not reached; says how near the robot came and what held it.
    """
    T = check_pose(T, "T")
    check_part(part)
    bounds = bounds_of(robot.model)
    start = robot.neutral() if q0 is None else coordinates(robot.model, q0, "q0").astype(float)
    rng = np.random.default_rng(seed)
    best, nearest = start, np.inf
    for trial in range(restarts + 1):
        q, distance = descend(
            robot, T, clip(bounds, start), frame, part, tolerance, iterations, bounds
        )
        if distance <= tolerance:
            return q
        if distance < nearest:
            best, nearest = q, distance
        start = robot.random(rng) if trial < restarts else start
    raise InputError(_unreached(robot, T, best, frame, part, bounds, restarts + 1))


def check_part(part: str) -> None:
    """Refuse what is neither "pose" nor "position"."""
    if part not in (POSE, POSITION):
        raise InputError(f"part is {part!r}; expected {POSE!r} or {POSITION!r}.")


def error(robot: Any, T: Array, q: Array, frame: str | None, part: str) -> Array:
    """What is missing to T, in the body frame: (6,), or (3,) of the position alone."""
    T_sb = robot.pose(q, frame)
    if part == POSITION:
        return T_sb[:3, :3].T @ (T[:3, 3] - T_sb[:3, 3])
    return log_se3(inverse(T_sb) @ T)


def jacobian(robot: Any, q: Array, frame: str | None, part: str) -> Array:
    """J_b, or its linear rows."""
    J_b = robot.body_jacobian(q, frame)
    return J_b[3:] if part == POSITION else J_b


def descend(
    robot: Any,
    T: Array,
    q: Array,
    frame: str | None,
    part: str,
    tolerance: float,
    iterations: int,
    bounds: Bounds,
) -> tuple[Array, float]:
    """Newton steps with growing or shrinking damping; the last position and its distance."""
    damping = 1e-3
    V = error(robot, T, q, frame, part)
    distance = float(np.linalg.norm(V))
    for _ in range(iterations):
        if distance <= tolerance or damping > 1e12:
            break
        J = jacobian(robot, q, frame, part)
        q_new = _step(robot, bounds, q, J, V, damping * min(1.0, distance * distance))
        V_new = error(robot, T, q_new, frame, part)
        nearer = float(np.linalg.norm(V_new))
        if nearer < distance * (1 - LEAST_GAIN):
            q, V, distance, damping = q_new, V_new, nearer, max(damping / 4, 1e-12)
        else:
            damping = damping * 8
    return q, distance


def _step(robot: Any, bounds: Bounds, q: Array, J: Array, V: Array, damping: float) -> Array:
    """One damped step; joints that it would carry beyond a limit go to it and no further."""
    now = positions(bounds, q)
    step, free = np.zeros(len(now)), np.ones(len(now), bool)
    for _ in range(len(now)):
        rest, J_free = V - J @ np.where(free, 0, step), J[:, free]
        normal = J_free.T @ J_free + damping * np.eye(J_free.shape[1])
        step[free] = np.linalg.lstsq(normal, J_free.T @ rest, rcond=None)[0]
        within = np.clip(now + step, bounds.lower, bounds.upper) - now
        beyond = free & (within != step) & (bounds.coords >= 0)
        if not beyond.any():
            break
        step = np.where(beyond, within, step)
        free = free & ~beyond
        if not free.any():
            break
    return clip(bounds, robot.integrate(q, step))


def clip(bounds: Bounds, q: Array) -> Array:
    """The nearest position within the limits."""
    out, own = q.copy(), bounds.coords >= 0
    at = bounds.coords[own]
    out[at] = np.clip(q[at], bounds.lower[own], bounds.upper[own])
    return out


def _unreached(
    robot: Any, T: Array, q: Array, frame: str | None, part: str, bounds: Bounds, starts: int
) -> str:
    V = error(robot, T, q, frame, part)
    T_sb = robot.pose(q, frame)
    away = float(np.linalg.norm(T_sb[:3, 3] - T[:3, 3]))
    text = f"{away * 1e3:.4g} mm"
    if part == POSE:
        text += f" and {np.degrees(np.linalg.norm(V[:3])):.4g} deg"
    now = positions(bounds, q)
    held = [
        f"{name!r} at {x:.4g}"
        for name, x, low, high in zip(bounds.names, now, bounds.lower, bounds.upper, strict=True)
        if x in (low, high)
    ]
    at_limit = f" with {', '.join(held)} at a limit" if held else ""
    name = robot.model.tool if frame is None else frame
    return (
        f"{robot.model.name!r} does not reach the pose of frame {name!r} at position "
        f"{np.round(T[:3, 3], 6).tolist()} m: the nearest of {starts} starts stays {text} away"
        f"{at_limit}. Move the target nearer"
        + (", or ask for part='position' if its orientation does not matter." if part == POSE
           else ", or start from another q0.")
    )  # fmt: skip
