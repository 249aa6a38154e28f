"""Contacts through the doors simulate and robot.step, with all else that a robot can have."""

import logging

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint, Plane
from kinetree.errors import InputError

DT = 2e-3
BENT = np.tile([0, 0.7, -1.4], 4)


@pytest.fixture(scope="module")
def walker():
    """A quadruped with its four feet as contacts."""
    robot = kt.robots.quadruped()
    feet = [f for f in robot.model.frames if f.endswith("_foot")]
    return robot.with_contacts([ContactPoint(f, f) for f in feet], friction=0.7)


@pytest.fixture(scope="module")
def stand(walker):
    return walker.on_ground(np.array([1, 0, 0, 0, 0, 0, 0, *BENT]))


def legs(robot):
    return [j for j in robot.joint_names if j != robot.joint_names[0]]


def test_a_standing_robot_reports_forces_points_gaps_and_modes(walker, stand):
    servos = {f"{j}_servo": kt.Actuator.position(j, kp=80, kd=3) for j in legs(walker)}
    robot = walker.with_actuators(servos)
    motion = kt.simulate(robot, stand, duration=1.0, dt=DT, method="implicitfast", controls=BENT)
    meta, names = motion.meta, walker.model.contacts.names
    assert tuple(meta["contact_forces"]) == names
    assert meta["contact_forces"][names[0]].shape == (501, 3)
    assert meta["contact_gaps"][names[0]].shape == meta["contact_residual"].shape == (501,)
    assert meta["contact_modes"][names[0]].dtype == np.int8
    assert meta["contact_residual"].max() <= 1e-8
    weight = float(sum(robot.model.m)) * 9.81
    total = sum(x[-1] for x in meta["contact_forces"].values())
    np.testing.assert_allclose(total, [0, 0, weight], atol=0.02 * weight)
    point = meta["contact_points"][names[2]][-1]
    np.testing.assert_allclose(point, robot.pose(motion.q[-1], names[2])[:3, 3], atol=1e-12)
    assert abs(point[2] - meta["contact_gaps"][names[2]][-1]) < 1e-15
    after = robot.step(motion.q[-2], motion.dq[-2], dt=DT, controls=BENT, method="implicitfast")
    np.testing.assert_allclose(after[0], motion.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(after[1], motion.dq[-1], rtol=0, atol=1e-9)


def test_auto_takes_fixed_steps_and_adaptive_methods_are_refused(walker, stand):
    motion = kt.simulate(walker, stand, duration=0.01)
    assert motion.meta["method"] == "semi_implicit_euler"
    for method in ("dop853", "radau", "rk4", "euler"):
        with pytest.raises(InputError, match=r"'quadruped' has contacts.*expected one of semi"):
            kt.simulate(walker, stand, duration=0.01, method=method)
    with pytest.raises(InputError, match="has contacts"):
        walker.step(stand, np.zeros(18), np.zeros(18), DT, method="rk4")


def test_a_state_has_the_same_bits_in_every_batch(walker, stand):
    rng = np.random.default_rng(1)
    q, dq = np.tile(stand, (37, 1)), rng.normal(size=(37, 18))
    q[:, 6] += rng.uniform(-1e-3, 3e-3, 37)
    whole = walker.step(q, dq, np.zeros(18), DT)
    for k in (0, 5, 36):
        one = walker.step(q[k], dq[k], np.zeros(18), DT)
        np.testing.assert_array_equal(one[0], whole[0][k])
        np.testing.assert_array_equal(one[1], whole[1][k])
    motion = kt.simulate(walker, q[:9], dq[:9], duration=DT, dt=DT, limits="ignore")
    np.testing.assert_array_equal(motion.q[1], whole[0][:9])


def test_dry_friction_of_the_joints_holds_a_robot_up(walker, stand):
    strong = walker.with_friction({j: kt.Friction(coulomb=30.0) for j in legs(walker)})
    motion = kt.simulate(strong, stand, duration=0.1, dt=DT)
    assert np.abs(motion.dq).max() < 1e-6
    weak = walker.with_friction({j: kt.Friction(coulomb=2.0) for j in legs(walker)})
    end = weak.step(stand, np.zeros(18), np.zeros(18), DT)[1]
    knee = legs(walker).index("front_left_knee") + 6
    assert abs(end[knee]) > 1e-3  # it gives way, more slowly than without friction
    assert abs(end[knee]) < abs(walker.step(stand, np.zeros(18), np.zeros(18), DT)[1][knee])


def test_a_closed_loop_comes_to_rest_on_the_ground():
    robot = kt.robots.five_bar()
    q = np.asarray(robot.neutral(), float)
    height = float(robot.pose(q, "tip")[1, 3])
    ground = Plane((0, 1, 0), (0, height - 0.02, 0))
    robot = robot.with_contacts([ContactPoint("tip", "tip")], ground, friction=0.5)
    robot = robot.with_friction({j: kt.Friction(viscous=0.5) for j in robot.joint_names})
    motion = kt.simulate(robot, q, duration=2.0, dt=1e-3, limits="ignore")
    assert motion.meta["closure"].max() < 1e-9
    assert motion.meta["contact_residual"].max() <= 1e-8
    assert motion.meta["contact_gaps"]["tip"].min() > -1e-6
    assert np.abs(motion.dq[-1]).max() < 1e-6
    force = motion.meta["contact_forces"]["tip"][-1]
    # statics: joint forces of gravity are carried by the contact and the loop
    g = robot.unconstrained().gravity_forces(motion.q[-1])
    J = robot.unconstrained().body_jacobian(motion.q[-1], "tip")
    R = robot.pose(motion.q[-1], "tip")[:3, :3]
    carried = (R @ J[3:]).T @ force
    G = robot.constraint_jacobian(motion.q[-1])
    left = g - carried
    assert np.abs(left - G.T @ np.linalg.lstsq(G.T, left, rcond=None)[0]).max() < 1e-4


def test_a_law_in_python_steps_like_a_traced_one(walker, stand):
    def law(t, q, dq):
        return np.concatenate([np.zeros(6), 80 * (BENT - q[7:]) - 3 * dq[6:]])

    def slow(t, q, dq):
        float(q[0])  # cannot be traced
        return law(t, q, dq)

    fast, python = (
        kt.simulate(walker, stand, duration=0.02, dt=DT, controller=x) for x in (law, slow)
    )
    assert python.meta["note"] is not None
    np.testing.assert_allclose(python.q, fast.q, atol=1e-9)
    assert python.meta["contact_forces"].keys() == fast.meta["contact_forces"].keys()


def test_a_step_that_is_not_solved_is_logged(caplog):
    built = kt.Builder("box").link("base").link("box", m=1, I_com=np.eye(3) * 0.01)
    corners = [ContactPoint(f"{x}{y}{z}", "box", (0.1 * x, 0.07 * y, 0.05 * z))
               for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]  # fmt: skip
    robot = built.joint("free", "free", "base", "box").build().with_contacts(corners, friction=0.9)
    rng = np.random.default_rng(0)
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0.3], (24, 1))
    q[:, :4] = rng.normal(size=(24, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1)[:, None]
    with caplog.at_level(logging.WARNING):
        motion = kt.simulate(robot, q, rng.normal(size=(24, 6)), duration=1.5, dt=DT, every=10)
    residual = motion.meta["contact_residual"]
    assert residual.shape == (76, 24)
    assert (residual.max() <= 1e-8) or "contact_residual" in caplog.text
