"""Graph -> text of one CUDA C++ kernel."""

from collections.abc import Mapping, Sequence

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.cuda.body import Constants, statements
from kinetree.engine.cuda.layout import Layout, Row, Visit, plan, spill
from kinetree.engine.cuda.prelude import prelude

ITEMSIZE = {"float64": 8, "float32": 4}

# A block asks for the inputs of one that comes later, so that they wait in the cache: as many
# blocks later as the GPU has multiprocessors (132 on an H200). Measured there, this pays from 4.7
# operations for each byte of the inputs on; at 4.0 and less, memory is busy anyway.
AHEAD_BLOCKS, AHEAD_OPERATIONS = 132, 4.5


def emit(
    graph: Graph,
    dtype: str = "float64",
    name: str = "kernel",
    *,
    layout: Layout | None = None,
    most: int | None = None,
) -> str:
    """Text of the kernel `kt_{name}(count, *inputs, *outputs)`.

    Args:
        graph: what to compute; its order of nodes is the order of evaluation.
        dtype: "float64" or "float32", of all arrays and of the arithmetic.
        name: end of the kernel's name; letters, digits and underscores.
        layout: where rows lie meanwhile, by default `plan(graph, ...)`.
        most: values in registers; others wait in free rows, see `spilling`. None: all of them.

    Returns:
        CUDA C++. Arrays are contiguous, (count, size) for each port; `count` is 64-bit. A block
        has `KT_BLOCK` threads, a macro, with `layout.warp_bytes` of shared memory for each warp.
    """
    layout = layout or plan(graph, ITEMSIZE[dtype])
    visits = None if most is None else spill(graph, layout, most)
    body = state(graph, dtype, visits, spare=layout.spare > 0)
    parts = [prelude(dtype, graph), body, tiles(layout), kernel(graph, layout, name)]
    return "\n".join(parts)


def state(
    graph: Graph,
    dtype: str,
    visits: Mapping[int, Visit] | None = None,
    *,
    spare: bool = False,
) -> str:
    """The function that computes one state, from rows to rows."""
    inputs = [f"const real *i{k}" for k in range(len(graph.inputs))]
    outputs = [f"real *o{k}" for k in range(len(graph.outputs))] + ["real *spare"] * spare
    constants = Constants("kt_constants", dtype)
    written = statements(graph, constants, visits=visits)
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
    """The three steps of a warp: rows into tiles, each thread its state, tiles into rows.

    `thread` is the number in the block. Where all rows lie in tiles, threads beyond the last state
    compute on what lies there, and nobody reads it: a check would cost every thread registers.
    """
    rows = [place(row, f"p{k}") for k, row in enumerate(layout.inputs)]
    rows += [place(row, f"r{k}") for k, row in enumerate(layout.outputs)]
    spare = f"tile + {layout.rows} * KT_BLOCK_WARPS + (thread - lane) * {layout.spare} + lane"
    rows += [spare] * (layout.spare > 0)
    staged = all(row.start is not None for row in (*layout.inputs, *layout.outputs))
    check = "" if staged else "if (lane < count) "
    where = f"(real *tile, long long first, int count, int thread, {parameters(layout)}) {{\n"
    where += "    [[maybe_unused]] const int lane = thread % KT_WARP;\n"
    return "\n".join(
        [
            f"KT_FUNCTION void kt_enter{where}{moves('read', layout.inputs, 'p')}}}\n",
            f"KT_FUNCTION void kt_compute{where}    {check}kt_state({', '.join(rows)});\n}}\n",
            f"KT_FUNCTION void kt_leave{where}{moves('write', layout.outputs, 'r')}}}\n",
        ]
    )


def moves(verb: str, rows: Sequence[Row], letter: str) -> str:
    """The calls that copy the rows of all ports that go through tiles."""
    staged = in_tiles(rows, letter)
    if not staged:
        return ""
    starts = " | ".join(f"(size_t)({array} + first * {row.width})" for row, array in staged)

    def calls(name: str, count: str) -> str:
        return "".join(
            f"        {name}<{row.width}, {row.pitch}>("
            f"{begin(row)}, {array} + first * {row.width}, {count}lane);\n"
            for row, array in staged
        )

    return (
        f"    if (count == KT_WARP && ({starts}) % 16 == 0) {{\n{calls(f'kt_{verb}_packs', '')}"
        f"    }} else {{\n{calls(f'kt_{verb}', 'count, ')}    }}\n"
    )


def in_tiles(rows: Sequence[Row], letter: str) -> list[tuple[Row, str]]:
    """The ports that go through tiles, and the names of their arrays."""
    return [(row, f"{letter}{k}") for k, row in enumerate(rows) if row.start is not None]


def begin(row: Row) -> str:
    """Return the address of the first row of a warp in its tile."""
    return f"tile + {row.start} * KT_BLOCK_WARPS + (thread - lane) * {row.pitch}"


def place(row: Row, array: str) -> str:
    """Return the address of a thread's row."""
    if row.start is None:
        return f"{array} + (first + lane) * {row.width}"
    return f"tile + {row.start} * KT_BLOCK_WARPS + thread * {row.pitch}"


def bulk(graph: Graph, layout: Layout) -> str:
    """The copy of a whole block of states, where its rows lie in memory as in the tiles.

    One thread orders the copies of all inputs (sm_90), and the block waits for them together: no
    thread spends instructions on addresses. Rows that have another pitch in tiles are left to
    `kt_enter`. Empty where no input can be copied so.
    """
    inputs = in_tiles(layout.inputs, "p")
    if not inputs or any(row.pitch != row.width for row, _ in inputs):
        return ""
    size = sum(row.width for row, _ in inputs)
    copies = "".join(
        f"        kt_bulk<{row.width}>(tile + {row.start} * KT_BLOCK_WARPS, {array}, barrier);\n"
        for row, array in inputs
    )
    ahead = ""
    if graph.operations > AHEAD_OPERATIONS * size * layout.itemsize:
        ask = "".join(
            f"            kt_ahead<{row.width}>({array}, later);\n" for row, array in inputs
        )
        ahead = (
            f"        const unsigned later = kt_block() + {AHEAD_BLOCKS};\n"
            f"        if (later < (unsigned)(states / KT_BLOCK)) {{\n{ask}        }}\n"
        )
    every = " | ".join(f"(size_t){array}" for _, array in inputs)
    arrays = parameters(layout)
    return f"""\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define KT_BULK
KT_FUNCTION bool kt_whole(long long states, {arrays}) {{
    return kt_block() < (unsigned)(states / KT_BLOCK) && ({every}) % 16 == 0;
}}

KT_FUNCTION void kt_enter_block(
    real *tile, [[maybe_unused]] long long states, int thread, {arrays}) {{
    const unsigned barrier = kt_shared(tile + {layout.tile} * KT_BLOCK_WARPS);
    if (thread == 0) {{
        kt_expect(barrier, {size} * KT_BLOCK * (unsigned)sizeof(real));
{copies}{ahead}    }}
    __syncthreads();
    kt_wait(barrier);
}}
#endif
"""


def parameters(layout: Layout) -> str:
    """The arrays as parameters."""
    arrays = [f"const real *p{k}" for k in range(len(layout.inputs))]
    return ", ".join(arrays + [f"real *r{k}" for k in range(len(layout.outputs))])


def kernel(graph: Graph, layout: Layout, name: str) -> str:
    """The entry point: 32 states for each warp.

    Where a thread stands is read again behind the state, so that no register holds it meanwhile.
    """
    arrays = [f"p{k}" for k in range(len(layout.inputs))]
    arrays += [f"r{k}" for k in range(len(layout.outputs))]
    every = ", ".join(arrays)
    arguments = f"tile, first, kt_count(states, first), thread, {every}"
    return f"""\
#if defined(__CUDACC__)
{bulk(graph, layout)}
{bounds()}
kt_{name}(long long states, {parameters(layout)}) {{
    KT_SHARED(memory);
    real *tile = (real *)memory;
    {{
        const int thread = kt_thread();
        const long long first = kt_first(thread);
#if defined(KT_BULK)
        if (kt_whole(states, {every})) {{
            kt_enter_block(tile, states, thread, {every});
        }} else
#endif
        {{
            if (first >= states) return;
            kt_enter({arguments});
            kt_arrived();
        }}
        kt_compute({arguments});
    }}
    __syncwarp();
    const int thread = kt_thread();
    const long long first = kt_first(thread);
    kt_leave({arguments});
}}
#endif
"""


def bounds() -> str:
    """The head of an entry point, with the registers that `launch.cubin` leaves it."""
    return """\
#if !defined(KT_THREADS)  // in a block at most; the compiler chooses registers by it
#define KT_THREADS 256
#endif
#if !defined(KT_BLOCKS)  // that a multiprocessor must be able to hold at once
#define KT_BLOCKS 1
#endif
KT_ENTRY(KT_THREADS, KT_BLOCKS)"""
