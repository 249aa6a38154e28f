"""Drawings of the worked exercises: a dumbbell, a rotating pendulum, a joint with a gear."""

from math import cos, sin

import numpy as np

from extension.drawings import drawing
from extension.sketch import Sketch, above, plane


def circle(centre: tuple[float, float], radius: float) -> list[tuple[float, float, float]]:
    """Points of a circle in the plane of the picture."""
    turn = np.linspace(0, 2 * np.pi, 49)[:-1]
    return [(centre[0] + radius * cos(a), centre[1] + radius * sin(a), 0.0) for a in turn]


@drawing
def dumbbell() -> str:
    """Two spheres on a rod, lying, with its lengths and the frames {b} and {a}."""
    sketch = Sketch(plane("xy"))
    sketch.line([(-0.2, -0.02, 0), (0.2, -0.02, 0), (0.2, 0.02, 0), (-0.2, 0.02, 0)], "fill",
                closed=True)  # fmt: skip
    for x in (-0.2, 0.2):
        sketch.line(circle((x, 0), 0.1), "fill", closed=True)
    sketch.dimension((-0.1, -0.02, 0), (0.1, -0.02, 0), "20 cm", (0, -0.13, 0))
    sketch.dimension((-0.3, 0, 0), (-0.1, 0, 0), "20 cm", (0, 0.15, 0))
    body = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])  # z along the rod
    sketch.frame(body, 0.1, "{b}", axes="xz")
    other = body.copy()
    other[:3, 3] = body[:3, 0] * 0.3
    sketch.frame(other, 0.1, "{a}", axes="xz")
    return sketch.svg("a dumbbell of two spheres and a rod", height=300)


@drawing
def point_masses() -> str:
    """Two point masses on massless rods, with lengths and angles."""
    sketch = Sketch(plane("xy"))
    first = np.array([cos(0.45), sin(0.45), 0.0])
    second = first + 0.8 * np.array([cos(1.15), sin(1.15), 0.0])
    sketch.line([(0, 0, 0), (0.55, 0, 0)], "dash")
    sketch.line([first, 1.5 * first], "dash")
    sketch.line([(0, 0, 0), first, second], "ink")
    sketch.ring((0, 0, 0))
    sketch.com(first, "m_1")
    sketch.com(second, "m_2")
    sketch.turn((0, 0, 0), (0, 0, 1), 0.4, "accent", "theta_1", start=0, sweep=np.degrees(0.45))
    sketch.turn(first, (0, 0, 1), 0.35, "accent", "theta_2", start=0, sweep=np.degrees(0.7),
                first=first)  # fmt: skip
    sketch.label(first / 2, "L_1", "soft", (-0.5, 0.9))
    sketch.label((first + second) / 2, "L_2", "soft", (-0.9, 0.4))
    sketch.arrow((1.75, 0.9, 0), (1.75, 0.5, 0), "warm", "g")
    return sketch.svg("two point masses on two rods", height=300)


@drawing
def rotating_pendulum() -> str:
    """An arm that turns about the vertical, with a pendulum across its end."""
    sketch = Sketch(above(-60.0, 22.0))
    turn, swing = np.pi / 4, np.pi / 4
    arm = np.array([cos(turn), sin(turn), 0.0])
    across = np.array([-sin(turn), cos(turn), 0.0])
    up = np.array([0, 0, 1.0])
    mass = arm - sin(swing) * across + cos(swing) * up
    sketch.ground((0, 0, -0.5), (1, 0, 0), 0.7, (-0.06, 0, -0.09))
    sketch.line([(0, 0, -0.5), (0, 0, 0)], "ground")
    sketch.link((0, 0, 0), arm)
    sketch.link(arm, mass)
    sketch.ring((0, 0, 0))
    sketch.ring(arm)
    sketch.com(arm, "2 kg")
    sketch.com(mass, "2 kg")
    sketch.line([(0, 0, 0), (0, 0, 0.75)], "dash")
    sketch.turn((0, 0, 0.4), up, 0.16, "accent", "q_1")
    sketch.line([arm, arm + 0.75 * up], "dash")
    sketch.turn(arm, arm, 0.5, "accent", "q_2", start=0, sweep=45, first=up)
    sketch.arrow(mass, mass - 0.45 * up, "warm", "m g")
    sketch.frame(np.eye(4), 0.3, "{s}")
    return sketch.svg("a rotating pendulum", height=380)


@drawing
def geared_joint() -> str:
    """A rotor, a pair of gears and a link: the rotor turns r times as fast as the joint."""
    sketch = Sketch(plane("xy"))
    sketch.ground((0, -0.34, 0), (1, 0, 0), 1.9, (-0.05, -0.08, 0))
    sketch.line(circle((-0.62, 0), 0.14), "fill", closed=True)
    sketch.line(circle((0, 0), 0.3), "fill", closed=True)
    sketch.line(circle((-0.385, 0), 0.085), "fill", closed=True)
    sketch.line([(-0.62, 0, 0), (-0.385, 0, 0)], "ink")
    sketch.link((0, 0, 0), (1.0, 0.2, 0))
    sketch.ring((0, 0, 0))
    sketch.com((0.55, 0.11, 0), "m, I")
    sketch.label((-0.62, 0, 0), "rotor, I_m", "mass", (-0.2, 1.0), 34.0)
    sketch.turn((-0.385, 0, 0), (0, 0, -1), 0.15, "warm", "r dq", start=-150, sweep=120)
    sketch.turn((0, 0, 0), (0, 0, 1), 0.42, "accent", "dq", start=25, sweep=60)
    return sketch.svg("a rotor that drives a link through a gear", height=280)
