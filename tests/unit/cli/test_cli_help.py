"""Help: every command is listed and has an example, and every example runs as it stands."""

import json
import os
import re
import shutil

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.app import app
from kinetree.motion import write_csv

OTHERS = {"view", "report"}  # tested where they are written
PLATFORM = pytest.mark.skipif(
    os.name != "posix" or not shutil.which("bash"), reason="examples are lines of a POSIX shell"
)


def pages():
    """(words of the command, its docstring) of every command and subcommand."""
    for name, command in app.resolved_commands().items():
        if name.startswith("-") or name in OTHERS:
            continue
        if command.default_command is None:
            parts = {x: y for x, y in command.resolved_commands().items() if not x.startswith("-")}
            yield from ((f"{name} {x}", y.default_command.__doc__) for x, y in parts.items())
        else:
            yield name, command.default_command.__doc__


PAGES = dict(pages())


def examples(page):
    blocks = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def test_every_command_that_was_promised_is_there():
    promised = "demo info id fd terms explain equations export simulate check view cache"
    listed = {name for name in app.resolved_commands() if not name.startswith("-")}
    assert (
        set(promised.split()) | {"identify", "watch", "completion", "lint", "convert", "options"}
        <= listed
    )


@pytest.mark.parametrize("name", PAGES)
def test_every_command_has_an_example_and_then_what_its_json_has(name):
    found = examples(PAGES[name])
    assert found and any(f"kinetree {name}" in line for line in found)
    fields = PAGES[name].find("JSON has")
    assert fields > PAGES[name].find("For example") or name == "options"


@pytest.fixture(scope="module")
def outcomes(with_own_cache):
    """Every example run, in the order of the pages; one of them clears the cache."""
    program = with_own_cache
    robot = kt.robots.spatial_3r()
    (program.folder / "arm.urdf").write_text(robot.to_urdf(), encoding="utf-8")
    write_csv(recorded(robot), program.folder / "data.csv")

    return {name: [(x, run(program, x)) for x in examples(PAGES[name])] for name in PAGES}


def run(program, line):
    """Exit code, output and complaints; a line with pipes goes to the shell itself."""
    if "|" in line:
        return program.shell(line)
    return program(line.removeprefix("kinetree "), code=None)


def recorded(robot):
    """A motion of sines with the forces that it takes."""
    t = np.linspace(0, 4, 801)
    w = np.array([[2.0, 3.1, 4.3], [5.2, 1.7, 2.9]]).T[:, :, None]
    q = np.sin(w * t).sum(axis=1).T
    dq, ddq = (w * np.cos(w * t)).sum(axis=1).T, -(w**2 * np.sin(w * t)).sum(axis=1).T
    tau = robot.inverse_dynamics(q, dq, ddq)
    return kt.motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq, tau=tau, model=robot.model)


@PLATFORM
@pytest.mark.parametrize("name", PAGES)
def test_every_example_runs(outcomes, name):
    pytest.importorskip("matplotlib")
    pytest.importorskip("sympy")
    for line, found in outcomes[name]:
        assert "Traceback" not in found.stderr
        # the robot that falls leaves its limits; the inertia of the book's arm is not physical
        negative = (name == "check" and "check" in line) or "lint arm.urdf" in line
        assert found.returncode == (1 if negative else 0), (line, found.stderr)
        assert found.stdout or "-o" in line
        if "--json" in line:
            assert all(json.loads(x) for x in found.stdout.splitlines())


def test_the_page_of_a_command_is_its_own(program):
    found = program("simulate --help").stdout
    assert "kinetree simulate double_pendulum --q 1.5 0" in found and "--controller" in found
    assert "kinetree options explains" in found and "--floating" not in found.split("share:")[0]


def test_shared_options_are_explained_once(program):
    found = program("options").stdout
    for word in ("--floating", "--no-mimic", "--folder", "--strict", "--columns", "--topic"):
        assert word in found and program("info --help").stdout.count(word) <= 1, word
    assert program("options --help").stdout == found


WORDS = {
    "symbolic": "equations", "dynamics": "id", "inverse-dynamics": "id", "plot": "view",
    "show": "view", "validate": "lint", "urdf2mjcf": "convert", "simulat": "simulate",
}  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_words_of_other_programs_suggest_the_command(program, word):
    found = program(f"{word} panda", code=2).stderr
    assert f"there is no command {word!r}. Did you mean '{WORDS[word]}'? " in found, found


def test_help_says_exit_codes_and_robots(program):
    found = " ".join(program("--help").stdout.split())
    for words in ("0 fine", "1 the verdict is negative", "2 wrong usage", "130 interrupted", "141"):
        assert words in found
    for name in kt.robots.__all__:
        assert name in found
