"""The fit of a recording by variable projection: base parameters, and shapes of friction laws.

For given shapes the equations are linear: least squares leaves a residual that depends on the
shapes alone. Steps of Gauss and Newton in both together, with the linear unknowns solved again
after each, lead to its minimum.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.base import Base, find_base, separable
from kinetree.identify.laws import Law, grid, reference
from kinetree.identify.least_squares import Fit, Method, fit
from kinetree.identify.recording import Recording
from kinetree.identify.rows import Rows, make_rows
from kinetree.identify.unknowns import Unknowns

WIDEST_SHAPE = 0.5  # relative standard error from which a shape counts as not determined


@dataclass(frozen=True, eq=False)
class Solved:
    """Least squares of a recording at the best shapes of friction laws.

    rows: equations at these shapes. W: their columns, (rows, n, r), of `base`; those of shapes are
    derivatives. whole: base parameters of all motions. base: those that the recording separates,
    then the shapes. fit: of `base`. open_laws: laws that the recording does not determine.
    """

    rows: Rows
    W: Array
    whole: Base
    base: Base
    fit: Fit
    open_laws: tuple[Law, ...] = ()

    @property
    def params(self) -> Unknowns:
        """The unknowns, at the best shapes."""
        return self.rows.params

    @property
    def unidentified(self) -> tuple[str, ...]:
        """Base parameters of all motions that this recording does not separate."""
        return tuple(self.params.names[k] for k in self.whole.kept if k not in self.base.kept)


def solve(
    params: Unknowns, data: Recording, method: Method = "weighted", cutoff: float | None = None
) -> Solved:
    """Base parameters and shapes of friction laws of a recording, with their covariance.

    Args:
        params: the unknowns, with shapes to start from; NaN: from a grid.
        data: the recording.
        method: kind of least squares.
        cutoff: as torque_cutoff of `identify`, Hz.
    """
    whole, rows = find_base(params), make_rows(params, data, cutoff)
    if params.laws:
        rows = _projected(rows, list(whole.kept))
    base = _separated(whole, rows)
    linear = [k for k in base.kept if k < params.p]
    W, forces = rows.columns(linear), params.natural.forces
    linear_fit = fit(W, rows.y, method, breaks=rows.breaks, forces=forces)
    if not params.laws:
        return Solved(rows, W, whole, base, linear_fit)
    still = tuple(x for x in params.laws if params.names.index(x.size) not in linear)
    if still:
        return Solved(rows, W, whole, base, linear_fit, still)
    x = np.zeros(params.p)
    x[linear] = linear_fit.beta
    D = rows.tangent(x)
    W = np.concatenate([W, D], axis=-1)
    own = params.scale[list(base.kept)]
    seen = [base.kept[k] for k in separable(W, forces, own)[0]]
    if still := tuple(_with_columns_beside(params, seen)):
        return Solved(rows, W, whole, base, linear_fit, still)
    y = rows.y + D @ rows.params.shapes  # close to the shapes, y = W x
    both = fit(W, y, method, breaks=rows.breaks, forces=forces)
    both = replace(both, beta=np.concatenate([linear_fit.beta, rows.params.shapes]))
    return Solved(rows, W, whole, base, both, _open_laws(rows.params, linear, both))


def _separated(whole: Base, rows: Rows) -> Base:
    """The combinations that a recording separates, then every shape by itself."""
    params = rows.params
    W = rows.columns(whole.kept)
    kept, D = separable(W, params.natural.forces, params.scale[list(whole.kept)])
    K = D @ whole.K
    at = np.arange(params.p, len(params.names))
    shapes = np.zeros((len(at), len(params.names)))
    shapes[np.arange(len(at)), at] = 1
    chosen = [whole.kept[k] for k in kept]
    K[:, [k for k in rows.silent if k not in chosen]] = 0
    return Base(whole.names, (*chosen, *at.tolist()), np.vstack([K, shapes]))


def _projected(rows: Rows, kept: list[int]) -> Rows:
    """The rows at the shapes of the smallest residual, by variable projection.

    With Q an orthonormal basis of the columns and D the tangent, the residual of the linear fit
    changes with the shapes by -(1 - Q Q^T) D (Kaufman).
    """
    from scipy.optimize import least_squares

    params = rows.params
    start = np.concatenate([reference(law, params.natural) for law in params.laws])
    seen = rows.at(np.where(np.isnan(params.shapes), start, params.shapes))
    own, _ = separable(seen.columns(kept), params.natural.forces, params.scale[kept])
    kept = [kept[k] for k in own]
    rows = _on_grid(rows, kept)
    sigma = np.maximum(_linear(rows, kept, params.natural.forces)[1].std(axis=0), 1e-300)

    def residual(shapes: Array) -> Array:
        return _linear(rows.at(shapes), kept, sigma)[1].ravel()

    def derivative(shapes: Array) -> Array:
        beta, _, Q = _linear(rows.at(shapes), kept, sigma)
        x = np.zeros(params.p)
        x[kept] = beta
        D = (rows.at(shapes).tangent(x) / sigma[:, None]).reshape(len(Q), -1)
        return Q @ (Q.T @ D) - D

    least = np.full(len(start), -np.inf)
    least[[at[0] - params.p for at in params.places]] = 0  # speeds and steepness
    shapes = np.maximum(rows.params.shapes, least + 1e-9)
    slopes: Any = derivative  # the stubs of SciPy know its names of methods alone
    bounds = (least, np.full(len(least), np.inf))
    found = least_squares(residual, shapes, slopes, bounds, x_scale="jac", xtol=1e-6, max_nfev=30)
    return rows.at(found.x)


def _linear(rows: Rows, kept: list[int], unit: Array) -> tuple[Array, Array, Array]:
    """Least squares at given shapes: beta, residual (rows, n) in units, and the basis Q."""
    W, y = rows.columns(kept) / unit[:, None], rows.y / unit
    flat = W.reshape(-1, len(kept))
    length = np.maximum(np.linalg.norm(flat, axis=0), 1e-300)
    Q, R = np.linalg.qr(flat / length)
    beta = np.linalg.lstsq(R, Q.T @ y.ravel(), rcond=1e-10)[0] / length
    return beta, y - W @ beta, Q


def _on_grid(rows: Rows, kept: list[int]) -> Rows:
    """The rows with each law whose shapes are NaN at the best shapes of a grid, one by one."""
    params, shapes = rows.params, rows.params.shapes.copy()
    for law, at in zip(params.laws, params.places, strict=True):
        own = at - params.p
        if not np.isnan(shapes[own]).any():
            continue
        others = [k for k in kept if params.names[k] != law.size]
        linear = rows.plain[..., others] / params.natural.forces[:, None]
        z = (rows.y / params.natural.forces).ravel()
        Q = np.linalg.qr(linear.reshape(-1, len(others)))[0]
        left, gain = z - Q @ (Q.T @ z), dict[float, Array]()
        for tried in grid(law, law.ratio * rows.data.dq[:, law.dof]):
            c = np.zeros(rows.y.shape)
            c[:, law.dof] = rows.curve(law, tried) / params.natural.forces[law.dof]
            beside = c.ravel() - Q @ (Q.T @ c.ravel())
            gain[float(beside @ left) ** 2 / max(float(beside @ beside), 1e-300)] = tried
        shapes[own] = gain[max(gain)]
    return rows.at(shapes)


def _with_columns_beside(params: Unknowns, seen: list[int]) -> Iterator[Law]:
    """Laws with a shape that the recording cannot tell from other unknowns."""
    for law, at in zip(params.laws, params.places, strict=True):
        if not set(at.tolist()) <= set(seen):
            yield law


def _open_laws(params: Unknowns, linear: list[int], both: Fit) -> tuple[Law, ...]:
    """Laws whose size does not differ from zero, or whose shapes are not determined."""
    open_laws, names = list[Law](), params.names
    error, beta = both.standard_error, both.beta
    for law, at in zip(params.laws, params.places, strict=True):
        own = len(linear) + at - params.p
        unit = np.array([beta[own[0]], *[1 / beta[own[0]]] * (len(own) - 1)])
        slope = np.zeros(len(beta))
        for name, sign in law.parts.items():
            if (k := names.index(name)) in linear:
                slope[linear.index(k)] = sign
        size, spread = float(slope @ beta), float(np.sqrt(slope @ both.covariance @ slope))
        if size < 1.96 * spread or np.any(error[own] > WIDEST_SHAPE * np.abs(unit)):
            open_laws.append(law)
    return tuple(open_laws)
