"""Phi(q), its Jacobian and its second derivative, for every kind of constraint, over a Tree.

A closure compares frame {b} with frame {a}. Both are followed outward from the last link {c} that
carries both, so that joints before {c} do not appear. With T_ab = (R, x), and V and W the linear
and angular velocity of {b} relative to {a} in the axes of {a}, the equations are

    linear    x                                  with the rate    V
    pose      r = 2 tan(theta/2) u               W + W x r/2 + r (r . W)/4
    axis      2 (e x s) / (1 + e . s)            of two directions across e, with s = R e
    rod       (x . x - L^2) / (2 L)              x . V / L

u and theta are the axis and angle of R: r = 2 (r_x, r_y, r_z) / (1 + trace R) with the axial vector
of (R - R^T), a rational function of R. Each of these vanishes only where the constraint is
satisfied (the frames turned by half a turn are infinitely far away, not at zero), and its rate
there is W or V itself. The Jacobian is the exact derivative of Phi at every position. Because
dPhi/dt = J dq, the forces lambda of the rows are in the axes of {a}: they act on {b}, at its
origin, and the opposite on {a}.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.frames import FrameMotion, chains, frame_motions, point_columns
from kinetree.dynamics.lean import LeanModel
from kinetree.dynamics.tree import Tree
from kinetree.model import WORLD, Model
from kinetree.model.constraints import ROD, Closure, Coupling, Term
from kinetree.scalars import Scalar
from kinetree.spatial import cross, inverse

Rows = list[Any]


@dataclass(frozen=True, eq=False)
class Constrained:
    """Constraints at one state: Phi (m,), J (m, n), and gamma = dJ/dt dq (m,).

    J is an array of objects: entries of joints that do not move a constraint are integers 0.
    """

    Phi: Array
    J: Array
    gamma: Array


def placed(model: Model, frames: Sequence[Array] | None = None) -> tuple[Closure | Coupling, ...]:
    """The constraints of a model, in the link frames of a tree.

    frames: the tree's frame of each link, seen from that of the model, (4, 4); None: the same.
    """
    items = () if model.constraints is None else model.constraints.items
    if frames is None:
        return items

    def moved(link: int, T: Array) -> Array:
        return T if link == WORLD else inverse(frames[link]) @ T

    return tuple(
        replace(x, T_a=moved(x.link_a, x.T_a), T_b=moved(x.link_b, x.T_b))
        if isinstance(x, Closure)
        else x
        for x in items
    )


def lean_items(lean: LeanModel) -> tuple[Closure | Coupling, ...]:
    """The constraints in the lean frames."""
    return placed(lean.model, [link.place.X for link in lean.links])


def tree_constraints(
    tree: Tree, items: Sequence[Closure | Coupling], q: Array, dq: Array | None = None
) -> Constrained:
    """Phi, J and gamma of all constraints; gamma is zero where dq is None."""
    n = tree.model.n
    Phi: Rows = []
    columns: list[tuple[int, int, Rows]] = []
    gamma: Rows = []
    for item in items:
        rows = _couple(item, q, dq) if isinstance(item, Coupling) else _close(tree, item, dq)
        columns += [(len(Phi), d, column) for d, column in rows.columns.items()]
        Phi += rows.Phi
        gamma += rows.gamma
    J = np.zeros((len(Phi), n), dtype=object)
    for first, d, column in columns:
        J[first : first + len(column), d] = column
    return Constrained(np.array(Phi), J, np.array(gamma))


def item_dofs(tree: Tree, item: Closure | Coupling) -> frozenset[int]:
    """Entries of dq that move a constraint."""
    if isinstance(item, Coupling):
        return frozenset(term.dof for term in item.terms)
    moved = chains(tree, item.link_a, item.link_b)
    return frozenset(d for way in moved for i in way for d in tree.links[i].dofs)


@dataclass(frozen=True, eq=False)
class _Item:
    """Rows of one constraint; columns[d] are the entries of J that belong to dq[d]."""

    Phi: Rows
    columns: dict[int, Rows]
    gamma: Rows


def _couple(item: Coupling, q: Array, dq: Array | None) -> _Item:
    """Sum of polynomials minus the constant."""
    total: Any = -item.constant
    curve: Any = 0
    columns: dict[int, Rows] = {}
    for term in item.terms:
        value, slope, bend = _polynomial(term, q[term.coord])
        total = total + value
        columns[term.dof] = [slope]
        if dq is not None and not (isinstance(bend, int) and bend == 0):
            curve = curve + bend * dq[term.dof] * dq[term.dof]
    return _Item([total], columns, [curve])


def _polynomial(term: Term, q: Scalar) -> tuple[Any, Any, Any]:
    """A polynomial without constant part, its slope and its second derivative by q."""
    x = q if term.scale == 1 and term.offset == 0 else q * term.scale + term.offset
    value, slope, bend = 0, 0, 0
    for c in reversed(term.powers):  # by Horner's rule on x (c_1 + x (c_2 + ...))
        value, slope, bend = c + value * x, value + slope * x, 2 * slope + bend * x
    value, slope, bend = value * x, value + slope * x, 2 * slope + bend * x
    if term.scale == 1:
        return value, slope, bend
    return value, slope * term.scale, bend * term.scale * term.scale


def _close(tree: Tree, item: Closure, dq: Array | None) -> _Item:
    way_a, way_b = chains(tree, item.link_a, item.link_b)
    frames_a, a = _follow(tree, way_a, item.T_a, dq)
    frames_b, b = _follow(tree, way_b, item.T_b, dq)
    d = b.p - a.p
    rows = _Rows(item, a.R.T @ d, a.R.T @ b.R)
    columns: dict[int, Rows] = {}
    for frames, way, sign in ((frames_a, way_a, -1), (frames_b, way_b, 1)):
        for dof, w, v in point_columns(tree, frames, way, b.p):
            column = rows.rate(a.R.T @ v, a.R.T @ w)
            column = column if sign > 0 else [-entry for entry in column]
            old = columns.get(dof)
            columns[dof] = (
                column if old is None else [s + t for s, t in zip(old, column, strict=True)]
            )
    if dq is None:
        return _Item(rows.value(), columns, [0] * len(item.row_names))
    omega = a.omega
    v_rel = b.v - a.v - cross(omega, d)
    accelerated = b.a - a.a - cross(a.alpha, d) - cross(omega, cross(omega, d))
    dV = a.R.T @ (accelerated - 2 * cross(omega, v_rel))
    dW = a.R.T @ (b.alpha - a.alpha - cross(omega, b.omega))
    gamma = rows.change(a.R.T @ v_rel, a.R.T @ (b.omega - omega), dV, dW)
    return _Item(rows.value(), columns, gamma)


def _follow(
    tree: Tree, way: Sequence[int], T: Array, dq: Array | None
) -> tuple[dict[int, FrameMotion], FrameMotion]:
    """The links from {c} to a frame T of the last of them, and the frame itself, seen from {c}."""
    frames = frame_motions(tree, dq, way)
    end = frames[way[-1] if way else WORLD].at(T[:3, 3])
    return frames, replace(end, R=end.R @ T[:3, :3])


class _Rows:
    """The equations of one closure as functions of T_ab = (R, x) and of the relative motion."""

    def __init__(self, item: Closure, x: Array, R: Array) -> None:
        self.kind, self.k, self.length, self.x = item.kind, item.axis, item.length, x
        self.across = [j for j in range(3) if j != item.axis]
        self.linear = [item.axis] if item.kind == "plane" else [0, 1, 2]
        if self.kind == "pose":
            axial = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
            self.rho = np.array(axial) / (1 + R[0, 0] + R[1, 1] + R[2, 2])  # tan(theta/2) u
        elif self.kind in ("axis", "plane"):
            self.e = np.eye(3, dtype=int)[item.axis]
            self.s = R[:, item.axis]
            self.near = 1 + self.s[item.axis]
            self.turn = cross(self.e, self.s) * 2 / self.near

    def value(self) -> Rows:
        """The rows of Phi."""
        if self.kind == ROD:
            return [(self.x @ self.x - self.length * self.length) / (2 * self.length)]
        return self._turned(self._angle) + [self.x[j] for j in self.linear]

    def rate(self, V: Array, W: Array) -> Rows:
        """dPhi/dt, linear in the relative velocity (V, W)."""
        if self.kind == ROD:
            return [self.x @ V / self.length]
        return self._turned(lambda: self._angle_rate(W)) + [V[j] for j in self.linear]

    def change(self, V: Array, W: Array, dV: Array, dW: Array) -> Rows:
        """d^2 Phi/dt^2, with the relative acceleration of the position x and the change of W."""
        if self.kind == ROD:
            return [(V @ V + self.x @ dV) / self.length]
        return self._turned(lambda: self._angle_change(W, dW)) + [dV[j] for j in self.linear]

    def _turned(self, make: Any) -> Rows:
        if self.kind == "point":
            return []
        angular = make()
        return list(angular) if self.kind == "pose" else [angular[j] for j in self.across]

    def _angle(self) -> Array:
        return 2 * self.rho if self.kind == "pose" else self.turn

    def _angle_rate(self, W: Array) -> Array:
        if self.kind == "pose":
            return W + cross(W, self.rho) + self.rho * (self.rho @ W)
        ds = cross(W, self.s)
        return (2 * cross(self.e, ds) - self.turn * ds[self.k]) / self.near

    def _angle_change(self, W: Array, dW: Array) -> Array:
        if self.kind == "pose":
            rho, along = self.rho, self.rho @ W
            drho = self._angle_rate(W) / 2
            bent = rho * (drho @ W + rho @ dW)
            return dW + cross(dW, rho) + cross(W, drho) + drho * along + bent
        ds = cross(W, self.s)
        dds = cross(dW, self.s) + cross(W, ds)
        rate = self._angle_rate(W)
        turned = 2 * cross(self.e, dds) - 2 * rate * ds[self.k] - self.turn * dds[self.k]
        return turned / self.near
