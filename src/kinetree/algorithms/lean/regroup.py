"""Regrouping: mass moments that only the parent feels are handed to it, from the leaves inward.

Mass on the axis of a revolute joint does not move when the joint turns, so a link's m, h_z and
Sigma_zz (a line of mass along its axis with the same moments) may sit on the parent instead. A
sliding link turns with its parent, so all of its Sigma may. What reaches the fixed base is felt by
no joint and is dropped. Joint forces, M, C and g are unchanged; 13 to 17 per cent of the operations
go.
"""

from dataclasses import replace

import numpy as np

from kinetree.algorithms.lean.frames import WIDE
from kinetree.algorithms.lean.model import LeanModel, Moments
from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, REVOLUTE
from kinetree.model import WORLD


def regroup(lean: LeanModel) -> LeanModel:
    """The same joint forces from fewer numbers."""
    moments = [link.moments for link in lean.links]
    for i in reversed(range(len(lean.links))):
        link = lean.links[i]
        R, p = _wide(link.place.R), _wide(link.place.p)
        if link.kind == REVOLUTE:
            moments[i], line = split_line(moments[i])
            handed = line_in_parent(line, R, p)
        elif link.kind == PRISMATIC:
            handed = Moments(0, np.zeros(3, int), _turn(moments[i].Sigma, R, link.place.turn))
            moments[i] = Moments(moments[i].m, moments[i].h, np.zeros((3, 3), int))
        else:
            continue
        if link.parent != WORLD:
            moments[link.parent] = moments[link.parent] + handed
    links = tuple(
        replace(link, moments=to_double(x)) for link, x in zip(lean.links, moments, strict=True)
    )
    return replace(lean, links=links)


def split_line(x: Moments) -> tuple[Moments, Moments]:
    """A link without m, h_z and Sigma_zz, and a line of mass on z that has just these."""
    h, S = x.h, x.Sigma
    rest = Moments(
        0,
        np.array([h[0], h[1], 0]),
        np.array([[S[0, 0], S[0, 1], S[0, 2]], [S[1, 0], S[1, 1], S[1, 2]], [S[2, 0], S[2, 1], 0]]),
    )
    line = np.zeros((3, 3), int).astype(S.dtype)
    line[2, 2] = S[2, 2]
    return rest, Moments(x.m, np.array([0, 0, h[2]]), line)


def line_in_parent(line: Moments, R: Array, p: Array) -> Moments:
    """A line of mass on z of the child, in the parent's frame, whatever the joint's angle."""
    z, h_z = R[:, 2], line.h[2]
    mixed = np.outer(p, z) * h_z
    Sigma = np.outer(z, z) * line.Sigma[2, 2] + mixed + mixed.T + np.outer(p, p) * line.m
    return Moments(line.m, p * line.m + z * h_z, Sigma)


def to_double(x: Moments) -> Moments:
    """Numbers rounded to float64, once; traced scalars as they are."""

    def rounded(a: Array) -> Array:
        return a.astype(np.float64) if a.dtype.kind in "if" else a

    m = float(x.m) if isinstance(x.m, float | int | np.floating) else x.m
    return Moments(m, rounded(np.asarray(x.h)), rounded(np.asarray(x.Sigma)))


def _turn(Sigma: Array, R: Array, turn: tuple[float, float]) -> Array:
    c, s = turn
    R = R @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    turned = R @ Sigma @ R.T
    return np.array([[turned[min(a, b), max(a, b)] for b in range(3)] for a in range(3)])


def _wide(x: Array) -> Array:
    return x.astype(WIDE)
