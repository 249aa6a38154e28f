"""Closed forms: equal to the kernels at random points, and printed in words of mathematics."""

from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt

sympy = pytest.importorskip("sympy")
KINDS = ("inertial", "lengths", "gravity", "friction")
ROBOTS = ("planar_2r", "rp", "spatial_3r", "scara", "cart_pole", "double_pendulum")


def close(found, expected):
    np.testing.assert_allclose(np.squeeze(found), np.squeeze(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("parameters", [None, KINDS], ids=["numbers", "symbols"])
def test_closed_forms_are_the_kernels(name, parameters):
    robot = getattr(kt.robots, name)()
    robot = robot.with_friction({robot.joint_names[0]: kt.friction.Friction(0.5, 0.2)})
    form = kt.symbolic(robot, parameters)
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, robot.n))
    expected = {
        "M": robot.mass_matrix(q), "C": robot.coriolis_matrix(q, dq),
        "c": robot.coriolis_forces(q, dq), "g": robot.gravity_forces(q),
        "friction": robot.friction_forces(dq), "tau": robot.inverse_dynamics(q, dq, ddq),
        "T": robot.pose(q), "J": robot.body_jacobian(q), "J_s": robot.space_jacobian(q),
        "K": robot.kinetic_energy(q, dq), "U": robot.potential_energy(q),
    }  # fmt: skip
    for quantity, values in expected.items():
        close(form.evaluate(quantity, q, dq, ddq), values)
    christoffel = kt.dynamics.christoffel_symbols(robot.model, q)
    close(form.evaluate("christoffel", q), christoffel)
    if parameters:  # other numbers are those of the changed robot
        values = {x.name: float(form.values[x]) for x in form.parameters if x in form.values}
        heavier = {x: 2 * y for x, y in values.items() if x[0] in "mI"}
        found = form.evaluate("M", q, values=values | heavier)
        assert np.all(np.linalg.eigvalsh(found) > 0)
        close(form.subs(values).evaluate("g", q), robot.gravity_forces(q))


URDF = """<robot name="skew"><link name="a"/><link name="b">{0}</link><link name="c">{0}</link>
<joint name="one" type="continuous"><parent link="a"/><child link="b"/>
<origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/><axis xyz="0.6 0 0.8"/></joint>
<joint name="two" type="continuous"><parent link="b"/><child link="c"/>
<origin xyz="0.2 0 0.1" rpy="0.5 -0.4 0.7"/><axis xyz="0 1 0"/>
<mimic joint="one" multiplier="0.5" offset="0.2"/></joint></robot>"""
BODY = """<inertial><origin xyz="0.1 0.2 0.1"/><mass value="2"/>
<inertia ixx="0.3" iyy="0.2" izz="0.3" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>"""


def test_any_rotation_and_joints_that_follow_are_exact():
    robot, q = kt.load_string(URDF.format(BODY)), [0.7]
    form = kt.symbolic(robot)
    close(form.evaluate("M", q), robot.mass_matrix(q))
    close(form.evaluate("g", q), robot.gravity_forces(q))
    close(form.evaluate("T", q), robot.pose(q))


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "five_bar"])
def test_reduced_forms_of_mechanisms_are_the_kernels(name):
    robot = getattr(kt.robots, name)()
    form, q = kt.symbolic(robot), kt.dynamics.start_position(robot)
    kept = [kt.constraints.mobility(robot).rows.index(row) for row in form.closures]
    dq = kt.constraints.project_rates(robot, q, np.linspace(0.5, 1, robot.n))
    M_r, h_r, N = kt.constraints.reduced_dynamics(robot, q, dq)
    close(form.evaluate("M_r", q), M_r)
    close(form.evaluate("h_r", q, dq), h_r)
    close(form.evaluate("N", q), N)
    away, rates = q + 0.1, np.linspace(-1, 1, robot.n)
    close(form.evaluate("Phi", away), kt.constraints.errors(robot, away)[kept])
    close(form.evaluate("J_Phi", away), kt.constraints.jacobian(robot, away)[kept])
    close(form.evaluate("gamma", away, rates), kt.constraints.bias(robot, away, rates)[kept])


def test_the_two_link_arm_is_exact_and_that_of_the_books():
    form = kt.symbolic(kt.robots.planar_2r(), ["inertial", "lengths", "gravity"])
    M, C = sympy.Matrix(form.M), sympy.Matrix(form.C)
    assert M == M.T and not M.atoms(sympy.Float)
    rate = sum((M.diff(q) * dq for q, dq in zip(form.q, form.dq, strict=True)), sympy.zeros(2, 2))
    assert sympy.simplify(rate - C - C.T) == sympy.zeros(2, 2)  # dM - 2C is skew
    m2, L1 = (x for x in form.parameters if x.name in ("m2", "L1"))
    assert M.has(m2) or M.has(L1)
    U = sympy.sympify(form.U)
    for k, q in enumerate(form.q):
        assert sympy.simplify(U.diff(q) - sympy.Matrix(form.g)[k]) == 0
    assert len(M[0, 1].free_symbols - M[1, 1].free_symbols) <= 3  # short: nothing cancels


def test_results_print_as_text_latex_and_mathml():
    form = kt.symbolic(kt.robots.rp())
    assert (
        form.g.text() == "g[1] = (2943*d2/50 + 31392/125)*cos(theta1)\ng[2] = 2943*sin(theta1)/50"
    )
    assert "58.86" in form.g.text(digits=4)
    assert r"\cos" in form.g.latex() and r"\dot" in form.C.latex()
    ElementTree.fromstring(form.g.mathml())
    assert form._repr_html_().count("<table") >= 1
    with pytest.raises(kt.errors.KinetreeError):
        form.evaluate("mass", [0, 0])
