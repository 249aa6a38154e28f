"""Inverse kinematics: joint positions that bring a frame to a pose, within the limits."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, StateLike, scalar
from kinetree.core.options import count, generator, is_one_of, typed
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.bounds import Bounds, bounds_of, positions
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinate_axis, coordinates
from kinetree.present.labels import Alignment
from kinetree.spatial.se3 import check_pose, inverse, log_se3

Part = Literal["pose", "position"]
POSE, POSITION = "pose", "position"
LEAST_GAIN = 1e-14  # relative gain of a step below which it is rounding


@dataclass(frozen=True, eq=False)
class MovedFrame:
    """A frame that is to be moved to a pose, or to a position with free orientation.

    frame: name, None for the tool. part: "pose" or "position".
    """

    model: Model
    frame: str | None
    part: Part

    def __post_init__(self) -> None:
        if not is_one_of(self.part, (POSE, POSITION)):
            raise InputError(f"part is {self.part!r:.60}; expected {POSE!r} or {POSITION!r}.")

    def pose(self, q: Array) -> Array:
        """T_sb, (4, 4)."""
        return kernel(self.model, "pose", frame=self.frame)(q)

    def body_jacobian(self, q: Array) -> Array:
        """J_b, (6, n)."""
        return kernel(self.model, "body_jacobian", frame=self.frame)(q)

    def body_jacobian_rate(self, q: Array, dq: Array) -> Array:
        """dJ_b/dt, (6, n)."""
        return kernel(self.model, "body_jacobian_rate", frame=self.frame)(q, dq)

    def rows(self, J: Array) -> Array:
        """The rows of a Jacobian that belong to the part: all 6, or the 3 linear ones."""
        return J[3:] if self.part == POSITION else J

    def jacobian(self, q: Array) -> Array:
        """J_b, (6, n), or its linear rows, (3, n)."""
        return self.rows(self.body_jacobian(q))

    def error(self, T: Array, q: Array) -> Array:
        """The twist that moves the frame to T in unit time, in the body frame: (6,) or (3,)."""
        T_sb = self.pose(q)
        if self.part == POSITION:
            return T_sb[:3, :3].T @ (T[:3, 3] - T_sb[:3, 3])
        return log_se3(inverse(T_sb) @ T)


@typed
def inverse_kinematics(
    robot: Model | HasModel,
    T: ArrayLike,
    q0: StateLike | None = None,
    *,
    frame: str | None = None,
    part: Part = POSE,
    tolerance: float = 1e-10,
    iterations: int = 200,
    restarts: int = 30,
    seed: int = 0,
) -> Array:
    """q, (nq,), within the limits, with T_sb(q) = T.

    Damped Newton steps on the error in the body frame: V = log(T_sb^-1 T), and the step solves
    (J_b^T J_b + damping) dq = J_b^T V for the joints that are not held by a limit. If it ends in a
    local minimum, it starts again from random positions.

    Args:
        robot: the robot.
        T: pose to reach in {s}, shape (4, 4), position in m.
        q0: position to start from, shape (nq,), rad or m; the result is usually the nearest
            solution. None: the neutral position.
        frame: frame to move; None is the tool.
        part: "pose", or "position" to leave the orientation free.
        tolerance: length of V to reach, rad and m together.
        iterations: largest number of steps from one start.
        restarts: number of random starts after the first.
        seed: of the random starts.

    Raises:
        InputError: the pose is not reached; the message has the distance that remained and the
            joints that were at a limit.
    """
    model = model_of(robot)
    without_constraints(model, "inverse_kinematics")
    goal = check_pose(T, "T")
    tolerance = float(scalar(tolerance, "tolerance"))
    iterations, restarts = count(iterations, "iterations"), count(restarts, "restarts")
    moved = MovedFrame(model, frame, part)
    bounds = bounds_of(model)
    alignment = Alignment([(q0, coordinate_axis(model), "q0")])
    given = alignment.values[0]
    start = dynamics.neutral(model) if q0 is None else coordinates(model, given, "q0").astype(float)
    rng = generator(seed, "seed")
    best, nearest = start, np.inf
    for trial in range(restarts + 1):
        q, distance = _descend(moved, goal, clip(bounds, start), tolerance, iterations)
        if distance <= tolerance:
            return alignment.label(q, [coordinate_axis(model)], "q")
        if distance < nearest:
            best, nearest = q, distance
        start = dynamics.random(model, rng) if trial < restarts else start
    raise InputError(_unreached(moved, goal, best, restarts + 1))


def _descend(
    moved: MovedFrame, T: Array, q: Array, tolerance: float, iterations: int
) -> tuple[Array, float]:
    """The last position of Newton steps from q, and the length of its error.

    The damping shrinks after a step that reduces the error and grows after one that does not
    (Levenberg-Marquardt).
    """
    damping = 1e-3
    error = moved.error(T, q)
    distance = float(np.linalg.norm(error))
    for _ in range(iterations):
        if distance <= tolerance or damping > 1e12:
            break
        J = moved.jacobian(q)
        q_new = _step(moved.model, q, J, error, damping * min(1.0, distance * distance))
        error_new = moved.error(T, q_new)
        nearer = float(np.linalg.norm(error_new))
        if nearer < distance * (1 - LEAST_GAIN):
            q, error, distance, damping = q_new, error_new, nearer, max(damping / 4, 1e-12)
        else:
            damping = damping * 8
    return q, distance


def _step(model: Model, q: Array, J: Array, V: Array, damping: float) -> Array:
    """The position after one damped step.

    Joints that the step would move beyond a limit are put at the limit; the step of the others is
    then computed again, because they have to make up for it.
    """
    bounds = bounds_of(model)
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
    return clip(bounds, dynamics.integrate(model, q, step))


def clip(bounds: Bounds, q: Array) -> Array:
    """The nearest position within the limits."""
    out, has_coordinate = q.copy(), bounds.coords >= 0
    at = bounds.coords[has_coordinate]
    out[at] = np.clip(q[at], bounds.lower[has_coordinate], bounds.upper[has_coordinate])
    return out


def _unreached(moved: MovedFrame, T: Array, q: Array, starts: int) -> str:
    """Message for a pose that was not reached; q is the nearest position that was found."""
    model, bounds = moved.model, bounds_of(moved.model)
    away = float(np.linalg.norm(moved.pose(q)[:3, 3] - T[:3, 3]))
    text = f"{away * 1e3:.4g} mm"
    if moved.part == POSE:
        text += f" and {np.degrees(np.linalg.norm(moved.error(T, q)[:3])):.4g} deg"
    now = positions(bounds, q)
    held = [
        f"{name!r} at {x:.4g}"
        for name, x, low, high in zip(bounds.names, now, bounds.lower, bounds.upper, strict=True)
        if x in (low, high)
    ]
    at_limit = f" with {', '.join(held)} at a limit" if held else ""
    name = model.frame_name(moved.frame)
    return (
        f"{model.name!r} does not reach the pose of frame {name!r} at position "
        f"{np.round(T[:3, 3], 6).tolist()} m: the nearest of {starts} starts stays {text} away"
        f"{at_limit}. Move the target nearer"
        + (", or ask for part='position' if its orientation does not matter." if moved.part == POSE
           else ", or start from another q0.")
    )  # fmt: skip
