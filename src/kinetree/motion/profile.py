"""The fastest profile of speed along one smooth path, for one robot."""

from dataclasses import dataclass

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.bounds import Bounds
from kinetree.motion.dynamics import Dynamics
from kinetree.motion.path import Path
from kinetree.motion.phase_plane import Rows, fastest_profile

INSIDE = np.linspace(0, 1, 13)  # places in every interval where forces and speeds are looked at
ROUNDS = 40
ROUNDING = 0.1  # of the margin
SETTLED = 1e-7  # relative change of the profile at which friction is known
CREEP = 1e-9  # rad/s or m/s, at which friction in motion shows at a standstill
SLOW = 1e-2  # share of the largest speed below which friction is drawn as a straight line
STEP = 1e-4  # relative, of the differences that give the tangent of friction


@dataclass(frozen=True, eq=False)
class Profile:
    """x = (ds/dt)^2 at the knots of a path, (N + 1,), and u = d2s/dt2 between them, (N,)."""

    path: Path
    x: Array
    u: Array

    @property
    def times(self) -> Array:
        """When the knots are passed, (N + 1,), s."""
        v = np.sqrt(self.x)
        return np.concatenate([[0], np.cumsum(2 * np.diff(self.path.knots) / (v[1:] + v[:-1]))])

    @property
    def duration(self) -> float:
        """Time from end to end, s."""
        return float(self.times[-1])

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q, dq and ddq at times t, (T,)."""
        times, knots = self.times, self.path.knots
        k = np.clip(np.searchsorted(times, t, "right") - 1, 0, len(self.u) - 1)
        since, v = t - times[k], np.sqrt(self.x[k])
        s = np.clip(knots[k] + (v + self.u[k] * since / 2) * since, knots[k], knots[k + 1])
        return self._motion(s, np.maximum(v + self.u[k] * since, 0), self.u[k])

    def inside(self) -> tuple[Array, Array, Array]:
        """q, dq and ddq at places within every interval, (N, places, n)."""
        lengths = np.diff(self.path.knots)[:, None] * INSIDE
        s = self.path.knots[:-1, None] + lengths
        x = np.maximum(self.x[:-1, None] + 2 * self.u[:, None] * lengths, 0)
        u = np.repeat(self.u[:, None], len(INSIDE), axis=1)
        speed = np.maximum(np.sqrt(x), CREEP)  # friction in motion, also where it begins
        motion = self._motion(s.ravel(), speed.ravel(), u.ravel())
        q, dq, ddq = (part.reshape(*s.shape, -1) for part in motion)
        return q, dq, ddq

    def slower(self, factor: float) -> "Profile":
        """The same path at 1/factor of the speed."""
        return Profile(self.path, self.x / factor**2, self.u / factor**2)

    def _motion(self, s: Array, ds: Array, dds: Array) -> tuple[Array, Array, Array]:
        q, slope, bend = self.path.curve(s)
        return q, slope * ds[:, None], bend * (ds * ds)[:, None] + slope * dds[:, None]


@dataclass(frozen=True, eq=False)
class Knots:
    """What the joints need at the knots of a path, (N + 1, n): A u + B x + friction + gravity."""

    slope: Array
    bend: Array
    A: Array
    B: Array
    gravity: Array
    lengths: Array


def fastest(
    robot: Dynamics, path: Path, bounds: Bounds, acceleration: Array, margin: float
) -> Profile:
    """The fastest profile that keeps every joint within 1 - margin of its limits.

    First friction settles: it depends on the profile, which depends on it. Then what forces and
    speeds between the knots have too much is kept back, interval by interval, until none has.
    Should that not come to an end, the profile is slowed down as a whole.
    """
    knots = _at_knots(robot, path)
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
        friction = _friction(robot, knots, profile.x)
        found = fastest_profile(_rows(knots, friction, limits, kept))
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


def _at_knots(robot: Dynamics, path: Path) -> Knots:
    q, slope, bend = path.curve(path.knots)
    M = robot.mass_matrix(q)
    A = np.einsum("kij,kj->ki", M, slope)
    B = np.einsum("kij,kj->ki", M, bend) + robot.coriolis_forces(q, slope)
    return Knots(slope, bend, A, B, robot.gravity_forces(q), np.diff(path.knots))


def _friction(robot: Dynamics, knots: Knots, x: Array) -> tuple[Array, Array]:
    """Friction near a profile x, as slope * x + rest at the knots, (N + 1, n) each.

    Viscous friction grows with the root of x; here stands its tangent. Where the robot is slow, the
    tangent of a small speed takes its place, since that of none would be vertical.
    """
    ds = np.maximum(np.sqrt(x), max(SLOW * np.sqrt(float(x.max())), CREEP))[:, None]
    force = robot.friction_forces(knots.slope * ds)
    ahead, behind = (robot.friction_forces(knots.slope * (ds * (1 + e))) for e in (STEP, -STEP))
    growth = (ahead - behind) / (2 * STEP)  # by the logarithm of ds, which is half that of x
    slope = np.where(ds > CREEP, growth / (2 * ds * ds), 0)
    return slope, force - slope * ds * ds


def _check_standing(robot: Dynamics, path: Path, knots: Knots, bounds: Bounds) -> None:
    """Refuse a path that cannot even be crept along, saying where and why."""
    creeping = knots.gravity + robot.friction_forces(knots.slope * CREEP)
    still = np.abs(knots.gravity), np.abs(creeping)
    for force, what in zip(
        still, ("gravity alone needs", "gravity and friction need"), strict=True
    ):
        k, j = np.unravel_index(int(np.argmax(force - bounds.effort)), force.shape)
        if not force[k, j] < bounds.effort[j]:
            share = path.knots[k] / path.knots[-1]
            raise InputError(
                f"{what} {force[k, j]:.6g} on {bounds.names[j]!r}, {100 * share:.3g} % along the "
                f"path, and its limit is {bounds.effort[j]:.6g}; there is no way to move there at "
                "any speed. Choose another path, a lighter load or a higher effort limit."
            )


def _settle(robot: Dynamics, path: Path, knots: Knots, limits: tuple[Array, ...]) -> Profile:
    """The profile whose friction is its own: tangents taken anew until nothing changes."""
    kept = _nothing_kept(len(knots.lengths), knots.A.shape[1])
    x = np.zeros(len(path.knots))
    profile = None
    for _ in range(ROUNDS):
        found = fastest_profile(_rows(knots, _friction(robot, knots, x), limits, kept))
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


def _rows(
    knots: Knots, friction: tuple[Array, Array], limits: tuple[Array, ...], kept: list[Array]
) -> Rows:
    """Bounds of forces and accelerations at both ends of every interval, as rows; of speeds."""
    effort, velocity, acceleration = limits
    B, C = knots.B + friction[0], knots.gravity + friction[1]
    high, low, fast, bent_high, bent_low = kept
    parts = [
        *_both_ends(knots, knots.A, B, C, effort, high),
        *_both_ends(knots, -knots.A, -B, -C, effort, low),
        *_both_ends(knots, knots.slope, knots.bend, 0 * C, acceleration, bent_high),
        *_both_ends(knots, -knots.slope, -knots.bend, 0 * C, acceleration, bent_low),
    ]
    a, b, c = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        nothing = np.zeros((1, fast.shape[1]))  # a knot keeps back what both its intervals do
        both = np.maximum(np.concatenate([fast, nothing]), np.concatenate([nothing, fast]))
        room = np.maximum(velocity - both, 0) / np.abs(knots.slope)
        most = np.min(np.where(np.isnan(room), np.inf, room), axis=1) ** 2
    return Rows(a, b, c, most, knots.lengths)


def _both_ends(
    knots: Knots, A: Array, B: Array, C: Array, limit: Array, kept: Array
) -> list[tuple[Array, Array, Array]]:
    """A u + B x + C <= limit - kept with x at the left knot, and with x + 2 u length at the right.

    Rows are divided by their limit, so that joints of any strength weigh the same.
    """
    own = np.isfinite(limit)
    A, B, C = A[:, own] / limit[own], B[:, own] / limit[own], C[:, own] / limit[own]
    room = 1 - kept[:, own] / limit[own]
    length = 2 * knots.lengths[:, None]
    return [
        (A[:-1], B[:-1], room - C[:-1]),
        (A[1:] + length * B[1:], B[1:], room - C[1:]),
    ]


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
