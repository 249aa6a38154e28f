"""README and all pages: what they name exists; the snippets of README run."""

import importlib
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

import kinetree as kt

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", TEXT, re.DOTALL)
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = r"`kinetree ([a-z]+ [^`]+)`|^    kinetree (.*?)(?:  +#.*)?$"
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.parametrize(("snippet", "printed"), SNIPPETS, ids=range(len(SNIPPETS)))
def test_every_snippet_runs_and_prints_what_stands_beneath_it(
    snippet, printed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    assert not printed or capsys.readouterr().out == printed


@each_page
def test_every_name_of_a_robot_exists(page):
    """`robot.x`, and what follows it in the same cell of a table."""
    robot = kt.robots.puma_560()
    names: set[str] = set()
    for line in page.read_text("utf8").splitlines():
        kept = line.split("|", 2)[2] if line.startswith("|") else line
        names |= set(re.findall(r"(?<![\w.])robot\.(?!urdf|xml|sdf|html|md)(\w+)", kept))
        if line.startswith("|"):
            names |= set(re.findall(r"`(\w+_\w+)`", kept.partition("`robot.")[2]))
    assert names - {*dir(type(robot)), *vars(robot)} == set()


@each_page
def test_every_name_of_kinetree_exists(page):
    for path in re.findall(r"\bkt\.([\w.]+)", page.read_text("utf8")):
        thing = kt
        for name in path.rstrip(".").split("."):
            assert hasattr(thing, name), path
            thing = getattr(thing, name)


@pytest.fixture(scope="module")
def options(program):
    """The options of a command by its help."""

    @cache
    def found(name):
        words = program(f"{name} --help").stdout + program("options").stdout
        return set(re.findall(r"(?<!\S)-{1,2}[a-z][a-z-]*", words))

    return found


@each_page
def test_every_command_and_its_options_exist(page, options):
    for pair in re.findall(COMMANDS, page.read_text("utf8"), re.MULTILINE):
        name, *words = shlex.split("".join(pair).rstrip("\\"))
        typed = {word.split("=")[0] for word in words if re.match(r"-{1,2}[a-z]", word)}
        assert typed <= options(name), (name, typed - options(name))


@each_page
def test_every_link_leads_somewhere(page):
    for link in re.findall(r"\]\((?!http|#)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize(("prefix", "module"), [("pin", "pinocchio"), ("mujoco", "mujoco")])
def test_every_call_of_another_library_exists(prefix, module):
    library = pytest.importorskip(module)
    text = (ROOT / "docs" / "notation.md").read_text("utf8")
    calls = set(re.findall(rf"\b{prefix}\.(\w+(?:\.\w+)*)", text))
    assert len(calls) > 10
    for call in calls:
        thing = library
        for name in call.split("."):
            if not hasattr(thing, name):
                thing = importlib.import_module(f"{thing.__name__}.{name}")
            else:
                thing = getattr(thing, name)


def test_every_command_of_make_exists():
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:`|^    )make ([a-z]+)", TEXT, re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert all(re.search(rf"^{target}:", rules, re.MULTILINE) for target in targets)
