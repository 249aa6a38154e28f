"""Recorded slider positions become a smooth motion, for quaternions and poses too."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import difference
from kinetree.algorithms.configuration import rest_position
from kinetree.model.samples import ALL_TYPES, random_model
from kinetree.views.workbench.motions import recorded

PLANAR = kt.robots.planar_2r()
WALKER = kt.robots.quadruped()


def test_a_recording_holds_what_was_set_and_moves_smoothly():
    robot = PLANAR
    first, then = np.array([0.1, -0.2]), np.array([0.9, -0.2])
    trajectory = recorded(robot, [(5.0, first), (6.0, then), (7.0, then)])
    early, late = (trajectory.t < 1.0), (trajectory.t > 1.65)
    np.testing.assert_allclose(trajectory.q[early], np.tile(first, (early.sum(), 1)), atol=1e-12)
    np.testing.assert_allclose(trajectory.q[late], np.tile(then, (late.sum(), 1)), atol=1e-12)
    assert (np.diff(trajectory.q[:, 0]) > -1e-12).all()  # no overshoot
    # a step of 0.8 under a bell of 0.1 s: its rate peaks at 0.8 / (0.1 sqrt(2 pi))
    peak = 0.8 / (0.1 * np.sqrt(2 * np.pi))
    assert np.abs(trajectory.dq[:, 0]).max() == pytest.approx(peak, rel=0.03)
    assert np.abs(trajectory.dq[[0, -1]]).max() < 1e-9


def test_a_recording_begins_and_ends_where_the_hand_did():
    first, then = np.array([0.1, -0.2]), np.array([0.9, -0.2])
    trajectory = recorded(PLANAR, [(5.0, first), (5.001, then), (5.002, then)])
    np.testing.assert_allclose(trajectory.q[[0, -1]], [first, then], atol=1e-12)


@pytest.mark.parametrize("kept", [[], [(0.0, np.zeros(2))], [(0.0, np.zeros(2))] * 9])
def test_a_recording_of_nothing_is_refused(kept):
    with pytest.raises(kt.KinetreeError, match="move a slider"):
        recorded(PLANAR, kept)


def turned(q, angle, position=(0, 0, 0)):
    """A robot with a free base that is turned about z and moved."""
    q = q.copy()
    q[:7] = [np.cos(angle / 2), 0, 0, np.sin(angle / 2), *position]
    return q


def test_a_base_is_recorded_as_a_rotation():
    """From one attitude to another the average turns about their common axis alone."""
    q = rest_position(WALKER.model)
    first, then = turned(q, 0.2), turned(q, 1.4, (0.3, 0, 0))
    trajectory = recorded(WALKER, [(5.0, first), (6.0, then), (7.0, then)])
    np.testing.assert_allclose(np.linalg.norm(trajectory.q[:, :4], axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(trajectory.q[[0, -1]], [first, then], atol=1e-12)
    angle = 2 * np.arctan2(trajectory.q[:, 3], trajectory.q[:, 0])
    assert (np.diff(angle) > -1e-12).all() and not trajectory.q[:, 1:3].any()
    middle = np.argmin(abs(angle - 0.8))  # half-way in angle is half-way in the average
    assert trajectory.q[middle, 4] == pytest.approx(0.15, abs=0.02)
    assert np.abs(trajectory.dq[:, [0, 1, 5]]).max() < 1e-12  # no roll, no pitch, not up
    # forward along x of {s}, seen from a base that looks to the left of it
    v, c, s = trajectory.dq[:, 3:5].T, np.cos(angle), np.sin(angle)
    np.testing.assert_allclose(s * v[0] + c * v[1], 0, atol=1e-12)
    assert (c * v[0] - s * v[1]).max() == pytest.approx(0.3 / (0.1 * np.sqrt(2 * np.pi)), rel=0.03)


@pytest.mark.parametrize("name", ["quadruped", "humanoid", "strange"])
def test_rates_of_a_recording_lead_from_sample_to_sample(name):
    """q(t + h) = q(t) + h (dq + dq') / 2 to h^3 / 12 of the third derivative, on the manifold."""
    strange = kt.Robot(random_model(3, 6, types=ALL_TYPES, mimic=True))
    robot = strange if name == "strange" else getattr(kt.robots, name)()
    rng = np.random.default_rng(1)
    kept = [(0.0, rest_position(robot.model))]
    for k in range(4):
        step = rng.normal(size=robot.n) * 0.2
        kept.append((0.3 * (k + 1), robot.integrate(kept[-1][1], step)))
    motion = recorded(robot, [*kept, (2.0, kept[-1][1])])
    h = motion.t[1] - motion.t[0]
    pairs = zip(motion.q[:-1], motion.q[1:], strict=True)
    steps = np.array([difference(robot.model, a, b) for a, b in pairs])
    mean = (motion.dq[1:] + motion.dq[:-1]) / 2
    third = np.abs(np.diff(motion.ddq, axis=0)).max() / h
    assert np.abs(steps - mean * h).max() < h**3 * third / 4
    bend = np.diff(motion.dq, axis=0) - (motion.ddq[1:] + motion.ddq[:-1]) * h / 2
    assert np.abs(bend).max() < h**3 * third / h


def test_a_quaternion_and_its_opposite_are_the_same_attitude():
    q = rest_position(WALKER.model)
    first, then = turned(q, -0.3), turned(q, 0.5)
    opposite = then.copy()
    opposite[:4] *= -1
    plain = recorded(WALKER, [(0.0, first), (0.5, then), (1.0, then)])
    mixed = recorded(WALKER, [(0.0, first), (0.5, opposite), (1.0, then)])
    np.testing.assert_allclose(mixed.q, plain.q, atol=1e-15)
    np.testing.assert_allclose(mixed.dq, plain.dq, atol=1e-13)


def test_attitudes_without_an_average_are_refused():
    q = rest_position(WALKER.model)
    third = 2 * np.pi / 3  # three rotations spread evenly: their average is zero
    kept = [(0.03 * k, turned(q, third * k)) for k in range(40)]
    with pytest.raises(kt.KinetreeError, match="more slowly"):
        recorded(WALKER, kept)


def test_a_base_in_the_plane_has_rates_in_its_own_axes():
    cart = kt.Robot(random_model(0, 1, types=("planar",)))
    first, then = np.array([np.pi / 2, 0, 0]), np.array([np.pi / 2, 1, 0])
    motion = recorded(cart, [(0.0, first), (0.5, then), (1.0, then)])
    assert np.abs(motion.dq[:, 1]).max() < 1e-12 and motion.dq[:, 2].min() < -1
