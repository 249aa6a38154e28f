"""Robots from tables: DH parameters, screws, transforms and points, by products of motions."""

import numpy as np
import pytest
from robot_files import relative

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import InertiaError, InputError, ModelError, ShapeError
from kinetree.friction import Friction
from kinetree.joints import Limits
from kinetree.spatial import Ad, exp_se3, exp_so3, spatial_inertia


def turn(k, angle):
    T = np.eye(4)
    T[:3, :3] = exp_so3(np.eye(3)[k] * angle)
    return T


def shift(x, y, z):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


STEP = {
    "standard": lambda a, alpha, d, theta: (
        turn(2, theta) @ shift(0, 0, d) @ shift(a, 0, 0) @ turn(0, alpha)
    ),
    "modified": lambda a, alpha, d, theta: (
        turn(0, alpha) @ shift(a, 0, 0) @ turn(2, theta) @ shift(0, 0, d)
    ),
}
TYPES = ["revolute", "prismatic", "revolute", "revolute"]
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(4, 4))
TABLE[1, 1], TABLE[2, 3] = np.pi / 2, -np.pi
BODIES = {
    "m": RNG.uniform(1, 2, 4), "com": RNG.normal(size=(4, 3)) * 0.1,
    "I_com": np.array([np.diag(x) for x in RNG.uniform(1, 1.5, (4, 3))]),
}  # fmt: skip
TOOL = turn(1, 0.3) @ shift(0.1, 0.2, 0.3)


def moved(row, kind, q):
    a, alpha, d, theta = row
    return (a, alpha, d + q, theta) if kind == "prismatic" else (a, alpha, d, theta + q)


def frames(convention, q):
    """The frames of all links, from the base."""
    T, found = np.eye(4), []
    for row, kind, x in zip(TABLE, TYPES, q, strict=True):
        T = T @ STEP[convention](*moved(row, kind, x))
        found.append(T)
    return found


def by_dh(convention):
    return kt.convert.from_dh(TABLE, types=TYPES, convention=convention, tool=TOOL, **BODIES)


def screws(convention):
    """Screws in the base and home poses of the links of the table."""
    home, S = frames(convention, np.zeros(4)), []
    for k, kind in enumerate(TYPES):
        before = home[k - 1] if k else np.eye(4)
        frame = before if convention == "standard" else home[k]
        z, p = frame[:3, 2], frame[:3, 3]
        S.append([0, 0, 0, *z] if kind == "prismatic" else [*z, *np.cross(p, z)])
    return np.array(S), home


def assert_same_motion(found, expected):
    q, dq, ddq = RNG.normal(size=(3, expected.n))
    tau = dynamics.inverse_dynamics(expected.model, q, dq, ddq)
    assert relative(dynamics.inverse_dynamics(found.model, q, dq, ddq), tau) < 1e-12
    T = dynamics.pose(expected.model, q)
    assert relative(dynamics.pose(found.model, q), T) < 1e-12


@pytest.mark.parametrize("convention", STEP)
def test_poses_of_a_dh_table_are_products_of_four_motions(convention):
    robot = by_dh(convention)
    for q in RNG.normal(size=(3, 4)):
        expected = frames(convention, q)
        found = dynamics.forward_kinematics(robot.model, q)
        assert relative(found, expected) < 1e-13
        assert relative(dynamics.pose(robot.model, q), expected[-1] @ TOOL) < 1e-13


@pytest.mark.parametrize("convention", STEP)
def test_a_table_its_screws_and_its_transforms_are_one_robot(convention):
    S, home = screws(convention)
    G = [spatial_inertia(*body) for body in zip(*BODIES.values(), strict=True)]
    robot = by_dh(convention)
    assert_same_motion(kt.convert.from_screws(S, [*home, home[-1] @ TOOL], G), robot)
    pairs = zip([np.eye(4), *home], [*home, home[-1] @ TOOL], strict=True)
    steps = [np.linalg.solve(parent, link) for parent, link in pairs]
    own = [Ad(np.linalg.inv(T)) @ axis for T, axis in zip(home, S, strict=True)]
    assert_same_motion(kt.convert.from_transforms(steps, G, A=own), robot)
    before = [Ad(T) @ axis for T, axis in zip(steps, own, strict=False)]
    assert_same_motion(kt.convert.from_transforms(steps, G, S=before), robot)


def test_energy_of_a_table_is_that_of_its_bodies():
    """U = - sum m g . p of the centres, which no builder can choose."""
    robot, q = by_dh("standard").with_gravity((1, 2, -9)), RNG.normal(size=4)
    places = frames("standard", q)
    centres = [T[:3, :3] @ c + T[:3, 3] for T, c in zip(places, BODIES["com"], strict=True)]
    U = -sum(m * np.dot([1, 2, -9], p) for m, p in zip(BODIES["m"], centres, strict=True))
    U0 = dynamics.potential_energy(robot.model, np.zeros(4))
    zero = [T[:3, :3] @ c + T[:3, 3] for T, c in
            zip(frames("standard", np.zeros(4)), BODIES["com"], strict=True)]  # fmt: skip
    U0 += sum(m * np.dot([1, 2, -9], p) for m, p in zip(BODIES["m"], zero, strict=True))
    assert dynamics.potential_energy(robot.model, q) - U0 == pytest.approx(U, rel=1e-12)


def test_points_and_axes_move_as_their_screws():
    P = np.array([[0.1, 0.2, 0.3], [0.5, 0.2, 0.7], [0.9, 0.1, 0.2]])
    C, k = [[0.3, 0.2, 0.4], [0.6, 0.3, 0.5]], np.array([[0, 0, 1], [0.6, 0.8, 0]])
    body = {"m": [1, 2], "I_com": [np.eye(3), 2 * np.eye(3)]}
    for h in (None, 0.2):
        more = {} if h is None else {"types": "helical", "pitch": [h, h]}
        robot = kt.convert.from_points(P, C, k, **body, **more)
        for q in RNG.normal(size=(3, 2)):
            T = np.eye(4)
            for p, axis, angle in zip(P, k, q, strict=False):
                T = T @ exp_se3(np.array([*axis, *(np.cross(p, axis) + (h or 0) * axis)]), angle)
            assert relative(dynamics.pose(robot.model, q), T @ shift(*P[2])) < 1e-13
    assert dynamics.total_mass(robot.model) == 3


def test_options_of_a_table_reach_their_joints():
    robot = kt.convert.from_dh(
        TABLE, types=TYPES, **BODIES, joint_names=["a", None, "b", None], base_name="floor",
        armature=[0.5, None, 0, 0], friction=[None, Friction(0.1, (0.2, 0.3)), None, None],
        limits=Limits(-1, 2, 3, 4),
    )  # fmt: skip
    assert robot.joint_names == ("a", "joint2", "b", "joint4")
    first, second, *_ = robot.model.joints
    assert (first.armature, second.friction.coulomb) == (0.5, (0.2, 0.3))
    assert {x.limits for x in robot.model.joints} == {Limits(-1, 2, 3, 4)}


GOOD = {"table": [[1, 0, 0, 0]] * 2, "m": [1, 1], "com": [[0, 0, 0]] * 2, "I_com": [np.eye(3)] * 2}
FAULTS = [
    ({"table": [[1, 0, 0]] * 2}, ShapeError, "table"),
    ({"table": [[1, 0, 0, np.nan]] * 2}, InputError, "nan"),
    ({"convention": "craig"}, ModelError, "craig"),
    ({"types": "helical"}, ModelError, "helical"),
    ({"types": ["revolute"]}, ShapeError, "types"),
    ({"m": [1]}, ShapeError, "m"),
    ({"m": [1, -1]}, InertiaError, "link2"),
    ({"I_com": [np.eye(3), np.diag([1, 1, 3])]}, InertiaError, "link2"),
    ({"tool": 2 * np.eye(4)}, InputError, "tool"),
    ({"gravty": (0, 0, 0)}, InputError, "gravty"),
    ({"armature": [1, -2]}, InputError, "joint2"),
    ({"joint_names": ["a", "a"]}, ModelError, "'a'"),
    ({"base_name": "link1"}, ModelError, "link1"),
]


@pytest.mark.parametrize(("change", "error", "word"), FAULTS)
def test_a_fault_of_a_table_names_the_entry(change, error, word):
    with pytest.raises(error, match=word):
        kt.convert.from_dh(**(GOOD | change))
