"""Coverage of confidence intervals: identify robots many times from disturbed recordings.

    python tools/identification_coverage.py --seeds 100 --jobs 2
    python tools/identification_coverage.py --robots panda --cases white lag_20_ms --seeds 10

Every seed draws new noise of encoders and torque sensors; the robot is described with masses up to
a third wrong, and `identify` runs with its defaults. For each robot and kind of disturbance the
table has how often 95% intervals contain the truth, how many intervals were withheld, the error of
joint forces on held-out motion in units of the sensors' noise, and whether the disturbance was
found: the lag, the offsets, the friction law.
"""

import argparse
import dataclasses
import json
import multiprocessing
import platform
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.identify import Identification, identify, make_recording
from kinetree.model import JointFriction, JointStribeck
from kinetree.motion import excitation
from kinetree.spatial.inertia import pseudo_inertia

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
NOISE = {  # standard deviation of torque sensors, N m
    "ur5e": np.array([0.5] * 3 + [0.2] * 3),
    "panda": np.array([0.5] * 4 + [0.2] * 3),
}
ENCODER = 2e-5  # rad: 18 bits a turn
DURATION, STEP = 15.0, 0.004  # s
MOTIONS = 5  # different motions, one for each seed in turn
REQUIRED = (0.90, 0.99)


@dataclasses.dataclass(frozen=True)
class Disturbance:
    """Differences between a recording and a perfect one.

    outliers: share of torques that are off by up to 50 times the noise. colour: coefficient of the
    autoregression of the torque noise. lag: of the torques, s. stribeck: static friction over
    Coulomb friction, 1 for none. offset: of torque sensors, in units of Coulomb friction.
    tone: amplitude of an oscillation of the encoders at 180 Hz, rad. encoder: their noise, rad.
    """

    outliers: float = 0.0
    colour: float = 0.0
    lag: float = 0.0
    stribeck: float = 1.0
    offset: float = 0.0
    tone: float = 0.0
    encoder: float = ENCODER


CASES = {
    "white": Disturbance(),
    "noisy_encoders": Disturbance(encoder=2e-4),
    "outliers": Disturbance(outliers=0.01),
    "coloured": Disturbance(colour=0.98),
    "lag_4_ms": Disturbance(lag=0.004),
    "lag_20_ms": Disturbance(lag=0.020),
    "stribeck": Disturbance(stribeck=1.8),
    "offset": Disturbance(offset=0.5),
    "tone": Disturbance(tone=2e-5),
}
Case = tuple[str, str, int]  # robot, disturbance, seed


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one experiment: which intervals contain the truth, errors over noise, what was found.

    holds: {parameter: True, False, or None if the interval was withheld}. error: of joint forces on
    held-out motion over the noise of the sensors. laws: share of joints with the true friction law
    and offset. lag: found, s. seconds: of the processor.
    """

    robot: str
    case: str
    seed: int
    holds: dict[str, bool | None]
    error: list[float]
    exists: bool
    cutoff: float | None
    laws: float
    lag: float
    seconds: float
    notes: list[str]


def described_and_true(name: str, disturbance: Disturbance) -> tuple[kt.Robot, kt.Robot]:
    """Masses and inertias described up to a third wrong; the true robot has drives."""
    robot = getattr(kt.robots, name)()
    joints = []
    for k, joint in enumerate(robot.model.joints):
        coulomb = 0.8 - 0.05 * k
        bend = JointStribeck((disturbance.stribeck * coulomb,) * 2, 0.15, 2)
        friction = JointFriction(
            (0.5 + 0.1 * k,) * 2,
            (coulomb,) * 2,
            stribeck=bend if disturbance.stribeck > 1 else None,
        )
        joints.append(dataclasses.replace(joint, armature=0.05 + 0.01 * k, friction=friction))
    wrong = np.random.default_rng(0).uniform(0.7, 1.4, len(robot.model.links))
    model = robot.model
    described = model.replace(m=model.m * wrong, I_com=model.I_com * wrong[:, None, None])
    return kt.Robot(described), kt.Robot(model.replace(joints=tuple(joints)))


def offsets_of(true: kt.Robot, disturbance: Disturbance) -> np.ndarray:
    """Offsets of the torque sensors, (n,), N m, of both signs."""
    coulomb = np.array([x.friction.coulomb[0] for x in true.model.joints])
    return disturbance.offset * coulomb * (-1.0) ** np.arange(len(coulomb))


def recording(
    described: kt.Robot, true: kt.Robot, noise: np.ndarray, disturbance: Disturbance, seed: int
) -> kt.identify.Recording:
    """A motion with the disturbance, without rates."""
    rng = np.random.default_rng((seed, list(CASES.values()).index(disturbance)))
    late = round(disturbance.lag / STEP)
    motion = excitation(described, DURATION, STEP, harmonics=8, seed=3 + seed % MOTIONS)
    tau = true.inverse_dynamics(motion.q, motion.dq, motion.ddq) + offsets_of(true, disturbance)
    error = rng.normal(size=tau.shape)
    if a := disturbance.colour:
        fresh = np.sqrt(1 - a * a) * error
        for k in range(1, len(error)):
            error[k] = a * error[k - 1] + fresh[k]
    tau = tau + noise * error
    wild = rng.random(tau.shape) < disturbance.outliers
    tau = tau + wild * noise * rng.uniform(-50, 50, tau.shape)
    turns = 2 * np.pi * (180 * motion.t[:, None] + rng.random(true.n))
    q = motion.q + disturbance.encoder * rng.normal(size=motion.q.shape)
    q = q + disturbance.tone * np.sin(turns)
    if late:  # torques of the motion `late` samples before
        q, tau = q[late:], tau[:-late]
    return make_recording(described, motion.t[: len(q)], q, tau)


def experiment(case: Case) -> Outcome:
    """Record, identify with defaults, compare with the truth."""
    name, kind, seed = case
    disturbance, noise = CASES[kind], NOISE[name]
    described, true = described_and_true(name, disturbance)
    data = recording(described, true, noise, disturbance, seed)
    start = time.process_time()
    found = identify(described, data)
    seconds = time.process_time() - start
    model = found.robot.model
    bodies = zip(model.m, model.com, model.I_com, strict=True)
    real = all(np.linalg.eigvalsh(pseudo_inertia(*body))[0] > 0 for body in bodies)
    drives = [min(*x.friction.viscous, *x.friction.coulomb, x.armature) for x in model.joints]
    return Outcome(
        robot=name,
        case=kind,
        seed=seed,
        holds=holds_of(found, true, offsets_of(true, disturbance)),
        error=(found.error() / noise).tolist(),
        exists=bool(real and min(drives) >= 0),
        cutoff=data.cutoff,
        laws=right_laws(found, disturbance),
        lag=0.0 if found.lag is None or not found.lag.sure else found.lag.value,
        seconds=seconds,
        notes=list(found.notes),
    )


def holds_of(found: Identification, true: kt.Robot, offsets: np.ndarray) -> dict[str, bool | None]:
    """Whether intervals of parameters that both robots have contain the truth; None: withheld."""
    sought, base = found.sought, found.base
    x = sought.values(true.model)
    x[sought.offset_places] = offsets[list(sought.offset)]
    for k, name in enumerate(sought.names):  # different friction of both directions has the offset
        kind, _, joint = name.rstrip("]").partition("[")
        if kind in ("coulomb+", "coulomb-") and f"tau_offset[{joint}]" not in sought.names:
            dof = true.model.joint(joint).dofs[0]
            x[k] += offsets[dof] if kind == "coulomb+" else -offsets[dof]
    other = sought.lacks(true.model) | _friction_of_other_laws(found, true)
    truth = base.K @ x
    low, high = found.interval(0.95).T
    holds: dict[str, bool | None] = {}
    for k, at in enumerate(base.kept):
        if not other[at]:
            inside = bool(low[k] <= truth[k] <= high[k])
            holds[sought.names[at]] = None if np.isnan(low[k]) else inside
    return holds


def _friction_of_other_laws(found: Identification, true: kt.Robot) -> np.ndarray:
    """Which unknowns are friction of joints whose law is not the true one."""
    kinds = {law.joint: law.kind for law in found.sought.laws}
    marks = []
    for name in found.sought.names:
        kind, _, joint = name.rstrip("]").partition("[")
        drive = joint in true.model.joint_names and kind.rstrip("+-") in (
            "viscous", "coulomb", "static", "size",
        )  # fmt: skip
        bends = drive and true.model.joint(joint).friction.stribeck is not None
        marks.append(drive and kinds.get(joint, "") != ("stribeck" if bends else ""))
    return np.array(marks)


def right_laws(found: Identification, disturbance: Disturbance) -> float:
    """Share of joints whose friction law and offset are the true ones."""
    kinds = {law.joint: law.kind for law in found.sought.laws}
    law = "stribeck" if disturbance.stribeck > 1 else ""
    right = []
    for joint in found.robot.model.joints:
        names = found.sought.names
        offset = f"tau_offset[{joint.name}]" in names or f"coulomb+[{joint.name}]" in names
        right.append(kinds.get(joint.name, "") == law and offset == (disturbance.offset > 0))
    return float(np.mean(right))


def outcomes(cases: list[Case], jobs: int) -> Iterator[Outcome]:
    """All experiments, in any order, with a line of progress on stderr."""
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for count, found in enumerate(pool.imap_unordered(experiment, cases), 1):
            print(f"\r{count} of {len(cases)} experiments", end="", file=sys.stderr, flush=True)
            yield found
    print(file=sys.stderr)


def rows(found: list[Outcome]) -> list[dict[str, object]]:
    """One line for each robot and disturbance."""
    table: list[dict[str, object]] = []
    for key in sorted({(x.robot, x.case) for x in found}, key=lambda x: (x[0], _order(x[1]))):
        own = [x for x in found if (x.robot, x.case) == key]
        named = [(name, held) for x in own for name, held in x.holds.items()]
        given = [held for _, held in named if held is not None]
        share = float(np.mean(given)) if given else None
        shares = [
            float(np.mean([held for other, held in named if other == name and held is not None]))
            for name in {name for name, held in named if held is not None}
            if sum(other == name for other, _ in named) > len(own) / 2
        ]
        error = np.array([x.error for x in own])
        cutoffs = [x.cutoff for x in own if x.cutoff is not None]
        table.append(
            {
                "robot": key[0],
                "disturbance": key[1],
                "experiments": len(own),
                "cutoff, Hz": float(np.median(cutoffs)) if cutoffs else None,
                "intervals": len(given),
                "withheld": len(named) - len(given),
                "contain the truth": share,
                "worst parameter": min(shares, default=None),
                "error over noise, mean": float(error.mean()),
                "worst joint of worst seed": float(error.max()),
                "lag found, ms": float(1e3 * np.median([x.lag for x in own])),
                "true laws and offsets": float(np.mean([x.laws for x in own])),
                "robots that exist": sum(x.exists for x in own),
                "processor time, s": float(np.median([x.seconds for x in own])),
                "within 90-99%": share is None or REQUIRED[0] <= share <= REQUIRED[1],
            }
        )
    return table


def _order(case: str) -> int:
    return list(CASES).index(case) if case in CASES else len(CASES)


def markdown(table: list[dict[str, object]], about: dict[str, str]) -> str:
    """The record as Markdown."""
    names = list(table[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names)]
    lines += [" | ".join(_show(row[name]) for name in names) for row in table]
    said = ", ".join(f"{key} {value}" for key, value in about.items())
    noise = "; ".join(f"{k} {', '.join(f'{x:g}' for x in v)}" for k, v in NOISE.items())
    head = (
        f"# Coverage of identification\n\n{said}.\n\nRobots with friction and armature, described "
        f"with masses up to a third wrong and without drives; {DURATION:g} s of motion at "
        f"{1 / STEP:g} Hz, two thirds to fit and the rest held out; torque noise, N m: {noise}; "
        f"encoder noise {ENCODER:g} rad (noisy_encoders: {CASES['noisy_encoders'].encoder:g}); no "
        "rates in the recording; options of `identify`: defaults. Errors are root mean squares of "
        "held-out joint forces in the band of the fit, in units of the torque noise before the "
        "filter.\n"
    )
    return "\n".join([head, *(f"| {line} |" for line in lines), ""])


def _show(x: object) -> str:
    if isinstance(x, bool):
        return "yes" if x else "NO"
    return "" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x)


def main() -> int:
    """Run, print, write; exit code 1 where intervals or robots are not what they should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="experiments a case (100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--robots", nargs="*", choices=list(NOISE), default=["ur5e"])
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record")
    given = parser.parse_args()
    if given.seeds < 1 or given.jobs < 1 or not given.cases or not given.robots:
        parser.error("--seeds and --jobs are 1 or more; --cases and --robots name one at least")
    seeds = range(given.first, given.first + given.seeds)
    cases = [(x, kind, seed) for seed in seeds for x in given.robots for kind in given.cases]
    found = list(outcomes(cases, given.jobs))
    table, now = rows(found), datetime.now(UTC)
    about = {
        "date": now.isoformat(timespec="seconds"), "kinetree": kt.__version__,
        "numpy": np.__version__, "python": platform.python_version(),
    }  # fmt: skip
    text = markdown(table, about)
    print(text)
    given.output.mkdir(parents=True, exist_ok=True)
    path = given.output / f"{now:%Y-%m-%d}-identification-coverage"
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    record = json.dumps({**about, "rows": table}, indent=1) + "\n"
    path.with_suffix(".json").write_text(record, encoding="utf-8")
    good = all(
        row["within 90-99%"] and row["robots that exist"] == row["experiments"] for row in table
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
