"""What each operation does to small changes of its arguments: the table of partial derivatives."""

from collections.abc import Callable
from typing import Any

from kinetree.compiler.trace import TracedScalar

# operation -> its partial derivatives, from its arguments and its result x
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda a, b, x: (1, 1),
    "sub": lambda a, b, x: (1, -1),
    "mul": lambda a, b, x: (b, a),
    "div": lambda a, b, x: (1 / b, -(x / b)),
    "neg": lambda a, x: (-1,),
    "fma": lambda a, b, c, x: (b, a, 1),
    "fms": lambda a, b, c, x: (b, a, -1),
    "fnma": lambda a, b, c, x: (-b, -a, 1),
    "sin": lambda a, x: (a.cos(),),
    "cos": lambda a, x: (-a.sin(),),
    "sqrt": lambda a, x: (0.5 / x,),
    "sign": lambda a, x: (0,),  # wherever there is a derivative
    "select": lambda a, b, c, x: (0, chosen(a, 1, 0), chosen(a, 0, 1)),
}


def chosen(test: TracedScalar, positive: float, other: float) -> TracedScalar:
    """`positive` where test > 0, `other` elsewhere, as a traced scalar."""
    builder = test.builder
    args = (test.node, builder.constant(positive), builder.constant(other))
    return TracedScalar(builder, builder.apply("select", args))
