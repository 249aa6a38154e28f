"""CudaKernel: a graph that is called with arrays on a GPU."""

import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from kinetree.backends.call.dispatch import Overload, core_signature
from kinetree.backends.cuda.arguments import CudaArray, prepare, targets
from kinetree.backends.cuda.emit import ITEMSIZE, emit
from kinetree.backends.cuda.launch import Launch, Loaded, load, require_device
from kinetree.backends.cuda.layout import STATE_BYTES, Layout, plan
from kinetree.backends.kernel import check_ports
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.schedule import short_lived
from kinetree.errors import ShapeError


class CudaKernel:
    """A graph on the GPU, one thread per state. `kernel(*arrays, out=None)`.

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
        call = self._compute
        self._call = call if more is None else Overload(call, len(graph.inputs), *more).call

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; sine and cosine are not counted."""
        return self.graph.operations

    def ordered(self, dtype: str = "float64", *, short: bool = False) -> tuple[Graph, Layout]:
        """The graph, with few values alive at once where `short`, and where its rows lie."""
        graph = short_lived(self.graph) if short else self.graph
        return graph, plan(graph, ITEMSIZE[dtype], self._budget)

    def source(self, dtype: str = "float64", *, short: bool = False) -> str:
        """The code as CUDA C++; `short` as in `ordered`."""
        graph, layout = self.ordered(dtype, short=short)
        return emit(graph, dtype, self._label, layout=layout)

    def launch(self, dtype: str = "float64") -> Launch:
        """The code on the current GPU, compiled and loaded at the first request."""
        return self._loaded.on_this_gpu(dtype)

    def _load(self, dtype: str, short: bool) -> Launch:
        shared = self.ordered(dtype, short=short)[1].warp_bytes
        return load(self.source(dtype, short=short), f"kt_{self._label}", shared)

    def __call__(self, *arrays: CudaArray, out: object = None, **named: CudaArray) -> Any:
        """The outputs, on the GPU of the first array; arguments may be named."""
        return self._call(*arrays, out=out, **named)

    def _compute(self, *arrays: CudaArray, out: object = None, **named: CudaArray) -> Any:
        cp = require_device()
        arrays = (*arrays, *in_order(self.name, self.graph.inputs[len(arrays) :], named))
        with device_of(cp, arrays):
            batch = prepare(cp, self.name, self.graph.inputs, arrays)
            made = targets(cp, self.name, self.graph.outputs, batch, out)
            if batch.count:
                self.launch(batch.dtype)(batch.count, [*batch.arrays, *made])
            wanted = made if out is None else out if isinstance(out, tuple) else (out,)
            results = [keep(x, y) for x, y in zip(made, wanted, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def _label(self) -> str:
        return re.sub(r"[^A-Za-z0-9_]", "_", self.name)

    def __repr__(self) -> str:
        return f"<CudaKernel {self.name}{self.signature}, {self.operations} operations>"


def in_order(name: str, ports: Sequence[Port], named: dict[str, CudaArray]) -> list[CudaArray]:
    """Named arguments in the order of the ports that have none yet."""
    left = {port.name for port in ports}
    for key in named:
        if key not in left:
            known = ", ".join(port.name for port in ports) or "no further argument"
            raise ShapeError(
                f"{name} was given {key}={type(named[key]).__name__}; it takes {known}."
            )
    return [named[port.name] for port in ports if port.name in named]


def device_of(cp: ModuleType, arrays: tuple[CudaArray, ...]) -> Any:
    """The GPU of the first array, to be made current."""
    found = next((x.device for x in arrays if isinstance(x, cp.ndarray)), None)
    return found or cp.cuda.Device()


def keep(made: CudaArray, wanted: CudaArray) -> CudaArray:
    """The result in the array that the user gave, or the new array."""
    if wanted is None or wanted is made:
        return made
    wanted[...] = made
    return wanted
