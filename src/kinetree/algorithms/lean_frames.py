"""Lean frames: every link frame moved onto its joint's axis, its constant rotation made sparse.

A joint of one degree of freedom turns about or slides along z of its lean frame, so that

    T_pi = (R, p) Rot_z(theta + theta_0) Trans_z(d)

with a constant R about x wherever two axes allow it (the frames of Denavit and Hartenberg). Frames
are chosen from the leaves to the base: the first child decides where on its axis the frame of a
link is and where its x points. Wide numbers (`base/wide.py`) are used, so that exact zeros differ
clearly from small numbers on every platform.
"""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.later import dataclass
from kinetree.base.wide import ONE, Wide, wide, wide_product
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import WORLD, Model
from kinetree.scalars import Scalar
from kinetree.spatial import pose

ROUNDING_OF_ZERO = 1e-15  # largest rounding of an exact zero, relative to the size of the robot
# sine between two axes below which their common normal may lie far away and is not used
LEAST_SINE = 0.3


@dataclass(frozen=True, eq=False)
class Placement:
    """Place of a lean frame on its parent: constant R (3, 3), p (3,) and the angle theta_0.

    turn: theta_0 as (cos, sin). X: the lean frame seen from the link's own frame {i}, (4, 4).
    """

    R: Array
    p: Array
    turn: tuple[float, float]
    X: Array


def place_frames(model: Model) -> list[Placement]:
    """The lean frame of every link."""
    M_pi = wide(model.M_pi)
    X = _choose_frames(model, M_pi)
    size = max(1e-3, float(np.abs(model.M_pi[:, :3, 3]).max(initial=0)))
    home = wide(np.eye(4))
    seen = [home if p == WORLD else X[p] for p in model.parent]
    parents = np.array(seen, object).reshape(-1, 4, 4)
    M = wide_product(wide_product(_inverse(parents), M_pi), X)
    turned, turns = _sparse_turns(M[:, :3, :3])
    moves = np.array([joint.type in SCREW_TYPES for joint in model.joints], bool)
    R = _with_exact_zeros(np.where(moves[:, None, None], turned, M[:, :3, :3]))
    turns = _with_exact_zeros(np.where(moves[:, None], turns, wide(np.array([1, 0]))))
    p = _cleared(M[:, :3, 3].astype(np.float64), size)
    return [Placement(R[i], p[i], (c, s), X[i]) for i, (c, s) in enumerate(turns.tolist())]


def _choose_frames(model: Model, M_pi: Array) -> Array:
    """Pose of each lean frame in the link's own frame, (links, 4, 4), leaves first.

    Everything that does not depend on the frames of children is computed for all links at once.
    """
    axes = _Axes.of(model)
    x, origin = wide(np.zeros((2, len(model.links), 3)))
    x[:, 0] = Wide(ONE)
    child = [_first(model, i) for i in model.links]
    c = np.array([i if k is None else k for i, k in enumerate(child)], int)
    z, z_c = axes.z, _times(M_pi[c, :3, :3], axes.z[c])
    normal = _cross(z, z_c)
    sine = _norm(normal)
    skewed = sine >= ROUNDING_OF_ZERO
    across = _across(np.where(skewed[:, None], normal / np.where(skewed, sine, 1)[:, None], x), z)
    for i in reversed(model.links):
        if not axes.moves[i]:
            continue
        point = None if axes.slides[i] else axes.point[i]
        k = child[i]
        if k is None:
            x[i], origin[i] = _free_end(z[i], point, M_pi[i])
            continue
        R, p = M_pi[k, :3, :3], M_pi[k, :3, 3]
        o_c = _times(R, origin[k]) + p
        if skewed[i]:
            x[i] = across[i]
            origin[i] = _toward(z[i], point, z_c[i], o_c, sine[i], axes.slides[k])
        else:
            x[i], origin[i] = _beside(z[i], point, _times(R, x[k]), o_c, axes.slides[k])
    return _pose(np.stack([x, _cross(z, x), z], -1), origin)


@dataclass(frozen=True, eq=False)
class _Axes:
    """The joint axes in the frames of their links: direction z and a point, (links, 3) each.

    moves: the joint has an axis; without one z and the point are those of a joint at rest.
    slides: it is prismatic, and its axis passes through any point.
    """

    moves: list[bool]
    slides: list[bool]
    z: Array
    point: Array

    @classmethod
    def of(cls, model: Model) -> "_Axes":
        at_rest = np.array([0, 0, 1, 0, 0, 0])
        screws = [
            None if joint.type not in SCREW_TYPES or joint.screw is None else joint.screw
            for joint in model.joints
        ]
        slides = [joint.type == PRISMATIC for joint in model.joints]
        rows = [at_rest if screw is None else screw for screw in screws]
        S = wide(np.array(rows, np.float64).reshape(-1, 6))
        along = np.array(slides, bool) & np.array([screw is not None for screw in screws], bool)
        z = _unit(np.where(along[:, None], S[:, 3:], S[:, :3]))
        return cls([screw is not None for screw in screws], slides, z, _cross(z, S[:, 3:]))


def _first(model: Model, i: int) -> int | None:
    """The first child of a link that has an axis."""
    children = (c for c in model.children[i] if model.joints[c].type in SCREW_TYPES)
    return next(children, None)


def _toward(
    z: Array, point: Array | None, z_c: Array, o_c: Array, sine: Scalar, child_slides: bool
) -> Array:
    """Origin on the axis (point, z) near a child whose axis z_c is not parallel.

    o_c is the child's origin at rest. The axis of a sliding joint passes through any point: it goes
    through the child's origin.
    """
    if point is None:
        return o_c
    gap = o_c - point
    if sine < LEAST_SINE or child_slides:
        return point + z * _dot(z, gap)
    along = (_dot(gap, z) - _dot(z, z_c) * _dot(gap, z_c)) / (sine * sine)
    return point + z * along  # foot of the common normal of the two axes


def _beside(
    z: Array, point: Array | None, x_c: Array, o_c: Array, child_slides: bool
) -> tuple[Array, Array]:
    """x and origin on the axis (point, z) near a child with a parallel axis; x_c is its x."""
    if point is None:
        return _across(x_c, z), o_c
    foot = point + z * _dot(z, o_c - point)
    away = o_c - foot
    length = _norm(away)
    apart = length > ROUNDING_OF_ZERO * max(1.0, float(_norm(o_c))) and not child_slides
    return _across(away / length if apart else x_c, z), foot


def _free_end(z: Array, point: Array | None, M: Array) -> tuple[Array, Array]:
    """x and origin of a link without children: nearest to its parent's axes."""
    home = -_times(M[:3, :3].T, M[:3, 3])  # the parent's origin
    start = wide(np.zeros(3)) if point is None else point
    candidates = [M[:3, :3].T[:, k] for k in range(3)]
    x = min(candidates, key=lambda axis: abs(float(_dot(axis, z))))
    return _across(x, z), start + z * _dot(z, home - start) if point is not None else home


def _sparse_turns(R: Array) -> tuple[Array, Array]:
    """R = R_c Rot_z(theta_0), each (links, 3, 3), with a sparse R_c; theta_0 as (cos, sin).

    x of R_c lies in a coordinate plane or axis.
    """
    z = R[:, :, 2]
    level = np.abs(z.astype(np.float64)) < ROUNDING_OF_ZERO
    sparse = np.asarray(level.any(-1))[:, None]
    axes = wide(np.eye(3))
    normal = _cross(np.broadcast_to(axes[2], z.shape), z)
    length = np.where(sparse, 1, _norm(normal)[:, None])
    x = np.where(sparse, axes[level.argmax(-1)], normal / length)
    R_c = np.stack([x, _cross(z, x), z], -1)
    turned = wide_product(R_c.swapaxes(1, 2), R)
    return R_c, turned[:, :2, 0]


def seen_from(X: Array, T: Array) -> Array:
    """Pose T of a link's own frame, seen from the lean frame X of the link, without rounding."""
    seen = wide_product(_inverse(wide(X)), wide(T.astype(np.float64)))
    far = max(float(np.abs(x[:3, 3]).max()) for x in (T, X))
    size = max(1e-3, far)
    p = _cleared(seen[:3, 3].astype(np.float64), size)
    return pose(_with_exact_zeros(seen[:3, :3]), p)


def _cleared(x: Array, size: float) -> Array:
    """Doubles with zeros where only rounding is left."""
    return np.where(np.abs(x) < ROUNDING_OF_ZERO * size, 0.0, x)


def _with_exact_zeros(R: Array) -> Array:
    """Entries of a rotation as doubles, at 0, 1 or -1 where only rounding is between."""
    R = _cleared(R.astype(np.float64), 1.0)
    return np.where(np.abs(np.abs(R) - 1) < ROUNDING_OF_ZERO, np.sign(R), R)


# vectors and poses, one or a stack of them; a sum of three products has one order everywhere


def _dot(a: Array, b: Array) -> Any:
    # begins at 0 like the sums of NumPy, so that it is never -0
    return 0 + a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def _norm(x: Array) -> Any:
    return np.sqrt(_dot(x, x))


def _column(x: Any) -> Array:
    """A number, or one of each vector of a stack, that multiplies the entries of the vector."""
    return np.asarray(x, object)[..., None]


def _unit(x: Array) -> Array:
    return x / _column(_norm(x))


def _cross(a: Array, b: Array) -> Array:
    (a_x, a_y, a_z), (b_x, b_y, b_z) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack([a_y * b_z - a_z * b_y, a_z * b_x - a_x * b_z, a_x * b_y - a_y * b_x], -1)


def _times(R: Array, x: Array) -> Array:
    return wide_product(R, x[..., None])[..., 0]


def _across(x: Array, z: Array) -> Array:
    """The part of x perpendicular to z, of length 1; any such direction if there is none."""
    part = x - z * _column(_dot(z, x))
    short = np.asarray(_norm(part) < 1e-3)
    if short.any():
        k = np.argmin(np.abs(z), -1)[..., None]
        other = wide(np.eye(3))[k[..., 0]] - z * np.take_along_axis(z, k, -1)
        part = np.where(short[..., None], other, part)
    return _unit(part)


def _pose(R: Array, p: Array) -> Array:
    T = wide(np.zeros((*p.shape[:-1], 4, 4)))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, Wide(ONE)
    return T


def _inverse(T: Array) -> Array:
    R_T = T[..., :3, :3].swapaxes(-1, -2)
    return _pose(R_T, -_times(R_T, T[..., :3, 3]))
