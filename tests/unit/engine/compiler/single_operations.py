"""A program whose calls are the single operations of a graph, for tests of programs."""

from kinetree.engine.compiler.assembly import Assembly
from kinetree.engine.compiler.builder import Builder


def tabulated(graph):
    """The program that computes the operations of a graph one by one."""
    builder = Builder()
    builder.ops = [node.op for node in graph.nodes]
    builder.args = [node.args for node in graph.nodes]
    builder.values = [node.value for node in graph.nodes]
    builder.numbers = [node.number if node.op == "const" else None for node in graph.nodes]
    return Assembly(builder, (), graph.inputs, graph.outputs, list(graph.roots())).program()
