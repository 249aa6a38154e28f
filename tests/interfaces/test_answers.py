"""Answers stay short, and the calls that they and the page of tasks name exist."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.cli.app import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
ANSWERS = sorted((DOCS / "answers").glob("*.md"))
PAGES = [DOCS / "tasks.md", *ANSWERS]
MAX_PROSE_WORDS = 200
MAX_TOTAL_WORDS = 4500
COMMANDS = sorted(
    {x for page in PAGES for x in re.findall(r"`kinetree ([a-z]+ [^`]+)`", page.read_text("utf8"))}
)


@pytest.mark.parametrize("page", ANSWERS, ids=lambda page: page.stem)
def test_an_answer_is_short(page):
    text = re.sub(r"```.*?```|^\|.*$", "", page.read_text("utf8"), flags=re.DOTALL | re.MULTILINE)
    assert len(text.split()) <= MAX_PROSE_WORDS


def test_all_answers_are_short():
    assert sum(len(page.read_text("utf8").split()) for page in ANSWERS) < MAX_TOTAL_WORDS


def test_every_answer_is_in_the_contents():
    contents = (DOCS / "answers" / "index.md").read_text("utf8").split()
    assert {page.stem for page in ANSWERS} - set(contents) == {"index"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_of_a_robot_exists(page):
    """`robot.x`, and what follows it in the same cell of a table."""
    robot = kt.robots.puma_560()
    names: set[str] = set()
    for line in page.read_text("utf8").splitlines():
        kept = line.split("|", 2)[2] if line.startswith("|") else line
        names |= set(re.findall(r"(?<!\w)robot\.(?!urdf|xml|sdf|html)(\w+)", kept))
        if line.startswith("|"):
            names |= set(re.findall(r"`(\w+_\w+)`", kept.partition("`robot.")[2]))
    assert names - {*dir(type(robot)), *vars(robot)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_of_kinetree_exists(page):
    for path in re.findall(r"\bkt\.([\w.]+)", page.read_text("utf8")):
        thing = kt
        for name in path.rstrip(".").split("."):
            assert hasattr(thing, name), path
            thing = getattr(thing, name)


@pytest.mark.parametrize(
    ("page", "prefix", "module"),
    [("from_pinocchio", "pin", "pinocchio"), ("from_mujoco", "mujoco", "mujoco")],
)
def test_every_call_of_another_library_exists(page, prefix, module):
    library = pytest.importorskip(module)
    text = (DOCS / "answers" / f"{page}.md").read_text("utf8")
    calls = set(re.findall(rf"\b{prefix}\.(\w+(?:\.\w+)*)", text))
    assert len(calls) > 10
    for call in calls:
        thing = library
        for name in call.split("."):
            if not hasattr(thing, name):
                thing = importlib.import_module(f"{thing.__name__}.{name}")
            else:
                thing = getattr(thing, name)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one_of_the_program(line):
    words = shlex.split(line)
    if words[0] in {"lint", "size"} and words[0] not in app:
        pytest.skip(f"the program has no command {words[0]} yet")
    words = [word for word in words if word != "..."]
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert words[0] in app and bound.arguments
