"""Robots with constraints: closed loops, held frames, coupled joints and rods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self
from warnings import warn

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import names, numbers
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, KinetreeWarning
from kinetree.files.description.constraints import Constraint
from kinetree.model.documented import documented_batch
from kinetree.model.inputs import coordinate_axis, coordinates, dof_axis
from kinetree.present.labels import Alignment
from kinetree.robot.core import RobotCore
from kinetree.scalars import Scalar

if TYPE_CHECKING:
    from kinetree.dynamics.constraints.mobility import Mobility


class Constrained(RobotCore):
    """Constraints of a robot, and positions and motions that they allow."""

    def constrained(
        self,
        constraints: Mapping[str, Constraint | None],
        *,
        actuated: Sequence[str] | Mapping[str, Scalar] | None = None,
        independent: Sequence[str] | None = None,
        near: ArrayLike | None = None,
    ) -> Self:
        """The robot with constraints added, replaced by name, or removed (None).

        `forward_dynamics` and `inverse_dynamics` of the result honour them; M, C, g, energies and
        kinematics are those of the tree. Functions that cannot honour constraints refuse it.

        Args:
            constraints: by name: `Loop`, `Hold`, `Couple` or `Rod` of `kt.constraints`.
            actuated: names of the joints with motors, or {joint: weight}, the cost of the square
                of its force; None: all joints, or those of the robot before.
            independent: names of joints whose rates the others follow from; None: a
                well-conditioned choice.
            near: a position near which the constraints can be closed, shape (nq,), rad or m; None:
                positions are found at random.

        Raises:
            InputError: the constraints cannot be closed; the message has the residual and a name.

        Example:
            >>> gear = kt.constraints.Couple("joint2", {"joint1": -2})
            >>> robot = kt.robots.planar_2r().constrained({"gear": gear}, actuated=["joint1"])
            >>> robot.mobility.degrees_of_freedom
            1
        """
        from kinetree.dynamics.constraints.mobility import constrain

        changed = constrain(
            self.model, constraints, actuated=actuated, independent=independent, near=near
        )
        for note in changed.warnings[len(self.model.warnings) :]:
            warn(note.text, KinetreeWarning, stacklevel=2)
        return type(self)(changed)

    def unconstrained(self) -> Self:
        """The tree of the robot, without its constraints; all joints then move independently.

        Example:
            >>> kt.robots.four_bar().unconstrained().gravity_forces([0, 0, 0]).round(3)
            array([12.017,  6.131,  3.924])
        """
        from kinetree.model.constrain import tree_of

        return type(self)(tree_of(self.model))

    @property
    def mobility(self) -> Mobility:
        """Degrees of freedom, redundant equations and independent rates of the constraints."""
        from kinetree.dynamics.constraints.mobility import mobility

        return mobility(self.model)

    @documented_batch
    def project(self, q: StateLike, *, keep: Sequence[str] = (), tolerance: float = 1e-10) -> Array:
        """A position near q at which all constraints are satisfied, by Newton's method.

        It is not always the nearest one: every step is the shortest that closes the linear part of
        the constraints. From stretched bars, which have no slope towards closing, positions around
        are tried, always the same ones.

        Args:
            keep: names of joints that stay where they are.
            tolerance: largest entry of Phi to accept, rad or m.

        Returns:
            q: shape (..., nq), rad or m.

        Raises:
            InputError: no such position is found; the message has the residual, the constraint,
                and the state of a batch.
        """
        from kinetree.dynamics.constraints.projection import closed_position, kept_dofs

        errors, jacobian = (
            kernel(self.model, name) for name in ("constraint_errors", "constraint_jacobian")
        )
        kept_dofs(self.model, keep, tolerance)
        alignment = Alignment([(q, coordinate_axis(self.model), "q")])
        given = np.asarray(alignment.values[0], float)
        rows = given.reshape(-1, given.shape[-1]) if given.ndim else given.reshape(1, 1)
        closed: list[Array] = []
        for k, row in enumerate(rows):
            try:
                start = np.array(coordinates(self.model, row), float)
                found = closed_position(
                    self.model, start, lambda x: (errors(x), jacobian(x)), keep=keep,
                    tolerance=tolerance,
                )  # fmt: skip
            except InputError as problem:
                if given.ndim < 2:
                    raise
                at = [int(x) for x in np.unravel_index(k, given.shape[:-1])]
                raise InputError(f"state {at} of the batch: {problem}") from problem
            closed.append(found)
        found = np.array(closed).reshape(given.shape)
        return alignment.label(found, [coordinate_axis(self.model)], "project")

    @documented_batch
    def project_rates(self, q: StateLike, dq: StateLike, *, keep: Sequence[str] = ()) -> Array:
        """The rates nearest to dq, measured by the mass matrix, that the constraints allow.

        Args:
            keep: names of joints whose rates stay as they are; the others follow.

        Returns:
            dq: shape (..., n), rad/s or m/s.

        Raises:
            InputError: the constraints do not allow the rates that are kept.

        Example:
            >>> robot = kt.robots.slider_crank()
            >>> robot.project_rates(robot.neutral(), [2, 0, 0], keep=["crank"]).round(3) + 0
            array([ 2.   , -2.667,  0.   ])
        """
        if not names(keep, "keep"):
            return kernel(self.model, "constraint_impulse")(q, dq)[0]
        axes = coordinate_axis(self.model), dof_axis(self.model)
        alignment = Alignment([(q, axes[0], "q"), (dq, axes[1], "dq")])
        return self._nearest(alignment, keep, "rates")

    @documented_batch
    def project_accelerations(
        self, q: StateLike, dq: StateLike, ddq: StateLike, *, keep: Sequence[str] = ()
    ) -> Array:
        """The accelerations nearest to ddq, measured by M, that the constraints allow.

        Args:
            keep: names of joints whose accelerations stay as they are; the others follow.

        Returns:
            ddq: shape (..., n), rad/s^2 or m/s^2.

        Raises:
            InputError: the constraints do not allow the accelerations that are kept.

        Example:
            >>> robot = kt.robots.slider_crank()
            >>> q, dq = robot.neutral(), [3, -4, 0]
            >>> robot.project_accelerations(q, dq, [0, 0, 0], keep=["crank"]).round(3) + 0
            array([ 0. ,  0. , -2.4])
        """
        axes = coordinate_axis(self.model), dof_axis(self.model), dof_axis(self.model)
        names = "q", "dq", "ddq"
        alignment = Alignment(list(zip((q, dq, ddq), axes, names, strict=True)))
        return self._nearest(alignment, keep, "accelerations")

    def _nearest(self, alignment: Alignment, keep: Sequence[str], what: str) -> Array:
        """Rates or accelerations of a batch of states, one after the other."""
        from kinetree.dynamics.constraints.projection import kept_entries, nearest_motion

        model, n = self.model, self.model.n
        jacobian = kernel(model, "constraint_jacobian")  # refuses robots without constraints
        kept = kept_entries(model, names(keep, "keep"))
        q, *motion = (numbers(x, "an entry of the motion", "numbers") for x in alignment.values)
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in (q, *motion)))
        J, M = jacobian(q), kernel(model, "mass_matrix")(q)
        bias = kernel(model, "constraint_bias")(q, motion[0])
        wanted = np.zeros(J.shape[:-1]) if len(motion) == 1 else -bias
        m = J.shape[-2]
        Js, Ms = np.broadcast_to(J, (*shape, m, n)), np.broadcast_to(M, (*shape, n, n))
        xs, rights = np.broadcast_to(motion[-1], (*shape, n)), np.broadcast_to(wanted, (*shape, m))
        nearest = np.empty((*shape, n))
        for at in np.ndindex(*shape):
            state = f"state {list(at)} of the batch: " if at else ""
            try:
                nearest[at] = nearest_motion(model, Js[at], Ms[at], xs[at], rights[at], kept, what)
            except InputError as problem:
                raise InputError(f"{state}{problem}") from problem
        return alignment.label(nearest, [dof_axis(model)], f"project_{what}")

    def constraint_margin(self, q: StateLike) -> Array:
        """Distance of positions from singular ones: 0 there, 0.01 to 1 at typical positions.

        The smallest eigenvalue of A = J M^-1 J^T, each row divided by its typical length. Results
        of constrained dynamics are good to rounding above 1e-6. Below about 3e-8, 2e-4 rad from a
        dead centre, they are not a number; in between their relative error is below 1e-5.

        Args:
            q: joint positions on the constraints, shape (..., nq), rad or m.

        Returns:
            margin: shape (...), without unit.

        Example:
            >>> robot = kt.robots.slider_crank()
            >>> robot.constraint_margin([0.0, 0.0, 0.0]) > 0.1
            np.True_
        """
        from kinetree.dynamics.constraints.regularity import margin
        from kinetree.model.constrain import constraints_of

        constraints = constraints_of(self.model, "constraint_margin")
        alignment = Alignment([(q, coordinate_axis(self.model), "q")])
        values = np.asarray(alignment.values[0], float)
        J, M = (kernel(self.model, name)(values) for name in ("constraint_jacobian", "mass_matrix"))
        return alignment.label(margin(constraints, J, M), [], "constraint_margin")
