"""3-vectors and joint rotations over CasADi symbols, as lists: CasADi folds zeros and ones."""

from collections.abc import Sequence
from typing import Any

Vector = Sequence[Any]
Matrix = Sequence[Vector]


def dot(a: Vector, b: Vector) -> Any:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def add(*terms: Vector) -> Vector:
    """Sum of vectors."""
    return [sum(entries[1:], start=entries[0]) for entries in zip(*terms, strict=True)]


def scale(a: Vector, x: Any) -> Vector:
    """a x."""
    return [entry * x for entry in a]


def apply(A: Matrix, x: Vector) -> Vector:
    """A x."""
    return [dot(row, x) for row in A]


def transpose(A: Matrix) -> Matrix:
    """A^T."""
    return [list(column) for column in zip(*A, strict=True)]


def turn(axis: Vector, cosine: Any, sine: Any, x: Vector) -> Vector:
    """x turned about a constant unit axis; about a coordinate axis only two entries change."""
    for k in range(3):
        if abs(axis[k]) == 1:
            i, j = (k + 1) % 3, (k + 2) % 3
            s = sine * axis[k]
            turned = list(x)
            turned[i], turned[j] = cosine * x[i] - s * x[j], s * x[i] + cosine * x[j]
            return turned
    along = scale(axis, dot(axis, x) * (1 - cosine))
    return add(scale(x, cosine), scale(cross(axis, x), sine), along)


def spin_matrix(w: Vector, dw: Vector) -> Matrix:
    """[dw] + [w]^2, which takes an offset to the acceleration that the rotation gives it."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - dw[2], xz + dw[1]],
        [xy + dw[2], -(xx + zz), yz - dw[0]],
        [xz - dw[1], yz + dw[0], -(xx + yy)],
    ]
