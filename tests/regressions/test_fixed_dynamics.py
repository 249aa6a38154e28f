"""Dynamics, simulation and default frames: cases that once gave a wrong result in silence."""

import inspect

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.joints.gains import Gains


def carts(count=2, m=3.0):
    """Carts of mass m on rails of their own, so that M = m 1."""
    builder = kt.Builder("carts").link("base")
    for i in range(count):
        builder.link(f"cart{i}", m=m, I_com=0.01 * np.eye(3))
        builder.joint(f"x{i}", "prismatic", "base", f"cart{i}", axis=(1, 0, 0))
    return builder.build()


def test_implicit_step_solves_an_unsymmetric_matrix_with_entries_minus_one_and_minus_two():
    # Python gives -1.0 and -2.0 one hash
    kd, tau, h = np.array([[0.0, -2.0], [-4.0, 0.0]]), np.array([1.0, 1.0]), 0.5
    gains = Gains(np.zeros((2, 2)), kd, symmetric=False)
    end = kt.dynamics.step(
        carts().model, [0, 0], [0, 0], tau, h, method="implicitfast", gains=gains
    )
    expected = h * np.linalg.solve(3 * np.eye(2) + h * kd, tau)
    np.testing.assert_allclose(np.array(end[1], float), expected, rtol=1e-14)


def spinning(rates):
    """A body with inertia (1, 2, 3) kg m^2 in free space, turning about (1, 1, 1)."""
    body = kt.Builder("body", gravity=(0, 0, 0)).link("base")
    body.link("body", m=1.0, I_com=np.diag([1.0, 2.0, 3.0])).joint("float", "free", "base", "body")
    dq = np.zeros((*np.shape(rates), 6))
    dq[..., :3] = np.asarray(rates)[..., None] / np.sqrt(3)
    return body.build(), dq


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "implicitfast"])
def test_a_rise_of_the_energy_of_a_passive_run_is_a_warning(method):
    robot, dq = spinning(10.0)
    given = {"duration": 15.0, "dt": 1e-3, "method": method}
    with pytest.warns(kt.errors.KinetreeWarning, match="energy of 'body'"):
        motion = robot.simulate(robot.neutral(), dq, **given)
    energy = robot.kinetic_energy(motion.q, motion.dq)
    assert 1.2 < energy[-1] / energy[0] < 1.5


def test_the_warning_names_the_worst_rollout_of_a_batch():
    robot, dq = spinning([1.0, 10.0, 3.0])
    given = {"duration": 15.0, "dt": 1e-3, "method": "semi_implicit_euler"}
    with pytest.warns(kt.errors.KinetreeWarning, match=r"rollout \[1\]"):
        robot.simulate(robot.neutral(), dq, parameters={"mass": [[1], [2], [3]]}, **given)


def test_accurate_and_driven_runs_do_not_warn(recwarn):
    robot, dq = spinning(10.0)
    push = np.array([5.0, 0, 0, 0, 0, 0])
    robot.simulate(robot.neutral(), dq, duration=15.0)
    robot.simulate(robot.neutral(), dq, duration=15.0, dt=1e-3, method="rk4")
    robot.simulate(robot.neutral(), duration=2.0, method="semi_implicit_euler")  # no energy
    robot.simulate(robot.neutral(), duration=2.0, method="semi_implicit_euler", tau=push)
    assert not recwarn.list


def test_rollouts_that_do_not_stay_finite_are_a_warning_where_limits_are_ignored():
    robot, dq = spinning([1.0, 40.0])
    given = {"duration": 15.0, "method": "semi_implicit_euler", "limits": "ignore"}
    with pytest.warns(kt.errors.KinetreeWarning, match=r"rollout \[1\] not finite"):
        motion = robot.simulate(robot.neutral(), dq, tau=np.full(6, 1e-3), **given)
    assert np.isfinite(motion.q).all()


@pytest.mark.parametrize("name", ["planar_2r", "four_bar", "quadruped"])
def test_looking_at_the_members_of_a_robot_never_raises(name):
    robot = getattr(kt.robots, name)()
    members = dict(inspect.getmembers(robot))
    assert {"constrained", "mass_matrix", "space_jacobian"} <= members.keys()
    for member in dir(robot):
        hasattr(robot, member)


def test_a_quantity_that_a_robot_does_not_have_raises_when_it_is_called():
    robot = kt.robots.planar_2r()
    assert not hasattr(robot, "contact_points") and not hasattr(robot, "mobility")
    with pytest.raises(kt.errors.ModelError, match=r"contact_points needs .* 'planar 2R'"):
        robot.compile("contact_points")([0.1, 0.2])
    with pytest.raises(kt.errors.ModelError, match=r"mobility needs .* 'planar 2R'"):
        kt.constraints.mobility(robot)


GRIPPER = carts(3)
Q = np.zeros(3)
WITHOUT_FRAME = {
    "pose": lambda: GRIPPER.pose(Q),
    "body_jacobian": lambda: GRIPPER.body_jacobian(Q),
    "frame_velocity": lambda: GRIPPER.frame_velocity(Q, Q),
    "task_space": lambda: GRIPPER.task_space(Q),
    "textbook pose": lambda: kt.dynamics.pose(GRIPPER.model, Q),
    "F_tip": lambda: kt.dynamics.inverse_dynamics(GRIPPER.model, Q, Q, Q, F_tip=np.ones(6)),
    "inverse_kinematics": lambda: GRIPPER.inverse_kinematics(np.eye(4)),
    "compile": lambda: GRIPPER.compile("space_jacobian"),
    "derivative": lambda: GRIPPER.derivative("pose"),
    "with_payload": lambda: GRIPPER.with_payload(1.0),
    "payload_parameters": lambda: kt.simulate.payload_parameters(GRIPPER, [1.0, 2.0]),
    "with_tool": lambda: GRIPPER.with_tool("pen"),
    "attach": lambda: GRIPPER.attach(kt.robots.planar_2r()),
    "export": lambda: kt.export(GRIPPER, "pose"),
    "straight_line": lambda: kt.motion.straight_line(GRIPPER, Q, np.eye(4), 1.0),
    "optimal": lambda: kt.optimal.Problem(
        GRIPPER, 0.1, 4, [kt.optimal.FramePosition(target=np.zeros(3))]
    ).solve(Q),
    "trace": lambda: kt.views.render(
        GRIPPER, GRIPPER.simulate(Q, duration=0.1), path="motion.gif", add=("trace",)
    ),
}


@pytest.mark.parametrize("name", WITHOUT_FRAME)
def test_a_tree_with_several_tips_and_no_tool_needs_a_frame(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kt.errors.InputError, match="'cart0', 'cart1', 'cart2'"):
        WITHOUT_FRAME[name]()


def test_a_named_frame_or_tool_of_a_tree_with_several_tips_is_used():
    np.testing.assert_array_equal(GRIPPER.pose([0.1, 0.2, 0.3], "cart1")[:3, 3], [0.2, 0, 0])
    assert GRIPPER.with_payload(1.0, frame="cart0").model.m.tolist() == [4, 3, 3]
    pen = GRIPPER.with_tool("pen", (0, 0, 1), frame="cart2")
    np.testing.assert_array_equal(pen.pose([0.1, 0.2, 0.3])[:3, 3], [0.3, 0, 1])


def test_a_link_that_is_fixed_to_another_makes_no_further_tip():
    arm = kt.Builder("arm").link("base").link("rod", m=1.0).link("camera").link("flange")
    arm.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0))
    arm.joint("camera", "fixed", "rod", "camera")
    arm.joint("flange", "fixed", "rod", "flange", at=(0, 0, 1))
    robot = arm.build()
    assert robot.model.tips == ("rod",)
    np.testing.assert_array_equal(robot.pose([0.0])[:3, 3], [0, 0, 1])


def test_reports_and_views_show_a_tree_with_several_tips_without_a_tool(tmp_path):
    page = kt.views.report_page(GRIPPER)
    assert "tips &#x27;cart0&#x27;" in page or "tips 'cart0'" in page
    kt.views.render(GRIPPER, path=tmp_path / "picture.png")
    assert kt.load_string(kt.convert.to_urdf(GRIPPER)).model.tool is None
    assert kt.load_string(kt.convert.to_mjcf(GRIPPER)).model.tool is None
    assert kt.symbolic(GRIPPER).M.shape == (3, 3)


def test_the_mass_ellipsoid_has_the_inertia_of_motors():
    puma = kt.robots.puma_560()
    q = np.random.default_rng(3).normal(size=6)
    J = puma.body_jacobian(q)[3:]
    masses = np.linalg.eigvalsh(np.linalg.inv(J @ np.linalg.inv(puma.mass_matrix(q)) @ J.T))
    np.testing.assert_allclose(kt.dynamics.mass_ellipsoid(puma, q).lengths, masses, rtol=1e-9)


def test_a_closed_loop_may_have_links_without_mass_on_motors():
    robot = kt.Builder("loop").link("base").link("crank").link("arm", m=1, I_com=np.eye(3))
    robot.joint("j1", "revolute", "base", "crank", axis=(0, 0, 1), armature=0.2)
    robot.joint("j2", "revolute", "base", "arm", axis=(0, 0, 1), at=(1, 0, 0), armature=0.1)
    geared = robot.build().constrained({"gear": kt.constraints.Couple("j1", {"j2": 2})})
    assert kt.constraints.mobility(geared).degrees_of_freedom == 1
