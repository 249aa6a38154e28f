"""Trials of friction laws at one joint: fits of some rows, errors on the others.

Each candidate is fitted together with everything else that joint forces depend on: bodies,
armatures and springs, and friction of the other joints. Those columns Z are common to all
candidates of a joint. With A = Z^T Z, a candidate's columns F, which act on that joint alone, have

    S = F^T F - F^T Z A^-1 Z^T F,   t = F^T z - F^T Z A^-1 Z^T z,   S gamma = t,

z the other side. So a candidate costs a few products of small matrices, and hundreds of shapes of a
curve are tried at once. Sums over the rows left out are subtracted from those over all rows.

Shapes of a curve are those of all rows: the best of a grid, then steps of Gauss and Newton. Where
rows are left out, the curve is linear in its shapes around these values: f + df/dshapes (change).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.band import Band, rows_of
from kinetree.identify.laws import FrictionChoice, Law, curve, grid, moved, slopes

LINEAR = ("viscous", "coulomb", "viscous-", "coulomb-", "ones")  # columns; "-": at dq < 0 only


@dataclass(frozen=True)
class Candidate:
    """A friction law, with or without an offset.

    Args:
        friction: the law.
        offset: True with an offset of the sensor.
        size: number of unknowns, shapes included.
        columns: of `LINEAR`.
    """

    friction: FrictionChoice
    offset: bool
    size: int
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.friction} with an offset" if self.offset else self.friction

    @property
    def takes_offset(self) -> bool:
        """Return True if an offset of the sensor is found, or is part of the friction."""
        return self.offset or self.friction == "directional"

    @property
    def is_curve(self) -> bool:
        """Return True if the law has shapes."""
        return self.friction in ("stribeck", "sigmoid")


CANDIDATES = (
    Candidate("symmetric", False, 2, ("viscous", "coulomb")),
    Candidate("symmetric", True, 3, ("viscous", "coulomb", "ones")),
    Candidate("directional", False, 4, ("viscous", "coulomb", "viscous-", "coulomb-")),
    Candidate("stribeck", False, 4, ("viscous", "coulomb")),
    Candidate("sigmoid", False, 4, ("viscous",)),
    Candidate("stribeck", True, 5, ("viscous", "coulomb", "ones")),
    Candidate("sigmoid", True, 5, ("viscous", "ones")),
)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Rows of a recording or of a part of it.

    Args:
        X: columns of all unknowns but those of friction and offsets, shape (rows, n, r).
        y: measured joint forces less known ones that are not friction, shape (rows, n), N m or N.
        kept: friction that the description has beyond a law, shape (rows, n), N m or N, by law;
            empty if it has none.
        dq: rates of all samples, shape (T, n), rad/s or m/s.
        bands: the low-pass that makes rows of samples.
    """

    X: Array
    y: Array
    kept: Mapping[str, Array]
    dq: Array
    bands: tuple[Band, ...]


@dataclass(frozen=True, eq=False)
class FrictionColumns:
    """Rows of the columns of one degree of freedom.

    linear: of `LINEAR`, (N, 5). starts, curves: grid of shapes of each law, (k, s), and its
    columns, (N, k).
    """

    stretches: Sequence[Stretch]
    dof: int
    laws: Mapping[str, Law]
    linear: Array
    starts: Mapping[str, Array]
    curves: Mapping[str, Array]

    def at(self, kind: str, shapes: Array) -> Array:
        """Column of a law at some shapes, then its derivatives by them, (N, 1 + s)."""
        return self.rows(lambda rate: _bent(self.laws[kind], rate, shapes))

    def rows(self, samples: Callable[[Array], Array]) -> Array:
        """Rows of samples that are computed from the rates of a stretch."""
        return np.concatenate(
            [rows_of(x.bands, samples(x.dq[:, self.dof])) for x in self.stretches]
        )


def make_columns(
    stretches: Sequence[Stretch],
    dof: int,
    laws: Mapping[str, Law],
    described: Mapping[str, Array | None],
) -> FrictionColumns:
    """The columns of a degree of freedom; laws and their `described` shapes by kind."""
    rates = np.concatenate([x.dq[:, dof] for x in stretches])
    starts = {kind: grid(law, rates, described[kind], 2) for kind, law in laws.items()}
    found = FrictionColumns(stretches, dof, laws, np.zeros(0), starts, {})
    size = max(1, const.FILTERED_NUMBERS // max(len(x.dq) for x in stretches))
    curves: dict[str, Array] = {}
    for kind, law in laws.items():
        parts = [starts[kind][k : k + size] for k in range(0, len(starts[kind]), size)]
        curves[kind] = np.concatenate(
            [
                found.rows(lambda v, x=x, law=law: np.stack([curve(law, v, s) for s in x], axis=1))
                for x in parts
            ],
            axis=1,
        )
    return FrictionColumns(stretches, dof, laws, found.rows(linear_columns), starts, curves)


def linear_columns(rate: Array) -> Array:
    """Columns of `LINEAR`, (T, 5), of rates (T,)."""
    back, sign = rate < 0, np.sign(rate)
    return np.stack([rate, sign, rate * back, sign * back, np.ones(len(rate))], axis=1)


def _bent(law: Law, rate: Array, shapes: Array) -> Array:
    return np.concatenate([curve(law, rate, shapes)[:, None], slopes(law, rate, shapes)], axis=1)


@dataclass(frozen=True, eq=False)
class Problem:
    """Weighted rows of all stretches.

    Z: common columns, (N, n, R): bodies first, then friction. own: columns of Z that are friction
    of each degree of freedom. y, z: other side and the same with weights, (N, n). root: square
    roots of weights, (N, n). sigma: noise, (n,). edges: first row of each block, and N. folds: rows
    of each fold.
    """

    stretches: Sequence[Stretch]
    Z: Array
    own: tuple[slice, ...]
    z: Array
    root: Array
    sigma: Array
    edges: Array
    folds: list[slice]


def make_problem(stretches: Sequence[Stretch], friction: Sequence[tuple[str, Array]]) -> Problem:
    """The rows, with weights from the noise of a robust fit of all of them.

    Args:
        stretches: rows of recordings, one after the other.
        friction: law and columns, (N, k), of each degree of freedom.
    """
    y = np.concatenate([x.y for x in stretches])
    for dof, (law, _) in enumerate(friction):
        y[:, dof] -= _kept(stretches, law, dof)
    X = np.concatenate([x.X for x in stretches])
    counts = np.cumsum([X.shape[-1], *(x.shape[1] for _, x in friction)]).tolist()
    own = tuple(slice(a, b) for a, b in pairwise(counts))
    Z = np.zeros((*y.shape, counts[-1]))
    Z[..., : counts[0]] = X
    for dof, (at, (_, columns)) in enumerate(zip(own, friction, strict=True)):
        Z[:, dof, at] = columns
    length = np.linalg.norm(Z.reshape(-1, Z.shape[-1]), axis=0)
    Z = Z / np.where(length > 0, length, 1)
    size = np.sqrt((y**2).mean(axis=0))
    size = np.where(size > 0, size, float(size.max(initial=0)) or 1.0)
    sigma, rest, w = size, y, np.broadcast_to(1 / size**2, y.shape)
    for _ in range(const.WEIGHT_ROUNDS):
        flat = (Z * w[..., None]).reshape(-1, Z.shape[-1])
        beta = _solve(flat.T @ Z.reshape(flat.shape), flat.T @ y.ravel())
        rest = y - Z @ beta
        sigma = np.maximum(1.4826 * np.median(np.abs(rest), axis=0), 1e-9 * size)
        w = np.minimum(1, const.LINEAR_ERROR / np.maximum(np.abs(rest / sigma), 1e-300)) / sigma**2
    root, lengths = np.sqrt(w), [len(x.y) for x in stretches]
    edges = _blocks(lengths, _memory(rest / sigma, lengths))
    fold = np.arange(len(edges) - 1) * const.LAW_FOLDS // (len(edges) - 1)
    starts = [*edges[np.searchsorted(fold, np.unique(fold))].tolist(), len(y)]
    return Problem(
        stretches, Z * root[..., None], own, y * root, root, sigma, edges,
        [slice(a, b) for a, b in pairwise(starts)],
    )  # fmt: skip


def _kept(stretches: Sequence[Stretch], law: str, dof: int) -> Array:
    """Friction that the description has beyond a law, (N,)."""
    return np.concatenate(
        [x.kept[law][:, dof] if x.kept else np.zeros(len(x.y)) for x in stretches]
    )


def _memory(u: Array, lengths: Sequence[int]) -> float:
    """Rows over which errors, (N, n) in units of noise, are correlated: the integral time."""
    u = np.clip(u, -const.LINEAR_ERROR, const.LINEAR_ERROR)
    edges = np.cumsum([0, *lengths]).tolist()
    square = max(float((u * u).sum()), 1e-300)
    total = 0.0
    for k in range(1, max(1, max(lengths) // 10) + 1):
        c = sum(float((u[a : b - k] * u[a + k : b]).sum()) for a, b in pairwise(edges) if b - a > k)
        if c / square < 2 / np.sqrt(u.size):
            break
        total += c / square
    return 1 + 2 * total


def _blocks(lengths: Sequence[int], memory: float) -> Array:
    """First row of each block, and the number of rows; a block does not cross stretches."""
    rows = sum(lengths)
    count = min(max(rows / (const.BLOCK_LENGTH * memory), const.LAW_FOLDS), const.ERROR_BLOCKS)
    found: list[int] = []
    for start, length in zip(np.cumsum([0, *lengths]).tolist(), lengths, strict=False):
        own = max(1, round(count * length / rows))
        found += (start + np.linspace(0, length, own + 1).round().astype(int)[:-1]).tolist()
    return np.unique([*found, rows])


def _solve(A: Array, b: Array) -> Array:
    """A^-1 b of a positive semidefinite A, with a ridge that makes it definite."""
    size = np.diag(A)
    return np.linalg.solve(A + np.diag(const.TRIAL_RIDGE * size + np.where(size > 0, 0, 1)), b)


@dataclass(frozen=True, eq=False)
class Rows:
    """Sums over some rows that all candidates of a joint share; see the head.

    Z, z: common columns, (k, R), and the other side, (k,), of the joint's own rows. inverse: A^-1
    of the rows of all joints, (R, R). b: their Z^T z, (R,).
    """

    Z: Array
    z: Array
    inverse: Array
    b: Array

    def reduced(self, F: Array) -> tuple[Array, Array, Array]:
        """V = A^-1 [Z^T F, b], S and t of a candidate's columns F, (k, f)."""
        C = self.Z.T @ F
        V = self.inverse @ np.column_stack([C, self.b])
        return V, F.T @ F - C.T @ V[:, :-1], F.T @ self.z - C.T @ V[:, -1]


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that all rows allow.

    columns: friction's own columns, (N, k), with derivatives by shapes. shapes: of a curve, (s,).
    loss: mean loss of each block on rows left out of the fit, (blocks,), in squared units of the
    force.
    """

    candidate: Candidate
    columns: Array
    shapes: Array
    loss: Array


def tried(
    problem: Problem,
    columns: FrictionColumns,
    candidates: Sequence[Candidate],
    before: Mapping[Candidate, Trial],
) -> dict[Candidate, Trial]:
    """Trials of the candidates that rows can tell apart and whose friction is not negative.

    The first candidate is always among them. Shapes are sought from those of the trials `before`.
    """
    dof, root = columns.dof, problem.root[:, columns.dof, None]
    others = np.ones(problem.Z.shape[-1], bool)
    others[problem.own[dof]] = False
    Z = problem.Z[..., others]
    squares = [_flat(Z[x]).T @ _flat(Z[x]) for x in problem.folds]
    every = np.sum(squares, axis=0)
    inverse, without = _inverse(every), [_inverse(every - x) for x in squares]
    force = np.concatenate([x.y[:, dof] for x in problem.stretches])
    found: dict[Candidate, Trial] = {}
    for law in dict.fromkeys(x.friction for x in candidates):
        z = problem.z.copy()
        z[:, dof] = root[:, 0] * (force - _kept(problem.stretches, law, dof))
        parts = [_flat(Z[x]).T @ z[x].ravel() for x in problem.folds]
        b = np.sum(parts, axis=0)
        whole = Rows(Z[:, dof], z[:, dof], inverse, b)
        for x in (x for x in candidates if x.friction == law):
            start = before[x].shapes if x in before else None
            F, shapes = _best_columns(x, columns, root, whole, start)
            if not (x == candidates[0] or _is_possible(x, whole, F * root)):
                continue
            rest = np.zeros(len(z))
            for at, own, part in zip(problem.folds, without, parts, strict=True):
                seen = np.ones(len(z), bool)
                seen[at] = False
                train = Rows(whole.Z[seen], whole.z[seen], own, b - part)
                V, S, t = train.reduced(F[seen] * root[seen])
                V = V[:, -1] - V[:, :-1] @ (gamma := _solve(S, t))
                rest[at] = whole.z[at] - whole.Z[at] @ V - F[at] * root[at] @ gamma
            found[x] = Trial(x, F, shapes, _loss(problem, dof, rest))
    return {x: found[x] for x in candidates if x in found}


def _flat(Z: Array) -> Array:
    return Z.reshape(-1, Z.shape[-1])


def _inverse(A: Array) -> Array:
    return _solve(A, np.eye(len(A)))


def _best_columns(
    candidate: Candidate, columns: FrictionColumns, root: Array, rows: Rows, start: Array | None
) -> tuple[Array, Array]:
    """Linear columns, then the curve at its best shapes with its derivatives; and the shapes."""
    linear = columns.linear[:, [LINEAR.index(x) for x in candidate.columns]]
    if not candidate.is_curve:
        return linear, np.zeros(0)
    kind, count = candidate.friction, linear.shape[1]

    def fitted(shapes: Array) -> tuple[Array, float, Array]:
        """Columns at some shapes, their gain without derivatives, and the step to better shapes."""
        F = np.concatenate([linear, columns.at(kind, shapes)], axis=1)
        _, S, t = rows.reduced(F * root)
        plain = _solve(S[: count + 1, : count + 1], t[: count + 1])
        if plain[count] <= 0:
            return F, -np.inf, np.zeros(len(shapes))
        step = _solve(S, t)[count + 1 :] / plain[count]
        return F, float(plain @ t[: count + 1]), step

    shapes = _best_start(columns, kind, linear, root, rows) if start is None else start
    F, gain, step = fitted(shapes)
    for _ in range(const.TRIAL_STEPS):
        for _ in range(const.SHORTER_STEPS):
            new = moved(columns.laws[kind], shapes, step)
            better, higher, then = fitted(new)
            if higher > gain:
                break
            step = step / 4
        else:
            break
        small = higher - gain < const.TRIAL_DECREASE
        shapes, F, gain, step = new, better, higher, then
        if small:
            break
    return F, shapes


def _best_start(
    columns: FrictionColumns, kind: str, linear: Array, root: Array, rows: Rows
) -> Array:
    """The shapes of the grid whose curve, beside linear columns, decreases the squares most."""
    F, count = np.concatenate([linear, columns.curves[kind]], axis=1) * root, linear.shape[1]
    _, S, t = rows.reduced(F)
    E = _solve(S[:count, :count], np.column_stack([S[:count, count:], t[:count]]))
    across = t[count:] - S[count:, :count] @ E[:, -1]
    left = np.diag(S)[count:] - (S[:count, count:] * E[:, :-1]).sum(axis=0)
    seen = (across > 0) & (left > const.SEEN_SHARE * (F[:, count:] ** 2).sum(axis=0))
    gain = np.where(seen, across**2 / np.where(left > 0, left, 1), 0)
    return columns.starts[kind][int(gain.argmax())]


def _is_possible(candidate: Candidate, rows: Rows, F: Array) -> bool:
    """Whether all rows separate the columns of a candidate and give friction that can exist."""
    _, S, t = rows.reduced(F)
    if np.any(np.diag(S) <= const.SEEN_SHARE * (F * F).sum(axis=0)):
        return False
    unit = 1 / np.sqrt(np.diag(S))
    if np.linalg.eigvalsh(S * np.outer(unit, unit))[0] < const.SEEN_SHARE:
        return False
    gamma, covariance = _solve(S, t), np.linalg.inv(S)
    names = [*candidate.columns, *["size"] * candidate.is_curve]
    signs = np.eye(len(names), len(gamma))
    if candidate.friction == "directional":  # coefficients at dq < 0 are sums
        signs[2, 0] = signs[3, 1] = 1
    signs = signs[[k for k, x in enumerate(names) if x != "ones"]]
    variance = np.einsum("ij,jk,ik->i", signs, covariance, signs)
    if variance.min() <= 0:  # rounding is all that is left
        return False
    return bool(np.all(signs @ gamma > -const.NEGATIVE_FRICTION * np.sqrt(variance)))


def _loss(problem: Problem, dof: int, rest: Array) -> Array:
    """Mean loss of each block: squared errors, linear beyond `LINEAR_ERROR` times the noise."""
    sigma = problem.sigma[dof]
    u = np.abs(rest / problem.root[:, dof]) / sigma
    loss = (
        np.where(
            u < const.LINEAR_ERROR,
            u * u,
            2 * const.LINEAR_ERROR * u - const.LINEAR_ERROR * const.LINEAR_ERROR,
        )
        * sigma**2
    )
    return np.add.reduceat(loss, problem.edges[:-1]) / np.diff(problem.edges)
