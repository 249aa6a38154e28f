"""Shapes of friction laws by variable projection (Golub and Pereyra 1973).

For given shapes the best linear unknowns are those of weighted least squares. So the sum of squares
that is left is a function of the shapes alone. It can have several minima:

1. A dense grid, law by law. With Q the directions of all columns but the law's own one f, the
   squares decrease by (f . r)^2 / (f . f - |Q^T f|^2), r the residual without f. That is a sum over
   the samples of one joint for each point of the grid, so thousands of points cost little.
2. Steps of Gauss and Newton for all shapes together: least squares on the linear columns and the
   derivatives by the shapes. If a step does not decrease the squares, it is damped (Levenberg and
   Marquardt): shapes that the recording hardly determines move less, the others as before.
3. The grid again, from the shapes found. A better point is the start of another search.
4. Steps on all samples; those before are on some of them.

Weights of joints and of outliers are those of the linear problem, computed again after every step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.band import Band
from kinetree.identify.base import Base, separable
from kinetree.identify.equations import Equations
from kinetree.identify.laws import Law, curve, described_shapes, grid, moved
from kinetree.identify.least_squares import Blocks, Fit, Method, weights_of


@dataclass(frozen=True, eq=False)
class Point:
    """Equations at some shapes, with the least squares of their linear unknowns.

    W: columns of the kept unknowns, then the curve of each law, (rows, n, r). y: other side,
    (rows, n). w: weights of squares, (rows, n). beta: (r,). cost: weighted squares left.
    """

    equations: Equations
    W: Array
    y: Array
    w: Array
    beta: Array
    cost: float


def find_shapes(
    equations: Equations,
    whole: Base,
    method: Method,
    report: Callable[[str], None],
    few: Equations | None = None,
) -> Equations:
    """The equations at the best shapes.

    Args:
        equations: of a recording, at any shapes.
        whole: base parameters of the unknowns.
        method: as in `fit`.
        report: is called with the name of each stage.
        few: equations of some stretches for grids and first steps; None: `equations` has few rows.
    """
    sought = equations.sought
    W, _ = equations.sides(whole.kept, bent=False)
    own, _ = separable(W, sought.natural.forces, sought.scale[list(whole.kept)])
    kept = [whole.kept[k] for k in own]
    report("friction laws: grid of shapes")
    point = _first(_thinned(equations) if few is None else few, kept, method)
    for _ in range(const.GRID_SEARCHES):
        point, changed = _swept(point, kept)
        if not changed and _ > 0:
            break
        report("friction laws: steps from the best shapes")
        point = _descended(point, kept, method)
    if point.equations.y is equations.y:  # all samples already
        return point.equations
    report(f"friction laws: shapes on {len(equations.y)} samples")
    whole_point = _first(equations.at(point.equations.sought.shapes), kept, method)
    return _descended(whole_point, kept, method).equations


def _thinned(equations: Equations) -> Equations:
    """Equations of some of the samples; all of them if both sides are to be filtered."""
    if any(band.reach for band in equations.bands):
        return equations
    some = slice(None, None, max(1, len(equations.y) // const.THIN_SAMPLES))
    rows, y, dq = equations.rows[some], equations.y[some], equations.dq[some]
    return Equations(equations.sought, (Band(0, len(y)),), rows, y, dq)


def _first(equations: Equations, kept: list[int], method: Method) -> Point:
    """The point of the given shapes, with weights that belong to it."""
    forces = equations.sought.natural.forces
    shape = sum(equations.breaks), len(forces)
    point = _solved(equations, kept, np.broadcast_to(1 / forces**2, shape))
    for _ in range(const.SHAPE_REWEIGHTS):
        point = _reweighted(point, kept, method)
    return point


def _solved(equations: Equations, kept: list[int], w: Array) -> Point:
    """The point of some equations with given weights."""
    C, y = equations.sides(kept, bent=False)
    laws = equations.sought.laws
    F = np.zeros((*y.shape, len(laws)))
    for k, (law, f) in enumerate(zip(laws, equations.curves(), strict=True)):
        F[:, law.dof, k] = f
    W = np.concatenate([C, F], axis=-1)
    beta = _least(W, y, w)
    rest = y - W @ beta
    return Point(equations, W, y, w, beta, float((w * rest * rest).sum()))


def _reweighted(point: Point, kept: list[int], method: Method) -> Point:
    """The same shapes with weights from the residual."""
    equations = point.equations
    forces = equations.sought.natural.forces
    rest, y = (point.y - point.W @ point.beta) / forces, point.y / forces
    w = weights_of(rest, y, point.W.shape[-1] + len(equations.sought.shapes), method)
    return _solved(equations, kept, w / forces**2)


def _least(W: Array, y: Array, w: Array) -> Array:
    """Weighted least squares; columns of zeros get 0, and dependent ones the smallest values."""
    root = np.sqrt(w)
    X, z = (W * root[..., None]).reshape(-1, W.shape[-1]), (y * root).ravel()
    return _fitted(X, z)


def _fitted(X: Array, z: Array) -> Array:
    """Least squares of z, (k, ...), on X, (k, r), by normal equations.

    They are solved a second time for the digits that they lose.
    """
    G = X.T @ X
    length = np.sqrt(np.diag(G))
    length = np.where(length > 0, length, 1)
    G /= np.outer(length, length)
    G += np.diag(np.where(np.diag(G) > 0, const.SHAPE_RIDGE, 1))
    scale = length.reshape(-1, *[1] * (z.ndim - 1))
    beta = np.linalg.solve(G, X.T @ z / scale) / scale
    return beta + np.linalg.solve(G, X.T @ (z - X @ beta) / scale) / scale


def _swept(point: Point, kept: list[int]) -> tuple[Point, bool]:
    """The best point on the grids of the laws, one law after the other; whether it is another."""
    changed = False
    for _ in range(const.GRID_SWEEPS):
        before = point.equations.sought.shapes
        for k in range(len(point.equations.sought.laws)):
            point = _best_curve(point, k, kept)
        if np.array_equal(before, point.equations.sought.shapes):
            break
        changed = True
    return point, changed


def _best_curve(point: Point, k: int, kept: list[int]) -> Point:
    """The best shapes of one law on its grid, those of the point included; size above 0."""
    equations, law = point.equations, point.equations.sought.laws[k]
    own = len(kept) + k
    root = np.sqrt(point.w)
    others = np.delete(point.W, own, axis=-1) * root[..., None]
    X = others.reshape(-1, others.shape[-1])
    length = np.linalg.norm(X, axis=0)
    Q = np.linalg.qr(X[:, length > 0] / length[length > 0])[0]
    z = (point.y * root).ravel()
    rest = (z - Q @ (Q.T @ z)).reshape(root.shape)[:, law.dof]
    Q = Q.reshape(*root.shape, -1)[:, law.dof]
    described = described_shapes(law, equations.sought.robot.model.joints[law.index].friction)
    starts = np.vstack([equations.own(k), grid(law, equations.rates(law), described)])
    f = _curves(equations, law, starts) * root[:, law.dof, None]
    across, squares = f.T @ rest, (f * f).sum(axis=0)
    left = squares - ((Q.T @ f) ** 2).sum(axis=0)
    gain = np.where(
        (across > 0) & (left > const.SEEN_SHARE * squares),
        across**2 / np.where(left > 0, left, 1),
        0,
    )
    best = int(gain.argmax())
    if gain[best] <= gain[0] + const.SHAPE_BETTER * point.cost:
        return point
    return _solved(_with(equations, k, starts[best]), kept, point.w)


def _curves(equations: Equations, law: Law, starts: Array) -> Array:
    """Columns of a law at several shapes, (rows, k)."""
    rate = equations.rates(law)
    return equations.soft(law.ratio * np.stack([curve(law, rate, x) for x in starts], axis=1))


def _with(equations: Equations, k: int, shapes: Array) -> Equations:
    """The equations with other shapes of the k-th law."""
    sought = equations.sought
    new = sought.shapes.copy()
    new[sought.places[k] - sought.p] = shapes
    return equations.at(new)


def _descended(point: Point, kept: list[int], method: Method) -> Point:
    """The point after steps of Gauss and Newton for all shapes together."""
    count, damping = len(kept), 0.0
    for _ in range(const.SHAPE_STEPS):
        point = _reweighted(point, kept, method)
        equations, sought = point.equations, point.equations.sought
        D = equations.tangent(point.beta[count:].tolist())
        old = sought.shapes
        point, damping, close = _stepped(point, kept, D, damping)
        change = np.abs(point.equations.sought.shapes - old)
        if close or np.all(change <= const.SHAPE_CLOSE * _unit(sought.laws, old)):
            break
    return _reweighted(point, kept, method)


def _stepped(point: Point, kept: list[int], D: Array, damping: float) -> tuple[Point, float, bool]:
    """The point after a step, the damping of the next one, and whether the step was negligible.

    D, (rows, n, s), has the derivatives by the shapes. It is the step without damping that is
    compared with the standard errors of the shapes.
    """
    sought = point.equations.sought
    root = np.sqrt(point.w)
    X = (point.W * root[..., None]).reshape(-1, point.W.shape[-1])
    E = (D * root[..., None]).reshape(-1, D.shape[-1])
    z = ((point.y - point.W @ point.beta) * root).ravel()
    length = np.linalg.norm(E, axis=0)
    length = np.where(length > 0, length, 1)
    E = E / length
    E = E - X @ _fitted(X, E)
    S, g = E.T @ E, E.T @ z
    S[np.diag_indices(len(S))] += const.SHAPE_RIDGE
    errors = np.sqrt(np.diag(np.linalg.inv(S)) * point.cost / max(z.size - len(X.T), 1))
    close = bool(np.all(np.abs(np.linalg.solve(S, g)) <= const.SHAPE_SMALL * errors))
    for _ in range(const.SHAPE_TRIES):
        step = np.linalg.solve(S + damping * np.eye(len(S)), g) / length
        new = sought.shapes.copy()
        for law, at in zip(sought.laws, sought.places, strict=True):
            own = at - sought.p
            new[own] = moved(law, sought.shapes[own], step[own])
        found = _solved(point.equations.at(new), kept, point.w)
        if found.cost <= point.cost:
            less = damping / const.DAMPING_FACTOR if damping > const.SHAPE_DAMPING else 0.0
            return found, less, close
        damping = max(const.DAMPING_FACTOR * damping, const.SHAPE_DAMPING)
    return point, damping, close


def _unit(laws: tuple[Law, ...], shapes: Array) -> Array:
    """Size of each shape to which changes are compared, (s,)."""
    found: list[float] = []
    rest = shapes.tolist()
    for law in laws:
        own, rest = rest[: len(law.shapes)], rest[len(law.shapes) :]
        found += [own[0], *[1 / own[0]] * (len(own) - 1)]
    return np.array(found)


def plain_errors(blocks: Blocks, found: Fit) -> Array:
    """Covariance, (r, r), of independent errors; large where columns are dependent."""
    G: Array | float = 0.0
    at = 0
    for W, y in blocks:
        X = W * np.sqrt(found.weights[at : at + len(y)])[..., None]
        flat = X.reshape(-1, X.shape[-1])
        G = G + flat.T @ flat
        at += len(y)
    G = np.asarray(G)
    length = np.sqrt(np.diag(G))
    length = np.where(length > 0, length, 1)
    G = G / np.outer(length, length) + const.SHAPE_RIDGE * np.eye(len(G))
    scale = float(np.mean(found.residual**2 * found.weights))
    return np.linalg.inv(G) * scale / np.outer(length, length)
