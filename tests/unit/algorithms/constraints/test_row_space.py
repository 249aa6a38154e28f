"""Ranks in our own arithmetic, and decisions that do not depend on how a library rounds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinetree.algorithms.constraints.row_space import least_squares, outside, row_space

ROOT = Path(__file__).parents[4]


def matrix(seed, m, n, rank):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=m)


@pytest.mark.parametrize(("m", "n", "rank"), [(5, 3, 3), (3, 7, 2), (20, 14, 5), (1, 4, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_rank_and_least_squares_are_those_of_singular_values(seed, m, n, rank):
    A, b = matrix(seed, m, n, rank)
    space, inverse = row_space(A, 1e-9), np.linalg.pinv(A, rcond=1e-9)
    assert space.rank == np.linalg.matrix_rank(A) == rank
    assert np.abs(space.B @ space.Q - A).max() < 1e-13 * np.abs(A).max()
    assert np.abs(space.Q @ space.Q.T - np.eye(rank)).max() < 1e-12
    assert np.abs(least_squares(A, b, 1e-9) - inverse @ b).max() < 1e-9
    assert np.abs(outside(space, b) - (b - A @ (inverse @ b))).max() < 1e-12
    x = np.random.default_rng(seed).normal(size=n)
    assert np.abs(space.across(x) - (x - inverse @ (A @ x))).max() < 1e-9


def test_a_zero_matrix_has_no_rows_and_the_shortest_solution_is_zero():
    zero, b = np.zeros((3, 2)), np.ones(3)
    space = row_space(zero, 1e-9)
    assert space.rank == 0 and (outside(space, b) == b).all()
    assert least_squares(zero, b, 1e-9).tolist() == [0, 0]
    assert space.across(np.ones(2)).tolist() == [1, 1]


def decisions(seed, **environment):
    """What ranks decide, with results of BLAS, LAPACK and libm moved by a seed (0: as they are)."""
    tool = ROOT / "tools" / "shake_rounding.py"
    done = subprocess.run(
        [sys.executable, str(tool), str(seed), "--decisions"],
        capture_output=True, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_decisions_do_not_depend_on_the_rounding_of_libraries():
    """Acceptance, ranks, scales, start positions to the last bit, base parameters, verdicts."""
    plain, shaken = decisions(0), decisions(1, OPENBLAS_CORETYPE="Haswell")
    assert len(plain) == 21
    assert shaken == plain
