"""Laws of planned motions: limits, resampling, units, reversal, files, inverse kinematics, checks.

Oracles are closed forms, SciPy's splines, Pinocchio's torques and poses composed joint by joint in
NumPy. Every law draws one small case.
"""

import tempfile
import warnings
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attack_case import Skip, law, note

import kinetree as kt
from kinetree import motion

NAMES = ("q", "dq", "ddq")
INERTIA = 2.0  # kg m^2, of the wheel


# -- oracles ---------------------------------------------------------------------------------------


def trapezoid_at(way, v, a, t):
    """s, ds and dds of the fastest way of given length, (T,) each; the later phase counts."""
    v = min(v, np.sqrt(a * way))
    ramp, end = v / a, way / v + v / a
    rising, falling = t < ramp, t >= end - ramp
    back = np.clip(end - t, 0, ramp)
    s = np.where(rising, a * t * t / 2, np.where(falling, way - a * back**2 / 2,
                                                 a * ramp**2 / 2 + v * (t - ramp)))  # fmt: skip
    ds = np.where(rising, a * t, np.where(falling, a * back, v))
    return s, ds, np.where(rising, a, np.where(falling, -a, 0.0)), end


def steps_at(knots, accelerations, v0, q0, t):
    """q, dq and ddq at times t of accelerations that are constant between knots, integrated."""
    h = np.diff(knots)
    v = v0 + np.concatenate([[0], np.cumsum(h * accelerations)])
    q = q0 + np.concatenate([[0], np.cumsum(h * (v[:-1] + v[1:]) / 2)])
    k = np.clip(np.searchsorted(knots, t, "right") - 1, 0, len(h) - 1)
    s, a = t - knots[k], accelerations[k]
    return q[k] + s * (v[k] + s * a / 2), v[k] + s * a, a


def turn(axis, angle):
    """Rotation matrix about a unit axis (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


# -- cases -----------------------------------------------------------------------------------------


def draw_plan(rng: Any) -> motion.Trajectory:
    """A motion of one of the planners."""
    n = int(rng.integers(1, 4))
    q0, q1 = rng.normal(size=n), rng.normal(size=n)
    duration, dt = rng.uniform(0.3, 3), rng.uniform(0.01, 0.2)
    kind = str(rng.choice(["trapezoid", "cubic", "quintic", "spline", "sinusoid", "slower"]))
    note(rng, kind=kind, n=n, q0=q0, q1=q1, duration=duration, dt=dt)
    if kind in ("trapezoid", "slower"):
        if not np.any(q0 != q1):
            raise Skip
        plan = motion.trapezoid(
            q0, q1, acceleration=rng.uniform(0.5, 9), velocity=rng.uniform(0.2, 3), dt=dt
        )
        return plan if kind == "trapezoid" else motion.scale_time(plan, rng.uniform(0.3, 3))
    if kind == "cubic":
        return motion.cubic(q0, q1, duration, dt, dq0=rng.normal(size=n), dq1=rng.normal())
    if kind == "quintic":
        return motion.quintic(q0, q1, duration, dt, dq0=rng.normal(), ddq1=rng.normal(size=n))
    if kind == "sinusoid":
        return motion.sinusoid(q0, q1, rng.uniform(0.1, 2, n), duration, dt, phase=rng.normal())
    points = rng.normal(size=(int(rng.integers(2, 7)), n))
    ends = str(rng.choice(["clamped", "natural", "not-a-knot"]))
    times = np.cumsum(rng.uniform(0.1, 1, len(points)))
    return motion.spline(points, times, dt, ends=ends)


def draw_times(rng: Any, plan: motion.Trajectory, count: int = 40) -> Any:
    """Increasing times within a motion; some are its own samples."""
    own = rng.choice(plan.t, 5)
    times = plan.t[0] + rng.uniform(0, 1, count) * plan.duration
    return np.unique(np.concatenate([times, own]).clip(plan.t[0], plan.t[-1]))


@lru_cache(maxsize=4)
def wheel(viscous: float = 0.0) -> kt.Robot:
    """A wheel about a vertical axis: tau = INERTIA ddq + viscous dq."""
    builder = kt.Builder("wheel").link("base").link("disk", 1.0, (0, 0, 0), np.eye(3) * INERTIA)
    builder.joint("spin", "revolute", "base", "disk", axis=(0, 0, 1),
                  friction=kt.Friction(viscous=viscous))  # fmt: skip
    return builder.build()


@lru_cache(maxsize=4)
def arm(name: str) -> kt.Robot:
    """A robot without friction that Pinocchio can read."""
    return {"panda": kt.robots.panda, "ur5e": kt.robots.ur5e, "scara": kt.robots.scara}[name]()


@lru_cache(maxsize=4)
def pinocchio_of(name: str) -> Any:
    """The same robot in Pinocchio."""
    try:
        import pinocchio
    except ImportError:
        raise Skip from None
    model = pinocchio.buildModelFromXML(arm(name).to_urdf())
    data = model.createData()
    return lambda q, dq, ddq: pinocchio.rnea(model, data, q, dq, ddq)


# -- planners keep their limits --------------------------------------------------------------------


def law_trapezoids_are_their_closed_form(rng: np.random.Generator) -> None:
    """Planned, resampled and written anew: the closed form, and no bound is exceeded anywhere."""
    n = int(rng.integers(1, 5))
    q0, q1 = rng.normal(size=(2, n)) * rng.choice([1e-3, 1.0, 50.0])
    v, a = rng.uniform(0.1, 5, n), rng.uniform(0.1, 20, n)
    way = np.abs(q1 - q0)
    if not way.max() > 1e-6:
        raise Skip
    plan = motion.trapezoid(q0, q1, velocity=v, acceleration=a, dt=rng.uniform(0.005, 0.5))
    share_v, share_a = np.min(v[way > 0] / way[way > 0]), np.min(a[way > 0] / way[way > 0])
    note(rng, q0=q0, q1=q1, v=v, a=a)
    for found in (plan, plan.resample(draw_times(rng, plan, 200))):
        s, ds, dds, end = trapezoid_at(1.0, share_v, share_a, found.t)
        assert abs(plan.duration - end) <= 1e-12 * end, (plan.duration, end)
        away = np.abs(found.t[:, None] - plan.pieces.t).min(axis=1) > 1e-9 * end
        for name, x, size in zip(NAMES, (s, ds, dds), (1, share_v, share_a), strict=True):
            wanted = x[:, None] * (q1 - q0) + (q0 if name == "q" else 0)
            off = np.abs(getattr(found, name) - wanted)[away]
            scale = size * way.max() + np.abs(q0).max() * (name == "q")
            assert off.max(initial=0) <= 1e-10 * scale, (name, off.max())
        assert np.all(np.abs(found.dq) <= v * (1 + 1e-12)), "velocity"
        assert np.all(np.abs(found.ddq) <= a * (1 + 1e-12)), "acceleration"


def law_splines_are_those_of_scipy(rng: np.random.Generator) -> None:
    """Waypoints, ends and all times between: SciPy's cubic spline."""
    try:
        from scipy.interpolate import CubicSpline
    except ImportError:
        raise Skip from None
    points = rng.normal(size=(int(rng.integers(3, 9)), int(rng.integers(1, 4))))
    times = rng.uniform(-5, 5) + np.cumsum(rng.uniform(0.05, 1, len(points)))
    ends = str(rng.choice(["clamped", "natural", "not-a-knot"]))
    plan = motion.spline(points, times, rng.uniform(0.02, 0.3), ends=ends)
    fine = plan.resample(draw_times(rng, plan, 100))
    oracle = CubicSpline(times, points, bc_type=ends)
    for found in (plan, fine):
        for k, name in enumerate(NAMES):
            wanted = oracle(found.t, k)
            off = np.abs(getattr(found, name) - wanted).max()
            assert off <= 1e-9 * (1 + np.abs(wanted).max()), (name, off, ends)


@law(ci=1)
def law_time_optimal_motions_keep_their_torques_at_any_time(rng: np.random.Generator) -> None:
    """Torques by Pinocchio, at random times that no grid was checked at."""
    name = str(rng.choice(["panda", "ur5e", "scara"]))
    robot, torques = arm(name), pinocchio_of(name)
    low, high = np.array([(max(x.limits.lower, -2), min(x.limits.upper, 2))
                          for x in robot.model.joints]).T  # fmt: skip
    count = int(rng.integers(2, 4))
    points = (low + high) / 2 + rng.uniform(-0.4, 0.4, (count, robot.n)) * (high - low)
    if not np.all(np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-3):
        raise Skip
    plan = motion.spline(points, 2.0, robot=robot)
    effort = rng.uniform(1.3, 3) * np.abs(robot.gravity_forces(plan.q)).max(axis=0) + 2
    best = motion.time_optimal(robot, plan, effort=effort, velocity=4.0, intervals=120)
    note(rng, robot=name, points=points, effort=effort)
    fine = best.trajectory.resample(draw_times(rng, best.trajectory, 300))
    tau = np.array([torques(*x) for x in zip(fine.q, fine.dq, fine.ddq, strict=True)])
    assert np.max(np.abs(tau) / effort) <= 1 + 1e-5, np.max(np.abs(tau) / effort)
    assert np.abs(fine.dq).max() <= 4.0 * (1 + 1e-6), np.abs(fine.dq).max()
    ends = np.abs(best.trajectory.q[[0, -1]] - points[[0, -1]]).max()
    assert ends < 1e-9, ends


# -- resampling ------------------------------------------------------------------------------------


def law_resampling_composes(rng: np.random.Generator) -> None:
    """Any times in between change no bit of what is asked for next; nor do files."""
    plan = draw_plan(rng)
    bare = bool(rng.integers(2)) and len(plan) > 1
    if bare:
        plan = motion.Trajectory(t=plan.t, q=plan.q, dq=plan.dq, ddq=plan.ddq)
    plan = plan.replace(tau=np.sin(plan.q))
    before = {name: np.array(getattr(plan, name)) for name in ("t", *NAMES, "tau")}
    first = np.unique([plan.t[0], *draw_times(rng, plan), plan.t[-1]])
    second = draw_times(rng, plan)
    with warnings.catch_warnings():
        if bare:  # few samples of a plan with jumps do not show them, which is a warning
            warnings.simplefilter("ignore", kt.KinetreeWarning)
        with np.errstate(all="raise"):
            direct, again = plan.resample(second), plan.resample(first).resample(second)
            back = plan.resample(first).resample(plan.t)
        for name in (*NAMES, "tau"):
            assert np.array_equal(getattr(direct, name), getattr(again, name)), (name, bare)
            assert np.array_equal(getattr(back, name), getattr(plan, name)), (name, bare)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "motion.npz"
            (again if rng.integers(2) else plan.resample(first)).to_npz(path)
            third = draw_times(rng, again)
            found, wanted = motion.read_npz(path).resample(third), plan.resample(third)
            for name in (*NAMES, "tau"):
                assert np.array_equal(getattr(found, name), getattr(wanted, name)), (name, "npz")
    for name, x in before.items():
        assert np.array_equal(getattr(plan, name), x), f"{name} was changed"


def law_samples_of_jumps_stay_within_their_range(rng: np.random.Generator) -> None:
    """Accelerations that are constant between jumps, sampled anywhere: found to rounding.

    Between two jumps lie five samples or more; ddq of a sample on a jump is that of either side.
    """
    jumps = int(rng.integers(1, 5))
    intervals = [int(rng.integers(5, 9)) for _ in range(jumps + 1)]
    h = rng.uniform(0.01, 0.2) * rng.uniform(0.5, 1.5, sum(intervals))
    t = rng.uniform(-3, 3) + np.concatenate([[0], np.cumsum(h)])
    at = np.cumsum(intervals)[:-1]
    place = np.where(rng.uniform(size=jumps) < 0.3, 0.0, rng.uniform(0.02, 0.98, jumps))
    knots = np.concatenate([[t[0]], t[at] + place * (t[at + 1] - t[at]), [t[-1]]])
    a = rng.uniform(-10, 10, jumps + 1)
    state = rng.normal(), rng.normal()
    q, dq, ddq = steps_at(knots, a, *state, t)
    if rng.integers(2):
        ddq[at] = np.where(place == 0, a[:-1], ddq[at])
    note(rng, t=t, knots=knots, a=a)
    samples = motion.Trajectory(t=t, q=q[:, None], dq=dq[:, None], ddq=ddq[:, None])
    fine = np.unique(rng.uniform(t[0], t[-1], 400))
    found, wanted = samples.resample(fine), steps_at(knots, a, *state, fine)
    least = np.diff(t).min()
    size = 1 + max(np.abs(q).max(), np.abs(dq).max(), np.abs(a).max())
    away = np.abs(fine[:, None] - knots).min(axis=1) > 1e-4 * least
    for name, x, order in zip(NAMES, wanted, range(3), strict=True):
        off = np.abs(getattr(found, name)[:, 0] - x)[away].max()
        assert off <= 1e-9 * size / least**order, (name, off)
    slack = 1e-10 * size / least**2
    assert found.ddq.max() <= a.max() + slack and found.ddq.min() >= a.min() - slack


def law_smooth_samples_follow_the_motion(rng: np.random.Generator) -> None:
    """Sums of sines given as arrays: within h^6, h^5 and h^4 of their derivatives, all over.

    Where the acceleration is almost constant, a slight bend can be taken for a jump of its size;
    what that may change is bounded by 1e-3 of the accelerations (3e-4 is the most seen).
    """
    n = int(rng.integers(1, 4))
    A, w, p = rng.uniform(0.2, 2, (3, n)), rng.uniform(0.5, 4, (3, n)), rng.uniform(0, 6, (3, n))
    h = rng.uniform(0.02, 0.25) / w.max()
    t = np.arange(0, int(rng.integers(8, 60))) * h

    def at(t):
        angle = t[:, None, None] * w + p
        return [np.sum(x, axis=1) for x in (A * np.sin(angle), A * w * np.cos(angle),
                                            -A * w * w * np.sin(angle))]  # fmt: skip

    q, dq, ddq = at(t)
    found = motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq).resample(np.linspace(0, t[-1], 333))
    size = np.sum(A * w**6, axis=0).max() + 1
    for k, (name, x) in enumerate(zip(NAMES, at(found.t), strict=True)):
        off = np.abs(getattr(found, name) - x).max()
        most = size * h ** (6 - k) / (46080, 1500, 100)[k] + 1e-13 / h**k
        most += 1e-3 * np.abs(ddq).max() * h ** (2 - k)
        assert off <= most, (name, off, most, h)


# -- changes of time, unit, direction and order ----------------------------------------------------


def law_time_scales_and_shifts(rng: np.random.Generator) -> None:
    """At 1/f of the speed, and from another hour on, the same places."""
    plan = draw_plan(rng)
    f = rng.uniform(0.2, 5)
    times = draw_times(rng, plan)
    slow = motion.scale_time(plan, f)
    scaled = plan.t[0] + (times - plan.t[0]) * f
    found = slow.resample(np.clip(scaled, slow.t[0], slow.t[-1]))
    wanted = plan.resample(times)
    near = np.abs(times[:, None] - _knots(plan)).min(axis=1) > 1e-9 * plan.duration
    for k, name in enumerate(NAMES):
        x = getattr(wanted, name)
        off = np.abs(getattr(found, name) * f**k - x)[near].max(initial=0)
        size = 1 + np.abs(getattr(plan, name)).max() + np.abs(x).max()
        assert off <= 1e-9 * size / min(1, np.diff(plan.t).min()) ** k, (name, off)
    shift = rng.uniform(-100, 100)
    later = motion.Trajectory(t=plan.t + shift, q=plan.q, dq=plan.dq, ddq=plan.ddq)
    here = motion.Trajectory(t=plan.t, q=plan.q, dq=plan.dq, ddq=plan.ddq)
    with warnings.catch_warnings():
        # a plan of three samples says less than its pieces do, and resampling says so
        warnings.simplefilter("ignore", kt.errors.KinetreeWarning)
        x = later.resample(np.clip(times + shift, later.t[0], later.t[-1]))
        y = here.resample(times)
    off = np.abs(x.q - y.q).max()
    assert off <= 1e-10 * (1 + np.abs(plan.q).max() + np.abs(plan.dq).max()), off


def _knots(plan: motion.Trajectory) -> Any:
    return plan.t if plan.pieces is None else plan.pieces.t


def law_units_scale_motions(rng: np.random.Generator) -> None:
    """Degrees or millimetres and milliseconds: every result is multiplied."""
    n = int(rng.integers(1, 4))
    q0, q1 = rng.normal(size=(2, n))
    if not np.any(q0 != q1):
        raise Skip
    length, time = float(rng.choice([180 / np.pi, 1000.0])), float(rng.choice([1.0, 1000.0]))
    v, a, dt = rng.uniform(0.3, 3), rng.uniform(0.5, 9), rng.uniform(0.01, 0.1)
    one = motion.trapezoid(q0, q1, velocity=v, acceleration=a, dt=dt)
    other = motion.trapezoid(q0 * length, q1 * length, velocity=v * length / time,
                             acceleration=a * length / time**2, dt=dt * time)  # fmt: skip
    points = rng.normal(size=(4, n))
    pairs = [(one, other)]
    pairs += [(motion.spline(points, 2.0, dt), motion.spline(points * length, 2 * time, dt * time)),
              (motion.quintic(q0, q1, 1.5, dt),
               motion.quintic(q0 * length, q1 * length, 1.5 * time, dt * time))]  # fmt: skip
    for one, other in pairs:
        for times in (one.t, np.sort(rng.uniform(0, 1, 30)) * one.duration):
            times = np.unique(times)
            x = one.resample(times)
            y = other.resample(np.clip(times * time, 0, other.t[-1]))
            near = np.abs(times[:, None] - one.pieces.t).min(axis=1) > 1e-9 * one.duration
            for k, name in enumerate(NAMES):
                wanted = getattr(x, name) * length / time**k
                off = np.abs(getattr(y, name) - wanted)[near].max(initial=0)
                assert off <= 1e-9 * np.abs(wanted).max(), (name, one.name, off)


def law_a_way_back_is_the_way_reversed(rng: np.random.Generator) -> None:
    """From q1 to q0 the same places in the other order, at the same bounds."""
    n = int(rng.integers(1, 4))
    q0, q1 = rng.normal(size=(2, n))
    if not np.any(q0 != q1):
        raise Skip
    bounds = {"velocity": rng.uniform(0.3, 3, n), "acceleration": rng.uniform(0.5, 9, n)}
    there, back = (motion.trapezoid(x, y, **bounds) for x, y in ((q0, q1), (q1, q0)))
    points = rng.normal(size=(5, n))
    plans = [(there, back), (motion.spline(points, 2.0), motion.spline(points[::-1], 2.0)),
             (motion.quintic(q0, q1, 2.0), motion.quintic(q1, q0, 2.0))]  # fmt: skip
    for one, other in plans:
        end = one.duration
        times = np.unique(rng.uniform(0, end, 50))
        x, y = one.resample(times), other.resample(np.clip(end - times[::-1], 0, end))
        near = np.abs(times[:, None] - one.pieces.t).min(axis=1) > 1e-9 * end
        for name, sign in zip(NAMES, (1, -1, 1), strict=True):
            off = np.abs(getattr(x, name) - sign * getattr(y, name)[::-1])[near].max(initial=0)
            size = 1 + np.abs(getattr(one, name)).max()
            assert off <= 1e-10 * size, (name, one.name, off)


def law_joints_in_another_order_move_the_same(rng: np.random.Generator) -> None:
    """Columns of planners and of resampled motions do not mix."""
    n = int(rng.integers(2, 6))
    order = rng.permutation(n)
    q0, q1 = rng.normal(size=(2, n))
    if not np.any(q0 != q1):
        raise Skip
    v, a = rng.uniform(0.3, 3, n), rng.uniform(0.5, 9, n)
    one = motion.trapezoid(q0, q1, velocity=v, acceleration=a)
    other = motion.trapezoid(q0[order], q1[order], velocity=v[order], acceleration=a[order])
    points = rng.normal(size=(5, n))
    for x, y in ((one, other), (motion.spline(points, 2.0), None)):
        y = motion.spline(points[:, order], x.pieces.t) if y is None else y
        times = draw_times(rng, x)
        for name in NAMES:
            left, right = (getattr(z.resample(np.clip(times, z.t[0], z.t[-1])), name)
                           for z in (x, y))  # fmt: skip
            assert np.allclose(left[:, order], right, rtol=1e-12, atol=1e-12), (name, x.name)
        bare = motion.Trajectory(t=x.t, q=x.q, dq=x.dq, ddq=x.ddq)
        mixed = motion.Trajectory(t=x.t, q=x.q[:, order], dq=x.dq[:, order], ddq=x.ddq[:, order])
        for name in NAMES:
            left, right = (getattr(z.resample(times), name) for z in (bare, mixed))
            assert np.array_equal(left[:, order], right), (name, "samples")


@law(ci=1)
def law_the_fastest_way_back_takes_as_long(rng: np.random.Generator) -> None:
    """Without friction torques do not change when time runs backwards."""
    robot = arm("ur5e")
    start = np.array([0, -1.2, 1.4, -1.5, -1.5, 0.3])
    points = start + rng.uniform(-0.8, 0.8, (3, 6))
    effort = rng.uniform(1.5, 3) * np.abs(robot.gravity_forces(points)).max(axis=0) + 10
    times = np.array([0, 1, 2.0])
    plan = motion.spline(points, times, robot=robot)
    back = motion.spline(points[::-1], times, robot=robot)
    found = [motion.time_optimal(robot, x, effort=effort, velocity=3.0, intervals=200).duration
             for x in (plan, back)]  # fmt: skip
    assert abs(found[0] - found[1]) <= 1e-2 * found[0], found


# -- files -----------------------------------------------------------------------------------------


def law_files_read_back_to_the_same_bits(rng: np.random.Generator) -> None:
    """CSV and NPZ, with and without forces, numbers of all sizes, names of all kinds.

    Times of a CSV file that begin beyond 1e4 s are counted from the first, in exact decimals.
    """
    T, n = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    t = np.cumsum(rng.uniform(1e-9, 1, T)) * 10.0 ** rng.integers(-6, 7)
    if np.any(np.diff(t) <= 0):
        raise Skip
    arrays = {x: rng.normal(size=(T, n)) * 10.0 ** rng.integers(-300, 300, (T, n)) for x in NAMES}
    tau = rng.normal(size=(T, n)) if rng.integers(2) else None
    names = [f"{rng.choice(['a b', 'ü', 'x,y', '#', 'tau'])} {k}" for k in range(n)]
    made = motion.Trajectory(t=t, **arrays, tau=tau, joint_names=names, name="π, 2")
    note(rng, t=t, names=names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        made.to_csv(path / "a.csv")
        made.to_npz(path / "a.npz")
        exact = [Decimal(repr(x)) for x in t.tolist()]
        counted = [float(x - exact[0]) for x in exact] if t[0] > 1e4 else t
        both = (motion.read_csv(path / "a.csv"), counted), (motion.read_npz(path / "a.npz"), t)
        for found, times in both:
            assert np.array_equal(found.t, times)
            for name in NAMES:
                assert np.array_equal(getattr(found, name), getattr(made, name)), name
            assert (found.tau is None) == (tau is None)
            assert tau is None or np.array_equal(found.tau, tau)
            assert found.joint_names == tuple(names)


# -- inverse kinematics ----------------------------------------------------------------------------


@law(ci=1)
def law_inverse_kinematics_reach_the_pose(rng: np.random.Generator) -> None:
    """Poses by products of rotations and translations, joint by joint, in NumPy."""
    n = int(rng.integers(2, 5))
    axes = rng.normal(size=(n, 3))
    if not np.all(np.linalg.norm(axes, axis=1) > 1e-2):
        raise Skip
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    places = rng.uniform(-0.5, 0.5, (n + 1, 3))
    kinds = [str(x) for x in rng.choice(["revolute", "revolute", "prismatic"], n)]
    builder = kt.Builder("random").link("base")
    for k in range(n):
        limits = kt.Limits(-2.5, 2.5) if kinds[k] == "revolute" else kt.Limits(-0.6, 0.6)
        builder.link(f"link_{k}", 1.0)
        builder.joint(f"joint_{k}", kinds[k], f"link_{k - 1}" if k else "base", f"link_{k}",
                      at=tuple(places[k]), axis=tuple(axes[k]), limits=limits)  # fmt: skip
    builder.frame("tip", f"link_{n - 1}", tuple(places[n]), tool=True)
    robot = builder.build()

    def pose(q):
        R, p = np.eye(3), np.zeros(3)
        for k in range(n):
            p = p + R @ places[k]
            if kinds[k] == "revolute":
                R = R @ turn(axes[k], q[k])
            else:
                p = p + R @ axes[k] * q[k]
        return R, p + R @ places[n]

    wide = np.array([2.5 if kind == "revolute" else 0.6 for kind in kinds])
    goal = rng.uniform(-1, 1, n) * wide
    near = np.clip(goal + rng.normal(size=n) * 0.05, -wide, wide)
    R, p = pose(goal)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    part = str(rng.choice(["pose", "position"]))
    note(rng, axes=axes, places=places, kinds=kinds, goal=goal, part=part)
    try:
        q = robot.inverse_kinematics(T, near, part=part, restarts=3)
    except kt.errors.InputError:
        raise Skip from None  # it may say that it did not find the way
    R_found, p_found = pose(q)
    assert np.all(np.abs(q) <= wide * (1 + 1e-12)), q
    assert np.abs(p_found - p).max() <= 1e-9, p_found - p
    assert part == "position" or np.abs(R_found - R).max() <= 1e-9, R_found - R


# -- checks of limits ------------------------------------------------------------------------------


def law_verdicts_agree_with_brute_force(rng: np.random.Generator) -> None:
    """A wheel with viscous friction: peaks of position, speed and torque from dense formulas."""
    viscous = float(rng.choice([0.0, 0.5]))
    robot = wheel(viscous)
    kind = str(rng.choice(["sine", "trapezoid"]))
    if kind == "sine":
        A, f, p = rng.uniform(0.2, 2), rng.uniform(0.3, 2), rng.uniform(0, 6)
        duration = rng.uniform(0.5, 3)
        plan = motion.sinusoid([0], [A], [f], duration, 0.012 / f, phase=p, robot=robot)
        t, w = np.linspace(0, duration, 40001), 2 * np.pi * f
        dq, ddq = A * w * np.cos(w * t + p), -A * w * w * np.sin(w * t + p)
        margin = 1e-4
    else:
        v, a = rng.uniform(0.3, 2), rng.uniform(0.5, 6)
        plan = motion.trapezoid([0], [1], velocity=v, acceleration=a, dt=0.02, robot=robot)
        t = np.concatenate([np.linspace(0, plan.duration, 20001),
                            plan.pieces.t, plan.pieces.t - 1e-12])  # fmt: skip
        _, dq, ddq, _ = trapezoid_at(1.0, v, a, t.clip(0))
        margin = 1e-5
    tau = INERTIA * ddq + viscous * dq
    peaks = {"speed": np.abs(dq).max(), "torque": np.abs(tau).max()}
    quantity = str(rng.choice(["speed", "torque"]))
    side = float(rng.choice([-1, 1]))
    limit = peaks[quantity] * (1 + side * (margin + rng.uniform(0, 0.3)))
    given = {"velocity": limit} if quantity == "speed" else {"effort": limit}
    report = robot.check(plan, **given)
    note(rng, kind=kind, limit=limit, peaks=peaks)
    assert report.ok == (side > 0), (quantity, limit, peaks[quantity])
    if side < 0:
        assert report.violated("spin", quantity)
        worst = max(abs(x.value) for x in report.violations)
        assert abs(worst - peaks[quantity]) <= 1e-4 * peaks[quantity], worst
        if quantity == "speed":
            assert abs(report.slower - peaks[quantity] / limit) <= 1e-4 * report.slower


# -- references ------------------------------------------------------------------------------------


@law(ci=1)
def law_controllers_follow_the_pieces(rng: np.random.Generator) -> None:
    """Computed torque of an exact model, from the start on: the closed form, at any samples."""
    robot = wheel()
    way, v, a = rng.uniform(0.2, 3), rng.uniform(0.3, 2), rng.uniform(0.5, 6)
    end = trapezoid_at(way, v, a, np.zeros(1))[3]
    plan = motion.trapezoid([0.0], [way], velocity=v, acceleration=a, robot=robot,
                            dt=float(rng.choice([0.01, 0.1, 1.0])))  # fmt: skip
    if rng.integers(2):
        plan = plan.replace(pieces=None)  # jumps are found from the samples
    law_of_control = kt.controllers.ComputedTorque(plan, kp=40.0, kd=12.0)
    run = robot.simulate([0.0], [0.0], controller=law_of_control, duration=end * 0.999, dt=end / 50)
    s, ds, _, _ = trapezoid_at(way, v, a, run.t)
    note(rng, way=way, v=v, a=a, samples=len(plan))
    assert np.abs(run.q[:, 0] - s).max() <= 1e-6 * way, np.abs(run.q[:, 0] - s).max()
    assert np.abs(run.dq[:, 0] - ds).max() <= 1e-5 * v, np.abs(run.dq[:, 0] - ds).max()
    assert np.abs(run.tau).max() <= INERTIA * a * (1 + 1e-5), np.abs(run.tau).max() / (INERTIA * a)
