"""Rollouts: the inputs of many rollouts of a system, and the modes of joints with dry friction."""

from collections.abc import Callable

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernel import Kernel
from kinetree.simulate.core.dop853 import DenseOutput, Slope
from kinetree.simulate.core.events import close, crossings, samples
from kinetree.simulate.core.radau import RadauStep
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.system import System
from kinetree.simulate.friction.modes import (
    DryFriction,
    consistent_modes,
    read_dry_friction,
)
from kinetree.simulate.tuning import TIMES_AT_ONCE

Polynomial = DenseOutput | RadauStep


class Rollouts:
    """Rollouts of a system: their inputs, and the modes of joints with dry friction.

    The external inputs of `setup` end with the modes of `dry` joints. normal: makes states normal
    (closure.py); None where all are.
    """

    def __init__(
        self,
        system: System,
        setup: Setup,
        dry: int,
        normal: Kernel | None = None,
    ) -> None:
        self.system, self.space, self.acting = system, system.space, setup.acting
        self.external, self.batch, self.normal_kernel = setup.external, setup.batch, normal
        rows, count = self.external.params(self.batch), len(setup.x0)
        self.params = np.array(np.broadcast_to(rows, (count, rows.shape[-1])), order="C")
        self.at_end = slice(self.external.params_size - dry, self.external.params_size)
        self.dry = self._read_dry() if dry else None

    def _read_dry(self) -> DryFriction:
        """The dry friction of each rollout."""
        acting, empty = self.acting, np.zeros(self.external.table_size)
        rows = self.params if acting.parameters else self.params[:1]
        inputs = [self.external.named(p, empty) for p in rows]
        model = self.space.model
        friction = read_dry_friction(model, acting.parameters, inputs, acting.changed_model)
        shape = (len(self.params), friction.plus.shape[-1])
        return DryFriction(
            friction.dofs,
            np.broadcast_to(friction.plus, shape),
            np.broadcast_to(friction.minus, shape),
        )

    def normal(self, x: Array) -> Array:
        """States with quaternions of length 1, activations in range, and on the constraints."""
        return x if self.normal_kernel is None else self.normal_kernel(x)

    def signals(self, t: Array, ends: bool | Array, rows: Array) -> Array:
        """Values over time, (K or 1, s), a row for each time and rollout."""
        if not self.external.sampled:
            return np.zeros((1, 1))
        values: list[Array] = []
        at_ends = np.broadcast_to(ends, t.shape)
        for at in range(0, len(t), TIMES_AT_ONCE):
            part = slice(at, at + TIMES_AT_ONCE)
            table = self.external.table(t[part], at_ends[part], self.batch)
            columns = np.zeros(len(t[part]), int) if table.shape[1] == 1 else rows[part]
            values.append(table[np.arange(len(columns)), columns])
        return np.concatenate(values)

    def rate(
        self, t: Array, x: Array, rows: Array, ends: bool | Array = False
    ) -> tuple[Array, Array]:
        """k and y of states (K, x) at times (K,), each in the mode of its rollout."""
        return self.system.rate(t, x, self.params[rows], self.signals(t, ends, rows))

    def slope(self, rows: Array) -> Slope:
        """The rate of some rollouts, as the method calls it."""

        def slope(t: Array, x: Array, ends: bool) -> Array:
            return self.rate(t, x, rows, ends)[0]

        return slope

    def modes(self, rows: Array) -> Array:
        """The modes that rollouts are in, (K, d)."""
        return self.params[rows, self.at_end]

    def settle(self, row: int, t: float, x: Array) -> None:
        """Put a rollout into the mode in which its forces and motions agree."""
        assert self.dry is not None
        nq, n = self.space.model.nq, self.space.model.n

        def evaluate(mode: Array) -> tuple[Array, Array]:
            self.params[row, self.at_end] = mode
            k, y = self.rate(np.array([t]), x[None], np.array([row]))
            return k[0, nq : nq + n], y[0, n : n + len(mode)]

        _, dq, _ = self.space.split(x)
        self.params[row, self.at_end] = consistent_modes(self.dry, row, dq, evaluate)

    def cut(
        self, row: int, i: int, polynomial: Polynomial, slow: float
    ) -> tuple[float, Array] | None:
        """The share of a step at which the mode of its row i ends first, and the state there."""
        if self.dry is None:
            return None
        guards = self._guards(row, i, polynomial, slow)
        shares, values = samples(guards, 0.0, 1.0)
        changes, _ = crossings(shares, values, np.ones(values.shape[1]))
        falling = [x for x in changes if not x.rising]
        first = np.inf
        for x in falling:
            if x.low < first:

                def guard(share: float, j: int = x.index) -> float:
                    return float(guards(np.array([share]))[0, j])

                first = min(first, close(guard, x.low, x.high, False))
        if not falling:
            return None
        x = self.normal(polynomial.at(np.array([i]), np.array([first])))[0]
        mode = self.modes(np.array([row]))[0]
        nq, dofs = self.space.model.nq, self.dry.dofs
        x[nq + self.dry.stopped(mode, self.space.split(x)[1])] = 0.0
        x[nq + dofs[mode == 0]] = 0.0
        return first, x

    def _guards(
        self, row: int, i: int, polynomial: Polynomial, slow: float
    ) -> Callable[[Array], Array]:
        """The functions that end the mode of a rollout, of shares of row i of a step."""
        assert self.dry is not None
        dry, mode, n = self.dry, self.modes(np.array([row]))[0], self.space.model.n

        def guards(shares: Array) -> Array:
            step_rows = np.full(len(shares), i)
            x = self.normal(polynomial.at(step_rows, shares))
            friction = np.zeros((len(shares), len(mode)))  # sliding joints need none
            if (mode == 0).any():
                times = polynomial.step.times(step_rows, shares)
                friction = self.rate(times, x, np.full(len(shares), row))[1]
                friction = friction[:, n : n + len(mode)]
            return dry.guards(row, mode, self.space.split(x)[1], friction, slow)

        return guards
