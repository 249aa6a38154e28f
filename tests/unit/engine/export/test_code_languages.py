"""Exported Octave and CasADi, executed against the kernel."""

import shutil
import subprocess

import numpy as np
import pytest
from code_robots import SPRUNG, arguments, code_robot

import kinetree as kt

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
    kernel = robot.compile(quantity, **options)
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
def test_octave_computes_the_same(key, quantity, options, tmp_path):
    octave = shutil.which("octave-cli") or shutil.which("octave")
    if octave is None:
        pytest.skip("Octave is not installed")
    robot, given, expected = prepared(key, quantity, options, 1)
    kt.export(robot, quantity, "matlab", name="f", **options).save(tmp_path / "f.m")
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
def test_casadi_computes_the_same(key, quantity, options):
    pytest.importorskip("casadi", reason="CasADi is not installed")
    robot, given, expected = prepared(key, quantity, options, 1)
    f = executed(kt.export(robot, quantity, "casadi", name="f", **options).source)()
    found = np.array(f(*(np.array(x[0]) for x in given)))
    assert f.name_in()[0] == "q" and f.n_in() == len(given) and f.n_out() == 1
    assert_close(found.reshape(expected[0].shape), expected[0])


def test_casadi_differentiates_the_torques():
    """The derivative by ddq is the mass matrix."""
    pytest.importorskip("casadi", reason="CasADi is not installed")
    robot = kt.robots.puma_560()
    f = executed(kt.export(robot, "inverse_dynamics", "casadi", name="f").source)()
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 6))
    by_q, by_dq, by_ddq = (np.array(x) for x in f.jacobian()(q, dq, ddq, np.zeros(6)))
    assert_close(by_ddq, robot.mass_matrix(q))
    assert by_q.shape == by_dq.shape == (6, 6)
