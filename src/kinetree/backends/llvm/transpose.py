"""Rows of states <-> vectors across states, in registers.

A block of `lanes` states is `lanes` rows in memory. `width` neighbouring columns are taken at a
time: row `width k + a` fills segment k of register a, and transposing every segment by itself
leaves column a of all rows in register a. Memory is touched in runs of `width` numbers only.
"""

from kinetree.backends.llvm.text import Scalar, Writer, vector


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
        return [insert_all(w, scalar, pieces)]
    registers = [join(w, scalar.word, pieces[a::width], width) for a in range(width)]
    return transpose_segments(w, scalar.word, registers, lanes)


def insert_all(w: Writer, scalar: Scalar, values: list[str]) -> str:
    """A vector from scalars."""
    if len(values) == 1:
        return values[0]
    kind, result = vector(scalar.word, len(values)), "poison"
    for lane, value in enumerate(values):
        result = w.let(f"insertelement {kind} {result}, {scalar.word} {value}, i32 {lane}")
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
