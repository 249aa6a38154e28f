"""Calls of torch that go straight to the kernel: the results of a call that is read."""

import numpy as np
import pytest

from tensor_robots import arm, state

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def kernel():
    return arm().compile("inverse_dynamics")


def given(kernel, batch=(), dtype="float64"):
    return [torch.from_numpy(x.astype(dtype)) for x in state(arm(), kernel, batch)]


def test_results_have_memory_of_their_own(kernel):
    x = given(kernel, (4,))
    first, second, third = (kernel(*x) for _ in range(3))
    third.zero_()
    assert first.data_ptr() != second.data_ptr() and torch.equal(first, second)
    assert first.abs().sum() > 0


@pytest.mark.filterwarnings("ignore")  # of torch's own modules when they are imported
def test_transformations_of_torch(kernel):
    x = given(kernel, (4,))
    wanted = kernel(*x)
    kernel(x[0][0], x[1][0], x[2][0])
    func = torch.func
    assert torch.equal(func.vmap(kernel)(*x), wanted)
    J = func.vmap(func.jacrev(kernel))(*x)
    D = arm().inverse_dynamics_derivatives(*[y.numpy() for y in x])[0]
    np.testing.assert_allclose(J, D, rtol=0, atol=1e-12)
    v = torch.rand_like(x[0])
    moved = func.jvp(lambda q: kernel(q, *x[1:]), (x[0],), (v,))[1]
    np.testing.assert_allclose(moved, np.einsum("bij,bj->bi", D, v), rtol=0, atol=1e-12)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x[0], v)
        tangent = torch.autograd.forward_ad.unpack_dual(kernel(dual, *x[1:])).tangent
    np.testing.assert_array_equal(tangent, moved)
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Watch():
        assert torch.equal(kernel(*x), wanted)
    traced = torch.jit.trace(lambda *y: kernel(*y), tuple(x), check_trace=False)
    other = given(kernel, (4,))[::-1]
    assert torch.equal(traced(*other), kernel(*other))


def test_a_tensor_that_outlived_a_transformation(kernel):
    kept = []

    def function(q):
        kept.append(q * 2)
        return kernel(q, *x[1:]).sum()

    x = given(kernel)
    kernel(*x)
    torch.func.grad(function)(x[0])
    assert torch.equal(kernel(kept[0], *x[1:]), kernel(2 * x[0], *x[1:]))
