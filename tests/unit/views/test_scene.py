"""Scenes: shapes are placed at the robot's joints and masses."""

from itertools import pairwise

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.algorithms import forward_kinematics, neutral, pose
from kinetree.errors import InputError
from kinetree.model import WORLD, random_model
from kinetree.views import scene
from kinetree.views.bodies import equivalent_ellipsoid

ROBOTS = sorted(kt.robots.TREES)


def ends_of(shape):
    half = shape.size[1] / 2
    return [shape.T[:3, 3] - half * shape.T[:3, 2], shape.T[:3, 3] + half * shape.T[:3, 2]]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_has_a_scene_of_proper_poses(name):
    model = getattr(kt.robots, name)().model
    found = scene(model)
    assert found.name == model.name and found.extent > 0 and found.remarks == ()
    for shape in found.shapes:
        assert shape.link in (WORLD, *model.links)
        np.testing.assert_allclose(shape.T[:3, :3] @ shape.T[:3, :3].T, np.eye(3), atol=1e-12)
        assert np.linalg.det(shape.T[:3, :3]) > 0
        assert all(np.isfinite(shape.size)) and min(shape.size) > 0


def test_bodies_of_a_chain_meet_at_its_joints():
    """At any q, the end of one capsule is the start of the next, and the last ends at the tool."""
    model = kt.robots.panda().model
    q = kt.robots.panda().random(rng=1)
    poses = {WORLD: np.eye(4), **dict(enumerate(forward_kinematics(model, q)))}
    capsules = [s for s in scene(model).shapes if s.kind == "capsule"]
    points = [
        [poses[s.link][:3, :3] @ x + poses[s.link][:3, 3] for x in ends_of(s)] for s in capsules
    ]
    for (_, end), (start, _) in pairwise(points):
        np.testing.assert_allclose(end, start, atol=1e-12)
    np.testing.assert_allclose(points[0][0], 0, atol=1e-12)
    np.testing.assert_allclose(points[-1][1], pose(model, q)[:3, 3], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_joint_cylinders_lie_on_their_axes(seed):
    model = random_model(np.random.default_rng(seed), 6)
    shapes = [s for s in scene(model).of("joint") if s.kind == "cylinder"]
    hinges = {joint.name: joint for joint in model.joints if joint.type == "revolute"}
    checked = 0
    for shape in shapes:
        joint = hinges.get(shape.label)
        if joint is None:
            continue
        w, v = joint.screw[:3], joint.screw[3:]
        for point in ends_of(shape):  # a point of the axis does not move when the joint turns
            np.testing.assert_allclose(np.cross(w, point) + v, 0, atol=1e-9)
        checked += 1
    assert checked == len(hinges) or not hinges


def test_the_ellipsoid_has_the_inertia_of_its_link():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 3)) * (1, 2, 3)
    m, com = 2.5, points.mean(axis=0)
    spread = points - com
    Sigma = m * spread.T @ spread / len(points)
    I = np.trace(Sigma) * np.eye(3) - Sigma
    T, axes = equivalent_ellipsoid(m, com, I)
    R = T[:3, :3]
    again = R @ kt.spatial.ellipsoid(m, *axes) @ R.T
    np.testing.assert_allclose(again, I, rtol=1e-12)
    np.testing.assert_allclose(T[:3, 3], com)


def test_impossible_inertia_is_drawn_flat_rather_than_not_at_all():
    _, axes = equivalent_ellipsoid(1.0, np.zeros(3), np.diag([1.0, 1.0, 5.0]))
    assert np.isfinite(axes).all() and axes.min() == 0


def test_a_slide_has_a_rail_between_its_limits():
    rails = [s for s in scene(kt.robots.scara()).of("joint") if s.kind == "cylinder"]
    joint = next(j for j in kt.robots.scara().model.joints if j.type == "prismatic")
    rail = next(s for s in rails if s.label == joint.name)
    assert rail.size[1] == pytest.approx(joint.limits.upper - joint.limits.lower)


def test_slides_that_only_place_a_platform_have_no_rails():
    labels = [s.label for s in scene(kt.robots.delta()).of("joint") if s.kind == "cylinder"]
    assert labels and not {"x", "y", "z"} & set(labels)
    assert "slide" in [s.label for s in scene(kt.robots.cart_pole()).of("joint")][1:]


def test_the_rail_of_a_follower_ends_where_its_leader_does():
    b = kt.Builder("gripper").link("base").link("left", 0.1, (0, 0, 0.05))
    b.link("right", 0.1, (0, 0, 0.05))
    limits = kt.Limits(0.0, 0.04)
    b.joint("finger", "prismatic", "base", "left", axis=(1, 0, 0), limits=limits)
    mimic = kt.Mimic("finger", -0.5, 0.01)
    b.joint("other", "prismatic", "base", "right", axis=(1, 0, 0), mimic=mimic)
    rails = [s for s in scene(b.build_model()).of("joint") if s.kind == "cylinder"]
    assert {s.label: round(s.size[1], 12) for s in rails} == {"finger": 0.04, "other": 0.02}


def test_frames_are_the_space_and_the_tool():
    model = kt.robots.panda().model
    space, tool = scene(model).of("frame")
    assert space.link == WORLD and tool.label == model.tool
    T = forward_kinematics(model, neutral(model))[tool.link] @ tool.T
    np.testing.assert_allclose(T, pose(model, neutral(model)), atol=1e-15)


def test_symbols_are_refused_with_the_way_out():
    m = sympy.Symbol("m")
    builder = kt.Builder("symbolic").link("base").link("bob", m, (0, 0, -1))
    builder.joint("hinge", "revolute", "base", "bob")
    with pytest.raises(InputError, match="holds symbols; only a robot of numbers can be drawn"):
        scene(builder.build_model())
    with pytest.raises(InputError, match="expected a Robot or a Model"):
        scene("panda")
