"""Analysis of a robot: task space, ellipsoids, parameters, every intermediate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import numbers
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import ShapeError
from kinetree.model.documented import GROUPS, documented, documented_batch
from kinetree.model.inputs import TipWrench, Wrenches, coordinate_axis, dof_axis
from kinetree.present.labels import Alignment
from kinetree.robot.core import RobotCore
from kinetree.robot.kernels import AnyAxes

if TYPE_CHECKING:
    from kinetree.dynamics.base_parameters import BaseParameters
    from kinetree.dynamics.contacts.inverse import GroundForces
    from kinetree.dynamics.derivatives import Linearization, TaskSpaceDerivatives
    from kinetree.dynamics.ellipsoids import Ellipsoid
    from kinetree.dynamics.task_space import TaskSpace
    from kinetree.dynamics.textbook.recursion import Recursion
    from kinetree.explain import Explanation

Axes = Literal["body", "space"]
Part = Literal["linear", "angular"]
Formulation = Literal["screw", "closed", "link", "space"]


class Analysis(RobotCore):
    """Analysis of a robot at one state."""

    @documented_batch
    def task_space(
        self,
        q: StateLike,
        dq: StateLike | None = None,
        *,
        V: ArrayLike | None = None,
        frame: str | None = None,
        expressed: AnyAxes = "body",
        rows: Sequence[int] | None = None,
        damping: float = 0,
        tolerance: float = 1e-6,
    ) -> TaskSpace:
        """Dynamics of a frame: F = Lambda dV + eta, with the null space of the task.

        It is computed by a kernel, compiled at the first call for the frame, axes and rows; leading
        axes are states. `robot.compile("task_space", ...)` returns the kernel itself.

        Args:
            dq: joint rates, shape (..., n), rad/s or m/s; None: from V, or at rest.
            V: twist of the frame, shape (..., k) for k rows, rad/s and m/s, instead of dq.
            expressed: "body", "space" or "aligned": the axes and reference point of twist and
                wrench, as in `frame_velocity`.
            damping: adds damping^2 to J M^-1 J^T near singularities; in the units of its square
                root.
            tolerance: J is singular if its smallest singular value is not above this; in the units
                of J.

        Returns:
            A record with J (..., k, n), dJ, Lambda (..., k, k), eta (..., k) with its parts mu and
            p, J_bar (..., n, k) and N (..., n, n). States of a batch in which J has lost rank have
            NaN in all but J and dJ.

        Raises:
            SingularityError: J has lost rank, for one state.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.task_space([0.1, 0.2], rows=(3, 4)).Lambda.round(3)
            array([[295.486,  21.12 ],
                   [ 21.12 ,   5.219]])
        """
        from kinetree.engine.kernels.task_space import task_space

        return task_space(
            self.model, q, dq, V=V, frame=frame, expressed=expressed, rows=rows, damping=damping,
            tolerance=tolerance,
        )  # fmt: skip

    @documented_batch
    def task_space_derivatives(
        self,
        q: StateLike,
        dq: StateLike,
        *,
        frame: str | None = None,
        expressed: Axes = "body",
        rows: Sequence[int] | None = None,
    ) -> TaskSpaceDerivatives:
        """Derivatives of J, Lambda and eta of a frame, for any leading axes.

        Args:
            expressed: "body" or "space", as in `task_space`.
        """
        from kinetree.engine.kernels.task_space import task_space_derivatives

        return task_space_derivatives(
            self.model, q, dq, frame=frame, expressed=expressed, rows=rows
        )

    @documented_batch
    def contact_inverse_dynamics(
        self,
        q: StateLike,
        dq: StateLike,
        ddq: StateLike,
        F_ext: ArrayLike | None = None,
        *,
        contacts: Sequence[str] | ArrayLike | None = None,
        actuated: Sequence[str] | None = None,
        effort: float = 0,
    ) -> GroundForces:
        """Joint forces and contact forces of a motion, within the friction cones.

        tau + J^T f = M ddq + h - residual, with tau = 0 in rows without a motor. First the residual
        is made smallest, weighted by the inverse of the block of M of these rows; then
        |f|^2 + effort |tau|^2. A motion that is not feasible has a residual, and `excess` names the
        contacts and by how much; for one state a warning does. Leading axes are states.

        Args:
            F_ext: wrenches onto the links in their frames, shape (..., l, 6), N m and N; None: no
                wrench.
            contacts: names of the contacts that touch, or 1 and 0 for each, shape (..., c),
                dimensionless; None: all of the robot.
            actuated: names of the degrees of freedom with a motor; None: those that actuators move,
                or without actuators all but free joints.
            effort: weight of |tau|^2 in (N m)^2 beside |f|^2 in N^2, in m^-2.

        Returns:
            A record with tau (..., n), forces (..., c, 3) in {s}, residual, shortfall, excess
            (..., c), optimality and `feasible`.

        Example:
            >>> robot = kt.contacts.monoped()
            >>> robot.contact_inverse_dynamics(robot.neutral(), [0] * 5, [0] * 5).forces.round(3)
            array([[ 0.  ,  0.  , 58.86]])
        """
        from kinetree.engine.kernels.contacts import contact_inverse_dynamics

        return contact_inverse_dynamics(
            self.model, q, dq, ddq, F_ext, contacts=contacts, actuated=actuated, effort=effort
        )

    @documented
    def mass_ellipsoid(
        self, q: StateLike, frame: str | None = None, *, part: Part = "linear"
    ) -> Ellipsoid:
        """Effective masses at a frame, kg (angular: kg m^2), as an ellipsoid in {s}.

        Args:
            part: "linear" or "angular": translations or rotations of the frame.
        """
        return dynamics.mass_ellipsoid(self.model, q, frame, part=part)

    @documented
    def force_ellipsoid(
        self, q: StateLike, frame: str | None = None, *, part: Part = "linear"
    ) -> Ellipsoid:
        """Forces at a frame that joint forces of unit norm balance, as an ellipsoid in {s}.

        Args:
            part: "linear" or "angular": forces or moments at the frame.
        """
        return dynamics.force_ellipsoid(self.model, q, frame, part=part)

    @documented
    def base_parameters(self, *, groups: Sequence[str] = GROUPS, seed: int = 0) -> BaseParameters:
        """Find the combinations of parameters that the joint forces depend on.

        Args:
            seed: seed of the random states.

        Returns:
            A record with the chosen columns, the combinations and their values.

        Example:
            >>> len(kt.robots.planar_2r().base_parameters(groups=["link"]).kept)
            6
        """
        return dynamics.base_parameters(self.model, groups=groups, seed=seed)

    @documented
    def newton_euler(
        self,
        q: StateLike,
        dq: StateLike,
        ddq: StateLike,
        F_ext: Wrenches = None,
        *,
        F_tip: TipWrench = None,
        V_base: ArrayLike | None = None,
        dV_base: ArrayLike | None = None,
        formulation: Formulation = "screw",
    ) -> Recursion:
        """Inverse dynamics at one state, with every intermediate by name.

        Returns:
            A record with tau (n,) and, of every link, poses, twists, accelerations and wrenches.
        """
        return dynamics.newton_euler(
            self.model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base,
            formulation=formulation,
        )  # fmt: skip

    @documented
    def explain(
        self,
        q: StateLike,
        dq: StateLike,
        ddq: StateLike,
        F_ext: Wrenches = None,
        *,
        F_tip: TipWrench = None,
        V_base: ArrayLike | None = None,
        dV_base: ArrayLike | None = None,
    ) -> Explanation:
        """Inverse dynamics at one state, with the parts that make every intermediate.

        Returns:
            A document that prints as a table, and as HTML; every number unfolds into its parts.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> text = str(robot.explain([0.1, 0.2], [1, 0], [0, 2]))
        """
        from kinetree.explain import explain

        return explain(self.model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base)

    def force_limits(self, dq: StateLike | None = None) -> tuple[Array, Array]:
        """Least and most joint forces at given rates, each of shape (..., n), N m or N.

        The effort limits of the joints, and the peak and torque-speed curve of their drives, the
        narrowest of them; infinite without a limit. See `kt.joints.Drive`.

        Args:
            dq: joint rates, shape (..., n), rad/s or m/s; None: at standstill.

        Example:
            >>> motor = kt.joints.Drive(curve=[(0, 80), (3, 80), (6, 0)])
            >>> arm = kt.robots.planar_2r().with_drives({"joint1": motor})
            >>> arm.force_limits([5, 0])[1].round(3)
            array([26.667,    inf])
        """
        from kinetree.model.bounds import bounds_of

        rates_or_rest = np.zeros(self.n) if dq is None else dq
        aligned = Alignment([(rates_or_rest, dof_axis(self.model), "dq")]).values[0]
        rates = numbers(aligned, "dq", f"joint rates, shape (..., {self.n})")
        if rates.shape[-1:] != (self.n,):
            raise ShapeError(
                f"dq has shape {rates.shape}; expected (..., {self.n}), a rate for each of "
                f"{', '.join(self.dof_names)}."
            )
        return bounds_of(self.model).forces(rates)

    @documented_batch
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
            F_ext: wrenches onto the links in their frames, shape (..., l, 6), N m and N; None: no
                wrench.
            dt: length of a time step, s; None: continuous time.

        Returns:
            A record with A (..., 2n, 2n) and B (..., 2n, n); x = (dq, ddq) of the deviation, along
            tangent vectors of `integrate`.
        """
        plain = self.model.memo.get("linear system")
        if plain is None:
            from kinetree.engine.kernels.linear import linear_system

            plain = linear_system(self.model)
        system = plain(q, dq, tau, F_ext)
        if system is None:
            system = self._linearize_any(q, dq, tau, F_ext)
        return system if dt is None else system.discrete(dt)

    def _linearize_any(
        self, q: StateLike, dq: StateLike, tau: StateLike, F_ext: ArrayLike | None
    ) -> Linearization:
        """A and B for labelled arguments, lists and tensors, and for robots with many joints."""
        from kinetree.dynamics.derivatives.forward_dynamics import assemble

        axis = dof_axis(self.model)
        arguments = (q, coordinate_axis(self.model), "q"), (dq, axis, "dq"), (tau, axis, "tau")
        state = Alignment(arguments).values
        loads = () if F_ext is None else (F_ext,)
        blocks = kernel(self.model, "forward_dynamics_derivatives")(*state, *loads)
        batch = blocks[0].shape[:-1]
        return assemble(self.model, np.broadcast_to(np.asarray(state[1], float), batch), *blocks)
