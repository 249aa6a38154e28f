"""Gradients of JAX: both modes, both orders, mapped and compiled, against differences and torch."""

import numpy as np
import pytest

from tensor_jax import jax, with_x64
from tensor_robots import FREE, arm, state

jnp = jax.numpy


@pytest.fixture(autouse=True)
def doubles():
    with with_x64():
        yield


def given(robot, kernel, batch=()):
    return [jnp.asarray(x) for x in state(robot, kernel, batch)]


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_second_derivatives_agree_with_differences(name):
    from jax.test_util import check_grads

    kernel = arm().compile(name)
    check_grads(kernel, given(arm(), kernel), order=2, atol=1e-6, rtol=1e-6)


def test_gradients_along_wrenches_and_free_parameters():
    """All arguments of a batch of states of one robot; what is shared gets the sum."""
    from jax.test_util import check_grads

    kernel = arm().compile("inverse_dynamics", wrenches=True, free=FREE)
    check_grads(kernel, given(arm(), kernel, (3,)), order=1, atol=1e-6, rtol=1e-6)


def test_hessians_in_every_order_of_modes():
    q = jnp.asarray([0.3, 0.4])
    f, rev, fwd = arm().potential_energy, jax.jacrev, jax.jacfwd
    expected = fwd(arm().gravity_forces)(q)
    for outer in (rev, fwd):
        for inner in (rev, fwd):
            H = jax.jit(outer(inner(f)))(q)
            assert np.allclose(H, expected, rtol=0, atol=1e-13)


def test_a_shared_argument_of_a_mapped_function_gets_the_sum():
    kernel = arm().inverse_dynamics
    q, dq, ddq = given(arm(), kernel, (5,))

    def loss(dq):
        return jax.vmap(kernel, in_axes=(0, None, 0))(q, dq, ddq).sum()

    found = jax.grad(loss)(dq[0])
    parts = [jax.grad(lambda x, k=k: kernel(q[k], x, ddq[k]).sum())(dq[0]) for k in range(5)]
    assert np.allclose(found, sum(parts), rtol=1e-12, atol=1e-12)


def test_gradients_pass_through_a_simulation():
    """The slope of the last energy along the first velocity, through 20 steps, by differences."""
    kernel, tau = arm().forward_dynamics, jnp.zeros(2)

    def last_energy(dq):
        def step(x, _):
            q, dq = x
            dq = dq + 1e-2 * kernel(q, dq, tau)
            return (q + 1e-2 * dq, dq), None

        (q, dq), _ = jax.lax.scan(step, (jnp.asarray([0.3, 0.1]), dq), None, 20)
        return arm().kinetic_energy(q, dq)

    dq, h = jnp.asarray([1.0, 0.5]), 1e-5
    slope = jax.jit(jax.grad(last_energy))(dq)
    for k in (0, 1):
        e = h * jnp.eye(2)[k]
        difference = (last_energy(dq + e) - last_energy(dq - e)) / (2 * h)
        assert abs(slope[k] - difference) <= 1e-8 * abs(difference)  # h^2 and rounding / h
