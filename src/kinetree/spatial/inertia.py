"""Inertia: G about any frame, its parts, composition, conditions on real bodies, simple shapes.

Matrices are written with whole numbers, so that symbols for mass and size stay exact.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, known, scalar, times
from kinetree.errors import InertiaError
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import Ad, block
from kinetree.spatial.so3 import cross, skew, unskew

BodyParts: TypeAlias = tuple[Scalar, Array, Array]  # m, com, I_com in one frame


def spatial_inertia(m: Scalar, com: Array, I_com: Array) -> Array:
    """G about the frame's origin, shape (6, 6), of mass, centre and inertia about the centre.

    Steiner: I = I_com + m [com] [com]^T; all in the axes of the frame.

    Args:
        m: mass, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2.
    """
    c = skew(com)
    return block(I_com + m * times(c, c.T), m * c, m * c.T, m * np.eye(3, dtype=int))


def inertia_parts(G: Array) -> BodyParts:
    """m, com, I_com of a spatial inertia; the centre of a massless body is the origin.

    Args:
        G: spatial inertia, shape (6, 6), kg m^2, kg m and kg.
    """
    m = G[3, 3]
    h = unskew(G[:3, 3:])
    com = h / m if m != 0 else h * 0
    c = skew(com)
    return m, com, G[:3, :3] - m * times(c, c.T)


def transform_inertia(G_b: Array, T_ba: Array) -> Array:
    """G about frame {a} of a body whose G about {b} is known: Steiner's theorem in general form.

    G_a = Ad(T_ba)^T G_b Ad(T_ba).

    Args:
        G_b: spatial inertia about {b}, shape (6, 6), kg m^2, kg m and kg.
        T_ba: pose of {a} in {b}, shape (4, 4), position in m.
    """
    X = Ad(T_ba)
    return times(X.T, G_b, X)


def move_body(m: Scalar, com: Array, I_com: Array, T_ab: Array) -> BodyParts:
    """A body given in {b}, seen from {a}: its centre moves, its inertia turns.

    Args:
        m: mass, kg.
        com: centre of mass in {b}, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of {b}, shape (3, 3), kg m^2.
        T_ab: pose of {b} in {a}, shape (4, 4), position in m.
    """
    R, p = T_ab[:3, :3], T_ab[:3, 3]
    return m, times(R, com) + p, symmetric(times(R, I_com, R.T))


def compose(*bodies: BodyParts) -> BodyParts:
    """One rigid body (m, com, I_com) made of several, all in one frame.

    The inertia is summed about the common centre, so a far-off origin costs no digits.

    Args:
        bodies: (m, com, I_com) of each body: kg, shape (3,) in m, shape (3, 3) in kg m^2.
    """
    if len(bodies) == 1:
        return bodies[0]
    m = bodies[0][0]
    for body in bodies[1:]:  # `sum` of Python 3.12 corrects the rounding of floats
        m = m + body[0]
    h = sum((body[0] * body[1] for body in bodies), np.zeros(3, int))
    com = h / m if m != 0 else h * 0
    I = np.zeros((3, 3), int)
    for m_k, com_k, I_k in bodies:
        d = skew(com_k - com)
        I = I + I_k + m_k * times(d, d.T)
    return m, com, I


def second_moment(I: Array) -> Array:
    """Integral of x x^T dm from the inertia about the same point: tr(I)/2 - I.

    Args:
        I: inertia about a point, shape (3, 3), kg m^2.
    """
    return np.eye(3, dtype=int) * (I[0, 0] + I[1, 1] + I[2, 2]) / 2 - I


def pseudo_inertia(m: Scalar, com: Array, I_com: Array) -> Array:
    """Integral of (x, 1)(x, 1)^T dm, shape (4, 4); positive definite exactly for real bodies.

    Args:
        m: mass, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2.
    """
    h = m * com
    Sigma = second_moment(I_com) + m * np.outer(com, com)
    return np.array([[*Sigma[k], h[k]] for k in range(3)] + [[*h, m]])


def symmetric(I: Array) -> Array:
    """The symmetric part, to clear rounding after a change of axes."""
    return (I + I.T) / 2


def check_body(m: Scalar, com: ArrayLike, I_com: ArrayLike, name: str) -> BodyParts:
    """Mass, centre and inertia as numbers of the right shape, the inertia symmetric.

    Args:
        m: mass, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2.
        name: its name in messages.
    """
    mass, centre = scalar(m, f"mass of {name}"), array(com, (3,), f"centre of mass of {name}")
    inertia = array(I_com, (3, 3), f"inertia of {name}")
    I = known(inertia)
    if I is not None:
        skewness = float(np.abs(I - I.T).max())
        if skewness > 1e-9 * max(float(np.abs(I).max()), 1e-300):
            raise InertiaError(
                f"inertia of {name} is not symmetric: opposite entries differ by {skewness:.3g}; "
                f"found {I.tolist()}."
            )
    return mass, centre, inertia


def physical_faults(m: Scalar, I_com: Array) -> list[str]:
    """Faults of a mass and an inertia about the centre that no body can have; empty if it can.

    A body is real when its mass and its second moments about the centre (the eigenvalues of the
    pseudo-inertia at the centre) are not negative: the inertia is then positive semidefinite and
    its principal moments satisfy the triangle inequality. Rounding of the eigenvalues is allowed
    for; symbols are not judged.

    Args:
        m: mass, kg.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2.
    """
    mass, I = known(np.asarray(m)), known(np.asarray(I_com))
    faults: list[str] = []
    if mass is not None and mass < 0:
        faults.append(f"its mass {float(mass):.6g} kg is negative")
    if I is None:
        return faults
    a, b, c = np.linalg.eigvalsh(I).tolist()
    slack = 64 * np.finfo(float).eps * max(abs(a), abs(c))
    if a < -slack:
        faults.append(
            f"its inertia is not positive: the smallest principal moment is {a:.6g} kg m^2"
        )
    elif a + b < c - slack:
        faults.append(
            f"its principal moments break the triangle inequality: {a:.6g} + {b:.6g} < {c:.6g}, "
            f"short by {c - a - b:.3g} kg m^2"
        )
    return faults


def check_physical(m: Scalar, com: ArrayLike, I_com: ArrayLike, name: str) -> BodyParts:
    """The body; raise InertiaError, with condition and amount, if no real body is like it.

    Args:
        m: mass, kg.
        com: centre of mass in the frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the frame, shape (3, 3), kg m^2.
        name: its name in messages.
    """
    body = check_body(m, com, I_com, name)
    faults = physical_faults(body[0], body[2])
    if faults:
        raise InertiaError(f"{name} is not a physical body: {'; '.join(faults)}.")
    return body


@dataclass(frozen=True, eq=False)
class Moments:
    """Mass moments of a body in a frame: m, h = m c (3,), Sigma, the integral of x x^T dm (3, 3).

    Moments of bodies that move together add up, and a change of frame is linear in them. The
    inertia about the frame's origin is tr(Sigma) - Sigma.
    """

    m: Scalar
    h: Array
    Sigma: Array

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.m + other.m, self.h + other.h, self.Sigma + other.Sigma)

    @property
    def inertia(self) -> Array:
        """Inertia about the frame's origin, tr(Sigma) - Sigma, (3, 3)."""
        S = self.Sigma
        return np.array(
            [
                [S[1, 1] + S[2, 2], -S[0, 1], -S[0, 2]],
                [-S[0, 1], S[0, 0] + S[2, 2], -S[1, 2]],
                [-S[0, 2], -S[1, 2], S[0, 0] + S[1, 1]],
            ]
        )

    def momentum(self, w: Array, l: Array) -> tuple[Array, Array]:
        """Linear and angular momentum for a twist (w, l) at the frame's origin."""
        return l * self.m + cross(w, self.h), self.inertia @ w + cross(self.h, l)


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


def box(m: Scalar, x: Scalar, y: Scalar, z: Scalar) -> Array:
    """Inertia of a solid box with edges x, y, z about its centre, shape (3, 3), kg m^2.

    Args:
        m: mass, kg.
        x: edge along x, m.
        y: edge along y, m.
        z: edge along z, m.
    """
    return _diagonal(m * (y * y + z * z) / 12, m * (x * x + z * z) / 12, m * (x * x + y * y) / 12)


def cylinder(m: Scalar, radius: Scalar, length: Scalar) -> Array:
    """Inertia of a solid cylinder along z about its centre, shape (3, 3), kg m^2.

    Args:
        m: mass, kg.
        radius: radius, m.
        length: length along z, m.
    """
    across = m * (3 * radius * radius + length * length) / 12
    return _diagonal(across, across, m * radius * radius / 2)


def ellipsoid(m: Scalar, a: Scalar, b: Scalar, c: Scalar) -> Array:
    """Inertia of a solid ellipsoid with semi-axes a, b, c about its centre, (3, 3), kg m^2.

    Args:
        m: mass, kg.
        a: semi-axis along x, m.
        b: semi-axis along y, m.
        c: semi-axis along z, m.
    """
    return _diagonal(m * (b * b + c * c) / 5, m * (a * a + c * c) / 5, m * (a * a + b * b) / 5)


def sphere(m: Scalar, radius: Scalar) -> Array:
    """Inertia of a solid sphere about its centre, shape (3, 3), kg m^2.

    Args:
        m: mass, kg.
        radius: radius, m.
    """
    return ellipsoid(m, radius, radius, radius)


def shell(m: Scalar, radius: Scalar) -> Array:
    """Inertia of a thin spherical shell about its centre, shape (3, 3), kg m^2.

    Args:
        m: mass, kg.
        radius: radius, m.
    """
    moment = 2 * m * radius * radius / 3
    return _diagonal(moment, moment, moment)


def rod(m: Scalar, length: Scalar) -> Array:
    """Inertia of a thin rod along z about its centre, shape (3, 3), kg m^2.

    Args:
        m: mass, kg.
        length: length along z, m.
    """
    moment = m * length * length / 12
    return _diagonal(moment, moment, 0)


def _diagonal(x: Scalar, y: Scalar, z: Scalar) -> Array:
    return np.array([[x, 0, 0], [0, y, 0], [0, 0, z]])
