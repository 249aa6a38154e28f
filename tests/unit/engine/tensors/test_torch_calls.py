"""Calls of torch that go straight to the kernel: the results of a call that is read."""

from contextlib import nullcontext

import numpy as np
import pytest

from kinetree.engine.tensors import torch as rules
from kinetree.engine.tensors import torch_calls
from kinetree.engine.tensors.operation import operation_of
from kinetree.errors import InputError, KinetreeError
from tensor_robots import arm, state
from tensor_torch import IN_CODE, read_in_python, torch


@pytest.fixture(params=["machine code", "Python"])
def in_code(request):
    """Whether tensors are read in machine code."""
    with nullcontext() if request.param == "machine code" else read_in_python():
        yield IN_CODE and request.param == "machine code"


@pytest.fixture
def kernel(in_code):
    """Inverse dynamics whose plans are forgotten."""
    found = arm().compile("inverse_dynamics")
    operation = operation_of(found._dispatch)
    for known in (operation, *operation._derived.values()):
        known.plans._known.clear()
    return found


@pytest.fixture
def reads(monkeypatch):
    """Names of operations whose arguments were read from the start."""
    found = []
    original = rules.prepared

    def counted(operation, *given):
        found.append(operation.name)
        return original(operation, *given)

    monkeypatch.setattr(rules, "prepared", counted)
    return found


def given(kernel, batch=(), dtype="float64"):
    return [torch.from_numpy(x.astype(dtype)) for x in state(arm(), kernel, batch)]


def expected(kernel, tensors):
    return kernel(*[x.detach().numpy() for x in tensors])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (1,), (6,), (2, 3)])
def test_plain_tensors_go_straight_to_the_kernel(kernel, reads, batch, dtype):
    for _ in range(3):
        x = given(kernel, batch, dtype)
        found = kernel(*x)
        assert found.dtype is x[0].dtype
        np.testing.assert_array_equal(found.numpy(), expected(kernel, x))
    assert not reads


def test_the_second_recorded_call_is_not_read_again(kernel, reads, in_code):
    for _ in range(3):
        x = [y.requires_grad_() for y in given(kernel, (6,))]
        np.testing.assert_array_equal(kernel(*x).detach(), expected(kernel, x))
    assert len(reads) == (0 if in_code else 1)


def test_results_have_memory_of_their_own(kernel):
    x = given(kernel, (4,))
    first, second, third = (kernel(*x) for _ in range(3))
    third.zero_()
    assert first.data_ptr() != second.data_ptr() and torch.equal(first, second)
    assert first.abs().sum() > 0


def test_several_results_and_numbers(reads):
    for name in ("inverse_dynamics_derivatives", "kinetic_energy"):
        kernel = arm().compile(name)
        for _ in range(3):
            x = given(kernel)
            found, wanted = kernel(*x), expected(kernel, x)
            several = isinstance(wanted, tuple)
            pairs = zip(found, wanted, strict=True) if several else [(found, wanted)]
            for y, z in pairs:
                np.testing.assert_array_equal(y.numpy(), z)
    assert len(reads) <= 2


def test_views_and_one_state_for_all_have_the_numbers_of_numpy(kernel, reads):
    q, dq, ddq = given(kernel, (4, 3))
    for case in (
        (q.transpose(0, 1), dq.transpose(0, 1), ddq.transpose(0, 1)),
        (q[:, ::2], dq[:, ::2], ddq[:, ::2]),
        (q[0], dq, ddq),
        (q[:0], dq[:0], ddq[:0]),
    ):
        np.testing.assert_array_equal(kernel(*case).numpy(), expected(kernel, case))
    assert not reads


def test_tensors_that_are_not_read_in_place_are_read_anew(kernel, reads):
    q, dq, ddq = given(kernel, (4, 3))
    for case in ((torch._neg_view(q), dq, ddq), (q, dq, [0.1, 0.2]), (q.int(), dq.int(), ddq)):
        doubles = [torch.as_tensor(x, dtype=torch.float64) for x in case]
        wanted = expected(kernel, [x.resolve_neg().contiguous() for x in doubles])
        reads.clear()
        for _ in range(2):
            np.testing.assert_array_equal(kernel(*case).numpy(), wanted)
        assert len(reads) == 2


def test_mistakes_are_refused_after_good_calls(kernel):
    q, dq, ddq = given(kernel, (4,))
    kernel(q, dq, ddq)
    with pytest.raises(KinetreeError, match=r"\(4, 3\)"):
        kernel(q, dq, torch.zeros(4, 3, dtype=torch.float64))
    with pytest.raises(InputError, match="different types"):
        kernel(q, dq, ddq.float())
    with pytest.raises(InputError, match="dense"):
        kernel(q, dq, ddq.to_sparse())


def test_gradients_of_any_order_are_not_read_again(kernel, reads, in_code):
    x = [y.requires_grad_() for y in given(kernel, (3,))]
    w = torch.rand(3, 2, dtype=torch.float64)
    slopes = [torch.autograd.grad(kernel(*x), x, w) for _ in range(3)]
    D = arm().inverse_dynamics_derivatives(*[y.detach().numpy() for y in x])
    M = arm().mass_matrix(x[0].detach().numpy())
    for found in slopes:
        for slope, J in zip(found, (*D[:2], M), strict=True):
            np.testing.assert_allclose(slope, np.einsum("bi,bij->bj", w, J), rtol=0, atol=1e-12)
    assert len(reads) == (0 if in_code else 2)  # the kernel and its derivative
    assert torch.autograd.gradgradcheck(kernel, x, fast_mode=True)
    summed = torch.autograd.grad(kernel(*x).sum(), x)
    ones = torch.autograd.grad(kernel(*x), x, torch.ones_like(w))
    assert all(torch.equal(a, b) for a, b in zip(summed, ones, strict=True))


def test_a_gradient_is_recorded_only_where_it_is_asked_for(kernel):
    x = given(kernel, (3,))
    moving = [x[0].clone().requires_grad_(), *x[1:]]
    for _ in range(2):
        assert kernel(*x).grad_fn is None
        assert kernel(*moving).requires_grad
        with torch.no_grad():
            assert not kernel(*moving).requires_grad
        with torch.inference_mode():
            assert kernel(*moving).is_inference()
    parameters = [torch.nn.Parameter(y) for y in x]
    for _ in range(2):
        kernel(*parameters).sum().backward()
    once = torch.autograd.grad(kernel(*parameters).sum(), parameters)
    for parameter, slope in zip(parameters, once, strict=True):
        assert torch.equal(parameter.grad, 2 * slope)


@pytest.mark.filterwarnings("ignore")  # of torch's own modules when they are imported
def test_no_plan_is_used_under_a_transformation(kernel, monkeypatch):
    """Though a call of the same shapes was made before."""
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
        assert torch_calls.transformed()()
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
