"""Camera: the point of view that shows a robot whole and upright."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.contacts import HeightField, Plane
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.views.bodies import link_poses
from kinetree.views.parts import Parts
from kinetree.views.raster import View

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
        eye = front - 0.8 * np.cross(up, front) + 0.45 * up
    return eye / np.linalg.norm(eye)


LEVEL = 1e-9  # of 1 - cosine of the slope of a plane that the grid of the floor shows
GLASS = 0.4  # opacity of inertia ellipsoids, as in viewer.js


def view_of(camera: Camera, size: tuple[int, int]) -> View:
    """The projection of a camera onto a picture of (width, height), as in orbit.js."""
    width, height = size
    scale = min(size) / 2 / float(np.tan(OPENING / 2))
    return View(width, height, scale, width / 2, height / 2, camera.distance / 100)
