"""Sigmoid friction as unknowns: values and robots map to each other, in the place of Coulomb's."""

import numpy as np
from identified_robots import spatial_arm

import kinetree as kt
from kinetree.identify import unknowns

STATE = np.random.default_rng(5).normal(size=(3, 30, 3))
SIGMOID = {
    "turn": kt.Friction(0.3, sigmoid=kt.Sigmoid(3, 4, 0.05)),
    "lift": kt.Friction(0.2, sigmoid=kt.Sigmoid(2, 6, -0.05)),
    "bend": kt.Friction(0.1, sigmoid=kt.Sigmoid(1.5, 8, 0.02)),
}
CHOICES = ("sigmoid", {"turn": "sigmoid", "lift": "stribeck", "bend": "known"})


def described(more):
    """The arm with sigmoid friction, more viscous friction, and some Coulomb friction."""
    friction = {
        name: kt.Friction(x.viscous + more, (more * (1 + k), more * (2 + k)), sigmoid=x.sigmoid)
        for k, (name, x) in enumerate(SIGMOID.items())
    }
    return spatial_arm().with_friction(friction)


def test_described_viscous_and_coulomb_friction_have_no_effect_on_a_sought_sigmoid():
    bare, rough = (unknowns(described(x), "sigmoid") for x in (0, 7.0))
    x = bare.values(described(0).model)
    assert rough.names == bare.names
    tau = described(0).inverse_dynamics(*STATE)
    for sought in (bare, rough):
        sought = sought.at(x[sought.p :])
        np.testing.assert_allclose(sought.forces(*STATE, x), tau, rtol=1e-12, atol=1e-12)
        found = kt.Robot(sought.model(x)).inverse_dynamics(*STATE)
        np.testing.assert_allclose(found, tau, rtol=1e-12, atol=1e-12)


def test_values_of_the_robot_of_any_values_are_those_values():
    for choice in CHOICES:
        sought = unknowns(described(0.5), choice)
        x = 0.1 + np.random.default_rng(2).random(len(sought.names))
        sought = sought.at(x[sought.p :])
        model = sought.model(x)
        np.testing.assert_allclose(sought.values(model), x, rtol=1e-13)
        tau = kt.Robot(model).inverse_dynamics(*STATE)
        np.testing.assert_allclose(sought.forces(*STATE, x), tau, rtol=1e-11, atol=1e-11)
        assert not sought.lacks(model).any()
