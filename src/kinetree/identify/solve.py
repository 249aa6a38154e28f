"""The fit of a recording: base parameters and shapes of friction laws, and its cross-validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of
from kinetree.identify.base import Base, find_base, separable
from kinetree.identify.equations import (
    Equations,
    Parts,
    Sides,
    joined,
    parts_of,
    separated_with_shapes,
)
from kinetree.identify.laws import FrictionChoice, Law, doubt
from kinetree.identify.least_squares import (
    Fit,
    Method,
    fit_blocks,
    from_triangles,
    stacked,
    triangles,
)
from kinetree.identify.recording import Recording, some_parts
from kinetree.identify.shapes import find_shapes, plain_errors
from kinetree.identify.unknowns import Unknowns


@dataclass(frozen=True, eq=False)
class Solved:
    """Least squares of a recording at the best shapes of friction laws.

    sought: unknowns at these shapes. whole, base: base parameters of all motions, and those that
    the recording separates, then the shapes. R: triangle of each joint's rows of all linear
    unknowns and the other side, (n, p + 1, p + 1). blocks: rows of `base`; those of shapes are
    derivatives. fit: of base parameters and shapes. doubts: laws that the recording does not
    determine, and why. choices: friction of every joint.
    """

    sought: Unknowns
    whole: Base
    base: Base
    R: Array
    blocks: Sides
    fit: Fit
    doubts: list[tuple[Law, str]]
    choices: Mapping[str, FrictionChoice] = field(default_factory=dict[str, FrictionChoice])


def solve(
    sought: Unknowns,
    data: Recording,
    method: Method = "weighted",
    cutoff: float | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Solved:
    """Base parameters and shapes of friction laws of a recording, with their covariance.

    It makes no robot and compiles nothing but the regressor, so several laws are compared quickly.

    Args:
        sought: the unknowns, with any shapes.
        data: the recording.
        method: kind of least squares.
        cutoff: as torque_cutoff of `identify`, Hz.
        report: is called with the name of each stage.
    """
    whole = find_base(sought)
    report(f"least squares of {whole.r} base parameters on {len(data)} samples")
    parts = parts_of(sought, [data], cutoff)
    if sought.laws:
        shaped = find_shapes(parts.some(), whole, method, report, _few(parts, data))
        sought, parts = shaped.sought, parts.at(shaped.sought.shapes)
    R, base, kept, found = _fitted(parts, whole, method)
    if not sought.laws:
        return Solved(sought, whole, base, R, Sides(parts, kept), found, [])
    some = parts.some()
    sizes = [x for x, _ in some.sizes(kept, found.beta)]
    blocks = Sides(parts, kept, sizes)
    doubts = _doubts(some, kept, found.beta, plain_errors(blocks, found), data)
    if doubts:
        return Solved(sought, whole, base, R, blocks, found, doubts)
    both = fit_blocks(blocks, method, sought.natural.forces)
    doubts = _doubts(some, kept, found.beta, both.covariance, data)
    beta = np.concatenate([found.beta, sought.shapes])
    found = replace(found, beta=beta, covariance=both.covariance, sigma=both.sigma,
                    condition=both.condition, noise=both.noise)  # fmt: skip
    return Solved(sought, whole, base, R, blocks, found, doubts)


def _few(parts: Parts, data: Recording) -> Equations | None:
    """Equations of stretches of a recording with many rows; None if it has few."""
    step = min(band.step for band in bands_of(data, parts.cutoff))
    most = const.SHAPE_ROWS * step
    if step == 1 or len(data) <= most:
        return None
    return joined([parts.make(x) for x in some_parts(data, most)])


def _fitted(parts: Parts, whole: Base, method: Method) -> tuple[Array, Base, list[int], Fit]:
    """Triangles of all linear unknowns, base with shapes, its linear part, and the fit of that."""
    sought = parts.sought
    R, _ = triangles(Sides(parts, range(sought.p)))
    rows = R[..., list(whole.kept)].transpose(1, 0, 2)
    base = separated_with_shapes(whole, rows, sought)
    K = base.K.copy()
    K[:, [k for k in parts.silent if k not in base.kept]] = 0  # unknowns of joints at rest
    base = replace(base, K=K)
    kept = list(base.kept[: base.r - len(sought.shapes)])
    return R, base, kept, fit_blocks(Sides(parts, kept), method, sought.natural.forces)


def _doubts(
    equations: Equations, kept: list[int], beta: Array, covariance: Array, data: Recording
) -> list[tuple[Law, str]]:
    """Laws that the recording does not determine, each with a sentence."""
    sought = equations.sought
    still = set(sought.at_rest(data.q).tolist())
    found: list[tuple[Law, str]] = []
    for k, (law, (size, slope)) in enumerate(
        zip(sought.laws, equations.sizes(kept, beta), strict=True)
    ):
        at = len(kept) + sought.places[k] - sought.p
        shapes, errors = equations.own(k), np.sqrt(np.diag(covariance)[at])
        error = float(np.sqrt(slope @ covariance[: len(kept), : len(kept)] @ slope))
        rests = sought.names.index(f"viscous[{law.joint}]") in still
        text = doubt(law, equations.rates(law), shapes, errors, size, error, rests)
        if text:
            found.append((law, text))
    return found


def cross_validated(solved: Solved, folds: int) -> Array:
    """Root mean square errors, (folds, n), of stretches predicted from the rest of the rows.

    Parameters that the rest does not separate stay combined.
    """
    sought, forces = solved.sought, solved.sought.natural.forces
    T = len(solved.fit.residual)
    edges = np.linspace(0, T, folds + 1).round().astype(int)
    parts = _folded(solved.blocks, edges)
    own = sought.scale[list(solved.base.kept)]
    errors: list[Array] = []
    for k, (a, b) in enumerate(pairwise(edges.tolist())):
        rest = stacked(np.concatenate([x for j, x in enumerate(parts) if j != k], axis=1))
        kept = separable(rest[..., :-1].transpose(1, 0, 2), forces, own)[0]
        rest = rest[..., [*kept, -1]] / forces[:, None, None]
        beta, _ = from_triangles(rest, T - (b - a), "weighted")
        left = parts[k][..., kept] @ beta - parts[k][..., -1]
        errors.append(np.sqrt((left**2).sum(axis=1) / (b - a)))
    return np.array(errors)


def _folded(blocks: Sides, edges: Array) -> list[Array]:
    """Triangles of the rows between edges, each (n, r + 1, r + 1)."""
    found: list[list[tuple[Array, Array]]] = [[] for _ in edges[1:]]
    done: list[Array] = []
    at = 0
    for W, y in blocks:
        for k, (a, b) in enumerate(pairwise(edges.tolist())):
            own = slice(max(a - at, 0), max(b - at, 0))
            if len(y[own]):
                found[k].append((W[own], y[own]))
        at += len(y)
        while len(done) < len(found) and edges[len(done) + 1] <= at:
            done.append(triangles(found[len(done)])[0])
            found[len(done) - 1] = []
    return done
