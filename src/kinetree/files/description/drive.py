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

from kinetree.core.options import finite
from kinetree.core.text import counted, number
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
    efficiency: float = 1
    lag: float = 0
    delay: float = 0


def checked_drive(drive: Drive, joint: str) -> Drive:
    """The drive with plain floats and tuples; InputError names the joint and the wrong number."""
    if not isinstance(drive, Drive):
        raise InputError(
            f"drive of joint {joint!r} is {drive!r:.60}; expected a record Drive(...)."
        )
    peak = drive.peak
    if peak is not None:
        peak = finite(peak, f"peak force of the drive of joint {joint!r}", infinite=True)
        if peak <= 0:
            raise InputError(
                f"peak force of the drive of joint {joint!r} is {peak:g}; expected a force above 0 "
                "(N m or N), which limits both directions."
            )
    efficiency = finite(drive.efficiency, f"efficiency of the drive of joint {joint!r}")
    if not 0 < efficiency <= 1:
        raise InputError(
            f"efficiency of the drive of joint {joint!r} is {efficiency:g}; expected a number "
            "above 0 and at most 1: the part of the motor's power that reaches the joint."
        )
    times: dict[str, float] = {}
    for name in ("lag", "delay"):
        times[name] = finite(getattr(drive, name), f"{name} of the drive of joint {joint!r}")
        if times[name] < 0:
            raise InputError(
                f"{name} of the drive of joint {joint!r} is {times[name]:g} s; expected 0 or more."
            )
    curve = None if drive.curve is None else _checked_curve(drive.curve, joint)
    return replace(drive, curve=curve, peak=peak, efficiency=efficiency, **times)


def _checked_curve(curve: Curve, joint: str) -> Curve:
    what = f"torque-speed curve of joint {joint!r}"
    shape = "expected pairs (speed, force), such as ((0, 80), (3, 80), (6, 0))"
    try:
        points = [tuple(point) for point in curve]
    except TypeError:
        raise InputError(f"{what} is {curve!r:.60}; {shape}.") from None
    if len(points) < 2:
        raise InputError(f"{what} has {counted(len(points), 'point')}; {shape}, two or more.")
    for k, point in enumerate(points):
        if len(point) != 2:
            raise InputError(f"{what} has {point!r:.60} as point {k + 1}; {shape}.")
    pairs = tuple(
        (
            finite(speed, f"speed {k + 1} of the {what}"),
            finite(force, f"force {k + 1} of the {what}"),
        )
        for k, (speed, force) in enumerate(points)
    )
    if pairs[0][0] != 0:
        raise InputError(
            f"{what} begins at the speed {pairs[0][0]:g}; expected 0, the force at standstill. "
            "Speeds are magnitudes: the curve counts in both directions."
        )
    for k, (speed, force) in enumerate(pairs):
        if force < 0:
            raise InputError(
                f"{what} has the force {force:g} at the speed {speed:g}; expected 0 or more: the "
                "most force that the drive gives in the direction of motion."
            )
        if k and speed <= pairs[k - 1][0]:
            raise InputError(
                f"{what} has the speed {speed:g} after {pairs[k - 1][0]:g}; expected speeds that "
                "increase from point to point."
            )
        if k and force > pairs[k - 1][1]:
            raise InputError(
                f"{what} rises from {pairs[k - 1][1]:g} to {force:g} at the speed {speed:g}; "
                "expected forces that never increase with the speed: a motor cannot give more "
                "force when it turns faster. Limit a rising part by its smaller force."
            )
    if pairs[0][1] == 0:
        raise InputError(
            f"{what} has no force at standstill; expected a force above 0 (N m or N) at speed 0."
        )
    return pairs


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
