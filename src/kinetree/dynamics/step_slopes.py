"""The matrix of an implicit step: forces at its end, by their slopes at its beginning.

A stiff force changes much within a step. With D and K the slopes of joint friction by dq and of
springs by q, and kd and kp those of tau, the forces at the end of a step are, to first order,

    f_next = f - (D + kd) (dq_next - dq) - (K + kp) h dq_next

and a = (dq_next - dq) / h follows from

    (M + h (D + kd) + h^2 (K + kp)) a = tau - b(q, dq) - h (K + kp) dq

which is stable for positive slopes of any size. "implicit" solves this; "implicitfast" leaves out
K and kp, as the integrator of that name in MuJoCo does: a spring then limits the step as with
explicit methods. Positions are tangent vectors, so quaternions need no care here.

The rates of a free or planar joint are in the axes of its body, which turn. Its damping at the end
of the step is that of the velocity in fixed axes, v + h (a + w x v) seen from the body, as MuJoCo
has it: with c = (0, w x v), the damping of such a joint adds -h D c to the right-hand side.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import without_dry_friction
from kinetree.dynamics.joints.friction import (
    friction_slopes,
    motor_friction_slopes,
)
from kinetree.dynamics.joints.gains import Gains, diagonal, no_gains
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.joints.tangents import body_turning
from kinetree.model import Model
from kinetree.scalars import Scalar, maximum
from kinetree.spatial.matrices import is_zero, mirrored_half


@dataclass(frozen=True, eq=False)
class StepSlopes:
    """D + kd and K + kp, (n, n) each, of which entries not on the diagonal are mostly integers 0.

    symmetric: only the entries on and below the diagonals are read. turning: D c, (n,), of free and
    planar joints, integers 0 elsewhere.
    """

    by_rate: Array
    by_position: Array
    symmetric: bool
    turning: Array

    @staticmethod
    def of(
        model: Model,
        dq: Array,
        gains: Gains | None,
        *,
        positions: bool,
        springs: Springs | None = None,
    ) -> "StepSlopes":
        """The slopes of a robot and of tau at dq, (n,).

        springs: those of the robot at its position; the change of their arms is left out.
        """
        n = model.n
        damping = np.array(implicit_damping(model, dq), dtype=object)
        by_rate, turning = diagonal(damping), _turning(model, damping, dq)
        by_position = springs.stiffness() if positions and springs else no_gains(n)
        by_rate = by_rate + springs.damping() if springs and springs.damped else by_rate
        if model.motors:
            smooth = without_dry_friction(model)
            of_motors = motor_friction_slopes(smooth, dq, falling=False)
            by_rate = by_rate + of_motors
        if gains is None:
            return StepSlopes(by_rate, by_position, True, turning)
        by_rate = by_rate + gains.kd
        by_position = by_position + gains.kp if positions else by_position
        return StepSlopes(by_rate, by_position, gains.symmetric, turning)

    def added(self, M: Array, h: Scalar) -> Array:
        """M + h (D + kd) + h^2 (K + kp), (n, n)."""
        X = M + (self.by_rate + self.by_position * h) * h
        return mirrored_half(X) if self.symmetric else X

    def moved(self, b: Array, dq: Array, h: Scalar) -> Array:
        """b - h (K + kp) dq - h D c, (n,)."""
        K = mirrored_half(self.by_position) if self.symmetric else self.by_position
        return b - (K @ dq + self.turning) * h


def _turning(model: Model, damping: Array, dq: Array) -> Array:
    """D c, (n,): damping of free and planar joints times (0, w x v) of their rates."""
    pairs = zip(damping, body_turning(model, dq), strict=True)
    return np.array([0 if is_zero(D) or is_zero(c) else D * c for D, c in pairs], dtype=object)


def implicit_damping(model: Model, dq: Array) -> list[Any]:
    """Slope of smooth friction by dq for each degree of freedom, (n,), nowhere negative.

    Friction that falls with the rate, as a friction function may, is not taken into account: it
    could make the matrix of a step singular.
    """
    slopes = friction_slopes(without_dry_friction(model), dq).tolist()
    for joint in model.joints:
        if joint.friction.function is not None:
            for d in joint.dofs:
                slopes[d] = maximum(slopes[d], 0)
    return slopes
