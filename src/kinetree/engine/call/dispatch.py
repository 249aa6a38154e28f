"""The general call of a kernel: keywords, the choice of loops, threads, and clear errors.

Tensors (torch, JAX, CuPy) and labelled arrays (dicts, pandas) go to the functions of `foreign.py`.
"""

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine import call as foreign
from kinetree.engine.call import Arguments, Options
from kinetree.engine.call.gufunc import InnerLoop, make_gufunc
from kinetree.engine.call.plan import Axes
from kinetree.engine.call.threads import Batch, grains, run, thread_count
from kinetree.engine.call.vectorcall import new_array, shared_code, usable
from kinetree.engine.compiler.graph import Graph, Port

if TYPE_CHECKING:
    from kinetree.core.named_states import NamedStates

FLOAT32 = np.dtype(np.float32).char  # the same for both byte orders

# Operations in a batch above which threads pay, measured: starting them costs about 0.1 ms, and
# moving a number in or out of memory as much as some operations.
THREADED_OPERATIONS = 8_000_000
OPERATIONS_PER_NUMBER = 10

SIZED = (np.ndarray, np.generic)
NUMPY_TYPES = (*SIZED, list, tuple, int, float)
NUMBERS = (int, float, np.float64)
ADAPTING = (int, float, bool)  # numbers of Python, which take the type of the arrays beside them
LOOPS_BY_HAND = {"dtype", "signature", "sig", "casting"}


def core_signature(ports_in: Sequence[Port], ports_out: Sequence[Port], letters: bool) -> str:
    """Return the gufunc signature, with the dimensions' letters or their sizes."""

    def core(port: Port) -> str:
        named = letters and len(port.dims) == len(port.shape)
        return f"({','.join(port.dims if named else map(str, port.shape))})"

    return f"{','.join(map(core, ports_in))}->{','.join(map(core, ports_out))}"


def _nothing() -> None:
    return None


class Dispatch:
    """Calls the gufunc of a graph. Its float32 loop is compiled when a call first asks for it."""

    __slots__ = (
        "_doc",
        "_every",
        "_least",
        "_loop",
        "_named",
        "_nin",
        "_single",
        "_states",
        "axes",
        "dtypes",
        "entered",
        "graph",
        "name",
        "operation",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        doc: str,
        dtypes: tuple[str, ...],
        loop: Callable[[str], InnerLoop],
        axes: Axes | None = None,
    ) -> None:
        self.graph, self.name, self.dtypes, self.axes = graph, name, dtypes, axes
        self._doc, self._loop = doc, loop
        self._named: NamedStates | None = None
        self.operation: object = None  # what `kinetree.engine.tensors` made of the graph
        self.entered: Callable[[], Callable[..., Any] | None] = _nothing  # the kernel, if it lives
        self._nin = len(graph.inputs)
        self._single = {"float64": self._make(("float64",))} if "float64" in dtypes else {}
        self._every = self._single.get("float64") if dtypes == ("float64",) else None
        numbers = sum(port.size for port in (*graph.inputs, *graph.outputs))
        self._states = math.ceil(
            THREADED_OPERATIONS / (graph.operations + OPERATIONS_PER_NUMBER * numbers + 1)
        )
        # a batch whose arrays are all below this size is not large
        self._least = self._states * min((max(port.size, 1) for port in graph.inputs), default=1)

    @property
    def named(self) -> "NamedStates | None":
        """The call with dicts of one state; None if the axes have no names."""
        from kinetree.core.named_states import NamedStates

        if self._named is None and self.axes is not None:
            self._named = NamedStates(*self.axes)
        return self._named

    @property
    def large(self) -> int:
        """The number of states from which several threads pay."""
        return self._states

    def loop(self, dtype: str) -> InnerLoop:
        """Return the inner loop over states."""
        return self._loop(dtype)

    def _make(self, dtypes: tuple[str, ...]) -> np.ufunc:
        """Return the gufunc with the loops of `dtypes`, the narrowest first."""
        graph = self.graph
        loops = [self.loop(dtype) for dtype in sorted(dtypes)]
        signature = core_signature(graph.inputs, graph.outputs, letters=False)
        nin, nout = len(graph.inputs), len(graph.outputs)
        return make_gufunc(loops, nin, nout, signature, self.name, self._doc)

    @property
    def gufunc(self) -> np.ufunc:
        """The gufunc with all loops."""
        if self._every is None:
            self._every = self._make(self.dtypes)
        return self._every

    def call(self, *arrays: object, **options: object) -> Any:
        """Evaluate the kernel on arrays of any kind, broadcast over leading axes."""
        if options:
            if "out" in options:
                foreign.check_outputs(self.name, options["out"])
                if options["out"] is None:  # NumPy refuses it where there are several results
                    options = {key: value for key, value in options.items() if key != "out"}
            if len(arrays) < self._nin:
                arrays, options = self._by_name(arrays, options)
        least, large, looked = self._least, False, False
        for array in arrays:
            if type(array) is np.ndarray:
                if array.size >= least:
                    large = True
            elif type(array) is dict:
                return foreign.call_by_name(self, arrays, options)
            elif not looked and type(array) not in NUMBERS:
                if (call := foreign.call_for(arrays)) is not None:
                    return call(self, arrays, options)
                looked = True
        try:
            gufunc: Any = self._suited(arrays, options)
            if large:
                result = self._on_threads(gufunc, arrays, options)
                if result is not None:
                    return result
            return gufunc(*arrays, **options)
        except (ValueError, TypeError) as refused:
            from kinetree.engine.call.diagnose import explain, explain_types

            taught = explain(self.name, self.graph, arrays, options)
            taught = taught or explain_types(self.name, self.graph, arrays, options)
            if taught is None:
                raise
            raise taught from refused

    def _by_name(
        self, arrays: Arguments, options: dict[str, object]
    ) -> tuple[Arguments, dict[str, object]]:
        """Move inputs given by name to their places."""
        missing = [port.name for port in self.graph.inputs[len(arrays) :]]
        if not any(name in options for name in missing):
            return arrays, options
        absent = [name for name in missing if name not in options]
        if absent:
            from kinetree.engine.call.diagnose import ArgumentError, usage

            raise ArgumentError(f"{usage(self.name, self.graph)} was given no {', '.join(absent)}.")
        named = tuple(options[name] for name in missing)
        options_left = {key: value for key, value in options.items() if key not in missing}
        return (*arrays, *named), options_left

    def _suited(self, arrays: Arguments, options: Options) -> np.ufunc:
        """Return the gufunc with the loop of a call: float32 where all arrays are, else float64.

        Numbers of Python take the type of the arrays beside them. Integers compute in float64:
        NumPy alone would take float32 for those of 8 and 16 bits.
        """
        if len(self.dtypes) == 1 or not LOOPS_BY_HAND.isdisjoint(options):
            return self.gufunc
        if not all(isinstance(array, NUMPY_TYPES) for array in arrays):
            return self.gufunc  # an unknown type may override the gufunc and needs all its loops
        kinds = {
            array.dtype.char if isinstance(array, SIZED) else np.asarray(array).dtype.char
            for array in arrays[: self._nin]
            if type(array) not in ADAPTING
        }
        return self._of_type("float32" if kinds == {FLOAT32} else "float64")

    def _of_type(self, dtype: str) -> np.ufunc:
        """Return the gufunc with one loop; that of float32 is compiled at its first use."""
        gufunc = self._single.get(dtype)
        if gufunc is None:
            gufunc = self._single[dtype] = self._make((dtype,))
        return gufunc

    def _on_threads(self, gufunc: np.ufunc, arrays: Arguments, options: Options) -> Any:
        """Compute on several threads; None where a single call of NumPy has to do it.

        One thread makes the results itself: their memory is that of earlier ones (buffers.py),
        which NumPy does not know.
        """
        count, out = thread_count(), options.get("out")
        if len(arrays) != len(self.graph.inputs) or options.keys() - {"out"}:
            return None
        if count < 2 and out is not None:
            return None
        arrays = self._with_numbers(arrays)
        if any(type(array) is not np.ndarray or array.dtype.kind != "f" for array in arrays):
            return None
        batch = Batch.of(self.graph, cast("tuple[Array, ...]", arrays), out)
        if batch is None or batch.states < self._states:
            return None
        outs = batch.outs or batch.new_outputs(gufunc, new_array)
        if count < 2:
            return gufunc(*arrays, out=tuple(outs))
        if not self._shared(batch, outs, count):
            run(batch.pieces(gufunc, outs, count), count)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _shared(self, batch: Batch, outs: Sequence[Array], count: int) -> bool:
        """Compute a plain batch on `count` threads in machine code; False where it is not one."""
        kinds = {array.dtype.name for array in batch.arrays}
        if len(kinds) > 1 or not kinds <= {*self.dtypes} or not usable():
            return False
        from kinetree.engine.call.crew import FUNCTIONS, crew
        from kinetree.engine.call.shares import PIECES, share

        code, length = shared_code(), grains(batch.states, count * PIECES)
        job = share(self.graph, (*batch.arrays, *outs), batch.shape, length, self.loop(*kinds))
        if job is None:
            return False
        count, helpers = min(count, job.pieces), crew(*map(code.address, FUNCTIONS))
        while job.left():
            if not helpers.lead(job.address, count - 1):  # another thread has them
                enter = partial(job.enter, code.address("share"))
                run([enter] * count, count)
        return True

    def _with_numbers(self, arrays: Arguments) -> Arguments:
        """The arguments with floats for inputs of shape () as arrays of the type of the others."""
        if not any(type(x) is float for x in arrays):
            return arrays
        kinds = {x.dtype for x in arrays if type(x) is np.ndarray}
        ports = zip(self.graph.inputs, arrays, strict=True)
        return tuple(
            np.array(x, *kinds) if type(x) is float and not port.shape and len(kinds) == 1 else x
            for port, x in ports
        )


class Overload:
    """A call with one optional further argument, which a second, larger kernel takes.

    `call` is the general call of the smaller kernel, `inputs` the number of its arguments, `extra`
    the name of the further one. `make` makes the larger kernel at the first call that needs it.
    """

    __slots__ = ("_call", "_inputs", "_larger", "_learners", "_make", "extra")

    def __init__(
        self,
        call: Callable[..., Any],
        inputs: int,
        extra: str,
        make: Callable[[], Callable[..., Any]],
    ) -> None:
        self._call, self._inputs, self._make = call, inputs, make
        self.extra = sys.intern(extra)
        self._larger: list[Callable[..., Any]] = []
        self._learners: list[Callable[[object], None]] = []

    @property
    def larger(self) -> Callable[..., Any]:
        """The kernel with the further argument."""
        if not self._larger:
            # threads may each make one: the first stays, as machine code has its address
            self._larger.append(self._make())
            for learn in self._learners:
                learn(self._larger[0])
        return self._larger[0]

    def when_made(self, learn: Callable[[object], None]) -> None:
        """Give the larger kernel to a function, now or when it is made."""
        self._learners.append(learn)
        if self._larger:
            learn(self._larger[0])

    def call(self, *arrays: object, **options: object) -> Any:
        """Evaluate with or without the further argument; None means that it is not given."""
        if not options and len(arrays) == self._inputs:
            return self._call(*arrays)
        if self.extra in options and options[self.extra] is None:
            options = {key: value for key, value in options.items() if key != self.extra}
        if len(arrays) == self._inputs + 1 and arrays[-1] is None:
            arrays = arrays[:-1]
        if len(arrays) > self._inputs or self.extra in options:
            return self.larger(*arrays, **options)
        return self._call(*arrays, **options)
