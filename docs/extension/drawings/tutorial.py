"""Drawings of the tutorial: velocities along an arm, stacked matrices, Euler's steps, ellipses."""

from math import cos, radians, sin

import numpy as np

import kinetree as kt
from extension.drawings import drawing
from extension.sketch import Sketch, plane


def arm_points(q: tuple[float, float]) -> list[np.ndarray]:
    """Both joints and the tip of the planar arm, m."""
    arm = kt.robots.planar_2r()
    return [*(T[:3, 3] for T in arm.link_poses(np.array(q))), arm.pose(np.array(q))[:3, 3]]


def draw_arm(sketch: Sketch, points: list[np.ndarray], shift: np.ndarray) -> None:
    """Links and joints of the planar arm, moved by a shift."""
    for a, b in zip(points, points[1:], strict=False):
        sketch.link(a + shift, b + shift)
    for p in points[:-1]:
        sketch.ring(p + shift)


@drawing
def velocities(height: float = 340.0) -> str:
    """Velocities of the elbow and the tip of the planar arm, and the parts of the latter."""
    points = arm_points((radians(20), radians(40)))
    sketch = Sketch(plane("xy"))
    draw_arm(sketch, points, np.zeros(3))
    z, dq, scale = np.array([0, 0, 1.0]), (0.2, 0.15), 1.5  # m in the picture per m/s
    elbow, tip = points[1], points[2]
    v_elbow = dq[0] * np.cross(z, elbow)
    own = dq[1] * np.cross(z, tip - elbow)
    carried = dq[0] * np.cross(z, tip)
    sketch.arrow(elbow, elbow + scale * v_elbow, "accent", "velocity of joint 2")
    sketch.arrow(tip, tip + scale * carried, "soft", "by joint 1")
    sketch.line([tip + scale * carried, tip + scale * (carried + own)], "dash")
    sketch.arrow(tip, tip + scale * (carried + own), "warm", "velocity of the tip")
    sketch.turn(points[0], z, 0.16, "accent", "dq_1", start=-30, sweep=110)
    sketch.turn(elbow, z, 0.16, "accent", "dq_2", start=-10, sweep=100)
    sketch.frame(np.eye(4), 0.3, "{s}", axes="xy")
    return sketch.svg("planar arm with the velocities of its elbow and its tip", height=height)


@drawing
def stacked(height: float = 200.0) -> str:
    """Blocks of A, W and L for three links in a row."""
    sketch = Sketch(plane("xy"))
    filled = {
        "A": {(i, i): f"A_{i + 1}" for i in range(3)},
        "W": {(1, 0): "Ad_{21}", (2, 1): "Ad_{32}"},
        "L": {(i, i): "1" for i in range(3)}
        | {(1, 0): "Ad_{21}", (2, 1): "Ad_{32}", (2, 0): "Ad_{31}"},
    }
    left = 0.0
    for name, blocks in filled.items():
        wide = 0.55 if name == "A" else 1.0  # A has one column per joint, the others six
        sketch.label((left - 0.12, -1.5, 0), f"{name} =", "ink", (-1.0, 0.0), 2.0)
        for i in range(3):
            for j in range(3):
                x, y = left + wide * j, -float(i)
                corners = [(x, y, 0), (x + wide, y, 0), (x + wide, y - 1, 0), (x, y - 1, 0)]
                sketch.line(corners, "fill" if (i, j) in blocks else "thin", closed=True)
                if (i, j) in blocks:
                    sketch.label((x + wide / 2, y - 0.5, 0), blocks[i, j], "accent", (0, 0), 0.0)
        left += 3 * wide + 1.15
    return sketch.svg("blocks of the stacked matrices A, W and L", 640.0, height=height)


@drawing
def euler_steps(height: float = 320.0) -> str:
    """A curved solution, and Euler's method with a step and with half the step."""
    sketch = Sketch(plane("xy"))
    end, rate = 2.0, 1.0  # dx/dt = -rate y, dy/dt = rate x: a circle
    angles = np.linspace(0, end * rate, 60)
    sketch.line([(cos(a), sin(a), 0) for a in angles], "accent")
    sketch.label((cos(1.0), sin(1.0), 0), "solution", "accent", (-0.8, -0.7))
    for steps, kind, words in ((4, "warm", "step h"), (8, "good", "step h/2")):
        dt = end / steps
        points = [np.array([1.0, 0, 0])]
        for _ in range(steps):
            x, y, _ = points[-1]
            points.append(points[-1] + dt * rate * np.array([-y, x, 0]))
        sketch.line(points, kind)
        for p in points:
            sketch.dot(p, kind, size=3.0)
        sketch.label(points[steps // 2], words, kind, (0.8, 0.7))
    sketch.dot((1, 0, 0), "ink", "start", 4.5)
    return sketch.svg("Euler's method leaves a circle on the outside", height=height)


@drawing
def mass_ellipses(height: float = 300.0) -> str:
    """The planar arm at three positions, with the ellipse of the effective mass of its tip."""
    arm = kt.robots.planar_2r()
    sketch = Sketch(plane("xy"))
    scale = 0.012  # m in the picture per kg
    for k, bend in enumerate((130.0, 90.0, 40.0)):
        q = np.radians([75 - bend / 2, bend])
        points = arm_points(tuple(q))
        shift = np.array([1.75 * k - points[2][0], 0.0, 0.0])
        draw_arm(sketch, points, shift)
        Lambda = arm.task_space(q, expressed="aligned", rows=(3, 4)).Lambda
        values, axes = np.linalg.eigh(Lambda)
        tip = points[2] + shift
        turn = np.linspace(0, 2 * np.pi, 73)
        flat = scale * axes @ (values[:, None] * np.array([np.cos(turn), np.sin(turn)]))
        sketch.line([tip + [x, y, 0] for x, y in flat.T[:-1]], "mass", closed=True)
        for value, axis in zip(values, axes.T, strict=True):
            sketch.arrow(tip, tip + scale * value * np.array([*axis, 0]), "mass", f"{value:.0f} kg")
    return sketch.svg("effective mass of the tip at three positions of the arm", 640.0, height=height)
