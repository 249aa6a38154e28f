"""Studies: results do not depend on chunks, workers or interruptions, and are what they say."""

import tempfile
from pathlib import Path
from typing import Any

import mechanisms as mc
import numpy as np
from attack_case import law, note

import kinetree as kt
from kinetree.parallel import Normal, Options, rollouts, run, sweep


class Stopped(run.Progress):
    """Ctrl-C after some of the samples."""

    at = 0

    def update(self, done: int) -> None:
        if done >= Stopped.at:
            raise KeyboardInterrupt


def _study(rng: Any) -> tuple[mc.Mechanism, Any, dict[str, Any]]:
    """A small robot, and joint forces at random states of it."""
    mechanism = mc.random_mechanism(rng, 2, types=["revolute", "prismatic"], drives=False)
    for x in mechanism.parts:
        x.type = "revolute" if x.type == "free" else x.type
    robot = mc.robot_of(mechanism)
    states = {name: Normal(0.1, 1.0) for name in ("q", "dq", "ddq")}
    return mechanism, robot, states


@law(limit=60)
def law_chunks_and_workers_change_no_bit(rng: Any) -> None:
    """The same bits from one chunk or many, on threads, in memory and in files of each kind."""
    mechanism, robot, states = _study(rng)
    n, seed = int(rng.integers(1, 60)), int(rng.integers(2**31))
    note(rng, samples=n, seed=seed, mechanism=str(mechanism.parts))
    plain = sweep(robot, "inverse_dynamics", states, n, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("npy", "csv"):
            options: Options = {
                "chunk": int(rng.integers(1, n + 1)),
                "workers": int(rng.integers(1, 4)),
                "output": Path(folder) / f"study.{ending}",
            }
            other = sweep(robot, "inverse_dynamics", states, n, seed=seed, **options)
            for name in plain.columns:
                same = np.array_equal(plain[name], other[name])
                assert same, f"{name} differs with {options}, n = {n}, seed = {seed}"
            left = sorted(x.name for x in Path(folder).iterdir())
            assert not [x for x in left if "partial" in x or "lock" in x], f"left behind: {left}"
            assert other.samples == n == len(other["sample"]), f"{other.samples} samples of {n}"


@law(limit=60)
def law_samples_are_what_they_say(rng: Any) -> None:
    """Forces in the table are those of an oracle at the states in the table; more samples, same."""
    mechanism, robot, states = _study(rng)
    n, seed = int(rng.integers(2, 30)), int(rng.integers(2**31))
    note(rng, samples=n, seed=seed)
    found = sweep(robot, "inverse_dynamics", states, n, seed=seed)
    pi, count = mc.parameters(mechanism), mechanism.n
    values = np.concatenate([
        found[name].reshape(n, -1) for name in ("q", "dq", "ddq", found.columns[-1].split(":")[0])
    ], axis=1)  # fmt: skip
    assert values.shape == (n, 4 * count), f"{found.columns} for {count} joints"
    for q, dq, ddq, tau in values.reshape(n, 4, count):
        Y = mc.regressor(mechanism, q, dq, ddq)
        size = np.abs(Y) @ np.abs(pi)
        off = np.abs(Y @ pi - tau).max() / size.max()
        assert off < 1e-11, f"tau is {off:.2g} off at q = {q}, dq = {dq}, ddq = {ddq}"
    fewer = sweep(robot, "inverse_dynamics", states, n // 2, seed=seed)
    for name in found.columns:
        same = np.array_equal(found[name][: n // 2], fewer[name])
        assert same, f"{name} of the first {n // 2} of {n} samples differs, seed = {seed}"


@law(limit=60)
def law_resume_equals_an_uninterrupted_run(rng: Any) -> None:
    """A study that was stopped anywhere, with any chunks, and gone on with has the same bytes."""
    robot = kt.robots.double_pendulum()
    n, seed = int(rng.integers(2, 40)), int(rng.integers(2**31))
    ending = str(rng.choice(["npy", "csv"]))
    Stopped.at = int(rng.integers(1, n + 1))
    first, second = int(rng.integers(1, n + 1)), int(rng.integers(1, n + 1))
    case = f"{ending}, n = {n}, seed = {seed}, stopped at {Stopped.at}, chunks {first}, {second}"
    note(rng, case=case)
    study: dict[str, Any] = {"q0": Normal(0, 0.5), "duration": 0.01, "every": 5, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = (Path(folder) / f"{name}.{ending}" for name in ("whole", "parts"))
        rollouts(robot, n, output=whole, **study)
        honest = run.Progress
        run.Progress = Stopped
        try:
            rollouts(robot, n, output=parts, chunk=first, **study)
        except KeyboardInterrupt:
            pass
        finally:
            run.Progress = honest
        assert not parts.exists(), f"a study that was stopped is complete: {case}"
        rollouts(robot, n, output=parts, chunk=second, resume=True, **study)
        assert whole.read_bytes() == parts.read_bytes(), f"other bytes: {case}"
