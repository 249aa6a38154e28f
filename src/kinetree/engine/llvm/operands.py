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

from kinetree.engine.llvm.spread import looked_up
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


def whole_rows(operand: Operand, write: bool, near: bool, table: bool) -> list[str]:
    """Statements for a full block of contiguous rows between %array and %buffer."""
    w = Writer()
    scalar, lanes, width = operand.scalar, operand.lanes, operand.width(write)
    rows = ["%array"]
    for _ in range(lanes - 1):
        rows.append(w.at(rows[-1], "%outer"))
    kind, align = vector(scalar.word, lanes), scalar.size * lanes
    after = w.at("%array", w.let(f"mul i64 %outer, {lanes}")) if near else ""

    def columns_at(column: int | str, width: int, known: int = 0) -> None:
        if table:
            first = w.at("%table", column, "i32")
            addresses = [looked_up(w, first, k, "%buffer", scalar.word) for k in range(width)]
        else:
            addresses = [w.at(w.at("%buffer", column, kind), k, kind) for k in range(width)]
        if write:
            columns = [w.let(f"load {kind}, ptr {a}, align {align}") for a in addresses]
            store_columns(w, scalar, columns, rows, column)
        else:
            columns = load_columns(w, scalar, rows, column, width)
            for value, address in list(zip(columns, addresses, strict=True))[known:]:
                w.do(f"store {kind} {value}, ptr {address}, align {align}")
        if near:  # a share of the next block, if its rows follow each other
            start = w.at(after, column, kind)
            for offset in range(0, width * align, LINE):
                prefetch(w, w.at(start, offset), write)
        elif write:
            for row in rows:
                prefetch(w, w.at(w.at(row, column, scalar.word), PREFETCH_BYTES), write)

    starts = list(range(0, operand.size - width + 1, width))
    if operand.size <= UNROLLED:
        for start in starts:
            columns_at(start, width)
    else:
        w.do("br label %columns")
        w.label("columns")
        w.do("%column = phi i64 [ 0, %rows ], [ %column_next, %columns ]")
        columns_at("%column", width)
        w.do(f"%column_next = add nuw i64 %column, {width}")
        w.do(f"%columns_left = icmp ule i64 %column_next, {starts[-1]}")
        w.do("br i1 %columns_left, label %columns, label %last")
        w.label("last")
    if columns_left := operand.size % width:
        last = min(width, max(2, 1 << (columns_left - 1).bit_length()))
        columns_at(operand.size - last, last, last - columns_left)  # some may be known from before
    return w.lines


def prefetch(w: Writer, address: str, write: bool) -> None:
    """Ask for a line of memory in the nearest cache; this is allowed beyond an array, too."""
    w.do(f"call void @llvm.prefetch.p0(ptr {address}, i32 {int(write)}, i32 3, i32 1)")


def element_offset(operand: Operand) -> tuple[list[str], str]:
    """Statements for, and the name of, the byte offset of element %e through the core strides."""
    w = Writer("o")
    index, total = "%e", "0"
    for axis in reversed(range(len(operand.shape))):
        place = index
        if axis > 0:
            place = w.let(f"urem i64 {index}, {operand.shape[axis]}")
            index = w.let(f"udiv i64 {index}, {operand.shape[axis]}")
        stride = w.let(f"load i64, ptr {w.at('%strides', axis, 'i64')}, align 8")
        total = w.let(f"add i64 {total}, {w.let(f'mul i64 {place}, {stride}')}")
    return w.lines, total


def emit_operand(
    name: str, operand: Operand, write: bool, near: bool = False, table: bool = False
) -> str:
    """Text of `@{name}_read_{shape}` or `@{name}_write_{shape}`.

    Arguments: array (of the block's first state), outer (bytes between states), strides (of the
    core), count (states in the block, at least 1), contiguous (core is), buffer.

    `near`: the next block is prefetched. `table`: a last argument, where the elements that are
    written lie in the buffer (`spread.py`).
    """
    scalar, lanes = operand.scalar, operand.lanes
    verb = "write" if write else "read"
    offsets, offset = element_offset(operand)
    lines = "\n".join(offsets)
    state, used = ("%lane", "%count") if write else ("%state", lanes)
    source, sink = ("%slot", "%place") if write else ("%place", "%slot")
    rows = "\n".join(whole_rows(operand, write, near, table))
    first_slot, last = f"%first_slot = mul i64 %e, {lanes}", ""
    if table:
        first_slot = """\
%place_at = getelementptr inbounds i32, ptr %table, i64 %e
  %short_place = load i32, ptr %place_at, align 4
  %first_slot = zext i32 %short_place to i64"""
        last = ", ptr noalias %table"
    return f"""\
define internal void @{name}_{verb}_{operand.label}(ptr %array, i64 %outer, ptr %strides, \
i64 %count, i1 %contiguous, ptr noalias %buffer{last}) {{
entry:
  %full = icmp eq i64 %count, {lanes}
  %simple = and i1 %full, %contiguous
  br i1 %simple, label %rows, label %elements
rows:
{rows}
  ret void
elements:
  %last_state = sub i64 %count, 1
  br label %element
element:
  %e = phi i64 [ 0, %elements ], [ %e_next, %element_done ]
{lines}
  %base = getelementptr i8, ptr %array, i64 {offset}
  {first_slot}
  br label %lane_loop
lane_loop:
  %lane = phi i64 [ 0, %element ], [ %lane_next, %lane_loop ]
  %spare = icmp ugt i64 %lane, %last_state
  %state = select i1 %spare, i64 %last_state, i64 %lane
  %move = mul i64 {state}, %outer
  %place = getelementptr i8, ptr %base, i64 %move
  %position = add i64 %first_slot, %lane
  %slot = getelementptr {scalar.word}, ptr %buffer, i64 %position
  %value = load {scalar.word}, ptr {source}, align {scalar.size}
  store {scalar.word} %value, ptr {sink}, align {scalar.size}
  %lane_next = add nuw i64 %lane, 1
  %lanes_left = icmp ult i64 %lane_next, {used}
  br i1 %lanes_left, label %lane_loop, label %element_done
element_done:
  %e_next = add nuw i64 %e, 1
  %elements_left = icmp ult i64 %e_next, {operand.size}
  br i1 %elements_left, label %element, label %done
done:
  ret void
}}
"""


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
