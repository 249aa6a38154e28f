"""Equations: the samples of recordings as equations that are linear in all unknowns but shapes.

With the shapes of friction laws, joint forces are W x. The tangent has the derivatives of joint
forces by the shapes: with it the equations are linear in shapes as well, close to given values.
Both sides pass through the same low-pass (`band`), which leaves fewer rows than samples.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.band import Band, bands_of, blocks_of, filtered, rows_of
from kinetree.identify.base import Base, separated
from kinetree.identify.laws import Law, curve, slopes
from kinetree.identify.noise import pieces
from kinetree.identify.recording import Recording
from kinetree.identify.unknowns import Unknowns


@dataclass(frozen=True, eq=False)
class Equations:
    """Joint forces of stretches of recordings, with and without columns that depend on shapes.

    Args:
        sought: the unknowns.
        bands: filters of the stretches, in the order of their samples.
        rows: columns without those of laws with shapes, low-passed, (rows, n, p).
        y: joint forces less their known part, (T, n).
        dq: joint rates, (T, n).
    """

    sought: Unknowns
    bands: tuple[Band, ...]
    rows: Array
    y: Array
    dq: Array
    _soft_y: list[Array] = field(default_factory=list[Array], repr=False)

    @property
    def breaks(self) -> tuple[int, ...]:
        """Number of rows of each stretch."""
        return tuple(band.rows for band in self.bands)

    def soft(self, x: Array) -> Array:
        """Rows, (rows, ...), of samples x, (T, ...)."""
        return rows_of(self.bands, x)

    def at(self, shapes: Array) -> "Equations":
        """The same equations with columns at other shapes, (s,), each in its unit."""
        return replace(self, sought=self.sought.at(shapes))

    def rates(self, law: Law) -> Array:
        """Rates of the joint of a law, (T,)."""
        return law.ratio * self.dq[:, law.dof]

    def sides(self, columns: Sequence[int], *, bent: bool = True) -> tuple[Array, Array]:
        """W, (rows, n, r), of some columns, and y, (rows, n).

        Args:
            columns: indices of unknowns.
            bent: whether columns are those at the shapes; False: the plain ones.
        """
        if not self._soft_y:  # shared by the equations at all shapes
            self._soft_y.append(self.soft(self.y))
        W = self._bent() if bent else self.rows
        return W[..., list(columns)], self._soft_y[0]

    def _bent(self) -> Array:
        """Columns at the shapes, (rows, n, p)."""
        sought = self.sought
        if not sought.laws:
            return self.rows
        W = self.rows.copy()
        for law, f in zip(sought.laws, self.curves(), strict=True):
            W[:, law.dof, sought.names.index(law.size)] += f
            if law.kind == "stribeck":  # coulomb + (static - coulomb) f
                W[:, law.dof, sought.names.index(f"coulomb[{law.joint}]")] -= f
        return W

    def curves(self) -> list[Array]:
        """Column of each law, (rows,), at its degree of freedom."""
        return [
            self.soft(law.ratio * curve(law, self.rates(law), self.own(k)))
            for k, law in enumerate(self.sought.laws)
        ]

    def own(self, k: int) -> Array:
        """Shapes of the k-th law."""
        return self.sought.shapes[self.sought.places[k] - self.sought.p]

    def tangent(self, sizes: Sequence[float]) -> Array:
        """Derivatives of joint forces by the shapes, (rows, n, s).

        Args:
            sizes: factor of the curve of each law.
        """
        found = np.zeros((sum(self.breaks), self.y.shape[1], len(self.sought.shapes)))
        for k, law in enumerate(self.sought.laws):
            at = self.sought.places[k] - self.sought.p
            D = sizes[k] * law.ratio * slopes(law, self.rates(law), self.own(k))
            found[:, law.dof, at] = self.soft(D)
        return found

    def sizes(self, columns: Sequence[int], beta: Array) -> list[tuple[float, Array]]:
        """Factor of the curve of each law in values of some unknowns, and its derivative by them.

        NaN if the recording combines a part of it with other unknowns.
        """
        names, columns = self.sought.names, list(columns)
        found: list[tuple[float, Array]] = []
        for law in self.sought.laws:
            parts = {law.size: 1.0, f"coulomb[{law.joint}]": -1.0}
            wanted = {"stribeck": 2, "sigmoid": 1}[law.kind]
            slope = np.zeros(len(columns))
            present = 0
            for name, sign in list(parts.items())[:wanted]:
                at = names.index(name)
                if at in columns:
                    slope[columns.index(at)] = sign
                    present += 1
            found.append((float(slope @ beta) if present == wanted else np.nan, slope))
        return found


def make_equations(
    sought: Unknowns, data: Recording, cutoff: float | None, silent: Sequence[int] = ()
) -> Equations:
    """The equations of a recording; cutoff as in `bands_of`.

    silent: indices of unknowns whose columns are zero, as those of `silent_columns`.
    """
    bands, state = bands_of(data, cutoff), (data.q, data.dq, data.ddq)
    rows: list[Array] = []
    y = data.tau.copy()
    for band, a, b in blocks_of(bands, const.COLUMN_SAMPLES):
        own = slice(*band.window(a, b))
        some = [x[own] for x in state]
        plain = sought.plain(*some)
        plain[..., list(silent)] = 0
        rows.append(filtered(band, a, b, plain))
        y[own] = data.tau[own] - sought.known(*some)
    return Equations(sought, bands, np.concatenate(rows), y, data.dq)


def silent_columns(sought: Unknowns, data: Sequence[Recording]) -> list[int]:
    """Indices of the friction and armature of joints that stand still in all recordings."""
    found = [set(sought.at_rest(x.q).tolist()) for x in data]
    return sorted(set.intersection(*found))


@dataclass(frozen=True, eq=False)
class Parts:
    """Equations of recordings, made when they are needed and kept if all fit into memory.

    Long recordings are cut into pieces. The kernel of the filter is cut there as it is at the ends
    of a recording, on both sides alike, so that every piece has valid equations by itself.

    Args:
        sought: the unknowns.
        pieces: stretches of recordings.
        cutoff: frequency of the low-pass, Hz; None: each recording's own.
        silent: indices of unknowns whose columns are zero.
        kept: equations in memory.
        small: True if equations are kept.
    """

    sought: Unknowns
    pieces: tuple[Recording, ...]
    cutoff: float | None
    silent: tuple[int, ...]
    kept: list[Equations]
    small: bool

    def __iter__(self) -> Iterator[Equations]:
        if self.kept:
            yield from self.kept
            return
        for data in self.pieces:
            found = self.make(data)
            if self.small:
                self.kept.append(found)
            yield found

    def make(self, data: Recording) -> Equations:
        """The equations of one piece."""
        return make_equations(self.sought, data, self.cutoff, self.silent)

    def some(self) -> Equations:
        """Equations of all pieces, or of evenly spread ones that fit into memory."""
        if self.small:
            return joined(list(self))
        every = -(-len(self.pieces) // const.PIECES_TOGETHER)
        return joined([self.make(x) for x in self.pieces[::every]])

    def at(self, shapes: Array) -> "Parts":
        """The same equations with columns at other shapes, (s,), each in its unit."""
        kept = [x.at(shapes) for x in self.kept]
        return replace(self, sought=self.sought.at(shapes), kept=kept)


def parts_of(sought: Unknowns, data: Sequence[Recording], cutoff: float | None) -> Parts:
    """The equations of recordings in parts; cutoff as in `bands_of`."""
    silent = tuple(silent_columns(sought, data))
    step = [bands_of(x, cutoff)[0].step for x in data]
    rows = sum(len(x) / k for x, k in zip(data, step, strict=True))
    most = const.KEPT_NUMBERS // (sought.robot.n * max(sought.p, 1))
    if rows <= most:
        return Parts(sought, tuple(data), cutoff, silent, [], True)
    pieces: list[Recording] = []
    for x, k in zip(data, step, strict=True):
        count = -(-len(x) * const.PIECES_TOGETHER // (most * k))
        edges = np.linspace(0, len(x), count + 1).round().astype(int)
        pieces += [x.part(slice(a, b)) for a, b in pairwise(edges.tolist())]
    return Parts(sought, tuple(pieces), cutoff, silent, [], False)


def joined(parts: Sequence[Equations]) -> Equations:
    """Equations of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    bands: list[Band] = []
    at = 0
    for part in parts:
        bands += [replace(band, first=band.first + at) for band in part.bands]
        at += len(part.y)
    rows, y, dq = (
        np.concatenate([getattr(part, key) for part in parts]) for key in ("rows", "y", "dq")
    )
    return Equations(parts[0].sought, tuple(bands), rows, y, dq)


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of equations for some columns, stretch by stretch, for least squares.

    Args:
        parts: the equations.
        kept: indices of linear unknowns.
        sizes: factors of the laws' curves: adds the tangent of the shapes; None: without it.
    """

    parts: Iterable[Equations]
    kept: Sequence[int]
    sizes: Sequence[float] | None = None

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        for part in self.parts:
            W, y = part.sides(self.kept)
            if self.sizes is not None and part.sought.laws:
                W = np.concatenate([W, part.tangent(self.sizes)], axis=-1)
            yield from zip(pieces(W, part.breaks), pieces(y, part.breaks), strict=True)


def linear_rows(
    sought: Unknowns, data: Recording, cutoff: float | None, kept: Sequence[int], beta: Array
) -> tuple[Array, Array]:
    """W, (rows, n, r), and y, (rows, n), of a recording: y = W beta, for shapes close to theirs.

    Args:
        sought: the unknowns, at the shapes that were found.
        data, cutoff: as in `bands_of`.
        kept: indices of the unknowns, shapes last.
        beta: values of the unknowns of `kept`, (r,).
    """
    count = len(kept) - len(sought.shapes)
    linear, values = list(kept[:count]), beta[:count]
    equations = joined(list(parts_of(sought, [data], cutoff)))
    W, y = equations.sides(linear)
    if not sought.laws:
        return W, y
    sizes = [x for x, _ in equations.sizes(linear, values)]
    D = equations.tangent(sizes)
    return np.concatenate([W, D], axis=-1), y + D @ sought.shapes


def separated_with_shapes(whole: Base, W: Array, sought: Unknowns) -> Base:
    """The combinations that a recording separates, and every shape by itself.

    W, (T, n, r), is the recording's regressor of the base `whole`.
    """
    base = separated(whole, W, sought)
    at = np.arange(sought.p, len(sought.names))
    rows = np.zeros((len(at), len(sought.names)))
    rows[np.arange(len(at)), at] = 1
    return Base(base.names, (*base.kept, *at.tolist()), np.vstack([base.K, rows]))
