"""Samples of a recording made even between gaps, with rates and accelerations."""

from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.identify.checks import check_given_rates, check_times
from kinetree.identify.clock import Samples, evenly, gaps, held_rows, is_even, take
from kinetree.identify.rates import Rates, apply_rates, choose_rates, margin
from kinetree.model import Model

LEAST_SAMPLES = 16  # that follow each other: fewer have no spectrum
Conditioned = tuple[Samples, float | None, list[str]]  # cutoff, Hz; None: rates as recorded


def conditioned(model: Model, samples: Samples, cutoff: float | None) -> Conditioned:
    """Samples with rates and accelerations, the cutoff of their low-pass, and notes."""
    _, _, dq, ddq, _ = samples
    t, q, rate, bend, _ = take(samples, _stretches(samples[0], None)[0])
    if rate is not None:
        check_given_rates(model, t, q, rate, bend)
    elif model.n != model.nq:
        raise InputError(
            f"{model.name!r} has joints whose rates are not derivatives of q (quaternions); "
            "expected dq with the recording."
        )
    if dq is not None and ddq is not None and not dq.any() and not ddq.any():
        note = "all rates and accelerations are zero: rows are taken for positions held still"
        return samples, None, [note]
    notes = list[str]()
    if model.n == model.nq and (held := held_rows(samples[1])).any():
        notes.append(
            f"{held.sum():,} of {len(held):,} rows repeat the row before within motion (held "
            "samples); removed"
        )
        samples = take(samples, ~held)
    recorded = dq is not None and ddq is not None
    if not recorded:
        check_times(model, samples[0])
    longest = take(samples, _stretches(samples[0], cutoff)[0])
    if recorded and model.n != model.nq and not is_even(longest[0]):
        return samples, None, notes
    rates = choose_rates(model, _even(model, longest)[0], cutoff)
    if rates.cutoff is None:
        return samples, None, [*notes, *rates.notes]
    return _filtered(model, samples, rates, notes)


def _stretches(t: Array, cutoff: float | None) -> list[slice]:
    """Rows between gaps, the longest stretch first."""
    cuts = [0, *gaps(t, cutoff) + 1, len(t)]
    stretches = sorted((slice(a, b) for a, b in pairwise(cuts)), key=lambda s: s.start - s.stop)
    longest = stretches[0].stop - stretches[0].start
    if longest < LEAST_SAMPLES:
        raise InputError(
            f"no more than {longest} samples follow each other without a gap; expected "
            f"{LEAST_SAMPLES}."
        )
    return stretches


def _even(model: Model, samples: Samples) -> tuple[Samples, str]:
    """One stretch at even times, and a note."""
    if model.n != model.nq and not is_even(samples[0]):
        raise InputError(
            f"the samples are not evenly spaced, and {model.name!r} has quaternions, which are "
            "not resampled; expected even steps, or ddq with the recording."
        )
    return evenly(samples)


def _filtered(model: Model, samples: Samples, rates: Rates, notes: list[str]) -> Conditioned:
    """The stretches between gaps, each filtered by itself: nothing is interpolated over a gap.

    Stretches too short for the filter are left out.
    """
    cutoff = rates.cutoff
    assert cutoff is not None
    stretches, parts, remarks = _stretches(samples[0], cutoff), list[Any](), list[str]()
    lost = 0
    for own in stretches:
        if own.stop - own.start < LEAST_SAMPLES:
            lost += own.stop - own.start
            continue
        part, remark = _even(model, take(samples, own))
        t = part[0]
        cut = margin(float((t[-1] - t[0]) / (len(t) - 1)), cutoff)
        if len(t) < 2 * cut + LEAST_SAMPLES:
            lost += len(t)
            continue
        remarks += [remark] * bool(remark)
        parts.append(take(apply_rates(model, part, rates), slice(cut, len(t) - cut)))
    if not parts:
        t = samples[0][stretches[0]]
        raise InputError(
            f"{len(t)} samples over {t[-1] - t[0]:.3g} s are too few for a low-pass at "
            f"{cutoff:.3g} Hz. Record longer, or give dq and ddq."
        )
    parts.sort(key=lambda part: part[0][0])
    notes += [*dict.fromkeys(remarks), *rates.notes]
    notes.append(
        f"accelerations from {' and '.join(dict.fromkeys(rates.sources))} by a zero-phase low-pass "
        f"at {cutoff:.3g} Hz; {1 / cutoff:.2g} s at each end are left out"
    )
    if lost:
        notes.append(f"left out: {counted(lost, 'sample')} in short stretches between gaps")
    t, q, dq, ddq, tau = (np.concatenate(x) for x in zip(*parts, strict=True))
    return (t, q, dq, ddq, tau), cutoff, notes
