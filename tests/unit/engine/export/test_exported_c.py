"""Exported C: strict compilers accept it, and its self-test agrees with the kernel."""

import re
import shutil

import numpy as np
import pytest
from c_programs import GCC, command, needs_board, needs_gcc, passes_on_board, self_test
from code_robots import code_robot

import kinetree as kt
from kinetree.errors import GraphError, InputError

DTYPES = ["double", "float"]
CASES = [
    ("full", "inverse_dynamics", {"wrenches": True}),
    ("full", "link_poses", {}),
    ("sprung", "inverse_dynamics", {"free": ("springs",)}),
    ("scara", "forward_dynamics", {"wrenches": True}),
    ("scara", "step_implicitfast", {}),
    ("scara", "kinetic_energy", {}),
    ("four_bar", "constrained_forward_dynamics", {}),
    ("planar_2r", "inverse_dynamics", {"free": ("mass", "com", "gravity")}),
]
IDS = [" ".join([key, quantity, *options]) for key, quantity, options in CASES]


def robot(key: str) -> kt.Robot:
    return code_robot(key) if key in ("full", "sprung") else getattr(kt.robots, key)()


@needs_gcc
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("key", "quantity", "options"), CASES, ids=IDS)
def test_every_quantity_passes_its_self_test(key, quantity, options, dtype, tmp_path):
    code = kt.export(robot(key), quantity, dtype=dtype, name="f", **options)
    shown = self_test(code, tmp_path)
    assert re.fullmatch(r"8 states, largest difference 0\.\d\d of the allowed one: passed\n", shown)


def walker() -> kt.Robot:
    """A quadruped with a ball at each shank, whose contacts are found by loops."""
    robot = kt.robots.quadruped()
    shanks = [name for name in robot.model.link_names if name.endswith("shank")]
    foot = kt.contacts.ContactPoint
    return robot.with_contacts(
        [foot(x, x, (0, 0, -0.2), radius=0.02, friction=0.7) for x in shanks]
    )


@needs_gcc
@pytest.mark.parametrize("quantity", ["step_implicit", "contact_inverse_dynamics"])
def test_loops_are_written_in_c(quantity, tmp_path):
    code = kt.export(walker(), quantity, name="f")
    assert "for (long x" in code.source
    assert self_test(code, tmp_path).endswith("passed\n")


def test_loops_that_cannot_be_written_are_refused():
    with pytest.raises(GraphError):
        kt.export(walker(), "step_implicit", "casadi")


@needs_gcc
def test_the_self_test_finds_a_wrong_result(tmp_path):
    code = kt.export(kt.robots.planar_2r(), "inverse_dynamics", name="f")
    self_test(code, tmp_path)
    for damage in ("1.0000001 * x", "(0.0 / 0.0) * x"):
        assert code.source.count("    tau[1] = x") == 1
        (tmp_path / "f.c").write_text(code.source.replace("tau[1] = x", f"tau[1] = {damage}"))
        files = (tmp_path / "f.c", tmp_path / "f_test.c", "-o", tmp_path / "wrong", "-lm")
        command(GCC, "-DKINETREE_SELF_TEST_MAIN", *files)
        assert "FAILED" in command(tmp_path / "wrong", check=False)


@needs_gcc
def test_no_operation_on_floats_is_a_double(tmp_path):
    """tanh, exp, log and atan2 in the friction of a robot."""

    def friction(dq):
        s = kt.scalars
        return 0.4 * s.tanh(3 * dq) * s.exp(-dq * dq) + s.log(1 + dq * dq) * s.atan2(dq, 0.3)

    builder = kt.Builder("smooth").link("base").link("arm", 1.3, (0.2, 0, 0.1), np.eye(3) * 0.02)
    law = kt.friction.Friction(function=friction)
    builder.joint("j", "revolute", "base", "arm", axis=(0, 1, 0), friction=law)
    code = kt.export(builder.build(), "inverse_dynamics", dtype="float", name="f")
    for op in ("tanhf", "expf", "logf", "atan2f"):
        assert f"{op}(" in code.source
    assert "double" not in code.source
    assert self_test(code, tmp_path).endswith("passed\n")


@needs_board
def test_the_self_test_passes_on_a_cortex_m4(tmp_path):
    code = kt.export(kt.robots.panda(), "inverse_dynamics", dtype="float", name="f")
    assert passes_on_board(code, tmp_path)
    at = code.source.index("    tau[1] = ")
    wrong = {**code.texts, ".c": f"{code.source[:at]}    tau[1] = 1.01f *{code.source[at + 12 :]}"}
    assert not passes_on_board(type(code)("f", wrong), tmp_path)


@needs_gcc
def test_the_header_serves_cpp(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    code = kt.export(kt.robots.planar_2r(), "inverse_dynamics", name="f")
    code.save(tmp_path / "f.c")
    main = '#include "f.h"\n#include "f.h"\nint main() { double w; return f_self_test(&w); }\n'
    (tmp_path / "main.cpp").write_text(main)
    objects = [tmp_path / "f.o", tmp_path / "f_test.o"]
    for x in objects:
        command(GCC, "-c", x.with_suffix(".c"), "-o", x)
    strict = ("-Wall", "-Wextra", "-Werror")
    command("g++", *strict, tmp_path / "main.cpp", *objects, "-o", tmp_path / "main", "-lm")
    command(tmp_path / "main")


@pytest.mark.parametrize("name", ["arm.h", "arm_test.c"])
def test_files_beside_the_source_are_not_replaced(name, tmp_path):
    code = kt.export(kt.robots.planar_2r(), "gravity_forces")
    (tmp_path / name).write_text("/* mine */\n")
    with pytest.raises(InputError, match="was not written by kinetree"):
        code.save(tmp_path / "arm.c")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    (tmp_path / name).unlink()
    code.save(tmp_path / "arm.c")
    code.save(tmp_path / "arm.c")  # its own files are


HOSTILE = 'evil */ int main(void){return 1;} /* """ \\\n#include <x>\r%{ \u2028 \u00e9 ??/'


@pytest.mark.parametrize("language", ["c", "matlab", "casadi"])
def test_names_cannot_leave_their_comment(language):
    builder = kt.Builder(HOSTILE).link("base").link("arm", 1.0)
    builder.joint(HOSTILE, "revolute", "base", "arm", axis=(0, 1, 0))
    code = kt.export(builder.build(), "inverse_dynamics", language)
    for text in code.texts.values():
        comment = {"c": "/\\* [\\s\\S]*?\\*/", "matlab": "%.*", "casadi": "#.*"}[language]
        outside = re.sub(comment, "", text)
        assert "main(void){" not in outside and "<x>" not in outside
        assert "??" not in text and text.isascii()
