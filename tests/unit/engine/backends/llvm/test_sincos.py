"""Sine and cosine against mpmath, in units in the last place (ulp) of the correct result."""

import mpmath as mp
import numpy as np
import pytest
from llvm_graphs import sines
from llvm_harness import Compiled, host, same_bits

LIMIT = {"float64": 131072.0, "float32": 1073741824.0}  # of the short reduction

GREATEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38}


def angles(dtype: str) -> np.ndarray:
    rng = np.random.default_rng(11)
    kind = np.dtype(dtype).type
    everyday = rng.uniform(-10, 10, 300)
    usual = rng.uniform(-1e5, 1e5, 300)
    tiny = np.finfo(kind).smallest_subnormal * np.array([1.0, 3.0, 1e3, 1e6])
    sizes = 10.0 ** rng.uniform(-30, np.log10(GREATEST[dtype]) - 0.01, 300)
    quarters = np.arange(1, 100) * (np.pi / 2)
    far_quarters = np.round(rng.uniform(1e2, 6.3e4, 100)) * (np.pi / 2)
    special = [0.0, 1e5, 1e6, 1e22, LIMIT[dtype], GREATEST[dtype], np.pi / 4]
    parts = [everyday, usual, tiny, sizes, quarters, far_quarters, special]
    found = np.concatenate(parts).astype(dtype)
    found = np.concatenate([found, np.nextafter(found, kind(0))])
    return np.concatenate([found, -found])


def errors(found: np.ndarray, x: np.ndarray, function: str) -> np.ndarray:
    """Error of each result in ulp."""
    out = []
    with mp.workprec(200):  # of the result; mpmath reduces angles with as many bits as they need
        for result, angle in zip(found.tolist(), x.tolist(), strict=True):
            exact = getattr(mp, function)(mp.mpf(angle))
            ulp = float(np.spacing(abs(found.dtype.type(float(exact)))))
            out.append(float(abs(mp.mpf(result) - exact) / ulp))
    return np.array(out)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_error_is_below_one_ulp_everywhere(dtype: str) -> None:
    x = angles(dtype)
    sine, cosine = Compiled(sines(1), host(8, 16), dtype).states(x[:, None])
    for found, function in ((sine, "sin"), (cosine, "cos")):
        error = errors(found[:, 0], x, function)
        worst = int(np.argmax(error))
        assert error[worst] < {"float64": 0.9, "float32": 0.6}[dtype], (function, x[worst])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_angles_change_nothing_for_the_angles_beside_them(dtype: str) -> None:
    code = Compiled(sines(9), host(8, 16), dtype)
    rng = np.random.default_rng(12)
    x = rng.uniform(-4, 4, (40, 9)).astype(dtype)
    calm = code.states(x)
    where = rng.random(x.shape) < 0.1
    mixed = np.where(where, rng.choice([1e12, -1e30, np.inf, np.nan], x.shape), x).astype(dtype)
    for found, expected in zip(code.states(mixed), calm, strict=True):
        assert same_bits(found[~where], expected[~where])
        assert np.array_equal(np.isnan(found), ~np.isfinite(mixed))
    for k in range(len(mixed)):
        assert all(map(same_bits, code.one(mixed[k]), [a[k] for a in code.states(mixed)]))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 12, 17])
@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_any_number_of_angles(count: int, lanes: int) -> None:
    code = Compiled(sines(count), host(lanes))
    x = np.random.default_rng(13).uniform(-9, 9, (lanes + 2, count))
    sine, cosine = code.states(x)
    np.testing.assert_allclose(sine, np.sin(x), atol=3e-16, rtol=0)
    np.testing.assert_allclose(cosine, np.cos(x), atol=3e-16, rtol=0)
    for k in range(len(x)):
        assert all(map(same_bits, code.one(x[k]), [sine[k], cosine[k]]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_signs_of_zero_and_symmetry(dtype: str) -> None:
    code = Compiled(sines(1), host(8, 16), dtype)
    x = angles(dtype)[::7, None]
    sine, cosine = code.states(x)
    minus_sine, same_cosine = code.states(-x)
    assert same_bits(minus_sine, -sine)
    assert same_bits(same_cosine, cosine)
    zeros = np.array([[0.0], [-0.0]], dtype)
    sine, cosine = code.states(zeros)
    assert same_bits(sine, zeros)
    assert np.all(cosine == 1)
