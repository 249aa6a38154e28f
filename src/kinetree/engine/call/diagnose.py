"""Leading axes of the arguments of a call, and errors for calls that NumPy refused.

The arguments are examined only after NumPy raised an error, so a correct call pays nothing for good
messages.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.containers import refuse_labels
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.errors import KinetreeError, ShapeError

MOVED = {"axes", "axis"}  # options that move the core dimensions


class ArgumentError(KinetreeError, TypeError):
    """A call with a wrong number of arguments, or with one that is not an array of numbers."""


def leading_axes(
    name: str, graph: Graph, arrays: Sequence[object]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return the axes of states of each argument, and those that they broadcast to."""
    leads: list[tuple[int, ...]] = []
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
) -> None:
    """Raise an error that names an argument or an output of another shape."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    if not nin <= len(arrays) <= nin + nout:
        raise ArgumentError(
            f"{usage(name, graph)} takes {nin} arrays; {len(arrays)} were given. "
            "Output arrays go into out=."
        )
    if MOVED & options.keys():
        return
    for port, array in zip(graph.inputs, arrays, strict=False):
        refuse_labels(array, f"{port.name} of {usage(name, graph)}")
    batch = leading_axes(name, graph, arrays)[1]
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
        if isinstance(array, np.ndarray) and array.shape != expected:
            raise ShapeError(
                f"out for {port.name} of {usage(name, graph)} has shape {array.shape}; "
                f"expected {expected}."
            )


def check_types(
    name: str, graph: Graph, arrays: Sequence[object], options: Mapping[str, object]
) -> None:
    """Raise an error that names an argument of another type, for calls with NumPy arrays."""
    for port, array in zip(graph.inputs, arrays, strict=False):
        kind = np.asarray(array).dtype
        if not np.can_cast(kind, np.float64, "safe"):
            raise ArgumentError(
                f"{port.name} of {usage(name, graph)} has values of type {kind}; expected real "
                "numbers of at most 64 bits."
            )
    out = options.get("out")
    for port, array in zip(graph.outputs, out if isinstance(out, tuple) else [out], strict=False):
        if problem := unfit(array):
            raise ArgumentError(
                f"out for {port.name} of {usage(name, graph)} {problem}; expected a NumPy array of "
                "floating-point numbers that can be written."
            )


def explain(
    name: str, graph: Graph, arrays: Sequence[object], options: Mapping[str, object]
) -> KinetreeError | None:
    """Return an error that names the wrong argument, or None if no mistake was found."""
    try:
        check_shapes(name, graph, arrays, options)
        check_types(name, graph, arrays, options)
    except KinetreeError as problem:
        return problem
    return None


def miscounted(graph: Graph, out: object) -> str:
    """Return what `out` is if it is not one array for each result, or "" if it is, or is None."""
    count = len(graph.outputs)
    if isinstance(out, tuple):
        length = len(cast("tuple[object, ...]", out))
        return "" if length == count else f"a tuple of length {length}"
    if out is None or count == 1:
        return ""
    return "one array" if isinstance(out, np.ndarray) else f"{out!r:.40}"


def unfit(out: object) -> str:
    """Return why an array cannot take results, or "" if it can, or is None."""
    if out is None:
        return ""
    if not isinstance(out, np.ndarray):
        return f"is {out!r:.40}"
    array = cast("Array", out)
    if not np.can_cast(np.float64, array.dtype, "same_kind"):
        return f"has values of type {array.dtype}"
    return "" if array.flags.writeable else "cannot be written"


def usage(name: str, graph: Graph) -> str:
    """Return the call in short: "inverse_dynamics(q, dq, ddq)"."""
    return f"{name}({', '.join(port.name for port in graph.inputs)})"


def wanted(port: Port) -> str:
    """Return the shape of a port with room for a batch: "(..., 7)"."""
    return f"({', '.join(['...', *map(str, port.shape)])})"
