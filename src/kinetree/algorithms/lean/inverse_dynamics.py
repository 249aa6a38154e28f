"""Inverse dynamics with the fewest operations.

With B = [alpha] + [omega][omega], every point x fixed in a link accelerates by a + B x, where a is
the acceleration of the frame's origin. Hence, from the mass moments of the link,

    f = m a + B h
    n = h x a + axial(B Sigma - Sigma B^T)
"""

from typing import Any

import numpy as np

from kinetree.algorithms.lean.model import LeanModel, Moments
from kinetree.algorithms.lean.motion import Step, step, subspace
from kinetree.base.arrays import Array
from kinetree.formulations.drives import friction_forces, rotor_forces, rotor_moments
from kinetree.model import WORLD
from kinetree.model.inputs import per_dof, per_link, zeros
from kinetree.spatial import cross


def inverse_dynamics(
    lean: LeanModel, q: Array, dq: Array, ddq: Array, F_ext: Array | None = None
) -> Array:
    """tau of a motion, (n,); F_ext, (links, 6), acts on the links in their textbook frames."""
    steps = [step(link, q) for link in lean.links]
    return recursion(lean, steps, dq, ddq, F_ext)


def recursion(
    lean: LeanModel, steps: list[Step], dq: Array, ddq: Array, F_ext: Array | None
) -> Array:
    """The two passes over steps that are already known."""
    model = lean.model
    dq_i, ddq_i = per_link(model, dq), per_link(model, ddq)
    omega, alpha = {WORLD: zeros(3)}, {WORLD: zeros(3)}
    a, B = {WORLD: -model.gravity[3:]}, {WORLD: np.zeros((3, 3), int)}
    f: dict[int, Any] = {}
    n: dict[int, Any] = {}

    for i, link in enumerate(lean.links):
        p, to = link.parent, steps[i]
        A = subspace(link)
        w, l = _halves(A @ dq_i[i])
        dw, dl = _halves(A @ ddq_i[i])
        turning = to.outward(omega[p])
        omega[i] = turning + w
        alpha[i] = to.outward(alpha[p]) + dw + cross(turning, w)
        a[i] = to.outward(a[p] + B[p] @ to.p) + dl + 2 * cross(turning, l) + cross(w, l)
        B[i] = acceleration_matrix(omega[i], alpha[i])

    spin = rotor_moments(model.replace(rotors=lean.rotors), dq, ddq, omega)
    for i in reversed(range(len(lean.links))):
        link, to = lean.links[i], steps[i]
        own_f, own_n = wrench(link.moments, omega[i], alpha[i], a[i], B[i])
        f[i], n[i] = f.get(i, 0) + own_f, n.get(i, 0) + own_n
        if i in spin:
            n[i] = n[i] + spin[i]
        if F_ext is not None:
            moment, force = lean_wrench(link.place.X, F_ext[i])
            f[i], n[i] = f[i] - force, n[i] - moment
        if link.parent != WORLD:
            p = link.parent
            carried = to.inward(f[i])
            f[p] = f.get(p, 0) + carried
            n[p] = n.get(p, 0) + to.inward(n[i]) + cross(to.p, carried)

    links = enumerate(lean.links)
    tau = per_dof(model, [subspace(x).T @ np.concatenate([n[i], f[i]]) for i, x in links])
    drives = rotor_forces(model.replace(rotors=lean.rotors), dq, ddq, alpha)
    return tau + drives + friction_forces(model, dq)


def acceleration_matrix(omega: Array, alpha: Array) -> Array:
    """[alpha] + [omega][omega], (3, 3)."""
    x, y, z = omega
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return np.array(
        [
            [-(yy + zz), xy - alpha[2], xz + alpha[1]],
            [xy + alpha[2], -(xx + zz), yz - alpha[0]],
            [xz - alpha[1], yz + alpha[0], -(xx + yy)],
        ]
    )


def wrench(x: Moments, omega: Array, alpha: Array, a: Array, B: Array) -> tuple[Array, Array]:
    """Force and moment about the origin that a body needs for its motion.

    The axial vector is written out: differences of the diagonal of B are differences of squares.
    """
    S, h = x.Sigma, x.h
    xx, yy, zz = omega[0] * omega[0], omega[1] * omega[1], omega[2] * omega[2]
    turning = np.array(
        [
            B[2, 0] * S[0, 1]
            - B[1, 0] * S[0, 2]
            + B[2, 1] * S[1, 1]
            - B[1, 2] * S[2, 2]
            + (zz - yy) * S[1, 2],
            B[0, 1] * S[1, 2]
            - B[2, 1] * S[0, 1]
            + B[0, 2] * S[2, 2]
            - B[2, 0] * S[0, 0]
            + (xx - zz) * S[0, 2],
            B[1, 2] * S[0, 2]
            - B[0, 2] * S[1, 2]
            + B[1, 0] * S[0, 0]
            - B[0, 1] * S[1, 1]
            + (yy - xx) * S[0, 1],
        ]
    )
    return a * x.m + B @ h, cross(h, a) + turning


def lean_wrench(X: Array, F: Array) -> tuple[Array, Array]:
    """Moment and force of a wrench in the link's own frame, in the lean frame X."""
    R, p = X[:3, :3].astype(float), X[:3, 3].astype(float)
    force = F[3:]
    return R.T @ (F[:3] - cross(p, force)), R.T @ force


def _halves(x: Array) -> tuple[Array, Array]:
    return x[:3], x[3:]


def bias_forces(lean: LeanModel, q: Array, dq: Array, F_ext: Array | None = None) -> Any:
    """h = c + g + friction, (n,), less what wrenches on the links contribute."""
    return inverse_dynamics(lean, q, dq, zeros(lean.model.n), F_ext)
