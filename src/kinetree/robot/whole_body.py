"""Terms of task-space and whole-body control: kernels of a state, compiled at their first use.

The docstrings are those of `kinetree.kernels.help`, written out for editors; a test compares them.
`Robot.task_space` is in analysis.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from kinetree.base.arrays import Array, ArrayLike
from kinetree.kernels.memo import Compiled, frame_motion_kernel
from kinetree.robot.core import RobotCore
from kinetree.robot.kernels import AnyAxes

if TYPE_CHECKING:
    from kinetree.kernels import signatures
    from kinetree.kernels.signatures import Beside, Labelled, Named, Tensor


class WholeBody(RobotCore):
    """Quantities of a robot that controllers of frames and of the whole body need."""

    @Compiled
    def inverse_mass_matrix(self) -> signatures.PositionMatrixKernel:
        """Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            M_inv: shape (..., n, n), symmetric, 1/(kg m^2) or the like.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.inverse_mass_matrix([0.1, 0.2]).round(3)
            array([[ 0.121, -0.39 ],
                   [-0.39 ,  1.558]])
        """
        ...

    @Compiled
    def transposed_coriolis_forces(self) -> signatures.VelocityKernel:
        """C(q, dq)^T dq = dM/dt dq - c: rate of the momentum M dq by the motion of the joints.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            f: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.transposed_coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
            array([ 0.   , -2.265])
        """
        ...

    @Compiled
    def center_of_mass_jacobian(self) -> signatures.PositionMatrixKernel:
        """Jacobian of the centre of mass: its velocity in {s} is J dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            J: shape (..., 3, n), m/s for a unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.center_of_mass_jacobian([0.1, 0.2]).round(3)
            array([[-0.128, -0.055],
                   [ 0.905,  0.177],
                   [ 0.   ,  0.   ]])
        """
        ...

    @Compiled
    def centroidal_momentum_matrix(self) -> signatures.PositionMatrixKernel:
        """Centroidal momentum matrix A_G: `centroidal_momentum` is A_G dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            A_G: shape (..., 6, n), N m s and N s for a unit of each rate.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.centroidal_momentum_matrix([0.1, 0.2])[2].round(3)
            array([8.877, 3.93 ])
        """
        ...

    @Compiled
    def centroidal_momentum_matrix_rate(self) -> signatures.VelocityMatrixKernel:
        """Rate of A_G: the rate of `centroidal_momentum` is A_G ddq + dA_G dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dA_G: shape (..., 6, n), the units of A_G per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.centroidal_momentum_matrix_rate([0.1, 0.2], [1, 0.5])[3].round(3)
            array([-40.741, -10.891])
        """
        ...

    @Compiled
    def reference_regressor(self) -> signatures.ReferenceMatrixKernel:
        """Regressor of Slotine and Li: Y pi = M ddq_r + C dq_r + g + springs + friction of dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            dq_r: reference rates, shape (..., n), rad/s or m/s.
            ddq_r: rate of dq_r, shape (..., n), rad/s^2 or m/s^2.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Y: shape (..., n, p), N m or N for a unit of each parameter pi of `robot.parameters`.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.reference_regressor([0.1, 0.2], [1, 0], [0.5, 0], [0, 2]).shape
            (2, 30)
        """
        ...

    @overload
    def frame_velocity(
        self, q: Tensor, dq: ArrayLike, frame: str | None = None, *, expressed: AnyAxes = ...
    ) -> Tensor: ...
    @overload
    def frame_velocity(
        self, q: Named, dq: Beside, frame: str | None = None, *, expressed: AnyAxes = ...
    ) -> Array: ...
    @overload
    def frame_velocity(
        self,
        q: Labelled,
        dq: Labelled | Beside,
        frame: str | None = None,
        *,
        expressed: AnyAxes = ...,
    ) -> Labelled: ...
    @overload
    def frame_velocity(
        self, q: ArrayLike, dq: ArrayLike, frame: str | None = None, *, expressed: AnyAxes = ...
    ) -> Array: ...
    def frame_velocity(
        self, q: object, dq: object, frame: str | None = None, *, expressed: AnyAxes = "body"
    ) -> Any:
        """Twist (angular, linear) of a frame: V = J dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.
            expressed: "body": twist of the frame in its own axes; "space": in {s}, of the point at
                the origin of {s}; "aligned": of the origin of the frame, in the axes of {s}.

        Returns:
            V: shape (..., 6), rad/s and m/s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.frame_velocity([0.1, 0.2], [1, 0.5], expressed='aligned').round(3)
            array([ 0.   ,  0.   ,  1.5  , -0.454,  2.141,  0.   ])
        """
        kernel = frame_motion_kernel(self.model, "frame_velocity", frame, expressed)
        return kernel(q, dq)

    @overload
    def frame_acceleration(
        self,
        q: Tensor,
        dq: ArrayLike,
        ddq: ArrayLike,
        frame: str | None = None,
        *,
        expressed: AnyAxes = ...,
    ) -> Tensor: ...
    @overload
    def frame_acceleration(
        self,
        q: Named,
        dq: Beside,
        ddq: Beside,
        frame: str | None = None,
        *,
        expressed: AnyAxes = ...,
    ) -> Array: ...
    @overload
    def frame_acceleration(
        self,
        q: Labelled,
        dq: Labelled | Beside,
        ddq: Labelled | Beside,
        frame: str | None = None,
        *,
        expressed: AnyAxes = ...,
    ) -> Labelled: ...
    @overload
    def frame_acceleration(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        frame: str | None = None,
        *,
        expressed: AnyAxes = ...,
    ) -> Array: ...
    def frame_acceleration(
        self,
        q: object,
        dq: object,
        ddq: object,
        frame: str | None = None,
        *,
        expressed: AnyAxes = "body",
    ) -> Any:
        """Time derivative of `frame_velocity`: dV = J ddq + dJ/dt dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            frame: name of a link, a tool or a fixed frame of the robot; None: the tool.
            expressed: "body": twist of the frame in its own axes; "space": in {s}, of the point at
                the origin of {s}; "aligned": of the origin of the frame, in the axes of {s}.

        Returns:
            dV: shape (..., 6), rad/s^2 and m/s^2. With expressed="aligned" it is the acceleration
                of the origin of the frame.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.frame_acceleration([0.1, 0.2], [1, 0.5], [0, 2], expressed='aligned').round(3)
            array([ 0.   ,  0.   ,  2.   , -3.187,  0.897,  0.   ])
        """
        kernel = frame_motion_kernel(self.model, "frame_acceleration", frame, expressed)
        return kernel(q, dq, ddq)
