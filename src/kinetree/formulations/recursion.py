"""Recursion: the record that all four formulations of inverse dynamics return."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import number, table
from kinetree.model import Model
from kinetree.model.inputs import per_dof
from kinetree.spatial import cross


@dataclass(frozen=True, eq=False)
class Recursion:
    """Every intermediate of the two passes by name, one row a link.

    The 3-vectors are written in the links' own frames, or all in {s} when `frame` is "space". They
    belong to the origin of {i}: v and a_e are its velocity and acceleration (gravity appears as an
    upward acceleration of everything), f and n the force and moment through joint i onto link i.
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
    tau: Array  # joint forces, everything included, (n,)

    @property
    def V(self) -> Array:
        """Twists (omega, v) in the link frames, (links, 6)."""
        return np.concatenate([self._in_links(self.omega), self._in_links(self.v)], 1)

    @property
    def dV(self) -> Array:
        """Derivatives of V in the link frames, (links, 6): the linear part is a_e - omega x v."""
        dv = [a - cross(w, v) for a, w, v in zip(self.a_e, self.omega, self.v, strict=True)]
        dv = np.array(dv).reshape(-1, 3)
        return np.concatenate([self._in_links(self.alpha), self._in_links(dv)], 1)

    @property
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
        return table(title, head, rows, text=0, notes=[f"tau = {tau}"])

    def _in_links(self, x: Array) -> Array:
        if self.frame == "link":
            return x
        turned = [T[:3, :3].T @ row for T, row in zip(self.T_si, x, strict=True)]
        return np.array(turned).reshape(-1, 3)


def from_vectors(
    formulation: str,
    frame: str,
    model: Model,
    T_si: Array,
    vectors: Mapping[str, Mapping[int, Array]],
    tau: Array,
    tau_rotor: Array,
    tau_friction: Array,
) -> Recursion:
    """The record of a formulation in 3-vectors by name, each a mapping from link to (3,)."""
    return Recursion(
        formulation=formulation,
        frame=frame,
        T_si=T_si,
        **{name: stack(x, model, 3) for name, x in vectors.items()},
        tau_rotor=tau_rotor,
        tau_friction=tau_friction,
        tau=tau + tau_rotor + tau_friction,
    )


def from_screw_form(
    formulation: str,
    model: Model,
    T_si: Array,
    V: Array,
    dV: Array,
    F: Array,
    tau_rotor: Array,
    tau_friction: Array,
) -> Recursion:
    """The record of a formulation in 6-vectors, all in link frames, (links, 6)."""
    omega, v, alpha = V[:, :3], V[:, 3:], dV[:, :3]
    a_e = [dV[i, 3:] + cross(omega[i], v[i]) for i in model.links]
    a_c = [
        a_e[i] + cross(alpha[i], c) + cross(omega[i], cross(omega[i], c))
        for i, c in enumerate(model.com)
    ]
    tau = per_dof(model, [model.A[i].T @ F[i] for i in model.links])
    return Recursion(
        formulation=formulation,
        frame="link",
        T_si=T_si,
        omega=omega,
        v=v,
        alpha=alpha,
        a_e=np.array(a_e).reshape(-1, 3),
        a_c=np.array(a_c).reshape(-1, 3),
        f=F[:, 3:],
        n=F[:, :3],
        tau_rotor=tau_rotor,
        tau_friction=tau_friction,
        tau=tau + tau_rotor + tau_friction,
    )


def stack(x: Mapping[int, Array], model: Model, *shape: int) -> Array:
    """One row a link, of a mapping from link to arrays of the given shape."""
    return np.array([x[i] for i in model.links]).reshape(len(model.links), *shape)


def split(x: Array) -> tuple[Array, Array]:
    """Angular and linear half of a 6-vector."""
    return x[:3], x[3:]
