"""Arrays of any scalar kind: read from the caller, checked, and named in every error.

Numbers become float64; anything else (SymPy, mpmath, traced scalars) stays as it is in an array of
objects. Nothing is converted silently: entries that are not numbers, and other shapes, are errors.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from kinetree.core.containers import refuse_labels
from kinetree.errors import InputError, ShapeError
from kinetree.scalars import Scalar, home, sqrt

LARGEST = float(np.finfo(np.float64).max)
EXACT = 2**53  # smaller integers are exact as floats
SMALL = 64  # entries


class HasArray(Protocol):
    """An object that NumPy can read: a tensor, a data frame, a column of one."""

    def __array__(self) -> Any:
        """Return the values as an array."""
        ...


class HasDlpack(Protocol):
    """A tensor on a CPU or a GPU that can be shared without a copy."""

    def __dlpack__(self) -> Any:
        """Return the memory as a capsule."""
        ...


class Named:
    """A type that `help` and `inspect.signature` show by its name instead of its definition."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __or__(self, other: object) -> "Named":
        return Named(f"{self} | {_type_name(other)}")

    def __ror__(self, other: object) -> "Named":
        return Named(f"{_type_name(other)} | {self}")

    def __repr__(self) -> str:
        return self.name


def _type_name(kind: object) -> str:
    if kind is None:
        return "None"
    return kind.__name__ if type(kind) is type else repr(kind).rpartition("typing.")[2]


if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
    # numbers of any kind in nested lists, arrays or tensors, as callers write them
    ArrayLike: TypeAlias = Array | Scalar | Sequence["ArrayLike"] | HasArray | HasDlpack
    # a joint vector: also by name, {joint: number or array}; see `kinetree.present.labels`
    StateLike: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
else:
    Array, ArrayLike, StateLike = map(Named, ("Array", "ArrayLike", "StateLike"))


def is_numeric(x: Array) -> bool:
    """Return True for floats and integers, False for symbols, traced scalars, mpmath numbers."""
    return x.dtype != object


def array_module(x: object) -> Any:
    """The package of an array: CuPy for its own, NumPy for everything else."""
    return sys.modules["cupy"] if type(x).__module__.partition(".")[0] == "cupy" else np


def known(x: Array) -> Array | None:
    """The values of `x` as floats, or None where it holds symbols or traced scalars."""
    try:
        return x.astype(np.float64)
    except (TypeError, ValueError):
        return None


def known_number(x: Scalar) -> float | None:
    """A number as a float, or None for a symbol or a traced scalar."""
    if isinstance(x, float):
        return x
    number = known(np.asarray(x))
    return None if number is None else float(number)


def converted(x: Array, scalar: Callable[[Any], Any]) -> Array:
    """Every entry in another kind of number; floats make an array of floats."""
    entries = np.empty(x.size, object)
    entries[:] = [scalar(v) for v in x.ravel().tolist()]
    plain = all(isinstance(v, float) for v in entries)
    return (entries.astype(float) if plain else entries).reshape(x.shape)


def frozen(x: ArrayLike) -> Array:
    """`x` as a read-only array: a copy, or itself where it is read-only already."""
    values = np.asarray(x)
    if values.flags.writeable:
        values = values.copy()
        values.flags.writeable = False
    return values


T = TypeVar("T")


def read_only(x: T) -> T:
    """A copy of `x` that cannot be written into; a scalar as it is.

    Functions of the caller get this, so that they cannot change an array that is used afterwards.
    """
    if not isinstance(x, np.ndarray):
        return x
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def length(x: Array) -> Scalar:
    """Euclidean length of a vector; of floats the nearest double, however large or small."""
    return nearest_length(x.tolist()) if is_numeric(x) else sqrt(x @ x)


def nearest_length(values: Sequence[float]) -> float:
    """Length of a vector of floats, the double nearest to it.

    The sum of squares is exact, as a quotient of integers; `math.hypot` differs between versions of
    Python, and between processors.
    """
    entries = [abs(float(x)) for x in values if x]
    if len(entries) < 2:
        return entries[0] if entries else 0.0
    if not all(map(math.isfinite, entries)):
        return math.hypot(*entries)
    quotients = [x.as_integer_ratio() for x in entries]
    unit = max(denominator for _, denominator in quotients)  # all are powers of two
    total = 0
    for numerator, denominator in quotients:
        total += (numerator * (unit // denominator)) ** 2
    more = max(0, 128 - total.bit_length()) // 2  # a root of 64 bits decides the rounding
    root = math.isqrt(total << (2 * more))
    inexact = root * root != total << (2 * more)  # one bit more keeps a tie from being assumed
    try:
        return (2 * root + inexact) / (unit << (more + 1))
    except OverflowError:
        return math.inf


def times(a: Array, b: Array, *more: Array) -> Array:
    """Product of matrices, or of matrices and a vector, summed in the order of the index.

    Products are taken from the left: (a b) c.

    NumPy leaves products of floats to a library whose order of sums and fused operations depend on
    the processor. The numbers of a robot must not, so their products are written out here.
    """
    if more:
        return times(times(a, b), *more)
    if a.dtype == object or b.dtype == object:
        return a @ b
    if b.ndim == 1:
        products = a * b
        terms = [products[..., k] for k in range(len(b))]
    else:
        products = a[..., :, None] * b[..., None, :, :] if a.ndim > 1 else a[:, None] * b
        terms = [products[..., k, :] for k in range(b.shape[-2])]
    total: Any = 0  # a sum that begins at 0 is never -0
    for term in terms:
        total = total + term
    return total


def array(value: ArrayLike, shape: Sequence[int | None], name: str) -> Array:
    """`value` as an array of the given shape (None: any length), finite, float64 or object.

    Raises:
        ShapeError: the shape differs.
        InputError: an entry is not a number, or is NaN or infinite; or the value has names, which
            would be lost (`present/labels.py` aligns names where they have a meaning).
    """
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == tuple(shape):
        x = value.copy()
        _check_entries(x, name)
        return x
    refuse_labels(value, name)
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
    _check_entries(x, name)
    return x


def scalar(value: ArrayLike, name: str) -> Scalar:
    """`value` as one finite number; symbols stay as they are."""
    if isinstance(value, float) and -LARGEST <= value <= LARGEST:  # not infinite, not NaN
        return np.float64(value)
    if type(value) is int and -EXACT <= value <= EXACT:
        return np.float64(value)
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value}; expected a number.")
    return array(value, (), name)[()]


def unit(value: ArrayLike, name: str) -> Array:
    """`value` as a direction in 3-space: length 1 to 1e-6, then exact to rounding.

    A direction that is plainly not of length 1 is an error, since its length may have a meaning.
    """
    x = array(value, (3,), name)
    values = known(x)
    if values is None:
        return x
    found = length(values)
    if found == 0:
        raise InputError(f"{name} is zero; expected a direction of length 1, such as (0, 0, 1).")
    if abs(found - 1) > 1e-6:
        raise InputError(
            f"{name} = {values.tolist()} has length {found:.9g}; expected length 1. "
            f"Divide it by its length: {(values / found).tolist()}."
        )
    return x if abs(found - 1) < 4e-16 or not is_numeric(x) else x / found


def strangest(x: Array | Scalar | tuple[Scalar, ...]) -> Scalar:
    """The entry of `x` to show in a message: a symbol before a number, long before short."""
    numbers = (int, float, np.number)
    entries = np.ravel(np.asarray(x)).tolist()
    return max(entries, key=lambda entry: (not isinstance(entry, numbers), len(str(entry))))


def _check_entries(x: Array, name: str) -> None:
    if x.dtype == np.float64 and x.size <= SMALL:
        if all(map(math.isfinite, x.ravel().tolist())):  # quicker than NumPy for few entries
            return
    elif is_numeric(x) and np.isfinite(x).all():
        return
    for index, entry in np.ndenumerate(x):
        where = f"{name}[{', '.join(map(str, index))}]" if index else name
        if not hasattr(entry, "__neg__"):
            raise InputError(f"{where} is {entry!r}; expected a number.")
        if not _is_finite(entry):
            raise InputError(f"{where} is {entry}; expected a finite number.")


def _is_finite(entry: Scalar) -> bool:
    """Return False for NaN, infinity and values beyond floats; symbols are not judged."""
    test = getattr(home(entry), "isfinite", None)
    try:
        return test is None or bool(test(entry))
    except OverflowError:
        return False
    except TypeError:  # an unknown kind of scalar
        return True


def _show(shape: Sequence[int | None]) -> str:
    entries = ["any" if n is None else str(n) for n in shape]
    return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"
