"""The verdict: whether the robot found is better than described, and intervals are right.

Held-out motion decides on the robot: the error of the description and of the robot found, in the
band of the fit. Intervals follow from the errors of the fit as noise that is correlated over time
but the same throughout, and that does not depend on the motion. Each assumption is tested:

    misfit      errors on held-out motion are twice those that noise and the errors of the
                parameters explain
    unsteady    the size of errors in the halves of the recording differs by a factor 2
    pattern     errors follow a function of speed, load or position that the model does not have
    coloured    errors are correlated over time: the intervals include it, unless the recording has
                fewer than ten times the duration of the correlation

The interval of a base parameter is withheld if a tenth or more of its variance comes from joints
that fail a test, or that are worse than described: a number with a margin that is too small is
worse than one without.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import listing
from kinetree.identify.band import in_band
from kinetree.identify.base import Base
from kinetree.identify.checks import MOST
from kinetree.identify.identification import Identification, Verdict
from kinetree.identify.notes import Finding, odd_errors, poorly_excited
from kinetree.identify.recording import Recording
from kinetree.model.bounds import bounds_of

WORSE, LESS = 1.1, 0.98  # ratio of errors of a joint that is worse, and of a sum that is better
EQUAL = 1e-5  # of a joint's force: errors that differ by less are equal
NEGLIGIBLE = 1e-3  # of a joint's force: smaller errors are not looked at
FACTOR = 2.0  # by which errors may exceed those expected, or differ from half to half
CHANCE = 3.0  # standard errors that a difference exceeds beyond that
WILD = 5.0  # typical errors at which larger ones are clipped: outliers have a warning of their own
LARGE = 2.5  # the same where errors are compared with functions of the motion
COLOURED = 4.0  # largest over mean power density of coloured errors
LONG = 10.0  # least duration of a recording, in times of correlation
PATTERN = 0.25  # least share of the power of errors that a function of the motion explains
SHARE = 0.1  # of the variance of a parameter that comes from joints that fail a test
SAMPLES, SOME = 20_000, 400  # of which patterns are sought; at which variances are shared out
OF = {
    "force": ("their own force", "a wrong gain of the measured force"),
    "speed": ("speed", "friction of another shape"),
    "load": ("joint force and direction", "friction that grows with the load, or an elastic drive"),
    "position": ("position", "an uneven gear, a spring or a cable"),
}


def judge(found: Identification, whole: Base, readings: Sequence[Finding]) -> Identification:
    """The result with its verdict, its warnings, and without intervals that cannot be trusted.

    Args:
        found: the result.
        whole: base parameters of all motions.
        readings: warnings of `check_readings`.
    """
    model = found.robot.model
    verdict, listed = compared(found)
    listed += readings
    doubted = set[str]()
    if not readings:
        errors = [*_misfit(found), *_unsteady(found), *_patterns(found)]
        coloured = list(_coloured(found))
        doubted = {name for x in (*errors, *listed) for name in x.joints}
        doubted |= {name for x in coloured if x.lasting for name in x.finding.joints}
        listed += [*errors, *(x.finding for x in coloured)]
        rows = in_band(found.train, found.train.t, found.cutoff)
        times = rows if len(rows) == len(found.fit.residual) else None
        listed += odd_errors(model, found.fit, found.method, times)
    listed += [*_corrections(found), *poorly_excited(whole, found.base, found.fit)]
    withheld = list(range(found.base.r)) if readings else influenced(found, doubted)
    if readings and verdict != "worse":
        verdict = "doubtful"
    return replace(found, verdict=verdict, warnings=tuple(listed), withheld=tuple(withheld))


def compared(found: Identification) -> tuple[Verdict, list[Finding]]:
    """The verdict by errors on held-out motion, with warnings.

    Args:
        found: the result.
    """
    names, test = found.robot.model.dof_names, found.test
    before, now, size = found.described_error(), found.error(), found.rms(test, test.tau)
    least = EQUAL * size
    forces = found.sought.natural.forces
    total = float((now / forces).sum()), float((before / forces).sum())
    small = float((least / forces).sum())
    listed: list[Finding] = []
    if found.test is found.train:
        listed.append(Finding(
            "not tested", (),
            "no motion was held out: errors are those on the samples of the fit, which are smaller "
            "than those on another motion",
        ))  # fmt: skip
    worse = now - before > np.maximum((WORSE - 1) * before, least)
    if worse.any():
        joints = tuple(x for x, bad in zip(names, worse, strict=True) if bad)
        pairs = zip(now[worse][:MOST], before[worse][:MOST], strict=True)
        values = ", ".join(f"{a:.3g} against {b:.3g}" for a, b in pairs)
        units = "N m or N" if bounds_of(found.robot.model).sliding.any() else "N m"
        listed.append(Finding(
            "worse", joints,
            f"on held-out motion the robot found is worse than the description at "
            f"{listing(joints, MOST)}: errors of {values} {units}. Use the description there, or "
            "record a motion that excites more",
        ))  # fmt: skip
    elif total[0] - total[1] > max((WORSE - 1) * total[1], small):
        listed.append(Finding(
            "worse", (),
            f"on held-out motion the robot found is worse than the description: the sum of its "
            f"errors is {total[0] / total[1]:.3g} times as large",
        ))  # fmt: skip
    if any(x.kind == "worse" for x in listed):
        return "worse", listed
    return ("better" if total[1] - total[0] > max((1 - LESS) * total[1], small) else "no better",
            listed)  # fmt: skip


def _size(x: Array) -> Array:
    """Root mean square of rows, (n,), with outliers clipped."""
    most = WILD * 1.4826 * np.median(np.abs(x), axis=0)
    return np.sqrt((np.minimum(np.abs(x), np.where(most > 0, most, np.inf)) ** 2).mean(axis=0))


def _independent(found: Identification, rows: int) -> Array:
    """Number of independent squares among so many rows of errors, (n,)."""
    power = np.abs(found.fit.noise.gains(np.fft.rfftfreq(4096))) ** 2
    rho = np.fft.irfft(power, axis=1)
    rho = rho / np.maximum(rho[:, :1], 1e-300)
    return rows / np.maximum((rho[:, : min(rows, 2048)] ** 2).sum(axis=1) * 2 - 1, 1)


def _misfit(found: Identification) -> Iterator[Finding]:
    """A warning of joints whose errors on held-out motion are not those of noise."""
    test = found.test
    if test is found.train:
        return
    rest = in_band(test, test.tau - found.predict(test, physical=False), found.cutoff)
    some = test.part(np.unique(np.linspace(0, len(test) - 1, SOME).round().astype(int)))
    linear = [k for k, at in enumerate(found.base.kept) if at < found.sought.p]
    W = found.sought.regressor(some.q, some.dq, some.ddq)
    W = W[..., [found.base.kept[k] for k in linear]]
    C = found.fit.covariance[np.ix_(linear, linear)]
    spread = np.einsum("tjr,rs,tjs->j", W, C, W) / len(W)
    own = _size(found.fit.residual)
    chance = CHANCE * np.sqrt(0.5 / np.maximum(_independent(found, len(rest)), 1))
    limit = FACTOR * np.sqrt(own**2 + spread) * (1 + chance)
    limit = np.maximum(limit, NEGLIGIBLE * found.rms(test, test.tau))
    now = _size(rest)
    if np.any(off := now > limit):
        joints = _names(found, off)
        times = " to ".join(dict.fromkeys(
            f"{f((now / np.maximum(own, 1e-300))[off]):.2g}" for f in (np.min, np.max)
        ))  # fmt: skip
        yield Finding(
            "misfit", joints,
            f"errors of {listing(joints, MOST)} on held-out motion are {times} times those of the "
            "fit, more than noise explains: the machine, or its motion, was different there",
        )  # fmt: skip


def _unsteady(found: Identification) -> Iterator[Finding]:
    """A warning of joints whose errors change their size during the recording."""
    rest = found.fit.residual
    half = len(rest) // 2
    first, last = _size(rest[:half]), _size(rest[half:])
    ratio = np.maximum(last, 1e-300) / np.maximum(first, 1e-300)
    chance = CHANCE * np.sqrt(1 / np.maximum(_independent(found, half), 1))
    least = NEGLIGIBLE * found.rms(found.train, found.train.tau)
    off = (np.abs(np.log(ratio)) > np.log(FACTOR) + chance) & (np.maximum(first, last) > least)
    if off.any():
        joints = _names(found, off)
        values = ", ".join(f"{x:.2g}" for x in ratio[off][:MOST])
        yield Finding(
            "unsteady", joints,
            f"errors of {listing(joints, MOST)} change their size: in the second half of the "
            f"samples they are {values} times those in the first",
        )  # fmt: skip


def _names(found: Identification, chosen: Array) -> tuple[str, ...]:
    names = found.robot.model.dof_names
    return tuple(name for name, x in zip(names, chosen, strict=True) if x)


@dataclass(frozen=True)
class Colour:
    """A warning of coloured errors; `lasting`: the recording is too short for their intervals."""

    finding: Finding
    lasting: bool


def _coloured(found: Identification) -> Iterator[Colour]:
    """Warnings of errors that are correlated over time, with frequency and duration."""
    f, density = found.error_spectrum()
    mean = density.mean(axis=0)
    peak = density.argmax(axis=0)
    ratio = density.max(axis=0) / np.where(mean > 0, mean, np.inf)
    least = NEGLIGIBLE * found.rms(found.train, found.train.tau)
    coloured = (ratio > COLOURED) & (_size(found.fit.residual) > least)
    if not coloured.any():
        return
    half = np.cumsum(density, axis=0) / np.maximum(density.sum(axis=0), 1e-300)
    below = f[np.minimum((half < 0.5).sum(axis=0), len(f) - 1)]
    times = correlation_times(found)
    train = found.train
    duration = train.dt * len(train)
    for slow in (True, False):
        at = coloured & ((f[peak] < 0.1 * f[-1]) == slow)
        for lasting in (False, True):
            own = at & ((LONG * times > duration) == lasting)
            if not own.any():
                continue
            joints = _names(found, own)
            values = below[own] if slow else f[peak][own]
            span = " to ".join(dict.fromkeys(f"{g(values):.2g}" for g in (np.min, np.max)))
            where = f"half of their power is below {span} Hz" if slow else f"strongest at {span} Hz"
            time = f"{float(times[own].max()):.2g} s"
            end = "Intervals take this into account" if not lasting else (
                f"The recording of {duration:.3g} s is too short for intervals")  # fmt: skip
            text = (
                f"errors of {listing(joints, MOST)} are coloured: {where}, correlated over {time}. "
                f"{end}"
            )
            yield Colour(Finding("coloured", joints, text), lasting)


def correlation_times(found: Identification) -> Array:
    """Time in which the correlation of the errors of each joint falls below 1/e, (n,), s.

    Args:
        found: the result.
    """
    power = np.abs(found.fit.noise.gains(np.fft.rfftfreq(4096))) ** 2
    rho = np.fft.irfft(power, axis=1)[:, :2048]
    far = np.abs(rho) > np.exp(-1) * np.maximum(rho[:, :1], 1e-300)
    last = np.array([int(np.flatnonzero(x).max(initial=0)) for x in far])
    return (last + 1) * found.row_step


def _patterns(found: Identification) -> Iterator[Finding]:
    """Warnings of joints whose errors follow a function of the motion, the best one of each.

    Coefficients are fitted to errors of the fit and tried on those of held-out motion. Slow noise
    looks like a function of the motion on one of them, and not on both.
    """
    train, test = found.train.part(slice(0, SAMPLES)), found.test.part(slice(0, SAMPLES))
    if found.test is found.train:
        half = len(train) // 2
        train, test = train.part(slice(0, half)), train.part(slice(half, None))
    least = NEGLIGIBLE * found.rms(train, train.tau)
    best = [(PATTERN, "")] * found.robot.n
    first, second = _functions(found, train, train), _functions(found, test, train)
    for (kind, u, X), (_, v, Z) in zip(first, second, strict=True):
        for j in np.flatnonzero(_size(u) > least).tolist():
            if len(u) < 10 * X.shape[-1]:
                continue
            centre = X[:, j].mean(axis=0)
            columns, other = (np.column_stack([x[:, j] - centre, np.ones(len(x))]) for x in (X, Z))
            length = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
            own = np.linalg.lstsq(columns / length, u[:, j], rcond=1e-6)[0] / length
            share = min(_share(u[:, j], columns @ own), _share(v[:, j], other @ own))
            best[j] = max(best[j], (share, kind))
    for kind, (what, cause) in OF.items():
        joints = _names(found, np.array([own == kind for _, own in best]))
        if joints:
            yield Finding(
                "pattern", joints,
                f"errors of {listing(joints, MOST)} depend on {what}, in a way that the model does "
                f"not have: {cause}",
            )  # fmt: skip


def _share(x: Array, predicted: Array) -> float:
    """Share of the squares of x about its mean that a prediction about its mean explains."""
    x, predicted = x - x.mean(), predicted - predicted.mean()
    return 1 - float(((x - predicted) ** 2).sum()) / max(float((x**2).sum()), 1e-300)


def _functions(
    found: Identification, data: Recording, scale: Recording
) -> Iterator[tuple[str, Array, Array]]:
    """What errors may depend on, errors, (rows, n), and functions, (rows, n, k), in the band.

    Large errors are clipped: outliers have a warning of their own. `scale` has the speeds and
    positions by which functions are scaled.
    """
    predicted = found.predict(data, physical=False)
    rest = in_band(data, data.tau - predicted, found.cutoff)
    size = LARGE * 1.4826 * np.median(np.abs(rest - np.median(rest, axis=0)), axis=0)
    rest = np.clip(rest, -size, size)
    force = predicted / found.sought.natural.forces
    load = np.abs(data.tau) / found.sought.natural.forces
    v = data.dq / np.maximum(np.abs(scale.dq).max(axis=0), 1e-300)
    bends = [np.sign(v) * np.exp(-((v / width) ** 2)) for width in (0.05, 0.2)]
    listed = {
        "force": [force],
        "speed": [*bends, v * np.abs(v), np.abs(v)],
        "load": [load * np.sign(v), load * v],
    }
    if data.q.shape == data.dq.shape:  # no quaternions
        sliding = bounds_of(found.robot.model).sliding
        span = np.maximum(np.ptp(scale.q, axis=0), 1e-300)
        angle = np.where(sliding, np.pi * (data.q - scale.q.mean(axis=0)) / span, data.q)
        listed["position"] = [f(k * angle) for k in (1, 2, 3) for f in (np.sin, np.cos)]
    for kind, columns in listed.items():
        yield kind, rest, in_band(data, np.stack(columns, axis=-1), found.cutoff)


def _corrections(found: Identification) -> Iterator[Finding]:
    """Warnings of faults of the recording that were found and corrected: lag, offsets, gains."""
    lag, sought = found.lag, found.sought
    if lag is not None and lag.sure and lag.error > 0:
        later = "later" if lag.value > 0 else "earlier"
        yield Finding(
            "lag", (),
            f"measured joint forces are {1e3 * abs(lag.value):.3g} ms (+- "
            f"{1.96e3 * lag.error:.2g}) {later} than the motion; they were moved by that time",
        )  # fmt: skip
    if sought.offset:
        names = found.robot.model.dof_names
        values = found.estimate.x[sought.offset_places]
        margins = 1.96 * found.estimate.deviation[sought.offset_places]
        sure = np.abs(values) > margins
        rows = [
            (names[dof], f"{names[dof]} {x:.3g} (+- {m:.2g}) {sought.units[at]}")
            for dof, x, m, at, s in zip(
                sought.offset, values, margins, sought.offset_places, sure, strict=True
            )
            if s
        ]
        if rows:
            yield Finding(
                "offset", tuple(x for x, _ in rows),
                f"measured joint forces have offsets, which are no part of the robot: "
                f"{', '.join(text for _, text in rows)}",
            )  # fmt: skip
    if found.gains is not None and found.gains.origin == "description":
        yield Finding(
            "gains", found.gains.joints,
            "gains of the drives are those that fit the described masses: if those are all wrong "
            "by one factor, the gains and the masses found are, too",
        )  # fmt: skip


def influenced(found: Identification, joints: set[str]) -> list[int]:
    """Base parameters of whose variance more than `SHARE` comes from some joints.

    Args:
        found: the result.
        joints: names of the degrees of freedom.
    """
    if not joints:
        return []
    names, sought, kept = found.robot.model.dof_names, found.sought, found.base.kept
    train = found.train
    some = train.part(np.unique(np.linspace(0, len(train) - 1, SOME).round().astype(int)))
    linear = [k for k, at in enumerate(kept) if at < sought.p]
    W = sought.regressor(some.q, some.dq, some.ddq)[..., [kept[k] for k in linear]]
    W = W / found.fit.sigma[:, None]
    length = np.linalg.norm(W, axis=(0, 1))
    W = W / np.where(length > 0, length, 1)
    flat = W.reshape(-1, W.shape[-1])
    inverse = np.linalg.pinv(flat.T @ flat)
    own = W[:, [k for k, name in enumerate(names) if name in joints]].reshape(-1, W.shape[-1])
    share = np.diag(inverse @ (own.T @ own) @ inverse) / np.maximum(np.diag(inverse), 1e-300)
    chosen = {k for k, x in zip(linear, share, strict=True) if x > SHARE}
    for law, at in zip(sought.laws, sought.places, strict=True):
        if names[law.dof] in joints:
            chosen |= {k for k, place in enumerate(kept) if place in at}
    return sorted(chosen)
