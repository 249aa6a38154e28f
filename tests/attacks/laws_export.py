"""Laws of exported code: compiled C and C++, and modules for NumPy, against kernels."""

import ctypes
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from attack_case import Skip, law, note
from attack_plants import close, size, tree

import kinetree as kt

QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "gravity_forces",
    "bias_forces",
)
# words that C, C++, Python, MATLAB or Julia keep for themselves, and other odd names
NAMES = (
    "arm", "case", "xor", "None", "int", "double", "return", "end", "function", "lambda", "class",
    "sin", "fma", "main", "q", "tau", "while", "and", "using", "true", "inline", "import",
    "1st", "my-robot", "a b", "été", "_x", "x" * 60, "",
)  # fmt: skip


def draw(rng):
    """A robot, a quantity and its arguments at 5 states."""
    called = str(rng.choice(NAMES)) or "tree"
    types = ("revolute", "prismatic", "helical", "spherical", "free")
    robot = tree(rng, 3, types=types, name=called)
    quantity = str(rng.choice(QUANTITIES))
    generator = np.random.default_rng(int(rng.integers(2**40)))
    q = np.array([robot.random(rng=generator) for _ in range(5)])
    q = q + 0.0
    dq, ddq = rng.normal(size=(2, 5, robot.n))
    args = {"mass_matrix": (q,), "gravity_forces": (q,), "bias_forces": (q, dq)}
    return robot, quantity, args.get(quantity, (q, dq, ddq))


def exported(robot, quantity, language, name, **options):
    """The text of an export; a name that a language keeps is refused, and a free one taken."""
    try:
        return kt.export(robot, quantity, language, name=name or None, **options)
    except kt.KinetreeError as error:
        assert name and repr(name) in str(error), f"refused for another reason: {error}"
        better = re.findall(r"'([^']*)'", str(error))[-1]
        return kt.export(robot, quantity, language, name=better, **options)


def compile_text(text, suffix, *flags):
    """A loaded library of the text."""
    compiler = shutil.which("g++" if suffix == ".cpp" else "gcc")
    if compiler is None:
        raise Skip("no C compiler")
    with tempfile.TemporaryDirectory(prefix="kinetree_export_") as folder:
        path = Path(folder) / f"code{suffix}"
        path.write_text(text, encoding="utf-8")
        out = Path(folder) / "code.so"
        command = [compiler, *flags, "-O1", "-ffp-contract=off", "-shared", "-fPIC", str(path)]
        run = subprocess.run([*command, "-o", str(out), "-lm"], capture_output=True, text=True)
        assert run.returncode == 0, f"the exported code does not compile:\n{run.stderr[:1500]}"
        return ctypes.CDLL(str(out))


def law_compiled_c_has_the_bits_of_the_kernel(rng):
    robot, quantity, args = draw(rng)
    name = str(rng.choice(NAMES))
    single = rng.random() < 0.3
    dtype, real = ("float", ctypes.c_float) if single else ("double", ctypes.c_double)
    note(rng, quantity=quantity, name=name, dtype=dtype)
    text = exported(robot, quantity, "c", name, dtype=dtype)
    code = compile_text(text, ".c", "-std=c99", "-Wall", "-Wextra", "-Werror")
    function = re.findall(r"^(?:void|double|float) (\w+)\(", text, re.M)[-1]
    kind = np.float32 if single else np.float64
    args = [np.ascontiguousarray(a, kind) for a in args]
    expected = getattr(robot, quantity)(*args)
    assert expected.dtype == kind
    for k in range(5):
        out = np.zeros(expected.shape[1:], kind)
        pointers = [a[k].ctypes.data_as(ctypes.POINTER(real)) for a in args]
        getattr(code, function)(*pointers, out.ctypes.data_as(ctypes.POINTER(real)))
        assert np.array_equal(out, expected[k]), (
            f"{quantity}, {dtype}: differs by {np.abs(out - expected[k]).max():.3g}"
        )


@law(ci=1)
def law_numpy_modules_agree_with_the_kernel(rng):
    robot, quantity, args = draw(rng)
    name = str(rng.choice(NAMES))
    note(rng, quantity=quantity, name=name)
    text = exported(robot, quantity, "numpy", name)
    space = {}
    exec(compile(text, "exported", "exec"), space)
    function = re.findall(r"^def (\w+)\(", text, re.M)[-1]
    expected = getattr(robot, quantity)(*args)
    before = [a.copy() for a in args]
    found = space[function](*args)
    close(found, expected, 1e-9 * size(expected), quantity)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True)), "inputs changed"


@law(ci=1)
def law_cpp_headers_compile_under_any_name(rng):
    robot, quantity, _ = draw(rng)
    name = str(rng.choice(NAMES))
    note(rng, quantity=quantity, name=name)
    text = exported(robot, quantity, "cpp", name)
    compile_text(text, ".cpp", "-std=c++11", "-Wall", "-Wextra", "-Werror")


@law(ci=1)
def law_free_data_are_arguments_of_exported_code(rng):
    """Masses and gravity given at run time against a robot built with them."""
    robot, quantity, args = draw(rng)
    free = ["mass", "gravity"]
    factor = rng.uniform(0.5, 2, len(robot.model.links))
    m, gravity = robot.model.m * factor, rng.normal(size=3) * 5
    text = kt.export(robot, quantity, "numpy", name="f", free=free)
    header = re.findall(r"^def f\((.*)\):", text, re.M)[-1]
    given = {"mass": m, "m": m, "gravity": gravity, "g": gravity}
    names = [word.strip() for word in header.split(",")][len(args) :]
    space = {}
    exec(compile(text, "exported", "exec"), space)
    extra = [given[word] for word in names]
    expected = robot.compile(quantity, free=free)(*args, *extra)
    close(space["f"](*args, *extra), expected, 1e-9 * size(expected), quantity)
