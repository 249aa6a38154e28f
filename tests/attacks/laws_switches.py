"""Laws of switches in time: pulses written in every way, waves that release, long rests between."""

import attack_friction as friction
import numpy as np
from attack_case import law, note
from attack_plants import close, integrate, size, slider

import kinetree as kt
from kinetree.scalars import absolute, clip, maximum, minimum, sign, sin, where
from kinetree.simulate import event, signal


def rectangle(t, a, b, form):
    """1 between a and b, 0 elsewhere, for traced scalars and numbers."""
    if form == 0:
        return where(t - a, where(b - t, 1, 0), 0)
    if form == 1:
        return where((t - a) * (b - t), 1, 0)
    if form == 2:
        return (sign(t - a) - sign(t - b)) / 2
    if form == 3:
        return where((b - a) / 2 - absolute(t - (a + b) / 2), 1, 0)
    if form == 4:
        return where(minimum(t - a, b - t), 1, 0)
    if form == 5:
        return where(t - a, 1, 0) - where(t - b, 1, 0)
    return where(3 * t - 3 * a, 1, 0) * where(-2 * t + 2 * b, 1, 0)


@law(ci=3, weight=2)
def law_a_rectangle_in_any_words_is_seen(rng):
    """Force on a slider for a short time after a long rest; position in closed form."""
    m, force = float(rng.uniform(0.5, 3)), float(rng.normal() * 10)
    end = float(10 ** rng.uniform(0, 2))
    width = float(10 ** rng.uniform(-3, -1))
    a = float(rng.uniform(0.02, 0.9)) * (end - width)
    b, form = a + width, int(rng.integers(7))
    through = int(rng.integers(3))
    note(rng, m=m, force=force, end=end, a=a, width=width, form=form, through=through)

    def pulse(t):
        return np.array([force * rectangle(t, a, b, form)])

    how = (
        {"tau": pulse},
        {"controller": lambda t, q, dq: pulse(t)},
        {"F_ext": lambda t: np.array([[0, 0, 0, pulse(t)[0], 0, 0]])},
    )[through]
    motion = slider(m).simulate([0.0], duration=end, dt=end / 20, **how)
    inside = np.clip(motion.t - a, 0, width)
    v = force / m * inside
    q = force / m * (inside**2 / 2 + width * np.clip(motion.t - b, 0, None))
    scale = 1e-7 * abs(force / m) * width * (1 + end) + 1e-9
    close(motion.dq[:, 0], v, scale, "dq")
    close(motion.q[:, 0], q, scale, "q")


@law(weight=2)
def law_a_triangle_in_any_words_is_seen(rng):
    m, force = float(rng.uniform(0.5, 3)), float(rng.normal() * 10)
    end, half = float(10 ** rng.uniform(0, 2)), float(10 ** rng.uniform(-3, -1))
    c = float(rng.uniform(0.05, 0.9)) * end
    form = int(rng.integers(3))
    note(rng, m=m, force=force, end=end, c=c, half=half, form=form)

    def pulse(t):
        x = 1 - absolute(t - c) / half
        return np.array([force * (maximum(x, 0), clip(x, 0, 1), where(x, x, 0))[form]])

    motion = slider(m).simulate([0.0], duration=end, dt=end / 20, tau=pulse)
    v = force * half / m if end > c + half else None
    if v is not None:
        close(motion.dq[-1, 0], v, 1e-6 * abs(v) + 1e-9, "dq at the end")


@law(ci=2)
def law_square_waves_keep_their_beat(rng):
    """where(sin(w t) - c) on a slider: velocity gains the force's share of the time."""
    m, force, w = float(rng.uniform(0.5, 3)), float(rng.normal() * 5), float(rng.uniform(2, 60))
    c, end = float(rng.uniform(-0.9, 0.95)), float(rng.uniform(0.5, 5))
    end = end * min(1.0, 20 / w)
    note(rng, m=m, force=force, w=w, c=c, end=end)

    def wave(t):
        return np.array([force * where(sin(w * t) - c, 1, 0)])

    motion = slider(m).simulate([0.0], duration=end, dt=end / 10, tau=wave)
    up, down = np.arcsin(c), np.pi - np.arcsin(c)
    k = np.arange(-1, int(w * end / (2 * np.pi)) + 2)[:, None]
    a, b = (up + 2 * np.pi * k) / w, (down + 2 * np.pi * k) / w
    t = motion.t
    on = (np.clip(t, None, b) - np.maximum(a, 0)).clip(0).sum(0)
    close(motion.dq[:, 0], force / m * on, 2e-6 * (1 + abs(force / m) * end), "dq")


@law(ci=3, weight=2)
def law_brief_pushes_release_a_stuck_joint(rng):
    """Waves that exceed the Coulomb level only near their crests."""
    data = friction.draw(rng, "rail")
    level = float(data["up"][0])
    crest = float(rng.uniform(0.01, 0.3))
    data |= {
        "down": data["up"],
        "g": 0.0,
        "K": np.zeros((1, 1)),
        "a0": np.zeros(1),
        "a1": np.array([level * (1 + crest)]),
        "w": rng.uniform(5, 120, 1),
        "pulse": np.zeros(1),
        "v0": np.zeros(1),
    }
    note(rng, **data)
    motion = friction.simulate("rail", data)
    difference = friction.compare("rail", data, motion)
    assert difference is None, str(difference)


def law_a_slow_ramp_releases_in_time(rng):
    """A stuck slider under a force that grows for a minute."""
    m, level, end = (
        float(rng.uniform(0.5, 3)),
        float(rng.uniform(0.5, 5)),
        float(rng.uniform(5, 80)),
    )
    slope = level / end * float(rng.uniform(1.05, 4))
    note(rng, m=m, level=level, end=end, slope=slope)
    robot = slider(m, kt.Friction(0, level))
    motion = robot.simulate([0.0], duration=end, dt=end / 40, tau=lambda t: np.array([slope * t]))
    free = level / slope
    s = np.clip(motion.t - free, 0, None)
    close(motion.dq[:, 0], slope * s**2 / 2 / m, 1e-7 * (1 + slope * end**2 / m), "dq")
    close(motion.q[:, 0], slope * s**3 / 6 / m, 1e-7 * (1 + slope * end**3 / m), "q")


def law_short_pieces_of_signals_are_seen(rng):
    """A signal with a piece of about a millisecond in a long rest."""
    m, end = float(rng.uniform(0.5, 3)), float(10 ** rng.uniform(0, 2))
    width, force = float(10 ** rng.uniform(-3, -1)), float(rng.normal() * 20)
    a = float(rng.uniform(0.05, 0.9)) * end
    kind = str(rng.choice(["hold", "linear"]))
    note(rng, m=m, end=end, width=width, force=force, a=a, kind=kind)
    knots = [0.0, a, a + width, a + 2 * width]
    values = np.array([[0.0], [0.0], [force], [0.0]])
    motion = slider(m).simulate(
        [0.0], duration=end + 1, dt=end / 10, tau=signal(knots, values, kind)
    )
    v = force * width / m
    close(motion.dq[-1, 0], v, 1e-7 * abs(v) + 1e-9, "dq at the end")


def law_narrow_events_at_rest_are_found(rng):
    """sin(w t) - c of a robot that does not move, with c close to 1: pairs of close zeros."""
    end, c = float(rng.uniform(1, 10)), float(rng.choice([-1, 1]) * rng.uniform(0, 0.995))
    w = float(rng.uniform(1, 20 * 2 * np.pi / end))
    stuck = rng.random() < 0.5
    robot = slider(1.0, kt.Friction(0, 2.0) if stuck else None)
    note(rng, end=end, c=c, w=w, stuck=stuck)
    motion = robot.simulate(
        [0.3],
        duration=end,
        tau=[1.0] if stuck else None,
        events=event(lambda t, q, dq: sin(w * t) - c),
    )
    k = np.arange(-1, int(w * end / (2 * np.pi)) + 2)
    first = np.arcsin(c)
    times = np.sort(np.concatenate([first + 2 * np.pi * k, np.pi - first + 2 * np.pi * k])) / w
    times = times[(times > 0) & (times < end)]
    found = np.array([o.t for o in motion.meta["events"]])
    if np.abs(times - end).min(initial=1) < 1e-6 or np.abs(times).min(initial=1) < 1e-6:
        return
    assert len(found) == len(times), f"found {len(found)} of {len(times)}: {found}"
    close(found, times, 1e-7, "times")


def law_a_gate_on_a_spring_is_followed(rng):
    """A spring that exists only between two times, then only beyond a position."""
    m, k = float(rng.uniform(0.5, 2)), float(rng.uniform(1, 200))
    a, b = sorted(float(x) for x in rng.uniform(0, 2, 2))
    q0, v0 = float(rng.normal()), float(rng.normal())
    note(rng, m=m, k=k, a=a, b=b, q0=q0, v0=v0)

    def tau(t, q, dq):
        return np.array([-k * q[0] * rectangle(t, a, b, int(a * 1e6) % 7)])

    motion = slider(m).simulate([q0], [v0], duration=2.2, dt=0.1, tau=tau)

    def rate(t, x):
        return [x[1], -k * x[0] / m if a < t < b else 0.0]

    x = integrate(rate, [q0, v0], motion.t, [a, b])
    close(motion.q[:, 0], x[:, 0], 1e-6 * size(x), "q")
