"""Reader: entries of data that came as text, checked, with the place named in every complaint."""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import ParseError


class Reader:
    """The entries of one JSON object; `where` says what it describes."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, dict):
            raise ParseError(f"{where} is {_short(data)}; expected named entries.")
        self.data, self.where = data, where

    def get(self, key: str) -> Any:
        """An entry that must be there."""
        if key not in self.data:
            raise ParseError(f"{self.where} has no {key!r}; its entries are {list(self.data)}.")
        return self.data[key]

    def text(self, key: str) -> str:
        """A string."""
        value = self.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a name")
        return value

    def one_of(self, key: str, names: tuple[str, ...]) -> str:
        """A string of a list."""
        if self.text(key) not in names:
            raise self.wrong(key, f"one of {', '.join(names)}")
        return self.text(key)

    def list(self, key: str, length: int | None = None) -> list[Any]:
        """A list, of the given length."""
        value = self.get(key)
        if not isinstance(value, list) or length not in (None, len(value)):
            raise self.wrong(key, "a list" if length is None else f"{length} entries")
        return value

    def whole(self, key: str, low: int, high: int) -> int:
        """A whole number between bounds."""
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}")
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        """Whole numbers of 0 or more."""
        values = self.list(key)
        if any(not isinstance(x, int) or isinstance(x, bool) or x < 0 for x in values):
            raise self.wrong(key, "whole numbers, 0 or more")
        return tuple(values)

    def number(self, key: str) -> Any:
        """One finite number, whole or not as it is written."""
        return self.array(key, ()).item()

    def array(self, key: str, shape: tuple[int, ...]) -> Array:
        """Finite numbers of the given shape."""
        value = self.get(key)
        try:
            x = np.array(value)
        except ValueError:
            raise self.wrong(key, f"numbers of shape {shape}") from None
        if x.dtype.kind not in "if" or x.shape != shape or not np.isfinite(x).all():
            raise self.wrong(key, f"finite numbers of shape {shape}")
        return x

    def wrong(self, key: str, expected: str) -> ParseError:
        """What is wrong with an entry."""
        return ParseError(f"{key} of {self.where} is {_short(self.get(key))}; expected {expected}.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
