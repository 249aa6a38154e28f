"""Operation: a graph that can be differentiated again and again, each derivative a kernel.

For results y = f(x): `jvp` computes dy = (d f/d x) v from x and v in one forward pass, `vjp`
computes (d f/d x)^T w from x and w in one reverse pass. Both are operations themselves, so second
and higher derivatives come from the same two rules. Coordinates are differentiated as they stand in
the arrays, one number at a time: a quaternion has four slopes.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from kinetree.backends.cuda import CudaKernel
from kinetree.backends.dispatch import Dispatch
from kinetree.backends.kernel import Kernel
from kinetree.base.extras import need
from kinetree.compiler.derivatives import jvp, vjp
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.store import StoredGraph, encode
from kinetree.kernels.stored import kept_graph

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
        self.kept: dict[Any, Any] = {}  # what a package keeps for this operation

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
        return stored(self.graph).digest

    def dispatch(self, dtype: str) -> Dispatch:
        """The CPU's kernel for numbers of one type, which alone is compiled for it."""
        if dtype not in self._dispatches:
            made = Kernel(self.graph, self.name, dtypes=(dtype,))._dispatch
            self._dispatches.setdefault(dtype, made)
        return self._dispatches[dtype]

    def call(self, *arrays: Any, **options: Any) -> Any:
        """Evaluate on NumPy arrays of one type."""
        return self.dispatch(arrays[0].dtype.name).call(*arrays, **options)

    @cached_property
    def cuda(self) -> CudaKernel:
        """The same on a GPU, for arrays of CuPy."""
        need("cupy", "cuda", f"{self.name} on a GPU")
        return CudaKernel(self.graph, self.name)

    def __repr__(self) -> str:
        return self.name  # in programs that JAX prints

    def jvp(self, wrt: Wrt) -> "Operation":
        """(*inputs, a tangent for each input of wrt) -> a tangent for each output."""
        return self._derive("jvp", wrt, jvp)

    def vjp(self, wrt: Wrt) -> "Operation":
        """(*inputs, a cotangent for each output) -> a cotangent for each input of wrt."""
        return self._derive("vjp", wrt, vjp)

    def _derive(self, kind: str, wrt: Wrt, rule: Callable[..., Graph]) -> "Operation":
        """Two threads may both make it: the first one is kept."""
        key = (kind, wrt)
        if key not in self._derived:
            names = [self.inputs[k].name for k in wrt]
            known = [self.digest, kind, *names]
            graph = kept_graph(known, lambda: optimise(rule(self.graph, names)))
            source = (self, wrt) if kind == "jvp" else (None, ())
            made = Operation(graph, f"{kind}_of_{self.name}", *source)
            self._derived.setdefault(key, made)
        return self._derived[key]


def operation_of(dispatch: Dispatch) -> Operation:
    """The operation of a kernel, made when its first tensor arrives."""
    if dispatch.operation is None:
        made = Operation(dispatch.graph, dispatch.name)
        made._dispatches |= dict.fromkeys(dispatch.dtypes, dispatch)
        dispatch.operation = made
    return dispatch.operation


def stored(graph: Graph) -> StoredGraph:
    """The graph with a digest."""
    return graph if isinstance(graph, StoredGraph) else StoredGraph(encode(graph))
