"""Exported text: its header, its operations, its names, and the errors on the way."""

import dataclasses
import re
import shutil
import subprocess

import pytest
from code_robots import full_robot, real_robot

import kinetree as kt
from kinetree.algorithms.quantities import DERIVED, QUANTITIES, WHOLE_BODY
from kinetree.engine.export import LANGUAGES, export
from kinetree.engine.export.names import KEYWORDS, identifier
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError, KinetreeError, NameLookupError

STATEMENT = re.compile(r"^\s*(?:const \w+ )?x\d+ = (.*?);?$")
COMMENTS = {"c": "//", "cpp": "//", "numpy": "#", "matlab": "%", "julia": "#", "casadi": "#"}


def counted_operations(text: str) -> int:
    """Operators in the statements of the text: binary ones, leading minus signs, fma twice."""
    total = 0
    for line in text.splitlines():
        found = STATEMENT.match(line)
        if found:
            value = found[1]
            total += 2 * len(re.findall(r"\bfmaf?\(", value)) + len(re.findall(r" [-+*/] ", value))
            total += bool(re.match(r"-[a-zA-Z]", value))
    return total


def counted_calls(text: str) -> int:
    """Angles whose sine or cosine is asked for, each asked for once."""
    body = text[text.index("x0") :]
    return len(re.findall(r"\b(?:sin|cos|sinf|cosf)\(", body))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", ["panda", "talos"])
def test_operations_of_the_text_are_those_of_the_graph(key, language):
    robot = real_robot(key)
    graph = trace_quantity(robot.model, "inverse_dynamics")
    libm = {"libm": True} if language in ("c", "cpp") else {}
    text = export(robot, "inverse_dynamics", language, **libm)
    count = graph.count()
    assert counted_operations(text) == graph.operations > 500
    assert counted_calls(text) == count["sin"] + count["cos"]
    assert f"{graph.operations} operations" in text


@pytest.mark.parametrize("language", ["c", "numpy"])
@pytest.mark.parametrize("quantity", [*QUANTITIES, *DERIVED, *WHOLE_BODY])
def test_every_quantity_is_written_operation_by_operation(quantity, language):
    robot = full_robot(functions=False)
    graph = trace_quantity(robot.model, quantity)
    text = export(robot, quantity, language)
    assert counted_operations(text) == graph.operations
    assert text.endswith("\n") and "\t" not in text and text.isascii()


def test_axes_and_rows_of_a_task_are_named():
    text = export(kt.robots.planar_2r(), "task_space", expressed="aligned", rows=(3, 4))
    assert "planar_2R_task_space_aligned" in text and "in the axes of the space frame" in text
    assert "Rows of the task: linear_x, linear_y." in text and "Lambda (2, 2)" in text
    assert "NaN where a singular value of J is not above 1e-6" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_header_says_names_units_conventions_and_version(language):
    robot = kt.robots.rp()
    text = export(robot, "inverse_dynamics", language, wrenches=True)
    header = [line for line in text.splitlines() if line.startswith(COMMENTS[language])]
    words = "\n".join(header)
    for part in (
        "tau = M ddq + h - J^T F_ext", "joint1  rad", "joint2  m", "rad/s, N m", "m/s, N",
        "SI units, radians", "angular first", "act ON the links", "(0, -9.81, 0) m/s^2",
        f"kinetree {kt.__version__}", "operations", "F_ext (2, 6)",
    ):  # fmt: skip
        assert part in words, part
    first = "1" if language in ("matlab", "julia") else "0"
    assert re.search(rf"^\S+ +{first}  joint1  rad$", words, re.M)


def test_the_header_does_not_speak_of_what_is_not_there():
    text = export(kt.robots.rp(), "mass_matrix")
    assert "9.81" not in text and "F_ext" not in text and "Entries of dq" not in text
    assert "J^T F_ext" not in export(kt.robots.rp(), "inverse_dynamics")


def test_quaternions_and_followers_are_explained():
    text = export(full_robot(), "inverse_dynamics")
    model = full_robot().model
    for name in (*model.coordinate_names, *model.dof_names):
        assert f"  {name} " in text
    followers = [joint for joint in model.joints if joint.follows is not None]
    assert followers
    for joint in followers:
        assert f"Joint {joint.name} follows {joint.follows}" in text


def test_the_same_robot_gives_the_same_text():
    assert export(kt.robots.scara(), "mass_matrix") == export(
        kt.robots.scara().model, "mass_matrix"
    )


HOSTILE = 'evil */ int main(void){return 1;} /* """ \\\n#include <x>\r%{ \u2028 \u00e9 ??/'


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_cannot_leave_their_comment(language):
    model = kt.robots.rp().model
    joints = tuple(dataclasses.replace(joint, name=HOSTILE) for joint in model.joints)
    model = model.replace(name=HOSTILE, joints=joints)
    text = export(model, "inverse_dynamics", language)
    mark = COMMENTS[language]
    outside = [line for line in text.splitlines() if not line.startswith(mark)]
    assert not any("main(void)" in line or "<x>" in line for line in outside)
    assert "\\" not in text and "??" not in text and text.isascii()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_hostile_name_compiles(tmp_path):
    model = kt.robots.rp().model.replace(name=HOSTILE)
    (tmp_path / "f.c").write_text(export(model, "inverse_dynamics"))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "f.c"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_a_name_of_ones_own():
    text = export(kt.robots.rp(), "mass_matrix", name="my_M")
    assert "def mass_matrix(q)" in export(
        kt.robots.rp(), "mass_matrix", "numpy", name="mass_matrix"
    )
    assert "void my_M(const double q[2], double M[4])" in text
    assert "#ifndef KINETREE_my_M_HPP" in export(kt.robots.rp(), "mass_matrix", "cpp", name="my_M")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("case", "a word of MATLAB; expected one that is free .* 'case_'"),
        ("xor", "a word of C++"),
        ("None", "a word of Python"),
        ("none", "a word of Python"),
        ("match", "a word of Python"),
        ("endif", "a word of MATLAB"),
        ("outer", "a word of Julia"),
        ("linux", "a word of C"),
        ("gamma", "a word of the C library"),
        ("sinf", "a word of the C library"),
        ("tau", "a name inside"),
        ("x7", "a name inside"),
        ("arm_sincos", "a name inside"),
        ("my M!", "letters, digits and underscores.* 'my_M'"),
        ("7up", "a letter first, such as 'robot_7up'"),
        ("_arm", "such as 'arm'"),
        ("été", "ASCII"),
        ("", "such as 'robot'"),
        ("a" * 64, "at most 63"),
        (7, "expected the name of a function"),
    ],
)
@pytest.mark.parametrize("language", ["c", "casadi"])
def test_names_that_a_language_keeps_are_refused_in_all(name, words, language):
    """Changed names could meet: "case" and "case_" would be one function."""
    with pytest.raises(InputError, match=words.replace("+", r"\+")):
        export(kt.robots.rp(), "mass_matrix", language, name=name)


WORDS = [word for words in KEYWORDS.values() for word in words.split()]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_suggested_names_compile_side_by_side(tmp_path):
    """All of them in one file: each has its own name, and none is the library's."""
    texts = [
        export(kt.robots.rp(), "gravity_forces", name=identifier(word)) for word in sorted(
            {w.lower() for w in WORDS}
        )
    ]  # fmt: skip
    (tmp_path / "f.c").write_text("#include <stdlib.h>\n#include <stdio.h>\n" + "".join(texts))
    command = ["gcc", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "f.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    for language in ("numpy", "casadi"):
        for word in ("case", "xor", "None", "match"):
            compile(export(kt.robots.rp(), "pose", language, name=identifier(word)), word, "exec")


def test_frames_are_named():
    panda = real_robot("panda")
    frame = list(panda.model.frames)[-1]
    text = export(panda, "pose", frame=frame)
    assert f'Frame "{frame}".' in text and f"pose_{frame}(" in text
    assert 'Frame "tool".' in export(kt.robots.panda(), "pose")


@pytest.mark.parametrize(
    ("error", "match", "arguments", "options"),
    [
        (
            NameLookupError,
            "no language 'cobol'; expected one of c, cpp, numpy",
            ("mass_matrix", "cobol"),
            {},
        ),
        (NameLookupError, "no language None", ("mass_matrix", None), {}),
        (NameLookupError, "no quantity 'mass'.*mass_matrix", ("mass",), {}),
        (InputError, "dtype is 'half'", ("mass_matrix",), {"dtype": "half"}),
        (InputError, "does not depend on external wrenches", ("mass_matrix",), {"wrenches": True}),
        (InputError, "has no frame", ("mass_matrix",), {"frame": "tool"}),
        (NameLookupError, "no frame 'hook'", ("pose",), {"frame": "hook"}),
        (InputError, "'length' cannot be left free", ("mass_matrix",), {"free": ["length"]}),
        (InputError, "driver", ("mass_matrix", "julia"), {"driver": True}),
        (InputError, "driver", ("mass_matrix",), {"driver": True, "libm": True}),
        (InputError, "libm applies to C", ("mass_matrix", "numpy"), {"libm": True}),
        (InputError, "CasADi computes in double", ("mass_matrix", "casadi"), {"dtype": "float"}),
    ],
)
def test_errors_say_the_choices(error, match, arguments, options):
    with pytest.raises(error, match=match):
        export(kt.robots.rp(), *arguments, **options)


def test_a_robot_without_joints_has_nothing_to_export():
    model = kt.Builder("post").link("base").build_model()
    with pytest.raises(KinetreeError, match="no joint that moves"):
        export(model, "inverse_dynamics")


def test_aliases_are_the_same_language():
    robot = kt.robots.rp()
    for alias, language in (("c++", "cpp"), ("python", "numpy"), ("octave", "matlab")):
        assert export(robot, "mass_matrix", alias) == export(robot, "mass_matrix", language)
