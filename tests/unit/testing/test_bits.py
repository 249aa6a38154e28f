"""The table of bits: its robots, its hashes, and changes of a rounding that it must find."""

import math
from itertools import product

import numpy as np
import pytest

from kinetree.scalars import cos, sin
from kinetree.testing import bits

FEW = ("planar_2r", "drawn_01")
QUICK = ("inverse_dynamics", "mass_matrix", "pose")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")


def wrong(names, quantities, **given):
    pairs = product(names, quantities)
    return [record for record in bits.check_bits(pairs, **given) if not record.equal]


def test_numbers_of_models_are_those_of_the_table():
    names = [name for name, _ in bits.robots()][::5]
    assert wrong(names, ["model"]) == []


def test_kernels_have_the_bits_of_the_table():
    assert wrong(FEW, QUICK) == []


def test_results_in_float32_have_the_bits_of_the_table():
    assert wrong(["planar_2r"], QUICK, dtype="float32") == []


def test_sines_are_the_nearest_doubles():
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(5)
    angles = [*rng.uniform(-8, 8, 150), *10.0 ** rng.uniform(-9, 15, 50), math.pi, 1e22, 1.5708]
    with mpmath.workprec(1200):
        for x in map(float, angles):
            assert sin(x) == float(mpmath.sin(x))
            assert cos(x) == float(mpmath.cos(x))
