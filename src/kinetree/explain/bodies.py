"""Motion of every link by cause: unit motions of its centre, accelerations, in the link's frame.

A joint column c of the way from the base to link k turns it about omega_c and moves its centre of
mass by v_kc for a unit rate. With rates u, column b before column c on that way,

    a_k     = sum of v_kc du_c + sum of u_b u_c (2 omega_b x v_kc)   and  omega_c x v_kc u_c^2
    alpha_k = sum of omega_c du_c + sum of u_b u_c (omega_b x omega_c)

are the acceleration of the centre and of the link's rotation. Columns of one joint (spherical,
planar, free) turn with their link, so that two of them add omega_b x v_kc + omega_c x v_kb to a_k
and nothing to alpha_k. The sums are by products of rates: each product is a cause, and no part is
found as the rest of the others. Everything is written in the frame of link k, into which the
columns are carried from link to link: in {s} they would lose digits far from the base.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, is_numeric
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, link_pose, zeros

BASE = 6  # columns of the base's own motion, the first ones of every link
# degrees of freedom of a cause: one column of M, one product of rates, or none; n is the base
Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Share:
    """The part of a link's motion that one cause makes.

    Args:
        link: number of the link.
        a: acceleration of its centre of mass, in {k}, shape (3,), m/s^2.
        alpha: angular acceleration, in {k}, shape (3,), rad/s^2.
        gyro: omega x I omega, in {k}, shape (3,), N m.
    """

    link: int
    a: Array
    alpha: Array
    gyro: Array


Shares = dict[str, dict[Key, list[Share]]]  # cause -> degrees of freedom -> links


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of the joints between the base and a link, the base's own six first.

    joint: number of the joint's link, WORLD for the base. dof: degree of freedom, n and more for
    the base. omega, v, origin: unit motion of the link's rotation, of its centre of mass and of the
    origin of its frame, (P, 3), in {k}.
    """

    joint: Array
    dof: Array
    omega: Array
    v: Array
    origin: Array


@dataclass(frozen=True, eq=False)
class Bodies:
    """All links of a robot at a motion, each in its own frame.

    Args:
        dV_base: acceleration of the base without gravity, shape (6,).
        fall: minus the acceleration of gravity in the frame of every link, shape (3,) each.
        columns: of every link.
        m: masses, kg.
        I: inertias about the centres, shape (3, 3) each, kg m^2.
        omega, v, origin: unit motion of each link's rotation, centre and origin by each degree of
            freedom, mimic joints included, shape (l, n, 3).
        moves: True where the degree of freedom moves the link, shape (l, n).
    """

    model: Model
    x: Motion
    dV_base: Array
    fall: list[Array]
    columns: list[Columns]
    m: list[float]
    I: list[Array]
    omega: Array
    v: Array
    origin: Array
    moves: Array

    def rates(self, link: int) -> Array:
        """Rate of every column of a link, (P,)."""
        dof, n = self.columns[link].dof, self.model.n
        rates = np.concatenate([self.x.V_base, self.x.dq])
        return rates[np.where(dof < n, dof + BASE, dof - n)]

    def pairs(self) -> tuple[int, int]:
        """Shares of links: in the products of rates of one joint force, and in all joint forces."""
        moving = [np.count_nonzero(self.rates(k)) for k in self.model.links]
        products = [k * (k + 1) // 2 for k in moving]
        every = (
            len(columns.dof) * (count + len(columns.dof))
            for columns, count in zip(self.columns, products, strict=True)
        )
        return int(sum(products)), int(sum(every))


def bodies_of(model: Model, x: Motion, dV_base: Array) -> Bodies:
    """Unit motions of all links at a motion of numbers or symbols."""
    R_si: dict[int, Array] = {WORLD: np.eye(3, dtype=int)}
    columns_of = {WORLD: _of_base(model)}
    n, gravity = model.n, model.gravity[3:]
    numeric = all(map(is_numeric, (x.q, *model.M_pi, *model.A)))
    omega, v, origin = np.zeros((3, len(model.links), n, 3), float if numeric else object)
    moves = np.zeros((len(model.links), n), bool)
    for k in model.links:
        T_pi = link_pose(model, k, x.q)
        R_si[k] = R_si[model.parent[k]] @ T_pi[:3, :3]
        columns_of[k] = link_columns = _carried(model, k, columns_of[model.parent[k]], T_pi)
        for c, d in enumerate(link_columns.dof[BASE:], BASE):
            omega[k, d] += link_columns.omega[c]
            v[k, d] += link_columns.v[c]
            origin[k, d] += link_columns.origin[c]
            moves[k, d] = True
    return Bodies(
        model,
        x,
        dV_base,
        fall=[-(R_si[k].T @ gravity) for k in model.links],
        columns=[columns_of[k] for k in model.links],
        m=list(model.m),
        I=list(model.I_com),
        omega=omega,
        v=v,
        origin=origin,
        moves=moves,
    )


def _of_base(model: Model) -> Columns:
    """The six columns of the base's own motion, at its origin."""
    half, zero = np.eye(3, dtype=int), np.zeros((3, 3), int)
    omega, origin = np.concatenate([half, zero]), np.concatenate([zero, half])
    return Columns(np.full(BASE, WORLD), np.arange(model.n, model.n + BASE), omega, origin, origin)


def _carried(model: Model, k: int, of_parent: Columns, T_pi: Array) -> Columns:
    """The columns of link k: those of its parent, carried into {k}, and those of its own joint."""
    joint, R, A = model.joints[k], T_pi[:3, :3], model.A[k]
    moved = of_parent.origin + np.cross(of_parent.omega, T_pi[:3, 3])
    omega = np.concatenate([of_parent.omega @ R, A[:3].T])
    origin = np.concatenate([moved @ R, A[3:].T])
    return Columns(
        np.concatenate([of_parent.joint, np.full(len(joint.dofs), k)]),
        np.concatenate([of_parent.dof, joint.dofs]).astype(int),
        omega,
        origin + np.cross(omega, model.com[k]),
        origin,
    )


def shares_of(at: Bodies, pairs: bool = True) -> Shares:
    """Every link's motion by cause: inertia, Coriolis, centrifugal, gravity, base.

    pairs: products of rates one by one; False: all products together, all squares together.
    """
    shares: Shares = {x: {} for x in ("inertia", "Coriolis", "centrifugal", "gravity", "base")}
    for k in at.model.links:
        _add(shares, "gravity", (), [Share(k, at.fall[k], zeros(3), zeros(3))])
        for d, share in _columns_of_M(at, k):
            base = d >= at.model.n
            _add(shares, "base" if base else "inertia", (at.model.n if base else d,), [share])
        for (j, l), share in _products(at, k, pairs):
            if l >= at.model.n:
                key = (min(j, at.model.n), at.model.n) if pairs else ()
                _add(shares, "base", key, [share])
            else:
                cause = "centrifugal" if j == l else "Coriolis"
                _add(shares, cause, (j, l) if pairs else (), [share])
    for by_key in shares.values():
        for key, of_key in by_key.items():
            by_key[key] = _by_link(of_key)
    return shares


def joint_forces(at: Bodies, shares: dict[Key, list[Share]]) -> Array:
    """Joint forces of some shares, (n,): v . m a + omega . (I alpha + gyro), over all links."""
    tau = zeros(at.model.n)
    for x in (share for of_key in shares.values() for share in of_key):
        moment = at.I[x.link] @ x.alpha + x.gyro
        tau = tau + at.v[x.link] @ (at.m[x.link] * x.a) + at.omega[x.link] @ moment
    return tau


def _add(shares: Shares, cause: str, key: Key, new: list[Share]) -> None:
    moved = [x for x in new if x.a.any() or x.alpha.any() or x.gyro.any()]
    if moved:
        shares[cause].setdefault(key, []).extend(moved)


def _by_link(shares: list[Share]) -> list[Share]:
    """The shares with one of each link."""
    links: dict[int, list[Share]] = {}
    for share in shares:
        links.setdefault(share.link, []).append(share)
    return [
        x[0]
        if len(x) == 1
        else Share(k, *(np.sum([getattr(y, s) for y in x], 0) for s in ("a", "alpha", "gyro")))
        for k, x in links.items()
    ]


def _columns_of_M(at: Bodies, k: int) -> Iterator[tuple[int, Share]]:
    """Motion of link k by every acceleration, those of the base included."""
    columns, zero = at.columns[k], zeros(3)
    for c, change in enumerate(at.dV_base):
        if change:
            yield columns.dof[c], Share(k, columns.v[c] * change, columns.omega[c] * change, zero)
    for d in np.unique(columns.dof[BASE:]):
        change = at.x.ddq[d]
        if change:
            yield d, Share(k, at.v[k, d] * change, at.omega[k, d] * change, zero)


def _products(at: Bodies, k: int, pairs: bool) -> Iterator[tuple[tuple[int, int], Share]]:
    """Motion of link k by every product of two rates (j, l), j <= l.

    Not by pairs: all squares together as (0, 0), all products as (0, 1), those of the base as
    (0, n).
    """
    columns = at.columns[k]
    u = at.rates(k)
    moving = np.flatnonzero(u)
    u, joint, dof = u[moving], columns.joint[moving], columns.dof[moving]
    omega, v = columns.omega[moving], columns.v[moving]
    before, same = joint[:, None] < joint, joint[:, None] == joint
    uu = (u[:, None] * u)[:, :, None]
    a = np.cross(omega[:, None], v[None]) * uu * (2 * before + same)[:, :, None]
    alpha = np.cross(omega[:, None], omega[None]) * uu * before[:, :, None]
    gyro = np.cross(omega[:, None], (omega @ at.I[k])[None]) * uu
    stacked = np.concatenate([a, alpha, gyro], 2)
    if not pairs:
        own_dof = np.where(dof < at.model.n, dof, at.model.n)  # the base counts as one
        square, base = own_dof[:, None] == own_dof, (own_dof[:, None] == at.model.n)
        base = base | base.T
        groups = {(0, 0): square & ~base, (0, 1): ~square & ~base, (0, at.model.n): base}
        for key, mask in groups.items():
            x = stacked[mask].sum(0)
            yield key, Share(k, x[:3], x[3:6], x[6:])
        return
    by_pair: dict[tuple[int, int], Array] = {}
    for b in range(len(moving)):
        for c in range(len(moving)):
            key = (int(min(dof[b], dof[c])), int(max(dof[b], dof[c])))
            by_pair[key] = by_pair[key] + stacked[b, c] if key in by_pair else stacked[b, c]
    for key, x in by_pair.items():
        yield key, Share(k, x[:3], x[3:6], x[6:])
