"""The meaning of a graph, operation by operation, for floats over any batch and any other scalar.

It computes small graphs that are not worth compiling, and kernels, slowly, where nothing can be
compiled. Floats are those of NumPy: fused products are rounded twice here and sines are those of
its library, so results differ from those of compiled kernels by roundings.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.repeat import repeated
from kinetree.engine.compiler.graph import Graph, Port, Sweep
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.errors import ShapeError

Constant = Callable[[float], Any]


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
    columns = [[array[..., k] for k in range(array.shape[-1])] for array in inputs]
    constant = exact_constant(inputs) if dtype.hasobject else dtype.type
    with np.errstate(all="ignore"):  # NaN and infinity are results here, as in compiled code
        values = run(graph, columns, constant, floats=not dtype.hasobject)
    return tuple(
        gather(port, part, batch, dtype)
        for port, part in zip(graph.outputs, parted(graph.outputs, values), strict=True)
    )


def run(
    graph: Graph, inputs: Sequence[Sequence[Any]], constant: Constant, *, floats: bool = False
) -> list[Any]:
    """The elements of all outputs, one after the other, from those of the inputs.

    An element is a number, or an array with the numbers of all states. floats: of NumPy; otherwise
    scalars of any kind.
    """
    values: list[Any] = []
    for op, args, value in graph.nodes:
        if op == "const":
            values.append(constant(value))  # type: ignore[arg-type]
        elif op == "input":
            port, element = value  # type: ignore[misc]
            values.append(inputs[port][element])
        elif isinstance(value, Sweep):
            values.append(run_loop(value, [values[arg] for arg in args], constant, floats))
        elif op == "carried":
            values.append(values[args[0]][value[1]])  # type: ignore[index]
        else:
            meaning = OPERATIONS[op].numpy if floats else OPERATIONS[op].scalar
            values.append(meaning(*[values[arg] for arg in args]))
    return [values[node] for node in graph.roots()]


def run_loop(
    sweep: Sweep, numbers: Sequence[Any], constant: Constant, floats: bool
) -> Sequence[Any]:
    """The same for a loop: what is carried after its last round, and the results of a scan."""

    def once(*inputs: Sequence[Any]) -> Sequence[Any]:
        return run(sweep.graph, inputs, constant, floats=floats)

    carried, fixed = numbers[: sweep.carried], numbers[sweep.carried :]
    if sweep.scans:
        fixed, rows = fixed[: sweep.fixed], fixed[sweep.fixed :]
        results: list[Any] = []
        for k in range(0, len(rows), sweep.row):
            made = once(carried, fixed, rows[k : k + sweep.row])
            carried = made[: sweep.carried]
            results += made[sweep.carried :]
        return [*carried, *results]
    if floats:
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
