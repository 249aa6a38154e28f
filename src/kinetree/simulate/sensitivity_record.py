"""Sensitivities: a motion with the linear system of its steps, forward and backward.

Small changes x of the state (a tangent vector of q, a change of dq, a change of the controller's
own state z) and u of inputs follow

    x_{k+1} = A_k x_k + B_k u

Forward, columns of d x/d u are carried along; backward, the slopes of a number by every state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.model import Model
from kinetree.simulate.sensitivity_chain import Chain, Inside
from kinetree.simulate.sensitivity_cost import cost_slopes
from kinetree.simulate.sensitivity_inputs import STATE, Input
from kinetree.simulate.trajectory import Trajectory

MOST = 2**28  # numbers of one derivative, 2 GiB


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """Derivatives of a simulated motion.

    motion: the simulation. inputs: what it can be differentiated by. A: (E, ..., N, N), of each
    step, N = 2n and the entries of a controller's own state. B: by name (E, ..., N, *shape), of
    each step; for a signal (E, ..., N, values, *shape), by its values at the stages of the step.

    "dop853" has steps of its own, in each rollout: `inside` leads from where a step begins to the
    results in it, the values of a signal are those of the samples before and after the step, and
    rollouts with fewer steps stand still after their last.
    """

    motion: Trajectory
    model: Model
    inputs: tuple[Input, ...]
    A: Array
    B: Mapping[str, Array]
    inside: Inside | None = None

    def by(self, name: str) -> Array:
        """d(q, dq)/d input at every time, (T, ..., 2n, *shape), q and q0 along tangent vectors.

        The shape of a signal's values is (N, *shape). Not a number: Coulomb friction given to a
        joint that stands still.
        """
        given, chain = self._find(name), self._chain()
        n, lead, T = self.model.n, self.motion.batch_shape, len(self.motion)
        count = 1 if given.weights is None else given.weights.count
        B, N = chain.A.shape[1:3]
        if T * B * N * count * given.size > MOST:
            raise InputError(
                f"d x/d {name} has {float(T * B * N * count * given.size):.3g} numbers, of which "
                f"{MOST:.3g} are kept at most. For one number of the motion `gradient` and `cost` "
                "go backward and need no such table."
            )
        X = np.zeros((B, N, count, given.size))
        if name in STATE:
            at = np.arange(n)
            X[:, n * STATE.index(name) + at, 0, at] = 1
        found = np.empty((T, B, 2 * n, count, given.size))
        for t, b, Y in chain.forward(given, X):
            found[t, b] = Y[:, : 2 * n]
        samples = () if given.weights is None else (count,)
        return found.reshape(T, *lead, 2 * n, *samples, *given.shape)

    def gradient(self, slopes: Any) -> dict[str, Array]:
        """Slopes of a number by every input, (..., *shape), from those by the states: backward.

        Args:
            slopes: d number/d(q, dq) at each time, (T, ..., 2n), along tangent vectors.
        """
        n, lead, T = self.model.n, self.motion.batch_shape, len(self.motion)
        slopes = np.asarray(slopes, float)
        if slopes.shape != (T, *lead, 2 * n):
            raise ShapeError(
                f"slopes has shape {slopes.shape}; expected {(T, *lead, 2 * n)}: d/d(q, dq) of "
                f"{T} states of {self.model.name!r}, {n} numbers each."
            )
        chain = self._chain()
        B, N = chain.A.shape[1:3]
        wide = np.zeros((T, B, N))
        wide[..., : 2 * n] = slopes.reshape(T, B, 2 * n)
        totals = {
            x: np.zeros((B, 1 if x.weights is None else x.weights.count, x.size))
            for x in self.inputs
            if x.name not in STATE
        }
        first = chain.backward(wide, totals)
        found = {name: first[:, n * k : n * (k + 1)] for k, name in enumerate(STATE)}
        found |= {given.name: total for given, total in totals.items()}
        return {x.name: found[x.name].reshape(self._shape(x)) for x in self.inputs}

    def _chain(self) -> Chain:
        """The same numbers with the rollouts in a row and the axes of inputs apart."""
        E, N = len(self.A), self.A.shape[-1]
        A = self.A.reshape(E, -1, N, N)
        values = {x.name: 1 if x.weights is None else x.weights.first.shape[1] for x in self.inputs}
        B = {name: x.reshape(*A.shape[:3], values[name], -1) for name, x in self.B.items()}
        return Chain(A, B, self.inside)

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
        return (*self.motion.batch_shape, *samples, *given.shape)

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
            f"Sensitivities({self.model.name!r}, {counted(len(self.A), 'step')}, "
            f"{self.motion.duration:g} s{batch}, by {self._names()})"
        )
