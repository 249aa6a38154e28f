"""The general call of a kernel: keywords, the gufunc of a number type, threads, clear errors.

Tensors (torch, JAX, CuPy) and labelled arrays (dicts, pandas) go to the functions of `labelled.py`.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine import call as others
from kinetree.engine.call.diagnose import ArgumentError, explain, leading_axes, usage
from kinetree.engine.call.gufunc import InnerLoop, make_gufunc
from kinetree.engine.call.threads import PIECES, cut, run, thread_count
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.present.labels import Axes

FLOAT32 = np.dtype(np.float32).char  # the same for both byte orders

# Operations in a batch above which threads pay, measured: starting them costs about 0.1 ms, and
# moving a number in or out of memory as much as some operations.
THREADED_OPERATIONS = 8_000_000
OPERATIONS_PER_NUMBER = 10

SIZED = (np.ndarray, np.generic)
NUMPY_TYPES = (*SIZED, list, tuple, int, float)
ADAPTING = (int, float, bool)  # numbers of Python, which take the type of the arrays beside them
LOOPS_BY_HAND = {"dtype", "signature", "sig", "casting"}


def core_signature(ports_in: Sequence[Port], ports_out: Sequence[Port], letters: bool) -> str:
    """Return the gufunc signature, with the dimensions' letters or their sizes."""

    def core(port: Port) -> str:
        named = letters and len(port.dims) == len(port.shape)
        return f"({','.join(port.dims if named else map(str, port.shape))})"

    return f"{','.join(map(core, ports_in))}->{','.join(map(core, ports_out))}"


class Dispatch:
    """Calls the gufunc of a graph. Its float32 loop is compiled when a call first asks for it."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        doc: str,
        dtypes: tuple[str, ...],
        loop: Callable[[str], InnerLoop],
        axes: Axes | None = None,
    ) -> None:
        self.graph, self.name, self.doc, self.dtypes = graph, name, doc, dtypes
        self.loop, self.axes = loop, axes
        self.operation: object = None  # what `kinetree.engine.tensors` made of the graph
        self._gufuncs: dict[tuple[str, ...], np.ufunc] = {}
        numbers = sum(port.size for port in (*graph.inputs, *graph.outputs))
        operations = graph.operations + OPERATIONS_PER_NUMBER * numbers + 1
        self.threaded_states = math.ceil(THREADED_OPERATIONS / operations)

    @cached_property
    def gufunc(self) -> np.ufunc:
        """The gufunc with all loops."""
        return self._of_types(self.dtypes)

    def _of_types(self, dtypes: tuple[str, ...]) -> np.ufunc:
        """Return the gufunc with the loops of `dtypes`; NumPy wants the narrowest first."""
        if dtypes not in self._gufuncs:
            graph, loops = self.graph, [self.loop(dtype) for dtype in sorted(dtypes)]
            signature = core_signature(graph.inputs, graph.outputs, letters=False)
            sizes = len(graph.inputs), len(graph.outputs)
            made = make_gufunc(loops, *sizes, signature, self.name, self.doc)
            self._gufuncs.setdefault(dtypes, made)
        return self._gufuncs[dtypes]

    def call(self, *arrays: object, **options: object) -> Any:
        """Evaluate the kernel on arrays of any kind, broadcast over leading axes."""
        if options:
            if "out" in options:
                others.check_outputs(self.name, options["out"])
                if options["out"] is None:  # NumPy refuses it where there are several results
                    del options["out"]
            if len(arrays) < len(self.graph.inputs):
                arrays, options = self._by_name(arrays, options)
        for array in arrays:
            if type(array) is not np.ndarray and type(array) is not float:
                if (call := others.call_for(arrays)) is not None:
                    return call(self, arrays, options)
                break
        try:
            dtype = self._number_type(arrays, options)
            if dtype is None:
                return self.gufunc(*arrays, **options)
            gufunc: Any = self._of_types((dtype,))
            large = [x for x in arrays if type(x) is np.ndarray and x.size >= self.threaded_states]
            if large and (pieces := self._pieces(gufunc, dtype, arrays, options)) is not None:
                work, results = pieces
                run(work, thread_count())
                return results[0] if len(results) == 1 else results
            return gufunc(*arrays, **options)
        except (ValueError, TypeError) as refused:
            problem = explain(self.name, self.graph, arrays, options)
            if problem is None:
                raise
            raise problem from refused

    def _by_name(
        self, arrays: others.Arguments, options: dict[str, object]
    ) -> tuple[others.Arguments, dict[str, object]]:
        """Move inputs given by name to their places."""
        missing = [port.name for port in self.graph.inputs[len(arrays) :]]
        absent = [name for name in missing if name not in options]
        if len(absent) == len(missing):
            return arrays, options
        if absent:
            raise ArgumentError(f"{usage(self.name, self.graph)} was given no {', '.join(absent)}.")
        named = tuple(options[name] for name in missing)
        options_left = {key: value for key, value in options.items() if key not in missing}
        return (*arrays, *named), options_left

    def _number_type(self, arrays: others.Arguments, options: others.Options) -> str | None:
        """Return the type to compute in: float32 where all arrays are, else float64.

        Numbers of Python take the type of the arrays beside them. Integers compute in float64:
        NumPy alone would take float32 for those of 8 and 16 bits. None: NumPy has to choose, as for
        an unknown type, which may override the gufunc.
        """
        if not LOOPS_BY_HAND.isdisjoint(options):
            return None
        if not all(isinstance(array, NUMPY_TYPES) for array in arrays):
            return None
        if len(self.dtypes) == 1:
            return self.dtypes[0]
        kinds = {
            array.dtype.char if isinstance(array, SIZED) else np.asarray(array).dtype.char
            for array in arrays[: len(self.graph.inputs)]
            if type(array) not in ADAPTING
        }
        return "float32" if kinds == {FLOAT32} else "float64"

    def _pieces(
        self, gufunc: np.ufunc, dtype: str, arrays: others.Arguments, options: others.Options
    ) -> tuple[list[Callable[[], object]], tuple[Array, ...]] | None:
        """Return calls for parts of a large batch, and where they write.

        None where one call of NumPy has to do it: for one thread, for conversions of other types
        than floats, or where an output shares memory with another array.
        """
        count, graph = thread_count(), self.graph
        if count < 2 or options.keys() - {"out"} or len(arrays) != len(graph.inputs):
            return None
        if not all(type(x) is float or is_floating(x) for x in arrays):
            return None
        leads, shape = leading_axes(self.name, graph, arrays)
        if math.prod(shape) < self.threaded_states or not shape:
            return None
        given = options.get("out")
        if given is None:
            outs = tuple(np.empty((*shape, *port.shape), dtype) for port in graph.outputs)
        else:
            outs = cast("tuple[Array, ...]", given if isinstance(given, tuple) else (given,))
            if not separate(graph.outputs, shape, arrays, outs):
                return None
        axis = int(np.argmax(shape))  # the longest, the first of equals

        def piece(part: slice) -> Callable[[], object]:
            ins = [take(x, len(shape) - len(lead), axis, part, lead) for x, lead in zipped]
            into = tuple(take(x, 0, axis, part, shape) for x in outs)
            return lambda: gufunc(*ins, out=into)

        zipped = list(zip(arrays, leads, strict=True))
        return [piece(part) for part in cut(shape[axis], count * PIECES)], outs


def is_floating(x: object) -> bool:
    """Return True for a plain array of floating-point numbers."""
    return type(x) is np.ndarray and x.dtype.kind == "f"


def take(x: Any, missing: int, axis: int, part: slice, lead: tuple[int, ...]) -> Any:
    """Return a part of an array along an axis of the batch; all of it where it is broadcast."""
    own = axis - missing
    if own < 0 or lead[own] == 1:
        return x
    return x[(slice(None),) * own + (part,)]


def separate(
    ports: Sequence[Port], shape: tuple[int, ...], arrays: Sequence[object], outs: Sequence[object]
) -> bool:
    """Return True for outputs that fit, can be written, and share no memory with other arrays."""
    if len(outs) != len(ports):
        return False
    known = [x for x in arrays if isinstance(x, np.ndarray)]
    for port, out in zip(ports, outs, strict=True):
        if type(out) is not np.ndarray or out.shape != shape + port.shape:
            return False
        if not out.flags.writeable or any(np.may_share_memory(out, x) for x in known):
            return False
        known.append(out)
    return True


class Overload:
    """A call with one optional further argument, which a second, larger kernel takes.

    `call` is the general call of the smaller kernel, `inputs` the number of its arguments, `extra`
    the name of the further one. `make` makes the larger kernel at the first call that needs it.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        inputs: int,
        extra: str,
        make: Callable[[], Callable[..., Any]],
    ) -> None:
        self._call, self._inputs, self._extra, self._make = call, inputs, extra, make

    @cached_property
    def _larger(self) -> Callable[..., Any]:
        return self._make()

    def call(self, *arrays: object, **options: object) -> Any:
        """Evaluate with or without the further argument; None means that it is not given."""
        if self._extra in options and len(arrays) == self._inputs:
            arrays = (*arrays, options.pop(self._extra))
        if len(arrays) == self._inputs + 1 and arrays[-1] is None:
            arrays = arrays[:-1]
        if options.get(self._extra, 0) is None:
            del options[self._extra]
        larger = len(arrays) > self._inputs or self._extra in options
        return (self._larger if larger else self._call)(*arrays, **options)
