"""A hand of five fingers whose last joints follow the ones before them."""

from math import radians
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import Limits, Mimic
from kinetree.robot import Robot
from kinetree.robot.builder import Builder
from kinetree.spatial import box, pose, rotation

# place of the first joint on the palm, spread about x in deg, lengths of the three bones, m
FINGERS = {
    "index": ((0, 0.027, 0.095), -4, (0.045, 0.026, 0.022)),
    "middle": ((0, 0.004, 0.1), 0, (0.05, 0.03, 0.024)),
    "ring": ((0, -0.019, 0.095), 4, (0.046, 0.028, 0.023)),
    "little": ((0, -0.041, 0.085), 8, (0.037, 0.021, 0.02)),
}
THUMB_AT, THUMB_TURN, THUMB_TILT = (0.012, 0.03, 0.025), -40, -45  # deg about z, then about x
THUMB = (0.045, 0.034, 0.027)
DENSITY = 1600.0  # kg/m^3: aluminium bones, gears and plastic covers
WIDTH = 0.015  # of the bones, m
COUPLING = 2 / 3  # the last joint bends by two thirds of the one before, as in a human finger
DRIVE: dict[str, Any] = {"armature": 2e-6, "friction": Friction(viscous=1e-4)}


def hand() -> Robot:
    """A right hand with 20 joints, 15 of them driven; our own design, of the size of a man's.

    The palm is the base: fingers along z, the palm faces x, the thumb is on the side of y. Each
    finger has a spread, a bend at the knuckle and a bend in the middle; its last joint follows
    the middle one at 2/3. The thumb has two joints at its root and one in the middle, which its
    last joint follows one to one. Every finger has a frame "..._tip"; the tool is the index's.
    """
    builder = Builder("hand").link("palm", 0.25, (0, 0, 0.05), box(0.25, 0.03, 0.09, 0.1))
    for finger, (at, spread, bones) in FINGERS.items():
        turn = rotation(np.array([1, 0, 0]), radians(spread))
        _finger(builder, finger, pose(turn, np.array(at)), bones, (-15, 15), COUPLING)
    turn = rotation(np.array([0, 0, 1]), radians(THUMB_TURN))
    tilt = rotation(np.array([1, 0, 0]), radians(THUMB_TILT))
    _finger(builder, "thumb", pose(times(turn, tilt), np.array(THUMB_AT)), THUMB, (-30, 40), 1)
    return builder.build()


def _finger(
    builder: Builder,
    name: str,
    at: Array,
    bones: tuple[float, float, float],
    spread: tuple[float, float],
    coupling: float,
) -> None:
    """A root that spreads about x, and three bones that bend about y."""
    root, *parts = (f"{name}_{part}" for part in ("root", "near", "middle", "far"))
    builder.link(root, *_bone(0.01))
    low, high = map(radians, spread)
    spreads: dict[str, Any] = {"axis": (1, 0, 0), "limits": Limits(low, high, 6, 0.5), **DRIVE}
    builder.joint(f"{name}_spread", "revolute", "palm", root, at=at, **spreads)
    above, parent, height = f"{name}_bend", root, 0.01
    for joint, link, length in zip(("knuckle", "bend", "tip_bend"), parts, bones, strict=True):
        bends: dict[str, Any] = {"axis": (0, 1, 0), "at": (0, 0, height), **DRIVE}
        if joint == "tip_bend":
            bends["mimic"] = Mimic(above, coupling)
        else:
            bends["limits"] = Limits(0, radians(95), 6, 0.5)
        builder.link(link, *_bone(length))
        builder.joint(f"{name}_{joint}", "revolute", parent, link, **bends)
        parent, height = link, length
    builder.frame(f"{name}_tip", parent, (0, 0, height), tool=name == "index")


def _bone(length: float) -> tuple[float, tuple[float, float, float], Array]:
    m = DENSITY * WIDTH * WIDTH * length
    return m, (0, 0, length / 2), box(m, WIDTH, WIDTH, length)
