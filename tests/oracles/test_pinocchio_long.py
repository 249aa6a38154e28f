"""Pinocchio computes the same of robots of 256 joints, whose kernels are loops over the links."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.kernels import Request, forms
from kinetree.engine.kernels.compile import compiled
from kinetree.model import SCREWS, random_model
from robot_states import random_state, size

pin = pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
from pinocchio_model import twin, without_what_it_leaves_out  # noqa: E402  (needs pinocchio)

AGREEMENT = 1e-11  # as the project specifies for other libraries
SWAP = [3, 4, 5, 0, 1, 2]  # Pinocchio's linear parts come first


@pytest.fixture(scope="module", params=["chain", "tree"])
def case(request):
    """A robot without friction, rotors and base, which Pinocchio leaves out, and its motion."""
    model = random_model(7, 256, types=SCREWS, chain=request.param == "chain")
    model = without_what_it_leaves_out(model)
    m, com, *rest = model.base
    model = model.replace(base=(m * 0, com, *rest))
    pair, x = twin(model), random_state(model, 7)
    return model, x, pair, (pair.q(x.q), x.dq[pair.order]), pair.theirs.createData()


@pytest.fixture
def found(case, monkeypatch):
    """A function that computes a quantity by loops, its joints in Pinocchio's order."""
    model, x, pair, *_ = case
    for limit in ("LONGEST_STRAIGHT", "LONGEST_MATRIX"):
        monkeypatch.setattr(forms, limit, -1)

    def compute(name, **options):
        request = Request(name, **options)
        kernel = compiled(model, request)
        assert type(kernel.graph).__name__ == "Program"
        result = kernel(*(x.q, x.dq, x.ddq)[: len(request.quantity.inputs)])
        if result.shape == (model.n, model.n):
            return result[np.ix_(pair.order, pair.order)]
        return result[:, pair.order] if result.ndim == 2 else result

    return compute


def close(found, expected, terms=0.0):
    """Relative to the numbers, or to the terms that add up to them."""
    return size(found - expected) < AGREEMENT * (1 + size(expected) + terms)


def test_jacobians_and_their_rates_agree(case, found):
    _, x, pair, (q, dq), data = case
    pin.computeJointJacobiansTimeVariation(pair.theirs, data, q, dq)
    pin.updateFramePlacements(pair.theirs, data)
    tool = pair.theirs.getFrameId("tool")
    for frame, name in (
        (pin.ReferenceFrame.LOCAL, "body"),
        (pin.ReferenceFrame.WORLD, "space"),
    ):
        J = pin.getFrameJacobian(pair.theirs, data, tool, frame)[SWAP]
        assert size(J) > 1 and close(found(f"{name}_jacobian"), J)
        dJ = pin.getFrameJacobianTimeVariation(pair.theirs, data, tool, frame)[SWAP]
        assert close(found(f"{name}_jacobian_rate"), dJ, size(J) * size(x.dq))


def test_motions_of_frames_agree(case, monkeypatch):
    model, x, pair, (q, dq), data = case
    monkeypatch.setattr(forms, "LONGEST_STRAIGHT", -1)
    ddq = x.ddq[pair.order]
    pin.forwardKinematics(pair.theirs, data, q, dq, ddq)
    pin.updateFramePlacements(pair.theirs, data)
    tool, axes = pair.theirs.getFrameId("tool"), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    V = pin.getFrameVelocity(pair.theirs, data, tool, axes).vector[SWAP]
    dV = pin.getFrameClassicalAcceleration(pair.theirs, data, tool, axes).vector[SWAP]
    request = Request("frame_velocity", expressed="aligned")
    assert close(compiled(model, request)(x.q, x.dq), V)
    request = Request("frame_acceleration", expressed="aligned")
    assert close(compiled(model, request)(x.q, x.dq, x.ddq), dV, size(V) ** 2)


def test_the_inverse_of_m_agrees(case, found):
    model, x, pair, (q, _), data = case
    upper = np.triu(pin.computeMinverse(pair.theirs, data, q))
    M_inv = found("inverse_mass_matrix")
    condition = np.linalg.cond(kt.algorithms.mass_matrix(model, x.q))
    assert close(M_inv, upper + np.triu(upper, 1).T, 1e-2 * condition * size(M_inv))
    assert np.array_equal(M_inv, M_inv.T)


def test_centroidal_terms_agree(case, found):
    _, x, pair, (q, dq), data = case
    A = pin.ccrba(pair.theirs, data, q, dq)[SWAP]
    assert size(A) > 1 and close(found("centroidal_momentum_matrix"), A)
    dA = pin.dccrba(pair.theirs, data, q, dq)[SWAP]
    assert close(found("centroidal_momentum_matrix_rate"), dA, size(A) * size(x.dq))
    J = pin.jacobianCenterOfMass(pair.theirs, data, q)
    assert size(J) > 0.01 and close(found("center_of_mass_jacobian"), J)


def test_energy_and_momenta_agree(case, found):
    _, _, pair, (q, dq), data = case
    h = pin.computeCentroidalMomentum(pair.theirs, data, q, dq).vector[SWAP]
    assert close(found("centroidal_momentum"), h)
    T = dq @ pin.rnea(pair.theirs, data, q, 0 * dq, dq) / 2
    weight = dq @ pin.computeGeneralizedGravity(pair.theirs, data, q) / 2
    assert close(found("kinetic_energy"), T - weight, abs(weight))
