"""Newton-Euler, composite bodies and a sparse factorisation over CasADi symbols.

Written for the benchmark, apart from kinetree's algorithms: the graph that a careful user of CasADi
would write down. Link frames are those of the file, vectors are of length 3. The first link may be
free: its rotation is then given, its rates and forces are (angular, linear) in its own axes, and
where it is does not matter.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.casadi_vectors import (
    Matrix,
    Vector,
    add,
    apply,
    cross,
    dot,
    scale,
    spin_matrix,
    transpose,
    turn,
)
from kinetree.model import Model

BASE = -1


@dataclass(frozen=True)
class Link:
    """Constants of a link with a revolute or prismatic joint, or with a free one."""

    parent: int
    R: Matrix  # rotation to the parent's frame at q = 0
    p: Vector  # origin in the parent's frame at q = 0
    axis: Vector
    turns: bool
    m: float
    h: Vector  # mass times centre of mass
    I: Matrix  # about the origin


class Dynamics:
    """The robot at joint positions `q`: frames are made once and shared by what is computed.

    R: rotation of the free first link, whose place in q is not read. Inverse dynamics alone.
    """

    def __init__(self, model: Model, q: Any, functions: Any, R: Matrix | None = None) -> None:
        count = len(model.joints)
        self.links = [link_of(model, i) for i in range(count)]
        self.gravity = [float(x) for x in model.gravity[3:]]
        self.q, self.R = q, R
        self.cos = [functions.cos(q[i]) for i in range(count)]
        self.sin = [functions.sin(q[i]) for i in range(count)]

    def to_parent(self, i: int, x: Vector) -> Vector:
        """A vector of link i in its parent's axes."""
        link = self.links[i]
        return apply(link.R, turn(link.axis, self.cos[i], self.sin[i], x) if link.turns else x)

    def to_link(self, i: int, x: Vector) -> Vector:
        """A vector of the parent in the axes of link i."""
        link = self.links[i]
        x = apply(transpose(link.R), x)
        return turn(link.axis, self.cos[i], -self.sin[i], x) if link.turns else x

    def origin(self, i: int) -> Vector:
        """Origin of link i in its parent's frame."""
        link = self.links[i]
        return link.p if link.turns else add(link.p, scale(apply(link.R, link.axis), self.q[i]))

    def inverse_dynamics(self, dq: Any, ddq: Any) -> list[Any]:
        """Joint forces, by the recursion of Newton and Euler."""
        zero = [0.0, 0.0, 0.0]
        w, dw = {BASE: zero}, {BASE: zero}
        spin = {BASE: [zero, zero, zero]}
        a = {BASE: scale(self.gravity, -1.0)}
        force, moment = {}, {}
        for i, link in enumerate(self.links):
            p = link.parent
            if self.R is not None and i == 0:
                w[i], dw[i] = dq[:3], ddq[:3]
                upward = apply(transpose(self.R), a[BASE])
                a[i] = add(upward, ddq[3:6], cross(w[i], dq[3:6]))
                self._weigh(i, w, dw, a, spin, force, moment)
                continue
            rate, axis = scale(link.axis, dq[self.dof(i)]), link.axis
            carried = self.to_link(i, w[p])
            lift = add(a[p], apply(spin[p], self.origin(i)))
            turned, a[i] = self.to_link(i, dw[p]), self.to_link(i, lift)
            if link.turns:
                w[i] = add(carried, rate)
                dw[i] = add(turned, scale(axis, ddq[self.dof(i)]), cross(carried, rate))
            else:
                w[i], dw[i] = carried, turned
                sliding = scale(axis, ddq[self.dof(i)])
                a[i] = add(a[i], sliding, scale(cross(carried, rate), 2.0))
            self._weigh(i, w, dw, a, spin, force, moment)
        return self._inward(force, moment)

    def dof(self, i: int) -> int:
        """Where the rate of link i stands; a free first link has six."""
        return i if self.R is None else i + 5

    def _weigh(self, i: int, w: Any, dw: Any, a: Any, spin: Any, force: Any, moment: Any) -> None:
        """Force and moment that move link i."""
        link = self.links[i]
        spin[i] = spin_matrix(w[i], dw[i])
        force[i] = add(scale(a[i], link.m), apply(spin[i], link.h))
        gyro = cross(w[i], apply(link.I, w[i]))
        moment[i] = add(apply(link.I, dw[i]), gyro, cross(link.h, a[i]))

    def _inward(self, force: dict[int, Vector], moment: dict[int, Vector]) -> list[Any]:
        tau: dict[int, Any] = {}
        free = self.R is not None
        for i in reversed(range(int(free), len(self.links))):
            link = self.links[i]
            tau[i] = dot(link.axis, moment[i] if link.turns else force[i])
            if link.parent != BASE:
                f = self.to_parent(i, force[i])
                carried = add(self.to_parent(i, moment[i]), cross(self.origin(i), f))
                force[link.parent] = add(force[link.parent], f)
                moment[link.parent] = add(moment[link.parent], carried)
        base = [*moment[0], *force[0]] if free else []
        return [*base, *(tau[i] for i in range(int(free), len(self.links)))]

    def mass_matrix(self) -> dict[tuple[int, int], Any]:
        """Entries (i, j), j on the way from i to the base, by composite bodies."""
        m = {i: link.m for i, link in enumerate(self.links)}
        h = {i: link.h for i, link in enumerate(self.links)}
        I = {i: link.I for i, link in enumerate(self.links)}
        M: dict[tuple[int, int], Any] = {}
        for i in reversed(range(len(self.links))):
            link = self.links[i]
            if link.turns:
                f, n = cross(link.axis, h[i]), apply(I[i], link.axis)
            else:
                f, n = scale(link.axis, m[i]), cross(h[i], link.axis)
            j = i
            while j != BASE:
                other = self.links[j]
                M[i, j] = dot(other.axis, n if other.turns else f)
                if other.parent != BASE:
                    f = self.to_parent(j, f)
                    n = add(self.to_parent(j, n), cross(self.origin(j), f))
                j = other.parent
            if link.parent != BASE:
                p = link.parent
                moved = self._moved(i, m[i], h[i], I[i])
                m[p], h[p] = m[p] + m[i], add(h[p], moved[0])
                I[p] = [add(x, y) for x, y in zip(I[p], moved[1], strict=True)]
        return M

    def _moved(self, i: int, m: float, h: Vector, I: Matrix) -> tuple[Vector, Matrix]:
        """First and second moments of a body of link i about the parent's origin."""
        o, rows = self.origin(i), transpose([self.to_parent(i, row) for row in I])
        J = [self.to_parent(i, row) for row in rows]
        g = self.to_parent(i, h)
        both = dot(o, o) * m + dot(o, g) * 2.0
        k = add(scale(o, m), g)
        I_p = [[0.0] * 3 for _ in range(3)]
        for r in range(3):
            for c in range(r + 1):
                entry = J[r][c] - (k[r] * o[c] + o[r] * g[c])
                I_p[r][c] = I_p[c][r] = entry + both if r == c else entry
        return k, I_p

    def forward_dynamics(self, dq: Any, tau: Any) -> list[Any]:
        """Joint accelerations: M = L^T D L with the zeros of the tree, and two substitutions."""
        n = len(self.links)
        h = self.inverse_dynamics(dq, [0.0] * n)
        H = self.mass_matrix()
        x = [tau[i] - h[i] for i in range(n)]
        ways = [self._way(i) for i in range(n)]
        for k in reversed(range(n)):
            for i in ways[k]:
                factor = H[k, i] / H[k, k]
                for j in [i, *ways[i]]:
                    H[i, j] = H[i, j] - factor * H[k, j]
                H[k, i] = factor
        for i in reversed(range(n)):
            for j in ways[i]:
                x[j] = x[j] - H[i, j] * x[i]
        x = [x[i] / H[i, i] for i in range(n)]
        for i in range(n):
            for j in ways[i]:
                x[i] = x[i] - H[i, j] * x[j]
        return x

    def _way(self, i: int) -> list[int]:
        """The links between link i and the base."""
        way, j = [], self.links[i].parent
        while j != BASE:
            way.append(j)
            j = self.links[j].parent
        return way


def link_of(model: Model, i: int) -> Link:
    """Constants of link i."""
    free = len(model.joints[i].dofs) > 1
    screw = np.zeros(6) if free else np.asarray(model.joints[i].screw, float)
    turns = bool(np.any(screw[:3]))
    if turns and np.any(screw[3:]):
        raise ValueError(f"the axis of {model.joints[i].name} misses its link's origin")
    m, c = float(model.m[i]), np.asarray(model.com[i], float)
    I = np.asarray(model.I_com[i], float) + m * (c @ c * np.eye(3) - np.outer(c, c))
    pose = np.asarray(model.M_pi[i], float)
    axis = screw[:3] if turns else screw[3:]
    return Link(
        parent=int(model.parent[i]),
        R=pose[:3, :3].tolist(),
        p=pose[:3, 3].tolist(),
        axis=axis.tolist(),
        turns=turns,
        m=m,
        h=(m * c).tolist(),
        I=I.tolist(),
    )
