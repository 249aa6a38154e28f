"""The real program in a process of its own: what it prints, its exit codes, never a traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree
from kinetree.robots.exercises import EXERCISES

# every number that the course prints
PRINTED = """
    -12.3727 0.2878 -65.0917 -52.4313
    4.0374 -0.0245 217.9039 20.1068
    -4.1276 -2.5560 -129.6956 48.4183
    5.1128 1.3712 0.1532 104.1829 6.7743
"""

posix = pytest.mark.skipif(os.name != "posix", reason="pipes of Windows are never broken")


@pytest.fixture
def program():
    """Run `python -m kinetree` with arguments; warnings are errors."""

    def run(*arguments, **environment):
        clean = os.environ | {"COLUMNS": "100"} | environment
        command = [sys.executable, "-W", "error", "-m", "kinetree", *arguments]
        found = subprocess.run(
            command, capture_output=True, text=True, env=clean, encoding="utf-8", timeout=120
        )
        assert "Traceback" not in found.stdout + found.stderr
        return found

    return run


def numbers(text):
    return re.findall(r"-?\d+\.\d{4}", text)


def test_demo_prints_every_number_of_the_course(program):
    found = program("demo")
    assert found.returncode == 0 and found.stderr == ""
    shown = numbers(found.stdout)
    for number in PRINTED.split():
        if number in ("5.1128",):
            assert shown.count(number) == 4  # printed and computed, with gravity and without
        else:
            assert shown.count(number) == 2
    for exercise in EXERCISES:
        assert exercise.name in found.stdout
    agreement = re.search(r"differ from it by at most (\S+),", found.stdout.replace("\n", " "))
    assert float(agreement[1]) < 1e-14


def test_demo_loses_no_digit_in_a_narrow_terminal(program):
    found = program("demo", COLUMNS="44")
    assert found.returncode == 0 and "…" not in found.stdout


def test_demo_needs_no_unicode(program):
    found = program("demo", PYTHONIOENCODING="ascii")
    assert found.returncode == 0 and found.stdout.isascii() and "104.1829" in found.stdout


@pytest.mark.parametrize("arguments", [(), ("--help",), ("cache",), ("demo", "--help")])
def test_help_names_the_commands(program, arguments):
    found = program(*arguments)
    assert found.returncode == 0 and "Usage: kinetree" in found.stdout


def test_version(program):
    assert program("--version").stdout.strip() == kinetree.__version__


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nonsense",), "there is no command 'nonsense'"),
        (("cache", "burn"), "there is no command 'burn'"),
        (("demo", "--loud"), "--loud"),
        (("demo", "twice"), "twice"),
    ],
)
def test_wrong_words_are_refused_with_exit_code_2(program, arguments, words):
    found = program(*arguments)
    assert found.returncode == 2 and words in found.stdout + found.stderr


def test_the_cache_is_shown_and_cleared(program, tmp_path):
    own = {"KINETREE_CACHE_DIR": str(tmp_path / "cache")}
    empty = program("cache", "info", **own).stdout
    assert str(tmp_path / "cache") in empty and "entries  0" in empty and "cache    on" in empty
    program("demo", **own)
    count = len(list((tmp_path / "cache").glob("*.kto")))
    assert count > 0 and f"entries  {count}" in program("cache", "info", **own).stdout
    cleared = program("cache", "clear", **own)
    assert cleared.returncode == 0 and f"{count} entries removed" in cleared.stdout
    assert list((tmp_path / "cache").glob("*.kto")) == []
    assert "0 entries removed" in program("cache", "clear", **own).stdout


def test_the_cache_says_that_it_is_off(program, tmp_path):
    off = {"KINETREE_CACHE": "0", "KINETREE_CACHE_DIR": str(tmp_path / "cache")}
    assert "off (KINETREE_CACHE=0)" in program("cache", "info", **off).stdout
    assert program("demo", **off).returncode == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["[bold]odd[/bold] name", "[/nope]", "ümläut"])
def test_a_folder_may_be_called_anything(program, tmp_path, name):
    found = program("cache", "info", KINETREE_CACHE_DIR=str(tmp_path / name), PYTHONUTF8="1")
    assert found.returncode == 0 and name in found.stdout


@pytest.mark.parametrize("command", ["info", "clear"])
def test_a_home_that_does_not_exist_is_one_sentence(program, command):
    found = program("cache", command, KINETREE_CACHE_DIR="~nobody-of-this-name/cache")
    assert found.returncode == 2
    assert found.stderr.startswith("kinetree: no folder for the cache")


def end(arguments, output):
    """Exit code and last words of a process that writes into `output`."""
    command = [sys.executable, "-W", "error", *arguments]
    found = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, timeout=120)
    return found.returncode, found.stderr.decode()


@pytest.fixture
def nobody():
    """A pipe whose reader went away."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@posix
@pytest.mark.parametrize("argument", ["demo", "--help"])
def test_a_reader_that_goes_away_is_no_fault(argument, nobody):
    code, words = end(["-m", "kinetree", argument], nobody)
    assert words == "" and code == 141


# what stands in for the program: a command that prints, then meets its end
ENDING = (
    "import sys, kinetree, kinetree.cli as cli, kinetree.cli.app as app\n"
    "def command(*_, **__): print('x' * 100_000); raise {error}\n"
    "app.app = command; sys.argv = ['kinetree', 'x']; cli.main()"
)


@posix
def test_a_broken_pipe_has_the_exit_code_of_its_signal(nobody):
    assert end(["-c", ENDING.format(error="SystemExit")], nobody) == (141, "")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ("KeyboardInterrupt", 130, "kinetree: interrupted"),
        ("OSError(28, 'No space left')", 2, "kinetree: [Errno 28] No space left"),
        ("kinetree.KinetreeError('a known fault')", 2, "kinetree: a known fault"),
    ],
)
def test_every_end_has_its_exit_code(error, code, words):
    found, said = end(["-c", ENDING.format(error=error)], subprocess.DEVNULL)
    assert (found, said.strip()) == (code, words)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to write to")
def test_a_full_disk_is_one_sentence():
    with open("/dev/full", "w") as full:
        code, words = end(["-m", "kinetree", "demo"], full)
    assert code == 2 and words.startswith("kinetree: ") and words.count("\n") == 1
