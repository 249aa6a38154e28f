"""What a motion asks of the joints, and how it depends on the speed at which it runs.

At s times the speed, rates are s dq and accelerations s^2 ddq, so that

    tau(s) = s^2 (M ddq + c) + s viscous + (g + Coulomb)
"""

from dataclasses import dataclass

import numpy as np

from kinetree.arrays import Array
from kinetree.motion.bounds import Bounds, positions
from kinetree.motion.dynamics import Dynamics
from kinetree.motion.energy import joint_forces
from kinetree.motion.peaks import Vertices, vertices
from kinetree.simulate.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Loads:
    """Samples of a motion, (T, n) each: positions of joints, rates, forces and their parts.

    inertial + viscous + static = tau, where tau is that of the model; `gravity` is the part of
    `static` that is there without friction. `known` says whether friction has these parts alone,
    `smooth` whether there may be peaks between the samples.
    """

    t: Array
    q: Array
    dq: Array
    tau: Array
    inertial: Array
    viscous: Array
    static: Array
    gravity: Array
    known: bool
    smooth: bool

    def between(self, x: Array) -> Vertices:
        """The peaks of x, (T,), between the samples; none where the motion is not smooth."""
        return vertices(self.t, x) if self.smooth else vertices(self.t[:0], x[:0])

    @property
    def power(self) -> Array:
        """tau dq, (T, n), W."""
        return self.tau * self.dq


def loads_of(robot: Dynamics, trajectory: Trajectory, bounds: Bounds) -> Loads:
    """The loads of one motion.

    tau is that of the trajectory where it has one; what is beyond the model (external wrenches, a
    controller's error) is then held to stay as it is at any speed.
    """
    q, dq, ddq = trajectory.q, trajectory.dq, trajectory.ddq
    tau, model_tau = joint_forces(trajectory, robot), robot.inverse_dynamics(q, dq, ddq)
    gravity, friction = robot.gravity_forces(q), robot.friction_forces(dq)
    viscous = robot.friction_forces(2 * dq) - friction  # Coulomb friction does not double
    known = all(joint.friction.function is None for joint in robot.model.joints)
    return Loads(
        t=trajectory.t,
        q=positions(bounds, q),
        dq=dq,
        tau=tau,
        inertial=model_tau - gravity - friction,
        viscous=viscous if known else np.zeros_like(dq),
        static=gravity + friction - (viscous if known else 0) + (tau - model_tau),
        gravity=gravity,
        known=known,
        smooth=bool(trajectory.meta.get("smooth", True)),
    )
