"""Drawings of notions: the letters, a link cut free, points and axes, joint types, a screw."""

import numpy as np

import kinetree as kt
from extension.drawings import drawing
from extension.drawings.robots import bodies, joints, robot_of
from extension.flow import Flow
from extension.sketch import Sketch, above, plane
from kinetree.model import Model
from kinetree.views.bodies import link_poses


def unit(x: np.ndarray) -> np.ndarray:
    """A vector of length one."""
    return x / np.linalg.norm(x)


def long_arm() -> Model:
    """A spatial arm with three long links."""
    builder = kt.Builder("arm").link("base")
    for k, parent in enumerate(("base", "one", "two")):
        name = ("one", "two", "three")[k]
        builder.link(name, m=1.0, com=(0.5, 0, 0), I_com=0.1 * np.eye(3))
        at, axis = ((0, 0, 0), (0, 0, 1)) if k == 0 else ((0.9, 0, 0), (0, -1, 0))
        builder.joint(f"joint {k + 1}", "revolute", parent, name, at=at, axis=axis)
    return builder.build().with_tool("tool", (0.95, 0, 0), "three").model


@drawing
def letters(height: float = 430.0) -> str:
    """An arm with the frames and 6-vectors of the notation at its last link."""
    model = long_arm()
    poses = link_poses(model, np.array([0.45, 0.75, -1.25]))
    sketch = Sketch(above(-62.0, 20.0))
    extent = bodies(sketch, model, poses)
    joints(sketch, model, poses, extent)
    size = 0.11 * extent
    tool = model.frame()
    T_sb = poses[tool.link] @ np.asarray(tool.T_if, float)
    sketch.frame(np.eye(4), 1.3 * size, "{s}")
    sketch.frame(poses[1], size, "{p}")
    sketch.frame(poses[2], size, "{i}")
    sketch.frame(T_sb, size, "{b}")
    p, i = poses[1][:3, 3], poses[2][:3, 3]
    lift = np.array([0, 0, 0.3 * extent])
    arc = [t * i + 4 * t * (1 - t) * lift for t in np.linspace(0.04, 0.97, 24)]
    sketch.line(arc, "dash")
    sketch.arrow(arc[-2], arc[-1] + 1e-3 * (arc[-1] - arc[-2]), "ink")
    sketch.label(arc[10], "T_{si}", "ink", (-0.5, 1.0))
    axis = poses[2][:3, :3] @ np.asarray(model.joints[2].screw, float)[:3]
    sketch.turn(i, axis, 0.07 * extent, "accent", "A_i dq_i", start=30, sweep=240)
    com = poses[2][:3, :3] @ np.asarray(model.com[2], float) + i
    sketch.com(com, "G_i")
    sketch.arrow(i, i + 0.18 * extent * unit(np.array([0.9, -0.3, 0.9])), "warm", "F_i")
    sketch.arrow(p, p + 0.18 * extent * unit(np.array([0.5, -0.4, -0.55])), "accent", "V_p")
    g = np.array([-0.2 * extent, 0.0, 0.05 * extent])
    sketch.arrow(g + np.array([0, 0, 0.2 * extent]), g, "soft", "gravity")
    return sketch.svg("frames {s}, {p}, {i}, {b}, a twist, a wrench and a pose", height=height)


@drawing
def free_body(height: float = 380.0) -> str:
    """A link cut free: forces and moments of its joints, its weight, its motion."""
    sketch = Sketch(plane("xy"))
    P, c, k = np.zeros(3), np.array([0.52, 0.13, 0]), np.array([1.1, 0.32, 0])
    sketch.link(P, k)
    for p in (P, k):
        sketch.ring(p)
    sketch.com(c, "m, I")
    sketch.arrow(P, P + np.array([-0.12, 0.34, 0]), "warm", "f_i")
    sketch.turn(P, (0, 0, 1), 0.13, "warm", "n_i", start=150, sweep=220)
    sketch.arrow(k, k + np.array([0.14, -0.3, 0]), "good", "-f_k")
    sketch.turn(k, (0, 0, -1), 0.12, "good", "-n_k", start=-30, sweep=220)
    sketch.arrow(c, c + np.array([-0.1, 0.34, 0]), "accent", "a_c")
    sketch.arrow(P, c, "ink", "")
    sketch.label(0.55 * c, "c", "ink", (0.0, -1.0), 10.0)
    sketch.turn(c, (0, 0, 1), 0.2, "accent", "omega, alpha", start=-150, sweep=110)
    T = np.eye(4)
    T[:2, :2] = np.array([[1.1, -0.32], [0.32, 1.1]]) / np.hypot(1.1, 0.32)
    sketch.frame(T, 0.2, "{i}")
    return sketch.svg("a link cut free, with the forces and moments of its joints", height=height)


@drawing
def points(height: float = 380.0) -> str:
    """Joint points, axes and centres of an arm in {s}, and the vectors between points."""
    model = robot_of("planar_2r").model
    poses = link_poses(model, np.array([0.4, 0.7]))
    sketch = Sketch(plane("xy"))
    extent = bodies(sketch, model, poses)
    joints(sketch, model, poses, extent)
    for i in model.links:
        P = poses[i][:3, 3]
        C = poses[i][:3, :3] @ np.asarray(model.com[i], float) + P
        sketch.label(P, f"P_{i + 1}, k_{i + 1}", "ink", (-0.4, 1.0), 11.0)
        sketch.com(C, f"C_{i + 1}")
        off = 0.09 * extent * np.cross((0, 0, 1), unit(C - P))
        sketch.arrow(P - off, C - off, "accent", "")
        sketch.label(
            (P + C) / 2 - off,
            f"C_{i + 1} - P_{i + 1}",
            "accent",
            tuple(-off[:2] / np.linalg.norm(off)),
        )
    a, b = poses[0][:3, 3], poses[1][:3, 3]
    off = 0.22 * extent * np.cross((0, 0, 1), unit(b - a))
    sketch.arrow(a - off, b - off, "warm", "")
    sketch.label((a + 2 * b) / 3 - off, "r_2 = P_2 - P_1", "warm", (0.3, -1.0))
    sketch.frame(np.eye(4), 0.16 * extent, "{s}")
    return sketch.svg("points, centres and the vectors between them, all in {s}", height=height)


@drawing
def joint_types() -> str:
    """The joint types with their degrees of freedom."""
    flow = Flow()
    kinds = [
        ("revolute", "1: an angle"),
        ("prismatic", "1: a displacement"),
        ("helical", "1: angle and displacement"),
        ("spherical", "3: a rotation"),
        ("planar", "3: an angle, x, y"),
        ("free", "6: rotation and position"),
    ]
    for k, (name, words) in enumerate(kinds):
        x, y = 215.0 * (k % 3), 190.0 * (k // 3)
        sketch = Sketch(above(-55.0, 24.0))
        joint_sketch(sketch, name)
        inner = sketch.svg(name, 190.0, height=140.0)
        inner = inner.replace("<svg ", f'<svg x="{x:.0f}" y="{y:.0f}" ', 1)
        flow.parts.append(resized(inner, 190, 130))
        flow.words(x + 95, y + 142, name, "strong")
        flow.words(x + 95, y + 161, words, "k-soft")
        flow.spans += [(x, y), (x + 190, y + 172)]
    return flow.svg("joint types: revolute, prismatic, helical, spherical, planar, free")


def resized(inner: str, width: int, height: int) -> str:
    """An SVG scaled into a box."""
    from extension.drawings.matrices import fitted

    return fitted(inner, width, height)


def joint_sketch(sketch: Sketch, name: str) -> None:
    """A body and the motions that one joint allows."""
    z = np.array([0, 0, 1.0])
    corners = 0.35 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    sketch.line(corners, "fill", closed=True)
    if name in ("revolute", "helical"):
        sketch.line([-0.5 * z, 0.9 * z], "dash")
        sketch.turn(0.45 * z, z, 0.3, "accent", "", start=0, sweep=290)
    if name == "prismatic":
        sketch.line([-0.5 * z, 0.9 * z], "dash")
    if name in ("prismatic", "helical"):
        sketch.arrow(0.1 * z, 0.95 * z, "warm")
    if name == "spherical":
        sketch.ring(0.15 * z, "ink", 9.0)
        for axis in np.eye(3):
            sketch.turn(0.15 * z, axis, 0.45, "accent", start=10, sweep=120)
    if name == "planar":
        sketch.arrow((0, 0, 0), (0.85, 0, 0), "warm")
        sketch.arrow((0, 0, 0), (0, 0.85, 0), "warm")
        sketch.turn(0.02 * z, z, 0.5, "accent", start=20, sweep=60)
    if name == "free":
        for axis in np.eye(3):
            sketch.arrow((0, 0, 0), 0.85 * axis, "warm")
            sketch.turn(0.62 * axis, axis, 0.13, "accent", start=0, sweep=250)


@drawing
def screw_motion(height: float = 360.0) -> str:
    """A twist as a motion along a screw: axis, angle, pitch, and the path of a point."""
    sketch = Sketch(above(-50.0, 18.0))
    axis, radius, pitch = np.array([0, 0, 1.0]), 0.35, 0.11
    sketch.line([-0.1 * axis, 1.25 * axis], "dash")
    sketch.arrow(1.05 * axis, 1.28 * axis, "accent", "omega")
    turns = np.linspace(0, 3.2 * np.pi, 90)
    path = [np.array([radius * np.cos(a), radius * np.sin(a), pitch * a]) for a in turns]
    sketch.line(path, "warm")
    sketch.arrow(path[-2], path[-1] + 2 * (path[-1] - path[-2]), "warm", "v")
    sketch.line([(0, 0, 0), path[0]], "thin")
    sketch.dot(path[0], "ink")
    sketch.dot(path[-1], "ink")
    sketch.dimension((radius, 0, 0), (radius, 0, 2 * np.pi * pitch), "pitch × 2 pi", (0.28, 0, 0))
    sketch.turn(0.08 * axis, axis, 0.12, "accent", "q", start=0, sweep=260)
    sketch.frame(np.eye(4), 0.2, "{s}")
    return sketch.svg("a screw: rotation about an axis and translation along it", height=height)


@drawing
def one_function() -> str:
    """One function of an algorithm, run on several kinds of numbers."""
    flow = Flow()
    kinds = ["floats", "fifty digits", "symbols", "dual numbers", "traced scalars"]
    results = [
        "numbers\nNumPy",
        "a reference\nmpmath",
        "equations\nSymPy",
        "derivatives",
        "kernels\nLLVM, CUDA, C",
    ]
    middle = flow.box(
        300, 128, "inverse_dynamics(model, q, dq, ddq)\none function per quantity", kind="main"
    )
    for k, (left, right) in enumerate(zip(kinds, results, strict=True)):
        flow.arrow(flow.box(30, 64 * k, left, width=130), middle, kind="soft")
        flow.arrow(middle, flow.box(570, 64 * k, right, width=150), kind="soft")
    return flow.svg("one function runs on floats, digits, symbols, dual numbers and traced scalars")
