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

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.gains import Gains, no_gains
from kinetree.dynamics.joints.paths import path_length, stretches
from kinetree.dynamics.joints.presliding import refuse_presliding
from kinetree.dynamics.tree import Tree, placed_tree
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import Drive
from kinetree.model import JointActuator, Model
from kinetree.model.bounds import curve_force, curve_slope, standing_limit
from kinetree.model.joint import is_plain
from kinetree.scalars import Scalar, exp, maximum, minimum, where
from kinetree.spatial.matrices import is_zero


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
    inputs = [_input(*state, h) for state in _states(model, u, a)]
    forces: list[Any] = []
    free: list[Any] = []
    gains: list[Any] = []
    paths: list[dict[int, Any]] = []
    tau: list[Any] = [0] * model.n
    tree = placed_tree(model, q) if any(x.points for x in model.actuators) else None
    for x, control in zip(model.actuators, inputs, strict=True):
        length, arms = _length(x, q, tree)
        paths.append(arms)
        speed = _sum([_times(arm, dq[d]) for d, arm in arms.items()])
        gain, bias = _affine(x.gain, length, speed), _affine(x.bias, length, speed)
        gains.append(gain)
        force = _sum([_times(gain, control), bias])
        forces.append(clamped(force, x.force_range))
        free.append(_within(force, *x.force_range))
        for d, arm in arms.items():
            tau[d] = _sum([tau[d], _times(arm, forces[-1])])
    for joint in model.joints:
        if joint.actuation != UNLIMITED and joint.follows is None:
            (d,) = joint.dofs
            within, tau[d] = _within(tau[d], *joint.actuation), clamped(tau[d], joint.actuation)
            for k, x in enumerate(model.actuators):
                if x.dofs == (d,):
                    free[k] = _times(free[k], within)
    return Actuated(np.array(tau), forces, inputs, free, gains, paths)


def _length(x: JointActuator, q: Array, tree: Tree | None) -> tuple[Any, dict[int, Any]]:
    """The length of an actuator, and dx/dq by degree of freedom; tree: for those on points."""
    if tree is not None and x.points:
        return path_length(stretches(tree, x.points))
    length = _sum([_times(g, q[c]) for g, c in zip(x.gears, x.coords, strict=True)], x.shift)
    return length, dict(zip(x.dofs, x.gears, strict=True))


def actuator_gains(model: Model, actuated: Actuated, *, across: bool = True) -> Gains:
    """Slopes of the joint forces of actuators, as implicit steps take them: arm^T k arm.

    An actuator whose force is clamped, by its own range or by that of its joint, has no slope. As
    in MuJoCo, the range of a joint does not count for actuators on several joints.

    across: an actuator on joints of different branches, such as two fingers, has slopes between
    them. Without, as in MuJoCo's implicitfast, the slopes have the zeros of M.
    """
    kp, kd = no_gains(model.n), no_gains(model.n)
    acted = actuated.inputs, actuated.free, actuated.arms
    for x, control, free, arms in zip(model.actuators, *acted, strict=True):
        for matrix, k in ((kp, 1), (kd, 2)):
            slope = _times(-1, _sum([_times(x.gain[k], control), x.bias[k]]))
            slope = slope if is_plain(slope, 0) else _times(slope, free)
            for i, arm in arms.items() if not is_plain(slope, 0) else ():
                for j, other in arms.items():
                    if across or j in _dofs_of_path(model, i) or i in _dofs_of_path(model, j):
                        matrix[i, j] = _sum([matrix[i, j], _times(arm * other, slope)])
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
        share = _times(_times(share, actuated.gains[k]), actuated.free[k])
        for i, arm in actuated.arms[k].items():
            factor = _times(-arm, share)
            for j in range(n):
                for matrix, slope in ((kp, slopes[k, j]), (kd, slopes[k, n + j])):
                    added = 0 if is_zero(slope) else _times(factor, slope)
                    matrix[i, j] = _sum([matrix[i, j], added])
    apart = ~np.eye(n, dtype=bool)
    return Gains(kp, kd, symmetric=all(map(is_zero, [*kp[apart], *kd[apart]])))


def _input_slope(x: JointActuator, u: Scalar, given: Scalar, h: Scalar | None) -> Any:
    """d input/d u of an actuator within a step: `given` is its input, a control or activation."""
    inside = _within(u, *x.control_range)
    if not x.has_activation:
        return inside
    if not x.early or h is None:
        return 0
    inside = _times(inside, _within(given, *x.activation_range))
    if x.dynamics == "integrator":
        return _times(inside, h)
    if x.dynamics == "filterexact":
        return _times(inside, 1 - exp(-h / x.time_constant))
    return _times(inside, h / x.time_constant)


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
            activation = clamped(activation, x.activation_range)
            rate = _rate(x, control, activation)
            low, high = x.activation_range
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
    limited, limited_tau = limited_drives(model), list(tau)
    if not limited:
        return tau
    for d, drive in limited.items():
        least, most = _drive_range(drive, dq[d])
        limited_tau[d] = minimum(maximum(tau[d], least), most)
    return np.array(limited_tau)


def drive_gains(model: Model, dq: Array, tau: Array, gains: Gains | None) -> Gains | None:
    """Slopes of joint forces behind the drives; `gains` are those of tau before, None: none.

    Where a drive limits the force tau, the slope is that of the limit: 0, or along the falling part
    of a torque-speed curve that of its piece at the present rate, which damps.
    """
    limited = limited_drives(model)
    curved = [d for d, x in limited.items() if x.curve is not None]
    if not limited or (gains is None and not curved):
        return gains
    if gains is None:
        gains = Gains(no_gains(model.n), no_gains(model.n))
    free = {d: _within(tau[d], *_drive_range(x, dq[d])) for d, x in limited.items()}

    def masked(matrix: Array) -> Array:
        rows = [
            [x if is_plain(x, 0) or i not in free else x * free[i] for x in row]
            for i, row in enumerate(matrix)
        ]
        return np.array(rows, dtype=object).reshape(matrix.shape)

    kp, kd = masked(gains.kp), masked(gains.kd)
    for d in curved:
        kd[d, d] = _sum([kd[d, d], _curve_damping(limited[d], dq[d], tau[d])])
    alone = all(
        is_plain(x[i, j], 0) for x in (kp, kd) for i in free for j in range(len(x)) if i != j
    )
    return Gains(kp, kd, symmetric=gains.symmetric and alone)


def check_step_drives(model: Model) -> None:
    """Raise InputError if a drive or friction has a memory, which a single step does not keep."""
    refuse_presliding(model, "a single step")
    for joint in model.joints:
        drive = joint.drive
        if drive is not None and (drive.lag or drive.delay):
            word = f"lag of {drive.lag:g} s" if drive.lag else f"delay of {drive.delay:g} s"
            raise InputError(
                f"the drive of joint {joint.name!r} has a {word}, so its force depends on earlier "
                "commands, which a single step does not know. Take robot.simulate, or a robot "
                "without: robot.with_drives({joint: kt.joints.Drive(curve=..., peak=...)})."
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
                f"actuator {x.name!r} has a delay of {x.delay:g} s, so its force depends on "
                "earlier controls, which a single step does not know. Take robot.simulate, or "
                "give the step the control of the time before."
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
    rate = _rate(x, u, a)
    if x.dynamics == "filterexact":
        after = a + rate * (x.time_constant * (1 - exp(-h / x.time_constant)))
    else:
        after = a + rate * h
    return clamped(after, x.activation_range)


def _drive_range(drive: Drive, dq: Scalar) -> tuple[Any, Any]:
    """Least and most force of a drive at a rate."""
    box = standing_limit(drive)
    if drive.curve is None:
        return -box, box
    curve = tuple(drive.curve)
    ahead, behind = (curve_force(curve, maximum(x, 0)) for x in (dq, -dq))
    return -minimum(behind, box), minimum(ahead, box)


def _curve_damping(drive: Drive, dq: Scalar, tau: Scalar) -> Any:
    """-d force/d dq of a drive whose torque-speed curve limits the force; 0 where it does not.

    At standstill it is that of the direction in which tau pushes.
    """
    assert drive.curve is not None
    curve, box, sides = tuple(drive.curve), standing_limit(drive), list[Any]()
    for speed in (dq, -dq):
        along = maximum(speed, 0)
        damping = where(curve_force(curve, along) - box, 0, -curve_slope(curve, along))
        sides.append(where(-speed, 0, damping))
    least, most = _drive_range(drive, dq)
    return where(most - tau, where(tau - least, 0, sides[1]), sides[0])


def _within(x: Scalar, low: Scalar, high: Scalar) -> Any:
    """1 if a number is within a range, 0 if it is at an end or beyond."""
    below = where(high - x, 1, 0) if not is_plain(high, inf) else 1
    return where(x - low, below, 0) if not is_plain(low, -inf) else below


def _affine(prm: Sequence[float], length: Scalar, speed: Scalar) -> Any:
    return _sum([prm[0], _times(prm[1], length), _times(prm[2], speed)])


def _times(x: Any, y: Any) -> Any:
    """x y, in which the plain numbers 0, 1 and -1 cost nothing."""
    for a, b in ((x, y), (y, x)):
        if is_plain(a, 0):
            return 0
        if is_plain(a, 1):
            return b
        if is_plain(a, -1):
            return -b
    return x * y


def _sum(parts: Sequence[Any], start: Any = 0) -> Any:
    """The sum of all parts, in which plain zeros are left out."""
    total = start
    for x in parts:
        total = x if is_plain(total, 0) else total if is_plain(x, 0) else total + x
    return total
