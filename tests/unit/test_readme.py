"""The README's snippets and commands print what it says, and what its tables name exists."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree as kt

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


COMMANDS = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, re.DOTALL)
OUTPUTS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


def test_the_first_snippet_has_the_lines_that_its_title_says():
    assert "## In eight lines" in README.partition("```python")[0]
    assert len([line for line in SNIPPETS[0].splitlines() if line.strip()]) == 8


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_every_snippet_runs(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})


@pytest.mark.parametrize("snippet, output", OUTPUTS)
def test_a_snippet_prints_what_stands_beneath_it(snippet, output, capsys):
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out == output


def test_the_first_snippet_shows_its_output():
    assert OUTPUTS[0][0] == SNIPPETS[0]


@pytest.mark.parametrize("command, output", COMMANDS)
def test_a_command_prints_what_stands_beneath_it(command, output):
    kinetree, *rest = shlex.split(command)
    assert kinetree == "kinetree"
    found = subprocess.run(
        [sys.executable, "-m", "kinetree", *rest],
        capture_output=True, text=True, encoding="utf-8", check=True,
        env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert [line.rstrip() for line in found.stdout.rstrip().splitlines()] == output.splitlines()


def test_every_name_of_the_robot_exists():
    """`robot.x` and what follows it in the same cell."""
    robot, found = kt.robots.puma_560(), set()
    for line in README.splitlines():
        if line.startswith("|"):
            found |= set(re.findall(r"`robot\.(\w+)", line))
            found |= set(re.findall(r"`(\w+_\w+)`", line.partition("`robot.")[2]))
    assert len(found) > 20
    known = {*dir(type(robot)), *vars(robot)}
    assert found - known == set()


def test_every_name_of_kinetree_exists():
    for path in re.findall(r"\bkt\.([\w.]+)", README):
        thing = kt
        for name in path.rstrip(".").split("."):
            assert hasattr(thing, name), path
            thing = getattr(thing, name)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_every_link_leads_somewhere(link):
    assert (ROOT / link).exists()


def test_every_command_of_make_exists():
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:`|^    )make ([a-z]+)", README, re.MULTILINE))
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", rules, re.MULTILINE), target
