"""Between its samples a motion is what its planner made; samples alone ask for no more than needed.

The oracles are closed forms, SciPy's splines and Pinocchio's torques.
"""

from fractions import Fraction

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.motion import (
    cubic,
    excitation,
    quintic,
    read,
    scale_time,
    sinusoid,
    spline,
    straight_line,
    time_optimal,
    trapezoid,
)
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
def test_a_trapezoid_is_its_closed_form_at_any_time(grid):
    found = PLAN.resample(grid)
    wanted = trapezoid_formula(1.0, -0.875, 2.5, 10, found.t)
    for name, x, off in zip(NAMES, wanted, (1e-14, 1e-13, 1e-9), strict=True):
        assert np.allclose(getattr(found, name)[:, 0], x, rtol=0, atol=off), name
    assert np.abs(found.ddq).max() <= 10 * (1 + 1e-11)


def test_samples_alone_stay_within_their_accelerations():
    """Of a trapezoid, whose acceleration jumps between samples."""
    fine = PLAN.replace(pieces=None).resample(0.00137)
    assert np.abs(fine.ddq).max() <= 10
    assert np.abs(fine.q - PLAN.resample(0.00137).q).max() < 10 * 0.01**2 / 8


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
def test_resampling_there_and_back_is_the_same_motion(name, known):
    plan = PLANS[name]
    motion = {"planned": plan, "samples alone": plan.replace(pieces=None),
              "slower": scale_time(plan, 1.7)}[known]  # fmt: skip
    motion = motion.replace(tau=np.cos(motion.q))
    same(motion.resample(motion.t), motion, (*NAMES, "t", "tau"))
    for grid in (0.0031, np.linspace(motion.t[0], motion.t[-1], 57)):
        between = motion.resample(grid)
        back = between.resample(motion.t)
        for x in NAMES:
            assert np.allclose(getattr(back, x), getattr(motion, x), rtol=1e-11, atol=1e-12), x
        other = np.linspace(motion.t[0], motion.t[-1], 211)
        for x in NAMES:
            off = getattr(between.resample(other), x) - getattr(motion.resample(other), x)
            assert np.abs(off).max() < 1e-9, x


@pytest.mark.parametrize("name", PLANS)
def test_files_keep_the_motion_between_the_samples(name, tmp_path):
    for motion in (PLANS[name], PLANS[name].resample(0.0313), scale_time(PLANS[name], 0.7)):
        motion.to_npz(tmp_path / "a.npz")
        t = np.linspace(motion.t[0], motion.t[-1], 333)
        found = read(tmp_path / "a.npz", kt.robots.panda())
        same(found, motion)
        same(found.resample(t), motion.resample(t))
        assert found.meta == motion.meta


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
    ],
)
def test_pieces_of_a_file_are_checked(changes, says, tmp_path):
    PLAN.to_npz(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        arrays = {name: file[name] for name in file.files} | changes
    np.savez(tmp_path / "bad.npz", **{k: x for k, x in arrays.items() if x is not None})
    with pytest.raises(InputError):
        read(tmp_path / "bad.npz")


@pytest.mark.parametrize("dt", [0.01, 0.05])
def test_a_time_optimal_motion_keeps_its_limits_when_resampled(dt):
    """Torques by Pinocchio; they were 16 % too large. Samples alone stay within some percent."""
    pinocchio = pytest.importorskip("pinocchio")
    robot = kt.robots.panda()
    effort = np.array([joint.limits.effort for joint in robot.model.joints])
    plan = quintic(PANDA_START, PANDA_END, 1, robot=robot)
    best = time_optimal(robot, plan, dt=dt, intervals=300).trajectory
    model = pinocchio.buildModelFromXML(kt.convert.to_urdf(robot))
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


def test_a_robot_follows_a_trapezoid_without_knowing_its_samples():
    """Computed torque from the start on: the error stays at the tolerance, jumps included."""
    robot = wheel()
    plan = trapezoid([0], [2], acceleration=5, velocity=1.3, dt=0.2, robot=robot)
    law = kt.controllers.ComputedTorque(plan, kp=100, kd=20)
    run = robot.simulate(
        [0], [0], controller=law, duration=1.6, method="DOP853", rtol=1e-9, atol=1e-12
    )
    wanted = trapezoid_formula(0, 2, Fraction(13, 10), 5, run.t)
    assert np.abs(run.q[:, 0] - wanted[0]).max() < 1e-9
    assert np.abs(run.tau).max() <= 2 * 5 * (1 + 1e-6)
