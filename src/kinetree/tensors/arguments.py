"""What every package's arrays are checked for before a kernel sees them, with errors that teach."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.backends.explain import ArgumentError, explain, usage
from kinetree.errors import InputError
from kinetree.tensors.operation import Operation

FLOATS = ("float32", "float64")
NUMBERS = (int, float, list, tuple)  # what Python itself has, and what takes on any type


def check_call(operation: Operation, arrays: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Refuse shapes that do not fit and options that only NumPy has."""
    graph, name = operation.graph, operation.name
    unknown = ", ".join(options.keys() - {"out"})
    if unknown or len(arrays) != len(graph.inputs):
        what = f"the option {unknown}" if unknown else f"{len(arrays)} arrays"
        raise ArgumentError(
            f"{usage(name, graph)} was given {what}; with arrays that are not NumPy's it takes "
            f"{len(graph.inputs)} arrays and, where results can be written, out=."
        )
    problem = explain(name, graph, arrays, options)
    if problem is not None:
        raise problem


def number_type(operation: Operation, found: Mapping[str, str]) -> str:
    """The type to compute in, from the type of each array by its argument's name.

    Floating arrays decide, and must agree: a float32 among float64 is mostly an oversight, which
    would double the memory of everything after it. Integers alone become what NumPy makes of them.
    """
    floats = {name: kind for name, kind in found.items() if kind in FLOATS}
    if len(set(floats.values())) > 1:
        listed = ", ".join(f"{name} is {kind}" for name, kind in floats.items())
        raise InputError(
            f"the arguments of {operation.name} have different types: {listed}. "
            "Convert them to one: nothing is converted silently."
        )
    for name, kind in found.items():
        if kind not in FLOATS and np.dtype(_known(kind)).kind not in "biu":
            raise InputError(
                f"{name} of {operation.name} is {kind}; kernels compute in float32 and float64. "
                "Convert it to one of them."
            )
    if floats:
        return next(iter(floats.values()))
    small = all(np.can_cast(_known(kind), np.float32) for kind in found.values())
    return "float32" if small and found else "float64"


def _known(kind: str) -> str:
    """A type that NumPy knows; bfloat16 and its like stand as objects."""
    try:
        return np.dtype(kind).name
    except TypeError:
        return "O"


def real(operation: Operation, name: str, x: Any) -> Any:
    """What a user wrote down, if it is real numbers: no text, no complex ones, no ragged lists."""
    try:
        kind = np.asarray(x).dtype.kind
    except ValueError:
        kind = "O"
    if kind not in "biuf":
        written = repr(x)
        short = written if len(written) <= 80 else f"{written[:77]}..."
        raise InputError(f"{name} of {operation.name} is {short}; expected real numbers.")
    return x


def holds(x: Any, kind: type) -> bool:
    """Whether a list has arrays of a package in it."""
    return any(holds(y, kind) for y in x) if isinstance(x, list | tuple) else isinstance(x, kind)


def refuse_kind(operation: Operation, name: str, array: Any, package: str, way_out: str) -> None:
    """Another package's array among those of this one."""
    home = type(array).__module__.partition(".")[0]
    kind = type(array).__name__ if home == "builtins" else f"{home}.{type(array).__name__}"
    raise InputError(
        f"{name} of {operation.name} is a {kind} among arrays of {package}; expected arrays of "
        f"one package. Convert it, e.g. with {way_out}."
    )
