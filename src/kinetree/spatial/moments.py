"""Mass moments of a body in a frame: m, h = m c and Sigma, the integral of x x^T dm.

Moments of bodies that move together add up, and change of frame is linear in them. The inertia
about the frame's origin is tr(Sigma) - Sigma.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import second_moment
from kinetree.spatial.so3 import cross


@dataclass(frozen=True, eq=False)
class Moments:
    """Mass m, first moment h = m c (3,), second moment Sigma (3, 3), of scalars of any kind."""

    m: Scalar
    h: Array
    Sigma: Array

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.m + other.m, self.h + other.h, self.Sigma + other.Sigma)

    def momentum(self, w: Array, l: Array) -> tuple[Array, Array]:
        """Linear and angular momentum for a twist (w, l) at the frame's origin."""
        S = self.Sigma
        I = np.array(
            [
                [S[1, 1] + S[2, 2], -S[0, 1], -S[0, 2]],
                [-S[0, 1], S[0, 0] + S[2, 2], -S[1, 2]],
                [-S[0, 2], -S[1, 2], S[0, 0] + S[1, 1]],
            ]
        )
        return l * self.m + cross(w, self.h), I @ w + cross(self.h, l)


def moments_of(m: Scalar, com: Array, I_com: Array) -> Moments:
    """Moments about the origin, from mass, centre of mass and inertia about the centre of mass."""
    return Moments(m, com * m, second_moment(I_com) + np.outer(com, com) * m)


def mirrored(S: Array) -> Array:
    """A symmetric matrix from its entries on and above the diagonal, each computed once."""
    return np.array([[S[min(a, b), max(a, b)] for b in range(3)] for a in range(3)])


def rotated(S: Array, R: Array) -> Array:
    """R S R^T of a symmetric S, (3, 3), each entry and its mirror image computed once."""
    half = R @ S
    return np.array([[half[min(a, b)] @ R[max(a, b)] for b in range(3)] for a in range(3)])
