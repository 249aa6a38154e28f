"""Arrays of JAX in, the same kind out: the numbers of NumPy under jit and vmap, and no copy."""

import threading

import numpy as np
import pytest

from kinetree.engine.tensors import xla as xla_targets
from tensor_jax import jax, with_x64
from tensor_robots import arm, flyer, state

jnp = jax.numpy


@pytest.fixture(autouse=True)
def doubles():
    with with_x64():
        yield


ON_CPU = pytest.mark.skipif(
    jax.default_backend() != "cpu",
    reason="arrays of JAX are on a GPU here; this is of host buffers",
)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 64, 67])
def test_every_number_of_states_has_the_bits_of_numpy(count):
    kernel = flyer().inverse_dynamics
    arrays = state(flyer(), kernel, (count,))
    found = jax.jit(kernel)(*map(jnp.asarray, arrays))
    assert found.shape == (count, 7) and np.array_equal(found, kernel(*arrays))


def test_the_smallest_numbers_are_not_taken_for_zero():
    """XLA flushes them in its own operations."""
    dq = np.array([1e-155, 2e-156])
    K = arm().kinetic_energy(np.zeros(2), dq)
    assert 0 < K < 2.3e-308
    assert float(jax.jit(arm().kinetic_energy)(jnp.zeros(2), jnp.asarray(dq))) == K


def test_large_batches_use_threads_and_keep_their_bits():
    kernel = flyer().mass_matrix
    q = np.tile(state(flyer(), kernel, (4,))[0], (kernel._dispatch.threaded_states, 1))
    assert np.array_equal(jax.jit(kernel)(jnp.asarray(q)), kernel(q))


@ON_CPU
def test_nothing_is_copied(monkeypatch):
    """Buffers of arguments and results are those that XLA has."""
    seen = []

    def on_host(address, shape, dtype):
        seen.append(address)
        return original(address, shape, dtype)

    original = xla_targets.on_host
    monkeypatch.setattr(xla_targets, "on_host", on_host)
    kernel = (
        arm().with_gravity((0, -2.5, 0)).compile("momentum_balance")
    )  # not seen by any other test
    state = list(jnp.asarray(np.random.default_rng(1).normal(size=(3, 5, 2))))
    results = kernel(*state)
    arrays = [*results, *state]
    assert seen == [x.unsafe_buffer_pointer() for x in arrays]
    expected = kernel(*map(np.asarray, state))
    assert all(np.array_equal(x, y) for x, y in zip(results, expected, strict=True))


@ON_CPU
def test_an_error_inside_a_call_reaches_the_user(monkeypatch):

    def refuse(address, shape, dtype):
        raise ValueError("no such buffer")

    monkeypatch.setattr(xla_targets, "on_host", refuse)
    kernel = arm().with_gravity((0, -2.25, 0)).gravity_forces
    with pytest.raises(Exception, match="ValueError: no such buffer"):
        kernel(jnp.zeros(2)).block_until_ready()


def test_without_64_bits_kernels_compute_in_32():
    with with_x64(False):
        q = jnp.asarray(np.array([0.3, 0.4]))
        for given in (q, jax.jit(lambda x: x)(q), jnp.array([1, 0])):
            g = arm().gravity_forces(given)
            assert g.dtype == "float32"
            assert np.array_equal(g, arm().gravity_forces(np.asarray(given, "float32")))
        slope = jax.grad(arm().potential_energy)(q)
        assert slope.dtype == "float32"


def test_leading_axes_broadcast_as_in_numpy():
    rng = np.random.default_rng(2)
    arrays = [rng.normal(size=shape) for shape in ((5, 1, 2), (4, 2), (2,))]
    tau = jax.jit(arm().inverse_dynamics)(*map(jnp.asarray, arrays))
    assert np.array_equal(tau, arm().inverse_dynamics(*arrays))


def test_mapped_axes_may_stand_anywhere():
    q, dq = (
        np.random.default_rng(3).normal(size=(2, 4)),
        np.random.default_rng(4).normal(size=(3, 2)),
    )
    rows = jax.vmap(arm().bias_forces, in_axes=(1, None))  # over the 4 columns of q
    h = jax.jit(jax.vmap(rows, in_axes=(None, 0)))(jnp.asarray(q), jnp.asarray(dq))
    assert np.array_equal(h, arm().bias_forces(q.T, dq[:, None]))


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (2, 1)])
def test_mapped_axes_stand_before_those_of_a_batch(axes):
    rng = np.random.default_rng(5)
    shapes = [[3, 4, 2], [4, 2]]  # a batch against a part of it
    for shape, axis in zip(shapes, axes, strict=True):
        if axis is not None:
            shape.insert(axis, 5)
    q, dq = (rng.normal(size=shape) for shape in shapes)
    h = jax.vmap(arm().bias_forces, in_axes=axes)(jnp.asarray(q), jnp.asarray(dq))
    q, dq = (x if k is None else np.moveaxis(x, k, 0) for x, k in zip((q, dq), axes, strict=True))
    dq = dq if axes[1] is None else dq[:, None]
    assert np.array_equal(h, np.broadcast_to(arm().bias_forces(q, dq), h.shape))


def test_what_is_shared_by_a_mapped_batch_is_not_repeated():
    kernel = arm().compile("inverse_dynamics", free=["mass"])
    q, mass = jnp.zeros((6, 2)), jnp.asarray([1.0, 2.0])
    program = jax.make_jaxpr(jax.vmap(kernel, in_axes=(0, 0, 0, None)))(q, q, q, mass)
    (step,) = program.eqns
    assert [x.aval.shape for x in step.invars] == [(6, 2), (6, 2), (6, 2), (2,)]


def test_numpy_arrays_and_plain_numbers_are_constants():
    q = jnp.asarray([0.1, 0.2])
    tau = arm().inverse_dynamics(q, np.array([1.0, 2.0]), [0, 1])
    assert np.array_equal(tau, arm().inverse_dynamics(np.asarray(q), [1.0, 2.0], [0.0, 1.0]))


def test_loops_and_branches_of_jax_may_contain_kernels():
    kernel = arm().forward_dynamics
    tau = jnp.zeros(2)

    def step(x, _):
        q, dq = x
        dq = dq + 1e-3 * kernel(q, dq, tau)
        return (q + 1e-3 * dq, dq), q

    _, path = jax.jit(lambda q: jax.lax.scan(step, (q, jnp.zeros(2)), None, 50))(jnp.ones(2))
    q, dq = np.ones(2), np.zeros(2)
    for x in path:
        assert np.allclose(x, q, rtol=1e-14, atol=1e-14)
        dq = dq + 1e-3 * kernel(q, dq, np.zeros(2))
        q = q + 1e-3 * dq


def test_many_threads_may_call_at_once():
    robot = arm().with_gravity((0, -3.5, 0))  # nothing of it is compiled yet
    q = np.random.default_rng(6).normal(size=(50, 2))
    found = [None] * 4

    def work(k):
        with with_x64():
            found[k] = jax.jit(robot.gravity_forces)(jnp.asarray(q))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert all(np.array_equal(x, robot.gravity_forces(q)) for x in found)
