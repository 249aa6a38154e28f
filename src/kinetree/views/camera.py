"""Camera: the point of view that shows a robot whole and upright, and a still picture from it."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.contacts import HeightField, Plane
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.views.bodies import link_poses
from kinetree.views.parts import Parts
from kinetree.views.raster import View, visible

OPENING = 0.6  # angle of view, rad


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera at target + distance * eye that looks at `target`, with `up` upward; in {s}, m.

    floor: height along `up` of the lowest point of the robot.
    """

    target: Array
    eye: Array
    up: Array
    distance: float
    floor: float

    @property
    def axes(self) -> Array:
        """Rotation from {s} to the camera, (3, 3): rows are right, up and backward in {s}."""
        right = np.cross(self.up, self.eye)
        right /= np.linalg.norm(right)
        return np.array([right, np.cross(self.eye, right), self.eye])


def camera(model: Model, parts: Parts, q: Array, groups: tuple[str, ...]) -> Camera:
    """The camera that shows the parts of some groups at all positions q, (k, nq)."""
    return camera_of(model, drawn_points(model, parts, q, groups), q[0])


def drawn_points(model: Model, parts: Parts, q: Array, groups: tuple[str, ...]) -> Array:
    """Corners (k, 3) in {s} of the parts of some groups at all positions q, and the origin, m."""
    points = [np.zeros((1, 3))]
    drawn = [part for part in parts.parts if part.group in groups]
    for poses in (link_poses(model, row) for row in q):
        for part in drawn:
            A = poses[part.link] @ part.A
            points.append(parts.meshes[part.mesh].vertices @ A[:3, :3].T + A[:3, 3])
    return np.concatenate(points)


def camera_of(model: Model, cloud: Array, q: Array) -> Camera:
    """The camera that shows all points of a cloud, (k, 3) in {s}; q: first position, (nq,)."""
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    up = upward(model)
    radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6)
    distance = 1.1 * radius / np.sin(OPENING / 2)
    ground = level_ground(model)
    floor = float((cloud @ up).min()) if ground is None else ground
    eye = direction(model, link_poses(model, q), up)
    return Camera((low + high) / 2, eye, up, distance, floor)


def upward(model: Model) -> Array:
    """Unit vector against gravity; z if there is no gravity."""
    g = np.asarray(model.gravity, float)[3:]
    size = np.linalg.norm(g)
    return -g / size if size > 0 else np.array([0.0, 0.0, 1.0])


def level_ground(model: Model) -> float | None:
    """Height of the plane that contacts touch, against gravity, m; None if none is level."""
    contacts = model.contacts
    if contacts is None or isinstance(contacts.ground, HeightField):
        return None
    plane = contacts.ground if isinstance(contacts.ground, Plane) else contacts.ground.plane
    up, normal = upward(model), np.array(plane.normal, float)
    level = normal @ up > (1 - LEVEL) * np.linalg.norm(normal)
    return float(np.array(plane.point, float) @ up) if level else None


def direction(model: Model, poses: dict[int, Array], up: Array) -> Array:
    """Unit vector to the camera: front, side and above; for a planar robot along its joint axes."""
    axes = [
        poses[i][:3, :3] @ np.asarray(model.joints[i].screw, float)[:3]
        for i in model.links
        if model.joints[i].type in SCREW_TYPES
    ]
    turning = [a for a in axes if np.linalg.norm(a) > 0]
    parallel = turning and all(abs(abs(a @ turning[0]) - 1) < 1e-6 for a in turning)
    if parallel and abs(turning[0] @ up) < 0.1:
        side = np.cross(up, turning[0])
        sign = 1 if side.sum() >= 0 else -1  # x or y points to the right
        eye = sign * turning[0] + 0.2 * sign * side + 0.25 * up
    else:
        helper = np.eye(3)[int(np.argmin(np.abs(up)))]
        front = helper - (helper @ up) * up
        front /= np.linalg.norm(front)
        eye = front + 0.7 * np.cross(up, front) + 0.45 * up
    return eye / np.linalg.norm(eye)


WIDTH, HEIGHT = 720, 470
LEVEL = 1e-9  # of 1 - cosine of the slope of a plane that the grid of the floor shows
MAX_HIDDEN = 20_000  # triangles up to which hidden ones are painted over; 90 bytes each in a page
GLASS = 0.4  # opacity of inertia ellipsoids, as in viewer.js


def picture(
    parts: Parts,
    poses: dict[int, Array],
    camera: Camera,
    groups: tuple[str, ...],
    label: str,
    view: View | None = None,
    behind: str = "",
) -> str:
    """A still picture as SVG, for print and for readers without scripts.

    Triangles are painted from far to near. label: escaped text for screen readers. view: size and
    projection; None: the middle of WIDTH by HEIGHT pixels. behind: markup that is painted first.
    """
    view = view_of(camera, (WIDTH, HEIGHT)) if view is None else view
    corners: list[Array] = [np.zeros((0, 3, 3))]
    drawn = [part for part in parts.parts if part.group in groups]
    for part in drawn:
        mesh, A = parts.meshes[part.mesh], poses[part.link] @ part.A
        corners.append((mesh.vertices @ A[:3, :3].T + A[:3, 3])[mesh.triangles])
    counts = np.array([len(x) for x in corners[1:]], int)
    colours = np.reshape([part.colour for part in drawn], (-1, 3)).repeat(counts, axis=0)
    glassy = np.array([part.group == "inertia" for part in drawn], bool).repeat(counts)
    return (
        f'<svg viewBox="0 0 {view.width} {view.height}" role="img" aria-label="{label}" '
        'stroke-width="0.6" stroke-linejoin="round">'
        f"{behind}{_painted(np.concatenate(corners), colours, glassy, camera, view)}</svg>"
    )


def view_of(camera: Camera, size: tuple[int, int]) -> View:
    """The projection of a camera onto a picture of (width, height), as in orbit.js."""
    width, height = size
    scale = min(size) / 2 / float(np.tan(OPENING / 2))
    return View(width, height, scale, width / 2, height / 2, camera.distance / 100)


def _painted(corners: Array, colours: Array, glassy: Array, camera: Camera, view: View) -> str:
    """Markup of the triangles (m, 3, 3) that face the camera, lit from there; the farthest first.

    colours: (m, 3), 0 to 255. glassy: (m,), True for half transparent ones.
    """
    seen = (corners - camera.target) @ camera.axes.T
    depth = camera.distance - seen[..., 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        x = view.cx + view.scale * seen[..., 0] / depth
        y = view.cy - view.scale * seen[..., 1] / depth
        normals = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])
        normals /= np.linalg.norm(normals, axis=1)[:, None]
    to_eye = np.array([0, 0, camera.distance]) - seen.mean(axis=1)
    facing = np.einsum("ij,ij->i", normals, to_eye / np.linalg.norm(to_eye, axis=1)[:, None])
    drawn = np.flatnonzero((depth.min(axis=1) > 0) & (facing > 0))
    if len(drawn) > MAX_HIDDEN:
        before_eye = np.stack([seen[..., 0], seen[..., 1], depth], axis=-1)
        drawn = _not_hidden(drawn, before_eye, glassy, view)
    drawn = drawn[np.argsort(-depth.mean(axis=1)[drawn], kind="stable")]
    light = 0.38 + 0.62 * np.minimum(facing[drawn], 1.0)
    red, green, blue = (colours[drawn] * light[:, None]).astype(int).T.tolist()
    points = np.stack([x, y], axis=-1)[drawn].reshape(-1, 6).tolist()
    marks: list[str] = []
    for r, g, b, p, glass in zip(red, green, blue, points, glassy[drawn].tolist(), strict=True):
        rgb = f"#{r:02x}{g:02x}{b:02x}"
        # a stroke closes the gaps between triangles; half transparent ones would show its overlap
        edge = f'fill-opacity="{GLASS}" stroke="none"' if glass else f'stroke="{rgb}"'
        marks.append(
            f'<polygon points="{p[0]:.1f},{p[1]:.1f} {p[2]:.1f},{p[3]:.1f} {p[4]:.1f},{p[5]:.1f}" '
            f'fill="{rgb}" {edge}/>'
        )
    return "".join(marks)


def _not_hidden(drawn: Array, corners: Array, glassy: Array, view: View) -> Array:
    """The triangles of `drawn` that show in a picture of twice as many pixels each way.

    corners: points before the eye (x, y, depth), (m, 3, 3). Half transparent triangles hide none
    and all stay.
    """
    opaque = drawn[~glassy[drawn]]
    _, nearest, _ = visible(corners[opaque], view.finer(2))
    return np.union1d(opaque[nearest], drawn[glassy[drawn]])
