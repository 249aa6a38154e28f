"""Time-optimal scaling: known optima, and limits that hold between the samples too."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.motion import (
    Trajectory,
    excitation,
    quintic,
    sinusoid,
    spline,
    straight_line,
    time_optimal,
    trapezoid,
)  # fmt: skip
from kinetree.motion.curve.splines import cubic_spline
from motion_robots import GRAVITY, INERTIA, MASS, PANDA_END, PANDA_START, lift, wheel

L = 3.0  # N m or N beyond gravity


def test_bang_bang_is_the_optimum_of_a_wheel():
    robot = wheel(effort=L)
    found = time_optimal(robot, quintic([0], [1], 1, robot=robot))
    assert found.duration == pytest.approx(2 * np.sqrt(INERTIA / L), rel=1e-6)
    tau = INERTIA * found.resample(1e-3).ddq[:, 0]
    assert np.mean(np.abs(tau) > L * (1 - 1e-5)) > 0.99


def test_with_a_speed_limit_it_cruises():
    robot = wheel(effort=L, velocity=0.5)
    found = time_optimal(robot, quintic([0], [1], 1, robot=robot))
    a = L / INERTIA
    assert found.duration == pytest.approx(1 / 0.5 + 0.5 / a, rel=1e-5)


def test_with_an_acceleration_limit_it_uses_that():
    robot = wheel(effort=L)
    found = time_optimal(robot, quintic([0], [1], 1, robot=robot), acceleration=0.3)
    assert found.duration == pytest.approx(2 * np.sqrt(1 / 0.3), rel=1e-6)
    assert np.abs(found.resample(1e-3).ddq).max() <= 0.3 * (1 + 1e-6)


@pytest.mark.parametrize("way", [1, -1])
def test_gravity_makes_up_and_down_differ_in_place_not_in_time(way):
    """Accelerate at L/m - g, brake at L/m + g (or the reverse): v^2 (1/a + 1/b) = 2."""
    robot = lift(effort=MASS * GRAVITY + L)
    a, b = L / MASS, 2 * GRAVITY + L / MASS
    v = np.sqrt(2 / (1 / a + 1 / b))
    found = time_optimal(robot, quintic([0], [way], 1, robot=robot))
    assert found.duration == pytest.approx(v / a + v / b, rel=1e-5)


def test_friction_slows_the_start_and_helps_to_brake():
    """I dv/dt = L - c - b v, then -(L + c + b v); ways and times in closed form."""
    b, c = 2.0, 0.5
    robot = wheel(effort=L, friction=kt.Friction(viscous=b, coulomb=c))
    up, down = (L - c) / b, (L + c) / b

    def way(v):
        rising = up * np.log(up / (up - v)) - v
        return INERTIA / b * (rising + v - down * np.log((down + v) / down))

    low, high = 0.0, up * (1 - 1e-12)
    for _ in range(200):
        v = (low + high) / 2
        low, high = (v, high) if way(v) < 1 else (low, v)
    wanted = INERTIA / b * (np.log(up / (up - v)) + np.log((down + v) / down))
    found = time_optimal(robot, quintic([0], [1], 1, robot=robot))
    assert wanted * (1 - 1e-7) <= found.duration <= wanted * (1 + 1e-3)


def cases():
    panda, ur5e, puma, scara = (
        kt.robots.panda(), kt.robots.ur5e(), kt.robots.puma_560(), kt.robots.scara()
    )  # fmt: skip
    middle = (PANDA_START + PANDA_END) / 2 + 0.3
    goal = panda.pose(PANDA_START) @ kt.spatial.translation((0.1, 0.2, 0.1))
    q = np.array([0, -1.2, 1.4, -1.5, -1.5, 0.3])
    return {
        "quintic": (panda, quintic(PANDA_START, PANDA_END, 1, robot=panda)),
        "trapezoid": (panda, trapezoid(PANDA_START, PANDA_END, acceleration=3, robot=panda)),
        "spline": (panda, spline([PANDA_START, middle, PANDA_END], 3, robot=panda)),
        "line": (panda, straight_line(panda, PANDA_START, goal, 1.0)),
        "ur5e spline": (ur5e, spline([q, q + 0.8, q - 0.3, q + 0.1], 4, robot=ur5e)),
        "scara": (scara, spline([[0, 0, 0, 0], [1, 1, -0.1, 2], [-1, 2, 0, 0]], 2, robot=scara)),
        "swing": (panda, sinusoid(PANDA_START, 0.3, 1, 1.1, robot=panda, phase=0.3)),
        "excitation": (ur5e, excitation(ur5e, 4.0, use=0.3)),
    }, puma  # fmt: skip


CASES, PUMA = cases()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("speeds", ["limited", pytest.param("free", marks=pytest.mark.many)])
def test_limits_hold_on_a_grid_ten_times_finer(name, speeds):
    robot, motion = CASES[name]
    bounds = [joint.limits for joint in robot.model.joints]
    effort = np.array([limits.effort for limits in bounds])
    velocity = np.array([limits.velocity for limits in bounds])
    velocity = velocity if speeds == "limited" else np.full(len(bounds), np.inf)
    dt = 0.01
    found = time_optimal(robot, motion, dt=dt, velocity=velocity)
    assert found.report.ok
    for step in (dt / 10, dt / 10 / np.sqrt(7)):  # the second is no grid that was verified
        fine = found.resample(step)
        tau = robot.inverse_dynamics(fine.q, fine.dq, fine.ddq)
        assert np.max(np.abs(tau) / effort) <= 1 + 1e-6
        assert np.max(np.abs(fine.dq) / velocity) <= 1 + 1e-6
        assert robot.check(fine, velocity=velocity).ok
    # at every moment some limit is in use, or it were not the fastest
    share = np.maximum(np.abs(tau) / effort, np.abs(fine.dq) / velocity).max(axis=1)
    assert np.mean(share) > 0.98
    assert found.deviation < 1e-6


def test_the_report_is_that_of_a_check_on_the_finer_grid():
    robot, motion = CASES["quintic"]
    found = time_optimal(robot, motion, dt=0.01, intervals=100)
    wanted = robot.check(found.resample(0.001))
    assert found.report is found.report and found.report.ok
    assert found.report.joints == wanted.joints and found.report.scaling == wanted.scaling
    again = pickle.loads(pickle.dumps(found))
    assert again.report.joints == wanted.joints and "verified" in repr(again)


@pytest.mark.parametrize("name", ["quintic", "spline", "ur5e spline"])
def test_it_is_never_slower_than_the_best_uniform_scaling(name):
    robot, motion = CASES[name]
    found = time_optimal(robot, motion)
    uniform = robot.check(motion).scaling.fastest * motion.duration
    assert found.duration < uniform


def test_friction_of_a_real_arm_is_kept_within_limits():
    """The Puma has viscous and Coulomb friction on every joint, different by direction."""
    q = np.array([0.0, 0.5, -0.5, 0.0, 0.4, 0.0])
    motion = spline([q, q + np.array([1, 0.5, -0.8, 0.4, 0.3, 1]), q - 0.4], 3, robot=PUMA)
    gravity = np.abs(PUMA.gravity_forces(motion.q)).max(axis=0)
    effort = 1.3 * (gravity + np.abs(PUMA.friction_forces(np.full(6, 1e-3)))) + 3
    found = time_optimal(PUMA, motion, effort=effort, velocity=3.0)
    fine = found.resample(1e-3)
    tau = PUMA.inverse_dynamics(fine.q, fine.dq, fine.ddq)
    assert np.max(np.abs(tau) / effort) <= 1 + 1e-6
    assert found.report.ok


def wild(robot, seed):
    """Waypoints all over the limits, and torques little above what standing needs."""
    rng, n = np.random.default_rng(seed), robot.n
    low, high = np.array(
        [(max(x.limits.lower, -2), min(x.limits.upper, 2)) for x in robot.model.joints]
    ).T
    points = (low + high) / 2 + rng.uniform(-0.4, 0.4, (rng.integers(2, 7), n)) * (high - low)
    motion = spline(points, rng.uniform(1, 4), robot=robot)
    gravity = np.abs(robot.gravity_forces(motion.q)).max(axis=0)
    friction = np.maximum(*(np.abs(robot.friction_forces(np.full(n, v))) for v in (-1e-3, 1e-3)))
    return motion, rng.uniform(1.1, 3) * (gravity + friction) + rng.uniform(0.1, 5)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.many)])
@pytest.mark.parametrize(
    "make",
    [
        kt.robots.puma_560,
        kt.robots.double_pendulum,
        pytest.param(kt.robots.iiwa_14, marks=pytest.mark.many),
        pytest.param(kt.robots.spatial_3r, marks=pytest.mark.many),
    ],
)
def test_wild_paths_with_tight_limits_are_timed_within_them(make, seed):
    """Joints turn back, bends are sharp, friction changes its sign."""
    robot = make()
    motion, effort = wild(robot, seed)
    found = time_optimal(robot, motion, effort=effort, velocity=3.0, intervals=400)
    fine = found.resample(0.01 / 10 / np.e)
    tau = robot.inverse_dynamics(fine.q, fine.dq, fine.ddq)
    assert np.max(np.abs(tau) / effort) <= 1 + 1e-6
    assert np.max(np.abs(fine.dq)) <= 3.0 * (1 + 1e-6)
    assert np.maximum(np.abs(tau) / effort, np.abs(fine.dq) / 3).max(axis=1).mean() > 0.95
    uniform = robot.check(motion, effort=effort, velocity=3.0).scaling.fastest
    assert found.duration < uniform * motion.duration
    assert found.deviation < 2e-6 and found.margin == 1e-9


def test_the_result_is_a_trajectory_along_the_path():
    robot, motion = CASES["spline"]
    found = time_optimal(robot, motion, dt=0.002)
    result = found.trajectory
    assert np.allclose(result.q[[0, -1]], motion.q[[0, -1]], atol=1e-12)
    assert np.allclose(result.dq[[0, -1]], 0, atol=1e-9)
    steps = np.diff(result.t)[:, None] * (result.dq[1:] + result.dq[:-1]) / 2
    assert np.allclose(np.diff(result.q, axis=0), steps, atol=2e-4)  # h^2 / 4 of jumps of ddq
    assert result.name == "spline, time-optimal" and "verified" in repr(found)


def test_the_robot_stops_in_corners_and_passes_over_rests():
    robot, motion = CASES["swing"]
    found = time_optimal(robot, motion)
    assert len(found.pieces) == 3  # two ends of the swing lie inside
    ends = np.cumsum([piece.duration for piece in found.pieces])[:-1]
    assert np.allclose(found.pieces[0](np.array([ends[0]]))[1], 0, atol=1e-6)
    still = wheel(effort=L)
    q = np.concatenate([quintic([0], [1], 1).q, np.ones((50, 1)), quintic([1], [2], 1).q[1:]])
    t = 0.01 * np.arange(len(q))
    curve = cubic_spline(t, q)(t)
    waiting = Trajectory(t=t, q=q, dq=curve[1], ddq=curve[2], model=still.model)
    assert time_optimal(still, waiting).duration < 2 * 2 * np.sqrt(INERTIA / L) * 1.01


def test_what_cannot_be_timed_is_said():
    robot = wheel()
    with pytest.raises(InputError, match=r"no joint that moves has a torque limit \(spin\)"):
        time_optimal(robot, quintic([0], [1], 1, robot=robot))
    with pytest.raises(InputError, match="stands still"):
        time_optimal(wheel(effort=1), quintic([1], [1], 1, robot=robot))
    heavy = lift(effort=MASS * GRAVITY * 0.9)
    with pytest.raises(InputError, match=r"gravity alone needs 29\.43 on 'rise', .* % along"):
        time_optimal(heavy, quintic([0], [1], 1, robot=heavy))
    sticky = wheel(effort=1, friction=kt.Friction(coulomb=2))
    with pytest.raises(InputError, match="gravity and friction need 2 on 'spin'"):
        time_optimal(sticky, quintic([0], [1], 1, robot=sticky))
    with pytest.raises(InputError, match="intervals is 3"):
        time_optimal(wheel(effort=1), quintic([0], [1], 1, robot=robot), intervals=3)
    with pytest.raises(InputError, match="dt is -1"):
        time_optimal(wheel(effort=1), quintic([0], [1], 1, robot=robot), dt=-1)


def test_the_joint_that_cannot_carry_its_load_is_named():
    """The first joint carries more, and is strong enough; the second is not."""
    robot = kt.robots.double_pendulum()
    motion = quintic([0.5, 0.5], [1.0, 1.0], 1, robot=robot)
    tau = np.abs(robot.gravity_forces(motion.q)).max(axis=0)
    name = robot.model.joint_names[1]
    with pytest.raises(InputError, match=f"gravity alone needs .* on {name!r}, .* its limit is"):
        time_optimal(robot, motion, effort=[2 * tau[0], 0.9 * tau[1]])


def test_a_robot_with_constraints_is_refused_by_name():
    robot = kt.robots.four_bar()
    q = np.linspace(0, 0.1, 5)[:, None] * np.ones(robot.n)
    motion = Trajectory(t=range(5), q=q, dq=0 * q, ddq=0 * q, model=robot.model)
    with pytest.raises(InputError, match="time_optimal"):
        time_optimal(robot, motion)
