"""Checks of graphs, run before the first optimisation pass and after each."""

import math
from typing import NoReturn

from kinetree.engine.compiler.graph import OPERATIONS, Graph, Node, Port
from kinetree.errors import GraphError

ARITIES = {(op, arity) for op, (arity, _) in OPERATIONS.items()}


def verify(graph: Graph, after: str = "") -> None:
    """Raise a GraphError that names the first illegal node, port or result.

    Args:
        graph: the graph to check.
        after: name of the pass that made it, for the message.
    """
    where = f" after the pass {after!r}" if after else ""
    verify_ports(graph, where)
    if not all_legal(graph):
        name_problem(graph, where)
    verify_results(graph, where)


def all_legal(graph: Graph) -> bool:
    """Return True if every node is legal, by checks of all of them at once.

    Every pass is verified, so the usual case, a legal graph, has to be quick.
    """
    nodes = graph.nodes
    if not {(node.op, len(node.args)) for node in nodes} <= ARITIES:
        return False
    if any([not 0 <= arg < i for i, node in enumerate(nodes) for arg in node.args]):
        return False
    if any([node.value is not None for node in nodes if node.args]):
        return False
    leaves = [node for node in nodes if not node.args]
    if any(node_problem(graph, len(nodes), node) is not None for node in leaves):
        return False
    # constants are compared by their texts: -0.0 is not 0.0
    constants = [repr(node.value) for node in leaves if node.op == "const"]
    others = [node for node in nodes if node.op != "const"]
    return len(set(constants)) == len(constants) and len(set(others)) == len(others)


def name_problem(graph: Graph, where: str) -> None:
    """Raise a GraphError that names the first illegal node."""
    seen: dict[tuple[str, tuple[int, ...], str], int] = {}
    for i, node in enumerate(graph.nodes):
        problem = node_problem(graph, i, node)
        if problem is None:
            first = seen.setdefault((node.op, node.args, repr(node.value)), i)
            problem = f"repeats node {first}; equal nodes exist once" if first != i else None
        if problem is not None:
            fail(f"node {i} ({node.op}{where}) {problem}")


def node_problem(graph: Graph, i: int, node: Node) -> str | None:
    """Describe the mistake in a node, None where there is none."""
    if node.op not in OPERATIONS:
        return f"is not an operation; known are {', '.join(OPERATIONS)}"
    arity = OPERATIONS[node.op][0]
    if len(node.args) != arity:
        return f"has {len(node.args)} arguments, {arity} expected"
    for k, arg in enumerate(node.args):
        if not 0 <= arg < i:
            return f"has node {arg} as argument {k}; arguments come before their use, in 0..{i - 1}"
    if node.op == "const":
        if not isinstance(node.value, float) or not math.isfinite(node.value):
            return f"has the value {node.value!r}; a finite float is expected"
        return None
    if node.op == "input":
        return input_problem(graph, node)
    return None if node.value is None else f"has the value {node.value!r}; None is expected"


def input_problem(graph: Graph, node: Node) -> str | None:
    """Describe the mistake in an input node, None where there is none."""
    value = node.value
    if not (isinstance(value, tuple) and len(value) == 2 and all(type(v) is int for v in value)):
        return f"has the value {value!r}; (input, element) is expected"
    port, element = value
    if not 0 <= port < len(graph.inputs):
        return f"reads input {port}; the graph has {len(graph.inputs)} inputs, counted from 0"
    found = graph.inputs[port]
    if not 0 <= element < found.size:
        return f"reads element {element} of {found.name!r}, which has {found.size} elements"
    return None


def verify_ports(graph: Graph, where: str) -> None:
    """Check that names are unique, shapes whole numbers, and each letter means one length."""
    names: set[str] = set()
    lengths: dict[str, tuple[int, str]] = {}
    for port in (*graph.inputs, *graph.outputs):
        if port.name in names:
            fail(f"port {port.name!r}{where} occurs twice; names of inputs and outputs are unique")
        names.add(port.name)
        verify_dims(port, lengths, where)


def verify_dims(port: Port, lengths: dict[str, tuple[int, str]], where: str) -> None:
    """Check the shape of a port, and its letters against those of the ports before it."""
    if any(type(length) is not int or length < 0 for length in port.shape):
        fail(f"port {port.name!r}{where} has shape {port.shape}; lengths are whole numbers >= 0")
    if port.dims and len(port.dims) != len(port.shape):
        fail(
            f"port {port.name!r}{where} has {len(port.dims)} dimension letters {port.dims} for "
            f"shape {port.shape}; give one for each dimension, or none"
        )
    for letter, length in zip(port.dims, port.shape, strict=False):
        before, name = lengths.setdefault(letter, (length, port.name))
        if before != length:
            fail(
                f"dimension {letter!r}{where} is {before} long in {name!r} and {length} long in "
                f"{port.name!r}; use two letters"
            )


def verify_results(graph: Graph, where: str) -> None:
    """Check that every output has a node for each of its elements."""
    if len(graph.results) != len(graph.outputs):
        fail(f"{len(graph.results)} results{where} for {len(graph.outputs)} outputs; one for each")
    for port, result in zip(graph.outputs, graph.results, strict=True):
        if len(result) != port.size:
            fail(
                f"output {port.name!r}{where} has {len(result)} nodes, {port.size} expected for "
                f"shape {port.shape}"
            )
        for k, node in enumerate(result):
            if not 0 <= node < len(graph.nodes):
                fail(
                    f"element {k} of output {port.name!r}{where} is node {node}; the graph has "
                    f"{len(graph.nodes)} nodes"
                )


def fail(problem: str) -> NoReturn:
    """Raise the error."""
    raise GraphError(
        f"illegal graph: {problem}. Graphs come from trace() and from the passes of "
        "kinetree.engine.compiler; a pass that makes an illegal one has a defect."
    )
