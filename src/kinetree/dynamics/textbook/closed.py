"""Inverse dynamics (b): the stacked closed form with W(q) and L(q) = (I - W)^-1.

    V  = L (A dq + V_base)
    dV = L (A ddq - ad_Adq (W V + V_base) + dV_base)
    F  = L^T (G dV - ad_V^T G V + F_tip - F_ext)
    tau = A^T F,   J = L A

Stacks have one block of six rows a link (N links, n degrees of freedom); W holds Ad_ip at
(i, parent of i) and is nilpotent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.dynamics.kinematics import forward_kinematics
from kinetree.dynamics.textbook.recursion import Recursion, record_screws
from kinetree.dynamics.textbook.rotors import rotor_moments
from kinetree.model import WORLD, Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import (
    Motion,
    TipWrench,
    Wrenches,
    columns,
    link_adjoints,
    link_wrenches,
    read_motion,
    zeros,
)
from kinetree.spatial import ad


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Every stacked matrix by the book's name; M, C and g follow from them.

    Args:
        A: joint axes on the diagonal, shape (6l, n), rad and m for a unit of q.
        G: spatial inertias on the diagonal, shape (6l, 6l), kg m^2, kg m and kg.
        W: adjoints from parents to children, shape (6l, 6l), 1 and m.
        L: (I - W)^-1, shape (6l, 6l), 1 and m.
        ad_V: brackets of the twists on the diagonal, shape (6l, 6l), rad/s and m/s.
        ad_Adq: brackets of the joint twists on the diagonal, shape (6l, 6l), rad/s and m/s.
        V_base: twist that the base passes on, shape (6l,), rad/s and m/s.
        dV_base: acceleration that the base passes on, gravity included, shape (6l,), rad/s^2 and
            m/s^2.
        F_tip: wrenches of the tips, shape (6l,), N m and N.
        F_ext: wrenches from the world, shape (6l,), N m and N.
        F_rotor: wrenches of rotors, shape (6l,), N m and N.
        V: twists of the links, shape (6l,), rad/s and m/s.
        dV: accelerations of the links, shape (6l,), rad/s^2 and m/s^2.
        F: wrenches through the joints, shape (6l,), N m and N.
    """

    A: Array  # (6N, n)
    G: Array  # (6N, 6N)
    W: Array  # (6N, 6N)
    L: Array  # (6N, 6N)
    ad_V: Array  # (6N, 6N)
    ad_Adq: Array  # (6N, 6N)
    V_base: Array  # (6N,)
    dV_base: Array  # (6N,) gravity included, as an upward acceleration
    F_tip: Array  # (6N,) exerted by the tool on the world
    F_ext: Array  # (6N,) exerted by the world on the links
    F_rotor: Array  # (6N,) moments that the rotors need
    V: Array  # (6N,)
    dV: Array  # (6N,)
    F: Array  # (6N,)

    @property
    def J(self) -> Array:
        """L A: the body Jacobians of all links, (6N, n), with V = J dq."""
        return self.L @ self.A

    @property
    def M(self) -> Array:
        """A^T L^T G L A: the mass matrix of the links, without armature and rotors."""
        return self.J.T @ self.G @ self.J

    @property
    def C(self) -> Array:
        """-A^T L^T (G L ad_Adq W + ad_V^T G) L A, for a base at rest; C dq = c."""
        inner = self.G @ self.L @ self.ad_Adq @ self.W + self.ad_V.T @ self.G
        return -(self.J.T @ inner @ self.J)

    @property
    def g(self) -> Array:
        """A^T L^T G L dV_base."""
        return self.J.T @ self.G @ self.L @ self.dV_base


def closed_form(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
) -> ClosedForm:
    """The stacked matrices of one state; arguments as in `newton_euler`.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2.
        F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
            shape (l, 6), N m and N; None: no wrench.
        F_tip: the book's wrench, exerted by the tool on the world, shape (6,), in the tool frame, N
            m and N; or {frame: wrench}; None: no wrench.
        V_base: twist (angular, linear) of the base in its own axes, shape (6,), rad/s and m/s;
            None: at rest.
        dV_base: acceleration of the base in its own axes, shape (6,), rad/s^2 and m/s^2; None:
            zero.
    """
    without_constraints(model, "closed_form")
    x = read_motion(model, q, dq, ddq, F_ext, None, V_base, dV_base)
    return _stacks(model, x, -column(link_wrenches(model, None, F_tip)))


def closed_recursion(model: Model, x: Motion) -> Recursion:
    """The closed form as the common record."""
    form = _stacks(model, x, zeros(6 * len(model.links)))
    rows = [stacked.reshape(-1, 6) for stacked in (form.V, form.dV, form.F)]
    return record_screws("closed", model, x, forward_kinematics(model, x.q), rows)


def _stacks(model: Model, x: Motion, tip: Array) -> ClosedForm:
    """The matrices of a checked motion; tip: wrenches of the tool on the world, (6N,)."""
    links, parent = model.links, model.parent
    Ad_ip = link_adjoints(model, x.q)
    roots = [parent[i] == WORLD for i in links]

    A = column([model.A[i] @ columns(model, i) for i in links], model.n)
    G = diagonal(list(model.G))
    W = grid([[Ad_ip[i] if parent[i] == j else 0 for j in links] for i in links])
    L = grid(_inverse_blocks(model, Ad_ip))  # (I - W)^-1 without inverting: W is nilpotent
    base = column([Ad_ip[i] @ x.V_base if roots[i] else zeros(6) for i in links])
    d_base = column([Ad_ip[i] @ x.dV_base if roots[i] else zeros(6) for i in links])
    onto = column(x.F_ext)

    V = L @ (A @ x.dq + base)
    ad_V = diagonal([ad(V_i) for V_i in V.reshape(-1, 6)])
    ad_Adq = diagonal([ad(model.A[i] @ x.dq_i[i]) for i in links])
    dV = L @ (A @ x.ddq - ad_Adq @ (W @ V + base) + d_base)
    moments = rotor_moments(model.rotors, x.dq, x.ddq, dict(enumerate(V.reshape(-1, 6)[:, :3])))
    rotor = column([np.array([*moments.get(i, zeros(3)), 0, 0, 0]) for i in links])
    F = L.T @ (G @ dV - ad_V.T @ (G @ V) + tip - onto + rotor)
    return ClosedForm(A, G, W, L, ad_V, ad_Adq, base, d_base, tip, onto, rotor, V, dV, F)


def _inverse_blocks(model: Model, Ad_ip: Sequence[Array]) -> list[list[Any]]:
    """Blocks of L, row by row: row i is that of its parent carried into {i}, plus the identity."""
    rows: dict[int, list[Any]] = {WORLD: [0 for _ in model.links]}
    for i in model.links:
        up = rows[model.parent[i]]
        rows[i] = [0 if isinstance(block, int) else Ad_ip[i] @ block for block in up]
        rows[i][i] = np.eye(6, dtype=int)
    return [rows[i] for i in model.links]


def diagonal(blocks: Sequence[Array]) -> Array:
    """Block-diagonal matrix of 6x6 blocks."""
    n = len(blocks)
    return grid([[block if i == j else 0 for j in range(n)] for i, block in enumerate(blocks)])


def grid(rows: Sequence[Sequence[Any]]) -> Array:
    """Matrix of 6x6 blocks; 0 is a block of zeros."""
    zero = np.zeros((6, 6), int)
    full = [[zero if isinstance(block, int) else block for block in row] for row in rows]
    return column([np.concatenate(row, 1) for row in full], 6 * len(rows))


def column(blocks: Sequence[Array], *width: int) -> Array:
    """Blocks on top of each other; of no blocks, an empty array of that width."""
    return np.concatenate(blocks) if blocks else np.zeros((0, *width), int)
