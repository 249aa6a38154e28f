"""Bodies drawn from joints: what a robot looks like when all that is known are its axes."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.spatial.se3 import pose
from kinetree.views.shapes import BASE, BODY, JOINT, Shape

THICK, THIN = 0.032, 0.008  # radius of the thickest and of the thinnest link, in extents
SLENDER = 0.16  # radius of a link over its length


def joint_point(model: Model, i: int) -> Array:
    """The point of joint i's axis nearest to the origin of {i}, in {i}: w x v of A = (w, v)."""
    screw = model.joints[i].screw
    if screw is None:
        return np.zeros(3)
    A = np.asarray(screw, float)
    return np.cross(A[:3], A[3:])


def link_points(model: Model, i: int) -> tuple[Array, list[Array]]:
    """Where link i begins and where its children and its tool hang on, in {i}; else its mass.

    WORLD begins at the origin of {s}. A child on a free joint hangs on nothing.
    """
    start = np.zeros(3) if i == WORLD else joint_point(model, i)
    kids = [c for c in model.children[i] if model.joints[c].type not in (FREE, PLANAR)]
    homes = [(np.asarray(model.M_pi[c], float), joint_point(model, c)) for c in kids]
    ends = [M[:3, :3] @ p + M[:3, 3] for M, p in homes]
    tool = model.frames.get(model.tool)
    if tool is not None and tool.link == i:
        ends.append(np.asarray(tool.T_if, float)[:3, 3])
    far = [end for end in ends if np.linalg.norm(end - start) > 1e-9]
    if not far and not model.children[i] and i != WORLD and float(model.m[i]) > 0:
        far = [np.asarray(model.com[i], float)]
    return start, far


def segments(model: Model) -> Iterator[tuple[int, Array, Array]]:
    """Link, start and end of every stretch of body, in the link's frame."""
    for i in (WORLD, *model.links):
        start, ends = link_points(model, i)
        for end in ends:
            if np.linalg.norm(end - start) > 1e-9:
                yield i, start, end


def girth(model: Model, extent: float) -> float:
    """Radius of the thickest link: slender as most links are, so that dense joints stay apart."""
    lengths = [float(np.linalg.norm(end - start)) for _, start, end in segments(model)]
    usual = float(np.percentile(lengths, 70)) if lengths else extent
    return float(np.clip(SLENDER * usual, THIN * extent, THICK * extent))


def body_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """Capsules from every joint to the joints that hang on its link."""
    thick = girth(model, extent)
    for i, start, end in segments(model):
        length = float(np.linalg.norm(end - start))
        radius = float(np.clip(SLENDER * length, min(THIN * extent, thick), thick))
        label, colour = (model.base_name, BASE) if i == WORLD else (model.link_names[i], BODY)
        yield Shape("capsule", "body", i, along(start, end), (radius, length), colour, label)


def joint_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """A cylinder along a hinge or screw, a block and its rail for a slide, a ball for a ball."""
    radius = girth(model, extent)
    for i in model.links:
        joint = model.joints[i]
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
            yield rail(model, i, axis, extent, 0.25 * radius)
        else:
            axis = np.asarray(joint.screw, float)[:3]
            size = (1.15 * radius, 2.8 * radius)
            yield Shape("cylinder", "joint", i, along(p, p + axis, 0.0), size, JOINT, joint.name)


def rail(model: Model, i: int, axis: Array, extent: float, radius: float) -> Shape:
    """The way of a slide, fixed in the parent: between its limits, or a stretch of it."""
    M = np.asarray(model.M_pi[i], float)
    low, high = travel(model, i)
    low = low if isfinite(low) else -extent / 2
    high = high if isfinite(high) else extent / 2
    start, end = (M[:3, :3] @ (axis * x) + M[:3, 3] for x in (low, max(high, low + 1e-6)))
    length = float(np.linalg.norm(end - start))
    size, name = (radius, length), model.joints[i].name
    return Shape("cylinder", "joint", model.parent[i], along(start, end), size, JOINT, name)


def travel(model: Model, i: int) -> tuple[float, float]:
    """How far joint i goes, rad or m; one that follows another goes where that one lets it."""
    joint = model.joints[i]
    low, high = float(joint.limits.lower), float(joint.limits.upper)
    if joint.follows is None:
        return low, high
    leader = next(x for x in model.joints if x.follows is None and x.coords == joint.coords)
    scale, offset = float(joint.scale), float(joint.offset)
    ends = [scale * float(x) + offset for x in (leader.limits.lower, leader.limits.upper)]
    return max(low, min(ends)), min(high, max(ends))


def along(start: Array, end: Array, middle: float = 0.5) -> Array:
    """Pose with z from `start` to `end`, its origin that share of the way along."""
    z = (end - start) / np.linalg.norm(end - start)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return pose(np.column_stack([x, np.cross(z, x), z]), start + middle * (end - start))
