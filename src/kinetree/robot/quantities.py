"""Quantities of a robot: kernels that are compiled at their first use, and those of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Unpack, overload

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.kernels.memo import Compiled, frame_kernel
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.algorithms.derivatives import Linearization
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.backends.kernel import Kernel
    from kinetree.kernels import signatures
    from kinetree.kernels.signatures import KernelOptions

Cpu = Literal["cpu"]
Cuda = Literal["cuda"]


class Quantities(RobotCore):
    """Quantities of a robot, for one state or for many."""

    inverse_dynamics: Compiled[signatures.InverseDynamicsKernel] = Compiled("inverse_dynamics")
    forward_dynamics: Compiled[signatures.ForwardDynamicsKernel] = Compiled("forward_dynamics")
    mass_matrix: Compiled[signatures.PositionKernel] = Compiled("mass_matrix")
    mass_matrix_rate: Compiled[signatures.VelocityKernel] = Compiled("mass_matrix_rate")
    coriolis_matrix: Compiled[signatures.VelocityKernel] = Compiled("coriolis_matrix")
    coriolis_forces: Compiled[signatures.VelocityKernel] = Compiled("coriolis_forces")
    gravity_forces: Compiled[signatures.PositionKernel] = Compiled("gravity_forces")
    bias_forces: Compiled[signatures.LoadedVelocityKernel] = Compiled("bias_forces")
    friction_forces: Compiled[signatures.RateKernel] = Compiled("friction_forces")
    kinetic_energy: Compiled[signatures.VelocityKernel] = Compiled("kinetic_energy")
    potential_energy: Compiled[signatures.PositionKernel] = Compiled("potential_energy")
    center_of_mass: Compiled[signatures.PositionKernel] = Compiled("center_of_mass")
    momentum: Compiled[signatures.VelocityKernel] = Compiled("momentum")
    centroidal_momentum: Compiled[signatures.VelocityKernel] = Compiled("centroidal_momentum")
    link_poses: Compiled[signatures.PositionKernel] = Compiled("link_poses")
    inverse_dynamics_derivatives: Compiled[signatures.InverseDerivativesKernel] = Compiled(
        "inverse_dynamics_derivatives"
    )
    forward_dynamics_derivatives: Compiled[signatures.ForwardDerivativesKernel] = Compiled(
        "forward_dynamics_derivatives"
    )
    regressor: Compiled[signatures.MotionKernel] = Compiled("regressor")
    energy_regressor: Compiled[signatures.EnergyRegressorKernel] = Compiled("energy_regressor")
    momentum_regressor: Compiled[signatures.VelocityKernel] = Compiled("momentum_regressor")

    def pose(self, q: ArrayLike, frame: str | None = None) -> Array:
        """T_sb of a frame, the tool when None, (..., 4, 4)."""
        return frame_kernel(self.model, "pose", frame)(q)

    def body_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array:
        """J_b of a frame, (..., 6, n): its twist in its own axes is J_b dq."""
        return frame_kernel(self.model, "body_jacobian", frame)(q)

    def space_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array:
        """J_s of a frame, (..., 6, n): its twist in {s} is J_s dq."""
        return frame_kernel(self.model, "space_jacobian", frame)(q)

    def body_jacobian_rate(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None) -> Array:
        """dJ_b/dt, (..., 6, n)."""
        return frame_kernel(self.model, "body_jacobian_rate", frame)(q, dq)

    def space_jacobian_rate(self, q: ArrayLike, dq: ArrayLike, frame: str | None = None) -> Array:
        """dJ_s/dt, (..., 6, n)."""
        return frame_kernel(self.model, "space_jacobian_rate", frame)(q, dq)

    @overload
    def compile(
        self, quantity: str, *, target: Cpu = ..., **options: Unpack[KernelOptions]
    ) -> Kernel: ...
    @overload
    def compile(
        self, quantity: str, *, target: Cuda, **options: Unpack[KernelOptions]
    ) -> CudaKernel: ...
    def compile(
        self,
        quantity: str,
        *,
        frame: str | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: Cpu | Cuda = "cpu",
    ) -> Kernel | CudaKernel:
        """Compile a quantity for this robot; see `kinetree.kernels.compile.compile_kernel`.

        Args:
            quantity: the name, such as "inverse_dynamics" or "pose".
            frame: the frame of a pose or Jacobian; the tool when None.
            wrenches: whether F_ext, (links, 6), is a further argument.
            free: robot data that become further arguments: some of "mass", "com", "inertia",
                "gravity", "friction".
            target: cpu, or "cuda" for a kernel that takes and returns CuPy arrays.
        """
        from kinetree.kernels.compile import compile_kernel

        return compile_kernel(
            self.model, quantity, frame=frame, wrenches=wrenches, free=free, target=target
        )

    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        target: Cpu = ...,
        **options: Unpack[KernelOptions],
    ) -> Kernel: ...
    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        target: Cuda,
        **options: Unpack[KernelOptions],
    ) -> CudaKernel: ...
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = "q",
        *,
        frame: str | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: Cpu | Cuda = "cpu",
    ) -> Kernel | CudaKernel:
        """Compile d quantity/d arguments; q is moved along tangents of `integrate`.

        Args:
            quantity: the name, as in `compile`.
            wrt: the arguments to differentiate by, names of free data included.
            frame, wrenches, free, target: as in `compile`.

        Returns:
            A kernel with a result for each argument of `wrt`, shape (*quantity, *argument).
        """
        from kinetree.kernels.compile import compile_derivative

        return compile_derivative(
            self.model, quantity, wrt, frame=frame, wrenches=wrenches, free=free, target=target
        )

    def linearize(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        tau: ArrayLike,
        F_ext: ArrayLike | None = None,
        *,
        dt: float | None = None,
    ) -> Linearization:
        """A (..., 2n, 2n) and B (..., 2n, n) of small deviations from a motion.

        The system is dx/dt = A x + B u, or x' = A x + B u after dt seconds where dt is given.
        """
        from kinetree.algorithms.derivatives.forward_dynamics import assemble

        loads = () if F_ext is None else (F_ext,)
        blocks = self.forward_dynamics_derivatives(q, dq, tau, *loads)
        batch = blocks[0].shape[:-1]
        system = assemble(self.model, np.broadcast_to(np.asarray(dq, float), batch), *blocks)
        return system if dt is None else system.discrete(dt)
