"""Library functions that commands call: sizes of drives, least effort, files read back."""

import numpy as np
import pytest

import kinetree as kt


def test_a_motor_is_enough_that_gives_what_the_motion_asks():
    robot = kt.robots.planar_2r()
    plan = kt.motion.quintic([0, 0], [1, 0.5], duration=1.0, robot=robot)
    strong = kt.motion.Motor("strong", ratio=100, peak=12, rated=6, speed=300)
    weak = kt.motion.Motor("weak", ratio=50, peak=1, rated=0.4, speed=400)
    sizing = kt.motion.size(robot, plan, [weak, strong])
    assert sizing.lacking == [] and kt.motion.size(robot, plan, [weak]).lacking == [
        "joint1",
        "joint2",
    ]
    load = sizing.report.joint("joint1")
    assert load.peak_torque == pytest.approx(
        kt.motion.check_limits(robot, plan).joint("joint1").peak_torque
    )
    assert "NOT ENOUGH: torque, heating" in str(sizing)
    assert [x["ok"] for x in sizing.to_dict()["motors"]] == [False, True, False, True]


def test_motors_are_read_with_defaults_and_faults_are_named(tmp_path):
    path = tmp_path / "motors.csv"
    path.write_text("motor,ratio,peak,rated,speed,inertia\na,50,1,0.4,400,\n")
    (motor,) = kt.motion.read_motors(path)
    assert (motor.name, motor.peak, motor.inertia) == ("a", 1.0, 0.0)
    for text in (
        "motor,ratio\na,1\n",
        "motor,weight\na,1\n",
        "motor,ratio,peak,rated,speed\na,x,1,1,1\n",
    ):
        path.write_text(text)
        with pytest.raises(kt.errors.ParseError):
            kt.motion.read_motors(path)


def test_least_effort_ends_at_rest_at_the_goal_with_dry_friction_too():
    robot = kt.robots.planar_2r()
    solution = kt.optimal.least_effort(robot, [0, 0], [1, 0.5], dt=0.05)
    assert solution.converged and kt.optimal.distances(solution)["goal"] < 1e-6
    assert np.abs(solution.trajectory.dq[-1]).max() < 1e-3
    rough = robot.with_friction({"joint1": kt.friction.Friction(1.0, 2.0)})
    smooth = kt.optimal.smoothed(rough)
    np.testing.assert_allclose(smooth.friction_forces([1, 0]), rough.friction_forces([1, 0]))
    assert kt.optimal.smoothed(robot) is robot
    with pytest.raises(kt.errors.InputError):
        kt.optimal.least_effort(robot, [0, 0], [1, 0.5], duration=0.015)


def test_a_saved_robot_is_read_back_and_compared(tmp_path):
    saved = kt.convert.save(kt.robots.four_bar(), tmp_path / "bar.urdf")
    assert saved.joints == 3 and saved.difference < 1e-9
    assert any("'loop'" in loss for loss in saved.losses)
    assert kt.load(tmp_path / "bar.urdf").n == 3
    with pytest.raises(kt.errors.InputError):
        kt.convert.save(kt.robots.rp(), tmp_path / "bar.txt")


def test_a_loop_that_is_followed_stays_as_it_is_assembled():
    robot = kt.robots.four_bar()
    start = kt.constraints.project(robot, robot.neutral())
    q = start.copy()
    q[0] = start[0] + 1.0
    closed = kt.constraints.project(robot, q, keep=["crank"], start=start)
    assert closed[0] == q[0] and np.abs(kt.constraints.errors(robot, closed)).max() < 1e-9
    back = kt.constraints.project(robot, [start[0], *closed[1:]], keep=["crank"], start=closed)
    np.testing.assert_allclose(back, start, atol=1e-8)
