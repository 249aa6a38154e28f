"""Straight-line CUDA C++: the nodes of a graph, one statement each.

Every operation is rounded as the graph says: the compiler is told to fuse nothing, and the fused
operations of the graph are spelled out.
"""

from collections.abc import Iterator

from kinetree.backends.cuda.constants import Constants
from kinetree.compiler.graph import Graph
from kinetree.errors import GraphError

GROUP = 4  # more would make many sines wait in registers, fewer leave less to do at a time

OPERATIONS: dict[str, str] = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "kt_div({}, {})",
    "neg": "-{}",
    "fma": "kt_fma({}, {}, {})",
    "fms": "kt_fma({}, {}, -{})",
    "fnma": "kt_fma(-{}, {}, {})",
    "sqrt": "kt_sqrt({})",
    "sign": "kt_sign({})",
    "select": "{} > 0 ? {} : {}",
}


def statements(graph: Graph, constants: Constants) -> Iterator[str]:
    """The lines that read inputs `i0[k]`, compute, and write outputs `o0[k]` when they are known.

    A row of inputs is read when first needed, so that it waits in shared memory and not in
    registers. A sine and a cosine of the same angle are computed together.
    """
    names: list[str] = []
    groups = angle_groups(graph)
    known: set[int] = set()  # i: input i is read; ~i: the sine of node i is there
    places = result_places(graph)
    for i, node in enumerate(graph.nodes):
        name = f"n{i}"
        if node.op == "const":
            name = constants(float(node.value))  # type: ignore[arg-type]
        elif node.op == "input":
            yield from read(graph, i, known)
        elif node.op in ("sin", "cos"):
            (angle,) = node.args
            name = f"a{angle}.{node.op[0]}"
            if ~angle not in known:
                yield from sines(graph, groups[angle], names, known)
        else:
            pattern = OPERATIONS.get(node.op)
            if pattern is None:
                raise GraphError(
                    f"node {i} is {node.op!r}, which the CUDA backend cannot emit; it knows "
                    f"{', '.join(['const', 'input', 'sin', 'cos', *OPERATIONS])}."
                )
            yield f"const real {name} = {pattern.format(*[names[arg] for arg in node.args])};"
        names.append(name)
        for output, element in places.get(i, ()):
            yield f"o{output}[{element}] = {name};"


def read(graph: Graph, i: int, known: set[int]) -> Iterator[str]:
    """The line that reads an input, if it was not read before."""
    if i not in known:
        port, element = graph.nodes[i].value  # type: ignore[misc]
        known.add(i)
        yield f"const real n{i} = i{port}[{element}];"


def angle_groups(graph: Graph) -> dict[int, list[int]]:
    """For each angle those whose sines are computed with it, so that one branch serves them all.

    Angles that are inputs are all there from the start; GROUP of them are taken at a time, in the
    order in which they are needed. Any other angle stands alone.
    """
    angles = dict.fromkeys(node.args[0] for node in graph.nodes if node.op in ("sin", "cos"))
    given = [i for i in angles if graph.nodes[i].op == "input"]
    groups = {i: [i] for i in angles}
    for k in range(0, len(given), GROUP):
        group = given[k : k + GROUP]
        groups |= dict.fromkeys(group, group)
    return groups


def sines(graph: Graph, group: list[int], names: list[str], known: set[int]) -> Iterator[str]:
    """The lines that compute the sines and cosines of a group of angles."""
    angles = [names[i] if i < len(names) else f"n{i}" for i in group]
    for i in group:
        if graph.nodes[i].op == "input":
            yield from read(graph, i, known)
    known.update(~i for i in group)
    for i, angle in zip(group, angles, strict=True):
        yield f"kt_pair a{i} = kt_near({angle});"
    near = " & ".join(f"kt_is_near({angle})" for angle in angles)
    far = " ".join(f"kt_far({angle}, a{i});" for i, angle in zip(group, angles, strict=True))
    yield f"if (!({near})) {{ {far} }}"


def result_places(graph: Graph) -> dict[int, list[tuple[int, int]]]:
    """For each node that is a result: (output, element) of the places it goes to."""
    places: dict[int, list[tuple[int, int]]] = {}
    for output, result in enumerate(graph.results):
        for element, i in enumerate(result):
            places.setdefault(i, []).append((output, element))
    return places
