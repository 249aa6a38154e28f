"""Graph -> text of one CUDA C++ kernel."""

import re
from collections.abc import Mapping, Sequence

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.cuda.body import GROUP, Constants, statements
from kinetree.engine.cuda.layout import Layout, Row, plan
from kinetree.engine.cuda.parking import Visit, park
from kinetree.engine.cuda.prelude import prelude
from kinetree.errors import InputError

ITEMSIZE = {"float64": 8, "float32": 4}


def emit(
    graph: Graph,
    dtype: str = "float64",
    name: str = "kernel",
    *,
    layout: Layout | None = None,
    most: int | None = None,
    group: int = GROUP,
) -> str:
    """Text of the kernel `kt_{name}(count, *inputs, *outputs)`.

    Args:
        graph: what to compute; its order of nodes is the order of evaluation.
        dtype: "float64" or "float32", of all arrays and of the arithmetic.
        name: end of the kernel's name; letters, digits and underscores.
        layout: where rows lie meanwhile, by default `plan(graph, ...)`.
        most: values in registers; others wait in free rows, see `parking`. None: all of them.
        group: angles whose sines are computed side by side.

    Returns:
        CUDA C++. Arrays are contiguous, (count, size) for each port; `count` is 64-bit. A block
        may have up to eight whole warps, with `layout.warp_bytes` of shared memory for each.
    """
    if dtype not in ITEMSIZE:
        raise InputError(f"dtype is {dtype!r}, expected one of {', '.join(map(repr, ITEMSIZE))}.")
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise InputError(f"name is {name!r}, expected letters, digits and underscores.")
    layout = layout or plan(graph, ITEMSIZE[dtype])
    visits = None if most is None else park(graph, layout, most)
    body = state(graph, dtype, visits, spare=layout.spare > 0, group=group)
    parts = [prelude(dtype, graph), body, tiles(layout), kernel(layout, name)]
    return "\n".join(parts)


def state(
    graph: Graph,
    dtype: str,
    visits: Mapping[int, Visit] | None = None,
    *,
    spare: bool = False,
    group: int = GROUP,
) -> str:
    """The function that computes one state, from rows to rows."""
    inputs = [f"const real *i{k}" for k in range(len(graph.inputs))]
    outputs = [f"real *o{k}" for k in range(len(graph.outputs))] + ["real *spare"] * spare
    constants = Constants("kt_constants", dtype)
    written = statements(graph, constants, visits=visits, group=group)
    lines = "\n".join(f"    {line}" for line in written)
    return (
        f"{constants.text()}\n"
        f"// {signature(graph)}\n"
        f"KT_FUNCTION void kt_state({', '.join(inputs + outputs)}) {{\n{lines}\n}}\n"
    )


def signature(graph: Graph) -> str:
    """The arrays by name and shape, for readers of the code."""
    arguments, made = [
        ", ".join(f"{port.name}{list(port.shape)}" for port in ports)
        for ports in (graph.inputs, graph.outputs)
    ]
    return f"{arguments} -> {made}"


def tiles(layout: Layout) -> str:
    """The three steps of a warp: rows into tiles, each thread its state, tiles into rows."""
    arrays = parameters(layout)
    rows = [place(row, f"p{k}") for k, row in enumerate(layout.inputs)]
    rows += [place(row, f"r{k}") for k, row in enumerate(layout.outputs)]
    rows += [f"tile + {layout.rows} + lane"] * (layout.spare > 0)
    where = f"real *tile, long long first, int count, int lane, {arrays}"
    return "\n".join(
        [
            f"KT_FUNCTION void kt_enter({where}) {{\n{moves('read', layout.inputs, 'p')}}}\n",
            f"KT_FUNCTION void kt_compute({where}) {{",
            f"    if (lane < count) kt_state({', '.join(rows)});\n}}\n",
            f"KT_FUNCTION void kt_leave({where}) {{\n{moves('write', layout.outputs, 'r')}}}\n",
        ]
    )


def moves(verb: str, rows: Sequence[Row], letter: str) -> str:
    """The calls that copy the rows of all ports that go through tiles.

    Rows of a whole warp go in pieces of 16 bytes, if all of them begin where 16 bytes do.
    """
    staged = [(row, f"{letter}{k}") for k, row in enumerate(rows) if row.start is not None]
    if not staged:
        return ""
    starts = " | ".join(f"(size_t)({array} + first * {row.width})" for row, array in staged)
    blocks = "".join(f"    {block(verb, row, array)}" for row, array in staged)
    others = "".join(f"    {line(verb, row, array)}" for row, array in staged)
    return (
        f"    if (count == KT_WARP && ({starts}) % 16 == 0) {{\n{blocks}    }} else {{\n{others}"
        "    }\n"
    )


def block(verb: str, row: Row, array: str) -> str:
    """The call that copies the rows of one port of a whole warp."""
    where = f"tile + {row.start}, {array} + first * {row.width}, lane"
    if row.pitch == row.width:
        return f"    kt_{verb}_block<{row.width}>({where});\n"
    return f"    kt_{verb}_rows<{row.width}, {row.pitch}>({where});\n"


def line(verb: str, row: Row, array: str) -> str:
    """The call that copies the rows of one port, number by number."""
    where = f"tile + {row.start}, {array} + first * {row.width}, count, lane"
    return f"    kt_{verb}<{row.width}, {row.pitch}>({where});\n"


def place(row: Row, array: str) -> str:
    """Return the address of a thread's row."""
    if row.start is None:
        return f"{array} + (first + lane) * {row.width}"
    return f"tile + {row.start} + lane * {row.pitch}"


def parameters(layout: Layout) -> str:
    """The arrays as parameters."""
    arrays = [f"const real *p{k}" for k in range(len(layout.inputs))]
    return ", ".join(arrays + [f"real *r{k}" for k in range(len(layout.outputs))])


def kernel(layout: Layout, name: str) -> str:
    """The entry point: 32 states for each warp."""
    arrays = [f"p{k}" for k in range(len(layout.inputs))]
    arrays += [f"r{k}" for k in range(len(layout.outputs))]
    arguments = f"tile, first, count, lane, {', '.join(arrays)}"
    return f"""\
#if defined(__CUDACC__)
{bounds()}
kt_{name}(long long states, {parameters(layout)}) {{
    KT_SHARED(memory);
    const int warp = threadIdx.x / KT_WARP, lane = threadIdx.x % KT_WARP;
    const long long first = ((long long)blockIdx.x * (blockDim.x / KT_WARP) + warp) * KT_WARP;
    if (first >= states) return;
    const int count = states - first < KT_WARP ? (int)(states - first) : KT_WARP;
    real *tile = (real *)memory + warp * {layout.tile};
    kt_enter({arguments});
    kt_arrived();
    kt_compute({arguments});
    __syncwarp();
    kt_leave({arguments});
}}
#endif
"""


def bounds() -> str:
    """The head of an entry point, with the registers that `toolkit.cubin` leaves it."""
    return """\
#if !defined(KT_THREADS)  // in a block at most; the compiler chooses registers by it
#define KT_THREADS 256
#endif
#if !defined(KT_BLOCKS)  // that a multiprocessor must be able to hold at once
#define KT_BLOCKS 1
#endif
KT_ENTRY(KT_THREADS, KT_BLOCKS)"""
