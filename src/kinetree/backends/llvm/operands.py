"""Reads and writes a block of states of one array, for any strides.

A block lies in a buffer as one vector per element, a lane for each state. Whole blocks of arrays
whose elements are contiguous are transposed in registers; everything else goes number by number. A
block that is not full repeats its last state in the spare lanes: harmless numbers that raise no
floating-point flag of their own.
"""

from dataclasses import dataclass
from math import prod

from kinetree.backends.llvm.text import SCALARS, Scalar, Writer, vector
from kinetree.backends.llvm.transpose import load_columns, store_columns

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
