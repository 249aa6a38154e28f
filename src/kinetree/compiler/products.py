"""Products of derivatives with vectors, gradients and second derivatives of graphs."""

from collections.abc import Sequence
from typing import Any

from kinetree.compiler.derivatives import (
    Slopes,
    add,
    find_ports,
    forward,
    jacobian,
    replay,
    reverse,
    scalar_output,
)
from kinetree.compiler.graph import Graph, Port


def jvp(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """d outputs/d inputs times a tangent: one forward pass.

    The graph gets a further input `v_<name>` for each input of `wrt`, shaped like it; its outputs
    are shaped like the old ones.
    """
    ports = find_ports(graph, wrt)
    run, seeds = replay(graph), {}
    more = _more(graph, [graph.inputs[p] for p in ports], "v")
    for k, p in enumerate(ports):
        for element in range(graph.inputs[p].size):
            tangent = run.traced(run.builder.input(len(graph.inputs) + k, element))
            seeds[p, element] = {0: tangent}
    slopes = forward(run, seeds)
    outputs = [
        (Port(f"d{port.name}", port.shape, port.dims), [slopes[node].get(0, 0) for node in result])
        for port, result in zip(graph.outputs, graph.results, strict=True)
    ]
    return run.finish(outputs, more)


def vjp(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """A cotangent times d outputs/d inputs: one reverse pass.

    The graph gets a further input `w_<name>` for each output, shaped like it; its outputs are
    shaped like the inputs of `wrt`.
    """
    ports = find_ports(graph, wrt)
    run = replay(graph)
    more = _more(graph, graph.outputs, "w")
    seeds: Slopes = {}
    for k, result in enumerate(graph.results):
        for element, node in enumerate(result):
            add(seeds, node, run.traced(run.builder.input(len(graph.inputs) + k, element)))
    return run.finish(_gathered(graph, ports, reverse(run, seeds)), more)


def gradient(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """d output/d inputs of a graph that computes one number, shaped like the inputs of `wrt`."""
    root, run = scalar_output(graph), replay(graph)
    return run.finish(_gathered(graph, find_ports(graph, wrt), reverse(run, {root: 1})))


def hessian(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Second derivatives of one number: d gradient/d inputs, for every pair of `wrt`."""
    names = [graph.inputs[p].name for p in find_ports(graph, wrt)]
    return jacobian(gradient(graph, names), names, mode="forward")


def hessian_vector(graph: Graph, wrt: Sequence[str] | None = None) -> Graph:
    """Second derivatives of one number times a vector: forward over reverse mode.

    Further inputs `v_<name>` as in `jvp`; outputs shaped like the inputs of `wrt`.
    """
    names = [graph.inputs[p].name for p in find_ports(graph, wrt)]
    return jvp(gradient(graph, names), names)


def _more(graph: Graph, like: Sequence[Port], letter: str) -> list[Port]:
    """Further inputs, named apart from those that are there."""
    taken = {port.name for port in graph.inputs}
    ports = []
    for port in like:
        name = f"{letter}_{port.name}"
        while name in taken:
            name = f"{letter}_{name}"
        taken.add(name)
        ports.append(Port(name, port.shape, port.dims))
    return ports


def _gathered(graph: Graph, ports: list[int], found: dict[tuple[int, int], Any]) -> Any:
    outputs = []
    for p in ports:
        given = graph.inputs[p]
        values = [found.get((p, element), 0) for element in range(given.size)]
        outputs.append((Port(f"d_d{given.name}", given.shape, given.dims), values))
    return outputs
