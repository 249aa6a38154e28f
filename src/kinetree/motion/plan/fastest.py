"""The fastest speed profile along one smooth path that keeps a robot within its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.files.description.drive import Curve
from kinetree.model import Model
from kinetree.model.bounds import Bounds, curve_values
from kinetree.motion.curve.splines import with_rates
from kinetree.motion.limits.loads import static_forces
from kinetree.motion.plan.path import Path
from kinetree.motion.plan.profile import CREEP, Profile, Rows, fastest_profile

MAX_ROUNDS = 40  # most repetitions of an iteration
MOST_STEP = 5  # times the excess: the most that is subtracted from a limit at once
SMALL = 1e-5  # share of a limit; larger excesses are subtracted as they are
ROUNDING = 0.1  # share of the margin by which a limit may be exceeded
SETTLED_CHANGE = 1e-7  # relative change of the profile at which the iteration of friction ends
LINEAR_SPEED_SHARE = 1e-2  # share of the largest speed below which friction is a straight line in x
NEAR_END = 0.8  # share of the last speed of a curve at which its first lines are taken
STEP = 1e-4  # relative step of the differences that give the tangent of friction


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of joint forces, speeds and accelerations, (n,) each; infinite if there are none.

    effort: forces at standstill. curves: torque-speed curves by degree of freedom.
    """

    effort: Array
    velocity: Array
    acceleration: Array
    curves: Mapping[int, Curve] = field(default_factory=dict[int, Curve])

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
    speeds = np.minimum(bounds.velocity, _last_speeds(bounds))
    effort, velocity, bends = (x * (1 - margin) for x in (bounds.effort, speeds, acceleration))
    limits = Limits(effort, velocity, bends, _curves(bounds, 1 - margin))
    _check_standing(model, path, knots, bounds)
    profile = _settle(model, path, knots, limits)
    reserve = np.zeros((5, *knots.sense.shape))
    excess = _excess(model, profile, limits)
    step, last = reserve, reserve
    for _ in range(MAX_ROUNDS):
        if _fits(excess, limits, margin):
            return profile
        step, last = _step(limits, excess, step, last), excess
        reserve = reserve + step
        friction = friction_near(model, knots, profile.x)
        found = fastest_profile(rows_of(knots, friction, limits, reserve, profile.x))
        if found is None:
            break
        profile = Profile(path, *found)
        excess = _excess(model, profile, limits)
    return _slowed(model, profile, limits, margin)


def _step(limits: Limits, excess: Array, step: Array, last: Array) -> Array:
    """Further reserve for limits that are exceeded, (5, N, n).

    It is the excess, or up to MOST_STEP times as much where the last step had less effect than its
    size: where it reduced a small excess from `last`, the next one follows the line through both.
    """
    more = np.maximum(excess, 0)
    small = more < SMALL * limits.sided()[:, None]
    less = small & (more > 0) & (last > more) & (step > 0)
    effect = np.divide(last - more, step, where=less, out=np.ones(more.shape))
    return more / np.clip(effect, 1 / MOST_STEP, 1)


def knots_of(model: Model, path: Path) -> Knots:
    """A = M q', B = M q'' + c(q, q'), and g with the springs, at the grid of a path."""
    q, slope, bend = with_rates(path.curve, path.grid)
    M = kernel(model, "mass_matrix")(q)
    A = np.einsum("kij,kj->ki", M, slope)
    B = np.einsum("kij,kj->ki", M, bend) + kernel(model, "coriolis_forces")(q, slope)
    sense = np.sign(path.curve((path.grid[1:] + path.grid[:-1]) / 2, 1))
    gravity = static_forces(model, q)
    return Knots(slope, bend, A, B, gravity, sense, np.diff(path.grid))


def friction_near(model: Model, knots: Knots, x: Array) -> Friction:
    """Friction as a linear function of x, near a profile x, (N + 1,).

    Viscous friction grows with the root of x, so its tangent is used. At low speed the tangent at a
    small speed is used, because the tangent at x = 0 is vertical.
    """
    friction_forces = kernel(model, "friction_forces")
    ds = _tangent_speeds(x)[:, :, None]
    slope = np.stack([knots.slope[:-1], knots.slope[1:]])

    def at(speed: Array) -> Array:
        return friction_forces(slope * speed + CREEP * knots.sense)

    growth = (at(ds * (1 + STEP)) - at(ds * (1 - STEP))) / (2 * STEP)  # d friction / d log(ds)
    tangent = np.where(ds > CREEP, growth / (2 * ds * ds), 0)
    return Friction(tangent, at(ds) - tangent * ds * ds)


def rows_of(knots: Knots, friction: Friction, limits: Limits, reserve: Array, near: Array) -> Rows:
    """Limits of forces, accelerations and speeds as rows of the phase plane.

    reserve: part of the limits that is not to be used, (5, N, n), in the order of `Limits.sided`.
    near: x of a profile, (N + 1,), near which torque-speed curves are straight lines of x; at x = 0
    everywhere they do not count.
    """
    up, down, fast, bent_up, bent_down = reserve
    both = (slice(None, -1), slice(1, None))
    A, B, g = (np.stack([x[side] for side in both]) for x in (knots.A, knots.B, knots.gravity))
    slope, bend = (np.stack([x[side] for side in both]) for x in (knots.slope, knots.bend))
    forces = A, B + friction.slope, g + friction.rest
    turn = slope, bend, 0 * g
    parts = [
        *_both_ends(knots, forces, 1, limits.effort, up),
        *_both_ends(knots, forces, -1, limits.effort, down),
        *_both_ends(knots, turn, 1, limits.acceleration, bent_up),
        *_both_ends(knots, turn, -1, limits.acceleration, bent_down),
    ]
    curved = list(limits.curves) if near.any() else []
    parts += [x for j in curved for x in _curve_rows(knots, forces, limits, reserve, near, j)]
    a, b, c = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.zeros((1, fast.shape[1]))  # a knot has the larger reserve of its two intervals
        most = np.maximum(np.concatenate([fast, none]), np.concatenate([none, fast]))
        room = np.maximum(limits.velocity - most, 0) / np.abs(knots.slope)
        most_x = np.min(np.where(np.isnan(room), np.inf, room), axis=1) ** 2
    return Rows(a, b, c, most_x, knots.lengths)


def _curve_rows(
    knots: Knots,
    forces: tuple[Array, Array, Array],
    limits: Limits,
    reserve: Array,
    near: Array,
    j: int,
) -> list[tuple[Array, Array, Array]]:
    """Rows that keep a force in the direction of motion below the joint's torque-speed curve.

    With v = |q'| sqrt(x), the curve near the profile `near` is f + m v, whose tangent over x is
    taken. What a faster profile exceeds beyond a corner is subtracted in the next iteration.
    """
    sense, effort = knots.sense[:, j], limits.effort[j]
    ds = _tangent_speeds(near)
    slope = np.abs(np.stack([knots.slope[:-1, j], knots.slope[1:, j]]))
    ahead = np.where(sense > 0, reserve[0][:, j], reserve[1][:, j])
    f, m = _tangent(limits.curves[j], slope * ds)
    tilt = m * slope / (2 * ds)
    moving = sense != 0  # a joint at rest has no such bound
    A, B, C = (np.where(sense > 0, x[:, :, j], -x[:, :, j]) / effort for x in forces)
    a, b = A * moving, (B - tilt / effort) * moving
    c = np.where(moving, (f + m * slope * ds - tilt * ds * ds - ahead) / effort - C, 1)
    right = a[1] + 2 * knots.lengths * b[1]
    return [
        (a[0][:, None], b[0][:, None], c[0][:, None]),
        (right[:, None], b[1][:, None], c[1][:, None]),
    ]


def _tangent(curve: Curve, v: Array) -> tuple[Array, Array]:
    """The line f + m v of a curve at given speeds."""
    corners = np.array(curve)
    v = np.minimum(v, corners[-1, 0]) if corners[-1, 1] > 0 else v
    slopes = np.append(np.diff(corners[:, 1]) / np.diff(corners[:, 0]), 0.0)
    k = np.clip(np.searchsorted(corners[:, 0], v, "right") - 1, 0, len(corners) - 1)
    k = np.where((k == len(corners) - 1) & (corners[-1, 1] > 0), k - 1, k)
    return curve_values(curve, v) - slopes[k] * v, slopes[k]


def _last_speeds(bounds: Bounds) -> Array:
    """Last speeds of the curves that end above zero force, (n,); infinite for other joints.

    Beyond it such a drive can only brake, and a plan that used this would need a jump of force; so
    it counts as a limit of speed.
    """
    curves = (bounds.curve(j) for j in range(len(bounds.names)))
    return np.array([np.inf if x is None or x[-1][1] == 0 else x[-1][0] for x in curves])


def _curve_ends(knots: Knots, limits: Limits) -> Array:
    """x at which a joint reaches the last speed of its curve, (N + 1,); infinite without one."""
    most = np.full(len(knots.slope), np.inf)
    for j, curve in limits.curves.items():
        with np.errstate(divide="ignore"):
            most = np.minimum(most, (curve[-1][0] / np.abs(knots.slope[:, j])) ** 2)
    return most


def _tangent_speeds(x: Array) -> Array:
    """ds/dt at both ends of every interval, (2, N), where curves of x get their tangents.

    At low speed it is a small speed instead, because the tangent of sqrt(x) at 0 is vertical.
    """
    ds = np.maximum(np.sqrt(x), max(LINEAR_SPEED_SHARE * np.sqrt(float(x.max())), CREEP))
    return np.stack([ds[:-1], ds[1:]])


def _curves(bounds: Bounds, share: float) -> dict[int, Curve]:
    """A share of the torque-speed curves, by degree of freedom."""
    curves = {j: bounds.curve(j) for j in range(len(bounds.names))}
    return {j: [(v, f * share) for v, f in x] for j, x in curves.items() if x is not None}


def _both_ends(
    knots: Knots, parts: tuple[Array, Array, Array], sign: int, limit: Array, reserve: Array
) -> list[tuple[Array, Array, Array]]:
    """Rows sign (A u + B x + C) <= limit - reserve, at the left and at the right end.

    parts: A, B and C, (2, N, n). At the right end, x is x + 2 u length. Rows are divided by their
    limit, so that strong and weak joints have entries of the same size.
    """
    limited = np.isfinite(limit)
    A, B, C = (sign * x[:, :, limited] / limit[limited] for x in parts)
    room = 1 - reserve[:, limited] / limit[limited]
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
    x, profile = np.zeros(len(path.grid)), None
    for _ in range(MAX_ROUNDS):
        found = fastest_profile(rows_of(knots, friction_near(model, knots, x), limits, reserve, x))
        if found is None:
            x = x / 4  # the guess was too fast: friction alone used up the torque
            continue
        profile = Profile(path, *found)
        if float(np.max(np.abs(profile.x - x))) <= SETTLED_CHANGE * float(profile.x.max()):
            break
        first = limits.curves and not x.any()  # for which no curve counts
        x = np.minimum(profile.x, NEAR_END**2 * _curve_ends(knots, limits)) if first else profile.x
    if profile is None:
        raise InputError(
            "no motion along the path keeps all joints within their limits, though the robot can "
            "stand everywhere on it; it is too close to its limits. Raise the effort limits."
        )
    return profile


def _excess(model: Model, profile: Profile, limits: Limits) -> Array:
    """Largest values in every interval less their limits, (5, N, n), as in `Limits.sided`."""
    q, dq, ddq = profile.inside()
    inverse_dynamics = kernel(model, "inverse_dynamics")
    tau = inverse_dynamics(q, dq, ddq)
    values = tau, -tau, np.abs(dq), ddq, -ddq
    pairs = zip(values, limits.sided(), strict=True)
    excess = np.stack([_peaks(x, limit) - limit for x, limit in pairs])
    for j, curve in limits.curves.items():
        for side, sign in enumerate((1, -1)):
            over = _over(curve, sign * tau[..., j], sign * dq[..., j], float(limits.effort[j]))
            excess[side, :, j] = over
    # the robot starts at rest, where friction of motion does not help to brake a load
    standing = inverse_dynamics(q[0, 0], 0 * dq[0, 0], ddq[0, 0])
    for side, sign in enumerate((1, -1)):
        excess[side, 0] = np.maximum(excess[side, 0], sign * standing - limits.effort)
    return excess


def _over(curve: Curve, tau: Array, dq: Array, effort: float) -> Array:
    """Most of tau above a curve in every interval, (N,), from points in it, (points, N).

    At a corner of the curve it may peak between two points, where straight lines are taken.
    """
    bound = np.minimum(curve_values(curve, np.maximum(dq, 0)), effort)
    most = _most(tau - bound)
    for speed, force in curve[1:]:
        before, after = dq[:-1] - speed, dq[1:] - speed
        share = np.divide(before, before - after, where=before != after, out=np.zeros(before.shape))
        there = tau[:-1] + share * np.diff(tau, axis=0) - min(force, effort)
        most = np.maximum(most, np.max(np.where(before * after < 0, there, -np.inf), axis=0))
    return most


def _peaks(x: Array, limit: Array) -> Array:
    """The largest value in every interval, (N, n), from points in it, (points, N, n).

    Peaks between the points are found where they may exceed the limit, (n,). A parabola through
    three points rises above them by less than they differ.
    """
    if not np.isfinite(limit).any():
        return np.zeros(x.shape[1:])
    top = x.max(axis=0)
    near = 2 * top - x.min(axis=0) > limit
    top[near] = _most(x[:, near])
    return top


def _most(x: Array) -> Array:
    """The largest value in every interval, (...), from points in it, (points, ...).

    Everything is smooth within an interval, so that parabolas through three points give the peaks
    between them.
    """
    left, middle, right = x[:-2], x[1:-1], x[2:]
    bend, tilt = left - 2 * middle + right, right - left
    inside = (bend < 0) & (np.abs(tilt) <= -2 * bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(inside, middle - tilt * tilt / (8 * bend), middle)
    return np.maximum(x.max(axis=0), vertex.max(axis=0))


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
