"""Steps with controls on torch tensors and JAX arrays: numbers and gradients of NumPy's steps."""

import numpy as np
import pytest

import kinetree as kt

A = kt.Actuator
ROBOT = kt.robots.planar_2r().with_actuators(
    {"elbow": A.position("joint2", 50, 5, time_constant=0.1), "m": A.motor("joint1")}
)
Q, DQ, U, ACT = np.array([0.1, 0.2]), np.array([1.0, 0]), np.array([0.5, 1.0]), np.array([0.2])
OPTIONS = {"dt": 0.01, "method": "implicit"}


def expected(u=U):
    return ROBOT.step(Q, DQ, controls=u, activation=ACT, **OPTIONS)


def slope():
    """d (sum of all results)/d controls, by differences."""
    total = [sum(x.sum() for x in expected(U + s * e)) for e in np.eye(2) for s in (1e-6, -1e-6)]
    return np.array([total[0] - total[1], total[2] - total[3]]) / 2e-6


def test_torch_tensors_have_numbers_and_gradients():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    u = torch.tensor(U, requires_grad=True)
    given = [torch.tensor(x) for x in (Q, DQ)]
    found = ROBOT.step(*given, controls=u, activation=torch.tensor(ACT), **OPTIONS)
    for x, y in zip(found, expected(), strict=True):
        assert (x.detach().numpy() == y).all()
    sum(x.sum() for x in found).backward()
    assert abs(u.grad.numpy() - slope()).max() < 1e-8


def test_jax_arrays_have_numbers_and_gradients():
    pytest.importorskip("jax", reason="jax is not installed")
    from tensor_jax import jax, with_x64

    def results(u):
        return ROBOT.step(
            jax.numpy.array(Q), jax.numpy.array(DQ), controls=u,
            activation=jax.numpy.array(ACT), **OPTIONS,
        )  # fmt: skip

    with with_x64():
        u = jax.numpy.array(U)
        for x, y in zip(results(u), expected(), strict=True):
            assert abs(np.asarray(x) - y).max() == 0
        found = jax.grad(lambda u: sum(x.sum() for x in results(u)))(u)
        assert abs(np.asarray(found) - slope()).max() < 1e-8
