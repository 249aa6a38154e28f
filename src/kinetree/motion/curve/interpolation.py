"""Sampling of a motion at other times."""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from kinetree.core.arrays import ArrayLike, array
from kinetree.core.containers import read_times
from kinetree.core.options import typed
from kinetree.errors import InputError, warn
from kinetree.motion.curve.between import Forces, Interpolant, put, screw_columns
from kinetree.motion.curve.pieces import Polynomials
from kinetree.motion.inputs import sample_times
from kinetree.motion.record import Record

AnyRecord = TypeVar("AnyRecord", bound=Record)


@typed
def resample(trajectory: AnyRecord, t: ArrayLike) -> AnyRecord:
    """The motion at other times within it, (T,), or, for one number, every t seconds.

    A planned motion is evaluated from its pieces, the polynomials that the planner made, and the
    result keeps them: accelerations, speeds and forces between the samples are those of the plan.
    At times that are samples already, the result has these samples to the last bit, also after it
    was resampled at other times in between.

    If only samples are known (arrays, files, simulations), the quintic with q, dq and ddq of both
    neighbours is used between them: q is exact to h^6 of a smooth motion, dq to h^5, ddq to h^4.
    If it would overshoot because the acceleration jumps, q and dq determine when the jump is; then
    ddq goes from one sample's value to the next in jumps or in a ramp and stays between them. A
    warning names the interval if q, dq and ddq of the samples contradict each other, so that the
    acceleration between them has to leave the range of the samples.

    Times beyond the motion are an error. As the reference of a controller it stands still there;
    `meta["reference"]` of the simulated motion has those positions, "q" at the times "t".

    tau is interpolated linearly. Quaternions and planar positions turn and move at a constant rate
    from sample to sample, with linear dq and ddq.

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
            f"{trajectory.name!r} only from {first:.9g} to {last:.9g} s. Choose times within it. "
            "The reference of a simulated motion, which stands still beyond its times, is in "
            'meta["reference"] of that motion.'
        )
    pieces = trajectory.curve
    warn_of_excess(trajectory)
    inside = np.clip(t, first, last)
    motion = pieces(inside)
    own = Interpolant(trajectory.t, trajectory.q, trajectory.dq, trajectory.ddq)
    source = pieces if isinstance(pieces, Interpolant) else pieces.samples or own
    for given in (source, own):
        for x, samples in zip(motion, (given.q, given.dq, given.ddq), strict=True):
            put(x, given.t, samples, inside)
    tau = None
    if trajectory.tau is not None:
        forces = pieces.forces or Forces(trajectory.t, trajectory.tau)
        tau = forces(inside)
        put(tau, trajectory.t, trajectory.tau, inside)
        if trajectory.meta.get("tau_held"):
            tau = trajectory.tau[np.searchsorted(trajectory.t, inside, "right") - 1]
        pieces = replace(pieces, forces=forces)
    if isinstance(pieces, Polynomials):
        pieces = replace(pieces, samples=source)
    q, dq, ddq = motion
    within = np.array_equal(t, inside)  # if not, rounding put a time beyond the pieces' ends
    kept = pieces if within else None
    return trajectory.replace(t=t, q=q, dq=dq, ddq=ddq, tau=tau, pieces=kept)


def warn_of_excess(trajectory: Record) -> None:
    """Warn if the acceleration between samples has to leave the range of the samples."""
    pieces = trajectory.curve
    if not isinstance(pieces, Interpolant) or pieces.excess is None:
        return
    excess = pieces.excess
    k, (*batch, joint) = excess.interval, excess.at
    names = trajectory.dof_names
    if pieces.model is not None:
        joint = screw_columns(pieces.model)[1][joint]
    at = (*batch, joint)
    of = f" of rollout {tuple(batch)}" if batch else ""
    more = f" So do {excess.count - 1} other intervals." if excess.count > 1 else ""
    warn(
        f"trajectory {trajectory.name!r}: between t = {pieces.t[k]:.6g} and {pieces.t[k + 1]:.6g} "
        f"s, q and dq of {names[joint]!r}{of} need accelerations from {excess.least:.4g} to "
        f"{excess.most:.4g}, but ddq of the samples is {pieces.ddq[(k, *at)]:.4g} and "
        f"{pieces.ddq[(k + 1, *at)]:.4g}.{more} Give q, dq and ddq that belong together, or more "
        "samples."
    )
