"""Motions that tell most: Fourier series whose regressor is as well conditioned as can be found.

Random Fourier series that start and end at rest (`kinetree.motion.excitation`) span a linear space,
joint by joint. Coefficients in that space are improved by random steps that grow after a success
and shrink after a failure; positions, rates and joint forces stay within their limits throughout.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.identify.base import find_base
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.motion.bounds import bounds_of
from kinetree.motion.excitation import excitation
from kinetree.robot import Robot
from kinetree.simulate.trajectory import Trajectory

SAMPLES = 150  # of the motion at which its regressor is looked at


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion to record, with the condition of its regressor, and that of the random start."""

    motion: Trajectory
    condition: float
    before: float


def excite(
    robot: Robot,
    duration: float = 20.0,
    dt: float = 0.005,
    *,
    harmonics: int = 5,
    periods: int = 1,
    use: float = 0.8,
    center: Any = None,
    rounds: int = 300,
    friction: str = "symmetric",
    armature: bool = True,
    seed: int = 0,
    watch: Callable[[int, float], None] | None = None,
) -> Excitation:
    """A motion within the robot's limits that tells its base parameters apart.

    Args:
        robot: as far as it is known; its limits of position, speed and force bound the motion.
        duration, dt: whole time and step, s.
        harmonics, periods, use, center: as in `kinetree.motion.excitation`.
        rounds: steps of the search.
        friction, armature: what will be unknown; see `unknowns`.
        seed: of the search.
        watch: is told the round and the best condition so far.
    """
    if rounds < 1:
        raise InputError(f"rounds is {rounds}; expected 1 at least.")
    options: dict[str, Any] = {
        "harmonics": harmonics, "periods": periods, "use": use, "center": center
    }  # fmt: skip
    fine = [
        excitation(robot, duration, dt, seed=seed + k, **options)
        for k in range(2 * harmonics - 3)  # as many as the space has dimensions
    ]
    space = _Space(fine, robot, use)
    sought = unknowns(robot, friction, armature)
    kept = list(find_base(sought).kept)
    rng = np.random.default_rng(seed)
    best = np.zeros((len(fine), robot.n))
    best[0] = 1
    condition = before = _condition(sought, kept, space, best)
    step = 0.5
    for k in range(1, rounds + 1):
        trial = best + step * rng.normal(size=best.shape)
        found = _condition(sought, kept, space, trial)
        better = found < condition
        if better:
            best, condition = trial / np.abs(trial).max(), found
        step = min(2.0, step * 1.5) if better else max(0.01, step * 0.93)
        if watch is not None:
            watch(k, condition)
    q, dq, ddq = space.motion(best, slice(None))
    motion = fine[0].replace(q=q, dq=dq, ddq=ddq)
    return Excitation(motion, condition, before)


class _Space:
    """Linear combinations of motions about a common centre, scaled into the limits."""

    def __init__(self, motions: list[Trajectory], robot: Robot, use: float) -> None:
        self.robot, self.use, self.bounds = robot, use, bounds_of(robot.model)
        self.center = motions[0].q[0]  # where they all start
        self.q = np.array([x.q - self.center for x in motions])
        self.dq = np.array([x.dq for x in motions])
        self.ddq = np.array([x.ddq for x in motions])
        room = np.minimum(self.bounds.upper - self.center, self.center - self.bounds.lower)
        self.room = np.where(np.isfinite(room), use * room, np.abs(self.q).max(axis=(0, 1)))

    def motion(self, c: Array, samples: Any) -> tuple[Array, Array, Array]:
        """q, dq and ddq, (T, n), of coefficients c, (k, n), at some of the samples."""
        q, dq = (np.einsum("ktn,kn->tn", x, c) for x in (self.q, self.dq))
        speed = self.use * self.bounds.velocity / np.maximum(np.abs(dq).max(axis=0), 1e-12)
        scale = np.minimum(self.room / np.maximum(np.abs(q).max(axis=0), 1e-12), speed)
        ddq = np.einsum("ktn,kn->tn", self.ddq[:, samples], c)
        return self.center + scale * q[samples], scale * dq[samples], scale * ddq


def _condition(sought: Unknowns, kept: list[int], space: _Space, c: Array) -> float:
    """Condition of the base regressor with unit columns; infinite beyond the limits of force."""
    samples = slice(None, None, max(1, space.q.shape[1] // SAMPLES))
    state = space.motion(c, samples)
    tau = space.robot.inverse_dynamics(*state)
    if np.any(np.abs(tau) > space.bounds.effort):
        return np.inf
    W = sought.regressor(*state)[..., kept].reshape(-1, len(kept))
    lengths = np.linalg.norm(W, axis=0)
    if not lengths.all():
        return np.inf
    squares = np.linalg.eigvalsh((W / lengths).T @ (W / lengths))
    return float(np.sqrt(squares[-1] / max(float(squares[0]), 1e-300)))
