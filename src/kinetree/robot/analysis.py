"""Analysis of a robot at one state: task space, ellipsoids, parameters, every intermediate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from kinetree import algorithms
from kinetree.algorithms import Ellipsoid, Recursion, TaskSpace
from kinetree.algorithms.base_parameters import GROUPS
from kinetree.base.arrays import ArrayLike
from kinetree.base.labels import by_name
from kinetree.kernels.memo import kernel
from kinetree.model.inputs import TipWrench, Wrenches, coordinate_axis, dof_axis
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.algorithms.derivatives import Linearization, TaskSpaceDerivatives
    from kinetree.explain import Explanation

Axes = Literal["body", "space"]
Part = Literal["linear", "angular"]
Formulation = Literal["screw", "closed", "link", "space"]


class Analysis(RobotCore):
    """Analysis of a robot at one state."""

    def task_space(
        self,
        q: ArrayLike,
        dq: ArrayLike | None = None,
        *,
        V: ArrayLike | None = None,
        frame: str | None = None,
        expressed: Axes = "body",
        rows: Sequence[int] | None = None,
        damping: float = 0,
        tolerance: float = 1e-6,
    ) -> TaskSpace:
        """Lambda, eta, the null space and more at one state; see `algorithms.task_space`."""
        return algorithms.task_space(
            self.model, q, dq, V=V, frame=frame, expressed=expressed, rows=rows, damping=damping,
            tolerance=tolerance,
        )  # fmt: skip

    def task_space_derivatives(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        *,
        frame: str | None = None,
        expressed: Axes = "body",
        rows: Sequence[int] | None = None,
    ) -> TaskSpaceDerivatives:
        """Derivatives of J, Lambda and eta, for any leading axes; see `kernels.task_space`."""
        from kinetree.kernels.task_space import task_space_derivatives

        return task_space_derivatives(
            self.model, q, dq, frame=frame, expressed=expressed, rows=rows
        )

    def mass_ellipsoid(
        self, q: ArrayLike, frame: str | None = None, *, part: Part = "linear"
    ) -> Ellipsoid:
        """Effective masses at a frame; see `kinetree.algorithms.mass_ellipsoid`."""
        return algorithms.mass_ellipsoid(self.model, q, frame, part=part)

    def force_ellipsoid(
        self, q: ArrayLike, frame: str | None = None, *, part: Part = "linear"
    ) -> Ellipsoid:
        """Forces that joint forces of unit norm balance; see `algorithms.force_ellipsoid`."""
        return algorithms.force_ellipsoid(self.model, q, frame, part=part)

    def base_parameters(
        self, *, groups: Sequence[str] = GROUPS, seed: int = 0
    ) -> algorithms.BaseParameters:
        """Find the parameter combinations that determine tau; see `algorithms.base_parameters`."""
        return algorithms.base_parameters(self.model, groups=groups, seed=seed)

    def newton_euler(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        F_ext: Wrenches = None,
        *,
        F_tip: TipWrench = None,
        V_base: ArrayLike | None = None,
        dV_base: ArrayLike | None = None,
        formulation: Formulation = "screw",
    ) -> Recursion:
        """Inverse dynamics with every intermediate; see `kinetree.algorithms.newton_euler`."""
        return algorithms.newton_euler(
            self.model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base,
            formulation=formulation,
        )  # fmt: skip

    def explain(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        ddq: ArrayLike,
        F_ext: Wrenches = None,
        *,
        F_tip: TipWrench = None,
        V_base: ArrayLike | None = None,
        dV_base: ArrayLike | None = None,
        formulation: Formulation = "screw",
    ) -> Explanation:
        """Inverse dynamics with the parts of every intermediate; see `kinetree.explain.explain`."""
        from kinetree.explain import explain

        return explain(
            self.model, q, dq, ddq, F_ext, F_tip=F_tip, V_base=V_base, dV_base=dV_base,
            formulation=formulation,
        )  # fmt: skip

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

        axis = dof_axis(self.model)
        state = by_name(q, coordinate_axis(self.model), "q"), by_name(dq, axis, "dq")
        loads = () if F_ext is None else (F_ext,)
        derivatives = kernel(self.model, "forward_dynamics_derivatives")
        blocks = derivatives(*state, by_name(tau, axis, "tau"), *loads)
        batch = blocks[0].shape[:-1]
        system = assemble(self.model, np.broadcast_to(np.asarray(state[1], float), batch), *blocks)
        return system if dt is None else system.discrete(dt)
