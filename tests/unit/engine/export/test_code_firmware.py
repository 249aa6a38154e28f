"""Exported C for targets: strict compilers accept it, emulated processors give the results."""

import ctypes
import platform
import re
import shutil
import subprocess

import mpmath as mp
import numpy as np
import pytest
from code_robots import arguments, code_robot
from firmware_boards import ARM64, M4F, M7, STRICT, command, compiled, run_on_board
from mpmath_dynamics import newton_euler

import kinetree as kt
from kinetree.engine import OPERATIONS
from kinetree.engine.export import TARGETS
from kinetree.engine.export.program import DTYPES
from kinetree.engine.export.target_functions import (
    ERRORS,
    FAR,
    FAR_ERROR,
    HALF_PI,
    Writing,
    functions_text,
)
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError, NameLookupError

GCC = shutil.which("gcc")
EPS = {"double": 2.0**-52, "float": 2.0**-23}
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
needs_arm = pytest.mark.skipif(
    shutil.which(M4F.compiler) is None, reason=f"{M4F.compiler} is not installed"
)
QUANTITIES = [
    ("scara", "forward_dynamics", {"wrenches": True}),
    ("scara", "mass_matrix", {}),
    ("scara", "step_implicitfast", {}),
    ("scara", "kinetic_energy", {}),
    ("four_bar", "constrained_forward_dynamics", {}),
    ("planar_2r", "inverse_dynamics", {"free": ("mass", "com", "gravity")}),
]
IDS = [" ".join([key, quantity, *options]) for key, quantity, options in QUANTITIES]


def robot(key: str) -> kt.Robot:
    return getattr(kt.robots, key)()


def smooth_robot() -> kt.Robot:
    """A pendulum whose friction uses tanh, exp, log and atan2."""

    def friction(dq):
        s = kt.scalars
        return 0.4 * s.tanh(3 * dq) * s.exp(-dq * dq) + s.log(1 + dq * dq) * s.atan2(dq, 0.3)

    builder = kt.Builder("smooth").link("base").link("arm", 1.3, (0.2, 0, 0.1), np.eye(3) * 0.02)
    law = kt.Friction(function=friction)
    builder.joint("j", "revolute", "base", "arm", axis=(0, 1, 0), friction=law)
    return builder.build()


def states(model, graph, count, dtype):
    return [x.astype(DTYPES[dtype]) for x in arguments(model, graph, count)]


def largest(found, expected, dtype):
    """Greatest error of a state, in eps of its largest entry."""
    found, expected = (np.asarray(x, float).reshape(len(found), -1) for x in (found, expected))
    return (np.abs(found - expected).max(1) / np.abs(expected).max(1)).max() / EPS[dtype]


@M4F.needed()
def test_panda_on_a_cortex_m4_is_within_8_eps_of_the_reference(tmp_path):
    """1,000 states; the size is the largest torque of the state. No double comes near the code.

    The ten states with the largest errors and ten others are compared with Newton's and Euler's
    equations in 30 digits, which share no code with the kernel.
    """
    panda = kt.robots.panda()
    code = kt.export(panda, "inverse_dynamics", target="cortex-m4f", name="f")
    given = states(panda.model, trace_quantity(panda.model, "inverse_dynamics"), 1000, "float")
    found = run_on_board(code, tmp_path, given)
    expected = panda.inverse_dynamics(*[x.astype(float) for x in given])
    assert largest(found, expected, "float") <= 8
    few = np.argsort(np.abs(found - expected).max(1))[-10:].tolist() + list(range(10))
    exact = [newton_euler(panda.model, *(x[k] for x in given)) for k in few]
    assert largest(found[few], exact, "float") <= 8
    names = command("arm-none-eabi-nm", tmp_path / "f.o")
    assert "__aeabi_d" not in names and "__aeabi_f2d" not in names and "fma" not in names
    written = [line.split()[1] for line in names.splitlines() if line[:8].strip()]
    assert set(written) <= {"T", "t", "r"}  # code and constants only


@ARM64.needed()
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_64_bit_arm_gives_the_bits_of_the_kernel(dtype, tmp_path):
    code = kt.export(kt.robots.panda(), "inverse_dynamics", target="aarch64", dtype=dtype, name="f")
    assert code.about.kernel_bits
    compiled_main(code, tmp_path, "-static", digits="%a")
    shown = command(ARM64.emulator, tmp_path / "main")
    assert shown == "8 states, largest difference 0x0p+0 of the allowed one: passed\n"


@M7.needed()
def test_a_cortex_m7_gives_the_bits_of_the_kernel_in_double(tmp_path):
    panda = kt.robots.panda()
    code = kt.export(panda, "inverse_dynamics", target="cortex-m7", dtype="double", name="f")
    assert code.about.kernel_bits
    kernel = compile_kernel(panda.model, "inverse_dynamics")
    given = states(panda.model, kernel.graph, 50, "double")
    assert np.array_equal(run_on_board(code, tmp_path, given), kernel(*given))


def has_fma() -> bool:
    """True if this processor runs x86-64-v3."""
    import llvmlite.binding as llvm

    found = llvm.get_host_cpu_features()
    return all(found.get(name) for name in ("avx2", "fma", "bmi2"))


@needs_gcc
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_x86_64_v3_gives_the_bits_of_the_kernel(dtype, tmp_path):
    if platform.machine() not in ("x86_64", "AMD64") or not has_fma():
        pytest.skip("this processor is not x86-64-v3")
    panda = kt.robots.panda()
    code = kt.export(panda, "inverse_dynamics", target="x86-64-v3", dtype=dtype, name="f")
    assert code.about.kernel_bits
    kernel = compile_kernel(panda.model, "inverse_dynamics")
    given = states(panda.model, kernel.graph, 60, dtype)
    code.save(tmp_path / "f.c")
    f = library(code.source, tmp_path, *code.about.flags.split()).f
    found = np.empty((60, 7), DTYPES[dtype])
    for k in range(60):
        f(*(ctypes.c_void_p(x[k].ctypes.data) for x in (*given, found)))
    assert np.array_equal(found, kernel(*given))


def compiled_main(code, folder, *flags, digits="%.2f"):
    """The program of the self-test; `digits`: the format of the difference that it prints."""
    code.save(folder / "f.c")
    test = folder / "f_test.c"
    assert test.read_text().count("%.2f") == 1
    test.write_text(test.read_text().replace("%.2f", digits))
    words = (*code.about.flags.split(), "-Wall", "-Wextra", "-Werror", "-DKINETREE_SELF_TEST_MAIN")
    files = (folder / "f.c", folder / "f_test.c", "-o", folder / "main", "-lm")
    command(code.about.compiler, *words, *flags, *files)


@needs_gcc
@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize(("key", "quantity", "options"), QUANTITIES, ids=IDS)
def test_every_quantity_passes_its_self_test_in_plain_c(key, quantity, options, dtype, tmp_path):
    code = kt.export(robot(key), quantity, target="c99", dtype=dtype, name="f", **options)
    compiled(code, tmp_path)
    compiled_main(code, tmp_path)
    shown = command(tmp_path / "main")
    assert re.fullmatch(r"8 states, largest difference 0\.\d\d of the allowed one: passed\n", shown)


@needs_gcc
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_flags_that_break_the_sine_stop_the_compiler(dtype, tmp_path):
    code = kt.export(robot("planar_2r"), "gravity_forces", target="c99", dtype=dtype, name="f")
    code.save(tmp_path / "f.c")
    words = ("-O2", "-fsyntax-only", tmp_path / "f.c")
    command(GCC, *words)
    for flag in ("-ffast-math", "-funsafe-math-optimizations", "-ffinite-math-only"):
        defined = command(GCC, flag, "-dM", "-E", "-x", "c", "/dev/null")
        if "ASSOCIATIVE_MATH" in defined or "FINITE_MATH_ONLY__ 1" in defined:
            stopped = subprocess.run([GCC, *words, flag], capture_output=True, text=True)
            assert stopped.returncode != 0 and "leave out -ffast-math" in stopped.stderr
            command(GCC, *words, flag, "-DKINETREE_OTHER_ROUNDING")


@needs_gcc
def test_the_self_test_finds_a_wrong_reduction_of_angles(tmp_path):
    """Without the last part of pi/2, angles of one turn are right and those of many are not."""
    code = kt.export(robot("planar_2r"), "gravity_forces", target="c99", dtype="float", name="f")
    compiled_main(code, tmp_path)
    assert command(tmp_path / "main").endswith("passed\n")
    middle = f"k * {Writing('f', 'float', False).number(HALF_PI['float'][1])}"
    assert code.source.count(middle) == 1
    (tmp_path / "f.c").write_text(code.source.replace(middle, "k * 0.0f"))
    files = (tmp_path / "f.c", tmp_path / "f_test.c", "-o", tmp_path / "wrong", "-lm")
    command(GCC, "-DKINETREE_SELF_TEST_MAIN", *files)
    assert "FAILED" in command(tmp_path / "wrong", check=False)


@needs_gcc
@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize(
    ("key", "quantity"), [("double_pendulum", "mass_matrix"), ("four_bar", "gravity_forces")]
)
def test_a_sine_without_its_cosine_gives_no_warning(key, quantity, dtype, tmp_path):
    compiled(kt.export(robot(key), quantity, target="c99", dtype=dtype, name="f"), tmp_path)


@needs_gcc
def test_the_self_test_finds_a_constant_that_is_wrong_by_one_percent(tmp_path):
    """Also those of the wrist, whose torques are small beside those of the shoulder."""
    code = kt.export(robot("panda"), "inverse_dynamics", target="c99", dtype="float", name="f")
    compiled_main(code, tmp_path)
    assert command(tmp_path / "main").endswith("passed\n")
    head, body = code.source.split("\nvoid f(")
    numbers = list(re.finditer(r"(?<=[ (-])\d+\.\d+(e-\d+)?(?=f\b)", body))
    for found in np.random.default_rng(1).choice(np.array(numbers, object), 3, replace=False):
        wrong = f"{body[: found.start()]}{float(found[0]) * 1.01!r}{body[found.end() :]}"
        (tmp_path / "f.c").write_text(f"{head}\nvoid f({wrong}")
        files = (tmp_path / "f.c", tmp_path / "f_test.c", "-o", tmp_path / "wrong", "-lm")
        command(GCC, "-O0", "-DKINETREE_SELF_TEST_MAIN", *files)
        assert "FAILED" in command(tmp_path / "wrong", check=False), found[0]


@needs_gcc
def test_the_self_test_finds_a_wrong_result(tmp_path):
    code = kt.export(kt.robots.planar_2r(), "inverse_dynamics", target="c99", name="f")
    compiled_main(code, tmp_path)
    for damage in ("1.0000001 * x", "(0.0 / 0.0) * x"):
        text = (tmp_path / "f.c").read_text()
        assert text.count("    tau[1] = x") == 1
        (tmp_path / "g.c").write_text(text.replace("tau[1] = x", f"tau[1] = {damage}"))
        files = (tmp_path / "g.c", tmp_path / "f_test.c", "-o", tmp_path / "wrong", "-lm")
        command(GCC, "-DKINETREE_SELF_TEST_MAIN", *files)
        assert "FAILED" in command(tmp_path / "wrong", check=False)


@needs_arm
@pytest.mark.parametrize("key", ["panda", "four_bar", "smooth", "sprung"])
def test_the_stack_is_less_than_the_header_states(key, tmp_path):
    """Measured by the compiler for the function and the deepest function that it calls."""
    own = {"smooth": smooth_robot, "sprung": lambda: code_robot("sprung")}
    made = own[key]() if key in own else robot(key)
    code = kt.export(made, "forward_dynamics", target="cortex-m4f", name="f")
    compiled(code, tmp_path, "-fstack-usage")
    rows = [
        line.split(":")[-1].split("\t") for line in (tmp_path / "f.su").read_text().splitlines()
    ]
    used = {name: int(size) for name, size, _ in rows}
    measured = used.pop("f") + max(used.values(), default=0)
    assert measured <= code.about.stack
    assert code.about.stack <= 2.5 * measured or code.about.operations < 100
    assert f"Stack: about {code.about.stack} bytes" in code.header


def library(text, folder, *flags):
    (folder / "lib.c").write_text(text)
    command(
        GCC, "-O2", *flags, "-shared", "-fPIC", folder / "lib.c", "-o", folder / "lib.so", "-lm"
    )
    return ctypes.CDLL(str(folder / "lib.so"))


INCLUDES = "".join(
    f"#include <{name}.h>\n" for name in ("float", "math", "stdbool", "stdint", "string")
)
EXPOSED = """
void all(const float *x, const float *y, float (*out)[6], int n)
{
    for (int k = 0; k < n; ++k) {
        const f_pair p = f_sincos(x[k]);
        out[k][0] = p.sine; out[k][1] = p.cosine; out[k][2] = f_exp(x[k]);
        out[k][3] = f_log(x[k]); out[k][4] = f_tanh(x[k]); out[k][5] = f_atan2(y[k], x[k]);
    }
}
"""


def ulps(found, expected):
    """Errors in units of the last place of the expected numbers."""
    last = np.spacing(np.maximum(np.abs(expected.astype(np.float32)), np.float32(2.0**-126)))
    return np.abs(found.astype(float) - expected) / last.astype(float)


@needs_gcc
@pytest.mark.parametrize("fused", [False, True])
def test_functions_of_floats_keep_their_stated_errors(fused, tmp_path):
    """Against NumPy's doubles on numbers of all sizes, and 50 digits near quarter turns."""
    text = functions_text(Writing("f", "float", fused), OPERATIONS)
    assert "double" not in text
    function = library(INCLUDES + text + EXPOSED, tmp_path, *STRICT[:3], "-Wdouble-promotion").all
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**32, 40_000, np.uint32).view(np.float32)
    usual = rng.normal(size=40_000).astype(np.float32) * 3
    x = np.concatenate(
        [bits, usual, np.arange(-700, 700, dtype=np.float32) * np.pi / 2], dtype="f4"
    )
    x = x[np.isfinite(x)]
    y = rng.permutation(x)
    out = np.empty((len(x), 6), np.float32)
    function(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y, out)), len(x))
    wide, other = x.astype(float), y.astype(float)
    with np.errstate(all="ignore"):
        exact = [np.sin(wide), np.cos(wide), np.exp(wide), np.log(wide), np.tanh(wide)]
        exact.append(np.arctan2(other, wide))
        far = np.abs(x) > FAR["float"]
        for k, op in enumerate(ERRORS):
            sure = np.isfinite(exact[k].astype(np.float32))
            error = ulps(out[:, k], np.where(sure, exact[k], 0))[sure]
            limit = np.where(far[sure] & (op in ("sin", "cos")), FAR_ERROR, ERRORS[op])
            assert (error <= limit).all(), (op, x[sure][error.argmax()], error.max())
            assert np.array_equal(np.isnan(out[:, k]), np.isnan(exact[k])), op
            assert np.array_equal(np.isinf(out[:, k]), np.isinf(exact[k].astype(np.float32))), op
    near = np.flatnonzero(np.isclose(np.abs(exact[0]), 1, atol=1e-9) & (wide != 0))[:50]
    with mp.workdps(50):
        for k in near:
            assert abs(float(mp.cos(float(x[k])) - float(out[k, 1]))) <= 3 * np.spacing(
                np.float32(abs(mp.cos(float(x[k]))))
            )


@needs_gcc
def test_functions_of_floats_at_their_limits(tmp_path):
    """Zeros, infinities and numbers that are none, as in C."""
    text = functions_text(Writing("f", "float", fused=False), OPERATIONS)
    function = library(INCLUDES + text + EXPOSED, tmp_path).all
    inf, nan = np.inf, np.nan
    x = np.array([0.0, inf, -inf, nan, 0.0, -0.0, -0.0, inf, -inf, 1.0, -1e-40, 1e-40], np.float32)
    y = np.array([0.0, inf, inf, 1.0, -1.0, 0.0, -0.0, -inf, -inf, nan, 0.0, 0.0], np.float32)
    out = np.empty((len(x), 6), np.float32)
    function(*(ctypes.c_void_p(v.ctypes.data) for v in (x, y, out)), len(x))
    with np.errstate(all="ignore"):
        expected = [np.sin(x), np.cos(x), np.exp(x), np.log(x), np.tanh(x), np.arctan2(y, x)]
    for k, op in enumerate(ERRORS):
        assert np.allclose(out[:, k], expected[k], rtol=1e-6, atol=0, equal_nan=True), op
    assert np.signbit(out[8, 5]) and not np.signbit(out[5, 5])


@needs_gcc
def test_friction_of_functions_in_floats(tmp_path):
    """tanh, exp, log and atan2 in the code of a robot, against the kernel in double."""
    made = smooth_robot()
    code = kt.export(made, "inverse_dynamics", target="c99", dtype="float", name="f")
    for op in ("tanh", "exp", "log", "atan2"):
        assert f"f_{op}(" in code.source
    assert "double" not in code.source
    compiled(code, tmp_path)
    compiled_main(code, tmp_path)
    assert command(tmp_path / "main").endswith("passed\n")


@needs_gcc
def test_the_header_serves_cpp_and_every_name_has_a_prototype(tmp_path):
    code = kt.export(kt.robots.planar_2r(), "inverse_dynamics", target="c99", name="f")
    (tmp_path / "f.h").write_text(code.header)
    (tmp_path / "main.cpp").write_text('#include "f.h"\n#include "f.h"\nint a[f_TAU_SIZE];\n')
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    command("g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", tmp_path / "main.cpp")
    assert "#define f_Q_SIZE 2\n" in code.header and 'extern "C"' in code.header


def test_files_and_figures(tmp_path):
    code = kt.export(kt.robots.planar_2r(), "inverse_dynamics", target="cortex-m4f")
    written = code.save(tmp_path / "arm.c")
    assert [path.name for path in written] == ["arm.c", "arm.h", "arm_test.c"]
    for path in written[::2]:
        assert path.read_text().count('#include "arm.h"') == 1
    about = code.about
    assert (about.target, about.dtype, about.kernel_bits) == ("cortex-m4f", "float", False)
    assert (
        about.operations
        == trace_quantity(kt.robots.planar_2r().model, "inverse_dynamics").operations
    )
    assert about.cycles is not None and str(about.cycles) in str(code)
    with pytest.raises(InputError, match=r"ends in \.c"):
        code.save(tmp_path / "arm.txt")
    with pytest.raises(InputError, match="without quotes"):
        code.files('a"b')
    code.save(tmp_path / "arm.c")  # files of kinetree are replaced


@pytest.mark.parametrize("name", ["arm.h", "arm_test.c"])
def test_files_beside_the_source_are_not_replaced(name, tmp_path):
    code = kt.export(kt.robots.planar_2r(), "gravity_forces", target="c99")
    (tmp_path / name).write_text("/* mine */\n")
    with pytest.raises(InputError, match="was not written by kinetree"):
        code.save(tmp_path / "arm.c")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "/* mine */\n"


@pytest.mark.parametrize("name", ["FLT_MAX", "M_PI", "INT32_C", "k", "worst", "share", "a__b"])
def test_names_of_headers_and_of_the_self_test_are_refused_for_targets(name):
    with pytest.raises(InputError, match="for a target expected another one, such as 'robot_"):
        kt.export(kt.robots.planar_2r(), "gravity_forces", target="c99", name=name)


@pytest.mark.parametrize("target", TARGETS)
def test_the_types_of_a_target(target):
    two = kt.robots.planar_2r()
    code = kt.export(two, "gravity_forces", target=target)
    assert code.about.dtype == TARGETS[target].dtypes[0]
    assert TARGETS[target].flags in code.header
    assert ("fmaf" in code.source or "fma(" in code.source) == TARGETS[target].fused
    if target in ("cortex-m4f", "cortex-m7"):
        assert not re.search(
            r"\b(double|long|union|malloc)\b",
            code.source + code.self_test.split("#ifdef")[0].split("*/")[1],
        )
        assert not re.search(
            r"\d\.\d+(e-?\d+)?(?![\d.ef]| ulp)", code.source
        )  # every literal is a float


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "cortex-m4f", "dtype": "double"}, "float only; expected 'float'"),
        ({"target": "c99", "language": "julia"}, "in C only, not in 'julia'"),
        ({"target": "c99", "libm": True}, "libm does not apply"),
        ({"target": "c99", "driver": True}, "driver does not apply"),
        ({"target": "c99", "name": "a" * 24}, "with 24 characters; .* at most 23"),
        ({"target": "c99", "name": "weak"}, "a word of compilers for micro.*; .*'weak_'"),
    ],
)
def test_what_does_not_go_with_a_target_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        kt.export(kt.robots.planar_2r(), "inverse_dynamics", **options)


def test_an_unknown_target_is_refused_with_the_known_ones():
    with pytest.raises(NameLookupError, match=r"no target 'm4'; .*cortex-m4f"):
        kt.export(kt.robots.planar_2r(), "inverse_dynamics", target="m4")


def test_a_function_is_not_named_like_its_result():
    with pytest.raises(InputError, match=r"name is 'T', a result of the function.*'T_'"):
        kt.export(kt.robots.planar_2r(), "kinetic_energy", name="T")
    assert "T_(" in kt.export(kt.robots.planar_2r(), "kinetic_energy", name="T_")
