"""Loads of the joints in a motion: rates, forces, their parts, and peaks between the samples.

At s times the speed, rates are s dq and accelerations s^2 ddq, so that

    tau(s) = s^2 (M ddq + c) + (g + springs) + friction(s dq)

A sampled motion may also exceed a limit between its samples. Around a sample that is a local
extremum, the parabola through it and its neighbours has its vertex near the peak; the quartic
through five samples gives the value there, exact to h^4 of a smooth motion. If second differences
of neighbouring samples disagree, the motion has a kink there (a jump of acceleration), and the
sample counts instead of the vertex.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernels.memo import kernel
from kinetree.model import Model
from kinetree.model.bounds import Bounds, positions
from kinetree.motion.gear_losses import load_friction, with_losses, without_load_friction
from kinetree.motion.record import Record

JUMP_SIDE = 1e-6  # distance of samples added beside a jump, as a share of the time to the next
# relative change of second differences over two samples: a sine has less than SMOOTH with 35
# samples a period, and more than KINK with 15
SMOOTH, KINK = 0.1, 0.5


@dataclass(frozen=True, eq=False)
class Vertices:
    """Peaks between samples, at times t, (K,).

    A value there is the sum of `weights`, (K, w), times the w samples that begin at `first`, (K,).
    """

    t: Array
    first: Array
    weights: Array

    def __call__(self, x: Array) -> Array:
        """Values of samples x, (T,), at the vertices, (K,)."""
        window = self.first[:, None] + np.arange(self.weights.shape[1])
        return np.sum(self.weights * x[window], axis=1)


@dataclass(frozen=True, eq=False)
class Loads:
    """Samples of a motion, (T, n) each: positions of joints, rates, forces and their parts.

    inertial + held + friction = tau of the model. held: tau that holds the robot still: gravity
    and, if `springs`, the forces of springs. further: tau that was given less that of the model.
    smooth: True if there may be peaks between the samples. losses: coefficients of load friction,
    (n, 2), None without; tau is that of the motors then.
    """

    t: Array
    q: Array
    dq: Array
    tau: Array
    inertial: Array
    held: Array
    smooth: bool
    further: Array
    springs: bool = False
    losses: Array | None = None

    def between(self, x: Array) -> Vertices:
        """Peaks of x, (T,), between the samples; none if the motion is not smooth."""
        return vertices(self.t, x) if self.smooth else vertices(self.t[:0], x[:0])

    def with_force_peaks(self, k: int, bounds: Bounds) -> "ForceLoad":
        """Force of degree of freedom k and its limits at all times that can be the worst.

        These are the samples and the peaks of force between them. With a torque-speed curve the
        limits change with the rate, and there are also the peaks of speed and of the force beyond
        either limit, and the times at which the rate passes a corner of the curve.
        """
        tau, dq, curve = self.tau[:, k], self.dq[:, k], bounds.curve(k)
        if curve is None:
            times, values = self.with_peaks(tau)
            limit = np.full(len(times), bounds.effort[k])
            return ForceLoad(times, values, -limit, limit, None)
        least, most = (x[:, k] for x in bounds.forces(self.dq))
        peaks = [self.between(x) for x in (tau, dq, tau - most, least - tau)]
        if self.smooth:
            peaks += [passing(self.t, np.abs(dq), speed) for speed, _ in curve[1:]]
        times = np.concatenate([self.t, *(x.t for x in peaks)])
        order = np.argsort(times, kind="stable")
        tau, dq = (np.concatenate([x, *(y(x) for y in peaks)])[order] for x in (tau, dq))
        rates = np.zeros((len(dq), len(bounds.names)))
        rates[:, k] = dq
        least, most = (x[:, k] for x in bounds.forces(rates))
        return ForceLoad(times[order], tau, least, most, dq)

    def with_peaks(self, x: Array) -> tuple[Array, Array]:
        """Times and values of the samples x, (T,), and of the peaks between them."""
        between = self.between(x)
        times = np.concatenate([self.t, between.t])
        order = np.argsort(times, kind="stable")
        return times[order], np.concatenate([x, between(x)])[order]


@dataclass(frozen=True, eq=False)
class ForceLoad:
    """Force of one degree of freedom and its limits, (K,) each; rates if the limits depend on them.

    t: times, s.
    """

    t: Array
    tau: Array
    least: Array
    most: Array
    dq: Array | None


def loads_of(model: Model, trajectory: Record, bounds: Bounds) -> Loads:
    """Loads of one motion.

    tau is that of the trajectory if it has one. Its difference from inverse dynamics (external
    wrenches, a controller's error) is then assumed to be the same at any speed. Load friction is
    added to both, as in `motor_forces`.
    """
    c, model = load_friction(model), without_load_friction(model)
    friction_forces = kernel(model, "friction_forces")
    t, q, dq, ddq = with_sides_of_jumps(trajectory)
    model_tau = kernel(model, "inverse_dynamics")(q, dq, ddq)
    tau = model_tau if trajectory.tau is None else trajectory.tau
    held, friction = static_forces(model, q), friction_forces(dq)
    further = tau - model_tau
    return Loads(
        t=t,
        q=positions(bounds, q),
        dq=dq,
        tau=tau if c is None else with_losses(c, tau - friction, dq) + friction,
        inertial=model_tau - held - friction,
        held=held,
        smooth=bool(trajectory.meta.get("smooth", True)),
        further=further,
        springs=bool(model.springs),
        losses=c,
    )


def static_forces(model: Model, q: Array) -> Array:
    """Joint forces that hold a robot still at q, (..., nq): gravity and springs, (..., n)."""
    gravity = kernel(model, "gravity_forces")(q)
    return gravity + kernel(model, "spring_forces")(q) if model.springs else gravity


def with_sides_of_jumps(trajectory: Record) -> tuple[Array, Array, Array, Array]:
    """t, q, dq and ddq of the samples, and of either side of every jump of acceleration.

    A sample at a jump has the acceleration of one side, but forces may peak on the other: viscous
    friction is largest where a robot stops to accelerate. If tau was given, nothing is added,
    because tau is known at the samples alone.
    """
    t = trajectory.t
    motion = trajectory.q, trajectory.dq, trajectory.ddq
    jumps = trajectory.curve.jumps
    jumps = jumps[(jumps > t[0]) & (jumps < t[-1])]
    if trajectory.tau is not None or not len(jumps):
        return t, *motion
    gaps: Array = np.diff(np.concatenate([t[:1], jumps, t[-1:]]))
    sides = np.concatenate([jumps - JUMP_SIDE * gaps[:-1], jumps + JUMP_SIDE * gaps[1:]])
    sides = np.setdiff1d(sides, t)
    times = np.concatenate([t, sides])
    order = np.argsort(times)
    pairs = zip(motion, trajectory.curve(sides), strict=True)
    q, dq, ddq = (np.concatenate(pair)[order] for pair in pairs)
    return times[order], q, dq, ddq


def vertices(t: Array, x: Array) -> Vertices:
    """Peaks between samples x, (T,), at times t, (T,)."""
    if len(t) < 4:
        return _at(t, np.zeros(0, int), np.zeros(0), np.zeros(0))
    slope = np.diff(x) / np.diff(t)
    bend = np.diff(slope) / (t[2:] - t[:-2])  # half the second derivative, at samples 1 .. T - 2
    k = np.flatnonzero((slope[:-1] * slope[1:] <= 0) & (bend != 0)) + 1
    trust = _trust(bend, k - 1)
    k, trust = k[trust > 0], trust[trust > 0]
    left = t[k] - t[k - 1]
    tangent = slope[k - 1] + bend[k - 1] * left
    at = np.clip(t[k] - tangent / (2 * bend[k - 1]), t[k - 1], t[k + 1])
    return _at(t, k, at, trust)


def passing(t: Array, x: Array, level: float) -> Vertices:
    """Times at which samples x, (T,), pass a level, by straight lines between them."""
    above = x > level
    k = np.flatnonzero(above[1:] != above[:-1])
    at = t[k] + (level - x[k]) / (x[k + 1] - x[k]) * (t[k + 1] - t[k])
    return _at(t, k, at, np.ones(len(k)))


def _trust(bend: Array, i: Array) -> Array:
    """Weight of the vertex: 1 if the bends around i agree, 0 if there is a kink, or in between."""
    change = [
        bend[np.clip(j, 0, len(bend) - 1)] / bend[i] - 1 for j in (i - 2, i - 1, i + 1, i + 2)
    ]
    return np.clip((KINK - np.max(np.abs(change), axis=0)) / (KINK - SMOOTH), 0, 1)


def _at(t: Array, k: Array, at: Array, trust: Array) -> Vertices:
    """Vertices at times `at` near samples k.

    The value is `trust` times that of the polynomial through five samples (Lagrange), and
    1 - `trust` times sample k.
    """
    width = min(5, len(t))
    first = np.clip(k - width // 2, 0, len(t) - width)
    window = first[:, None] + np.arange(width)
    nodes = t[window]
    weights = np.ones(nodes.shape)
    for i in range(width):
        for j in range(width):
            if i != j:
                weights[:, i] *= (at - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    own = window == k[:, None]
    return Vertices(at, first, np.where(own, 1 - trust[:, None], 0) + trust[:, None] * weights)
