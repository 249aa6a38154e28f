"""The verdict: whether the result of an identification can be used, for what, and why not.

Intervals follow from the errors of the fit as noise that is correlated over time but the same
throughout, and that does not depend on the motion. A result is usable if nothing contradicts that:

    findings of the recording      jitter of its clock, saturation, joints that stick
    hypotheses (`hypotheses`)      clock, zeros, gears, payload, drift, ...: none explains more than
                                   noise can, by simulated twins (`twins`)
    friction                       is not negative by more than `IMPOSSIBLE_Z` standard errors
    offset                         no joint has a constant force that is an offset of tau, or
                                   friction that differs by direction: no recording decides
    readings (`notes`)             no other sign, unit or order of joints fits far better, where
                                   the recording as it is fits no robot
    unphysical                     the physically possible robot is as good as the base parameters
    worse                          no joint is worse than described on held-out motion
    unsteady, coloured             errors have the same size in both halves, and are correlated over
                                   less than a tenth of the recording
    uneven (`calibration`)         errors are as large where a parameter is determined as elsewhere

Otherwise intervals are withheld, for a number with a margin that is too small is worse than one
without: those of base parameters that an accepted hypothesis would move by more than `MOVED_Z`
standard errors, and those of whose variance a tenth or more comes from joints that fail another
test. If more than half of them would be withheld, all are. Then the result is usable for joint
forces of motions like the recorded one, if the recording is what it seems (`WRONG` has the kinds
of those that are not), and not usable otherwise.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import argument
from kinetree.identify import constants as const
from kinetree.identify.band import in_band
from kinetree.identify.base import Base
from kinetree.identify.checks import least_motion
from kinetree.identify.findings import Finding, Verdict, named, names_at
from kinetree.identify.hypotheses import Explanation, Rows, comparison_rows
from kinetree.identify.identification import Identification
from kinetree.identify.notes import DEGREES, UNIT, odd_errors, poorly_excited
from kinetree.identify.residuals import autocorrelated, clipped_size, unexplained
from kinetree.identify.twins import Examined, examine
from kinetree.model.bounds import bounds_of

WRONG = (
    "time-scale",
    "encoder-zero",
    "gravity-compensated",
    "swapped-channels",
    "gravity-direction",
    "reading",
)
RUBS = ("viscous", "coulomb", "static", "size")  # unknowns that are friction
ONE_SIDED = (  # unknowns whose values depend on whether tau has an offset
    "tau_offset", "coulomb", "coulomb+", "coulomb-", "static", "size", "steepness", "offset",
)  # fmt: skip
UNSEEN = {
    "time-scale": "this recording cannot show whether the clock is right",
    "encoder-zero": "this recording cannot show whether the zero of {} is right: if it is not, the "
    "bodies found are turned by that angle",
    "gear-ratio": "this recording cannot show whether the scale of q and tau of {} is right",
    "offset": "this recording cannot show whether tau of {} has an offset of a hundredth of its "
    "size: if it has, the first moments found are off by as much",
}


def judge(
    result: Identification, whole: Base, readings: Sequence[Finding], stated: Collection[str] = ()
) -> Identification:
    """The result with its verdict, its warnings, and without intervals that cannot be trusted.

    Args:
        result: without a verdict.
        whole: base parameters of all motions.
        readings: warnings of `check_readings`.
        stated: joints of which the caller states whether their tau has an offset.
    """
    rows = comparison_rows(result)
    examined = examine(rows)
    names = result.robot.model.dof_names
    coloured = list(autocorrelated(names, result.train, result.fit, result.cutoff))
    facts = [*result.train.findings, *_stuck(result, _joints_of(x.finding for x in coloured))]
    explained = [
        x
        for x in (_finding(result, y) for y in examined.explanations)
        if not any(x.joints and set(x.joints) <= set(fact.joints) for fact in facts)
    ]
    negative, places = _negative_friction(result)
    one_sided = list(_one_sided(result, stated))
    chosen = {x.joint for x in result.choices}  # a law that was given is a statement of the caller
    clear = [x for x in one_sided if x.z > const.SURE_OFFSET and x.joint in chosen]
    others = [
        *_unphysical(result), *compared(result), *_misfit(result), *_unsteady(result),
        *_uneven(result),
    ]  # fmt: skip
    others += [x.finding for x in coloured if x.lasting]
    # a force with the wrong sign has negative friction and a negative scale: the cause comes first
    consequences = _joints_of([*explained[:1], *negative])
    fits = not (explained or negative or coloured or others)
    readings = [x for x in readings if not _refuted(result, x, consequences, fits)]
    causes = [x for x in readings if consequences.intersection(x.joints)]
    readings_left = [x for x in readings if x not in causes]
    reasons = (
        *causes, *facts, *explained[:1], *negative, *readings_left, *explained[1:],
        *_offset_or_friction(clear), *others,
    )  # fmt: skip
    withheld = {k for x in clear for k in x.places}
    withheld |= set(places) | set(result.fit.uneven) | moved_by(result, rows, examined.explanations)
    withheld |= set(influenced(result, _joints_of([*facts, *others])))
    if readings or any(x.kind == "worse" and not x.joints for x in others):
        withheld = set(range(result.base.r))
    row_times = in_band(result.train, result.train.t, result.cutoff)
    times = row_times if len(row_times) == len(result.fit.residual) else None
    remarks = [
        *_untested(result), *unexplained(names, result.unexplained()),
        *(x.finding for x in coloured if not x.lasting),
        *odd_errors(result.robot.model, result.fit, result.method, times), *_corrections(result),
        *poorly_excited(whole, result.base, result.fit),
    ]  # fmt: skip
    slight = [x for x in one_sided if x not in clear]
    undecided = [*_undecided(result, examined), *_offset_or_friction(clear)]
    undecided += _offset_or_friction(slight)
    verdict = _verdict(result, reasons, len(withheld), tuple(undecided))
    if 2 * len(withheld) > result.base.r:
        withheld = set(range(result.base.r))
    return replace(
        result, verdict=verdict, warnings=(*reasons, *remarks), withheld=tuple(sorted(withheld)),
        fit=replace(result.fit, covariance=result.fit.covariance + examined.spread),
        estimate=result.estimate.widened(examined.spread),
    )  # fmt: skip


def _refuted(result: Identification, reading: Finding, suspect: set[str], fits: bool) -> bool:
    """Whether the recording as it is fits some robot, at the joints of another reading.

    Then it is the description that is wrong there, as a wrist whose centre of mass is described on
    the other side of its axis. A wrong unit of forces fits another robot, too, so it stays, and
    small motions in degrees fail no test, so errors must be small there. `suspect`: joints that
    fail a test; `fits`: no test of the fit fails.
    """
    if reading.text.endswith(UNIT):
        return False
    if reading.text.startswith(DEGREES) and _is_possible(result):
        return True
    names = reading.joints or result.robot.model.dof_names
    size = result.rms(result.test, result.test.tau)
    poor = result.error(physical=False) > const.POOR_READING * np.where(size > 0, size, np.inf)
    clear = not suspect.union(names_at(result.robot.model.dof_names, poor)).intersection(names)
    return clear or (fits and bool(reading.joints))


def _is_possible(result: Identification) -> bool:
    """Whether a robot like the described one explains the recording with angles in radians.

    With angles in degrees, the inertia found would be 57 times too small.
    """
    q = result.test.q[:: max(1, len(result.test) // const.INFLUENCE_SAMPLES)]
    found, described = (
        np.einsum("tii->ti", np.asarray(x.mass_matrix(q))).mean(axis=0)
        for x in (result.robot, result.prior)
    )
    fits = result.unexplained() < const.LITTLE_EXPLAINED
    return bool(np.all(fits & (found > const.DEGREES_INERTIA * described)))


def _verdict(
    result: Identification, reasons: tuple[Finding, ...], withheld: int, unseen: tuple[Finding, ...]
) -> Verdict:
    """The verdict of these reasons, with so many base parameters withheld."""
    r = result.base.r
    if not reasons:
        return Verdict(undecided=unseen)
    if 2 * withheld > r:
        if any(x.kind in WRONG or (x.kind == "worse" and not x.joints) for x in reasons):
            return Verdict("not usable", "", reasons, unseen)
        use = "joint forces of motions like the recorded one, not for parameters"
        return Verdict("usable for", use, reasons, unseen)
    use = "all base parameters" if not withheld else f"{r - withheld} of {r} base parameters"
    if any(x.kind == "unphysical" for x in reasons):
        use += ", not the robot made of them"
    return Verdict("usable for", use, reasons, unseen)


def _joints_of(findings: Iterable[Finding]) -> set[str]:
    """Names of the joints of findings whose errors spread to other parameters."""
    return {name for x in findings if x.kind != "unphysical" for name in x.joints}


def _finding(result: Identification, explanation: Explanation) -> Finding:
    names = result.robot.model.dof_names
    joints = tuple(names[j] for j in explanation.dofs)
    return Finding(explanation.kind, joints, explanation.text)


def moved_by(result: Identification, rows: Rows, explanations: Sequence[Explanation]) -> set[int]:
    """Base parameters that accepted hypotheses move by more than `MOVED_Z` standard errors.

    Each explanation includes those before it; `rows` are without any.
    """
    if not explanations:
        return set()
    plain = rows.solution[0]
    moved = np.abs(explanations[-1].rows.solution[0][: len(plain)] - plain)
    return set(np.flatnonzero(moved > const.MOVED_Z * result.fit.standard_error).tolist())


def _undecided(result: Identification, examined: Examined) -> Iterator[Finding]:
    """Faults that the recording could not show."""
    names = result.robot.model.dof_names
    for kind, text in UNSEEN.items():
        blind = [x for x in examined.blind if x.kind == kind]
        if blind:
            dofs = sorted({j for x in blind for j in x.dofs})
            joints = tuple(names[j] for j in dofs)
            yield Finding(kind, joints, text.format(named(joints)))


def _negative_friction(result: Identification) -> tuple[list[Finding], list[int]]:
    """A finding on friction below zero, and the base parameters that are friction of its joints."""
    names, kept = result.sought.names, result.base.kept
    rubbing = {
        k: names[at].rstrip("]").partition("[")[2]
        for k, at in enumerate(kept)
        if names[at].partition("[")[0].rstrip("+-") in RUBS
    }
    low = result.fit.beta + const.IMPOSSIBLE_Z * result.fit.standard_error
    joints = tuple(dict.fromkeys(joint for k, joint in rubbing.items() if low[k] < 0))
    if not joints:
        return [], []
    text = (
        f"friction of {named(joints)} comes out negative: does the drive compensate more "
        "friction than there is, without reporting it?"
    )
    return [Finding("friction-compensated", joints, text)], [
        k for k, joint in rubbing.items() if joint in joints
    ]


@dataclass(frozen=True)
class OneSided:
    """A joint whose friction differs by direction, or whose tau has an offset: either fits.

    z: the constant force over its standard error. text: both readings. places: base parameters
    whose values depend on the reading.
    """

    joint: str
    z: float
    text: str
    places: tuple[int, ...]


def _one_sided(result: Identification, stated: Collection[str]) -> Iterator[OneSided]:
    """Joints with a constant force o beside Coulomb friction F, as far as chance does not explain.

    Friction of F + o for dq > 0 and F - o for dq < 0 has the forces of F with an offset o of tau.
    Of a sigmoid, the forces at high rates are meant: o is -size tanh(k d / 2) / 2, F is size / 2.
    """
    beta, covariance = result.fit.beta, result.fit.covariance
    at = {result.sought.names[k]: i for i, k in enumerate(result.base.kept)}
    for name in result.robot.model.dof_names:
        places = {x: at[f"{x}[{name}]"] for x in ONE_SIDED if f"{x}[{name}]" in at}
        one_direction = ("coulomb+" in places) != ("coulomb-" in places)
        if name in stated or one_direction or not places:
            continue

        def readings(beta: Array, places: dict[str, int] = places) -> tuple[float, float]:
            """The constant force, and friction without its sign."""
            x = dict.fromkeys(ONE_SIDED, 0.0) | {key: float(beta[k]) for key, k in places.items()}
            skew = x["size"] * np.tanh(x["steepness"] * x["offset"] / 2)
            constant = x["tau_offset"] + (x["coulomb+"] - x["coulomb-"] - skew) / 2
            return constant, x["coulomb"] + (x["coulomb+"] + x["coulomb-"] + x["size"]) / 2

        own = list(places.values())
        step = 1e-3 * result.fit.standard_error[own][:, None] * np.eye(len(beta))[own]
        rise = [(readings(beta + h)[0] - readings(beta - h)[0]) / (2 * h.sum()) for h in step]
        error = float(np.sqrt(np.array(rise) @ covariance[np.ix_(own, own)] @ np.array(rise)))
        o, F = readings(beta)
        if abs(o) > const.SURE_LAW * error > 0:
            unit = result.sought.units[result.base.kept[own[0]]]
            text = (
                f"{F:.3g} {unit} with an offset of {o:.3g} at {name!r}, or {F + o:.3g} for dq > 0 "
                f"and {F - o:.3g} for dq < 0"
            )
            yield OneSided(name, abs(o) / error, text, tuple(own))


def _offset_or_friction(joints: Sequence[OneSided]) -> Iterator[Finding]:
    """A finding on joints with two readings."""
    if joints:
        yield Finding(
            "offset", tuple(x.joint for x in joints),
            "no recording shows whether tau has an offset or friction differs by direction: "
            f"Coulomb friction is {'; '.join(x.text for x in joints)}. "
            f"{argument('offsets', True)} states the first, "
            f"{argument('offsets', False)} the second",
        )  # fmt: skip


def _uneven(result: Identification) -> Iterator[Finding]:
    """A finding on base parameters whose intervals fail their own test by twins."""
    if result.fit.uneven:
        names = [result.sought.names[result.base.kept[k]] for k in result.fit.uneven]
        yield Finding(
            "uneven", (),
            f"errors are larger where the recording determines {named(names)} than "
            "elsewhere, by more than in any simulated twin: intervals would be too narrow",
        )  # fmt: skip


def _unphysical(result: Identification) -> Iterator[Finding]:
    """A finding on joints at which the possible robot is worse than the base parameters.

    Not if it is as near to them as their noise would put the true robot.
    """
    r = result.base.r
    if result.estimate.distance < r + const.IMPOSSIBLE_Z * np.sqrt(2 * r):
        return
    robot, base = result.error(), result.error(physical=False)
    least = const.NEGLIGIBLE_ERROR * result.rms(result.test, result.test.tau)
    off = robot - base > np.maximum((const.WORSE_ERROR - 1) * base, least)
    if off.any():
        joints = names_at(result.robot.model.dof_names, off)
        ratio = float((robot / np.maximum(base, 1e-300))[off].max())
        yield Finding(
            "unphysical", joints,
            f"no physically possible robot explains {named(joints)}: its errors are up to "
            f"{ratio:.3g} times those of the base parameters, which "
            "`predict(data, physical=False)` uses",
        )  # fmt: skip


def _stuck(result: Identification, coloured: set[str]) -> Iterator[Finding]:
    """A finding on joints that never move and have errors that are not noise."""
    train, names = result.train, result.robot.model.dof_names
    if train.q.shape != train.dq.shape:
        return
    still = np.ptp(train.q, axis=0) < least_motion(result.sought.natural)
    joints = tuple(x for x, rests in zip(names, still, strict=True) if rests and x in coloured)
    if joints:
        yield Finding(
            "sticking", joints,
            f"{named(joints)} never {'move' if len(joints) > 1 else 'moves'}, and errors "
            "there are not noise: friction at rest has any value up to its largest one",
        )  # fmt: skip


def _untested(result: Identification) -> Iterator[Finding]:
    if result.test is result.train:
        yield Finding(
            "not tested", (),
            "no motion was held out: errors are those on the samples of the fit, which are smaller "
            "than those on another motion",
        )  # fmt: skip


def compared(result: Identification) -> list[Finding]:
    """Findings on joints that are worse than described on held-out motion."""
    test = result.test
    before, now, size = result.described_error(), result.error(), result.rms(test, test.tau)
    least = const.EQUAL_ERROR * size
    forces = result.sought.natural.forces
    total = float((now / forces).sum()), float((before / forces).sum())
    worse = now - before > np.maximum((const.WORSE_ERROR - 1) * before, least)
    if worse.any():
        joints = names_at(result.robot.model.dof_names, worse)
        pairs = zip(now[worse][: const.LISTED], before[worse][: const.LISTED], strict=True)
        values = ", ".join(f"{a:.3g} against {b:.3g}" for a, b in pairs)
        units = "N m or N" if bounds_of(result.robot.model).sliding.any() else "N m"
        return [Finding(
            "worse", joints,
            f"on held-out motion the robot found is worse than the description at "
            f"{named(joints)}: errors of {values} {units}. Use the description there, or "
            "record a motion that excites more",
        )]  # fmt: skip
    if total[0] - total[1] > max((const.WORSE_ERROR - 1) * total[1], float((least / forces).sum())):
        return [Finding(
            "worse", (),
            f"on held-out motion the robot found is worse than the description: the sum of its "
            f"errors is {total[0] / total[1]:.3g} times as large",
        )]  # fmt: skip
    return []


def _misfit(result: Identification) -> Iterator[Finding]:
    """A finding on joints whose errors on held-out motion are far larger than those of the fit."""
    if result.test is result.train:
        return
    error, size = result.error(physical=False), result.rms(result.test, result.test.tau)
    fit = np.sqrt((result.fit.residual**2).mean(axis=0))
    ratio = error / np.maximum(fit, const.NEGLIGIBLE_ERROR * size + 1e-300)
    off = (ratio > const.HIDDEN_MISFIT) & (error > const.POOR_READING * size)
    if off.any():
        joints = names_at(result.robot.model.dof_names, off)
        yield Finding(
            "misfit", joints,
            f"errors of {named(joints)} on held-out motion are up to {ratio[off].max():.2g} times "
            "those of the fit: that motion shows what the fit has not seen",
        )  # fmt: skip


def _independent(result: Identification, rows: int) -> Array:
    """Number of independent squares among so many rows of errors, (n,)."""
    rho = result.fit.noise.correlation(min(rows, const.CORRELATED_ROWS))
    return rows / np.maximum((rho**2).sum(axis=1) * 2 - 1, 1)


def _unsteady(result: Identification) -> Iterator[Finding]:
    """A warning of joints whose errors change their size during the recording."""
    rest = result.fit.residual
    half = len(rest) // 2
    first, last = clipped_size(rest[:half]), clipped_size(rest[half:])
    ratio = np.maximum(last, 1e-300) / np.maximum(first, 1e-300)
    chance = const.UNSTEADY_Z * np.sqrt(1 / np.maximum(_independent(result, half), 1))
    least = const.NEGLIGIBLE_ERROR * result.rms(result.train, result.train.tau)
    off = (np.abs(np.log(ratio)) > np.log(const.UNSTEADY_FACTOR) + chance) & (
        np.maximum(first, last) > least
    )
    if off.any():
        joints = names_at(result.robot.model.dof_names, off)
        values = ", ".join(f"{x:.2g}" for x in ratio[off][: const.LISTED])
        yield Finding(
            "unsteady", joints,
            f"errors of {named(joints)} change their size: in the second half of the "
            f"samples they are {values} times those in the first",
        )  # fmt: skip


def _corrections(result: Identification) -> Iterator[Finding]:
    """Warnings of faults of the recording that were found and corrected: lag, offsets, gains."""
    lag, sought = result.lag, result.sought
    if lag is not None and lag.constant > 0:
        yield Finding(
            "lag", (),
            f"measured joint forces are smoothed with a time constant of about "
            f"{1e3 * lag.constant:.3g} ms, which was removed",
        )  # fmt: skip
    if lag is not None and lag.sure and lag.error > 0:
        later = "later" if lag.value > 0 else "earlier"
        yield Finding(
            "lag", (),
            f"measured joint forces are {1e3 * abs(lag.value):.3g} ms (+- "
            f"{1.96e3 * lag.error:.2g}) {later} than the motion; they were moved by that time",
        )  # fmt: skip
    if sought.offset:
        names = result.robot.model.dof_names
        values = result.estimate.x[sought.offset_places]
        margins = 1.96 * result.estimate.deviation[sought.offset_places]
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
                f"the fit has constant offsets of tau, which the robot found does not include: "
                f"{', '.join(text for _, text in rows)}",
            )  # fmt: skip
    if result.gains is not None and result.gains.origin == "description":
        yield Finding(
            "gains", result.gains.joints,
            "gains of the drives are those that fit the described masses: if those are all wrong "
            "by one factor, the gains and the masses found are, too",
        )  # fmt: skip


def influenced(result: Identification, joints: set[str]) -> list[int]:
    """Base parameters of whose variance more than `INFLUENCE_SHARE` comes from some joints."""
    if not joints:
        return []
    names, sought, kept = result.robot.model.dof_names, result.sought, result.base.kept
    train = result.train
    some = train.part(
        np.unique(np.linspace(0, len(train) - 1, const.INFLUENCE_SAMPLES).round().astype(int))
    )
    linear = [k for k, at in enumerate(kept) if at < sought.p]
    W = sought.regressor(some.q, some.dq, some.ddq)[..., [kept[k] for k in linear]]
    W = W / result.fit.sigma[:, None]
    length = np.linalg.norm(W, axis=(0, 1))
    W = W / np.where(length > 0, length, 1)
    flat = W.reshape(-1, W.shape[-1])
    inverse = np.linalg.pinv(flat.T @ flat, rcond=const.SMALLEST_EIGENVALUE)
    own = W[:, [k for k, name in enumerate(names) if name in joints]].reshape(-1, W.shape[-1])
    share = np.diag(inverse @ (own.T @ own) @ inverse) / np.maximum(np.diag(inverse), 1e-300)
    chosen = {k for k, x in zip(linear, share, strict=True) if x > const.INFLUENCE_SHARE}
    for law, at in zip(sought.laws, sought.places, strict=True):
        if names[law.dof] in joints:
            chosen |= {k for k, place in enumerate(kept) if place in at}
    return sorted(chosen)
