"""Forces of actuators and drives: from controls and activations to joint forces, on any scalar.

An actuator of length x and speed v (see `kinetree.files.description.actuators`) gives

    force = clamp((g0 + g1 x + g2 v) a + b0 + b1 x + b2 v),    tau = sum of dx/dq * force

with a its clamped control, or its activation. The rules are those of MuJoCo, the order of clamping
and the treatment of activations included: in fixed steps of first order, the activation after a
step is a + h da/dt (exact for "filterexact"), clamped. Other methods integrate the activation, and
its clamped value acts.

The drive of a joint limits the joint force that laws and actuators ask for, by its peak and
torque-speed curve at the present rate.
"""

from collections.abc import Set
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.gains import Gains, no_gains
from kinetree.dynamics.joints.paths import path_length, segments
from kinetree.dynamics.joints.presliding import refuse_presliding
from kinetree.dynamics.tree import placed_tree
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import Drive
from kinetree.model import JointActuator, Model
from kinetree.model.bounds import curve_force, standing_limit
from kinetree.model.joint import is_plain
from kinetree.scalars import Scalar, exp, maximum, minimum, where
from kinetree.spatial.matrices import is_zero

EARLIER = "so its force depends on earlier commands, which a single step does not know"


@dataclass(frozen=True, eq=False)
class Actuated:
    """Actuators at work: the joint forces tau, (n,), and the force and input of each actuator.

    forces: clamped. inputs: control or activation that acts. free: 1 where a force is within its
    range and that of its joint, 0 where it is clamped. gains: d force/d input of each actuator
    within these ranges. arms: dx/dq of each by degree of freedom, its gears but for paths.
    """

    tau: Array
    forces: list[Any]
    inputs: list[Any]
    free: list[Any]
    gains: list[Any]
    arms: list[dict[int, Any]]


def actuate(
    model: Model, q: Array, dq: Array, u: Array, a: Array, h: Scalar | None = None
) -> Actuated:
    """Forces of all actuators.

    u: controls, one for each actuator, not yet clamped. a: activations, one for each actuator that
    has one. h: length of the step, s, for actuators that act early; activations are within their
    ranges then, or act once as they are. None: there is no step, and activations are clamped.
    """
    found = Actuated(np.array([0] * model.n, object), [], [], [], [], [])
    for x, control, activation in _states(model, u, a):
        length, arms = _length(model, x, q)
        speed = sum(_product(arm, dq[d]) for d, arm in arms.items())
        value = _input(x, control, activation, h)
        gain, bias = (
            k[0] + _product(k[1], length) + _product(k[2], speed) for k in (x.gain, x.bias)
        )
        force = _product(gain, value) + bias
        found.inputs.append(value)
        found.gains.append(gain)
        found.arms.append(arms)
        found.forces.append(clamped(force, x.force_range))
        found.free.append(_within(force, x.force_range))
        for d, arm in arms.items():
            found.tau[d] = found.tau[d] + _product(arm, found.forces[-1])
    for joint in model.leaders:
        if joint.actuation != UNLIMITED:
            (d,) = joint.dofs
            within = _within(found.tau[d], joint.actuation)
            found.tau[d] = clamped(found.tau[d], joint.actuation)
            for k, x in enumerate(model.actuators):
                if x.dofs == (d,):
                    found.free[k] = _product(found.free[k], within)
    return found


def _length(model: Model, x: JointActuator, q: Array) -> tuple[Any, dict[int, Any]]:
    """The length of an actuator, and dx/dq by degree of freedom."""
    if x.points:
        return path_length(segments(placed_tree(model, q), x.points))
    length = sum((_product(g, q[c]) for g, c in zip(x.arms, x.coords, strict=True)), x.shift)
    return length, x.arm_of_dof


def actuator_gains(model: Model, actuated: Actuated, *, across: bool = True) -> Gains:
    """Slopes of the joint forces of actuators, as implicit steps take them: arm^T k arm.

    An actuator whose force is clamped, by its own range or by that of its joint, has no slope. As
    in MuJoCo, the range of a joint does not count for actuators on several joints.

    across: an actuator on joints of different branches, such as two fingers, has slopes between
    them. Without, as in MuJoCo's implicitfast, the slopes have the zeros of M.
    """
    kp, kd = no_gains(model.n), no_gains(model.n)
    acted = actuated.inputs, actuated.free, actuated.arms
    for x, value, free, arms in zip(model.actuators, *acted, strict=True):
        for matrix, k in ((kp, 1), (kd, 2)):
            if not (x.gain[k] or x.bias[k]):
                continue
            slope = _product(-(_product(x.gain[k], value) + x.bias[k]), free)
            for i, arm in arms.items():
                for j, other in arms.items():
                    if across or j in _dofs_of_path(model, i) or i in _dofs_of_path(model, j):
                        matrix[i, j] = matrix[i, j] + _product(arm * other, slope)
    return Gains(kp, kd)


def control_gains(
    model: Model, actuated: Actuated, u: Array, slopes: Array, h: Scalar | None, late: Set[int]
) -> Gains:
    """Slopes of the joint forces of actuators by way of their controls, which follow a law.

    A control has no effect in the step where it is clamped, late, or moves an activation of which
    the value at the beginning of the step acts.

    Args:
        u: controls of the law, (u,).
        slopes: d u/d (q, dq), (u, 2n), q along tangent vectors.
        h: length of the step, s, for actuators that act early.
        late: numbers of the actuators whose controls arrive after a delay.
    """
    n = model.n
    kp, kd = no_gains(n), no_gains(n)
    for k, x in enumerate(model.actuators):
        share = 0 if k in late else _input_slope(x, u[k], actuated.inputs[k], h)
        share = _product(_product(share, actuated.gains[k]), actuated.free[k])
        for i, arm in actuated.arms[k].items():
            for j in range(n):
                for matrix, slope in ((kp, slopes[k, j]), (kd, slopes[k, n + j])):
                    matrix[i, j] = matrix[i, j] + _product(_product(-arm, share), slope)
    apart = ~np.eye(n, dtype=bool)
    return Gains(kp, kd, symmetric=all(map(is_zero, [*kp[apart], *kd[apart]])))


def _input_slope(x: JointActuator, u: Scalar, given: Scalar, h: Scalar | None) -> Any:
    """d input/d u of an actuator within a step: `given` is its input, a control or activation."""
    inside = _within(u, x.control_range)
    if not x.has_activation:
        return inside
    if not x.early or h is None:
        return 0
    return _product(_product(inside, _within(given, x.activation_range)), _reach(x, h))


def _reach(x: JointActuator, h: Scalar) -> Any:
    """Change of an activation in a step, over its difference from the control."""
    if x.dynamics == "integrator":
        return h
    return 1 - exp(-h / x.time_constant) if x.dynamics == "filterexact" else h / x.time_constant


def _dofs_of_path(model: Model, d: int) -> set[int]:
    """Degrees of freedom of the joints between the base and the link that d moves, d included."""
    (i,) = (i for i in model.links if d in model.joints[i].dofs and not model.joints[i].follows)
    return {d for j in model.path(i) for d in model.joints[j].dofs}


def next_activations(model: Model, u: Array, a: Array, h: Scalar) -> list[Any]:
    """Activations after a step of length h, clamped."""
    return [_next(*state, h) for state in _states(model, u, a) if state[0].has_activation]


def activation_rates(model: Model, u: Array, a: Array, *, held: bool) -> list[Any]:
    """da/dt of the activations, at their values within their ranges.

    held: it is 0 where an activation at the end of its range would leave it. Fixed steps, which
    clamp the activation after each step, reach the end of the range exactly without.
    """
    rates: list[Any] = []
    for x, control, activation in _states(model, u, a):
        if x.has_activation:
            low, high = x.activation_range
            activation = clamped(activation, x.activation_range)
            rate = _rate(x, control, activation)
            if held and isfinite(high):
                rate = where(high - activation, rate, minimum(rate, 0))
            if held and isfinite(low):
                rate = where(activation - low, rate, maximum(rate, 0))
            rates.append(rate)
    return rates


def activation_ranges(model: Model) -> tuple[Range, ...]:
    """Least and most of each activation."""
    return tuple(x.activation_range for x in model.actuators if x.has_activation)


def clamped(x: Scalar, limits: Range) -> Any:
    """A number within a range, whose ends may be infinite."""
    low, high = limits
    x = maximum(x, low) if low != -inf else x
    return minimum(x, high) if high != inf else x


def limited_drives(model: Model) -> dict[int, Drive]:
    """Drives that limit the force of a joint, by its degree of freedom."""
    return {
        joint.dofs[0]: joint.drive
        for joint in model.joints
        if joint.drive is not None and standing_limit(joint.drive) < inf
    }


def drive_forces(model: Model, dq: Array, tau: Array) -> Array:
    """Joint forces within the peaks and torque-speed curves of the drives, (n,)."""
    limited = limited_drives(model)
    parts = [_limited(limited[d], dq[d], x) if d in limited else x for d, x in enumerate(tau)]
    return np.array(parts) if limited else tau


def drive_gains(model: Model, dq: Array, tau: Array, gains: Gains | None) -> Gains | None:
    """Slopes of joint forces behind the drives; `gains` are those of tau before, None: none.

    Where a drive limits the force tau, the slope is that of the limit: 0, or along the falling part
    of a torque-speed curve that of its piece at the present rate, which damps.
    """
    from kinetree.spatial.duals import Dual, dual

    limited = limited_drives(model)
    if not limited or (gains is None and all(x.curve is None for x in limited.values())):
        return gains
    gains = Gains(no_gains(model.n), no_gains(model.n)) if gains is None else gains
    kp, kd, apart = gains.kp.copy(), gains.kd.copy(), list[Any]()
    for d, drive in limited.items():
        free = dual(_limited(drive, dq[d], Dual(tau[d], 1))).slope
        for matrix in (kp, kd):
            matrix[d] = [_product(x, free) for x in matrix[d]]
            apart += [*matrix[d, :d], *matrix[d, d + 1 :]]
        if drive.curve is not None:
            kd[d, d] = kd[d, d] - dual(_limited(drive, Dual(dq[d], 1), tau[d])).slope
    return Gains(kp, kd, symmetric=gains.symmetric and all(map(is_zero, apart)))


def check_step_drives(model: Model) -> None:
    """Raise InputError if a drive or friction has a memory, which a single step does not keep."""
    refuse_presliding(model, "a single step")
    for joint in model.joints:
        drive = joint.drive
        if drive is not None and (drive.lag or drive.delay):
            raise InputError(
                f"the drive of joint {joint.name!r} has a lag or delay, {EARLIER}. Take "
                "robot.simulate, or a robot without: "
                "robot.with_drives({joint: kt.joints.Drive(curve=..., peak=...)})."
            )


def check_step_actuators(model: Model) -> None:
    """Raise if a robot has no actuators, or one with a delay, which a single step does not keep."""
    if not model.actuators:
        raise ShapeError(
            f"controls were given, but {model.name!r} has no actuators; expected a robot with "
            "some: robot.with_actuators({name: kt.joints.Actuator.motor(joint)}), or an MJCF file "
            "with <actuator>. Joint forces are tau."
        )
    for x in model.actuators:
        if x.delay:
            raise InputError(
                f"actuator {x.name!r} has a delay of {x.delay:g} s, {EARLIER}. Take "
                "robot.simulate, or give the step the control of the time before."
            )


def _states(model: Model, u: Array, a: Array) -> list[tuple[JointActuator, Any, Any]]:
    """Each actuator with its control within its range and its activation, 0 if it has none."""
    activations = iter(a)
    return [
        (x, clamped(control, x.control_range), next(activations) if x.has_activation else 0)
        for x, control in zip(model.actuators, u, strict=True)
    ]


def _input(x: JointActuator, u: Any, a: Any, h: Scalar | None) -> Any:
    """The control or activation of an actuator that acts."""
    if not x.has_activation:
        return u
    if h is None:
        return clamped(a, x.activation_range)
    return _next(x, u, a, h) if x.early else a


def _rate(x: JointActuator, u: Scalar, a: Scalar) -> Any:
    return u if x.dynamics == "integrator" else (u - a) / x.time_constant


def _next(x: JointActuator, u: Scalar, a: Scalar, h: Scalar) -> Any:
    rate, factor = _rate(x, u, a), h
    if x.dynamics == "filterexact":
        factor = x.time_constant * _reach(x, h)
    return clamped(a + rate * factor, x.activation_range)


def _limited(drive: Drive, dq: Any, tau: Any) -> Any:
    """The force tau within the limits of a drive at a rate; dq or tau may be a dual number."""
    box, curve = standing_limit(drive), drive.curve
    if curve is None:
        return minimum(maximum(tau, -box), box)
    # the order decides the slope where both are equal: that of the curve
    ahead, behind = (minimum(box, curve_force(curve, maximum(0, x))) for x in (dq, -dq))
    return minimum(maximum(tau, -behind), ahead)


def _within(x: Scalar, limits: tuple[Any, Any]) -> Any:
    """1 if a number is within a range, 0 if it is at an end or beyond."""
    low, high = limits
    below = 1 if is_plain(high, inf) else where(high - x, 1, 0)
    return below if is_plain(low, -inf) else where(x - low, below, 0)


def _product(x: Any, y: Any) -> Any:
    """x y; the plain number 0 if one of them is."""
    return 0 if is_zero(x) or is_zero(y) else x * y
