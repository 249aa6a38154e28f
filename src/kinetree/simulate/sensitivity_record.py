"""Sensitivities: a motion with the linear system of its steps, forward and backward.

Small changes x of the state (a tangent vector of q, a change of dq, a change of the controller's
own state z) and u of inputs follow

    x_{k+1} = A_k x_k + B_k u

Forward, columns of d x/d u are carried along; backward, the slopes of a number by every state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.model import Model
from kinetree.simulate.sensitivity_cost import cost_slopes
from kinetree.simulate.sensitivity_inputs import STATE, Input
from kinetree.simulate.trajectory import Trajectory

MOST = 2**28  # numbers of one derivative, 2 GiB


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """Derivatives of a simulated motion.

    motion: the simulation. inputs: what it can be differentiated by. A: (T - 1, ..., N, N), of each
    step, N = 2n and the entries of a controller's own state. B: by name (T - 1, ..., N, *shape), of
    each step; for a signal (T - 1, ..., N, stages, *shape), by its value at each stage.
    """

    motion: Trajectory
    model: Model
    inputs: tuple[Input, ...]
    A: Array
    B: Mapping[str, Array]

    def by(self, name: str) -> Array:
        """d(q, dq)/d input at every time, (T, ..., 2n, *shape), q and q0 along tangent vectors.

        The shape of a signal's values is (N, *shape). Not a number: Coulomb friction given to a
        joint that stands still.
        """
        given = self._find(name)
        if given.weights is not None:
            return self._by_samples(given)
        n, lead, T = self.model.n, self.A.shape[1:-2], len(self.motion)
        X = np.zeros((*lead, self.A.shape[-1], given.size))
        if name in STATE:
            at = np.arange(n)
            X[..., n * STATE.index(name) + at, at] = 1
        found = np.empty((T, *lead, 2 * n, given.size))
        found[0] = X[..., : 2 * n, :]
        B = 0 if name in STATE else self.B[name].reshape(*self.A.shape[:-1], -1)
        for k in range(T - 1):
            X = self.A[k] @ X + (B if isinstance(B, int) else B[k])
            found[k + 1] = X[..., : 2 * n, :]
        return found.reshape(*found.shape[:-1], *given.shape)

    def _by_samples(self, given: Input) -> Array:
        weights = given.weights
        assert weights is not None
        n, lead, T = self.model.n, self.A.shape[1:-2], len(self.motion)
        shape = (*lead, self.A.shape[-1], weights.count, given.size)
        if T * np.prod(shape, dtype=float) > MOST:
            raise InputError(
                f"d x/d {given.name} has {T * np.prod(shape, dtype=float):.3g} numbers, of which "
                f"{MOST:.3g} are kept at most. For one number of the motion `gradient` and `cost` "
                "go backward and need no such table."
            )
        X, found = np.zeros(shape), np.zeros((T, *lead, 2 * n, *shape[-2:]))
        B = self.B[given.name].reshape(*self.A.shape[:-1], -1, given.size)
        for k in range(T - 1):
            X = (self.A[k] @ X.reshape(*lead, shape[len(lead)], -1)).reshape(shape)
            for i, (first, share) in enumerate(_samples(given, k)):
                X[..., first, :] += B[k][..., i, :] * (1 - share)
                if share:
                    X[..., first + 1, :] += B[k][..., i, :] * share
            found[k + 1] = X[..., : 2 * n, :, :]
        return found.reshape(*found.shape[:-1], *given.shape)

    def gradient(self, slopes: Any) -> dict[str, Array]:
        """Slopes of a number by every input, (..., *shape), from those by the states: backward.

        Args:
            slopes: d number/d(q, dq) at each time, (T, ..., 2n), along tangent vectors.
        """
        n, lead, T = self.model.n, self.A.shape[1:-2], len(self.motion)
        slopes = np.asarray(slopes, float)
        if slopes.shape != (T, *lead, 2 * n):
            raise ShapeError(
                f"slopes has shape {slopes.shape}; expected {(T, *lead, 2 * n)}: d/d(q, dq) of "
                f"{T} states of {self.model.name!r}, {n} numbers each."
            )
        found = {x.name: np.zeros(self._shape(x)) for x in self.inputs if x.name not in STATE}
        back = np.zeros((*lead, self.A.shape[-1]))  # slopes of the number by x_{k+1}
        back[..., : 2 * n] = slopes[-1]
        for k in reversed(range(T - 1)):
            for given in self.inputs:
                if given.name in found:
                    self._collect(found[given.name], given, k, back)
            back = np.einsum("...ij,...i->...j", self.A[k], back)
            back[..., : 2 * n] += slopes[k]
        for name in STATE:
            at = n * STATE.index(name)
            found[name] = back[..., at : at + n]
        return {x.name: found[x.name] for x in self.inputs}

    def _collect(self, total: Array, given: Input, k: int, back: Array) -> None:
        """Add what step k has of an input."""
        B = self.B[given.name][k].reshape(*back.shape, -1)
        found = np.einsum("...i,...ij->...j", back, B)
        if given.weights is None:
            total += found.reshape(total.shape)
            return
        found = found.reshape(*back.shape[:-1], -1, given.size)
        samples = total.reshape(*back.shape[:-1], -1, given.size)  # a view
        for i, (first, share) in enumerate(_samples(given, k)):
            samples[..., first, :] += found[..., i, :] * (1 - share)
            if share:
                samples[..., first + 1, :] += found[..., i, :] * share

    def cost(
        self,
        final: Callable[[Array, Array], Any] | None = None,
        running: Callable[[Any, Array, Array], Any] | None = None,
    ) -> tuple[Array, dict[str, Array]]:
        """J, (...), and its slopes by every input, (..., *shape).

        J = final(q, dq) at the end + the sum over the steps of h running(t, q, dq) where they
        begin. Both functions return a number and are traced: take sin and its friends from
        kinetree.scalars.
        """
        value, slopes = cost_slopes(self.model, self.motion, final, running)
        return value, self.gradient(slopes)

    def _shape(self, given: Input) -> tuple[int, ...]:
        samples = () if given.weights is None else (given.weights.count,)
        return (*self.A.shape[1:-2], *samples, *given.shape)

    def _find(self, name: str) -> Input:
        for given in self.inputs:
            if given.name == name:
                return given
        raise NameLookupError(
            f"the motion was not differentiated by {name!r}, only by {self._names()}; name it in "
            "wrt."
        )

    def _names(self) -> str:
        return ", ".join(x.name for x in self.inputs)

    def __repr__(self) -> str:
        batch = f", batch {self.motion.batch_shape}" if self.motion.batch_shape else ""
        return (
            f"Sensitivities({self.model.name!r}, {len(self.A)} steps, "
            f"{self.motion.duration:g} s{batch}, by {self._names()})"
        )


def _samples(given: Input, k: int) -> Sequence[tuple[int, float]]:
    """Of every stage of step k: the first of the two samples it lies between, and the share."""
    weights = given.weights
    assert weights is not None
    pairs = zip(weights.first[k], weights.share[k], strict=True)
    return [(int(first), float(share)) for first, share in pairs]
