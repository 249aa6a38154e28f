"""The centroidal momentum matrix, its rate, and the Jacobian of the centre of mass."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms, robots
from kinetree.errors import ModelError
from precise_robots import TINY, derivative, precise, precise_state
from robot_states import EPS, any_robot, random_state, size


@pytest.mark.parametrize("seed", range(12))
def test_momentum_is_the_matrix_times_the_rates(seed):
    """With rotors, mimic joints and joints of all types; momentum itself is another recursion."""
    model = any_robot(seed, 10)
    x = random_state(model, seed)
    A = algorithms.centroidal_momentum_matrix(model, x.q)
    J = algorithms.center_of_mass_jacobian(model, x.q)
    momentum = algorithms.centroidal_momentum(model, x.q, x.dq)
    about_origin = size(algorithms.momentum(model, x.q, x.dq))
    mass = algorithms.total_mass(model)
    assert size(A @ x.dq - momentum) <= 100 * EPS * (size(momentum) + about_origin)
    assert size(J * mass - A[3:]) <= 8 * EPS * (1 + size(A))


@pytest.mark.parametrize("seed", range(6))
def test_rates_are_derivatives_along_the_motion(seed, fifty_digits):
    model = any_robot(seed, 6)
    model, x = precise(model), precise_state(model, random_state(model, seed))

    def along(function):
        return derivative(lambda t: function(model, algorithms.integrate(model, x.q, x.dq * t)))

    rate = algorithms.centroidal_momentum_matrix_rate(model, x.q, x.dq)
    found = along(algorithms.centroidal_momentum_matrix)
    assert size(rate - found) < TINY * (1 + size(rate))
    velocity = along(algorithms.center_of_mass)
    J = algorithms.center_of_mass_jacobian(model, x.q)
    assert size(J @ x.dq - velocity) < TINY * (1 + size(velocity))


def test_only_the_weight_changes_the_momentum_of_a_free_robot():
    """Whatever the joints do: the sum of all joint forces inside the robot is nothing."""
    model = robots.quadruped().model
    rng = np.random.default_rng(3)
    q, (dq, tau) = algorithms.random(model, rng), rng.normal(size=(2, model.n))
    tau[:6] = 0  # the free base has no motor
    ddq = algorithms.forward_dynamics(model, q, dq, tau)
    A = algorithms.centroidal_momentum_matrix(model, q)
    rate = A @ ddq + algorithms.centroidal_momentum_matrix_rate(model, q, dq) @ dq
    weight = algorithms.total_mass(model) * model.gravity[3:]
    slack = 1e-12 * (size(A @ ddq) + size(weight))
    assert size(rate - np.concatenate([np.zeros(3), weight])) < slack


def test_the_base_counts_for_the_centre_but_does_not_move():
    builder = kt.Builder("post").link("base", 3.0, (0, 0, 0.5)).link("arm", 1.0, (1, 0, 0))
    robot = builder.joint("hinge", "revolute", "base", "arm", axis=(0, 0, 1)).build()
    J = algorithms.center_of_mass_jacobian(robot.model, [0.0])
    A = algorithms.centroidal_momentum_matrix(robot.model, [0.0])
    assert J[:, 0] == pytest.approx([0, 0.25, 0], abs=1e-15)
    assert A[3:, 0] == pytest.approx([0, 1, 0], abs=1e-15)


def test_a_robot_without_mass_has_no_centre():
    builder = kt.Builder("ghost").link("base").link("arm")
    model = builder.joint("hinge", "revolute", "base", "arm", armature=1.0).build().model
    for function in (algorithms.center_of_mass_jacobian, algorithms.centroidal_momentum_matrix):
        with pytest.raises(ModelError, match="'ghost' has no mass"):
            function(model, [0])


def test_closed_forms_of_a_pendulum():
    sympy = pytest.importorskip("sympy")
    q = sympy.Symbol("q")
    builder = kt.Builder("pendulum").link("base").link("bob", 2, (3, 0, 0))
    model = builder.joint("pivot", "revolute", "base", "bob", axis=(0, 0, 1)).build().model
    J = algorithms.center_of_mass_jacobian(model.astype(sympy.nsimplify), [q])
    assert [sympy.simplify(x) for x in J[:, 0]] == [-3 * sympy.sin(q), 3 * sympy.cos(q), 0]
