"""Types of arrays that kernels take and return, for type checkers and editors.

NumPy arrays, lists and numbers give NumPy arrays, tensors of torch and JAX tensors of the same
type, and labelled arrays results that are labelled alike. Types of pandas and polars are
described by methods that they have, so that this module needs none of these packages.
"""
# ruff: noqa: D102 (methods that only mark a type)

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

from numpy.typing import DTypeLike

from kinetree.core.arrays import Array, ArrayLike


class TorchTensor(Protocol):
    """A tensor of torch."""

    requires_grad: bool


class JaxArray(Protocol):
    """An array of JAX."""

    def block_until_ready(self) -> Any: ...


Whole = TypeVar("Whole", covariant=True)
Column = TypeVar("Column", covariant=True)


class PandasSeries(Protocol[Whole]):
    """A Series of pandas; its `to_frame` names the type of the frames that it belongs to."""

    @property
    def index(self) -> Any: ...

    def to_frame(self) -> Whole: ...


class PandasFrame(Protocol[Column]):
    """A DataFrame of pandas; its `duplicated` names the type of its columns."""

    @property
    def index(self) -> Any: ...

    def duplicated(self) -> Column: ...


class PolarsFrame(Protocol[Column]):
    """A DataFrame of polars; its `to_series` names the type of its columns."""

    def to_series(self, index: int = 0) -> Column: ...

    def to_dicts(self) -> Any: ...


class CodeOptions(TypedDict, total=False):
    """Options of a quantity that kernels and exported code have."""

    frame: str | None
    expressed: Literal["body", "space", "aligned"] | None
    rows: Sequence[int] | None
    wrenches: bool
    free: Sequence[str]


class KernelOptions(CodeOptions, total=False):
    """Options of `Robot.compile` and `Robot.derivative` that every target has."""

    sparse: bool


class UfuncOptions(TypedDict, total=False):
    """Further options of a NumPy ufunc, for float32 results or results in another layout."""

    dtype: DTypeLike
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    order: Literal["K", "A", "C", "F"]
    axes: list[Any]


Tensor = TypeVar("Tensor", bound="TorchTensor | JaxArray")
Labelled = TypeVar("Labelled", bound="PandasSeries[Any] | PandasFrame[Any] | PolarsFrame[Any]")
# an array whose results are of the same kind
Form = TypeVar(
    "Form",
    bound="TorchTensor | JaxArray | PandasSeries[Any] | PandasFrame[Any] | PolarsFrame[Any]",
)
Rows = TypeVar("Rows", bound="PandasFrame[Any] | PolarsFrame[Any]")
Frame = TypeVar("Frame")
Series = TypeVar("Series")

Named: TypeAlias = Mapping[str, ArrayLike]  # {joint: number or array}
# arguments that may stand beside a labelled one, and leave the form of the result to it
Beside: TypeAlias = Array | float | Sequence[ArrayLike] | Named
