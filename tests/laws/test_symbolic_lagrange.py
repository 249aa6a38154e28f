"""Lagrange's equations of the symbolic energies are the equations of the Newton-Euler recursion."""

import pytest

sympy = pytest.importorskip("sympy")

import kinetree as kt  # noqa: E402
from symbolic_robots import ROBOTS, fully_symbolic, is_zero, point_masses  # noqa: E402


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


def test_a_wrong_energy_would_be_noticed():
    s = kt.symbolic(point_masses())
    wrong = lagrange(s)[0] + sympy.cos(s.q[1]) ** 2 * sympy.Rational(1, 10**9)
    assert not is_zero(s.tau[0] - wrong)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_parts_add_up_to_tau_identically(name):
    s = fully_symbolic(name)
    n = len(s.q)
    ddq = sympy.Matrix(s.ddq)
    for i in range(n):
        total = (s.M * ddq)[i] + s.c[i] + s.g[i] + s.friction[i]
        assert is_zero(total - s.tau[i])


@pytest.mark.parametrize("name", ROBOTS)
def test_rates_of_the_mass_matrix_less_twice_coriolis_are_skew(name):
    s = fully_symbolic(name)
    n = len(s.q)
    dM = s.M.applyfunc(lambda x: rate(x, s))
    S = dM - 2 * s.C
    assert all(is_zero(S[i, j] + S[j, i]) for i in range(n) for j in range(i + 1))
    assert all(is_zero((s.C * sympy.Matrix(s.dq))[i] - s.c[i]) for i in range(n))


@pytest.mark.parametrize("name", ROBOTS)
def test_christoffel_symbols_are_those_of_the_derivatives_of_the_mass_matrix(name):
    s = fully_symbolic(name)
    n, q = len(s.q), s.q
    for i in range(n):
        for j in range(n):
            for k in range(j + 1):
                expected = (
                    sympy.diff(s.M[i, j], q[k])
                    + sympy.diff(s.M[i, k], q[j])
                    - sympy.diff(s.M[j, k], q[i])
                ) / 2
                assert is_zero(s.christoffel[i, j, k] - expected)
                assert s.christoffel[i, j, k] == s.christoffel[i, k, j]


@pytest.mark.parametrize("name", ROBOTS)
def test_gravity_is_the_gradient_of_the_potential_energy(name):
    s = fully_symbolic(name)
    assert all(is_zero(sympy.diff(s.U.expr, x) - g) for x, g in zip(s.q, s.g, strict=True))
