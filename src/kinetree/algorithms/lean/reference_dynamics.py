"""M ddq_r + C dq_r + g for masses that are only estimated, and what each of them contributes.

A point x of a link, whose link turns with omega, moves along the reference with v_r + omega_r x x,
and this velocity changes by

    a_r + B_r x,    B_r = [alpha_r] + [omega_r][omega]

where alpha_r and a_r are the changes of the reference's angular velocity and of its velocity at the
frame's origin. With omega_r = omega this is inverse dynamics; the terms of velocity are C(q, dq)
dq_r with dM/dt - 2 C skew, as adaptive control needs it. Wrenches are linear in the ten moments
m, h, Sigma (xx, yy, zz, xy, xz, yz) of each link.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.lean.model import LeanModel, Moments
from kinetree.algorithms.lean.motion import Step, step, subspace
from kinetree.base.arrays import Array
from kinetree.model import WORLD
from kinetree.model.inputs import per_dof, per_link, zeros
from kinetree.spatial import cross, skew

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class Accelerations:
    """How the points of a link accelerate: a + B x, in its frame."""

    a: Array
    B: Array


def moments_of(theta: Array) -> Moments:
    """Ten numbers as mass, first and second moments."""
    S = {pair: theta[4 + k] for k, pair in enumerate(PAIRS)}
    Sigma = np.array([[S[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])
    return Moments(theta[0], theta[1:4], Sigma)


def numbers_of(moments: Moments) -> Array:
    """The ten numbers of a link."""
    return np.array([moments.m, *moments.h, *(moments.Sigma[pair] for pair in PAIRS)])


def reference_forces(
    lean: LeanModel, q: Array, dq: Array, dq_r: Array, ddq_r: Array, theta: Array, s: Array
) -> tuple[Array, Array]:
    """Y theta, (n,), and Y^T s, (links, 10), for estimated moments theta, (links, 10).

    `lean` must not be regrouped; its own masses, friction, armature and rotors are left out.
    """
    steps = [step(link, q) for link in lean.links]
    moving = accelerations(lean, steps, dq, dq_r, ddq_r)
    twists = _twists(lean, steps, s)
    f: dict[int, Any] = {}
    n: dict[int, Any] = {}
    shares = [power(moving[i], *twists[i]) for i in range(len(lean.links))]
    for i in reversed(range(len(lean.links))):
        force, moment = wrench(moments_of(theta[i]), moving[i])
        f[i], n[i] = f.get(i, 0) + force, n.get(i, 0) + moment
        p, to = lean.links[i].parent, steps[i]
        if p != WORLD:
            carried = to.inward(f[i])
            f[p] = f.get(p, 0) + carried
            n[p] = n.get(p, 0) + to.inward(n[i]) + cross(to.p, carried)
    parts = [subspace(x).T @ np.concatenate([n[i], f[i]]) for i, x in enumerate(lean.links)]
    return per_dof(lean.model, parts), np.array(shares)


def accelerations(
    lean: LeanModel, steps: list[Step], dq: Array, dq_r: Array, ddq_r: Array
) -> list[Accelerations]:
    """a_r and B_r of every link; gravity is an upward acceleration of the base."""
    model = lean.model
    own = zip(*(per_link(model, x) for x in (dq, dq_r, ddq_r)), strict=True)
    omega, omega_r, alpha_r = ({WORLD: zeros(3)} for _ in range(3))
    found = {WORLD: Accelerations(-model.gravity[3:], np.zeros((3, 3), int))}
    for i, (rate, rate_r, change_r) in enumerate(own):
        p, to, A = lean.links[i].parent, steps[i], subspace(lean.links[i])
        (w, l), (w_r, l_r), (dw_r, dl_r) = (_halves(A @ x) for x in (rate, rate_r, change_r))
        turning_r = to.outward(omega_r[p])
        omega[i] = to.outward(omega[p]) + w
        omega_r[i] = turning_r + w_r
        alpha_r[i] = to.outward(alpha_r[p]) + dw_r + cross(omega[i], w_r)
        a = to.outward(found[p].a + found[p].B @ to.p)
        a = a + dl_r + cross(turning_r, l) + cross(omega[i], l_r)
        found[i] = Accelerations(a, skew(alpha_r[i]) + skew(omega_r[i]) @ skew(omega[i]))
    return [found[i] for i in range(len(lean.links))]


def wrench(x: Moments, moving: Accelerations) -> tuple[Array, Array]:
    """Force m a + B h and moment h x a + axial of B Sigma, about the frame's origin."""
    a, B = moving.a, moving.B
    N = B @ x.Sigma
    axial = np.array([N[2, 1] - N[1, 2], N[0, 2] - N[2, 0], N[1, 0] - N[0, 1]])
    return a * x.m + B @ x.h, cross(x.h, a) + axial


def power(moving: Accelerations, w: Array, v: Array) -> Array:
    """What each of the ten moments contributes to v . f + w . n, (10,)."""
    a, B = moving.a, moving.B
    C = -(skew(w) @ B).T
    second = [C[i, j] if i == j else C[i, j] + C[j, i] for i, j in PAIRS]
    return np.array([v @ a, *(B.T @ v + cross(a, w)), *second])


def _twists(lean: LeanModel, steps: list[Step], s: Array) -> list[tuple[Array, Array]]:
    """Twist (w, v) of every link at its origin for joint rates s."""
    w, v = {WORLD: zeros(3)}, {WORLD: zeros(3)}
    for i, own in enumerate(per_link(lean.model, s)):
        p, to = lean.links[i].parent, steps[i]
        angular, linear = _halves(subspace(lean.links[i]) @ own)
        w[i] = to.outward(w[p]) + angular
        v[i] = to.outward(v[p] + cross(w[p], to.p)) + linear
    return [(w[i], v[i]) for i in range(len(lean.links))]


def _halves(x: Array) -> tuple[Array, Array]:
    return x[:3], x[3:]
