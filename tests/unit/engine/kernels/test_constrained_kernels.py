"""Kernels of constrained robots: the textbook form compiled, options, help, and refusals."""

import numpy as np

import kinetree as kt
from kinetree.constraints import Loop


def test_singular_positions_are_not_a_number_and_positions_nearby_are_right():
    """A rhombus folds flat: its links lie on one line, where two motions branch."""
    builder = kt.Builder("rhombus").link("base")
    for name in ("a", "b", "c"):
        builder.link(name, m=1, com=(0.5, 0, 0), I_com=np.eye(3) * 0.1)
    builder.joint("first", "revolute", "base", "a")
    builder.joint("second", "revolute", "a", "b", at=(1, 0, 0))
    builder.joint("third", "revolute", "base", "c", at=(1, 0, 0))
    builder.frame("p", "b", (1, 0, 0)).frame("r", "c", (1, 0, 0))
    robot = builder.build().constrained({"loop": Loop("p", "r", "point")})
    flat = np.array([0.0, 0.0, 0.0])
    q = kt.constraints.project(robot, flat + np.array([0, 1e-3, 0]), keep=["first"])
    ddq, lam, residual = kt.constraints.forward_dynamics(robot, q, [0, 0, 0], [1, 0.5, 0.2])
    assert np.isfinite(ddq).all() and np.isfinite(lam).all()
    assert np.abs(residual).max() < 1e-6 * (1 + np.abs(ddq).max())
    ddq, lam, _ = kt.constraints.forward_dynamics(robot, flat, [0, 0, 0], [1, 0.5, 0.2])
    assert np.isnan(ddq).all() and np.isnan(lam).any()
