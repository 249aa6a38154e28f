"""Drawings of robots: frames, screw axes, home positions, centres of mass, the two passes."""

import itertools
from functools import cache

import numpy as np

import kinetree as kt
from extension.drawings import drawing
from extension.sketch import Sketch, View, above, plane
from kinetree.dynamics import forward_kinematics
from kinetree.model import WORLD, Model
from kinetree.views.bodies import girth, joint_point, link_poses, segments


@cache
def robot_of(robot: str) -> kt.Robot:
    """A built-in robot by name."""
    return getattr(kt.robots, robot)()


def position(model: Model, q: tuple[float, ...] | float | None) -> np.ndarray:
    """Joint positions of a setting; None: zero."""
    if q is None:
        return np.zeros(model.n)
    return np.atleast_1d(np.asarray(q, float))


def view_of(model: Model, azimuth: float | None = None, elevation: float = 18.0) -> View:
    """The plane of a planar robot, upright; otherwise a view from above."""
    axes = [np.asarray(joint.screw, float)[:3] for joint in model.joints if joint.screw is not None]
    T = forward_kinematics(model, np.zeros(model.n))
    turning = [T[i][:3, :3] @ a for i, a in enumerate(axes) if np.linalg.norm(a) > 0]
    if azimuth is None and turning and len(axes) == len(model.joints):
        for name, normal in (("xy", 2), ("xz", 1)):
            if (
                all(abs(abs(a[normal]) - 1) < 1e-9 for a in turning)
                and abs(model.gravity[3 + normal]) < 1e-9
            ):
                return plane(name)
    return above(-60.0 if azimuth is None else azimuth, elevation)


def bodies(sketch: Sketch, model: Model, poses: dict[int, np.ndarray], kind: str = "link") -> float:
    """Draw links and joints; the value is the size of the robot, m."""
    points = []
    for i, a, b in segments(model):
        ends = [poses[i][:3, :3] @ p + poses[i][:3, 3] for p in (a, b)]
        sketch.link(*ends, kind=kind)
        points += ends
    points.append(np.zeros(3))
    return float(np.linalg.norm(np.ptp(np.array(points), axis=0))) or 1.0


def joints(sketch: Sketch, model: Model, poses: dict[int, np.ndarray], extent: float) -> None:
    """Draw each joint: a ring for one that turns, a square for one that slides."""
    for i in model.links:
        if model.joints[i].screw is None:
            continue
        A = np.asarray(model.joints[i].screw, float)
        p = poses[i][:3, :3] @ joint_point(model, i) + poses[i][:3, 3]
        if np.linalg.norm(A[:3]) > 0:
            sketch.ring(p)
        else:
            z = poses[i][:3, :3] @ A[3:]
            side = np.cross(z, sketch.view.eye)
            side /= np.linalg.norm(side) or 1.0
            size = 0.9 * girth(model, extent)
            corners = [
                p + size * (u * z + 0.6 * v * side) for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1))
            ]
            sketch.line(corners, "slide", closed=True)


def begun(
    robot: str, q: tuple[float, ...] | None, azimuth: float | None
) -> tuple[Model, dict[int, np.ndarray], Sketch, float]:
    """A robot's model, the poses of its links, a sketch with its bodies and joints, its extent."""
    model = robot_of(robot).model
    poses = link_poses(model, position(model, q))
    sketch = Sketch(view_of(model, azimuth))
    extent = bodies(sketch, model, poses)
    joints(sketch, model, poses, extent)
    return model, poses, sketch, extent


@drawing
def frames(
    robot: str = "planar_2r",
    q: tuple[float, ...] | None = None,
    size: float = 0.18,
    azimuth: float | None = None,
    links: str = "all",
    angles: bool = False,
    height: float = 380.0,
) -> str:
    """A robot with the frames {s}, {i} of its links, and {b} of its tool; angles: q_i as arcs."""
    model, poses, sketch, extent = begun(robot, q, azimuth)
    length = size * extent
    tool = model.frame()
    T_sb = poses[tool.link] @ np.asarray(tool.T_if, float)
    for i in model.links:
        if links == "all" or str(i + 1) in str(links):
            at_base = np.allclose(poses[i][:3, 3], 0)
            sketch.frame(poses[i], length * (0.75 if at_base else 1.0), f"{{{i + 1}}}")
    sketch.frame(np.eye(4), 1.25 * length, "{s}")
    sketch.frame(T_sb, length, "{b}")
    if angles:
        for i in model.links:
            parent = poses[model.parent[i]] @ np.asarray(model.M_pi[i], float)
            turn = float(position(model, q)[i])
            if abs(turn) > 1e-9:
                axis, x = poses[i][:3, 2], parent[:3, 0]
                far = poses[i][:3, 3] + 1.5 * length * x
                sketch.line([poses[i][:3, 3], far], "dash")
                sketch.turn(poses[i][:3, 3], axis, 1.35 * length, "accent", f"q_{i + 1}",
                            start=0, sweep=float(np.degrees(turn)), first=x)  # fmt: skip
    return sketch.svg(f"{robot}: frames of the space, the links and the tool", height=height)


@drawing
def screws(
    robot: str = "spatial_3r",
    q: tuple[float, ...] | None = None,
    azimuth: float | None = None,
    height: float = 400.0,
) -> str:
    """A robot with the screw axes S_i of its joints, and their sense of turning."""
    model, poses, sketch, extent = begun(robot, q, azimuth)
    for i in model.links:
        A = np.asarray(model.joints[i].screw, float)
        R, p = poses[i][:3, :3], poses[i][:3, :3] @ joint_point(model, i) + poses[i][:3, 3]
        turning = np.linalg.norm(A[:3]) > 0
        w = R @ (A[:3] if turning else A[3:])
        w = w / np.linalg.norm(w)
        sketch.line([p - 0.16 * extent * w, p + 0.26 * extent * w], "dash")
        sketch.arrow(p, p + 0.26 * extent * w, "accent", f"S_{i + 1}")
        if turning:
            sketch.turn(p + 0.19 * extent * w, w, 0.05 * extent, "accent", f"q_{i + 1}")
    sketch.frame(np.eye(4), 0.15 * extent, "{s}")
    return sketch.svg(f"{robot}: screw axes of the joints", height=height)


@drawing
def home(
    robot: str = "planar_2r",
    names: str = "",
    azimuth: float | None = None,
    off: float = 0.16,
    height: float = 300.0,
) -> str:
    """The home position q = 0 with frames, lengths between joints, and centres of mass."""
    model = robot_of(robot).model
    poses = link_poses(model, np.zeros(model.n))
    sketch = Sketch(view_of(model, azimuth))
    extent = bodies(sketch, model, poses)
    joints(sketch, model, poses, extent)
    down = -sketch.view.up
    words = str(names).split(",") if names else []
    count = 0
    for i, a, b in segments(model):
        a, b = (poses[i][:3, :3] @ p + poses[i][:3, 3] for p in (a, b))
        length = float(np.linalg.norm(b - a))
        across = np.cross(sketch.view.eye, b - a)
        across = across / (np.linalg.norm(across) or 1.0)
        across = across if across @ down > -1e-9 else -across
        letter = words[count] if count < len(words) else f"{length:.3g} m"
        sketch.dimension(a, b, letter, off * extent * across)
        count += 1
    for i in model.links:
        if float(model.m[i]) > 0:
            sketch.com(
                poses[i][:3, :3] @ np.asarray(model.com[i], float) + poses[i][:3, 3], f"m_{i + 1}"
            )
    sketch.frame(np.eye(4), 0.16 * extent, "{s}")
    tool = model.frame()
    sketch.frame(poses[tool.link] @ np.asarray(tool.T_if, float), 0.12 * extent, "{b}")
    return sketch.svg(f"{robot} at home: lengths, masses and frames", height=height)


@drawing
def centres(
    robot: str = "planar_2r",
    q: tuple[float, ...] | None = None,
    azimuth: float | None = None,
    height: float = 340.0,
) -> str:
    """Joint points P_i, centres of mass C_i with their weights, and the vectors between them."""
    model, poses, sketch, extent = begun(robot, q, azimuth)
    g = np.asarray(model.gravity[3:], float)
    g = g / (np.linalg.norm(g) or 1.0)
    heavy = max(float(m) for m in model.m) or 1.0
    for i in model.links:
        P = poses[i][:3, 3]
        C = poses[i][:3, :3] @ np.asarray(model.com[i], float) + P
        sketch.dot(P, "ink", f"P_{i + 1}")
        if float(model.m[i]) > 0:
            sketch.arrow(P, C, "accent")
            sketch.com(C, f"C_{i + 1}")
            sketch.arrow(
                C,
                C + 0.22 * extent * g * (0.5 + 0.5 * float(model.m[i]) / heavy),
                "warm",
                f"m_{i + 1} g",
            )
    sketch.frame(np.eye(4), 0.14 * extent, "{s}")
    return sketch.svg(f"{robot}: joint points, centres of mass and weights", height=height)


@drawing
def passes(
    robot: str = "planar_2r",
    q: tuple[float, ...] | None = (0.35, 0.6),
    azimuth: float | None = None,
    names: str = "screw",
    height: float = 400.0,
) -> str:
    """The two passes along a chain: motion outward, wrenches inward, with the joint forces."""
    model, poses, sketch, extent = begun(robot, q, azimuth)
    letters = {"screw": ("V", "dV", "F"), "link": ("omega", "a", "f")}[names]
    tool = model.frame()
    ends = [poses[i][:3, 3] for i in model.links]
    ends.append((poses[tool.link] @ np.asarray(tool.T_if, float))[:3, 3])
    across = []
    for a, b in itertools.pairwise(ends):
        n = np.cross(sketch.view.eye, b - a)
        n = n / (np.linalg.norm(n) or 1.0)
        across.append(n if n @ sketch.view.up > 0 else -n)
    for i, (a, b) in enumerate(itertools.pairwise(ends)):
        n, d = across[i], b - a
        start, end = a + 0.18 * d + 0.11 * extent * n, a + 0.82 * d + 0.11 * extent * n
        sketch.arrow(start, end, "accent")
        sketch.label(
            (start + end) / 2,
            f"{letters[0]}_{i + 1}, {letters[1]}_{i + 1}",
            "accent",
            tuple(sketch.view.flat(n)),
        )
        start, end = a + 0.82 * d - 0.11 * extent * n, a + 0.18 * d - 0.11 * extent * n
        sketch.arrow(start, end, "warm")
        sketch.label(
            (start + end) / 2, f"{letters[2]}_{i + 1}", "warm", tuple(-sketch.view.flat(n))
        )
        axis = poses[i][:3, :3] @ np.asarray(model.joints[i].screw, float)[:3]
        if np.linalg.norm(axis) > 0:
            sketch.turn(
                a,
                axis,
                0.055 * extent,
                "good",
                f"tau_{i + 1}",
                start=170,
                sweep=200,
                first=sketch.view.right,
            )
    sketch.label(ends[0], "gravity: the base accelerates upwards", "soft", (0.3, -1.0), 26.0)
    sketch.label(ends[-1], "F_{tip}", "warm", (1.0, 0.0))
    return sketch.svg(
        "outward: twists and accelerations; inward: wrenches and joint forces", height=height
    )


@drawing
def tree(robot: str = "quadruped", height: float = 300.0, names: bool = True) -> str:
    """Links of a robot as a tree, the base on top; edges are joints."""
    model = robot_of(robot).model
    depth, column = {WORLD: 0}, {}
    for i in model.links:
        depth[i] = depth[model.parent[i]] + 1
    free = [0.0]

    def place(i: int) -> float:
        kids = list(model.children[i])
        column[i] = sum(place(c) for c in kids) / len(kids) if kids else free[0]
        free[0] += 0 if kids else 1
        return column[i]

    place(WORLD)
    most, wide = max(depth.values()), max(column.values()) or 1
    sketch = Sketch(plane("xy"))
    step = 0.55 * wide / max(most, 1) if wide > 1 else 1.0
    at = {i: np.array([column[i], -step * depth[i], 0.0]) for i in column}
    for i in model.links:
        sketch.arrow(at[model.parent[i]], at[i] + 0.12 * (at[model.parent[i]] - at[i]), "soft")
    for i, p in at.items():
        sketch.dot(p, "accent" if i == WORLD else "ink", size=4.5)
        if names and (i == WORLD or wide < 7):
            sketch.label(
                p, model.base_name if i == WORLD else model.link_names[i], "soft", (1.0, 0.0), 8.0
            )
    return sketch.svg(f"{robot}: the tree of its links", height=height)
