"""The table of bits: its robots, its hashes, and changes of a rounding that it must find."""

import math

import numpy as np
import pytest

from kinetree.base.arrays import length
from kinetree.engine.compiler import interpret
from kinetree.engine.llvm.target import families, host_target
from kinetree.errors import InputError, NameLookupError
from kinetree.scalars import cos, sin
from kinetree.testing import bits

FEW = ("planar_2r", "drawn_001", "drawn_003", "drawn_012")
QUICK = ("inverse_dynamics", "mass_matrix", "pose")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    monkeypatch.setenv("KINETREE_BACKGROUND", "0")


def wrong(**given) -> list[bits.BitRecord]:
    return [record for record in bits.check_bits(**given) if not record.equal]


def test_numbers_of_models_are_those_of_the_table():
    names = [name for name, _ in bits.robots()][::5]
    assert wrong(names=names, quantities=["model"]) == []


@pytest.mark.parametrize("target", ["llvm", "interpreted"])
def test_kernels_have_the_bits_of_the_table(target):
    assert wrong(names=FEW[:2], quantities=QUICK, target=target) == []


def test_results_in_float32_have_the_bits_of_the_table():
    assert wrong(names=["planar_2r"], quantities=QUICK, dtype="float32") == []


def test_every_vector_width_has_the_bits_of_the_table(monkeypatch):
    words = host_target().features.split(",")
    present = frozenset(word[1:] for word in words if word.startswith("+"))
    for name, _ in families(present):
        monkeypatch.setenv("KINETREE_TARGET", name)
        assert wrong(names=["drawn_012"], quantities=["inverse_dynamics", "pose"]) == []


def test_a_product_rounded_twice_in_the_interpreter_is_found(monkeypatch):
    for meaning in (interpret.FLOATS, interpret.SINGLE):  # of batches, and of few states
        monkeypatch.setitem(meaning, "fma", lambda a, b, c: a * b + c)
    found = wrong(names=["drawn_012"], quantities=["inverse_dynamics"], target="interpreted")
    assert len(found) == 1


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(NameLookupError, match=r"no robot 'pandas'; it has cart_pole"):
        next(bits.check_bits(names=["pandas"]))
    with pytest.raises(NameLookupError, match="no quantity 'torque'"):
        next(bits.check_bits(quantities=["torque"]))
    with pytest.raises(InputError, match="target is 'gpu'; expected one of llvm"):
        next(bits.check_bits(target="gpu"))
    with pytest.raises(InputError, match="dtype is 'float16'"):
        bits.stored_table("float16")


def test_sines_and_lengths_are_the_nearest_doubles():
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(5)
    angles = [*rng.uniform(-8, 8, 150), *10.0 ** rng.uniform(-9, 15, 50), math.pi, 1e22, 1.5708]
    with mpmath.workprec(1200):
        for x in map(float, angles):
            assert sin(x) == float(mpmath.sin(x))
            assert cos(x) == float(mpmath.cos(x))
        for v in rng.normal(size=(100, 3)) * 10.0 ** rng.uniform(-200, 100, (100, 3)):
            exact = mpmath.sqrt(sum(mpmath.mpf(float(x)) ** 2 for x in v))
            assert length(v) == float(exact)
