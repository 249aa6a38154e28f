"""CudaKernel: a graph that is called with arrays on a GPU."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kinetree.engine.call.arguments import in_order
from kinetree.engine.call.dispatch import core_signature, with_optional
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.schedule import short_lived
from kinetree.engine.cuda.arguments import CudaArray, prepare
from kinetree.engine.cuda.emit import ITEMSIZE, emit
from kinetree.engine.cuda.launch import Launch, Loaded, load, require_device
from kinetree.engine.cuda.layout import STATE_BYTES, Layout, plan
from kinetree.engine.kernel import check_ports
from kinetree.errors import ShapeError

if TYPE_CHECKING:
    from kinetree.engine.compiler.sparse import SparsePattern

# Values that a thread may have in its 255 registers: the compiler needs some for its own purposes,
# and a double takes two. The rest wait in rows that are free, and in some spare numbers.
REGISTERS = {"float64": 104, "float32": 208}
SPARE = 10
REMEMBERED_CALLS = 256  # calls of different shapes that are remembered for a kernel

Repeat = Callable[[Sequence[CudaArray]], Any]


class CudaKernel:
    """A graph on the GPU. `kernel(*arrays, out=None)` computes one state per thread.

    Arrays are CuPy arrays, or others on the GPU that have `__cuda_array_interface__`, of shape
    (..., *port); leading axes broadcast. Contiguous arrays of one leading shape are read where
    they lie; others are copied first. float32 where all arrays are, otherwise float64. The work is
    queued on CuPy's current stream; results are CuPy arrays, a tuple where the graph has several.

    Args:
        graph: what to compute, best after `compiler.optimise`.
        name: the name in messages and of the code.
        doc: documentation string.
        more: name of a further argument, and what makes the kernel that takes it.
        budget: bytes of shared memory for a state, for measurements.
    """

    def __init__(
        self,
        graph: Graph,
        name: str = "kernel",
        doc: str = "",
        *,
        more: tuple[str, Callable[[], Callable[..., Any]]] | None = None,
        budget: int = STATE_BYTES,
    ) -> None:
        check_ports(graph, name)
        self.graph, self.name = graph, name
        self.signature = core_signature(graph.inputs, graph.outputs, letters=True)
        self.__doc__ = doc or f"{name}: {self.signature}"
        self._budget = budget
        self._loaded = Loaded(self._load)
        self._known: dict[object, Repeat] = {}
        call = self._compute
        self._call = call if more is None else with_optional(call, len(graph.inputs), *more)

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; sine and cosine are not counted."""
        return self.graph.operations

    @property
    def pattern(self) -> "SparsePattern":
        """The places of the values of a kernel that was made with `sparse=True`."""
        from kinetree.engine.compiler.sparse import pattern_of  # most kernels are dense

        return pattern_of(self.graph, self.name)

    def ordered(self, dtype: str = "float64", *, short: bool = False) -> tuple[Graph, Layout]:
        """The graph and where its rows lie.

        short: in an order with few values alive at once, and with room for values beyond those that
        fit the registers.
        """
        self.graph.check_type(dtype, self.name)
        graph = short_lived(self.graph) if short else self.graph
        layout = plan(graph, ITEMSIZE[dtype], self._budget)
        return graph, replace(layout, spare=SPARE) if short else layout

    def source(self, dtype: str = "float64", *, short: bool = False) -> str:
        """The code as CUDA C++; `short` as in `ordered`."""
        graph, layout = self.ordered(dtype, short=short)
        most = REGISTERS[dtype] if short else None
        return emit(graph, dtype, self._label, layout=layout, most=most)

    def launch(self, dtype: str = "float64") -> Launch:
        """The code on the current GPU, compiled and loaded at the first request."""
        return self._loaded.on_this_gpu(dtype)

    def _load(self, dtype: str, short: bool) -> Launch:
        shared = self.ordered(dtype, short=short)[1].warp_bytes
        return load(self.source(dtype, short=short), f"kt_{self._label}", shared, fixed=True)

    def __call__(self, *arrays: CudaArray, out: object = None, **named: CudaArray) -> Any:
        """The outputs, on the GPU of the first array; arguments may be named."""
        if out is None and not named and (results := self.again(arrays)) is not None:
            return results
        return self._call(*arrays, out=out, **named)

    def again(self, arrays: Sequence[CudaArray]) -> Any:
        """The results of a call like one before, without its checks; None for another one.

        A call is like another if its arrays have the same types, shapes, order and device. A
        program that computes a few thousand states again and again spends most of its time there.
        """
        key = described(arrays)
        repeat = None if key is None else self._known.get(key)
        return None if repeat is None else repeat(arrays)

    def _compute(self, *arrays: CudaArray, out: object = None, **named: CudaArray) -> Any:
        cp = require_device()
        graph = self.graph
        arrays, unknown = in_order(self.name, graph, arrays, named)
        if unknown or len(arrays) != len(graph.inputs):
            names = ", ".join(port.name for port in graph.inputs)
            given = ", ".join(unknown) or f"{len(arrays)}"
            raise ShapeError(
                f"{self.name} takes {len(graph.inputs)} arrays ({names}), found {given}."
            )
        with device_of(cp, arrays):
            batch = prepare(cp, self.name, graph, arrays, out)
            made = batch.outputs
            if batch.count:
                launch = self.launch(batch.dtype)
                launch(batch.count, [*batch.inputs, *made])
                if out is None and all(map(is_same, arrays, batch.inputs)):
                    self._remember(cp, launch, batch.count, arrays, made)
            wanted = out if isinstance(out, tuple) else (out,) * len(made)
            results = [keep(x, y) for x, y in zip(made, wanted, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def _remember(
        self,
        cp: Any,
        launch: Launch,
        count: int,
        arrays: Sequence[CudaArray],
        made: Sequence[CudaArray],
    ) -> None:
        """Remember how to repeat a call whose arrays are read where they are."""
        empty, current, device = cp.empty, cp.cuda.runtime.getDevice, cp.cuda.runtime.getDevice()
        shapes, dtype = [x.shape for x in made], made[0].dtype

        def repeat(arrays: Sequence[CudaArray]) -> Any:
            if current() != device:
                return None
            results = tuple([empty(shape, dtype) for shape in shapes])
            launch(count, [*arrays, *results])
            return results[0] if len(results) == 1 else results

        if len(self._known) >= REMEMBERED_CALLS:
            self._known.clear()
        self._known[described(arrays)] = repeat

    @property
    def _label(self) -> str:
        return re.sub(r"[^A-Za-z0-9_]", "_", self.name)

    def __repr__(self) -> str:
        return f"<CudaKernel {self.name}{self.signature}, {self.operations} operations>"


def described(arrays: Sequence[Any]) -> tuple[object, ...] | None:
    """The types, shapes, order and GPUs of arrays of CuPy; None where some are not CuPy's."""
    try:
        return tuple(
            [(type(x), x.shape, x.flags.c_contiguous, x.dtype.char, x.device.id) for x in arrays]
        )
    except AttributeError:  # numbers, arrays of NumPy and tensors
        return None


def is_same(x: object, y: object) -> bool:
    """Return True if an array is read where it is."""
    return x is y


def device_of(cp: ModuleType, arrays: Sequence[Any]) -> Any:
    """The GPU of the first array, to be made current."""
    device = next((x.device for x in arrays if isinstance(x, cp.ndarray)), None)
    return device or cp.cuda.Device()


def keep(made: CudaArray, wanted: CudaArray) -> CudaArray:
    """The result in the array that the user gave, or the new array."""
    if wanted is None or wanted is made:
        return made
    wanted[...] = made
    return wanted
