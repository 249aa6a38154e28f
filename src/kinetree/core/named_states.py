"""One state in dicts {name: number}, as a control loop passes it thousands of times a second.

`core/labels.py` aligns labelled arguments of all kinds, with every check. Dicts of plain numbers
need few of these, and the order of the names is known before the first call.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.core.axis import Axis
from kinetree.core.labels import as_dict

# whether all types are those of numbers that have no shape, package or precision of their own
are_plain = frozenset({float, int, np.float64}).issuperset


class NamedStates:
    """Calls with one state in dicts, which a control loop makes thousands of times a second.

    It is made once for the names of a kernel.

    Args:
        inputs: the names along each argument; None: it has none.
        outputs: the names along the axes of each result.
    """

    __slots__ = ("_outputs", "_readers")

    def __init__(
        self, inputs: Sequence[Axis | None], outputs: Sequence[Sequence[Axis | None]]
    ) -> None:
        self._readers = [(0, None) if x is None else (len(x.names), x.entries) for x in inputs]
        self._outputs = [(axes, _plain_names(axes)) for axes in outputs]

    def call(self, enter: Callable[..., Any], given: Sequence[Any]) -> Any:
        """Evaluate a kernel, with results as dicts; None if an argument needs more checks.

        A dict that has a number for each name becomes the tuple of these in the order of the axis,
        which kernels read in machine code. Arrays, vectors of numbers, and a number without an
        axis, stay as they are.
        """
        if len(given) != len(self._readers):
            return None
        values: list[Any] = []
        for value, (size, entries) in zip(given, self._readers):  # noqa: B905 # strict is slower
            kind = type(value)
            if kind is dict:
                if entries is None or len(value) != size:
                    return None
                try:
                    value = entries(value)
                except KeyError:
                    return None
                if not are_plain(map(type, value)):
                    return None
            elif kind is np.ndarray:
                if value.dtype.char != "d":
                    return None
            elif kind is list or kind is tuple:
                if entries is None or not are_plain(map(type, value)):
                    return None
            elif kind is not float or entries is not None:
                return None
            values.append(value)
        results = enter(*values)
        if type(results) is tuple:
            return tuple(map(_one_as_dict, results, self._outputs))
        return _one_as_dict(results, self._outputs[0])


def _one_as_dict(x: Any, output: tuple[Sequence[Axis | None], Sequence[Sequence[str]]]) -> Any:
    """A result as dicts, quickly where it is one state with names along all its axes."""
    axes, names = output
    if not names or x.ndim != len(names) or x.dtype.char != "d":
        return as_dict(x, axes)
    if len(names) == 1:
        return dict(zip(names[0], x.tolist()))  # noqa: B905 # the kernel has the size of the names
    return _nested(x.tolist(), names)


def _plain_names(axes: Sequence[Axis | None]) -> list[tuple[str, ...]]:
    """The names along all axes, if all are keys of dicts; else none."""
    names = [x.names for x in axes if x is not None and not x.directions]
    return names if len(names) == len(axes) else []


def _nested(entries: Sequence[Any], names: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Dicts by name of nested lists of numbers."""
    if len(names) > 1:
        entries = [_nested(x, names[1:]) for x in entries]
    return dict(zip(names[0], entries, strict=True))
