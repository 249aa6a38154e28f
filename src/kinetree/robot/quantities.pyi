"""Types of the quantities of Robot, for editors and type checkers.

Written by tools/write_stubs.py from the declarations of the quantities; do not edit.
"""

# ruff: noqa: E501
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar, Unpack, overload

from kinetree.core.arrays import Array, ArrayLike
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.signatures import (
    Beside,
    Frame,
    Labelled,
    Named,
    PandasFrame,
    PandasSeries,
    PolarsFrame,
    Rows,
    Series,
    Tensor,
    UfuncOptions,
    Xarray,
)
from kinetree.model import HasModel, Model
from kinetree.robot.core import RobotCore

Form = TypeVar("Form")

class Compiled(Generic[Form]):
    """An attribute of Robot that is a kernel of its model, compiled at the first access."""

    def __init__(self, declared: Callable[[Any], Form]) -> None: ...
    @overload
    def __get__(self, robot: None, kind: type) -> Compiled[Form]: ...
    @overload
    def __get__(self, robot: HasModel, kind: type) -> Form: ...
    def __call__(self, robot: HasModel, *arrays: object, **options: object) -> Any: ...

def framed_call(model: Model, name: str) -> Callable[..., Any]: ...

class BiasForcesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, F_ext: ArrayLike | None = None, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, F_ext: ArrayLike | None = None) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside, F_ext: ArrayLike | None = None) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, F_ext: ArrayLike | None = None, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class BiasForcesRateKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, ddq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside, ddq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class CenterOfMassKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> Array: ...
    @overload
    def __call__(self, q: Labelled) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class CenterOfMassJacobianKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class CentroidalMomentumKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> Array: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class CentroidalMomentumMatrixKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class CentroidalMomentumMatrixRateKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class ConstrainedForwardDynamicsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside, tau: Beside, F_ext: ArrayLike | None = None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside, tau: Labelled | Beside, F_ext: ArrayLike | None = None) -> tuple[Labelled, Labelled, Labelled]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Array, Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array, Array]: ...

class ConstrainedInverseDynamicsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Tensor, Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside, ddq: Beside, F_ext: ArrayLike | None = None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside, ddq: Labelled | Beside, F_ext: ArrayLike | None = None) -> tuple[Labelled, Labelled, Labelled, Labelled]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Array, Array, Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array, Array, Array]: ...

class ConstraintBiasKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class ConstraintErrorsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class ConstraintImpulseKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> tuple[Labelled, Labelled, Labelled]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: tuple[Array, Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array, Array]: ...

class ConstraintJacobianKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class ContactPointsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> tuple[Frame, Frame, Frame]: ...
    @overload
    def __call__(self, q: Rows) -> tuple[Rows, Rows, Rows]: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: tuple[Array, Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array, Array]: ...

class CoriolisForcesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class CoriolisMatrixKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class EnergyRegressorKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: tuple[Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> tuple[dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> tuple[Labelled, Labelled]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: tuple[Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array]: ...

class ForwardDynamicsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, tau: Beside, F_ext: ArrayLike | None = None) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside, tau: Labelled | Beside, F_ext: ArrayLike | None = None) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class ForwardDynamicsDerivativesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside, tau: Beside, F_ext: ArrayLike | None = None) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, tau: PandasSeries[Frame] | Beside, F_ext: ArrayLike | None = None) -> tuple[Frame, Frame, Frame]: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside, tau: Rows | Beside, F_ext: ArrayLike | None = None) -> tuple[Rows, Rows, Rows]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Array, Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array, Array]: ...

class FrictionForcesKernel(Kernel):
    @overload
    def __call__(self, dq: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, dq: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, dq: Labelled) -> Labelled: ...
    @overload
    def __call__(self, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class GravityForcesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class InverseDynamicsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, ddq: Beside, F_ext: ArrayLike | None = None) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside, ddq: Labelled | Beside, F_ext: ArrayLike | None = None) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class InverseDynamicsDerivativesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside, ddq: Beside, F_ext: ArrayLike | None = None) -> tuple[dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, ddq: PandasSeries[Frame] | Beside, F_ext: ArrayLike | None = None) -> tuple[Frame, Frame]: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside, ddq: Rows | Beside, F_ext: ArrayLike | None = None) -> tuple[Rows, Rows]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, F_ext: ArrayLike | None = None, *, out: tuple[Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array]: ...

class InverseMassMatrixKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class KineticEnergyKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
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
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class LinkPosesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class MassMatrixKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame]) -> Frame: ...
    @overload
    def __call__(self, q: Rows) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class MassMatrixRateKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class MomentumKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> Array: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class MomentumRegressorKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class PotentialEnergyKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
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
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class ReducedDynamicsKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: tuple[Tensor, Tensor, Tensor] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside) -> tuple[Frame, Frame, Frame]: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside) -> tuple[Rows, Rows, Rows]: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: tuple[Array, Array, Array] | None = None, **options: Unpack[UfuncOptions]) -> tuple[Array, Array, Array]: ...

class ReferenceRegressorKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, dq_r: Beside, ddq_r: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, dq_r: PandasSeries[Frame] | Beside, ddq_r: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside, dq_r: Rows | Beside, ddq_r: Rows | Beside) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class RegressorKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside, ddq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, ddq: PandasSeries[Frame] | Beside) -> Frame: ...
    @overload
    def __call__(self, q: Rows, dq: Rows | Beside, ddq: Rows | Beside) -> Rows: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class SpringForcesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class TransposedCoriolisForcesKernel(Kernel):
    @overload
    def __call__(self, q: Tensor, dq: ArrayLike, *, out: Tensor | None = None, **options: Unpack[UfuncOptions]) -> Tensor: ...
    @overload
    def __call__(self, q: Named, dq: Beside) -> dict[str, Any]: ...
    @overload
    def __call__(self, q: Labelled, dq: Labelled | Beside) -> Labelled: ...
    @overload
    def __call__(self, q: ArrayLike, dq: ArrayLike, *, out: Array | None = None, **options: Unpack[UfuncOptions]) -> Array: ...

class Quantities(RobotCore):
    """Quantities of a robot at a state, or at many."""

    @Compiled
    def bias_forces(self) -> BiasForcesKernel:
        r"""Joint forces at zero acceleration: h(q, dq) = c + g + springs + friction - J^T F_ext.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            h: joint forces of a motion without acceleration, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.bias_forces([0.1, 0.2], [1, 0.5]).round(3)
            array([362.168,  72.736])
        """
    @Compiled
    def bias_forces_rate(self) -> BiasForcesRateKernel:
        r"""Rate of `bias_forces` along a motion: dh/dt, with h = c + g + springs + friction.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dh: rate of the joint forces at zero acceleration, shape (..., n), N m/s or N/s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.bias_forces_rate([0.1, 0.2], [1, 0.5], [0, 2]).round(3)
            array([-76.145, -29.325])
        """
    @overload
    def body_jacobian(self, q: Tensor, frame: str | None = None) -> Tensor:
        r"""Body Jacobian J_b of a frame: its twist (angular, linear) in its own axes is J_b dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            J_b: Jacobian of the twist in the axes of the frame, shape (..., 6, n), rad/s and m/s
                for a unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.body_jacobian([0.1, 0.2])[:, 0].round(3)
            array([0.   , 0.   , 1.   , 0.199, 1.78 , 0.   ])
        """
    @overload
    def body_jacobian(self, q: Named, frame: str | None = None) -> dict[str, Any]: ...
    @overload
    def body_jacobian(self, q: PandasSeries[Frame], frame: str | None = None) -> Frame: ...
    @overload
    def body_jacobian(self, q: Rows, frame: str | None = None) -> Rows: ...
    @overload
    def body_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array: ...
    @overload
    def body_jacobian_rate(self, q: Tensor, dq: ArrayLike, frame: str | None = None) -> Tensor:
        r"""Rate of the body Jacobian of a frame, dJ_b/dt.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            dJ_b: rate of the body Jacobian, shape (..., 6, n), the units of J_b per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.body_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 0].round(3)
            array([ 0.   ,  0.   ,  0.   ,  0.49 , -0.099,  0.   ])
        """
    @overload
    def body_jacobian_rate(self, q: Named, dq: Beside, frame: str | None = None) -> dict[str, Any]: ...
    @overload
    def body_jacobian_rate(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, frame: str | None = None) -> Frame: ...
    @overload
    def body_jacobian_rate(self, q: Rows, dq: Rows | Beside, frame: str | None = None) -> Rows: ...
    @overload
    def body_jacobian_rate(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None) -> Array: ...
    @Compiled
    def center_of_mass(self) -> CenterOfMassKernel:
        r"""Centre of mass of all links and the base, in {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            p_com: position in the space frame, shape (..., 3), m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.center_of_mass([0.1, 0.2]).round(3)
            array([0.905, 0.128, 0.   ])
        """
    @Compiled
    def center_of_mass_jacobian(self) -> CenterOfMassJacobianKernel:
        r"""Jacobian of the centre of mass: its velocity in {s} is J dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            J_com: Jacobian of the centre of mass, shape (..., 3, n), m/s for a unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.center_of_mass_jacobian([0.1, 0.2]).round(3)
            array([[-0.128, -0.055],
                   [ 0.905,  0.177],
                   [ 0.   ,  0.   ]])
        """
    @Compiled
    def centroidal_momentum(self) -> CentroidalMomentumKernel:
        r"""Momentum (angular, linear) of the robot about its centre of mass, in the axes of {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            H_com: momentum (angular, linear) about the centre of mass, shape (..., 6), N m s and N
                s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.centroidal_momentum([0.1, 0.2], [1, 0.5]).round(3)
            array([ 0.   ,  0.   , 10.842, -6.364, 40.741,  0.   ])
        """
    @Compiled
    def centroidal_momentum_matrix(self) -> CentroidalMomentumMatrixKernel:
        r"""Centroidal momentum matrix A_G: `centroidal_momentum` is A_G dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            A_G: centroidal momentum matrix, shape (..., 6, n), N m s and N s for a unit of each
                rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.centroidal_momentum_matrix([0.1, 0.2])[2].round(3)
            array([8.877, 3.93 ])
        """
    @Compiled
    def centroidal_momentum_matrix_rate(self) -> CentroidalMomentumMatrixRateKernel:
        r"""Rate of A_G: the rate of `centroidal_momentum` is A_G ddq + dA_G dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dA_G: rate of A_G, shape (..., 6, n), the units of A_G per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.centroidal_momentum_matrix_rate([0.1, 0.2], [1, 0.5])[3].round(3)
            array([-40.741, -10.891])
        """
    @Compiled
    def constrained_forward_dynamics(self) -> ConstrainedForwardDynamicsKernel:
        r"""Accelerations and forces of constraints: M ddq + h = tau + J^T lambda, J ddq + gamma = 0.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: joint forces, shape (..., n), N m or N.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            lam: forces onto frame_b in axes of frame_a, of least norm, shape (..., m), N or N m.
            residual: J ddq + gamma, shape (..., m), rad/s^2 or m/s^2; 0 if Phi stays 0.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.constrained_forward_dynamics([0.1, -0.2], [1, -2], [0, 0])[1].round(3)
            array([4.419])
        """
    @Compiled
    def constrained_inverse_dynamics(self) -> ConstrainedInverseDynamicsKernel:
        r"""Forces of the motors and of the constraints: tau + J^T lambda = M ddq + h.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            tau: motor forces of least weighted norm, 0 without motor, shape (..., n), N m or N.
            lam: forces onto frame_b in axes of frame_a, of least norm, shape (..., m), N or N m.
            force_residual: M ddq + h - tau - J^T lambda, shape (..., n), N m or N.
            motion_residual: J ddq + gamma, shape (..., m), rad/s^2 or m/s^2; 0 if Phi stays 0.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.constrained_inverse_dynamics([0.1, -0.2], [1, -2], [1, -2])[0].round(3)
            array([ 47.002, -94.004])
        """
    @Compiled
    def constraint_bias(self) -> ConstraintBiasKernel:
        r"""Bias gamma = dJ/dt dq of the constraints: d^2 Phi/dt^2 = J ddq + gamma.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            gamma: dJ/dt dq, shape (..., m), rad/s^2 or m/s^2.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.constraint_bias([0.1, -0.2], [1, -2])
            array([0.])
        """
    @Compiled
    def constraint_errors(self) -> ConstraintErrorsKernel:
        r"""Errors Phi(q) of all equations of the constraints, as in `mobility.rows`.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Phi: errors of the equations, 0 where they are satisfied, shape (..., m), rad or m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.constraint_errors([0.1, 0.2]).round(3)
            array([0.4])
        """
    @Compiled
    def constraint_impulse(self) -> ConstraintImpulseKernel:
        r"""Impulse of constraints that close without rebound: M (dq_after - dq) = J^T impulse.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dq_after: the nearest rates that are allowed, shape (..., n), rad/s or m/s.
            impulse: impulses of the equations, shape (..., m), N s or N m s.
            residual: J dq_after, shape (..., m), rad/s or m/s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.constraint_impulse([0.1, -0.2], [1, 0])[0].round(3)
            array([ 1.616, -3.232])
        """
    @Compiled
    def constraint_jacobian(self) -> ConstraintJacobianKernel:
        r"""Jacobian J of the constraints: dPhi/dt = J dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            J: derivative of Phi, shape (..., m, n), units of Phi per unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.constraint_jacobian([0.1, -0.2])
            array([[2., 1.]])
        """
    @Compiled
    def contact_points(self) -> ContactPointsKernel:
        r"""Points of the contacts in {s}, their gaps, and the normals of the ground.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            points: points of the robot that touch first, in the space frame, shape (..., c, 3), m.
            gaps: distances from the ground, negative inside it, shape (..., c), m.
            normals: normals of the ground, in the space frame, shape (..., c, 3), of length 1.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> slope = kt.contacts.Plane((0, 1, 1), (0, 0, -0.5))
            >>> tip = kt.contacts.ContactPoint("tip", "tool")
            >>> robot = kt.robots.planar_2r().with_contacts([tip], slope)
            >>> robot.contact_points([0.1, 0.2])[1].round(3)
            array([0.591])
        """
    @Compiled
    def coriolis_forces(self) -> CoriolisForcesKernel:
        r"""Coriolis and centrifugal joint forces: c(q, dq) = C dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            c: Coriolis and centrifugal forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
            array([-1.887,  1.51 ])
        """
    @Compiled
    def coriolis_matrix(self) -> CoriolisMatrixKernel:
        r"""Coriolis matrix C(q, dq): c = C dq, and dM/dt - 2 C is skew-symmetric.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            C: Coriolis matrix of the Christoffel symbols, shape (..., n, n), the units of M per
                second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.coriolis_matrix([0.1, 0.2], [1, 0.5]).round(3)
            array([[-0.755, -2.265],
                   [ 1.51 ,  0.   ]])
        """
    @Compiled
    def energy_regressor(self) -> EnergyRegressorKernel:
        r"""Regressors of the energies: T = y_T @ robot.parameters, U = y_U @ robot.parameters.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            y_T: regressor of the kinetic energy, shape (..., p), J for a unit of each parameter.
            y_U: regressor of the potential energy, shape (..., p), J for a unit of each parameter.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.energy_regressor([0.1, 0.2], [1, 0])[0].shape
            (30,)
        """
    @Compiled
    def forward_dynamics(self) -> ForwardDynamicsKernel:
        r"""Joint accelerations under joint forces, without contacts: ddq = M^-1 (tau - h + J^T F_ext).

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: joint forces, shape (..., n), N m or N.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.forward_dynamics([0.1, 0.2], [1, 0], [0, 0]).round(3)
            array([-15.576,  28.535])
        """
    @Compiled
    def forward_dynamics_derivatives(self) -> ForwardDynamicsDerivativesKernel:
        r"""Derivatives of `forward_dynamics`; q is moved along tangent vectors of `integrate`.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: joint forces, shape (..., n), N m or N.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            da_dq: d ddq/d q, shape (..., n, n), 1/s^2 or the like.
            da_dv: d ddq/d dq, shape (..., n, n), 1/s or the like.
            da_dtau: d ddq/d tau = M^-1, shape (..., n, n), 1/(kg m^2) or the like.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.forward_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[2].round(3)
            array([[ 0.121, -0.39 ],
                   [-0.39 ,  1.558]])
        """
    @overload
    def frame_acceleration(self, q: Tensor, dq: ArrayLike, ddq: ArrayLike, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Tensor:
        r"""Time derivative of `frame_velocity`: dV = J ddq + dJ/dt dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.
            expressed: "body": twist of the frame in its own axes; "space": in {s}, of the point at
                the origin of {s}; "aligned": of the origin of the frame, in the axes of {s}.

        Returns:
            dV: rate of the twist; in aligned axes the acceleration of the frame's origin, shape
                (..., 6), rad/s^2 and m/s^2.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.frame_acceleration([0.1, 0.2], [1, 0.5], [0, 2], expressed='aligned').round(3)
            array([ 0.   ,  0.   ,  2.   , -3.187,  0.897,  0.   ])
        """
    @overload
    def frame_acceleration(self, q: Named, dq: Beside, ddq: Beside, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Array: ...
    @overload
    def frame_acceleration(self, q: Labelled, dq: Labelled | Beside, ddq: Labelled | Beside, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Labelled: ...
    @overload
    def frame_acceleration(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Array: ...
    @overload
    def frame_velocity(self, q: Tensor, dq: ArrayLike, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Tensor:
        r"""Twist (angular, linear) of a frame: V = J dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.
            expressed: "body": twist of the frame in its own axes; "space": in {s}, of the point at
                the origin of {s}; "aligned": of the origin of the frame, in the axes of {s}.

        Returns:
            V: twist (angular, linear) of the frame, shape (..., 6), rad/s and m/s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.frame_velocity([0.1, 0.2], [1, 0.5], expressed='aligned').round(3)
            array([ 0.   ,  0.   ,  1.5  , -0.454,  2.141,  0.   ])
        """
    @overload
    def frame_velocity(self, q: Named, dq: Beside, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Array: ...
    @overload
    def frame_velocity(self, q: Labelled, dq: Labelled | Beside, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Labelled: ...
    @overload
    def frame_velocity(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None, *, expressed: Literal["body", "space", "aligned"] = "body") -> Array: ...
    @Compiled
    def friction_forces(self) -> FrictionForcesKernel:
        r"""Friction of the joints, as the drives must overcome it: b(dq).

        Args:
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            b: joint forces against friction, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.friction_forces([1, 0.5])
            array([0., 0.])
        """
    @Compiled
    def gravity_forces(self) -> GravityForcesKernel:
        r"""Joint forces that carry the weight of the robot at rest: g(q), without springs.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            g: joint forces that carry the weight of the robot, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.gravity_forces([0.1, 0.2]).round(3)
            array([364.056,  71.226])
        """
    @Compiled
    def inverse_dynamics(self) -> InverseDynamicsKernel:
        r"""Joint forces of a motion: tau = M ddq + c + g + springs + friction - J^T F_ext.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            tau: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.inverse_dynamics([0.1, 0.2], [1, 0], [0, 2]).round(3)
            array([385.633,  79.416])
        """
    @Compiled
    def inverse_dynamics_derivatives(self) -> InverseDynamicsDerivativesKernel:
        r"""Derivatives of `inverse_dynamics`; q is moved along tangent vectors of `integrate`.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dtau_dq: d tau/d q, shape (..., n, n), N m/rad or the like.
            dtau_dv: d tau/d dq, shape (..., n, n), N m s/rad or the like.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.inverse_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[0].round(3)
            array([[-51.414, -25.053],
                   [-22.033, -14.584]])
        """
    @Compiled
    def inverse_mass_matrix(self) -> InverseMassMatrixKernel:
        r"""Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            M_inv: inverse of the mass matrix, symmetric, shape (..., n, n), 1/(kg m^2) or the like.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.inverse_mass_matrix([0.1, 0.2]).round(3)
            array([[ 0.121, -0.39 ],
                   [-0.39 ,  1.558]])
        """
    @Compiled
    def kinetic_energy(self) -> KineticEnergyKernel:
        r"""Kinetic energy: T = dq^T M dq / 2.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            T: kinetic energy, shape (...), J.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> round(float(robot.kinetic_energy([0.1, 0.2], [1, 0.5])), 3)
            27.38
        """
    @Compiled
    def link_poses(self) -> LinkPosesKernel:
        r"""Poses T_si of all moving links in {s}, in the order of `robot.model.link_names`.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            T_si: poses of the link frames in the space frame, shape (..., l, 4, 4), positions in m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.link_poses([0.1, 0.2])[-1, :3, 3].round(3)
            array([0.995, 0.1  , 0.   ])
        """
    @Compiled
    def mass_matrix(self) -> MassMatrixKernel:
        r"""Mass matrix M(q), the inertia of the robot as its joints see it.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            M: mass matrix with armature and rotors, symmetric, shape (..., n, n), kg m^2, kg m or
                kg by the types of the joints.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.mass_matrix([0.1, 0.2]).round(3)
            array([[43.137, 10.789],
                   [10.789,  3.34 ]])
        """
    @Compiled
    def mass_matrix_rate(self) -> MassMatrixRateKernel:
        r"""Rate of the mass matrix: dM/dt = C + C^T.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dM: rate of the mass matrix, shape (..., n, n), the units of M per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.mass_matrix_rate([0.1, 0.2], [1, 0.5]).round(3)
            array([[-1.51 , -0.755],
                   [-0.755,  0.   ]])
        """
    @Compiled
    def momentum(self) -> MomentumKernel:
        r"""Momentum (angular, linear) of the robot about the origin of {s}, in {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            H: momentum (angular, linear) in the space frame, shape (..., 6), N m s and N s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.momentum([0.1, 0.2], [1, 0.5]).round(3)
            array([ 0.   ,  0.   , 48.531, -6.364, 40.741,  0.   ])
        """
    @Compiled
    def momentum_regressor(self) -> MomentumRegressorKernel:
        r"""Regressor of the momentum about the origin of {s}: h = Y @ robot.parameters.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Y: regressor of the momentum, shape (..., 6, p), N m s and N s for a unit of each
                parameter.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.momentum_regressor([0.1, 0.2], [1, 0]).shape
            (6, 30)
        """
    @overload
    def pose(self, q: Tensor, frame: str | None = None) -> Tensor:
        r"""Pose T_sb of a frame in {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            T_sb: pose of the frame in the space frame, shape (..., 4, 4), position in m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.pose([0.1, 0.2])[:3, 3].round(3)
            array([1.759, 0.336, 0.   ])
        """
    @overload
    def pose(self, q: Named, frame: str | None = None) -> Array: ...
    @overload
    def pose(self, q: PandasSeries[Frame], frame: str | None = None) -> Frame: ...
    @overload
    def pose(self, q: Rows, frame: str | None = None) -> Rows: ...
    @overload
    def pose(self, q: ArrayLike, frame: str | None = None) -> Array: ...
    @Compiled
    def potential_energy(self) -> PotentialEnergyKernel:
        r"""Potential energy of gravity, zero at the origin of {s}, and of springs.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            U: potential energy of gravity and springs, shape (...), J.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> round(float(robot.potential_energy([0.1, 0.2])), 3)
            51.414
        """
    @Compiled
    def reduced_dynamics(self) -> ReducedDynamicsKernel:
        r"""Equation of motion of the independent rates y': M_r y'' + h_r = N^T tau, dq = N y'.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            M_r: mass matrix N^T M N of the rates, shape (..., d, d), kg m^2, kg m or kg.
            h_r: forces of the independent rates without acceleration, shape (..., d), N m or N.
            N: rates of all joints per independent one, shape (..., n, d), NaN at a dead centre.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
            >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
            >>> robot.reduced_dynamics([0.1, -0.2], [1, -2])[2].round(3)
            array([[ 1.],
                   [-2.]])
        """
    @Compiled
    def reference_regressor(self) -> ReferenceRegressorKernel:
        r"""Regressor of Slotine and Li: Y pi = M ddq_r + C dq_r + g + springs + friction of dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            dq_r: reference rates, shape (..., n), rad/s or m/s.
            ddq_r: rate of dq_r, shape (..., n), rad/s^2 or m/s^2.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Y: regressor of the forces of the reference, shape (..., n, p), N m or N for a unit of
                each parameter pi of `robot.parameters`.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.reference_regressor([0.1, 0.2], [1, 0], [0.5, 0], [0, 2]).shape
            (2, 30)
        """
    @Compiled
    def regressor(self) -> RegressorKernel:
        r"""Regressor Y of the joint forces: tau = Y @ robot.parameters.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Y: regressor of the joint forces, shape (..., n, p), N m or N for a unit of each
                parameter.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.regressor([0.1, 0.2], [1, 0], [0, 2]).shape
            (2, 30)
        """
    @overload
    def space_jacobian(self, q: Tensor, frame: str | None = None) -> Tensor:
        r"""Space Jacobian J_s of a frame: its twist (angular, linear) in {s} is J_s dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            J_s: Jacobian of the twist in the space frame, shape (..., 6, n), rad/s and m/s for a
                unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.space_jacobian([0.1, 0.2])[:, 1].round(3)
            array([ 0.   ,  0.   ,  1.   ,  0.1  , -0.995,  0.   ])
        """
    @overload
    def space_jacobian(self, q: Named, frame: str | None = None) -> dict[str, Any]: ...
    @overload
    def space_jacobian(self, q: PandasSeries[Frame], frame: str | None = None) -> Frame: ...
    @overload
    def space_jacobian(self, q: Rows, frame: str | None = None) -> Rows: ...
    @overload
    def space_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array: ...
    @overload
    def space_jacobian_rate(self, q: Tensor, dq: ArrayLike, frame: str | None = None) -> Tensor:
        r"""Rate of the space Jacobian of a frame, dJ_s/dt.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            dJ_s: rate of the space Jacobian, shape (..., 6, n), the units of J_s per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.space_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 1].round(3)
            array([0.   , 0.   , 0.   , 0.995, 0.1  , 0.   ])
        """
    @overload
    def space_jacobian_rate(self, q: Named, dq: Beside, frame: str | None = None) -> dict[str, Any]: ...
    @overload
    def space_jacobian_rate(self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, frame: str | None = None) -> Frame: ...
    @overload
    def space_jacobian_rate(self, q: Rows, dq: Rows | Beside, frame: str | None = None) -> Rows: ...
    @overload
    def space_jacobian_rate(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None) -> Array: ...
    @Compiled
    def spring_forces(self) -> SpringForcesKernel:
        r"""Joint forces against springs: the gradient of their energy; zero without springs.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            tau_s: joint forces against springs, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.with_springs({'joint2': kt.joints.Spring(10, rest=0.1)}).spring_forces([0.1, 0.3])
            array([0., 2.])
        """
    @Compiled
    def transposed_coriolis_forces(self) -> TransposedCoriolisForcesKernel:
        r"""C(q, dq)^T dq = dM/dt dq - c: rate of the momentum M dq by the motion of the joints.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            c_T: forces C^T dq, C of the Christoffel symbols, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.transposed_coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
            array([ 0.   , -2.265])
        """
