"""Lagrange's equations of the symbolic energies are the equations of the Newton-Euler recursion."""

import pytest

sympy = pytest.importorskip("sympy")

from symbolic_robots import ROBOTS, fully_symbolic, is_zero  # noqa: E402


def rate(x, s):
    """dx/dt of x(q, dq)."""
    q, dq, ddq = s.q, s.dq, s.ddq
    return sum(sympy.diff(x, q[k]) * dq[k] + sympy.diff(x, dq[k]) * ddq[k] for k in range(len(q)))


def lagrange(s):
    """d/dt dL/d(dq) - dL/dq of the energies that the robot states."""
    L = s.K.expr - s.U.expr
    return [rate(sympy.diff(L, v), s) - sympy.diff(L, x) for x, v in zip(s.q, s.dq, strict=True)]


@pytest.mark.parametrize("name", ROBOTS)
def test_tau_is_that_of_lagranges_equations_for_all_values(name):
    s = fully_symbolic(name)
    assert s.parameters and s.K.expr != 0
    for newton_euler, friction, expected in zip(s.tau, s.friction, lagrange(s), strict=True):
        assert is_zero(newton_euler - friction - expected)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_parts_add_up_to_tau_identically(name):
    s = fully_symbolic(name)
    n = len(s.q)
    ddq = sympy.Matrix(s.ddq)
    for i in range(n):
        total = (s.M * ddq)[i] + s.c[i] + s.g[i] + s.friction[i]
        assert is_zero(total - s.tau[i])
