"""Constraints as they are drawn: markers where the frames are, tables, and closed positions."""

import re

import numpy as np
import pytest

import kinetree as kt
from closed_loops import slider_crank, slider_crank_position
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.constraints import Couple, Hold, Rod
from kinetree.model import WORLD
from kinetree.robots import MECHANISMS
from kinetree.views import report_page, scene
from kinetree.views.arrows import constraint_arrows
from kinetree.views.bodies import link_poses
from kinetree.views.loops import closed_rest, loop_data, openness, tie_lines, ties, wrapped

HOSTILE = "<script>alert(1)</script>"


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_shown_closed_and_its_markers_coincide(name):
    robot = getattr(kt.robots, name)()
    positions = closed_rest(robot)
    assert np.abs(robot.constraint_errors(positions)).max() < 1e-9
    assert np.array_equal(positions[0], robot.neutral())  # as in Python and on the command line
    poses = link_poses(robot.model, positions[0])
    markers: dict[str, list[np.ndarray]] = {}
    for shape in scene(robot).of("loop"):
        markers.setdefault(shape.label, []).append((poses[shape.link] @ shape.T)[:3, 3])
    assert set(markers) == set(robot.model.constraints.given)
    for first, second in markers.values():
        assert np.abs(first - second).max() < 1e-9
    lines = tie_lines(robot.model, poses)
    assert np.abs(lines[:, 0] - lines[:, 1]).max() < 1e-9


def test_a_robot_without_constraints_has_no_markers_and_rests_where_it_did():
    robot = kt.robots.panda()
    drawn = scene(robot)
    assert not drawn.of("loop") and "loop" not in drawn.shown and loop_data(robot.model) == []
    assert np.array_equal(closed_rest(robot), rest_position(robot.model)[None])


def rods():
    tree = kt.robots.planar_2r()
    q = np.array([0.3, 0.8])
    p = tree.pose(q)[:3, 3]
    length = float(np.linalg.norm(p))
    given = {"rod": Rod(tree.model.base_name, tree.model.tool, length)}
    return tree.constrained(given, near=q), q, p


def test_a_rod_is_a_line_between_its_ends_and_pushes_along_it():
    robot, q, p = rods()
    q = robot.project(q)
    line = tie_lines(robot.model, link_poses(robot.model, q))[0]
    assert np.abs(line[0]).max() < 1e-12 and np.abs(line[1] - p).max() < 1e-9
    explanation = robot.explain(q, [0, 0], [0, 0])
    (arrow,) = constraint_arrows(explanation, 0.5)
    force = float(explanation.torque.constraints.forces["rod"])
    assert np.abs(arrow.value - force * p / np.linalg.norm(p)).max() < 1e-9
    assert np.linalg.norm(arrow.tip - arrow.start) == pytest.approx(0.5)


def test_arrows_of_a_loop_are_the_wrench_that_the_tree_needs():
    """As an external wrench onto frame_b, and the opposite onto frame_a, they replace the loop."""
    robot = slider_crank("point", actuated=["crank"])
    q = slider_crank_position(0.6)
    dq = robot.project_rates(q, [1.0, 0, 0])
    ddq = robot.forward_dynamics(q, dq, [3, 0, 0])
    explanation = robot.explain(q, dq, ddq)
    (arrow,) = constraint_arrows(explanation, 1.0)
    tree = robot.unconstrained()
    wrenches = np.zeros((3, 6))
    for frame, sign in (("tip", 1), ("pin", -1)):
        link = robot.model.frames[frame].link
        T = np.asarray(robot.link_poses(q)[link])
        point = T[:3, :3].T @ (robot.pose(q, frame)[:3, 3] - T[:3, 3])
        force = sign * T[:3, :3].T @ arrow.value
        wrenches[link] += np.concatenate([np.cross(point, force), force])
    tau = tree.inverse_dynamics(q, dq, ddq, wrenches)
    assert np.abs(tau - explanation.tau).max() < 1e-9


def test_kinds_frames_and_equations_are_named():
    robot = kt.robots.planar_2r()
    p = robot.pose([0.3, 0.8])[:3, 3]
    held = robot.constrained({"grip": Hold(robot.model.tool, "point", p)}, near=[0.3, 0.8])
    (tie,) = ties(held.model)
    assert (tie.kind, tie.what) == ("hold, point", f"{robot.model.tool} in {{s}}")
    fixed = [x for x in scene(held).of("loop") if x.link == WORLD]
    assert len(fixed) == 1 and np.abs(fixed[0].T[:3, 3] - p).max() < 1e-12
    gear = robot.constrained({"gear": Couple("joint2", {"joint1": -2})})
    assert ties(gear.model)[0].what == "joint2 by joint1" and not scene(gear).of("loop")
    assert openness(gear, np.array([0.1, 0.1])).errors == {"gear": pytest.approx(0.3)}


def test_only_hinges_that_no_equation_counts_turns_of_are_wrapped():
    robot = kt.robots.four_bar()
    q = closed_rest(robot)[0]
    turned = wrapped(robot.model, q + 2 * np.pi)
    assert np.abs(turned - q).max() < 1e-12
    tree = kt.Builder("wheels").link("base").link("a", m=1, I_com=np.eye(3))
    tree.link("b", m=1, I_com=np.eye(3))
    tree.joint("one", "revolute", "base", "a").joint("two", "revolute", "base", "b", at=(1, 0, 0))
    gear = tree.build().constrained({"gear": Couple("two", {"one": 0.3})})
    assert np.array_equal(wrapped(gear.model, np.array([7.0, 2.1])), [7.0, 2.1])


def test_a_robot_with_constraints_rests_within_its_limits():
    """A closed position at zero, outside the limits, is not where the robot is shown."""
    limits = '<limit lower="-2" upper="-1" effort="9" velocity="9"/>'
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    parts = "".join(
        f'<link name="{b}">{body}</inertial></link><joint name="{j}" type="revolute"><parent '
        f'link="{a}"/><child link="{b}"/><origin xyz="0 0 1"/>{limits}</joint>'
        for a, b, j in (("base", "one", "first"), ("one", "two", "second"))
    )
    robot = kt.load_string(f'<robot name="r"><link name="base"/>{parts}</robot>')
    tied = robot.constrained({"gear": Couple("second", {"first": 1})})
    q = closed_rest(tied)[0]
    assert (q >= -2).all() and (q <= -1).all() and openness(tied, q).closed


def test_the_page_lists_constraints_redundant_equations_and_forces():
    page = report_page(kt.robots.four_bar(), samples=10)
    text = re.sub(r"<[^>]+>", " ", page.split("<h2>Constraints</h2>")[1].split("<h2>Joints")[0])
    for words in ("1 degree of freedom", "loop, axis z", "tip – pin", "linear_z", "Motors: crank"):
        assert words in text
    assert "loop.linear_x" in text and 'id="closure"' in page
    assert "<h2>Joint forces" not in page and 'class="force"' not in page


def test_names_of_constraints_are_escaped_on_the_page():
    robot = kt.robots.planar_2r().constrained({HOSTILE: Couple("joint2", {"joint1": -2})})
    assert HOSTILE not in report_page(robot, samples=10)
