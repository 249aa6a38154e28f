"""Mechanisms with closed loops: slider-crank, four-bar, five-bar, delta, two arms with one object.

All numbers are our own and round. Bars are uniform, with a square section of 0.02 m; the frame of a
bar lies at the joint to its parent, with x along the bar. Planar mechanisms turn about z, with
gravity along -y. Each has a position `near` which the loops close; Newton's method does the rest.
"""

from math import pi

import numpy as np

from kinetree.core.arrays import times
from kinetree.files.description.constraints import Loop
from kinetree.robot import Robot
from kinetree.robot.builder import Builder
from kinetree.spatial import box, pose, rotation

DOWN_Y = (0, -9.81, 0)  # gravity of the planar mechanisms
WIDTH = 0.02  # of the bars, m
Z = np.array([0, 0, 1])


def slider_crank() -> Robot:
    """A crank of 0.2 m (1 kg), a rod of 0.6 m (2 kg) and a slider (3 kg) on the x axis.

    Joints: crank (with the motor), rod, slide. The crank turns about the origin. At q = 0 crank and
    rod are stretched along x; slide counts from there, so that the loop is closed at q = 0.
    """
    builder = Builder("slider-crank", gravity=DOWN_Y).link("base")
    _bar(builder, "crank", 1, 0.2)
    _bar(builder, "rod", 2, 0.6)
    builder.link("slider", 3, (0, 0, 0), box(3, 0.1, 0.1, 0.1))
    builder.joint("crank", "revolute", "base", "crank")
    builder.joint("rod", "revolute", "crank", "rod", at=(0.2, 0, 0))
    builder.joint("slide", "prismatic", "base", "slider", at=(0.8, 0, 0), axis=(1, 0, 0))
    builder.frame("pin", "rod", (0.6, 0, 0)).frame("tip", "slider", tool=True)
    loop, near = Loop("tip", "pin", "axis"), (1.0, -1.3, -0.1)
    return builder.build().constrained({"loop": loop}, actuated=["crank"], near=near)


def four_bar() -> Robot:
    """A four-bar of crank 0.2 m (1 kg), coupler 0.5 m (2.5 kg), rocker 0.4 m (2 kg), base 0.5 m.

    Joints: crank (with the motor), coupler, rocker. The crank turns about the origin, the rocker
    about (0.5, 0, 0); at q = 0 all bars point along x. The crank can turn around.
    """
    builder = Builder("four-bar", gravity=DOWN_Y).link("base")
    _bar(builder, "crank", 1, 0.2)
    _bar(builder, "coupler", 2.5, 0.5)
    _bar(builder, "rocker", 2, 0.4)
    builder.joint("crank", "revolute", "base", "crank")
    builder.joint("coupler", "revolute", "crank", "coupler", at=(0.2, 0, 0))
    builder.joint("rocker", "revolute", "base", "rocker", at=(0.5, 0, 0))
    builder.frame("pin", "coupler", (0.5, 0, 0)).frame("tip", "rocker", (0.4, 0, 0), tool=True)
    loop, near = Loop("tip", "pin", "axis"), (pi / 2, -1.15, 1.7)
    return builder.build().constrained({"loop": loop}, actuated=["crank"], near=near)


def five_bar() -> Robot:
    """A five-bar: two arms of 0.2 m (1 kg) and 0.3 m (1.5 kg), 0.1 m apart, joined at their ends.

    Joints: left and right (with the motors) at (-0.05, 0, 0) and (0.05, 0, 0), left_elbow and
    right_elbow. At q = 0 all bars point along x. The tool is the point at which both arms end.
    """
    builder = Builder("five-bar", gravity=DOWN_Y).link("base")
    for side, x in (("left", -0.05), ("right", 0.05)):
        arm, bar = f"{side}_arm", f"{side}_bar"
        _bar(builder, arm, 1, 0.2)
        _bar(builder, bar, 1.5, 0.3)
        builder.joint(side, "revolute", "base", arm, at=(x, 0, 0))
        builder.joint(f"{side}_elbow", "revolute", arm, bar, at=(0.2, 0, 0))
    builder.frame("pin", "left_bar", (0.3, 0, 0)).frame("tip", "right_bar", (0.3, 0, 0), tool=True)
    loop, near = Loop("tip", "pin", "axis"), (2 * pi / 3, -pi / 3, pi / 3, pi / 3)
    return builder.build().constrained({"loop": loop}, actuated=["left", "right"], near=near)


def delta() -> Robot:
    """A delta robot: three arms of 0.2 m (0.5 kg), three rods of 0.5 m (0.2 kg), a plate of 1 kg.

    The hinges of the arms lie on a circle of 0.1 m at the height 0, the ends of the rods on one of
    0.05 m on the plate. The parallelograms of a delta keep the plate level: here each is one rod,
    and the plate moves along x, y and z only. Joints: arm1 to arm3 (with the motors), horizontal at
    q = 0 and positive downwards; tilt1, swing1 and so on between arm and rod; x, y, z of the plate.
    """
    builder = Builder("delta").link("base")
    loops: dict[str, Loop] = {}
    for k in (1, 2, 3):
        turn = rotation(Z, (k - 1) * 2 * pi / 3)
        arm, knee, rod = f"arm{k}", f"knee{k}", f"rod{k}"
        _bar(builder, arm, 0.5, 0.2)
        builder.link(knee)
        _bar(builder, rod, 0.2, 0.5)
        root = pose(turn, times(turn, np.array([0.1, 0, 0])))
        builder.joint(arm, "revolute", "base", arm, at=root, axis=(0, 1, 0))
        builder.joint(f"tilt{k}", "revolute", arm, knee, at=(0.2, 0, 0), axis=(0, 1, 0))
        builder.joint(f"swing{k}", "revolute", knee, rod)
        builder.frame(f"end{k}", rod, (0.5, 0, 0)).frame(
            f"ball{k}", "plate", times(turn, np.array([0.05, 0, 0]))
        )
        loops[f"loop{k}"] = Loop(f"ball{k}", f"end{k}", "point")
    builder.link("rail_x").link("rail_y").link("plate", 1, (0, 0, 0), box(1, 0.1, 0.1, 0.02))
    builder.joint("x", "prismatic", "base", "rail_x", axis=(1, 0, 0))
    builder.joint("y", "prismatic", "rail_x", "rail_y", axis=(0, 1, 0))
    builder.joint("z", "prismatic", "rail_y", "plate", axis=(0, 0, 1))
    builder.frame("tip", "plate", tool=True)
    near = (*(pi / 4, 1.18, 0) * 3, 0, 0, -0.6)
    return builder.build().constrained(loops, actuated=["arm1", "arm2", "arm3"], near=near)


def two_arms() -> Robot:
    """Two planar arms of three bars, 0.4, 0.3 and 0.1 m, that carry one bar of 0.4 m (2 kg).

    The arms stand at (-0.4, 0, 0) and (0.4, 0, 0); their bars have 2, 1.5 and 0.5 kg. The object is
    fixed to the end of the left arm, and the right arm grasps its other end. Joints: left1 to left3
    and right1 to right3, all with motors: three degrees of freedom and six motors, so that inverse
    dynamics gives the forces with the least sum of squares.
    """
    builder = Builder("two arms", gravity=DOWN_Y).link("base")
    for side, x in (("left", -0.4), ("right", 0.4)):
        parent, end = "base", x
        for k, (m, length) in enumerate(((2, 0.4), (1.5, 0.3), (0.5, 0.1)), 1):
            bar = f"{side}_bar{k}"
            _bar(builder, bar, m, length)
            builder.joint(f"{side}{k}", "revolute", parent, bar, at=(end, 0, 0))
            parent, end = bar, length
    builder.link("object", 2, (0.2, 0, 0), box(2, 0.4, 0.1, 0.1))
    builder.joint("hold", "fixed", "left_bar3", "object", at=(0.1, 0, 0))
    # the right hand points against x where it holds the object
    builder.frame("far_end", "object", pose(rotation(Z, pi), np.array([0.4, 0, 0])))
    builder.frame("right_hand", "right_bar3", (0.1, 0, 0))
    builder.frame("middle", "object", (0.2, 0, 0), tool=True)
    # the object level, 0.4 m above the bases; both elbows outside
    near = (2.08, -1.91, -0.17, 1.06, 1.91, 0.17)
    return builder.build().constrained({"grasp": Loop("far_end", "right_hand", "pose")}, near=near)


def _bar(builder: Builder, name: str, m: float, length: float) -> None:
    """Add a uniform bar along x."""
    builder.link(name, m, (length / 2, 0, 0), box(m, length, WIDTH, WIDTH))
