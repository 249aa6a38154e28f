"""exp, log, tanh, atan2, minimum and maximum: errors in ulp, special values, equal bits."""

import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvm_harness import HOST, Builder, Compiled, flags, host, needs_flags, same_bits
from llvmlite.binding import get_host_cpu_features

from exact_graphs import interpret
from kinetree.engine import OPERATIONS, Graph, Kernel
from kinetree.engine.llvm.emit import emit
from kinetree.engine.llvm.target import Target

TOOLS = Path(__file__).resolve().parents[5] / "tools"
sys.path.insert(0, str(TOOLS))

from function_accuracy import arguments, errors  # noqa: E402

DTYPES = ("float64", "float32")
NAMES = ("exp", "log", "tanh", "atan2")
ALL = (*NAMES, "abs", "min", "max")
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, -1e-320, 1.0, -1.0, 900.0, -900.0, 1e-39)


def functions(*names: str) -> Graph:
    """Each function of the two elements of one input."""
    b = Builder()
    x = b.input("x", 2)
    return b.graph([b.op(name, *x[: OPERATIONS[name].arity]) for name in names])


def pairs(dtype: str, count: int = 4000) -> np.ndarray:
    """All pairs of special values, and random ones of every size."""
    rng = np.random.default_rng(5)
    special = np.stack(np.meshgrid(SPECIAL, SPECIAL), -1).reshape(-1, 2)
    sizes = rng.normal(size=(count, 2)) * 10.0 ** rng.uniform(-36, 30, (count, 2))
    everyday = rng.normal(size=(count, 2)) * 5
    with np.errstate(all="ignore"):
        return np.concatenate([special, sizes, everyday]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_below_one_ulp(name: str, dtype: str) -> None:
    args = arguments(name, dtype, 5_000)
    code = Compiled(functions(name), host(8, 16), dtype)
    given = np.stack([*args, *args][:2], -1)
    found = code.states(given)[0][:, 0]
    wrong = errors(name, found, args)
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= {"float64": 0.85, "float32": 0.6}[dtype], [x[worst] for x in args]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("exp", -708.8, -708.3),  # results become subnormal
        ("log", 1.26, 1.2845),  # results below a power of two
        ("log", 1.38, 1.4143),  # the end of the reduction
        ("log", 2e-308, 4e-308),  # numbers with and without the branch
        ("tanh", 0.165, 0.19),
    ],
)
def test_errors_are_below_one_ulp_at_edges(name: str, low: float, high: float) -> None:
    x = np.random.default_rng(4).uniform(low, high, 5_000)
    (found,) = Compiled(functions(name), host(8)).states(np.stack([x, x], -1))
    assert errors(name, found[:, 0], (x,)).max() <= 0.85


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_do_not_depend_on_lanes_and_are_the_interpreters(dtype: str) -> None:
    graph, given = functions(*ALL), pairs(dtype)
    (expected,) = interpret(graph, given)
    for lanes in (1, 8):
        code = Compiled(graph, host(lanes, lanes), dtype)
        (found,) = code.states(given)
        assert same_bits(found, expected)
        for k in range(0, len(given), 97):
            assert same_bits(code.one(given[k])[0], expected[k])


@cache
def compiled(name: str) -> Compiled:
    return Compiled(functions(name), host(2))


def one(name: str, *values: float) -> float:
    return float(compiled(name).one(np.array([*values, 0.0][:2]))[0][0])


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        *(("exp", x, y) for x, y in ((0.0, 1.0), (-0.0, 1.0), (np.inf, np.inf), (-np.inf, 0.0))),
        *(("exp", x, y) for x, y in ((709.8, np.inf), (-745.2, 0.0), (-745.1, 5e-324))),
        *(
            ("log", x, y)
            for x, y in ((1.0, 0.0), (0.0, -np.inf), (-0.0, -np.inf), (np.inf, np.inf))
        ),
        *(("log", x, np.nan) for x in (-1.0, -5e-324, -np.inf)),
        ("log", 5e-324, -744.4400719213812),
        *(("tanh", x, x) for x in (0.0, -0.0, 5e-324, -1e-310, 1e-9, -1e-9)),
        *(("tanh", x, y) for x, y in ((20.0, 1.0), (-1e300, -1.0), (np.inf, 1.0), (-np.inf, -1.0))),
        *(("abs", x, y) for x, y in ((-0.0, 0.0), (-np.inf, np.inf), (-3.0, 3.0))),
    ],
)
def test_special_values(name: str, x: float, expected: float) -> None:
    found = one(name, x)
    assert found == expected or np.isnan([found, expected]).all()
    assert np.signbit(found) == np.signbit(expected) or np.isnan(expected)
    assert np.isnan(one(name, np.nan))


def test_atan2_has_the_quadrants_and_signed_zeros_of_c() -> None:
    given = pairs("float64", 1)
    (found,) = Compiled(functions("atan2"), host(4)).states(given)
    expected = np.arctan2(given[:, 0], given[:, 1])
    special = len(SPECIAL) ** 2
    np.testing.assert_allclose(found[:special, 0], expected[:special], rtol=2e-16)
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[numbers, 0]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_neighbouring_numbers_keep_their_order(name: str) -> None:
    start = {"exp": 0.3, "log": 0.9, "tanh": 0.1}[name]
    x = np.arange(np.float64(start).view(np.int64), np.float64(start).view(np.int64) + 100_000)
    x = x.view(np.float64)
    (found,) = Compiled(functions(name), host(8)).states(np.stack([x, x], -1))
    assert np.all(np.diff(found[:, 0]) >= 0)


def test_tanh_is_odd_and_never_beyond_one() -> None:
    x = np.concatenate([np.linspace(-30, 30, 10_001), np.random.default_rng(0).normal(size=5000)])
    code = Compiled(functions("tanh"), host(8))
    (found,) = code.states(np.stack([x, x], -1))
    (other,) = code.states(np.stack([-x, x], -1))
    assert same_bits(found, -other) and np.abs(found).max() == 1


def test_minimum_and_maximum_keep_nan_and_prefer_the_second_of_equals() -> None:
    given = pairs("float64", 10)
    low, high = Compiled(functions("min", "max"), host(4)).states(given)[0].T
    expected = np.minimum(*given.T), np.maximum(*given.T)
    np.testing.assert_array_equal(low, expected[0])
    np.testing.assert_array_equal(high, expected[1])
    assert not np.signbit(one("min", -0.0, 0.0)) and np.signbit(one("max", 0.0, -0.0))


def test_text_calls_no_library() -> None:
    text = Compiled(functions(*ALL), host(4)).text
    called = {line.split("@")[1].split("(")[0] for line in text.splitlines() if " call " in line}
    assert all(name.startswith(("llvm.", "k_")) for name in called)


@needs_flags
@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 1), ("float64", 8), ("float32", 16)])
def test_nan_raises_no_flag(dtype: str, lanes: int) -> None:
    for names, quiet in ((ALL, (0.5, 1.0, 30.0)), (("atan2", "abs", "min", "max"), (np.nan,))):
        code = Compiled(functions(*names), host(lanes, lanes), dtype)
        for x in quiet:
            assert flags(code, np.full((lanes + 1, 2), x, dtype)) == 0, x


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_report_no_flag(dtype: str) -> None:
    """exp, log and tanh compare numbers, which raises a flag for NaN; loops restore the flags."""
    graph, given = functions(*ALL), pairs(dtype, 10)
    with np.errstate(all="raise"):
        found = Kernel(graph)(given)
        single = [Kernel(graph)(row) for row in given[:20]]
    assert same_bits(found, interpret(graph, given)[0])
    assert same_bits(np.stack(single), found[:20])


def independent(op: str, count: int) -> Graph:
    """A function of every element of one input, and then of every result, summed in pairs."""
    b = Builder()
    x = b.input("x", count + 1)
    first = [b.op(op, *x[k : k + OPERATIONS[op].arity]) for k in range(count)]
    sums = [b.op("add", first[k], x[k]) for k in range(count)]
    second = [b.op(op, *[sums[k], x[k]][: OPERATIONS[op].arity]) for k in reversed(range(count))]
    return b.graph([*second, *first])


@pytest.mark.parametrize("count", [2, 3, 4, 7])
@pytest.mark.parametrize("name", NAMES)
def test_calls_that_are_independent_share_a_call(name: str, count: int) -> None:
    graph = independent(name, count)
    rng = np.random.default_rng(count)
    given = np.concatenate(
        [rng.normal(size=(29, count + 1)) * 3, rng.choice(SPECIAL, (99, count + 1))]
    )
    (expected,) = interpret(graph, given)
    for opt in (0, 1):
        code = Compiled(graph, host(8), opt=opt)
        assert same_bits(code.states(given)[0], expected)
        for k in range(0, len(given), 7):
            assert same_bits(code.one(given[k])[0], expected[k])
    block, one = code.text.split("@k_states(")[0], code.text.split("@k_one(")[1]
    calls = -(-count // 4)
    assert len(re.findall(rf"call .* @k_{name}_8x[234]\(", block)) == 2 * calls
    assert len(re.findall(rf"call .* @k_{name}_[248]x1\(", one)) == 2


@pytest.mark.skipif(not HOST.triple.startswith("x86_64"), reason="the processors are those of x86")
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_bits_do_not_depend_on_the_processor(cpu: str) -> None:
    """The first has no fused instruction and calls a function for it; the others have one."""
    features = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}[cpu]
    if not get_host_cpu_features().get(features):
        pytest.skip(f"this processor has no {features}")
    graph, given = functions(*ALL), pairs("float64", 300)
    code = Compiled(graph, replace(host(4), cpu=cpu, features=""))
    assert same_bits(code.states(given)[0], interpret(graph, given)[0])


def test_arm_has_instructions_for_everything() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "aarch64-unknown-linux-gnu"
    text = emit(functions(*ALL), Target("neon", 2, 4, triple=triple), "float64", "k")
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=2)
    listing = machine.emit_assembly(llvm.parse_assembly(text))
    called = {line.split()[1] for line in listing.splitlines() if line.strip().startswith("bl\t")}
    assert "fmla" in listing and all(name.startswith("k_") for name in called - {"sin", "cos"})
