"""Arrays of JAX in, the same kind out: the numbers of NumPy under jit and vmap, and no copy."""

import threading

import numpy as np
import pytest

from kinetree.engine import ArgumentError
from kinetree.engine.tensors import jax as rules
from kinetree.engine.tensors import xla_handlers as xla_targets
from kinetree.errors import InputError, ShapeError
from tensor_jax import jax, with_x64
from tensor_robots import NAMES, arm, flyer, state

jnp = jax.numpy


@pytest.fixture(autouse=True)
def doubles():
    with with_x64():
        yield


ON_CPU = pytest.mark.skipif(
    jax.default_backend() != "cpu",
    reason="arrays of JAX are on a GPU here; this is of host buffers",
)


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("name", NAMES)
def test_every_quantity_has_the_bits_of_numpy(name):
    kernel = arm().compile(name)
    for dtype in ("float64", "float32"):
        arrays = [x.astype(dtype) for x in state(arm(), kernel, (3, 5))]
        expected = as_tuple(kernel(*arrays))
        for function in (kernel, jax.jit(kernel)):
            for x, y in zip(as_tuple(function(*map(jnp.asarray, arrays))), expected, strict=True):
                assert isinstance(x, jax.Array) and x.dtype == dtype
                assert np.array_equal(x, y)


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
    q = np.tile(state(flyer(), kernel, (4,))[0], (kernel._dispatch.large, 1))
    assert np.array_equal(jax.jit(kernel)(jnp.asarray(q)), kernel(q))


@ON_CPU
def test_nothing_is_copied(monkeypatch):
    """Buffers of arguments and results are those that XLA has."""
    monkeypatch.setattr(xla_targets, "has_llvm", lambda: False)  # so that Python sees the frame
    seen = []

    def on_host(buffer, dtype):
        seen.append(buffer.data)
        return original(buffer, dtype)

    original = xla_targets.on_host
    monkeypatch.setattr(xla_targets, "on_host", on_host)
    kernel = arm().with_gravity((0, -2.5, 0)).energy_regressor  # not seen by any other test
    q, dq = jnp.asarray(np.random.default_rng(1).normal(size=(2, 5, 2)))
    results = kernel(q, dq)
    arrays = [*results, q, dq]
    assert seen == [x.unsafe_buffer_pointer() for x in arrays]
    expected = kernel(np.asarray(q), np.asarray(dq))
    assert all(np.array_equal(x, y) for x, y in zip(results, expected, strict=True))


@ON_CPU
def test_an_error_inside_a_call_reaches_the_user(monkeypatch):
    monkeypatch.setattr(xla_targets, "has_llvm", lambda: False)

    def refuse(buffer, dtype):
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


def test_lists_of_arrays_beside_arrays_are_arrays():
    dq = jnp.asarray([0.3, 0.4])

    def energy(x, y):
        return arm().kinetic_energy([x, y], dq)

    q = jnp.asarray([0.1, 0.2])
    assert energy(*q) == jax.jit(energy)(*q) == arm().kinetic_energy(q, dq)
    assert np.array_equal(jax.grad(energy, (0, 1))(*q), jax.grad(arm().kinetic_energy)(q, dq))


X = np.zeros(2)
REFUSED = {
    "two types": (("float32", "float64", "float64"), InputError, "q is float32, dq is float64"),
    "half": (("float16",) * 3, InputError, "q of .* is float16"),
    "bfloat16": (("bfloat16",) * 3, InputError, "q of .* is bfloat16"),
    "complex": (("complex64",) * 3, InputError, "q of .* is complex64"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_types_that_do_not_fit_are_refused_in_words(case):
    dtypes, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        arm().inverse_dynamics(*(jnp.asarray(X, dtype) for dtype in dtypes))


def test_calls_that_do_not_fit_are_refused_in_words():
    q = jnp.zeros(2)
    with pytest.raises(ShapeError, match=r"ddq has shape \(3,\)"):
        jax.jit(arm().inverse_dynamics)(q, q, jnp.zeros(3))
    with pytest.raises(ArgumentError, match="was given 2 arrays"):
        arm().inverse_dynamics(q, q)
    with pytest.raises(InputError, match="never change; use its return value"):
        arm().gravity_forces(q, out=np.zeros(2))
    with pytest.raises(ArgumentError, match="the option dtype"):
        arm().gravity_forces(q, dtype="float32")
    for wrong in (np.zeros(2, complex), ["a", "b"], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match=r"dq of inverse_dynamics is .* expected real numbers"):
            arm().inverse_dynamics(q, wrong, q)
    with pytest.raises(InputError, match=r"dq of .* is a NoneType among arrays of jax"):
        arm().inverse_dynamics(q, None, q)
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"dq .* torch.Tensor among arrays of jax"):
        arm().inverse_dynamics(q, torch.zeros(2), q)


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


def test_a_call_outside_of_jit_is_read_once_for_each_shape(monkeypatch):
    """Also where the first call of all was made while JAX traced a function."""
    robot = arm().with_payload(0.21)  # whose kernels no other test has called
    reads, original = [], rules.evaluate

    def counted(operation, *given):
        reads.append(operation.name)
        return original(operation, *given)

    monkeypatch.setattr(rules, "evaluate", counted)
    kernel = robot.compile("inverse_dynamics")
    arrays = state(robot, kernel, (3,))
    x = [jnp.asarray(y) for y in arrays]
    jax.jit(kernel)(*x)
    reads.clear()
    for _ in range(3):
        assert np.array_equal(kernel(*x), kernel(*arrays))
    assert len(reads) == 1
    assert kernel(*[y[:2] for y in x]).shape == (2, 2)
    assert kernel(x[0], x[1][0], x[2]).shape == (3, 2)
    assert len(reads) == 3
    with pytest.raises(ShapeError, match=r"ddq has shape \(3,\)"):
        kernel(*x[:2], jnp.ones(3))
    with pytest.raises(InputError, match="different types"):
        kernel(*x[:2], x[2].astype("float32"))


def test_a_call_without_jit_computes():
    kernel = arm().compile("inverse_dynamics")
    arrays = state(arm(), kernel, (3,))
    with jax.disable_jit():
        assert np.array_equal(kernel(*map(jnp.asarray, arrays)), kernel(*arrays))
