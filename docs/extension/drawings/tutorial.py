"""Drawings of the tutorial: velocities along an arm, stacked matrices, Euler's steps, ellipses."""

from itertools import pairwise
from math import cos, radians, sin

import numpy as np

import kinetree as kt
from extension.drawings import drawing
from extension.sketch import Sketch, plane, text


def arm_points(q: tuple[float, float]) -> list[np.ndarray]:
    """Both joints and the tip of the planar arm, m."""
    arm = kt.robots.planar_2r()
    return [*(T[:3, 3] for T in arm.link_poses(np.array(q))), arm.pose(np.array(q))[:3, 3]]


def draw_arm(sketch: Sketch, points: list[np.ndarray], shift: np.ndarray) -> None:
    """Links and joints of the planar arm, moved by a shift."""
    for a, b in pairwise(points):
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
def stacked() -> str:
    """Blocks of A, W and L for three links in a row; A has one column per joint."""
    diagonal = {(i, i): "1" for i in range(3)}
    below = {(1, 0): "21", (2, 1): "32"}
    matrices = (
        ("A", 46, {(i, i): f"A_{i + 1}" for i in range(3)}),
        ("W", 62, below),
        ("L", 62, diagonal | below | {(2, 0): "31"}),
    )
    high, left, top, parts = 44, 40.0, 10, []
    for name, wide, blocks in matrices:
        parts.append(text(left - 22, top + 1.5 * high + 5, f"{name} ="))
        for i, j in np.ndindex(3, 3):
            x, y, words = left + wide * j, top + high * i, blocks.get((i, j))
            box = f"M{x} {y}h{wide}v{high}h{-wide}Z"
            parts.append(f'<path class="k-{"fill" if words else "thin"}" d="{box}"/>')
            middle = x + wide / 2, y + high / 2 + 5
            if words and words.isdigit() and len(words) == 2:  # Ad of a pose, upright
                parts.append(
                    f'<text class="k-accent" x="{middle[0]}" y="{middle[1]}" text-anchor="middle">'
                    f'Ad<tspan class="small" dy="4">{words}</tspan></text>'
                )
            elif words:
                parts.append(text(*middle, words, "k-accent"))
        left += 3 * wide + 62
    size = f"{left - 46:.0f} {3 * high + 2 * top}"
    width, height = size.split()
    return (
        f'<svg class="sketch" viewBox="0 0 {size}" width="{width}" height="{height}" role="img" '
        f'aria-label="blocks of the stacked matrices A, W and L">{"".join(parts)}</svg>'
    )


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
        sketch.label(points[-1], words, kind, (-1.0, 0.3))
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
        sketch.line([tip + np.array([x, y, 0]) for x, y in flat.T[:-1]], "mass", closed=True)
        for value, axis in zip(values, axes.T, strict=True):
            sketch.arrow(tip, tip + scale * value * np.array([*axis, 0]), "mass", f"{value:.0f} kg")
    return sketch.svg("effective mass of the tip, three positions", 640.0, height=height)


@drawing
def lecture_plan() -> str:
    """The parts of the lecture as a bar of 45 minutes."""
    parts = (
        (0, "weight"), (8, "planet"), (11, "inertia"), (19, "the two passes"),
        (30, "rates"), (34, "motion"), (42, "robot"), (45, ""),
    )  # fmt: skip
    scale, high, marks = 15.0, 44, []
    for (begin, words), (end, _) in pairwise(parts):
        left, wide = 12 + scale * begin, scale * (end - begin)
        kind = "fill" if parts.index((begin, words)) % 2 == 0 else "thin"
        marks.append(f'<path class="k-{kind}" d="M{left} 8h{wide}v{high}h{-wide}Z"/>')
        size = ' font-size="13"' if wide > 50 else ' font-size="12"'
        marks.append(
            f'<text x="{left + wide / 2}" y="35" text-anchor="middle"{size}>{words}</text>'
        )
    for minute, _ in parts:
        marks.append(
            f'<text class="k-soft" x="{12 + scale * minute}" y="72" text-anchor="middle">'
            f"{minute}</text>"
        )
    return (
        '<svg class="sketch" viewBox="0 0 700 80" width="700" height="80" role="img" '
        f'aria-label="plan of the lecture, 45 minutes">{"".join(marks)}</svg>'
    )
