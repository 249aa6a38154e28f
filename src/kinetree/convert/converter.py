"""Converter: vectors and matrices of a whole robot, joint by joint, there or back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.convert.joints import JointOrder
from kinetree.convert.libraries import Library
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.model import HasModel, Joint, Model, model_of


@dataclass(frozen=True)
class Part:
    """One joint here, and where its entries stand in the other library's q' and dq'."""

    joint: Joint
    order: JointOrder
    coords: list[int]
    dofs: list[int]


@dataclass(frozen=True)
class Order:
    """The joints of a model in the order of another library, which has nq coordinates there."""

    model: Model
    library: Library
    parts: tuple[Part, ...]
    nq: int


def make_order(robot: Model | HasModel, library: Library, joints: Sequence[str] | None) -> Order:
    """The joints that move by themselves, one after the other as `joints` names them."""
    model = model_of(robot)
    names = model.joint_names if joints is None else tuple(joints)
    if sorted(names) != sorted(model.joint_names):
        raise NameLookupError(
            f"joints are {', '.join(names) or 'none'}; expected every joint of {model.name!r} that "
            f"moves by itself, once, in the order of {library.name}: "
            f"{', '.join(model.joint_names)}."
        )
    numbers = {joint.name: i for i, joint in enumerate(model.joints)}
    parts, nq, n = [], 0, 0
    for name in names:
        i = numbers[name]
        order, k = library.joints[model.joints[i].type](model, i), len(model.joints[i].dofs)
        coords, dofs = list(range(nq, nq + order.nq)), list(range(n, n + k))
        parts.append(Part(model.joints[i], order, coords, dofs))
        nq, n = nq + order.nq, n + k
    return Order(model, library, tuple(parts), nq)


@dataclass(frozen=True)
class Converter:
    """From here to another library (outward) or back; every method takes any leading axes.

    With dq' = X dq: tau' = X tau, M' = X M X^T, J' = P J X^T, ddq' = X (ddq + b); see `joints`.
    """

    order: Order
    outward: bool

    def q(self, q: Any) -> Array:
        """Joint positions."""
        if not self.outward:
            return self._ours(q)
        q = self._checked(q, "q", self.order.model.nq)
        out = np.empty((*q.shape[:-1], self.order.nq))
        for part in self.order.parts:
            own = q[..., list(part.joint.coords)]
            _check_quaternion(part.joint, own)
            out[..., part.coords] = part.order.to_q(own)
        return out

    def dq(self, q: Any, dq: Any) -> Array:
        """Joint rates."""
        return self._turn(self._ours(q), self._checked(dq, "dq", self.order.model.n))

    def ddq(self, q: Any, dq: Any, ddq: Any) -> Array:
        """Joint accelerations, the rates of `dq`."""
        q, n = self._ours(q), self.order.model.n
        dq, ddq = self._checked(dq, "dq", n), self._checked(ddq, "ddq", n)
        if self.outward:
            return self._turn(q, ddq + self._bias(dq))
        return self._turn(q, ddq) - self._bias(self._turn(q, dq))

    def tau(self, q: Any, tau: Any) -> Array:
        """Joint forces: tau . dq, the power, stays the same."""
        return self._turn(self._ours(q), self._checked(tau, "tau", self.order.model.n))

    def mass_matrix(self, q: Any, M: Any) -> Array:
        """A matrix over the degrees of freedom, (..., n, n): the mass matrix or its inverse."""
        n, q = self.order.model.n, self._ours(q)
        M = self._checked(M, "M", n, n)
        half = np.swapaxes(self._turn(q, M, inner=1), -1, -2)
        return np.swapaxes(self._turn(q, half, inner=1), -1, -2)

    def jacobian(self, q: Any, J: Any) -> Array:
        """A Jacobian (..., 6, n), its rows in the frame that they are in."""
        J = self._checked(J, "J", 6, self.order.model.n)
        J = _swapped(J, -2) if "jacobian" in self.order.library.linear_first else J
        return self._turn(self._ours(q), J, inner=1)

    def twist(self, V: Any) -> Array:
        """A twist (..., 6), in the frame that it is in."""
        V = self._checked(V, "V", 6)
        return _swapped(V, -1) if "twist" in self.order.library.linear_first else V

    def wrench(self, F: Any) -> Array:
        """A wrench (..., 6), in the frame that it is in."""
        F = self._checked(F, "F", 6)
        return _swapped(F, -1) if "wrench" in self.order.library.linear_first else F

    def _ours(self, q: Any) -> Array:
        """q in the order of kinetree, from the order that this converter starts from."""
        model = self.order.model
        q = self._checked(q, "q", model.nq if self.outward else self.order.nq)
        ours = q if self.outward else np.empty((*q.shape[:-1], model.nq))
        for part in self.order.parts:
            coords = list(part.joint.coords)
            if not self.outward:
                ours[..., coords] = part.order.from_q(q[..., part.coords])
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

    def _checked(self, x: Any, name: str, *shape: int) -> Array:
        """`x` in floats, its last axes of the given lengths."""
        try:
            x = np.asarray(x, float)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must hold numbers: {error}.") from None
        if x.shape[max(x.ndim - len(shape), 0) :] != shape:
            origin = "kinetree" if self.outward else self.order.library.name
            raise ShapeError(
                f"{name} has the shape {x.shape}; expected (..., {', '.join(map(str, shape))}) in "
                f"the order of {origin}, for the joints "
                f"{', '.join(part.joint.name for part in self.order.parts)}."
            )
        return x


def _swapped(x: Array, axis: int) -> Array:
    return np.roll(x, 3, axis)


def _check_quaternion(joint: Joint, q: Array) -> None:
    if joint.type not in (SPHERICAL, FREE):
        return
    error = np.abs((q[..., :4] ** 2).sum(-1) - 1).max(initial=0)
    if not error <= 1e-6:
        raise InputError(
            f"a quaternion of joint {joint.name!r} in q has a squared length that is off by "
            f"{error:.3g}; expected length 1. Is q in the order that this converter starts from?"
        )
