"""Bodies drawn from joints: what a robot looks like when all that is known are its axes."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from kinetree.arrays import Array
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.spatial.se3 import pose
from kinetree.views.shapes import BASE, BODY, JOINT, Shape

THICK, THIN = 0.032, 0.008  # radius of the largest and of the smallest link, in extents


def joint_point(model: Model, i: int) -> Array:
    """The point of joint i's axis nearest to the origin of {i}, in {i}: w x v of A = (w, v)."""
    screw = model.joints[i].screw
    if screw is None:
        return np.zeros(3)
    A = np.asarray(screw, float)
    return np.cross(A[:3], A[3:])


def link_points(model: Model, i: int) -> tuple[Array, list[Array]]:
    """Where link i begins and where its children (or its tool, or its mass) hang on, in {i}.

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
    if not far and i != WORLD and float(model.m[i]) > 0:
        far = [np.asarray(model.com[i], float)]
    return start, far


def body_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """Capsules from every joint to the joints that hang on its link."""
    for i in (WORLD, *model.links):
        start, ends = link_points(model, i)
        label = model.base_name if i == WORLD else model.link_names[i]
        for end in ends:
            length = float(np.linalg.norm(end - start))
            if length < 1e-9:
                continue
            radius = float(np.clip(0.16 * length, THIN * extent, THICK * extent))
            T = along(start, end)
            colour = BASE if i == WORLD else BODY
            yield Shape("capsule", "body", i, T, (radius, length), colour, label)


def joint_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """A cylinder along a hinge or screw, a block and its rail for a slide, a ball for a ball."""
    radius = THICK * extent
    for i in model.links:
        joint = model.joints[i]
        if joint.type in (FREE, PLANAR):
            continue
        p = joint_point(model, i)
        if joint.type == SPHERICAL:
            T = pose(np.eye(3), p)
            yield Shape("sphere", "joint", i, T, (1.5 * radius,), JOINT, joint.name)
        elif joint.type == PRISMATIC:
            axis = np.asarray(joint.screw, float)[3:]
            edges = (2.6 * radius, 2.6 * radius, 3.2 * radius)
            yield Shape("box", "joint", i, along(p, p + axis, 0.0), edges, JOINT, joint.name)
            yield rail(model, i, axis, extent)
        else:
            axis = np.asarray(joint.screw, float)[:3]
            size = (1.3 * radius, 3.2 * radius)
            yield Shape("cylinder", "joint", i, along(p, p + axis, 0.0), size, JOINT, joint.name)


def rail(model: Model, i: int, axis: Array, extent: float) -> Shape:
    """The way of a slide, fixed in the parent: between its limits, or a stretch of it."""
    limits, M = model.joints[i].limits, np.asarray(model.M_pi[i], float)
    low = limits.lower if isfinite(limits.lower) else -extent / 2
    high = limits.upper if isfinite(limits.upper) else extent / 2
    ends = [M[:3, :3] @ (axis * x) + M[:3, 3] for x in (low, max(high, low + 1e-6))]
    length = float(np.linalg.norm(ends[1] - ends[0]))
    size, name = (0.25 * THICK * extent, length), model.joints[i].name
    return Shape("cylinder", "joint", model.parent[i], along(*ends), size, JOINT, name)


def along(start: Array, end: Array, middle: float = 0.5) -> Array:
    """Pose with z from `start` to `end`, its origin that share of the way along."""
    z = (end - start) / np.linalg.norm(end - start)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return pose(np.column_stack([x, np.cross(z, x), z]), start + middle * (end - start))
