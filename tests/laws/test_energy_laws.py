"""Energy and momentum: gradients, power, conservation, all by differences in fifty digits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from changed_robots import on_free_joint
from kinetree import algorithms as kt
from precise_robots import TINY, derivative, numbers, precise, precise_state
from robot_states import EPS, any_robot, random_state, size

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_forces_are_the_gradient_of_the_potential_energy(seed, fifty_digits):
    model = precise(any_robot(seed, most=6))
    q = precise_state(model, random_state(model, seed)).q
    unit = numbers(np.eye(model.n))

    def energy(v):
        return kt.potential_energy(model, kt.integrate(model, q, v))

    gradient = np.array([derivative(lambda h, e=e: energy(e * h)) for e in unit])
    scale = size(model.m) * size(model.gravity)
    assert size(gradient) > 0
    assert size(kt.gravity_forces(model, q) - gradient) < TINY * scale


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_kinetic_energy_is_that_of_the_mass_matrix(seed):
    model = any_robot(seed)
    q, dq, _ = random_state(model, seed).motion
    T = kt.kinetic_energy(model, q, dq)
    assert T > 0
    assert abs(T - dq @ kt.mass_matrix(model, q) @ dq / 2) < 1000 * EPS * T


@pytest.mark.parametrize("seed", SEEDS)
def test_power_in_is_the_rate_of_energy_and_what_friction_and_wrenches_take(seed, fifty_digits):
    model = precise(any_robot(seed, most=6))
    x = precise_state(model, random_state(model, seed))
    q, dq, ddq = x.motion

    def energy(h):
        q_h, dq_h = kt.integrate(model, q, dq * h), dq + ddq * h
        return kt.kinetic_energy(model, q_h, dq_h) + kt.potential_energy(model, q_h)

    power_in = kt.inverse_dynamics(model, q, dq, ddq, **x.wrenches) @ dq
    dissipated = kt.friction_forces(model, dq) @ dq
    wrenches = sum(F @ J @ dq for F, J in zip(x.F_ext, kt.link_jacobians(model, q), strict=True))
    tip = x.F_tip @ kt.body_jacobian(model, q) @ dq  # done by the tool on the world
    balance = power_in - derivative(energy) - dissipated + wrenches - tip
    assert dissipated > 0
    assert abs(balance) < TINY * (abs(power_in) + abs(dissipated) + abs(wrenches) + abs(tip))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_free_floating_robot_keeps_its_momentum_and_falls_with_its_weight(seed, fifty_digits):
    """Whatever the inner joints do, rotors and friction included."""
    model = on_free_joint(precise(any_robot(seed, most=5)))
    x = precise_state(model, random_state(model, seed))
    inner = np.concatenate([np.zeros(6, int), x.ddq[6:]])  # any forces inside, none on the base
    for robot in (model, model.with_gravity(numbers([0, 0, 0]))):
        ddq = kt.forward_dynamics(robot, x.q, x.dq, inner)

        def momentum(h, robot=robot, ddq=ddq):
            return kt.momentum(robot, kt.integrate(robot, x.q, x.dq * h), x.dq + ddq * h)

        rate = derivative(momentum)
        weight = robot.gravity[3:] * kt.total_mass(robot)
        lever = kt.center_of_mass(robot, x.q)
        expected = np.concatenate([np.cross(lever, weight), weight])
        assert size(rate - expected) < TINY * size(momentum(0))


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_momentum_is_mass_times_the_velocity_of_the_centre(seed, fifty_digits):
    model = precise(any_robot(seed, most=6))
    q, dq, _ = precise_state(model, random_state(model, seed)).motion
    velocity = derivative(lambda h: kt.center_of_mass(model, kt.integrate(model, q, dq * h)))
    momentum = kt.momentum(model, q, dq)
    assert size(momentum[3:] - velocity * kt.total_mass(model)) < TINY * size(momentum)
    central = kt.centroidal_momentum(model, q, dq)
    moved = momentum[:3] - np.cross(kt.center_of_mass(model, q), momentum[3:])
    assert size(central - np.concatenate([moved, momentum[3:]])) < TINY * size(momentum)
