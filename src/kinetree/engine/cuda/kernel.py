"""CudaKernel: a graph that is called with arrays on a GPU."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kinetree.engine.call.dispatch import Overload, core_signature
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.schedule import short_lived
from kinetree.engine.cuda.arguments import Batch, CudaArray, prepare, targets
from kinetree.engine.cuda.emit import ITEMSIZE, emit
from kinetree.engine.cuda.launch import Launch, Loaded, load, load_with, require_device
from kinetree.engine.cuda.layout import STATE_BYTES, Layout, plan
from kinetree.engine.cuda.prepared import KnownCalls, Prepared
from kinetree.engine.kernel import check_ports
from kinetree.errors import ShapeError

if TYPE_CHECKING:
    from kinetree.engine.compiler.sparse import SparsePattern

# Values that a thread may have in its 255 registers: the compiler needs some for its own purposes,
# and a double takes two. The rest wait in rows that are free, and in some spare numbers.
REGISTERS = {"float64": 104, "float32": 208}
SPARE = 10

# A batch that leaves some quarters of the GPU without a warp takes as long as one state. For such
# batches, kernels of up to so many operations take all the registers that the compiler likes.
FEW_OPERATIONS, FEW_THREADS = 3000, 128


def few_states() -> int:
    """States that are few for the current GPU: a warp on each quarter of a multiprocessor."""
    device = require_device().cuda.Device()
    return FEW_THREADS * device.attributes["MultiProcessorCount"]


Repeat = Callable[[Sequence[CudaArray], object], Any]  # of the arrays and out


def repeated(
    cp: Any, prepared: Prepared, arrays: Sequence[CudaArray], made: Sequence[CudaArray]
) -> Repeat:
    """The function for calls like this one; what it needs is at hand, without a look-up.

    It returns the results on the current stream, or None where a call is another one after all:
    with another current GPU, or with arrays for its results that do not fit or overlap the inputs.
    A warp may write what another has still to read.
    """
    new, current, stream = cp.ndarray, cp.cuda.runtime.getDevice, cp.cuda.get_current_stream
    enqueue, device, dtype = prepared.enqueue, current(), made[0].dtype
    shapes, several = tuple(x.shape for x in made), len(made) > 1
    read, written = [x.nbytes for x in arrays], [x.nbytes for x in made]
    shape, wanted = shapes[0], described(made)

    def repeat(arrays: Sequence[CudaArray], out: object) -> Any:
        if current() != device:
            return None
        addresses = [x.data.ptr for x in arrays]
        if out is not None:
            return into(addresses, out)
        if several:
            results = tuple([new(x, dtype) for x in shapes])
            enqueue(stream().ptr, addresses + [x.data.ptr for x in results])
            return results
        result = new(shape, dtype)
        addresses.append(result.data.ptr)
        enqueue(stream().ptr, addresses)
        return result

    def into(addresses: list[int], out: Any) -> Any:
        results = out if type(out) is tuple else (out,)
        if described(results) != wanted:
            return None
        places = [x.data.ptr for x in results]
        for begin, size in zip(places, written, strict=True):
            for first, length in zip(addresses, read, strict=True):
                if begin < first + length and first < begin + size:
                    return None
        enqueue(stream().ptr, addresses + places)
        return results if several else results[0]

    return repeat


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
        self._few = Loaded(self._load_few)
        self._ready = KnownCalls[Repeat]()
        call = self._compute
        self._call = call if more is None else Overload(call, len(graph.inputs), *more).call

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; sine and cosine are not counted."""
        return self.graph.operations

    @property
    def pattern(self) -> "SparsePattern":
        """As `Kernel.pattern`."""
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

    def launch(self, dtype: str = "float64", count: int | None = None) -> Launch:
        """The code on the current GPU for `count` states, compiled at the first request.

        None: for as many states as keep the GPU busy. A few have a code with more registers, which
        takes less time for one state.
        """
        few = count is not None and self.operations <= FEW_OPERATIONS and count <= few_states()
        return (self._few if few else self._loaded).on_this_gpu(dtype)

    def _load(self, dtype: str, short: bool) -> Launch:
        shared = self.ordered(dtype, short=short)[1].warp_bytes
        return load(self.source(dtype, short=short), f"kt_{self._label}", shared, fixed=True)

    def _load_few(self, dtype: str, short: bool) -> Launch:
        """As many registers as the compiler takes by itself."""
        shared = self.ordered(dtype)[1].warp_bytes
        launch = load_with(self.source(dtype), f"kt_{self._label}", shared, 0, fixed=True)
        return self._loaded.on_this_gpu(dtype) if launch.spills else launch

    def __call__(self, *arrays: CudaArray, out: object = None, **named: CudaArray) -> Any:
        """The outputs, on the GPU of the first array; arguments may be named."""
        if not named and (repeated_results := self.again(arrays, out)) is not None:
            return repeated_results
        return self._call(*arrays, out=out, **named)

    def prepare(self, dtype: str, count: int) -> Prepared:
        """The launch of `count` states on the current GPU; its arrays are given by address."""
        arrays = len(self.graph.inputs) + len(self.graph.outputs)
        values, places = [count, *[0] * arrays], range(1, 1 + arrays)
        return Prepared(require_device(), self.launch(dtype, count), count, values, places)

    def again(self, arrays: Sequence[object], out: object = None) -> Any:
        """The results of a call like one before; None where it has to be read from the start.

        A call is like another if its arrays have the same types, shapes, order and device.
        """
        key = described(arrays)
        repeat = None if key is None else self._ready.get(key)
        return None if repeat is None else repeat(arrays, out)

    def _compute(self, *arrays: CudaArray, out: object = None, **named: CudaArray) -> Any:
        cp = require_device()
        arrays = (*arrays, *in_order(self.name, self.graph.inputs[len(arrays) :], named))
        with device_of(cp, arrays):
            batch = prepare(cp, self.name, self.graph.inputs, arrays)
            made = targets(cp, self.name, self.graph.outputs, batch, out)
            if batch.count:
                launch = self.launch(batch.dtype, batch.count)
                launch(batch.count, [*batch.arrays, *made])
                self._remember(cp, arrays, batch, made)
            wanted = made if out is None else out if isinstance(out, tuple) else (out,)
            results = [keep(x, y) for x, y in zip(made, wanted, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def _remember(
        self, cp: Any, arrays: Sequence[CudaArray], batch: Batch, made: Sequence[CudaArray]
    ) -> None:
        """Remember a call whose arrays are read where they are, for its like."""
        key = described(arrays)
        if key is None or any(x is not y for x, y in zip(arrays, batch.arrays, strict=True)):
            return
        prepared = self.prepare(batch.dtype, batch.count)
        self._ready.keep(key, repeated(cp, prepared, batch.arrays, made))

    @property
    def _label(self) -> str:
        return re.sub(r"[^A-Za-z0-9_]", "_", self.name)

    def __repr__(self) -> str:
        return f"<CudaKernel {self.name}{self.signature}, {self.operations} operations>"


def described(arrays: Sequence[Any]) -> tuple[object, ...] | None:
    """The types, shapes, order and GPUs of arrays of CuPy; None where some are not CuPy's.

    The public way to ask whether an array is contiguous takes several times as long.
    """
    try:
        return tuple(
            [(type(x), x.shape, x._c_contiguous, x.dtype.char, x.data.device_id) for x in arrays]
        )
    except AttributeError:  # numbers, arrays of NumPy and tensors
        return None


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
    device = next((x.device for x in arrays if isinstance(x, cp.ndarray)), None)
    return device or cp.cuda.Device()


def keep(made: CudaArray, wanted: CudaArray) -> CudaArray:
    """The result in the array that the user gave, or the new array."""
    if wanted is None or wanted is made:
        return made
    wanted[...] = made
    return wanted
