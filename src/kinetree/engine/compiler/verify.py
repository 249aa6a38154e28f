"""Checks of graphs, run before the first optimisation pass and after the last."""

import math
from collections.abc import Iterator

from kinetree.engine.compiler.graph import LOOPS, Graph, Node, Sweep
from kinetree.engine.compiler.ops import LEAVES, OPERATIONS
from kinetree.errors import GraphError


def verify(graph: Graph, after: str = "") -> None:
    """Raise a GraphError that names the first illegal port, node or result, and the last pass."""
    for problem in problems(graph):
        where = f" after the pass {after!r}" if after else ""
        raise GraphError(
            f"illegal graph{where}: {problem}. Graphs come from trace() and from the passes of "
            "kinetree.engine.compiler; a pass that makes an illegal one has a defect."
        )


def problems(graph: Graph) -> Iterator[str]:
    """Iterate over the mistakes in ports, nodes and results."""
    names: set[str] = set()
    lengths: dict[str, int] = {}
    for port in (*graph.inputs, *graph.outputs):
        if port.name in names:
            yield f"port {port.name!r} occurs twice; names of inputs and outputs are unique"
        names.add(port.name)
        if any(type(length) is not int or length < 0 for length in port.shape):
            yield f"port {port.name!r} has shape {port.shape}; lengths are whole numbers >= 0"
        if len(port.dims) not in (0, len(port.shape)):
            yield f"port {port.name!r} has letters {port.dims} for shape {port.shape}"
        for letter, length in zip(port.dims, port.shape, strict=False):
            if lengths.setdefault(letter, length) != length:
                yield f"dimension {letter!r} is {lengths[letter]} long, and {length} long in {port}"
    yield from node_problems(graph)
    if [len(result) for result in graph.results] != [port.size for port in graph.outputs]:
        yield f"the lengths of the results are {list(map(len, graph.results))} for {graph.outputs}"
    if any(not 0 <= node < len(graph.nodes) for node in graph.roots()):
        yield f"a result is no node; there are {len(graph.nodes)}"


def node_problems(graph: Graph) -> Iterator[str]:
    """Every node is a known operation on nodes before it, with a value where it needs one."""
    seen: set[object] = set()
    for i, node in enumerate(graph.nodes):
        op, args, value = node
        key = (op, repr(value)) if op == "const" else node  # -0.0 is not 0.0
        if args and not 0 <= min(args) <= max(args) < i:
            yield f"node {i} ({op}) has the arguments {args}; they come before their use"
        elif key in seen:
            yield f"node {i} ({op}) repeats another; equal nodes exist once"
        elif op not in OPERATIONS:
            if not legal_value(graph, node):
                yield f"node {i} ({op}) has {len(args)} arguments and the value {value!r}"
        elif len(args) != OPERATIONS[op].arity or value is not None:
            yield (
                f"node {i} ({op}) has {len(args)} arguments and the value {value!r}; expected "
                f"{OPERATIONS[op].arity} and None"
            )
        seen.add(key)


def legal_value(graph: Graph, node: Node) -> bool:
    """Return True for a constant, an element of an input or a part of a loop as it must be."""
    op, args, value = node
    if op in LEAVES and args:
        return False
    if op == "const":
        return isinstance(value, float) and math.isfinite(value)
    if op == "repeat":
        sweep = value if isinstance(value, Sweep) else None
        return (
            sweep is not None
            and len(sweep.graph.inputs) == 2 + sweep.scans
            and len(sweep.graph.outputs) == 1 + sweep.scans
            and sweep.graph.inputs[0].size == sweep.carried > 0
            and len(args) == sweep.size
        )
    if op not in ("input", *LOOPS) or not isinstance(value, tuple):
        return False
    port, element = value
    if op == "input":
        return 0 <= port < len(graph.inputs) and 0 <= element < graph.inputs[port].size
    sweep = graph.nodes[args[0]].value if len(args) == 1 else None
    return isinstance(sweep, Sweep) and port == 0 <= element < sweep.made
