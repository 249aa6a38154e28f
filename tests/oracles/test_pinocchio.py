"""Pinocchio computes the same on random chains and trees of all joint types."""

import dataclasses

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree.model import ALL_TYPES, random_model
from kinetree.spatial import swap_order
from robot_states import random_state, relative, size

pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
from pinocchio_model import twin, without_what_it_leaves_out  # noqa: E402  (needs pinocchio)

AGREEMENT = 1e-11  # as the project specifies for other libraries


@pytest.fixture(params=range(60), ids=lambda seed: f"robot{seed}")
def seed(request):
    return request.param


@pytest.fixture
def case(seed):
    """A robot with armature, but without what Pinocchio leaves out: friction and rotors."""
    model = random_model(seed, 1 + seed % 30, types=ALL_TYPES, chain=seed % 2 == 0)
    model = without_what_it_leaves_out(model)
    pair = twin(model)
    x = random_state(model, seed)
    return model, pair, x, pair.theirs.createData()


def ours(pair, vector):
    """Their vector over the degrees of freedom in our order."""
    out = np.empty(len(vector))
    out[pair.order] = vector
    return out


def test_inverse_dynamics_agree(case):
    model, pair, x, data = case
    q, dq, ddq = pair.q(x.q), x.dq[pair.order], x.ddq[pair.order]
    tau = pin.rnea(pair.theirs, data, q, dq, ddq, pair.wrenches(x.F_ext))
    assert relative(kt.inverse_dynamics(model, *x.motion, x.F_ext), ours(pair, tau)) < AGREEMENT


def test_forward_dynamics_agree_within_the_condition_of_M(case):
    model, pair, x, data = case
    q, dq, tau = pair.q(x.q), x.dq[pair.order], x.ddq[pair.order]
    ddq = ours(pair, pin.aba(pair.theirs, data, q, dq, tau, pair.wrenches(x.F_ext)))
    slack = AGREEMENT * max(1, 1e-2 * np.linalg.cond(kt.mass_matrix(model, x.q)))
    assert relative(kt.forward_dynamics(model, *x.motion, x.F_ext), ddq) < slack


def test_mass_matrix_gravity_and_coriolis_forces_agree(case):
    model, pair, x, data = case
    q, dq = pair.q(x.q), x.dq[pair.order]
    upper = np.triu(pin.crba(pair.theirs, data, q))
    M = upper + np.triu(upper, 1).T
    assert relative(kt.mass_matrix(model, x.q)[np.ix_(pair.order, pair.order)], M) < AGREEMENT
    g = ours(pair, pin.computeGeneralizedGravity(pair.theirs, data, q))
    terms = size(model.m) * size(model.gravity)  # their sum may cancel
    assert size(kt.gravity_forces(model, x.q) - g) < AGREEMENT * terms
    still = model.with_gravity((0, 0, 0))
    pair.theirs.gravity = pin.Motion.Zero()
    c = ours(pair, pin.nonLinearEffects(pair.theirs, data, q, dq))
    assert size(kt.coriolis_forces(still, x.q, x.dq) - c) < AGREEMENT * size(M) * size(dq) ** 2


def test_poses_jacobians_and_their_rates_agree(case):
    model, pair, x, data = case
    q, dq = pair.q(x.q), x.dq[pair.order]
    pin.computeJointJacobiansTimeVariation(pair.theirs, data, q, dq)
    pin.updateFramePlacements(pair.theirs, data)
    tool = pair.theirs.getFrameId("tool")
    assert relative(kt.pose(model, x.q), data.oMf[tool].homogeneous) < AGREEMENT
    frames = {pin.ReferenceFrame.LOCAL: "body", pin.ReferenceFrame.WORLD: "space"}
    for frame, name in frames.items():
        J = pin.getFrameJacobian(pair.theirs, data, tool, frame).reshape(6, -1)
        dJ = pin.getFrameJacobianTimeVariation(pair.theirs, data, tool, frame).reshape(6, -1)
        J_found = getattr(kt, f"{name}_jacobian")(model, x.q)[:, pair.order]
        dJ_found = getattr(kt, f"{name}_jacobian_rate")(model, x.q, x.dq)[:, pair.order]
        assert size(swap_order(J_found) - J) < AGREEMENT * size(J)
        assert size(swap_order(dJ_found) - dJ) < AGREEMENT * (size(J) * size(dq))


def test_energies_momentum_and_centre_of_mass_agree(case):
    model, pair, x, data = case
    q, dq = pair.q(x.q), x.dq[pair.order]
    pair.theirs.armature = 0 * pair.theirs.armature
    joints = tuple(dataclasses.replace(joint, armature=0) for joint in model.joints)
    nothing = 0.0, np.zeros(3), np.zeros((3, 3))
    bodies = model.replace(
        base=nothing, joints=joints
    )  # theirs has no base, and its drives no energy
    U = pin.computePotentialEnergy(pair.theirs, data, q)
    height = size(model.m) * size(model.gravity)
    assert abs(kt.potential_energy(bodies, x.q) - U) < AGREEMENT * height
    T = pin.computeKineticEnergy(pair.theirs, data, q, dq)
    assert abs(kt.kinetic_energy(bodies, x.q, x.dq) - T) < AGREEMENT * T
    com = pin.centerOfMass(pair.theirs, data, q, False)
    assert size(kt.center_of_mass(bodies, x.q) - com) < AGREEMENT * (1 + size(com))
    h = pin.computeCentroidalMomentum(pair.theirs, data, q, dq).vector
    assert relative(swap_order(kt.centroidal_momentum(bodies, x.q, x.dq)), h) < AGREEMENT


def test_integration_and_difference_agree(case):
    model, pair, x, _ = case
    step = 0.3 * x.ddq
    moved = kt.integrate(model, x.q, step)
    expected = pin.integrate(pair.theirs, pair.q(x.q), step[pair.order])
    assert pin.distance(pair.theirs, pair.q(moved), expected) < AGREEMENT * (1 + size(step))
    back = pin.difference(pair.theirs, pair.q(x.q), expected)
    assert relative(kt.difference(model, x.q, moved), ours(pair, back)) < AGREEMENT
