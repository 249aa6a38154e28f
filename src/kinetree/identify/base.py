"""Base parameters: the combinations that joint forces depend on, and nothing else."""

from dataclasses import dataclass

import numpy as np

from kinetree.algorithms.base_parameters import (
    SILENT,
    WRONG,
    first_independent,
    independent_columns,
    lively_state,
)
from kinetree.base.arrays import Array
from kinetree.errors import ModelError
from kinetree.identify.least_squares import WORST
from kinetree.identify.unknowns import Unknowns

DUST = 1e-7  # coefficient of a recording, of columns of length 1, that is rounding
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
    """The base parameters among the unknowns, from the regressor at random states.

    Raises:
        ModelError: the combinations do not give the joint forces at other random states.
    """
    count = 30 + 2 * -(-len(sought.names) // max(sought.robot.n, 1))
    W = _observed(sought, count, np.random.default_rng(seed))
    kept, K, _ = independent_columns(W, range(W.shape[1]))
    W = _observed(sought, 8, np.random.default_rng((seed, 1)))
    missed = np.linalg.norm(W - W[:, kept] @ K, axis=0)
    share = missed / np.maximum(np.linalg.norm(W, axis=0), SILENT / WRONG)
    if share.max(initial=0) > WRONG:
        worst = int(share.argmax())
        raise ModelError(
            f"{len(kept)} base parameters of {sought.robot.name!r} do not give its joint forces at "
            f"other states: {share[worst]:.2g} of what {sought.names[worst]} does is missed, "
            f"expected at most {WRONG:g}. Take parts of the robot that are too small to matter out "
            "of its description, or what is known of its drives out of the unknowns."
        )
    scale = sought.scale
    return Base(sought.names, tuple(kept), K * scale[kept][:, None] / scale)


def told_apart(base: Base, W: Array, sought: Unknowns) -> Base:
    """The combinations that a recording tells apart; W, (T, n, r), is its regressor of the base.

    A joint that stands still, or a motion that is too short, leaves some of them together.
    """
    kept, D = told(W, sought.natural.forces, sought.scale[list(base.kept)])
    return Base(base.names, tuple(base.kept[k] for k in kept), D @ base.K)


def told(W: Array, forces: Array, scale: Array) -> tuple[list[int], Array]:
    """`regroup` of a regressor, (T, n, r), so far that least squares can be solved.

    forces, scale: what one is in the rows, (n,), and in the parameters, (r,).
    """
    Y, small = (W * scale / forces[:, None]).reshape(-1, W.shape[-1]), FAINT
    while True:
        kept, K = regroup(Y, small)
        unit = Y[:, kept] / np.linalg.norm(Y[:, kept], axis=0)
        if small > 0.01 or np.linalg.cond(unit) < WORST:
            return kept, K * scale[kept][:, None] / scale
        small = 10 * small


def regroup(Y: Array, small: float) -> tuple[list[int], Array]:
    """Columns of Y to keep, and K with Y = Y[:, kept] K.

    Columns are taken one after the other, from the base outward; one that is a combination of
    those before it, but for `small` of its length, is regrouped into them.
    """
    lengths = np.linalg.norm(Y, axis=0)
    # what is left of a column that cancels is rounding of the longest ones
    lengths[lengths < SILENT * lengths.max(initial=0)] = 0
    unit = np.where(lengths > 0, Y, 0) / np.where(lengths > 0, lengths, 1)
    kept = first_independent(unit, range(Y.shape[1]), small)
    K = np.linalg.lstsq(unit[:, kept], unit, rcond=None)[0]
    K[np.abs(K) < DUST * np.maximum(1, np.abs(K).max(axis=0, initial=0))] = 0
    K = K * (lengths / lengths[kept][:, None])
    K[:, kept] = np.eye(len(kept))
    return kept, K


def _observed(sought: Unknowns, count: int, rng: np.random.Generator) -> Array:
    """The regressor at random states, (rows, p), in the robot's own units."""
    model, units = sought.robot.model, sought.natural
    states = [lively_state(model, units, rng) for _ in range(count)]
    q, dq, ddq = (np.array(x) for x in zip(*states, strict=True))
    W = sought.regressor(q, dq, ddq) * sought.scale / units.forces[:, None]
    return W.reshape(-1, len(sought.names))


def _term(c: float, name: str) -> str:
    size = "" if abs(abs(c) - 1) < 1e-9 else f"{abs(c):.4g} "
    return f"{'-' if c < 0 else '+'} {size}{name}"
