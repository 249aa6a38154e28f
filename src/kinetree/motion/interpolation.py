"""A trajectory between its samples."""

from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.arrays import Array, array
from kinetree.description.joints import SCREW_TYPES
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.hermite import evaluate, quintic_coefficients
from kinetree.motion.inputs import sample_times
from kinetree.simulate.trajectory import Trajectory


def resample(trajectory: Trajectory, t: Any) -> Trajectory:
    """The motion at other times within it, (T,), or, for one number, every t seconds.

    Between two samples runs the quintic that has q, dq and ddq of both: q is exact to h^6 of a
    smooth motion, dq to h^5, ddq to h^4. tau is interpolated linearly. Quaternions and planar
    positions turn and move at constant rate from sample to sample, with linear dq and ddq.
    """
    if np.ndim(t) == 0:
        t = trajectory.t[0] + sample_times(trajectory.duration, t)
    t = array(t, (None,), "t").astype(float)
    first, last = trajectory.t[0], trajectory.t[-1]
    slack = 1e-12 * max(abs(first), abs(last))
    if len(t) and (t.min() < first - slack or t.max() > last + slack):
        raise InputError(
            f"t reaches from {t.min():.9g} to {t.max():.9g} s, but trajectory "
            f"{trajectory.name!r} only from {first:.9g} to {last:.9g} s."
        )
    if len(trajectory) == 1:
        at = np.zeros(len(t), int)
        tau = None if trajectory.tau is None else trajectory.tau[at]
        motion = {name: getattr(trajectory, name)[at] for name in ("q", "dq", "ddq")}
        return trajectory.replace(t=t, tau=tau, **motion)
    q, dq, ddq = motion_at(trajectory, t)
    tau = None if trajectory.tau is None else linear(trajectory.t, trajectory.tau, t)
    return trajectory.replace(t=t, q=q, dq=dq, ddq=ddq, tau=tau)


def motion_at(trajectory: Trajectory, t: Array) -> tuple[Array, Array, Array]:
    """q, dq and ddq at times t, (T,)."""
    model = trajectory.model
    if model is not None and not set(model.joint_types) <= set(SCREW_TYPES):
        dq, ddq = (linear(trajectory.t, x, t) for x in (trajectory.dq, trajectory.ddq))
        return _along_geodesics(trajectory, model, t), dq, ddq
    k, h, since = _interval(trajectory.t, t, trajectory.q.ndim)
    states = [x[k + side] for side in (0, 1) for x in _motion(trajectory)]
    return evaluate(quintic_coefficients(h, *states), since)


def linear(knots: Array, x: Array, t: Array) -> Array:
    """Linear interpolation along the first axis."""
    k, h, since = _interval(knots, t, x.ndim)
    return x[k] + (x[k + 1] - x[k]) * (since / h)


def _motion(trajectory: Trajectory) -> tuple[Array, Array, Array]:
    return trajectory.q, trajectory.dq, trajectory.ddq


def _interval(knots: Array, t: Array, dimensions: int) -> tuple[Array, Array, Array]:
    """The interval of each time, its length, and the time since it began, as columns."""
    k = np.clip(np.searchsorted(knots, t, "right") - 1, 0, len(knots) - 2)
    column = (-1,) + (1,) * (dimensions - 1)
    return k, (knots[k + 1] - knots[k]).reshape(column), (t - knots[k]).reshape(column)


def _along_geodesics(trajectory: Trajectory, model: Model, t: Array) -> Array:
    k, h, since = _interval(trajectory.t, t, 1)
    out = np.empty((len(t), *trajectory.q.shape[1:]))
    for row, (i, share) in enumerate(zip(k, since / h, strict=True)):
        for at in np.ndindex(trajectory.batch_shape):
            q0, q1 = trajectory.q[(i, *at)], trajectory.q[(i + 1, *at)]
            step = algorithms.difference(model, q0, q1)
            out[(row, *at)] = algorithms.integrate(model, q0, share * step)
    return out
