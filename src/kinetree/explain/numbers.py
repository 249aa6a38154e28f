"""Numbers and symbols as the cells of a table: few digits, decimal points in line."""

from math import floor, isfinite, log10
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, known
from kinetree.core.text import without_rounding
from kinetree.scalars import Scalar, home

DIGITS = 5  # digits of the largest number of a column or of a group of columns
MAX_DIGITS = 8  # of a number in any column
DECIMALS = 6  # most decimals: no number is longer than "-0.000123"
LARGE, SMALL = 6, -4  # powers of ten beyond which numbers are written with an exponent
LONG = 10  # characters; a longer expression does not fit into a column


def is_listed(values: Array) -> bool:
    """Return True if the entries are expressions so long that each needs a line of its own."""
    return known(values) is None and max(len(expression(x)) for x in np.ravel(values)) > LONG


def column_cells(values: Array, *, every_row: bool = False) -> list[str]:
    """The numbers of one or more columns with the same number of decimals; symbols as they are.

    A zero, exact or left over by rounding beside the largest number, is written "0" and padded with
    spaces; a number with too few decimals here is "0.000".

    values: any shape; the cells come in row-major order. every_row: show at least three digits of
    the largest number of each row.
    """
    numbers = known(values)
    if numbers is None:
        return [expression(x) for x in np.ravel(values)]
    flat = without_rounding(np.ravel(numbers)).tolist()
    largest = max((abs(x) for x in flat if isfinite(x)), default=0.0)
    if largest == 0:
        return [_zero(x, 0) for x in flat]
    power = floor(log10(largest))
    if not SMALL <= power <= LARGE:
        return [f"{x:.2e}" if x else "0" for x in flat]
    decimals = min(max(DIGITS - 1 - power, 0), DECIMALS)
    if every_row:
        rows = [max(abs(row[np.isfinite(row)]), default=0.0) for row in numbers]
        smallest = min((row for row in rows if row), default=largest)
        decimals = max(decimals, min(2 - floor(log10(smallest)), MAX_DIGITS - 1 - power, DECIMALS))
    return [_zero(x, decimals) if x == 0 else _rounded(x, decimals) for x in flat]


def _zero(x: float, decimals: int) -> str:
    return "0" + " " * (decimals + 1 if decimals else 0) if x == 0 else str(x)


def _rounded(x: float, decimals: int) -> str:
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def expression(x: Scalar) -> str:
    """A number or symbol as text; fractions and floats in it have few digits."""
    if type(x).__module__.partition(".")[0] == "sympy":
        return str(home(x).sstr(_rounded_in(x), full_prec=False))
    number = known(np.asarray(x))
    return f"{float(number):.{DIGITS}g}" if number is not None else str(x)


def _rounded_in(x: Any) -> Any:
    """A SymPy expression with every number that is not an integer rounded to a few digits."""
    from sympy import Float, Integer, Number

    numbers = [y for y in x.atoms(Number) if not y.is_Integer]
    return x.xreplace({y: Integer(y) if y == int(y) else Float(y, DIGITS) for y in numbers})
