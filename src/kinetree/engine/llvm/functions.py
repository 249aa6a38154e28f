"""exp, log, tanh and atan2: one function each, for any number of lanes.

The operations are those of `kinetree.engine.compiler.elementary`, in float64 for both number types.
Every lane runs the same operations, so results do not depend on the lanes. The functions are called
and not written out at each use: their code is long, and a call is short beside it.
"""

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.graph import OPERATIONS, Graph
from kinetree.engine.llvm.sincos import narrow, widen
from kinetree.engine.llvm.text import Floats, Writer

LETTERS = ("%a", "%b")


CALLED = tuple(elementary.FUNCTIONS)


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
