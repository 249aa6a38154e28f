"""Spatial inertia: Steiner in general form, composition, and what makes a body physical.

Bodies are clouds of mass points, whose every quantity is a plain sum: an oracle with no theorem in
it. Bounds: the sums have eight terms and the transforms two products of 6x6 matrices, so 64 eps of
the largest entry, times the squared norm of Ad where the frame moves.
"""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from kinetree.errors import InertiaError, InputError, ShapeError
from kinetree.spatial import (
    Ad,
    check_physical,
    compose,
    exp_so3,
    inertia_parts,
    inverse,
    move_body,
    physical_faults,
    pose,
    pseudo_inertia,
    second_moment,
    skew,
    spatial_inertia,
    transform_inertia,
)

EPS = float(np.finfo(float).eps)
seeds = st.integers(0, 10**6)


def cloud(rng, n=8):
    """Masses and positions of points."""
    return rng.uniform(0.05, 0.5, n), rng.normal(size=(n, 3))


def point_inertia(masses, points):
    """G of mass points: each adds m J^T J, where J maps the twist to the point's velocity."""
    return sum(
        m * np.hstack([-skew(x), np.eye(3)]).T @ np.hstack([-skew(x), np.eye(3)])
        for m, x in zip(masses, points, strict=True)
    )


def body(masses, points):
    m, com = masses.sum(), masses @ points / masses.sum()
    d = points - com
    return (
        m,
        com,
        sum(mk * (x @ x * np.eye(3) - np.outer(x, x)) for mk, x in zip(masses, d, strict=True)),
    )


def random_pose(rng):
    return pose(exp_so3(rng.normal(size=3)), rng.normal(size=3))


def close(found, expected, factor=64.0):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    return np.abs(found - expected).max() <= factor * EPS * max(1, np.abs(expected).max())


@given(seeds)
def test_spatial_inertia_is_the_sum_over_the_mass_points(seed):
    masses, points = cloud(np.random.default_rng(seed))
    G = spatial_inertia(*body(masses, points))
    assert close(G, point_inertia(masses, points))
    assert np.array_equal(G[3:, :3], G[:3, 3:].T)


@given(seeds)
def test_parts_give_the_body_back(seed):
    m, com, I_com = body(*cloud(np.random.default_rng(seed)))
    found = inertia_parts(spatial_inertia(m, com, I_com))
    assert all(close(a, b) for a, b in zip(found, (m, com, I_com), strict=True))


def test_the_centre_of_a_massless_body_is_the_origin():
    assert inertia_parts(np.zeros((6, 6)))[1].tolist() == [0, 0, 0]


@given(seeds)
def test_steiner_in_general_form_equals_moving_every_mass_point(seed):
    rng = np.random.default_rng(seed)
    masses, points_b = cloud(rng)
    T_ba = random_pose(rng)
    T_ab = inverse(T_ba)
    points_a = points_b @ T_ab[:3, :3].T + T_ab[:3, 3]
    scale = np.linalg.norm(Ad(T_ba)) ** 2
    moved = transform_inertia(spatial_inertia(*body(masses, points_b)), T_ba)
    assert close(moved, point_inertia(masses, points_a), 64 * scale)
    assert close(spatial_inertia(*move_body(*body(masses, points_b), T_ab)), moved, 64 * scale)


@given(seeds)
def test_composition_equals_the_cloud_of_all_points(seed):
    rng = np.random.default_rng(seed)
    clouds = [cloud(rng) for _ in range(3)]
    whole = body(np.concatenate([m for m, _ in clouds]), np.concatenate([x for _, x in clouds]))
    found = compose(*(body(*c) for c in clouds))
    assert all(close(a, b) for a, b in zip(found, whole, strict=True))
    assert close(
        spatial_inertia(*found), sum(spatial_inertia(*body(*c)) for c in clouds)
    )  # spatial inertias in one frame add


def test_composition_far_from_the_origin_loses_no_digits():
    far = np.array([1e6, -2e6, 3e6])
    near = compose((1.0, np.zeros(3), np.eye(3)), (1.0, np.array([1.0, 0, 0]), np.eye(3)))
    moved = compose((1.0, far, np.eye(3)), (1.0, far + np.eye(3)[0], np.eye(3)))
    assert np.array_equal(near[2], moved[2])


@given(seeds)
def test_pseudo_inertia_is_the_sum_over_the_points_and_positive_definite(seed):
    masses, points = cloud(np.random.default_rng(seed))
    m, com, I_com = body(masses, points)
    ones = np.column_stack([points, np.ones(len(points))])
    P = pseudo_inertia(m, com, I_com)
    assert close(P, (ones.T * masses) @ ones)
    assert np.linalg.eigvalsh(P)[0] > 0
    assert physical_faults(m, I_com) == []


@given(seeds, st.floats(-1, 1), st.tuples(*[st.floats(-0.5, 2)] * 3))
def test_a_body_is_physical_exactly_when_its_pseudo_inertia_is_positive(seed, m, moments):
    rng = np.random.default_rng(seed)
    R = exp_so3(rng.normal(size=3))
    I = R @ np.diag(moments) @ R.T
    smallest = min(m, *(sum(moments) / 2 - np.array(moments)))  # eigenvalues about the centre
    if abs(smallest) > 1e-6:  # clear of the boundary, where rounding decides
        P = pseudo_inertia(m, rng.normal(size=3), (I + I.T) / 2)
        assert (np.linalg.eigvalsh(P)[0] > 0) == (smallest > 0)  # Sylvester: com changes no sign
        assert (physical_faults(m, (I + I.T) / 2) == []) == (smallest > 0)


def test_second_moments_are_positive_for_a_plate_and_a_rod():
    assert np.allclose(np.diag(second_moment(np.diag([1, 2, 3]))), [2, 1, 0])
    assert physical_faults(1.0, np.diag([1, 2, 3])) == []
    assert physical_faults(1.0, np.diag([1.0, 1.0, 0.0])) == []


@pytest.mark.parametrize(
    ("m", "com", "I", "error", "words"),
    [
        (
            -2,
            (0, 0, 0),
            np.eye(3),
            InertiaError,
            "arm is not a physical body: its mass -2 kg is neg",
        ),
        (1, (0, 0, 0), -np.eye(3), InertiaError, "smallest principal moment is -1 kg m"),
        (1, (0, 0, 0), np.diag([1, 1, 3]), InertiaError, r"triangle.*1 \+ 1 < 3, short by 1 kg"),
        (1, (0, 0, 0), np.triu(np.ones((3, 3))), InertiaError, "not symmetric.*differ by 1;"),
        (np.nan, (0, 0, 0), np.eye(3), InputError, "mass of arm is nan"),
        (1, (0, 0, 0), np.full((3, 3), np.nan), InputError, r"inertia of arm\[0, 0\] is nan"),
        (1, (0, np.inf, 0), np.eye(3), InputError, r"centre of mass of arm\[1\] is inf"),
        (1, (0, 0), np.eye(3), ShapeError, r"centre of mass of arm must have shape \(3,\)"),
        (1, (0, 0, 0), (1, 2, 3), ShapeError, r"inertia of arm must have shape \(3, 3\)"),
        (sympy.Integer(-1), (0, 0, 0), np.eye(3), InertiaError, "mass -1 kg is negative"),
    ],
)
def test_an_impossible_body_says_which_condition_fails_and_by_how_much(m, com, I, error, words):
    with pytest.raises(error, match=words):
        check_physical(m, com, I, "arm")
