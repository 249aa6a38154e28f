"""Sampling of a motion at other times."""

from typing import TypeVar

import numpy as np

from kinetree.core.arrays import ArrayLike, array
from kinetree.core.containers import read_times
from kinetree.core.options import typed
from kinetree.errors import InputError
from kinetree.motion.curve.pieces import located, put
from kinetree.motion.inputs import sample_times
from kinetree.motion.record import Record

AnyRecord = TypeVar("AnyRecord", bound=Record)


@typed
def resample(trajectory: AnyRecord, t: ArrayLike) -> AnyRecord:
    """The motion at other times within it, (T,), or, for one number, every t seconds.

    A planned motion is evaluated from its pieces, the polynomials that the planner made, and the
    result keeps them: accelerations and speeds between the samples are those of the plan. At times
    that are samples already, the result has these samples to the last bit.

    If only samples are known (arrays, files, simulations), q is the quintic with q, dq and ddq of
    both neighbours, exact to h^6 of a smooth motion; dq is the cubic with dq and ddq of both, exact
    to h^4, and ddq a straight line.

    Times beyond the motion are an error. As the reference of a controller it stands still there;
    `meta["reference"]` of the simulated motion has those positions, "q" at the times "t".

    tau is interpolated linearly. Quaternions and planar positions turn and move at a constant rate
    from sample to sample.

    Args:
        trajectory: a motion, or a batch.
        t: times, shape (T,), s; or one number, the largest step between samples, s.
    """
    t = read_times(t)
    if np.asarray(t).ndim == 0:
        t = trajectory.t[0] + sample_times(trajectory.duration, np.asarray(t).item())
    t = array(t, (None,), "t").astype(float)
    first, last = trajectory.t[0], trajectory.t[-1]
    slack = 1e-12 * max(abs(first), abs(last))
    if len(t) and (t.min() < first - slack or t.max() > last + slack):
        raise InputError(
            f"t reaches from {t.min():.9g} to {t.max():.9g} s, but trajectory "
            f"{trajectory.name!r} only from {first:.9g} to {last:.9g} s."
        )
    inside = np.clip(t, first, last)
    motion = trajectory.curve(inside)
    given = [trajectory.q, trajectory.dq, trajectory.ddq]
    for x, samples in zip(motion, given, strict=True):
        put(x, trajectory.t, samples, inside)
    q, dq, ddq = motion
    tau = trajectory.tau
    if tau is not None and trajectory.meta.get("tau_held"):
        tau = tau[located(trajectory.t, inside)]
    elif tau is not None:
        known, tau = tau, np.repeat(tau[:1], len(inside), axis=0)
        if len(known) > 1:
            from scipy.interpolate import make_interp_spline

            tau = np.asarray(make_interp_spline(trajectory.t, known, k=1)(inside))
            put(tau, trajectory.t, known, inside)
    within = np.array_equal(t, inside)  # if not, rounding put a time beyond the pieces' ends
    pieces = trajectory.curve if within else None
    return trajectory.replace(t=t, q=q, dq=dq, ddq=ddq, tau=tau, pieces=pieces)
