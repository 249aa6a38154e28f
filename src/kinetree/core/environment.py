"""Environment variables of kinetree: their names, their values, and what they are expected to be.

A variable is read where it is used first. A value that cannot be read is an error that names the
variable. A name that begins with KINETREE_ and nearly is one of these is warned about once.
"""

import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from kinetree.errors import InputError

log = logging.getLogger(__name__)

ON, OFF = ("1", "on", "yes", "true"), ("0", "off", "no", "false")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
PREFIX = "KINETREE_"


@dataclass(frozen=True)
class Variable:
    """How to read the text of a variable (ValueError if it is wrong), and what it should be."""

    read: Callable[[str], Any]
    expected: str


def _switch(text: str) -> bool:
    if text.lower() not in (*ON, *OFF):
        raise ValueError
    return text.lower() in ON


def _size(text: str) -> int:
    """Return bytes, from a number with or without K, M or G."""
    short = text.upper().removesuffix("B")
    unit = UNITS.get(short[-1:], 0)
    return int(_not_negative(short[:-1] if unit else short) * (unit or 1))


def _positive_size(text: str) -> int:
    if (size := _size(text)) == 0:
        raise ValueError
    return size


def _threads(text: str) -> int:
    if int(text) < 0:
        raise ValueError
    return int(text)


def _not_negative(text: str) -> float:
    number = float(text)
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError
    return number


WORDS = "1 (on, yes, true) or 0 (off, no, false)"
SIZES = "a size such as 512M, 2G or a number of bytes"
VARIABLES = {
    f"{PREFIX}CACHE": Variable(_switch, WORDS),
    f"{PREFIX}CACHE_DIR": Variable(str, "a folder"),
    f"{PREFIX}CACHE_SIZE": Variable(_size, SIZES),
    f"{PREFIX}THREADS": Variable(_threads, "a whole number, 0 for all cores"),
    f"{PREFIX}RECORDING_SIZE": Variable(_positive_size, SIZES),
    f"{PREFIX}TARGET": Variable(str.lower, "a family of processors, such as avx2"),
}


def setting(name: str) -> Any:
    """Return the value of a variable; None where it is not set, or empty.

    Raises:
        InputError: the variable has another value than those in `VARIABLES`.
    """
    warn_of_misspelled_names()
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    variable = VARIABLES[name]
    try:
        return variable.read(text)
    except ValueError:
        raise InputError(
            f"the environment variable {name} is {text!r}; expected {variable.expected}. "
            "Unset it for the default."
        ) from None


@cache
def warn_of_misspelled_names() -> None:
    """Warn once of names that are nearly those of a variable: their values have no effect."""
    for name in os.environ:
        if name.startswith(PREFIX) and name not in VARIABLES:
            from difflib import get_close_matches  # here, since it takes 2 ms of a start

            if meant := get_close_matches(name, VARIABLES, 1, 0.9):
                log.warning(
                    "the environment variable %s has no effect; did you mean %s?", name, meant[0]
                )
