"""The table of bits: its robots, its hashes, and changes of a rounding that it must find."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import kinetree as kt
from kinetree.base.arrays import length, times
from kinetree.base.wide import Wide, wide, wide_product
from kinetree.engine.compiler import interpret
from kinetree.engine.llvm.target import families, host_target
from kinetree.errors import InputError, NameLookupError
from kinetree.scalars import cos, sin
from kinetree.testing import bits
from kinetree.testing.bits_robots import Draw

FEW = ("planar_2r", "drawn_001", "drawn_003", "drawn_012")
QUICK = ("inverse_dynamics", "mass_matrix", "pose")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    monkeypatch.setenv("KINETREE_BACKGROUND", "0")


def wrong(**given) -> list[bits.BitRecord]:
    return [record for record in bits.check_bits(**given) if not record.equal]


def test_the_table_has_200_robots_with_20_quantities():
    table = bits.stored_table()
    assert list(table) == [name for name, _ in bits.robots()]
    assert (len(table), len(bits.QUANTITIES)) == (200, 20)
    hashes = [x for line in table.values() for x in line.values()]
    assert len(hashes) == 200 * 21
    assert all(re.fullmatch("[0-9a-f]{8}", x) for x in hashes)
    assert len({line["inverse_dynamics"] for line in table.values()}) == 200
    assert list(bits.stored_table("float32")) == bits.float32_names()


def test_the_robots_have_every_type_of_joint_and_drive():
    models = [make().model for name, make in bits.robots() if name.startswith("drawn_0")]
    joints = [joint for model in models for joint in model.joints]
    types = {"revolute", "prismatic", "helical", "spherical", "planar", "free"}
    assert {joint.type for joint in joints} == types
    assert any(joint.follows for joint in joints)
    assert any(joint.armature for joint in joints)
    assert any(model.rotors for model in models)
    assert any(model.springs for model in models)
    assert any(max(model.parent.count(i) for i in model.links) > 1 for model in models)


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


def test_a_product_rounded_twice_in_the_llvm_backend_is_found(monkeypatch):
    from kinetree.engine.llvm import programs

    text = programs.Programs.text

    def split(self, dtype):
        """Split the first fused product of the emitted code into a product and a sum."""
        call = r"(%\S+) = call (\S+|<[^>]*>) @llvm\.fma\.\w+\((.*)\)"

        def parts(found):
            kind = found[2]
            a, b, c = (x.removeprefix(kind).strip() for x in found[3].split(f", {kind} "))
            name = found[1]
            return f"{name}_x = fmul {kind} {a}, {b}\n{name} = fadd {kind} {name}_x, {c}"

        return re.sub(call, parts, text(self, dtype))

    monkeypatch.setattr(programs.Programs, "text", split)
    found = wrong(names=["drawn_012"], quantities=["model", "inverse_dynamics"])
    assert [record.quantity for record in found] == ["inverse_dynamics"]


def test_a_product_rounded_twice_in_the_interpreter_is_found(monkeypatch):
    for meaning in (interpret.FLOATS, interpret.SINGLE):  # of batches, and of few states
        monkeypatch.setitem(meaning, "fma", lambda a, b, c: a * b + c)
    found = wrong(names=["drawn_012"], quantities=["inverse_dynamics"], target="interpreted")
    assert len(found) == 1


def test_a_number_of_a_model_that_moves_by_one_unit_is_found(monkeypatch):
    makers = dict(bits.robots())
    model = makers["drawn_001"]().model
    moved = model.m.copy()
    moved[0] = math.nextafter(moved[0], math.inf)
    changed = kt.Robot(model.replace(m=moved))
    makers["drawn_001"] = lambda: changed
    monkeypatch.setattr(bits, "robots", lambda: tuple(makers.items()))
    assert len(wrong(names=["drawn_001"], quantities=["model"])) == 1


def test_the_quick_sample_has_every_robot_and_every_quantity():
    for seed in (0, 1):
        sample = bits.quick_sample(seed)
        assert {name for name, _ in sample} == {name for name, _ in bits.robots()}
        assert {column for _, column in sample} == {"model", *bits.QUANTITIES}
    assert bits.quick_sample(0) != bits.quick_sample(1)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(NameLookupError, match=r"no robot 'pandas'; it has cart_pole"):
        next(bits.check_bits(names=["pandas"]))
    with pytest.raises(NameLookupError, match="no quantity 'torque'"):
        next(bits.check_bits(quantities=["torque"]))
    with pytest.raises(InputError, match="target is 'gpu'; expected one of llvm"):
        next(bits.check_bits(target="gpu"))
    with pytest.raises(InputError, match="dtype is 'float16'"):
        bits.stored_table("float16")


def test_negative_zero_and_nan_have_one_pattern():
    nan = np.array([np.nan, -np.nan])
    assert bits.digest([np.array([0.0, 1.0])]) == bits.digest([np.array([-0.0, 1.0])])
    assert bits.digest([nan[:1]]) == bits.digest([nan[1:]])
    assert bits.digest([np.array([1.0])]) != bits.digest([np.array([1 + 2.0**-52])])


def test_draws_are_those_of_the_published_generator():
    """SplitMix64 with seed 0, as other programs compute it."""
    draw = Draw(0)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [draw.bits() for _ in expected] == expected


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


def test_products_are_summed_in_order():
    """The exact sum of 1e16, 1 and -1e16 is 1; in order it is 0."""
    a, b = np.array([[1e16, 1.0, -1e16]]), np.ones((3, 1))
    assert times(a, b).tolist() == [[0.0]]
    assert times(a[:, [0, 2, 1]], b).tolist() == [[1.0]]
    A, x = np.arange(16.0).reshape(4, 4), np.arange(4.0)
    for left, right in ((A, A), (A, x), (x, A), (x, x)):
        assert np.array_equal(times(left, right), left @ right)


def test_wide_numbers_are_exact_where_doubles_are_not():
    a, b = wide(np.array([0.1, 1.0])), wide(np.array([3.0, 1e-30]))
    assert float(a[0] * b[0] - wide(np.array(0.1 * 3.0))[()]) == pytest.approx(-2.8e-17, rel=0.1)
    assert float(a[1] + b[1] - 1) == 1e-30
    assert float(wide(np.array(2.0))[()].sqrt()) == math.sqrt(2)
    assert float(wide_product(a, b)) == float(Fraction(0.1) * 3 + Fraction(1e-30))
    assert float(Wide(1) / 4) == 0
    assert math.isinf(float(wide(np.array(1e300))[()] * 1e300))
