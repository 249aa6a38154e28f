"""Exercises of the course: motions of its robots, and the joint forces that it prints."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.robot import Robot
from kinetree.robots.classics import planar_2r, rp, spatial_3r

DEG = np.pi / 180
SLIDE = 0.6  # m: the course counts the slide of its RP robot from there


@dataclass(frozen=True)
class Exercise:
    """A motion of a robot, and the printed joint forces without and with gravity, N m or N.

    Case 2.1 of the course has no printed forces.
    """

    name: str
    make: Callable[[], Robot]
    q: tuple[float, ...]
    dq: tuple[float, ...]
    ddq: tuple[float, ...]
    no_gravity: str = ""
    gravity: str = ""


MOTIONS = (
    ("2.1  2R", planar_2r, (20 * DEG, 40 * DEG), (0.2, 0.15), (0.1, 0.085)),
    ("2.2  2R", planar_2r, (90 * DEG, 45 * DEG), (-0.8, 0.35), (-0.4, 0.1)),
    ("3.1  RP", rp, (20 * DEG, 0.2 - SLIDE), (0.08, 0.03), (0.1, 0.01)),
    ("3.2  RP", rp, (120 * DEG, 0.6 - SLIDE), (-0.4, -0.08), (-0.1, -0.01)),
    ("4.1  3R", spatial_3r, (20 * DEG, 40 * DEG, 10 * DEG), (0.2, 0.15, -0.2), (0.1, 0.085, 0)),
)
PRINTED = {
    "2.2  2R": ("-12.3727 0.2878", "-65.0917 -52.4313"),
    "3.1  RP": ("4.0374 -0.0245", "217.9039 20.1068"),
    "3.2  RP": ("-4.1276 -2.5560", "-129.6956 48.4183"),
    "4.1  3R": ("5.1128 1.3712 0.1532", "5.1128 104.1829 6.7743"),
}
EXERCISES = tuple(Exercise(*x, *PRINTED.get(x[0], ())) for x in MOTIONS)
