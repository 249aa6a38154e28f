"""Arrays on a GPU, of CuPy, torch and JAX: the CPU's numbers, no copy, the right stream.

Without a GPU these tests skip. GPU kernels agree with the CPU's to 4 eps (float64) and 8 eps
(float32), norm-wise: see tests/unit/engine/backends/cuda.
"""

import warnings

import numpy as np
import pytest

from kinetree.engine.cuda import launch as toolkit
from kinetree.engine.tensors.operation import operation_of
from kinetree.errors import InputError, KinetreeError
from tensor_robots import FREE, arm, flyer, state

EPS = {"float32": 8 * 2.0**-23, "float64": 4 * 2.0**-52}
DTYPES = list(EPS)


@pytest.fixture(scope="module")
def cp():
    try:
        return toolkit.require_device()
    except KinetreeError as problem:
        pytest.skip(f"no GPU to run on: {problem}")


@pytest.fixture(scope="module")
def torch(cp):
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    return found


@pytest.fixture(scope="module")
def jax(cp):
    found = pytest.importorskip("jax", reason="jax is not installed")
    if found.default_backend() != "gpu":
        pytest.skip("JAX was installed without CUDA")
    found.config.update("jax_enable_x64", True)
    return found


def close(found, expected, dtype, factor=1):
    assert found.dtype == dtype and found.shape == expected.shape
    atol = factor * EPS[dtype] * np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def given(kernel, robot, dtype, batch=(37,)):
    return [x.astype(dtype) for x in state(robot, kernel, batch)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy(cp, dtype):
    kernel = flyer().inverse_dynamics
    arrays = given(kernel, flyer(), dtype)
    found = kernel(*map(cp.asarray, arrays))
    assert isinstance(found, cp.ndarray)
    close(cp.asnumpy(found), kernel(*arrays), dtype)
    out = cp.full(found.shape, np.nan, dtype)
    assert kernel(*map(cp.asarray, arrays), out=out) is out
    assert cp.array_equal(out, found)
    with pytest.raises(InputError, match=r"dq .* numpy.ndarray; expected an array on the GPU"):
        kernel(cp.asarray(arrays[0]), arrays[1], cp.asarray(arrays[2]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch(torch, dtype):
    for name in ("inverse_dynamics", "inverse_dynamics_derivatives", "kinetic_energy"):
        kernel = flyer().compile(name)
        arrays = given(kernel, flyer(), dtype)
        found = kernel(*(torch.from_numpy(x).cuda() for x in arrays))
        several = found if isinstance(found, tuple) else (found,)
        expected = kernel(*arrays)
        for x, y in zip(
            several, expected if isinstance(found, tuple) else (expected,), strict=True
        ):
            assert x.is_cuda
            close(x.cpu().numpy(), y, dtype)


def test_torch_shares_its_memory_and_stream(torch, cp, monkeypatch):
    kernel = arm().inverse_dynamics
    operation, seen = operation_of(kernel._dispatch), []
    original = operation.cuda

    def watched(*arrays, out):
        seen.append(([x.data.ptr for x in (*arrays, *out)], cp.cuda.get_current_stream().ptr))
        return original(*arrays, out=out)

    monkeypatch.setitem(operation.__dict__, "cuda", watched)
    tensors = list(torch.rand(3, 8, 2, dtype=torch.float64, device="cuda"))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), warnings.catch_warnings():
        warnings.simplefilter("error")  # of CuPy, about how it is told the stream
        tau = kernel(*tensors)
    ((pointers, ran),) = seen
    assert pointers == [x.data_ptr() for x in (*tensors, tau)]
    assert ran == stream.cuda_stream


def test_torch_waits_for_the_work_before(torch):
    """Inputs that the same stream is still computing."""
    kernel = flyer().mass_matrix
    q = torch.from_numpy(given(kernel, flyer(), "float64", (1000,))[0]).cuda()
    with torch.cuda.stream(torch.cuda.Stream()):
        slow = torch.rand(4000, 4000, device="cuda")
        for _ in range(20):
            slow = slow @ slow / 4000
        late = q + 0 * slow.sum().double().nan_to_num()
        M = kernel(late)
        kept = M.clone()
    torch.cuda.synchronize()
    close(kept.cpu().numpy(), kernel(q.cpu().numpy()), "float64")


def test_torch_gradients(torch):
    kernel = arm().compile("inverse_dynamics", wrenches=True, free=FREE)
    tensors = [
        torch.from_numpy(x).cuda().requires_grad_() for x in given(kernel, arm(), "float64", (2,))
    ]
    assert torch.autograd.gradcheck(kernel, tensors)
    few = tensors[:3]
    assert torch.autograd.gradgradcheck(arm().inverse_dynamics, few, fast_mode=True)
    mapped = torch.func.vmap(torch.func.grad(arm().potential_energy))(few[0].detach())
    assert torch.allclose(mapped, arm().gravity_forces(few[0].detach()), rtol=0, atol=1e-13)


def test_torch_refuses_two_devices_and_takes_no_states(torch):
    q = torch.rand(2, dtype=torch.float64)
    with pytest.raises(InputError, match="q is on cpu, dq is on cuda:0"):
        arm().bias_forces(q, q.cuda())
    assert arm().mass_matrix(torch.zeros(0, 2).cuda()).shape == (0, 2, 2)
    out = torch.empty(2, dtype=torch.float64, device="cuda")
    assert arm().gravity_forces(q.cuda(), out=out) is out
    close(out.cpu().numpy(), arm().gravity_forces(q.numpy()), "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_jax(jax, dtype):
    kernel = flyer().inverse_dynamics
    arrays = given(kernel, flyer(), dtype)
    for function in (kernel, jax.jit(kernel), jax.vmap(kernel)):
        found = function(*map(jax.numpy.asarray, arrays))
        assert next(iter(found.devices())).platform == "gpu"
        close(np.asarray(found), kernel(*arrays), dtype)


def test_jax_between_other_work(jax):
    """Operations of XLA before and after, in one program and on its stream."""
    kernel = flyer().mass_matrix
    q = given(kernel, flyer(), "float64", (1000,))[0]
    found = jax.jit(lambda x: kernel(x + 1 - 1).sum(-1) * 2)(jax.numpy.asarray(q))
    close(np.asarray(found), kernel(q + 1 - 1).sum(-1) * 2, "float64", factor=4)


def test_jax_gradients(jax):
    kernel, jnp = arm().inverse_dynamics, jax.numpy
    x = [jnp.asarray(y) for y in given(kernel, arm(), "float64", (4,))]
    D = arm().inverse_dynamics_derivatives(*map(np.asarray, x))[0]
    for mode in (jax.jacfwd, jax.jacrev):
        close(np.asarray(jax.jit(jax.vmap(mode(kernel)))(*x)), D, "float64", factor=8)
    H = jax.jit(jax.vmap(jax.hessian(arm().potential_energy)))(x[0])
    G = jax.jit(jax.vmap(jax.jacfwd(arm().gravity_forces)))(x[0])
    close(np.asarray(H), np.asarray(G), "float64", factor=8)


def test_jax_takes_no_states(jax):
    assert jax.jit(arm().mass_matrix)(jax.numpy.zeros((0, 2))).shape == (0, 2, 2)
