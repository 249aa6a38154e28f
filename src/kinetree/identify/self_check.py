"""Self-checks of a result: parts of it that are computed in two ways must agree."""

from dataclasses import replace
from warnings import warn

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import KinetreeWarning
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of, in_band
from kinetree.identify.findings import Finding, Verdict
from kinetree.identify.identification import Identification


def check_result(result: Identification) -> Identification:
    """The result, with a warning if its parts do not agree.

    At some rows two things are computed again, from the recording and by the robot's own kernel:
    measured less predicted forces of the base parameters are the residual of the fit, and the robot
    that was found has the joint forces of the estimated unknowns.
    """
    train, forces = result.train, result.sought.natural.forces
    chosen = np.unique(np.linspace(0, len(train) - 1, const.CHECKED_SAMPLES).round().astype(int))
    some = train.part(chosen)
    state = some.q, some.dq, some.ddq
    sought, x = result.sought, result.estimate.x
    known = np.abs(sought.known(*state))
    terms = np.abs(sought.regressor(*state)) @ np.abs(x) + known + np.abs(some.tau)
    size = float((terms / forces).max(initial=0)) or 1.0
    by_robot = result.robot.inverse_dynamics(*state) + sought.sensor_offsets(x)
    difference = by_robot - sought.forces(*state, x)
    off = {"the robot that was found and the unknowns estimated give joint forces": difference}
    if len(result.fit.residual) == len(in_band(train, train.tau, result.cutoff)):
        # filters of long recordings are cut at the ends of pieces
        off["the base parameters and the fit's residual"] = _recomputed(result)
    texts: list[str] = []
    for what, difference in off.items():
        share = float(np.abs(difference / forces).max(initial=0)) / size
        if not share <= const.AGREEMENT:
            texts.append(
                f"{what} that differ by {share:.2g} of their terms; expected at most "
                f"{const.AGREEMENT:g}. Do not use this result: please report it with the recording"
            )
            warn(texts[-1] + ".", KinetreeWarning, stacklevel=3)
    if not texts:
        return result
    failed = tuple(Finding("check", (), text) for text in texts)
    reasons = (*failed, *result.verdict.reasons)
    verdict = Verdict("not usable", "", reasons, result.verdict.undecided)
    return replace(
        result, verdict=verdict, warnings=(*failed, *result.warnings),
        withheld=tuple(range(result.base.r)),
    )  # fmt: skip


def _recomputed(result: Identification) -> Array:
    """Residuals of some rows, computed sample by sample, less those of the fit, (k, n)."""
    train = result.train
    bands = bands_of(train, result.cutoff)
    starts = np.cumsum([0, *(band.rows for band in bands)])
    rows = np.unique(np.linspace(0, starts[-1] - 1, const.CHECKED_ROWS).round().astype(int))
    off: list[Array] = []
    for row in rows:
        which = int(np.searchsorted(starts, row, side="right")) - 1
        band, k = bands[which], int(row - starts[which])
        own = train.part(slice(*band.window(k, k + 1)))
        forces = result.sought.forces(own.q, own.dq, own.ddq, result.fit.beta, result.base.kept)
        weights = band.weights(k, k + 1)[0] if band.reach else np.ones(1)
        off.append(weights @ (own.tau - forces) - result.fit.residual[row])
    return np.array(off)
