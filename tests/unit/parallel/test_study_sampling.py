"""Random arguments: shapes, ranges, grids, and quaternions that stay of length 1."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.kernels import free_values
from kinetree.errors import InputError, ShapeError
from kinetree.model import ALL_TYPES, random_model
from kinetree.parallel import Anywhere, Choice, Grid, Normal, Spread, Uniform
from kinetree.parallel.philox import normals, philox, uniforms
from kinetree.parallel.sampling import Arguments

QUADRUPED = kt.robots.quadruped().model
NAMES = ("mass", "com", "inertia", "gravity", "friction")


def arguments(model, repeats=1, **values):
    parameters = {name: values.pop(name) for name in NAMES if name in values}
    shapes = {"q": (model.nq,), "dq": (model.n,)}
    return Arguments(model, 3, repeats, values, shapes, parameters)


def test_positions_within_the_limits():
    model = random_model(2, 6, types=ALL_TYPES)
    q = arguments(model, q=Anywhere())("q", np.arange(500))
    for joint in model.joints:
        own = q[:, list(joint.coords)]
        if joint.type in ("free", "spherical"):
            assert np.allclose(np.linalg.norm(own[:, :4], axis=1), 1, atol=1e-15)
        elif len(joint.coords) == 1:
            assert (own >= joint.limits.lower).all() and (own <= joint.limits.upper).all()
            assert np.ptp(own) > 0.9 * (joint.limits.upper - joint.limits.lower)


def test_normal_positions_move_along_tangents():
    home = kt.algorithms.neutral(QUADRUPED)
    std = np.linspace(0.01, 0.2, QUADRUPED.n)
    q = arguments(QUADRUPED, q=Normal(home, std))("q", np.arange(300))
    assert np.allclose(np.linalg.norm(q[:, :4], axis=1), 1, atol=4e-16)
    v = np.array([kt.algorithms.difference(QUADRUPED, home, x) for x in q])
    # the standard deviation of 300 numbers is known to 1 / sqrt(600); five of that
    assert np.allclose(v.std(axis=0) / std, 1, atol=5 / np.sqrt(600))


def test_grids_are_combined_and_repeated():
    x = arguments(QUADRUPED, 2, dq=Grid([0, 1, 2]), gravity=Grid([[0, 0, -1], [0, 0, -2]]))
    assert x.points == 6
    samples = np.arange(12)
    assert x("dq", samples)[:, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert x("gravity", samples)[:, 2].tolist() == [-1, -1, -2, -2] * 3


@pytest.mark.parametrize("name", NAMES)
def test_a_spread_scales_what_a_link_has(name):
    own = free_values(QUADRUPED, name)
    x = arguments(QUADRUPED, **{name: Spread(0.1)})(name, np.arange(50))
    assert x.shape == (50, *own.shape)
    there = own != 0
    factors = x[:, there] / own[there]
    assert (abs(factors - 1) <= 0.1 + 1e-15).all()
    if factors.size:
        assert np.ptp(factors) > 0.15
    if name == "inertia":  # one factor a link: what exists stays possible
        assert np.allclose(x[:, 0] * own[0, 0, 0], own[0] * x[:, :1, 0, 0][..., None], rtol=1e-14)


def test_choices_come_from_their_values():
    x = arguments(QUADRUPED, dq=Choice([1.0, 5.0]))("dq", np.arange(400))
    assert set(x.ravel().tolist()) == {1.0, 5.0}
    assert abs((x[:, 0] == 5).mean() - 0.5) < 5 * 0.5 / 20


def test_a_stream_depends_on_its_own_name_alone():
    alone = arguments(QUADRUPED, dq=Uniform(0, 1))
    both = arguments(QUADRUPED, dq=Uniform(0, 1), q=Anywhere(), mass=Spread(0.5))
    assert np.array_equal(alone("dq", np.arange(9)), both("dq", np.arange(9)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dq": Normal(0, -1)}, "std of dq .* expected 0 or more"),
        ({"dq": Uniform(1, 0)}, "low of dq .* above high"),
        ({"dq": Uniform([1, 2], 3)}, r"range of dq .* shape \(18,\)"),
        ({"dq": Anywhere()}, "which is for positions"),
        ({"dq": Spread(0.1)}, "only for data of the robot"),
        ({"mass": Spread(1.5)}, "expected 0 <= share < 1"),
        ({"dq": Choice([])}, r"expected \(k, \.\.\.\)"),
        ({"mass": Uniform(-1, 1)}, "mass of the study reaches -1"),
        ({"mass": Grid([1.0, -2.0])}, "mass of the study reaches -2"),
        ({"friction": -1}, "friction of the study reaches -1"),
        ({"mass": Normal(1, 0.5)}, "mass of the study reaches -1.5"),
        ({"q": Uniform(-1, 1)}, "has quaternions, .* use Normal"),
        ({"q": Uniform(0, 0)}, "quaternion of joint 'base' in q has length 0"),
        ({"q": Normal(0, 1)}, "quaternion of joint 'base' in the mean of q has length 0"),
        ({"q": Grid([0.0, 1.0])}, r"quaternion of joint 'base' in q\[0\] has length 0"),
        ({"q": 1}, "quaternion of joint 'base' in q has length 2"),
        ({"dq": np.nan}, "expected finite numbers"),
        ({"dq": "fast"}, "expected numbers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(values, message):
    with pytest.raises((InputError, ShapeError), match=message):
        arguments(QUADRUPED, **values)


def test_words_are_those_of_numpy():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, (50, 2), np.uint64)
    keys[0], keys[1] = 0, 2**64 - 1
    starts = rng.integers(0, 2**63, (50, 4), np.uint64)
    starts[2] = 0
    found = philox(starts + np.array([1, 0, 0, 0], np.uint64), keys)
    for key, start, row in zip(keys, starts, found, strict=True):
        other = np.random.Philox(key=key, counter=start)  # counts up before it gives numbers
        assert np.array_equal(other.random_raw(4), row)


def test_a_sample_has_the_same_numbers_in_every_batch():
    samples = np.arange(1000)
    every = uniforms(5, "q0", samples, 7)
    assert np.array_equal(uniforms(5, "q0", samples[[17]], 7)[0], every[17])
    assert np.array_equal(uniforms(5, "q0", samples[::-1], 7)[::-1], every)
    assert np.array_equal(uniforms(5, "q0", samples, 3), every[:, :3])
    assert np.array_equal(normals(5, "q0", samples[20:30], 7), normals(5, "q0", samples, 7)[20:30])


def test_numbers_are_spread_as_they_should():
    """Mean and variance of N numbers are within 5 of their own standard errors."""
    N = 200_000
    u, z = uniforms(1, "a", np.arange(N), 1), normals(1, "b", np.arange(N), 1)
    assert 0 < u.min() and u.max() < 1
    assert abs(u.mean() - 0.5) < 5 * np.sqrt(1 / 12 / N)
    assert abs(z.mean()) < 5 / np.sqrt(N) and abs(z.var() - 1) < 5 * np.sqrt(2 / N)


def test_the_ends_are_never_reached():
    """The largest and the smallest word give numbers within (0, 1), which have normals."""
    for word in (0, 2**64 - 1):
        u = (float(np.uint64(word) >> np.uint64(12)) + 0.5) * 2.0**-52
        assert 0 < u < 1
