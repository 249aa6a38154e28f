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
from kinetree.identify.select import Blocks, Plain, is_better, plain_fit


def choose_lag(plain: Plain, data: Recording, cutoff: float | None) -> float:
    """Time by which joint forces are later than the motion, s; 0 if that predicts them as well.

    The derivative of the predicted forces by the lag is one more column of plain least squares;
    its factor is a step of Gauss and Newton.
    """
    most = min(0.1, 0.02 * (data.t[-1] - data.t[0]))  # s: longer ones are errors of the log
    lag, moved, now = 0.0, data, plain
    for _ in range(5):  # friction steps, so the first steps are rough
        W = np.concatenate([now.W, _late_column(now, moved, cutoff)], axis=-1)
        X = (W / plain.sigma[:, None]).reshape(-1, W.shape[-1])
        step = np.linalg.lstsq(X, (now.y / plain.sigma).ravel(), rcond=1e-10)[0][-1]
        before, lag = lag, float(np.clip(lag + step, 0, most))
        if abs(lag - before) < 0.02 * data.dt:
            break
        moved = without_lag(data, lag)
        now = plain_fit(plain.params, moved, cutoff)
    losses = [Blocks(x.W, x.y, plain.sigma).losses() for x in (plain, now)]
    return lag if lag > 0.1 * data.dt and is_better(*losses) else 0.0


def _late_column(plain: Plain, data: Recording, cutoff: float | None) -> Array:
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
