"""C(q, dq) by composite bodies, from the motion of mass points.

With j_a the velocity of a mass point for unit rate of joint a, M_ab = sum of m j_a . j_b and
C_ab = sum of m j_a . dj_b/dt: space is flat, so these are Christoffel's. For points r of the bodies
beyond joint b, moving at dr relative to the joint's origin, which turns with omega,

    j_b  = w x r + l,     dj_b = (omega x w) x r + omega x l + w x dr

so that all sums follow from m, h, Sigma, dh = sum of m dr and K = sum of m r dr^T, which are
carried inward together with the composite bodies.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.lean.mass_matrix import inward, momentum, moved
from kinetree.algorithms.lean.model import LeanModel, Moments
from kinetree.algorithms.lean.motion import Step, Turn, step, subspace
from kinetree.algorithms.lean.rotor_coriolis import add_rotors
from kinetree.base.arrays import Array
from kinetree.formulations.drives import armature, armature_coriolis, turns_armature
from kinetree.model import WORLD
from kinetree.model.inputs import per_link, zeros
from kinetree.spatial import cross, skew


@dataclass(frozen=True, eq=False)
class Spread:
    """How the mass points of a composite body move relative to its origin: dh (3,), K (3, 3)."""

    dh: Array
    K: Array

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(self.dh + other.dh, self.K + other.K)


def coriolis_matrix(lean: LeanModel, q: Array, dq: Array) -> Array:
    """C(q, dq), (n, n), with C dq = c and dM/dt - 2 C skew-symmetric."""
    n = lean.model.n
    steps = [step(link, q) for link in lean.links]
    omega, u = velocities(lean, steps, dq)
    bodies = [link.moments for link in lean.links]
    spreads = [rigid(bodies[i], omega[i]) for i in range(len(bodies))]
    C: list[list[Any]] = [[0] * n for _ in range(n)]
    for i in reversed(range(len(lean.links))):
        for k in range(len(lean.links[i].joint.dofs)):
            _column(lean, steps, omega, u, C, i, k, bodies[i], spreads[i])
        p = lean.links[i].parent
        if p != WORLD:
            spreads[p] = spreads[p] + carried(spreads[i], bodies[i], steps[i], u[i])
            bodies[p] = bodies[p] + moved(bodies[i], steps[i])
    return np.array(_add_armature(lean, dq, add_rotors(lean, steps, omega, dq, C)))


def mass_matrix_rate(lean: LeanModel, q: Array, dq: Array) -> Array:
    """dM/dt = C + C^T, (n, n)."""
    C = coriolis_matrix(lean, q, dq)
    return C + C.T


def velocities(
    lean: LeanModel, steps: list[Step], dq: Array
) -> tuple[dict[int, Array], list[Array]]:
    """Angular velocity of every link, and velocity u of its origin from its parent's, in {p}."""
    omega, u = {WORLD: zeros(3)}, []
    for i, own in enumerate(per_link(lean.model, dq)):
        link, to = lean.links[i], steps[i]
        twist = subspace(link) @ own
        omega[i] = to.outward(omega[link.parent]) + twist[:3]
        u.append(cross(omega[link.parent], to.p) + to.inward(twist[3:]))
    return omega, u


def rigid(x: Moments, omega: Array) -> Spread:
    """Points of one rigid body: dr = omega x r."""
    return Spread(cross(omega, x.h), x.Sigma @ skew(omega).T)


def carried(x: Spread, body: Moments, to: Step, u: Array) -> Spread:
    """The same points seen from the parent's origin, in the parent's frame."""
    K = to.R @ _turned(x.K, to) @ to.R.T
    h, dh = to.inward(body.h), to.inward(x.dh) + u * body.m
    return Spread(dh, K + np.outer(h, u) + np.outer(to.p, dh))


def _turned(K: Array, to: Step) -> Array:
    if to.turn is None:
        return K
    if isinstance(to.turn, Turn):
        half = np.array([to.turn.inward(row) for row in K]).T
        return np.array([to.turn.inward(row) for row in half]).T
    return to.turn.R @ K @ to.turn.R.T


def _add_armature(lean: LeanModel, dq: Array, C: list[list[Any]]) -> list[list[Any]]:
    """C with the terms of armature on free and planar joints."""
    for i, joint in enumerate(lean.model.joints):
        if turns_armature(joint):
            own = armature_coriolis(joint, dq[list(joint.dofs)]) * armature(lean.model, i)
            for a, row in enumerate(joint.dofs):
                for b, column in enumerate(joint.dofs):
                    C[row][column] = C[row][column] + own[a, b]
    return C


def _column(
    lean: LeanModel,
    steps: list[Step],
    omega: dict[int, Array],
    u: list[Array],
    C: list[list[Any]],
    i: int,
    k: int,
    body: Moments,
    spread: Spread,
) -> None:
    """Entries of C for unit rate k of joint i with itself and its ancestors."""
    A = subspace(lean.links[i])
    w, l = A[:3, k], A[3:, k]
    column = lean.links[i].joint.dofs[k]
    f, n = momentum(body, w, l)
    df, dn = momentum(body, cross(omega[i], w), cross(omega[i], l))
    trace = spread.K[0, 0] + spread.K[1, 1] + spread.K[2, 2]
    df, dn = df + cross(w, spread.dh), dn + w * trace - spread.K.T @ w
    Q = w * trace - spread.K @ w + cross(spread.dh, l)
    j = i
    while j != WORLD:
        link = lean.links[j]
        A_j = subspace(link)
        for a, row in enumerate(link.joint.dofs):
            w_j, l_j = A_j[:3, a], A_j[3:, a]
            C[row][column] = C[row][column] + w_j @ dn + l_j @ df
            if j != i:
                turned = cross(omega[j], w_j) @ n + cross(omega[j], l_j) @ f
                C[column][row] = C[column][row] + turned + w_j @ Q
        f, n = inward(steps[j], f, n)
        df, dn = inward(steps[j], df, dn)
        Q = steps[j].inward(Q) + cross(u[j], f)
        j = link.parent
