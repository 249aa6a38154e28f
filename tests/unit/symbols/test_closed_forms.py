"""How closed forms look: the book's expressions, the shortest form, and how they print."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

import kinetree as kt  # noqa: E402
from kinetree import Builder  # noqa: E402
from kinetree.errors import InputError, NameLookupError, SingularityError  # noqa: E402
from symbolic_robots import L1, L2, branched, g, is_zero, m1, m2, point_masses  # noqa: E402

cos, sin = sympy.cos, sympy.sin


@pytest.fixture(scope="module")
def s():
    return kt.symbolic(point_masses())


def test_the_mass_matrix_of_the_2r_is_the_books(s):
    t2 = s.q[1]
    coupling = m2 * (L1 * L2 * cos(t2) + L2**2)
    assert s.M == sympy.Matrix(
        [[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * cos(t2) + L2**2), coupling],
         [coupling, m2 * L2**2]]
    )  # fmt: skip


def test_coriolis_and_gravity_of_the_2r_are_the_books(s):
    (t1, t2), (w1, w2) = s.q, s.dq
    p = m2 * L1 * L2 * sin(t2)
    assert s.C == sympy.Matrix([[-p * w2, -p * (w1 + w2)], [p * w1, 0]])
    assert s.c == sympy.Matrix([-p * (2 * w1 * w2 + w2**2), p * w1**2])
    both = m2 * g * L2 * cos(t1 + t2)
    assert s.g == sympy.Matrix([(m1 + m2) * L1 * g * cos(t1) + both, both])


def test_the_stacked_closed_form_has_the_courses_coriolis_matrix(s):
    """Another matrix with the same product, as -A^T L^T (G L ad W + ad_V^T G) L A gives it."""
    (_, t2), (w1, w2) = s.q, s.dq
    p = m2 * L1 * L2 * sin(t2)
    C = s.closed_form_coriolis_matrix()
    assert C == sympy.Matrix([[-2 * p * w2, -p * w2], [p * (w1 - w2), p * w1]])
    assert all(is_zero(x) for x in (C - s.C) * sympy.Matrix(s.dq))


def test_general_inertias_of_the_2r():
    a1, a2, I1, I2 = sympy.symbols("a1 a2 I1 I2", positive=True)
    builder = Builder("2R").link("base").link("upper", m1, (a1, 0, 0), np.diag([0, 0, I1]))
    builder.link("lower", m2, (a2, 0, 0), np.diag([0, 0, I2]))
    builder.joint("j1", "revolute", "base", "upper")
    builder.joint("j2", "revolute", "upper", "lower", at=(L1, 0, 0))
    M = kt.symbolic(builder.build_model()).M
    t2 = sympy.Symbol("theta2", real=True)
    coupling = I2 + m2 * (L1 * a2 * cos(t2) + a2**2)
    assert M[0, 1] == coupling and M[1, 1] == I2 + m2 * a2**2
    assert M[0, 0] == I1 + I2 + m1 * a1**2 + m2 * (L1**2 + 2 * L1 * a2 * cos(t2) + a2**2)


def test_mass_at_the_tip_of_the_2r_is_cancelled(s):
    t2 = s.q[1]
    assert s.Lambda == sympy.Matrix([[(m1 + m2 * sin(t2) ** 2) / sin(t2) ** 2, 0], [0, m2]])
    assert s.task_rows() == [3, 4]


def test_turns_about_parallel_axes_add_up_through_slides_and_in_trees():
    T = kt.symbolic(kt.robots.scara()).T
    t1, t2, t4 = sympy.symbols("theta1 theta2 theta4", real=True)
    assert T[0, 0] == cos(t1 + t2 + t4)
    opposite = Builder("opposite").link("base").link("a", 1.0).link("b", 1.0)
    opposite.joint("j1", "revolute", "base", "a").joint("j2", "revolute", "a", "b", axis=(0, 0, -1))
    assert kt.symbolic(opposite.build_model()).T[0, 0] == cos(t1 - t2)


def test_axes_that_are_not_parallel_keep_products():
    T = kt.symbolic(kt.robots.spatial_3r()).T
    t1, t2, t3 = sympy.symbols("theta1 theta2 theta3", real=True)
    assert T[0, 0] == cos(t1) * cos(t2 + t3)


def test_squares_are_written_with_the_function_that_needs_one_term():
    M = kt.symbolic(kt.robots.spatial_3r(), "inertial").M
    t2 = sympy.Symbol("theta2", real=True)
    I2xx, I2yy = (sympy.Symbol(name, real=True) for name in ("I2xx", "I2yy"))
    assert M[0, 0].coeff(I2xx) == sin(t2) ** 2
    assert sympy.expand(M[0, 0]).coeff(I2yy) == cos(t2) ** 2


def test_a_mimic_joint_that_turns_back_leaves_the_tool_level():
    builder = Builder("level").link("base").link("arm", m1, (L1, 0, 0)).link("hand", m2)
    builder.joint("lift", "revolute", "base", "arm", axis=(0, -1, 0))
    builder.joint("back", "revolute", "arm", "hand", at=(L1, 0, 0), axis=(0, -1, 0),
                  mimic=kt.Mimic("lift", -1))  # fmt: skip
    s = kt.symbolic(builder.build_model())
    assert s.T[:3, :3] == sympy.eye(3)
    assert s.M == sympy.Matrix([[L1**2 * (m1 + m2)]])


def test_friction_armature_and_rotors_are_in_the_equations():
    b, f, Ia, Im, r = sympy.symbols("b f Ia Im r", positive=True)
    builder = Builder("drive", gravity=(0, 0, 0)).link("base").link("arm", m1, (L1, 0, 0))
    builder.joint("j1", "revolute", "base", "arm", friction=kt.Friction(b, f), armature=Ia,
                  rotor=kt.Rotor(Im, r))  # fmt: skip
    s = kt.symbolic(builder.build_model())
    (w,), (a,) = s.dq, s.ddq
    assert s.M[0] == Ia + Im * r**2 + m1 * L1**2
    assert s.friction[0] == b * w + f * sympy.sign(w)
    assert is_zero(s.tau[0] - s.M[0] * a - b * w - f * sympy.sign(w))


def test_merged_bodies_of_symbolic_mass_leave_no_quotients():
    mp, x = sympy.symbols("mp x", positive=True)
    s = kt.symbolic(point_masses().with_payload(mp, (x, 0, 0)))
    t2 = s.q[1]
    own, load = m2 * (L1 * L2 * cos(t2) + L2**2), (L2 + x) * (L1 * cos(t2) + L2 + x)
    assert is_zero(s.M[0, 1] - own - mp * load)
    assert all(not sympy.fraction(sympy.together(v))[1].free_symbols for v in s.M)


def test_home_rotations_by_parts_of_pi_are_exact():
    T = kt.symbolic(Builder("tilt").link("base").link("arm", 1.0).joint(
        "j1", "revolute", "base", "arm", at=_turned(np.pi / 6)).build_model()).T  # fmt: skip
    t1 = sympy.Symbol("theta1", real=True)
    assert T[1, 1] == sympy.sqrt(3) * cos(t1) / 2 and T[2, 2] == sympy.sqrt(3) / 2


def _turned(angle):
    from kinetree.spatial import pose, rotation

    return pose(rotation(np.array([1.0, 0, 0]), angle), np.zeros(3))


def test_results_print_as_latex_text_and_mathml(s):
    latex = s.C.latex()
    assert r"\dot{\theta}_{2}" in latex and r"\sin {\theta_{2}}" in latex
    assert s.M._repr_latex_() == rf"$\displaystyle {s.M.latex()}$"
    assert s.g.text().splitlines()[1] == "g[2] = L2*g*m2*cos(theta1 + theta2)"
    assert s.M.text().startswith("M[1, 1] = ") and "C[2, 2]" not in s.C.text()
    assert s.K.text().startswith("K = ") and r"\dot{\theta}_{1}^{2}" in s.K.latex()
    assert s.christoffel.text().count("\n") == 3
    assert isinstance(s.M, sympy.MatrixBase) and isinstance(s.christoffel, sympy.NDimArray)


def test_mathml_is_a_whole_element_with_dotted_rates(s):
    found = s.tau.mathml()
    assert found.startswith("<math ") and found.endswith("</math>") and "dot" not in found
    ElementTree.fromstring(found)  # XML too, for documents that are not HTML
    assert "<msub><mi>θ</mi><mn>2</mn></msub>" in found
    rates = re.findall(r'<mover accent="true"><mi>θ</mi><mo [^>]*>(.)</mo></mover>', found)
    assert set(rates) == {"˙", "¨"}
    assert "<mfrac>" in s.K.mathml()
    general = kt.symbolic(kt.robots.planar_2r(), "inertial").M.mathml()
    inertia = "<msub><mi>I</mi><mrow><mn>1</mn><mi>z</mi>"
    assert inertia in general


def test_numbers_print_with_as_many_digits_as_asked_for():
    U = kt.symbolic(kt.robots.planar_2r()).U
    assert "18639*sin(theta1 + theta2)/250" in U.text()
    assert "/" not in U.text(digits=4) and "74.56*sin(theta1 + theta2)" in U.text(digits=4)
    lone = kt.symbolic(kt.robots.planar_2r()).M.text(digits=6).splitlines()[3]
    assert lone == "M[2, 2] = 3.34"  # also where a number stands alone, no zeros follow it
    assert r"\frac" not in U.latex(digits=4)


def test_indices_of_inertial_symbols_stand_low():
    assert "I_{1zz}" in kt.symbolic(kt.robots.planar_2r(), "inertial").M.latex()


def test_an_energy_is_a_sympy_expression_in_all_but_name(s):
    assert sympy.sympify(s.K) == s.K.expr
    assert s.K.diff(s.dq[0]) == sympy.diff(s.K.expr, s.dq[0])
    assert s.K - s.U == s.K.expr - s.U.expr and s.q[0] + s.K == s.q[0] + s.K.expr
    assert 2 * s.K == 2 * s.K.expr and -s.K == -s.K.expr and s.K / 2 == s.K.expr / 2
    assert s.K == s.K.expr and hash(s.K) == hash(s.K.expr)


def test_evaluate_wants_numbers_for_all_parameters(s):
    values = {"L1": 1, "L2": 0.5, m1: 2, "m2": 3, "g": 9.81}
    expected = 2 + 3 * (1 + 0.5 * 2 * np.cos(0.4) + 0.25)
    assert s.evaluate("M", (0.1, 0.4), values=values)[0, 0] == pytest.approx(expected, rel=1e-15)
    with pytest.raises(InputError, match="no numbers for L1, L2, g, m1, m2"):
        s.evaluate("M", (0.1, 0.4))
    with pytest.raises(NameLookupError, match="expected M, C"):
        s.evaluate("mass", (0.1, 0.4))


def test_substitution_gives_the_equations_of_the_changed_robot(s):
    same = s.subs({"L2": L1, m2: 2})
    assert same.M[1, 1] == 2 * L1**2 and L2 not in same.parameters


def test_dependent_rows_of_the_jacobian_are_refused(s):
    with pytest.raises(SingularityError, match=r"such as \[3, 4\]"):
        s.task_mass(rows=[2, 5])


def test_a_frame_and_the_space_axes_may_be_chosen():
    s = kt.symbolic(branched())
    assert s.pose("left") != s.T
    assert s.jacobian("left")[:, 2] == sympy.zeros(6, 1)
    assert s.jacobian(expressed="space") == s.J_s
    with pytest.raises(InputError, match="'body' or 'space'"):
        s.jacobian(expressed="tool")
