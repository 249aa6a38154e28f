"""Robots of the table of bits: those that are built in, and trees drawn with whole numbers.

A drawn robot depends on its number alone. Its generator works on integers of 64 bits; its lengths,
masses and angles are quotients of integers, as typed decimals are, and its directions are integers
divided by a square root. Together they have every type of joint, branches, joints that follow
others, armature, rotors, springs, friction and free bases.
"""

import math
from collections.abc import Callable

import numpy as np

from kinetree import robots as built_in
from kinetree.core.arrays import Array
from kinetree.files.description.friction import Friction, Stribeck
from kinetree.files.description.records import Mimic, Rotor, Spring
from kinetree.robot import Robot
from kinetree.robot.builder import Builder
from kinetree.spatial import box, move_body, pose, rpy

WORD = 2**64
# angles that files contain: quarter turns with few and with many digits, and others
ANGLES = (0, 0, 1.5707963267948966, -1.5707963267948966, 1.5708, -1.5708, 1.57, 3.14159, 0.7854)
COORDINATE_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1))
TYPES = ("revolute",) * 6 + ("prismatic", "prismatic", "helical", "spherical", "planar", "fixed")


class Draw:
    """Whole numbers that follow from a seed (SplitMix64), and quotients of them."""

    def __init__(self, seed: int) -> None:
        self.state = seed % WORD

    def bits(self) -> int:
        """Return the next 64 bits as an integer."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % WORD
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % WORD
        return x ^ (x >> 31)

    def below(self, count: int) -> int:
        """Return an integer from 0 to count - 1."""
        return self.bits() % count

    def number(self, largest: int, parts: int) -> float:
        """Return an integer from -largest to largest, divided by `parts`."""
        return (self.below(2 * largest + 1) - largest) / parts

    def positive(self, least: int, largest: int, parts: int) -> float:
        """Return an integer from least to largest, divided by `parts`."""
        return (least + self.below(largest - least + 1)) / parts

    def direction(self, size: int) -> list[float]:
        """Return a direction: integers divided by the root of the sum of their squares."""
        whole = [self.below(19) - 9 for _ in range(size)]
        whole[0] = whole[0] or 5
        length = math.sqrt(sum(x * x for x in whole))
        return [x / length for x in whole]

    def axis(self) -> tuple[float, ...]:
        """Return the direction of a joint: mostly a coordinate axis."""
        if self.below(4):
            return COORDINATE_AXES[self.below(4)]
        return tuple(self.direction(3))

    def angles(self) -> list[float]:
        """Return roll, pitch and yaw as files have them."""
        if self.below(3):
            return [ANGLES[self.below(len(ANGLES))] for _ in range(3)]
        return [self.number(3000, 1000) for _ in range(3)]

    def point(self) -> list[float]:
        """Return a position, m."""
        return [self.number(400, 1000) for _ in range(3)]


def built_in_robots() -> dict[str, Callable[[], Robot]]:
    """Return the functions that make the built-in trees, by name."""
    return {name: getattr(built_in, name) for name in built_in.TREES}


def drawn_robot(number: int) -> Robot:
    """Return a drawn robot."""
    return _tree(Draw(1000 + number), f"drawn_{number:02d}")


def _body(draw: Draw) -> tuple[float, Array, Array]:
    """Return mass, centre and inertia of a box that is turned."""
    m = draw.positive(100, 5000, 1000)
    I = box(m, *(draw.positive(30, 400, 1000) for _ in range(3)))
    turned = pose(rpy(*draw.angles()), np.zeros(3))
    _, _, I = move_body(m, np.zeros(3), I, turned)
    return m, np.array(draw.point()) / 2, I


def _tree(draw: Draw, name: str) -> Robot:
    """Return a tree with joints of all types, built link by link."""
    builder = Builder(name).link("base")
    count = 2 + draw.below(4)
    hinges: list[str] = []
    for k in range(count):
        m, com, I = _body(draw)
        builder.link(f"link{k}", m, com, I)
        parent = "base" if k == 0 else f"link{max(0, k - 1 - draw.below(3))}"
        kind = "free" if k == 0 and draw.below(5) == 0 else TYPES[draw.below(len(TYPES))]
        if k == count - 1 and not hinges:
            kind = "revolute"
        hinges += _join(draw, builder, k, parent, kind, hinges)
    tool = pose(rpy(*draw.angles()), np.array(draw.point()))
    return builder.frame("tip", f"link{count - 1}", tool, tool=True).build()


def _join(
    draw: Draw, builder: Builder, k: int, parent: str, kind: str, hinges: list[str]
) -> list[str]:
    """Add joint k; return its name if others may follow it."""
    name = f"joint{k}"
    at = pose(rpy(*draw.angles()), np.array(draw.point()))
    plain = kind in ("revolute", "prismatic")
    follows = kind == "revolute" and bool(hinges) and draw.below(6) == 0
    mimic = Mimic(hinges[-1], draw.number(1500, 1000), 0.1) if follows else None
    friction, rotor, spring, armature = Friction(), None, None, 0.0
    if kind != "fixed" and draw.below(3) == 0:
        armature = draw.positive(1, 500, 1000)
    if plain and draw.below(3) == 0:
        viscous, coulomb = draw.positive(1, 900, 1000), draw.positive(1, 900, 1000)
        bend = Stribeck(2 * coulomb, 0.05) if draw.below(2) else None
        friction = Friction((viscous, 0.3), coulomb, stribeck=bend)
    if kind == "revolute" and not follows and draw.below(4) == 0:
        axis = draw.direction(3) if draw.below(2) else None
        rotor = Rotor(draw.positive(1, 99, 100_000), 20 + draw.below(100), axis)
    if plain and not follows and draw.below(4) == 0:
        spring = Spring(draw.positive(1, 90, 1), draw.number(500, 1000))
    screws = kind in ("revolute", "prismatic", "helical")
    builder.joint(
        name,
        kind,  # type: ignore[arg-type]
        parent,
        f"link{k}",
        at=at,
        axis=draw.axis() if screws else (0, 0, 1),
        point=draw.point() if kind == "helical" else (0, 0, 0),
        pitch=0.02 if kind == "helical" else 0,
        offset=0.3 if kind == "revolute" and not follows and draw.below(4) == 0 else 0,
        armature=0.0 if kind in ("free", "planar") else armature,
        friction=friction,
        rotor=rotor,
        spring=spring,
        mimic=mimic,
    )
    return [name] if kind == "revolute" and not follows else []
