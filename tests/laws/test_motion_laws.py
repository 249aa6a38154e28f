"""Laws of planned motions, of files of motions, and of inverse kinematics."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanisms import SCREWS, SEEDS, build, close, differences, mechanisms, number, state
from scipy.interpolate import CubicSpline

from kinetree import dynamics, motion

JOINTS = st.integers(1, 4)


def points(seed, count, n):
    return np.random.default_rng(seed).normal(size=(count, n))


@settings(max_examples=20)
@given(JOINTS, SEEDS, number(0.2, 3), number(0.2, 5))
def test_trapezoids_keep_their_bounds_and_reach_their_goal(n, seed, speed, acceleration):
    """At any time, between samples too: the same motion, at the bounds where it is not at rest."""
    q0, q1 = points(seed, 2, n)
    found = motion.trapezoid(q0, q1, acceleration=acceleration, velocity=speed)
    longest = np.abs(q1 - q0).max()
    peak = min(speed, np.sqrt(acceleration * longest))
    close(found.t[-1], longest / peak + peak / acceleration, 1e-9)
    fine = motion.resample(found, np.linspace(0, found.t[-1], 401))
    assert np.abs(fine.dq).max() <= speed * (1 + 1e-9)
    assert np.abs(fine.ddq).max() <= acceleration * (1 + 1e-9)
    close(fine.q[[0, -1]], [q0, q1], 1e-9)
    close(np.abs(fine.dq).max(), peak, 0.02)
    step = fine.t[1]
    means = (fine.dq[1:] + fine.dq[:-1]) / 2
    assert np.abs(np.diff(fine.q, axis=0) / step - means).max() <= acceleration * step / 4


@settings(max_examples=15)
@given(JOINTS, SEEDS, st.sampled_from(["clamped", "natural"]))
def test_splines_are_those_of_scipy(n, seed, ends):
    q = points(seed, 5, n)
    t = np.cumsum(np.random.default_rng(seed).uniform(0.2, 1, 5))
    t = t - t[0]
    expected = CubicSpline(t, q, bc_type=ends)
    found = motion.spline(q, t, dt=t[-1] / 50, ends=ends)
    close(found.q, expected(found.t), 1e-9)
    close(found.dq, expected(found.t, 1), 1e-8)
    close(found.ddq, expected(found.t, 2), 1e-7, 1)


@settings(max_examples=15)
@given(JOINTS, SEEDS, st.integers(2, 60))
def test_a_quintic_rests_at_its_ends_and_resampling_composes(n, seed, count):
    q0, q1 = points(seed, 2, n)
    found = motion.quintic(q0, q1, 1.3, dt=0.05)
    s = (found.t / 1.3)[:, None]
    close(found.q, q0 + (q1 - q0) * (10 * s**3 - 15 * s**4 + 6 * s**5), 1e-12, 1)
    t = np.linspace(0, found.t[-1], count)
    between = motion.resample(motion.resample(found, np.linspace(0, found.t[-1], 33)), t)
    direct = motion.resample(found, t)
    for part in ("q", "dq", "ddq"):
        close(getattr(between, part), getattr(direct, part), 1e-9, 1)
    h = 1e-3
    rates = differences(lambda x: motion.resample(found, np.array([0.6 + x])).q[0], h)
    close(rates, motion.resample(found, np.array([0.6])).dq[0], 1e-6, 1)


@settings(max_examples=15)
@given(JOINTS, SEEDS)
def test_files_of_motions_read_back(n, seed):
    found = motion.quintic(*points(seed, 2, n), 1.3, dt=0.05)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("csv", "npz"):
            path = Path(folder) / f"motion.{kind}"
            getattr(motion, f"write_{kind}")(found, path)
            again = motion.read(path)
            for part in ("t", "q", "dq", "ddq"):
                np.testing.assert_array_equal(getattr(again, part), getattr(found, part))


@settings(max_examples=6)
@given(mechanisms(3, types=SCREWS, drives=("armature",), floating=False), SEEDS)
def test_the_fastest_motion_keeps_its_torques_and_is_at_one_of_them(mechanism, seed):
    robot = build(mechanism).with_gravity((0, 0, 0))
    q0, dq, _ = state(robot, seed)
    path = motion.quintic(q0, q0 + 0.5 * dq, 1.0, dt=0.02, robot=robot)
    found = motion.time_optimal(robot, path, effort=2.0)
    plan = motion.resample(found.trajectory, np.linspace(0, found.trajectory.t[-1], 301))
    tau = [
        dynamics.inverse_dynamics(robot.model, *x)
        for x in zip(plan.q, plan.dq, plan.ddq, strict=True)
    ]
    used = np.abs(tau).max(axis=1) / 2
    assert used.max() <= 1 + 2e-2
    assert np.median(used[5:-5]) > 0.9
    path = motion.quintic(q0 + 0.5 * dq, q0, 1.0, dt=0.02, robot=robot)
    back = motion.time_optimal(robot, path, effort=2.0)
    close(back.trajectory.t[-1], found.trajectory.t[-1], 1e-2)


@settings(max_examples=15)
@given(mechanisms(5, types=("revolute", "prismatic"), drives=("offset",), floating=False), SEEDS)
def test_inverse_kinematics_reach_the_pose(mechanism, seed):
    robot = build(mechanism)
    goal, away, _ = state(robot, seed)
    T = dynamics.pose(robot.model, goal)
    assume(np.linalg.svd(dynamics.body_jacobian(robot.model, goal))[1].min() > 1e-2)
    found = robot.inverse_kinematics(T, goal + 0.1 * away)
    close(dynamics.pose(robot.model, found.q), T, 1e-8, 1)


@settings(max_examples=10)
@given(mechanisms(3, types=SCREWS, drives=("friction", "armature"), floating=False), SEEDS)
def test_the_energy_balance_of_a_plan_has_no_defect(mechanism, seed):
    robot = build(mechanism)
    q0, q1 = points(seed, 2, robot.n)
    plan = motion.quintic(q0, q1, 1.0, dt=0.002, robot=robot)
    tau = robot.inverse_dynamics(plan.q, plan.dq, plan.ddq)
    energy = robot.kinetic_energy(plan.q, plan.dq) + robot.potential_energy(plan.q)
    power = ((tau - robot.friction_forces(plan.dq)) * plan.dq).sum(1)
    work = ((power[1:] + power[:-1]) / 2 * np.diff(plan.t)).cumsum()
    close(energy[1:] - energy[0], work, 1e-3, 1 + np.abs(work).max())
