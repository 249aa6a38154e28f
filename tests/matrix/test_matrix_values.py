"""Every quantity of every kind of robot, by every way to compute it: a seeded sample, or all.

Expected values come from matrix_reference.py. Ways that must give the bits of the kernel are
compared with it. `--many` takes all cases instead of the sample.
"""

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matrix_backends import (
    BITS,
    digest,
    exported,
    fifty_digits,
    jax_gradients,
    plain,
    symbols,
    torch_gradients,
)
from matrix_cases import QUANTITIES, Case, everything, listed, sample
from matrix_reference import Reference, along, exact, reference
from matrix_robots import NAMES, recipe, robot

import kinetree as kt

# relative to the largest entry of a result, or to 1: rounding of some thousand operations, and of
# solving with matrices of condition up to some thousand
NEAR, NEAR32, SOLVER = 1e-11, 2e-4, 1e-7
DIGITS_LEFT = 1e-25  # of 50, after differences of 38 digits and a solve
SLOPE = 1e-7  # of a difference of order four in float64

WELL_COVERED = ("values", "functions")
TARGETS = ("avx512", "avx2", "sse2", "generic", "neon")
WAYS = ("values", "functions", "exported", "derivatives", "free", "tensors", "symbols", "cuda")


def pytest_generate_tests(metafunc):
    """The cases of a test, by the word of WAYS in its name."""
    if "case" in metafunc.fixturenames:
        way = next(x for x in WAYS if x in metafunc.function.__name__)
        cases = sample(way, metafunc.config.option.many, 4 if way in WELL_COVERED else 1)
        metafunc.parametrize("case", cases, ids=str)


@cache
def solved(name: str) -> Reference:
    """The reference of a robot."""
    return Reference(recipe(name), robot(name))


@cache
def expected(case: Case, k: int = 0) -> list:
    """Results at state k by the reference; steps of constraints and contacts by the library."""
    if not case.is_independent:
        return plain(case, arrays=[a[k] for a in case.arrays])
    state = {key: exact(a[k]) for key, a in zip(case.inputs, case.arrays, strict=True)}
    return reference(solved(case.robot_name), case.name, state, **case.options)


def error(found, wanted) -> float:
    """Largest difference of results, relative to the largest entry of each or to 1."""
    worst = 0.0
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, (x.shape, y.shape)
        gap = np.asarray(np.abs(x - y.astype(x.dtype)), float)
        size = np.abs(y.astype(float)).max(initial=1)
        assert np.isfinite(gap).all()
        worst = max(worst, float(gap.max(initial=0)) / size)
    return worst


def first(results) -> list:
    return [x[0] for x in results]


def test_values_of_kernels(case):
    near = SOLVER if case.name == "contact_inverse_dynamics" else NEAR
    assert error(first(case.result), expected(case)) < near
    for name, way in BITS.items():
        assert digest(way(case)) == digest(case.result), name


def test_values_of_kernels_in_float32(case):
    narrow = [a.astype(np.float32) for a in case.arrays]
    found = listed(case.kernel(*narrow))
    wide = listed(case.kernel(*(a.astype(float) for a in narrow)))
    near = 100 * NEAR32 if case.name == "contact_inverse_dynamics" else NEAR32
    # loops that rounding to float32 opens too far give NaN
    closed = np.all([np.isfinite(x.reshape(len(x), -1)).all(axis=1) for x in wide], axis=0)
    assert closed.all() or recipe(case.robot_name).constraints
    assert error([x[closed] for x in found], [x[closed] for x in wide]) < near
    assert {x.dtype for x in found} == {np.dtype("f4" if case.in_float32 else "f8")}
    for k in (0, 7):
        alone = listed(case.kernel(*(a[k] for a in narrow)))
        assert digest(alone) == digest([x[k] for x in found])


def test_functions_of_the_library(case):
    near = SOLVER if case.name == "contact_inverse_dynamics" else NEAR
    assert error(plain(case), expected(case)) < near
    if case.robot_name != "humanoid" and case.is_independent:
        # the rotors of the elastic joints are rounded once more where friction is left out, and the
        # search for impulses of friction ends within rounding of float64
        dry = case.robot_name in ("elastic", "actuated", "springs")
        rounded = dry and case.name == "step_time_stepping"
        left = DIGITS_LEFT if case.is_exact and not rounded else NEAR
        assert error(fifty_digits(case), expected(case)) < left


@pytest.mark.parametrize("target", TARGETS)
def test_every_width_gives_the_same_bits(target, monkeypatch, pytestconfig):
    """Code knows no more of a quantity: each width has a quarter of them."""
    many = pytestconfig.option.many
    cases = sample(target, many)
    cases = cases if many else cases[TARGETS.index(target) % 4 :: 4]
    monkeypatch.setenv("KINETREE_TARGET", target)
    made = {name: recipe(name).build() for name in NAMES}
    try:
        made["chain"].mass_matrix(np.zeros(3))
    except kt.errors.KinetreeError as problem:
        pytest.skip(str(problem))
    found = {}
    for case in cases:
        kernel = made[case.robot_name].compile(case.name, **case.compile_options)
        narrow = [a.astype(np.float32) for a in case.arrays]
        found[case] = [digest(listed(kernel(*x))) for x in (case.arrays, narrow)]
    monkeypatch.undo()
    for case in cases:
        assert found[case] == digests(case), str(case)


def digests(case: Case) -> list[str]:
    """Hashes of the kernel's results in float64 and in float32."""
    narrow = [a.astype(np.float32) for a in case.arrays]
    return [digest(case.result), digest(listed(case.kernel(*narrow)))]


def test_the_interpreter(pytestconfig):
    cases = sample("interpreted", pytestconfig.option.many)
    given = json.dumps([[x.robot_name, x.name] for x in cases])
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name("interpreted.py"))]
    found = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    for case, text in zip(cases, json.loads(found.stdout), strict=True):
        near = SOLVER if case.name == "contact_inverse_dynamics" else 1e-12
        assert error(*[[np.array(x) for x in y] for y in (text, case.result)]) < near, str(case)


def test_exported_code(case, tmp_path):
    for language in ("c", "casadi"):
        if language == "casadi":
            pytest.importorskip("casadi")
        found = exported(case, language, tmp_path)
        assert error(found, case.result) < NEAR, language
    if not any(np.any(x) for x in case.result):
        return  # a sparse result without entries is refused
    sparse = case.robot.compile(case.name, sparse=True, **case.compile_options)
    dense = listed(sparse.pattern.dense(sparse(*case.arrays)))
    assert digest(dense) == digest(case.result)


def test_derivatives(case):
    """Along a random direction of each argument, of q along tangent vectors."""
    wrt = [key for key in case.inputs if key != "touching"]
    kernel = case.robot.derivative(case.name, wrt, **case.compile_options)
    found, rng = iter(first(listed(kernel(*case.arrays)))), np.random.default_rng(7)
    ways = {
        key: rng.normal(size=case.robot.model.n if key == "q" else np.shape(a[0]))
        for key, a in zip(case.inputs, case.arrays, strict=True)
    }
    by_argument = [slopes(case, key, ways[key]) for key in wrt]
    for k in range(len(case.result)):
        for key, wanted in zip(wrt, by_argument, strict=True):
            slope = np.tensordot(next(found), ways[key], ways[key].ndim)
            assert error([slope], [wanted[k]]) < 100 * NEAR, key


def slopes(case: Case, key: str, way: np.ndarray) -> list:
    """Derivatives of the results of the reference at the first state along one argument."""
    x, way = solved(case.robot_name), exact(way)
    state = {name: exact(a[0]) for name, a in zip(case.inputs, case.arrays, strict=True)}

    def at(h):
        moved = x.integrate(state[key], way * h) if key == "q" else state[key] + way * h
        results = reference(x, case.name, state | {key: np.asarray(moved)}, **case.options)
        return np.array([*results, None], object)[:-1]

    return list(along(at))


def test_symbols(case):
    assert error(symbols(case), expected(case)) < NEAR


def test_tensors(case):
    """Bits of results, and gradients by differences along a random direction."""
    rng = np.random.default_rng(8)
    weights = [rng.normal(size=x.shape) for x in case.result]
    ways = [rng.normal(size=a.shape) for a in case.arrays]

    def loss(h):
        moved = [a + h * way for a, way in zip(case.arrays, ways, strict=True)]
        return sum((x * w).sum() for x, w in zip(listed(case.kernel(*moved)), weights, strict=True))

    h = 2.0**-12
    expected = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)
    gradients = [f(case, weights) for f in (torch_gradients, jax_gradients)]
    for found, slopes in gradients:
        assert digest(found) == digest(case.result)
        slope = sum((x * way).sum() for x, way in zip(slopes, ways, strict=True))
        assert error([slope], [expected]) < SLOPE
    assert error(gradients[0][1], gradients[1][1]) < NEAR


FREE = ("mass", "com", "inertia", "gravity", "friction", "springs")


def test_free_parameters(case):
    """Data of the robot as arguments: those of a robot whose numbers are others."""
    made = recipe(case.robot_name)
    other = changed(made)
    free = [x for x in FREE if x != "springs" or made.springs]
    kernel = case.robot.compile(case.name, free=free, **case.compile_options)
    state = [a[0] for a in case.arrays]
    x = Reference(other, case.robot)
    exactly = {key: exact(a) for key, a in zip(case.inputs, state, strict=True)}
    wanted = reference(x, case.name, exactly, **case.options)
    near = SOLVER if case.name == "contact_inverse_dynamics" else NEAR
    assert error(listed(kernel(*state, *(data(other)[name] for name in free))), wanted) < near


def changed(made):
    """The recipe with other masses, gravity, friction and springs."""
    parts = []
    for x in made.parts:
        law = x.more.get("friction")
        more = x.more | ({"friction": replace(law, viscous=(0.625, 0.375))} if law else {})
        body = {"m": 1.25 * x.m, "com": x.com + 0.125, "I_com": 1.5 * x.I_com}
        parts.append(replace(x, **body, more=more))
    springs = {
        key: replace(x, stiffness=3.0, rest=x.rest + 0.125) for key, x in made.springs.items()
    }
    return replace(made, parts=parts, springs=springs, gravity=(1.0, 2.0, -8.0))


def data(made) -> dict:
    """Free data of a recipe by name."""
    laws = [x.more.get("friction", kt.friction.Friction()) for x in made.parts]
    pairs = [np.broadcast_to(x, 2) for f in laws for x in (f.viscous, f.coulomb)]
    return {
        "mass": np.array([x.m for x in made.parts]),
        "com": np.array([x.com for x in made.parts]),
        "inertia": np.array([x.I_com for x in made.parts]),
        "gravity": np.array(made.gravity),
        "friction": np.reshape(pairs, (-1, 4)),
        "springs": np.array([[x.stiffness, x.rest] for x in made.springs.values()]),
    }


def test_cuda(case):
    cupy = pytest.importorskip("cupy")
    if not cupy.is_available():
        pytest.skip("there is no GPU")
    kernel = case.robot.compile(case.name, target="cuda", **case.compile_options)
    found = [cupy.asnumpy(x) for x in listed(kernel(*map(cupy.asarray, case.arrays)))]
    assert digest(found) == digest(case.result)


def test_the_sample_has_every_quantity_and_robot():
    for way in (*WAYS, *TARGETS):
        chosen = sample(way, many=False, count=4 if way in WELL_COVERED else 1)
        having = [x for x in everything() if x.has(way)]
        assert {x.name for x in chosen} == {x.name for x in having}
        assert {x.robot_name for x in chosen} == {x.robot_name for x in having}
    assert {x.name for x in everything()} == set(QUANTITIES)
