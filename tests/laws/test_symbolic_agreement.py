"""Closed forms, evaluated at numbers, are what the numeric algorithms give; all formulations agree.

The closed forms hold exact fractions of the robot's decimals, so what is left is the rounding of
the evaluation: 1e-12 of the largest entry, as the project specifies.
"""

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

import kinetree as kt  # noqa: E402
from kinetree import algorithms  # noqa: E402
from kinetree.model.samples import ALL_TYPES, random_model  # noqa: E402
from robot_states import random_state  # noqa: E402
from symbolic_robots import ROBOTS, fully_symbolic  # noqa: E402

TOLERANCE = 1e-12


def numeric(model, q, dq, ddq):
    """Every quantity by the textbook algorithms on floats."""
    return {
        "M": algorithms.mass_matrix(model, q),
        "C": algorithms.coriolis_matrix(model, q, dq),
        "c": algorithms.coriolis_forces(model, q, dq),
        "g": algorithms.gravity_forces(model, q),
        "friction": algorithms.friction_forces(model, dq),
        "tau": algorithms.inverse_dynamics(model, q, dq, ddq),
        "T": algorithms.pose(model, q),
        "J": algorithms.body_jacobian(model, q),
        "J_s": algorithms.space_jacobian(model, q),
        "K": algorithms.kinetic_energy(model, q, dq),
        "U": algorithms.potential_energy(model, q),
        "christoffel": algorithms.christoffel_symbols(model, q),
    }


def check(s, model, names=None, seed=0):
    state = random_state(model, seed)
    for name, expected in numeric(model, *state.motion).items():
        if names is None or name in names:
            found = s.evaluate(name, *state.motion)
            expected = np.asarray(expected, float)
            assert found.shape == expected.shape
            scale = max(float(np.abs(expected).max()), 1.0)
            assert np.abs(found - expected).max() <= TOLERANCE * scale, name


@pytest.mark.parametrize("name", ROBOTS)
def test_fully_symbolic_robots_give_the_numeric_result(name):
    check(fully_symbolic(name), ROBOTS[name]())


@pytest.mark.parametrize("robot", [kt.robots.puma_560])
def test_six_joints_with_symbolic_angles_give_the_numeric_result(robot):
    model = robot().model
    check(kt.symbolic(model), model, ("M", "c", "g", "T", "J", "friction", "tau"))


@pytest.mark.parametrize("seed", [5, 6, *(pytest.param(k, marks=pytest.mark.many) for k in (2, 4))])
def test_random_trees_of_all_joints_and_drives_give_the_numeric_result(seed):
    """Rotations by no special angle, spheres, planes, free bodies, rotors, mimic joints."""
    model = random_model(seed, 3, types=ALL_TYPES, mimic=seed % 2 == 0)
    check(kt.symbolic(model), model, ("M", "g", "friction", "tau", "T", "J", "K", "U"), seed)


@pytest.mark.parametrize("name", ["RP", "spatial 3R", "branched"])
def test_four_formulations_of_newton_and_euler_are_the_same_polynomials(name):
    s = fully_symbolic(name)
    taus = [
        algorithms.inverse_dynamics(s._model, s._q, s._dq, s._ddq, formulation=formulation)
        for formulation in algorithms.FORMULATIONS
    ]
    for tau in taus[1:]:
        assert all(a == b for a, b in zip(taus[0], tau, strict=True))
    assert all(len(a.terms) > 1 for a in taus[0])


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_at_the_tool_inverts_the_mobility(name):
    s, model = fully_symbolic(name), ROBOTS[name]()
    q = random_state(model, 3).q
    J = algorithms.body_jacobian(model, q)[s.task_rows()]
    mobility = J @ np.linalg.solve(algorithms.mass_matrix(model, q), J.T)
    Lambda = s.evaluate("Lambda", q)
    size = np.linalg.norm(Lambda) * np.linalg.norm(mobility)
    assert np.abs(Lambda @ mobility - np.eye(len(J))).max() < TOLERANCE * size
    assert len(J) == np.linalg.matrix_rank(algorithms.body_jacobian(model, q))
