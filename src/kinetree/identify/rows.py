"""Rows: the samples of a recording as equations y = W x that are linear in all unknowns but shapes.

Columns of friction laws depend on their shapes. With the tangent, the derivatives of joint forces
by the shapes, equations are linear in them as well, close to given values. Both sides pass through
the same low-pass (`band`), which leaves fewer rows than samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.band import Band, bands_of, blocks_of, filtered, rows_of
from kinetree.identify.checks import BLOCK
from kinetree.identify.laws import Law, curve, slopes
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import Unknowns


@dataclass(frozen=True, eq=False)
class Rows:
    """Equations of a recording.

    Args:
        params: the unknowns, at their shapes.
        bands: filters of the stretches.
        plain: columns without those of laws with shapes, low-passed, (rows, n, p).
        y: joint forces less their known part, low-passed, (rows, n).
        data: the samples.
        silent: unknowns whose columns are zero: friction and armature of joints that stand still.
    """

    params: Unknowns
    bands: tuple[Band, ...]
    plain: Array
    y: Array
    data: Recording
    silent: tuple[int, ...] = ()

    @property
    def breaks(self) -> list[int]:
        """Number of rows of each stretch."""
        return [band.rows for band in self.bands]

    def filtered(self, samples: Array) -> Array:
        """Rows of samples, (T, ...)."""
        return rows_of(self.bands, samples)

    def at(self, shapes: Array) -> "Rows":
        """The same equations with columns at other shapes, (s,), each in its unit."""
        return replace(self, params=self.params.at(shapes))

    def curve(self, law: Law, shapes: Array) -> Array:
        """The column of a law at its degree of freedom, (rows,)."""
        f = curve(law, law.ratio * self.data.dq[:, law.dof], shapes)
        return self.filtered(law.ratio * f)

    def columns(self, kept: Sequence[int]) -> Array:
        """W, (rows, n, r), of some linear unknowns."""
        params = self.params
        W = self.plain[..., list(kept)]
        for law, at in zip(params.laws, params.places, strict=True):
            f = self.curve(law, params.shapes[at - params.p])
            for name, sign in law.parts.items():
                if (k := params.names.index(name)) in kept:
                    W[:, law.dof, list(kept).index(k)] += sign * f
        return W

    def tangent(self, x: Array) -> Array:
        """Derivatives of joint forces by the shapes, (rows, n, s), at unknowns x, (p,)."""
        params = self.params
        D = np.zeros((*self.y.shape, len(params.shapes)))
        for law, at in zip(params.laws, params.places, strict=True):
            rate, own = law.ratio * self.data.dq[:, law.dof], at - params.p
            size = sum(sign * x[params.names.index(name)]
                       for name, sign in law.parts.items())  # fmt: skip
            slope = size * law.ratio * slopes(law, rate, params.shapes[own])
            D[:, law.dof, own] = self.filtered(slope)
        return D


def make_rows(params: Unknowns, data: Recording, cutoff: float | None) -> Rows:
    """The equations of a recording; cutoff as in `bands_of`."""
    bands, state = bands_of(data, cutoff), (data.q, data.dq, data.ddq)
    silent = params.at_rest(data.q)
    rows = list[Array]()
    y = data.tau.copy()
    for band, a, b in blocks_of(bands, BLOCK):
        own = slice(*band.window(a, b))
        some = [x[own] for x in state]
        plain = params.plain(*some)
        plain[..., silent] = 0
        rows.append(filtered(band, a, b, plain))
        y[own] = data.tau[own] - params.known(*some)
    return Rows(
        params, bands, np.concatenate(rows), rows_of(bands, y), data, tuple(silent.tolist())
    )
