"""The README's snippet runs, its shapes are as said, and what its tables name exists."""

import re
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_first_snippet_has_the_lines_that_its_title_says():
    assert "## In eight lines" in README.partition("```python")[0]
    assert len([line for line in SNIPPETS[0].splitlines() if line.strip()]) == 8


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_every_snippet_runs(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})


def test_the_shapes_of_the_first_are_as_said():
    names = {}
    exec(compile(SNIPPETS[0], "README.md", "exec"), names)
    robot = names["robot"]
    assert isinstance(robot, kt.Robot)
    shape = re.search(r"tau = .*# \((\d+), (\d+)\)", SNIPPETS[0])
    assert names["tau"].shape == tuple(map(int, shape.groups())) == (1000, 6)
    assert names["M"].shape == names["C"].shape == (1000, 6, 6)
    assert names["g"].shape == names["ddq"].shape == (1000, 6)
    # the forces of rest leave the robot at rest
    assert np.abs(names["ddq"]).max() < 1e-12
    np.testing.assert_allclose(names["steps"].tau, names["tau"][0], atol=1e-12)


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
