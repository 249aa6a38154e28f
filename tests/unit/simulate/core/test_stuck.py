"""Computed torque starts joints that friction holds, and joints that stick are named."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers, motion

UR5E = kt.robots.ur5e().with_payload(3.0)
UR5E = UR5E.with_friction({name: kt.Friction(2, 1) for name in UR5E.joint_names})
Q0 = np.array([0, -1.2, 1.0, -0.5, 0.3, 0.2])
GOAL = Q0 + np.array([0.6, 0.4, -0.5, 0.6, 0.4, -0.3])
PLAN = motion.quintic(Q0, GOAL, duration=2.0)
METHODS = ("dop853", "rk4", "semi_implicit_euler", "implicit")


def run(robot, law, method="dop853", q0=Q0, duration=2.5, **options):
    return robot.simulate(
        q0, controller=law, duration=duration, method=method, limits="ignore", **options
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_planned_motion_brings_every_joint_to_its_goal(method):
    found = run(UR5E, controllers.ComputedTorque(PLAN), method)
    np.testing.assert_allclose(found.q[-1], GOAL, atol=2e-5)
    during = found.t <= 2.0
    wanted = PLAN.resample(found.t[during]).q
    assert np.abs(found.q[during] - wanted).max() < 3e-3  # rad, the error of implicit steps
    assert found.meta["stuck"] == () and found.meta["compiled"]


@pytest.mark.parametrize("method", ["dop853", "implicit"])
def test_a_step_to_a_goal_says_which_joints_stick(method):
    found = run(UR5E, controllers.ComputedTorque(GOAL), method)
    stuck = {x.joint: x for x in found.meta["stuck"]}
    assert {"wrist_1", "wrist_2", "wrist_3"} <= set(stuck)
    for k, name in enumerate(UR5E.dof_names):
        if name in stuck:
            assert stuck[name].distance == pytest.approx(GOAL[k] - found.q[-1, k])
            assert (
                abs(stuck[name].force) <= stuck[name].friction * 1.00001 == pytest.approx(1, 1e-4)
            )
    assert "joint 'wrist_1' rests 0.6 rad from its goal 0.1 rad: friction holds it" in str(
        stuck["wrist_1"]
    )
    assert "stuck" in repr(found)


@pytest.mark.parametrize(
    "law",
    [
        controllers.PD(GOAL, 20.0, 10.0, gravity=True),
        controllers.PD(PLAN, 20.0, 10.0, gravity=True),
        controllers.PD(lambda t: GOAL, 20.0, 10.0, gravity=True),
    ],
)
def test_other_laws_that_stick_are_named_too(law):
    found = run(UR5E, law, "implicit", duration=6.0)
    joints = [x.joint for x in found.meta["stuck"]]
    resting = np.abs(found.dq[-1]) < 1e-6
    away = np.abs(found.q[-1] - GOAL) > 1e-3
    assert joints == [name for k, name in enumerate(UR5E.dof_names) if resting[k] and away[k]]
    assert joints


def test_no_joint_sticks_without_friction_or_while_its_goal_moves():
    bare = kt.robots.ur5e()
    found = run(bare, controllers.PD(GOAL, 2.0, 10.0), "implicit", duration=0.5)
    assert found.meta["stuck"] == () and "stuck" not in repr(found)
    moving = controllers.PD(lambda t: Q0 + 1e-3 * t, 20.0, 10.0, gravity=True)
    assert run(UR5E, moving, "implicit", duration=0.5).meta["stuck"] == ()
    assert "stuck" not in run(UR5E, None, "implicit", duration=0.01).meta  # nothing to judge


def test_every_rollout_of_a_batch_is_judged():
    starts = np.stack([Q0, GOAL])
    found = run(UR5E, controllers.ComputedTorque(GOAL), "rk4", q0=starts)
    assert {x.rollout for x in found.meta["stuck"]} == {(0,)}


@pytest.mark.parametrize(
    "friction",
    [
        kt.Friction(0.5, 1.0),
        kt.Friction(0.5, (1.0, 2.0)),
        kt.Friction(0.5, 1.0, stribeck=kt.Stribeck(static=2.0, speed=0.05)),
        kt.Friction(0.5, 1.0, load=0.2),
    ],
    ids=["coulomb", "by direction", "stribeck", "load"],
)
@pytest.mark.parametrize("way", [1, -1])
def test_every_law_of_dry_friction_is_overcome(friction, way):
    robot = kt.robots.planar_2r()
    robot = robot.with_friction({name: friction for name in robot.joint_names})
    q0 = np.array([0.3, 0.4])
    plan = motion.quintic(q0, q0 + np.array([0.05, -0.05]) * way, duration=2.0)
    found = run(robot, controllers.ComputedTorque(plan), "rk4", q0=q0)
    np.testing.assert_allclose(found.q[-1], plan.q[-1], atol=2e-5)


@pytest.mark.parametrize("guess", [0.5, 1.5])
def test_a_wrong_friction_in_the_law_neither_chatters_nor_leads_astray(guess):
    robot, law_robot = (
        kt.robots.planar_2r().with_friction({f"joint{k}": kt.Friction(0.5, x) for k in (1, 2)})
        for x in (1.0, guess)
    )
    q0 = np.array([0.3, 0.4])
    plan = motion.quintic(q0, q0 + np.array([0.3, -0.4]), duration=2.0)
    found = run(robot, controllers.ComputedTorque(plan, model=law_robot), "rk4", q0=q0)
    least = np.linalg.eigvalsh(robot.mass_matrix(found.q)).min()
    assert np.abs(found.q[-1] - plan.q[-1]).max() < 0.5 * np.sqrt(2) / (least * 100)
    reversals = (np.diff(np.sign(found.dq), axis=0) != 0).sum(0)
    assert reversals.max() < 50


def test_an_integral_that_may_release_a_joint_is_named():
    arm = kt.robots.planar_2r().with_gravity((0, 0, 0))
    rough = arm.with_friction({name: kt.Friction(0, 1.0) for name in arm.joint_names})
    law = controllers.PID([0.1, 0.0], 0.5, 0.1, ki=5.0)
    (stuck,) = run(rough, law, q0=[0, 0], duration=0.2).meta["stuck"]
    assert stuck.integral and "integral of the controller may release it" in str(stuck)
