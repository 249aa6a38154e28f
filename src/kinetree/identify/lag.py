"""The lag between measured joint forces and the motion, found and removed.

Loggers and drives deliver torques some milliseconds after, or before, the positions they belong to:
tau measured at t is that of the motion at t - lag. The least squares of all base parameters leave
the smallest residual when tau is shifted by the right lag. A grid of lags is tried first; then
steps of Gauss and Newton, with the slope of the predicted forces as one more column, whose standard
error is that of the lag.

Joints that stick where they reverse have friction that is late, while other forces are not; the
reversals of filtered rates are a little off, too. Where the delay of a joint's friction differs
from the lag, the lag is that of all other forces.

A sensor or drive that smooths its torque delays it too, and rounds the steps of friction: at each
sample of a low-pass of first order with time constant T, y_k = a y_(k-1) + (1 - a) x_k with
a = exp(-dt / T). Joint forces x = (y_k - a y_(k-1)) / (1 - a) are those before it. Their noise is
larger, so residuals are compared after division by |1 - a exp(-i w dt)| / (1 - a).
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.identify import constants as const
from kinetree.identify.band import Band, bands_of, rows_of
from kinetree.identify.base import find_base, separable
from kinetree.identify.equations import make_equations, silent_columns
from kinetree.identify.least_squares import fit
from kinetree.identify.loops import motor_dofs
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import Unknowns
from kinetree.model import Model


@dataclass(frozen=True)
class Lag:
    """Time by which joint forces lag behind the motion.

    Args:
        value: lag, s; below 0 if forces come first.
        error: its standard error, s.
        least: a smaller lag does not matter, s.
        constant: time constant of a low-pass of joint forces, which was removed as well, s; 0: none
            was found.
    """

    value: float
    error: float
    least: float = 0.0
    constant: float = 0.0

    @property
    def sure(self) -> bool:
        """Return True if the lag differs from zero by more than its error allows."""
        return bool(abs(self.value) > max(const.SURE_LAG * self.error, self.least))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Least squares W beta = y of a recording whose joint forces may be moved in time.

    W: columns of the unknowns `kept`, (rows, n, r), at the rows `inner`. known: rows of forces that
    are not sought, (rows, n). most: longest lag, s. sigma: noise, (n,). Q: an orthonormal basis of
    W over it, (rows n, r).
    """

    data: Recording
    bands: tuple[Band, ...]
    inner: Array
    W: Array
    kept: list[int]
    known: Array
    most: float
    sigma: Array
    Q: Array

    def y(self, lag: float, constant: float = 0.0) -> Array:
        """Rows of joint forces without a lag and a time constant, s."""
        moved = _moved(_unsmoothed(self.data, constant), self.bands, lag / self.data.dt)
        return rows_of(self.bands, moved)[self.inner] - self.known

    def rest(self, lag: float, constant: float = 0.0) -> Array:
        """Residuals over their noise, (rows, n)."""
        z = (self.y(lag, constant) / self.sigma).ravel()
        return (z - self.Q @ (self.Q.T @ z)).reshape(-1, len(self.sigma))


def _problem(sought: Unknowns, data: Recording, cutoff: float | None) -> _Problem | None:
    """The problem of a recording; None if it is too short or too uneven."""
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
    W, kept, y = W[..., own], [base.kept[k] for k in own], rows_of(bands, data.tau)[inner] - known
    sigma = fit(W, y, "robust", forces=sought.natural.forces, errors=False).sigma
    Q = np.linalg.qr((W / sigma[:, None]).reshape(-1, W.shape[-1]))[0]
    return _Problem(data, bands, inner, W, kept, known, most, sigma, Q)


def find_lag(sought: Unknowns, data: Recording, cutoff: float | None = None) -> Lag | None:
    """The lag of a recording; None if it is too short or too uneven to show one.

    Args:
        sought: the unknowns, at the shapes of friction laws.
        data, cutoff: as in `bands_of`.
    """
    problem = _problem(sought, data, cutoff)
    if problem is None:
        return None
    lag, _ = _lag_of(problem, sought)
    beside, z = _lag_of(_with_late_friction(problem, sought), sought)
    row_step = max(band.step for band in problem.bands) * problem.data.dt
    # a lag that would grow is that of one joint, with which the friction of others does not agree
    grows = abs(beside.value) - abs(lag.value) > const.LARGER_LAG * row_step
    return beside if np.any(np.abs(z) > const.SURE_LAG) and not grows else lag


def _lag_of(problem: _Problem, sought: Unknowns) -> tuple[Lag, Array]:
    """The lag, and the factors of columns beside those `kept` over their standard errors."""
    data, bands, most, forces = problem.data, problem.bands, problem.most, sought.natural.forces
    count = len(problem.kept)
    grid = np.linspace(-most, most, const.LAG_GRID)
    # absolute errors: less than squares, for outliers
    value = float(grid[int(np.argmin([np.abs(problem.rest(x)).sum() for x in grid]))])
    found = fit(problem.W, problem.y(value), "robust", forces=forces, errors=False)
    # forces that are predicted have a slope without noise
    force = sought.forces(data.q, data.dq, data.ddq, found.beta[:count], problem.kept)
    slope = (_moved(force, bands, 0.5) - _moved(force, bands, -0.5)) / data.dt
    columns = np.concatenate([problem.W, -rows_of(bands, slope)[problem.inner][..., None]], axis=-1)
    root = np.sqrt(found.weights)
    X = (columns * root[..., None]).reshape(-1, columns.shape[-1])
    G = np.linalg.pinv(X.T @ X, rcond=const.SMALLEST_EIGENVALUE**2)
    for _ in range(const.LAG_STEPS):  # with the weights of the first fit
        step = float((G @ (X.T @ (root * problem.y(value)).ravel()))[-1])
        value = float(np.clip(value + step, -most, most))
        if abs(step) < const.LEAST_LAG * data.dt:
            break
    found = fit(columns, problem.y(value), "robust", forces=forces)
    beta, error = found.beta, float(found.standard_error[-1])
    for _ in range(const.LAG_STEPS):
        step = float(beta[-1])
        value = float(np.clip(value + step, -most, most))
        if abs(step) < const.LAG_SETTLED * error:
            break
        beta = fit(columns, problem.y(value), "robust", forces=forces, errors=False).beta
    z = (beta / found.standard_error)[count:-1]
    return Lag(value, error, const.LEAST_LAG * data.dt), z


def is_sticking(sought: Unknowns, data: Recording) -> bool:
    """Whether friction of a joint changes its sign long after the motion does."""
    problem = _problem(sought, data, None)
    if problem is None:
        return False
    _, z = _lag_of(_with_late_friction(problem, sought), sought)
    return bool(np.any(z > const.SURE_STICKING))


def _with_late_friction(problem: _Problem, sought: Unknowns) -> _Problem:
    """The problem with one more column for each joint that reverses: friction that is late.

    A joint that sticks where it reverses has friction that changes its sign after the motion does,
    and filtered rates change theirs a little early or late. Neither is a lag of all forces.
    """
    late = rows_of(problem.bands, late_signs(problem.data))[problem.inner]
    reversing = [j for j in rubbing_dofs(sought.robot.model) if late[:, j].any()]
    D = late[..., None] * np.eye(late.shape[1])[:, reversing]
    W = np.concatenate([problem.W, D], axis=-1)
    Q = np.linalg.qr((W / problem.sigma[:, None]).reshape(-1, W.shape[-1]))[0]
    return replace(problem, W=W, Q=Q)


def late_signs(data: Recording) -> Array:
    """Change of the sign of each rate, (T, n), by a delay, per s."""
    return -np.gradient(np.sign(data.dq), data.t, axis=0)


def rubbing_dofs(model: Model) -> list[int]:
    """Degrees of freedom with a measured force whose joints may have friction."""
    rubbing = {x.dofs[0] for x in model.joints if x.type in SCREW_TYPES}
    return sorted(rubbing.intersection(motor_dofs(model)))


def find_time_constant(
    sought: Unknowns, data: Recording, cutoff: float | None, lag: float
) -> float:
    """The time constant of joint forces, s; 0 if the lag alone explains them as well.

    A grid of time constants and delays that sum up to about the lag is followed by shorter and
    shorter steps.

    Args:
        sought, data, cutoff: as in `find_lag`.
        lag: as found without a time constant, s.
    """
    problem = _problem(sought, data, cutoff)
    if problem is None:
        return 0.0
    dt, step, rows = problem.data.dt, problem.bands[0].step, len(problem.inner)

    def cost(at: Array) -> float:
        """Minus twice the logarithm of the likelihood of a time constant and a delay, s."""
        if abs(at[1]) > problem.most or at[0] < 0:
            return np.inf
        return rows * error_size(problem.rest(at[1], at[0]), at[0] / dt, step)

    def searched(best: Array, directions: Array) -> tuple[float, float]:
        """Least cost around a start, and its time constant."""
        width = const.FIRST_STEP * lag
        while width > const.LAST_STEP * lag:
            near = min(best + width * directions, key=cost)
            if cost(near) < cost(best):
                best = near
            else:
                width /= 2
        return cost(best), float(best[0])

    grid = [(x, 1 + y - x) for x, y in product(const.TIME_CONSTANTS, const.DELAYS)]
    both = searched(min(lag * np.array(grid), key=cost), const.DIRECTIONS)
    alone = searched(np.array([lag, 0]), const.DIRECTIONS[:2])  # without a delay
    price = np.log(rows * len(problem.sigma))
    least, constant = alone if alone[0] < both[0] + price else both
    better = least < cost(np.array([0, lag])) - const.LEAST_GAIN - price
    return constant if better and constant > const.LEAST_CONSTANT * dt else 0.0


def error_size(rest: Array, constant: float, step: int) -> float:
    """Logarithm of the mean square of residuals, (rows, n), before the correction, over all joints.

    Frequencies that interpolation damps are left out, with their share of the sum.
    constant: the time constant that was removed, in samples. step: samples from row to row.
    """
    f = np.fft.rfftfreq(len(rest)) / step
    kept = f < const.SHARP_FREQUENCY
    power = np.abs(np.fft.rfft(rest, axis=0)[kept]) ** 2
    if constant > 0:
        a = np.exp(-1 / constant)
        power *= (((1 - a) / np.abs(1 - a * np.exp(-2j * np.pi * f[kept]))) ** 2)[:, None]
    square = np.maximum(power.sum(axis=0) / len(rest) ** 2, 1e-300)
    return float(kept.mean() * np.log(square).sum())


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


def _unsmoothed(data: Recording, constant: float) -> Array:
    """Joint forces as they were before a low-pass of a time constant, (T, n); 0: as recorded."""
    if constant == 0:
        return data.tau
    a, tau = np.exp(-data.dt / constant), data.tau.copy()
    for band in bands_of(data):
        own = data.tau[band.first : band.first + band.count]
        tau[band.first + 1 : band.first + band.count] = (own[1:] - a * own[:-1]) / (1 - a)
    return tau


def without_lag(data: Recording, lag: float, constant: float = 0.0) -> Recording:
    """The recording with joint forces moved to the motion they belong to, shorter by the lag, s.

    constant: time constant of a low-pass of joint forces, which is removed before, s.
    """
    if constant > 0:
        data = replace(data, tau=_unsmoothed(data, constant))
    if lag == 0:
        return data
    bands = bands_of(data)
    kept: list[Array] = []
    for band in bands:
        at = np.arange(band.count) + lag / data.dt
        kept.append(band.first + np.flatnonzero((at >= 0) & (at <= band.count - 1)))
    return replace(data, tau=_moved(data.tau, bands, lag / data.dt)).part(np.concatenate(kept))
