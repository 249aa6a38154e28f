"""Checks of graphs, run before the first optimisation pass and after each."""

import math
from collections.abc import Iterator

from kinetree.engine.compiler.graph import LOOPS, OPERATIONS, Graph, Node, Sweep
from kinetree.errors import GraphError

ARITIES = {(op, arity) for op, (arity, _) in OPERATIONS.items()}


def verify(graph: Graph, after: str = "") -> None:
    """Raise a GraphError that names the first illegal port, node or result, and the last pass."""
    for problem in (*port_problems(graph), *node_problems(graph), *result_problems(graph)):
        where = f" after the pass {after!r}" if after else ""
        raise GraphError(
            f"illegal graph{where}: {problem}. Graphs come from trace() and from the passes of "
            "kinetree.engine.compiler; a pass that makes an illegal one has a defect."
        )


def port_problems(graph: Graph) -> Iterator[str]:
    """Names are unique, lengths are whole numbers, and each letter means one length."""
    names: set[str] = set()
    lengths: dict[str, tuple[int, str]] = {}
    for port in (*graph.inputs, *graph.outputs):
        if port.name in names:
            yield f"port {port.name!r} occurs twice; names of inputs and outputs are unique"
        names.add(port.name)
        if any(type(length) is not int or length < 0 for length in port.shape):
            yield f"port {port.name!r} has shape {port.shape}; lengths are whole numbers >= 0"
        if port.dims and len(port.dims) != len(port.shape):
            yield (
                f"port {port.name!r} has {len(port.dims)} dimension letters {port.dims} for shape "
                f"{port.shape}; give one for each dimension, or none"
            )
        for letter, length in zip(port.dims, port.shape, strict=False):
            before, name = lengths.setdefault(letter, (length, port.name))
            if before != length:
                yield (
                    f"dimension {letter!r} is {before} long in {name!r} and {length} long in "
                    f"{port.name!r}; use two letters"
                )


def node_problems(graph: Graph) -> Iterator[str]:
    """Every node is a known operation on nodes before it, with a value where it needs one."""
    if all_legal(graph):
        return
    seen: dict[tuple[str, tuple[int, ...], str], int] = {}
    for i, node in enumerate(graph.nodes):
        problem = node_problem(graph, i, node)
        first = seen.setdefault((node.op, node.args, repr(node.value)), i)
        if problem is None and first != i:
            problem = f"repeats node {first}; equal nodes exist once"
        if problem is not None:
            yield f"node {i} ({node.op}) {problem}"


def all_legal(graph: Graph) -> bool:
    """Return True if every node is legal, by checks of all of them at once.

    Every pass is verified, so the usual case, a legal graph, has to be quick.
    """
    nodes = graph.nodes
    if not {(node.op, len(node.args)) for node in nodes if node.op not in LOOPS} <= ARITIES:
        return False
    if any([not 0 <= arg < i for i, node in enumerate(nodes) for arg in node.args]):
        return False
    valued = [node for node in nodes if node.value is not None and node.args]
    if any(loop_problem(graph, node) is not None for node in valued):
        return False
    leaves = [node for node in nodes if not node.args]
    if any(node_problem(graph, len(nodes), node) is not None for node in leaves):
        return False
    # constants are compared by their texts: -0.0 is not 0.0
    constants = [repr(node.value) for node in leaves if node.op == "const"]
    others = [node for node in nodes if node.op != "const"]
    return len(set(constants)) == len(constants) and len(set(others)) == len(others)


def node_problem(graph: Graph, i: int, node: Node) -> str | None:
    """Describe the mistake in a node, None where there is none."""
    value = node.value
    if node.op not in OPERATIONS and node.op not in LOOPS:
        return f"is not an operation; known are {', '.join(OPERATIONS)}"
    if node.op in OPERATIONS and len(node.args) != OPERATIONS[node.op][0]:
        return f"has {len(node.args)} arguments, {OPERATIONS[node.op][0]} expected"
    for k, arg in enumerate(node.args):
        if not 0 <= arg < i:
            return f"has node {arg} as argument {k}; arguments come before their use, in 0..{i - 1}"
    if node.op in LOOPS:
        return loop_problem(graph, node)
    if node.op == "const":
        finite = isinstance(value, float) and math.isfinite(value)
        return None if finite else f"has the value {value!r}; a finite float is expected"
    if node.op != "input":
        return None if value is None else f"has the value {value!r}; None is expected"
    if not (isinstance(value, tuple) and len(value) == 2 and all(type(v) is int for v in value)):
        return f"has the value {value!r}; (input, element) is expected"
    port, element = value
    if not 0 <= port < len(graph.inputs):
        return f"reads input {port}; the graph has {len(graph.inputs)} inputs, counted from 0"
    name, size = graph.inputs[port].name, graph.inputs[port].size
    legal = 0 <= element < size
    return None if legal else f"reads element {element} of {name!r}, which has {size} elements"


def loop_problem(graph: Graph, node: Node) -> str | None:
    """Describe the mistake in a node of a loop, or in one that has a value and is none."""
    if node.op not in LOOPS:
        return f"has the value {node.value!r}; None is expected"
    sweep = node.value if node.op == "repeat" else graph.nodes[node.args[0]].value
    if not isinstance(sweep, Sweep):
        return "belongs to no loop"
    if node.op == "carried":
        legal = len(node.args) == 1 and node.place[0] == 0 <= node.place[1] < sweep.carried
        return None if legal else f"has the value {node.value!r} of a loop of {sweep.carried}"
    legal = len(node.args) == sweep.size and sweep.graph.inputs[0].size == sweep.carried > 0
    return None if legal else f"has {len(node.args)} arguments for a round of {sweep.size} numbers"


def result_problems(graph: Graph) -> Iterator[str]:
    """Every output has a node for each of its elements."""
    if len(graph.results) != len(graph.outputs):
        yield f"{len(graph.results)} results for {len(graph.outputs)} outputs; one for each"
    for port, result in zip(graph.outputs, graph.results, strict=False):
        if len(result) != port.size:
            yield f"output {port.name!r} has {len(result)} nodes, {port.size} expected"
        for k, node in enumerate(result):
            if not 0 <= node < len(graph.nodes):
                yield f"element {k} of output {port.name!r} is node {node} of {len(graph.nodes)}"
