"""Trip: the numbers of one adaptive run, what its rollouts are given and the modes they are in."""

import numpy as np

from kinetree.arrays import Array
from kinetree.simulate.dop853 import Dense, Slope, Step
from kinetree.simulate.feed import Feed
from kinetree.simulate.sliding import Dry, dry_of, settle_modes
from kinetree.simulate.system import Actors, System
from kinetree.simulate.velocity import normalised

BLOCK = 65_536  # states that are evaluated at a time for the record


class Trip:
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

    def modes(self, rows: Array) -> Array:
        """The modes that rollouts are in, (K, d)."""
        return self.params[rows, self.at_end]

    def set_mode(self, row: int, mode: Array) -> None:
        """Put a rollout into a mode."""
        self.params[row, self.at_end] = mode

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

    def slope(self, rows: Array) -> Slope:
        """The rate of some rollouts."""

        def slope(t: Array, x: Array, ends: bool) -> Array:
            s = self.signals(t, ends, rows)
            return self.system.rate(t, x, self.params[rows], s)[0]

        return slope

    def friction(self, row: int, t: float, x: Array, ends: bool) -> tuple[Array, Array]:
        """ddq and the dry friction of one rollout."""
        times, rows = np.array([t]), np.array([row])
        s = self.signals(times, ends, rows)
        k, y = self.system.rate(times, x[None], self.params[rows], s)
        nq, n = self.space.model.nq, self.space.model.n
        return k[0, nq : nq + n], y[0, n:]

    def start(self, x: Array) -> None:
        """The modes at the beginning."""
        for row in range(len(x)) if self.dry else ():
            self.settle(row, 0.0, x[row])

    def settle(self, row: int, t: float, x: Array) -> None:
        """The mode that a state asks for."""

        def evaluate(mode: Array) -> tuple[Array, Array]:
            self.set_mode(row, mode)
            return self.friction(row, t, x, False)

        assert self.dry is not None
        _, dq, _ = self.space.split(x)
        self.set_mode(row, settle_modes(self.dry, row, dq, evaluate))

    def guarded(self, rows: Array, step: Step) -> Array:
        """Which rollouts have left their mode at the end of a step."""
        if self.dry is None:
            return np.zeros(len(rows), bool)
        s = self.signals(step.t + step.h, True, rows)
        _, y = self.system.rate(step.t + step.h, step.end, self.params[rows], s)
        _, dq, _ = self.space.split(step.end)
        friction = y[:, self.space.model.n :]
        return np.any(self.dry.guards(rows, self.modes(rows), dq, friction) < 0, axis=-1)

    def cut(self, row: int, i: int, step: Step, polynomial: Dense) -> tuple[float, Array] | None:
        """Where in a step the first mode ends, and the state there, in its new mode."""
        assert self.dry is not None
        rows, space = np.array([row]), self.space
        mode = self.modes(rows)

        def state(share: float) -> Array:
            x = polynomial.at(np.array([i]), np.array([share]))[0]
            return normalised(space.model, x)

        def guards(share: float) -> Array:
            x = state(share)
            _, friction = self.friction(row, float(step.t[i] + share * step.h[i]), x, share == 1)
            dq = space.split(x)[1][None]
            return self.dry.guards(rows, mode, dq, friction[None])[0]  # type: ignore[union-attr]

        low, high = 0.0, 1.0
        while high - low > 1e-13:  # the first change of sign, whichever guard it is
            middle = (low + high) / 2
            low, high = (low, middle) if (guards(middle) < 0).any() else (middle, high)
        x = state(high)
        left = np.flatnonzero((guards(high) < 0) & (mode[0] != 0))
        x[space.model.nq + self.dry.dofs[left]] = 0.0
        x[space.model.nq + self.dry.dofs[mode[0] == 0]] = 0.0
        self.settle(row, float(step.t[i] + high * step.h[i]), x)
        return high, x

    def evaluate(self, times: Array, x: Array, modes: Array) -> tuple[Array, Array]:
        """Rates and forces of all results, (T, B, ...)."""
        count = x.shape[1]
        found: list[tuple[Array, Array]] = []
        for begin in range(0, len(times), max(1, BLOCK // count)):
            part = slice(begin, begin + max(1, BLOCK // count))
            block = x[part].reshape(-1, x.shape[-1])
            t = np.repeat(times[part], count)
            rows = np.tile(np.arange(count), len(times[part]))
            p = self.params[rows].copy()
            p[:, self.at_end] = modes[part].reshape(len(p), -1)
            found.append(self.system.rate(t, block, p, self.signals(t, False, rows)))
        k, y = (np.concatenate([pair[j] for pair in found]) for j in (0, 1))
        return k.reshape(*x.shape[:2], -1), y.reshape(*x.shape[:2], -1)
