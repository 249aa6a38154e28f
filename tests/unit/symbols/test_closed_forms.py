"""How closed forms look: the book's expressions, the shortest form, and how they print."""

import pytest

sympy = pytest.importorskip("sympy")

import kinetree as kt  # noqa: E402
from kinetree import Builder  # noqa: E402
from kinetree.dynamics import closed_form  # noqa: E402
from kinetree.errors import InputError  # noqa: E402
from symbolic_robots import L1, L2, branched, is_zero, m1, m2, point_masses  # noqa: E402

cos, sin = sympy.cos, sympy.sin


@pytest.fixture(scope="module")
def s():
    return kt.symbolic(point_masses())


def test_the_stacked_closed_form_has_the_courses_coriolis_matrix(s):
    """Another matrix with the same product, as -A^T L^T (G L ad W + ad_V^T G) L A gives it."""
    (_, t2), (w1, w2) = s.q, s.dq
    p = m2 * L1 * L2 * sin(t2)
    C = sympy.Matrix(closed_form(point_masses(), s.q, s.dq, [0, 0]).C)
    expected = sympy.Matrix([[-2 * p * w2, -p * w2], [p * (w1 - w2), p * w1]])
    assert all(is_zero(x) for x in C - expected)
    assert all(is_zero(x) for x in (C - s.C) * sympy.Matrix(s.dq))


def test_friction_armature_and_rotors_are_in_the_equations():
    b, f, Ia, Im, r = sympy.symbols("b f Ia Im r", positive=True)
    builder = Builder("drive", gravity=(0, 0, 0)).link("base").link("arm", m1, (L1, 0, 0))
    builder.joint("j1", "revolute", "base", "arm", friction=kt.friction.Friction(b, f), armature=Ia,
                  rotor=kt.joints.Rotor(Im, r))  # fmt: skip
    s = kt.symbolic(builder.build_model())
    (w,), (a,) = s.dq, s.ddq
    assert s.M[0] == Ia + Im * r**2 + m1 * L1**2
    assert s.friction[0] == b * w + f * sympy.sign(w)
    assert is_zero(s.tau[0] - s.M[0] * a - b * w - f * sympy.sign(w))


def test_numbers_print_with_as_many_digits_as_asked_for():
    U = kt.symbolic(kt.robots.planar_2r()).U
    assert "18639*sin(theta1 + theta2)/250" in U.text()
    assert "/" not in U.text(digits=4) and "74.56*sin(theta1 + theta2)" in U.text(digits=4)
    lone = kt.symbolic(kt.robots.planar_2r()).M.text(digits=6).splitlines()[3]
    assert lone == "M[2, 2] = 3.34"  # also where a number stands alone, no zeros follow it
    assert r"\frac" not in U.latex(digits=4)


def test_substitution_gives_the_equations_of_the_changed_robot(s):
    same = s.subs({"L2": L1, m2: 2})
    assert same.M[1, 1] == 2 * L1**2 and L2 not in same.parameters


def test_a_frame_and_the_space_axes_may_be_chosen():
    s = kt.symbolic(branched())
    assert s.pose("left") != s.T
    assert s.jacobian("left")[:, 2] == sympy.zeros(6, 1)
    assert s.jacobian(expressed="space") == s.J_s
    with pytest.raises(InputError, match="'body' or 'space'"):
        s.jacobian(expressed="tool")
