"""The lag of joint forces behind the motion, chosen by cross-validation, and its removal.

Loggers and drives deliver torques some milliseconds after the positions they belong to: tau
measured at t is that of the motion at t - lag.
"""

from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.band import in_band
from kinetree.identify.checks import unit_quaternions
from kinetree.identify.recording import Recording
from kinetree.identify.select import Plain, block_losses, is_better, plain_fit
from kinetree.identify.unknowns import Unknowns

LONGEST_LAG = 0.1  # s: buses and filters of drives; longer ones are errors of the log


def choose_lag(params: Unknowns, data: Recording, cutoff: float | None) -> float:
    """Time by which joint forces are later than the motion, s; 0 if that predicts them as well.

    Whole samples are tried first; the derivative of the predicted forces as one more column then
    gives the fraction.
    """
    most = int(min(LONGEST_LAG, 0.02 * (data.t[-1] - data.t[0])) / data.dt)
    if most < 1:
        return 0.0
    plain = plain_fit(params, data, cutoff)
    known = in_band(data, data.tau, cutoff) - plain.y
    Q = np.linalg.qr((plain.W / plain.sigma[:, None]).reshape(-1, len(plain.kept)))[0]

    def forces(samples: int) -> Array:
        moved = [np.interp(data.t + samples * data.dt, data.t, x) for x in data.tau.T]
        return in_band(data, np.stack(moved, axis=1), cutoff) - known

    def left(samples: int) -> Array:
        z = (forces(samples) / plain.sigma).ravel()
        return z - Q @ (Q.T @ z)

    shifts = np.unique(np.linspace(0, most, 21).round().astype(int))
    best = int(min(shifts, key=lambda k: float(left(k) @ left(k))))
    gap = int(shifts[1] - shifts[0])
    near = range(max(best - gap, 0), min(best + gap, most) + 1)
    best = int(min(near, key=lambda k: float(left(k) @ left(k))))
    late = _late_columns(plain, data, cutoff)
    losses = (
        block_losses(plain.W, forces(0), plain.sigma).sum(axis=1),
        block_losses(np.concatenate([plain.W, late], axis=-1), forces(best), plain.sigma).sum(1),
    )
    if not is_better(*losses):
        return 0.0
    lag = best * data.dt
    for _ in range(2):  # friction steps, so the first fraction is rough
        moved = without_lag(data, lag)
        plain = plain_fit(params, moved, cutoff)
        X = np.concatenate([plain.W, _late_columns(plain, moved, cutoff)], axis=-1)
        X = (X / plain.sigma[:, None]).reshape(-1, X.shape[-1])
        rest = np.linalg.lstsq(X, (plain.y / plain.sigma).ravel(), rcond=1e-10)[0][-1]
        lag = max(lag + float(np.clip(rest, -data.dt, data.dt)), 0.0)
    return lag if lag > 0.1 * data.dt else 0.0


def _late_columns(plain: Plain, data: Recording, cutoff: float | None) -> Array:
    """Derivative of the predicted forces by the lag, (rows, n, 1)."""
    x = np.zeros(len(plain.params.names))
    x[plain.kept] = plain.beta
    forces = plain.params.linear_forces(data.q, data.dq, data.ddq, x)
    return in_band(data, -np.gradient(forces, data.t, axis=0), cutoff)[..., None]


def without_lag(data: Recording, lag: float) -> Recording:
    """The recording with the motion to which its joint forces belong, a lag before.

    The motion is smooth; interpolated forces would lose noise and the steps of friction.
    """
    if lag == 0:
        return data
    from scipy.interpolate import CubicHermiteSpline

    at = data.t - lag
    k = np.searchsorted(data.t, at, side="right") - 1
    inside = (k >= 0) & (k < len(data) - 1)
    inside &= np.diff(data.t, append=np.inf)[np.maximum(k, 0)] < 1.5 * data.dt
    t, at = data.t, at[inside]
    bend = np.gradient(data.ddq, t, axis=0)
    dq = CubicHermiteSpline(t, data.dq, data.ddq)(at)
    ddq = CubicHermiteSpline(t, data.ddq, bend)(at)
    if data.q.shape == data.dq.shape:
        q = CubicHermiteSpline(t, data.q, data.dq)(at)
    else:
        q = np.stack([np.interp(at, t, x) for x in data.q.T], axis=1)
    if data.model is not None:
        q = unit_quaternions(data.model, q)
    return replace(data.part(inside), q=q, dq=dq, ddq=ddq)
