"""Numbers and words of messages: rounded numbers, counts with their nouns, lists of names.

A number that is rounding beside the largest one is shown as 0: `without_rounding`, everywhere.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf
from typing import ParamSpec, TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ArgumentError, NameLookupError
from kinetree.scalars import Scalar

P = ParamSpec("P")
T = TypeVar("T")
Cell = str | Scalar
ROUNDING = 1e-12  # of the largest number: thousands of operations, each within 1e-16


def without_rounding(x: Array, largest: float | None = None) -> Array:
    """`x` with 0 in place of rounding errors: of numbers below `ROUNDING` times the largest.

    largest: of the numbers that were added to make `x`; None: of `x` itself.
    """
    size = float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) if largest is None else largest
    return np.where(np.abs(x) <= ROUNDING * size, 0.0, x)


def number(x: Cell, digits: int = 4) -> str:
    """A number with that many significant digits and no -0; texts and symbols as they are."""
    if isinstance(x, str):
        return x
    try:
        return f"{float(x) + 0.0:.{digits}g}"  # -0.0 + 0.0 is 0.0
    except (TypeError, ValueError):  # a symbol
        return str(x)


def exact_number(x: Scalar) -> str:
    """The shortest text that reads back as the same float; whole numbers without a point."""
    return repr(float(x) + 0.0).removesuffix(".0")  # -0.0 + 0.0 is 0.0


def counted(count: int, noun: str, rest: str = "") -> str:
    """The count with its noun, in the plural unless it is one: 1 entry, 2 entries, 0 rows.

    rest: follows the noun, as in "2 degrees of freedom".
    """
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun} {rest}".rstrip()


def listing(names: Iterable[object], most: float = inf) -> str:
    """Quoted names for a message, the first `most` of them: 'a', 'b', 'c' and 9 more."""
    quoted = [repr(str(name)) for name in names]
    count = int(min(most, len(quoted)))
    more = f" and {len(quoted) - count} more" if len(quoted) > count else ""
    return ", ".join(quoted[:count]) + more


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ' Did you mean ...?' if a known word is similar, else an empty text."""
    import difflib  # here, since it is for errors

    plain = {name.lower(): name for name in islice(known, 2000)}  # files can have a million names
    similar = difflib.get_close_matches(word[:60].lower(), plain, n=1, cutoff=0.6)
    return f" Did you mean {plain[similar[0]]!r}?" if similar else ""


def look_up(known: Mapping[str, T], name: object, what: str) -> T:
    """The value of a name; raise NameLookupError with the known names for any other."""
    if isinstance(name, str) and name in known:
        return known[name]
    expected = f"expected one of {listing(known, 30)}" if known else "there are none"
    raise NameLookupError(f"{what} is {name!r:.60}; {expected}.{nearest(str(name), known)}")


def with_known_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with an error that suggests a name for an argument that it does not have."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        for name in named:
            if name not in known:
                where = function.__name__
                raise ArgumentError(f"{where} has no argument {name!r}.{nearest(name, known)}")
        return function(*args, **named)

    return call


def csv_cell(text: str) -> str:
    """A name for a line of CSV, in quotes if any reader could take a part of it for a separator."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',;\t"\r\n') else text


def clip(text: str, length: int = 60) -> str:
    """`text` short enough for a message."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def show(text: str) -> str:
    """`text` in quotes, short enough for a message."""
    return repr(clip(text))
