"""Read and write a block of states of one array, for any strides.

A block lies in a buffer as one vector per element, a lane for each state. Whole blocks of arrays
whose elements are contiguous are transposed in registers; everything else goes number by number. A
block that is not full repeats its last state in the spare lanes: harmless numbers that raise no
floating-point flag of their own.

Transposing: a block of `lanes` states is `lanes` rows in memory. `width` neighbouring columns are
taken at a time, in as many registers, and memory is accessed in runs of `width` numbers. A register
has the runs of `lanes / width` rows. Its units of 16 bytes are first transposed among as many
registers as a unit has numbers, then whole units change places between registers. Rows are assigned
to registers so that each of these steps is one instruction on x86.

Prefetching: while one block is evaluated, the memory of the next one is on its way to the nearest
cache. A processor foresees loads well but stores badly: without this, a mass matrix spends most of
its time waiting for the lines that it writes. The next block of arrays with many columns would push
out of the cache what this one works with. There, stores are foreseen along each row instead.
"""

from dataclasses import dataclass
from math import prod

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, TEST, Index, Vector
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.scatter import looked_up
from kinetree.engine.llvm.text import SCALARS, Scalar, Writer, vector

# more columns than this are handled in a loop instead of one after the other
UNROLLED = 16
RUN = 32  # bytes of a row that are read or written at once, at most
UNIT = 16  # bytes that x86 shuffles as a whole
LINE = 64  # bytes of a line of the cache
NEAR = 4096  # bytes of a block of all arrays up to which the next block is prefetched
PREFETCH_BYTES = 256  # bytes by which stores along each row are prefetched where blocks are larger


@dataclass(frozen=True, slots=True)
class Operand:
    """Arrays of one shape and dtype, and how many states make a block."""

    shape: tuple[int, ...]
    dtype: str
    lanes: int

    @property
    def size(self) -> int:
        """Numbers per state."""
        return prod(self.shape)

    @property
    def scalar(self) -> Scalar:
        """The element type."""
        return SCALARS[self.dtype]

    @property
    def label(self) -> str:
        """The shape in a form that fits into names."""
        return "x".join(map(str, self.shape)) or "scalar"

    def width(self, write: bool) -> int:
        """Columns that are transposed together: a run of a row, or fewer if there are fewer.

        Reading is quicker with runs of half a register: a load puts the other half in place.
        """
        register = self.scalar.size * self.lanes
        run = RUN if write else min(RUN, max(UNIT, register // 2))
        width = min(run // self.scalar.size, self.lanes)
        while width > self.size:
            width //= 2
        return width


def whole_rows(code: LlvmLoops, operand: Operand, write: bool, near: bool, table: bool) -> None:
    """Write a full block of contiguous rows between %array and %buffer."""
    w, scalar, lanes, width = code.w, operand.scalar, operand.lanes, operand.width(write)
    rows = ["%array"]
    for _ in range(lanes - 1):
        rows.append(w.at(rows[-1], "%outer"))
    kind, align = vector(scalar.word, lanes), scalar.size * lanes
    after = w.at("%array", w.let(f"mul i64 %outer, {lanes}")) if near else ""

    def columns_at(column: Index, width: int, known: int = 0) -> None:
        place = code.value(column, INTEGER).name
        if table:
            entries = [looked_up(code, code.arguments["table"], column + k) for k in range(width)]
            addresses = [w.at("%buffer", entry.name, scalar.word) for entry in entries]
        else:
            addresses = [w.at(w.at("%buffer", place, kind), k, kind) for k in range(width)]
        if write:
            columns = [w.let(f"load {kind}, ptr {a}, align {align}") for a in addresses]
            store_columns(w, scalar, columns, rows, place)
        else:
            columns = load_columns(w, scalar, rows, place, width)
            for value, address in list(zip(columns, addresses, strict=True))[known:]:
                w.do(f"store {kind} {value}, ptr {address}, align {align}")
        if near:  # a share of the next block, if its rows follow each other
            start = w.at(after, place, kind)
            for offset in range(0, width * align, LINE):
                prefetch(w, w.at(start, offset), write)
        elif write:
            for row in rows:
                prefetch(w, w.at(w.at(row, place, scalar.word), PREFETCH_BYTES), write)

    starts = range(0, operand.size - width + 1, width)
    if operand.size <= UNROLLED:
        for start in starts:
            columns_at(start, width)
    else:
        with code.each(0, starts[-1] + 1, width) as column:
            columns_at(column, width)
    if columns_left := operand.size % width:
        last = min(width, max(2, 1 << (columns_left - 1).bit_length()))
        columns_at(operand.size - last, last, last - columns_left)  # some may be known from before


def prefetch(w: Writer, address: str, write: bool) -> None:
    """Ask for a line of memory in the nearest cache; this is allowed beyond an array, too."""
    w.do(f"call void @llvm.prefetch.p0(ptr {address}, i32 {int(write)}, i32 3, i32 1)")


def elements(code: LlvmLoops, operand: Operand, write: bool, table: bool) -> None:
    """Write a block number by number, for any strides; spare lanes repeat the last state."""
    at, lanes = code.arguments, operand.lanes
    last = at["count"] - 1
    with code.each(0, operand.size) as e:
        index, offset = e, code.value(0, INTEGER)
        for axis in reversed(range(len(operand.shape))):
            place = index
            if axis > 0:
                place, index = index % operand.shape[axis], index // operand.shape[axis]
            offset = offset + place * code.load(at["strides"], axis, INTEGER)
        array = code.bytes_behind(at["array"], offset)
        slot = looked_up(code, at["table"], e) if table else e * lanes
        with code.each(0, at["count"] if write else lanes) as lane:
            state = lane if write else code.select(lane > last, last, lane)
            there = Vector(code.bytes_behind(array, state * at["outer"]))
            here = Vector(at["buffer"]).behind(slot + lane)
            if write:
                there[0] = here[0]
            else:
                here[0] = there[0]


def emit_operand(
    name: str, operand: Operand, write: bool, near: bool = False, table: bool = False
) -> str:
    """Text of `@{name}_read_{shape}` or `@{name}_write_{shape}`.

    Arguments: array (of the block's first state), outer (bytes between states), strides (of the
    core), count (states in the block, at least 1), contiguous (core is), buffer.

    `near`: the next block is prefetched. `table`: a last argument, where the elements that are
    written lie in the buffer (`scatter.py`).
    """
    arguments = [("array", ADDRESS), ("outer", INTEGER), ("strides", ADDRESS), ("count", INTEGER)]
    arguments += [("contiguous", TEST), ("buffer", ADDRESS), ("table", ADDRESS)][: 2 + table]
    function = f"{name}_{'write' if write else 'read'}_{operand.label}"
    code = LlvmLoops(
        operand.lanes, function, arguments, noalias=("buffer", "table"), dtype=operand.dtype
    )
    full = code.arguments["count"].equals(operand.lanes) & code.arguments["contiguous"]
    with code.when(full):
        whole_rows(code, operand, write, near, table)
    with code.when(~full):
        elements(code, operand, write, table)
    return code.text()


def shuffle(w: Writer, word: str, a: str, b: str, lanes: int, picks: list[int]) -> str:
    """A vector of elements picked from a and b, both of `lanes` lanes; b may be "poison"."""
    kind = vector(word, lanes)
    mask = ", ".join(f"i32 {p}" for p in picks)
    return w.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{mask}>")


def join(w: Writer, word: str, parts: list[str], lanes: int) -> str:
    """One vector from vectors of `lanes` lanes each, side by side."""
    while len(parts) > 1:
        picks = list(range(2 * lanes))
        parts = [
            shuffle(w, word, parts[k], parts[k + 1], lanes, picks) for k in range(0, len(parts), 2)
        ]
        lanes *= 2
    return parts[0]


def transpose_units(w: Writer, word: str, registers: list[str], lanes: int) -> list[str]:
    """Transposes every unit of `len(registers)` lanes across the registers."""
    unit = len(registers)
    # the elements of two registers in turn, from the first and from the second half of each unit
    low = [u + k // 2 + lanes * (k % 2) for u in range(0, lanes, unit) for k in range(unit)]
    high = [place + unit // 2 for place in low]

    def merged(group: list[str]) -> list[str]:
        if len(group) == 1:
            return group
        pairs = list(zip(group[: len(group) // 2], group[len(group) // 2 :], strict=True))
        lows = [shuffle(w, word, a, b, lanes, low) for a, b in pairs]
        return merged(lows) + merged([shuffle(w, word, a, b, lanes, high) for a, b in pairs])

    return merged(registers)


def deal_units(w: Writer, word: str, registers: list[str], lanes: int, unit: int) -> list[str]:
    """Deals the units of all registers, one behind the other, to as many registers in turn."""
    if len(registers) == 1:
        return registers
    even = [place for place in range(2 * lanes) if place // unit % 2 == 0]
    dealt = list(registers)
    for first, picks in enumerate((even, [place + unit for place in even])):
        pairs = zip(registers[::2], registers[1::2], strict=True)
        half = [shuffle(w, word, a, b, lanes, picks) for a, b in pairs]
        dealt[first::2] = deal_units(w, word, half, lanes, unit)
    return dealt


def collect_units(w: Writer, word: str, registers: list[str], lanes: int, unit: int) -> list[str]:
    """Undoes `deal_units`: takes one unit of each register in turn."""
    if len(registers) == 1:
        return registers
    low = [
        u + k % unit + lanes * (k // unit)
        for u in range(0, lanes // 2, unit)
        for k in range(2 * unit)
    ]
    high = [place + lanes // 2 for place in low]
    even, odd = (collect_units(w, word, registers[k::2], lanes, unit) for k in range(2))
    return [
        shuffle(w, word, a, b, lanes, picks)
        for a, b in zip(even, odd, strict=True)
        for picks in (low, high)
    ]


def unit_lanes(scalar: Scalar, width: int) -> int:
    """Numbers in a unit: 16 bytes, or a whole run if that is shorter."""
    return min(UNIT // scalar.size, width)


def load_columns(
    w: Writer, scalar: Scalar, rows: list[str], column: int | str, width: int
) -> list[str]:
    """`width` columns from `column` on, each as a vector with one lane per row."""
    lanes, kind, word = len(rows), vector(scalar.word, width), scalar.word
    runs = [
        w.let(f"load {kind}, ptr {w.at(row, column, word)}, align {scalar.size}") for row in rows
    ]
    if width == 1:
        return [insert_all(w, word, runs)]
    unit = unit_lanes(scalar, width)
    share = lanes * unit // width  # neighbouring rows whose runs fill `unit` registers
    groups: list[list[str]] = []
    for first in range(0, lanes, share):
        filled = [join(w, word, runs[first + k : first + share : unit], width) for k in range(unit)]
        groups.append(transpose_units(w, word, filled, lanes))
    dealt = [deal_units(w, word, list(same), lanes, unit) for same in zip(*groups, strict=True)]
    return [column for neighbours in zip(*dealt, strict=True) for column in neighbours]


def insert_all(w: Writer, word: str, values: list[str]) -> str:
    """A vector from scalars."""
    if len(values) == 1:
        return values[0]
    kind, result = vector(word, len(values)), "poison"
    for lane, value in enumerate(values):
        result = w.let(f"insertelement {kind} {result}, {word} {value}, i32 {lane}")
    return result


def store_columns(
    w: Writer, scalar: Scalar, columns: list[str], rows: list[str], column: int | str
) -> None:
    """Writes vectors with one lane per row to neighbouring columns from `column` on."""
    lanes, width, word = len(rows), len(columns), scalar.word
    unit = unit_lanes(scalar, width)
    groups = [transpose_units(w, word, columns[k : k + unit], lanes) for k in range(0, width, unit)]
    filled = [collect_units(w, word, list(same), lanes, unit) for same in zip(*groups, strict=True)]
    for lane, row in enumerate(rows):
        place, k = divmod(lane, unit)
        register, segment = divmod(place, lanes // width)
        run = filled[k][register]
        if lanes > 1 and width == 1:
            run = w.let(f"extractelement {vector(word, lanes)} {run}, i32 {lane}")
        elif lanes > width:
            picks = [segment * width + p for p in range(width)]
            run = shuffle(w, word, run, "poison", lanes, picks)
        address = w.at(row, column, word)
        w.do(f"store {vector(word, width)} {run}, ptr {address}, align {scalar.size}")
