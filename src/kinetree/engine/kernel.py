"""Kernel: a compiled graph that is called like the function it came from.

A single state enters machine code directly (fast_entry.py); everything else, and every other
Python, goes through a real NumPy gufunc (dispatch.py).
"""

import functools
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinetree.core.system import once
from kinetree.engine.call import c_api, vectorcall
from kinetree.engine.call.dispatch import Dispatch, core_signature, with_optional
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.compiled_graph import CompiledGraph
from kinetree.errors import CompileError, GraphError, InputError
from kinetree.present.labels import Axes

if TYPE_CHECKING:
    from kinetree.engine.compiler.sparse import SparsePattern

log = logging.getLogger(__name__)

DTYPES = ("float64", "float32")
LONGEST_COMPILED = 300_000  # nodes of a graph; about 15 s to compile
TOO_LONG = "kinetree interprets %s, slowly: its %d operations would take too long to compile"
More = tuple[str, Callable[[], Callable[..., Any]]]


@dataclass(frozen=True, eq=False)
class PublicCall:
    """A function with options in front of a kernel, and how it is shown and pickled."""

    call: Callable[..., Any]
    doc: str
    signature: inspect.Signature
    reduced: tuple[Any, ...]


class Kernel:
    """A graph, compiled. `kernel(*arrays, out=None, ...)` broadcasts over leading axes.

    Args:
        graph: what to compute, best after `compiler.optimise`.
        name: the name in messages and of the gufunc.
        doc: documentation string.
        dtypes: number types to offer; float32 is compiled at the first call that needs it.
        more: the name of a further argument, and a function that makes the kernel that takes it.
        axes: names along the axes of inputs and outputs, for labelled arguments.

    Attributes:
        graph, name, dtypes, axes: as given; the number types in the order of DTYPES.
        signature: core dimensions by their letters: "(n),(n),(n)->(n)".
    """

    _public: PublicCall | None = None

    def __new__(cls, graph: Graph, *given: Any, **options: Any) -> Self:
        """Make a kernel that is entered in machine code where Python, NumPy and LLVM allow it."""
        dtypes = given[2] if len(given) > 2 else options.get("dtypes", DTYPES)
        if cls is Kernel and "float64" in dtypes and c_api.trusted() and is_compiled(graph):
            return object.__new__(direct_kernel())  # type: ignore[return-value]
        return object.__new__(cls)

    def __init__(
        self,
        graph: Graph,
        name: str = "kernel",
        doc: str = "",
        dtypes: tuple[str, ...] = DTYPES,
        more: More | None = None,
        axes: Axes | None = None,
    ) -> None:
        if not dtypes or not set(dtypes) <= set(DTYPES):
            raise InputError(f"dtypes of {name} is {dtypes!r}; expected some of {DTYPES}.")
        check_ports(graph, name)
        dtypes = tuple(dtype for dtype in DTYPES if dtype in dtypes)
        self._given = (graph, name, doc, dtypes, more, axes)
        self.graph, self.name, self.dtypes, self.axes = graph, name, dtypes, axes
        self.signature = core_signature(graph.inputs, graph.outputs, letters=True)
        self.__name__, self.__doc__ = name, doc or f"{name}: {self.signature}"
        self._programs = CompiledGraph(graph) if is_compiled(graph) else None
        if self._programs is not None:
            loop = self._programs.loop
        else:
            from kinetree.engine.interpreted import interpreted_loop

            if graph.length > LONGEST_COMPILED:
                log.warning(TOO_LONG, name, graph.length)
            loop = functools.partial(interpreted_loop, graph)
        self._dispatch = Dispatch(graph, name, self.__doc__, dtypes, loop, axes)
        general = self._dispatch.call
        if more is not None:
            general = with_optional(general, len(graph.inputs), *more)
        self._enter_by(general)

    def _enter_by(self, general: Callable[..., Any]) -> None:
        """Give calls that the fast entry does not take to `general`, which is kept alive."""
        self._general = general
        if type(self) is not Kernel:
            vectorcall.set_entry(self, self._compiled.entry(), general)

    def __call__(self, *arrays: object, **options: object) -> Any:
        """Evaluate on arrays of shape (..., *port.shape), with the options of a NumPy ufunc."""
        return self._general(*arrays, **options)

    @property
    def gufunc(self) -> np.ufunc:
        """The real NumPy gufunc, with all its loops.

        It follows NumPy's rules for types, by which integers of 8 and 16 bits compute in float32.
        A call of the kernel computes in float32 only where all arrays are float32.
        """
        return self._dispatch.gufunc(self.dtypes)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature that `help` and editors show."""
        if self._public is not None:
            return self._public.signature
        more = self._given[4]
        names = [port.name for port in self.graph.inputs]
        return signature_of(*names, extra=None if more is None else more[0])

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; sine and cosine are not counted."""
        return self.graph.operations

    @property
    def pattern(self) -> "SparsePattern":
        """The places of the values of a kernel that was made with `sparse=True`."""
        from kinetree.engine.compiler.sparse import pattern_of  # most kernels are dense

        return pattern_of(self.graph, self.name)

    @property
    def ir(self) -> str:
        """The float64 code as LLVM IR."""
        return self._compiled.text(self.dtypes[0])

    @property
    def assembly(self) -> str:
        """The float64 code in the assembly language of this machine."""
        return self._compiled.assembly(self.dtypes[0])

    @property
    def _compiled(self) -> CompiledGraph:
        if self._programs is None:
            raise CompileError(
                f"{self.name} is interpreted, so it has no machine code: llvmlite is missing, or "
                f"its graph has more than {LONGEST_COMPILED:,} operations."
            )
        return self._programs

    def __repr__(self) -> str:
        return f"<Kernel {self.name}{self.signature}, {self.operations} operations>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Kernel, self._given) if self._public is None else self._public.reduced

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nothing in a kernel ever changes


def with_public_call(kernel: Kernel, public: PublicCall) -> Kernel:
    """Return the same code for single states, with a function that takes all other calls."""
    made = object.__new__(type(kernel))
    vars(made).update(vars(kernel), _public=public, __doc__=public.doc)
    made._enter_by(public.call)
    return made


def signature_of(*names: str, extra: str | None = None) -> inspect.Signature:
    """Return the signature of a kernel with the inputs `names` and perhaps a further one."""
    kinds = inspect.Parameter
    parameters = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in names]
    if extra is not None:
        parameters.append(kinds(extra, kinds.POSITIONAL_OR_KEYWORD, default=None))
    out = kinds("out", kinds.KEYWORD_ONLY, default=None)
    return inspect.Signature([*parameters, out, kinds("options", kinds.VAR_KEYWORD)])


def check_ports(graph: Graph, name: str) -> None:
    """Raise GraphError for a graph that cannot be a gufunc: no inputs, or a dimension of size 0."""
    if not graph.inputs or not graph.outputs:
        raise GraphError(f"{name} has no {'outputs' if graph.inputs else 'inputs'}; one is needed.")
    for port in (*graph.inputs, *graph.outputs):
        if 0 in port.shape:
            raise GraphError(
                f"{port.name} of {name} has shape {port.shape}; expected at least one number. "
                "A quantity without elements needs no kernel."
            )


@once
def direct_kernel() -> type[Kernel]:
    """Return the class of kernels whose call is machine code from its first instruction."""
    return vectorcall.entered_in_code(Kernel, "DirectKernel")


def llvm_problem() -> Exception | None:
    """Return the reason why LLVM cannot be used; None if it can."""
    try:
        engine.binding()
    except (ImportError, OSError) as problem:
        return problem
    return None


def is_compiled(graph: Graph) -> bool:
    """Return True if a graph is compiled: LLVM is there, and the graph is not too long."""
    return has_llvm() and graph.length <= LONGEST_COMPILED


def has_llvm() -> bool:
    """Return True if LLVM can be used; warn the first time that it cannot."""
    problem = llvm_problem()
    if problem is not None:
        from kinetree.engine.interpreted import warn_once

        warn_once(problem)
    return problem is None
