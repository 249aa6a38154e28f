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

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import without_dry_friction
from kinetree.dynamics.joints.friction import friction_slopes
from kinetree.dynamics.joints.gains import Gains, no_gains
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.joints.tangents import body_turning
from kinetree.model import Model
from kinetree.scalars import Scalar
from kinetree.spatial.matrices import is_zero, mirrored_half


@dataclass(frozen=True, eq=False)
class StepSlopes:
    """D + kd and K + kp, (n, n) each, of which entries not on the diagonal are mostly integers 0.

    symmetric: both are. turning: D c, (n,), of free and planar joints, integers 0 elsewhere.
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

        springs: those of the robot at its position; the change of their arms is left out, and so
        are slopes of friction functions that fall with the rate: they could make the matrix of a
        step singular.
        """
        n = model.n
        by_rate = friction_slopes(without_dry_friction(model), dq, falling=False)
        turning = _times(body_turning(model, dq), by_rate.diagonal())
        by_position = springs.stiffness() if positions and springs else no_gains(n)
        by_rate = by_rate + springs.damping() if springs and springs.damped else by_rate
        if gains is None:
            return StepSlopes(by_rate, by_position, True, turning)
        half = mirrored_half if gains.symmetric else np.asarray
        by_rate = by_rate + half(gains.kd)
        by_position = by_position + half(gains.kp) if positions else by_position
        return StepSlopes(by_rate, by_position, gains.symmetric, turning)

    def added(self, M: Array, h: Scalar) -> Array:
        """M + h (D + kd) + h^2 (K + kp), (n, n)."""
        A = M + _times(self.by_rate + _times(self.by_position, h), h)
        return mirrored_half(A) if self.symmetric else A

    def moved(self, b: Array, dq: Array, h: Scalar) -> Array:
        """b - h (K + kp) dq - h D c, (n,)."""
        return b - (self.by_position @ dq + self.turning) * h


def _times(X: Array, factor: Array | Scalar) -> Array:
    """X times a factor, entry by entry; integers 0 stay."""
    pairs = np.broadcast_arrays(X, np.asarray(factor, dtype=object))
    entries = zip(*(x.ravel() for x in pairs), strict=True)
    products = [0 if is_zero(x) or is_zero(y) else x * y for x, y in entries]
    return np.array([*products, None], dtype=object)[:-1].reshape(X.shape)
