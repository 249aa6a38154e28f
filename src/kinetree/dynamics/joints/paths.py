"""Paths through points of links: their length, and its slopes by the joints.

With u the direction of a segment from point a to point b, and v_d(p) the velocity of a point for a
unit rate of degree of freedom d,

    L = sum of |b - a|,    dL/dq_d = sum of u . (v_d(b) - v_d(a))

Each segment is seen from the last link that carries both of its points, so that joints which move
both do not enter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.frames import chains, frame_motions, point_columns
from kinetree.dynamics.tree import Tree
from kinetree.model import WORLD
from kinetree.model.elements import PathPoint
from kinetree.scalars import Scalar, sqrt, where
from kinetree.spatial import cross


@dataclass(frozen=True, eq=False)
class Axis:
    """A joint axis that moves an end of a segment: the angular velocity w of all behind it.

    d: degree of freedom. end: -1 for the first point, 1 for the last. joint: its place in the chain
    to that end. v: velocity of the end times `end`, for a unit rate.
    """

    d: int
    end: int
    joint: int
    w: Array
    v: Array


@dataclass(frozen=True, eq=False)
class Segment:
    """A straight part of a path: its length, its direction u, and the axes that move its ends.

    Where the ends coincide, there is no direction: u is zero. distance: the length, or 1 there.
    """

    length: Scalar
    distance: Scalar
    u: Array
    axes: list[Axis]

    def arms(self) -> dict[int, Any]:
        """dL/dq by degree of freedom."""
        arms: dict[int, Any] = {}
        for x in self.axes:
            arms[x.d] = self.u @ x.v + arms[x.d] if x.d in arms else self.u @ x.v
        return arms

    def bends(self, n: int) -> Array:
        """d (dL/dq_d) / d q_e, (n, n), where e moves along tangent vectors.

        A turn of an axis e moves the axes behind it along, so that v_d changes by w_e x v_d; an
        axis e behind d moves the point alone.
        """
        H: list[list[Any]] = [[0] * n for _ in range(n)]
        for x in self.axes:
            for y in self.axes:
                across = x.v @ y.v - (self.u @ x.v) * (self.u @ y.v)
                bend = across / self.distance
                if x.end == y.end:
                    first, last = (y, x) if y.joint <= x.joint else (x, y)
                    bend = bend + self.u @ cross(first.w, last.v)
                H[x.d][y.d] = H[x.d][y.d] + bend
        return np.array(H).reshape(n, n)


def segments(tree: Tree, points: Sequence[PathPoint]) -> list[Segment]:
    """The segments of a path at a position; the tree is in the frames of the model."""
    return [_segment(tree, first, last) for first, last in pairwise(points)]


def path_length(parts: Sequence[Segment]) -> tuple[Any, dict[int, Any]]:
    """L of a path, and dL/dq by degree of freedom."""
    arms: dict[int, Any] = {}
    for part in parts:
        for d, arm in part.arms().items():
            arms[d] = arms[d] + arm if d in arms else arm
    return sum((x.length for x in parts[1:]), parts[0].length), arms


def _segment(tree: Tree, first: PathPoint, last: PathPoint) -> Segment:
    ends: list[Array] = []
    axes: list[Axis] = []
    both = zip((-1, 1), (first, last), chains(tree, first.link, last.link), strict=True)
    for end, point, chain in both:
        frames = frame_motions(tree, None, chain)
        p = frames[chain[-1] if chain else WORLD].at(np.array(point.at)).p
        ends.append(p)
        for place, i in enumerate(chain):
            moving = point_columns(tree, frames, [i], p)
            axes += [Axis(d, end, place, w, v * end) for d, w, v in moving]
    along = ends[1] - ends[0]
    squared = along @ along
    distance = sqrt(where(squared, squared, 1))
    return Segment(where(squared, distance, 0), distance, along / distance, axes)
