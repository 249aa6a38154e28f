"""Base parameters: the combinations that joint forces depend on, and nothing else."""

from dataclasses import dataclass

import numpy as np

from kinetree.algorithms import random
from kinetree.arrays import Array
from kinetree.identify.least_squares import WORST
from kinetree.identify.unknowns import Unknowns
from kinetree.motion.bounds import bounds_of

SMALL = 1e-9  # a column that is this close to the others, relative to its length, adds nothing
FAINT = 1e-5  # in a recording: what it adds would be known with a hundred thousand times the noise


@dataclass(frozen=True, eq=False)
class Base:
    """beta = K x, (r,), of the unknowns x: Y x = Y[:, kept] beta for every motion.

    kept: unknowns that lead a combination; K: (r, p), the identity in their columns. Unlike
    `kinetree.algorithms.base_parameters` it speaks of what is looked for, and of nothing else.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    K: Array

    @property
    def r(self) -> int:
        """How many there are."""
        return len(self.kept)

    def formula(self, k: int) -> str:
        """The k-th combination in words: "Izz[a] + 0.16 m[b]"."""
        terms = [_term(c, name) for c, name in zip(self.K[k], self.names, strict=True) if c]
        lead = self.names[self.kept[k]]
        rest = [term for term in terms if term != f"+ {lead}"]
        return " ".join([lead, *rest])

    def status(self) -> tuple[str, ...]:
        """Of every unknown: "identified", "in combination" or "no effect"."""
        found = []
        for k in range(len(self.names)):
            rows = np.flatnonzero(self.K[:, k])
            alone = len(rows) == 1 and k in self.kept and np.count_nonzero(self.K[rows[0]]) == 1
            found.append("identified" if alone else "in combination" if len(rows) else "no effect")
        return tuple(found)


def find_base(sought: Unknowns, seed: int = 0) -> Base:
    """The base parameters among the unknowns, from the regressor at random states."""
    Y = sought.regressor(*_random_states(sought, seed)).reshape(-1, len(sought.names))
    kept, K = regroup(Y, SMALL)
    return Base(sought.names, tuple(kept), K)


def told_apart(base: Base, W: Array) -> Base:
    """The combinations that a recording tells apart; W, (T, n, r), is its regressor of the base.

    A joint that stands still, or a motion that is too short, leaves some of them together.
    """
    kept, D = told(W)
    return Base(base.names, tuple(base.kept[k] for k in kept), D @ base.K)


def told(W: Array) -> tuple[list[int], Array]:
    """`regroup` of a regressor, (T, n, r), so far that least squares can be solved."""
    Y, small = W.reshape(-1, W.shape[-1]), FAINT
    while True:
        kept, K = regroup(Y, small)
        unit = Y[:, kept] / np.linalg.norm(Y[:, kept], axis=0)
        if small > 0.01 or np.linalg.cond(unit) < WORST:
            return kept, K
        small = 10 * small


def regroup(Y: Array, small: float) -> tuple[list[int], Array]:
    """Columns of Y to keep, and K with Y = Y[:, kept] K.

    Columns are taken one after the other, from the base outward; one that is a combination of
    those before it, but for `small` of its length, is regrouped into them.
    """
    lengths = np.linalg.norm(Y, axis=0)
    # what is left of a column that cancels is rounding of the longest ones
    lengths[lengths < 1e-12 * lengths.max(initial=0)] = 0
    unit = np.where(lengths > 0, Y, 0) / np.where(lengths > 0, lengths, 1)
    kept: list[int] = []
    Q = np.zeros((len(Y), 0))
    for k in range(Y.shape[1]):
        rest = unit[:, k]
        for _ in range(2):  # the second time clears the rounding of the first
            rest = rest - Q @ (Q.T @ rest)
        size = np.linalg.norm(rest)
        if size > small:
            kept.append(k)
            Q = np.column_stack([Q, rest / size])
    K = np.linalg.lstsq(unit[:, kept], unit, rcond=None)[0]
    K = K * (lengths / lengths[kept][:, None])
    K[np.abs(K) < 1e-7 * np.maximum(1, np.abs(K).max(axis=0, initial=0))] = 0
    K[:, kept] = np.eye(len(kept))
    return kept, K


def _random_states(sought: Unknowns, seed: int) -> tuple[Array, Array, Array]:
    rng, robot = np.random.default_rng(seed), sought.robot.model
    count = 30 + 2 * -(-len(sought.names) // max(robot.n, 1))
    q = np.array([random(robot, rng) for _ in range(count)])
    speed = np.where(np.isfinite(bounds_of(robot).velocity), bounds_of(robot).velocity, 2.0)
    return q, rng.uniform(-1, 1, (count, robot.n)) * speed, rng.normal(size=(count, robot.n)) * 5


def _term(c: float, name: str) -> str:
    size = "" if abs(abs(c) - 1) < 1e-9 else f"{abs(c):.4g} "
    return f"{'-' if c < 0 else '+'} {size}{name}"
