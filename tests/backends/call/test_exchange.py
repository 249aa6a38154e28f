"""Tensors read in machine code: the results, errors and records of tensors read in Python."""

import ctypes
import gc
import sys

import numpy as np
import pytest

from kinetree.engine.call.fastcall import GENERAL
from kinetree.engine.tensors import torch as rules
from kinetree.engine.tensors import torch_calls
from kinetree.engine.tensors.operation import operation_of
from kinetree.errors import InputError
from tensor_robots import arm, state
from tensor_torch import IN_CODE, read_in_python, row, torch

pytestmark = pytest.mark.skipif(not IN_CODE, reason="no C functions of DLPack in torch or Python")


@pytest.fixture
def general():
    """The calls of inverse dynamics of the arm that machine code did not take."""
    kernel, seen = arm().compile("inverse_dynamics"), []

    def watch(*arrays, **options):
        seen.append(arrays)
        return kernel._general(*arrays, **options)

    place = ctypes.c_void_p.from_address(id(kernel) + GENERAL)
    before, place.value = place.value, id(watch)
    yield seen
    place.value = before


def given(batch=(4,), dtype="float64"):
    kernel = arm().compile("inverse_dynamics")
    return kernel, [torch.from_numpy(x.astype(dtype)) for x in state(arm(), kernel, batch)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (1,), (5,)])
def test_no_frame_of_python_is_entered(general, batch, dtype):
    kernel, x = given(batch, dtype)
    wanted = kernel(*[y.numpy() for y in x])
    general.clear()  # the code for float32 is made at its first call
    moving = [y.clone().requires_grad_() for y in x]
    parameters = [torch.nn.Parameter(y) for y in x]
    cases = [x, moving, parameters, [y.unsqueeze(-1).expand(*y.shape, 3)[..., 1] for y in x]]
    for case in cases:
        found = kernel(*case)
        assert type(found) is torch.Tensor and found.dtype is x[0].dtype
        assert found.requires_grad == any(y.requires_grad for y in case)
        np.testing.assert_array_equal(found.detach().numpy(), wanted)
        with torch.no_grad():
            assert not kernel(*case).requires_grad
    assert not general


def test_the_kernel_reads_the_memory_of_the_tensors_and_nothing_is_copied(general):
    kernel, _ = given()
    whole = torch.rand(3, 2, 7, 4, dtype=torch.float64)
    x = [y[:, ::2, 1:3] for y in whole]  # two leading axes, which are for the general call
    kernel(*x)
    (arrays,) = general
    assert [y.ctypes.data for y in arrays] == [y.data_ptr() for y in x]
    assert [y.strides for y in arrays] == [tuple(8 * n for n in y.stride()) for y in x]
    assert all(y.base is z for y, z in zip(arrays, x, strict=True))


def test_references_are_given_back():
    kernel, x = given()
    moving = [y.clone().requires_grad_() for y in x]
    short = [*x[:2], torch.zeros(4, 3, dtype=torch.float64)]
    before = [sys.getrefcount(y) for y in (*x, *moving, *short)]
    for _ in range(3):
        kernel(*x)
        kernel(*moving)
        torch_calls.READ_IN_CODE[0](*x)
        torch_calls.READ_IN_CODE[0](x[0].t())
        with pytest.raises(ValueError, match="expects"):
            kernel(*short)
    gc.collect()  # frames of the errors
    assert [sys.getrefcount(y) for y in (*x, *moving, *short)] == before
    result = kernel(*x)
    assert sys.getrefcount(result) == 2


class Marked(torch.Tensor):
    """A tensor of another class."""


def odd_tensors():
    """Tensors that are not plain numbers in memory, by name."""
    _, (q, _, _) = given()
    yield "negated", torch._neg_view(q)
    yield "whole numbers", q.int()
    yield "half", q.half()
    yield "float32 among float64", q.float()
    yield "complex", q.to(torch.complex128)
    yield "sparse", q.to_sparse()
    yield "without memory", q.to("meta")
    yield "of a class of the user", q.as_subclass(Marked)
    yield "of zeros that are not there", torch._efficientzerotensor(q.shape, dtype=q.dtype)
    yield "many axes", q[(None,) * 9]
    yield "no states", q[:0]
    yield "a list", q.tolist()
    yield "a number", 1.0
    yield "None", None


def outcome(call):
    try:
        found = call()
    except Exception as problem:
        return type(problem), str(problem)
    return type(found), found.dtype, found.shape, found.detach().numpy().tobytes()


@pytest.mark.filterwarnings("ignore")  # of sparse tensors
@pytest.mark.parametrize("name", [name for name, _ in odd_tensors()])
@pytest.mark.parametrize("place", [0, 2])
def test_odd_tensors_have_the_outcome_of_tensors_read_in_python(name, place):
    kernel, x = given()
    x[place] = dict(odd_tensors())[name]
    found = outcome(lambda: kernel(*x))
    with read_in_python():
        assert found == outcome(lambda: kernel(*x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_stand_for_numbers_of_all_states(dtype):
    q, dq, tau = torch.rand(3, 4, 2, dtype=getattr(torch, dtype))
    wanted = arm().step(*(x.numpy() for x in (q, dq, tau)), 0.01)
    for found, expected in zip(arm().step(q, dq, tau, 0.01), wanted, strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    with pytest.raises(InputError) as first:
        arm().step(q, dq, tau, -0.01)
    tau.requires_grad_()
    recorded = arm().step(q, dq, tau, 0.01)
    assert all(x.requires_grad for x in recorded)
    with read_in_python(), pytest.raises(InputError) as second:
        arm().step(q, dq, tau.detach(), -0.01)
    assert str(first.value) == str(second.value)


def test_a_derivative_of_a_derivative_needs_no_frame_either(general):
    kernel, x = given()
    x = [y.requires_grad_() for y in x]
    assert torch.autograd.gradgradcheck(kernel, x, fast_mode=True)
    assert not general


# another device: the host's tensors, described as those of a GPU


@pytest.fixture
def as_gpu():
    """Descriptions of tensors that have the device 3 of the type CUDA."""
    describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    place = row("describe")
    before, original = place.value, describe(place.value)

    @describe
    def moved(tensor, description):
        failed = original(tensor, description)
        (ctypes.c_int32 * 2).from_address(description + 8)[:] = (2, 3)
        return failed

    place.value = ctypes.cast(moved, ctypes.c_void_p).value
    yield
    place.value = before


class HostPlan:
    """A plan for tensors of a GPU that computes on the host."""

    def __init__(self, operation, recorded):
        self.operation, self.recorded, self.runs = operation, recorded, 0

    def run(self, tensors):
        self.runs += 1
        return torch.from_numpy(self.operation.call(*[x.detach().numpy() for x in tensors]))


def test_tensors_of_a_gpu_find_their_plan_by_device_type_and_shapes(as_gpu, general):
    kernel, x = given()
    operation, key = operation_of(kernel._dispatch), torch_calls.READ_IN_CODE[0]
    moving = [y.clone().requires_grad_() for y in x]
    keys = [key(*x), key(*moving), key(*[y.float() for y in x]), key(*[y[:3] for y in x])]
    keys += [key(*[y.reshape(2, 2, 2) for y in x]), key(*x[:2])]
    assert all(type(k) is bytes for k in keys) and len(set(keys)) == len(keys)
    assert key(*[y.clone() for y in x]) == keys[0]
    with torch.no_grad():
        assert key(*moving) == keys[0]
    assert key(x[0].t(), *x[1:]) is None and key(1.0, *x[1:]) is None and key(None) is None
    plans = [HostPlan(operation, recorded) for recorded in (False, True)]
    for k, plan in zip(keys, plans, strict=False):
        operation.plans.keep(k, plan)
    try:
        found = kernel(*x)
        assert kernel(*moving).requires_grad
        np.testing.assert_array_equal(found, kernel(*[y.numpy() for y in x]))
        assert [plan.runs for plan in plans] == [1, 1] and not general
    finally:
        operation.plans._known.clear()


def test_a_call_without_a_plan_is_read_from_the_start(as_gpu, monkeypatch):
    kernel, x = given()
    seen = []
    monkeypatch.setattr(rules, "call", lambda dispatch, tensors, options: seen.append(tensors))
    operation_of(kernel._dispatch).plans._known.clear()
    kernel(*x)
    kernel(x[0], x[1], x[2].t().contiguous().t())
    assert len(seen) == 2 and all(y is z for y, z in zip(seen[0], x, strict=True))
