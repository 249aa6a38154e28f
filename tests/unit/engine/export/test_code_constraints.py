"""Exported code of robots with constraints: results of the kernel, laws of physics, comments."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import kinetree as kt
from closed_loops import slider_crank_tree
from kinetree.algorithms.quantities import CONSTRAINED
from kinetree.engine.export import export
from kinetree.engine.kernels import kernel as compile_kernel

GCC = shutil.which("gcc")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror")
DYNAMICS = (
    "constrained_forward_dynamics", "constrained_inverse_dynamics", "forward_dynamics",
    "inverse_dynamics",
)  # fmt: skip
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")


def coupled():
    """A gear, a rod and a held point: every kind of equation besides loops."""
    tree = slider_crank_tree()
    constraints = {
        "gear": kt.constraints.Couple("rod", {"crank": (-2, 0.3)}, 0.1),
        "bar": kt.constraints.Rod("pin", "tip", 0.5),
    }
    return tree.constrained(constraints, actuated=["slide"])


ROBOTS = {
    "slider_crank": kt.robots.slider_crank,
    "four_bar": kt.robots.four_bar,
    "two_arms": kt.robots.two_arms,
    "coupled": coupled,
}


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_gcc
@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("quantity", DYNAMICS[:2])
@pytest.mark.parametrize("key", ["two_arms", "coupled"])
def test_c_is_the_kernel(key, quantity, dtype, tmp_path):
    text = export(ROBOTS[key](), quantity, "c", dtype=dtype, driver=True)
    (tmp_path / "f.c").write_text(text)
    run(GCC, *STRICT, tmp_path / "f.c", "-o", tmp_path / "f", "-lm")
    assert run(tmp_path / "f") == "8 states, largest difference 0.00 eps\n"


def in_c(robot, quantity, folder):
    """The exported function of one state, by way of a shared library."""
    text = export(robot, quantity, "c", name=quantity)
    (folder / f"{quantity}.c").write_text(text)
    library = folder / f"{quantity}.so"
    run(GCC, *STRICT, "-shared", "-fPIC", folder / f"{quantity}.c", "-o", library, "-lm")
    function = getattr(ctypes.CDLL(str(library)), quantity)
    sizes = [port.size for port in compile_kernel(robot.model, quantity).graph.outputs]

    def call(*given):
        arrays = [np.array(x, float) for x in given] + [np.empty(size) for size in sizes]
        function(*(ctypes.c_void_p(x.ctypes.data) for x in arrays))
        return arrays[len(given) :]

    return call


@pytest.mark.parametrize("language", ["c", "matlab"])
@pytest.mark.parametrize("quantity", [*CONSTRAINED, "forward_dynamics", "inverse_dynamics"])
def test_the_header_names_every_equation(quantity, language):
    robot = kt.robots.four_bar()
    text = export(robot, quantity, language)
    words = "\n".join(line for line in text.splitlines() if line.startswith(("//", "#", "%")))
    assert "Constraints Phi(q) = 0 (loop)" in words and text.isascii()
    for k, name in enumerate(robot.mobility.rows):
        index = k + (language in ("matlab", "julia"))
        redundant = name in robot.mobility.redundant
        unit = "rad, N m" if "angular" in name else "m, N"
        line = next(x for x in words.splitlines() if name in x)
        assert line.split()[1:3] == [str(index), name]
        assert unit in line and line.endswith(", redundant") == redundant


def test_the_header_states_the_meaning_of_residuals_and_motors():
    robot = kt.robots.four_bar()
    text = export(robot, "constrained_forward_dynamics")
    assert "residual = J ddq + gamma is zero up to rounding" in text and "singular" in text
    text = export(robot, "constrained_inverse_dynamics")
    assert "if the constraints forbid ddq" in text and "Motors: crank;" in text
    assert "the constraints (loop) are not part of it" in export(robot, "mass_matrix")
    assert "onstraint" not in export(robot.unconstrained(), "forward_dynamics")


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        ("inverse_dynamics", "tau is NaN where the motors cannot make the motion"),
        ("reduced_dynamics", "NaN where dy does not determine all rates"),
        ("step_rk4", "NaN if q and dq do not satisfy Phi(q) = 0"),
    ],
)
def test_the_header_states_where_results_are_undefined(quantity, words):
    assert words in export(kt.robots.four_bar(), quantity, "c")


@needs_gcc
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "reduced_dynamics"])
def test_c_marks_dead_centres(quantity, tmp_path):
    engine = kt.robots.slider_crank()
    robot = engine.unconstrained().constrained(
        engine.model.constraints.given, independent=["slide"], actuated=["slide"]
    )
    still = [np.zeros(3)] * (3 if quantity == "inverse_dynamics" else 2)
    expected = compile_kernel(robot.model, quantity)(*still)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for x, y in zip(in_c(robot, quantity, tmp_path)(*still), expected, strict=True):
        assert np.isnan(y).any() and np.array_equal(x, y.ravel(), equal_nan=True)


def test_a_coupled_slide_has_its_own_unit():
    joints = {"slide": kt.constraints.Couple("slide", {"crank": 0.2})}
    robot = slider_crank_tree().constrained(joints)
    text = export(robot, "constraint_errors")
    assert "    0  slide  m, N\n" in text
    assert "    0  gear  rad, N m\n" in export(coupled(), "constraint_errors")
