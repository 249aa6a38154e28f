"""Regrouping changes which link carries a mass moment, and no joint force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from compiled_robots import Terms
from kinetree import algorithms
from kinetree.algorithms.energy import tree_kinetic_energy
from kinetree.algorithms.forward_dynamics import tree_forward_dynamics
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.lean import (
    lean_model,
    lean_tree,
)
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.engine import Port, interpret, trace
from robot_states import EPS, any_robot, size

ROUNDING = 32 * EPS


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_joint_forces_are_those_of_the_textbook_regrouped_or_not(seed):
    model = any_robot(seed, 12)
    terms = Terms.at(model, seed)
    x = terms.x
    expected = algorithms.inverse_dynamics(model, *x.motion, x.F_ext, formulation="screw")
    energy = algorithms.kinetic_energy(model, x.q, x.dq)
    for regrouped in (True, False):
        tree = lean_tree(lean_model(model, regrouped=regrouped), x.q, x.F_ext)
        tau = tree_inverse_dynamics(tree, x.dq, x.ddq)
        assert size(tau - expected) <= ROUNDING * terms.of("inverse_dynamics", True)
        M = tree_mass_matrix(tree)
        assert size(M - terms.M) <= ROUNDING * size(terms.M)
        assert (M == M.T).all()
        found = tree_kinetic_energy(tree, x.dq)
        assert abs(found - energy) <= ROUNDING * terms.of("kinetic_energy")
        ddq = tree_forward_dynamics(tree, x.dq, 10 * x.ddq[::-1])
        again = algorithms.forward_dynamics(model, x.q, x.dq, 10 * x.ddq[::-1], x.F_ext)
        assert size(ddq - again) <= ROUNDING * terms.of("forward_dynamics", True)


def test_hinges_keep_no_mass_and_slides_no_second_moments():
    links = lean_model(kt.robots.scara().model).links
    assert [link.joint.type for link in links] == ["revolute", "revolute", "prismatic", "revolute"]
    for link in links:
        if link.joint.type == "prismatic":
            assert link.body.m > 0 and not link.body.Sigma.any()
        else:
            assert link.body.m == link.body.h[2] == link.body.Sigma[2, 2] == 0


def test_mass_is_handed_inward_and_lost_in_the_base():
    """What sits on the elbow's axis is carried by the upper arm, at its place."""
    model = kt.robots.planar_2r().model
    plain, regrouped = lean_model(model, regrouped=False), lean_model(model)
    assert [link.body.m for link in plain.links] == [22, 19]
    tip, arm = (link.body for link in reversed(regrouped.links))
    assert tip.m == 0 and arm.m == 0
    # the forearm's 19 kg seem to sit 1 m from the shoulder
    assert size(arm.h) == pytest.approx(22 * 0.5 + 19 * 1.0, rel=1e-14)
    assert size(tip.h) == pytest.approx(19 * 0.4, rel=1e-14)


def test_traced_masses_can_be_regrouped_too():
    """Masses may be unknown: then the moments are formulas."""
    model = kt.robots.planar_2r().model
    other = model.replace(m=model.m * 2)

    def torque(m):
        q = np.array([0.3, 0.4])
        return tree_inverse_dynamics(lean_tree(lean_model(model.replace(m=m)), q), q, q)

    graph = trace(torque, [Port("m", (2,), ("n",))])
    (found,) = interpret(graph, other.m)
    q = [0.3, 0.4]
    expected = algorithms.inverse_dynamics(other, q, q, q)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
