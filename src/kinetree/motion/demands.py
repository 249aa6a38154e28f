"""What a path demands of the joints, as rows of the phase plane."""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.motion.dynamics import Dynamics
from kinetree.motion.path import Path
from kinetree.motion.phase_plane import Rows
from kinetree.motion.profile import CREEP

SLOW = 1e-2  # share of the largest speed below which friction is drawn as a straight line
STEP = 1e-4  # relative, of the differences that give the tangent of friction


@dataclass(frozen=True, eq=False)
class Knots:
    """What the joints need at the grid of a path, (N + 1, n): A u + B x + gravity + friction.

    `sense` says which way each joint moves in every interval, (N, n).
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


def knots_of(robot: Dynamics, path: Path) -> Knots:
    """A = M q', B = M q'' + c(q, q') and g at the grid of a path."""
    q, slope, bend = path.curve(path.grid)
    M = robot.mass_matrix(q)
    A = np.einsum("kij,kj->ki", M, slope)
    B = np.einsum("kij,kj->ki", M, bend) + robot.coriolis_forces(q, slope)
    sense = np.sign(path.curve((path.grid[1:] + path.grid[:-1]) / 2)[1])
    return Knots(slope, bend, A, B, robot.gravity_forces(q), sense, np.diff(path.grid))


def friction_near(robot: Dynamics, knots: Knots, x: Array) -> Friction:
    """Friction near a profile x.

    Viscous friction grows with the root of x; here stands its tangent. Where the robot is slow, the
    tangent of a small speed takes its place, since that of none would be vertical.
    """
    ds = np.maximum(np.sqrt(x), max(SLOW * np.sqrt(float(x.max())), CREEP))
    ds = np.stack([ds[:-1], ds[1:]])[:, :, None]
    slope = np.stack([knots.slope[:-1], knots.slope[1:]])

    def at(speed: Array) -> Array:
        return robot.friction_forces(slope * speed + CREEP * knots.sense)

    growth = (at(ds * (1 + STEP)) - at(ds * (1 - STEP))) / (2 * STEP)  # by the logarithm of ds
    tangent = np.where(ds > CREEP, growth / (2 * ds * ds), 0)
    return Friction(tangent, at(ds) - tangent * ds * ds)


def rows_of(knots: Knots, friction: Friction, limits: tuple[Array, ...], kept: list[Array]) -> Rows:
    """Bounds of forces and accelerations at both ends of every interval, as rows; of speeds."""
    effort, velocity, acceleration = limits
    high, low, fast, bent_high, bent_low = kept
    both = (slice(None, -1), slice(1, None))
    A, B, g = (np.stack([x[side] for side in both]) for x in (knots.A, knots.B, knots.gravity))
    slope, bend = (np.stack([x[side] for side in both]) for x in (knots.slope, knots.bend))
    B, C = B + friction.slope, g + friction.rest
    parts = [
        *_both_ends(knots, A, B, C, effort, high),
        *_both_ends(knots, -A, -B, -C, effort, low),
        *_both_ends(knots, slope, bend, 0 * C, acceleration, bent_high),
        *_both_ends(knots, -slope, -bend, 0 * C, acceleration, bent_low),
    ]
    a, b, c = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.zeros((1, fast.shape[1]))  # a knot keeps back what both its intervals do
        most = np.maximum(np.concatenate([fast, none]), np.concatenate([none, fast]))
        room = np.maximum(velocity - most, 0) / np.abs(knots.slope)
        most_x = np.min(np.where(np.isnan(room), np.inf, room), axis=1) ** 2
    return Rows(a, b, c, most_x, knots.lengths)


def _both_ends(
    knots: Knots, A: Array, B: Array, C: Array, limit: Array, kept: Array
) -> list[tuple[Array, Array, Array]]:
    """A u + B x + C <= limit - kept with x at the left end, and with x + 2 u length at the right.

    A, B and C are (2, N, n). Rows are divided by their limit, so that joints of any strength weigh
    the same.
    """
    own = np.isfinite(limit)
    A, B, C = (x[:, :, own] / limit[own] for x in (A, B, C))
    room = 1 - kept[:, own] / limit[own]
    length = 2 * knots.lengths[:, None]
    return [(A[0], B[0], room - C[0]), (A[1] + length * B[1], B[1], room - C[1])]
