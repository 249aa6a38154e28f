"""Shares of the joint forces: each against an independent way to compute it."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.joints.friction import frictionless
from kinetree.explain import SHARES, explain
from kinetree.explain.torque import without_drives
from kinetree.model.inputs import link_wrenches
from kinetree.model.samples import random_model
from robot_states import any_robot, random_state, relative, screw_robot

# the agreement of algorithms on random trees of up to 30 joints
CLOSE = 1e-12


def velocity_scale(model, state) -> float:
    """How large forces of the rates can be; a single joint has none but rounding."""
    M = algorithms.mass_matrix(without_drives(model), state.q)
    return float(np.linalg.norm(M) * np.linalg.norm(state.dq) ** 2)


def shares(model, seed, **options):
    state = random_state(model, seed)
    return state, explain(model, *state.motion, **options).torque


@pytest.mark.parametrize("seed", range(12))
def test_centrifugal_and_coriolis_are_squares_and_products_of_christoffel(seed):
    model = screw_robot(seed, 9)
    state, torque = shares(model, seed)
    Gamma = algorithms.christoffel_symbols(without_drives(model), state.q)
    terms = Gamma * np.multiply.outer(state.dq, state.dq)
    squares = np.einsum("ijj->i", terms)
    size = velocity_scale(model, state)
    assert np.abs(torque["centrifugal"] - squares).max() <= CLOSE * size
    assert np.abs(torque["Coriolis"] - (terms.sum((1, 2)) - squares)).max() <= CLOSE * size


@pytest.mark.parametrize("seed", range(12))
def test_velocity_shares_of_joints_of_every_type_add_up_to_c(seed):
    """For balls, planes and free bodies as well; rates are the components of their twists."""
    model = any_robot(seed, 9)
    state, torque = shares(model, seed)
    c = algorithms.coriolis_forces(without_drives(model), state.q, state.dq)
    size = velocity_scale(model, state)
    assert np.abs(torque["Coriolis"] + torque["centrifugal"] - c).max() <= CLOSE * size


@pytest.mark.parametrize("seed", range(6))
def test_centrifugal_forces_are_quadratic_in_each_rate(seed):
    """A change of sign of any rate leaves squares alone."""
    model = any_robot(seed, 9)
    state = random_state(model, seed)
    signs = np.where(np.arange(model.n) % 2, 1, -1)
    one = explain(model, *state.motion).torque["centrifugal"]
    other = explain(model, state.q, state.dq * signs, state.ddq).torque["centrifugal"]
    assert np.abs(other - one).max() <= CLOSE * velocity_scale(model, state)


@pytest.mark.parametrize("seed", range(12))
def test_the_other_shares(seed):
    model = any_robot(seed, 9)
    state = random_state(model, seed)
    torque = explain(model, *state.motion, **state.wrenches).torque
    links = without_drives(model)
    M = algorithms.mass_matrix(links, state.q)
    assert relative(torque["inertia"], M @ state.ddq) <= CLOSE
    assert relative(torque["gravity"], algorithms.gravity_forces(model, state.q)) <= CLOSE
    assert relative(torque["friction"], algorithms.friction_forces(model, state.dq)) <= CLOSE
    J = algorithms.link_jacobians(model, state.q)
    F = link_wrenches(model, state.F_ext, state.F_tip)
    external = -sum(J[i].T @ F[i] for i in model.links)
    assert relative(torque["external"], external) <= CLOSE
    still = frictionless(model).with_gravity((0, 0, 0))
    with_rotors = algorithms.inverse_dynamics(still, *state.motion)
    without = algorithms.inverse_dynamics(links.with_gravity((0, 0, 0)), *state.motion)
    without = without - algorithms.friction_forces(model, state.dq)
    size = max(np.abs(with_rotors).max(), np.abs(without).max())
    assert np.abs(torque["rotor"] - (with_rotors - without)).max() <= CLOSE * size
    assert set(torque.shares) == set(SHARES) - {"base", "spring", "constraints"}


def test_a_moving_base_has_a_share_of_its_own():
    model = any_robot(5)
    state = random_state(model, 5)
    torque = explain(model, *state.motion, **state.all).torque
    assert set(torque.shares) == set(SHARES) - {"spring", "constraints"}
    assert np.abs(torque["base"]).max() > 0
    still = explain(model, *state.motion, V_base=np.zeros(6)).torque
    assert not np.abs(still["base"]).max() > 1e-12


def test_springs_have_a_share_of_their_own():
    model = random_model(4, 6, mimic=True, springs=True)
    state = random_state(model, 4)
    found = explain(model, *state.motion, **state.wrenches)
    torque = found.torque
    assert set(torque.shares) == set(SHARES) - {"base", "constraints"}
    assert relative(torque["spring"], algorithms.spring_forces(model, state.q)) <= CLOSE
    assert relative(torque.total, torque.tau) <= CLOSE
    without = explain(model.replace(springs=()), *state.motion, **state.wrenches)
    for name, share in without.torque.shares.items():
        assert np.array_equal(share, torque[name])
    for link in found.links:
        assert relative(link["tau"].total, link["tau"].value) <= CLOSE


def test_shares_by_hand():
    """A slider on a turning arm: Coriolis 2 m r dq dr on the arm, centrifugal -m r dq^2 on it."""
    m, r = 3.0, 2.0
    builder = kt.Builder("rp", gravity=(0, 0, 0)).link("base").link("arm").link("slider", m)
    builder.joint("turn", "revolute", "base", "arm")
    builder.joint("slide", "prismatic", "arm", "slider", axis=(1, 0, 0))
    torque = explain(builder.build_model(), [0.4, r], [5.0, 7.0], [11.0, 13.0]).torque
    assert torque["Coriolis"] == pytest.approx([2 * m * r * 5 * 7, 0], rel=1e-14, abs=1e-13)
    assert torque["centrifugal"] == pytest.approx([0, -m * r * 25], rel=1e-14, abs=1e-13)
    assert torque["inertia"] == pytest.approx([m * r * r * 11, m * 13], rel=1e-14)
    assert torque.units == ("N m", "N") and torque.names == ("turn", "slide")


@pytest.mark.parametrize("seed", range(8))
def test_squares_of_many_rates_in_one_recursion_are_those_of_one_at_a_time(seed, monkeypatch):
    model = any_robot(seed, 12)
    state, apart = shares(model, seed)
    monkeypatch.setattr("kinetree.explain.torque.MAX_SINGLE_SQUARES", 0)
    _, together = shares(model, seed)
    size = velocity_scale(model, state)
    for name in ("centrifugal", "Coriolis"):
        assert np.abs(together[name] - apart[name]).max(initial=0) <= CLOSE * size
