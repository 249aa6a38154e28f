"""Laws of what is given to a simulation: arrays stay, changes are seen, options mean one thing."""

import numpy as np
from attack_case import law, note
from attack_plants import close, integrate, pendulum, size, slider, tree

import kinetree as kt
from kinetree.scalars import sin, where
from kinetree.simulate import signal

FREE = {"limits": "ignore"}


def law_no_argument_is_changed(rng):
    """Arrays of the caller have the same bits after a run, and later changes do not reach it."""
    robot = tree(rng, 3)
    n = robot.n
    links = len(robot.model.links)
    arrays = {
        "q0": rng.normal(size=(2, n)),
        "dq0": rng.normal(size=(2, n)),
        "tau": rng.normal(size=n),
        "F_ext": rng.normal(size=(links, 6)),
        "mass": robot.model.m * rng.uniform(0.8, 1.2, links),
        "knots": np.array([0.0, 0.1, 0.3]),
        "values": rng.normal(size=(3, n)),
        "goal": rng.normal(size=n),
        "kp": rng.uniform(0, 5, n),
        "z": rng.normal(size=n),
    }
    before = {name: value.copy() for name, value in arrays.items()}
    method = str(rng.choice(["dop853", "rk4", "semi_implicit_euler"]))
    signals = rng.random() < 0.5
    tau = signal(arrays["knots"], arrays["values"]) if signals else arrays["tau"]
    goal, kp = arrays["goal"], arrays["kp"]
    controller = [
        None,
        kt.controllers.PD(goal, kp, 1.0),
        kt.controllers.Stateful(
            lambda t, q, dq, z: (kp * (goal - q) - dq + z, goal - q), arrays["z"]
        ),
        lambda t, q, dq: kp * (goal - q),
    ][int(rng.integers(4))]
    options = {"duration": 0.2, "method": method, "controller": controller, **FREE}
    options["parameters"] = {"mass": arrays["mass"]}
    motion = robot.simulate(arrays["q0"], arrays["dq0"], tau=tau, F_ext=arrays["F_ext"], **options)
    for name, value in arrays.items():
        assert np.array_equal(value, before[name]), f"{name} was changed by the run"
    kept = [np.array(x) for x in (motion.t, motion.q, motion.dq, motion.tau)]
    for value in arrays.values():
        value += 1.0
    now = (motion.t, motion.q, motion.dq, motion.tau)
    for a, b in zip(kept, now, strict=True):
        assert np.array_equal(a, b), "the result shares memory with an argument"


def law_changed_arrays_are_seen(rng):
    """References, signals and torques changed in place between two runs."""
    robot = slider(1.0)
    method = str(rng.choice(["dop853", "rk4"]))
    kind = str(rng.choice(["tau", "signal", "reference", "gain"]))
    note(rng, method=method, kind=kind)
    values = np.array([1.0])
    series = np.array([[1.0], [1.0]])
    controller = None
    if kind == "reference":
        controller = kt.controllers.PD(values, 4.0, 1.0)
    if kind == "gain":
        controller = kt.controllers.PD([1.0], values, 1.0)
    for new in rng.uniform(0.5, 5, 2):
        values[0], series[:] = new, new
        options = {"method": method, "duration": 1.0, "dt": 0.01, **FREE}
        if kind == "tau":
            motion = robot.simulate([0.0], tau=values, **options)
            expected = new * motion.t**2 / 2
        elif kind == "signal":
            motion = robot.simulate([0.0], tau=signal([0.0, 1.0], series), **options)
            expected = new * motion.t**2 / 2
        else:
            motion = robot.simulate([0.0], controller=controller, **options)
            kp, goal = (4.0, new) if kind == "reference" else (new, 1.0)
            # a controller may keep a copy of its arguments: then nothing changes
            frozen = float(
                np.ravel(controller.reference if kind == "reference" else controller.kp)[0]
            )
            kp, goal = (4.0, frozen) if kind == "reference" else (frozen, 1.0)
            x = integrate(
                lambda t, x, a=kp, b=goal: [x[1], a * (b - x[0]) - x[1]], [0, 0], motion.t
            )
            expected = x[:, 0]
        close(motion.q[:, 0], expected, 1e-5, f"q with {kind} = {new:.3g}")


def law_every_keeps_every_so_many_samples(rng):
    robot = tree(rng, 2)
    q0, dq0 = rng.normal(size=(2, robot.n))
    steps, every = int(rng.integers(5, 60)), int(rng.integers(2, 12))
    method = str(rng.choice(["dop853", "rk4", "semi_implicit_euler"]))
    dt = 1 / 128
    options = {"duration": steps * dt, "dt": dt, "method": method, **FREE}
    whole = robot.simulate(q0, dq0, **options)
    some = robot.simulate(q0, dq0, every=every, **options)
    kept = sorted({*range(0, steps + 1, every), steps})
    note(rng, method=method, steps=steps, every=every)
    close(some.t, whole.t[kept], 1e-12, "t")
    close(some.q, whole.q[kept], 1e-12 * size(whole.q), "q")


def law_signals_are_interpolated(rng):
    """The impulse of a signal on a free slider: trapezoids and rectangles by hand."""
    m = float(rng.uniform(0.5, 3))
    robot = slider(m)
    knots = np.cumsum(rng.uniform(0.01, 0.5, int(rng.integers(2, 8))))
    values = rng.normal(size=(len(knots), 1)) * 5
    kind = str(rng.choice(["linear", "hold"]))
    end = float(knots[-1] * rng.uniform(0.3, 1.5))
    note(rng, knots=knots, values=values[:, 0], kind=kind, end=end)
    motion = robot.simulate([0.0], duration=end, dt=end / 20, tau=signal(knots, values, kind))
    fine = np.unique(np.concatenate([np.linspace(0, end, 20_001), knots[knots < end]]))
    middle = (fine[1:] + fine[:-1]) / 2
    if kind == "linear":
        force = np.interp(middle, knots, values[:, 0])
    else:
        force = values[np.maximum(np.searchsorted(knots, middle, side="right") - 1, 0), 0]
    impulse = np.concatenate([[0], np.cumsum(force * np.diff(fine))])
    close(motion.dq[:, 0], np.interp(motion.t, fine, impulse) / m, 2e-6 * size(values) / m, "dq")


def law_the_longest_step_changes_no_motion(rng):
    """max_step bounds the steps; results agree to the tolerance."""
    robot = tree(rng, 2)
    q0, dq0 = rng.normal(size=(2, robot.n))
    plain = robot.simulate(q0, dq0, duration=1.0, dt=0.1, rtol=1e-10, **FREE)
    bound = float(rng.uniform(0.003, 0.3))
    short = robot.simulate(q0, dq0, duration=1.0, dt=0.1, rtol=1e-10, max_step=bound, **FREE)
    close(short.q, plain.q, 1e-7 * size(plain.q) * size(plain.dq), "q")


def law_position_limits_are_found_in_time(rng):
    """A slider reaches its limit at a known time."""
    v, limit = float(rng.uniform(0.5, 3)), float(rng.uniform(0.2, 2))
    robot = slider(1.0, limits=kt.Limits(lower=-limit, upper=limit))
    way = float(rng.choice([-1, 1]))
    reach = limit / v
    end = reach * float(rng.uniform(0.5, 2))
    method = str(rng.choice(["dop853", "rk4"]))
    dt = end / 50
    note(rng, v=v, limit=limit, end=end, method=method)
    try:
        motion = robot.simulate([0.0], [way * v], duration=end, dt=dt, method=method)
    except kt.KinetreeError as error:
        assert end > reach * (1 - 1e-9), f"stopped at a limit that is not reached: {error}"
        stopped = error.trajectory
        assert stopped.t[-1] <= reach + 2 * dt, "the motion goes on beyond the limit"
        assert "rail" in str(error), f"the message does not name the joint: {error}"
    else:
        assert end <= reach * (1 + 1e-9) + dt, "a limit was passed in silence"
        close(motion.q[-1, 0], way * v * end, 1e-9 * size(limit), "q")


def law_resampling_a_simulation_follows_it(rng):
    """A pendulum: the polynomial between samples has an error of the sixth order in dt."""
    from attack_plants import pendulum_motion

    q0, dq0 = float(rng.uniform(-2, 2)), float(rng.normal())
    robot = pendulum(1.0, 1.0, 9.0)
    dt = float(rng.uniform(0.005, 0.03))
    motion = robot.simulate([q0], [dq0], duration=1.0, dt=dt, rtol=1e-10, atol=1e-12)
    times = np.sort(rng.uniform(0, 1, 30))
    again = motion.resample(times)
    q, dq = pendulum_motion(q0, dq0, 3.0, times)
    close(again.t, times, 1e-12, "t")
    close(again.q[:, 0], q, 1e-7 + 30 * dt**6, "q")
    close(again.dq[:, 0], dq, 1e-6 + 300 * dt**5, "dq")
    close(again.ddq[:, 0], -9.0 * np.sin(q), 1e-4 + 3e3 * dt**4, "ddq")


def law_a_stop_and_go_reference_is_followed_exactly(rng):
    """Computed torque on a reference of pieces: the error stays zero through every switch."""
    robot = tree(rng, 2)
    n = robot.n
    a, b = sorted(float(x) for x in rng.uniform(0.1, 1.4, 2))
    b = max(b, a + 0.05)
    rate = rng.normal(size=n)
    q0 = rng.normal(size=n)
    note(rng, a=a, b=b, rate=rate)

    def reference(t):
        """Rest, then a smooth move from a to b, then rest."""
        s = where(t - a, where(b - t, (t - a) / (b - a), 1), 0)
        moving = where(t - a, where(b - t, 1, 0), 0) / (b - a)
        x = s**3 * (10 - 15 * s + 6 * s**2)
        dx = 30 * s**2 * (1 - s) ** 2 * moving
        ddx = 60 * s * (1 - s) * (1 - 2 * s) * moving * moving
        return tuple(
            np.array([base + r * y for base, r in zip(start, rate, strict=True)])
            for start, y in ((q0, x), (0 * q0, dx), (0 * q0, ddx))
        )

    law_ = kt.controllers.ComputedTorque(reference, 100.0, 20.0)
    motion = robot.simulate(q0, duration=1.6, controller=law_, **FREE)
    expected = np.array([np.asarray(reference(t)[0], float) for t in motion.t])
    close(motion.q, expected, 1e-6 * size(expected) * size(rate / (b - a)), "q")


@law(ci=1)
def law_sensitivities_are_slopes_of_the_motion(rng):
    """By the initial state and a constant torque, against differences of scipy's motions."""
    from attack_plants import pinocchio_rate

    robot = tree(rng, 2)
    n = robot.n
    q0, dq0 = rng.normal(size=(2, n))
    tau = rng.normal(size=n)
    method = str(rng.choice(["dop853", "rk4"]))
    end = 0.3
    record = robot.sensitivities(
        q0,
        dq0,
        duration=end,
        dt=0.01 if method == "dop853" else 0.001,
        method=method,
        tau=tau,
        wrt=("q0", "dq0", "tau"),
        **FREE,
    )
    h = 1e-5

    def final(dx, dtau):
        x = np.concatenate([q0, dq0]) + dx
        rate = pinocchio_rate(robot, lambda t, q, dq: tau + dtau)
        return integrate(rate, x, np.array([0, end]))[-1]

    i = int(rng.integers(n))
    step = np.eye(2 * n)[i] * h
    slope = (final(step, 0) - final(-step, 0)) / (2 * h)
    close(record.by("q0")[-1][:, i], slope, 1e-5 * size(slope), "by q0")
    step = np.eye(2 * n)[n + i] * h
    slope = (final(step, 0) - final(-step, 0)) / (2 * h)
    close(record.by("dq0")[-1][:, i], slope, 1e-5 * size(slope), "by dq0")
    push = np.eye(n)[i] * h
    slope = (final(0 * step, push) - final(0 * step, -push)) / (2 * h)
    close(record.by("tau")[-1][:, i], slope, 1e-5 * size(slope), "by tau")


def law_a_long_rest_is_no_reason_to_miss_a_wave(rng):
    """Torque sin(w t)^20 in the middle of a long rest, smooth, without switches."""
    m, end = float(rng.uniform(0.5, 2)), float(rng.uniform(5, 60))
    centre, width = float(rng.uniform(0.3, 0.7)) * end, float(rng.uniform(0.05, 0.5))
    height = float(rng.normal() * 5)
    note(rng, m=m, end=end, centre=centre, width=width, height=height)

    def force(t):
        s = (t - centre) / width
        inside = where(1 - s * s, 1 - s * s, 0)
        return np.array([height * inside * inside * (1 + 0.3 * sin(5 * t))])

    motion = slider(m).simulate([0.0], duration=end, dt=end / 30, tau=force)
    x = integrate(
        lambda t, x: [x[1], float(force(t)[0]) / m],
        [0, 0],
        motion.t,
        [centre - width, centre, centre + width],
    )
    close(motion.q[:, 0], x[:, 0], 1e-6 * size(x), "q")
