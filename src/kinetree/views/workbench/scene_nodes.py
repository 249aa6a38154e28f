"""The robot in the viewer: one node per link, which moves with the link and carries its shapes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.model import WORLD
from kinetree.spatial.so3 import quaternion
from kinetree.views.loops import closures, tie_lines
from kinetree.views.shapes import LOOP, Shape
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.state import State, link_poses

if TYPE_CHECKING:
    from viser import FrameHandle, LineSegmentsHandle, SceneNodeHandle, ViserServer

ROUND = 20  # sides of a round body
OPACITY = {"inertia": 0.35}


def add_robot(bench: Bench) -> "dict[str, list[SceneNodeHandle]]":
    """Draw the robot and the ground; return the nodes of each group of shapes."""
    scene, server = bench.scene, bench.server
    links = {i: add_link(bench, i) for i in (WORLD, *bench.state.robot.model.links)}
    groups: dict[str, list[SceneNodeHandle]] = {}
    for k, shape in enumerate(scene.shapes):
        node = add_shape(server, f"{links[shape.link].name}/{k}", shape)
        node.visible = shape.group in scene.shown
        groups.setdefault(shape.group, []).append(node)
    model = bench.state.robot.model
    ties = tie_node(bench) if closures(model) else None
    if ties is not None:
        groups["loop"].append(ties)
    size = 4 * scene.extent
    server.scene.add_grid(
        bench.node("ground"), width=size, height=size, cell_size=size / 20, section_size=size / 4,
        cell_color=(225, 228, 232), section_color=(190, 196, 204),
    )  # fmt: skip

    def move(state: State) -> None:
        poses = link_poses(state)
        for i, T in enumerate(poses):
            place(links[i], T)
        if ties is not None:
            ties.points = tie_lines(model, {WORLD: np.eye(4), **dict(enumerate(poses))})

    bench.refreshers.append(move)
    return groups


def tie_node(bench: Bench) -> "LineSegmentsHandle":
    """Lines between the frames of constraints: rods, and loops that are open."""
    model, poses = bench.state.robot.model, link_poses(bench.state)
    points = tie_lines(model, {WORLD: np.eye(4), **dict(enumerate(poses))})
    return bench.server.scene.add_line_segments(
        bench.node("ties"), points, np.array(LOOP, np.uint8), thickness=0.008 * bench.scene.extent
    )


def add_link(bench: Bench, i: int) -> "FrameHandle":
    """Add the node of a link, named by its number: names of a file could contain slashes."""
    name = bench.node(f"robot/{'base' if i == WORLD else i}")
    return bench.server.scene.add_frame(name, show_axes=False)


def place(node: "SceneNodeHandle", T: Array) -> None:
    """Move a node to a pose."""
    node.wxyz = tuple(quaternion(T[:3, :3]))
    node.position = tuple(T[:3, 3])


def add_shape(server: "ViserServer", name: str, shape: Shape) -> "SceneNodeHandle":
    """Add one shape as a node under its link."""
    where: dict[str, Any] = {
        "wxyz": tuple(quaternion(shape.T[:3, :3])),
        "position": tuple(shape.T[:3, 3]),
    }
    if shape.kind == "frame":
        size = shape.size[0]
        return server.scene.add_frame(name, axes_length=size, axes_radius=0.04 * size, **where)
    if shape.kind == "box":
        x, y, z = shape.size
        return server.scene.add_box(name, color=shape.colour, dimensions=(x, y, z), **where)
    if shape.kind in ("ellipsoid", "sphere"):
        x, y, z = shape.size if len(shape.size) == 3 else shape.size * 3
        return server.scene.add_icosphere(
            name, radius=1.0, subdivisions=3, color=shape.colour, scale=(x, y, z),
            opacity=OPACITY.get(shape.group), **where,
        )  # fmt: skip
    if shape.mesh is not None:
        vertices, faces = shape.mesh.vertices, shape.mesh.triangles
    else:
        vertices, faces = lathe(profile(shape))
    return server.scene.add_mesh_simple(
        name, np.asarray(vertices, np.float32), np.asarray(faces, np.uint32), color=shape.colour,
        side="double" if shape.mesh is not None else "front", flat_shading=shape.mesh is not None,
        **where,
    )  # fmt: skip


def profile(shape: Shape) -> Array:
    """Radius and height, (k, 2), along the outline of a round body, from its lower end upward."""
    radius, length = shape.size
    half = length / 2
    if shape.kind == "cylinder":
        # corners are doubled so that shading keeps the edge sharp
        edge = [(radius, -half), (radius, -half), (radius, half), (radius, half)]
        return np.array([(0, -half), *edge, (0, half)])
    angle = np.linspace(-np.pi / 2, 0, 7)
    low = np.column_stack([radius * np.cos(angle), radius * np.sin(angle) - half])
    return np.concatenate([low, low[::-1] * [1, -1]])


def lathe(outline: Array) -> tuple[Array, Array]:
    """Corners (k, 3) and outward triangles (m, 3) of a body of revolution about z."""
    turn = 2 * np.pi * np.arange(ROUND) / ROUND
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    rings = [np.column_stack([r * circle, np.full(ROUND, z)]) for r, z in outline]
    faces = []
    for k in range(len(outline) - 1):
        for j in range(ROUND):
            a, b = k * ROUND + j, k * ROUND + (j + 1) % ROUND
            faces += [(a, b, b + ROUND), (a, b + ROUND, a + ROUND)]
    return np.concatenate(rings), np.array(faces)
