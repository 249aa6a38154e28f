"""Screws, transforms, points and Builder give the same robot; bad tables are refused by name.

The builders differ in the products of poses that they round: a few eps a joint in home poses and
axes, which a chain of eight carries into tau and M. The issue asks for 1e-12 of agreement.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chain_data
from kinetree.errors import InertiaError, InputError, ModelError, NameLookupError, ShapeError
from kinetree.files.description import Friction, Limits, Rotor, describe_screws, describe_transforms
from kinetree.model import build_model
from kinetree.spatial import Ad, inverse, screw, spatial_inertia, swap_order

SAME = 1e-12
seeds = st.integers(0, 10**6)
sizes = st.integers(1, 8)


@settings(max_examples=25)
@given(seeds, sizes, st.booleans())
def test_all_builders_give_the_same_robot(seed, n, tree):
    data = chain_data.random_chain(seed, n, tree=tree)
    reference = chain_data.by_builder(data)
    for build in chain_data.BUILDERS:
        model = build(data)
        assert chain_data.difference(reference, model, seed) < SAME, build.__name__
        assert model.joint_types == tuple(data.kinds)
        assert model.parent == reference.parent


@settings(max_examples=15)
@given(seeds, sizes)
def test_drives_and_gravity_reach_the_model_by_every_way(seed, n):
    data = chain_data.random_chain(seed, n)
    rng = np.random.default_rng(seed)
    friction = [Friction(tuple(rng.uniform(0, 1, 2)), rng.uniform(0, 1)) for _ in range(n)]
    armature = rng.uniform(0, 1, n)
    rotors = [Rotor(rng.uniform(0, 0.1), rng.uniform(-9, 9), (0, 0.6, 0.8)) for _ in range(n)]
    limits = [Limits(-1, 1, 2, float(i)) for i in range(n)]
    table = {"friction": friction, "armature": armature, "rotors": rotors, "limits": limits}
    drives = {"friction": friction, "armature": armature, "rotor": rotors, "limits": limits}
    reference = chain_data.by_builder(data, **drives).with_gravity((1, -2, 3))
    for build in chain_data.BUILDERS:
        model = build(data, **table, gravity=(1, -2, 3))
        assert chain_data.difference(reference, model, seed) < SAME, build.__name__
        assert [joint.limits for joint in model.joints] == limits


@settings(max_examples=15)
@given(seeds)
def test_link_frames_need_not_lie_on_the_axes(seed):
    """Frames at the centres of mass, as Modern Robotics has them."""
    data = chain_data.random_chain(seed, 5)
    M, G = data.M.copy(), []
    for i, (m, com, I_com) in enumerate(data.bodies):
        M[i, :3, 3] += M[i, :3, :3] @ com
        G.append(spatial_inertia(m, np.zeros(3), I_com))
    model = build_model(describe_screws(data.S, M, G))
    assert chain_data.difference(chain_data.by_builder(data), model, seed) < SAME


@given(seeds)
def test_a_hinge_stays_a_hinge_in_whatever_frame_it_is_written(seed):
    """In {i} the rounding of Ad leaves 1e-17 along the axis, which is no pitch."""
    rng = np.random.default_rng(seed)
    data = chain_data.random_chain(seed, 1)
    point = data.M[0, :3, 3] * 100
    M = data.M.copy()
    M[0, :3, 3] = point
    w = rng.normal(size=3)
    S = [screw(point, w / np.linalg.norm(w))]
    assert build_model(describe_screws(S, M, data.G)).joint_types == ("revolute",)
    A = [Ad(inverse(M[0])) @ S[0]]
    assert build_model(describe_transforms(M, data.G, A=A)).joint_types == ("revolute",)


def test_a_translation_a_turn_and_a_screw_are_told_apart():
    S = [(0, 0, 0, 1, 0, 0), (0, 0, 1, 0, -1, 0), (0, 0, 1, 0, 0, 1e-3)]
    model = build_model(describe_screws(S, [np.eye(4)] * 3, [np.eye(6)] * 3))
    assert model.joint_types == ("prismatic", "revolute", "helical")


GOOD = {
    "S": np.array([[0, 0, 1.0, 0, 0, 0]] * 2),
    "M": np.array([np.eye(4)] * 2),
    "G": np.array([spatial_inertia(1.0, np.array([0.1, 0, 0]), np.eye(3))] * 2),
}


def second(key, value):
    """The good table with its second entry replaced."""
    table = GOOD[key].copy()
    table[1] = value
    return {key: table}


BAD = [
    (second("S", 0), InputError, r"S\[1\] is zero; expected"),
    (second("S", (0, 0, 2, 0, 0, 0)), InputError, r"S\[1\] has \|w\| = 2; expected \|w\| = 1"),
    (second("S", (0, 0, 0, 0, 0, 3)), InputError, r"S\[1\] has \|v\| = 3; expected .* \|v\| = 1"),
    (second("S", np.nan), InputError, r"S\[1, 0\] is nan; expected a finite number"),
    ({"S": GOOD["S"][0]}, ShapeError, r"S must have shape \(any, 6\), found \(6,\)"),
    ({"S": [[0, 0, 1], [0]]}, ShapeError, r"S must be an array of shape \(any, 6\)"),
    ({"S": None}, ShapeError, r"S must have shape \(any, 6\), found \(\)"),
    ({"S": "screws"}, InputError, "S must hold real numbers, found dtype"),
    ({"M": GOOD["M"][:1]}, ShapeError, "M has 1 poses for 2 joints; expected 2, or 3 with the"),
    (second("M", 2 * np.eye(4)), InputError, r"M\[1\] has last row \[0.0, 0.0, 0.0, 2.0\]"),
    (second("M", np.diag([1, 1, -1, 1])), InputError, r"rotation of M\[1\].*det R = -1"),
    (second("M", np.diag([1, 1, 1.1, 1])), InputError, r"M\[1\] is not a rotation: .* by 0.21"),
    ({"G": GOOD["G"][:1]}, ShapeError, r"G must have shape \(2, 6, 6\), found \(1, 6, 6\)"),
    (second("G", -GOOD["G"][0]), InertiaError, "link 'link2' is not a physical body: its mass -1"),
    (second("G", GOOD["G"][0] + np.eye(6)[::-1]), InertiaError, r"G\[1\] is not a spatial inertia"),
    (second("G", swap_order(swap_order(GOOD["G"][0].T).T)), InertiaError, "angular rows and col"),
    ({"parent": [0, 0]}, ModelError, "joins 'link1' to itself"),
    ({"parent": [1, 0]}, ModelError, "'link1' -> 'link2' -> 'link1' form a loop"),
    ({"parent": [-1, 2]}, ModelError, r"parent\[1\] is 2; expected a whole number, -1 \(the base"),
    ({"parent": [-1, 0.5]}, ModelError, r"parent\[1\] is 0.5"),
    ({"parent": [-1, "base"]}, ModelError, r"parent\[1\] is 'base'"),
    ({"parent": [-1, None]}, ModelError, r"parent\[1\] is None"),
    ({"parent": [-1]}, ShapeError, r"parent is \[-1\]; expected 2 numbers, one for each link"),
    ({"parent": 3}, ShapeError, "parent is 3; expected 2 numbers"),
    ({"gravity": 9.81}, ShapeError, r"gravity must have shape \(3,\), found \(\)"),
    ({"rotors": Rotor(0.1, link="motor")}, NameLookupError, "'joint1' is mounted on 'motor'"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_a_bad_table_is_refused_and_the_entry_named(change, error, words):
    with pytest.raises(error, match=words):
        build_model(describe_screws(**(GOOD | change)))


def test_transforms_need_the_screws_in_one_of_two_frames():
    M, G, S = GOOD["M"], GOOD["G"], GOOD["S"]
    with pytest.raises(ModelError, match=r"either as S .* or as A .*; found neither"):
        describe_transforms(M, G)
    with pytest.raises(ModelError, match="found both"):
        describe_transforms(M, G, S=S, A=S)
    with pytest.raises(InputError, match=r"A\[0\] is zero"):
        describe_transforms(M, G, A=S * 0)


def test_a_table_without_joints_is_a_robot_without_joints():
    data = describe_screws(np.zeros((0, 6)), np.zeros((0, 4, 4)), np.zeros((0, 6, 6)))
    assert build_model(data).n == 0
