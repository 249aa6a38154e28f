"""Read and write a block of states of one array, for any strides.

A block lies in a buffer as one vector per element, a lane for each state. Whole blocks of arrays
whose elements are contiguous are transposed in registers; everything else goes number by number. A
block that is not full repeats its last state in the spare lanes: harmless numbers that raise no
floating-point flag of their own.

Transposing: a block of `lanes` states is `lanes` rows in memory. `width` neighbouring columns are
taken at a time: row `width k + a` fills segment k of register a, and transposing every segment by
itself leaves column a of all rows in register a. Memory is accessed in runs of `width` numbers.
"""

from dataclasses import dataclass
from math import prod

from kinetree.backends.llvm.text import SCALARS, Scalar, Writer, vector

# more columns than this are handled in a loop instead of one after the other
UNROLLED = 16


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

    @property
    def width(self) -> int:
        """Columns that are transposed together: 16 bytes of a row, or fewer if there are fewer."""
        width = min(16 // self.scalar.size, self.lanes)
        while width > self.size:
            width //= 2
        return width


def whole_rows(operand: Operand, write: bool) -> list[str]:
    """Statements for a full block of contiguous rows between %rows and %buffer."""
    w = Writer()
    scalar, lanes, width = operand.scalar, operand.lanes, operand.width
    rows = ["%array"]
    for _ in range(lanes - 1):
        rows.append(w.at(rows[-1], "%outer"))
    kind, align = vector(scalar.word, lanes), scalar.size * lanes

    def columns_at(column: int | str) -> None:
        addresses = [w.at(w.at("%buffer", column, kind), k, kind) for k in range(width)]
        if write:
            columns = [w.let(f"load {kind}, ptr {a}, align {align}") for a in addresses]
            store_columns(w, scalar, columns, rows, column)
        else:
            for value, address in zip(
                load_columns(w, scalar, rows, column, width), addresses, strict=True
            ):
                w.do(f"store {kind} {value}, ptr {address}, align {align}")

    starts = list(range(0, operand.size - width + 1, width))
    if operand.size <= UNROLLED:
        for start in starts:
            columns_at(start)
    else:
        w.do("br label %columns")
        w.label("columns")
        w.do("%column = phi i64 [ 0, %rows ], [ %column_next, %columns ]")
        columns_at("%column")
        w.do(f"%column_next = add nuw i64 %column, {width}")
        w.do(f"%columns_left = icmp ule i64 %column_next, {starts[-1]}")
        w.do("br i1 %columns_left, label %columns, label %last")
        w.label("last")
    if operand.size % width:
        columns_at(operand.size - width)  # overlaps the columns before it, with the same numbers
    return w.lines


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


def emit_operand(name: str, operand: Operand, write: bool) -> str:
    """Text of `@{name}_read_{shape}` or `@{name}_write_{shape}`.

    Arguments: array (of the block's first state), outer (bytes between states), strides (of the
    core), count (states in the block, at least 1), contiguous (core is), buffer.
    """
    scalar, lanes = operand.scalar, operand.lanes
    verb = "write" if write else "read"
    offsets, offset = element_offset(operand)
    lines = "\n".join(offsets)
    state, used = ("%lane", "%count") if write else ("%state", lanes)
    source, sink = ("%slot", "%place") if write else ("%place", "%slot")
    rows = "\n".join(whole_rows(operand, write))
    return f"""\
define internal void @{name}_{verb}_{operand.label}(ptr %array, i64 %outer, ptr %strides, \
i64 %count, i1 %contiguous, ptr noalias %buffer) {{
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
  %first_slot = mul i64 %e, {lanes}
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


def transpose_segments(w: Writer, word: str, registers: list[str], lanes: int) -> list[str]:
    """Transposes each segment of `len(registers)` lanes across the registers."""
    width, distance = len(registers), 1
    while distance < width:
        result = list(registers)
        for a in range(width):
            if a & distance:
                continue
            x, y = registers[a], registers[a + distance]
            low = [p if not p & distance else lanes + p - distance for p in range(lanes)]
            high = [p + distance if not p & distance else lanes + p for p in range(lanes)]
            result[a] = shuffle(w, word, x, y, lanes, low)
            result[a + distance] = shuffle(w, word, x, y, lanes, high)
        registers, distance = result, 2 * distance
    return registers


def load_columns(
    w: Writer, scalar: Scalar, rows: list[str], column: int | str, width: int
) -> list[str]:
    """`width` columns from `column` on, each as a vector with one lane per row."""
    lanes, kind = len(rows), vector(scalar.word, width)
    pieces = [
        w.let(f"load {kind}, ptr {w.at(row, column, scalar.word)}, align {scalar.size}")
        for row in rows
    ]
    if width == 1:
        return [insert_all(w, scalar.word, pieces)]
    registers = [join(w, scalar.word, pieces[a::width], width) for a in range(width)]
    return transpose_segments(w, scalar.word, registers, lanes)


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
    lanes, width = len(rows), len(columns)
    kind = vector(scalar.word, width)
    registers = transpose_segments(w, scalar.word, columns, lanes)
    for lane, row in enumerate(rows):
        segment, a = divmod(lane, width)
        piece = registers[a]
        if lanes > 1 and width == 1:
            piece = w.let(f"extractelement {vector(scalar.word, lanes)} {piece}, i32 {lane}")
        elif lanes > width:
            picks = [segment * width + p for p in range(width)]
            piece = shuffle(w, scalar.word, piece, "poison", lanes, picks)
        address = w.at(row, column, scalar.word)
        w.do(f"store {kind} {piece}, ptr {address}, align {scalar.size}")
