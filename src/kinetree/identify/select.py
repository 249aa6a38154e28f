"""Choices by blocked cross-validation: cutoff of the rates, lag of the forces, friction, offsets.

The rows of the recording are cut into 20 blocks in the order of time. Four folds of five blocks,
spread over the recording, are left out of a fit in turn; the loss of a block is the mean squared
error of its rows, summed over the joints in units of their noise. Of two candidates the simpler one
stays, unless its losses are significantly larger, by the paired differences of the blocks. Only
rows of the fit are used, none that are held out for the test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.base import find_base, separable
from kinetree.identify.laws import SIZES, AutoChoice, FrictionChoice, curve, grid, laws_of
from kinetree.identify.least_squares import fit
from kinetree.identify.rates import HIGHEST_CUTOFF
from kinetree.identify.recording import Recording, joined_recordings
from kinetree.identify.rows import Rows, make_rows
from kinetree.identify.unknowns import Unknowns, unknowns
from kinetree.robot import Robot

BLOCKS, FOLDS = 20, 4
PLAIN_CUTOFF = 10.0  # Hz, of plain least squares: a common choice for arms


class Blocks:
    """Gram matrices of the blocks of equations y = W x, from which any columns can be tried.

    Args:
        W: columns, (rows, n, r).
        y: the other side, (rows, n).
        sigma: noise of each joint, (n,).
        own: degrees of freedom with further columns of them alone, (rows, c), which are counted
            after those of W in the order given.
    """

    def __init__(
        self, W: Array, y: Array, sigma: Array, own: Sequence[tuple[int, Array]] = ()
    ) -> None:
        blocks = max(min(BLOCKS, len(y) // 4), FOLDS)
        edges = np.linspace(0, len(y), blocks + 1).round().astype(int)
        starts = np.cumsum([W.shape[-1], *(x.shape[1] for _, x in own)])
        self.grams = np.zeros((blocks, starts[-1] + 1, starts[-1] + 1))
        self.size, self.fold = np.diff(edges), np.arange(blocks) % FOLDS
        self.places = [np.arange(a, b) for a, b in pairwise(starts.tolist())]
        for d in range(y.shape[1]):
            more = [(k, x) for k, (dof, x) in enumerate(own) if dof == d]
            columns = [W[:, d], *(x for _, x in more), y[:, d, None]]
            X = np.concatenate(columns, axis=1) / sigma[d]
            at = [np.arange(W.shape[-1]), *(self.places[k] for k, _ in more), [-1]]
            square = np.ix_(np.concatenate(at), np.concatenate(at))
            for block, (a, b) in enumerate(pairwise(edges.tolist())):
                self.grams[block][square] += X[a:b].T @ X[a:b]
        self.train = [self.grams[self.fold != k].sum(axis=0) for k in range(FOLDS)]

    def losses(self, columns: Sequence[int] | None = None) -> Array:
        """Loss of each block left out, (blocks,), of a fit of some columns; None: all."""
        count = self.grams.shape[1] - 1
        at = np.array([*(range(count) if columns is None else columns), count])
        found, v = np.zeros(len(self.size)), np.zeros(count + 1)
        for k, whole in enumerate(self.train):
            G = whole[np.ix_(at, at)]
            d = np.sqrt(np.diag(G)[:-1])
            d[d == 0] = 1  # columns without effect
            A = G[:-1, :-1] / np.outer(d, d)
            A[np.diag_indices(len(A))] += 1e-11  # columns that rounding alone separates
            v[at] = np.append(np.linalg.solve(A, G[:-1, -1] / d) / d, -1)
            found[self.fold == k] = (self.grams[self.fold == k] @ v) @ v
        return np.maximum(found, 0) / self.size


def is_better(simple: Array, other: Array) -> bool:
    """Whether the losses of the blocks of the second candidate are significantly smaller.

    By two standard errors: a candidate that is not needed is taken once in forty times.
    """
    gain = simple - other
    return bool(gain.mean() > 2.0 * gain.std(ddof=1) / np.sqrt(len(gain)))


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
    own, best, least = max(x.cutoff or 0.0 for x in data), None, 1.0
    highest = HIGHEST_CUTOFF / max(x.dt for x in data)
    for c in sorted({round(x, 3) for x in (0.5 * own, 2 * own, PLAIN_CUTOFF) if x < highest}):
        if 0.8 < c / own < 1.25:
            continue
        pairs = [matched(x, c) for x in data]
        if min(len(x) for x, _ in pairs) < BLOCKS * 10:
            continue
        both = [joined_recordings([x[k] for x in pairs]) for k in (0, 1)]
        now, other = (plain_fit(params, x, min(PLAIN_CUTOFF, 0.4 / x.dt)) for x in both)
        losses = [Blocks(x.W, x.y, now.sigma).losses().mean() for x in (now, other)]
        ratio = float(losses[1] / losses[0])
        if ratio < least:  # none is simpler than another, so the smallest loss decides
            best, least = c, ratio
    return best


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

    @property
    def name(self) -> str:
        """Its name among the candidates."""
        offset = self.offset and self.friction != "directional"
        return f"{self.friction} with an offset" if offset else self.friction


@dataclass(frozen=True, eq=False)
class _Joint:
    """Columns of friction of one joint, beside those of the bodies, and choices made of them.

    dof: degree of freedom. columns: (rows, c). choices: each with the numbers of its columns, those
    with the same name together, names from simple to complex.
    """

    dof: int
    columns: Array
    choices: list[tuple[Choice, list[int]]]


def choose_friction(
    robot: Robot,
    data: Recording,
    laws: Mapping[str, AutoChoice],
    offsets: bool | Mapping[str, bool] | None,
    armature: bool,
    springs: bool,
    cutoff: float | None,
    sigma: Array,
) -> dict[str, Choice]:
    """The friction of joints whose law is "auto", each as simple as the recording allows.

    Laws with shapes that are given get shapes to start from; other given laws stay.

    Args:
        robot: as described.
        data: the recording.
        laws: choice of each joint.
        offsets, armature, springs: as in `identify`.
        cutoff: of both sides, Hz.
        sigma: noise of each joint, shape (n,), N m or N.
    """
    stated = offsets if isinstance(offsets, Mapping) else {}
    fixed = {x: bool(stated.get(x, offsets is True)) for x in laws}
    found = {name: Choice(name, law, fixed[name]) for name, law in laws.items() if law != "auto"}
    tried = [name for name, law in laws.items() if law == "auto" or law in SIZES]
    if not tried:
        return found
    linear: dict[str, FrictionChoice] = {x: "symmetric" for x in tried}
    linear |= {name: x.friction for name, x in found.items() if name not in tried}
    given = {name: fixed[name] for name in found if fixed[name] and name not in tried}
    params = unknowns(robot, linear, armature, springs, given)
    rows = make_rows(params, data, cutoff)
    own = {f"{kind}[{name}]" for name in tried for kind in ("viscous", "coulomb")}
    bodies = [k for k in find_base(params).kept if params.names[k] not in own]
    W = rows.columns(bodies)
    W = W[..., separable(W, params.natural.forces, params.scale[bodies])[0]]
    free = [False, True] if offsets is None else None
    joints = [
        _joint(
            rows, name, [law for law in LAWS if laws[name] in ("auto", law)], free or [fixed[name]]
        )
        for name in tried
    ]
    blocks = Blocks(W, rows.y, sigma, [(x.dof, x.columns) for x in joints])
    now = [x.choices[0] for x in joints]
    for _ in range(2):  # the second time beside the laws of the other joints
        for k, joint in enumerate(joints):
            now[k] = _chosen(blocks, joint, k, now)
    return found | {x.joint: x for x, _ in now}


# from simple to complex
LAWS: tuple[FrictionChoice, ...] = ("symmetric", "sigmoid", "stribeck", "directional")


def _joint(
    rows: Rows, name: str, laws: Sequence[FrictionChoice], offsets: Sequence[bool]
) -> _Joint:
    """The columns of a joint's friction, and its choices."""
    model = rows.params.robot.model
    joint = model.joint(name)
    dof, ratio = joint.dofs[0], float(joint.scale)
    v = ratio * rows.data.dq[:, dof]
    columns = [v, np.sign(v), np.abs(v), np.abs(np.sign(v)), np.full(len(v), 1 / ratio)]
    choices = list[tuple[Choice, list[int]]]()
    for law, offset in product(laws, offsets):
        more = [4] if offset and law != "directional" else []  # it takes up an offset
        if law == "symmetric":
            choices.append((Choice(name, law, offset), [0, 1, *more]))
        elif law == "directional":
            choices.append((Choice(name, law, offset and len(offsets) == 1), [0, 1, 2, 3]))
        else:
            (bent,) = laws_of(model, {name: law})
            for shapes in grid(bent, v):
                columns.append(curve(bent, v, shapes))
                linear = [0, 1] if law == "stribeck" else [0]
                own = Choice(name, law, offset, tuple(shapes.tolist()))
                choices.append((own, [*linear, *more, len(columns) - 1]))
    return _Joint(dof, rows.filtered(ratio * np.stack(columns, axis=1)), choices)


def _chosen(
    blocks: Blocks, joint: _Joint, k: int, now: list[tuple[Choice, list[int]]]
) -> tuple[Choice, list[int]]:
    """The simplest choice of the k-th joint whose losses are not significantly larger."""
    first = range(int(blocks.places[0][0]))
    others = [blocks.places[j][at] for j, (_, at) in enumerate(now) if j != k]
    best: dict[str, tuple[Array, Choice, list[int]]] = {}
    for choice, at in joint.choices:
        columns = np.concatenate([first, *others, blocks.places[k][at]]).astype(int)
        losses = blocks.losses(columns.tolist())
        if choice.name not in best or losses.sum() < best[choice.name][0].sum():
            best[choice.name] = losses, choice, at
    least = min(best.values(), key=lambda x: float(x[0].sum()))
    _, choice, at = next(x for x in best.values() if x is least or not is_better(x[0], least[0]))
    errors = {name: float(np.sqrt(x.mean())) for name, (x, *_) in best.items()}
    return replace(choice, errors=errors if len(errors) > 1 else {}), at
