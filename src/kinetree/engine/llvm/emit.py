"""Graph -> text of one LLVM module."""

import re

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.llvm.block import Block, StatesLoop
from kinetree.engine.llvm.functions import emit_functions
from kinetree.engine.llvm.one import One
from kinetree.engine.llvm.operands import NEAR, Operand, emit_operand
from kinetree.engine.llvm.payne_hanek import emit_payne_hanek, emit_table
from kinetree.engine.llvm.repeat import emit_repeats
from kinetree.engine.llvm.scatter import scatter
from kinetree.engine.llvm.sincos import emit_sincos
from kinetree.engine.llvm.target import Target
from kinetree.engine.llvm.text import SCALARS, vector
from kinetree.errors import InputError


def declarations(dtype: str, lanes: int) -> list[str]:
    """The intrinsics and library functions that any of the functions may call."""
    lines = [
        "declare i64 @llvm.fshl.i64(i64, i64, i64)",
        "declare ptr @malloc(i64)",
        "declare void @free(ptr)",
        "declare void @llvm.trap()",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    ]
    # sines are evaluated in float64 whatever the dtype, the rest in its own
    kinds = {(d, n): None for d in (dtype, "float64") for n in (1, lanes)}
    for d, n in kinds:
        scalar = SCALARS[d]
        kind = vector(scalar.word, n)
        code = scalar.code if n == 1 else f"v{n}{scalar.code}"
        lines.append(f"declare {kind} @llvm.fma.{code}({kind}, {kind}, {kind})")
        lines.append(f"declare {kind} @llvm.sqrt.{code}({kind})")
        lines.append(f"declare {kind} @llvm.copysign.{code}({kind}, {kind})")
    return lines


def operands(ports: tuple[Port, ...], dtype: str, lanes: int) -> list[Operand]:
    """One operand for each distinct shape that holds any numbers."""
    shapes = dict.fromkeys(port.shape for port in ports if port.size)
    return [Operand(shape, dtype, lanes) for shape in shapes]


def emit(graph: Graph, target: Target, dtype: str = "float64", name: str = "kernel") -> str:
    """Text of a module with `@{name}_states` and `@{name}_one` (see `block.py` and `one.py`).

    Args:
        graph: what to compute; its order of nodes is the order of evaluation.
        target: the processor; it decides how many states are evaluated side by side.
        dtype: "float64" or "float32", of all arrays and of the arithmetic.
        name: beginning of the names of all functions; letters, digits and underscores.

    Returns:
        LLVM IR. There are no fast-math flags: every number is rounded as the graph says, so that
        results are the same bit for bit for every target, batch size and place in the batch.
    """
    if dtype not in SCALARS:
        raise InputError(f"dtype is {dtype!r}, expected one of {', '.join(map(repr, SCALARS))}.")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(
            f"name is {name!r}, expected letters, digits and underscores that begin with no digit."
        )
    lanes = target.lanes(dtype)
    results = scatter(graph)
    alone = results if results is not None and results.large else None
    block = Block(graph if results is None else results.distinct, name, dtype, lanes)
    one = One(graph if alone is None else alone.distinct, name, dtype, lanes, like=block.body)
    loop = StatesLoop(graph, name, dtype, lanes, results)
    bodies = [block.text(), loop.text(), one.text(values=alone is not None)]
    parts = [f'target triple = "{target.triple}"\n'] if target.triple else []
    if results is not None:
        parts.append(results.tables(name, lanes))
    if alone is not None:
        bodies.append(alone.one(name, dtype))
    if block.angle_slot:
        parts.append(emit_table(name))
        parts.append(emit_payne_hanek(name, dtype))
        for count in sorted(block.calls | one.calls):
            parts.append(emit_sincos(name, dtype, lanes, count))
    parts.extend(emit_functions(name, dtype, block.body.called | one.body.called))
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
    parts.append("\n".join(declarations(dtype, lanes)) + "\n")
    parts.append('!0 = !{!"branch_weights", i32 1, i32 1048576}\n')
    return "\n".join(parts)
