"""Camera: where to look at a robot from, so that it is seen whole and upright."""

from dataclasses import dataclass

import numpy as np

from kinetree.algorithms import forward_kinematics
from kinetree.base.arrays import Array
from kinetree.description.joints import SCREW_TYPES
from kinetree.model import WORLD, Model
from kinetree.views.parts import Parts

OPENING = 0.6  # angle of view, rad


@dataclass(frozen=True, eq=False)
class Camera:
    """The eye stands at target + distance * eye and sees `up` upward; all in {s}, m.

    floor: height along `up` of the lowest point of the robot.
    """

    target: Array
    eye: Array
    up: Array
    distance: float
    floor: float

    @property
    def axes(self) -> Array:
        """Rows: right, up and backward of the picture in {s}, (3, 3)."""
        right = np.cross(self.up, self.eye)
        right /= np.linalg.norm(right)
        return np.array([right, np.cross(self.eye, right), self.eye])


def link_poses(model: Model, q: Array) -> dict[int, Array]:
    """T_si of all links as floats, and of WORLD."""
    T = np.asarray(forward_kinematics(model, q), float)
    return {WORLD: np.eye(4), **dict(enumerate(T))}


def camera(model: Model, parts: Parts, q: Array, groups: tuple[str, ...]) -> Camera:
    """The camera that sees a robot at all positions q, (k, nq), of which `groups` are drawn."""
    points = [np.zeros((1, 3))]
    drawn = [part for part in parts.parts if part.group in groups]
    for poses in (link_poses(model, row) for row in q):
        for part in drawn:
            A = poses[part.link] @ part.A
            points.append(parts.meshes[part.mesh].vertices @ A[:3, :3].T + A[:3, 3])
    cloud = np.concatenate(points)
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    up = upward(model)
    radius = max(float(np.linalg.norm(high - low)) / 2, 1e-6)
    distance = 1.1 * radius / np.sin(OPENING / 2)
    floor = float((cloud @ up).min())
    eye = direction(model, link_poses(model, q[0]), up)
    return Camera((low + high) / 2, eye, up, distance, floor)


def upward(model: Model) -> Array:
    """Against gravity; z where there is none."""
    g = np.asarray(model.gravity, float)[3:]
    size = np.linalg.norm(g)
    return -g / size if size > 0 else np.array([0.0, 0.0, 1.0])


def direction(model: Model, poses: dict[int, Array], up: Array) -> Array:
    """From the front, a little from the side and above; along the axes of a planar robot."""
    axes = [
        poses[i][:3, :3] @ np.asarray(model.joints[i].screw, float)[:3]
        for i in model.links
        if model.joints[i].type in SCREW_TYPES
    ]
    turning = [a for a in axes if np.linalg.norm(a) > 0]
    parallel = turning and all(abs(abs(a @ turning[0]) - 1) < 1e-6 for a in turning)
    if parallel and abs(turning[0] @ up) < 0.1:
        side = np.cross(up, turning[0])
        sign = 1 if side.sum() >= 0 else -1  # x or y to the right, as in a book
        eye = sign * turning[0] + 0.2 * sign * side + 0.25 * up
    else:
        helper = np.eye(3)[int(np.argmin(np.abs(up)))]
        front = helper - (helper @ up) * up
        front /= np.linalg.norm(front)
        eye = front + 0.7 * np.cross(up, front) + 0.45 * up
    return eye / np.linalg.norm(eye)
