"""Symbolic explanations in exact numbers, with every expression in its shortest form."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

from kinetree.base.arrays import Array, is_numeric
from kinetree.model import Model
from kinetree.scalars import Scalar

SNAP = 1e-10  # as in `kinetree.symbolic`, for rotations of files


class HasMap(Protocol):
    """A record that can apply a function to all its numbers and symbols."""

    def map(self, function: Callable[[Any], Any]) -> Any:
        """The same with `function` applied to every number or symbol."""
        ...


Record = TypeVar("Record", bound=HasMap)


def has_symbols(model: Model, arguments: Mapping[str, object]) -> bool:
    """Return True if the robot or an argument is symbolic."""
    data = (model.M_pi, model.m, model.com, model.I_com, model.gravity)
    return not all(is_numeric(np.asarray(x)) for x in data) or any(
        map(_symbolic, arguments.values())
    )


def exact_arguments(model: Model, arguments: Mapping[str, object]) -> tuple[Model, dict[str, Any]]:
    """The robot and the arguments in exact numbers."""
    from kinetree.symbols.exact import exact_model

    return exact_model(model, SNAP)[0], {name: _exact(x) for name, x in arguments.items()}


def shortest(found: Record, model: Model, q: Array, rates: Iterable[Scalar]) -> Record:
    """An explanation with its expressions written like the closed forms of `kinetree.symbolic`.

    model, q, rates: the exact robot, q, and entries of dq and ddq that it was computed from.
    """
    from kinetree.symbols.parameters import weights
    from kinetree.symbols.present import Presenter
    from kinetree.symbols.read import Reader, register_angles

    reader = Reader()
    register_angles(reader, model, list(q))
    symbols = [rate for rate in rates if _symbolic(rate)]
    for symbol in symbols:
        reader.read(symbol)
    read = found.map(reader.read)  # all angles must be known before the first result is written
    presenter = Presenter(reader, [x for x in symbols if x in reader.ring.index], weights(model))
    return read.map(presenter.present)


def _exact(x: object) -> object:
    """Arrays, and wrenches by the name of their frame, in exact numbers; None stays."""
    from kinetree.symbols.exact import exact_array

    if isinstance(x, dict):
        return {name: _exact(value) for name, value in x.items()}
    return None if x is None else exact_array(np.asarray(x))


def _symbolic(x: object) -> bool:
    values: Iterable[object] = x.values() if isinstance(x, dict) else [x]
    entries = (y for value in values if value is not None for y in np.asarray(value).ravel())
    return any(getattr(y, "free_symbols", None) for y in entries)
