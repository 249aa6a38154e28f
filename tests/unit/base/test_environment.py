"""Environment variables: every value is read or refused where it is used first."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kinetree.base import environment
from kinetree.base.environment import VARIABLES, setting
from kinetree.errors import InputError

PAGE = Path(__file__).parents[3] / "docs" / "kernels.md"
WRONG = {
    "KINETREE_CACHE": ("banana", "2", "-1"),
    "KINETREE_CACHE_SIZE": ("plenty", "-5", "nan", "inf", "M"),
    "KINETREE_THREADS": ("many", "-3", "2.5"),
    "KINETREE_BACKGROUND": ("perhaps",),
    "KINETREE_BUFFERS": ("much", "-3", "inf"),
}


@pytest.mark.parametrize(("name", "text"), [(x, text) for x in WRONG for text in WRONG[x]])
def test_values_that_cannot_be_read_are_refused(name, text, monkeypatch):
    monkeypatch.setenv(name, text)
    with pytest.raises(InputError, match=rf"{name} is '{re.escape(text)}'; expected"):
        setting(name)


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_that_is_empty_is_not_set(name, monkeypatch):
    monkeypatch.setenv(name, "  ")
    assert setting(name) is None


def test_the_page_lists_every_variable():
    assert set(re.findall(r"^\| `(KINETREE_\w+)", PAGE.read_text(), re.M)) == set(VARIABLES)


@pytest.mark.parametrize("name", ["KINETREE_CACHE", "KINETREE_THREADS"])
def test_a_program_stops_at_its_first_large_batch(name):
    script = (
        "import kinetree as kt, numpy as np\n"
        "kt.robots.planar_2r().gravity_forces(np.zeros((200_000, 2)))"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(
        command, env={**os.environ, name: WRONG[name][0]}, capture_output=True, text=True
    )
    assert found.returncode == 1
    assert f"InputError: the environment variable {name} is" in found.stderr


def test_names_that_are_nearly_right_are_warned_about(monkeypatch, caplog):
    monkeypatch.setenv("KINETREE_THREAD", "3")
    monkeypatch.setenv("KINETREE_TESTS_QUICK", "1")  # another program's
    environment.warn_of_misspelled_names.cache_clear()
    setting("KINETREE_CACHE")
    assert "KINETREE_THREAD has no effect; did you mean KINETREE_THREADS?" in caplog.text
    assert "QUICK" not in caplog.text
    environment.warn_of_misspelled_names.cache_clear()
