"""Constants as every language reads them back: the same float, bit by bit."""

import numpy as np

from kinetree.errors import InputError


def double_literal(value: float) -> str:
    """The shortest decimal that is this float64."""
    return repr(float(value))


def single_digits(value: float) -> str:
    """The shortest decimal that is the float32 next to `value`."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        raise InputError(
            f"the constant {value!r} does not fit a float; export with dtype='double'."
        )
    text = str(single)
    return text if set(text) & set(".e") else f"{text}.0"


def c_literal(value: float, dtype: str) -> str:
    """A literal of C and C++."""
    return double_literal(value) if dtype == "double" else f"{single_digits(value)}f"


def julia_literal(value: float, dtype: str) -> str:
    """A literal of Julia, whose exponent letter says the type."""
    if dtype == "double":
        return double_literal(value)
    digits, _, exponent = single_digits(value).partition("e")
    return f"{digits}f{int(exponent or 0)}"
