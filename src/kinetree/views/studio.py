"""Studio: a robot, a camera and what is to be drawn, turned into frames of pixels."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kinetree.core.arrays import Array
from kinetree.model import WORLD, Model
from kinetree.views.bodies import along, link_poses
from kinetree.views.camera import (
    GLASS,
    Camera,
    camera_of,
    drawn_points,
    level_ground,
    upward,
    view_of,
)
from kinetree.views.loops import tie_lines
from kinetree.views.parts import Part, Parts, stretch, unit_cylinder
from kinetree.views.raster import Layer, View, corner_normals, paint, ribbons
from kinetree.views.shapes import GROUPS, LOOP, Colour, Scene, TriangleMesh

SHOWN = (*GROUPS, "floor", "gravity", "trace", "force", "cone")
CLEAR = ("inertia", "cone")  # groups that are drawn transparent
PAPER: dict[str, Colour] = {"light": (255, 255, 255), "dark": (20, 24, 30)}  # --paper of style.css
GRID: Colour = (127, 127, 127)
OPACITY = {"light": 0.5, "dark": 0.4}  # of the floor's lines under the robot
GRAVITY: Colour = (31, 122, 68)  # --part-gravity of style.css
TRACE: Colour = (192, 57, 43)
FAINT = 0.4  # opacity of the ways of plans
GRID_WIDTH, TRACE_WIDTH, TIE_WIDTH = 1.0, 2.5, 1.5  # pixels of a picture that is 480 high
MARGIN = 0.06  # of the picture's width and height, on each side of the robot
THINNEST = 0.01  # width and height over depth of a robot that is seen along itself
MAX_SEEN = 24  # positions of a motion that the camera is chosen from
FINE = 3_000_000  # pixels of the finer picture that are drawn at a time


@dataclass(frozen=True, eq=False)
class Studio:
    """A robot before a camera.

    Args:
        model: the robot.
        scene: its shapes.
        parts: its shapes as meshes, in the frames of the links.
        shown: what is drawn, names of SHOWN.
        camera: the point of view.
        view: the projection onto the picture.
        theme: "light" or "dark".
        path: positions of the tool over the motion in {s}, shape (k, 3), m, for the trace.
        plans: the same of motions whose ways are drawn faintly.
    """

    model: Model
    scene: Scene
    parts: Parts
    shown: frozenset[str]
    camera: Camera
    view: View
    theme: str
    path: Array
    plans: tuple[Array, ...] = ()

    def frame(
        self,
        q: Array,
        samples: int,
        turn: float = 0.0,
        transparent: bool = False,
        passed: int | None = None,
        marks: Sequence[Part] = (),
    ) -> Array:
        """The picture at position q, uint8 (height, width, 4).

        Args:
            q: joint positions, shape (nq,), rad or m.
            samples: fine pixels per pixel in both directions.
            turn: angle of the camera about the vertical, rad.
            transparent: whether the background is left out.
            passed: number of points of the path that the tool has passed, which the trace ends
                after; None: the trace is the whole path.
            marks: parts that belong to this picture alone, such as arrows of forces.
        """
        poses, camera = link_poses(self.model, q), turned(self.camera, turn)
        background = (*(x / 255 for x in PAPER[self.theme]), 0.0 if transparent else 1.0)
        rows = max(1, FINE // (samples * samples * self.view.width))
        bands: list[Array] = []
        layers = self.layers(poses, camera, passed, marks)
        for top in range(0, self.view.height, rows):
            height = min(rows, self.view.height - top)
            band = replace(self.view, height=height, cy=self.view.cy - top)
            bands.append(paint(layers, band, background, samples))
        return np.concatenate(bands)

    def layers(
        self, poses: dict[int, Array], camera: Camera, passed: int | None, marks: Sequence[Part]
    ) -> list[Layer]:
        """Solid parts, lines, the floor, and transparent ellipsoids and cones."""
        drawn = [p for p in (*self.parts.parts, *marks) if p.group in self.shown]
        solid = [p for p in drawn if p.group not in CLEAR]
        glass = [p for p in drawn if p.group in CLEAR]
        layers = [self.lit(solid, poses, camera)]
        for ends, colour, width in (
            (self.trace(poses, passed), TRACE, TRACE_WIDTH),
            (self.tie_lines(poses), LOOP, TIE_WIDTH),
        ):
            corners = ribbons(before_eye(camera, ends), self.view, width * self.stretch)
            layers.append(Layer(corners, _rows(colour, len(corners))))
        floor, alpha = self.floor()
        ways = self.ways()
        for ends, colour, width, opacity in (
            (floor, GRID, GRID_WIDTH, alpha),
            (ways, TRACE, TRACE_WIDTH, np.full(len(ways), FAINT)),
        ):
            corners = ribbons(before_eye(camera, ends), self.view, width * self.stretch)
            layers.append(Layer(corners, _rows(colour, len(corners)), None, np.tile(opacity, 2)))
        if glass:
            clear = self.lit(glass, poses, camera)
            layers.append(replace(clear, alpha=np.full(len(clear.corners), GLASS)))
        return [layer for layer in layers if len(layer.corners)]

    def lit(self, parts: list[Part], poses: dict[int, Array], camera: Camera) -> Layer:
        """Triangles of parts, with normals in the frame of the camera."""
        corners, normals, colours = [np.zeros((0, 3, 3))], [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
        for part in parts:
            mesh, A = self.parts.meshes[part.mesh], poses[part.link] @ part.A
            points = before_eye(camera, mesh.vertices @ A[:3, :3].T + A[:3, 3])
            corners.append(points[mesh.triangles])
            N = np.linalg.pinv(A[:3, :3]).T  # takes normals along
            normals.append(self.normals[part.mesh] @ (camera.axes @ (N / np.abs(N).max())).T)
            colours.append(_rows(part.colour, len(mesh.triangles)))
        return Layer(np.concatenate(corners), np.concatenate(colours), np.concatenate(normals))

    @property
    def stretch(self) -> float:
        """Factor on the width of lines, so that they stay visible in large pictures."""
        return max(1.0, min(self.view.width, self.view.height) / 480)

    @cached_property
    def normals(self) -> dict[str, Array]:
        """Normals at the corners of every mesh."""
        return {name: corner_normals(mesh) for name, mesh in self.parts.meshes.items()}

    def floor(self) -> tuple[Array, Array]:
        """Ends (k, 2, 3) of the floor's lines in {s}, and opacities; empty if it is not shown."""
        sloping = self.model.contacts is not None and level_ground(self.model) is None
        if "floor" not in self.shown or sloping:
            return np.zeros((0, 2, 3)), np.zeros(0)
        lines, strength = floor_lines(self.camera, self.scene.extent)
        return lines, strength * OPACITY[self.theme]

    def trace(self, poses: dict[int, Array], passed: int | None) -> Array:
        """Ends (k, 2, 3) of the trace in {s}: the path, or what is passed of it, up to the tool."""
        if "trace" not in self.shown:
            return np.zeros((0, 2, 3))
        path = self.path
        if passed is not None:
            path = np.concatenate([path[:passed], [tool_point(self.model, poses)]])
        return np.stack([path[:-1], path[1:]], 1)

    def ways(self) -> Array:
        """Ends (k, 2, 3) in {s} of the ways of the plans."""
        pieces = [np.stack([path[:-1], path[1:]], 1) for path in self.plans]
        return np.concatenate([np.zeros((0, 2, 3)), *pieces])

    def tie_lines(self, poses: dict[int, Array]) -> Array:
        """Ends (k, 2, 3) of the lines between frames of constraints in {s}, if they are shown."""
        if "loop" not in self.shown:
            return np.zeros((0, 2, 3))
        return tie_lines(self.model, poses)


def studio(
    model: Model,
    scene: Scene,
    parts: Parts,
    q: Array,
    *,
    shown: Collection[str],
    size: tuple[int, int],
    theme: str,
    camera: Camera | tuple[float, float] | None,
    zoom: float,
    around: bool = False,
    plans: Sequence[Array] = (),
) -> Studio:
    """The studio of a robot that moves through positions q, (k, nq).

    Args:
        model, scene, parts: the robot and what can be drawn of it.
        q: positions that have to be in view, shape (k, nq), rad or m.
        shown: what is drawn, names of SHOWN.
        size: width and height, pixels.
        theme: "light" or "dark".
        camera: a camera, which is used as it is; or its turn about the vertical from the usual
            place and its height above the horizon, rad; None: the usual place. The picture is
            filled with the robot unless a camera is given.
        zoom: factor on the size of the robot in the picture.
        around: whether the camera goes around the robot.
        plans: positions (k, nq) of motions whose ways of the tool are drawn faintly.
    """
    some = q[np.unique(np.linspace(0, len(q) - 1, MAX_SEEN).round().astype(int))]
    groups = tuple(x for x in GROUPS if x in shown and x != "ground")
    cloud = drawn_points(model, parts, some, groups)
    path = tool_path(model, q) if "trace" in shown else np.zeros((0, 3))
    ways = tuple(tool_path(model, rows) for rows in plans)
    cloud = np.concatenate([cloud, path, *ways])
    place = camera if isinstance(camera, Camera) else camera_of(model, cloud, q[0])
    if isinstance(camera, tuple):
        place = raised(turned(place, camera[0]), camera[1])
    if {"gravity", "force", "cone"} & set(shown):
        parts = Parts(parts.meshes | {"arrow": arrow_mesh(), "cone": cone_mesh()}, parts.parts)
    if "gravity" in shown:
        arrow = gravity_arrow(model, place, cloud, scene.extent)
        parts = Parts(parts.meshes, (*parts.parts, arrow))
        cloud = np.concatenate([cloud, arrow_mesh().vertices @ arrow.A[:3, :3].T + arrow.A[:3, 3]])
    view = view_of(place, size)
    if not isinstance(camera, Camera):
        turns = np.linspace(0, 2 * np.pi, 12, endpoint=False) if around else np.zeros(1)
        view = fitted(view, [before_eye(turned(place, x), cloud) for x in turns])
    # about the middle of the picture
    cx, cy = ((1 - zoom) * x / 2 + zoom * y for x, y in zip(size, (view.cx, view.cy), strict=True))
    view = replace(view, scale=zoom * view.scale, cx=cx, cy=cy)
    return Studio(model, scene, parts, frozenset(shown), place, view, theme, path, ways)


def tool_path(model: Model, q: Array) -> Array:
    """Positions (k, 3) of the tool in {s} at positions q, (k, nq), m."""
    return np.array([tool_point(model, link_poses(model, row)) for row in q])


def tool_point(model: Model, poses: dict[int, Array]) -> Array:
    """Position (3,) of the tool in {s}, m; poses: T_si by link."""
    tool = model.frame()
    return (poses[tool.link] @ np.asarray(tool.T_if, float)[:, 3])[:3]


def before_eye(camera: Camera, points: Array) -> Array:
    """Points (..., 3) of {s} as (x to the right, y upward, depth) before the eye, m."""
    seen = (points - camera.target) @ camera.axes.T
    return seen * [1, 1, -1] + [0, 0, camera.distance]


def fitted(view: View, clouds: list[Array]) -> View:
    """The view with its scale and middle changed so that all clouds before the eye fill it."""
    flat = np.concatenate([x[:, :2] / x[:, 2:] for x in clouds])
    low, high = flat.min(axis=0), flat.max(axis=0)
    room = np.array([view.width, view.height]) * (1 - 2 * MARGIN)
    scale = float((room / np.maximum(high - low, THINNEST)).min())
    x, y = (low + high) / 2
    return replace(view, scale=scale, cx=view.width / 2 - scale * x, cy=view.height / 2 + scale * y)


def turned(camera: Camera, angle: float) -> Camera:
    """The camera moved about the vertical through its target; positive to the right."""
    if angle == 0:
        return camera
    side = camera.axes[0]
    front, height = np.cross(side, camera.up), camera.eye @ camera.up
    level = np.cos(angle) * front + np.sin(angle) * side
    eye = np.sqrt(max(0.0, 1 - height**2)) * level + height * camera.up
    return replace(camera, eye=eye)


def raised(camera: Camera, height: float) -> Camera:
    """The camera at an angle `height` above the horizon, rad."""
    front = np.cross(camera.axes[0], camera.up)
    return replace(camera, eye=np.cos(height) * front + np.sin(height) * camera.up)


def floor_lines(camera: Camera, extent: float) -> tuple[Array, Array]:
    """Sides (k, 2, 3) of the squares of a grid under the robot, and strengths (k,), 0 to 1.

    The grid is that of viewer.js, larger, and fades towards its edge.
    """
    side = camera.axes[0]
    front = np.cross(side, camera.up)
    power = 10.0 ** np.floor(np.log10(extent))
    step = power * (0.5 if extent / power > 4 else 0.2)
    half = int(np.ceil(1.6 * extent / step))
    middle = camera.floor * camera.up
    middle = middle + sum(np.round(camera.target @ x / step) * step * x for x in (side, front))
    k, j = np.meshgrid(np.arange(-half, half + 1), np.arange(-half, half), indexing="ij")
    k, j = k.ravel()[:, None], j.ravel()[:, None]
    lines = [
        np.stack([k * a + j * b, k * a + (j + 1) * b], 1) for a, b in ((side, front), (front, side))
    ]
    segments = np.concatenate(lines)
    strength = 1 - (np.linalg.norm(segments.mean(axis=1), axis=1) / half) ** 2
    kept = strength > 0
    return middle + step * segments[kept], strength[kept]


def gravity_arrow(model: Model, camera: Camera, cloud: Array, extent: float) -> Part:
    """An arrow along gravity at the left of the robot; without gravity it has no length."""
    seen = (cloud - camera.target) @ camera.axes.T
    length = 0.22 * extent if np.any(np.asarray(model.gravity, float)[3:]) else 1e-9
    left = camera.target + (seen[:, 0].min() - 0.08 * extent) * camera.axes[0]
    top = left + (float((cloud @ camera.up).max()) - left @ camera.up) * camera.up
    down = -upward(model)
    A = along(top, top + down, 0.0) @ stretch(length, length, length)
    return Part("arrow", WORLD, A, GRAVITY, "gravity")


def arrow_mesh() -> TriangleMesh:
    """Arrow of length 1 along z from the origin: a thin cylinder and a cone."""
    rod = unit_cylinder()
    shaft = rod.vertices * [0.035, 0.035, 0.72] + [0, 0, 0.36]
    around = len(rod.vertices) // 2 - 1
    phi = 2 * np.pi * np.arange(around) / around
    rim = np.column_stack([0.1 * np.cos(phi), 0.1 * np.sin(phi), np.full(around, 0.7)])
    n, k = len(shaft), np.arange(around)
    following, tip, middle = np.roll(k, -1), n + around, n + around + 1
    cone = np.column_stack([n + k, n + following, np.full(around, tip)])
    disc = np.column_stack([n + following, n + k, np.full(around, middle)])
    points = np.concatenate([shaft, rim, [[0, 0, 1], [0, 0, 0.7]]])
    return TriangleMesh(points, np.concatenate([rod.triangles, cone, disc]))


def cone_mesh() -> TriangleMesh:
    """Cone with its tip at the origin, open at z = 1, where its radius is 1."""
    rod = unit_cylinder()
    around = len(rod.vertices) // 2 - 1
    ring = rod.vertices[:around] * [1, 1, 0] + [0, 0, 1]
    k = np.arange(around)
    sides = np.column_stack([np.full(around, around), np.roll(k, -1), k])
    return TriangleMesh(np.concatenate([ring, [[0, 0, 0]]]), sides)


def _rows(colour: Colour, count: int) -> Array:
    return np.broadcast_to(np.array(colour) / 255, (count, 3))
