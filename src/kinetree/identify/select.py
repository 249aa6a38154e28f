"""Choices by blocked cross-validation: cutoff of the rates, lag of the forces, friction, offsets.

The rows of the recording are cut into 20 blocks in the order of time. Four folds of five blocks,
spread over the recording, are left out of a fit in turn; the loss of a block is the mean squared
error of its rows, each joint in units of its noise. Of two candidates the simpler one stays, unless
its losses are significantly larger, by the paired differences of the blocks. Only rows of the fit
are used, none that are held out for the test.

Friction changes the columns of one joint. With x the bodies, z_j the friction of joint j and the
Gram matrices of their columns, sums over blocks, a candidate of joint j is the Schur complement

    A_j = G_xx - G_xz G_zz^-1 G_zx

of that joint among those of all joints. So all candidates need one pass over the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.base import find_base, separable
from kinetree.identify.laws import FrictionChoice, grid, laws_of
from kinetree.identify.least_squares import fit
from kinetree.identify.rates import HIGHEST_CUTOFF
from kinetree.identify.recording import Recording
from kinetree.identify.rows import Rows, make_rows
from kinetree.identify.unknowns import OFFSET, Unknowns, unknowns
from kinetree.robot import Robot

BLOCKS, FOLDS = 20, 4
WORSE_Z = 2.0  # standard errors: a candidate that is not needed is taken once in forty times
PLAIN_CUTOFF = 10.0  # Hz, of plain least squares: a common choice for arms


def is_better(simple: Array, other: Array) -> bool:
    """Whether the losses of the blocks, (B,), of the second candidate are significantly smaller."""
    gain = simple - other
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return bool(gain.mean() > WORSE_Z * error)


def edges_of(count: int) -> Array:
    """First rows of the blocks, and the number of rows."""
    blocks = max(min(BLOCKS, count // 4), FOLDS)
    return np.linspace(0, count, blocks + 1).round().astype(int)


def block_losses(W: Array, y: Array, sigma: Array) -> Array:
    """Mean squared error of each block left out, (B, n), in units of sigma, (n,).

    Args:
        W: columns, (rows, n, r).
        y: the other side, (rows, n).
        sigma: noise of each joint.
    """
    edges = edges_of(len(y))
    fold = np.searchsorted(edges[1:-1], np.arange(len(y)), side="right") % FOLDS
    X, z, error = W / sigma[:, None], y / sigma, np.zeros(y.shape)
    length = np.maximum(np.linalg.norm(X, axis=(0, 1)), 1e-300)
    for k in range(FOLDS):
        rows = (X[fold != k] / length).reshape(-1, X.shape[-1])
        G, g = rows.T @ rows, rows.T @ z[fold != k].ravel()
        beta = np.linalg.lstsq(G, g, rcond=1e-11)[0] / length
        error[fold == k] = z[fold == k] - X[fold == k] @ beta
    return np.add.reduceat(error**2, edges[:-1]) / np.diff(edges)[:, None]


@dataclass(frozen=True, eq=False)
class Plain:
    """Plain least squares: symmetric friction and offsets of all joints, signs of the rates.

    W: columns, (rows, n, r). y: joint forces, (rows, n). sigma: noise, (n,). beta: (r,). kept:
    unknowns of the columns. params: the unknowns.
    """

    W: Array
    y: Array
    sigma: Array
    beta: Array
    kept: list[int]
    params: Unknowns


def plain_unknowns(robot: Robot, armature: bool, springs: bool) -> Unknowns:
    """The unknowns of plain least squares."""
    return unknowns(robot, "symmetric", armature, springs, offsets=True)


def plain_fit(params: Unknowns, data: Recording, cutoff: float | None) -> Plain:
    """Plain least squares, weighted by the noise of each joint."""
    rows = make_rows(params, data, cutoff)
    kept, forces = list(find_base(params).kept), params.natural.forces
    W = rows.columns(kept)
    own, _ = separable(W, forces, params.scale[kept])
    W = W[..., own]
    found = fit(W, rows.y, breaks=rows.breaks, forces=forces)
    return Plain(W, rows.y, found.sigma, found.beta, [kept[k] for k in own], params)


# cutoff of rates and accelerations


def matched(data: Recording, cutoff: float) -> tuple[Recording, Recording]:
    """Samples of a recording, and the same times with rates at another cutoff."""
    assert data.again is not None
    other = data.again(cutoff)
    k = np.minimum(np.searchsorted(other.t, data.t - data.dt / 2), len(other) - 1)
    same = np.flatnonzero(np.abs(other.t[k] - data.t) < data.dt / 2)
    k, first = np.unique(k[same], return_index=True)
    return data.part(same[first]), other.part(k)


def choose_cutoff(params: Unknowns, data: list[Recording]) -> float | None:
    """A cutoff that predicts joint forces better than that of the recordings; None: there is none.

    All candidates predict the forces below 10 Hz.
    """
    if any(x.cutoff is None or x.again is None for x in data):
        return None
    own = max(x.cutoff or 0.0 for x in data)
    best, least, others = None, 1.0, [0.5 * own, 2 * own, PLAIN_CUTOFF]
    for c in sorted({round(x, 3) for x in others if x < HIGHEST_CUTOFF / max(y.dt for y in data)}):
        if 0.8 < c / own < 1.25:
            continue
        pairs = [matched(x, c) for x in data]
        if min(len(x) for x, _ in pairs) < BLOCKS * 10:
            continue
        found = [_rows_of_all(params, [x[k] for x in pairs]) for k in (0, 1)]
        sigma = found[0].sigma
        losses = [block_losses(x.W, x.y, sigma).sum(axis=1) for x in found]
        ratio = float(losses[1].mean() / losses[0].mean())
        if ratio < least:  # none is simpler than another, so the smallest loss decides
            best, least = c, ratio
    return best


def _rows_of_all(params: Unknowns, data: Sequence[Recording]) -> Plain:
    """Plain least squares of recordings, in the band of 10 Hz."""
    from kinetree.identify.recording import joined_recordings

    whole = joined_recordings(data)
    cutoff = min(PLAIN_CUTOFF, 0.4 / whole.dt)
    return plain_fit(params, whole, cutoff)


# friction and offsets


@dataclass(frozen=True)
class Choice:
    """Friction and offset of a joint, chosen by cross-validation.

    Args:
        joint: its name.
        friction: the law.
        offset: whether the measured force has a constant offset.
        shapes: of the law, to start from.
        errors: root of the mean loss of each candidate, in units of the noise.
    """

    joint: str
    friction: FrictionChoice
    offset: bool = False
    shapes: tuple[float, ...] = ()
    errors: Mapping[str, float] = field(default_factory=dict[str, float])


# in the order from simple to complex
LAWS: tuple[FrictionChoice, ...] = ("symmetric", "sigmoid", "stribeck", "directional")


@dataclass(frozen=True, eq=False)
class _Joint:
    """Columns of one joint, beside those of the bodies, and the candidates made of them.

    columns: (rows, c). candidates: {name: variants}, each the numbers of the columns and shapes.
    """

    columns: Array
    candidates: dict[str, list[tuple[list[int], tuple[float, ...]]]]


def choose_friction(
    robot: Robot,
    data: Recording,
    laws: Mapping[str, str],
    offsets: bool | Mapping[str, bool] | None,
    options: tuple[bool, bool, float | None],
) -> dict[str, Choice]:
    """The friction of the joints whose law is "auto", each as simple as the recording allows.

    Args:
        robot: as described.
        data: the recording.
        laws: choice of each joint; those that are not "auto" are taken as they are.
        offsets: as in `identify`.
        options: armature, springs and cutoff of both sides.
    """
    armature, springs, cutoff = options
    auto = [name for name, law in laws.items() if law == "auto"]
    all_laws = {name: "directional" if name in auto else law for name, law in laws.items()}
    params = unknowns(robot, all_laws, armature, springs, dict.fromkeys(auto, True))  # pyright: ignore[reportArgumentType]
    rows = make_rows(params, data, cutoff)
    own = [_joint(rows, name, _offset_choices(offsets, name)) for name in auto]
    # the base of symmetric friction: an offset would take the place of the preload of a spring
    plain = {name: "symmetric" if name in auto else law for name, law in laws.items()}
    simple = unknowns(robot, plain, armature, springs)  # pyright: ignore[reportArgumentType]
    shared = {name: k for k, name in enumerate(params.names)}
    kept_names = [simple.names[k] for k in find_base(simple).kept]
    bodies = [shared[name] for name in kept_names if name in shared]
    W, forces = rows.columns(bodies), params.natural.forces
    kept, _ = separable(W, forces, params.scale[bodies])
    dofs = [robot.model.joint(name).dofs[0] for name in auto]
    search = _Search(W[..., kept], rows.y, own, dofs)
    return {
        name: Choice(name, *search.law(k), search.errors(k)) for k, name in enumerate(auto)
    }  # fmt: skip


def _offset_choices(offsets: bool | Mapping[str, bool] | None, name: str) -> list[bool]:
    if offsets is None:
        return [False, True]
    return [bool(offsets.get(name) if isinstance(offsets, Mapping) else offsets)]


def _joint(rows: Rows, name: str, offsets: list[bool]) -> _Joint:
    """The columns of a joint's friction, and its candidates."""
    model, params = rows.params.robot.model, rows.params
    at = [params.names.index(f"{x}[{name}]")
          for x in ("viscous+", "viscous-", "coulomb+", "coulomb-", OFFSET)]  # fmt: skip
    dof = model.joint(name).dofs[0]
    v_plus, v_minus, c_plus, c_minus, one = rows.plain[:, dof, at].T
    columns = [v_plus + v_minus, c_plus + c_minus, v_plus - v_minus, c_plus - c_minus, one]
    candidates: dict[str, list[tuple[list[int], tuple[float, ...]]]] = {}
    for law, offset in product(LAWS, offsets):
        more = [4] * offset
        if law == "directional":
            candidates["directional"] = [([0, 1, 2, 3], ())]
            continue
        label = f"{law} with an offset" if offset else law
        if law == "symmetric":
            candidates[label] = [([0, 1, *more], ())]
            continue
        (curved,) = laws_of(model, {name: law})
        candidates[label] = []
        for shapes in grid(curved, curved.ratio * rows.data.dq[:, dof]):
            columns.append(rows.curve(curved, shapes))
            own = [0, 1] if law == "stribeck" else [0]
            candidates[label].append(([*own, *more, len(columns) - 1], tuple(shapes.tolist())))
    return _Joint(np.stack(columns, axis=1), candidates)


class _Search:
    """Coordinate descent over the friction of joints, by the Gram matrices of blocks."""

    def __init__(self, W: Array, y: Array, joints: list[_Joint], dofs: list[int]) -> None:
        self.joints, self.dofs, self.r = joints, dofs, W.shape[-1]
        length = np.maximum(np.linalg.norm(W, axis=(0, 1)), 1e-300)
        edges = edges_of(len(y))
        own = dict(zip(dofs, (x.columns for x in joints), strict=True))
        none = np.zeros((len(y), 0))
        rows = [np.concatenate([W[:, d] / length, own.get(d, none), y[:, d, None]], axis=1)
                for d in range(y.shape[1])]  # fmt: skip
        self.size = np.diff(edges)
        self.grams = [
            np.array([x[a:b].T @ x[a:b] for a, b in pairwise(edges.tolist())]) for x in rows
        ]  # of each degree of freedom, (B, c, c)
        self.chosen = [next(iter(x.candidates)) for x in joints]
        self.variant = [x.candidates[c][0] for x, c in zip(joints, self.chosen, strict=True)]
        self.sigma = np.ones(y.shape[1])
        self.complements: dict[tuple[bytes, int, tuple[int, ...]], tuple[Array, ...]] = {}
        self.sigma = np.sqrt(np.maximum(self.losses({}).mean(axis=0), 1e-300))
        self.complements.clear()  # of another noise
        self.table: list[dict[str, float]] = [{} for _ in joints]
        for _ in range(2):  # the second time beside the laws of the other joints
            for k in range(len(joints)):
                self._choose(k)

    def law(self, k: int) -> tuple[FrictionChoice, bool, tuple[float, ...]]:
        """Law, offset and shapes of the k-th joint."""
        name = self.chosen[k]
        law: FrictionChoice = next(x for x in LAWS if x == name.partition(" ")[0])
        return law, " " in name, self.variant[k][1]

    def errors(self, k: int) -> dict[str, float]:
        """Errors of the candidates of the k-th joint."""
        return self.table[k]

    def columns(self, d: int, changed: Mapping[int, list[int]]) -> list[int]:
        """Columns of the friction of a degree of freedom."""
        if d not in self.dofs:
            return []
        k = self.dofs.index(d)
        return [self.r + x for x in changed.get(k, self.variant[k][0])]

    def losses(self, changed: Mapping[int, list[int]]) -> Array:
        """Mean squared error of blocks left out, (B, n), in units of the noise."""
        folds = np.arange(len(self.size)) % FOLDS
        losses = np.zeros((len(folds), len(self.grams)))
        for k in range(FOLDS):
            for block, row in self._errors(folds != k, folds == k, changed):
                losses[block] = row
        return losses

    def _errors(
        self, train: Array, test: Array, changed: Mapping[int, list[int]]
    ) -> list[tuple[int, Array]]:
        """Mean squared errors of test blocks from a fit of the others."""
        x, own = self._solved(train, changed)
        found = list[tuple[int, Array]]()
        for block in np.flatnonzero(test):
            row = np.zeros(len(self.grams))
            for d, G in enumerate(self.grams):
                at = [*range(self.r), *own[d][0], -1]
                v = np.concatenate([x, own[d][1], [-1.0]])
                row[d] = v @ G[block][np.ix_(at, at)] @ v / self.size[block] / self.sigma[d] ** 2
            found.append((int(block), np.maximum(row, 0)))
        return found

    def _solved(
        self, train: Array, changed: Mapping[int, list[int]]
    ) -> tuple[Array, list[tuple[list[int], Array]]]:
        """Bodies, (r,), and columns and values of each joint's friction, from some blocks."""
        A, b = np.zeros((self.r, self.r)), np.zeros(self.r)
        parts = list[tuple[list[int], Array]]()
        for d in range(len(self.grams)):
            own = self.columns(d, changed)
            key = train.tobytes(), d, tuple(own)
            if key not in self.complements:
                self.complements[key] = self._complement(d, train, own)
            more_A, more_b, M = self.complements[key]
            A, b = A + more_A, b + more_b
            parts.append((own, M))
        A[np.diag_indices(self.r)] *= 1 + 1e-11  # columns that rounding alone separates
        x = np.linalg.solve(A, b)
        return x, [(own, M[:, -1] - M[:, :-1] @ x) for own, M in parts]

    def _complement(self, d: int, train: Array, own: list[int]) -> tuple[Array, ...]:
        """A_d and its other side; M with the friction z = M[:, -1] - M[:, :-1] x."""
        total, r = self.grams[d][train].sum(axis=0) / self.sigma[d] ** 2, self.r
        A, b = total[:r, :r], total[:r, -1]
        if not own:
            return A, b, np.zeros((0, r + 1))
        scale = np.sqrt(np.maximum(np.diag(total)[own], 1e-300))
        F = total[np.ix_(own, own)] / np.outer(scale, scale)
        right = total[np.ix_(own, [*range(r), -1])] / scale[:, None]
        inverse = np.linalg.lstsq(F, right, rcond=1e-11)[0]
        across = (total[np.ix_(range(r), own)] / scale) @ inverse
        return A - across[:, :-1], b - across[:, -1], inverse / scale[:, None]

    def _choose(self, k: int) -> None:
        """The simplest candidate of the k-th joint whose losses are not significantly larger."""
        losses: dict[str, Array] = {}
        best: dict[str, tuple[list[int], tuple[float, ...]]] = {}
        for name, variants in self.joints[k].candidates.items():
            each = [self.losses({k: own}).sum(axis=1) for own, _ in variants]
            at = int(np.argmin([x.sum() for x in each]))
            losses[name], best[name] = each[at], variants[at]
        order = sorted(losses, key=lambda name: losses[name].mean())
        chosen = next(
            name for name in losses
            if name == order[0] or not is_better(losses[name], losses[order[0]])
        )  # fmt: skip
        self.chosen[k], self.variant[k] = chosen, best[chosen]
        self.table[k] = {name: float(np.sqrt(x.mean())) for name, x in losses.items()}
