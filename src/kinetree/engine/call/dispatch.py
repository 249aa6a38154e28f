"""The general call of a kernel: arrays of any kind, keywords, threads, clear errors.

Labelled arrays (dicts, data frames) are aligned by name, see `present/labels.py`. Arrays of torch,
JAX and CuPy go to a module of `kinetree.engine.tensors`, which is imported when the first of them
arrives: a package is recognised by the name of the array's type.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.containers import describe, has_labels, is_masked_type, label_kind, refuse_masked
from kinetree.engine.call.arguments import (
    ArgumentError,
    Lead,
    explain,
    in_order,
    leading_axes,
    usage,
)
from kinetree.engine.call.gufunc import InnerLoop, make_gufunc
from kinetree.engine.call.outside_torch import outside_torch
from kinetree.engine.call.threads import PIECES, cut, run, thread_count
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.errors import InputError
from kinetree.present.labels import Axes

Arguments = tuple[object, ...]
Options = Mapping[str, object]
# call(dispatch, arrays, options) -> results
SpecialCall = Callable[["Dispatch", Arguments, Options], object]

TENSORS = "kinetree.engine.tensors."
# modules of TENSORS by package of arrays; each has a function `make_call() -> SpecialCall`
PACKAGES = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy"}

# Operations in a batch above which threads pay, measured: starting them costs about 0.1 ms, and
# moving a number in or out of memory as much as some operations.
THREADED_OPERATIONS = 8_000_000
OPERATIONS_PER_NUMBER = 10

FLOAT32 = np.dtype(np.float32).char  # the same for both byte orders
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

    def gufunc(self, dtypes: tuple[str, ...]) -> np.ufunc:
        """The gufunc with the loops of some number types; NumPy wants the narrowest first.

        InputError where float32 alone is asked for, and numbers of the graph do not fit it; beside
        float64 it is left out then.
        """
        if dtypes not in self._gufuncs:
            graph = self.graph
            if len(dtypes) == 1:
                graph.check_type(dtypes[0], self.name)
            fitting = [dtype for dtype in dtypes if graph.fits_type(dtype)]
            loops = [self.loop(dtype) for dtype in sorted(fitting)]
            signature = core_signature(graph.inputs, graph.outputs, letters=False)
            sizes = len(graph.inputs), len(graph.outputs)
            made = make_gufunc(loops, *sizes, signature, self.name, self.doc)
            self._gufuncs.setdefault(dtypes, made)
        return self._gufuncs[dtypes]

    def call(self, *arrays: object, **options: object) -> Any:
        """Evaluate the kernel on arrays of any kind, broadcast over leading axes."""
        if options:
            if "out" in options:
                refuse_labelled_out(self.name, options["out"])
                if options["out"] is None:  # NumPy refuses it where there are several results
                    del options["out"]
            if len(arrays) < len(self.graph.inputs):
                arrays, options = in_order(self.name, self.graph, arrays, options)
        for array in arrays:
            if type(array) is not np.ndarray and type(array) is not float:
                if (call := call_for(arrays)) is not None:
                    return call(self, arrays, options)
                break
        try:
            return self._by_numpy(arrays, options)
        except (ValueError, TypeError) as refused:
            problem = explain(self.name, self.graph, arrays, options)
            if problem is None:
                raise
            raise problem from refused

    def _by_numpy(self, arrays: Arguments, options: Options) -> Any:
        dtype = self._number_type(arrays, options)
        gufunc: Any = self.gufunc(self.dtypes if dtype is None else (dtype,))
        if dtype is not None and any(
            type(x) is np.ndarray and x.size >= self.threaded_states for x in arrays
        ):
            results = self._by_threads(gufunc, dtype, arrays, options)
            if results is not None:
                return results[0] if len(results) == 1 else results
        return gufunc(*arrays, **options)

    def _number_type(self, arrays: Arguments, options: Options) -> str | None:
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

    def _by_threads(
        self, gufunc: np.ufunc, dtype: str, arrays: Arguments, options: Options
    ) -> tuple[Array, ...] | None:
        """Return the results of a large batch, of which threads compute pieces.

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
        run([piece(part) for part in cut(shape[axis], count * PIECES)], count)
        return outs


def is_floating(x: object) -> bool:
    """Return True for a plain array of floating-point numbers."""
    return type(x) is np.ndarray and x.dtype.kind == "f"


def take(x: Any, missing: int, axis: int, part: slice, lead: Lead) -> Any:
    """Return a part of an array along an axis of the batch; all of it where it is broadcast."""
    own = axis - missing
    if own < 0 or lead[own] == 1:
        return x
    return x[(slice(None),) * own + (part,)]


def separate(
    ports: Sequence[Port], shape: Lead, arrays: Sequence[object], outs: Sequence[object]
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


def with_optional(
    call: Callable[..., Any], inputs: int, extra: str, make: Callable[[], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a call with one optional further argument, which a second, larger kernel takes.

    Args:
        call: the general call of the smaller kernel.
        inputs: the number of its arguments.
        extra: name of the further one; None means that it is not given.
        make: makes the larger kernel, at the first call that needs it.
    """
    larger: list[Callable[..., Any]] = []  # torch.compile warns of functools.cache

    def either(*arrays: object, **options: object) -> Any:
        if extra in options and len(arrays) == inputs:
            arrays = (*arrays, options.pop(extra))
        if len(arrays) == inputs + 1 and arrays[-1] is None:
            arrays = arrays[:-1]
        if options.get(extra, 0) is None:
            del options[extra]
        if len(arrays) <= inputs and extra not in options:
            return call(*arrays, **options)
        if not larger:
            larger.append(make())
        return larger[0](*arrays, **options)

    return either


# Arrays that are not NumPy's

_known: dict[type, SpecialCall | None] = {}


def call_for(arrays: Arguments) -> SpecialCall | None:
    """Return the function for a call: labels come first, then the first package of tensors."""
    if any(map(has_labels, arrays)):
        return call_by_name
    calls = (call_of_type(type(array)) for array in arrays)
    return next((call for call in calls if call is not None), None)


def call_of_type(kind: type) -> SpecialCall | None:
    """Return the function for arrays of this type or of a class derived from it; None: NumPy."""
    if kind not in _known:
        homes = (base.__module__.partition(".")[0] for base in kind.__mro__)
        module = next((PACKAGES[home] for home in homes if home in PACKAGES), None)
        special: SpecialCall | None = call_unmasked if is_masked_type(kind) else None
        if module is not None and label_kind(kind) is None:
            special = import_module(f"{TENSORS}{module}").make_call()
        _known[kind] = special
    return _known[kind]


@outside_torch
def call_by_name(dispatch: Dispatch, arrays: Arguments, options: Options) -> object:
    """Evaluate a kernel on labelled arguments: aligned by name, the results labelled alike."""
    from kinetree.present.labels import Alignment

    graph, axes = dispatch.graph, dispatch.axes
    if options.get("out") is not None or {"axes", "axis"} & options.keys():
        raise InputError(
            f"{dispatch.name} with labelled arguments makes labelled results of its own; out= and "
            "axes= are for plain arrays."
        )
    names = [port.name for port in graph.inputs]
    if len(arrays) != len(names):
        raise ArgumentError(f"{usage(dispatch.name, graph)} was given {len(arrays)} arguments.")
    unnamed = (None,) * len(names), [(None,) * len(x.shape) for x in graph.outputs]
    inputs, outputs = axes or unnamed
    alignment = Alignment(list(zip(arrays, inputs, names, strict=True)))
    computed = dispatch.call(*alignment.values, **options)
    results = computed if isinstance(computed, tuple) else (computed,)
    ports = zip(results, outputs, graph.outputs, strict=True)
    labelled = tuple(alignment.label(x, along, port.name) for x, along, port in ports)
    return labelled if isinstance(computed, tuple) else labelled[0]


def call_unmasked(dispatch: Dispatch, arrays: Arguments, options: Options) -> object:
    """Evaluate a kernel on masked arrays of which no entry is masked; refuse others."""
    for port, array in zip(dispatch.graph.inputs, arrays, strict=False):
        refuse_masked(array, port.name)
    plain = (np.asarray(x) if is_masked_type(type(x)) else x for x in arrays)
    return dispatch.call(*plain, **options)


def refuse_labelled_out(name: str, out: object) -> None:
    """Raise InputError if results would be written by position under names of the caller."""
    for array in out if isinstance(out, tuple) else (out,):
        if has_labels(array):
            raise InputError(
                f"out of {name} is {describe(array)}; expected a plain array, since results are "
                "written in the order of the robot. Labelled arguments make labelled results."
            )
