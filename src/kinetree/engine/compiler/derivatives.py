"""Derivatives of graphs: Jacobians, products with vectors, gradients and second derivatives.

The graph is built again next to its derivatives in one builder, so a sine that a value and its
derivative both need exists once. Forward mode carries for each node its tangents along the
directions that it depends on and no others; reverse mode carries the adjoint of each node for one
output.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.graph import LOOPS, Graph, Port, no_collection, prune
from kinetree.engine.compiler.ops import FUSED, OPERATIONS
from kinetree.engine.compiler.trace import TracedScalar
from kinetree.errors import GraphError, InputError, NameLookupError

Derivative = TracedScalar | float
Tangents = dict[int, Derivative]
Element = tuple[int, int]  # (input, element)
Basis = list[list[Derivative]]  # rows over the elements of an input, columns over the directions
Rows = dict[tuple[int, int], list[list[Derivative]]]  # (output, input) -> d output/d input
Outputs = list[tuple[Port, Sequence[Derivative]]]
Key = TypeVar("Key", int, tuple[int, int])

# name of an input -> function of its traced array that gives the directions to differentiate
# along, (size, k)
Along = Mapping[str, Callable[[Array], Array]]


@no_collection()
def jacobian(
    graph: Graph,
    wrt: Sequence[str] | None = None,
    *,
    mode: str = "auto",
    along: Along | None = None,
) -> Graph:
    """Differentiate every output by every input of `wrt` (all when None).

    Args:
        graph: the graph to differentiate.
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
    run, along = replay(graph), along or {}
    bases = [_directions(run, p, along.get(graph.inputs[p].name)) for p in ports]
    arguments = sum(len(basis[0]) for basis in bases)
    if mode == "auto":
        mode = "reverse" if sum(map(len, graph.results)) < arguments else "forward"
    rows = (_by_reverse if mode == "reverse" else _by_forward)(run, ports, bases)
    outputs: Outputs = []
    for out, port in enumerate(graph.outputs):
        for p, basis in zip(ports, bases, strict=True):
            values = [x for row in rows[out, p] for x in row]
            outputs.append((_pair(port, graph.inputs[p], len(basis[0]), along), values))
    return run.finish(outputs)


def jvp(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Multiply d outputs/d inputs with a tangent, in one forward pass.

    The graph gets a further input `v_<name>` for each input of `wrt`, shaped like it; its outputs
    are shaped like the old ones.
    """
    ports = find_ports(graph, wrt)
    run = replay(graph)
    more = _more(graph, [graph.inputs[p] for p in ports], "v")
    seeds: dict[Element, Tangents] = {}
    for k, p in enumerate(ports):
        for element in range(graph.inputs[p].size):
            seeds[p, element] = {0: run.input(len(graph.inputs) + k, element)}
    tangents = forward(run, seeds)
    outputs: Outputs = [
        (
            Port(f"d{port.name}", port.shape, port.dims),
            [tangents[node].get(0, 0) for node in result],
        )
        for port, result in zip(graph.outputs, graph.results, strict=True)
    ]
    return run.finish(outputs, more)


def vjp(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Multiply a cotangent with d outputs/d inputs, in one reverse pass.

    The graph gets a further input `w_<name>` for each output, shaped like it; its outputs are
    shaped like the inputs of `wrt`.
    """
    ports = find_ports(graph, wrt)
    run = replay(graph)
    more = _more(graph, graph.outputs, "w")
    seeds: Tangents = {}
    for k, result in enumerate(graph.results):
        for element, node in enumerate(result):
            add(seeds, node, run.input(len(graph.inputs) + k, element))
    return run.finish(_gathered(graph, ports, reverse(run, seeds)), more)


def gradient(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Differentiate a graph of one number; the results are shaped like the inputs of `wrt`."""
    roots = list(graph.roots())
    if len(roots) != 1:
        shapes = ", ".join(f"{port.name} {port.shape}" for port in graph.outputs)
        raise GraphError(
            f"a gradient belongs to one number, but the graph computes {shapes}. Ask for the "
            "Jacobian, or for the product of a cotangent with it."
        )
    run = replay(graph)
    return run.finish(_gathered(graph, find_ports(graph, wrt), reverse(run, {roots[0]: 1})))


def hessian(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Differentiate one number twice: d gradient/d inputs, for every pair of `wrt`."""
    names = [graph.inputs[p].name for p in find_ports(graph, wrt)]
    return jacobian(gradient(graph, names), names, mode="forward")


def hessian_vector(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Multiply the second derivatives of one number with a vector: forward over reverse mode.

    Further inputs `v_<name>` as in `jvp`; outputs shaped like the inputs of `wrt`.
    """
    names = [graph.inputs[p].name for p in find_ports(graph, wrt)]
    return jvp(gradient(graph, names), names)


@dataclass(frozen=True, eq=False)
class Replay:
    """A graph built again: its builder, and for each node a traced scalar and its partials."""

    graph: Graph
    builder: Builder
    values: list[TracedScalar]
    partials: list[tuple[Derivative, ...] | None]

    def input(self, port: int, element: int) -> TracedScalar:
        """Return an element of an input as a scalar."""
        return TracedScalar(self.builder, self.builder.input(port, element))

    def finish(self, outputs: Outputs, more: Sequence[Port] = ()) -> Graph:
        """Return the graph of the given results; numbers among them become constants."""
        results = [[self._node(x) for x in values] for _, values in outputs]
        ports = [port for port, _ in outputs]
        return prune(self.builder.graph([*self.graph.inputs, *more], ports, results))

    def _node(self, x: Derivative) -> int:
        return x.node if isinstance(x, TracedScalar) else self.builder.constant(float(x))


def replay(graph: Graph) -> Replay:
    """Build the graph again, with the partial derivatives of each of its nodes."""
    builder = Builder()
    values: list[TracedScalar] = []
    partials: list[tuple[Derivative, ...] | None] = []
    for node in graph.nodes:
        args = [values[arg] for arg in node.args]
        if node.op == "repeat" and not node.sweep.solves:
            raise GraphError(
                f"{graph.outputs[0].name} is computed by a loop (kinetree.core.repeat), which has "
                "no derivative. Differentiate the equations that it solves instead: their solution "
                "changes by the implicit function theorem."
            )
        if node.op == "const":
            number = builder.constant(node.number)
        elif node.op == "input":
            number = builder.input(*node.place)
        elif node.op in FUSED:  # apart, so that their products are shared with the derivatives
            number = OPERATIONS[node.op].scalar(*args).node
        else:
            value = node.value if node.op in LOOPS else None
            number = builder.apply(node.op, tuple(arg.node for arg in args), value)
        values.append(TracedScalar(builder, number))
        if node.op in LOOPS:  # constant
            partials.append((0.0,) * len(args))
        else:
            partials.append(OPERATIONS[node.op].partials(*args, values[-1]) if args else None)
    return Replay(graph, builder, values, partials)


def forward(run: Replay, seeds: Mapping[Element, Tangents]) -> list[Tangents]:
    """Compute the tangents of every node along the directions of the seeds."""
    # sparse: a node has entries only for the directions that it depends on
    tangents: list[Tangents] = []
    for node, partials in zip(run.graph.nodes, run.partials, strict=True):
        node_tangents: Tangents = {}
        if node.op == "input":
            node_tangents = dict(seeds.get(node.place, {}))
        elif partials is not None:
            for arg, partial in zip(node.args, partials, strict=True):
                for k, tangent in tangents[arg].items():
                    add(node_tangents, k, partial * tangent)
        tangents.append(node_tangents)
    return tangents


def reverse(run: Replay, seeds: Mapping[int, Derivative]) -> dict[Element, Derivative]:
    """Compute the adjoints of the inputs on which the weighted sum of the seeded nodes depends."""
    # Nodes from the last to the first: when a node comes up, all that use it have added their
    # share, so its adjoint is complete and can be dropped.
    adjoints: Tangents = dict(seeds)
    input_adjoints: dict[Element, Derivative] = {}
    for i in reversed(range(len(run.graph.nodes))):
        adjoint, node = adjoints.pop(i, None), run.graph.nodes[i]
        if adjoint is None:
            continue
        if node.op == "input":
            add(input_adjoints, node.place, adjoint)
        for arg, partial in zip(node.args, run.partials[i] or (), strict=True):
            if run.graph.nodes[arg].op != "const":
                add(adjoints, arg, partial * adjoint)
    return input_adjoints


def add(sums: dict[Key, Derivative], key: Key, value: Derivative) -> None:
    """Add to an entry; a value that is known to be zero makes no entry."""
    known = value.builder.numbers[value.node] if isinstance(value, TracedScalar) else value
    if known != 0 or known is None:
        sums[key] = sums[key] + value if key in sums else value


def _directions(run: Replay, port: int, make: Callable[[Array], Array] | None) -> Basis:
    shape, size = run.graph.inputs[port].shape, run.graph.inputs[port].size
    if make is None:
        return [[int(a == b) for b in range(size)] for a in range(size)]
    elements = np.empty(size, object)
    elements[:] = [run.input(port, k) for k in range(size)]
    return [list(row) for row in np.asarray(make(elements.reshape(shape)))]


def _by_forward(run: Replay, ports: list[int], bases: list[Basis]) -> Rows:
    seeds: dict[Element, Tangents] = {}
    first, starts = 0, dict[int, range]()
    for p, basis in zip(ports, bases, strict=True):
        starts[p] = range(first, first + len(basis[0]))
        for element, row in enumerate(basis):
            seeds[p, element] = {}
            for k, x in enumerate(row):
                add(seeds[p, element], first + k, x)
        first = starts[p].stop
    tangents = forward(run, seeds)
    return {
        (out, p): [[tangents[node].get(k, 0) for k in starts[p]] for node in result]
        for out, result in enumerate(run.graph.results)
        for p in ports
    }


def _by_reverse(run: Replay, ports: list[int], bases: list[Basis]) -> Rows:
    rows: Rows = {(out, p): [] for out in range(len(run.graph.results)) for p in ports}
    for out, result in enumerate(run.graph.results):
        for node in result:
            input_adjoints = reverse(run, {node: 1})
            for p, basis in zip(ports, bases, strict=True):
                row: Tangents = {}
                for element, weights in enumerate(basis):
                    for k, x in enumerate(weights):
                        add(row, k, input_adjoints.get((p, element), 0) * x)
                rows[out, p].append([row.get(k, 0) for k in range(len(basis[0]))])
    return rows


def _pair(output: Port, argument: Port, count: int, along: Along) -> Port:
    """Return the port of d output/d given; letters where both have them."""
    name = f"d{output.name}_d{argument.name}"
    if argument.name in along:
        return Port(name, (*output.shape, count))
    lettered = len(output.dims) == len(output.shape) and len(argument.dims) == len(argument.shape)
    dims = (*output.dims, *argument.dims) if lettered else ()
    return Port(name, (*output.shape, *argument.shape), dims)


def find_ports(graph: Graph, wrt: Sequence[str] | None) -> list[int]:
    """Return the numbers of the inputs of these names, all when None."""
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


def _more(graph: Graph, like: Sequence[Port], letter: str) -> list[Port]:
    """Return further inputs whose names differ from the present ones."""
    taken = {port.name for port in graph.inputs}
    ports: list[Port] = []
    for port in like:
        name = f"{letter}_{port.name}"
        while name in taken:
            name = f"{letter}_{name}"
        taken.add(name)
        ports.append(Port(name, port.shape, port.dims))
    return ports


def _gathered(graph: Graph, ports: list[int], input_adjoints: dict[Element, Derivative]) -> Outputs:
    outputs: Outputs = []
    for p in ports:
        argument = graph.inputs[p]
        values = [input_adjoints.get((p, element), 0) for element in range(argument.size)]
        outputs.append((Port(f"d_d{argument.name}", argument.shape, argument.dims), values))
    return outputs
