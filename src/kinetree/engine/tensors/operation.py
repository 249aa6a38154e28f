"""Operation: a graph that can be differentiated again and again, each derivative a kernel.

For results y = f(x): `jvp` computes dy = (d f/d x) v from x and v in one forward pass, `vjp`
computes (d f/d x)^T w from x and w in one reverse pass. Both are operations themselves, so second
and higher derivatives come from the same two rules. Coordinates are differentiated as they are in
the arrays, one number at a time: a quaternion has four slopes.

The checks of arguments that all packages share are here too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call.arguments import ArgumentError, Lead, check_shapes, usage
from kinetree.engine.call.dispatch import Dispatch
from kinetree.engine.compiler.derivatives import jvp, vjp
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.store import digest
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.stored import kept_graph
from kinetree.errors import InputError, need

Wrt = tuple[int, ...]  # numbers of inputs, in rising order


class Operation:
    """A graph, its kernels on CPU and GPU, and the operations of its derivatives.

    A jvp knows its `primal` (the operation it is the derivative of) and `wrt`: it is linear in its
    last len(wrt) inputs, and its transpose with respect to them is `primal.vjp(wrt)`.
    """

    def __init__(
        self, graph: Graph, name: str, primal: "Operation | None" = None, wrt: Wrt = ()
    ) -> None:
        self.graph, self.name, self.primal, self.wrt = graph, name, primal, wrt
        self._derived: dict[tuple[str, Wrt], Operation] = {}
        self._dispatches: dict[str, Dispatch] = {}
        self.kept: dict[str, Callable[..., Any]] = {}  # forms that a package keeps, by name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The arguments."""
        return self.graph.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The results."""
        return self.graph.outputs

    @cached_property
    def digest(self) -> str:
        """A hash of the graph: equal for equal operations, in every process."""
        return digest(self.graph)

    def dispatch(self, dtype: str) -> Dispatch:
        """Return the CPU's kernel for numbers of one type; only this type is compiled."""
        if dtype not in self._dispatches:
            self.graph.check_type(dtype, self.name)
            kernel = Kernel(self.graph, self.name, dtypes=(dtype,))
            self._dispatches.setdefault(dtype, kernel._dispatch)
        return self._dispatches[dtype]

    def call(self, *arrays: Array, **options: object) -> Any:
        """Evaluate on NumPy arrays of one type."""
        return self.dispatch(arrays[0].dtype.name).call(*arrays, **options)

    @cached_property
    def cuda(self) -> CudaKernel:
        """The kernel on a GPU, for arrays of CuPy."""
        need("cupy", "cuda", f"{self.name} on a GPU")
        return CudaKernel(self.graph, self.name)

    def __repr__(self) -> str:
        return self.name  # shown in programs that JAX prints

    def jvp(self, wrt: Wrt) -> "Operation":
        """(*inputs, a tangent for each input of wrt) -> a tangent for each output."""
        return self._derive("jvp", wrt, jvp)

    def vjp(self, wrt: Wrt) -> "Operation":
        """(*inputs, a cotangent for each output) -> a cotangent for each input of wrt."""
        return self._derive("vjp", wrt, vjp)

    def _derive(self, kind: str, wrt: Wrt, rule: Callable[..., Graph]) -> "Operation":
        """Make the operation of a derivative. Two threads may both make it; the first is kept."""
        key = (kind, wrt)
        if key not in self._derived:
            names = [self.inputs[k].name for k in wrt]
            made_of = self.digest, kind, *names
            graph = kept_graph(made_of, lambda: optimise(rule(self.graph, names)))
            source = (self, wrt) if kind == "jvp" else (None, ())
            made = Operation(graph, f"{kind}_of_{self.name}", *source)
            self._derived.setdefault(key, made)
        return self._derived[key]


def operation_of(dispatch: Dispatch) -> Operation:
    """Return the operation of a kernel, made when its first tensor arrives."""
    if not isinstance(dispatch.operation, Operation):
        made = Operation(dispatch.graph, dispatch.name)
        made._dispatches |= dict.fromkeys(dispatch.dtypes, dispatch)
        dispatch.operation = made
    return dispatch.operation


FLOATS = ("float32", "float64")
INTEGER = re.compile(r"bool|u?int\d+")  # types that compute in float64
NUMBERS = (int, float, list, tuple)  # values of Python itself, which take on any type


def check_options(
    operation: Operation, arrays: Sequence[object], options: Mapping[str, object]
) -> None:
    """Raise an error for a wrong number of arrays, and for options that only NumPy has."""
    graph, name = operation.graph, operation.name
    unknown = ", ".join(options.keys() - {"out"})
    if unknown or len(arrays) != len(graph.inputs):
        what = f"the option {unknown}" if unknown else f"{len(arrays)} arrays"
        raise ArgumentError(
            f"{usage(name, graph)} was given {what}; with arrays that are not NumPy's it takes "
            f"{len(graph.inputs)} arrays and, where results can be written, out=."
        )


def check_call(
    operation: Operation, arrays: Sequence[object], options: Mapping[str, object]
) -> tuple[list[Lead], Lead]:
    """Return the axes of states of each array, and those that they broadcast to; check all."""
    check_options(operation, arrays, options)
    return check_shapes(operation.name, operation.graph, arrays, options)


def number_type(operation: Operation, types: Mapping[str, str]) -> str:
    """Return the type to compute in, from the type of each array by its argument's name.

    Floating arrays decide, and must agree: a float32 among float64 is mostly an oversight, which
    would double the memory of everything after it. Integers alone compute in float64.
    """
    floats = {name: kind for name, kind in types.items() if kind in FLOATS}
    if len(set(floats.values())) > 1:
        listed = ", ".join(f"{name} is {kind}" for name, kind in floats.items())
        raise InputError(
            f"the arguments of {operation.name} have different types: {listed}. "
            "Convert them to one type; kinetree converts nothing silently."
        )
    for name, kind in types.items():
        if kind not in FLOATS and not INTEGER.fullmatch(kind):
            raise InputError(
                f"{name} of {operation.name} is {kind}; kernels compute in float32 and float64. "
                "Convert it to one of them."
            )
    return next(iter(floats.values()), "float64")


def check_real(operation: Operation, name: str, x: object) -> None:
    """Raise InputError for text, complex numbers and ragged lists."""
    try:
        kind = np.asarray(x).dtype.kind
    except ValueError:
        kind = "O"
    if kind not in "biuf":
        written = repr(x)
        short = written if len(written) <= 80 else f"{written[:77]}..."
        raise InputError(f"{name} of {operation.name} is {short}; expected real numbers.")


def holds(x: object, kind: type) -> bool:
    """Return True if a list, or a list in it, has arrays of this type."""
    return any(holds(y, kind) for y in x) if isinstance(x, list | tuple) else isinstance(x, kind)


def refuse_kind(operation: Operation, name: str, array: object, package: str, remedy: str) -> None:
    """Raise InputError for an array of another package among those of this one."""
    home = type(array).__module__.partition(".")[0]
    kind = type(array).__name__ if home == "builtins" else f"{home}.{type(array).__name__}"
    raise InputError(
        f"{name} of {operation.name} is a {kind} among arrays of {package}; expected arrays of "
        f"one package. Convert it, e.g. with {remedy}."
    )
