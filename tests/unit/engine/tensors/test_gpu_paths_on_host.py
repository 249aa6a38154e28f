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
from kinetree.engine.call.dispatch import Dispatch
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.tensors import cupy as adapter
from kinetree.engine.tensors import xla_frame
from kinetree.engine.tensors import xla_handlers as xla_targets
from kinetree.engine.tensors.operation import Operation
from kinetree.engine.tensors.xla_frame import (
    HANDLER,
    Api,
    Buffer,
    Buffers,
    CallFrame,
    ErrorRequest,
    Metadata,
    MetadataExtension,
    StreamRequest,
)
from kinetree.engine.tensors.xla_handlers import Handler
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


def test_a_view_maps_the_bytes_of_its_numbers_and_no_more(cp):
    x = np.arange(24.0).reshape(4, 6)
    whole = adapter.view(cp, x.ctypes.data, (4, 6), "float64", DEVICE)
    assert np.array_equal(whole, x) and np.shares_memory(whole, x)
    part = x[1:, ::2].T  # 3 x 3, from the number 6 to the number 22
    owner = object()
    seen = adapter.view(cp, part.ctypes.data, (3, 3), "float64", DEVICE, part.strides, owner)
    assert np.array_equal(seen, part) and np.shares_memory(seen, x)
    assert cp.sizes == [24 * 8, (22 - 6 + 1) * 8] and cp.owners == [None, owner]
    one = np.float32([5])
    seen = adapter.view(cp, one.ctypes.data, (1,), "float32", DEVICE, (64,))
    assert seen[0] == 5 and cp.sizes[-1] == 4


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


class Frame:
    """A call of XLA with buffers of the host, and the functions that XLA offers."""

    def __init__(self, arguments, results, problem=None):
        self.errors, self.contexts = [], []
        self.kept = []
        self.streams = xla_frame.FUNCTION(self.give_stream)
        self.messages = xla_frame.FUNCTION(self.take_error)
        self.problem = problem
        api = Api(ctypes.sizeof(Api))
        api.stream_get = ctypes.cast(self.streams, ctypes.c_void_p)
        api.error_create = ctypes.cast(self.messages, ctypes.c_void_p)
        frame = CallFrame(ctypes.sizeof(CallFrame), None, ctypes.addressof(api), CONTEXT, 3)
        frame.args, frame.rets = self.buffers(arguments), self.buffers(results)
        self.kept.append(api)
        self.frame = frame

    def buffers(self, arrays):
        items = (ctypes.POINTER(Buffer) * len(arrays))()
        for k, x in enumerate(arrays):
            dims = (ctypes.c_int64 * max(x.ndim, 1))(*x.shape)
            buffer = Buffer(ctypes.sizeof(Buffer), None, 0, x.ctypes.data if x.size else None)
            buffer.rank, buffer.dims = x.ndim, dims
            self.kept += [dims, buffer, x]
            items[k] = ctypes.pointer(buffer)
        self.kept.append(items)
        return Buffers(ctypes.sizeof(Buffers), None, len(arrays), None, items)

    def give_stream(self, address):
        request = StreamRequest.from_address(address)
        self.contexts.append((request.struct_size, request.context))
        request.stream = STREAM
        return self.problem

    def take_error(self, address):
        request = ErrorRequest.from_address(address)
        self.errors.append((request.struct_size, request.code, request.message.decode()))
        return 99

    def call(self, handler):
        return handler(ctypes.byref(self.frame))


def frame_for(operation, batch, dtype="float64", **options):
    x = [y.astype(dtype) for y in state(arm(), arm().inverse_dynamics, batch)]
    out = np.zeros((*batch, 2), dtype)
    return Frame(x, [out], **options), x, out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_handler_queues_the_kernel_on_the_stream_of_xla(cp, operation, dtype):
    handler, _ = xla_targets.cuda_handler(operation, dtype)
    assert operation.cuda.launched == [dtype]  # compiled before XLA calls
    frame, x, out = frame_for(operation, (6,), dtype)
    assert frame.call(handler) is None and frame.errors == []
    assert np.array_equal(out, operation.call(*x))
    assert frame.contexts == [(ctypes.sizeof(StreamRequest), CONTEXT)]
    assert cp.streams == [(0, STREAM)] and cp.devices == [DEVICE]


def test_a_handler_launches_a_call_like_one_before_at_once(cp, operation):
    handler, _ = xla_targets.cuda_handler(operation, "float64")
    for k, batch in enumerate([(6,), (6,), (2, 3), (2, 3), (6,)]):
        frame, x, out = frame_for(operation, batch)
        assert frame.call(handler) is None and frame.errors == []
        assert np.array_equal(out, operation.call(*x))
        assert operation.cuda.calls == (1 if k < 2 else 2)
    assert operation.cuda.streams == [STREAM] * 3
    single = [np.zeros(2), *(np.ones((4, 2)) for _ in range(2))]
    for _ in range(2):  # one state serves all others
        out = np.zeros((4, 2))
        assert Frame(single, [out]).call(handler) is None
        assert np.array_equal(out, operation.call(*single))
    assert operation.cuda.calls == 4


def test_a_handler_does_nothing_for_no_states(cp, operation):
    handler, _ = xla_targets.cuda_handler(operation, "float64")
    frame, _, _ = frame_for(operation, (0,))
    assert frame.call(handler) is None
    assert frame.errors == frame.contexts == [] and operation.cuda.calls == 0


def test_a_failure_becomes_an_error_of_xla(cp, operation):
    handler, _ = xla_targets.cuda_handler(operation, "float64")
    frame, _, out = frame_for(operation, (2,), problem=1)
    assert frame.call(handler) == 99
    size, code, message = frame.errors[0]
    assert (size, code) == (ctypes.sizeof(ErrorRequest), 13)  # XLA's "internal"
    assert message == "CompileError: XLA gave no stream for a kernel on the GPU."
    assert not out.any() and operation.cuda.calls == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("llvm", [True, False])
def test_the_cpu_s_handlers_read_and_write_xla_s_buffers(operation, dtype, llvm, monkeypatch):
    """In machine code and in Python: single states, batches, batches for several threads."""
    pytest.importorskip("jax", reason="jax is not installed")
    monkeypatch.setattr(xla_targets, "has_llvm", lambda: llvm)
    monkeypatch.setattr(Dispatch, "large", property(lambda self: 20))
    handler, kept = xla_targets.cpu_handler(operation, dtype)
    assert (kept is None) == (not llvm)
    for batch in ((), (1,), (5,), (2, 3), (30,), (0,)):
        frame, x, out = frame_for(operation, batch, dtype)
        assert frame.call(handler) is None and frame.errors == []
        assert np.array_equal(out, operation.call(*x))
    frame, x, _ = frame_for(operation, (), dtype)
    many = np.linspace(0, 1, 14).reshape(7, 2).astype(dtype)
    out = np.zeros((7, 2), dtype)
    assert Frame([x[0], many, x[2]], [out]).call(handler) is None  # one state serves all
    assert np.array_equal(out, operation.call(x[0], many, x[2]))


def test_the_version_is_written_where_xla_reads_it_and_nowhere_else(operation):
    """Of a version whose major number is not the zero that is there already."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    address, _code = Handler(operation.graph, InnerLoop("float64", 0, None), (3, 7), 1000, 0).load()
    metadata = Metadata()
    ctypes.memset(ctypes.byref(metadata), 0x55, ctypes.sizeof(metadata))
    question = MetadataExtension(ctypes.sizeof(MetadataExtension), xla_frame.METADATA, None)
    question.metadata = ctypes.pointer(metadata)
    frame = CallFrame(ctypes.sizeof(CallFrame), ctypes.addressof(question))
    assert HANDLER(address)(ctypes.byref(frame)) is None
    expected = Metadata()
    ctypes.memset(ctypes.byref(expected), 0x55, ctypes.sizeof(expected))
    expected.version.major, expected.version.minor, expected.traits = 3, 7, 0
    assert bytes(metadata) == bytes(expected)
