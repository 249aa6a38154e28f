"""Kernels with options: of a frame, with free data, with wrenches, and derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Unpack, overload

import numpy as np

from kinetree.core.arrays import ArrayLike, StateLike
from kinetree.engine.kernels.memo import kernel
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.present.labels import Alignment
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.dynamics.derivatives.forward_dynamics import Linearization
    from kinetree.engine.cuda.kernel import CudaKernel
    from kinetree.engine.kernel import Kernel
    from kinetree.engine.kernels.signatures import KernelOptions

AnyAxes = Literal["body", "space", "aligned"]
Cpu = Literal["cpu"]
Cuda = Literal["cuda"]


class Kernels(RobotCore):
    """Kernels of a robot that take options."""

    @overload
    def compile(
        self,
        quantity: str,
        *,
        target: Cpu = ...,
        **options: Unpack[KernelOptions],
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
        expressed: AnyAxes | None = None,
        rows: Sequence[int] | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        sparse: bool = False,
        target: Cpu | Cuda = "cpu",
    ) -> Kernel | CudaKernel:
        """Compile a quantity for this robot, with options.

        Args:
            quantity: name of the quantity, such as "inverse_dynamics" or "pose".
            frame: frame of a pose, Jacobian, twist or task; None: the tool.
            expressed: "body", "space" or "aligned": axes of a twist or task, as in
                `frame_velocity`; None: "body".
            rows: which of the six coordinates of a twist make a task; None: all.
            wrenches: whether F_ext, shape (..., l, 6), N m and N, follows the state as a further
                argument.
            free: robot data that become further arguments: some of "mass" (..., l), kg; "com" (...,
                l, 3), m; "inertia" (..., l, 3, 3), kg m^2; "gravity" (..., 3), m/s^2; "friction"
                (..., l, 4); "springs" (..., s, 2), stiffness and rest position of each spring;
                "contact_friction" and "restitution" (..., c) of each contact; "ground" (..., g),
                the numbers of its record in their order (a plane: normal, point).
            sparse: whether the result is one vector, (..., k): the numbers of all results that this
                robot does not make zero, each once; `kernel.pattern` has their places, and
                `kernel.pattern.dense` makes the results of it.
            target: "cpu", or "cuda" for a kernel that takes and returns CuPy arrays.

        Returns:
            A kernel; `help` shows its arguments.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> kernel = robot.compile("inverse_dynamics", free=["mass"])
            >>> kernel([0.1, 0.2], [0, 0], [0, 0], robot.model.m).shape
            (2,)
        """
        given = dict(locals())  # all arguments by their names
        return kernel(given.pop("self").model, **given)

    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        order: int = ...,
        target: Cpu = ...,
        **options: Unpack[KernelOptions],
    ) -> Kernel: ...
    @overload
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = ...,
        *,
        order: int = ...,
        target: Cuda,
        **options: Unpack[KernelOptions],
    ) -> CudaKernel: ...
    def derivative(
        self,
        quantity: str,
        wrt: str | Sequence[str] = "q",
        *,
        order: int = 1,
        target: Cpu | Cuda = "cpu",
        **options: Unpack[KernelOptions],
    ) -> Kernel | CudaKernel:
        """Compile the derivatives of a quantity; q is moved along tangent vectors of `integrate`.

        Args:
            quantity: name of the quantity, as in `compile`.
            wrt: name or names of the arguments to differentiate by, free data included.
            order: 2 gives second derivatives times weights y of the result, a last argument;
                a result of one number has none.
            target: "cpu", or "cuda" for a kernel that takes and returns CuPy arrays.
            options: frame, expressed, rows, wrenches, free and sparse, as in `Robot.compile`.

        Returns:
            A kernel with a result for each argument of `wrt`, shape (..., *quantity, *argument); of
            order 2 for each pair a, b of arguments, d^2(y . result)/d a d b, (..., *a, *b).

        Example:
            >>> kt.robots.planar_2r().derivative("gravity_forces")([0.1, 0.2]).shape
            (2, 2)
        """
        return kernel(self.model, quantity, wrt=wrt, order=order, target=target, **options)

    def linearize(
        self,
        q: StateLike,
        dq: StateLike,
        tau: StateLike,
        F_ext: ArrayLike | None = None,
        *,
        dt: float | None = None,
    ) -> Linearization:
        """A and B of small deviations from a motion: dx/dt = A x + B u.

        With dt, the system after dt seconds: x' = A x + B u.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            tau: joint forces, shape (..., n), N m or N.
            F_ext: wrenches onto the links in their frames, shape (..., l, 6), N m and N; None: no
                wrench.
            dt: length of a time step, s; None: continuous time.

        Returns:
            A record with A (..., 2n, 2n) and B (..., 2n, n); x = (dq, ddq) of the deviation, along
            tangent vectors of `integrate`.
        """
        from kinetree.dynamics.derivatives.forward_dynamics import Linearization
        from kinetree.engine.kernels.linear import linear_kernel

        if not (type(q) is type(dq) is type(tau) is np.ndarray):
            axis = dof_axis(self.model)
            named = (q, coordinate_axis(self.model), "q"), (dq, axis, "dq"), (tau, axis, "tau")
            q, dq, tau = Alignment(named).values
        system = Linearization(*linear_kernel(self.model)(q, dq, tau, F_ext))
        return system if dt is None else system.discrete(dt)
