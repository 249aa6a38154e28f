"""Recursion: the record that all four formulations of inverse dynamics return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import number
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.joints.springs import Springs
from kinetree.dynamics.textbook.rotors import rotor_forces
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, per_dof
from kinetree.present.tables import Table
from kinetree.spatial import cross
from kinetree.spatial.se3 import split

Rows = Mapping[int, Array] | Array  # one row a link


@dataclass(frozen=True, eq=False)
class Recursion:
    """Every intermediate of the two passes by name, one row for each link.

    The 3-vectors are written in the links' own frames, or all in {s} when `frame` is "space". They
    belong to the origin of {i}: v and a_e are its velocity and acceleration (gravity appears as an
    upward acceleration of everything), f and n the force and moment through joint i onto link i.

    Args:
        formulation: "screw", "closed", "link" or "space".
        frame: "link" or "space", the axes of the 3-vectors.
        T_si: poses of the links in {s}, shape (l, 4, 4), positions in m.
        omega: angular velocities, shape (l, 3), rad/s.
        v: velocities of the origins, shape (l, 3), m/s.
        alpha: angular accelerations, shape (l, 3), rad/s^2.
        a_e: accelerations of the origins, gravity included, shape (l, 3), m/s^2.
        a_c: accelerations of the centres of mass, gravity included, shape (l, 3), m/s^2.
        f: forces through the joints onto the links, shape (l, 3), N.
        n: moments through the joints onto the links, shape (l, 3), N m.
        tau_rotor: share of rotors and armature, shape (n,), N m or N.
        tau_friction: share of friction, shape (n,), N m or N.
        tau_spring: share of springs, shape (n,), N m or N.
        tau: joint forces, shape (n,), N m or N.
    """

    formulation: str
    frame: str
    T_si: Array  # pose of {i}, (links, 4, 4)
    omega: Array  # angular velocity, (links, 3)
    v: Array  # velocity of the origin
    alpha: Array  # angular acceleration
    a_e: Array  # acceleration of the origin
    a_c: Array  # acceleration of the centre of mass
    f: Array  # force onto link i through joint i
    n: Array  # moment onto link i through joint i
    tau_rotor: Array  # joint forces for armature and rotors, (n,)
    tau_friction: Array  # joint forces against friction, (n,)
    tau_spring: Array  # joint forces against springs, (n,)
    tau: Array  # joint forces, everything included, (n,)

    @cached_property
    def V(self) -> Array:
        """Twists (omega, v) in the link frames, (links, 6)."""
        return np.concatenate([self._in_links(self.omega), self._in_links(self.v)], 1)

    @cached_property
    def dV(self) -> Array:
        """Derivatives of V in the link frames, (links, 6): the linear part is a_e - omega x v."""
        dv = [a - cross(w, v) for a, w, v in zip(self.a_e, self.omega, self.v, strict=True)]
        dv = np.array(dv).reshape(-1, 3)
        return np.concatenate([self._in_links(self.alpha), self._in_links(dv)], 1)

    @cached_property
    def F(self) -> Array:
        """Wrenches (n, f) onto the links through their joints, in the link frames, (links, 6)."""
        return np.concatenate([self._in_links(self.n), self._in_links(self.f)], 1)

    def _repr_html_(self) -> str:
        names = ("omega", "v", "alpha", "a_e", "f", "n")
        head = ("link", *(f"{name}.{axis}" for name in names for axis in "xyz"))
        rows = [
            (i, *(entry for name in names for entry in getattr(self, name)[i]))
            for i in range(len(self.T_si))
        ]
        frame = "{s}" if self.frame == "space" else "the links' frames"
        tau = ", ".join(map(number, self.tau))
        title = f"Newton-Euler, {self.formulation} form, vectors in {frame}"
        return Table(title, head, rows, text=0, notes=[f"tau = {tau}"]).html()

    def _in_links(self, rows: Array) -> Array:
        return in_links(self.frame, self.T_si, rows)


def record(
    formulation: str,
    frame: str,
    model: Model,
    x: Motion,
    T_si: Array,
    vectors: Mapping[str, Mapping[int, Array]],
) -> Recursion:
    """The record of a formulation in 3-vectors by name, each a mapping from link to (3,).

    Joint forces follow from f and n in the link frames; those of the drives are added.
    """
    rows = {name: stack(values, model, 3) for name, values in vectors.items()}
    n, f, alpha = (in_links(frame, T_si, rows[name]) for name in ("n", "f", "alpha"))
    links = zip(model.A, n, f, strict=True)
    # explain: tau
    tau = per_dof(model, [A.T @ np.concatenate([n_i, f_i]) for A, n_i, f_i in links])
    turning = {WORLD: x.dV_base[:3], **dict(enumerate(alpha))}
    rotor = rotor_forces(model, model.rotors, x.ddq, turning)
    friction = friction_forces(model, x.dq)
    springs = Springs(model, x.q).at(x.dq)
    rows |= {"tau_rotor": rotor, "tau_friction": friction, "tau_spring": springs}
    tau = tau + rotor + friction
    return Recursion(
        formulation,
        frame,
        T_si,
        **rows,
        tau=tau + springs if model.springs else tau,
    )


def record_screws(
    formulation: str, model: Model, x: Motion, T_si: Array, screws: Sequence[Rows]
) -> Recursion:
    """The record of a formulation in 6-vectors V, dV and F of the link frames, by link."""
    V, dV, F = screws
    vectors: dict[str, dict[int, Array]] = {
        name: {} for name in ("omega", "v", "alpha", "a_e", "a_c", "f", "n")
    }
    for i, c in enumerate(model.com):
        (omega, v), alpha = split(V[i]), dV[i][:3]
        a_e = dV[i][3:] + cross(omega, v)
        a_c = a_e + cross(alpha, c) + cross(omega, cross(omega, c))
        n, f = split(F[i])
        for name, value in zip(vectors, (omega, v, alpha, a_e, a_c, f, n), strict=True):
            vectors[name][i] = value
    return record(formulation, "link", model, x, T_si, vectors)


def in_links(frame: str, T_si: Array, rows: Array) -> Array:
    """3-vectors of the links, (links, 3), in their own frames; `frame`: where they are written."""
    if frame == "link":
        return rows
    turned = [T[:3, :3].T @ row for T, row in zip(T_si, rows, strict=True)]
    return np.array(turned).reshape(-1, 3)


def stack(x: Mapping[int, Array], model: Model, *shape: int) -> Array:
    """One row a link, of a mapping from link to arrays of the given shape."""
    return np.array([x[i] for i in model.links]).reshape(len(model.links), *shape)
