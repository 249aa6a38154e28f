"""Arguments and results of the kernels of a robot: their sizes, and the names along their axes."""

from collections.abc import Iterable, Sequence

import numpy as np

from kinetree.core.arrays import is_numeric, strangest
from kinetree.core.records import named_numbers
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.errors import ModelError, argument
from kinetree.model import Model
from kinetree.model.labelled import DIRECTIONS, letter_axis
from kinetree.model.quantity import ARGUMENTS
from kinetree.present.labels import Axes, Axis

NAMED = {"n", "nq", "l", "u", "a", "c"}  # letters of arguments whose entries have names


def argument_port(model: Model, name: str) -> Port:
    """Return the port of an argument of a quantity."""
    letters = ARGUMENTS[name].dims.split()
    if letters == ["nq"] and model.nq == model.n:
        letters = ["n"]
    return Port(name, tuple(length(model, x) for x in letters), tuple(letters))


def length(model: Model, letter: str, rows: Sequence[int] | None = None) -> int:
    """Return the length of an axis with a letter of the notation, or with a number."""
    axis = axis_of(model, letter, rows)
    if axis is not None:
        return len(axis.names)
    return int(letter) if letter.isdigit() else 0


def axis_of(model: Model, letter: str, rows: Sequence[int] | None = None) -> Axis | None:
    """Return the names along an axis; rows: the coordinates of a task, whose letter is k."""
    if letter == "k":
        names = DIRECTIONS["6"]
        return Axis(names if rows is None else tuple(names[row] for row in rows), "axis")
    if letter == "p":
        from kinetree.dynamics.parameters import parameter_axis

        return parameter_axis(model)
    return letter_axis(model, letter)


def port_axes(
    model: Model,
    graph: Graph,
    rows: Sequence[int] | None = None,
    letters: Iterable[Sequence[str]] | None = None,
) -> Axes:
    """Return the names along the axes of a kernel's arguments and results.

    rows: the coordinates of a task. letters: those of each result, where the graph does not have
    them.
    """
    inputs: list[Axis | None] = []
    for port in graph.inputs:
        letter = "nq" if port.name == "q" else "".join(port.dims)
        axis = axis_of(model, letter) if letter in NAMED else None
        inputs.append(axis if fits(port, (axis,)) else None)
    outputs: list[tuple[Axis | None, ...]] = []
    dims = (port.dims for port in graph.outputs) if letters is None else letters
    for port, along in zip(graph.outputs, dims, strict=True):
        axes = tuple(axis_of(model, letter, rows) for letter in along)
        outputs.append(axes if fits(port, axes) else (None,) * len(port.shape))
    return tuple(inputs), tuple(outputs)


def fits(port: Port, axes: Sequence[Axis | None]) -> bool:
    """Return True if an axis has as many names as the port has entries along it."""
    sizes = [None if axis is None else len(axis.names) for axis in axes]
    pairs = zip(sizes, port.shape, strict=False)
    return len(sizes) == len(port.shape) and all(a in (None, b) for a, b in pairs)


def check_model(model: Model) -> None:
    """Raise ModelError for a robot without moving joints or with symbols in its data."""
    if model.n == 0:
        raise ModelError(
            f"{model.name!r} has no joint that moves, so no kernel can be made for it; "
            "kinetree.dynamics computes its quantities. If the whole robot floats, "
            f"loading it with {argument('floating', True)} gives it a free joint."
        )
    for name, x in named_numbers(model):
        if not is_numeric(np.asarray(x)):
            entry = strangest(x)
            raise ModelError(
                f"{name} of {model.name!r} has {entry} ({type(entry).__name__}), but kernels are "
                "compiled for float64 numbers. Run kinetree.dynamics on symbols and mpmath "
                "numbers, or convert the model with model.astype(float)."
            )
