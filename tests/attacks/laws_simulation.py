"""Laws of simulation: other integrators, splitting, shifting, turning, units, batches."""

import numpy as np
from attack_case import law, note
from attack_plants import (
    close,
    integrate,
    pendulum,
    pendulum_motion,
    pinocchio_rate,
    placement,
    quaternion_matrix,
    size,
    slider,
    tree,
    unit,
)

import kinetree as kt
from kinetree.scalars import cos, sin, where
from kinetree.simulate import event, signal

FREE = {"limits": "ignore"}


def start(rng, n):
    """A random state."""
    return rng.normal(size=n), rng.normal(size=n)


def waves(rng, n, strength=3.0):
    """Torques a sin(w t + p) - d dq as a law of (t, q, dq)."""
    a, w, p = rng.normal(size=n) * strength, rng.uniform(0.5, 6, n), rng.uniform(0, 6, n)
    d = rng.uniform(0.1, 1, n)
    note(rng, a=a, w=w, p=p, d=d)
    return lambda t, q, dq: np.array([a[i] * sin(w[i] * t + p[i]) - d[i] * dq[i] for i in range(n)])


def law_motion_against_pinocchio(rng):
    """Random trees under a law of time and rates: scipy integrates pin.aba."""
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n)
    end = float(rng.uniform(0.1, 1.5))
    motion = robot.simulate(q0, dq0, duration=end, tau=tau, rtol=1e-10, atol=1e-12, **FREE)
    x = integrate(pinocchio_rate(robot, tau), np.concatenate([q0, dq0]), motion.t)
    close(motion.q, x[:, : robot.n], 1e-6 * size(x), "q")
    close(motion.dq, x[:, robot.n :], 1e-5 * size(x), "dq")
    rate = pinocchio_rate(robot, tau)
    for k in (0, len(x) // 2, -1):  # the record: forces and accelerations at the samples
        t, q, dq = motion.t[k], motion.q[k], motion.dq[k]
        forces = np.asarray(tau(t, q, dq), float)
        close(motion.tau[k], forces, 1e-9 * size(forces), "tau of the record")
        ddq = rate(t, np.concatenate([q, dq]))[robot.n :]
        close(motion.ddq[k], ddq, 1e-8 * size(ddq), "ddq of the record")


def law_constant_wrenches_against_pinocchio(rng):
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    wrench = rng.normal(size=(len(robot.model.links), 6)) * 2
    tau = rng.normal(size=robot.n)
    motion = robot.simulate(q0, dq0, duration=0.6, tau=tau, F_ext=wrench, rtol=1e-10, **FREE)
    rate = pinocchio_rate(robot, lambda t, q, dq: tau, wrench)
    x = integrate(rate, np.concatenate([q0, dq0]), motion.t)
    close(motion.q, x[:, : robot.n], 1e-6 * size(x), "q")


def law_pendulum_follows_elliptic_functions(rng):
    """Swings and turns over for up to 40 s, at the default tolerance."""
    g, length = float(rng.uniform(1, 20)), float(rng.uniform(0.2, 3))
    rate = np.sqrt(g / length)
    q0, dq0 = float(rng.uniform(-3, 3)), float(rng.normal() * rate * 2)
    energy = (dq0 / (2 * rate)) ** 2 + np.sin(q0 / 2) ** 2
    if abs(energy - 1) < 1e-2:
        dq0 *= 1.1
    end, dt = float(rng.uniform(0.5, 40)), float(rng.uniform(0.005, 0.5))
    robot = pendulum(float(rng.uniform(0.1, 5)), length, g)
    motion = robot.simulate([q0], [dq0], duration=end, dt=dt)
    q, dq = pendulum_motion(q0, dq0, rate, motion.t)
    allowed = 2e-7 * (1 + rate * end) * (1 + abs(dq0)) * 10
    close(motion.q[:, 0], q, allowed, "q")
    close(motion.dq[:, 0], dq, allowed * max(rate, 1), "dq")
    assert motion.t[-1] == end


def law_splitting_a_run_changes_nothing(rng):
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n)
    method = str(rng.choice(["dop853", "rk4"]))
    steps, cut = 400, int(rng.integers(1, 400))
    dt = 1 / 512
    options = {"method": method, "dt": dt, "rtol": 1e-10, "atol": 1e-12, **FREE}
    whole = robot.simulate(q0, dq0, duration=steps * dt, tau=tau, **options)
    first = robot.simulate(q0, dq0, duration=cut * dt, tau=tau, **options)
    shift = cut * dt

    def later(t, q, dq):
        return tau(t + shift, q, dq)

    rest = robot.simulate(
        first.q[-1], first.dq[-1], duration=(steps - cut) * dt, tau=later, **options
    )
    tolerance = (1e-6 if method == "dop853" else 1e-9) * size(whole.q) * size(whole.dq)
    close(first.q, whole.q[: cut + 1], tolerance, "first part")
    close(rest.q, whole.q[cut:], tolerance, "second part")


def law_one_law_in_every_form_gives_one_motion(rng):
    """Piecewise linear torques as a signal, functions, a controller and plain Python."""
    robot = tree(rng, 3)
    n = robot.n
    q0, dq0 = start(rng, n)
    knots = np.cumsum(rng.uniform(0.05, 0.4, 5))
    values = rng.normal(size=(5, n)) * 3
    kind = str(rng.choice(["linear", "hold"]))
    note(rng, knots=knots, values=values, kind=kind)

    def traced(t):
        tau = values[0] + 0 * t
        for k in range(4):
            a, b = knots[k], knots[k + 1]
            if kind == "linear":
                piece = values[k] + (values[k + 1] - values[k]) * ((t - a) / (b - a))
            else:
                piece = values[k] + 0 * t
            tau = np.array([where(t - a, x, y) for x, y in zip(piece, tau, strict=True)])
        return np.array([where(t - knots[4], x, y) for x, y in zip(values[4], tau, strict=True)])

    def python(t, q, dq):
        t = float(t)
        if kind == "linear":
            return np.array([np.interp(t, knots, column) for column in values.T])
        return values[max(0, int(np.searchsorted(knots, t, side="right")) - 1)]

    forms = {
        "signal": {"tau": signal(knots, values, kind=kind)},
        "function of t": {"tau": traced},
        "law of t, q, dq": {"tau": lambda t, q, dq: traced(t)},
        "controller": {"controller": kt.controllers.Law(lambda t, q, dq: traced(t))},
        "function as controller": {"controller": lambda t, q, dq: traced(t)},
    }
    end = float(knots[4] * rng.uniform(0.5, 1.3))
    x = integrate(
        pinocchio_rate(robot, python), np.concatenate([q0, dq0]), np.array([0, end]), list(knots)
    )
    for name, form in forms.items():
        motion = robot.simulate(q0, dq0, duration=end, dt=end / 7, **form, **FREE)
        close(motion.q[-1], x[-1, :n], 2e-6 * size(x), f"q with a {name}")
        close(motion.tau[-1], python(end, None, None), 1e-9 * size(values), f"tau of a {name}")
    form = str(rng.choice(sorted(forms)))
    steps = 2000  # a jump inside a step of rk4 costs about its length
    fixed = robot.simulate(
        q0, dq0, duration=end, dt=end / steps, method="rk4", **forms[form], **FREE
    )
    allowed = 30 * end / steps * size(values) if kind == "hold" else 1e-4
    close(fixed.q[-1], x[-1, :n], allowed * size(x), f"rk4 with a {form}")


@law(ci=1)
def law_untraceable_laws_give_the_same_motion(rng):
    """A law in plain Python, with an if on time, against the same law traced."""
    robot = slider(float(rng.uniform(0.5, 2)))
    m = float(robot.model.m[0])
    push, k = float(rng.normal() * 5), float(rng.uniform(0.1, 5))
    a = float(rng.uniform(0.1, 0.9))
    q0, dq0 = float(rng.normal()), float(rng.normal())

    def python(t, q, dq):
        return np.array([push if float(t) > a else -k * float(q[0])])

    motion = robot.simulate([q0], [dq0], duration=1.5, tau=python, **FREE)

    def rate(t, x):
        return [x[1], (push if t > a else -k * x[0]) / m]

    x = integrate(rate, [q0, dq0], motion.t, [a])
    close(motion.q[:, 0], x[:, 0], 1e-5 * size(x), "q")


def law_waiting_before_a_push_only_delays_it(rng):
    """At rest without gravity for c seconds, then pushed: the motion of the push alone, later."""
    robot = tree(rng, 3, gravity=(0, 0, 0))
    n = robot.n
    q0 = rng.normal(size=n)
    wait, width = float(rng.uniform(0.5, 60)), float(10 ** rng.uniform(-2.5, 0))
    push = rng.normal(size=n) * 2 / max(width, 0.05)
    note(rng, wait=wait, width=width, push=push)

    def bump(t):
        on = where(t, where(width - t, 1, 0), 0) * sin(np.pi / width * t) ** 2
        return np.array([p * on for p in push])

    extra = 0.5
    dt = (width + extra) / 16
    at_once = robot.simulate(q0, duration=width + extra, dt=dt, tau=bump, rtol=1e-10, **FREE)
    later = robot.simulate(
        q0,
        duration=wait + width + extra,
        dt=(wait + width + extra) / 8,
        tau=lambda t: bump(t - wait),
        rtol=1e-10,
        **FREE,
    )
    tolerance = 2e-6 * size(at_once.q) * size(at_once.dq)
    close(later.q[-1], at_once.q[-1], tolerance, "q at the end")
    close(later.dq[-1], at_once.dq[-1], tolerance * 10, "dq at the end")


def law_a_pulse_is_never_missed(rng):
    """A short constant force on a free slider: position and rate in closed form."""
    m = float(rng.uniform(0.2, 5))
    robot = slider(m)
    end = float(10 ** rng.uniform(-0.5, 2))
    width = float(10 ** rng.uniform(-3, -1) * min(1, end))
    a = float(rng.uniform(0, end - width))
    force = float(rng.normal() * 10)
    note(rng, m=m, end=end, width=width, a=a, force=force)

    def pulse(t):
        return np.array([force * where(t - a, where(a + width - t, 1, 0), 0)])

    form = int(rng.integers(3))
    how = [
        {"tau": pulse},
        {"tau": lambda t, q, dq: pulse(t)},
        {"controller": kt.controllers.Law(lambda t, q, dq: pulse(t))},
    ][form]
    motion = robot.simulate([0.0], duration=end, dt=end / 50, **how)
    t = motion.t
    inside = np.clip(t - a, 0, width)
    dq = force / m * inside
    q = force / m * (inside**2 / 2 + width * np.clip(t - a - width, 0, None))
    scale = 1e-7 * abs(force / m) * width * (1 + end) + 1e-9
    close(motion.q[:, 0], q, scale, "q")
    close(motion.dq[:, 0], dq, scale, "dq")


def law_a_reference_with_a_bump_is_followed(rng):
    """PD on a slider whose reference moves between a and b only; scipy restarts there."""
    m = float(rng.uniform(0.5, 2))
    robot = slider(m)
    kp, kd = float(rng.uniform(5, 200)), float(rng.uniform(1, 20))
    a = float(rng.uniform(0.2, 20))
    width, height = float(rng.uniform(0.02, 1)), float(rng.normal())
    end = a + width + float(rng.uniform(0, 3))
    note(rng, m=m, kp=kp, kd=kd, a=a, width=width, height=height, end=end)

    def reference(t):
        s = (t - a) / width
        on = where(s, where(1 - s, 1, 0), 0)
        w = np.pi / width
        return (
            np.array([on * height * sin(w * (t - a)) ** 2]),
            np.array([on * height * 2 * w * sin(w * (t - a)) * cos(w * (t - a))]),
        )

    motion = robot.simulate(
        [0.0], duration=end, controller=kt.controllers.PD(reference, kp, kd), rtol=1e-9, **FREE
    )

    def rate(t, x):
        q, dq = (float(part[0]) for part in reference(t))
        return [x[1], (kp * (q - x[0]) + kd * (dq - x[1])) / m]

    x = integrate(rate, [0, 0], motion.t, [a, a + width])
    close(motion.q[:, 0], x[:, 0], 1e-6 * size(x), "q")


def law_turning_the_base_changes_nothing(rng):
    """The robot moved and turned together with gravity: the same joint motion."""
    seed = int(rng.integers(2**40))
    plain = tree(np.random.default_rng(seed))
    turned = tree(np.random.default_rng(seed), base=placement(rng))
    q0, dq0 = start(rng, plain.n)
    tau = waves(rng, plain.n)
    method = str(rng.choice(["dop853", "rk4"]))
    options = {"duration": 0.8, "tau": tau, "method": method, "rtol": 1e-10, **FREE}
    a, b = plain.simulate(q0, dq0, **options), turned.simulate(q0, dq0, **options)
    close(b.q[-1], a.q[-1], 1e-6 * size(a.q) * size(a.dq), "q")
    close(b.tau[-1], a.tau[-1], 1e-5 * size(a.tau) * size(a.dq), "tau")


def law_units_scale_the_motion(rng):
    """mm, g and ms: positions of slides in mm, times in ms, everything else follows."""
    seed = int(rng.integers(2**40))
    L, W, S = (float(rng.choice([1, 1e3, 1e-2])) for _ in range(3))
    plain = tree(np.random.default_rng(seed))
    scaled = tree(np.random.default_rng(seed), scale=(L, W, S))
    types = [joint.type for joint in plain.model.joints]
    length = np.array([L if kind == "prismatic" else 1.0 for kind in types])
    force = W * L**2 / S**2 / length
    q0, dq0 = start(rng, plain.n)
    tau = rng.normal(size=plain.n) * 2
    note(rng, scales=(L, W, S), types=types)
    end = 0.5
    a = plain.simulate(q0, dq0, duration=end, dt=0.05, tau=tau, rtol=1e-10, atol=1e-12, **FREE)
    b = scaled.simulate(
        q0 * length,
        dq0 * length / S,
        duration=end * S,
        dt=0.05 * S,
        tau=tau * force,
        rtol=1e-10,
        atol=1e-12 * min(length.min(), 1) * min(1, 1 / S),
        **FREE,
    )
    close(b.t / S, a.t, 1e-12, "t")
    close(b.q / length, a.q, 1e-6 * size(a.q) * size(a.dq), "q")
    close(b.dq / length * S, a.dq, 1e-5 * size(a.q) * size(a.dq), "dq")
    close(b.ddq / length * S**2, a.ddq, 1e-4 * size(a.ddq) * size(a.dq), "ddq")
    fixed = {"method": "rk4", **FREE}
    a = plain.simulate(q0, dq0, duration=0.1, dt=0.001, tau=tau, **fixed)
    b = scaled.simulate(
        q0 * length, dq0 * length / S, duration=0.1 * S, dt=0.001 * S, tau=tau * force, **fixed
    )
    close(b.q / length, a.q, 1e-9 * size(a.q) * size(a.dq), "q of rk4")


def law_finer_output_changes_no_sample(rng):
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n)
    finer = int(rng.integers(2, 9))
    method = str(rng.choice(["dop853", "rk4"]))
    coarse_dt = 1 / 32
    if method == "dop853":
        coarse = robot.simulate(q0, dq0, duration=0.75, dt=coarse_dt, tau=tau, **FREE)
        fine = robot.simulate(q0, dq0, duration=0.75, dt=coarse_dt / finer, tau=tau, **FREE)
    else:
        options = {"duration": 0.75, "dt": 1 / 1024, "method": method, "tau": tau, **FREE}
        coarse = robot.simulate(q0, dq0, every=finer * 4, **options)
        fine = robot.simulate(q0, dq0, every=4, **options)
    same = np.searchsorted(fine.t, coarse.t - 1e-9)
    close(fine.t[same], coarse.t, 1e-12, "t")
    tolerance = 1e-11
    for part in ("q", "dq", "ddq", "tau"):
        expected = getattr(coarse, part)
        close(getattr(fine, part)[same], expected, tolerance * size(expected) * 10, part)


def law_samples_equal_the_ends_of_shorter_runs(rng):
    """Dense output: a sample inside a step is where a run with that duration ends."""
    robot = tree(rng, 3)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n, 1.0)
    motion = robot.simulate(q0, dq0, duration=1.0, dt=1 / 64, tau=tau, **FREE)
    k = int(rng.integers(1, 64))
    ended = robot.simulate(
        q0, dq0, duration=float(motion.t[k]), dt=1 / 64, tau=tau, rtol=1e-11, atol=1e-13, **FREE
    )
    scale = size(motion.q) * size(motion.dq)
    close(motion.q[k], ended.q[-1], 1e-6 * scale, "q")
    close(motion.dq[k], ended.dq[-1], 1e-5 * scale, "dq")


def law_an_event_changes_no_motion(rng):
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n)
    level = float(rng.normal() * 0.5)
    i = int(rng.integers(robot.n))
    options = {"duration": 0.8, "tau": tau, **FREE}
    plain = robot.simulate(q0, dq0, **options)
    watched = robot.simulate(
        q0,
        dq0,
        events=[event(lambda t, q, dq: q[i] - level), event(lambda t, q, dq: sin(20 * t) - dq[i])],
        **options,
    )
    for part in ("t", "q", "dq", "ddq", "tau"):
        expected = getattr(plain, part)
        close(getattr(watched, part), expected, 1e-12 * size(expected), part)


def law_batches_equal_single_runs(rng):
    """Every rollout of a batch has the bits of its own run."""
    robot = tree(rng)
    count = int(rng.integers(2, 12))
    q0, dq0 = rng.normal(size=(count, robot.n)), rng.normal(size=(count, robot.n))
    gains = waves(rng, robot.n)
    method = str(rng.choice(["dop853", "rk4", "semi_implicit_euler"]))
    options = {"duration": 0.3, "tau": gains, "method": method, **FREE}
    batch = robot.simulate(q0, dq0, **options)
    for k in {0, count // 2, count - 1}:
        single = robot.simulate(q0[k], dq0[k], **options)
        for part in ("q", "dq", "ddq", "tau"):
            found, expected = getattr(batch, part)[:, k], getattr(single, part)
            assert np.array_equal(found, expected), (
                f"{part} of rollout {k} of {count}, {method}: "
                f"differs by {np.abs(found - expected).max():.3g}"
            )


def law_methods_agree(rng):
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n)
    adaptive = robot.simulate(q0, dq0, duration=0.5, tau=tau, rtol=1e-11, atol=1e-13, **FREE)
    errors = []
    for dt in (1 / 1024, 1 / 2048):
        fixed = robot.simulate(q0, dq0, duration=0.5, dt=dt, method="rk4", tau=tau, **FREE)
        errors.append(np.abs(fixed.q[-1] - adaptive.q[-1]).max())
    floor = 1e-8 * size(adaptive.q) * size(adaptive.dq)
    assert errors[1] < max(errors[0] / 6, floor), f"errors of rk4 at dt and dt/2: {errors}"


def law_energy_is_kept(rng):
    """Without friction and torques; energies by Pinocchio."""
    import pinocchio as pin
    from pinocchio_model import twin

    robot = tree(rng, armature=False)
    q0, dq0 = start(rng, robot.n)
    motion = robot.simulate(q0, dq0, duration=3.0, dt=0.05, **FREE)
    double = twin(robot.model)
    data, order = double.theirs.createData(), double.order
    energy, kinetic = [], []
    for q, dq in zip(motion.q, motion.dq, strict=True):
        T = pin.computeKineticEnergy(double.theirs, data, double.q(q), dq[order])
        kinetic.append(T)
        energy.append(T + pin.computePotentialEnergy(double.theirs, data, double.q(q)))
    assert np.ptp(energy) < 1e-6 * max(1.0, *kinetic), f"energy changes by {np.ptp(energy):.3g}"


def law_work_of_torques_is_the_change_of_energy(rng):
    robot = tree(rng)
    q0, dq0 = start(rng, robot.n)
    tau = waves(rng, robot.n)
    motion = robot.simulate(q0, dq0, duration=1.0, dt=1 / 1024, tau=tau, **FREE)
    energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
    power = (motion.tau * motion.dq).sum(-1)
    work = (power[0:-2:2] + 4 * power[1:-1:2] + power[2::2]).sum() / 3 / 1024  # Simpson
    scale = 1 + np.abs(power).max()
    close(energy[-1] - energy[0], work, 1e-6 * scale * size(motion.dq), "energy")


def law_a_thrown_robot_keeps_its_momentum(rng):
    """A free base: momentum about the origin changes by gravity alone."""
    gravity = rng.normal(size=3) * 5
    builder = kt.Builder("thrown", gravity=gravity).link("world")
    from attack_plants import body

    names = ["body0"]
    builder.link("body0", *body(rng)).joint("base", "free", "world", "body0")
    for i in range(int(rng.integers(0, 3))):
        builder.link(f"body{i + 1}", *body(rng))
        builder.joint(
            f"joint{i}",
            str(rng.choice(["revolute", "spherical", "prismatic"])),
            names[-1],
            f"body{i + 1}",
            at=placement(rng),
        )
        names.append(f"body{i + 1}")
    robot = builder.build()
    q0 = robot.neutral()
    q0[:4], q0[4:7] = unit(rng.normal(size=4), (1, 0, 0, 0)), rng.normal(size=3)
    dq0 = rng.normal(size=robot.n)
    method = str(rng.choice(["dop853", "rk4"]))
    motion = robot.simulate(q0, dq0, duration=1.0, method=method, **FREE)
    momentum = robot.momentum(motion.q, motion.dq)
    mass = float(np.sum(robot.model.m))
    t = motion.t[:, None]
    scale = size(momentum) * size(motion.q) * 10
    close(momentum[:, 3:], momentum[0, 3:] + mass * gravity * t, 1e-7 * scale, "linear")
    com = robot.center_of_mass(motion.q)
    fall = com[0] + momentum[0, 3:] / mass * t + gravity * t**2 / 2
    close(com, fall, 1e-7 * scale, "centre of mass")
    turning = np.cross(fall, mass * gravity)
    dt = motion.t[1] - motion.t[0]
    assert len(t) % 2 == 1
    moment = (turning[0:-2:2] + 4 * turning[1:-1:2] + turning[2::2]).sum(0) * dt / 3
    close(momentum[-1, :3], momentum[0, :3] + moment, 1e-7 * scale, "angular")
    close(np.linalg.norm(motion.q[:, :4], axis=1), 1.0, 1e-12, "length of the quaternion")


def law_a_free_body_follows_eulers_equations(rng):
    """Rotation of one body against scipy on Euler's equations and quaternions."""
    I = np.diag(rng.uniform(0.1, 0.3, 3) + 0.15)
    builder = kt.Builder("top", gravity=(0, 0, 0)).link("world").link("body", 1.0, (0, 0, 0), I)
    robot = builder.joint("ball", "spherical", "world", "body").build()
    p0 = unit(rng.normal(size=4), (1, 0, 0, 0))
    omega0 = rng.normal(size=3) * 3
    motion = robot.simulate(p0, omega0, duration=2.0, dt=0.1, rtol=1e-10, atol=1e-12)

    def rate(t, x):
        p, w = x[:4], x[4:]
        dp = np.concatenate([[-p[1:] @ w], p[0] * w + np.cross(p[1:], w)]) / 2
        return np.concatenate([dp, np.linalg.solve(I, np.cross(I @ w, w))])

    x = integrate(rate, np.concatenate([p0, omega0]), motion.t)
    for k in range(len(x)):
        R = quaternion_matrix(x[k, :4] / np.linalg.norm(x[k, :4]))
        close(quaternion_matrix(motion.q[k]), R, 1e-6, "rotation")
    close(motion.dq, x[:, 4:], 1e-6, "omega")


def law_pid_integrates_its_error(rng):
    """The integral as a third state in scipy."""
    m = float(rng.uniform(0.5, 3))
    robot = slider(m)
    kp, kd, ki = float(rng.uniform(10, 60)), float(rng.uniform(5, 10)), float(rng.uniform(1, 20))
    goal, force = float(rng.normal()), float(rng.normal())
    bound = [None, 0.05][int(rng.integers(2))]
    pid = kt.controllers.PID([goal], kp=kp, kd=kd, ki=ki)
    motion = robot.simulate([0.0], duration=3.0, dt=0.1, controller=pid, tau=[force], **FREE)

    def rate(t, x):
        e = goal - x[0]
        return [x[1], (kp * e - kd * x[1] + ki * x[2] + force) / m, e]

    x = integrate(rate, [0, 0, 0], motion.t)
    close(motion.q[:, 0], x[:, 0], 1e-6 * size(x), "q")
    if bound is not None:
        pid = kt.controllers.PID([goal], kp=kp, kd=kd, ki=ki, bound=bound)
        motion = robot.simulate([0.0], duration=3.0, controller=pid, tau=[force], **FREE)
        z = np.asarray(motion.meta["controller_state"])
        # what is beyond the bound is drawn back within a millisecond, and does not act
        most = bound + 1.1e-3 * float(np.abs(goal - motion.q).max())
        assert np.abs(z).max() <= most, f"integral {np.abs(z).max()}, bound {bound}"
        acts = motion.tau - (kp * (goal - motion.q) - kd * motion.dq) - force
        assert np.abs(acts).max() <= ki * bound * (1 + 1e-9) + 1e-9 * kp, "acts beyond its bound"


def law_free_parameters_equal_other_robots(rng):
    """A batch over masses against robots built with these masses."""
    seed = int(rng.integers(2**40))
    robot = tree(np.random.default_rng(seed), 3)
    q0, dq0 = start(rng, robot.n)
    factor = rng.uniform(0.5, 2, (3, len(robot.model.links)))
    method = str(rng.choice(["dop853", "rk4"]))
    options = {"duration": 0.3, "method": method, **FREE}
    batch = robot.simulate(q0, dq0, parameters={"mass": robot.model.m * factor}, **options)
    k = int(rng.integers(3))
    x = integrate(_heavier(robot, factor[k]), np.concatenate([q0, dq0]), batch.t[[0, -1]])
    close(batch.q[-1, k], x[-1, : robot.n], 1e-6 * size(x) * size(dq0), "q")


def _heavier(robot, factor):
    """Rates of a robot with other masses and the same centres and inertias about them."""
    import pinocchio as pin
    from pinocchio_model import twin

    double = twin(robot.model)
    for i, link in enumerate(double.links):
        body = double.theirs.inertias[i + 1]
        double.theirs.inertias[i + 1] = pin.Inertia(
            body.mass * float(factor[link]), body.lever, body.inertia
        )
    data, order, n = double.theirs.createData(), double.order, robot.n
    back = np.argsort(order)

    def rate(t, x):
        ddq = pin.aba(double.theirs, data, double.q(x[:n]), x[n:][order], np.zeros(n))
        return np.concatenate([x[n:], ddq[back]])

    return rate
