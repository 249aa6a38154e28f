"""Joints: A is the twist of unit rates, positions repeat after a turn, hinges do not creep.

The rate of a pose is a central difference in fifty digits: h = 1e-20 truncates 1e-40 and rounds
1e-30, so what remains is the rounding of the float data, 1e-15 of a size near one.
"""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Builder, algorithms
from kinetree.model import joint_pose
from kinetree.spatial import inverse, unskew

EPS = float(np.finfo(float).eps)
H = mpmath.mpf(10) ** -20
TYPES = ["revolute", "prismatic", "helical", "spherical", "planar", "free"]
seeds = st.integers(0, 10**6)


def one_joint(type, rng, **data):
    axis = rng.normal(size=3)
    builder = Builder().link("base").link("arm", 1.0)
    return builder.joint(
        "j", type, "base", "arm",
        axis=axis / np.linalg.norm(axis), point=rng.normal(size=3), pitch=0.3, **data,
    ).build_model()  # fmt: skip


@pytest.mark.parametrize("type", TYPES)
@settings(max_examples=15)
@given(seed=seeds)
def test_the_columns_of_a_are_the_body_twists_of_unit_rates(type, seed):
    rng = np.random.default_rng(seed)
    with mpmath.workdps(50):
        model = one_joint(type, rng).astype(mpmath.mpf)
        q = np.array([mpmath.mpf(x) for x in algorithms.random(model, rng)])
        joint = model.joints[0]
        for k in range(model.n):
            v = np.array([H if i == k else mpmath.mpf(0) for i in range(model.n)])
            ahead, behind = (joint_pose(joint, algorithms.integrate(model, q, x)) for x in (v, -v))
            rate = inverse(joint_pose(joint, q)) @ (ahead - behind) / (2 * H)
            twist = np.concatenate([unskew(rate[:3, :3]), rate[:3, 3]])
            assert float(max(abs(twist - joint.A[:, k]))) <= 1e-15 * 8


@given(seed=seeds, turns=st.integers(-10_000, 10_000), q=st.floats(-3, 3))
def test_a_hinge_comes_back_after_any_number_of_turns(seed, turns, q):
    """To what the angle itself is rounded: half an ulp of q + 2 pi turns, times the lever."""
    model = one_joint("revolute", np.random.default_rng(seed))
    once, later = algorithms.pose(model, [q]), algorithms.pose(model, [q + 2 * np.pi * turns])
    lever = 1 + np.linalg.norm(model.joints[0].screw[3:])
    slip = abs(turns) * 3e-16 + np.spacing(abs(2 * np.pi * turns) + 3)  # 2 pi is rounded as well
    assert np.abs(once - later).max() <= (slip + 8 * EPS) * lever


@given(seed=seeds, q=st.floats(-1e5, 1e5))
def test_a_hinge_does_not_creep_along_its_axis(seed, q):
    model = one_joint("revolute", np.random.default_rng(seed))
    w = model.joints[0].screw[:3]
    lever = np.linalg.norm(model.joints[0].screw[3:])
    assert abs(w @ algorithms.pose(model, [q])[:3, 3]) <= 8 * EPS * lever


def test_an_offset_is_added_to_q():
    rng = np.random.default_rng(1)
    plain, shifted = (
        one_joint("helical", rng),
        one_joint("helical", np.random.default_rng(1), offset=0.5),
    )
    assert np.array_equal(algorithms.pose(plain, [0.75]), algorithms.pose(shifted, [0.25]))


@pytest.mark.parametrize(
    ("type", "names"),
    [
        ("revolute", ("j",)),
        ("spherical", ("j.qw", "j.qx", "j.qy", "j.qz")),
        ("planar", ("j.theta", "j.x", "j.y")),
        ("free", ("j.qw", "j.qx", "j.qy", "j.qz", "j.x", "j.y", "j.z")),
    ],
)
def test_coordinates_are_named(type, names):
    assert one_joint(type, np.random.default_rng(0)).coordinate_names == names


def test_a_free_joint_is_a_pose_with_the_quaternion_first():
    model = one_joint("free", np.random.default_rng(0))
    T = algorithms.pose(model, [np.cos(0.35), 0, 0, np.sin(0.35), 1, 2, 3])
    c, s = np.cos(0.7), np.sin(0.7)
    expected = [[c, -s, 0, 1], [s, c, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    assert np.allclose(T, expected, rtol=0, atol=4 * EPS)
