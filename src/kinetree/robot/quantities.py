"""Quantities of a robot: kernels of a state, compiled at their first use.

The docstrings are those of `kinetree.kernels.help`, written out for editors; a test compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetree.kernels.memo import Compiled
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.kernels import signatures


class Quantities(RobotCore):
    """Quantities of a robot at a state, or at many."""

    @Compiled
    def inverse_dynamics(self) -> signatures.InverseDynamicsKernel:
        """Joint forces of a motion: tau = M ddq + c + g + springs + friction - J^T F_ext.

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
        ...

    @Compiled
    def forward_dynamics(self) -> signatures.ForwardDynamicsKernel:
        """Joint accelerations under joint forces: ddq = M^-1 (tau - h + J^T F_ext).

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
        ...

    @Compiled
    def mass_matrix(self) -> signatures.PositionMatrixKernel:
        """Mass matrix M(q), the inertia of the robot as its joints see it.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            M: shape (..., n, n), symmetric, kg m^2, kg m or kg by the types of the joints.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.mass_matrix([0.1, 0.2]).round(3)
            array([[43.137, 10.789],
                   [10.789,  3.34 ]])
        """
        ...

    @Compiled
    def mass_matrix_rate(self) -> signatures.VelocityMatrixKernel:
        """Rate of the mass matrix: dM/dt = C + C^T.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            dM: shape (..., n, n), the units of M per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.mass_matrix_rate([0.1, 0.2], [1, 0.5]).round(3)
            array([[-1.51 , -0.755],
                   [-0.755,  0.   ]])
        """
        ...

    @Compiled
    def coriolis_matrix(self) -> signatures.VelocityMatrixKernel:
        """Coriolis matrix C(q, dq): c = C dq, and dM/dt - 2 C is skew-symmetric.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            C: shape (..., n, n), the units of M per second.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.coriolis_matrix([0.1, 0.2], [1, 0.5]).round(3)
            array([[-0.755, -2.265],
                   [ 1.51 ,  0.   ]])
        """
        ...

    @Compiled
    def coriolis_forces(self) -> signatures.VelocityKernel:
        """Coriolis and centrifugal joint forces: c(q, dq) = C dq.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            c: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
            array([-1.887,  1.51 ])
        """
        ...

    @Compiled
    def gravity_forces(self) -> signatures.PositionKernel:
        """Joint forces that carry the weight of the robot at rest: g(q), without springs.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            g: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.gravity_forces([0.1, 0.2]).round(3)
            array([364.056,  71.226])
        """
        ...

    @Compiled
    def bias_forces(self) -> signatures.LoadedVelocityKernel:
        """Joint forces at zero acceleration: h(q, dq) = c + g + springs + friction - J^T F_ext.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
                shape (..., l, 6), N m and N; `robot.wrenches` makes them. None: no wrench.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            h: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.bias_forces([0.1, 0.2], [1, 0.5]).round(3)
            array([362.168,  72.736])
        """
        ...

    @Compiled
    def friction_forces(self) -> signatures.RateKernel:
        """Friction of the joints, as the drives must overcome it: b(dq), without load friction.

        Args:
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            b: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.friction_forces([1, 0.5])
            array([0., 0.])
        """
        ...

    @Compiled
    def spring_forces(self) -> signatures.PositionKernel:
        """Joint forces against springs: the gradient of their energy; zero without springs.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            tau: joint forces, shape (..., n), N m or N.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.with_springs({'joint2': kt.Spring(10, rest=0.1)}).spring_forces([0.1, 0.3])
            array([0., 2.])
        """
        ...

    @Compiled
    def kinetic_energy(self) -> signatures.VelocityScalarKernel:
        """Kinetic energy: T = dq^T M dq / 2.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            T: shape (...), J.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> round(float(robot.kinetic_energy([0.1, 0.2], [1, 0.5])), 3)
            27.38
        """
        ...

    @Compiled
    def potential_energy(self) -> signatures.PositionScalarKernel:
        """Potential energy of gravity, zero at the origin of {s}, and of springs.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            U: shape (...), J.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> round(float(robot.potential_energy([0.1, 0.2])), 3)
            51.414
        """
        ...

    @Compiled
    def center_of_mass(self) -> signatures.PositionPlaceKernel:
        """Centre of mass of all links and the base, in {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            p: position, shape (..., 3), m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.center_of_mass([0.1, 0.2]).round(3)
            array([0.905, 0.128, 0.   ])
        """
        ...

    @Compiled
    def momentum(self) -> signatures.VelocityPlaceKernel:
        """Momentum (angular, linear) of the robot about the origin of {s}, in {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            h: shape (..., 6), N m s and N s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.momentum([0.1, 0.2], [1, 0.5]).round(3)
            array([ 0.   ,  0.   , 48.531, -6.364, 40.741,  0.   ])
        """
        ...

    @Compiled
    def centroidal_momentum(self) -> signatures.VelocityPlaceKernel:
        """Momentum (angular, linear) of the robot about its centre of mass, in the axes of {s}.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            h: shape (..., 6), N m s and N s.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.centroidal_momentum([0.1, 0.2], [1, 0.5]).round(3)
            array([ 0.   ,  0.   , 10.842, -6.364, 40.741,  0.   ])
        """
        ...

    @Compiled
    def link_poses(self) -> signatures.PositionMatrixKernel:
        """Poses T_si of all moving links in {s}, in the order of `robot.model.link_names`.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            T: shape (..., l, 4, 4), positions in m.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.link_poses([0.1, 0.2])[-1, :3, 3].round(3)
            array([0.995, 0.1  , 0.   ])
        """
        ...

    @Compiled
    def inverse_dynamics_derivatives(self) -> signatures.InverseDerivativesKernel:
        """Derivatives of `inverse_dynamics`; q is moved along tangent vectors of `integrate`.

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
        ...

    @Compiled
    def forward_dynamics_derivatives(self) -> signatures.ForwardDerivativesKernel:
        """Derivatives of `forward_dynamics`; q is moved along tangent vectors of `integrate`.

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
        ...

    @Compiled
    def regressor(self) -> signatures.MotionMatrixKernel:
        """Regressor Y of the joint forces: tau = Y @ robot.parameters.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Y: shape (..., n, p), N m or N for a unit of each parameter.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.regressor([0.1, 0.2], [1, 0], [0, 2]).shape
            (2, 30)
        """
        ...

    @Compiled
    def energy_regressor(self) -> signatures.EnergyRegressorKernel:
        """Regressors of the energies: T = y_T @ robot.parameters, U = y_U @ robot.parameters.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            y_T: of the kinetic energy, shape (..., p), J for a unit of each parameter.
            y_U: of the potential energy, shape (..., p), J for a unit of each parameter.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.energy_regressor([0.1, 0.2], [1, 0])[0].shape
            (30,)
        """
        ...

    @Compiled
    def momentum_regressor(self) -> signatures.VelocityMatrixKernel:
        """Regressor of the momentum about the origin of {s}: h = Y @ robot.parameters.

        Args:
            q: joint positions, shape (..., nq), rad or m.
            dq: joint rates, shape (..., n), rad/s or m/s.
            out: array for the result, a tuple of arrays for several; None: new arrays.
            options: dtype, casting, order and axes of a NumPy ufunc.

        Returns:
            Y: shape (..., 6, p), N m s and N s for a unit of each parameter.

        Names, batches and the letters of shapes: see `Robot`.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.momentum_regressor([0.1, 0.2], [1, 0]).shape
            (6, 30)
        """
        ...
