"""Intervals by twins: they cover on short recordings, and fail where errors come in lumps."""

import numpy as np

from kinetree.identify.calibration import calibrated
from kinetree.identify.least_squares import fit

T = 80
SLOW = np.stack([f(np.arange(T) * 0.06 * k) for k in (1, 2, 3, 4) for f in (np.sin, np.cos)], 1)
W = SLOW[:, None, :]


def distance(y, method="weighted"):
    """Estimates over their standard errors, before and after calibration; the truth is zero."""
    plain = fit(W, y, method)
    twins = calibrated([(W, y)], plain, method)
    return plain.beta / plain.standard_error, twins.beta / twins.standard_error


def test_calibrated_intervals_cover_where_plain_ones_are_too_narrow(experiments):
    """Eight slow parameters of 80 rows; coverage of 480 intervals has an error of 1.3 %."""
    count = experiments(20, 60)
    rows = [distance(np.random.default_rng(seed).normal(size=(T, 1))) for seed in range(count)]
    plain, twins = (np.mean(np.abs(x) < 1.96) for x in zip(*rows, strict=True))
    assert plain < 0.91 < 0.93 < twins < 0.98


def test_long_recordings_need_no_calibration():
    rows = np.random.default_rng(0).normal(size=(9000, 1, 3))
    found = fit(rows, rows[..., 0] + np.random.default_rng(1).normal(size=(9000, 1)))
    assert calibrated([(rows, rows[..., 0])], found, "weighted") is found


def test_errors_in_lumps_make_the_interval_of_their_parameter_fail():
    """Errors are four times larger in the rows that determine the last parameter."""
    k = np.arange(480)
    late = np.where(k // 12 % 4 == 1, np.sin(0.7 * k), 0)
    rows = np.stack([np.sin(0.06 * k), np.cos(0.06 * k), late], axis=1)[:, None, :]
    noise = np.random.default_rng(3).normal(size=(len(k), 1))
    for factor, failed in ((1, ()), (4, (2,))):
        y = np.where(late != 0, factor, 1)[:, None] * noise
        assert calibrated([(rows, y)], fit(rows, y, "weighted"), "weighted").uneven == failed
