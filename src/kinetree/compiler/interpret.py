"""The slow reference meaning of a graph, for floats over any batch and for every other scalar kind.

When two backends disagree, this file decides. It is also the way to run where nothing can be
compiled.
"""

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from kinetree import scalars
from kinetree.compiler import fma as rounded_once
from kinetree.compiler.graph import Graph, Port
from kinetree.errors import ShapeError

Meaning = dict[str, Callable[..., Any]]

ARITHMETIC: Meaning = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}

FLOATS: Meaning = ARITHMETIC | {
    "fma": rounded_once.fma,
    "fms": lambda a, b, c: rounded_once.fma(a, b, -c),
    "fnma": lambda a, b, c: rounded_once.fma(-a, b, c),
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sign": lambda x: np.sign(x) + 0,  # no negative zero
    "select": lambda a, b, c: np.where(a > 0, b, c),
}

ANY_KIND: Meaning = ARITHMETIC | {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sin": np.frompyfunc(scalars.sin, 1, 1),
    "cos": np.frompyfunc(scalars.cos, 1, 1),
    "sqrt": np.frompyfunc(scalars.sqrt, 1, 1),
    "sign": np.frompyfunc(scalars.sign, 1, 1),
    "select": np.frompyfunc(scalars.where, 3, 1),
}


def interpret(graph: Graph, *arrays: Any) -> tuple[Any, ...]:
    """The outputs of a graph, operation by operation.

    Args:
        graph: what to compute.
        arrays: one for each input, shape (..., *port.shape); leading axes broadcast. Arrays of
            float32 are computed in float32, other real numbers in float64. Arrays of objects
            (mpmath numbers, fractions, symbols, traced scalars) are computed in the arithmetic of
            their elements, where constants are exact and nothing is rounded that the kind does not
            round.

    Returns:
        One array for each output, shape (..., *port.shape).
    """
    batch, dtype, inputs = prepare(graph, arrays)
    generic = dtype.hasobject
    meaning = ANY_KIND if generic else FLOATS
    constant = exact_constant(inputs) if generic else dtype.type
    values: list[Any] = []
    last = {arg: i for i, node in enumerate(graph.nodes) for arg in node.args}
    last |= dict.fromkeys(graph.roots(), len(graph.nodes))
    with np.errstate(all="ignore"):  # NaN and infinity are answers here, as in compiled code
        for i, node in enumerate(graph.nodes):
            if node.op == "const":
                values.append(constant(node.value))  # type: ignore[arg-type]
            elif node.op == "input":
                port, element = node.value  # type: ignore[misc]
                values.append(inputs[port][..., element])
            else:
                values.append(meaning[node.op](*[values[arg] for arg in node.args]))
                for arg in node.args:
                    if last[arg] == i:
                        values[arg] = None  # a million states would fill the memory
    return tuple(
        gather(port, [values[node] for node in result], batch, dtype)
        for port, result in zip(graph.outputs, graph.results, strict=True)
    )


def prepare(graph: Graph, arrays: tuple[Any, ...]) -> tuple[tuple[int, ...], Any, list[Any]]:
    """The batch shape, the element type, and each input as an array (..., size)."""
    if len(arrays) != len(graph.inputs):
        names = ", ".join(port.name for port in graph.inputs)
        raise ShapeError(f"{len(arrays)} arrays given for {len(graph.inputs)} inputs: {names}.")
    given = [np.asarray(array) for array in arrays]
    leading: list[tuple[int, ...]] = []
    for port, array in zip(graph.inputs, given, strict=True):
        split = array.ndim - len(port.shape)
        if split < 0 or array.shape[split:] != port.shape:
            raise ShapeError(
                f"{port.name!r} has shape {array.shape}; {port.shape} is expected, with any axes "
                "of states before it."
            )
        leading.append(array.shape[:split])
    dtype = element_type(given)
    flat = [
        array.astype(dtype, copy=False).reshape((*lead, port.size))
        for port, array, lead in zip(graph.inputs, given, leading, strict=True)
    ]
    return np.broadcast_shapes(*leading), dtype, flat


def element_type(arrays: list[Any]) -> np.dtype[Any]:
    """Objects where any array holds objects; float32 where all are; otherwise float64."""
    if any(array.dtype == object for array in arrays):
        return np.dtype(object)
    if arrays and all(array.dtype == np.float32 for array in arrays):
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def exact_constant(inputs: list[Any]) -> Callable[[float], Any]:
    """How a constant joins the scalars of the inputs without loss."""
    fractions = any(isinstance(x, Fraction) for array in inputs for x in array.flat)

    def constant(value: float) -> Any:
        if value.is_integer():
            return int(value)
        return Fraction(value) if fractions else value

    return constant


def gather(port: Port, values: list[Any], batch: tuple[int, ...], dtype: Any) -> Any:
    """Stack the elements of one output behind the batch axes."""
    array = np.empty((*batch, port.size), dtype=dtype)
    for k, value in enumerate(values):
        array[..., k] = value
    return array.reshape((*batch, *port.shape))
