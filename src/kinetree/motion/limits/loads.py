"""Loads of the joints in a motion: rates, forces, their parts, at its samples and between them.

At s times the speed, rates are s dq and accelerations s^2 ddq, so that

    tau(s) = s^2 (M ddq + c) + (g + springs) + friction(s dq)

A sampled motion may also exceed a limit between its samples. Where its forces follow from the
motion, loads are those at FINER times as many times, of the curve of the trajectory.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernels.memo import kernel
from kinetree.model import Model
from kinetree.model.bounds import Bounds, positions
from kinetree.motion.curve.pieces import curved
from kinetree.motion.gear_losses import load_friction, with_losses, without_load_friction
from kinetree.motion.record import Record

JUMP_SIDE = 1e-6  # distance of samples added beside a jump, as a share of the time to the next
FINER = 24  # a sine with 100 samples a period then misses its peak by 1e-6
MOST = 20_000  # times at most, where the motion has fewer samples itself


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads at times t, (T, n) each: positions of joints, rates, forces and their parts.

    inertial + held + friction = tau of the model. held: tau that holds the robot still: gravity
    and, if `springs`, the forces of springs. further: tau that was given less that of the model.
    losses: coefficients of load friction, (n, 2), None without; tau is that of the motors then.
    """

    t: Array
    q: Array
    dq: Array
    tau: Array
    inertial: Array
    held: Array
    further: Array
    springs: bool = False
    losses: Array | None = None


def loads_of(model: Model, trajectory: Record, bounds: Bounds) -> Loads:
    """Loads of one motion.

    tau is that of the trajectory if it has one. Its difference from inverse dynamics (external
    wrenches, a controller's error) is then assumed to be the same at any speed. Load friction is
    added to both, as in `motor_forces`.
    """
    c, model = load_friction(model), without_load_friction(model)
    friction_forces = kernel(model, "friction_forces")
    t, q, dq, ddq = finer(trajectory)
    model_tau = kernel(model, "inverse_dynamics")(q, dq, ddq)
    tau = model_tau if trajectory.tau is None else trajectory.tau
    held, friction = static_forces(model, q), friction_forces(dq)
    return Loads(
        t=t,
        q=positions(bounds, q),
        dq=dq,
        tau=tau if c is None else with_losses(c, tau - friction, dq) + friction,
        inertial=model_tau - held - friction,
        held=held,
        further=tau - model_tau,
        springs=bool(model.springs),
        losses=c,
    )


def static_forces(model: Model, q: Array) -> Array:
    """Joint forces that hold a robot still at q, (..., nq): gravity and springs, (..., n)."""
    gravity = kernel(model, "gravity_forces")(q)
    return gravity + kernel(model, "spring_forces")(q) if model.springs else gravity


def finer(trajectory: Record) -> tuple[Array, Array, Array, Array]:
    """t, q, dq and ddq of the samples, between them, and of either side of jumps of acceleration.

    A sample at a jump has the acceleration of one side, but forces may peak on the other: viscous
    friction is largest where a robot stops to accelerate. If tau was given, nothing is added,
    because tau is known at the samples alone; nor between the samples of a motion that states that
    its accelerations jump, meta["smooth"] is False, or that turns freely.
    """
    t, motion = trajectory.t, (trajectory.q, trajectory.dq, trajectory.ddq)
    if trajectory.tau is not None or len(t) < 2:
        return t, *motion
    turning = trajectory.model is not None and curved(trajectory.model)
    smooth = trajectory.meta.get("smooth", True) and not turning
    shares = np.linspace(0, 1, 1 + (min(FINER, max(1, MOST // len(t))) if smooth else 1))[1:-1]
    jumps = trajectory.curve.jumps
    jumps = jumps[(jumps > t[0]) & (jumps < t[-1])]
    gaps: Array = np.diff(np.concatenate([t[:1], jumps, t[-1:]]))
    sides = jumps - JUMP_SIDE * gaps[:-1], jumps + JUMP_SIDE * gaps[1:]
    between = t[:-1, None] + np.diff(t)[:, None] * shares
    more = np.setdiff1d(np.concatenate([between.ravel(), *sides]), t)
    times = np.concatenate([t, more])
    order = np.argsort(times)
    pairs = zip(motion, trajectory.curve(more), strict=True)
    q, dq, ddq = (np.concatenate(pair)[order] for pair in pairs)
    return times[order], q, dq, ddq
