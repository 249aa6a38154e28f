"""Articulated bodies: any cut of a robot gives the forward dynamics of the book."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import forward_dynamics_by_inverse_dynamics
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.forward_dynamics import by_articulated_bodies
from kinetree.algorithms.grouping import cheapest, finest, whole
from kinetree.algorithms.lean import lean_model, lean_tree
from robot_states import any_robot, random_state, relative

CUTS = {"finest": finest, "cheapest": cheapest, "whole": whole}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("seed", range(12))
def test_every_cut_gives_the_forward_dynamics_of_the_book(seed, cut):
    model = any_robot(seed, most=9)
    x = random_state(model, seed)
    expected = forward_dynamics_by_inverse_dynamics(model, x.q, x.dq, x.ddq, x.F_ext)
    groups = CUTS[cut](model)
    for tree in (book_tree(model, x.q, x.F_ext), lean_tree(lean_model(model), x.q, x.F_ext)):
        found = by_articulated_bodies(tree, groups, x.dq, x.ddq)
        assert relative(found, expected) < 1e-8


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("seed", range(12))
def test_a_cut_has_every_link_and_degree_of_freedom_once(seed, cut):
    model = any_robot(seed)
    groups = CUTS[cut](model)
    assert sorted(i for group in groups for i in group.links) == list(model.links)
    assert sorted(d for group in groups for d in group.dofs) == list(range(model.n))
    done = {-1}
    for group in groups:  # carriers come first
        assert group.carrier in done
        done.update(group.links)


def test_joints_that_share_a_degree_of_freedom_are_not_cut_apart():
    model = kt.robots.hand().model
    for group in finest(model):
        movers = {i for i, joint in enumerate(model.joints) if set(joint.dofs) & set(group.dofs)}
        assert movers <= set(group.links)


def test_articulated_bodies_are_exact_to_fifty_digits():
    model = kt.robots.spatial_3r().model
    with mpmath.workdps(50):
        exact = model.astype(mpmath.mpf)
        q, dq, tau = (np.array([mpmath.mpf(k + j) / 7 for j in range(3)]) for k in range(3))
        tree = book_tree(exact, q)
        found = by_articulated_bodies(tree, finest(model), dq, tau)
        expected = forward_dynamics_by_inverse_dynamics(exact, q, dq, tau)
        assert max(abs(x) for x in found - expected) < mpmath.mpf(10) ** -44


def test_a_joint_that_moves_no_inertia_is_named():
    body = {"m": 1.0, "com": (0.1, 0, 0), "I_com": np.eye(3) / 100}
    builder = kt.Builder("arm").link("base")
    for k in range(20):
        builder.link(f"link{k}", **({} if k == 9 else body))
        parent = f"link{k - 1}" if k else "base"
        # joints 9 and 10 turn about one axis, with nothing between them
        at, axis = (
            ((0, 0, 0) if k == 10 else (0.2, 0, 0)),
            ((0, 0, 1) if k in (9, 10) else (0, 1, 0)),
        )
        builder.joint(f"joint{k}", "revolute", parent, f"link{k}", at=at, axis=axis)
    model = builder.build().model
    assert len(cheapest(model)) > 1
    with pytest.raises(kt.errors.SingularityError, match="joint9"):
        kt.algorithms.forward_dynamics(model, np.full(20, 0.3), np.zeros(20), np.zeros(20))
