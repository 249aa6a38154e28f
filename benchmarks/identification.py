"""`identify` beside plain least squares on recordings of real robots, which are not stored here.

    python -m benchmarks.identification arm.urdf=motion.csv arm.urdf=motion.csv=other.csv

Each word is ROBOT=DATA, a robot and files that `kinetree identify` reads, joined by +; or
ROBOT=DATA=TEST. Without TEST, every third of 15 blocks spread over each file is held out.

Plain least squares are those of a textbook: one zero-phase low-pass of 10 Hz for q and tau, central
differences, all inertial parameters with armature, viscous and Coulomb friction and an offset, no
lag, least squares of smallest norm. Both methods predict the measured joint forces of the held-out
samples; a figure is the sum over the joints of the root mean square of the error below 10 Hz. The
last column has the processor time of `identify` alone.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.core.arrays import Array
from kinetree.identify import Identification, Recording, identify, make_recording
from kinetree.identify.recording import joined_recordings

CUTOFF, ORDER = 10.0, 4  # Hz; of the Butterworth filter that runs forward and backward
BLOCKS, HELD = 15, 3  # blocks of a file; every third is held out
SMALLEST = 1e-6  # of the largest singular value


def low_pass(x: Array, dt: float) -> Array:
    """Samples x, (T, n), without frequencies above the cutoff, odd about both ends."""
    count = min(len(x) - 1, round(3 / (CUTOFF * dt)))
    ends = 2 * x[0] - x[count:0:-1], 2 * x[-1] - x[-2 : -count - 2 : -1]
    padded = np.concatenate([ends[0], x, ends[1]])
    f = np.fft.rfftfreq(len(padded), dt)[:, None]
    soft = np.fft.rfft(padded, axis=0) / (1 + (f / CUTOFF) ** (2 * ORDER))
    return np.fft.irfft(soft, len(padded), axis=0)[count:-count]


def plain_rows(robot: kt.Robot, t: Array, q: Array) -> Array:
    """Columns of plain least squares, (T, n, p), from positions at even times."""
    dt = float(t[1] - t[0])
    q = low_pass(q, dt)
    dq = np.gradient(q, dt, axis=0)
    ddq = np.gradient(dq, dt, axis=0)
    own = np.stack([ddq, dq, np.sign(dq), np.ones_like(dq)], axis=-1)
    of_joints = (own[..., None, :] * np.eye(robot.n)[..., None]).reshape(*q.shape, -1)
    bodies = robot.regressor(q, dq, ddq)[..., : 10 * len(robot.model.link_names)]
    return np.concatenate([bodies, of_joints], axis=-1)


def least_squares(W: Array, y: Array) -> Array:
    """The smallest x with W x = y, by columns of length 1."""
    flat = W.reshape(-1, W.shape[-1])
    length = np.linalg.norm(flat, axis=0)
    length = np.where(length > 0, length, 1.0)
    return np.linalg.lstsq(flat / length, y.ravel(), rcond=SMALLEST)[0] / length


def read(path: str, robot: kt.Robot) -> tuple[Array, Array, Array, Array | None]:
    """t, q, tau and recorded rates of a file."""
    motion = kt.motion.read(path, robot)
    given = not any("dq and ddq are computed" in x for x in motion.meta["notes"])
    assert motion.tau is not None
    return motion.t - motion.t[0], motion.q, motion.tau, motion.dq if given else None


def evenly(t: Array, q: Array, tau: Array) -> tuple[Array, Array, Array]:
    """Samples at even times."""
    even = np.linspace(t[0], t[-1], round((t[-1] - t[0]) / float(np.median(np.diff(t)))) + 1)
    at = [np.stack([np.interp(even, t, c) for c in x.T], axis=1) for x in (q, tau)]
    return even, at[0], at[1]


def held_out(t: Array, end: float, *, whole: bool | None) -> Array:
    """Which times are held out; `whole`: all or none."""
    if whole is not None:
        return np.full(len(t), whole)
    return np.minimum(BLOCKS * t // end, BLOCKS - 1) % HELD == HELD - 1


def predicted(found: Identification, data: Recording, t: Array, physical: bool) -> Array:
    """Measured joint forces at times t as the result predicts them, with their lag; NaN beyond."""
    tau, lag = found.predict(data, physical=physical), found.lag
    late = lag.value if lag is not None and lag.sure else 0.0
    if lag is not None and lag.constant > 0:
        a = np.exp(-data.dt / lag.constant)
        for k in range(1, len(tau)):
            tau[k] = a * tau[k - 1] + (1 - a) * tau[k]
    return at_times(tau, data.t, t - late)


def at_times(x: Array, t: Array, times: Array) -> Array:
    """Samples x, (T, n), at other times; NaN beyond the first and the last."""
    return np.stack([np.interp(times, t, c, np.nan, np.nan) for c in x.T], axis=1)


def compared(word: str) -> list[Any]:
    """A row of the table."""
    name, files, *others = word.split("=")
    robot = kt.load(name)
    raw = [(*read(x, robot), None if not others else False) for x in files.split("+")]
    raw += [(*read(x, robot), True) for x in others]
    plain, results = list[tuple[Array, ...]](), list[Array]()
    for t, q, tau, _, whole in raw:
        even, q_even, tau_even = evenly(t, q, tau)
        W = plain_rows(robot, even, q_even)
        y = low_pass(tau_even, float(even[1] - even[0]))
        plain.append((even, W, y, held_out(even, float(t[-1]), whole=whole)))
    x = least_squares(*(np.concatenate([p[k][~p[3]] for p in plain]) for k in (1, 2)))
    begin = time.process_time()
    records = [make_recording(robot, t, q, tau, dq) for t, q, tau, dq, _ in raw]
    tested = [
        held_out(r.t, float(t[-1]), whole=whole)
        for r, (t, *_, whole) in zip(records, raw, strict=True)
    ]
    train = [
        r.part(np.flatnonzero(~x)) for r, x in zip(records, tested, strict=True) if not x.all()
    ]
    test = [r.part(np.flatnonzero(x)) for r, x in zip(records, tested, strict=True) if x.any()]
    found = identify(robot, train, test=joined_recordings(test))
    seconds = time.process_time() - begin
    for (even, W, y, out), r in zip(plain, records, strict=True):
        if r.again is not None and found.train.cutoff not in (None, r.cutoff):
            r = r.again(found.train.cutoff)  # as the result was found
        dt = float(even[1] - even[0])
        forces = (
            at_times(found.prior.inverse_dynamics(r.q, r.dq, r.ddq), r.t, even), W @ x,
            *(predicted(found, r, even, physical) for physical in (False, True)),
        )  # fmt: skip
        seen = np.asarray(np.isfinite(np.stack(forces)).all(axis=(0, 2)))
        own = slice(int(seen.argmax()), len(seen) - int(seen[::-1].argmax()))
        soft = [low_pass(np.nan_to_num(z[own]), dt) for z in forces]
        soft[1] = forces[1][own]  # which is below the cutoff already
        errors = np.stack(soft) - y[own]
        results.append(errors[:, out[own] & seen[own]])
    rms = np.sqrt((np.concatenate(results, axis=1) ** 2).mean(axis=1))
    reasons = ", ".join(dict.fromkeys(r.kind for r in found.verdict.reasons))
    return [files, *(f"{e.sum():.3g}" for e in rms), found.verdict.word, reasons, f"{seconds:.1f}"]


def main(words: Sequence[str]) -> None:
    """Print the table of all words."""
    head = "data", "described", "LS", "base", "robot", "verdict", "reasons", "s"
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for word in words:
        print("| " + " | ".join(compared(word)) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
