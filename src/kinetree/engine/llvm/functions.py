"""exp, log, tanh and atan2: functions for any number of lanes, of one vector or of several.

The operations are those of `kinetree.engine.compiler.elementary`, in float64 for both number types.
Every lane runs the same operations, so results do not depend on the lanes. The functions are called
and not written out at each use: their code is long, and a call is short beside it. Vectors of one
call take turns, as those of `sincos.py`.
"""

from collections.abc import Iterable

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.llvm.sincos import narrow, widen
from kinetree.engine.llvm.text import SCALARS, Floats, Writer, vector

CALLED = tuple(elementary.FUNCTIONS)

Called = tuple[str, int, int]  # a function: operation, lanes, vectors


def function_name(name: str, op: str, lanes: int, count: int) -> str:
    """Name of the function for some vectors of a number of lanes."""
    return f"@{name}_{op}_{lanes}" + (f"x{count}" if count > 1 else "")


def call_shape(lanes: int, count: int) -> tuple[int, int]:
    """Lanes and vectors of one call for `count` values; plain numbers become one vector."""
    return (1 << (count - 1).bit_length(), 1) if lanes == 1 else (lanes, count)


def result_type(kind: str, count: int) -> str:
    """The type of the result of a function: a vector, or a structure of several."""
    return kind if count == 1 else f"{{ {', '.join([kind] * count)} }}"


def emit_functions(name: str, dtype: str, called: Iterable[Called]) -> list[str]:
    """Text of all functions that are called."""
    return [emit_function(op, name, dtype, *size) for op, *size in sorted(set(called))]


class Chain(Floats):
    """The operations on one of the vectors that a function computes."""

    def __init__(self, dtype: str, lanes: int, member: int, op: str) -> None:
        super().__init__(Writer(f"v{member}_"), "float64", lanes)
        self.arguments = [f"%{letter}{member}" for letter in "ab"[: OPERATIONS[op].arity]]
        wide = [widen(self.writer, dtype, lanes, x) for x in self.arguments]
        self.value = elementary.FUNCTIONS[op](self, *wide)

    def taken(self) -> list[str]:
        """The statements since the last call of this."""
        lines, self.writer.lines = self.writer.lines, []
        return lines


def emit_function(op: str, name: str, dtype: str, lanes: int, count: int = 1) -> str:
    """Text of one function: `count` vectors of each argument in, as many out."""
    chains = [Chain(dtype, lanes, member, op) for member in range(count)]
    lines = interleaved(chains)
    values = [chain.value for chain in chains]
    if some := chains[0].rare:
        w, masks, wide = Writer("m"), chains[0].masks, chains[0].type
        for chain in chains[1:]:
            some = w.let(f"or {masks} {some}, {chain.rare}")
        packed = w.let(f"bitcast {masks} {some} to i{lanes}")
        w.do(f"br i1 {w.let(f'icmp ne i{lanes} {packed}, 0')}, label %rare, label %done, !prof !0")
        w.label("rare")
        repaired = [chain.select(chain.rare, chain.remedy(), chain.value) for chain in chains]
        lines = ["entry:", *lines, *w.lines, *interleaved(chains), "  br label %done", "done:"]
        for k, (value, other) in enumerate(zip(values, repaired, strict=True)):
            values[k] = f"%value{k}"
            lines.append(f"  {values[k]} = phi {wide} [ {value}, %entry ], [ {other}, %rare ]")
    values = [narrow(x.writer, dtype, lanes, v) for x, v in zip(chains, values, strict=True)]
    lines += interleaved(chains)
    kind = vector(SCALARS[dtype].word, lanes)
    result, whole = result_type(kind, count), values[0]
    if count > 1:
        w, whole = Writer("r"), "poison"
        for k, value in enumerate(values):
            whole = w.let(f"insertvalue {result} {whole}, {kind} {value}, {k}")
        lines += w.lines
    parameters = ", ".join(f"{kind} {x}" for chain in chains for x in chain.arguments)
    head = f"define internal {result} {function_name(name, op, lanes, count)}({parameters})"
    body = "\n".join(lines)
    return f"""\
{head} noinline "stackrealign" {{
{body}
  ret {result} {whole}
}}
"""


def interleaved(chains: list[Chain]) -> list[str]:
    """The statements of all chains that were not taken yet, in turns."""
    return [line for lines in zip(*(x.taken() for x in chains), strict=True) for line in lines]
