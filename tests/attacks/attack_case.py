"""Random cases of a law: draws that can be repeated and simplified, and notes on them.

A law is a function `law_*(rng)` in a file `laws_*.py` of this folder. It draws a random case from
`rng`, computes the same number in two ways that share no code, and asserts that they agree. Any
exception is a failure, and so is any warning.

`rng` is a `Case`: a numpy Generator that counts its draws and can replace some of them by simpler
ones. With no edits it returns the same numbers as `np.random.default_rng(seed)`.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
LIMIT = 120.0  # s, the longest that one case may run


@dataclass
class Log:
    """What a case drew: kinds of draws ("i" counts and choices, "f" numbers) and notes."""

    kinds: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)


class Case(np.random.Generator):
    """A random generator whose draws can be simplified.

    edits: what to do with draw number k: "l" takes the lowest count or first choice, "z" zero (or
    the lower bound where zero is outside), "r" rounds to one digit.
    """

    log: Log
    edits: Mapping[int, str]

    def __init__(self, seed: int, edits: Mapping[int, str] | None = None) -> None:
        super().__init__(np.random.PCG64(seed))
        self.log = Log()
        self.edits = edits or {}

    def _edit(self, kind: str) -> str:
        self.log.kinds.append(kind)
        return self.edits.get(len(self.log.kinds) - 1, "")

    def _number(self, drawn: Any, low: Any, high: Any) -> Any:
        edit = self._edit("f")
        if edit == "z":
            return np.clip(drawn * 0.0, low, high)
        if edit == "r":
            return np.clip(round_digits(drawn), low, high)
        return drawn

    def random(self, *args: Any, **options: Any) -> Any:
        return self._number(super().random(*args, **options), 0.0, 1.0)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._number(super().uniform(low, high, size), low, high)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._number(super().normal(loc, scale, size), -np.inf, np.inf)

    def standard_normal(self, *args: Any, **options: Any) -> Any:
        return self._number(super().standard_normal(*args, **options), -np.inf, np.inf)

    def integers(self, low: Any, high: Any = None, *args: Any, **options: Any) -> Any:
        drawn = super().integers(low, high, *args, **options)
        if self._edit("i") == "l":
            return drawn * 0 + (0 if high is None else low)
        return drawn

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, *rest: Any, **more: Any
    ) -> Any:
        drawn = super().choice(a, size, replace, *rest, **more)
        if self._edit("i") == "l" and replace:
            first = 0 if isinstance(a, int | np.integer) else a[0]
            return first if size is None else np.full_like(drawn, first)
        return drawn


def round_digits(x: Any) -> Any:
    """Numbers rounded to one significant digit."""
    x = np.asarray(x, float)
    scale = 10.0 ** np.floor(np.log10(np.where(x == 0, 1.0, np.abs(x))))
    rounded = np.round(x / scale) * scale
    return float(rounded) if rounded.ndim == 0 else rounded


def note(rng: Any, **values: Any) -> None:
    """Keep values that help to read a failure, such as the robot or the torque."""
    if isinstance(rng, Case):
        with np.printoptions(precision=17, threshold=60):
            rng.log.notes.update({name: str(value) for name, value in values.items()})


def law(*, ci: int = 1, limit: float = LIMIT, weight: float = 1.0) -> Callable[[Any], Any]:
    """Settings of a law: cases in the test suite, seconds for one case, share of the time."""

    def settle(function: Any) -> Any:
        function.ci, function.limit, function.weight = ci, limit, weight
        return function

    return settle


class Skip(Exception):
    """A case that says nothing, such as a grazing event. It counts as skipped."""


def all_laws() -> dict[str, Any]:
    """Every law of this folder, by `file.function` without the prefixes."""
    for folder in (FOLDER, FOLDER.parent, FOLDER.parent / "oracles"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return dict(_laws())


def _laws() -> Iterator[tuple[str, Any]]:
    for path in sorted(FOLDER.glob("laws_*.py")):
        module = importlib.import_module(path.stem)
        for name, value in vars(module).items():
            if name.startswith("law_") and callable(value) and value.__module__ == path.stem:
                yield f"{path.stem[5:]}.{name[4:]}", value
