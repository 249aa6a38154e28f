"""The README is short, its snippets print what it says, and its commands and links exist."""

import re
import shlex
import struct
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.cli.app import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README, re.DOTALL)
COMMANDS = re.findall(r"^    (kinetree .*?)(?:  +#.*)?$", README, re.MULTILINE)
MAX_WORDS = 700  # without tables, code and comments
MAX_PICTURE_BYTES = 100_000


def test_the_readme_is_read_in_a_minute():
    hidden = r"```.*?```|<!--.*?-->|<picture>.*?</picture>|^(?:\||    )[^\n]*$"
    text = re.sub(hidden, "", README, flags=re.DOTALL | re.MULTILINE)
    assert 300 < len(text.split()) <= MAX_WORDS


def test_the_installation_takes_four_lines():
    section = README.partition("## Install")[2].partition("\n[")[0]
    assert len([line for line in section.splitlines() if line.startswith("    ")]) == 4


def test_every_picture_has_a_twin_for_dark_screens_and_is_small():
    pictures = re.findall(r"<picture>(.*?)</picture>", README, re.DOTALL)
    assert len(pictures) == 4
    for picture in pictures:
        (dark,), (light,) = (re.findall(rf'\b{x}="([^"]+)"', picture) for x in ("srcset", "src"))
        assert dark == light.replace(".", "_dark.") and re.search(r'alt="\w', picture)
        for name in (dark, light):
            data = (ROOT / name).read_bytes()
            assert data.startswith((b"GIF89a", b"\x89PNG"))
            assert name.endswith(".gif") or len(data) < MAX_PICTURE_BYTES


def test_the_first_snippet_has_the_lines_that_its_title_states_and_its_output():
    assert "## In eight lines" in README.partition("```python")[0]
    code, printed = SNIPPETS[0]
    assert len([line for line in code.splitlines() if line.strip()]) == 8 and printed


@pytest.mark.parametrize(("snippet", "printed"), SNIPPETS, ids=range(len(SNIPPETS)))
def test_every_snippet_runs_and_prints_what_stands_beneath_it(
    snippet, printed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    assert not printed or capsys.readouterr().out == printed


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one_of_the_program(line):
    _, *words = shlex.split(line)
    command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    assert command.__name__ == words[0] and bound.arguments


def test_the_movie_on_the_first_screen_moves_and_is_small():
    screen = README.partition("## Install")[0]
    names = re.findall(r'(?:src|srcset)="([^"]+\.gif)"', screen)
    assert len(names) == 2 and "kinetree render" in screen
    for name in names:
        data = (ROOT / name).read_bytes()
        assert len(data) < 1_500_000 and data.startswith(b"GIF89a")
        assert data[6:10] == struct.pack("<HH", 480, 360)
        assert data.count(b"\x21\xf9\x04") > 20  # frames


def test_every_name_of_the_robot_exists():
    robot = kt.robots.puma_560()
    names = set(re.findall(r"`robot\.(\w+)\(", README))
    assert names and names - {*dir(type(robot)), *vars(robot)} == set()


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
