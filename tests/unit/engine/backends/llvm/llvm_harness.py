"""Compiles emitted text with llvmlite and calls it with NumPy arrays, without NumPy's ufuncs."""

import ctypes
import platform
import sys
from dataclasses import replace

import llvmlite.binding as llvm
import numpy as np
import pytest

from kinetree.engine import Graph, Node, Port
from kinetree.engine.llvm.emit import emit
from kinetree.engine.llvm.target import Target, host_target

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

HOST = host_target()


def host(lanes64: int, lanes32: int | None = None) -> Target:
    name, lanes32 = f"{HOST.name}x{lanes64}", lanes32 or min(2 * lanes64, 16)
    return replace(HOST, name=name, lanes64=lanes64, lanes32=lanes32)


def verified(text: str) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def machine(target: Target, opt: int = 1) -> llvm.TargetMachine:
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=opt,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def load(code: bytes, target: Target, names: list[str]) -> llvm.ResourceTracker:
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    return builder.link(llvm.create_lljit_compiler(machine(target), use_jit_link=True), "k")


class Compiled:
    """Code of one graph; `states` and `one` take and return arrays."""

    def __init__(self, graph: Graph, target: Target, dtype: str = "float64", opt: int = 1) -> None:
        self.graph, self.dtype = graph, np.dtype(dtype)
        self.text = emit(graph, target, dtype, "k")
        code = machine(target, opt).emit_object(verified(self.text))
        self._library = load(code, target, ["k_states", "k_one"])
        self.states_address = self._library["k_states"]
        self.one_address = self._library["k_one"]

    def loop(self, arrays: list[np.ndarray]) -> None:
        """Inputs and outputs of shape (N, *core), with any strides, as they are."""
        pointers = np.array([a.__array_interface__["data"][0] for a in arrays], np.intp)
        dimensions = np.array([len(arrays[0])], np.intp)
        steps = [a.strides[0] for a in arrays] + [s for a in arrays for s in a.strides[1:]]
        steps = np.array(steps, np.intp)
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self.states_address)
        function(pointers.ctypes.data, dimensions.ctypes.data, steps.ctypes.data, None)

    def states(self, *inputs: np.ndarray) -> list[np.ndarray]:
        outputs = [np.empty((len(inputs[0]), *p.shape), self.dtype) for p in self.graph.outputs]
        self.loop([*inputs, *outputs])
        return outputs

    def one(self, *inputs: np.ndarray) -> list[np.ndarray]:
        inputs = tuple(np.ascontiguousarray(a, self.dtype) for a in inputs)
        outputs = [np.empty(p.shape, self.dtype) for p in self.graph.outputs]
        arrays = [*inputs, *outputs]
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(self.one_address)
        function(*[a.ctypes.data for a in arrays])
        return outputs


class Builder:
    """Builds a graph by hand: `b.op("add", x, y)`."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Port] = []

    def op(self, op: str, *args: int) -> int:
        self.nodes.append(Node(op, args))
        return len(self.nodes) - 1

    def const(self, value: float) -> int:
        self.nodes.append(Node("const", (), value))
        return len(self.nodes) - 1

    def input(self, name: str, *shape: int) -> list[int]:
        port = Port(name, shape)
        k = len(self.inputs)
        self.inputs.append(port)
        for element in range(port.size):
            self.nodes.append(Node("input", (), (k, element)))
        return list(range(len(self.nodes) - port.size, len(self.nodes)))

    def graph(self, *results: list[int], shapes: list[tuple[int, ...]] | None = None) -> Graph:
        shapes = shapes or [(len(r),) for r in results]
        outputs = tuple(Port(f"out{k}", shape) for k, shape in enumerate(shapes))
        return Graph(
            tuple(self.nodes), tuple(self.inputs), outputs, tuple(tuple(r) for r in results)
        )


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bit for bit, except that any NaN equals any other."""
    integer = {8: np.int64, 4: np.int32}[a.dtype.itemsize]
    bits = np.ascontiguousarray(a).view(integer) == np.ascontiguousarray(b).view(integer)
    return a.shape == b.shape and bool(np.all(bits | (np.isnan(a) & np.isnan(b))))


needs_flags = pytest.mark.skipif(
    not (sys.platform == "linux" and platform.machine() == "x86_64"),
    reason="the numbers of the flags differ elsewhere",
)


def flags(code: Compiled, *inputs: np.ndarray) -> int:
    """Flags that the code raises, of the three that NumPy reports by default."""
    libm, every = ctypes.CDLL("libm.so.6"), 1 | 4 | 8  # invalid, division by zero, overflow
    outputs = [np.empty((len(inputs[0]), *p.shape), code.dtype) for p in code.graph.outputs]
    libm.feclearexcept(every)
    code.loop([*inputs, *outputs])
    return libm.fetestexcept(every)
