"""Derivatives of graphs: forward and reverse mode, sparse, with everything shared.

The graph is built again next to its derivatives in one builder, so a sine that a value and its
derivative both need exists once. Forward mode carries for each node its slopes along the directions
that it depends on and no others; reverse mode carries the slope of one output along each node.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.compiler.builder import Builder
from kinetree.compiler.collection import no_collection
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.partials import PARTIALS
from kinetree.compiler.prune import prune
from kinetree.compiler.trace import TracedScalar
from kinetree.errors import GraphError, InputError, NameLookupError

# name of an input -> from its traced array the directions to differentiate along, (size, k)
Along = Mapping[str, Callable[[Any], Any]]
Slopes = dict[int, Any]


@dataclass(frozen=True, eq=False)
class Replay:
    """A graph built again: its builder, and a traced scalar for each of its nodes."""

    graph: Graph
    builder: Builder
    values: list[TracedScalar]
    partials: list[tuple[Any, ...] | None]

    def read(self, port: int) -> list[TracedScalar]:
        """The elements of one input."""
        size = self.graph.inputs[port].size
        return [self.traced(self.builder.input(port, k)) for k in range(size)]

    def traced(self, node: int) -> TracedScalar:
        """A node of the builder as a scalar."""
        return TracedScalar(self.builder, node)

    def finish(
        self, outputs: Sequence[tuple[Port, Sequence[Any]]], more: Sequence[Port] = ()
    ) -> Graph:
        """The graph of the given results; numbers among them become constants."""
        results = [[self._node(x) for x in values] for _, values in outputs]
        ports = [port for port, _ in outputs]
        return prune(self.builder.graph([*self.graph.inputs, *more], ports, results))

    def _node(self, x: Any) -> int:
        return x.node if isinstance(x, TracedScalar) else self.builder.constant(float(x))


def replay(graph: Graph) -> Replay:
    """The graph in a new builder; fused operations come apart, and partials stand beside it."""
    builder = Builder()
    values: list[TracedScalar] = []
    partials: list[tuple[Any, ...] | None] = []
    for node in graph.nodes:
        args = [values[arg] for arg in node.args]
        if node.op == "const":
            number = builder.constant(node.value)  # type: ignore[arg-type]
        elif node.op == "input":
            number = builder.input(*node.value)  # type: ignore[misc]
        elif node.op in APART:
            number = APART[node.op](*args).node
        else:
            number = builder.apply(node.op, tuple(arg.node for arg in args))
        values.append(TracedScalar(builder, number))
        partials.append(PARTIALS[node.op](*args, values[-1]) if args else None)
    return Replay(graph, builder, values, partials)


APART: dict[str, Callable[..., TracedScalar]] = {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}


def forward(run: Replay, seeds: Mapping[tuple[int, int], Slopes]) -> list[Slopes]:
    """Slopes of every node along the directions of the seeds, (input, element) -> slopes."""
    slopes: list[Slopes] = []
    for node, partials in zip(run.graph.nodes, run.partials, strict=True):
        own: Slopes = {}
        if node.op == "input":
            own = dict(seeds.get(node.value, {}))  # type: ignore[arg-type]
        elif partials is not None:
            for arg, partial in zip(node.args, partials, strict=True):
                for k, slope in slopes[arg].items():
                    add(own, k, partial * slope)
        slopes.append(own)
    return slopes


def reverse(run: Replay, seeds: Mapping[int, Any]) -> dict[tuple[int, int], Any]:
    """Slopes of the seeded nodes' weighted sum along every input element that it depends on."""
    slopes: Slopes = dict(seeds)
    found: dict[tuple[int, int], Any] = {}
    for i in reversed(range(len(run.graph.nodes))):
        slope, node = slopes.pop(i, None), run.graph.nodes[i]
        if slope is None:
            continue
        if node.op == "input":
            add(found, node.value, slope)  # type: ignore[arg-type]
        for arg, partial in zip(node.args, run.partials[i] or (), strict=True):
            if run.graph.nodes[arg].op != "const":
                add(slopes, arg, partial * slope)
    return found


def add(slopes: dict[Any, Any], key: Any, slope: Any) -> None:
    """Add to an entry; what is known to be zero makes none."""
    known = slope.builder.numbers[slope.node] if isinstance(slope, TracedScalar) else slope
    if known != 0 or known is None:
        slopes[key] = slopes[key] + slope if key in slopes else slope


@no_collection()
def jacobian(
    graph: Graph,
    wrt: Sequence[str] | None = None,
    *,
    mode: str = "auto",
    along: Along | None = None,
) -> Graph:
    """d output/d input for every output and every input of `wrt` (all when None).

    Args:
        graph: what is differentiated.
        wrt: names of inputs.
        mode: "forward", "reverse", or "auto": reverse where there are fewer results than arguments.
        along: directions (size, k) for some inputs instead of their elements, made of the input's
            traced elements; the last axis of the result then counts the directions.

    Returns:
        A graph with one output for each pair, shape (*output.shape, *input.shape).
    """
    if mode not in ("auto", "forward", "reverse"):
        raise InputError(f"mode is {mode!r}; expected 'auto', 'forward' or 'reverse'.")
    ports = find_ports(graph, wrt)
    run = replay(graph)
    bases = [_directions(run, p, (along or {}).get(graph.inputs[p].name)) for p in ports]
    arguments = sum(len(basis[0]) for basis in bases)
    if mode == "auto":
        mode = "reverse" if sum(map(len, graph.results)) < arguments else "forward"
    rows = (_by_reverse if mode == "reverse" else _by_forward)(run, ports, bases)
    outputs = []
    for out, port in enumerate(graph.outputs):
        for p, basis in zip(ports, bases, strict=True):
            values = [x for row in rows[out, p] for x in row]
            outputs.append((_pair(port, graph.inputs[p], len(basis[0]), along), values))
    return run.finish(outputs)


def _directions(run: Replay, port: int, make: Callable[[Any], Any] | None) -> list[list[Any]]:
    """Rows over the elements of an input, columns over the directions."""
    size = run.graph.inputs[port].size
    if make is None:
        return [[int(a == b) for b in range(size)] for a in range(size)]
    elements = np.empty(size, object)
    elements[:] = run.read(port)
    return [list(row) for row in np.asarray(make(elements.reshape(run.graph.inputs[port].shape)))]


def _by_forward(run: Replay, ports: list[int], bases: list[list[list[Any]]]) -> dict[Any, Any]:
    seeds: dict[tuple[int, int], Slopes] = {}
    first, starts = 0, {}
    for p, basis in zip(ports, bases, strict=True):
        starts[p] = range(first, first + len(basis[0]))
        for element, row in enumerate(basis):
            seeds[p, element] = {}
            for k, x in enumerate(row):
                add(seeds[p, element], first + k, x)
        first = starts[p].stop
    slopes = forward(run, seeds)
    return {
        (out, p): [[slopes[node].get(k, 0) for k in starts[p]] for node in result]
        for out, result in enumerate(run.graph.results)
        for p in ports
    }


def _by_reverse(run: Replay, ports: list[int], bases: list[list[list[Any]]]) -> dict[Any, Any]:
    rows: dict[Any, Any] = {(out, p): [] for out in range(len(run.graph.results)) for p in ports}
    for out, result in enumerate(run.graph.results):
        for node in result:
            found = reverse(run, {node: 1})
            for p, basis in zip(ports, bases, strict=True):
                row: Slopes = {}
                for element, weights in enumerate(basis):
                    for k, x in enumerate(weights):
                        add(row, k, found.get((p, element), 0) * x)
                rows[out, p].append([row.get(k, 0) for k in range(len(basis[0]))])
    return rows


def _pair(output: Port, given: Port, count: int, along: Along | None) -> Port:
    """The port of d output/d given; letters where both have them."""
    name = f"d{output.name}_d{given.name}"
    if given.name in (along or {}):
        return Port(name, (*output.shape, count))
    lettered = len(output.dims) == len(output.shape) and len(given.dims) == len(given.shape)
    dims = (*output.dims, *given.dims) if lettered else ()
    return Port(name, (*output.shape, *given.shape), dims)


def find_ports(graph: Graph, wrt: Sequence[str] | None) -> list[int]:
    """Numbers of the inputs of these names, all when None."""
    names = [port.name for port in graph.inputs]
    if wrt is None:
        return list(range(len(names)))
    if not wrt:
        raise InputError(f"wrt is empty; expected some of the inputs {', '.join(names)}.")
    for k, name in enumerate(wrt):
        if name not in names:
            raise NameLookupError(f"there is no input {name!r}; the inputs are {', '.join(names)}.")
        if name in wrt[:k]:
            raise InputError(f"wrt has {name!r} twice; name it once.")
    return [names.index(name) for name in wrt]


def scalar_output(graph: Graph) -> int:
    """The node of the one number that the graph computes."""
    roots = list(graph.roots())
    if len(roots) != 1:
        shapes = ", ".join(f"{port.name} {port.shape}" for port in graph.outputs)
        raise GraphError(
            f"a gradient belongs to one number, but the graph computes {shapes}. Ask for the "
            "Jacobian, or for the product of a cotangent with it."
        )
    return roots[0]
