"""Drive: the motor and gear of a joint: how much force it gives, how soon, and at what loss.

A motor turns a voltage into a torque. The faster it turns, the more of the voltage is spent against
the one that it induces itself (the back-EMF), so the torque that it can give in the direction of
motion falls with the speed, to zero at the speed without load. A brake needs no such voltage: the
induced voltage helps it. A torque-speed curve therefore limits the force in the direction of
motion, and the force against the motion is limited by the current alone, which is the limit at
standstill.

The inertia of the motor and the ratio of its gear belong to the dynamics; `Rotor` and the armature
of a joint describe them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core import records
from kinetree.core.options import finite, numbers
from kinetree.core.text import number
from kinetree.errors import InputError

Curve = Sequence[tuple[float, float]]  # (speed, force) pairs


@dataclass(frozen=True)
class Drive:
    """The drive of a joint: limits of its force, and the delay and loss on the way to the joint.

    All numbers are seen at the joint, behind the gear: its speed in rad/s (or m/s) and its force in
    N m (or N).

    Args:
        curve: torque-speed curve, pairs (speed in rad/s or m/s, force in N m or N), linear between
            them: speeds from 0 upward, forces that never increase. It limits the force in the
            direction of motion, which is 0 beyond the last speed; the force against the motion is
            limited by the force at standstill. None: no curve.
        peak: most force at any speed and in both directions, N m or N; None: no such limit.
        efficiency: power at the joint over power of the motor while the motor drives the joint,
            and the reverse while the load drives the motor; dimensionless, above 0, at most 1.
            `kt.motion.motor_forces` and checks of limits have it; dynamics refuse one below 1.
        lag: time constant of the first-order lag between a command and the force, s.
        delay: time between a command and its first effect, s: a whole number of time steps of a
            simulation.
    """

    curve: Curve | None = None
    peak: float | None = None
    efficiency: float = records.number("dimensionless, at most 1", "above 0", default=1)
    lag: float = records.number("s", "at least 0", default=0)
    delay: float = records.number("s", "at least 0", default=0)


def checked_drive(drive: Drive, joint: str) -> Drive:
    """The drive with plain floats and tuples; InputError names the joint and the wrong number."""
    what = f"drive of joint {joint!r}"
    drive, peak = records.checked(drive, Drive, what), drive.peak
    if drive.efficiency > 1:
        text = f"efficiency of the {what} is {drive.efficiency:g}; expected at most 1: the part of"
        raise InputError(f"{text} the motor's power that reaches the joint.")
    if peak is not None:
        peak = finite(peak, f"peak of the {what}", infinite=True)
        if peak <= 0:
            raise InputError(f"peak of the {what} is {peak:g}; expected above 0, N m or N.")
    curve = None if drive.curve is None else _checked_curve(drive.curve, joint)
    return replace(drive, curve=curve, peak=peak)


def _checked_curve(curve: Curve, joint: str) -> Curve:
    """The torque-speed curve in plain numbers: a motor gives no more force when it turns faster."""
    what = f"torque-speed curve of joint {joint!r}"
    shape = "pairs (speed, force), two or more, such as ((0, 80), (3, 80), (6, 0))"
    points = numbers(curve, what, shape)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2 or not np.isfinite(points).all():
        raise InputError(f"{what} is {curve!r:.60}; expected {shape}.")
    speeds, forces = points.T
    if speeds[0] != 0 or np.any(np.diff(speeds) <= 0):
        text = f"speeds that begin at 0 and increase, found {speeds.tolist()}"
        raise InputError(f"{what}: expected {text}. They are magnitudes, of both directions.")
    if forces[0] == 0 or forces[-1] < 0 or np.any(np.diff(forces) > 0):
        text = f"forces above 0 at standstill that never increase, found {forces.tolist()}"
        raise InputError(f"{what}: expected {text}. Limit a rising part by its smaller force.")
    return tuple((speed, force) for speed, force in points.tolist())


def drive_parts(drive: Drive, angle: float = 1) -> dict[str, str]:
    """The numbers of a drive that differ from those of an ideal one, as text by name.

    Args:
        drive: the drive.
        angle: factor of the speeds, for degrees.
    """
    parts: dict[str, str] = {}
    if drive.curve is not None:
        points = (f"{number(force, 5)} at {number(v * angle, 5)}" for v, force in drive.curve)
        parts["curve"] = ", ".join(points)
    if drive.peak is not None:
        parts["peak"] = number(drive.peak, 5)
    if drive.efficiency != 1:
        parts["efficiency"] = number(drive.efficiency, 5)
    parts |= {key: f"{number(x, 5)} s" for key in ("lag", "delay") if (x := getattr(drive, key))}
    return parts
