"""Lean frames stand on the joints' axes and lead to the same poses, for any pair of axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.tree import Rotation, Turn
from kinetree.model import WORLD, zeros
from kinetree.spatial import box
from robot_states import EPS, any_robot, random_state, size

ROUNDING = 64 * EPS  # along up to 30 links, relative to the largest term
TILT = 1e-6  # rad: nearly parallel


def lean_poses(model, q):
    """T_si of the textbook's link frames, by way of the lean ones."""
    lean, T = lean_model(model), {WORLD: np.eye(4)}
    for i, link in enumerate(lean_tree(lean, q).links):
        to = link.to
        R = {
            Turn: lambda t: np.array([[t.c, -t.s, 0], [t.s, t.c, 0], [0, 0, 1]]),
            Rotation: lambda t: t.R,
            type(None): lambda t: np.eye(3),
        }[type(to.turn)](to.turn)
        T_pi = np.eye(4)
        T_pi[:3, :3], T_pi[:3, 3] = to.R @ R, to.p
        T[i] = T[link.parent] @ T_pi.astype(float)
    X = [link.place.X.astype(float) for link in lean.links]
    return np.array([T[i] @ np.linalg.inv(X[i]) for i in model.links])


def two_joints(axis, at, types, point=(0, 0, 0), **drive):
    """Two joints, the first along z through the origin."""
    builder = kt.Builder("pair").link("base")
    builder.link("one", 2, (0.1, 0.2, 0.3), box(2, 0.1, 0.2, 0.3))
    builder.link("two", 3, (-0.2, 0.1, 0.4), box(3, 0.3, 0.1, 0.2))
    builder.joint("first", types[0], "base", "one", axis=(0, 0, 1))
    unit = np.array(axis, float) / np.linalg.norm(axis)
    builder.joint("second", types[1], "one", "two", at=at, axis=unit, point=point, **drive)
    return builder.build_model()


AXES = {
    "parallel": (0, 0, 1),
    "opposite": (0, 0, -1),
    "nearly parallel": (np.sin(TILT), 0, np.cos(TILT)),
    "nearly opposite": (0, np.sin(TILT), -np.cos(TILT)),
    "hardly tilted": (1e-15, 0, 1),
    "tilted a little": (0.1, 0, 1),
    "oblique": (1, 2, 3),
    "crossing at a right angle": (1, 0, 0),
}
PLACES = {
    "coincident": (0, 0, 0),
    "along the axis": (0, 0, 0.7),
    "beside": (0.5, 0, 0),
    "anywhere": (0.3, -0.4, 0.5),
}
PAIRS = [
    ("revolute", "revolute"),
    ("revolute", "prismatic"),
    ("prismatic", "revolute"),
    ("prismatic", "prismatic"),
]


@pytest.mark.parametrize("types", PAIRS, ids=" ".join)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("axis", AXES)
def test_any_pair_of_axes_gives_the_textbooks_results(axis, place, types):
    model = two_joints(AXES[axis], PLACES[place], types)
    regrouped, plain = lean_model(model), lean_model(model, regrouped=False)
    # a tilt within rounding is taken for none: ROUNDING_OF_ZERO, of 5 eps, comes on top
    slack = (16 if axis == "hardly tilted" else 8) * EPS
    for seed in range(3):
        x = random_state(model, seed)
        T = algorithms.forward_kinematics(model, x.q)
        assert size(lean_poses(model, x.q) - T) <= 8 * EPS * size(T)
        M = algorithms.mass_matrix_by_jacobians(model, x.q)
        tau = algorithms.inverse_dynamics(model, *x.motion, x.F_ext, formulation="screw")
        h = algorithms.inverse_dynamics(model, x.q, x.dq, zeros(2), x.F_ext)
        terms = size(M @ x.ddq) + size(h) + size(x.F_ext)
        for lean in (regrouped, plain):
            tree = lean_tree(lean, x.q, x.F_ext)
            assert size(tree_mass_matrix(tree) - M) <= slack * size(M)
            found = tree_inverse_dynamics(tree, x.dq, x.ddq)
            assert size(found - tau) <= slack * terms


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_lean_frames_lead_to_the_same_poses(seed):
    model = any_robot(seed)
    q = algorithms.random(model, np.random.default_rng(seed))
    T = algorithms.forward_kinematics(model, q)
    assert size(lean_poses(model, q) - T) <= ROUNDING * size(T)


def test_offsets_and_mimic_joints_are_where_they_stand():
    builder = kt.Builder("followers").link("base")
    for k in range(3):
        builder.link(f"link{k}", 1 + k, (0.1, 0.2, 0.3), box(1 + k, 0.1, 0.2, 0.3))
    builder.joint("leader", "revolute", "base", "link0", axis=(0, 1, 0), offset=0.3)
    follow = kt.Mimic("leader", -2.0, 0.7)
    builder.joint("turner", "revolute", "link0", "link1", at=(0.4, 0, 0.1), mimic=follow)
    builder.joint("slider", "prismatic", "link1", "link2", at=(0, 0.3, 0), mimic=follow)
    model = builder.build_model()
    assert model.n == 1 and len(model.links) == 3
    for q in np.linspace(-3, 3, 7):
        T = algorithms.forward_kinematics(model, [q])
        assert size(lean_poses(model, np.array([q])) - T) <= 8 * EPS * size(T)
        M = algorithms.mass_matrix_by_jacobians(model, [q])
        found = tree_mass_matrix(lean_tree(lean_model(model), np.array([q])))
        assert size(found - M) <= 8 * EPS * size(M)
