"""DH tables: poses as products of four elementary motions, and the same robot as from screws.

1e-12 as in test_screws.py: builders differ by the rounding of products of poses.
"""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import chain_data
from kinetree import algorithms
from kinetree.errors import InertiaError, InputError, ModelError, ShapeError
from kinetree.files.description import describe_dh, describe_screws
from kinetree.model import build_model, random_body, random_pose
from kinetree.spatial import move_body, spatial_inertia

SAME = 1e-12
seeds = st.integers(0, 10**6)


def turn(k, angle):
    """Rotation about axis k as a pose, written out."""
    T = np.eye(4)
    i, j = (k + 1) % 3, (k + 2) % 3
    T[i, i] = T[j, j] = np.cos(angle)
    T[j, i], T[i, j] = np.sin(angle), -np.sin(angle)
    return T


def shift(x, y, z):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def standard(a, alpha, d, theta):
    return turn(2, theta) @ shift(0, 0, d) @ shift(a, 0, 0) @ turn(0, alpha)


def modified(a, alpha, d, theta):
    return turn(0, alpha) @ shift(a, 0, 0) @ turn(2, theta) @ shift(0, 0, d)


STEP = {"standard": standard, "modified": modified}


def random_table(seed, n):
    """Rows, joint types, bodies in the DH frames; every third angle a multiple of pi / 2."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 4))
    for column in (1, 3):
        straight = rng.random(n) < 0.4
        table[straight, column] = np.pi / 2 * rng.integers(-2, 3, straight.sum())
    types = [str(rng.choice(["revolute", "prismatic"])) for _ in range(n)]
    return table, types, [random_body(rng) for _ in range(n)], random_pose(rng)


def columns(bodies):
    return dict(zip(("m", "com", "I_com"), map(list, zip(*bodies, strict=True)), strict=True))


def moved(row, kind, q):
    a, alpha, d, theta = row
    return (a, alpha, d + q, theta) if kind == "prismatic" else (a, alpha, d, theta + q)


@pytest.mark.parametrize("convention", STEP)
@settings(max_examples=20)
@given(seed=seeds, n=st.integers(1, 7))
def test_poses_are_products_of_four_elementary_motions(convention, seed, n):
    table, types, bodies, tool = random_table(seed, n)
    model = build_model(
        describe_dh(table, types=types, convention=convention, tool=tool, **columns(bodies))
    )
    q = np.random.default_rng(seed).normal(size=n) * 2
    expected = np.eye(4)
    for row, kind, q_i in zip(table, types, q, strict=True):
        expected = expected @ STEP[convention](*moved(row, kind, q_i))
    size = np.linalg.norm(expected)
    assert np.linalg.norm(algorithms.forward_kinematics(model, q)[-1] - expected) < SAME * size
    assert np.linalg.norm(algorithms.pose(model, q) - expected @ tool) < SAME * size * 3
    assert model.joint_types == tuple(types)


@settings(max_examples=15)
@given(seed=seeds, n=st.integers(1, 7))
def test_standard_and_modified_tables_of_one_arm_give_one_robot(seed, n):
    """Craig's frame {i} lies before the last two motions of the standard row i."""
    table, types, bodies, tool = random_table(seed, n)
    tails = [shift(row[0], 0, 0) @ turn(0, row[1]) for row in table]
    before = np.vstack([[0, 0], table[:-1, :2]])
    craig = np.hstack([before, table[:, 2:]])
    inside = [move_body(*body, tail) for body, tail in zip(bodies, tails, strict=True)]
    a = build_model(describe_dh(table, types=types, tool=tool, **columns(bodies)))
    b = build_model(
        describe_dh(
            craig, types=types, convention="modified", tool=tails[-1] @ tool, **columns(inside)
        )
    )
    assert chain_data.difference(a, b, seed) < SAME


@pytest.mark.parametrize("convention", STEP)
@settings(max_examples=15)
@given(seed=seeds, n=st.integers(1, 7))
def test_a_table_and_its_screws_give_one_robot(convention, seed, n):
    table, types, bodies, tool = random_table(seed, n)
    M, S, T = [], [], np.eye(4)
    for row, kind in zip(table, types, strict=True):
        before, T = T, T @ STEP[convention](*row)
        frame = before if convention == "standard" else T
        z, p = frame[:3, 2], frame[:3, 3]
        S.append([0, 0, 0, *z] if kind == "prismatic" else [*z, *np.cross(p, z)])
        M.append(T)
    G = [spatial_inertia(*body) for body in bodies]
    a = build_model(
        describe_dh(table, types=types, convention=convention, tool=tool, **columns(bodies))
    )
    b = build_model(describe_screws(S, [*M, T @ tool], G))
    assert chain_data.difference(a, b, seed) < SAME


def test_right_angles_leave_no_dust():
    model = build_model(
        describe_dh([[0, np.pi / 2, 0, -np.pi / 2]], m=[1], com=[(0, 0, 0)], I_com=[np.eye(3)])
    )
    assert set(np.unique(model.M_pi)) <= {-1, 0, 1}
    assert set(np.unique(model.A[0])) <= {-1, 0, 1}


def test_symbols_pass_through_the_table():
    l, q = sympy.symbols("l q", positive=True)
    data = describe_dh(
        [[l, sympy.Integer(0), 0, 0]],
        m=[sympy.Symbol("m")],
        com=[[0, 0, 0]],
        I_com=np.zeros((1, 3, 3), int),
    )
    tip = algorithms.pose(build_model(data), np.array([q]))[:2, 3]
    assert [sympy.simplify(x) for x in tip - [l * sympy.cos(q), l * sympy.sin(q)]] == [0, 0]


GOOD = {
    "table": [[1, 0, 0, 0]] * 2,
    "m": [1, 1],
    "com": [[0, 0, 0]] * 2,
    "I_com": [np.eye(3)] * 2,
}
BAD = [
    ({"table": [[1, 0, 0]] * 2}, ShapeError, r"DH table must have shape \(any, 4\), found \(2, 3"),
    ({"table": [[1, 0, 0, np.nan]] * 2}, InputError, r"DH table\[0, 3\] is nan"),
    ({"convention": "craig"}, ModelError, "convention is 'craig'; expected standard or modified"),
    ({"convention": None}, ModelError, "convention is None"),
    ({"types": "helical"}, ModelError, r"types\[0\] is 'helical'; expected 'revolute' or"),
    ({"types": ["revolute"]}, ShapeError, "types has 1 entry; expected 2, one for each joint"),
    ({"m": [1]}, ShapeError, r"m must have shape \(2,\), found \(1,\)"),
    (
        {"m": [1, -1]},
        InertiaError,
        "link 'link2' is not a physical body: its mass -1 kg is negative",
    ),
    ({"com": [[0, 0, 0]]}, ShapeError, r"com must have shape \(2, 3\), found \(1, 3\)"),
    ({"I_com": [np.eye(3), np.diag([1, 1, 3])]}, InertiaError, "'link2'.*short by 1 kg"),
    ({"tool": (0, 0, 1)}, ShapeError, r"tool must have shape \(4, 4\), found \(3,\)"),
    ({"tool": 2 * np.eye(4)}, InputError, r"tool has last row \[0.0, 0.0, 0.0, 2.0\]"),
    ({"parent": [-1, 0]}, InputError, "there is no option 'parent'"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_a_bad_table_is_refused_and_the_entry_named(change, error, words):
    with pytest.raises(error, match=words):
        build_model(describe_dh(**(GOOD | change)))


def test_the_first_frame_of_the_modified_table_ignores_nothing():
    """A first row with a and alpha moves the first axis, which a chain from {s} must keep."""
    row = [0.3, 0.4, 0.5, 0.6]
    data = describe_dh([row], convention="modified", m=[1], com=[(0, 0, 0)], I_com=[np.eye(3)])
    home = algorithms.pose(build_model(data), [0.0])
    assert np.allclose(home, modified(*row), rtol=0, atol=1e-15)
