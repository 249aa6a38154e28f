"""Explanations of symbols: exact, short, and equal to those of numbers after substitution."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import FORMULATIONS
from kinetree.explain import explain
from kinetree.model.samples import random_model

sympy = pytest.importorskip("sympy")


def symbols(n: int):
    return [np.array(sympy.symbols(f"{name}1:{n + 1}"), object) for name in ("q", "dq", "ddq")]


def two_link():
    """The textbook's arm: lengths L1, L2 with point masses at their ends, gravity along -y."""
    L1, L2, m1, m2, g = sympy.symbols("L1 L2 m1 m2 g", positive=True)
    builder = kt.Builder("2R", gravity=(0, -g, 0)).link("base")
    builder.link("upper", m1, (L1, 0, 0)).link("lower", m2, (L2, 0, 0))
    builder.joint("j1", "revolute", "base", "upper")
    builder.joint("j2", "revolute", "upper", "lower", at=(L1, 0, 0))
    return builder.build_model(), (L1, L2, m1, m2, g)


def test_the_two_link_arm_of_the_book():
    model, (L1, L2, m1, m2, g) = two_link()
    (q1, q2), (dq1, dq2), (ddq1, ddq2) = q, dq, ddq = symbols(2)
    torque = explain(model, q, dq, ddq).torque
    s2, c2 = sympy.sin(q2), sympy.cos(q2)
    expected = {
        "Coriolis": [-2 * m2 * L1 * L2 * s2 * dq1 * dq2, 0],
        "centrifugal": [-m2 * L1 * L2 * s2 * dq2**2, m2 * L1 * L2 * s2 * dq1**2],
        "inertia": [
            (m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2)) * ddq1
            + m2 * (L1 * L2 * c2 + L2**2) * ddq2,
            m2 * (L1 * L2 * c2 + L2**2) * ddq1 + m2 * L2**2 * ddq2,
        ],
        "gravity": [
            (m1 + m2) * L1 * g * sympy.cos(q1) + m2 * g * L2 * sympy.cos(q1 + q2),
            m2 * g * L2 * sympy.cos(q1 + q2),
        ],
    }
    for name, entries in expected.items():
        for found, entry in zip(torque[name], entries, strict=True):
            assert sympy.simplify(sympy.expand_trig(found - entry)) == 0, name


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_parts_of_symbols_add_up_identically(formulation):
    model, _ = two_link()
    explanation = explain(model, *symbols(2), formulation=formulation).simplified()
    for steps in explanation.links:
        for symbol, term in steps.terms.items():
            if symbol != "T":
                for rest in np.ravel(term.total - term.value):
                    assert sympy.simplify(sympy.expand_trig(rest)) == 0
    for rest in explanation.torque.total - explanation.tau:
        assert sympy.simplify(sympy.expand_trig(rest)) == 0


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_numbers_put_into_symbols_give_the_explanation_of_numbers(formulation):
    robot = kt.robots.rp()
    state = np.array([[0.3, 0.2], [0.5, -0.7], [1.1, 0.4]])
    given = symbols(2)
    table = dict(zip(np.ravel(given), state.ravel(), strict=True))
    found = robot.explain(*given, formulation=formulation).simplified()
    found = found.map(lambda x: float(sympy.sympify(x).subs(table)))
    expected = robot.explain(*state, formulation=formulation)
    for a, b in zip(found.links, expected.links, strict=True):
        for symbol, term in b.terms.items():
            assert a[symbol].names == term.names
            for name in term.names:
                assert np.abs(a[symbol][name].astype(float) - term[name]).max() <= 1e-12
    for name, share in expected.torque.shares.items():
        assert np.abs(found.torque[name].astype(float) - share).max() <= 1e-12 * 300


def test_simplified_is_short():
    explanation = kt.robots.planar_2r().explain(*symbols(2)).simplified()
    text = explanation.text(100)
    assert "-15.2*dq1*dq2*sin(q2)" in text and "74.556*cos(q1 + q2)" in text
    assert "1.0*" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_simplified_keeps_signs_of_friction_and_moving_bases():
    model = random_model(3, 2, types=("revolute", "prismatic"), fixed=False)
    q, dq, ddq = symbols(2)
    w = np.array(sympy.symbols("w1:7"), object)
    explanation = explain(model, q, dq, ddq, V_base=w).simplified()
    assert any(x.has(sympy.sign) for x in explanation.torque["friction"])
    assert any(x.has(w[0]) for x in explanation.torque["base"])


def test_numbers_are_not_simplified():
    explanation = kt.robots.planar_2r().explain([0.1, 0.2], [1, 2], [3, 4])
    assert explanation.simplified() is explanation


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_symbols_are_shown_in_every_form(form):
    model, _ = two_link()
    text = getattr(explain(model, *symbols(2)).simplified(), form)()
    for name in ("lower", "upper", "Coriolis", "L_{1}" if form == "latex" else "L1*"):
        assert name in text


def test_other_numbers_are_explained_too():
    mpmath = pytest.importorskip("mpmath")
    robot = kt.robots.planar_2r()
    with mpmath.workdps(40):
        state = [np.array([mpmath.mpf(x) for x in row]) for row in ((0.1, 0.2), (1, 2), (3, 4))]
        model = robot.model.astype(mpmath.mpf)
        explanation = explain(model, *state)
        assert abs(explanation.torque.total - explanation.tau).max() < mpmath.mpf(10) ** -36
    text = explanation.text()
    assert all(f"{x:.2f}" in text for x in robot.inverse_dynamics([0.1, 0.2], [1, 2], [3, 4]))
