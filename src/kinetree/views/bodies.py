"""Shapes made from the model alone: bodies between joints, joints, inertia ellipsoids, frames.

A robot without visuals, such as one from a table of screws, is drawn with these.
"""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import forward_kinematics
from kinetree.engine.kernels.memo import remembered
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import second_moment
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import cross
from kinetree.views.loops import tied_points
from kinetree.views.shapes import AXES, BASE, BODY, HOUSING, INERTIA, JOINT, Shape

THICK, THIN = 0.032, 0.008  # radius of the thickest and of the thinnest link, in extents
SLENDER = 0.16  # radius of a link over its length
TAPER = 0.4  # how much thinner the last link of the longest chain is than the base
SMALLEST = 0.006  # semi-axis in extents: point masses, thin rods and flat plates stay visible


def link_poses(model: Model, q: Array) -> dict[int, Array]:
    """T_si of every link at q, and of WORLD, as floats; the last ones are remembered."""
    at, known = np.asarray(q, float).tobytes(), model.memo.get("poses of a view")
    if known is None or known[0] != at:  # scene, camera and picture are mostly of one position
        T = np.asarray(forward_kinematics(model, q), float)
        known = at, {WORLD: np.eye(4), **dict(enumerate(T))}
        model.memo["poses of a view"] = known
    return dict(known[1])


def joint_point(model: Model, i: int) -> Array:
    """Point of joint i's axis nearest to the origin of {i}, in {i}: w x v of A = (w, v)."""
    screw = model.joints[i].screw
    if screw is None:
        return np.zeros(3)
    A = np.asarray(screw, float)
    return cross(A[:3], A[3:])


def link_points(model: Model, i: int) -> tuple[Array, list[Array]]:
    """Start of link i, and the points where its children, tool and constraints act, in {i}.

    A last link without a tool ends beyond its centre of mass. WORLD starts at the origin of {s}.
    Children on free and planar joints are not attached to a point.
    """
    start = np.zeros(3) if i == WORLD else joint_point(model, i)
    kids = [c for c in model.children[i] if model.joints[c].type not in (FREE, PLANAR)]
    homes = [(np.asarray(model.M_pi[c], float), joint_point(model, c)) for c in kids]
    ends = [M[:3, :3] @ p + M[:3, 3] for M, p in homes]
    tool = None if model.tool is None else model.frame()
    if tool is not None and tool.link == i:
        ends.append(np.asarray(tool.T_if, float)[:3, 3])
    ends += tied_points(model, i)
    far = [end for end in ends if np.linalg.norm(end - start) > 1e-9]
    if not far and not model.children[i] and i != WORLD and float(model.m[i]) > 0:
        far = [2 * np.asarray(model.com[i], float) - start]  # as of a uniform rod
    return start, far


def segments(model: Model) -> tuple[tuple[int, Array, Array], ...]:
    """Link, start and end of every straight piece of body, in the link's frame."""
    return remembered(model, ("views", "segments"), lambda: tuple(_segments(model)))


def _segments(model: Model) -> Iterator[tuple[int, Array, Array]]:
    for i in (WORLD, *model.links):
        start, ends = link_points(model, i)
        for end in ends:
            if np.linalg.norm(end - start) > 1e-9:
                yield i, start, end


def girth(model: Model, extent: float) -> float:
    """Radius of the thickest link: a share of the usual link length, so that joints stay apart."""
    lengths = [float(np.linalg.norm(end - start)) for _, start, end in segments(model)]
    usual = float(np.percentile(lengths, 70)) if lengths else extent
    return float(np.clip(SLENDER * usual, THIN * extent, THICK * extent))


def taper(model: Model, i: int) -> float:
    """Factor on the girth of link i: 1 at the base, 1 - TAPER at the end of the longest chain."""
    depths: dict[int, int] = {WORLD: 0}
    for k in model.links:
        depths[k] = depths[model.parent[k]] + 1
    return 1 - TAPER * depths[i] / max(1, *depths.values())


def body_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """Capsules from every joint to the joints of the link's children, and boxes for trunks."""
    thick, pieces = girth(model, extent), segments(model)
    for i in (WORLD, *model.links):
        own, radius = [x for x in pieces if x[0] == i], taper(model, i) * thick
        label, colour = (model.base_name, BASE) if i == WORLD else (model.link_names[i], BODY)
        if i != WORLD and len(own) > 2:
            points = np.array([own[0][1], *(end for _, _, end in own)])
            low, high = points.min(axis=0) - 1.2 * radius, points.max(axis=0) + 1.2 * radius
            a, b, c = (high - low).tolist()
            T = pose(np.eye(3), (low + high) / 2)
            yield Shape("box", "body", i, T, (a, b, c), colour, label)
            continue
        if i == WORLD and len(own) == 1:  # the foot of an arm
            _, start, end = own[0]
            flat = (1.9 * radius, 0.6 * radius)
            yield Shape("cylinder", "body", i, along(start, end, 0.0), flat, colour, label)
        for _, start, end in own:
            length = float(np.linalg.norm(end - start))
            width = float(np.clip(SLENDER * length, min(THIN * extent, radius), radius))
            yield Shape("capsule", "body", i, along(start, end), (width, length), colour, label)


def joint_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """Housings with two rings for hinges, boxes on rails for slides, balls for others."""
    thick = girth(model, extent)
    for i in model.links:
        joint, radius = model.joints[i], taper(model, i) * thick
        if joint.type in (FREE, PLANAR):
            continue
        p = joint_point(model, i)
        if joint.type == SPHERICAL:
            T = pose(np.eye(3), p)
            yield Shape("sphere", "joint", i, T, (1.4 * radius,), JOINT, joint.name)
        elif joint.type == PRISMATIC:
            axis = np.asarray(joint.screw, float)[3:]
            edges = (2.6 * radius, 2.6 * radius, 3.2 * radius)
            yield Shape("box", "joint", i, along(p, p + axis, 0.0), edges, JOINT, joint.name)
            if has_rail(model, i):
                yield rail(model, i, axis, extent, 0.25 * radius)
        else:
            axis = np.asarray(joint.screw, float)[:3]
            size, ring = (1.15 * radius, 2.7 * radius), (1.2 * radius, 0.3 * radius)
            yield Shape("cylinder", "joint", i, along(p, p + axis, 0.0), size, HOUSING, joint.name)
            for place in (-1.21 * radius, 1.21 * radius):
                T = along(p, p + axis, place)
                yield Shape("cylinder", "joint", i, T, ring, JOINT, joint.name)


def has_rail(model: Model, i: int) -> bool:
    """False for an endless slide of a massless link: coordinates of a body, and not a machine part.

    The platform of a parallel robot moves along x, y and z by such slides.
    """
    p = model.parent[i]
    massless = float(model.m[i]) == 0 or (p != WORLD and float(model.m[p]) == 0)
    return not massless or all(map(isfinite, travel(model, i)))


def rail(model: Model, i: int, axis: Array, extent: float, radius: float) -> Shape:
    """Rail of a prismatic joint, fixed in the parent, between its limits or of one extent."""
    M = np.asarray(model.M_pi[i], float)
    low, high = travel(model, i)
    low = low if isfinite(low) else -extent / 2
    high = high if isfinite(high) else extent / 2
    start, end = (M[:3, :3] @ (axis * x) + M[:3, 3] for x in (low, max(high, low + 1e-6)))
    length = float(np.linalg.norm(end - start))
    size, name = (radius, length), model.joints[i].name
    return Shape("cylinder", "joint", model.parent[i], along(start, end), size, JOINT, name)


def travel(model: Model, i: int) -> tuple[float, float]:
    """Range of joint i, rad or m; for a mimic joint also limited by the joint that it follows."""
    joint = model.joints[i]
    low, high = float(joint.limits.lower), float(joint.limits.upper)
    if joint.follows is None:
        return low, high
    leader = next(x for x in model.joints if x.follows is None and x.coords == joint.coords)
    scale, offset = float(joint.scale), float(joint.offset)
    ends = [scale * float(x) + offset for x in (leader.limits.lower, leader.limits.upper)]
    return max(low, min(ends)), min(high, max(ends))


def along(start: Array, end: Array, middle: float = 0.5) -> Array:
    """Pose with z from `start` to `end` and its origin at start + middle * (end - start)."""
    z = (end - start) / np.linalg.norm(end - start)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = cross(helper, z)
    x /= np.linalg.norm(x)
    return pose(np.column_stack([x, cross(z, x), z]), start + middle * (end - start))


def equivalent_ellipsoid(m: Scalar, com: Array, I_com: Array) -> tuple[Array, Array]:
    """Pose and semi-axes (3,) of the uniform ellipsoid with this mass and inertia.

    Its second moments about the centre are m a_k^2 / 5 along axis k, so a_k = sqrt(5 sigma_k / m)
    of the eigenvalues sigma_k of tr(I)/2 - I. An impossible inertia gives an axis of length zero.
    """
    sigma, R = np.linalg.eigh(second_moment(np.asarray(I_com, float)))
    if np.linalg.det(R) < 0:
        R[:, 0] = -R[:, 0]
    axes = np.sqrt(5 * np.maximum(sigma, 0) / float(m))
    return pose(R, np.asarray(com, float)), axes


def inertia_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """The uniform ellipsoid of the same mass and inertia, for the base and every link with mass."""
    bodies = [(WORLD, model.base_name, *model.base)]
    parts = zip(model.link_names, model.m, model.com, model.I_com, strict=True)
    bodies += [(i, *body) for i, body in enumerate(parts)]
    for i, name, m, com, I_com in bodies:
        if float(m) > 0:
            T, axes = equivalent_ellipsoid(m, com, I_com)
            a, b, c = np.maximum(axes, SMALLEST * extent).tolist()
            yield Shape("ellipsoid", "inertia", i, T, (a, b, c), INERTIA, name)


def frame_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """The space frame {s} and the tool frame, if there is one."""
    size = (0.12 * extent,)
    yield Shape("frame", "frame", WORLD, np.eye(4), size, AXES[2], "{s}")
    if model.tool is not None:
        tool = model.frame()
        T_if = np.asarray(tool.T_if, float)
        yield Shape("frame", "frame", tool.link, T_if, size, AXES[2], model.tool)
