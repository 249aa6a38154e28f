"""Formulas of base parameters show four digits of a factor, and no factor that rounds to 1."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.identify import find_base, unknowns


@pytest.mark.parametrize(
    ("length", "factor"), [(1, ""), (1 + 1e-7, ""), (1.00004, ""), (1.002, "1.002 "), (1.5, "1.5 ")]
)
def test_a_factor_is_the_length_of_the_link(length, factor):
    arm = kt.Robot.from_points(
        P=[(0, 0, 0), (length, 0, 0)], C=[(0.5, 0, 0), (length + 0.4, 0, 0)], k=[(0, 0, 1)] * 2,
        m=[22, 19], I_com=[np.eye(3)] * 2, gravity=(0, -9.81, 0),
    )  # fmt: skip
    base = find_base(unknowns(arm, "known", armature=False))
    assert base.formula(0) == f"hx[link1] + {factor}m[link2]"
