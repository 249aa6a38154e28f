"""Graph -> text of one LLVM module."""

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.llvm.block import Block, One
from kinetree.engine.llvm.functions import emit_functions
from kinetree.engine.llvm.operands import NEAR, Operand, emit_operand
from kinetree.engine.llvm.scatter import scatter
from kinetree.engine.llvm.states import StatesLoop, emit_repeats, one_by_block
from kinetree.engine.llvm.target import Target
from kinetree.engine.llvm.text import END, SCALARS

# numbers of all results from which a single state is computed as a batch of one: straight-line code
# that stores each of them would take LLVM as long as all the rest
MANY_RESULTS = 16384


def operands(ports: tuple[Port, ...], dtype: str, lanes: int) -> list[Operand]:
    """One operand for each distinct shape that holds any numbers."""
    shapes = dict.fromkeys(port.shape for port in ports if port.size)
    return [Operand(shape, dtype, lanes) for shape in shapes]


def emit(graph: Graph, target: Target, dtype: str = "float64", name: str = "kernel") -> str:
    """Text of a module with `@{name}_states` and `@{name}_one` (see `states.py` and `block.py`).

    Args:
        graph: what to compute; its order of nodes is the order of evaluation.
        target: the processor; it decides how many states are evaluated side by side.
        dtype: "float64" or "float32", of all arrays and of the arithmetic.
        name: beginning of the names of all functions; letters, digits and underscores.

    Returns:
        LLVM IR. There are no fast-math flags: every number is rounded as the graph says, so that
        results are the same bit for bit for every target, batch size and place in the batch.
    """
    lanes = target.lanes(dtype)
    results = scatter(graph)
    block = Block(graph if results is None else results.distinct, name, dtype, lanes)
    one = One(graph, name, dtype, 1)
    loop = StatesLoop(graph, name, dtype, lanes, results)
    many = sum(port.size for port in graph.outputs) >= MANY_RESULTS
    bodies = [block.text(), loop.text(), one_by_block(graph, name, dtype) if many else one.text()]
    parts = [f'target triple = "{target.triple}"\n'] if target.triple else []
    if results is not None:
        parts.append(results.tables(name, lanes))
    parts.extend(emit_functions(name, dtype, block.called | one.called))
    for width in dict.fromkeys((lanes, 1)):
        parts.extend(emit_repeats(graph, name, dtype, width))
    numbers = sum(port.size for port in (*graph.inputs, *graph.outputs))
    near = numbers * lanes * SCALARS[dtype].size <= NEAR
    for operand in operands(graph.inputs, dtype, lanes):
        parts.append(emit_operand(name, operand, write=False, near=near))
    for operand in operands(graph.outputs, dtype, lanes):
        table = results is not None
        parts.append(emit_operand(name, operand, write=True, near=near, table=table))
    parts.extend(bodies)
    return "\n".join([*parts, END])
