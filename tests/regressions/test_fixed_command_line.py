"""The command line moves what is named, repeats what was typed, and refuses what it cannot use."""

import ast
import json
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from cli_program import Program
from kinetree.views.workbench import view

READY = [0, -0.3, 0, -2, 0, 1.8, 0.5]
TYPED = " ".join(str(x) for x in READY)


@pytest.fixture(scope="module")
def program(tmp_path_factory, server):
    return Program(tmp_path_factory.mktemp("fixed_cli"), server)


@pytest.mark.parametrize(
    "line",
    [
        f"plan panda --q {TYPED} --to panda_joint1=1",
        f"plan panda --q {TYPED} --to panda_joint1=1 --time-optimal",
        f"simulate panda --q {TYPED} --controller computed-torque --to panda_joint1=1",
        f"optimize panda --from {TYPED} --to panda_joint1=1 --duration 1 --dt 0.05",
    ],
)
def test_only_the_named_joint_moves_to_the_goal(program, line):
    q = np.array(program.json(line, code=None)["q"])
    goal = [1, *READY[1:]]
    np.testing.assert_allclose(q[0], READY)
    np.testing.assert_allclose(q[-1], goal, atol=2e-3)


def test_each_waypoint_keeps_the_joints_that_it_does_not_name(program):
    line = "plan ur5e --q elbow=0.3 --to wrist_1=0.5 / elbow=0.6 / wrist_1=0.1"
    found = program.json(line)
    q = np.array(found["q"])[:, [found["coordinates"].index(x) for x in ("elbow", "wrist_1")]]
    np.testing.assert_allclose(q[[0, -1]], [[0.3, 0], [0.6, 0.1]], atol=1e-12)
    for waypoint in ([0.3, 0.5], [0.6, 0.5]):
        assert np.abs(q - waypoint).max(axis=1).min() < 1e-2


def test_a_controller_without_a_goal_holds_the_start(program):
    gains = "--controller pd-gravity --kp 50 --kd 9 --duration 0.5"
    q = np.array(program.json(f"simulate double_pendulum --q 0.4 -0.2 {gains}")["q"])
    np.testing.assert_allclose(q, np.broadcast_to([0.4, -0.2], q.shape), atol=1e-9)


def test_the_other_motor_of_a_mechanism_stays(program):
    line = "simulate five_bar --q left=2 right=1 --controller computed-torque --to left=2.1"
    found = program.json(f"{line} --duration 1")
    at = [found["coordinates"].index(name) for name in ("left", "right")]
    np.testing.assert_allclose(np.array(found["q"])[-1][at], [2.1, 1], atol=2e-3)


def test_help_says_what_joints_without_a_name_do(program):
    for command in ("plan", "simulate", "optimize"):
        words = " ".join(program(f"{command} --help").stdout.replace("│", " ").split())
        assert "not named" in words


# names that look like Python, like messages, like markup, or that need quotes
HOSTILE = (
    "strict=True", "q0=1", "limits='record'", 'method="rk4"', "it's \"both\"", "{0} {name}",
    "[bold]x[/bold] [/]", "a  b", "Did you mean x?", "\u00e9\u03b1\u4e2d\U0001f916", "1\u00a0m",
    "\\1 \\g<0>", "read the file with mimic=False", "(in Python, model)", "dt is 1",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_the_name_of_a_file_is_repeated_as_it_was_typed(program, name):
    assert f"there is no file {name}.urdf;" in program(["info", f"{name}.urdf"], code=2).stderr
    assert f"there is no file {name}.csv;" in program(["id", "panda", f"{name}.csv"], code=2).stderr


@pytest.mark.parametrize("name", HOSTILE)
def test_a_word_that_the_parser_refuses_is_repeated_as_it_was_typed(program, name):
    for line in (
        ["demo", name],
        [name],
        ["simulate", "planar_2r", "--duration", name],
        ["export", "planar_2r", "--language", name],
        ["id", "planar_2r", f"--json={name}"],
    ):
        assert name in program(line, code=2).stderr, line
    line = ["id", "panda", f"--no-{name}"]
    assert f"Unknown option: --no-{name}." in program(line, code=2).stderr
    assert "words: -." in program(["demo", "-"], code=2).stderr


@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_a_robot_file_are_shown_as_they_are(program, name):
    arm = kt.Builder(name).link("base").link(name, m=1, com=(0.1, 0, 0), I_com=np.eye(3))
    limits = kt.joints.Limits(lower=-1, upper=1, effort=1)
    arm.joint(name, "revolute", "base", name, axis=(0, 0, 1), limits=limits)
    path = program.folder / "arm.urdf"
    path.write_text(kt.convert.to_urdf(arm.build()), encoding="utf-8")
    for line, words in {
        ("--q", "nothing=1"): f"expected some of {name}.",
        ("--q", "3"): f"beyond the limits: {name} = 3 rad",
        ("--q", "3", "4"): f"{name!r} needs 1: {name}.",
    }.items():
        assert words in program(["id", path.name, *line], code=None).stderr
    text = program(["simulate", path.name, "--tau", "5", "--limits", "error"], code=2).stderr
    assert f"joint {name!r} is 4 N m beyond" in text


def refused(bench, what, request):
    """The error with which a workbench answers a request."""
    place = bench.address.rstrip("/")
    headers = {"Content-Type": "application/json", "Origin": place[: place.index("/", 8)]}
    body = json.dumps(request).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(f"{place}/api/{what}", body, headers))
    except urllib.error.HTTPError as error:
        return json.loads(error.read())["error"]


def test_the_workbench_repeats_names_as_they_were_typed():
    with view(kt.robots.planar_2r(), browser=False) as bench:
        for name in HOSTILE:
            assert f"the robot {name!r} " in refused(bench, "open", {"name": name})
            state = {"robot": "given", "q": [0, 0], "frame": name}
            assert f"no frame {name!r};" in refused(bench, "readings", state)


# arguments of pictures and stairs

WRONG_PICTURES = {
    "size": ["640x480", 640, None, ("a", "b"), (640.5, 480), (float("nan"), 480), (1, 2, 3)],
    "fps": ["a", None], "speed": ["a"], "zoom": ["a", None], "theme": [["light"], 3],
    "camera": ["a", 3, (1,), (1, 2, 3), ("a", "b")], "add": ["trace", 3, [3]],
    "hide": ["floor", None], "plans": [3, [3]], "path": [3, None], "trajectory": [3],
    "drawn": [3], "progress": [3],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_PICTURES)
def test_wrong_arguments_of_a_picture_are_refused_by_name(tmp_path, name):
    robot = kt.robots.planar_2r()
    for value in WRONG_PICTURES[name]:
        given = {"path": tmp_path / "a.gif", name: value}
        with pytest.raises(kt.errors.KinetreeError, match=name):
            kt.views.render(robot, **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("count", [2.5, "3", True, None, float("nan"), 0, -1, [3]])
def test_stairs_have_a_whole_number_of_steps(count):
    with pytest.raises(kt.errors.KinetreeError, match="count"):
        kt.contacts.stairs(count, 0.3, 0.1, 1)
    assert len(kt.contacts.stairs(3, 0.3, 0.1, 1).boxes) == 3


@pytest.mark.parametrize("wrong", ["0.3", None, [0.3], 0, -0.1, float("nan")])
def test_the_lengths_of_stairs_are_numbers_above_zero(wrong):
    for lengths in ((wrong, 0.1, 1), (0.3, wrong, 1), (0.3, 0.1, wrong)):
        with pytest.raises(kt.errors.KinetreeError):
            kt.contacts.stairs(3, *lengths)


# the documentation as a new user meets it

ROOT = Path(__file__).parents[2]
README = re.sub(
    r"<!--.*?-->", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
)
SHELL = re.findall(r"(?:^    .*\n)+|(?<=^```sh\n)(?:.*\n)*?(?=```)", README, re.MULTILINE)
FIGURE = re.compile(r"^ *```\{(?:plot|scene|picture)\}.*?^ *```", re.DOTALL | re.MULTILINE)
SNIPPET = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
DRAWN = {"kinetree", "numpy", "sympy", "matplotlib", *sys.stdlib_module_names}


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_every_shell_block_of_the_readme_can_be_pasted():
    assert SHELL
    for block in SHELL:
        found = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
        assert found.returncode == 0, f"{block}{found.stderr}"


def imported(code):
    """First words of the modules that a piece of code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (x.name.partition(".")[0] for x in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


def test_figures_need_no_more_packages_than_the_extra_docs_installs():
    pages = [x.read_text(encoding="utf-8") for x in sorted((ROOT / "docs").rglob("*.md"))]
    for text, figure in ((page, x) for page in pages for x in FIGURE.finditer(page)):
        codes = [x[2] for x in SNIPPET.finditer(text) if x.end() <= figure.start()]
        chosen = re.search(r":snippets: (.*)", figure[0])
        if chosen:
            codes = [codes[int(k) - 1] for k in re.findall(r"\d+", chosen[1])]
        assert {name for code in codes for name in imported(code)} <= DRAWN, figure[0]
