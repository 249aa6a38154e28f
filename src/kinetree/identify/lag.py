"""The lag between measured joint forces and the motion, found and removed.

Loggers and drives deliver torques some milliseconds after, or before, the positions they belong to:
tau measured at t is that of the motion at t - lag. The least squares of all base parameters leave
the smallest residual when tau is shifted by the right lag. A grid of lags is tried first; then
steps of Gauss and Newton, with the slope of the predicted forces as one more column, whose standard
error is that of the lag.
"""

from dataclasses import dataclass, replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.band import Band, bands_of, rows_of
from kinetree.identify.base import find_base, separable
from kinetree.identify.equations import make_equations, silent_columns
from kinetree.identify.least_squares import fit
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import Unknowns


@dataclass(frozen=True)
class Lag:
    """Time by which joint forces lag behind the motion.

    Args:
        value: lag, s; below 0 if forces come first.
        error: its standard error, s.
        least: a smaller lag does not matter, s.
    """

    value: float
    error: float
    least: float = 0.0

    @property
    def sure(self) -> bool:
        """Return True if the lag differs from zero by more than its error allows."""
        return bool(abs(self.value) > max(const.SURE_LAG * self.error, self.least))


def find_lag(sought: Unknowns, data: Recording, cutoff: float | None = None) -> Lag | None:
    """The lag of a recording; None if it is too short or too uneven to show one.

    Args:
        sought: the unknowns, at the shapes of friction laws.
        data, cutoff: as in `bands_of`.
    """
    bands = bands_of(data, cutoff)
    most = min(const.LAG_SAMPLES, const.LAG_ROWS * max(band.step for band in bands))
    if sum(band.count for band in bands) > most:  # as many as are needed
        longest = max(bands, key=lambda band: band.count)
        data = data.part(slice(longest.first, longest.first + min(longest.count, most)))
        bands = bands_of(data, cutoff)
    steps = np.diff(data.t)
    steps = steps[steps < const.STRETCH_GAP * data.dt]
    if np.ptp(steps) > const.LAG_UNEVEN * data.dt:
        return None
    most = min(
        const.LONGEST_LAG * sought.natural.time,
        const.LAG_SHARE * data.dt * max(band.count for band in bands),
    )
    base = find_base(sought)
    equations = make_equations(sought, data, cutoff, silent_columns(sought, [data]))
    inner = _inner(bands, most / data.dt)
    if len(inner) * sought.robot.n < 3 * base.r:
        return None
    W = equations.sides(base.kept)[0][inner]
    known = rows_of(bands, data.tau - equations.y)[inner]
    own, _ = separable(W, sought.natural.forces, sought.scale[list(base.kept)])
    W = W[..., own]

    def other(lag: float) -> Array:
        return rows_of(bands, _moved(data.tau, bands, lag / data.dt))[inner] - known

    forces = sought.natural.forces
    sigma = fit(W, other(0.0), "robust", forces=forces).sigma
    Q = np.linalg.qr((W / sigma[:, None]).reshape(-1, W.shape[-1]))[0]

    def left(lag: float) -> float:
        z = (other(lag) / sigma).ravel()
        return float(np.abs(z - Q @ (Q.T @ z)).sum())  # less than squares, for outliers

    grid = np.linspace(-most, most, const.LAG_GRID)
    value = float(grid[int(np.argmin([left(x) for x in grid]))])
    start = fit(W, other(value), "robust", forces=forces)
    # forces that are predicted have a slope without noise
    kept = [base.kept[k] for k in own]
    force = sought.forces(data.q, data.dq, data.ddq, start.beta, kept)
    slope = (_moved(force, bands, 0.5) - _moved(force, bands, -0.5)) / data.dt
    columns = np.concatenate([W, -rows_of(bands, slope)[inner][..., None]], axis=-1)
    error = np.inf
    for _ in range(const.LAG_STEPS):
        found = fit(columns, other(value), "robust", forces=forces)
        step, error = float(found.beta[-1]), float(found.standard_error[-1])
        value = float(np.clip(value + step, -most, most))
        if abs(step) < 1e-2 * error:
            break
    return Lag(value, error, const.LEAST_LAG * data.dt)


def _inner(bands: tuple[Band, ...], lag: float) -> Array:
    """Rows whose samples, shifted by at most `lag` samples, are all within their stretch."""
    found: list[Array] = []
    first = 0
    for band in bands:
        at = band.start + band.step * np.arange(band.rows)
        far = band.reach + int(np.ceil(lag)) + 1
        found.append(first + np.flatnonzero((at >= far) & (at < band.count - far)))
        first += band.rows
    return np.concatenate(found)


def _moved(x: Array, bands: tuple[Band, ...], shift: float) -> Array:
    """Samples x, (T, n), taken `shift` samples later; held at the ends of stretches."""
    found = np.empty(x.shape)
    for band in bands:
        own = slice(band.first, band.first + band.count)
        found[own] = _between(x[own], shift)
    return found


def _between(x: Array, shift: float) -> Array:
    """Samples x, (T, n), taken `shift` samples later: cubic convolution of four neighbours."""
    whole = int(np.floor(shift))
    s = shift - whole
    weights = np.array([
        -s * (1 - s) ** 2 / 2, 1 + s * s * (3 * s - 5) / 2, s * (1 + 4 * s - 3 * s * s) / 2,
        s * s * (s - 1) / 2,
    ])  # fmt: skip
    at = np.arange(len(x)) + whole
    parts = [
        w * x[np.clip(at + k, 0, len(x) - 1)] for w, k in zip(weights, range(-1, 3), strict=True)
    ]
    return sum(parts, np.zeros(x.shape))


def without_lag(data: Recording, lag: float) -> Recording:
    """The recording with joint forces moved to the motion they belong to, shorter by the lag, s."""
    if lag == 0:
        return data
    bands = bands_of(data)
    kept: list[Array] = []
    for band in bands:
        at = np.arange(band.count) + lag / data.dt
        kept.append(band.first + np.flatnonzero((at >= 0) & (at <= band.count - 1)))
    return replace(data, tau=_moved(data.tau, bands, lag / data.dt)).part(np.concatenate(kept))
