"""Jacobians are rates of poses, and their rates are rates of Jacobians, in fifty digits."""

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree.spatial import Ad, inverse, unskew
from precise_robots import TINY, derivative, precise, precise_state
from robot_states import any_robot, random_state, size

SEEDS = range(20)


def at(model, q, v):
    return lambda h: kt.integrate(model, q, v * h)


def unfold(V):
    """The 6-vector of a 4x4 matrix [V]."""
    return np.concatenate([unskew(V[:3, :3]), V[:3, 3]])


@pytest.mark.parametrize("seed", SEEDS)
def test_twists_are_rates_of_poses(seed, fifty_digits):
    model = precise(any_robot(seed, most=6))
    q, dq, _ = precise_state(model, random_state(model, seed)).motion
    move = at(model, q, dq)
    T, dT = kt.pose(model, q), derivative(lambda h: kt.pose(model, move(h)))
    V_b, V_s = kt.body_jacobian(model, q) @ dq, kt.space_jacobian(model, q) @ dq
    scale = 1 + size(V_s)
    assert size(V_b - unfold(inverse(T) @ dT)) < TINY * scale
    assert size(V_s - unfold(dT @ inverse(T))) < TINY * scale
    assert size(V_s - Ad(T) @ V_b) < TINY * scale
    T_si = kt.forward_kinematics(model, q)
    dT_si = derivative(lambda h: kt.forward_kinematics(model, move(h)))
    for i, J in enumerate(kt.link_jacobians(model, q)):
        assert size(J @ dq - unfold(inverse(T_si[i]) @ dT_si[i])) < TINY * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_rates_are_derivatives_along_the_motion(seed, fifty_digits):
    model = precise(any_robot(seed, most=6))
    q, dq, _ = precise_state(model, random_state(model, seed)).motion
    move = at(model, q, dq)
    pairs = [
        (kt.link_jacobians, lambda m, q, dq: kt.link_jacobian_rates(m, q, dq)[1]),
        (kt.body_jacobian, kt.body_jacobian_rate),
        (kt.space_jacobian, kt.space_jacobian_rate),
    ]
    for jacobian, rate in pairs:
        difference = derivative(lambda h, jacobian=jacobian: jacobian(model, move(h)))
        scale = 1 + size(difference)  # zero for a robot of one joint
        assert size(rate(model, q, dq) - difference) < TINY * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_of_the_recursion_are_rates_of_its_twists(seed, fifty_digits):
    model = precise(any_robot(seed, most=6)).with_gravity(np.zeros(3, int))
    q, dq, ddq = precise_state(model, random_state(model, seed)).motion
    move = at(model, q, dq)

    def twists(h):
        return kt.newton_euler(model, move(h), dq + ddq * h, ddq).V

    record = kt.newton_euler(model, q, dq, ddq)
    assert size(record.dV - derivative(twists)) < TINY * (1 + size(record.dV))
