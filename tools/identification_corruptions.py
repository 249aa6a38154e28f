"""Examine `identify`: random robots, recordings that are wrong in known ways, and the truth.

    python tools/identification_corruptions.py --robots 20 --jobs 2
    python tools/identification_corruptions.py --corruptions "clock*" wrong_gear --robots 3
    python tools/identification_corruptions.py --corruptions clean --robots 100  # coverage
    python tools/identification_corruptions.py --corruptions late_torques outliers --robots 10
    python tools/identification_corruptions.py --corruptions delta mimic coupled_drive --robots 4

`recording_twins` makes the recordings, without code of the identification. Every case is
scored by the verdict and by the intervals that it leaves:

    right cause     the verdict is not "usable", and one of its first two reasons is the true cause
    intervals hold  the intervals given contain the truth as often as 95 % allows, none is far off
    other cause     the verdict has other reasons, and intervals are wrong or all withheld
    not visible     as silent wrong, but the best parameters leave less than 3 sigma of the
                    corruption in noise-free forces: no method can find it
    undecided       as silent wrong, but the text of the verdict names the true cause among those
                    that the recording cannot show
    silent wrong    the verdict is "usable", and the intervals are wrong
    refused         the recording or the identification ended in an error

For clean recordings, and those with a disturbance that `identify` corrects, any verdict but
"usable" is a false alarm, and the coverage is the share of intervals that contain the truth. Of a
mechanism, base parameters are counted again by the rank of many states, and the robot found
predicts the forces of the motors in another motion.
"""

import argparse
import dataclasses
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from random_machines import PERIOD
from random_mechanisms import Mechanism, motor_motion, rank
from recording_twins import CORRUPTIONS, DISTURBANCES, Twin, record

from kinetree.errors import KinetreeError, KinetreeWarning
from kinetree.identify import Identification, find_base, identify, make_recording, unknowns
from kinetree.model import Model

CAUSES = {  # kind of the reason that names each corruption; recordings without one are usable
    "clock_10_percent_slow": "time-scale",
    "clock_1000_of_1024": "time-scale",
    "clock_jitter": "clock-jitter",
    "encoder_zero_0.1": "encoder-zero",
    "encoder_zero_0.01": "encoder-zero",
    "compensated_gravity": "gravity-compensated",
    "overcompensated_friction": "friction-compensated",
    "sticking_wrists": "sticking",
    "coupled_wrist": "coupled",
    "saturated_torque": "saturation",
    "swapped_channels": "swapped-channels",
    "wrong_gear": "gear-ratio",
    "tool_halfway": "payload-change",
    "warming_friction": "drift",
    "torque_offsets": "offset",
}
KINDS = (*DISTURBANCES, *CORRUPTIONS)
FIRST_REASONS = 2  # among which the true cause must be
LEVEL = 0.95  # of the intervals
CHANCE = 0.005  # probability of as many misses below which intervals are wrong
VISIBLE = 3.0  # standard errors that any test needs
MAX_SAMPLES = 2000  # of the comparison without noise
FAR = 5.0  # standard errors: a single miss by more is wrong
OTHER_LAWS = ("sigmoid", "load")  # their coefficients are not those of viscous and Coulomb friction
Case = tuple[str, int, float | None, float | None]  # kind of recording, seed, seconds, rate
SCORES = (
    "right cause", "intervals hold", "other cause", "not visible", "undecided", "silent wrong",
    "refused",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Of one case: the verdict, the intervals and the score.

    reasons: kind and joints of each. given, missed, withheld: counts of intervals. farthest:
    largest distance of the truth from an estimate whose interval is given, in standard errors.
    name: of that parameter. named: the reason names a joint that the cause concerns. error: of
    joint forces of the consistent robot over those of the base parameters, worst joint. elsewhere:
    error of the robot found in another motion of a mechanism over the noise, worst motor. rank:
    number of base parameters less the rank of many states of a mechanism. seconds: of the
    processor.
    """

    corruption: str
    seed: int
    joints: int
    word: str
    reasons: list[tuple[str, list[str]]]
    given: int
    missed: int
    withheld: int
    farthest: float
    name: str
    named: bool
    error: float
    seconds: float
    score: str
    text: str
    elsewhere: float = 0.0
    rank: int = 0

    @property
    def alarm(self) -> bool:
        """Whether the verdict is not plainly usable."""
        return self.word != "usable"


def examine(case: Case) -> Outcome:
    """Record, identify with defaults, compare with the truth."""
    corruption, seed, seconds, rate = case
    twin = record(seed, corruption, seconds, rate)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        try:
            found = identify(
                twin.described, make_recording(twin.described, twin.t, twin.q, twin.tau)
            )
        except KinetreeError as error:
            spent = time.process_time() - start
            return Outcome(
                corruption, seed, twin.described.n, "refused", [], 0, 0, 0, 0.0, "", False, 0.0,
                spent, "refused", str(error),
            )  # fmt: skip
    spent = time.process_time() - start
    misses, names = distances(found, twin)
    inside = misses <= z_of(found)
    cause, verdict = CAUSES.get(corruption, ""), found.verdict
    told = [x for x in verdict.reasons[:FIRST_REASONS] if x.kind == cause]
    affected = set(twin.signals.joint_names)
    far = int(misses.argmax()) if len(misses) else 0
    score = score_of(verdict.word, bool(told), misses, int((~inside).sum()))
    if cause and score == "silent wrong":
        unseen = [x for x in verdict.undecided if x.kind == cause]
        named = any(not x.joints or affected & set(x.joints) for x in unseen)
        score = "undecided" if named else score if visible(found, twin) else "not visible"
    ratio = found.error() / np.maximum(found.error(physical=False), 1e-300)
    return Outcome(
        corruption=corruption,
        seed=seed,
        joints=twin.described.n,
        word=verdict.word,
        reasons=[(x.kind, list(x.joints)) for x in verdict.reasons],
        given=len(misses),
        missed=int((~inside).sum()),
        withheld=len(found.withheld),
        farthest=float(misses.max(initial=0)),
        name=names[far] if names else "",
        named=any(not affected or not x.joints or affected & set(x.joints) for x in told),
        error=float(ratio.max()),
        seconds=spent,
        score=score,
        text=str(verdict),
        **of_mechanism(found, twin),
    )


def of_mechanism(found: Identification, twin: Twin) -> dict[str, Any]:
    """`elsewhere` and `rank` of an outcome; nothing for other robots."""
    x = twin.signals
    if not isinstance(x.machine, Mechanism):
        return {}
    t = np.arange(0, PERIOD, 0.02)
    motion = motor_motion(np.random.default_rng(len(x.t)), x.machine).at(t)
    off = found.robot.inverse_dynamics(*x.machine.closed(t, motion))[:, x.machine.motors]
    off = np.sqrt(((off - x.machine.forces(t, motion)) ** 2).mean(axis=0)) / x.noise
    sought = unknowns(twin.described, "symmetric")
    return {"elsewhere": float(off.max()), "rank": find_base(sought).r - rank(sought, x.machine)}


def z_of(found: Identification) -> float:
    """Half an interval over its standard error."""
    low, high = found.interval(LEVEL).T
    z = (high - low) / 2 / found.fit.standard_error
    return float(np.nanmax(z)) * (1 + 1e-12) if np.isfinite(z).any() else 0.0


def score_of(word: str, told: bool, misses: np.ndarray, missed: int) -> str:
    """Return the entry of SCORES of a case; see the top of this file."""
    if word != "usable" and told:
        return "right cause"
    right = misses.max(initial=0) <= FAR and tail(len(misses), missed) >= CHANCE
    if right and (len(misses) or word == "usable"):
        return "intervals hold"
    return "silent wrong" if word == "usable" else "other cause"


def tail(count: int, missed: int) -> float:
    """Probability that `missed` or more of `count` independent right intervals miss the truth."""
    p = 1 - LEVEL
    return sum(comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(missed, count + 1))


def distances(found: Identification, twin: Twin) -> tuple[np.ndarray, list[str]]:
    """Distance of estimates from the truth in standard errors, and names, of the intervals given.

    With several truths it is the nearest one; between the truths of a range
    the distance is 0. Friction of a law that the robot does not have is not compared.
    """
    sought, base, x = found.sought, found.base, twin.signals
    compared = ~np.isnan(found.interval(LEVEL)).any(axis=1)
    compared &= ~other_friction(found, x.truths[0].robot().model)[list(base.kept)]
    beta, spread = found.fit.beta[compared], found.fit.standard_error[compared]
    values = [true_values(found, machine.robot().model, x.offset) for machine in x.truths]
    truths = np.array([(base.K @ v)[compared] for v in values])
    if x.ranges:
        low, high = truths.min(axis=0), truths.max(axis=0)
        off = [np.maximum(np.maximum(low - beta, beta - high), 0) / spread]
    else:
        off = [np.abs(beta - truth) / spread for truth in truths]
    best = min(off, key=lambda misses: float((misses**2).sum()))
    return best, [sought.names[at] for at, kept in zip(base.kept, compared, strict=True) if kept]


def visible(found: Identification, twin: Twin) -> bool:
    """Whether noise-free forces differ from those of the best parameters by more than 3 sigma.

    Rates are those that the recorded times give; positions, rates and forces have no noise.
    """
    x = twin.signals
    pace = np.gradient(x.t) / np.gradient(x.stamps)
    some = slice(None, None, max(len(x.t) // MAX_SAMPLES, 1))
    order = list(x.order_q or range(x.machine.n))
    columns = (x.q + x.zero, x.dq * pace[:, None], x.ddq * pace[:, None] ** 2)
    W = found.sought.regressor(*(y[some][:, order] for y in columns))
    forces = list(x.order_tau or range(x.machine.n))
    tau = np.clip(x.tau, -x.limit, x.limit)[some][:, forces] / x.noise[forces]
    W = (W / x.noise[forces][:, None]).reshape(tau.size, -1)
    rest = tau.ravel() - W @ np.linalg.lstsq(W, tau.ravel(), rcond=1e-10)[0]
    return float(rest @ rest) * len(x.t) / len(tau) > VISIBLE**2


def true_values(found: Identification, true: Model, offsets: np.ndarray | float) -> np.ndarray:
    """Values of the unknowns; friction of both directions has the offset if nothing else has it."""
    sought, n = found.sought, true.n
    offsets = np.broadcast_to(offsets, n)
    x = sought.values(true)
    x[sought.offset_places] = offsets[list(sought.offset)]
    for k, name in enumerate(sought.names):
        kind, _, joint = name.rstrip("]").partition("[")
        if kind in ("coulomb+", "coulomb-") and f"tau_offset[{joint}]" not in sought.names:
            offset = offsets[true.joint(joint).dofs[0]]
            x[k] += offset if kind == "coulomb+" else -offset
    return x


def other_friction(found: Identification, true: Model) -> np.ndarray:
    """Which unknowns are shapes, or coefficients of a friction law that the robot does not have."""
    sought = found.sought
    laws = {law.joint: law.kind for law in sought.laws}
    marks = sought.lacks(true)
    for k, name in enumerate(sought.names):
        kind, _, joint = name.rstrip("]").partition("[")
        if kind.rstrip("+-") in ("viscous", "coulomb", "static", "size"):
            bent = [x.name for x in true.joints if x.friction.stribeck is not None]
            law = laws.get(joint, "")
            marks[k] |= law != "stribeck" if joint in bent else law in OTHER_LAWS
    return marks


def outcomes(cases: list[Case], jobs: int) -> Iterator[Outcome]:
    """All cases, in any order."""
    if jobs == 1:
        yield from counted(map(examine, cases), len(cases))
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from counted(pool.imap_unordered(examine, cases), len(cases))


def counted(results: Iterable[Outcome], total: int) -> Iterator[Outcome]:
    """The results, with a line of progress on stderr."""
    for count, x in enumerate(results, 1):
        print(f"\r{count} of {total} cases", end="", file=sys.stderr, flush=True)
        yield x
    print(file=sys.stderr)


def table(found: list[Outcome]) -> str:
    """One row a corruption, as Markdown, then the cases that are wrong."""
    head = ["corruption", "cases", *SCORES, "joint named", "not usable", "usable for", "coverage",
            "worst robot", "withheld", "other motion", "s"]  # fmt: skip
    rows = [head, ["---"] * len(head)]
    for corruption in [x for x in KINDS if any(x == y.corruption for y in found)]:
        group = [x for x in found if x.corruption == corruption]
        shares = [1 - x.missed / x.given for x in group if x.given]
        given, missed = sum(x.given for x in group), sum(x.missed for x in group)
        withheld = sum(x.withheld for x in group)
        rows.append([
            corruption, str(len(group)),
            *(str(sum(x.score == score for x in group)) for score in SCORES),
            str(sum(x.named for x in group)),
            str(sum(x.word == "not usable" for x in group)),
            str(sum(x.word == "usable for" for x in group)),
            f"{1 - missed / given:.3f}" if given else "",
            f"{min(shares):.3f}" if shares else "",
            f"{withheld} of {withheld + given}",
            f"{max(x.elsewhere for x in group):.2f}" if group[0].elsewhere else "",
            f"{np.median([x.seconds for x in group]):.1f}",
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def wrong_cases(found: list[Outcome]) -> str:
    """A line for each case that is wrong: silent, another cause, refused, false alarm, base."""
    lines = []
    for x in sorted(found, key=lambda x: (x.corruption, x.seed)):
        false_alarm = x.corruption not in CAUSES and x.alarm
        if x.rank:
            lines.append(f"{x.corruption} seed {x.seed}: {x.rank:+d} base parameters")
        if x.score in SCORES[2:] or false_alarm:
            kinds = ", ".join(kind for kind, _ in x.reasons) or x.text[:200]
            lines.append(
                f"{x.corruption} seed {x.seed}: {'false alarm' if false_alarm else x.score} "
                f"({x.word}: {kinds}); {x.missed} of {x.given} intervals miss, farthest "
                f"{x.name} by {x.farthest:.1f} sigma; {x.withheld} withheld"
            )
    return "\n".join(lines)


def summary(found: list[Outcome]) -> str:
    """The figures that are asked for: share of cases that are right, false alarms, coverage."""
    bad = [x for x in found if x.corruption in CAUSES]
    good = [x for x in found if x.corruption not in CAUSES]
    lines = []
    if bad:
        right = sum(x.score in SCORES[:2] for x in bad)
        hidden, open_ = (sum(x.score == y for x in bad) for y in ("not visible", "undecided"))
        lines.append(
            f"corrupted: {right} of {len(bad)} right ({right / len(bad):.1%}), {hidden} not "
            f"visible, {open_} named as undecided"
        )
    if good:
        alarms, given = sum(x.alarm for x in good), sum(x.given for x in good)
        inside = given - sum(x.missed for x in good)
        lines.append(f"sound: {alarms} false alarms in {len(good)} ({alarms / len(good):.1%})")
        lines.append(f"coverage {inside} of {given} intervals ({inside / max(given, 1):.1%})")
    return "\n".join(lines)


def main() -> int:
    """Run, print, write; exit code 1 if fewer than 95 % of the cases are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", type=int, default=20, help="robots per corruption (20)")
    parser.add_argument(
        "--corruptions",
        nargs="*",
        default=["clean", *CORRUPTIONS],
        help="names or patterns (clean and all that cannot be corrected)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first robot (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--seconds", type=float, help="of motion (10 to 30 s, by the seed)")
    parser.add_argument("--rate", type=float, help="samples a second (100, 250 or 500)")
    parser.add_argument("--record", type=Path, help="file to which outcomes are added, JSON lines")
    given = parser.parse_args()
    names = [x for x in KINDS if any(fnmatch(x, pattern) for pattern in given.corruptions)]
    if not names or given.robots < 1 or given.jobs < 1:
        parser.error(f"--robots and --jobs are 1 or more; corruptions: {', '.join(KINDS)}")
    seeds = range(given.seed, given.seed + given.robots)
    cases = [(name, seed, given.seconds, given.rate) for seed in seeds for name in names]
    found: list[Outcome] = []
    for x in outcomes(cases, given.jobs):
        found.append(x)
        if given.record:
            with given.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(dataclasses.asdict(x)) + "\n")
    print(table(found), wrong_cases(found), summary(found), sep="\n\n")
    right = [x.score in SCORES[:2] and not (x.corruption not in CAUSES and x.alarm) for x in found]
    return 0 if np.mean(right) >= LEVEL else 1


if __name__ == "__main__":
    sys.exit(main())
