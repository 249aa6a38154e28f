"""Operations on numbers that are known while tracing."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from kinetree import scalars
from kinetree.errors import GraphError

FOLD: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": math.sqrt,
    "sign": scalars.sign,
    "select": scalars.where,
}


def fold(op: str, numbers: Sequence[float | None]) -> float | None:
    """The value of `op` where every argument is a number; None where it must be computed later.

    A result beyond the range of floats is not folded. Negations are not folded either: they are how
    a negative constant is written.
    """
    if op == "div" and numbers[1] == 0:
        raise GraphError(
            "the traced function divides by the constant 0. A traced function is folded with all "
            "the constants of its model; look for a zero mass, length or norm among them."
        )
    if None in numbers or op not in FOLD:
        return None
    if op == "sqrt" and numbers[0] < 0:  # type: ignore[operator]
        raise GraphError(
            f"the traced function takes the square root of the constant {numbers[0]!r}, which is "
            "negative. Look for the constants of the model that lead to it."
        )
    value = float(FOLD[op](*numbers))
    return value if math.isfinite(value) else None
