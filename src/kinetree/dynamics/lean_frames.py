"""Lean frames: every link frame moved onto its joint's axis, its constant rotation made sparse.

A joint of one degree of freedom turns about or slides along z of its lean frame, so that

    T_pi = (R, p) Rot_z(theta + theta_0) Trans_z(d)

with a constant R about x wherever two axes allow it (the frames of Denavit and Hartenberg). Frames
are chosen from the leaves to the base: the first child decides where on its axis the frame of a
link is and where its x points. Wide numbers (`core/wide.py`) are used, so that exact zeros differ
clearly from small numbers on every platform.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.wide import BITS, ONE, Wide, stack, where, wide
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import WORLD, Model
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
    X: Wide


def place_frames(model: Model) -> list[Placement]:
    """The lean frame of every link."""
    M_pi = wide(model.M_pi)
    R, p = _choose_frames(model, M_pi)
    size = max(1e-3, float(np.abs(model.M_pi[:, :3, 3]).max(initial=0)))
    # the lean frame seen from that of the parent: X_p^-1 M_pi X
    parents = np.array(model.parent, int)
    fixed = (parents == WORLD)[:, None]
    R_p = where(fixed[:, None], wide(np.eye(3)), R[parents]).swapaxes(1, 2)
    p_p = where(fixed, wide(np.zeros(3)), p[parents])
    half = R_p @ M_pi[:, :3, :3]
    M, origin = half @ R, _times(R_p, M_pi[:, :3, 3] - p_p) + _times(half, p)
    turned, turns = _sparse_turns(M)
    moves = np.array([joint.type in SCREW_TYPES for joint in model.joints], bool)[:, None]
    R_c = _with_exact_zeros(where(moves[:, None], turned, M))
    p_c = _cleared(origin.astype(float), size)
    turns = _with_exact_zeros(where(moves, turns, wide([1, 0])))
    X = _pose(R, p)
    return [Placement(R_c[i], p_c[i], (c, s), X[i]) for i, (c, s) in enumerate(turns.tolist())]


def _choose_frames(model: Model, M_pi: Wide) -> tuple[Wide, Wide]:
    """Rotation, (links, 3, 3), and origin, (links, 3), of each lean frame in the link's own."""
    axes = _Axes.of(model)
    z, slides = axes.z, axes.slides
    links = np.arange(len(model.links))
    child = np.array([_first(model, i) for i in model.links], int)
    ends = child == links
    R, p = M_pi[child, :3, :3], M_pi[child, :3, 3]
    z_c = _times(R, z[child])
    normal = _cross(z, z_c)
    sine = _norm(normal)
    skewed = ~(sine < wide(ROUNDING_OF_ZERO)) & ~ends & axes.moves
    home, lost = wide(np.zeros((len(links), 3))), slides | ends  # the parent's origin
    home[lost] = -_times(M_pi[lost, :3, :3].swapaxes(1, 2), M_pi[lost, :3, 3])

    # frames at point + along s; a sliding axis passes through any point: the child's origin
    point = where(slides[:, None], home, axes.point)
    along = where(slides[:, None], wide(np.zeros(3)), z)
    for group in _following(child, slides & ~ends):
        point[group] = _times(R[group], point[child[group]]) + p[group]
        along[group] = _times(R[group], along[child[group]])
    crossing = skewed & ~(sine < wide(LEAST_SINE)) & ~slides & ~slides[child]
    cosine, squared = _dot(z, z_c), where(crossing, sine * sine, wide(1))

    def reach(x: Wide) -> Wide:
        """How far x leads along z: to the foot of the common normal where two axes cross."""
        straight = _dot(z, x)
        return where(crossing, (straight - cosine * _dot(x, z_c)) / squared, straight)

    hinges = axes.moves & ~slides
    gap = where(ends[:, None], home, _times(R, point[child]) + p) - point
    a = where(hinges, reach(gap), wide(0))
    b = where(hinges, reach(_times(R, along[child])), wide(slides)) * wide(~ends)
    origin = point + along * _column(_along_children(a, b, child))

    # x: the common normal, the way to a parallel axis, an axis of the parent, or x of the child
    x = wide(np.tile(np.eye(3)[0], (len(links), 1)))
    last, level = ends & axes.moves, hinges & ~slides[child] & ~skewed & ~ends
    facing = np.abs(_dot(M_pi[last, :3, :3], z[last][:, None]).astype(float)).argmin(-1)
    x[last] = M_pi[links[last], facing, :3]
    near = _times(R[level], origin[child[level]]) + p[level]
    away = near - origin[level]
    length = _norm(away)
    far = wide(ROUNDING_OF_ZERO * np.maximum(1.0, _norm(near).astype(float))) < length
    apart = np.zeros(len(links), bool)
    apart[level] = far
    x[apart] = away[far] / _column(length[far])
    x[skewed] = normal[skewed] / _column(sine[skewed])
    waits = axes.moves & ~ends & ~apart & ~skewed
    x[~waits] = _across(x[~waits], z[~waits])
    for group in _following(child, waits):
        x[group] = _across(_times(R[group], x[child[group]]), z[group])
    return stack([x, _cross(z, x), z]), origin


def _along_children(a: Wide, b: Wide, child: Array) -> Wide:
    """s = a + b s_c of every link, where s_c is that of its first child."""
    s, factors = a.units.tolist(), b.units.tolist()
    for i in reversed(range(len(s))):
        if factors[i]:
            s[i] += factors[i] * s[child[i]] >> BITS
    return Wide(np.array(s, object))


def _following(child: Array, waits: Array) -> Iterator[Array]:
    """Links that wait for their children, in groups: the child of each is in a group before."""
    level = [0] * len(child)
    for i in np.flatnonzero(waits)[::-1].tolist():
        level[i] = level[child[i]] + 1
    levels = np.array(level)
    order = np.argsort(levels, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(levels[order])) + 1)[not all(level) :]


@dataclass(frozen=True, eq=False)
class _Axes:
    """The joint axes in the frames of their links: direction z and a point, (links, 3) each.

    moves: the joint has an axis; without one z and the point are those of a joint at rest.
    slides: it is prismatic, and its axis passes through any point.
    """

    moves: Array
    slides: Array
    z: Wide
    point: Wide

    @classmethod
    def of(cls, model: Model) -> "_Axes":
        at_rest = np.array([0, 0, 1, 0, 0, 0])
        screws = [
            None if joint.type not in SCREW_TYPES or joint.screw is None else joint.screw
            for joint in model.joints
        ]
        moves = np.array([screw is not None for screw in screws], bool)
        slides = moves & np.array([joint.type == PRISMATIC for joint in model.joints], bool)
        rows = [at_rest if screw is None else screw for screw in screws]
        S = wide(np.array(rows, np.float64).reshape(-1, 6))
        z = _unit(where(slides[:, None], S[:, 3:], S[:, :3]))
        return cls(moves, slides, z, _cross(z, S[:, 3:]))


def _first(model: Model, i: int) -> int:
    """The first child of a link that has an axis; the link itself if there is none."""
    children = (c for c in model.children[i] if model.joints[c].type in SCREW_TYPES)
    return next(children, i)


def _sparse_turns(R: Wide) -> tuple[Wide, Wide]:
    """R = R_c Rot_z(theta_0), each (links, 3, 3), with a sparse R_c; theta_0 as (cos, sin).

    x of R_c lies in a coordinate plane or axis.
    """
    z = R[:, :, 2]
    level = np.abs(z.astype(float)) < ROUNDING_OF_ZERO
    sparse = np.asarray(level.any(-1))[:, None]
    normal = stack([-z[:, 1], z[:, 0], z[:, 0] - z[:, 0]])
    length = where(sparse, wide(1), _column(_norm(normal)))
    x = where(sparse, wide(np.eye(3))[level.argmax(-1)], normal / length)
    R_c = stack([x, _cross(z, x), z])
    return R_c, _times(R_c[:, :, :2].swapaxes(1, 2), R[:, :, 0])


def seen_from(X: Wide, T: Array) -> Array:
    """Pose T of a link's own frame, seen from the lean frame X of the link, without rounding."""
    R_T, T_wide = X[:3, :3].swapaxes(0, 1), wide(T)
    far = max(float(np.abs(x[:3, 3]).max()) for x in (T, X.astype(float)))
    p = _times(R_T, T_wide[:3, 3] - X[:3, 3])
    return pose(_with_exact_zeros(R_T @ T_wide[:3, :3]), _cleared(p.astype(float), max(1e-3, far)))


def _cleared(x: Array, size: float) -> Array:
    """Doubles with zeros where only rounding is left."""
    return np.where(np.abs(x) < ROUNDING_OF_ZERO * size, 0.0, x)


def _with_exact_zeros(R: Wide) -> Array:
    """Entries of a rotation as doubles, at 0, 1 or -1 where only rounding is between."""
    x = _cleared(R.astype(float), 1.0)
    return np.where(np.abs(np.abs(x) - 1) < ROUNDING_OF_ZERO, np.sign(x), x)


# vectors and poses, stacks of them


def _dot(a: Wide, b: Wide) -> Wide:
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def _norm(x: Wide) -> Wide:
    return _dot(x, x).sqrt()


def _column(x: Wide) -> Wide:
    """One number for each vector of a stack, to multiply the entries of the vector."""
    return x[..., None]


def _unit(x: Wide) -> Wide:
    return x / _column(_norm(x))


def _cross(a: Wide, b: Wide) -> Wide:
    (a_x, a_y, a_z), (b_x, b_y, b_z) = ([v[..., k] for k in range(3)] for v in (a, b))
    return stack([a_y * b_z - a_z * b_y, a_z * b_x - a_x * b_z, a_x * b_y - a_y * b_x])


def _times(R: Wide, x: Wide) -> Wide:
    return (R @ x[..., None])[..., 0]


def _across(x: Wide, z: Wide) -> Wide:
    """The part of x perpendicular to z, of length 1; any such direction if there is none."""
    part = x - z * _column(_dot(z, x))
    short = _norm(part) < wide(1e-3)
    if short.any():
        k = np.abs(z.units).argmin(-1)
        other = wide(np.eye(3))[k] - z * _column(z[np.arange(len(k)), k])
        part = where(short[:, None], other, part)
    return _unit(part)


def _pose(R: Wide, p: Wide) -> Wide:
    T = Wide(np.zeros((*p.shape[:-1], 4, 4), object))
    T[..., :3, :3], T[..., :3, 3], T.units[..., 3, 3] = R, p, ONE
    return T
