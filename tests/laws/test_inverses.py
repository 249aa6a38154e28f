"""Pairs of functions that undo each other."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import algorithms as kt
from robot_states import EPS, any_robot, random_state, relative, size

SEEDS = st.integers(0, 10**6)
ROUNDING = 1000 * EPS  # up to 30 links, each carried through a few products of 6x6 matrices


@settings(max_examples=40)
@given(SEEDS)
def test_forward_dynamics_undoes_inverse_dynamics(seed):
    model = any_robot(seed)
    x = random_state(model, seed)
    q, dq, ddq = x.motion
    M = kt.mass_matrix(model, q)
    tau = kt.inverse_dynamics(model, q, dq, ddq, **x.wrenches)
    # tau is known to eps of its terms, whose size the bias shows; M^-1 magnifies that
    terms = size(M @ ddq) + size(kt.inverse_dynamics(model, q, dq, ddq * 0, **x.wrenches))
    slack = ROUNDING * terms * np.linalg.norm(np.linalg.inv(M), 2)
    ways = [kt.forward_dynamics]
    if not any(joint.follows for joint in model.joints):
        ways.append(kt.forward_dynamics_by_articulated_bodies)
    for way in ways:
        assert size(way(model, q, dq, tau, **x.wrenches) - ddq) < slack
    again = kt.inverse_dynamics(model, q, dq, ways[-1](model, q, dq, tau), F_tip=None)
    assert relative(again, tau) < ROUNDING * np.linalg.cond(M)


@settings(max_examples=40)
@given(SEEDS)
def test_integrate_and_difference_undo_each_other(seed):
    """For turns by less than half a turn, of which there is only one shortest."""
    model = any_robot(seed)
    rng = np.random.default_rng(seed)
    q0, q1 = kt.random(model, rng), kt.random(model, rng)
    there = kt.integrate(model, q0, kt.difference(model, q0, q1))
    T, T_1 = kt.forward_kinematics(model, there), kt.forward_kinematics(model, q1)
    assert relative(T, T_1) < ROUNDING
    step = rng.uniform(-1.7, 1.7, model.n)  # three of them turn by less than pi
    back = kt.difference(model, q0, kt.integrate(model, q0, step))
    assert relative(back, step) < ROUNDING


@settings(max_examples=40)
@given(SEEDS)
def test_a_zero_step_stays_where_it_is(seed):
    model = any_robot(seed)
    q = kt.random(model, np.random.default_rng(seed))
    assert relative(kt.integrate(model, q, np.zeros(model.n)), q) < 4 * EPS
    assert size(kt.difference(model, q, q)) < 100 * EPS
