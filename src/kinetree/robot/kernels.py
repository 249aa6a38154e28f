"""Kernels with options: quantities of a frame, kernels with free data, and derivatives.

The docstrings of the quantities are those of `kinetree.kernels.help`, as in quantities.py.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.options import switch
from kinetree.kernels.memo import frame_kernel, remembered
from kinetree.model import Model
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.backends.call.choice import Choice
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.backends.kernel import Kernel
    from kinetree.kernels.signatures import (
        Beside,
        Frame,
        KernelOptions,
        Named,
        PandasSeries,
        Rows,
        Tensor,
    )

AnyAxes = Literal["body", "space", "aligned"]
Cpu = Literal["cpu"]
Cuda = Literal["cuda"]


class Kernels(RobotCore):
    """Kernels of a robot that take options."""

    def _framed(self, quantity: str) -> Callable[..., Any]:
        """Return the call of a quantity of a frame.

        It is also stored in the instance under the name of the method: later calls do not come
        here, and enter the kernel of a frame that was asked for before in machine code.
        """
        made = remembered(
            self.model, ("call with a frame", quantity), partial(framed, self.model, quantity)
        )
        if made.call is not made.function:
            self.__dict__[quantity] = made.call
        return made.call

    @overload
    def pose(self, q: Tensor, frame: str | None = None) -> Tensor: ...
    @overload
    def pose(self, q: Named, frame: str | None = None) -> Array: ...
    @overload
    def pose(self, q: PandasSeries[Frame], frame: str | None = None) -> Frame: ...
    @overload
    def pose(self, q: Rows, frame: str | None = None) -> Rows: ...
    @overload
    def pose(self, q: ArrayLike, frame: str | None = None) -> Array: ...
    def pose(self, q: object, frame: str | None = None) -> Any:
        """Pose T_sb of a frame in {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            T: shape (..., 4, 4), position in m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.pose([0.1, 0.2])[:3, 3].round(3)
            array([1.759, 0.336, 0.   ])
        """
        return self._framed("pose")(q, frame)

    @overload
    def body_jacobian(self, q: Tensor, frame: str | None = None) -> Tensor: ...
    @overload
    def body_jacobian(self, q: Named, frame: str | None = None) -> dict[str, Any]: ...
    @overload
    def body_jacobian(self, q: PandasSeries[Frame], frame: str | None = None) -> Frame: ...
    @overload
    def body_jacobian(self, q: Rows, frame: str | None = None) -> Rows: ...
    @overload
    def body_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array: ...
    def body_jacobian(self, q: object, frame: str | None = None) -> Any:
        """Body Jacobian J_b of a frame: its twist (angular, linear) in its own axes is J_b dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            J_b: shape (..., 6, n), rad/s and m/s for a unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.body_jacobian([0.1, 0.2])[:, 0].round(3)
            array([0.   , 0.   , 1.   , 0.199, 1.78 , 0.   ])
        """
        return self._framed("body_jacobian")(q, frame)

    @overload
    def space_jacobian(self, q: Tensor, frame: str | None = None) -> Tensor: ...
    @overload
    def space_jacobian(self, q: Named, frame: str | None = None) -> dict[str, Any]: ...
    @overload
    def space_jacobian(self, q: PandasSeries[Frame], frame: str | None = None) -> Frame: ...
    @overload
    def space_jacobian(self, q: Rows, frame: str | None = None) -> Rows: ...
    @overload
    def space_jacobian(self, q: ArrayLike, frame: str | None = None) -> Array: ...
    def space_jacobian(self, q: object, frame: str | None = None) -> Any:
        """Space Jacobian J_s of a frame: its twist (angular, linear) in {s} is J_s dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            J_s: shape (..., 6, n), rad/s and m/s for a unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.space_jacobian([0.1, 0.2])[:, 1].round(3)
            array([ 0.   ,  0.   ,  1.   ,  0.1  , -0.995,  0.   ])
        """
        return self._framed("space_jacobian")(q, frame)

    @overload
    def body_jacobian_rate(self, q: Tensor, dq: ArrayLike, frame: str | None = None) -> Tensor: ...
    @overload
    def body_jacobian_rate(
        self, q: Named, dq: Beside, frame: str | None = None
    ) -> dict[str, Any]: ...
    @overload
    def body_jacobian_rate(
        self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, frame: str | None = None
    ) -> Frame: ...
    @overload
    def body_jacobian_rate(self, q: Rows, dq: Rows | Beside, frame: str | None = None) -> Rows: ...
    @overload
    def body_jacobian_rate(
        self, q: ArrayLike, dq: ArrayLike, frame: str | None = None
    ) -> Array: ...
    def body_jacobian_rate(self, q: object, dq: object, frame: str | None = None) -> Any:
        """Rate of the body Jacobian of a frame, dJ_b/dt.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            dJ_b: shape (..., 6, n), the units of J_b per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.body_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 0].round(3)
            array([ 0.   ,  0.   ,  0.   ,  0.49 , -0.099,  0.   ])
        """
        return self._framed("body_jacobian_rate")(q, dq, frame)

    @overload
    def space_jacobian_rate(self, q: Tensor, dq: ArrayLike, frame: str | None = None) -> Tensor: ...
    @overload
    def space_jacobian_rate(
        self, q: Named, dq: Beside, frame: str | None = None
    ) -> dict[str, Any]: ...
    @overload
    def space_jacobian_rate(
        self, q: PandasSeries[Frame], dq: PandasSeries[Frame] | Beside, frame: str | None = None
    ) -> Frame: ...
    @overload
    def space_jacobian_rate(self, q: Rows, dq: Rows | Beside, frame: str | None = None) -> Rows: ...
    @overload
    def space_jacobian_rate(
        self, q: ArrayLike, dq: ArrayLike, frame: str | None = None
    ) -> Array: ...
    def space_jacobian_rate(self, q: object, dq: object, frame: str | None = None) -> Any:
        """Rate of the space Jacobian of a frame, dJ_s/dt.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.

        Returns:
            dJ_s: shape (..., 6, n), the units of J_s per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.space_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 1].round(3)
            array([0.   , 0.   , 0.   , 0.995, 0.1  , 0.   ])
        """
        return self._framed("space_jacobian_rate")(q, dq, frame)

    @overload
    def compile(
        self,
        quantity: str,
        *,
        target: Cpu = ...,
        wait: bool = ...,
        **options: Unpack[KernelOptions],
    ) -> Kernel: ...
    @overload
    def compile(
        self, quantity: str, *, target: Cuda, wait: bool = ..., **options: Unpack[KernelOptions]
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
        target: Cpu | Cuda = "cpu",
        wait: bool = False,
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
                (..., l, 4); "springs" (..., s, 2), stiffness and rest position of each spring.
            target: "cpu", or "cuda" for a kernel that takes and returns CuPy arrays.
            wait: whether to wait for the machine code of a large kernel, which is compiled in the
                background while slower code gives the same results.

        Returns:
            A kernel; `help` shows its arguments.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> kernel = robot.compile("inverse_dynamics", free=["mass"])
            >>> kernel([0.1, 0.2], [0, 0], [0, 0], robot.model.m).shape
            (2,)
        """
        from kinetree.kernels.memo import kernel

        switch(wait, "wait")
        found = kernel(
            self.model, quantity, frame=frame, expressed=expressed, rows=rows, wrenches=wrenches,
            free=free, target=target,
        )  # fmt: skip
        return cast("Kernel", found).wait() if wait and target == "cpu" else found

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
        expressed: AnyAxes | None = None,
        rows: Sequence[int] | None = None,
        wrenches: bool = False,
        free: Sequence[str] = (),
        target: Cpu | Cuda = "cpu",
    ) -> Kernel | CudaKernel:
        """Compile the derivatives of a quantity; q is moved along tangent vectors of `integrate`.

        Args:
            quantity: name of the quantity, as in `compile`.
            wrt: name or names of the arguments to differentiate by, free data included.
            frame: frame of a pose, Jacobian, twist or task; None: the tool.
            expressed: "body", "space" or "aligned": axes of a twist or task, as in
                `frame_velocity`; None: "body".
            rows: which of the six coordinates of a twist make a task; None: all.
            wrenches: whether F_ext, shape (..., l, 6), N m and N, follows the state as a further
                argument.
            free: robot data that become further arguments: some of "mass" (..., l), kg; "com" (...,
                l, 3), m; "inertia" (..., l, 3, 3), kg m^2; "gravity" (..., 3), m/s^2; "friction"
                (..., l, 4); "springs" (..., s, 2), stiffness and rest position of each spring.
            target: "cpu", or "cuda" for a kernel that takes and returns CuPy arrays.

        Returns:
            A kernel with a result for each argument of `wrt`, shape (..., *quantity, *argument).

        Example:
            >>> kt.robots.planar_2r().derivative("gravity_forces")([0.1, 0.2]).shape
            (2, 2)
        """
        from kinetree.kernels.memo import derivative_kernel

        return derivative_kernel(
            self.model, quantity, wrt, frame=frame, expressed=expressed, rows=rows,
            wrenches=wrenches, free=free, target=target,
        )  # fmt: skip


def framed(model: Model, quantity: str) -> Choice:
    """Return the call of a quantity of a frame, which chooses the kernel by the frame."""
    from kinetree.backends.call.choice import SLOTS, Choice

    def kernel_of(frame: str | None) -> Kernel:
        found = frame_kernel(model, quantity, frame)
        if frame is None or (type(frame) is str and sys.intern(frame) is frame):
            choice.add(frame, found)
        elif choice.room > SLOTS // 2:  # a name that is not a literal: this very object
            choice.add(frame, found)
        return found

    def of_position(q: object, frame: str | None = None) -> Any:
        return kernel_of(frame)(q)

    def of_motion(q: object, dq: object, frame: str | None = None) -> Any:
        return kernel_of(frame)(q, dq)

    like = getattr(Kernels, quantity)
    moving = "dq" in inspect.signature(like).parameters
    function = of_motion if moving else of_position
    function.__doc__, function.__name__, function.__qualname__ = (
        like.__doc__,
        like.__name__,
        like.__qualname__,
    )
    choice = Choice(function, "frame", 2 if moving else 1, (framed_call, (model, quantity)))
    return choice


def framed_call(model: Model, quantity: str) -> Callable[..., Any]:
    """Return what `robot.pose` and the like are for a robot with this model."""
    return framed(model, quantity).call
