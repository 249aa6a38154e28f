"""Robots on a free base: a quadruped of our own design, and a humanoid with published masses."""

from dataclasses import dataclass
from math import radians
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.records import Limits
from kinetree.robot import Robot
from kinetree.robot.builder import Builder
from kinetree.spatial import box

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
SIDES = {"left": 1, "right": -1}  # sign of y
MOTOR = 0.005  # armature of the quadruped's joints, kg m^2


def quadruped() -> Robot:
    """A walking machine of 12 kg with three joints per leg on a free base; our own design.

    A generic robot of the size class of today's small quadrupeds (trunk 0.4 m, thigh and shank
    0.2 m each), solid boxes for all links; x forward, y left, z up. At q = neutral the legs are
    straight down. Every foot has a frame; the tool is the front left one.
    """
    builder = Builder("quadruped").link("world")
    builder.link("trunk", 5.2, (0, 0, 0), box(5.2, 0.4, 0.2, 0.11))
    builder.joint("base", "free", "world", "trunk")
    for end, x in (("front", 0.19), ("rear", -0.19)):
        for side, y in SIDES.items():
            _quadruped_leg(builder, f"{end}_{side}", x, y)
    builder.frame("imu", "trunk", (0, 0, 0.03))
    return builder.build()


def _quadruped_leg(builder: Builder, leg: str, x: float, y: int) -> None:
    builder.link(f"{leg}_hip", 0.6, (0, 0.01 * y, 0), box(0.6, 0.08, 0.06, 0.08))
    builder.link(f"{leg}_thigh", 0.95, (0, -0.01 * y, -0.05), box(0.95, 0.05, 0.06, 0.22))
    builder.link(f"{leg}_shank", 0.2, (0, 0, -0.11), box(0.2, 0.03, 0.02, 0.22))
    hip, thigh, shank = f"{leg}_hip", f"{leg}_thigh", f"{leg}_shank"
    joints = {
        "abduction": ("trunk", hip, (x, 0.05 * y, 0), X, Limits(-0.8, 0.8, 20, 25)),
        "swing": (hip, thigh, (0, 0.085 * y, 0), Y, Limits(-1.2, 3.0, 20, 25)),
        "knee": (thigh, shank, (0, 0, -0.2), Y, Limits(-2.7, 0, 20, 35)),
    }
    for name, (parent, child, at, axis, limits) in joints.items():
        more: dict[str, Any] = {"at": at, "axis": axis, "limits": limits, "armature": MOTOR}
        builder.joint(f"{leg}_{name}", "revolute", parent, child, **more)
    builder.frame(f"{leg}_foot", f"{leg}_shank", (0, 0, -0.2), tool=leg == "front_left")


@dataclass(frozen=True)
class Segment:
    """A row of de Leva's table: percent of the body's mass, length in m, place of the centre.

    `centre` is in percent of the length from the upper end (the heel of the foot), `radii` of
    gyration about the sagittal (forward), transverse (sideward) and long axis in percent too.
    """

    mass: float
    length: float
    centre: float
    radii: tuple[float, float, float]

    def body(self, top: float) -> tuple[float, Array, Array]:
        """Mass, centre and inertia of an upright segment whose upper end is `top` above {i}."""
        m = self.mass / 100 * BODY_MASS
        centre = np.array([0, 0, top - self.centre / 100 * self.length])
        gyration = [r / 100 * self.length for r in self.radii]
        return m, centre, np.diag([m * (x * x) for x in gyration])


BODY_MASS = 73.0
HEAD = Segment(6.94, 0.2429, 50.02, (30.3, 31.5, 26.1))  # vertex to cervicale
CHEST = Segment(15.96, 0.2421, 50.66, (50.5, 32.0, 46.5))  # cervicale to xiphion
WAIST = Segment(16.33, 0.2155, 45.02, (48.2, 38.3, 46.8))  # xiphion to navel
PELVIS = Segment(11.17, 0.1457, 61.15, (61.5, 55.1, 58.7))  # navel to mid-hip
UPPER_ARM = Segment(2.71, 0.2817, 57.72, (28.5, 26.9, 15.8))
FOREARM = Segment(1.62, 0.2689, 45.74, (27.6, 26.5, 12.1))
HAND = Segment(0.61, 0.0862, 79.00, (62.8, 51.3, 40.1))  # wrist to third knuckle
THIGH = Segment(14.16, 0.4222, 40.95, (32.9, 32.9, 14.9))
SHANK = Segment(4.33, 0.4403, 43.95, (25.1, 24.6, 10.2))  # knee to ankle
FOOT = Segment(1.37, 0.2581, 44.15, (25.7, 24.5, 12.4))  # heel to tip of the toes
SHOULDER_HEIGHT = 0.5155 - PELVIS.length - WAIST.length  # above the xiphion
SHOULDER, HIP = 0.17, 0.085  # half widths, ours
HEEL, SOLE = -0.06, -0.07  # of the foot in the ankle's frame, ours


def humanoid() -> Robot:
    """A man of 73 kg and 1.74 m with 28 hinges on a free base; x forward, y left, z up.

    Masses, lengths, centres and radii of gyration: the male column of de Leva, "Adjustments to
    Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomechanics 29 (1996), table 4. The
    widths of hips and shoulders, the place of the ankle on the foot and the joint ranges are not
    in the table: they are APPROXIMATE and ours. Where two or three hinges meet, the links
    between them are massless. At neutral he stands with arms hanging, palms forward; lengths that
    are measured along each segment add up to 1.78 m from sole to vertex.
    """
    builder = Builder("humanoid").link("world")
    builder.link("pelvis", *PELVIS.body(PELVIS.length))
    builder.joint("base", "free", "world", "pelvis")
    builder.link("waist", *WAIST.body(WAIST.length))
    builder.link("chest", *CHEST.body(CHEST.length))
    builder.link("head", *HEAD.body(HEAD.length))
    navel, xiphion = (0, 0, PELVIS.length), (0, 0, WAIST.length)
    _hinges(builder, "pelvis", "waist", navel, waist_tilt=(X, -30, 30), waist_bend=(Y, -25, 60))
    _hinges(builder, "waist", "chest", xiphion, chest_turn=(Z, -45, 45))
    neck = {"neck_turn": (Z, -80, 80), "neck_tilt": (X, -40, 40), "neck_nod": (Y, -60, 50)}
    _hinges(builder, "chest", "head", (0, 0, CHEST.length), **neck)
    builder.frame("eyes", "head", (0.09, 0, HEAD.length / 2))
    for side, y in SIDES.items():
        _arm(builder, side, y)
        _leg(builder, side, y)
    return builder.build()


def _arm(builder: Builder, side: str, y: int) -> None:
    upper, fore, hand = f"{side}_upper_arm", f"{side}_forearm", f"{side}_hand"
    builder.link(upper, *UPPER_ARM.body(0)).link(fore, *FOREARM.body(0)).link(hand, *HAND.body(0))
    shoulder = {
        f"{side}_shoulder_swing": (Y, -180, 60),
        f"{side}_shoulder_lift": (X, *_outward(y, 20, 170)),
        f"{side}_shoulder_turn": (Z, -90, 90),
    }
    _hinges(builder, "chest", upper, (0, SHOULDER * y, SHOULDER_HEIGHT), **shoulder)
    _hinges(builder, upper, fore, (0, 0, -UPPER_ARM.length), **{f"{side}_elbow": (Y, -145, 0)})
    _hinges(builder, fore, hand, (0, 0, -FOREARM.length), **{f"{side}_wrist": (Y, -80, 70)})
    builder.frame(f"{side}_knuckle", hand, (0, 0, -HAND.length), tool=side == "right")


def _leg(builder: Builder, side: str, y: int) -> None:
    thigh, shank, foot = f"{side}_thigh", f"{side}_shank", f"{side}_foot"
    m, centre, I = FOOT.body(0)  # lies along x: what was long is now forward, what was forward up
    centre = np.array([HEEL - centre[2], 0, SOLE / 2])
    builder.link(thigh, *THIGH.body(0)).link(shank, *SHANK.body(0))
    builder.link(foot, m, centre, np.diag(np.diag(I)[[2, 1, 0]]))
    hip = {
        f"{side}_hip_turn": (Z, -45, 45),
        f"{side}_hip_lift": (X, *_outward(y, 25, 45)),
        f"{side}_hip_swing": (Y, -120, 20),
    }
    ankle = {f"{side}_ankle_swing": (Y, -20, 45), f"{side}_ankle_tilt": (X, -30, 30)}
    _hinges(builder, "pelvis", thigh, (0, HIP * y, 0), **hip)
    _hinges(builder, thigh, shank, (0, 0, -THIGH.length), **{f"{side}_knee": (Y, 0, 140)})
    _hinges(builder, shank, foot, (0, 0, -SHANK.length), **ankle)
    builder.frame(f"{side}_sole", foot, (0, 0, SOLE))


def _outward(y: int, inward: float, outward: float) -> tuple[float, float]:
    """Range about x that lifts a limb outward; on the left that is the positive sense."""
    return (-inward, outward) if y > 0 else (-outward, inward)


def _hinges(
    builder: Builder,
    parent: str,
    child: str,
    at: tuple[float, float, float],
    **hinges: tuple[tuple[int, int, int], float, float],
) -> None:
    """Hinges in one point, with massless links between them; ranges in degrees."""
    for k, (name, (axis, low, high)) in enumerate(hinges.items(), start=1):
        last = k == len(hinges)
        if not last:
            builder.link(f"{name}_link")
        limits = Limits(radians(low), radians(high))
        nearer = child if last else f"{name}_link"
        builder.joint(name, "revolute", parent, nearer, at=at, axis=axis, limits=limits)
        parent, at = nearer, (0, 0, 0)
