"""The fastest speed profile along one smooth path that keeps a robot within its limits."""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.kernels.memo import kernel
from kinetree.model import Model
from kinetree.model.bounds import Bounds
from kinetree.motion.plan.path import Path
from kinetree.motion.plan.profile import CREEP, Profile, Rows, fastest_profile
from kinetree.samples.limits.loads import static_forces

ROUNDS = 40  # most repetitions of an iteration
ROUNDING = 0.1  # share of the margin by which a limit may be exceeded
SETTLED = 1e-7  # relative change of the profile at which the iteration of friction ends
SLOW = 1e-2  # share of the largest speed below which friction is a straight line in x
STEP = 1e-4  # relative step of the differences that give the tangent of friction


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of joint forces, speeds and accelerations, (n,) each; infinite if there are none."""

    effort: Array
    velocity: Array
    acceleration: Array

    def sided(self) -> Array:
        """Limits of force (up, down), speed and acceleration (up, down), (5, n)."""
        return np.stack(
            [self.effort, self.effort, self.velocity, self.acceleration, self.acceleration]
        )


@dataclass(frozen=True, eq=False)
class Knots:
    """Joint forces at the grid of a path are A u + B x + gravity + friction, (N + 1, n) each.

    gravity: with the forces of springs. slope, bend: q' and q'' at the grid. sense: direction of
    every joint in every interval, (N, n). lengths: of the intervals, (N,).
    """

    slope: Array
    bend: Array
    A: Array
    B: Array
    gravity: Array
    sense: Array
    lengths: Array


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction as slope * x + rest at both ends of every interval, (2, N, n) each."""

    slope: Array
    rest: Array


def fastest(
    model: Model, path: Path, bounds: Bounds, acceleration: Array, margin: float
) -> Profile:
    """The fastest profile that keeps every joint within 1 - margin of its limits.

    First friction is iterated: it depends on the profile, and the profile on friction. Then the
    amount by which forces and speeds between the knots exceed a limit is subtracted from the limit
    in that interval, until no limit is exceeded. If that does not converge, the profile is slowed
    down as a whole.
    """
    knots = knots_of(model, path)
    limits = Limits(*(x * (1 - margin) for x in (bounds.effort, bounds.velocity, acceleration)))
    _check_standing(model, path, knots, bounds)
    profile = _settle(model, path, knots, limits)
    reserve = np.zeros((5, *knots.sense.shape))
    for _ in range(ROUNDS):
        excess = _excess(model, profile, limits)
        if _fits(excess, limits, margin):
            return profile
        reserve = reserve + np.maximum(excess, 0)
        friction = friction_near(model, knots, profile.x)
        found = fastest_profile(rows_of(knots, friction, limits, reserve))
        if found is None:
            break
        profile = Profile(path, *found)
    return _slowed(model, profile, limits, margin)


def knots_of(model: Model, path: Path) -> Knots:
    """A = M q', B = M q'' + c(q, q'), and g with the springs, at the grid of a path."""
    q, slope, bend = path.curve(path.grid)
    M = kernel(model, "mass_matrix")(q)
    A = np.einsum("kij,kj->ki", M, slope)
    B = np.einsum("kij,kj->ki", M, bend) + kernel(model, "coriolis_forces")(q, slope)
    sense = np.sign(path.curve((path.grid[1:] + path.grid[:-1]) / 2)[1])
    gravity = static_forces(model, q)
    return Knots(slope, bend, A, B, gravity, sense, np.diff(path.grid))


def friction_near(model: Model, knots: Knots, x: Array) -> Friction:
    """Friction as a linear function of x, near a profile x, (N + 1,).

    Viscous friction grows with the root of x, so its tangent is used. At low speed the tangent at a
    small speed is used, because the tangent at x = 0 is vertical.
    """
    friction_forces = kernel(model, "friction_forces")
    ds = np.maximum(np.sqrt(x), max(SLOW * np.sqrt(float(x.max())), CREEP))
    ds = np.stack([ds[:-1], ds[1:]])[:, :, None]
    slope = np.stack([knots.slope[:-1], knots.slope[1:]])

    def at(speed: Array) -> Array:
        return friction_forces(slope * speed + CREEP * knots.sense)

    growth = (at(ds * (1 + STEP)) - at(ds * (1 - STEP))) / (2 * STEP)  # d friction / d log(ds)
    tangent = np.where(ds > CREEP, growth / (2 * ds * ds), 0)
    return Friction(tangent, at(ds) - tangent * ds * ds)


def rows_of(knots: Knots, friction: Friction, limits: Limits, reserve: Array) -> Rows:
    """Limits of forces, accelerations and speeds as rows of the phase plane.

    reserve: part of the limits that is not to be used, (5, N, n), in the order of `Limits.sided`.
    """
    up, down, fast, bent_up, bent_down = reserve
    both = (slice(None, -1), slice(1, None))
    A, B, g = (np.stack([x[side] for side in both]) for x in (knots.A, knots.B, knots.gravity))
    slope, bend = (np.stack([x[side] for side in both]) for x in (knots.slope, knots.bend))
    force, turn = (A, B + friction.slope, g + friction.rest), (slope, bend, 0 * g)
    parts = [
        *_both_ends(knots, force, 1, limits.effort, up),
        *_both_ends(knots, force, -1, limits.effort, down),
        *_both_ends(knots, turn, 1, limits.acceleration, bent_up),
        *_both_ends(knots, turn, -1, limits.acceleration, bent_down),
    ]
    a, b, c = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.zeros((1, fast.shape[1]))  # a knot has the larger reserve of its two intervals
        most = np.maximum(np.concatenate([fast, none]), np.concatenate([none, fast]))
        room = np.maximum(limits.velocity - most, 0) / np.abs(knots.slope)
        most_x = np.min(np.where(np.isnan(room), np.inf, room), axis=1) ** 2
    return Rows(a, b, c, most_x, knots.lengths)


def _both_ends(
    knots: Knots, parts: tuple[Array, Array, Array], sign: int, limit: Array, reserve: Array
) -> list[tuple[Array, Array, Array]]:
    """Rows sign (A u + B x + C) <= limit - reserve, at the left and at the right end.

    parts: A, B and C, (2, N, n). At the right end, x is x + 2 u length. Rows are divided by their
    limit, so that strong and weak joints have entries of the same size.
    """
    own = np.isfinite(limit)
    A, B, C = (sign * x[:, :, own] / limit[own] for x in parts)
    room = 1 - reserve[:, own] / limit[own]
    length = 2 * knots.lengths[:, None]
    return [(A[0], B[0], room - C[0]), (A[1] + length * B[1], B[1], room - C[1])]


def _check_standing(model: Model, path: Path, knots: Knots, bounds: Bounds) -> None:
    """Raise InputError if the robot cannot move along the path even slowly; name the place."""
    gravity = np.stack([knots.gravity[:-1], knots.gravity[1:]])
    creeping = gravity + friction_near(model, knots, 0 * path.grid).rest
    held = "gravity and springs" if model.springs else "gravity"
    alone = "gravity and springs need" if model.springs else "gravity alone needs"
    for force, cause in ((gravity, alone), (creeping, f"{held} and friction need")):
        side, k, j = np.unravel_index(int(np.argmax(np.abs(force) - bounds.effort)), force.shape)
        if not abs(force[side, k, j]) < bounds.effort[j]:
            share = path.grid[k + side] / path.grid[-1]
            raise InputError(
                f"{cause} {force[side, k, j]:.6g} on {bounds.names[j]!r}, {100 * share:.3g} % "
                f"along the path, and its limit is {bounds.effort[j]:.6g}; there is no way to move "
                "there at any speed. Choose another path, a lighter load or a higher effort limit."
            )


def _settle(model: Model, path: Path, knots: Knots, limits: Limits) -> Profile:
    """The profile that agrees with its own friction, by iteration."""
    reserve = np.zeros((5, *knots.sense.shape))
    x = np.zeros(len(path.grid))
    profile = None
    for _ in range(ROUNDS):
        found = fastest_profile(rows_of(knots, friction_near(model, knots, x), limits, reserve))
        if found is None:
            x = x / 4  # the guess was too fast: friction alone used up the torque
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


def _excess(model: Model, profile: Profile, limits: Limits) -> Array:
    """Largest values in every interval less their limits, (5, N, n), as in `Limits.sided`."""
    q, dq, ddq = profile.inside()
    tau = kernel(model, "inverse_dynamics")(q, dq, ddq)
    most = np.stack([_most(x) for x in (tau, -tau, np.abs(dq), ddq, -ddq)])
    return most - limits.sided()[:, None]


def _most(x: Array) -> Array:
    """The largest value in every interval, (N, n), from points in it, (N, points, n).

    Everything is smooth within an interval, so that parabolas through three points give the peaks
    between them.
    """
    left, middle, right = x[:, :-2], x[:, 1:-1], x[:, 2:]
    bend, tilt = left - 2 * middle + right, right - left
    inside = (bend < 0) & (np.abs(tilt) <= -2 * bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(inside, middle - tilt * tilt / (8 * bend), middle)
    return np.maximum(x.max(axis=1), vertex.max(axis=1))


def _fits(excess: Array, limits: Limits, margin: float) -> bool:
    """Return True if no limit is exceeded, but for rounding, far less than the margin."""
    limit = limits.sided()[:, None]
    return bool(np.all((excess <= ROUNDING * margin * limit) | np.isinf(limit)))


def _slowed(model: Model, profile: Profile, limits: Limits, margin: float) -> Profile:
    """The profile at the largest constant share of its speed that fits, by bisection."""

    def fits(factor: float) -> bool:
        return _fits(_excess(model, profile.slower(factor), limits), limits, margin)

    low, high = 1.0, 1.0
    while not fits(high) and high < 1e6:
        low, high = high, high * 1.05
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return profile.slower(high)
