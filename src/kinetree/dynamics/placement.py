"""Link frames for kernels: z on the axis of the joint, x along the common normal with the next.

A joint of one degree of freedom turns about or slides along z of its frame, so that

    T_pi = (R, p) Rot_z(theta + theta_0) Trans_z(d)

with a constant R about x wherever two axes allow it (the frames of Denavit and Hartenberg). Frames
are chosen from the leaves to the base: the first child decides where on its axis the frame of a
link is and where its x points. Any choice is exact; a good one has many entries 0 and 1. Products
are summed in the order of the index, so that the numbers do not depend on the processor.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, length, times
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import WORLD, Joint, Model
from kinetree.spatial import cross, inverse, pose

ROUNDING = 1e-14  # largest rounding of an exact zero, relative to the size of the robot
# sine between two axes below which their common normal may lie far away and is not used
LEAST_SINE = 0.3


@dataclass(frozen=True, eq=False)
class Placement:
    """Place of a frame on that of its parent: constant R (3, 3), p (3,) and the angle theta_0.

    turn: theta_0 as (cos, sin). X: the frame seen from the link's own frame {i}, (4, 4).
    """

    R: Array
    p: Array
    turn: tuple[float, float]
    X: Array


def place_frames(model: Model) -> list[Placement]:
    """The frame of every link."""
    X: dict[int, Array] = {WORLD: np.eye(4)}
    for i in reversed(model.links):
        X[i] = _frame(model, i, X)
    size = max(1e-3, float(np.abs(model.M_pi[:, :3, 3]).max(initial=0)))
    return [_placed(model, i, X, size) for i in model.links]


def _placed(model: Model, i: int, X: Mapping[int, Array], size: float) -> Placement:
    T = times(inverse(X[model.parent[i]]), model.M_pi[i], X[i])
    R, turn = clean(T[:3, :3]), (1.0, 0.0)
    if _has_axis(model.joints[i]):
        R, turn = _sparse_turn(R)
    return Placement(R, _cleared(T[:3, 3], size), turn, X[i])


def _frame(model: Model, i: int, X: Mapping[int, Array]) -> Array:
    """The frame of a link seen from its own, (4, 4), from that of its first child."""
    joint, M = model.joints[i], model.M_pi[i]
    if not _has_axis(joint):
        return np.eye(4)
    z, point = _axis(joint)
    slides = joint.type == PRISMATIC
    child = next((c for c in model.children[i] if _has_axis(model.joints[c])), None)
    if child is None:  # near the parent's origin, and x an axis of the parent
        near = -times(M[:3, :3].T, M[:3, 3])
        x = M[int(np.abs(times(M[:3, :3], z)).argmin()), :3]
        return _from_axes(x, z, near if slides else point + z * times(z, near - point))
    T = times(model.M_pi[child], X[child])
    z_c, near = T[:3, 2], T[:3, 3]
    normal = cross(z, z_c)
    sine = float(length(normal))
    gap = near - point
    along = times(z, gap)
    if sine > LEAST_SINE and PRISMATIC not in (joint.type, model.joints[child].type):
        along = (along - times(z, z_c) * times(z_c, gap)) / (sine * sine)
    origin = near if slides else point + z * along
    if sine > ROUNDING:
        return _from_axes(normal, z, origin)
    away = near - origin
    is_apart = float(length(away)) > ROUNDING * max(1.0, float(length(near)))
    slide = slides or model.joints[child].type == PRISMATIC
    return _from_axes(away if is_apart and not slide else T[:3, 0], z, origin)


def _from_axes(x: Array, z: Array, origin: Array) -> Array:
    """The frame with z, and with x in the direction of `x` as far as z allows, (4, 4)."""
    x = x / length(x)
    x = x - z * times(z, x)
    x = x / length(x)
    x = _cleared(x, 1.0)
    return pose(np.array([x, cross(z, x), z]).T, origin)


def _has_axis(joint: Joint) -> bool:
    return joint.type in SCREW_TYPES and joint.screw is not None


def _axis(joint: Joint) -> tuple[Array, Array]:
    """Direction and a point of the axis of a joint in the frame of its link, (3,) each."""
    assert joint.screw is not None
    w, v = np.asarray(joint.screw[:3], float), np.asarray(joint.screw[3:], float)
    z = v if joint.type == PRISMATIC else w
    z = z / length(z)
    return z, cross(z, v)


def _sparse_turn(R: Array) -> tuple[Array, tuple[float, float]]:
    """R = R_c Rot_z(theta_0) with a sparse R_c, and theta_0 as (cos, sin).

    x of R_c lies in a coordinate plane or axis.
    """
    z = R[:, 2]
    x = np.eye(3)[int((z == 0).argmax())]
    if z.all():
        normal = np.array([-z[1], z[0], 0.0])
        x = normal / length(normal)
    R_c = clean(np.array([x, cross(z, x), z]).T)
    c, s = clean(times(R_c[:, :2].T, R[:, 0])).tolist()
    return R_c, (c, s)


def seen_from(X: Array, T: Array) -> Array:
    """Pose T of a link's own frame, seen from the frame X of the link."""
    size = max(1e-3, *(float(np.abs(x[:3, 3]).max()) for x in (T, X)))
    seen = times(inverse(X), T)
    return pose(clean(seen[:3, :3]), _cleared(seen[:3, 3], size))


def _cleared(x: Array, size: float) -> Array:
    """The numbers with zeros where only rounding is left."""
    return np.where(np.abs(x) < ROUNDING * size, 0.0, x)


def clean(R: Array) -> Array:
    """Entries of a rotation, at 0, 1 or -1 where only rounding is between."""
    x = _cleared(np.asarray(R, float), 1.0)
    return np.where(np.abs(np.abs(x) - 1) < ROUNDING, np.sign(x), x)
