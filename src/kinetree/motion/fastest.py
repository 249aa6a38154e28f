"""The fastest profile of speed along one smooth path, for one robot."""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.bounds import Bounds
from kinetree.motion.demands import Knots, friction_near, knots_of, rows_of
from kinetree.motion.dynamics import Dynamics
from kinetree.motion.path import Path
from kinetree.motion.phase_plane import fastest_profile
from kinetree.motion.profile import Profile

ROUNDS = 40
ROUNDING = 0.1  # of the margin
SETTLED = 1e-7  # relative change of the profile at which friction is known


def fastest(
    robot: Dynamics, path: Path, bounds: Bounds, acceleration: Array, margin: float
) -> Profile:
    """The fastest profile that keeps every joint within 1 - margin of its limits.

    First friction settles: it depends on the profile, which depends on it. Then what forces and
    speeds between the knots have too much is kept back, interval by interval, until none has.
    Should that not come to an end, the profile is slowed down as a whole.
    """
    knots = knots_of(robot, path)
    effort, velocity = bounds.effort * (1 - margin), bounds.velocity * (1 - margin)
    limits = effort, velocity, acceleration * (1 - margin)
    _check_standing(robot, path, knots, bounds)
    profile = _settle(robot, path, knots, limits)
    kept = _nothing_kept(len(knots.lengths), len(effort))
    for _ in range(ROUNDS):
        excess = _excess(robot, profile, limits)
        if _fits(excess, limits, margin):
            return profile
        kept = [before + np.maximum(part, 0) for before, part in zip(kept, excess, strict=True)]
        friction = friction_near(robot, knots, profile.x)
        found = fastest_profile(rows_of(knots, friction, limits, kept))
        if found is None:
            break
        profile = Profile(path, *found)
    return _slowed(robot, profile, limits, margin)


def _fits(excess: list[Array], limits: tuple[Array, ...], margin: float) -> bool:
    """Whether nothing has too much, but for rounding, far less than the margin that was kept."""
    effort, velocity, acceleration = limits
    per = (effort, effort, velocity, acceleration, acceleration)
    return all(
        bool(np.all(part[:, np.isfinite(limit)] <= ROUNDING * margin * limit[np.isfinite(limit)]))
        for part, limit in zip(excess, per, strict=True)
    )


def _check_standing(robot: Dynamics, path: Path, knots: Knots, bounds: Bounds) -> None:
    """Refuse a path that cannot even be crept along, saying where and why."""
    gravity = np.stack([knots.gravity[:-1], knots.gravity[1:]])
    creeping = gravity + friction_near(robot, knots, 0 * path.grid).rest
    for force, what in ((gravity, "gravity alone needs"), (creeping, "gravity and friction need")):
        side, k, j = np.unravel_index(int(np.argmax(np.abs(force) - bounds.effort)), force.shape)
        if not abs(force[side, k, j]) < bounds.effort[j]:
            share = path.grid[k + side] / path.grid[-1]
            raise InputError(
                f"{what} {force[side, k, j]:.6g} on {bounds.names[j]!r}, {100 * share:.3g} % along "
                f"the path, and its limit is {bounds.effort[j]:.6g}; there is no way to move there "
                "at any speed. Choose another path, a lighter load or a higher effort limit."
            )


def _settle(robot: Dynamics, path: Path, knots: Knots, limits: tuple[Array, ...]) -> Profile:
    """The profile whose friction is its own: tangents taken anew until nothing changes."""
    kept = _nothing_kept(len(knots.lengths), knots.A.shape[1])
    x = np.zeros(len(path.grid))
    profile = None
    for _ in range(ROUNDS):
        found = fastest_profile(rows_of(knots, friction_near(robot, knots, x), limits, kept))
        if found is None:
            x = x / 4  # too fast a guess: friction alone used up the torque
            continue
        profile = Profile(path, *found)
        if float(np.max(np.abs(profile.x - x))) <= SETTLED * float(profile.x.max()):
            break
        x = profile.x
    if profile is None:
        raise InputError(
            "no motion along the path keeps all joints within their limits, though the robot can "
            "stand everywhere on it; it is too close to its limits. Raise the effort limits."
        )
    return profile


def _nothing_kept(intervals: int, n: int) -> list[Array]:
    return [np.zeros((intervals, n)) for _ in range(5)]


def _excess(robot: Dynamics, profile: Profile, limits: tuple[Array, ...]) -> list[Array]:
    """What force (up, down), speed and acceleration (up, down) have too much, (N, n) each."""
    effort, velocity, acceleration = limits
    q, dq, ddq = profile.inside()
    tau = robot.inverse_dynamics(q, dq, ddq)
    return [
        _most(tau) - effort,
        _most(-tau) - effort,
        _most(np.abs(dq)) - velocity,
        _most(ddq) - acceleration,
        _most(-ddq) - acceleration,
    ]


def _most(x: Array) -> Array:
    """The largest value in every interval, (N, n), of places in it, (N, places, n).

    Within an interval all is smooth, so that parabolas through three places find what is between.
    """
    left, middle, right = x[:, :-2], x[:, 1:-1], x[:, 2:]
    bend, tilt = left - 2 * middle + right, right - left
    inside = (bend < 0) & (np.abs(tilt) <= -2 * bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(inside, middle - tilt * tilt / (8 * bend), middle)
    return np.maximum(x.max(axis=1), vertex.max(axis=1))


def _slowed(robot: Dynamics, profile: Profile, limits: tuple[Array, ...], margin: float) -> Profile:
    """The profile as a whole just as slow as it must be."""

    def fits(factor: float) -> bool:
        return _fits(_excess(robot, profile.slower(factor), limits), limits, margin)

    low, high = 1.0, 1.0
    while not fits(high) and high < 1e6:
        low, high = high, high * 1.05
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return profile.slower(high)
