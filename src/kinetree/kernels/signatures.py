"""Types of the kernels that are attributes of Robot: their arguments by name, and their results.

These classes are for type checkers and editors; at run time the attributes are plain kernels. NumPy
arrays, lists and numbers give NumPy arrays, tensors of torch and JAX tensors of the same type, and
labelled arrays results that are labelled alike. Types of pandas, polars and xarray are described by
methods that they have, so that this module needs none of these packages.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

from numpy.typing import DTypeLike

from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array, ArrayLike


class TorchTensor(Protocol):
    """A tensor of torch."""

    requires_grad: bool


class JaxArray(Protocol):
    """An array of JAX."""

    def block_until_ready(self) -> Any:
        """Wait for the values."""
        ...


Whole = TypeVar("Whole", covariant=True)
Column = TypeVar("Column", covariant=True)


class PandasSeries(Protocol[Whole]):
    """A Series of pandas; its `to_frame` names the type of the frames that it belongs to."""

    @property
    def index(self) -> Any:
        """Labels of the entries."""
        ...

    def to_frame(self) -> Whole:
        """The series as a frame."""
        ...


class PandasFrame(Protocol[Column]):
    """A DataFrame of pandas; its `duplicated` names the type of its columns."""

    @property
    def index(self) -> Any:
        """Labels of the rows."""
        ...

    def duplicated(self) -> Column:
        """A column of booleans."""
        ...


class PolarsFrame(Protocol[Column]):
    """A DataFrame of polars; its `to_series` names the type of its columns."""

    def to_series(self, index: int = 0) -> Column:
        """One column."""
        ...

    def to_dicts(self) -> Any:
        """The rows."""
        ...


class XarrayArray(Protocol):
    """A DataArray of xarray."""

    @property
    def dims(self) -> tuple[Any, ...]:
        """Names of the dimensions."""
        ...

    @property
    def coords(self) -> Any:
        """Labels along the dimensions."""
        ...


class KernelOptions(TypedDict, total=False):
    """Options of `Robot.compile` and `Robot.derivative` that every target has."""

    frame: str | None
    expressed: Literal["body", "space", "aligned"] | None
    rows: Sequence[int] | None
    wrenches: bool
    free: Sequence[str]


class UfuncOptions(TypedDict, total=False):
    """Further options of a NumPy ufunc, for float32 results or results in another layout."""

    dtype: DTypeLike
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    order: Literal["K", "A", "C", "F"]
    axes: list[Any]


Tensor = TypeVar("Tensor", bound="TorchTensor | JaxArray")
Labelled = TypeVar(
    "Labelled", bound="PandasSeries[Any] | PandasFrame[Any] | PolarsFrame[Any] | XarrayArray"
)
Rows = TypeVar("Rows", bound="PandasFrame[Any] | PolarsFrame[Any] | XarrayArray")
Xarray = TypeVar("Xarray", bound=XarrayArray)
Frame = TypeVar("Frame")
Series = TypeVar("Series")

Named: TypeAlias = Mapping[str, ArrayLike]  # {joint: number or array}
# arguments that may stand beside a labelled one, and leave the form of the result to it
Beside: TypeAlias = Array | float | Sequence[ArrayLike] | Named

# Each class narrows Kernel.__call__, which takes any arrays, to the arguments of one quantity; this
# is what the ignored rule forbids for subclasses that are instantiated.
# pyright: reportIncompatibleMethodOverride=false, reportNoOverloadImplementation=false
# fmt: off


class PositionKernel(Kernel):
    """A joint vector as a function of q."""

    @overload
    def __call__(
        self, q: Tensor,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class PositionMatrixKernel(Kernel):
    """A matrix or several as a function of q."""

    @overload
    def __call__(
        self, q: Tensor,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(
        self, q: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class PositionScalarKernel(Kernel):
    """A number as a function of q."""

    @overload
    def __call__(
        self, q: Tensor,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> Array: ...
    @overload
    def __call__(self, q: PandasSeries[Any]) -> float: ...
    @overload
    def __call__(self, q: PandasFrame[Series]) -> Series: ...
    @overload
    def __call__(self, q: PolarsFrame[Series]) -> Series: ...
    @overload
    def __call__(self, q: Xarray) -> Xarray: ...
    @overload
    def __call__(
        self, q: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class PositionPlaceKernel(Kernel):
    """A vector in space as a function of q."""

    @overload
    def __call__(
        self, q: Tensor,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> Array: ...
    @overload
    def __call__(self, q: Labelled) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class RateKernel(Kernel):
    """A joint vector as a function of dq."""

    @overload
    def __call__(
        self, dq: Tensor,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, dq: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, dq: Labelled) -> Labelled: ...
    @overload
    def __call__(
        self, dq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class VelocityKernel(Kernel):
    """A joint vector as a function of q and dq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class VelocityMatrixKernel(Kernel):
    """A matrix as a function of q and dq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class VelocityScalarKernel(Kernel):
    """A number as a function of q and dq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> Array: ...
    @overload
    def __call__(self, q: PandasSeries[Any], dq: PandasSeries[Any] | Beside) -> float: ...
    @overload
    def __call__(self, q: PandasFrame[Series], dq: PandasFrame[Series] | Beside) -> Series: ...
    @overload
    def __call__(self, q: PolarsFrame[Series], dq: PolarsFrame[Series] | Beside) -> Series: ...
    @overload
    def __call__(self, q: Xarray, dq: Xarray | Beside) -> Xarray: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class VelocityPlaceKernel(Kernel):
    """A vector in space as a function of q and dq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> Array: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class LoadedVelocityKernel(Kernel):
    """A joint vector as a function of q and dq, and of F_ext if given."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, F_ext: ArrayLike | None = None) -> dict[str, Any]: ...
    @overload
    def __call__(
        self, q: Labelled, dq: Labelled | Beside, F_ext: ArrayLike | None = None,
    ) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class MotionMatrixKernel(Kernel):
    """A matrix as a function of q, dq and ddq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, ddq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, ddq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(
        self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside,
        ddq: PandasSeries[Frame] | Beside,
    ) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside, ddq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class ReferenceMatrixKernel(Kernel):
    """A matrix as a function of q, dq, dq_r and ddq_r."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, dq_r: Beside, ddq_r: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(
        self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside,
        dq_r: PandasSeries[Frame] | Beside, ddq_r: PandasSeries[Frame] | Beside,
    ) -> Frame: ...
    @overload
    def __call__(
        self, q: Rows, dq: Rows | Beside, dq_r: Rows | Beside, ddq_r: Rows | Beside,
    ) -> Rows: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class InverseDynamicsKernel(Kernel):
    """A joint vector as a function of q, dq and ddq, and of F_ext if given."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: Named, dq: Beside, ddq: Beside, F_ext: ArrayLike | None = None,
    ) -> dict[str, Any]: ...
    @overload
    def __call__(
        self, q: Labelled, dq: Labelled | Beside,
        ddq: Labelled | Beside, F_ext: ArrayLike | None = None,
    ) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class ForwardDynamicsKernel(Kernel):
    """A joint vector as a function of q, dq and tau, and of F_ext if given."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: Named, dq: Beside, tau: Beside, F_ext: ArrayLike | None = None,
    ) -> dict[str, Any]: ...
    @overload
    def __call__(
        self, q: Labelled, dq: Labelled | Beside,
        tau: Labelled | Beside, F_ext: ArrayLike | None = None,
    ) -> Labelled: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class InverseDerivativesKernel(Kernel):
    """dtau_dq and dtau_dv as functions of q, dq, ddq and F_ext."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: tuple[Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, q: Named, dq: Beside, ddq: Beside, F_ext: ArrayLike | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(
        self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside,
        ddq: PandasSeries[Frame] | Beside, F_ext: ArrayLike | None = None,
    ) -> tuple[Frame, Frame]: ...
    @overload
    def __call__(
        self, q: Rows, dq: Rows | Beside, ddq: Rows | Beside, F_ext: ArrayLike | None = None,
    ) -> tuple[Rows, Rows]: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: tuple[Array, Array] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Array, Array]: ...


class ForwardDerivativesKernel(Kernel):
    """da_dq, da_dv and da_dtau as functions of q, dq, tau and F_ext."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(
        self, q: Named, dq: Beside, tau: Beside, F_ext: ArrayLike | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(
        self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside,
        tau: PandasSeries[Frame] | Beside, F_ext: ArrayLike | None = None,
    ) -> tuple[Frame, Frame, Frame]: ...
    @overload
    def __call__(
        self, q: Rows, dq: Rows | Beside, tau: Rows | Beside, F_ext: ArrayLike | None = None,
    ) -> tuple[Rows, Rows, Rows]: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None,
        *, out: tuple[Array, Array, Array] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Array, Array, Array]: ...


class EnergyRegressorKernel(Kernel):
    """y_T and y_U as functions of q and dq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike,
        *, out: tuple[Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> tuple[dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> tuple[Labelled, Labelled]: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: tuple[Array, Array] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Array, Array]: ...
