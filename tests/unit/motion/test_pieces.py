"""Between its samples a motion is what its planner made; samples alone ask for no more than needed.

The oracles are closed forms, SciPy's splines and Pinocchio's torques.
"""

from fractions import Fraction

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, KinetreeWarning, ShapeError
from kinetree.motion import (
    Trajectory,
    cubic,
    excitation,
    quintic,
    read_csv,
    read_npz,
    resample,
    scale_time,
    sinusoid,
    spline,
    straight_line,
    time_optimal,
    trapezoid,
)
from kinetree.motion.curve.between import Interpolant
from kinetree.motion.curve.pieces import Polynomials
from kinetree.simulate.core.sources import sample_motion
from motion_robots import PANDA_END, PANDA_START, wheel

NAMES = ("q", "dq", "ddq")


def trapezoid_formula(q0, q1, v, a, t):
    """q, dq and ddq of one joint in exact fractions; where a phase ends, the next one counts."""
    q0, q1, v, a = (Fraction(x) for x in (q0, q1, v, a))
    way, sign = abs(q1 - q0), 1 if q1 > q0 else -1
    ramp = v / a
    end = way / v + ramp
    rows = []
    for x in map(Fraction, t):
        if x < ramp:
            s, ds, dds = a * x * x / 2, a * x, a
        elif x < end - ramp:
            s, ds, dds = a * ramp * ramp / 2 + v * (x - ramp), v, 0
        else:
            s, ds, dds = way - a * (end - x) ** 2 / 2, a * (end - x), -a
        rows.append([float(q0 + sign * s), float(sign * ds), float(sign * dds)])
    return np.array(rows).T


# phases of 0.25 s and 0.5 s: every knot is a fraction that floats can hold
PLAN = trapezoid([1.0], [-0.875], velocity=1.25 * 2, acceleration=5 * 2, dt=0.01)
GRIDS = [0.01, 0.003, 0.00137, 0.1, 0.2499, 0.5]


@pytest.mark.parametrize("grid", GRIDS)
def test_a_trapezoid_never_exceeds_its_acceleration(grid):
    """It was 37 % too much next to the ends of the phases."""
    plan = trapezoid([0, 1], [2, 0.3], acceleration=5, velocity=1.3)
    fine = plan.resample(grid)
    assert np.abs(fine.ddq).max() <= 5 * (1 + 1e-15)
    assert np.abs(fine.dq).max() <= 1.3 * (1 + 1e-14)
    assert np.all(np.isin(np.abs(fine.ddq[:, 0]), [0.0, np.abs(plan.ddq[0, 0])]))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("known", ["planned", "samples alone"])
def test_a_trapezoid_is_its_closed_form_at_any_time(grid, known):
    motion = PLAN if known == "planned" else PLAN.replace(pieces=None)
    found = motion.resample(grid)
    wanted = trapezoid_formula(1.0, -0.875, 2.5, 10, found.t)
    for name, x, off in zip(NAMES, wanted, (1e-14, 1e-13, 1e-9), strict=True):
        assert np.allclose(getattr(found, name)[:, 0], x, rtol=0, atol=off), name
    assert np.abs(found.ddq).max() <= 10 * (1 + 1e-11)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("side", ["after", "before"])
def test_samples_anywhere_find_the_jumps_of_a_trapezoid(seed, side):
    """Jumps lie inside the intervals; at a sample on a jump, ddq may be that of either side."""
    rng = np.random.default_rng(seed)
    inner = rng.uniform(0.03, 0.97, 25) * PLAN.duration
    t = np.unique([0, *inner, *rng.choice(PLAN.pieces.jumps, 1), PLAN.duration])
    q, dq, ddq = PLAN.pieces(t, before=side == "before")
    samples = Trajectory(t=t, q=q, dq=dq, ddq=ddq)
    fine = samples.resample(0.00137)
    wanted = trapezoid_formula(1.0, -0.875, 2.5, 10, fine.t)
    assert np.abs(fine.ddq).max() <= 10 * (1 + 1e-8)  # q / h^2 to rounding
    for name, x, off in zip(NAMES, wanted, (1e-13, 1e-10, 1e-6), strict=True):
        assert np.allclose(getattr(fine, name)[:, 0], x, rtol=0, atol=off), name
    assert samples.curve.jumps == pytest.approx(PLAN.pieces.jumps, abs=1e-9)


def test_five_samples_are_enough_for_a_trapezoid():
    """Only the ends of its phases and one more: every neighbour is a jump too."""
    for end in (2.0, 3.5):
        plan = trapezoid([0], [end], acceleration=5.0, velocity=1.1, dt=1.0)
        fine = plan.replace(pieces=None).resample(0.0037)
        assert np.abs(fine.ddq).max() <= 5 * (1 + 1e-9)
        assert np.allclose(fine.q, plan.resample(0.0037).q, rtol=0, atol=1e-12)


def test_numbers_of_six_digits_still_show_where_the_jump_is():
    plan = trapezoid([0], [2], acceleration=5, velocity=1.3, dt=0.01)
    rough = plan.replace(q=plan.q.round(6), dq=plan.dq.round(6), ddq=plan.ddq.round(6))
    fine = rough.resample(0.00137)
    assert np.abs(fine.ddq).max() < 5.1  # q of 1e-6 over h^2 of 1e-4, and was 6.87


def test_two_jumps_in_one_interval_stay_within_the_samples():
    """Accelerate, cruise and brake between two samples: nothing beyond a0 and a1 is needed."""
    plan = trapezoid([0], [1], acceleration=4, velocity=1.2, dt=0.01)
    for t in ([0, 0.1, 0.95, 1.0], [0, 0.25, 0.9, plan.duration], [0, 0.01, plan.duration]):
        motion = plan.resample(t).replace(pieces=None)
        fine = motion.resample(0.001)
        assert np.abs(fine.ddq).max() <= 4 * (1 + 1e-9), t
        change = np.diff(fine.dq, axis=0)
        assert np.abs(change).max() <= 4 * 0.001 * (1 + 1e-9), t
        for name in NAMES:
            assert np.allclose(getattr(motion.resample(t), name), getattr(motion, name))


def test_a_ramp_of_acceleration_is_found():
    """From 0 to 6 within a part of an interval, at a constant rate: three polynomials."""
    scipy = pytest.importorskip("scipy.interpolate")
    ddq = scipy.PPoly(np.array([[0.0, 20.0, 0.0], [0.0, 0.0, 6.0]]), [0, 0.4, 0.7, 2.0])
    dq = ddq.antiderivative()
    q = dq.antiderivative()
    t = np.array([0, 0.1, 0.2, 1.0, 1.5, 2.0])
    motion = Trajectory(t=t, q=q(t)[:, None], dq=dq(t)[:, None], ddq=ddq(t)[:, None])
    fine = motion.resample(0.01)
    assert np.allclose(fine.q[:, 0], q(fine.t), atol=1e-13)
    assert np.allclose(fine.ddq[:, 0], ddq(fine.t), atol=1e-10)
    assert motion.curve.jumps == pytest.approx([0.4, 0.7], abs=1e-10)


def test_smooth_motions_have_no_jumps_and_keep_their_order():
    """Samples of sines alone: quintics all over, exact to h^4 in ddq (SciPy's are the same)."""
    scipy = pytest.importorskip("scipy.interpolate")
    for dt in (0.2, 0.05, 0.01):
        motion = sinusoid([0, 1], [1, 2], [0.5, 0.3], 4, dt, phase=0.3).replace(pieces=None)
        states = np.stack([motion.q, motion.dq, motion.ddq], axis=1)
        oracle = scipy.BPoly.from_derivatives(motion.t, states)
        t = np.linspace(0, 4, 1237)
        found = motion.resample(t)
        for k, name in enumerate(NAMES):
            wanted = oracle(t) if k == 0 else oracle.derivative(k)(t)
            assert np.allclose(getattr(found, name), wanted, rtol=0, atol=1e-10 / dt**2)
        assert not len(motion.curve.jumps)


def test_splines_are_those_of_scipy_between_their_samples():
    scipy = pytest.importorskip("scipy.interpolate")
    points = np.random.default_rng(3).normal(size=(6, 3))
    times = np.array([0, 0.3, 1.0, 1.2, 2.0, 2.5])
    for ends, kind in (("clamped", "clamped"), ("natural", "natural"), ("not-a-knot",) * 2):
        found = spline(points, times, 0.1, ends=ends).resample(0.007)
        oracle = scipy.CubicSpline(times, points, bc_type=kind)
        for k, name in enumerate(NAMES):
            assert np.allclose(getattr(found, name), oracle(found.t, k), atol=1e-10)


def planned():
    panda = kt.robots.panda()
    goal = panda.pose(PANDA_START) @ kt.spatial.translation((0.1, 0.2, 0.1))
    middle = (PANDA_START + PANDA_END) / 2 + 0.3
    plan = quintic(PANDA_START, PANDA_END, 1, robot=panda)
    return {
        "cubic": cubic(PANDA_START, PANDA_END, 1, robot=panda, dq0=0.3),
        "quintic": plan,
        "trapezoid": trapezoid(PANDA_START, PANDA_END, acceleration=3, robot=panda),
        "spline": spline([PANDA_START, middle, PANDA_END], 3, robot=panda),
        "line": straight_line(panda, PANDA_START, goal, 1.0, 0.05),
        "excitation": excitation(panda, 3.0, 0.05),
        "sinusoid": sinusoid(PANDA_START, 0.2, 0.7, 2.0, 0.03, robot=panda),
        "time-optimal": time_optimal(panda, plan, intervals=100).trajectory,
    }


PLANS = planned()


def same(one, other, names=(*NAMES, "t")):
    for name in names:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("known", ["planned", "samples alone", "slower"])
def test_resampling_there_and_back_changes_no_bit(name, known):
    plan = PLANS[name]
    motion = {"planned": plan, "samples alone": plan.replace(pieces=None),
              "slower": scale_time(plan, 1.7)}[known]  # fmt: skip
    motion = motion.replace(tau=np.cos(motion.q))
    same(motion.resample(motion.t), motion, (*NAMES, "t", "tau"))
    for grid in (0.0031, np.linspace(motion.t[0], motion.t[-1], 57)):
        between = motion.resample(grid)
        same(between.resample(motion.t), motion, (*NAMES, "t", "tau"))
        other = np.linspace(motion.t[0], motion.t[-1], 211)
        same(between.resample(other), motion.resample(other), (*NAMES, "tau"))


@pytest.mark.parametrize("name", PLANS)
def test_a_part_of_a_motion_keeps_its_pieces(name):
    plan = PLANS[name]
    low, high = plan.t[0] + 0.21 * plan.duration, plan.t[0] + 0.83 * plan.duration
    part = plan.resample(np.linspace(low, high, 9))
    inside = np.linspace(low, high, 301)
    same(part.resample(inside), plan.resample(inside), NAMES)
    with pytest.raises(InputError, match="only from"):
        part.resample([plan.t[0]])


@pytest.mark.parametrize("name", PLANS)
def test_files_keep_the_motion_between_the_samples(name, tmp_path):
    for motion in (PLANS[name], PLANS[name].resample(0.0313), scale_time(PLANS[name], 0.7)):
        motion.to_npz(tmp_path / "a.npz")
        t = np.linspace(motion.t[0], motion.t[-1], 333)
        found = read_npz(tmp_path / "a.npz", kt.robots.panda())
        same(found, motion)
        same(found.resample(t), motion.resample(t))
        assert found.meta == motion.meta


def test_columns_in_another_order_take_their_pieces_along(tmp_path):
    plan = trapezoid([0, 1], [1, -3], acceleration=2, velocity=1, joint_names=["b", "a"])
    coarse = plan.resample(np.linspace(0, plan.duration, 6)).replace(tau=np.zeros((6, 2)))
    coarse.resample(0.1).to_npz(tmp_path / "a.npz")
    builder = kt.Builder("two").link("base").link("one", 1.0).link("two", 1.0)
    builder.joint("a", "revolute", "base", "one", axis=(0, 0, 1))
    builder.joint("b", "revolute", "one", "two", axis=(0, 0, 1))
    found = read_npz(tmp_path / "a.npz", builder.build())
    fine, wanted = found.resample(0.01), plan.resample(0.01)
    for name in NAMES:
        assert np.array_equal(getattr(fine, name), getattr(wanted, name)[:, ::-1])


def test_tables_have_samples_alone_and_find_the_jumps_again(tmp_path):
    PLAN.to_csv(tmp_path / "a.csv")
    found = read_csv(tmp_path / "a.csv")
    assert found.pieces is None
    assert np.abs(found.resample(0.00137).ddq).max() <= 10 * (1 + 1e-11)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pieces_c": None}, "no array pieces_c"),
        ({"pieces_t": [0, 0.1, 0.1, 2]}, "pieces_t .* times that increase"),
        ({"pieces_t": [0, 0.1]}, r"pieces_c has shape \(3, 4, 1\); expected \(degree \+ 1, 2, "),
        ({"pieces_t": [0, 1, 2, np.nan]}, "pieces_t has entries that are not finite"),
        ({"pieces_t": [0.1, 0.25, 0.75, 1.0]}, r"reach from 0\.1 to 1 s, its samples from 0 to 1"),
        ({"pieces_c": np.zeros((3, 4, 1))}, "differ from its samples: q at t = 0 s by 1"),
        ({"pieces_c": np.zeros((2, 4, 1))}, "degree 2 or more"),
        ({"samples_t": [0, 1]}, "no array samples_q, but samples_t"),
    ],
)
def test_pieces_of_a_file_are_checked(changes, says, tmp_path):
    PLAN.to_npz(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        arrays = {name: file[name] for name in file.files} | changes
    np.savez(tmp_path / "bad.npz", **{k: x for k, x in arrays.items() if x is not None})
    with pytest.raises(InputError, match=rf"bad\.npz: .*{says}"):
        read_npz(tmp_path / "bad.npz")


def test_batches_keep_their_pieces():
    one, other = (trapezoid([0, 1], q1, acceleration=1, velocity=0.5, duration=8.0)
                  for q1 in ([2, 0], [-1, 3]))  # fmt: skip
    t = np.unique([*one.pieces.t, *other.pieces.t])
    c = []
    for plan in (one, other):
        q, dq, ddq = plan.pieces(t)
        c.append(np.stack([q, dq, ddq / 2]))
    curve = Polynomials(t, np.stack(c, axis=2))
    grid = np.linspace(0, 8, 23)
    q, dq, ddq = curve(grid)
    both = Trajectory(t=grid, q=q, dq=dq, ddq=ddq, tau=q, pieces=curve).resample(0.37)
    assert both.batch_shape == (2,)
    for k, plan in enumerate((one, other)):
        found, wanted = both.rollout(k).resample(0.01), plan.resample(0.01)
        for name in NAMES:
            assert np.allclose(getattr(found, name), getattr(wanted, name), atol=1e-13)
    assert np.array_equal(both.rollout(1).resample(grid).tau, q[:, 1])


def test_other_samples_are_another_motion():
    moved = PLAN.replace(q=PLAN.q + 1)
    assert moved.pieces is None and np.allclose(moved.resample(0.003).q, PLAN.resample(0.003).q + 1)
    assert PLAN.replace(name="again", meta={}).pieces is PLAN.pieces
    import dataclasses

    with pytest.raises(InputError, match=r"differ from its samples: q at t = .* s by 1\."):
        dataclasses.replace(PLAN, q=PLAN.q + 1)
    with pytest.raises(InputError, match="differ from its samples: ddq"):
        dataclasses.replace(PLAN, ddq=PLAN.ddq * 1.01)
    with pytest.raises(InputError, match="pieces of trajectory 'trapezoid' are 3; expected those"):
        PLAN.replace(pieces=3)
    with pytest.raises(ShapeError, match=r"give q of shape \(101, 1\); expected \(101, 2\)"):
        Trajectory(t=PLAN.t, **{x: np.zeros((101, 2)) for x in NAMES}, pieces=PLAN.pieces)


def test_forces_that_are_replaced_are_no_longer_those_of_the_source():
    fine = PLAN.replace(tau=PLAN.q).resample(0.003)
    other = fine.replace(tau=fine.dq)
    assert np.array_equal(other.resample(fine.t[::2]).tau, fine.dq[::2])
    line = PLANS["line"].replace(tau=PLANS["line"].q).resample(0.02)
    other = line.replace(tau=line.dq)
    assert np.array_equal(other.resample(line.t[::2]).tau, line.dq[::2])


def test_samples_that_do_not_belong_together_are_named():
    t = np.linspace(0, 1, 11)
    motion = Trajectory(
        t=t, q=np.sin(5 * t)[:, None], dq=5 * np.cos(5 * t)[:, None], ddq=np.zeros((11, 1)),
        name="swing", joint_names=["hip"],
    )  # fmt: skip
    says = r"'swing': between t = .* q and dq of 'hip' need accelerations .* is 0 and 0\. So do 9"
    with pytest.warns(KinetreeWarning, match=says):
        motion.resample(0.01)
    with pytest.warns(KinetreeWarning, match=says):
        sample_motion(motion)
    right = motion.replace(ddq=-25 * motion.q)
    right.resample(0.01)
    batch = Trajectory(t=t, **{x: np.stack([getattr(right, x), getattr(motion, x)], axis=1)
                               for x in NAMES})  # fmt: skip
    with pytest.warns(KinetreeWarning, match=r"'joint_1' of rollout \(1,\)"):
        batch.resample(0.01)


@pytest.mark.parametrize("dt", [0.01, 0.05])
def test_a_time_optimal_motion_keeps_its_limits_when_resampled(dt):
    """Torques by Pinocchio; they were 16 % too large. Samples alone stay within some percent."""
    pinocchio = pytest.importorskip("pinocchio")
    robot = kt.robots.panda()
    effort = np.array([joint.limits.effort for joint in robot.model.joints])
    plan = quintic(PANDA_START, PANDA_END, 1, robot=robot)
    best = time_optimal(robot, plan, dt=dt, intervals=300).trajectory
    model = pinocchio.buildModelFromXML(robot.to_urdf())
    data = model.createData()

    def use(motion):
        states = zip(motion.q, motion.dq, motion.ddq, strict=True)
        tau = np.array([pinocchio.rnea(model, data, *state) for state in states])
        return np.max(np.abs(tau) / effort)

    assert 0.99 < use(best) <= 1 + 1e-6
    for grid in (dt / 7.3, dt * 0.61, 0.0017):
        assert use(best.resample(grid)) <= 1 + 1e-6
    if dt == 0.01:
        assert use(best.replace(pieces=None).resample(0.0017)) < 1.03


def test_references_break_wherever_their_acceleration_jumps():
    for motion in (PLAN, PLAN.replace(pieces=None)):
        fed = sample_motion(motion)
        assert fed.breaks == pytest.approx([0, 0.25, 0.75, 1.0], abs=1e-12)
        times = np.array([0, 0.25, 0.25 + 1e-13, 0.5, 0.75, 1.0, 1.2])
        after, before = (fed.at(times, np.full(7, ends))[2][:, 0] for ends in (False, True))
        assert np.allclose(after, [-10, 0, 0, 0, 10, 0, 0], atol=1e-9)
        assert np.allclose(before, [0, -10, -10, 0, 0, 10, 0], atol=1e-9)
        q, dq, _ = fed.at(np.array([-1.0, 0.5, 2.0]), np.zeros(3, bool))
        assert np.allclose(q[:, 0], [1, 1 - 0.9375, -0.875]) and np.allclose(dq[:, 0], [0, -2.5, 0])
    best = PLANS["time-optimal"]
    assert set(best.pieces.jumps) <= set(sample_motion(best).breaks) and len(best.pieces.jumps) > 30
    for name in ("line", "quintic", "cubic", "sinusoid", "spline"):  # nothing jumps inside
        assert np.array_equal(sample_motion(PLANS[name]).breaks, PLANS[name].t[[0, -1]]), name
    still = Trajectory(t=[0.5], q=[[2.0]], dq=[[1.0]], ddq=[[1.0]])
    q, dq, ddq = sample_motion(still).at(np.array([0.0, 0.5, 1.0]), np.zeros(3, bool))
    assert np.all(q == 2) and not dq.any() and not ddq.any()


def test_a_robot_follows_a_trapezoid_without_knowing_its_samples():
    """Computed torque from the start on: the error stays at the tolerance, jumps included."""
    robot = wheel()
    plan = trapezoid([0], [2], acceleration=5, velocity=1.3, dt=0.2, robot=robot)
    law = kt.controllers.ComputedTorque(plan, kp=100, kd=20)
    run = robot.simulate([0], [0], controller=law, duration=1.6, dt=0.01, rtol=1e-9, atol=1e-12)
    wanted = trapezoid_formula(0, 2, Fraction(13, 10), 5, run.t)
    assert np.abs(run.q[:, 0] - wanted[0]).max() < 1e-9
    assert np.abs(run.tau).max() <= 2 * 5 * (1 + 1e-6)


def test_one_sample_and_two_samples():
    one = Trajectory(t=[1.0], q=[[2.0]], dq=[[3.0]], ddq=[[4.0]], tau=[[5.0]])
    again = one.resample([1.0])
    same(again, one, (*NAMES, "t", "tau"))
    two = Trajectory(t=[0, 1], q=[[0.0], [0.5]], dq=[[0.0], [1.0]], ddq=[[1.0], [1.0]])
    fine = two.resample(0.1)
    assert np.allclose(fine.q[:, 0], fine.t**2 / 2) and np.allclose(fine.ddq, 1)
    jump = Trajectory(t=[0, 1], q=[[0.0], [0.75]], dq=[[0.0], [1.0]], ddq=[[2.0], [0.0]])
    fine = jump.resample(0.05)
    assert np.allclose(fine.ddq[:, 0], np.where(fine.t < 0.5 - 1e-9, 2, 0), atol=1e-9)


def test_legs_of_a_free_robot_follow_quintics_too():
    robot = kt.robots.quadruped()
    t = np.linspace(0, 1, 6)
    q = np.tile(robot.neutral(), (6, 1))
    dq, ddq = np.zeros((2, 6, robot.n))
    q[:, 9], dq[:, 8], ddq[:, 8] = np.sin(t), np.cos(t), -np.sin(t)
    motion = Trajectory(t=t, q=q, dq=dq, ddq=ddq, model=robot.model)
    fine = motion.resample(0.01)
    assert np.allclose(fine.q[:, 9], np.sin(fine.t), atol=1e-8)
    assert np.allclose(fine.dq[:, 8], np.cos(fine.t), atol=1e-6)
    assert np.allclose(fine.ddq[:, 8], -np.sin(fine.t), atol=1e-4)
    same(fine.resample(t), motion)
    assert isinstance(fine.pieces, Interpolant)
    assert not len(sample_motion(motion).breaks[1:-1])
    resample(fine, 0.1)


def test_workers_of_studies_get_the_pieces_too():
    from kinetree.parallel.work import plain

    t = np.linspace(0, 1, 77)
    for plan in (PLAN, PLAN.resample(0.13), PLANS["line"], PLAN.replace(pieces=None)):
        found = plain(plan, "reference")
        same(found.resample(t), plan.resample(t))
        assert np.array_equal(sample_motion(found).breaks, sample_motion(plan).breaks)


def test_workers_know_how_a_base_in_the_plane_moves():
    from kinetree.model import random_model
    from kinetree.parallel.work import plain

    model = random_model(0, 1, types=("planar",))
    q = np.array([[0, 0, 0], [1.0, 1, 0], [2, 0, 1]])
    motion = Trajectory(t=[0, 1, 2], q=q, dq=0 * q, ddq=0 * q, model=model)
    found = plain(motion, "reference")
    t = np.linspace(0, 2, 9)
    assert np.array_equal(found.resample(t).q, motion.resample(t).q)


def test_arrays_of_pieces_cannot_be_written(tmp_path):
    PLAN.resample(0.1).to_npz(tmp_path / "a.npz")
    found = read_npz(tmp_path / "a.npz").pieces
    for x in (PLAN.pieces.t, PLAN.pieces.c, found.t, found.c, found.samples.q, found.samples.ddq):
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1


def test_times_may_be_late_by_rounding():
    late = Trajectory(t=PLAN.t + 1000, q=PLAN.q, dq=PLAN.dq, ddq=PLAN.ddq)
    found = late.resample([1000.5, 1001 + 5e-10])
    assert np.array_equal(found.q[-1], PLAN.q[-1])
    with pytest.raises(InputError, match="only from 1000 to 1001"):
        late.resample([1000.5, 1001 + 5e-9])


def test_times_beyond_a_plan_are_answered_with_the_reference_of_the_run():
    """As a reference a trajectory stands still beyond its times."""
    robot = kt.robots.planar_2r()
    plan = kt.motion.quintic([0, 0], [0.1, 0.2], duration=0.1, dt=0.01, robot=robot)
    law = kt.controllers.ComputedTorque(plan)
    run = robot.simulate([0, 0], controller=law, duration=0.2, dt=0.01)
    with pytest.raises(InputError, match=r'Choose times within it.* in meta\["reference"\]'):
        plan.resample(run.t)
    wanted = run.meta["reference"]
    assert np.array_equal(wanted["t"], run.t)
    assert np.allclose(wanted["q"][run.t > 0.1], plan.q[-1], rtol=0, atol=1e-15)
