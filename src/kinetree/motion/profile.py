"""A profile of speed along a path, and the motion that it makes."""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.motion.path import Path

# places in every interval where forces and speeds are looked at; friction may change at its ends
INSIDE = np.linspace(0, 1, 13).clip(1e-6, 1 - 1e-6)
CREEP = 1e-9  # rad/s or m/s, at which friction in motion shows at a standstill


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
        return np.concatenate([[0], np.cumsum(2 * np.diff(self.path.grid) / (v[1:] + v[:-1]))])

    @property
    def duration(self) -> float:
        """Time from end to end, s."""
        return float(self.times[-1])

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q, dq and ddq at times t, (T,)."""
        times, knots = self.times, self.path.grid
        k = np.clip(np.searchsorted(times, t, "right") - 1, 0, len(self.u) - 1)
        since, v = t - times[k], np.sqrt(self.x[k])
        s = np.clip(knots[k] + (v + self.u[k] * since / 2) * since, knots[k], knots[k + 1])
        return self._motion(s, np.maximum(v + self.u[k] * since, 0), self.u[k])

    def coefficients(self) -> Array:
        """Coefficients of q over the time since each knot, (7, N, n).

        The path is a cubic of s there, and s = v t + u t^2 / 2.
        """
        d0, d1, d2, d3 = self.path.curve.taylor(self.path.grid[:-1])
        v, w = np.sqrt(self.x[:-1])[:, None], self.u[:, None] / 2
        return np.stack([
            d0,
            d1 * v,
            d1 * w + d2 * v * v,
            (2 * d2 * w + d3 * v * v) * v,
            (d2 * w + 3 * d3 * v * v) * w,
            3 * d3 * v * w * w,
            d3 * w * w * w,
        ])  # fmt: skip

    def inside(self) -> tuple[Array, Array, Array]:
        """q, dq and ddq at places within every interval, (N, places, n)."""
        lengths = np.diff(self.path.grid)[:, None] * INSIDE
        s = self.path.grid[:-1, None] + lengths
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
