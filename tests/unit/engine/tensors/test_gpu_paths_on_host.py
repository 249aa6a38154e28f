"""What tensors do for a GPU, without one: a CuPy that computes in the memory of the host.

The stand-in gives access to exactly the bytes that it was told to map, so that a view with a wrong
size, stride or address fails; kernels on the "GPU" are the CPU's.
"""

import ctypes
import sys
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from kinetree.engine.call.diagnose import ArgumentError
from kinetree.engine.tensors import cupy as adapter
from kinetree.engine.tensors.operation import Operation
from tensor_robots import arm, state

CONTEXT, STREAM, DEVICE = 4711, 77, 3


class HostCupy:
    """As much of CuPy as the adapters use."""

    def __init__(self):
        self.streams, self.devices, self.sizes, self.owners = [], [], [], []
        runtime = SimpleNamespace(pointerGetAttributes=self.attributes, getDevice=lambda: DEVICE)
        self.cuda = SimpleNamespace(
            Device=self.device,
            Stream=SimpleNamespace(from_external=self.stream),
            UnownedMemory=self.memory,
            MemoryPointer=lambda memory, offset: (memory, offset),
            runtime=runtime,
        )

    def attributes(self, address):
        assert address
        return SimpleNamespace(device=DEVICE)

    def device(self, number):
        self.devices.append(number)
        return nullcontext()

    def stream(self, other):
        self.streams.append(other.__cuda_stream__())
        return nullcontext()

    def memory(self, address, size, owner, device):
        self.sizes.append(size)
        self.owners.append(owner)
        return (ctypes.c_char * size).from_address(address)

    def ndarray(self, shape, dtype, place, strides):
        memory, offset = place
        return np.ndarray(shape, dtype, memory, offset, strides)

    def empty(self, shape, dtype):
        return np.empty(shape, dtype)


class HostKernel:
    """The kernel of an operation, called like a CUDA kernel."""

    def __init__(self, operation):
        self.operation, self.launched, self.calls, self.streams = operation, [], 0, []

    def launch(self, dtype):
        self.launched.append(dtype)

    def again(self, arrays, out=None):
        return None

    def prepare(self, dtype, count):
        return SimpleNamespace(enqueue=partial(self.enqueue, dtype, count))

    def enqueue(self, dtype, count, stream, addresses):
        self.streams.append(stream)
        ports = (*self.operation.inputs, *self.operation.outputs)
        kind = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
        arrays = [
            np.ctypeslib.as_array((kind * (count * port.size)).from_address(x))
            for x, port in zip(addresses, ports, strict=True)
        ]
        arrays = [x.reshape(count, *port.shape) for x, port in zip(arrays, ports, strict=True)]
        split = len(self.operation.inputs)
        self.operation.call(*arrays[:split], out=tuple(arrays[split:]))

    def __call__(self, *arrays, out=None):
        self.calls += 1
        return self.operation.call(*arrays, out=out) if out else self.operation.call(*arrays)


@pytest.fixture
def cp(monkeypatch):
    made = HostCupy()
    monkeypatch.setitem(sys.modules, "cupy", made)
    monkeypatch.setattr(adapter, "STREAMS", {})
    return made


@pytest.fixture
def operation():
    """Inverse dynamics of an arm with a kernel of the host on its GPU."""
    made = Operation(arm().inverse_dynamics.graph, "inverse_dynamics")
    made.__dict__["cuda"] = HostKernel(made)
    return made


def test_arrays_of_cupy_are_checked_and_go_to_the_kernel(operation, monkeypatch):
    dispatch = arm().compile("inverse_dynamics")._dispatch
    monkeypatch.setattr(dispatch, "operation", operation)  # the kernel is shared
    x = state(arm(), arm().inverse_dynamics, (3,))
    expected = arm().inverse_dynamics(*x)
    assert np.array_equal(adapter.call(dispatch, tuple(x), {}), expected)
    out = np.zeros_like(expected)
    adapter.call(dispatch, tuple(x), {"out": (out,)})
    assert np.array_equal(out, expected)
    with pytest.raises(ArgumentError, match="takes 3 arrays"):
        adapter.call(dispatch, tuple(x[:2]), {})
    assert operation.cuda.calls == 2


# torch


@pytest.fixture
def torch(monkeypatch):
    module = pytest.importorskip("torch", reason="torch is not installed")
    stream = SimpleNamespace(cuda_stream=STREAM)
    monkeypatch.setattr(module.cuda, "current_stream", lambda device: stream)
    return module


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors_are_computed_on_their_stream_and_device(cp, torch, operation, dtype):
    from kinetree.engine.tensors import torch as torch_rules

    x = [y.astype(dtype) for y in state(arm(), arm().inverse_dynamics, (2, 5))]
    tensors = [torch.as_tensor(y) for y in x]
    (found,) = torch_rules.on_cuda(operation, tensors, None)
    assert found.dtype == tensors[0].dtype and found.shape == (2, 5, 2)
    assert np.array_equal(found.numpy(), operation.call(*x))
    assert cp.streams == [(0, STREAM)] and cp.devices == [tensors[0].device.index]


def test_tensors_are_read_and_written_where_they_lie(cp, torch, operation):
    """Broadcast, transposed, conjugated-negative, empty; results into what the caller has."""
    from kinetree.engine.tensors import torch as torch_rules

    q, dq, ddq = (torch.as_tensor(y) for y in state(arm(), arm().inverse_dynamics, (4, 3)))
    q, dq, ddq = q.transpose(0, 1), dq[0, :1], torch._neg_view(ddq[:, 1].unsqueeze(0))
    x = [y.resolve_neg().contiguous().numpy() for y in (q, dq, ddq)]
    expected = operation.call(*x)
    assert expected.shape == (3, 4, 2)
    (found,) = torch_rules.on_cuda(operation, [q, dq, ddq], None)
    assert np.array_equal(found.numpy(), expected)
    out = torch.zeros(4, 3, 2, dtype=torch.float64).transpose(0, 1)
    written = torch_rules.on_cuda(operation, [q, dq, ddq], (out,))
    assert written[0] is out and np.array_equal(out.numpy(), expected)
    none = [torch.zeros(0, 2, dtype=torch.float64)] * 3
    assert torch_rules.on_cuda(operation, none, None)[0].shape == (0, 2)


def test_a_tensor_that_is_not_contiguous_is_seen_with_its_strides(cp, torch):
    from kinetree.engine.tensors import torch as torch_rules

    x = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    for part in (x, x.T, x[1:, ::2]):
        seen = torch_rules.as_cupy(cp, part)
        assert np.array_equal(seen, part.numpy()) and cp.owners[-1] is not None
        assert seen.ctypes.data == part.data_ptr()
    assert torch_rules.as_cupy(cp, x[:0]).shape == (0, 4)
    assert torch_rules.as_cupy(cp, x[:0].float()).dtype == "float32"


# XLA
