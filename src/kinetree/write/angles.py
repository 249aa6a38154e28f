"""Roll, pitch and yaw of a rotation, without loss of digits anywhere."""

from math import atan2, cos, hypot, sin

from kinetree.base.arrays import Array


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll), pitch from -pi/2 to pi/2.

    Near a pitch of +-90 degrees the yaw is ill-defined, but any yaw will do: pitch and roll are
    taken from what remains of R once the yaw is undone, so that the three together give R to
    rounding. A quarter turn gives quarters of a turn.
    """
    flat = hypot(R[0, 0], R[1, 0]) < 1e-15  # nothing but rounding is left of the yaw
    yaw = 0.0 if flat else atan2(R[1, 0], R[0, 0])
    s, c = (0.0, 1.0) if flat else _sine_cosine(yaw)
    pitch = atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _sine_cosine(angle: float) -> tuple[float, float]:
    """Exact at quarter turns, where sin and cos leave 6e-17."""
    s, c = sin(angle), cos(angle)
    return (s, 0.0) if abs(c) < 1e-16 else (0.0, c) if abs(s) < 2e-16 else (s, c)
