"""StateSpace: the states x = (q, dq, z) of a simulation, and how they move.

Fixed steps move a state along a tangent vector: q by q exp(v), so that quaternions keep length 1,
and everything else by addition. The adaptive method measures its error in the coordinates
themselves, so it integrates their time derivatives (`coordinate_rates`) and brings quaternions back
to length 1 after each step (`normalised`).
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.actuation import clamped
from kinetree.dynamics.joints.motors import motor_rates
from kinetree.dynamics.joints.tangents import integrate, inverse_rate, rate_map
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import Model
from kinetree.scalars import absolute, sqrt, where

REST_RATE = 1e-10  # rad/s or m/s: a slower joint with dry friction that still slows down is at rest


@dataclass(frozen=True, eq=False)
class StateSpace:
    """States x = (q, dq, z) with tangent vectors (n + n + extra); z is a controller's own state.

    `dry`: the degrees of freedom with dry friction, which can come to rest. registers: how many of
    the last entries of z are replaced after a step, by values in the place of their rates: the
    memory of drives, and activations. ranges: of the entries of z before the registers: activations
    that are integrated, and that each step leaves within them.
    """

    model: Model
    extra: int = 0
    dry: tuple[int, ...] = ()
    registers: int = 0
    ranges: tuple[Range, ...] = ()

    @property
    def size(self) -> int:
        """Count of numbers in x."""
        return self.model.nq + self.model.n + self.extra

    @property
    def rates(self) -> int:
        """Count of numbers in a tangent vector of x."""
        return 2 * self.model.n + self.extra

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """Split states (..., x) into q, dq and z."""
        a, b = self.model.nq, self.model.nq + self.model.n
        return x[..., :a], x[..., a:b], x[..., b:]

    def plus(self, x: Array, v: Array) -> Array:
        """Return the state reached from x along the tangent vector v."""
        n = self.model.n
        q, dq, z = self.split(x)
        faster = self.settle(dq, dq + v[n : 2 * n])
        return np.concatenate([integrate(self.model, q, v[:n]), faster, z + v[2 * n :]])

    def settle(self, before: Array, after: Array) -> Array:
        """Return the rates after a step, 0 where dry friction has brought a joint or motor to rest.

        A joint is at rest if its rate is below REST_RATE and less than half of that before.
        """
        rates, motors = list(after), motor_rates(self.model) if self.dry else None
        if motors is not None:
            before, after = motors.T @ before, motors.T @ after
        for k in self.dry:
            size = absolute(after[k])
            slower = where(absolute(before[k]) - 2 * size, 0, after[k])
            rest = where(REST_RATE - size, slower, after[k])
            if motors is None:
                rates[k] = rest
            else:
                rates = list(rates + motors.T_inv[:, k] * (rest - after[k]))
        return np.array(rates)

    def inverse_rate(self, u: Array, k: Array) -> Array:
        """Rate of the coordinates u of a step x + u, from the rate k of the state reached."""
        n = self.model.n
        return np.concatenate([inverse_rate(self.model, u[:n], k[:n]), k[n:]])


def store(space: StateSpace, x: Array, reached: Array, k: Array | None) -> Array:
    """The state with its registers: those of x within a step; at its end, those that k gives."""
    r = space.registers
    return reached if not r else np.concatenate([reached[:-r], (x if k is None else k)[-r:]])


def is_ranged(space: StateSpace) -> bool:
    """Return True if an integrated activation has a limit."""
    return any(limits != UNLIMITED for limits in space.ranges)


def within_ranges(space: StateSpace, x: Array) -> Array:
    """States (..., x) with the integrated activations within their ranges, over any scalars."""
    if not is_ranged(space):
        return x
    x, start = x.copy(), space.size - space.registers - len(space.ranges)
    for k, limits in enumerate(space.ranges, start):
        x[..., k] = clamped(x[..., k], limits)
    return x


def tangents(space: StateSpace, x: Array) -> Array:
    """Directions of the entries of x along tangent vectors, (x, N)."""
    nq, rest = space.model.nq, space.size - space.model.nq
    N, right = rate_map(space.model, x[:nq]), np.zeros((nq, rest), int)
    return np.block([[N, right], [np.zeros((rest, space.model.n), int), np.eye(rest, dtype=int)]])


def coordinate_rates(model: Model, q: Array, dq: Array) -> Array:
    """Time derivatives of the entries of q, (nq,), over any scalars."""
    return rate_map(model, q) @ dq


def quaternions(model: Model) -> list[list[int]]:
    """Entries of q that form a unit quaternion, four for each joint that has one."""
    return [list(joint.coords[:4]) for joint in model.joints if joint.type in (SPHERICAL, FREE)]


def normalised(model: Model, x: Array) -> Array:
    """Return states (..., x) with quaternions of length 1, over any scalars."""
    x = x.copy()
    for entries in quaternions(model):
        w, a, b, c = np.moveaxis(x[..., entries], -1, 0)
        length = sqrt(w * w + a * a + b * b + c * c)
        x[..., entries] = x[..., entries] / np.asarray(length)[..., None]
    return x
