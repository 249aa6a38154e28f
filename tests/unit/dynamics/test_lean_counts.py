"""How many operations are left: counts are exact, the same on every machine."""

from functools import partial

import pytest

import kinetree as kt
from example_robots import example
from kinetree import dynamics
from kinetree.engine import Port, optimise, trace
from kinetree.engine.kernels import trace_quantity

# additions, subtractions, multiplications, divisions, negations; what the project promises
PROMISED = {"panda": 714, "ur5": 391, "talos": 5177}


@pytest.mark.parametrize("robot", PROMISED)
def test_inverse_dynamics_needs_no_more_operations_than_promised(robot):
    assert trace_quantity(example(robot), "inverse_dynamics").operations <= PROMISED[robot]


def test_regrouping_pays():
    """With free gravity nothing is regrouped, and the same torques cost more."""
    model = kt.robots.puma_560().model
    regrouped = trace_quantity(model, "coriolis_forces").operations
    assert regrouped < 0.95 * trace_quantity(model, "coriolis_forces", free=["gravity"]).operations


def test_the_lean_form_needs_fewer_operations_than_the_textbook():
    model = kt.robots.puma_560().model
    ports = [Port(name, (6,), ("n",)) for name in ("q", "dq", "ddq")]
    book = optimise(trace(partial(dynamics.inverse_dynamics, model, formulation="screw"), ports))
    assert trace_quantity(model, "inverse_dynamics").operations < 0.6 * book.operations
