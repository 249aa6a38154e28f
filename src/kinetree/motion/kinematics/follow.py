"""Joint positions along a path of a frame, without jumps from one branch to another."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import count, typed
from kinetree.errors import ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.inputs import coordinates
from kinetree.motion.inputs import positive
from kinetree.motion.kinematics.problem import SEARCH_PROGRESS, SEARCH_ROUNDS
from kinetree.motion.kinematics.solve import read_problem
from kinetree.motion.kinematics.targets import Target


@dataclass(frozen=True, eq=False)
class Followed:
    """Joint positions along a path of T targets.

    Args:
        q: joint positions, shape (T, nq), rad or m.
        reached: whether the target is reached, without a jump before it, shape (T,).
        position_error: largest distance of a frame from its target, shape (T,), m.
        rotation_error: largest angle between a frame and its target, shape (T,), rad.
        largest_step: largest change of a joint between two targets, rad or m.
    """

    q: Array
    reached: Array
    position_error: Array
    rotation_error: Array
    largest_step: float

    @property
    def ok(self) -> bool:
        """Whether the whole path is followed."""
        return bool(self.reached.all())

    @property
    def fails_at(self) -> int | None:
        """Index of the first target that is not reached; None: all are."""
        return None if self.ok else int(self.reached.argmin())

    def __repr__(self) -> str:
        end = "all reached" if self.ok else f"fails at target {self.fails_at}"
        far, turned = self.position_error.max(), self.rotation_error.max()
        return f"Followed({len(self.q)} targets, {end}, errors up to {far:.2g} m, {turned:.2g} rad)"


@typed
def follow(
    robot: Model | HasModel,
    path: Target,
    q0: StateLike | None = None,
    *,
    frame: str | None = None,
    branches: int = 16,
    max_step: float = 0.5,
    weights: ArrayLike | None = None,
    lower: StateLike | None = None,
    upper: StateLike | None = None,
    tolerance: float = 1e-9,
    seed: int = 0,
) -> Followed:
    """Follow a path: each position is the solution next to the one before.

    Several solutions of the first target are followed side by side, and the one that comes
    farthest, with the shortest way of the joints, is returned.

    Args:
        robot: the robot.
        path: poses (T, 4, 4) or positions (T, 3), m, or several by their frames, as `T` of
            `inverse_kinematics`.
        q0: position next to which the path begins, shape (nq,), rad or m; None: any of `branches`.
        frame: frame to move; None is the tool.
        branches: number of solutions of the first target that are followed.
        max_step: change of a joint from target to target that counts as a jump, rad or m.
        weights: as in `inverse_kinematics`.
        lower: lower limits instead of those of the joints, shape (n,), rad or m.
        upper: upper limits, shape (n,), rad or m.
        tolerance: largest error of a target that is reached, rad and m.
        seed: of the starts.

    Example:
        >>> robot = kt.robots.panda()
        >>> T = robot.pose([0.1, -0.5, 0.2, -2, 0.3, 1.5, 0.4])
        >>> path = np.tile(T, (50, 1, 1))
        >>> path[:, 2, 3] += np.linspace(0, 0.1, 50)
        >>> kt.motion.follow(robot, path).ok
        True
    """
    model = model_of(robot)
    max_step = positive(max_step, "max_step", "rad or m")
    start = None if q0 is None else coordinates(model, q0, "q0").astype(float)
    problem, starts, shape, _ = read_problem(
        model, path, start, frame, weights, (lower, upper), tolerance, seed
    )
    if len(shape) != 1 or shape[0] == 0:
        raise ShapeError(f"path has the leading shape {shape}; expected (T,), one target a row.")
    first = problem.part(np.array([0]))
    width = max(1, count(branches, "branches")) if q0 is None else 1
    state = first.several(starts[:1], 4 * width, width)[0]
    if q0 is not None or not first.part(np.zeros(width, int)).reached(state).any():
        state, width = first.search(starts[:1], 100)[0], 1
    states = [state]
    for k in range(1, len(starts)):
        part = problem.part(np.full(width, k))
        state = part.run(part.start(state.q), SEARCH_ROUNDS, SEARCH_PROGRESS)
        states.append(state)
    q, distance, angle = (
        np.array([getattr(x, name) for x in states]) for name in ("q", "distance", "angle")
    )
    steps = np.abs(np.diff(q, axis=0)).max(axis=-1, initial=0)
    reached = np.maximum(distance, angle) <= problem.tolerance**2
    reached[1:] &= steps <= max_step
    ends = np.where(reached.all(axis=0), len(starts), reached.argmin(axis=0))
    best = int(np.lexsort((np.abs(np.diff(q, axis=0)).sum(axis=(0, 2)), -ends))[0])
    return Followed(
        q[:, best],
        reached[:, best],
        np.sqrt(distance[:, best]),
        np.sqrt(angle[:, best]),
        float(steps[:, best].max(initial=0)),
    )
