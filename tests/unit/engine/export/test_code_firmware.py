"""Exported C for targets: strict compilers accept it, emulated processors give the results."""

import re
import shutil

import numpy as np
import pytest
from code_robots import arguments
from firmware_boards import ARM64, DTYPES, M4F, command, compiled, run_on_board

import kinetree as kt
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError

GCC = shutil.which("gcc")
EPS = {"double": 2.0**-52, "float": 2.0**-23}
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
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
    law = kt.friction.Friction(function=friction)
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
    """1,000 states; the size is the largest torque of the state. No double comes near the code."""
    panda = kt.robots.panda()
    code = kt.export(panda, "inverse_dynamics", target="cortex-m4f", name="f")
    given = states(panda.model, trace_quantity(panda.model, "inverse_dynamics"), 1000, "float")
    found = run_on_board(code, tmp_path, given)
    expected = panda.inverse_dynamics(*[x.astype(float) for x in given])
    assert largest(found, expected, "float") <= 8
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


@pytest.mark.parametrize("name", ["arm.h", "arm_test.c"])
def test_files_beside_the_source_are_not_replaced(name, tmp_path):
    code = kt.export(kt.robots.planar_2r(), "gravity_forces", target="c99")
    (tmp_path / name).write_text("/* mine */\n")
    with pytest.raises(InputError, match="was not written by kinetree"):
        code.save(tmp_path / "arm.c")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "/* mine */\n"
