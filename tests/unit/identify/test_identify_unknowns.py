"""Offsets of torque sensors among the unknowns: columns, names, base parameters, estimates."""

import numpy as np
import pytest
from identified_robots import ARM as BARE_ARM
from identified_robots import DESCRIBED, arm_motion
from identified_robots import TRUE as ARM

import kinetree as kt
from kinetree.errors import NameLookupError
from kinetree.identify import find_base, make_recording, unknowns
from kinetree.identify.physical import consistent
from kinetree.identify.solve import solve
from other_units import MM_G_MS

MOTION = arm_motion()
STATE = MOTION.q, MOTION.dq, MOTION.ddq
OFFSETS = np.array([1.0, -2.0, 0.5])


def measured(noise=0.05, seed=0):
    tau = ARM.inverse_dynamics(*STATE) + OFFSETS
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    return make_recording(ARM, MOTION.t, MOTION.q, tau, *STATE[1:])


def test_an_offset_adds_a_constant_to_its_own_joint_and_nothing_to_the_robot():
    sought = unknowns(ARM, offsets={"bend": True, "turn": True})
    assert sought.names[-2:] == ("tau_offset[turn]", "tau_offset[bend]")
    assert sought.units[-2:] == ("N m", "N m") and sought.offset == (0, 2)
    x = sought.values(ARM.model)
    assert not x[-2:].any() and not sought.loading[-2:].any()
    x[-2:] = 3, -4
    forces = ARM.inverse_dynamics(*STATE)
    np.testing.assert_allclose(sought.forces(*STATE, x), forces + np.array([3, 0, -4]), atol=1e-11)
    assert sought.sensor_offsets(x).tolist() == [3, 0, -4]
    again = kt.Robot(sought.model(x)).inverse_dynamics(*STATE)
    np.testing.assert_allclose(again, forces, atol=1e-11)


def test_offsets_keep_their_places_before_the_shapes():
    sought = unknowns(ARM, {"turn": "stribeck", "lift": "sigmoid"}, offsets=True)
    assert [x.partition("[")[0] for x in sought.names[-6:]] == [
        *["tau_offset"] * 3, "speed", "steepness", "offset",
    ]  # fmt: skip
    assert len(set(sought.names)) == len(sought.names)
    Y = sought.regressor(*STATE)
    np.testing.assert_array_equal(
        Y[..., sought.offset_places], np.broadcast_to(np.eye(3), (*Y.shape[:2], 3))
    )


def test_offsets_are_found_with_intervals_that_cover_them():
    sought = unknowns(DESCRIBED, offsets=True)
    z = []
    for seed in range(12):
        solved = solve(sought, measured(seed=seed))
        at = [solved.base.kept.index(k) for k in sought.offset_places]
        z.append((solved.fit.beta[at] - OFFSETS) / solved.fit.standard_error[at])
    assert np.mean(np.abs(z) < 1.96) > 0.85 and np.abs(z).max() < 4
    assert 0.5 < np.std(z) < 1.6


def test_a_physical_robot_has_offsets_of_either_sign():
    solved = solve(unknowns(DESCRIBED, offsets=True), measured())
    count = len(solved.fit.residual)
    found = consistent(solved.sought, solved.base, solved.fit, solved.R, count)
    np.testing.assert_allclose(solved.sought.sensor_offsets(found.x), OFFSETS, atol=0.03)
    bare = solve(unknowns(DESCRIBED), measured())
    assert np.all(bare.fit.sigma > 2 * solved.fit.sigma)


def test_directional_friction_and_preloads_take_up_offsets():
    """The offset is not a base parameter of its own: the sum is, and its name says so."""
    sought = unknowns(ARM, {"turn": "directional"}, offsets=True)
    base = find_base(sought)
    kept = {sought.names[k] for k in base.kept}
    assert "tau_offset[turn]" not in kept and {"tau_offset[lift]", "tau_offset[bend]"} <= kept
    formulas = [base.formula(k) for k in range(base.r)]
    assert "coulomb+[turn] + tau_offset[turn]" in formulas
    assert "coulomb-[turn] - tau_offset[turn]" in formulas
    springy = ARM.with_springs({"lift": kt.Spring(40.0, 0.2)})
    sought = unknowns(springy, offsets=True)
    base = find_base(sought)
    assert "tau_offset[lift]" not in {sought.names[k] for k in base.kept}


def test_offsets_have_the_units_of_the_robot():
    small = kt.Robot(MM_G_MS.model(ARM.model))
    a, b = unknowns(ARM, offsets=True), unknowns(small, offsets=True)
    expected = np.full(3, MM_G_MS.force(False))
    np.testing.assert_allclose(
        b.scale[b.offset_places] / a.scale[a.offset_places], expected, rtol=1e-9
    )


def test_a_wrong_joint_is_named():
    with pytest.raises(NameLookupError, match=r"offsets names the joint 'elbow'.*turn, lift, bend"):
        unknowns(ARM, offsets={"elbow": True})


def test_a_sigmoid_takes_the_place_of_described_coulomb_friction_and_no_other_law_does():
    """Described Coulomb friction is an unknown of other laws, and no part of a sigmoid."""
    robot = kt.robots.planar_2r().with_friction({"joint1": kt.Friction(0.3, 0.7)})
    q, dq, ddq = np.zeros((1, 2)), np.ones((1, 2)), np.zeros((1, 2))
    for law in ("sigmoid", "symmetric", "stribeck"):
        assert not unknowns(robot, law).known(q, dq, ddq).any()
    known = unknowns(robot, {"joint1": "known", "joint2": "sigmoid"}).known(q, dq, ddq)
    np.testing.assert_allclose(known, [[1.0, 0.0]])


STATES = np.random.default_rng(5).normal(size=(3, 30, 3))
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
    return BARE_ARM.with_friction(friction)


def test_described_viscous_and_coulomb_friction_have_no_effect_on_a_sought_sigmoid():
    bare, rough = (unknowns(described(x), "sigmoid") for x in (0, 7.0))
    x = bare.values(described(0).model)
    assert rough.names == bare.names
    tau = described(0).inverse_dynamics(*STATES)
    for sought in (bare, rough):
        sought = sought.at(x[sought.p :])
        np.testing.assert_allclose(sought.forces(*STATES, x), tau, rtol=1e-12, atol=1e-12)
        found = kt.Robot(sought.model(x)).inverse_dynamics(*STATES)
        np.testing.assert_allclose(found, tau, rtol=1e-12, atol=1e-12)


def test_values_of_the_robot_of_any_values_are_those_values():
    for choice in CHOICES:
        sought = unknowns(described(0.5), choice)
        x = 0.1 + np.random.default_rng(2).random(len(sought.names))
        sought = sought.at(x[sought.p :])
        model = sought.model(x)
        np.testing.assert_allclose(sought.values(model), x, rtol=1e-13)
        tau = kt.Robot(model).inverse_dynamics(*STATES)
        np.testing.assert_allclose(sought.forces(*STATES, x), tau, rtol=1e-11, atol=1e-11)
        assert not sought.lacks(model).any()
