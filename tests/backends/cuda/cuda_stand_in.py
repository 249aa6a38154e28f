"""A CuPy of the host: arrays in the memory of the CPU, and launches that Python computes.

A launch gets no more than CUDA's driver does: the number of a function and the address of its
arguments. It computes with what it finds there.
"""

import ctypes
from types import MappingProxyType, SimpleNamespace

import numpy as np

from kinetree.engine import CudaKernel, interpret
from kinetree.engine.cuda.launch import Launch


class HostArray(np.ndarray):
    """An array that is called CuPy's."""

    def __new__(cls, shape, dtype=float, memptr=None, strides=None):
        if memptr is None:
            return super().__new__(cls, shape, dtype)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * max(size, 1)).from_address(memptr.ptr)
        found = super().__new__(cls, shape, dtype, memory, 0, strides)
        found.kept = memptr
        return found

    def __array_finalize__(self, other):
        self.lies_on = getattr(other, "lies_on", Device.current)
        self.kept = getattr(other, "kept", None)

    @property
    def data(self):
        return Memory(self)

    @property
    def device(self):
        return Device(self.lies_on)

    @property
    def _c_contiguous(self):
        return self.flags.c_contiguous

    def get(self):
        return np.array(self)


class Memory:
    """The place of an array."""

    def __init__(self, array):
        self.ptr, self.device_id, self.owner = array.ctypes.data, array.lies_on, array

    def copy_from_device_async(self, other, size):
        ctypes.memmove(self.ptr, other.ptr, size)


class Device:
    current = 0
    attributes = MappingProxyType({"MultiProcessorCount": 10})

    def __init__(self, number=None):
        self.id = Device.current if number is None else number

    def __enter__(self):
        self.before, Device.current = Device.current, self.id
        return self

    def __exit__(self, *problem):
        Device.current = self.before

    def synchronize(self):
        pass


class Pinned(ctypes.c_int32 * 1):
    @property
    def ptr(self):
        return ctypes.addressof(self)


FUNCTIONS = {}  # by their address


class Function:
    """A function of the GPU: `compute` gets the words of its arguments."""

    def __init__(self, compute, words):
        self.compute, self.words = compute, words
        self.ptr = id(self)
        FUNCTIONS[self.ptr] = self

    def __call__(self, grid, block, arguments, shared):
        """As CuPy's functions are called."""
        own = [int(x) if isinstance(x, np.integer) else x.data.ptr for x in arguments]
        self.compute(own)

    def launch(self):
        return Launch(self, 128, 0, 32, 0, 1024)


class HostGpu:
    """As much of CuPy as kernels and simulations use."""

    ndarray = HostArray

    def __init__(self, devices=1):
        self.launches, self.streams, self.arguments, self.waits = [], [], [], 0
        self.events = []  # what was recorded and waited for, with the GPU of the stream
        self.stream = SimpleNamespace(
            ptr=0, synchronize=self.synchronize, record=self.record, wait_event=self.wait
        )
        runtime = SimpleNamespace(
            getDeviceCount=lambda: devices,
            getDevice=lambda: Device.current,
            memGetInfo=lambda: (1, 1),
            CUDARuntimeError=OSError,
        )
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=SimpleNamespace(launchKernel=self.launch),
            Device=Device,
            get_current_stream=lambda: self.stream,
            alloc_pinned_memory=lambda size: Pinned(),
        )

    def __getattr__(self, name):
        function = getattr(np, name)

        def call(*given, **options):
            found = function(*given, **options)
            return on_host(found) if isinstance(found, np.ndarray) else found

        return call

    def asarray(self, x, dtype=None):
        return on_host(np.asarray(x, dtype))

    def asnumpy(self, x):
        return np.array(x)

    def synchronize(self):
        self.waits += 1

    def record(self):
        self.events.append(("record", Device.current))
        return len(self.events) - 1

    def wait(self, event):
        assert self.events[event][0] == "record"
        self.events.append(("wait", Device.current, event))

    def launch(self, function, *rest):
        *blocks, _shared, stream, arguments, _extra = rest
        assert blocks[1:3] == [1, 1] and blocks[4:6] == [1, 1] and blocks[0] * blocks[3] > 0
        made = FUNCTIONS[function]
        pointers = (ctypes.c_int64 * made.words).from_address(arguments)
        words = [ctypes.c_int64.from_address(x).value for x in pointers]
        self.launches.append(made)
        self.streams.append(stream)
        self.arguments.append(arguments)
        made.compute(words)


def on_host(x):
    """An array on the current GPU, or where it lies already."""
    return x if isinstance(x, HostArray) else np.asarray(x).view(HostArray)


def at(address, shape, dtype):
    """The array of NumPy at an address."""
    count = int(np.prod(shape))
    kind = np.ctypeslib.as_ctypes_type(np.dtype(dtype))
    return np.ctypeslib.as_array((kind * count).from_address(address)).reshape(shape)


class HostKernel(CudaKernel):
    """A kernel whose machine code is the interpreter of its graph."""

    reads = 0

    def _load(self, dtype, short):
        graph, ports = self.graph, (*self.graph.inputs, *self.graph.outputs)

        def compute(words):
            count, *addresses = words
            shapes = [(count, *port.shape) for port in ports]
            arrays = [at(x, shape, dtype) for x, shape in zip(addresses, shapes, strict=True)]
            given, made = arrays[: len(graph.inputs)], arrays[len(graph.inputs) :]
            for x, y in zip(made, interpret(graph, *given), strict=True):
                x[...] = y

        return Function(compute, 1 + len(ports)).launch()

    def _load_few(self, dtype, short):
        return self._load(dtype, short)
