"""Sign changes on an interval: all of them, in order, at the places of an exact root finder."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree.simulate.core.events import close, crossings, samples


def roots_of(function, low=0.0, high=1.0, sides=None):
    def columns(s):
        return np.asarray(function(s), float).reshape(len(s), -1)

    shares, values = samples(columns, low, high)
    assert (np.diff(shares) > 0).all() and shares[0] == low and shares[-1] == high
    start = np.zeros(values.shape[1]) if sides is None else np.asarray(sides, float)
    found, after = crossings(shares, values, start)
    places = []
    for x in found:
        one = lambda s, j=x.index: float(columns(np.array([s]))[0, j])  # noqa: E731
        places.append((x.index, close(one, x.low, x.high, x.rising), x.rising))
    return places, after


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_all_roots_of_random_polynomials(seed):
    rng = np.random.default_rng(seed)
    roots = np.sort(rng.uniform(0, 1, rng.integers(1, 9)))
    if len(roots) > 1 and np.diff(roots).min() < 0.02:
        return  # the polynomial's own rounding moves its roots
    far = rng.uniform(1.2, 3, rng.integers(0, 3))
    poly = np.polynomial.Polynomial.fromroots([*roots, *far, *(1 - far)]) * rng.normal()
    found, _ = roots_of(poly)
    assert [s for _, s, _ in found] == pytest.approx(list(roots), abs=1e-6)
    slope = poly.deriv()
    assert all(rising == (slope(s) > 0) for _, s, rising in found)


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-3])
def test_two_roots_close_together(gap):
    found, _ = roots_of(lambda s: (s - 0.4) * (s - 0.4 - gap))
    assert [s for _, s, _ in found] == pytest.approx([0.4, 0.4 + gap], abs=1e-12)


def test_functions_that_bend_jump_or_wave():
    waves, _ = roots_of(lambda s: np.sin(100 * s + 0.1))
    assert [s for _, s, _ in waves] == pytest.approx((np.arange(1, 32) * np.pi - 0.1) / 100)
    bends, _ = roots_of(lambda s: abs(s - 0.3) - 0.01)
    assert [s for _, s, _ in bends] == pytest.approx([0.29, 0.31], abs=1e-14)
    jumps, _ = roots_of(lambda s: np.where(s > 0.7, 1.0, -1.0))
    assert jumps[0][1] == pytest.approx(0.7, abs=1e-14) and len(jumps) == 1


def test_touching_zero_is_no_crossing_and_a_zero_keeps_the_sign_before_it():
    assert roots_of(lambda s: (s - 0.5) ** 2)[0] == []
    assert roots_of(lambda s: s)[0] == []  # it begins at zero
    assert roots_of(lambda s: s, sides=[1])[0] == []  # it was positive before
    ((_, place, rising),), after = roots_of(lambda s: s, sides=[-1])
    assert place == 0 and rising and after == [1]
    _, after = roots_of(lambda s: s - 1.0)
    assert after == [-1]  # zero only at the end: not passed yet
    ((_, place, rising),), _ = roots_of(lambda s: s + 1e-12, sides=[-1])
    assert place == 0 and rising  # passed between two steps


def test_several_functions_have_their_own_signs():
    found, after = roots_of(lambda s: np.stack([s - 0.5, 0.25 - s, 1 + s], -1))
    assert [(j, rising) for j, _, rising in found] == [(1, False), (0, True)]
    assert after.tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x**3 - 0.2,
        lambda x: np.arctan(50 * (x - 0.9)),
        lambda x: 1e-9 * (np.exp(40 * x) - np.exp(20.0)),
        lambda x: (x - 0.125) ** 9,
        lambda x: -1.0 if x < 1e-9 else 1e6,
    ],
)
def test_close_ends_at_a_sign_change(function):
    place = close(function, 0.0, 1.0, True)
    assert function(place) >= 0
    assert place <= 2e-15 or function(place - 2e-15) <= 0
    mirrored = close(lambda x: -function(x), 0.0, 1.0, False)
    assert mirrored == place
