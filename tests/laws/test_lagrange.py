"""Lagrange's equations, derived by hand from positions, are the algorithms' equations exactly.

Energies are written with positions of centres and angles that a student would write down; the
robots are built from the same symbols. Nothing numeric takes part.
"""

import numpy as np
import pytest

from kinetree import Builder
from kinetree import dynamics as kt

sympy = pytest.importorskip("sympy")
sin, cos = sympy.sin, sympy.cos

t = sympy.Symbol("t")
q = sympy.symbols("q1 q2", real=True)
dq = sympy.symbols("dq1 dq2", real=True)
ddq = sympy.symbols("ddq1 ddq2", real=True)
m1, m2, l1, a1, a2, I1, I2, g = sympy.symbols("m1 m2 l1 a1 a2 I1 I2 g", positive=True)


def about(axis, I):
    """Inertia that resists turning about one coordinate axis alone."""
    return np.diag([I if k == axis else 0 for k in range(3)])


def planar_2r():
    builder = Builder("2R", gravity=(0, -g, 0)).link("base")
    builder.link("upper", m1, (a1, 0, 0), about(2, I1)).link("lower", m2, (a2, 0, 0), about(2, I2))
    builder.joint("j1", "revolute", "base", "upper")
    builder.joint("j2", "revolute", "upper", "lower", at=(l1, 0, 0))
    centres = [
        (a1 * cos(q[0]), a1 * sin(q[0])),
        (l1 * cos(q[0]) + a2 * cos(q[0] + q[1]), l1 * sin(q[0]) + a2 * sin(q[0] + q[1])),
    ]
    return builder.build_model(), centres, (q[0], q[0] + q[1]), (m1, m2), (I1, I2)


def rp():
    builder = Builder("RP", gravity=(0, -g, 0)).link("base")
    builder.link("arm", m1, (a1, 0, 0), about(2, I1)).link("slider", m2, (a2, 0, 0), about(2, I2))
    builder.joint("j1", "revolute", "base", "arm")
    builder.joint("j2", "prismatic", "arm", "slider", at=(l1, 0, 0), axis=(1, 0, 0))
    reach = l1 + q[1] + a2
    centres = [(a1 * cos(q[0]), a1 * sin(q[0])), (reach * cos(q[0]), reach * sin(q[0]))]
    return builder.build_model(), centres, (q[0], q[0]), (m1, m2), (I1, I2)


def cart_pole():
    """The rail along x, the pole upright at q = 0 and falling towards +x; y points up here."""
    builder = Builder("cart-pole", gravity=(0, -g, 0)).link("rail")
    builder.link("cart", m1).link("pole", m2, (0, a2, 0), about(2, I2))
    builder.joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0))
    builder.joint("hinge", "revolute", "cart", "pole", axis=(0, 0, -1))
    centres = [(q[0], sympy.Integer(0)), (q[0] + a2 * sin(q[1]), a2 * cos(q[1]))]
    return (
        builder.build_model(),
        centres,
        (sympy.Integer(0), q[1]),
        (m1, m2),
        (sympy.Integer(0), I2),
    )


def lagrange(centres, angles, masses, inertias):
    """tau = d/dt dL/d(dq) - dL/dq, from energies alone."""

    def rate(x):
        return sum(sympy.diff(x, q_k) * dq_k for q_k, dq_k in zip(q, dq, strict=True))

    T = sum(
        m * (rate(x) ** 2 + rate(y) ** 2) / 2 + I * rate(angle) ** 2 / 2
        for m, (x, y), I, angle in zip(masses, centres, inertias, angles, strict=True)
    )
    U = sum(m * g * y for m, (_, y) in zip(masses, centres, strict=True))
    L = T - U
    moments = [sympy.diff(L, dq_k) for dq_k in dq]
    return [
        rate(p) + sum(sympy.diff(p, dq_j) * ddq_j for dq_j, ddq_j in zip(dq, ddq, strict=True))
        - sympy.diff(L, q_k)
        for p, q_k in zip(moments, q, strict=True)
    ]  # fmt: skip


def is_zero(expression):
    return sympy.simplify(sympy.expand(expression)) == 0


@pytest.fixture(scope="module", params=[planar_2r, rp, cart_pole], ids=lambda f: f.__name__)
def case(request):
    model, *energies = request.param()
    return model, lagrange(*energies)


def test_mass_matrix_is_that_of_lagrange(case):
    model, tau = case
    M = kt.mass_matrix(model, q)
    assert all(is_zero(M[i, j] - sympy.diff(tau[i], ddq[j])) for i in range(2) for j in range(2))


def test_gravity_forces_are_those_of_lagrange(case):
    model, tau = case
    still = dict.fromkeys([*dq, *ddq], 0)
    found = kt.gravity_forces(model, q)
    assert all(is_zero(found[i] - tau[i].subs(still)) for i in range(2))
    assert any(entry != 0 for entry in found)


def test_coriolis_forces_are_those_of_lagrange(case):
    model, tau = case
    c = kt.coriolis_matrix(model, q, dq) @ np.array(dq)
    bias = [entry.subs(dict.fromkeys(ddq, 0)).subs({g: 0}) for entry in tau]
    assert all(is_zero(c[i] - bias[i]) for i in range(2))


@pytest.mark.parametrize("formulation", kt.FORMULATIONS)
def test_inverse_dynamics_is_lagranges_equation(case, formulation):
    model, tau = case
    found = kt.inverse_dynamics(model, q, dq, ddq, formulation=formulation)
    assert all(is_zero(found[i] - tau[i]) for i in range(2))
