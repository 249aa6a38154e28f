"""The reference meaning of a graph, for floats over any batch and for every other scalar kind.

When two backends disagree, this file decides which is right. It also runs kernels, slowly, where
nothing can be compiled.

Floats have the bits of compiled kernels: fused products are rounded once, and the functions are
made of the same operations (`array_arithmetic.py`). A few states of float64 are computed on Python
floats (`float_arithmetic.py`), again with the same bits, in a fiftieth of the time.
"""

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from kinetree import scalars
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.repeat import repeated
from kinetree.engine.compiler.array_arithmetic import elementary_value, fma, sincos_value
from kinetree.engine.compiler.float_arithmetic import SINGLE, TROUBLE
from kinetree.engine.compiler.graph import Graph, Port, Sweep
from kinetree.errors import ShapeError

Meaning = dict[str, Callable[..., Any]]

STATES_AS_FLOATS = 32  # states of float64 that are computed one by one
FORGETFUL_STATES = 4096  # from which values are forgotten early: a million would fill the memory

ARITHMETIC: Meaning = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}

FLOATS: Meaning = ARITHMETIC | {
    "fma": fma,
    "fms": lambda a, b, c: fma(a, b, -c),
    "fnma": lambda a, b, c: fma(-a, b, c),
    "sin": lambda x: sincos_value(x)[0],
    "cos": lambda x: sincos_value(x)[1],
    "sincos": sincos_value,
    "sqrt": np.sqrt,
    "sign": lambda x: np.sign(x) + 0,  # no negative zero
    "select": lambda a, b, c: np.where(a > 0, b, c),
    "exp": lambda x: elementary_value("exp", x),
    "log": lambda x: elementary_value("log", x),
    "tanh": lambda x: elementary_value("tanh", x),
    "atan2": lambda y, x: elementary_value("atan2", y, x),
    "abs": np.abs,
    "min": lambda a, b: np.where((a < b) | (a != a), a, b),  # NaN stays; b where they are equal
    "max": lambda a, b: np.where((a > b) | (a != a), a, b),
}


def each(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of `count` scalars for arrays of objects, and for single scalars as they are.

    NumPy would ask a traced scalar itself for the function, which knows NumPy's own by name only.
    """
    loop = np.frompyfunc(function, count, 1)

    def apply(*args: Any) -> Any:
        return (loop if any(isinstance(x, np.ndarray) for x in args) else function)(*args)

    return apply


ANY_KIND: Meaning = ARITHMETIC | {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sin": each(scalars.sin, 1),
    "cos": each(scalars.cos, 1),
    "sqrt": each(scalars.sqrt, 1),
    "sign": each(scalars.sign, 1),
    "select": each(scalars.where, 3),
    "exp": each(scalars.exp, 1),
    "log": each(scalars.log, 1),
    "tanh": each(scalars.tanh, 1),
    "atan2": each(scalars.atan2, 2),
    "abs": each(scalars.absolute, 1),
    "min": each(scalars.minimum, 2),
    "max": each(scalars.maximum, 2),
}


def interpret(graph: Graph, *arrays: ArrayLike) -> tuple[Array, ...]:
    """Compute the outputs of a graph, operation by operation.

    Args:
        graph: what to compute.
        arrays: one for each input, shape (..., *port.shape); leading axes broadcast. Arrays of
            float32 are computed in float32, other real numbers in float64. Arrays of objects
            (mpmath numbers, fractions, symbols, traced scalars) are computed in the arithmetic of
            their elements, where constants are exact and only the kind itself rounds.

    Returns:
        One array for each output, shape (..., *port.shape).
    """
    batch, dtype, inputs = prepare(graph, arrays)
    count = prod(batch)
    if dtype == np.float64 and 0 < count <= STATES_AS_FLOATS:
        return one_by_one(graph, batch, inputs)
    columns = [[array[..., k] for k in range(array.shape[-1])] for array in inputs]
    with np.errstate(all="ignore"):  # NaN and infinity are results here, as in compiled code
        if dtype.hasobject:
            values = run(graph, columns, ANY_KIND, exact_constant(inputs))
        else:
            values = run(graph, columns, FLOATS, dtype.type, forget=count > FORGETFUL_STATES)
    return tuple(
        gather(port, part, batch, dtype)
        for port, part in zip(graph.outputs, parted(graph.outputs, values), strict=True)
    )


def one_by_one(graph: Graph, batch: tuple[int, ...], inputs: list[Array]) -> tuple[Array, ...]:
    """The outputs for a few states of float64, on Python floats."""
    count = prod(batch)
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, -1) for x in inputs]
    outputs = np.empty((count, sum(port.size for port in graph.outputs)))
    for i in range(count):
        try:
            outputs[i] = run(graph, [row[i].tolist() for row in rows], SINGLE, float)
        except TROUBLE:
            with np.errstate(all="ignore"):
                outputs[i] = run(graph, [list(row[i]) for row in rows], FLOATS, np.float64)
    ends = np.cumsum([port.size for port in graph.outputs])[:-1]
    return tuple(
        np.ascontiguousarray(part).reshape((*batch, *port.shape))
        for port, part in zip(graph.outputs, np.split(outputs, ends, axis=1), strict=True)
    )


def run(
    graph: Graph,
    inputs: Sequence[Sequence[Any]],
    meaning: Meaning,
    constant: Callable[[float], Any],
    *,
    forget: bool = False,
) -> list[Any]:
    """The elements of all outputs, one after the other, from those of the inputs.

    An element is a number, or an array with the numbers of all states.
    """
    values: list[Any] = []
    angles: dict[int, tuple[Any, Any]] = {}  # sine and cosine by the node of the angle
    both = meaning.get("sincos")
    last = {arg: i for i, node in enumerate(graph.nodes) for arg in node.args} if forget else {}
    kept = frozenset(graph.roots()) if forget else frozenset[int]()
    for i, (op, args, value) in enumerate(graph.nodes):
        if op == "const":
            values.append(constant(value))  # type: ignore[arg-type]
        elif op == "input":
            port, element = value  # type: ignore[misc]
            values.append(inputs[port][element])
        elif both is not None and (op == "sin" or op == "cos"):
            (angle,) = args
            if angle not in angles:
                angles[angle] = both(values[angle])
            values.append(angles[angle][op == "cos"])
        elif op == "repeat":
            numbers = [values[arg] for arg in args]
            values.append(run_loop(graph.nodes[i].sweep, numbers, meaning, constant))
        elif op == "carried":
            values.append(values[args[0]][value[1]])  # type: ignore[index]
        else:
            values.append(meaning[op](*[values[arg] for arg in args]))
        if forget:
            for arg in args:
                if last[arg] == i and arg not in kept:
                    values[arg] = None
    return [values[node] for node in graph.roots()]


def run_loop(
    sweep: Sweep, numbers: Sequence[Any], meaning: Meaning, constant: Callable[[float], Any]
) -> Sequence[Any]:
    """The same for a loop: what is carried after its last round."""

    def once(carried: Sequence[Any], fixed: Sequence[Any]) -> Sequence[Any]:
        return run(sweep.graph, (carried, fixed), meaning, constant)

    carried, fixed = numbers[: sweep.carried], numbers[sweep.carried :]
    if meaning is not ANY_KIND:
        for _ in range(sweep.rounds):
            if not np.any(carried[0] > 0):
                break
            carried = once(carried, fixed)
        return carried

    def one_state(*state: Any) -> Array:  # scalars of other kinds know how to repeat
        parts = [np.array(x, object) for x in (state[: sweep.carried], state[sweep.carried :])]
        return repeated(
            lambda *x: np.array(once(*x), object), sweep.rounds, *parts, solves=sweep.solves
        )

    if not any(isinstance(x, np.ndarray) for x in numbers):
        return list(one_state(*numbers))
    batch = np.broadcast_shapes(*map(np.shape, numbers))
    columns = [np.broadcast_to(np.asarray(x, object), batch).ravel() for x in numbers]
    made = np.array([one_state(*state) for state in zip(*columns, strict=True)], object)
    return list(made.T.reshape(-1, *batch))


def parted(ports: Sequence[Port], values: Sequence[Any]) -> list[Sequence[Any]]:
    """The elements of each output."""
    ends = np.cumsum([port.size for port in ports]).tolist()
    return [values[end - port.size : end] for port, end in zip(ports, ends, strict=True)]


def prepare(
    graph: Graph, arrays: tuple[ArrayLike, ...]
) -> tuple[tuple[int, ...], np.dtype[Any], list[Array]]:
    """Return the batch shape, the element type, and each input as an array (..., size)."""
    if len(arrays) != len(graph.inputs):
        names = ", ".join(port.name for port in graph.inputs)
        raise ShapeError(f"{len(arrays)} arrays given for {len(graph.inputs)} inputs: {names}.")
    inputs = [np.asarray(array) for array in arrays]
    leading: list[tuple[int, ...]] = []
    for port, array in zip(graph.inputs, inputs, strict=True):
        lead = port.leading(array.shape)
        if lead is None:
            raise ShapeError(
                f"{port.name!r} has shape {array.shape}; {port.shape} is expected, with any axes "
                "of states before it."
            )
        leading.append(lead)
    dtype = element_type(inputs)
    flat = [
        array.astype(dtype, copy=False).reshape((*lead, port.size))
        for port, array, lead in zip(graph.inputs, inputs, leading, strict=True)
    ]
    return np.broadcast_shapes(*leading), dtype, flat


def element_type(arrays: list[Array]) -> np.dtype[Any]:
    """Return object where any array has objects, float32 where all are, otherwise float64."""
    if any(array.dtype == object for array in arrays):
        return np.dtype(object)
    if arrays and all(array.dtype == np.float32 for array in arrays):
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def exact_constant(inputs: list[Array]) -> Callable[[float], Any]:
    """Return the function that makes constants of the kind of the inputs without loss."""
    fractions = any(isinstance(x, Fraction) for array in inputs for x in array.flat)

    def constant(value: float) -> Any:
        if value.is_integer():
            return int(value)
        return Fraction(value) if fractions else value

    return constant


def gather(
    port: Port, values: Sequence[Array], batch: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Stack the elements of one output behind the batch axes."""
    array = np.empty((*batch, port.size), dtype=dtype)
    for k, value in enumerate(values):
        array[..., k] = value
    return array.reshape((*batch, *port.shape))
