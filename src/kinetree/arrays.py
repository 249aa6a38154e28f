"""Arrays of any scalar kind: read from the caller, checked, and named in every complaint.

Numbers become float64; anything else (SymPy, mpmath, traced scalars) stays as it is in an array of
objects. Nothing is converted silently: what is not a number of its shape is refused.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.errors import InputError, ShapeError

Array = np.ndarray[Any, Any]


def is_numeric(x: Array) -> bool:
    """True for floats and integers, False for symbols, traced scalars and mpmath numbers."""
    return x.dtype != object


def array(value: Any, shape: Sequence[int | None], name: str) -> Array:
    """`value` as an array of the given shape (None: any length), finite, float64 or object.

    Raises:
        ShapeError: the shape differs.
        InputError: an entry is not a number, or is NaN or infinite.
    """
    try:
        x = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"{name} must be an array of shape {_show(shape)}: {error}.") from None
    if x.dtype.kind in "biuf":
        x = x.astype(np.float64)
    elif x.dtype != object:
        raise InputError(f"{name} must hold real numbers, found dtype {x.dtype}: {value!r}.")
    if len(x.shape) != len(shape) or any(
        want not in (None, have) for want, have in zip(shape, x.shape, strict=True)
    ):
        raise ShapeError(f"{name} must have shape {_show(shape)}, found {_show(x.shape)}.")
    if is_numeric(x):
        _check_finite(x, name)
    elif any(isinstance(entry, str | bytes | None.__class__) for entry in x.flat):
        raise InputError(f"{name} must hold numbers, found {value!r}.")
    return x


def scalar(value: Any, name: str) -> Any:
    """`value` as one finite number, or as the symbol that it is."""
    return array(value, (), name)[()]


def unit(value: Any, name: str) -> Array:
    """`value` as a direction in 3-space: length 1 to 1e-6, then exact to rounding.

    A direction that is plainly not of length 1 is refused, since its length may mean something.
    """
    x = array(value, (3,), name)
    if not is_numeric(x):
        return x
    length = float(np.linalg.norm(x))
    if length == 0:
        raise InputError(f"{name} is zero; expected a direction of length 1, such as (0, 0, 1).")
    if abs(length - 1) > 1e-6:
        raise InputError(
            f"{name} = {x.tolist()} has length {length:.9g}; expected length 1. "
            f"Divide it by its length: {(x / length).tolist()}."
        )
    return x if abs(length - 1) < 4e-16 else x / length


def _check_finite(x: Array, name: str) -> None:
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        index = tuple(int(k) for k in bad[0])
        where = f"{name}[{', '.join(map(str, index))}]" if index else name
        raise InputError(f"{where} is {x[index]}; expected a finite number.")


def _show(shape: Sequence[int | None]) -> str:
    entries = ["any" if n is None else str(n) for n in shape]
    return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"
