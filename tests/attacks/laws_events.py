"""Laws of events: all zeros of functions of motions that are known in closed form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from attack_case import Skip, law, note
from attack_plants import close, pendulum, pendulum_motion, size, slider

import kinetree as kt
from kinetree.scalars import sin
from kinetree.simulate import event

GRID = 60_001
MOST = 45  # crossings of one event in a run


@dataclass(frozen=True, eq=False)
class Known:
    """A robot, its start and options, and its motion (q, dq) at times t, each (T, n)."""

    robot: Any
    q0: Any
    dq0: Any
    end: float
    options: dict[str, Any]
    motion: Any
    breaks: tuple[float, ...] = ()


def swinging(rng):
    """A pendulum that swings or turns over."""
    g, length = float(rng.uniform(2, 20)), float(rng.uniform(0.3, 2))
    rate = np.sqrt(g / length)
    q0, dq0 = float(rng.uniform(-2.5, 2.5)), float(rng.normal() * rate)
    energy = (dq0 / (2 * rate)) ** 2 + np.sin(q0 / 2) ** 2
    if abs(energy - 1) < 0.05:
        raise Skip("close to the upright rest")
    end = float(rng.uniform(1, 10))

    def motion(t):
        q, dq = pendulum_motion(q0, dq0, rate, t)
        return q[:, None], dq[:, None]

    return Known(pendulum(1.0, length, g), [q0], [dq0], end, {}, motion)


def pushed(rng):
    """A slider under a constant force: its steps are as long as they can be."""
    m, a = float(rng.uniform(0.3, 3)), float(rng.normal())
    q0, v0, end = float(rng.normal()), float(rng.normal() * 2), float(rng.uniform(1, 20))

    def motion(t):
        return (q0 + v0 * t + a * t**2 / 2)[:, None], (v0 + a * t)[:, None]

    return Known(slider(m), [q0], [v0], end, {"tau": [m * a]}, motion)


def bouncing(rng):
    """A slider on a spring."""
    m, w = float(rng.uniform(0.3, 3)), float(rng.uniform(0.5, 8))
    q0, v0, end = float(rng.normal()), float(rng.normal() * 2), float(rng.uniform(1, 10))

    def motion(t):
        c, s = np.cos(w * t), np.sin(w * t)
        return (q0 * c + v0 / w * s)[:, None], (v0 * c - q0 * w * s)[:, None]

    return Known(slider(m), [q0], [v0], end, {"tau": lambda t, q, dq: -m * w * w * q}, motion)


def rubbing(rng):
    """Two sliders side by side that friction stops, one after the other."""
    m, level = rng.uniform(0.3, 3, 2), rng.uniform(0.3, 3, 2)
    q0, v0, end = rng.normal(size=2), rng.normal(size=2) * 3, float(rng.uniform(1, 6))
    builder = kt.Builder("rubbing").link("base")
    for i in range(2):
        builder.link(f"mass{i}", m[i], (0, 0, 0), np.eye(3) * 0.01)
        builder.joint(
            f"rail{i}",
            "prismatic",
            "base",
            f"mass{i}",
            axis=(1, 0, 0),
            friction=kt.Friction(0, float(level[i])),
        )
    way, slower = np.sign(v0), level / m

    def motion(t):
        t = np.minimum(t[:, None], np.abs(v0) / slower)
        return q0 + v0 * t - way * slower * t**2 / 2, v0 - way * slower * t

    stops = tuple(float(x) for x in np.abs(v0) / slower)
    return Known(builder.build(), q0, v0, end, {}, motion, stops)


KINDS = (swinging, pushed, bouncing, rubbing)


def functions(rng, known, n):
    """A random function of (t, q, dq) with zeros, for numbers, arrays and traced scalars."""
    q, _ = known.motion(np.linspace(0, known.end, 200))
    i = int(rng.integers(n))
    low, high = float(q[:, i].min()), float(q[:, i].max())
    a, b = (low + (high - low) * float(rng.uniform(-0.1, 1.1)) for _ in range(2))
    w, c = float(rng.uniform(1, 12)), float(rng.uniform(-0.99, 0.99))
    s = float(rng.uniform(0, known.end))
    apart = float(10 ** rng.uniform(-3.2, 0))  # pairs of zeros, often close together
    b, u = (
        (b, s * apart) if rng.random() < 0.3 else (a + (high - low) * apart, s + known.end * apart)
    )
    kind = int(rng.integers(6))
    note(rng, event=(kind, i, a, b, w, c, s, u))
    return [
        lambda t, q, dq: q[i] - a,
        lambda t, q, dq: (q[i] - a) * (q[i] - b),
        lambda t, q, dq: sin(w * t) - c,
        lambda t, q, dq: (t - s) * (t - u),
        lambda t, q, dq: sin(w * q[i]) - c,
        lambda t, q, dq: q[i] - a + c * (t - s),
    ][kind]


def zeros(known, g):
    """Times and directions of the sign changes of g along the known motion; none is doubtful."""
    from scipy.optimize import brentq

    def value(t):
        t = np.atleast_1d(np.asarray(t, float))
        q, dq = known.motion(t)
        return np.broadcast_to(g(t, q.T, dq.T), t.shape)

    t = np.linspace(0, known.end, GRID)
    y = value(t)
    reach = np.abs(y).max()
    if reach == 0 or min(abs(y[0]), abs(y[-1])) < 1e-3 * reach:
        raise Skip("a zero at an end")
    change = np.flatnonzero(np.sign(y[1:]) != np.sign(y[:-1]))
    if len(change) > MOST or (y[1:-1] == 0).any():
        raise Skip("too many zeros")
    size = np.abs(y)
    dips = np.flatnonzero((size[1:-1] < size[:-2]) & (size[1:-1] <= size[2:])) + 1
    for k in dips:  # close to zero without a sign change: grazing
        if size[k] < 1e-3 * reach and not np.isin([k - 1, k], change).any():
            raise Skip("grazes zero")
    flat = (np.diff(y) == 0) & (size[1:] < 1e-3 * reach)
    if flat.any():
        raise Skip("rests at zero")
    times, ways = [], []
    for k in change:
        slope = abs(y[k + 1] - y[k]) / (t[1] - t[0])
        if slope < 1e-3 * reach / known.end:
            raise Skip("almost grazes zero")
        times.append(brentq(lambda x: float(value(x)[0]), t[k], t[k + 1], xtol=1e-14))
        ways.append(1 if y[k + 1] > y[k] else -1)
    return np.array(times), np.array(ways)


@law(ci=6, weight=4)
def law_all_zeros_are_found(rng):
    """One to three events, in both directions or one, on one run."""
    known = KINDS[int(rng.integers(len(KINDS)))](rng)
    n = len(known.q0)
    events, expected = [], []
    for k in range(int(rng.integers(1, 4))):
        g = functions(rng, known, n)
        times, ways = zeros(known, g)
        direction = int(rng.integers(-1, 2))
        note(rng, **{f"direction{k}": direction, f"zeros{k}": times})
        events.append(event(g, direction=direction, name=f"g{k}"))
        wanted = times[(ways == direction) | (direction == 0)]
        expected.append(wanted)
    motion = known.robot.simulate(
        known.q0,
        known.dq0,
        duration=known.end,
        events=events,
        rtol=1e-10,
        atol=1e-12,
        limits="ignore",
        **known.options,
    )
    found = motion.meta["events"]
    order = [occurrence.t for occurrence in found]
    assert order == sorted(order), "events are not in the order of time"
    for k, wanted in enumerate(expected):
        times = np.array([o.t for o in found if o.event == f"g{k}"])
        assert len(times) == len(wanted), (
            f"event {k} of {known.robot.name}: found {len(times)} of {len(wanted)}: "
            f"{times}, expected {wanted}"
        )
        close(times, wanted, 1e-6 * (1 + known.end), f"times of event {k}")
    for occurrence in found[:5]:
        q, dq = known.motion(np.array([occurrence.t]))
        close(occurrence.q, q[0], 1e-6 * size(q), "q of an occurrence")
        close(occurrence.dq, dq[0], 1e-6 * size(dq) * 10, "dq of an occurrence")
    q, _ = known.motion(motion.t)
    close(motion.q, q, 1e-6 * size(q), "q")


@law(ci=3, weight=2)
def law_a_terminal_event_ends_at_its_first_zero(rng):
    known = KINDS[int(rng.integers(len(KINDS)))](rng)
    g = functions(rng, known, len(known.q0))
    times, ways = zeros(known, g)
    direction = int(rng.integers(-1, 2))
    wanted = times[(ways == direction) | (direction == 0)]
    h = functions(rng, known, len(known.q0))
    other, _ = zeros(known, h)
    note(rng, direction=direction, zeros=times, other=other)
    last = wanted[0] if len(wanted) else known.end
    if len(other) and np.abs(other - last).min() < 1e-4 * known.end:
        raise Skip("both at once")
    motion = known.robot.simulate(
        known.q0,
        known.dq0,
        duration=known.end,
        events=[event(g, direction=direction, terminal=True, name="g"), event(h, name="h")],
        rtol=1e-10,
        atol=1e-12,
        limits="ignore",
        **known.options,
    )
    small = 1e-6 * (1 + known.end)
    assert last - 0.01 - small <= motion.t[-1] <= last + small, (
        f"ends at {motion.t[-1]}, not {last}"
    )
    assert (np.diff(motion.t) > 0).all(), "times do not increase"
    found = [o for o in motion.meta["events"] if o.event == "g"]
    assert len(found) == min(1, len(wanted)), f"{len(found)} terminal events"
    passed = other[other < last]
    times = np.array([o.t for o in motion.meta["events"] if o.event == "h"])
    assert len(times) == len(passed), f"other event: {times}, expected {passed}"
    q, dq = known.motion(motion.t)
    close(motion.q, q, 1e-6 * size(q), "q")
    close(motion.dq, dq, 1e-5 * size(dq), "dq")


def law_events_of_a_batch_are_those_of_single_runs(rng):
    known = (swinging, pushed, bouncing)[int(rng.integers(3))](rng)
    g = functions(rng, known, 1)
    count = int(rng.integers(2, 5))
    q0, dq0 = rng.normal(size=(count, 1)), rng.normal(size=(count, 1)) * 2
    options = {"duration": known.end, "events": event(g), "limits": "ignore"} | known.options
    batch = known.robot.simulate(q0, dq0, **options)
    for k in range(count):
        single = known.robot.simulate(q0[k], dq0[k], **options)
        times = [o.t for o in batch.meta["events"] if o.rollout == (k,)]
        assert times == [o.t for o in single.meta["events"]], f"rollout {k}: {times}"


def law_an_event_of_time_alone_is_exact(rng):
    """Zeros of t - c, also for a robot at rest, where nothing else limits a step."""
    robot = slider(1.0, kt.Friction(0, 1.0) if rng.random() < 0.5 else None)
    end = float(10 ** rng.uniform(-1, 2))
    times = np.sort(rng.uniform(0.01, 0.99, 4)) * end
    motion = robot.simulate(
        [0.0],
        duration=end,
        dt=end / 10,
        events=[event(lambda t, q, dq, c=c: t - c, name=str(k)) for k, c in enumerate(times)],
    )
    found = np.array([o.t for o in motion.meta["events"]])
    close(found, times, 1e-12 * end, "times")
