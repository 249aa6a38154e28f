"""Base parameters: the combinations of unknowns that joint forces depend on.

`find_base` finds them for all motions, `separable` for the motion of one recording.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.dynamics.base_parameters import (
    SILENT,
    WRONG,
    first_independent,
    independent_columns,
    lively_states,
    missed_shares,
)
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import ModelError
from kinetree.identify.laws import reference
from kinetree.identify.unknowns import Unknowns

WORST_CONDITION = 1e6  # of unit columns, beyond which least squares has no digits to spare


@dataclass(frozen=True, eq=False)
class Base:
    """beta = K x, (r,), of the unknowns x: Y x = Y[:, kept] beta for every motion.

    Unlike those of `kinetree.dynamics.base_parameters`, the combinations are of the unknowns of
    an identification, not of all parameters of the robot.

    Args:
        names: names of the unknowns.
        kept: indices of the unknowns that lead a combination.
        K: combinations, shape (r, p), the identity in the columns of `kept`; units of the kept
            unknown per unit of each.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    K: Array

    @property
    def r(self) -> int:
        """Number of base parameters."""
        return len(self.kept)

    def formula(self, k: int) -> str:
        """The k-th combination as text: "Izz[a] + 0.16 m[b]".

        Args:
            k: number of the combination.
        """
        terms = [_term(c, name) for c, name in zip(self.K[k], self.names, strict=True) if c]
        lead = self.names[self.kept[k]]
        rest = [term for term in terms if term != f"+ {lead}"]
        return " ".join([lead, *rest])

    def status(self) -> tuple[str, ...]:
        """For every unknown "identified", "in combination" or "no effect"."""
        found: list[str] = []
        for k in range(len(self.names)):
            rows = np.flatnonzero(self.K[:, k])
            alone = len(rows) == 1 and k in self.kept and np.count_nonzero(self.K[rows[0]]) == 1
            found.append("identified" if alone else "in combination" if len(rows) else "no effect")
        return tuple(found)


@typed
def find_base(params: Unknowns, seed: int = 0) -> Base:
    """The base parameters among the unknowns, from the regressor at random states.

    Args:
        params: the unknowns of a robot.
        seed: seed of the random states.

    Raises:
        ModelError: the combinations do not give the joint forces at other random states.
    """
    count = 30 + 2 * -(-len(params.names) // max(params.robot.n, 1))
    W = _observed(params, count, (seed,))
    kept, K, _ = independent_columns(W, range(W.shape[1]))
    W = _observed(params, 8, (seed, 1))
    share = missed_shares(W, kept, K)
    if share.max(initial=0) > WRONG:
        worst = int(share.argmax())
        raise ModelError(
            f"{len(kept)} base parameters of {params.robot.name!r} do not give its joint forces at "
            f"other states: they miss {share[worst]:.2g} of the effect of {params.names[worst]}, "
            f"expected at most {WRONG:g}. Remove parts that are too small to matter from the "
            "description, or known parameters of the drives from the unknowns."
        )
    scale = params.scale
    return Base(params.names, tuple(kept), K * scale[kept][:, None] / scale)


def separable(W: Array, forces: Array, scale: Array) -> tuple[list[int], Array]:
    """`regroup` the columns of a regressor, (T, n, r), until least squares can be solved.

    Columns that depend on others for every motion leave 1e-15 of their length, and thresholds begin
    at 1e-5. Those in between come from measured motion; rounding moves their rest by about 1e-10.
    forces, scale: units of the rows, (n,), and of the parameters, (r,).
    """
    Y = (W * scale / forces[:, None]).reshape(-1, W.shape[-1])
    small = 1e-5  # of a column's length: a smaller rest would have 100,000 times the noise
    if len(Y) > Y.shape[1]:  # the triangle has the same lengths and combinations in fewer rows
        Y = np.asarray(np.linalg.qr(Y, mode="r"))
    while True:
        kept, K = regroup(Y, small)
        unit = Y[:, kept] / np.linalg.norm(Y[:, kept], axis=0)
        if small > 0.01 or np.linalg.cond(unit) < WORST_CONDITION:
            return kept, K * scale[kept][:, None] / scale
        small = 10 * small


def regroup(Y: Array, small: float) -> tuple[list[int], Array]:
    """Columns of Y to keep, and K with Y = Y[:, kept] K.

    Columns are taken in order, from the base outward; one that is a combination of those before it,
    except for `small` of its length, is regrouped into them.
    """
    lengths = np.linalg.norm(Y, axis=0)
    # a column that cancels leaves the rounding of the longest ones
    lengths[lengths < SILENT * lengths.max(initial=0)] = 0
    unit = np.where(lengths > 0, Y, 0) / np.where(lengths > 0, lengths, 1)
    kept = first_independent(unit, range(Y.shape[1]), small)
    K = np.linalg.lstsq(unit[:, kept], unit, rcond=None)[0]
    K[np.abs(K) < 1e-7 * np.maximum(1, np.abs(K).max(axis=0, initial=0))] = 0
    K = K * (lengths / lengths[kept][:, None])
    K[:, kept] = np.eye(len(kept))
    return kept, K


def _observed(params: Unknowns, count: int, seed: tuple[int, ...]) -> Array:
    """The regressor at random states, (rows, p), in the robot's own units.

    Friction laws have shapes that these states show, whatever their shapes are: at a Stribeck speed
    that is far below the rates, static friction would seem to have no effect.
    """
    model, units = params.robot.model, params.natural
    if params.laws:
        params = params.at(np.concatenate([reference(law, units) for law in params.laws]))
    q, dq, ddq = remembered(
        model, ("lively states", count, seed),
        lambda: lively_states(model, units, np.random.default_rng(seed), count),
    )  # fmt: skip
    W = params.regressor(q, dq, ddq) * params.scale / units.forces[:, None]
    return W.reshape(-1, len(params.names))


def _term(c: float, name: str) -> str:
    size = f"{abs(c):.4g} ".removeprefix("1 ")
    return f"{'-' if c < 0 else '+'} {size}{name}"
