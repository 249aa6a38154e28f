"""Exported C and C++: strict compilers accept it, and it gives the kernel's result bit by bit."""

import ctypes
import platform
import shutil
import subprocess

import numpy as np
import pytest
from code_robots import SPRUNG, arguments, code_robot

import kinetree as kt
from kinetree.engine import Graph

DTYPES = {"double": np.float64, "float": np.float32}

GCC, GXX = shutil.which("gcc"), shutil.which("g++")
STRICT = ("-Wall", "-Wextra", "-Werror")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")

CASES = [
    ("panda", "inverse_dynamics", {}),
    ("panda", "forward_dynamics", {"wrenches": True}),
    ("panda", "mass_matrix", {}),
    ("panda", "kinetic_energy", {}),
    ("panda", "inverse_dynamics", {"free": ("mass", "gravity", "friction")}),
    ("talos", "inverse_dynamics", {}),
    ("full", "inverse_dynamics", {"wrenches": True}),
    ("full", "forward_dynamics", {}),
    ("full", "link_poses", {}),
    *SPRUNG,
]
IDS = [" ".join([key, quantity, *options]) for key, quantity, options in CASES]


def robot(key: str) -> kt.Robot:
    return code_robot(key)


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compiled(text: str, folder, *flags: str):
    """The function f of a C text, loaded."""
    (folder / "f.c").write_text(text)
    run(GCC, "-std=c99", *STRICT, *flags, "-shared", "-fPIC", folder / "f.c", "-o",
        folder / "f.so", "-lm")  # fmt: skip
    return ctypes.CDLL(str(folder / "f.so")).f


def call(function, graph: Graph, given, dtype: str):
    """The exported function on every state, (count, size of the result)."""
    count, (port,) = len(given[0]), graph.outputs
    out = np.empty((count, port.size), DTYPES[dtype])
    scalar = ctypes.c_double if dtype == "double" else ctypes.c_float
    function.restype = None if port.shape else scalar
    rows = [np.ascontiguousarray(x, DTYPES[dtype]) for x in given]
    for k in range(count):
        pointers = [ctypes.c_void_p(x[k].ctypes.data) for x in rows]
        if port.shape:
            function(*pointers, ctypes.c_void_p(out[k].ctypes.data))
        else:
            out[k] = function(*pointers)
    return out


@needs_gcc
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("key", "quantity", "options"), CASES, ids=IDS)
def test_c_gives_the_kernels_result(key, quantity, options, dtype, tmp_path):
    """The issue allows 2 eps; with the kernel's own sines not a bit differs."""
    model = robot(key).model
    kernel = kt.Robot(model).compile(quantity, **options)
    given = [x.astype(DTYPES[dtype]) for x in arguments(model, kernel.graph, 20)]
    f = compiled(kt.export(robot(key), quantity, name="f", dtype=dtype, **options), tmp_path)
    found = call(f, kernel.graph, given, dtype)
    assert np.array_equal(found, kernel(*given).reshape(found.shape))


@needs_gcc
@pytest.mark.parametrize("dtype", DTYPES)
def test_sines_of_extreme_angles_are_sines(dtype, tmp_path):
    """Zeros, quarter turns, the end of the short reduction, huge angles, NaN and infinity."""
    slide = kt.robots.planar_2r()
    text = kt.export(slide, "pose", name="f", dtype=dtype)
    f = compiled(text, tmp_path)
    kernel = slide.compile("pose")
    turns = np.arange(-40, 41) * np.pi / 2
    angles = np.array([0.0, -0.0, 1e-300, 131072, 131072.1, -2e9, 1e22, *turns, *(turns + 1e-9)])
    q = np.stack([angles, np.zeros(len(angles))], -1).astype(DTYPES[dtype])
    found = call(f, kernel.graph, [q], dtype).reshape(-1, 4, 4)
    eps = np.finfo(DTYPES[dtype]).eps
    expected = np.sin(q[:, 0].astype(np.longdouble))
    assert np.abs(found[:, 1, 0] - expected).max() <= eps
    small = np.abs(q[:, 0]) <= 131072
    assert np.array_equal(found[small], kernel(q)[small])
    for wild in (np.nan, np.inf):
        q = np.array([[wild, 0.0]], DTYPES[dtype])
        assert np.isnan(call(f, kernel.graph, [q], dtype)[0, :2]).all()


@needs_gcc
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="this is no x86")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_arithmetic_that_rounds_otherwise_is_refused_by_the_text(dtype, language, tmp_path):
    """The x87 unit computes in 80 bits: other bits than the kernel's, without a word before."""
    source = tmp_path / ("f.c" if language == "c" else "f.cpp")
    source.write_text(kt.export(kt.robots.planar_2r(), "inverse_dynamics", language, dtype=dtype))
    compiler = GCC if language == "c" else GXX
    if compiler is None:
        pytest.skip("g++ is not installed")
    for flag, remedy in (("-mfpmath=387", "-mfpmath=sse"), ("-ffast-math", "leave out")):
        command = [compiler, flag, "-fsyntax-only", str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode != 0 and remedy in done.stderr
        run(*command, "-DKINETREE_OTHER_ROUNDING")
    run(compiler, *STRICT, "-fsyntax-only", source)


@needs_gcc
def test_results_may_overwrite_arguments(tmp_path):
    robot = kt.robots.planar_2r()
    f = compiled(kt.export(robot, "inverse_dynamics", name="f"), tmp_path)
    q, dq, ddq = np.array([0.3, 0.4]), np.array([1.0, 2.0]), np.array([3.0, 4.0])
    expected = robot.inverse_dynamics(q, dq, ddq)
    f(*(ctypes.c_void_p(x.ctypes.data) for x in (q, dq, ddq, ddq)))
    assert np.array_equal(ddq, expected)


@needs_gcc
def test_friction_by_direction_in_c(tmp_path):
    """Signs of both directions, of rest, and of NaN."""
    builder = kt.Builder().link("base").link("disc", 1, (0, 0, 0), np.eye(3))
    builder.joint("j", "revolute", "base", "disc", friction=kt.friction.Friction((0.5, 2), (3, 7)))
    robot = builder.build()
    f = compiled(kt.export(robot, "friction_forces", name="f"), tmp_path)
    kernel = robot.friction_forces
    given = [np.array([[2.0], [-2.0], [0.0], [np.nan]])]
    found = call(f, kernel.graph, given, "double")
    assert np.array_equal(found, [[4.0], [-11.0], [0.0], [np.nan]], equal_nan=True)
