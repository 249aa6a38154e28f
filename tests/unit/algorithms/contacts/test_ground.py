"""Distance from the ground: a brute force comparison, exact planes, circles, traced scalars."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.contacts.ground import contact_points, gap, touching
from kinetree.contacts import Box, Boxes, ContactPoint, ContactRim, HeightField, Plane, stairs
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.trace import trace
from kinetree.errors import InputError, ModelError

RNG = np.random.default_rng(5)
FIELD = HeightField(RNG.uniform(0, 0.1, (6, 9)), (0.2, 0.1), (-0.5, -0.4, 0.3))
BOXES = Boxes([Box((0.5, 0.2, 0.1), (0.4, 0.6, 0.3), 0.4), Box((-0.4, 0, 0.2), (0.3, 0.3, 0.4))])
GROUNDS = {"plane": Plane((0.1, -0.2, 2), (0, 0, 0.1)), "boxes": BOXES, "field": FIELD}


def test_the_gap_of_a_plane_is_the_distance():
    n = np.array([0.1, -0.2, 2]) / np.sqrt(4.05)
    p = np.array([0.3, 0.4, -0.5])
    phi, normal = gap(GROUNDS["plane"], p)
    assert phi == pytest.approx(n @ (p - [0, 0, 0.1]), abs=1e-15)
    assert normal == pytest.approx(n, abs=1e-15)


def box_surface(box, count=60):
    """Points of the faces of a box, by brute force."""
    ticks = np.linspace(-0.5, 0.5, count)
    faces = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            grid = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
            faces.append(np.insert(grid, axis, side, axis=1))
    local = np.concatenate(faces) * box.size
    c, s = np.cos(box.yaw), np.sin(box.yaw)
    return local @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T + box.centre


@pytest.mark.parametrize("seed", range(6))
def test_the_gap_of_a_box_is_the_distance_to_its_nearest_point(seed):
    box = BOXES.boxes[0]
    far = Boxes([box], Plane(point=(0, 0, -100)))
    p = np.array(box.centre) + np.random.default_rng(seed).uniform(-0.4, 0.4, 3)
    phi, normal = gap(far, p)
    surface = box_surface(box)
    assert abs(phi) == pytest.approx(np.linalg.norm(surface - p, axis=1).min(), abs=2e-3)
    assert abs(gap(far, p - phi * normal)[0]) < 1e-12


@pytest.mark.parametrize("name", GROUNDS)
def test_the_normal_is_the_slope_of_the_gap(name):
    """Of a height field it is at the surface, where the distance from the tangent plane is 0."""
    ground = GROUNDS[name]
    for p in np.random.default_rng(1).uniform((-0.4, -0.4, 0), (0.4, 0.4, 0.8), (20, 3)):
        if name == "field":
            p[2] -= gap(ground, p)[0] / gap(ground, p)[1][2]
        normal = gap(ground, p)[1]
        slope = [(gap(ground, p + d)[0] - gap(ground, p - d)[0]) / 2e-6 for d in 1e-6 * np.eye(3)]
        assert np.linalg.norm(normal) == pytest.approx(1, abs=1e-15)
        assert np.abs(normal - slope).max() < 1e-5


def test_a_height_field_passes_its_points_and_is_level_beyond_its_border():
    heights = np.array(FIELD.heights)
    for i in range(6):
        for j in range(9):
            p = np.add(FIELD.origin, (0.2 * i, 0.1 * j, heights[i, j]))
            assert abs(gap(FIELD, p)[0]) < 1e-15
    middle = (heights[1, 1] + heights[2, 1] + heights[1, 2] + heights[2, 2]) / 4
    assert abs(gap(FIELD, np.add(FIELD.origin, (0.3, 0.15, middle)))[0]) < 1e-15
    phi, normal = gap(FIELD, np.array([-9.0, -9.0, 1.0]))
    assert phi == pytest.approx(0.7 - heights[0, 0], abs=1e-15) and normal.tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", GROUNDS)
def test_traced_and_fifty_digit_gaps_are_those_of_floats(name):
    ground = GROUNDS[name]

    def both(p):
        phi, normal = gap(ground, p)
        return np.array([phi, *normal])

    graph = trace(both, [Port("p", (3,), ("3",))])
    with mpmath.workdps(50):
        for p in np.random.default_rng(2).uniform(-0.6, 0.6, (10, 3)):
            direct = both(p)
            assert np.abs(np.asarray(interpret(graph, p)[0]) - direct).max() < 1e-15
            exact = both(np.array([mpmath.mpf(x) for x in p.tolist()]))
            assert np.abs(exact.astype(float) - direct).max() < 1e-14


def test_a_sphere_touches_below_its_centre_and_a_circle_at_its_lowest_point():
    slope, centre = Plane((0, -1, 1)), np.array([0.1, 0.2, 1.0])
    (phi, _), point = touching(slope, ContactPoint("a", "b", radius=0.3), centre, np.zeros(3))
    assert phi == pytest.approx(0.8 / np.sqrt(2) - 0.3) and abs(gap(slope, point)[0] - phi) < 1e-15
    axis = np.array([0.6, 0.8, 0.0])
    rim = ContactRim("a", "b", (0, 0, 0), (0, 0, 1), 0.3)
    (phi, _), point = touching(slope, rim, centre, axis)
    u = np.cross(axis, [0, 0, 1])
    angles = np.linspace(0, 2 * np.pi, 20001)
    circle = centre + 0.3 * (np.outer(np.cos(angles), u) + np.outer(np.sin(angles), [0, 0, 1]))
    assert phi == pytest.approx(min(gap(slope, p)[0] for p in circle), abs=1e-7)
    assert np.linalg.norm(point - centre) == pytest.approx(0.3, abs=1e-12)
    flat = touching(Plane(), rim, centre, np.array([0.0, 0.0, 1.0]))
    assert flat[1] == pytest.approx(centre) and flat[0][0] == pytest.approx(1.0)


def test_stairs_lead_up():
    steps = stairs(3, 0.3, 0.1, 1.0)
    for x, height in ((-0.7, 0), (0.15, 0.1), (0.45, 0.2), (0.75, 0.3)):
        assert gap(steps, np.array([x, 0.0, height + 0.01]))[0] == pytest.approx(0.01)


BALL = """<mujoco><worldbody><body><freejoint/><geom name="ball" type="sphere" size="0.1"
mass="1"/></body></worldbody></mujoco>"""


def test_a_robot_is_put_on_the_ground_and_starts_there():
    pytest.importorskip("mujoco")
    robot = kt.load_string(BALL).with_contacts(["ball"], stairs(3, 0.3, 0.1, 1.0))
    q = robot.neutral()
    q[4:] = 0.45, 0, 7
    q = robot.on_ground(q)
    assert q[6] == pytest.approx(0.3, abs=1e-12)
    assert abs(contact_points(robot.model, q)[1][0]) < 1e-12
    assert robot.start_position()[6] == pytest.approx(0.2, abs=1e-9)  # on the first edge
    with pytest.raises(ModelError, match="free joint"):
        arm = kt.robots.panda().with_contacts([ContactPoint("tip", "tool")])
        arm.on_ground(arm.neutral())
    with pytest.raises(ModelError, match="on_ground needs a robot with contacts"):
        robot.with_contacts(None).on_ground(q)


def test_a_start_inside_the_ground_is_refused():
    pytest.importorskip("mujoco")
    robot = kt.load_string(BALL).with_contacts(["ball"])
    q = np.array([robot.on_ground(robot.neutral()), robot.neutral()])
    with pytest.raises(InputError, match=r"'ball' of rollout \[1\] 0.1 m in.*on_ground"):
        robot.simulate(q, duration=0.01, dt=0.001)
    level = {"ground": [0, 0, 1, 0, 0, -0.2]}
    robot.simulate(q, duration=0.01, dt=0.001, parameters=level)


def test_every_environment_has_its_own_friction_and_slope():
    pytest.importorskip("mujoco")
    robot = kt.load_string(BALL.replace("sphere", "box").replace('"0.1"', '"0.1 0.1 0.01"'))
    robot = robot.with_contacts(["ball"])
    q, friction = robot.start_position(), np.array([[0.1], [0.3]]) * np.ones(8)
    slide = [0, 0, 0, 0.5, 0, 0]
    data = {"contact_friction": friction, "restitution": np.zeros(8)}
    ends = robot.simulate(q, slide, duration=0.2, dt=0.001, parameters=data, limits="ignore").q[-1]
    one = robot.with_contacts(["ball"], friction=0.3)
    end = one.simulate(q, slide, duration=0.2, dt=0.001, limits="ignore").q[-1]
    assert np.abs(ends[1] - end).max() < 1e-9 and ends[0, 4] > ends[1, 4] + 0.02
    for bad, text in (
        ({"contact_friction": -friction}, "entry 'ball.0' is -0.1; expected 0 or more"),
        ({"restitution": np.full(8, 2.0)}, "expected 0 to 1"),
    ):
        with pytest.raises(InputError, match=text):
            robot.simulate(q, slide, duration=0.1, dt=0.001, parameters=bad)
    with pytest.raises(ModelError, match="'ground' as a free parameter needs a robot with"):
        kt.robots.planar_2r().compile("mass_matrix", free=["ground"])
