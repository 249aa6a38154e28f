"""Converter: vectors and matrices of a whole robot, to another library or back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.core.options import numbers
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.files.convert.libraries import JointOrder, Library
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import HasModel, Joint, Model, model_of
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.present.labels import by_name


@dataclass(frozen=True)
class Part:
    """One joint here, and the places of its entries in the other library's q' and dq'."""

    joint: Joint
    order: JointOrder
    coords: list[int]
    dofs: list[int]


@dataclass(frozen=True)
class Order:
    """The joints of a model in the order of another library, with nq coordinates in all."""

    model: Model
    library: Library
    parts: tuple[Part, ...]
    nq: int


def make_order(robot: Model | HasModel, library: Library, joints: Sequence[str] | None) -> Order:
    """The joints that move by themselves in the order of `joints`; None: the model's order."""
    model = model_of(robot)
    names = model.joint_names if joints is None else tuple(joints)
    if sorted(names) != sorted(model.joint_names):
        text = f"joints are {', '.join(names) or 'none'}; expected those that move by themselves"
        raise NameLookupError(f"{text}, in any order: {', '.join(model.joint_names)}.")
    numbers = {joint.name: i for i, joint in enumerate(model.joints)}
    parts: list[Part] = []
    nq = n = 0
    for name in names:
        i = numbers[name]
        order, k = library.order(model, i), len(model.joints[i].dofs)
        coords, dofs = list(range(nq, nq + order.nq)), list(range(n, n + k))
        parts.append(Part(model.joints[i], order, coords, dofs))
        nq, n = nq + order.nq, n + k
    return Order(model, library, tuple(parts), nq)


@dataclass(frozen=True)
class Converter:
    """Conversion from kinetree to another library (outward) or back, over any leading axes.

    With dq' = X dq: tau' = X tau, M' = X M X^T, J' = P J X^T, ddq' = X (ddq + b); see `libraries`.

    Args:
        order: order and conventions of the other library.
        outward: whether it converts from kinetree to the library.
    """

    order: Order
    outward: bool

    def q(self, q: ArrayLike) -> Array:
        """Joint positions.

        Args:
            q: joint positions, shape (..., nq), rad or m, in the order that is converted from.
        """
        if not self.outward:
            return self._ours(q)
        ours = self._checked(q, "q", self.order.model.nq)
        out = np.empty((*ours.shape[:-1], self.order.nq))
        for part in self.order.parts:
            entries = ours[..., list(part.joint.coords)]
            _check_quaternion(part.joint, entries)
            out[..., part.coords] = part.order.to_q(entries)
        return out

    def dq(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Joint rates.

        Args:
            q: joint positions, shape (..., nq), rad or m, in the order that is converted from.
            dq: joint rates, shape (..., n), rad/s or m/s.
        """
        return self._turn(self._ours(q), self._checked(dq, "dq", self.order.model.n))

    def ddq(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Joint accelerations, the rates of `dq`.

        Args:
            q: joint positions, shape (..., nq), rad or m, in the order that is converted from.
            dq: joint rates, shape (..., n), rad/s or m/s.
            ddq: joint accelerations, shape (..., n), rad/s^2 or m/s^2.
        """
        ours, n = self._ours(q), self.order.model.n
        rates, accelerations = self._checked(dq, "dq", n), self._checked(ddq, "ddq", n)
        if self.outward:
            return self._turn(ours, accelerations + self._bias(rates))
        return self._turn(ours, accelerations) - self._bias(self._turn(ours, rates))

    def tau(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Joint forces; the power tau . dq stays the same.

        Args:
            q: joint positions, shape (..., nq), rad or m, in the order that is converted from.
            tau: joint forces, shape (..., n), N m or N.
        """
        return self._turn(self._ours(q), self._checked(tau, "tau", self.order.model.n))

    def mass_matrix(self, q: ArrayLike, M: ArrayLike) -> Array:
        """A matrix over the degrees of freedom, (..., n, n): the mass matrix or its inverse.

        Args:
            q: joint positions, shape (..., nq), rad or m, in the order that is converted from.
            M: matrix, shape (..., n, n), kg m^2, kg m or kg.
        """
        n, ours = self.order.model.n, self._ours(q)
        half = np.swapaxes(self._turn(ours, self._checked(M, "M", n, n), inner=1), -1, -2)
        return np.swapaxes(self._turn(ours, half, inner=1), -1, -2)

    def jacobian(self, q: ArrayLike, J: ArrayLike) -> Array:
        """A Jacobian (..., 6, n); the frame of its rows does not change.

        Args:
            q: joint positions, shape (..., nq), rad or m, in the order that is converted from.
            J: Jacobian, shape (..., 6, n), rad/s and m/s for a unit of each rate.
        """
        x = self._ordered("jacobian", self._checked(J, "J", 6, self.order.model.n), -2)
        return self._turn(self._ours(q), x, inner=1)

    def twist(self, V: ArrayLike) -> Array:
        """A twist (..., 6); its frame does not change.

        Args:
            V: twist, shape (..., 6), rad/s and m/s.
        """
        return self._ordered("twist", self._checked(V, "V", 6), -1)

    def wrench(self, F: ArrayLike) -> Array:
        """A wrench (..., 6); its frame does not change.

        Args:
            F: wrench, shape (..., 6), N m and N.
        """
        return self._ordered("wrench", self._checked(F, "F", 6), -1)

    def _ordered(self, kind: str, x: Array, axis: int) -> Array:
        """`x` with its angular and linear halves swapped, if the library has linear ones first."""
        return np.roll(x, 3, axis) if kind in self.order.library.linear_first else x

    def _ours(self, q: ArrayLike) -> Array:
        """q in the order of kinetree, from the order that this converter starts from."""
        model = self.order.model
        positions = self._checked(q, "q", model.nq if self.outward else self.order.nq)
        ours = positions if self.outward else np.empty((*positions.shape[:-1], model.nq))
        for part in self.order.parts:
            coords = list(part.joint.coords)
            if not self.outward:
                ours[..., coords] = part.order.from_q(positions[..., part.coords])
            _check_quaternion(part.joint, ours[..., coords])
        return ours

    def _turn(self, q: Array, x: Array, inner: int = 0) -> Array:
        """X x or X^T x along the last axis; `inner` axes lie between it and the batch."""
        lead = np.broadcast_shapes(q.shape[:-1], x.shape[: x.ndim - 1 - inner])
        out = np.empty((*lead, *x.shape[x.ndim - 1 - inner :]))
        for part in self.order.parts:
            X = part.order.X(q[..., list(part.joint.coords)])
            X = np.expand_dims(X, tuple(range(-3, -3 - inner, -1))) if X.ndim > 2 else X
            ours = list(part.joint.dofs)
            if self.outward:
                out[..., part.dofs] = np.einsum("...ij,...j->...i", X, x[..., ours])
            else:
                out[..., ours] = np.einsum("...ji,...j->...i", X, x[..., part.dofs])
        return out

    def _bias(self, dq: Array) -> Array:
        out = np.zeros_like(dq)
        for part in self.order.parts:
            ours = list(part.joint.dofs)
            out[..., ours] = part.order.b(dq[..., ours])
        return out

    def _checked(self, x: ArrayLike, name: str, *shape: int) -> Array:
        """`x` in floats, its last axes of the given lengths."""
        model = self.order.model
        if self.outward and len(shape) == 1 and name in ("q", "dq", "ddq", "tau"):
            axis = coordinate_axis(model) if name == "q" else dof_axis(model)
            x = by_name(x, axis, name)
        refuse_labels(x, name, f"a plain array in the order of {self.order.library.name}")
        values = numbers(x, name, "numbers")
        if values.shape[max(values.ndim - len(shape), 0) :] != shape:
            origin = "kinetree" if self.outward else self.order.library.name
            expected = f"(..., {', '.join(map(str, shape))}) in the order of {origin}"
            raise ShapeError(f"{name} has the shape {values.shape}; expected {expected}.")
        return values


def _check_quaternion(joint: Joint, q: Array) -> None:
    if joint.type not in (SPHERICAL, FREE):
        return
    error = np.abs((q[..., :4] ** 2).sum(-1) - 1).max(initial=0)
    if not error <= 1e-6:
        text = f"a quaternion of joint {joint.name!r} in q has a squared length off by {error:.3g}"
        raise InputError(f"{text}; expected length 1. Is q in the order of this converter?")
