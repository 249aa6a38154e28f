"""Why a call was refused, in the words of its arguments.

NumPy refuses wrong shapes by itself; only then are the arguments looked at, so a right call pays
nothing for good messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.compiler.graph import Graph, Port
from kinetree.errors import KinetreeError, ShapeError

MOVED = {"axes", "axis"}  # options under which core dimensions stand elsewhere


class ArgumentError(KinetreeError, TypeError):
    """A call with a wrong number of arguments, or with one that is no array of numbers."""


def explain(
    name: str, graph: Graph, arrays: Sequence[Any], options: Mapping[str, Any]
) -> KinetreeError | None:
    """The error that teaches, or None if nothing here is known to be wrong."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    if not nin <= len(arrays) <= nin + nout:
        return ArgumentError(
            f"{usage(name, graph)} takes {nin} arrays; {len(arrays)} were given. "
            "Output arrays go into out=."
        )
    if MOVED & options.keys():
        return None
    shapes = []
    for port, array in zip(graph.inputs, arrays, strict=False):
        try:
            shape = tuple(np.shape(array))
        except ValueError as ragged:
            return ShapeError(
                f"{port.name} of {usage(name, graph)} is not a regular array: {ragged}. "
                f"Expected shape {wanted(port)}."
            )
        if shape[len(shape) - len(port.shape) :] != port.shape or len(shape) < len(port.shape):
            return ShapeError(
                f"{port.name} has shape {shape}, but {usage(name, graph)} expects {wanted(port)}. "
                "States of a batch stand along leading axes."
            )
        shapes.append(shape[: len(shape) - len(port.shape)])
    return explain_batch(name, graph, shapes, arrays, options)


def explain_batch(
    name: str,
    graph: Graph,
    shapes: Sequence[tuple[int, ...]],
    arrays: Sequence[Any],
    options: Mapping[str, Any],
) -> ShapeError | None:
    """The error about leading axes that do not fit together, or outputs that do not fit them."""
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(
            f"{port.name} {shape}" for port, shape in zip(graph.inputs, shapes, strict=True)
        )
        return ShapeError(
            f"The leading axes of the arguments of {usage(name, graph)} do not broadcast: "
            f"{listed}. Each axis must be equal or 1."
        )
    out = options.get("out")
    outs = [*arrays[len(graph.inputs) :], *(out if isinstance(out, tuple) else [out])]
    for port, array in zip(graph.outputs, outs, strict=False):
        expected = batch + port.shape
        if array is not None and np.shape(array) != expected:
            return ShapeError(
                f"out for {port.name} of {usage(name, graph)} has shape {tuple(np.shape(array))}; "
                f"expected {expected}."
            )
    return None


def usage(name: str, graph: Graph) -> str:
    """The call in short: "inverse_dynamics(q, dq, ddq)"."""
    return f"{name}({', '.join(port.name for port in graph.inputs)})"


def wanted(port: Port) -> str:
    """The shape of a port with room for a batch: "(..., 7)"."""
    return f"({', '.join(['...', *map(str, port.shape)])})"
