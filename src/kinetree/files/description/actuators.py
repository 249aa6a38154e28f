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
from typing import Any

from kinetree.core.arrays import ArrayLike
from kinetree.core.options import finite
from kinetree.errors import InputError

DYNAMICS = ("none", "integrator", "filter", "filterexact")
LAGS = ("filter", "filterexact")
Range = tuple[float, float]
Coefficients = tuple[float, float, float]
Points = Sequence[tuple[str, ArrayLike]]
UNLIMITED: Range = (-inf, inf)


@dataclass(frozen=True)
class Actuator:
    """A force at one joint or several, or between points, that follows a control.

    `Actuator.motor`, `position`, `velocity`, `damper` and `integrated_velocity` make the usual
    ones; each takes `points` in place of a joint too, without gear.

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
    dynamics: str = "none"
    time_constant: float = 0
    delay: float = 0
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
        return cls(
            **_place(joint, gear), delay=delay, control_range=control_range, force_range=force_range
        )

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
        kp, kd = _gain(kp, "kp", joint, "position servo"), _gain(kd, "kd", joint, "position servo")
        return cls(
            **_place(joint, gear),
            gain=(kp, 0, 0),
            bias=(0, -kp, -kd),
            dynamics="filterexact" if time_constant else "none",
            time_constant=time_constant,
            delay=delay,
            control_range=control_range,
            force_range=force_range,
        )

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
        kd = _gain(kd, "kd", joint, "velocity servo")
        return cls(
            **_place(joint, gear),
            gain=(kd, 0, 0),
            bias=(0, 0, -kd),
            delay=delay,
            control_range=control_range,
            force_range=force_range,
        )

    @classmethod
    def damper(
        cls,
        joint: str | Points,
        kd: float,
        *,
        gear: float = 1,
        control_range: Range = (0, inf),
        force_range: Range = UNLIMITED,
    ) -> "Actuator":
        """Make a damper: force = -kd u v, with a control u of 0 or more.

        Args:
            joint: name of the joint, or points [(link, position (3,) in m)].
            kd: damping for a control of 1, N m s/rad or N s/m, 0 or more.
            gear: ratio of the damper's speed to that of the joint.
            control_range: least and most control, 0 or more, dimensionless.
            force_range: least and most force, N m or N.
        """
        kd = _gain(kd, "kd", joint, "damper")
        if control_range[0] < 0:
            raise InputError(
                f"control range of the damper of joint {joint!r:.60} begins at "
                f"{control_range[0]:g}; expected 0 or more: with a negative control "
                "it would drive the joint."
            )
        return cls(
            **_place(joint, gear),
            gain=(0, 0, -kd),
            control_range=control_range,
            force_range=force_range,
        )

    @classmethod
    def integrated_velocity(
        cls,
        joint: str | Points,
        kp: float,
        kd: float = 0,
        *,
        gear: float = 1,
        delay: float = 0,
        control_range: Range = UNLIMITED,
        force_range: Range = UNLIMITED,
        activation_range: Range = UNLIMITED,
    ) -> "Actuator":
        """Make a position servo whose goal a moves with the control: da/dt = u.

        force = kp (a - x) - kd v.

        Args:
            joint: name of the joint, or points [(link, position (3,) in m)].
            kp: stiffness, N m/rad or N/m, 0 or more.
            kd: damping, N m s/rad or N s/m, 0 or more.
            gear: ratio of the servo's position to that of the joint.
            delay: time between a control and its first effect, s.
            control_range: least and most rate of the goal, rad/s or m/s.
            force_range: least and most force, N m or N.
            activation_range: least and most goal, rad or m.
        """
        servo = "integrated-velocity servo"
        kp, kd = _gain(kp, "kp", joint, servo), _gain(kd, "kd", joint, servo)
        return cls(
            **_place(joint, gear),
            gain=(kp, 0, 0),
            bias=(0, -kp, -kd),
            dynamics="integrator",
            delay=delay,
            control_range=control_range,
            force_range=force_range,
            activation_range=activation_range,
        )


def _place(joint: str | Points, gear: float) -> dict[str, Any]:
    """The fields of an actuator that tell where it acts."""
    if isinstance(joint, str):
        return {"joints": {joint: gear}}
    if gear != 1:
        raise InputError(
            f"gear of an actuator between points is {gear!r}; expected 1: its length is that of "
            "the path. Scale its gain."
        )
    return {"joints": {}, "points": joint}


def _gain(value: float, name: str, joint: str | Points, kind: str) -> float:
    number = finite(value, f"{name} of the {kind} of joint {joint!r:.60}")
    if number < 0:
        raise InputError(
            f"{name} of the {kind} of joint {joint!r:.60} is {number:g}; expected 0 or more: with "
            "a negative gain it would drive the joint away from its goal."
        )
    return number


def checked_actuator(actuator: Actuator, name: str) -> Actuator:
    """The actuator with plain floats and tuples; InputError names it and the wrong number."""
    if not isinstance(actuator, Actuator):
        raise InputError(
            f"actuator {name!r} is {actuator!r:.60}; expected a record, such as "
            "Actuator.motor(joint) or Actuator.position(joint, kp=100)."
        )
    joints = actuator.joints
    if actuator.points is not None and joints:
        raise InputError(f"actuator {name!r} has joints and points; expected one of them.")
    if not isinstance(joints, Mapping) or not (joints or actuator.points is not None):
        raise InputError(
            f"joints of actuator {name!r} are {joints!r:.60}; expected {{joint: gear}}, such as "
            "{'knee': 1}."
        )
    gears = {
        joint: finite(gear, f"gear of joint {joint!r} in actuator {name!r}")
        for joint, gear in joints.items()
    }
    for joint, gear in gears.items():
        if gear == 0:
            raise InputError(
                f"gear of joint {joint!r} in actuator {name!r} is 0; expected another number, or "
                "leave the joint out."
            )
    if actuator.dynamics not in DYNAMICS:
        raise InputError(
            f"dynamics of actuator {name!r} is {actuator.dynamics!r:.60}; expected one of "
            f"{', '.join(DYNAMICS)}."
        )
    lag = finite(actuator.time_constant, f"time constant of actuator {name!r}")
    if actuator.dynamics in LAGS and lag <= 0:
        raise InputError(
            f"time constant of actuator {name!r} is {lag:g} s; expected more than 0 for dynamics "
            f"{actuator.dynamics!r}."
        )
    if actuator.dynamics not in LAGS and lag != 0:
        raise InputError(
            f"time constant of actuator {name!r} is {lag:g} s, but its dynamics are "
            f"{actuator.dynamics!r}; expected dynamics 'filterexact' or 'filter', or no time "
            "constant."
        )
    delay = finite(actuator.delay, f"delay of actuator {name!r}")
    if delay < 0:
        raise InputError(f"delay of actuator {name!r} is {delay:g} s; expected 0 or more.")
    if actuator.activation_range != UNLIMITED and actuator.dynamics == "none":
        raise InputError(
            f"actuator {name!r} has an activation range but no activation; expected dynamics "
            f"other than 'none': {', '.join(DYNAMICS[1:])}."
        )
    return replace(
        actuator,
        joints=gears,
        gain=_coefficients(actuator.gain, f"gain of actuator {name!r}"),
        bias=_coefficients(actuator.bias, f"bias of actuator {name!r}"),
        time_constant=lag,
        delay=delay,
        early=bool(actuator.early),
        control_range=_range(actuator.control_range, f"control range of actuator {name!r}"),
        force_range=_range(actuator.force_range, f"force range of actuator {name!r}"),
        activation_range=_range(
            actuator.activation_range, f"activation range of actuator {name!r}"
        ),
    )


def _coefficients(values: Coefficients, name: str) -> Coefficients:
    try:
        a, b, c = values
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {values!r:.60}; expected three numbers: a constant, and the factors of "
            "length and speed."
        ) from None
    return finite(a, name), finite(b, name), finite(c, name)


def _range(values: Range, name: str) -> Range:
    try:
        low, high = values
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {values!r:.60}; expected two numbers, the least and the most."
        ) from None
    low, high = finite(low, name, infinite=True), finite(high, name, infinite=True)
    if low > high or low == inf or high == -inf:
        raise InputError(
            f"{name} is ({low:g}, {high:g}), which is empty; expected the least before the most."
        )
    return low, high
