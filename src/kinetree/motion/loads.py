"""What a motion asks of the joints, and how it depends on the speed at which it runs.

At s times the speed, rates are s dq and accelerations s^2 ddq, so that

    tau(s) = s^2 (M ddq + c) + s viscous + (g + Coulomb)
"""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.motion.bounds import Bounds, positions
from kinetree.motion.dynamics import Dynamics
from kinetree.motion.interpolation import pieces_of
from kinetree.motion.peaks import Vertices, vertices
from kinetree.trajectory import Trajectory

BESIDE = 1e-6  # of the time to the next jump: how far from a jump its two sides are looked at


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
    t, q, dq, ddq = with_sides_of_jumps(trajectory)
    model_tau = robot.inverse_dynamics(q, dq, ddq)
    tau = model_tau if trajectory.tau is None else trajectory.tau
    gravity, friction = robot.gravity_forces(q), robot.friction_forces(dq)
    viscous = robot.friction_forces(2 * dq) - friction  # Coulomb friction does not double
    known = all(joint.friction.function is None for joint in robot.model.joints)
    return Loads(
        t=t,
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


def with_sides_of_jumps(trajectory: Trajectory) -> tuple[Array, Array, Array, Array]:
    """t, q, dq and ddq of the samples, and of either side of every jump of acceleration.

    A sample on a jump has the acceleration of one side, but forces may peak on the other: viscous
    friction is largest where a robot stops to accelerate. Where forces were given, nothing is
    added, since they are known at the samples alone.
    """
    t = trajectory.t
    motion = trajectory.q, trajectory.dq, trajectory.ddq
    jumps = pieces_of(trajectory).jumps
    jumps = jumps[(jumps > t[0]) & (jumps < t[-1])]
    if trajectory.tau is not None or not len(jumps):
        return t, *motion
    gaps: Array = np.diff(np.concatenate([t[:1], jumps, t[-1:]]))
    sides = np.concatenate([jumps - BESIDE * gaps[:-1], jumps + BESIDE * gaps[1:]])
    sides = np.setdiff1d(sides, t)
    times = np.concatenate([t, sides])
    order = np.argsort(times)
    pairs = zip(motion, pieces_of(trajectory)(sides), strict=True)
    q, dq, ddq = (np.concatenate(pair)[order] for pair in pairs)
    return times[order], q, dq, ddq
