"""TracedLaw: a function of the user as a value, the graph of what it computed when it was given.

A function may read a gain that changes later. Its graph does not: two laws with equal graphs are
equal, in one process and in another, and a law gives the same numbers for ever. It is computed on
floats, and on every other kind of scalar (traced scalars, symbols, mpmath numbers, dual numbers).
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import exact_constant, gather, interpret, parted, run
from kinetree.engine.compiler.store import digest
from kinetree.engine.compiler.trace import guarded, trace

AGREE = 1e-6  # of the largest result: rounding is far below, another formula far above
ROUNDING = 1e-12  # of the largest intermediate number: thousands of operations, each within 1e-16


@dataclass(frozen=True, eq=False)
class TracedLaw:
    """A function as its graph; it compares and hashes by the graph with all its constants.

    Args:
        graph: what the function computes.
        name: of the function, for messages.
        several: whether the function returns a tuple.
    """

    graph: Graph
    name: str = "law"
    several: bool = field(default=False)

    @cached_property
    def digest(self) -> str:
        """A hash of the graph, the same in every process."""
        return digest(self.graph)

    @property
    def __signature__(self) -> inspect.Signature:
        ports = [port.name for port in self.graph.inputs]
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature([inspect.Parameter(name, kind) for name in ports])

    @property
    def __name__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TracedLaw):
            return NotImplemented
        return self.several == other.several and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        arguments = ", ".join(port.name for port in self.graph.inputs)
        return f"<law {self.name}({arguments}), {self.graph.operations} operations>"

    def __call__(self, *args: Any) -> Any:
        """Return what the function returns: a number, an array, or a tuple of these."""
        results = [x[()] if x.ndim == 0 else x for x in self.parts(*args)]
        return tuple(results) if self.several else results[0]

    def parts(self, *args: Any) -> tuple[Array, ...]:
        """Return the results as arrays, in the arithmetic of the arguments."""
        boxes = [x if isinstance(x, float | np.ndarray) else _boxed(x) for x in args]
        if not any(isinstance(x, np.ndarray) and x.dtype == object for x in boxes):
            return interpret(self.graph, *boxes)
        arrays = [np.asarray(x, object) for x in boxes]
        rows = [x.ravel().tolist() for x in arrays]
        values = run(self.graph, rows, exact_constant(arrays))
        return self._shaped(values, object)

    def compare(self, results: Sequence[Array], *args: Any) -> bool:
        """Return True if results for floats are those of the graph, up to rounding.

        Rounding grows with the largest intermediate number, not with the result, which may be a
        small difference of large numbers; it counts as at least 1, since a graph knows that
        sin^2 + cos^2 - 1 is 0. Where the graph has no finite numbers, as at a singular
        state, nothing is compared.
        """
        rows = [np.ravel(x).tolist() for x in args]
        try:
            values = run(self._everything, rows, float)
            largest = max(map(abs, [1.0, *values]))
        except (ArithmeticError, ValueError):
            return True
        if not math.isfinite(largest):
            return True
        traced = self._shaped([values[node] for node in self.graph.roots()], float)
        return not differs(results, traced, AGREE, ROUNDING * largest)

    @cached_property
    def _everything(self) -> Graph:
        """The graph with all its nodes as results."""
        return self.graph.with_nodes(self.graph.nodes, (tuple(range(len(self.graph.nodes))),))

    def _shaped(self, values: Sequence[Any], dtype: type) -> tuple[Array, ...]:
        """The elements of all results as arrays."""
        parts = zip(self.graph.outputs, parted(self.graph.outputs, values), strict=True)
        return tuple(gather(port, part, (), np.dtype(dtype)) for port, part in parts)


def _boxed(x: Any) -> Array:
    """A scalar of any kind as an array without axes; what is an array already as an array."""
    if isinstance(x, np.generic | list | tuple):
        return np.asarray(x)
    box = np.empty((), object)
    box[()] = x
    return box


def traced_law(function: Callable[..., Any], ports: Sequence[Port], name: str = "") -> TracedLaw:
    """Trace a function of arrays, as it is now; raise what it raises for traced scalars."""
    several = False

    def parts(*args: Any) -> Any:
        nonlocal several
        returned = function(*map(guarded, args))
        several = isinstance(returned, tuple)
        return returned

    graph = trace(parts, ports)
    return TracedLaw(graph, name or law_name(function), several)


def law_name(function: object) -> str:
    """Return the name of a function, or of the class of an object."""
    return str(getattr(function, "__name__", type(function).__name__))


def differs(
    results: Sequence[Array], expected: Sequence[Array], agree: float, rounding: float
) -> bool:
    """Return True if results differ by more than `agree` of the largest, and than `rounding`.

    NaN and infinity equal themselves.
    """
    if len(results) != len(expected):
        return True
    for x, y in zip(results, expected, strict=True):
        x, y = np.asarray(x, float), np.asarray(y, float)
        if x.shape != y.shape:
            return True
        largest = np.abs(y[np.isfinite(y)]).max(initial=0)
        with np.errstate(invalid="ignore"):
            near = abs(x - y) <= agree * largest + rounding
        if not (near | (x == y) | (np.isnan(x) & np.isnan(y))).all():
            return True
    return False
