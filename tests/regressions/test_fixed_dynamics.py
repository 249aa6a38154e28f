"""Dynamics, simulation and default frames: cases that once gave a wrong result in silence."""

import numpy as np

import kinetree as kt
from kinetree.algorithms.joints.gains import Gains


def carts(count=2, m=3.0):
    """Carts of mass m on rails of their own, so that M = m 1."""
    builder = kt.Builder("carts").link("base")
    for i in range(count):
        builder.link(f"cart{i}", m=m)
        builder.joint(f"x{i}", "prismatic", "base", f"cart{i}", axis=(1, 0, 0))
    return builder.build()


def test_implicit_step_solves_an_unsymmetric_matrix_with_entries_minus_one_and_minus_two():
    # Python gives -1.0 and -2.0 one hash
    kd, tau, h = np.array([[0.0, -2.0], [-4.0, 0.0]]), np.array([1.0, 1.0]), 0.5
    gains = Gains(np.zeros((2, 2)), kd, symmetric=False)
    end = kt.algorithms.step(
        carts().model, [0, 0], [0, 0], tau, h, method="implicitfast", gains=gains
    )
    expected = h * np.linalg.solve(3 * np.eye(2) + h * kd, tau)
    np.testing.assert_allclose(np.array(end[1], float), expected, rtol=1e-14)
