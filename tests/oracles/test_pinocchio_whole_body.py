"""Pinocchio computes the same terms of whole-body control, on random trees of all joint types."""

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree.model import ALL_TYPES, random_model
from robot_states import random_state, size

pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
from pinocchio_model import twin, without_what_it_leaves_out  # noqa: E402  (needs pinocchio)

AGREEMENT = 1e-11  # as the project specifies for other libraries
SWAP = [3, 4, 5, 0, 1, 2]  # Pinocchio's linear parts come first


@pytest.fixture(params=range(10), ids=lambda seed: f"robot{seed}")
def seed(request):
    return request.param


@pytest.fixture
def case(seed):
    model = random_model(seed, 2 + seed % 6, types=ALL_TYPES, chain=seed % 2 == 0)
    model = without_what_it_leaves_out(model)
    m, com, *rest = model.base  # their model has no base, which would move the centre of mass
    model = model.replace(base=(m * 0, com, *rest))
    pair, x = twin(model), random_state(model, seed)
    motion = pair.q(x.q), x.dq[pair.order], x.ddq[pair.order]
    return model, x, pair, motion, pair.theirs.createData()


def close(found, expected, terms=0.0):
    """Relative to the numbers, or to the terms that add up to them."""
    return size(np.asarray(found) - expected) < AGREEMENT * (1 + size(expected) + terms)


def test_the_inverse_of_m_agrees(case):
    model, x, pair, (q, _, _), data = case
    upper = np.triu(pin.computeMinverse(pair.theirs, data, q))
    found = kt.inverse_mass_matrix(model, x.q)[np.ix_(pair.order, pair.order)]
    condition = np.linalg.cond(kt.mass_matrix(model, x.q))
    assert close(found, upper + np.triu(upper, 1).T, 1e-2 * condition * size(found))


def test_centroidal_terms_agree(case):
    model, x, pair, (q, dq, _), data = case
    A = pin.ccrba(pair.theirs, data, q, dq)[SWAP]
    assert close(kt.centroidal_momentum_matrix(model, x.q)[:, pair.order], A)
    dA = pin.dccrba(pair.theirs, data, q, dq)[SWAP]
    found = kt.centroidal_momentum_matrix_rate(model, x.q, x.dq)[:, pair.order]
    assert close(found, dA, size(A) * size(dq))
    J = pin.jacobianCenterOfMass(pair.theirs, data, q)
    found = kt.center_of_mass_jacobian(model, x.q)[:, pair.order]
    assert close(found, J)


def test_motions_of_frames_agree(case):
    model, x, pair, (q, dq, ddq), data = case
    pin.forwardKinematics(pair.theirs, data, q, dq, ddq)
    pin.updateFramePlacements(pair.theirs, data)
    tool, axes = pair.theirs.getFrameId("tool"), pin.ReferenceFrame
    for frame, name in (
        (axes.LOCAL, "body"),
        (axes.WORLD, "space"),
        (axes.LOCAL_WORLD_ALIGNED, "aligned"),
    ):
        V = pin.getFrameVelocity(pair.theirs, data, tool, frame).vector[SWAP]
        assert close(kt.frame_velocity(model, x.q, x.dq, expressed=name), V)
        found = kt.frame_acceleration(model, x.q, x.dq, x.ddq, expressed=name)
        get = pin.getFrameClassicalAcceleration if name == "aligned" else pin.getFrameAcceleration
        dV = get(pair.theirs, data, tool, frame).vector[SWAP]
        assert close(found, dV, size(V) ** 2)


def test_the_task_space_of_its_parts_agrees(case):
    model, x, pair, (q, dq, _), data = case
    rows = (3, 4, 5) if model.n >= 3 else (5,)
    pin.computeJointJacobiansTimeVariation(pair.theirs, data, q, dq)
    pin.updateFramePlacements(pair.theirs, data)
    tool, local = pair.theirs.getFrameId("tool"), pin.ReferenceFrame.LOCAL
    J = pin.getFrameJacobian(pair.theirs, data, tool, local).reshape(6, -1)[SWAP][list(rows)]
    if np.linalg.svd(J, compute_uv=False)[-1] < 1e-3:
        pytest.skip("this random robot cannot move its tool in every direction")
    rate = pin.getFrameJacobianTimeVariation(pair.theirs, data, tool, local)
    dJ = rate.reshape(6, -1)[SWAP][list(rows)]
    upper = np.triu(pin.crba(pair.theirs, data, q))
    M = upper + np.triu(upper, 1).T
    h = pin.nonLinearEffects(pair.theirs, data, q, dq)
    Lambda = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    J_bar = np.linalg.solve(M, J.T) @ Lambda
    found = kt.task_space(model, x.q, x.dq, rows=rows)
    slack = 1e-2 * np.linalg.cond(M) * np.linalg.cond(J) ** 2
    assert close(found.Lambda, Lambda, slack * size(Lambda))
    assert close(found.J_bar[pair.order], J_bar, slack * size(J_bar))
    eta = J_bar.T @ h - Lambda @ dJ @ dq
    assert close(found.eta, eta, slack * (size(J_bar.T) * size(h) + size(eta)))
