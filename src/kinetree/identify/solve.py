"""The fit of a recording by variable projection: base parameters, and shapes of friction laws.

For given shapes the equations are linear: least squares leaves a residual that depends on the
shapes alone. Steps of Gauss and Newton in both together, with the linear unknowns solved again
after each, lead to its minimum.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.base import Base, find_base, separable
from kinetree.identify.laws import Law
from kinetree.identify.least_squares import Fit, Method, fit
from kinetree.identify.recording import Recording
from kinetree.identify.rows import Rows, make_rows
from kinetree.identify.unknowns import Unknowns


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
        params: the unknowns, with shapes to start from.
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
    still = tuple(x for x in params.laws if params.names.index(x.size) not in linear)
    if still or not params.laws:
        return Solved(rows, W, whole, base, linear_fit, still)
    x = np.zeros(params.p)
    x[linear] = linear_fit.beta
    D = rows.tangent(x)
    W = np.concatenate([W, D], axis=-1)
    seen = {base.kept[k] for k in separable(W, forces, params.scale[list(base.kept)])[0]}
    places = zip(params.laws, params.places, strict=True)
    if still := tuple(law for law, at in places if not set(at.tolist()) <= seen):
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

    With Q an orthonormal basis of the columns without shapes, and U of the curves f of the laws
    beside them, the linear fit leaves (1 - Q Q^T - U U^T) y, with factors c of the curves. Its
    slopes by the shapes are -(1 - Q Q^T - U U^T) (df c) (Kaufman).
    """
    from scipy.optimize import least_squares

    params, sizes = rows.params, [rows.params.names.index(x.size) for x in rows.params.laws]
    own, _ = separable(rows.columns(kept), params.natural.forces, params.scale[kept])
    plain = [kept[k] for k in own if kept[k] not in sizes]

    def beside(unit: Array) -> tuple[Array, Array]:
        """Q, and what it leaves of y, in units of the joints."""
        W, y = (rows.plain[..., plain] / unit[:, None]).reshape(-1, len(plain)), rows.y / unit
        Q = np.linalg.qr(W / np.maximum(np.linalg.norm(W, axis=0), 1e-300))[0]
        return Q, y.ravel() - Q @ (Q.T @ y.ravel())

    z = beside(params.natural.forces)[1].reshape(rows.y.shape)
    unit = params.natural.forces * np.maximum(z.std(axis=0), 1e-12)
    Q, left = beside(unit)

    def curves(shapes: Array) -> tuple[Array, Array, Array]:
        """U, c and the residual."""
        F = np.zeros((*rows.y.shape, len(sizes)))
        for i, (law, at) in enumerate(zip(params.laws, params.places, strict=True)):
            F[:, law.dof, i] = rows.curve(law, shapes[at - params.p]) / unit[law.dof]
        F = F.reshape(len(Q), -1)
        U, R = np.linalg.qr(F - Q @ (Q.T @ F))
        c = np.linalg.lstsq(R, U.T @ left, rcond=1e-10)[0]
        return U, c, left - U @ (U.T @ left)

    def derivative(shapes: Array) -> Array:
        U, c, _ = curves(shapes)
        x = np.zeros(params.p)
        x[sizes] = c
        D = (rows.at(shapes).tangent(x) / unit[:, None]).reshape(len(Q), -1)
        D -= Q @ (Q.T @ D)
        return U @ (U.T @ D) - D

    least = np.full(len(params.shapes), -np.inf)
    least[[at[0] - params.p for at in params.places]] = 0  # speeds and steepness
    slopes: Any = derivative  # the stubs of SciPy know its names of methods alone
    found = least_squares(
        lambda x: curves(x)[2], np.maximum(params.shapes, least + 1e-9), slopes,
        (least, np.full(len(least), np.inf)), x_scale="jac", xtol=1e-6, max_nfev=30,
    )  # fmt: skip
    return rows.at(found.x)


def _open_laws(params: Unknowns, linear: list[int], both: Fit) -> tuple[Law, ...]:
    """Laws whose size does not differ from zero, or whose shapes are not determined."""
    open_laws, names = list[Law](), params.names
    widest = 0.5  # relative standard error from which a shape counts as not determined
    error, beta = both.standard_error, both.beta
    for law, at in zip(params.laws, params.places, strict=True):
        own = len(linear) + at - params.p
        unit = np.array([beta[own[0]], *[1 / beta[own[0]]] * (len(own) - 1)])
        slope = np.zeros(len(beta))
        for name, sign in law.parts.items():
            if (k := names.index(name)) in linear:
                slope[linear.index(k)] = sign
        size, spread = float(slope @ beta), float(np.sqrt(slope @ both.covariance @ slope))
        if size < 1.96 * spread or np.any(error[own] > widest * np.abs(unit)):
            open_laws.append(law)
    return tuple(open_laws)
