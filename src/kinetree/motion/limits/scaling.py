"""Uniform time scaling: how much slower, or faster, a motion can run within its limits.

At s times the speed a joint needs tau(s) = s^2 inertial + held + friction(s dq) at each sample (see
`loads`). The largest speeds s at which forces and speeds are within their limits are found by
search and bisection.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.engine.kernels.memo import kernel
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds
from kinetree.motion.gear_losses import with_losses, without_load_friction
from kinetree.motion.inputs import model_for, positive
from kinetree.motion.limits.loads import Loads
from kinetree.motion.record import Record

SLOWER, FASTER = np.geomspace(1, 1e-3, 200), np.geomspace(100, 1, 200)  # speeds that are tried
CREEP = 1e-6  # of the speed: what a joint needs to be set into motion

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True)
class Overload:
    """A joint whose force exceeds its limit however slowly the motion runs.

    Args:
        joint: name of the joint.
        t: time, s.
        torque: joint force, N m or N.
        limit: limit of the joint force, N m or N.
        gravity: whether weight and springs alone exceed the limit; False: with friction.
        springs: whether the robot has springs.
    """

    joint: str
    t: float
    torque: float
    limit: float
    gravity: bool  # True if gravity alone is too much; False if with Coulomb friction or loads
    springs: bool = False  # True if the robot has springs, whose forces count with gravity


@dataclass(frozen=True)
class UniformScaling:
    """Factors on the duration that make a motion fit its torque and speed limits.

    Args:
        slower: the least factor of at least 1, dimensionless (1: it fits as it is); None: running
            slower does not help.
        fastest: the least factor of all, dimensionless, below 1 if the motion can run faster; None:
            no factor fits.
        overloads: joints that cannot even keep the robot still somewhere on the path.
    """

    slower: float | None
    fastest: float | None
    overloads: tuple[Overload, ...] = ()


@typed
def scale_time(
    trajectory: AnyRecord, factor: float, robot: Model | HasModel | None = None
) -> AnyRecord:
    """The same path at 1/factor of the speed: t * factor, dq / factor, ddq / factor^2.

    tau is that of inverse dynamics if a robot is given, and None otherwise.

    Args:
        trajectory: a motion, or a batch.
        factor: factor on the duration, dimensionless; above 1 is slower.
        robot: the robot, for the new joint forces; None: tau is left out.
    """
    factor = positive(factor, "factor", "times the duration")
    t = trajectory.t[0] + (trajectory.t - trajectory.t[0]) * factor
    dq, ddq = trajectory.dq / factor, trajectory.ddq / factor**2
    tau = None
    if robot is not None:
        model = model_for(trajectory, robot, "a change of speed")
        tau = kernel(model, "inverse_dynamics")(trajectory.q, dq, ddq)
    pieces = trajectory.curve.slower(factor, float(trajectory.t[0]))
    return trajectory.replace(t=t, dq=dq, ddq=ddq, tau=tau, pieces=pieces)


def scaling_of(model: Model, loads: Loads, bounds: Bounds, fits: bool) -> UniformScaling:
    """Factors for a motion; `fits` is True if it is within its limits as it is."""
    friction_forces = kernel(without_load_friction(model), "friction_forces")
    rest = loads.held + loads.further

    def at(s: float) -> Loads:
        force = with_losses(loads.losses, s * s * loads.inertial + rest, loads.dq)
        return replace(loads, tau=force + friction_forces(s * loads.dq), dq=s * loads.dq)

    overloads = () if fits else tuple(_overloads(loads, at(CREEP).tau, bounds))
    slow = 1.0 if fits else _largest(SLOWER, at, bounds)
    fast = _largest(FASTER, at, bounds)
    fast = slow if fast == 0 else fast
    return UniformScaling(1 / slow if slow else None, 1 / fast if fast else None, overloads)


def _largest(speeds: Array, at: Callable[[float], Loads], bounds: Bounds) -> float:
    """The largest speed that fits, found between the first one of `speeds` and the one before."""

    def fits(s: float) -> bool:
        load = at(s)
        least, most = bounds.forces(load.dq)
        within = (load.tau <= most) & (load.tau >= least)
        return bool(within.all() and (np.abs(load.dq) <= bounds.velocity).all())

    good = next((k for k, s in enumerate(speeds) if fits(float(s))), None)
    if good is None:
        return 0.0
    best = float(speeds[good])
    return _bisect(fits, best, float(speeds[good - 1])) if good else best


def _overloads(loads: Loads, creeping: Array, bounds: Bounds) -> list[Overload]:
    """The worst sample of every joint that cannot be held or set into motion."""
    overloads: list[Overload] = []
    for k, name in enumerate(bounds.names):
        limit = float(bounds.effort[k])
        for force, gravity in ((loads.held[:, k], True), (creeping[:, k], False)):
            worst = int(np.argmax(np.abs(force)))
            if abs(force[worst]) > limit * (1 + CREEP):
                place = float(loads.t[worst]), float(force[worst])
                overloads.append(Overload(name, *place, limit, gravity, loads.springs))
                break
    return overloads


def _bisect(fits: Callable[[float], bool], good: float, bad: float) -> float:
    """The largest speed that fits, between one that does and one that does not."""
    while bad - good > 1e-12 * bad:
        middle = (good + bad) / 2
        if not good < middle < bad:
            break
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
