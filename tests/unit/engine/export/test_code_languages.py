"""Exported NumPy, Octave, Julia and CasADi, executed against the kernel."""

import shutil
import subprocess

import numpy as np
import pytest
from code_robots import SPRUNG, arguments, code_robot

import kinetree as kt
from kinetree.engine.export import export
from kinetree.engine.kernels import kernel as compile_kernel

# products are not fused there and sines come from elsewhere: a rounding more for each of the
# 200 operations on the longest way through these graphs, eps each
TOLERANCE = 200 * np.finfo(float).eps

CASES = [
    ("panda", "inverse_dynamics", {}),
    ("panda", "inverse_dynamics", {"wrenches": True, "free": ("com", "gravity")}),
    ("panda", "kinetic_energy", {}),
    ("full", "inverse_dynamics", {}),
    ("full", "link_poses", {}),
    *SPRUNG,
]
IDS = [" ".join([key, quantity, *options]) for key, quantity, options in CASES]
each = pytest.mark.parametrize(("key", "quantity", "options"), CASES, ids=IDS)


def prepared(key, quantity, options, count):
    robot = code_robot(key)
    kernel = compile_kernel(robot.model, quantity, **options)
    given = arguments(robot.model, kernel.graph, count)
    return robot, given, kernel(*given)


def assert_close(found, expected):
    assert np.shape(found) == np.shape(expected)
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


def executed(text: str):
    """The function f of a Python text."""
    names = {}
    exec(compile(text, "exported.py", "exec"), names)
    return names["f"]


@each
def test_numpy_computes_the_same(key, quantity, options):
    robot, given, expected = prepared(key, quantity, options, 6)
    f = executed(export(robot, quantity, "numpy", name="f", **options))
    assert_close(f(*given), expected)
    assert_close(f(*(x[0] for x in given)), expected[0])
    folded = [x.reshape(2, 3, *x.shape[1:]) for x in given]
    assert_close(f(*folded), expected.reshape(2, 3, *expected.shape[1:]))


def test_numpy_broadcasts_and_keeps_float32():
    robot = kt.robots.puma_560()
    f = executed(export(robot, "inverse_dynamics", "numpy", name="f", dtype="float"))
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 4, 1, 6)).astype(np.float32)
    found = f(q, dq[:1].reshape(1, 1, 6), ddq.reshape(1, 4, 6))
    expected = robot.inverse_dynamics(q, dq[:1].reshape(1, 1, 6), ddq.reshape(1, 4, 6))
    assert found.dtype == np.float32 and found.shape == (4, 4, 6)
    assert np.abs(found - expected).max() <= 200 * np.finfo("f4").eps * np.abs(expected).max()


@each
def test_octave_computes_the_same(key, quantity, options, tmp_path):
    octave = shutil.which("octave-cli") or shutil.which("octave")
    if octave is None:
        pytest.skip("Octave is not installed")
    robot, given, expected = prepared(key, quantity, options, 1)
    (tmp_path / "f.m").write_text(export(robot, quantity, "matlab", name="f", **options))
    inputs = ", ".join(matlab_array(x[0]) for x in given)
    # permuted to row-major order, the order in which NumPy will read it
    script = f"y = f({inputs}); y = permute(y, ndims(y):-1:1); printf('%.17g\\n', y(:));"
    found = subprocess.run(
        [octave, "--no-init-file", "--quiet", "--eval", script],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert_close(np.array(found.stdout.split(), float).reshape(expected[0].shape), expected[0])


def matlab_array(x) -> str:
    if np.ndim(x) < 2:
        return f"[{'; '.join(repr(float(v)) for v in np.atleast_1d(x))}]"
    return f"[{'; '.join(' '.join(repr(float(v)) for v in row) for row in x)}]"


@each
def test_julia_computes_the_same(key, quantity, options, tmp_path):
    julia = shutil.which("julia")
    if julia is None:
        pytest.skip("Julia is not installed")
    robot, given, expected = prepared(key, quantity, options, 1)
    text = export(robot, quantity, "julia", name="f", **options)
    inputs = ", ".join(matlab_array(x[0]) for x in given)
    show = "y = f(%s); y = y isa Number ? [y] : permutedims(y, ndims(y):-1:1); println.(y);"
    (tmp_path / "f.jl").write_text(f"{text}\n{show % inputs}\n")
    found = subprocess.run([julia, "f.jl"], cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert_close(np.array(found.stdout.split(), float).reshape(expected[0].shape), expected[0])


@each
def test_casadi_computes_the_same(key, quantity, options):
    pytest.importorskip("casadi", reason="CasADi is not installed")
    robot, given, expected = prepared(key, quantity, options, 1)
    f = executed(export(robot, quantity, "casadi", name="f", **options))()
    found = np.array(f(*(np.array(x[0]) for x in given)))
    assert f.name_in()[0] == "q" and f.n_in() == len(given) and f.n_out() == 1
    assert_close(found.reshape(expected[0].shape), expected[0])


def test_casadi_differentiates_the_torques():
    """The derivative by ddq is the mass matrix."""
    pytest.importorskip("casadi", reason="CasADi is not installed")
    robot = kt.robots.puma_560()
    f = executed(export(robot, "inverse_dynamics", "casadi", name="f"))()
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 6))
    by_q, by_dq, by_ddq = (np.array(x) for x in f.jacobian()(q, dq, ddq, np.zeros(6)))
    assert_close(by_ddq, robot.mass_matrix(q))
    assert by_q.shape == by_dq.shape == (6, 6)
