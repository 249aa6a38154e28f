"""A graph as text, one node to a line: for reading, and for tests that compare whole graphs."""

from collections.abc import Iterator

from kinetree.compiler.graph import Graph, Node, Port

SYMBOLS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "fma": "{} * {} + {}",
    "fms": "{} * {} - {}",
    "fnma": "{2} - {0} * {1}",
}


def text(graph: Graph) -> str:
    """The listing of a graph. Equal graphs have equal listings.

    Constants and inputs are written where they are used; other nodes are %0, %1, ... in order.
    """
    names = list(node_names(graph))
    lines = [f"input {declaration(port)}" for port in graph.inputs]
    for name, node in zip(names, graph.nodes, strict=True):
        if node.op not in ("const", "input"):
            lines.append(f"{name} = {formula(node, [names[arg] for arg in node.args])}")
    for port, result in zip(graph.outputs, graph.results, strict=True):
        lines.append(f"output {declaration(port)} = {' '.join(names[node] for node in result)}")
    return "\n".join(lines) + "\n"


def node_names(graph: Graph) -> Iterator[str]:
    """What each node is called."""
    count = 0
    for node in graph.nodes:
        if node.op == "const":
            yield repr(node.value)
        elif node.op == "input":
            port, element = node.value  # type: ignore[misc]
            yield f"{graph.inputs[port].name}[{element}]"
        else:
            yield f"%{count}"
            count += 1


def formula(node: Node, args: list[str]) -> str:
    """The right-hand side of a line."""
    if node.op in SYMBOLS:
        return SYMBOLS[node.op].format(*args)
    return f"{node.op}({', '.join(args)})"


def declaration(port: Port) -> str:
    """Name and shape of a port: `q(n=7)`, `M(n=7, n=7)`."""
    letters = port.dims or ("",) * len(port.shape)
    pairs = zip(letters, port.shape, strict=True)
    return f"{port.name}({', '.join(f'{d}={n}' if d else str(n) for d, n in pairs)})"
