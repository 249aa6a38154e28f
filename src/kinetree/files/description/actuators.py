"""Actuator: a force at joints that follows a control, as the actuators of MJCF do.

With the length x = sum of gear * q of its joints, or of a path through points, and the speed v =
dx/dt, an actuator gives

    force = (g0 + g1 x + g2 v) a + b0 + b1 x + b2 v,    tau_j = dx/dq_j * force

where a is its control, or its activation: a state that follows the control. Motors, position and
velocity servos, dampers and integrated-velocity servos are cases of this law.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, get_args

from kinetree.core import records
from kinetree.core.arrays import ArrayLike
from kinetree.core.options import finite
from kinetree.errors import InputError

Dynamics = Literal["none", "integrator", "filter", "filterexact"]
LAGS = ("filter", "filterexact")
Range = tuple[float, float]
Coefficients = tuple[float, float, float]
Points = Sequence[tuple[str, ArrayLike]]
UNLIMITED: Range = (-inf, inf)


@dataclass(frozen=True)
class Actuator:
    """A force at one joint or several, or between points, that follows a control.

    `Actuator.motor`, `position` and `velocity` make the usual ones; each takes `points` in place of
    a joint too, without gear.

    Args:
        joints: {joint name: gear}; joints of one degree of freedom. The force at a joint is gear
            times the force of the actuator. Empty with `points`.
        gain: (g0, g1, g2): what multiplies the control or activation is g0 + g1 x + g2 v; N m or N
            per unit of control.
        bias: (b0, b1, b2): the force without control is b0 + b1 x + b2 v, N m or N.
        dynamics: "none": the control acts itself. "integrator": the activation is the integral of
            the control. "filter" and "filterexact": it follows the control with a first-order
            lag, da/dt = (u - a) / time_constant; in fixed steps of first order, "filterexact" is
            exact for a control that is constant in the step, and "filter" is Euler's rule.
        time_constant: of a lag, s.
        delay: time between a control and its first effect, s: a whole number of time steps.
        early: in fixed steps, the activation of the end of the step acts instead of that of its
            beginning.
        control_range: least and most control, in its unit; others are clamped.
        force_range: least and most force of the actuator, N m or N; others are clamped.
        activation_range: least and most activation, in the unit of the control, of its integral
            for an integrator; others are clamped.
        points: of a cable or cylinder: [(link or frame, position in it, (3,), m)] in their order
            along it, two or more; its force is along the path, N, and positive lengthens it.
    """

    joints: Mapping[str, float]
    gain: Coefficients = (1, 0, 0)
    bias: Coefficients = (0, 0, 0)
    dynamics: Dynamics = "none"
    time_constant: float = records.number("s", "at least 0", default=0)
    delay: float = records.number("s", "at least 0", default=0)
    early: bool = False
    control_range: Range = UNLIMITED
    force_range: Range = UNLIMITED
    activation_range: Range = UNLIMITED
    points: Points | None = None

    @classmethod
    def motor(
        cls,
        joint: str | Points,
        gear: float = 1,
        *,
        delay: float = 0,
        control_range: Range = UNLIMITED,
        force_range: Range = UNLIMITED,
    ) -> "Actuator":
        """Make a motor: force = u.

        Args:
            joint: name of the joint, or points [(link, position (3,) in m)].
            gear: force at the joint for a unit of control, N m or N.
            delay: time between a control and its first effect, s.
            control_range: least and most control, in its unit.
            force_range: least and most force before the gear, in the unit of the control.
        """
        return cls(**_place(joint, gear), **_ranges(control_range, force_range), delay=delay)

    @classmethod
    def position(
        cls,
        joint: str | Points,
        kp: float,
        kd: float = 0,
        *,
        gear: float = 1,
        time_constant: float = 0,
        delay: float = 0,
        control_range: Range = UNLIMITED,
        force_range: Range = UNLIMITED,
    ) -> "Actuator":
        """Make a position servo: force = kp (u - x) - kd v.

        Args:
            joint: name of the joint, or points [(link, position (3,) in m)].
            kp: stiffness, N m/rad or N/m, 0 or more.
            kd: damping, N m s/rad or N s/m, 0 or more.
            gear: ratio of the servo's position to that of the joint.
            time_constant: of the lag with which the goal follows the control, s; 0: no lag.
            delay: time between a control and its first effect, s.
            control_range: least and most goal, rad or m.
            force_range: least and most force, N m or N.
        """
        law = _servo(joint, gear, kp, kd) | _ranges(control_range, force_range)
        dynamics = "filterexact" if time_constant else "none"
        return cls(**law, dynamics=dynamics, time_constant=time_constant, delay=delay)

    @classmethod
    def velocity(
        cls,
        joint: str | Points,
        kd: float,
        *,
        gear: float = 1,
        delay: float = 0,
        control_range: Range = UNLIMITED,
        force_range: Range = UNLIMITED,
    ) -> "Actuator":
        """Make a velocity servo: force = kd (u - v).

        Args:
            joint: name of the joint, or points [(link, position (3,) in m)].
            kd: gain, N m s/rad or N s/m, 0 or more.
            gear: ratio of the servo's speed to that of the joint.
            delay: time between a control and its first effect, s.
            control_range: least and most goal, rad/s or m/s.
            force_range: least and most force, N m or N.
        """
        law = _servo(joint, gear, 0, kd) | {"gain": (kd, 0, 0)}
        return cls(**law, **_ranges(control_range, force_range), delay=delay)


def _place(joint: str | Points, gear: float) -> dict[str, Any]:
    """The fields of an actuator that tell where it acts."""
    if isinstance(joint, str):
        return {"joints": {joint: gear}}
    if gear != 1:
        raise InputError(f"gear of an actuator between points is {gear!r}; scale its gain instead.")
    return {"joints": {}, "points": joint}


def _ranges(control: Range, force: Range) -> dict[str, Any]:
    return {"control_range": control, "force_range": force}


def _servo(joint: str | Points, gear: float, kp: float, kd: float) -> dict[str, Any]:
    """The place of a servo and its law, kp u - kp x - kd v."""
    for name, value in (("kp", kp), ("kd", kd)):
        what = f"{name} of the actuator of joint {joint!r:.60}"
        if finite(value, what) < 0:
            raise InputError(f"{what} is {value:g}; expected 0 or more, towards its goal.")
    return _place(joint, gear) | {"gain": (kp, 0, 0), "bias": (0, -kp, -kd)}


def checked_actuator(actuator: Actuator, name: str) -> Actuator:
    """The actuator with plain floats and tuples; InputError names it and the wrong number."""
    what = f"actuator {name!r}"
    actuator = records.checked(actuator, Actuator, what)
    joints, dynamics, lag = actuator.joints, actuator.dynamics, actuator.time_constant
    if not isinstance(joints, Mapping) or bool(joints) is (actuator.points is not None):
        text = "expected {joint: gear}, such as {'knee': 1}, or points"
        raise InputError(f"joints of {what} are {joints!r:.60}; {text}.")
    gears = {x: finite(gear, f"gear of joint {x!r} in {what}") for x, gear in joints.items()}
    for joint in (x for x, gear in gears.items() if gear == 0):
        raise InputError(f"gear of joint {joint!r} in {what} is 0; leave the joint out.")
    if (dynamics in LAGS) is not (lag > 0):
        text = f"time constant of {what} is {lag:g} s, and its dynamics are {dynamics!r}"
        raise InputError(f"{text}; expected above 0 for {' and '.join(LAGS)}, else 0.")
    if actuator.activation_range != UNLIMITED and dynamics == "none":
        text = f"{what} has an activation range but no activation; expected other dynamics"
        raise InputError(f"{text}: {', '.join(get_args(Dynamics)[1:])}.")
    ranges = {
        f"{word}_range": _range(getattr(actuator, f"{word}_range"), f"{word} range of {what}")
        for word in ("control", "force", "activation")
    }
    gain, bias = (_floats(getattr(actuator, x), f"{x} of {what}", 3) for x in ("gain", "bias"))
    more: dict[str, Any] = {"gain": gain, "bias": bias, "early": bool(actuator.early)}
    return replace(actuator, joints=gears, **more, **ranges)


def _floats(values: Sequence[float], name: str, count: int, infinite: bool = False) -> Any:
    """`count` numbers as a tuple."""
    if not isinstance(values, list | tuple) or len(values) != count:
        raise InputError(f"{name} is {values!r:.60}; expected {count} numbers.")
    return tuple(finite(x, name, infinite=infinite) for x in values)


def _range(values: Range, name: str) -> Range:
    low, high = _floats(values, name, 2, infinite=True)
    if low > high or low == inf or high == -inf:
        text = f"{name} is ({low:g}, {high:g}), which is empty"
        raise InputError(f"{text}; expected the least before the most.")
    return low, high
