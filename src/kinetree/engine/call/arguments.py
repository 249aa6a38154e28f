"""Arguments of a call: their axes of states, their number, their types, and errors about them.

A call of NumPy is examined only after NumPy raised an error, so a correct call pays nothing for
good messages. Tensors and arrays on a GPU are examined before they are computed with.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.containers import refuse_labels
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.errors import ArgumentError, KinetreeError, ShapeError

Lead = tuple[int, ...]  # the axes of states of an array, before those of its port
MOVED = {"axes", "axis"}  # options that move the core dimensions


def usage(name: str, graph: Graph) -> str:
    """Return the call in short: "inverse_dynamics(q, dq, ddq)"."""
    return f"{name}({', '.join(port.name for port in graph.inputs)})"


def wanted(port: Port) -> str:
    """Return the shape of a port with room for a batch: "(..., 7)"."""
    return f"({', '.join(['...', *map(str, port.shape)])})"


def in_order(
    name: str, graph: Graph, arrays: Sequence[object], options: Mapping[str, Any]
) -> tuple[tuple[object, ...], dict[str, Any]]:
    """Move inputs that are given by name to their places; return arrays and further options."""
    missing = [port.name for port in graph.inputs[len(arrays) :]]
    absent = [x for x in missing if x not in options]
    if len(absent) == len(missing):
        return tuple(arrays), dict(options)
    if absent:
        raise ArgumentError(f"{usage(name, graph)} was given no {', '.join(absent)}.")
    left = {key: value for key, value in options.items() if key not in missing}
    return (*arrays, *(options[x] for x in missing)), left


def leading_axes(name: str, graph: Graph, arrays: Sequence[object]) -> tuple[list[Lead], Lead]:
    """Return the axes of states of each argument, and those that they broadcast to."""
    leads: list[Lead] = []
    for port, array in zip(graph.inputs, arrays, strict=False):
        try:
            shape = tuple(np.shape(cast("Array", array)))
        except ValueError as ragged:
            raise ShapeError(
                f"{port.name} of {usage(name, graph)} is not a regular array: {ragged}. "
                f"Expected shape {wanted(port)}."
            ) from None
        lead = port.leading(shape)
        if lead is None:
            raise ShapeError(
                f"{port.name} has shape {shape}, but {usage(name, graph)} expects {wanted(port)}. "
                "States of a batch lie along leading axes."
            )
        leads.append(lead)
    try:
        return leads, np.broadcast_shapes(*leads)
    except ValueError:
        pairs = zip(graph.inputs, leads, strict=False)
        listed = ", ".join(f"{port.name} {lead}" for port, lead in pairs)
        raise ShapeError(
            f"The leading axes of the arguments of {usage(name, graph)} do not broadcast: "
            f"{listed}. Each axis must be equal or 1."
        ) from None


def check_shapes(
    name: str, graph: Graph, arrays: Sequence[object], options: Mapping[str, object]
) -> tuple[list[Lead], Lead]:
    """Return the leading axes; raise an error that names an argument or an output that is wrong."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    if not nin <= len(arrays) <= nin + nout:
        raise ArgumentError(
            f"{usage(name, graph)} takes {nin} arrays; {len(arrays)} were given. "
            "Output arrays go into out=."
        )
    for port, array in zip(graph.inputs, arrays, strict=False):
        refuse_labels(array, f"{port.name} of {usage(name, graph)}")
    leads, batch = leading_axes(name, graph, arrays)
    out = options.get("out")
    if problem := miscounted(graph, out):
        shaped = ", ".join(f"{port.name} {batch + port.shape}" for port in graph.outputs)
        raise ShapeError(
            f"out of {usage(name, graph)} is {problem}; expected "
            f"{f'a tuple of {nout} arrays' if nout > 1 else 'one array'}: {shaped}."
        )
    outs = [*arrays[nin:], *(out if isinstance(out, tuple) else [out])]
    for port, array in zip(graph.outputs, outs, strict=False):
        expected = batch + port.shape
        shape = getattr(array, "shape", expected)
        if tuple(shape) != expected:
            raise ShapeError(
                f"out for {port.name} of {usage(name, graph)} has shape {tuple(shape)}; "
                f"expected {expected}."
            )
    return leads, batch


def miscounted(graph: Graph, out: object) -> str:
    """Return what `out` is if it is not one array for each result, or "" if it is, or is None."""
    count = len(graph.outputs)
    if isinstance(out, tuple):
        length = len(cast("tuple[object, ...]", out))
        return "" if length == count else f"a tuple of length {length}"
    if out is None or count == 1:
        return ""
    return "one array" if isinstance(out, np.ndarray) else f"{out!r:.40}"


def explain(
    name: str, graph: Graph, arrays: Sequence[object], options: Mapping[str, object]
) -> KinetreeError | None:
    """Return an error that names the wrong argument of NumPy, or None if no mistake was found."""
    try:
        if not MOVED & options.keys():
            check_shapes(name, graph, arrays, options)
    except KinetreeError as problem:
        return problem
    for port, array in zip(graph.inputs, arrays, strict=False):
        kind = np.asarray(array).dtype
        if not np.can_cast(kind, np.float64, "safe"):
            return ArgumentError(
                f"{port.name} of {usage(name, graph)} has values of type {kind}; expected real "
                "numbers of at most 64 bits."
            )
    return None
