"""The cutoff is close to the one with the smallest error of the true accelerations."""

import numpy as np
import pytest

from kinetree.identify.constants import BAND_FREQUENCIES
from kinetree.identify.filtering import low_pass, margin, smooth
from kinetree.identify.spectrum import (
    choose_cutoff,
)


def series(t, rng):
    """A sum of harmonics, and its second derivative."""
    w = 2 * np.pi * rng.uniform(0.1, 0.3) * np.arange(1, rng.integers(4, 10))
    size, phase = rng.normal(size=len(w)) / np.sqrt(w), rng.uniform(0, 7, len(w))
    x = np.sin(t[:, None] * w + phase) * size
    return x.sum(axis=1), -(x * w * w).sum(axis=1)


def quintic(s):
    return 10 * s**3 - 15 * s**4 + 6 * s**5, 60 * s - 180 * s**2 + 120 * s**3


def trapezoid(s):
    """Constant acceleration, speed and deceleration."""
    a = 1 / 0.1875
    way = np.where(s < 0.25, a * s**2 / 2, np.where(s < 0.75, a * (s - 0.125) / 4, 0))
    way = np.where(s < 0.75, way, 1 - a * (1 - s) ** 2 / 2)
    return way, np.where(s < 0.25, a, np.where(s < 0.75, 0, -a))


def moves(profile, t, rng):
    """Moves from point to point with rests, and their accelerations."""
    x, a, at, start = 0 * t, 0 * t, 0.2, 0.0
    while at < t[-1]:
        length, way = rng.uniform(0.5, 2.0), rng.uniform(-1, 1) - start
        way_done, bend = profile(np.clip((t - at) / length, 0, 1))
        x = x + way * way_done
        a = a + way / length**2 * bend * ((t >= at) & (t < at + length))
        at, start = at + length + rng.uniform(0, 0.5), start + way
    return x, a


MOTIONS = {
    "series": series,
    "quintic": lambda t, rng: moves(quintic, t, rng),
    "trapezoid": lambda t, rng: moves(trapezoid, t, rng),
}


def autoregressive(e, r):
    x = np.zeros_like(e)
    for k in range(1, len(e)):
        x[k] = r * x[k - 1] + np.sqrt(1 - r * r) * e[k]
    return x


def measured(kind, x, dt, size, rng):
    """Measured positions of a true motion, (T, n), with one kind of noise."""
    e, t = rng.normal(size=x.shape), dt * np.arange(len(x))[:, None]
    return {
        "white": lambda: x + size * e,
        "steps": lambda: np.round(x / (3.5 * size)) * 3.5 * size,
        "tone": lambda: x + size * e + 2e-5 * np.sin(2 * np.pi * min(180, 0.36 / dt) * t),
        "red": lambda: x + size * autoregressive(e, 0.9),
        "jitter": lambda: x + np.gradient(x, dt, axis=0) * 0.2 * dt * e[:, :1],
        "unequal": lambda: x + size * e * np.logspace(-1, 1, x.shape[1]),
    }[kind]()


@pytest.mark.parametrize("kind", ["white", "steps", "tone", "red", "jitter", "unequal"])
@pytest.mark.parametrize(("motion", "dt", "seed"), [
    ("series", 0.01, 1), ("quintic", 0.002, 2), ("trapezoid", 0.004, 3), ("quintic", 0.02, 4),
    ("series", 0.0005, 5),
])  # fmt: skip
def test_accelerations_are_nearly_as_good_as_with_the_best_cutoff(kind, motion, dt, seed):
    rng = np.random.default_rng([seed, len(kind)])
    t = np.arange(0, min(20, 12_000 * dt), dt)
    motions = [MOTIONS[motion](t, rng) for _ in range(3)]
    true, bend = (np.stack(x, 1) for x in zip(*motions, strict=True))
    x = measured(kind, true, dt, 10 ** rng.uniform(-4.5, -3), rng)
    found = choose_cutoff(x, dt)
    tried = np.clip(found * 2.0 ** np.arange(-2, 3.1, 0.5), 5 / t[-1], 0.4 / dt)
    cut = margin(dt, found / 1.5)

    def error(cutoff):
        rest = (smooth(x, dt, cutoff)[2] - bend)[cut:-cut]
        return np.exp(np.log(rest.std(axis=0)).mean())  # each joint has one vote

    loss = [error(f) for f in tried]
    best, resolution = tried[int(np.argmin(loss))], BAND_FREQUENCIES / t[-1]
    assert 1 / 3 < found / best < 3
    assert error(found + np.clip(best - found, -resolution, resolution)) < 1.6 * min(loss)
    if t[-1] > 12:  # the resolution is a small part of the cutoff
        assert error(found) < 1.6 * min(loss)


def test_a_tone_of_an_encoder_does_not_move_the_cutoff():
    rng, dt = np.random.default_rng(0), 1e-3
    t = np.arange(0, 20, dt)
    x = np.stack([series(t, rng)[0] for _ in range(4)], 1) + 1e-6 * rng.normal(size=(len(t), 4))
    tone = 2e-5 * np.sin(2 * np.pi * 180 * t)[:, None]
    quiet = choose_cutoff(x, dt)
    assert choose_cutoff(x + tone, dt) == pytest.approx(quiet, rel=0.1)
    assert quiet < 10


def test_a_notch_between_harmonics_does_not_end_the_motion():
    rng, dt = np.random.default_rng(0), 2e-3
    t = np.arange(0, 30, dt)
    x = np.sin(2 * np.pi * 0.4 * t) + 0.02 * np.sin(2 * np.pi * 4 * t)  # 3.3 octaves apart
    assert choose_cutoff((x + 1e-5 * rng.normal(size=len(t)))[:, None], dt) > 5


def test_units_order_and_direction_do_not_change_the_cutoff():
    rng, dt = np.random.default_rng(0), 4e-3
    t = np.arange(0, 20, dt)
    x = np.stack([series(t, rng)[0] for _ in range(3)], 1) + 1e-4 * rng.normal(size=(len(t), 3))
    found = choose_cutoff(x, dt)
    for other in (x[:, ::-1], x * [1e3, 1e-6, 1], x[::-1], -x, x + np.array([5, -3, 1e3])):
        assert choose_cutoff(other, dt) == pytest.approx(found, rel=1e-3)
    assert choose_cutoff(x, 1000 * dt) == pytest.approx(found / 1000, rel=1e-6)


def test_motion_without_noise_keeps_its_accelerations():
    rng, dt = np.random.default_rng(0), 0.01
    t = np.arange(0, 20, dt)
    x, a = series(t, rng)
    found = choose_cutoff(x[:, None], dt)
    cut = margin(dt, 2.0)
    assert np.std((smooth(x, dt, found)[2] - a)[cut:-cut]) < 1e-3 * a.std()


def test_joints_at_rest_have_no_vote():
    rng, dt = np.random.default_rng(0), 4e-3
    t = np.arange(0, 20, dt)
    x = series(t, rng)[0][:, None] + 1e-4 * rng.normal(size=(len(t), 1))
    found = choose_cutoff(x, dt)
    assert choose_cutoff(np.hstack([x, 0 * x, 0 * x + 2]), dt) == found
    assert choose_cutoff(0 * x, dt) > 0


def test_left_out_blocks_are_predicted_no_better_by_other_cutoffs():
    """Cross-validation: samples left out in turn, predicted from the others, have least error."""
    rng, dt = np.random.default_rng(3), 5e-3
    t = np.arange(0, 20, dt)
    x = series(t, rng)[0] + 3e-4 * rng.normal(size=len(t))
    found = choose_cutoff(x[:, None], dt)

    def predicted(cutoff):
        total = 0.0
        for first in range(4):
            left = np.arange(first, len(t), 4)
            left = left[(left > 100) & (left < len(t) - 100)]
            others = np.setdiff1d(np.arange(len(t)), left)
            filled = np.interp(t, t[others], x[others])
            total += np.mean((low_pass(filled, dt, cutoff) - x)[left] ** 2)
        return total

    assert predicted(found) < 1.02 * min(predicted(found * f) for f in (0.25, 0.5, 2, 4))
