"""The fastest speed profile along one smooth path that keeps a robot within its limits."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.bounds import Bounds
from kinetree.motion.curve.splines import with_rates
from kinetree.motion.limits.loads import static_forces
from kinetree.motion.plan.path import Path
from kinetree.motion.plan.profile import CREEP, Profile, Rows, fastest_profile

MAX_ROUNDS = 40  # most repetitions of an iteration
SLOWER, SLOWEST = 1.005, 2000  # factor on the time where that does not converge, and how often
EXCESS = 1.5  # times the excess that is subtracted from a limit
ROUNDING = 0.1  # share of the margin by which a limit may be exceeded
SETTLED_CHANGE = 1e-7  # relative change of the profile at which the iteration of friction ends
LINEAR_SPEED_SHARE = 1e-2  # share of the largest speed below which friction is a straight line in x
NEAR_END = 0.8  # share of the last speed of a curve at which its first lines are taken
STEP = 1e-4  # relative step of the differences that give the slopes of friction and curves


@dataclass(frozen=True, eq=False)
class Limits:
    """Shares of the limits of joint forces, speeds and accelerations, (n,); infinite for none.

    share: of the forces of `bounds`, whose torque-speed curves count, too.
    """

    bounds: Bounds
    velocity: Array
    acceleration: Array
    share: float

    def forces(self, dq: Array) -> tuple[Array, Array]:
        """Least and most joint forces at rates dq, (..., n)."""
        within = self.velocity * (1 - 1e-9)  # a curve falls to 0 beyond its last speed
        least, most = self.bounds.forces(np.clip(dq, -within, within))
        return least * self.share, most * self.share

    def sided(self) -> Array:
        """Limits of force (up, down), acceleration (up, down) and speed, (5, n)."""
        effort = self.bounds.effort * self.share
        return np.stack([effort, effort, self.acceleration, self.acceleration, self.velocity])


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


def fastest(
    model: Model, path: Path, bounds: Bounds, acceleration: Array, margin: float
) -> Profile:
    """The fastest profile that keeps every joint within 1 - margin of its limits.

    First friction is iterated: it depends on the profile, and the profile on friction. Then the
    amount by which forces and speeds between the knots exceed a limit is subtracted from the limit
    in that interval, until no limit is exceeded. If that does not converge, the profile is slowed
    down as a whole.
    """
    share, knots = 1 - margin, knots_of(model, path)
    speeds = np.minimum(bounds.velocity, _last_speeds(bounds))
    limits = Limits(bounds, speeds * share, acceleration * share, share)
    _check_standing(model, path, knots, bounds)
    profile = _settle(model, path, knots, limits)
    reserve = np.zeros((5, *knots.sense.shape))
    for _ in range(MAX_ROUNDS):
        excess = _excess(model, profile, limits)
        if _fits(excess, limits, margin):
            return profile
        reserve = reserve + EXCESS * np.maximum(excess, 0)
        found = fastest_profile(rows_of(model, knots, limits, reserve, profile.x))
        if found is None:
            break
        profile = Profile(path, *found)
    for _ in range(SLOWEST):
        if _fits(_excess(model, profile, limits), limits, margin):
            break
        profile = profile.slower(SLOWER)
    return profile


def knots_of(model: Model, path: Path) -> Knots:
    """A = M q', B = M q'' + c(q, q'), and g with the springs, at the grid of a path."""
    q, slope, bend = with_rates(path.curve, path.grid)
    M = kernel(model, "mass_matrix")(q)
    A = np.einsum("kij,kj->ki", M, slope)
    B = np.einsum("kij,kj->ki", M, bend) + kernel(model, "coriolis_forces")(q, slope)
    sense = np.sign(path.curve((path.grid[1:] + path.grid[:-1]) / 2, 1))
    gravity = static_forces(model, q)
    return Knots(slope, bend, A, B, gravity, sense, np.diff(path.grid))


def both_ends(x: Array) -> Array:
    """Values at the knots, (N + 1, ...), at both ends of every interval, (2, N, ...)."""
    return np.stack([x[:-1], x[1:]])


def _left_by_friction(model: Model, knots: Knots, limits: Limits, x: Array) -> tuple[Array, Array]:
    """Most force up and down that friction leaves, slope * x + rest, (2, 2, N, n) each.

    It is linear near a profile x, (N + 1,). Viscous friction and torque-speed curves change with
    the root of x, so their tangent is taken; at low speed the tangent at a small speed, because the
    one at x = 0 is vertical. At x = 0 everywhere curves have their force at standstill.
    """
    friction_forces, rates = kernel(model, "friction_forces"), both_ends(knots.slope)
    lowest = max(LINEAR_SPEED_SHARE * np.sqrt(float(x.max())), CREEP)
    ds = both_ends(np.maximum(np.sqrt(x), lowest))[:, :, None]

    def at(speed: Array) -> Array:
        least, most = limits.forces(rates * speed)
        friction = friction_forces(rates * speed + CREEP * knots.sense)
        return np.stack([most - friction, friction - least])

    with np.errstate(invalid="ignore"):  # of joints without a limit
        growth = (at(ds) - at(ds * (1 - STEP))) / STEP  # by the logarithm of the speed
        tangent = np.where(ds > CREEP, growth / (2 * ds * ds), 0)
        return tangent, at(ds) - tangent * ds * ds


def rows_of(model: Model, knots: Knots, limits: Limits, reserve: Array, near: Array) -> Rows:
    """Limits of forces, accelerations and speeds as rows of the phase plane.

    reserve: part of the limits that is not to be used, (5, N, n), in the order of `Limits.sided`.
    near: x of a profile, (N + 1,), near which friction and curves are straight lines of x.
    """
    tangent, rest = _left_by_friction(model, knots, limits, near)
    A, B, g, slope, bend = map(
        both_ends, (knots.A, knots.B, knots.gravity, knots.slope, knots.bend)
    )
    sided = limits.sided()
    parts: list[tuple[Array, Array, Array]] = []
    for side, sign in enumerate((1, -1)):
        force = sign * A, sign * B - tangent[side], rest[side] - sign * g - reserve[side]
        turn = sign * slope, sign * bend, limits.acceleration - reserve[2 + side] + 0 * g
        for row, limit in ((force, sided[side]), (turn, limits.acceleration)):
            # divided by the limit, so that strong and weak joints have entries of the same size
            limited = np.isfinite(limit)
            a, b, c = (x[..., limited] / limit[limited] for x in row)
            # at the right end of an interval, x is x + 2 u length
            right = a[1] + 2 * knots.lengths[:, None] * b[1]
            parts += [(a[0], b[0], c[0]), (right, b[1], c[1])]
    a, b, c = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    none = np.zeros((1, reserve.shape[2]))  # a knot has the larger reserve of its two intervals
    most = np.maximum(np.concatenate([reserve[4], none]), np.concatenate([none, reserve[4]]))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.maximum(limits.velocity - most, 0) / np.abs(knots.slope)
    most_x = np.min(np.where(np.isnan(room), np.inf, room), axis=1) ** 2
    return Rows(a, b, c, most_x, knots.lengths)


def _last_speeds(bounds: Bounds) -> Array:
    """Last speeds of the curves that end above zero force, (n,); infinite for other joints.

    Beyond it such a drive can only brake, and a plan that used this would need a jump of force; so
    it counts as a limit of speed.
    """
    curves = (bounds.curve(j) for j in range(len(bounds.names)))
    return np.array([np.inf if x is None or x[-1][1] == 0 else x[-1][0] for x in curves])


def _before_curves_end(knots: Knots, bounds: Bounds, x: Array) -> Array:
    """A profile x, (N + 1,), whose rates stay below the last speeds of all torque-speed curves."""
    for j in range(len(bounds.names)):
        if curve := bounds.curve(j):
            with np.errstate(divide="ignore"):
                x = np.minimum(x, (NEAR_END * curve[-1][0] / np.abs(knots.slope[:, j])) ** 2)
    return x


def _check_standing(model: Model, path: Path, knots: Knots, bounds: Bounds) -> None:
    """Raise InputError if the robot cannot move along the path even slowly; name the place."""
    gravity = both_ends(knots.gravity)
    creeping = gravity + kernel(model, "friction_forces")(CREEP * knots.sense)
    springs = " and springs" if model.springs else ""
    for force, cause in ((gravity, ""), (creeping, " and friction")):
        side, k, j = np.unravel_index(int(np.argmax(np.abs(force) - bounds.effort)), force.shape)
        if not abs(force[side, k, j]) < bounds.effort[j]:
            share = path.grid[k + side] / path.grid[-1]
            raise InputError(
                f"joint {bounds.names[j]!r} needs {force[side, k, j]:.6g} against gravity{springs}"
                f"{cause} {100 * share:.3g} % along the path, and its limit is "
                f"{bounds.effort[j]:.6g}, so that it cannot move there. Choose another path, "
                "a lighter load or a higher effort limit."
            )


def _settle(model: Model, path: Path, knots: Knots, limits: Limits) -> Profile:
    """The profile that agrees with its own friction, by iteration."""
    reserve = np.zeros((5, *knots.sense.shape))
    x, profile = np.zeros(len(path.grid)), None
    for _ in range(MAX_ROUNDS):
        found = fastest_profile(rows_of(model, knots, limits, reserve, x))
        if found is None:
            x = x / 4  # the guess was too fast: friction alone used up the torque
            continue
        profile = Profile(path, *found)
        if float(np.max(np.abs(profile.x - x))) <= SETTLED_CHANGE * float(profile.x.max()):
            break
        x = profile.x if x.any() else _before_curves_end(knots, limits.bounds, profile.x)
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
    tau, (least, most), bend = inverse_dynamics(q, dq, ddq), limits.forces(dq), limits.acceleration
    over = tau - most, least - tau, ddq - bend, -ddq - bend, np.abs(dq) - limits.velocity
    excess = np.stack([x.max(axis=0) for x in over])
    # the robot starts at rest, where friction of motion does not help to brake a load
    standing = inverse_dynamics(q[0, 0], 0 * dq[0, 0], ddq[0, 0])
    over = np.stack([standing, -standing]) - limits.sided()[:2]
    excess[:2, 0] = np.maximum(excess[:2, 0], over)
    return excess


def _fits(excess: Array, limits: Limits, margin: float) -> bool:
    """Return True if no limit is exceeded, but for rounding, far less than the margin."""
    limit = limits.sided()[:, None]
    return bool(np.all((excess <= ROUNDING * margin * limit) | np.isinf(limit)))
