"""Types of the kernels that are attributes of Robot: their arguments by name, and their results.

These classes are for type checkers and editors; at run time the attributes are plain kernels. NumPy
arrays, lists and numbers give NumPy arrays, tensors of torch and JAX give tensors of the same type.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypedDict, TypeVar, Unpack, overload

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


class KernelOptions(TypedDict, total=False):
    """Options of `Robot.compile` and `Robot.derivative` that every target has."""

    frame: str | None
    wrenches: bool
    free: Sequence[str]


class UfuncOptions(TypedDict, total=False):
    """Further options of a NumPy ufunc, for float32 results or results in another layout."""

    dtype: DTypeLike
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"]
    order: Literal["K", "A", "C", "F"]
    axes: list[Any]


Tensor = TypeVar("Tensor", bound="TorchTensor | JaxArray")

# Each class narrows Kernel.__call__, which takes any arrays, to the arguments of one quantity; this
# is what the ignored rule forbids for subclasses that are instantiated.
# pyright: reportIncompatibleMethodOverride=false, reportNoOverloadImplementation=false
# fmt: off


class PositionKernel(Kernel):
    """A function of q."""

    @overload
    def __call__(
        self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]
    ) -> Array: ...


class RateKernel(Kernel):
    """A function of dq."""

    @overload
    def __call__(
        self, dq: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]
    ) -> Tensor: ...
    @overload
    def __call__(
        self, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]
    ) -> Array: ...


class VelocityKernel(Kernel):
    """A function of q and dq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class LoadedVelocityKernel(Kernel):
    """A function of q and dq, and of the wrenches F_ext where they are given."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, F_ext: ArrayLike = ...,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, F_ext: ArrayLike = ...,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class MotionKernel(Kernel):
    """A function of q, dq and ddq."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, ddq: ArrayLike,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class InverseDynamicsKernel(Kernel):
    """A function of q, dq and ddq, and of the wrenches F_ext where they are given."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike = ...,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike = ...,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class ForwardDynamicsKernel(Kernel):
    """A function of q, dq and tau, and of the wrenches F_ext where they are given."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike = ...,
        *, out: Tensor | None = None, **options: Unpack[UfuncOptions],
    ) -> Tensor: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike = ...,
        *, out: Array | None = None, **options: Unpack[UfuncOptions],
    ) -> Array: ...


class InverseDerivativesKernel(Kernel):
    """dtau_dq and dtau_dv as functions of q, dq, ddq and F_ext."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike = ...,
        *, out: tuple[Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike = ...,
        *, out: tuple[Array, Array] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Array, Array]: ...


class ForwardDerivativesKernel(Kernel):
    """da_dq, da_dv and da_dtau as functions of q, dq, tau and F_ext."""

    @overload
    def __call__(
        self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike = ...,
        *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike = ...,
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
    def __call__(
        self, q: ArrayLike, dq: ArrayLike,
        *, out: tuple[Array, Array] | None = None, **options: Unpack[UfuncOptions],
    ) -> tuple[Array, Array]: ...
