"""The robots on a free base: what they weigh, how they are built, how they fall."""

import numpy as np
import pytest

from kinetree import algorithms, robots

NAMES = ("humanoid", "quadruped")


def fall(model, q):
    """Accelerations without joint forces, from rest."""
    return algorithms.forward_dynamics(model, q, np.zeros(model.n), np.zeros(model.n))


@pytest.mark.parametrize("name", NAMES)
def test_everything_falls_alike_and_no_joint_moves(name):
    """Uniform gravity does not bend a free body: its base falls with g, its joints stay."""
    model = getattr(robots, name)().model
    q = algorithms.random(model, np.random.default_rng(0))
    ddq = fall(model, q)
    w, x, y, z = q[:4]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert np.allclose(R @ ddq[3:6], [0, 0, -9.81], rtol=0, atol=1e-9)
    assert np.allclose(np.delete(ddq, [3, 4, 5]), 0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_left_and_right_are_mirror_images(name):
    model = getattr(robots, name)().model
    q = algorithms.neutral(model)
    assert algorithms.center_of_mass(model, q)[1] == pytest.approx(0, abs=1e-15)
    frames = [frame for frame in model.frames if "left" in frame]
    assert frames
    for frame in frames:
        left = algorithms.pose(model, q, frame)[:3, 3]
        right = algorithms.pose(model, q, frame.replace("left", "right"))[:3, 3]
        assert np.allclose(left * [1, -1, 1], right, rtol=0, atol=1e-15)


def test_the_quadruped_has_three_joints_a_leg_and_stands_on_straight_legs():
    model = robots.quadruped().model
    assert (model.n, model.nq, len(model.joints)) == (18, 19, 13)
    assert model.joint_types.count("revolute") == 12
    assert algorithms.total_mass(model) == pytest.approx(12.2)
    for foot in ("front_left", "front_right", "rear_left", "rear_right"):
        p = algorithms.pose(model, algorithms.neutral(model), f"{foot}_foot")[:3, 3]
        assert p[2] == pytest.approx(-0.4)
        assert np.sign(p[0]) == (1 if "front" in foot else -1)
        assert np.sign(p[1]) == (1 if "left" in foot else -1)
    assert model.tool == "front_left_foot"


def test_the_humanoid_is_the_man_of_the_table():
    """Segments add up to the whole body; 28 hinges and a free base."""
    model = robots.humanoid().model
    assert (model.n, model.nq) == (34, 35)
    assert model.joint_types.count("revolute") == 28
    assert algorithms.total_mass(model) == pytest.approx(73, rel=1e-12)
    heaviest = model.link_names[int(np.argmax(model.m))]
    assert heaviest == "waist"
    assert model.m[model.link_names.index("left_thigh")] == pytest.approx(0.1416 * 73)


def test_a_thigh_has_the_published_radii_of_gyration():
    model = robots.humanoid().model
    i = model.link_names.index("right_thigh")
    radii = np.sqrt(np.diag(model.I_com[i]) / model.m[i])
    assert np.allclose(radii, np.array([0.329, 0.329, 0.149]) * 0.4222, rtol=1e-12)
    assert np.allclose(model.com[i], [0, 0, -0.4095 * 0.4222], rtol=1e-12)


def test_feet_point_forward_and_hands_hang():
    model = robots.humanoid().model
    i = model.link_names.index("left_foot")
    assert model.com[i][0] > 0 and model.com[i][2] < 0
    assert model.I_com[i][0, 0] < model.I_com[i][1, 1] < model.I_com[i][2, 2]
    q = algorithms.neutral(model)
    hand, head = (algorithms.pose(model, q, name)[2, 3] for name in ("left_knuckle", "eyes"))
    assert -0.2 < hand < 0 < head
    assert model.tool == "right_knuckle"


def test_knees_bend_backward_and_elbows_forward():
    model = robots.humanoid().model
    q = algorithms.neutral(model)
    q[model.coordinate_names.index("left_knee")] = 1
    q[model.coordinate_names.index("left_elbow")] = -1
    assert algorithms.pose(model, q, "left_foot")[0, 3] < -0.3
    assert algorithms.pose(model, q, "left_knuckle")[0, 3] > 0.2
    assert model.joint("left_knee").limits.upper > 1 and model.joint("left_elbow").limits.lower < -1
