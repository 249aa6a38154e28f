"""Coverage of confidence intervals: identify a Panda with noise, friction and armature many times.

    python tools/identification_coverage.py --seeds 100 --jobs 2

Every seed draws new noise of encoders and torque sensors. The table has, for each level of encoder
noise, how often 95% intervals contain the true base parameters, the error of joint forces on
held-out motion in units of the sensors' noise, and whether every robot is physically consistent.
"""

import argparse
import dataclasses
import json
import multiprocessing
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.identify import identify, simulated_recording
from kinetree.model import JointFriction
from kinetree.motion import excitation
from kinetree.spatial.inertia import pseudo_inertia

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
TORQUE_NOISE = np.array([0.5] * 4 + [0.2] * 3)  # N m
LEVELS = (2e-5, 2e-4, 1e-3)  # rad: 18 bits a turn, 15 bits, a poor encoder
REQUIRED = (0.90, 0.99)
Case = tuple[float, int]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one experiment: which intervals hold, errors over noise, whether the robot exists."""

    encoder_noise: float
    seed: int
    holds: list[bool]
    error: list[float]
    exists: bool
    cutoff: float | None


def described_and_true() -> tuple[kt.Robot, kt.Robot]:
    """Masses and inertias described up to a third wrong; the true one has drives."""
    robot = kt.robots.panda()
    joints = tuple(
        dataclasses.replace(
            joint,
            armature=0.05 + 0.01 * k,
            friction=JointFriction((0.5 + 0.1 * k,) * 2, (0.8 - 0.05 * k,) * 2),
        )
        for k, joint in enumerate(robot.model.joints)
    )
    wrong = np.random.default_rng(0).uniform(0.7, 1.4, len(robot.model.links))
    model = robot.model
    described = model.replace(m=model.m * wrong, I_com=model.I_com * wrong[:, None, None])
    return kt.Robot(described), kt.Robot(model.replace(joints=joints))


def experiment(case: Case) -> Outcome:
    """Record with noise, identify, compare with the truth."""
    encoder, seed = case
    described, true = described_and_true()
    motion = excitation(described, 15, 0.01, harmonics=8, seed=3)
    data = simulated_recording(
        true, motion, encoder_noise=encoder, torque_noise=TORQUE_NOISE, seed=seed
    )
    found = identify(described, data, folds=2)
    truth = found.base.K @ found.sought.values(true.model)
    low, high = found.interval(0.95).T
    model = found.robot.model
    bodies = zip(model.m, model.com, model.I_com, strict=True)
    real = all(np.linalg.eigvalsh(pseudo_inertia(*body))[0] > 0 for body in bodies)
    drives = [min(*x.friction.viscous, *x.friction.coulomb, x.armature) for x in model.joints]
    return Outcome(
        encoder_noise=encoder,
        seed=seed,
        holds=((low <= truth) & (truth <= high)).tolist(),
        error=(found.error() / TORQUE_NOISE).tolist(),
        exists=bool(real and min(drives) >= 0),
        cutoff=data.cutoff,
    )


def outcomes(cases: list[Case], jobs: int) -> Iterator[Outcome]:
    """All experiments, in any order, with a line of progress on stderr."""
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for count, found in enumerate(pool.imap_unordered(experiment, cases), 1):
            print(f"\r{count} of {len(cases)} experiments", end="", file=sys.stderr, flush=True)
            yield found
    print(file=sys.stderr)


def rows(found: list[Outcome]) -> list[dict[str, object]]:
    """One line a level of encoder noise."""
    table = []
    for level in sorted({x.encoder_noise for x in found}):
        own = [x for x in found if x.encoder_noise == level]
        holds, error = np.array([x.holds for x in own]), np.array([x.error for x in own])
        share = float(holds.mean())
        cutoffs = [x.cutoff for x in own if x.cutoff is not None]
        table.append(
            {
                "encoder noise, rad": level,
                "cutoff, Hz": float(np.median(cutoffs)) if cutoffs else None,
                "experiments": len(own),
                "intervals": int(holds.size),
                "hold": share,
                "worst parameter": float(holds.mean(0).min()),
                "error over noise, mean": float(error.mean()),
                "worst joint of worst seed": float(error.max()),
                "robots that exist": sum(x.exists for x in own),
                "within 90-99%": REQUIRED[0] <= share <= REQUIRED[1],
            }
        )
    return table


def markdown(table: list[dict[str, object]], about: dict[str, str]) -> str:
    """The record as Markdown."""
    names = list(table[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names)]
    lines += [" | ".join(_show(row[name]) for name in names) for row in table]
    said = ", ".join(f"{key} {value}" for key, value in about.items())
    noise = ", ".join(f"{x:g}" for x in TORQUE_NOISE)
    head = (
        f"# Coverage of identification\n\n{said}.\n\nPanda with friction and armature, described "
        f"with masses up to a third wrong; 15 s of motion, 11 s to fit and the rest held out; "
        f"torque noise {noise} N m; rates and accelerations from filtered positions wherever "
        "there is encoder noise. Errors are root mean squares of held-out joint forces in units of "
        "the torque noise.\n"
    )
    return "\n".join([head, *(f"| {line} |" for line in lines), ""])


def _show(x: object) -> str:
    if isinstance(x, bool):
        return "yes" if x else "NO"
    return "" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x)


def main() -> int:
    """Run, print, write; exit code 1 where intervals or robots are not what they should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100, help="experiments a level (100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--encoder", type=float, nargs="*", default=LEVELS, help="noise, rad")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the record")
    given = parser.parse_args()
    if given.seeds < 1 or given.jobs < 1 or not given.encoder:
        parser.error("--seeds and --jobs are 1 or more, and --encoder names a level at least")
    seeds = range(given.first, given.first + given.seeds)
    cases = [(level, seed) for seed in seeds for level in given.encoder]
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
