"""exp, log, tanh, atan2, minimum and maximum: one function each, for any number of lanes.

The operations of the first four are those of `kinetree.engine.compiler.elementary`, in float64 for
both number types. Every lane runs the same operations, so results do not depend on the lanes. The
functions are called and not written out at each use: their code is long, and a call is short beside
it.

A comparison such as "less than" raises a floating-point flag for a NaN. Minimum and maximum
therefore compare integers that are in the order of the numbers.
"""

from collections.abc import Callable

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.graph import OPERATIONS, Graph
from kinetree.engine.llvm.sincos import narrow, widen
from kinetree.engine.llvm.text import Floats, Writer

LETTERS = ("%a", "%b")


def smaller(f: Floats, a: str, b: str) -> str:
    """Number a where a < b and where a is NaN, b elsewhere."""
    return chosen(f, f.on_bits("icmp ugt", order(f, b), order(f, a)), a, b)


def larger(f: Floats, a: str, b: str) -> str:
    """Number a where a > b and where a is NaN, b elsewhere."""
    return chosen(f, f.on_bits("icmp ugt", order(f, a), order(f, b)), a, b)


def order(f: Floats, x: str) -> str:
    """An unsigned integer that grows with x; both zeros have the same."""
    top = 8 * f.scalar.size - 1
    bits = f.bits(f.add(x, f.number(0.0)))
    # numbers below zero: all bits are inverted; others: the bit of the sign is set
    negative = f.on_bits("sub", f.integer(0), f.on_bits("lshr", bits, f.integer(top)))
    return f.on_bits("xor", bits, f.on_bits("or", negative, f.integer(-(2**top))))


def chosen(f: Floats, mask: str, a: str, b: str) -> str:
    """Number a where the mask is set, b elsewhere; one that is NaN in any case, a before b."""
    value = f.select(f.unordered(b, b), b, f.select(mask, a, b))
    return f.select(f.unordered(a, a), a, value)


ORDERED: dict[str, Callable[..., str]] = {"min": smaller, "max": larger}
CALLED = (*elementary.FUNCTIONS, *ORDERED)


def emit_functions(graph: Graph, name: str, dtype: str, *lanes: int) -> list[str]:
    """Text of `@{name}_{op}_{lanes}` for the operations of a graph that are called."""
    used = graph.count()
    return [
        emit_function(op, name, dtype, k) for op in CALLED if used[op] for k in dict.fromkeys(lanes)
    ]


def emit_function(op: str, name: str, dtype: str, lanes: int) -> str:
    """Text of one function: vectors in, a vector out."""
    w = Writer()
    floats, f = Floats(w, dtype, lanes), Floats(w, "float64", lanes)
    arguments = LETTERS[: OPERATIONS[op][0]]
    if op in ORDERED:
        value = ORDERED[op](floats, *arguments)
    else:
        wide = [widen(w, dtype, lanes, x) for x in arguments]
        value = narrow(w, dtype, lanes, elementary.FUNCTIONS[op](f, *wide))
    body = "\n".join(w.lines)
    parameters = ", ".join(f"{floats.type} {x}" for x in arguments)
    return f"""\
define internal {floats.type} @{name}_{op}_{lanes}({parameters}) noinline "stackrealign" {{
{body}
  ret {floats.type} {value}
}}
"""
