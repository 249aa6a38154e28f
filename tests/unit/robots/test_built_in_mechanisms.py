"""Built-in mechanisms: closed forms by trigonometry, degrees of freedom, and laws of motion."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms, robots

# degrees of freedom and motors, by counting
EXPECTED = {
    "slider_crank": (1, 1),
    "four_bar": (1, 1),
    "five_bar": (2, 2),
    "delta": (3, 3),
    "two_arms": (3, 6),
}
STARTS = {
    "slider_crank": [1.0, -1.3, -0.1],
    "four_bar": [1.6, -1.2, 1.7],
    "five_bar": [2, -1, 1, 1],
    "delta": [*[0.8, 1.2, 0] * 3, 0, 0, -0.6],
    "two_arms": [2.1, -1.9, -0.2, 1.1, 1.9, 0.2],
}


@pytest.fixture(scope="module", params=sorted(EXPECTED))
def closed(request):
    """A mechanism, a closed position, and rates that the loops allow."""
    robot = getattr(robots, request.param)()
    rng = np.random.default_rng(3)
    q = robot.project(np.add(STARTS[request.param], 0.05 * rng.normal(size=robot.n)))
    dq = algorithms.project_rates(robot.model, q, rng.normal(size=robot.n))
    return request.param, robot, q, dq


def test_the_mechanisms_are_those_with_constraints():
    constrained = [x for x in robots.__all__ if getattr(robots, x)().model.constraints is not None]
    assert constrained == sorted(EXPECTED) == list(robots.MECHANISMS)


def test_degrees_of_freedom_and_motors_are_as_counted(closed):
    name, robot, _, _ = closed
    found = robot.mobility
    assert (found.degrees_of_freedom, len(found.actuated)) == EXPECTED[name]
    assert found.sufficient


def test_the_slider_stands_where_the_triangle_of_crank_and_rod_ends():
    robot = robots.slider_crank()
    for angle in np.linspace(0.3, 6.0, 7):
        x = 0.2 * np.cos(angle) + np.sqrt(0.6**2 - (0.2 * np.sin(angle)) ** 2)
        lean = -np.arcsin(0.2 * np.sin(angle) / 0.6)
        q = [angle, lean - angle, x - 0.8]
        assert np.abs(algorithms.constraint_errors(robot.model, q)).max() < 1e-14
    assert not np.any(robot.constraint_errors(np.zeros(3)))


def test_the_crank_of_the_slider_crank_feels_the_textbook_inertia():
    robot, angle = robots.slider_crank(), 1.1
    s = np.sin(angle)
    root = np.sqrt(0.6**2 - (0.2 * s) ** 2)
    lean = -np.arcsin(0.2 * s / 0.6)
    x = 0.2 * np.cos(angle) + root
    slope = -0.2 * s - 0.2**2 * s * np.cos(angle) / root  # dx/dangle of the slider
    turn = -0.2 * np.cos(angle) / root  # of the rod
    centre = [-0.2 * s - 0.3 * np.sin(lean) * turn, 0.2 * np.cos(angle) + 0.3 * np.cos(lean) * turn]
    crank, rod = (m * (a * a + 0.02**2) / 12 for m, a in ((1, 0.2), (2, 0.6)))
    inertia = crank + 1 * 0.1**2 + rod * turn**2 + 2 * np.dot(centre, centre) + 3 * slope**2
    M, _, _ = robot.reduced_dynamics([angle, lean - angle, x - 0.8], np.zeros(3))
    assert M[0, 0] == pytest.approx(inertia, rel=1e-12)


def test_the_crank_of_the_four_bar_turns_around():
    robot = robots.four_bar()
    q = robot.project(STARTS["four_bar"])
    for angle in np.linspace(0, 2 * np.pi, 25)[1:] + q[0]:
        q = robot.project([angle, *q[1:]], keep=["crank"])
        crank = 0.2 * np.array([np.cos(angle), np.sin(angle)])
        pin = robot.pose(q, "tip")[:2, 3]
        assert np.hypot(*(pin - crank)) == pytest.approx(0.5, abs=1e-9)
        assert np.hypot(*(pin - [0.5, 0])) == pytest.approx(0.4, abs=1e-12)


def test_rods_of_the_delta_keep_their_length_wherever_the_plate_is():
    robot = robots.delta()
    q = np.array(STARTS["delta"], float)
    for place in ([0, 0, -0.6], [0.05, -0.03, -0.55], [-0.08, 0.04, -0.62]):
        q[-3:] = place
        q = robot.project(q, keep=["x", "y", "z"])
        assert np.allclose(robot.pose(q, "tip")[:3, 3], place)
        for k in range(3):
            turn = kt.spatial.rotation((0, 0, 1), k * 2 * np.pi / 3)
            knee = turn @ [0.1 + 0.2 * np.cos(q[3 * k]), 0, -0.2 * np.sin(q[3 * k])]
            ball = np.array(place) + turn @ [0.05, 0, 0]
            assert np.linalg.norm(knee - ball) == pytest.approx(0.5, abs=1e-9)


def test_two_arms_share_the_weight_of_the_object():
    robot = robots.two_arms()
    q = robot.project(STARTS["two_arms"])
    tau, lam, left_over, _ = robot.constrained_inverse_dynamics(q, np.zeros(6), np.zeros(6))
    assert np.abs(left_over).max() < 1e-9
    one = robot.constrained({}, actuated=[f"left{k}" for k in (1, 2, 3)])
    alone = one.inverse_dynamics(q, np.zeros(6), np.zeros(6))
    assert np.linalg.norm(tau) < np.linalg.norm(alone)
    assert not np.any(alone[3:]) and np.abs(lam[-3:]).max() > 1
