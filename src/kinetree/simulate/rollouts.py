"""Rollouts of one adaptive run: the numbers that each is given, and its modes of dry friction."""

from collections.abc import Callable

import numpy as np

from kinetree.base.arrays import Array
from kinetree.simulate.dop853 import Dense, Slope
from kinetree.simulate.feed import Feed
from kinetree.simulate.roots import close, crossings, samples
from kinetree.simulate.sliding import Dry, consistent_modes, dry_of
from kinetree.simulate.system import Actors, System
from kinetree.simulate.velocity import normalised


class Rollouts:
    """Rollouts of a system with a batch shape; the feed ends with the modes of `dry` joints."""

    def __init__(
        self,
        system: System,
        actors: Actors,
        feed: Feed,
        batch: tuple[int, ...],
        count: int,
        dry: int,
    ) -> None:
        self.system, self.space, self.actors = system, system.space, actors
        self.feed, self.batch = feed, batch
        rows = feed.params(batch)
        self.params = np.array(np.broadcast_to(rows, (count, rows.shape[-1])))
        self.at_end = slice(self.feed.params_size - dry, self.feed.params_size)
        self.dry = self.read_dry() if dry else None

    def read_dry(self) -> Dry:
        """What friction can give in each rollout."""
        actors, empty = self.actors, np.zeros(self.feed.table_size)
        rows = self.params if actors.parameters else self.params[:1]
        given = [self.feed.given(p, empty) for p in rows]
        found = dry_of(self.space.model, actors.parameters, given, actors.changed)
        shape = (len(self.params), found.plus.shape[-1])
        return Dry(
            found.dofs, np.broadcast_to(found.plus, shape), np.broadcast_to(found.minus, shape)
        )

    def normal(self, x: Array) -> Array:
        """States with quaternions of length 1."""
        return normalised(self.space.model, x)

    def signals(self, t: Array, ends: bool, rows: Array) -> Array:
        """What changes with time, (K or 1, s), a row for each time and rollout."""
        if not self.feed.sampled:
            return np.zeros((1, 1))
        found = []
        for at in range(0, len(t), 64):
            part = slice(at, at + 64)
            table = self.feed.table(t[part], np.full(len(t[part]), ends), self.batch)
            own = np.zeros(len(t[part]), int) if table.shape[1] == 1 else rows[part]
            found.append(table[np.arange(len(own)), own])
        return np.concatenate(found)

    def rate(self, t: Array, x: Array, rows: Array, ends: bool = False) -> tuple[Array, Array]:
        """k and y of states (K, x) at times (K,), each in the mode of its rollout."""
        return self.system.rate(t, x, self.params[rows], self.signals(t, ends, rows))

    def slope(self, rows: Array) -> Slope:
        """The rate of some rollouts."""

        def slope(t: Array, x: Array, ends: bool) -> Array:
            return self.rate(t, x, rows, ends)[0]

        return slope

    def modes(self, rows: Array) -> Array:
        """The modes that rollouts are in, (K, d)."""
        return self.params[rows, self.at_end]

    def settle(self, row: int, t: float, x: Array) -> None:
        """Put a rollout into the mode that its state asks for."""
        assert self.dry is not None
        nq, n = self.space.model.nq, self.space.model.n

        def evaluate(mode: Array) -> tuple[Array, Array]:
            self.params[row, self.at_end] = mode
            k, y = self.rate(np.array([t]), x[None], np.array([row]))
            return k[0, nq : nq + n], y[0, n:]

        _, dq, _ = self.space.split(x)
        self.params[row, self.at_end] = consistent_modes(self.dry, row, dq, evaluate)

    def guards(self, row: int, i: int, polynomial: Dense, slow: float) -> Callable[[Array], Array]:
        """The functions that end the mode of a rollout, of shares of row i of a step."""
        assert self.dry is not None
        dry, mode, n = self.dry, self.modes(np.array([row]))[0], self.space.model.n

        def guards(shares: Array) -> Array:
            own = np.full(len(shares), i)
            x = self.normal(polynomial.at(own, shares))
            friction = np.zeros((len(shares), len(mode)))
            if (mode == 0).any():
                times = polynomial.step.times(own, shares)
                friction = self.rate(times, x, np.full(len(shares), row))[1][:, n:]
            return dry.guards(row, mode, self.space.split(x)[1], friction, slow)

        return guards

    def cut(self, row: int, i: int, polynomial: Dense, slow: float) -> tuple[float, Array] | None:
        """The share of a step at which the mode of its row i ends first, and the state there."""
        if self.dry is None:
            return None
        guards = self.guards(row, i, polynomial, slow)
        shares, values = samples(guards, 0.0, 1.0)
        found, _ = crossings(shares, values, np.ones(values.shape[1]))
        falling = [x for x in found if not x.rising]
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
