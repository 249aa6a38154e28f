"""The factor M = L^T D L of a large dense matrix in tiles, each step of which is a piece.

A group of a hundred joints has a factor of 170,000 products. Recorded one by one they take seconds;
as pieces on tiles of a few rows they are some hundred calls of the same code. The order of the
operations on each entry is that of `spatial.matrices.factor`. Results of a piece lie side by side,
so that the next one finds a whole tile at one place: a transposed tile has a piece of its own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.pieces import is_recording, piece
from kinetree.spatial.matrices import factor, is_zero

TILE = 4  # rows of a tile; 4 to 6 compile equally fast for 100 joints, 3 and 8 slower
LARGE_TILE = 8  # the same for the inverse of 256 joints, for which 6 take a fifth longer


@dataclass(frozen=True, eq=False)
class TiledFactor:
    """L in tiles: diagonal[I] with D[I], and below[I][J] for the tiles J < I that are not zero."""

    diagonal: list[Array]
    D: list[Array]
    below: list[dict[int, Array]]

    def solve_inward(self, b: Array) -> Array:
        """L^-T b, (n, k)."""
        z = tiled(b, len(self.D[0]))
        for I in reversed(range(len(z))):
            z[I], _ = eliminate(self.diagonal[I], self.D[I], z[I])
            for J, L in self.below[I].items():
                z[J] = subtract(z[J], L, z[I])
        return np.concatenate(z)

    def solve_outward(self, z: Array) -> Array:
        """L^-1 D^-1 z, (n, k)."""
        x = [divide(part, D) for part, D in zip(tiled(z, len(self.D[0])), self.D, strict=True)]
        for I, below in enumerate(self.below):
            for J, L in below.items():
                x[I] = subtract(x[I], L.T, x[J])
            x[I] = substitute(self.diagonal[I], x[I])
        return np.concatenate(x)

    def inverse(self) -> Array:
        """M^-1 = W D^-1 W^T with W = L^-1, (n, n): its tiles on and below the diagonal, else 0."""
        W: list[dict[int, Array]] = []  # rows of tiles, those that are not zero
        for I, below in enumerate(self.below):
            right: dict[int, Array] = {}
            for K, L in below.items():
                for J, w in W[K].items():
                    right[J] = less_product(right.get(J), L, w)
            right[I] = np.eye(len(self.D[I]), dtype=int)
            W.append({J: substitute(self.diagonal[I], x) for J, x in right.items()})
        over = [{K: over_columns(w, self.D[K]) for K, w in row.items()} for row in W]
        ends = np.cumsum([0, *map(len, self.D)]).tolist()
        made = np.zeros((ends[-1], ends[-1]), object)
        for I, row in enumerate(W):
            for J in range(I + 1):
                x = None
                for K, w in row.items():
                    if K in over[J]:
                        x = plus_product(x, w, over[J][K])
                if x is not None:
                    made[ends[I] : ends[I + 1], ends[J] : ends[J + 1]] = x
        return made


def tiled(x: Array, size: int = TILE) -> list[Array]:
    """Rows of an array in tiles."""
    return [x[k : k + size] for k in range(0, len(x), size)]


def product(A: Array, B: Array) -> Array:
    """A @ B, (n, k) or (n,); of a long robot in tiles."""
    if not is_recording():
        return A @ B
    left = [tiled(rows.T, LARGE_TILE) for rows in tiled(A, LARGE_TILE)]
    right = [tiled(part.T, LARGE_TILE) for part in tiled(B.reshape(len(B), -1).T, LARGE_TILE)]
    made: list[list[Any]] = [[None for _ in right] for _ in left]
    for I, row in enumerate(left):
        for J, column in enumerate(right):
            for Y, Z in zip(row, column, strict=True):
                made[I][J] = plus_product(made[I][J], Y.T, Z.T)
    return np.block(made).reshape(len(A), *B.shape[1:])


def factor_in_tiles(M: Array, size: int = TILE) -> TiledFactor:
    """Factor a symmetric positive definite matrix of traced scalars, (n, n)."""
    tiles = [[tile.T for tile in tiled(row.T, size)] for row in tiled(M, size)]
    count = len(tiles)
    made = TiledFactor([tiles[I][I] for I in range(count)], [], [{} for _ in tiles])
    for I in reversed(range(count)):
        made.diagonal[I], D = factor_tile(tiles[I][I])
        made.D.insert(0, D)
        rows: dict[int, Array] = {}
        for J in range(I):
            if not all(is_zero(x) for x in tiles[I][J].flat):
                rows[J], made.below[I][J] = eliminate(made.diagonal[I], D, tiles[I][J])
        for J, L in made.below[I].items():
            for K in rows:
                if K <= J:
                    tiles[J][K] = subtract(tiles[J][K], L, rows[K])
    return made


@piece
def factor_tile(M: Array) -> tuple[Array, Array]:
    """L, with zeros on and above its diagonal, and D of one tile."""
    made = factor(M, [""] * len(M))
    L = [[row.get(j, 0) for j in range(len(M))] for row in made.L]
    return np.array(L), np.array(made.D)


@piece
def eliminate(L: Array, D: Array, X: Array) -> tuple[Array, Array]:
    """L^-T X, and the same over D."""
    rows = list(X)
    for i in reversed(range(len(L))):
        for j in range(i):
            rows[j] = rows[j] - L[i, j] * rows[i]
    return np.array(rows), np.array(rows) / D[:, None]


@piece
def substitute(L: Array, X: Array) -> Array:
    """L^-1 X."""
    rows = list(X)
    for i in range(len(L)):
        for j in range(i):
            rows[i] = rows[i] - L[i, j] * rows[j]
    return np.array(rows)


@piece
def divide(X: Array, D: Array) -> Array:
    """D^-1 X."""
    return X / D[:, None]


@piece
def over_columns(X: Array, D: Array) -> Array:
    """X D^-1."""
    return X / D


@piece
def less_product(X: Array | None, L: Array, Y: Array) -> Array:
    """X - L Y; X is zero where None."""
    return -(L @ Y) if X is None else X - L @ Y


@piece
def plus_product(X: Array | None, Y: Array, Z: Array) -> Array:
    """X + Y Z^T; X is zero where None."""
    return Y @ Z.T if X is None else X + Y @ Z.T


@piece
def subtract(X: Array, L: Array, Y: Array) -> Array:
    """X - L^T Y, from the last row of L and Y to the first."""
    for i in reversed(range(len(L))):
        X = X - np.outer(L[i], Y[i])
    return X
