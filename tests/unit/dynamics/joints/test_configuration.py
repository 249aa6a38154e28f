"""Positions of quaternions, planes and mimic joints."""

import numpy as np
import pytest

from kinetree import Builder
from kinetree import dynamics as kt
from random_robots import ALL_TYPES, random_model


def single(type, **options):
    builder = Builder().link("base").link("body", 1, (0, 0, 0), np.eye(3))
    return builder.joint("j", type, "base", "body", **options).build_model()


def test_neutral_is_where_every_joint_stands_at_zero():
    model = random_model(3, 12, types=ALL_TYPES, mimic=False)
    at_home = kt.forward_kinematics(model, kt.neutral(model))
    expected = {-1: np.eye(4)}
    for i in model.links:
        expected[i] = expected[model.parent[i]] @ model.M_pi[i]
        assert np.abs(at_home[i] - expected[i]).max() < 1e-14
    shifted = single("revolute", offset=0.5)
    assert kt.neutral(shifted).tolist() == [-0.5]


def test_a_body_turned_by_a_quarter_moves_along_its_own_axes():
    model = single("free")
    quarter = [np.sqrt(0.5), 0, 0, np.sqrt(0.5), 1, 2, 3]  # about z
    moved = kt.integrate(model, quarter, [0, 0, 0, 1, 0, 0])
    assert moved[4:] == pytest.approx([1, 3, 3])
    turned = kt.integrate(model, [1, 0, 0, 0, 0, 0, 0], [0, 0, np.pi / 2, 0, 0, 0])
    assert turned == pytest.approx([np.sqrt(0.5), 0, 0, np.sqrt(0.5), 0, 0, 0])


def test_a_planar_joint_counts_its_turns():
    model = single("planar")
    far = kt.integrate(model, [0, 0, 0], [7.0, 0, 0])
    assert far.tolist() == [7, 0, 0]
    assert kt.difference(model, [0, 0, 0], far) == pytest.approx([7, 0, 0])


def test_integration_keeps_every_digit_of_precise_numbers():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        one, third = mpmath.mpf(1), mpmath.mpf(1) / 3
        q = kt.integrate(single("spherical"), [one, 0 * one, 0 * one, 0 * one], [0, 0, third])
        assert abs(q[3] - mpmath.sin(third / 2)) < mpmath.mpf(10) ** -49
