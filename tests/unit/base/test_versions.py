"""The version stands in one place, and names that go warn, name the way out, and do go."""

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kinetree as kt
from kinetree import __version__
from kinetree.base.versions import OLD_NAMES, OldName, warn_old
from kinetree.errors import KinetreeDeprecationWarning, KinetreeWarning

ROOT = Path(__file__).parents[3]
TABLE = {"weight": OldName("gravity_forces", "0.2.0", "0.4.0")}


def release_number(version):
    """A version as numbers that can be compared: (0, 2, 0) for "0.2.0" and for "0.2.0rc1"."""
    return tuple(int(re.match(r"\d+", part)[0]) for part in version.split(".")[:3])


def test_the_front_door_has_the_version():
    assert kt.__version__ is __version__
    release_number(__version__)


def test_the_version_is_written_in_one_module():
    """Other files of the source import it; neither a copy nor the installed metadata can differ."""
    others = [
        path.name
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "versions.py"
        and re.search(r'__version__ = "|version\("kinetree"\)', path.read_text(encoding="utf-8"))
    ]
    assert not others


def test_the_build_reads_the_version_from_its_module():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    place = ROOT / project["tool"]["hatch"]["version"]["path"]
    found = re.findall(r'^__version__ = "(.+)"$', place.read_text(encoding="utf-8"), re.M)
    assert found == [__version__]


def test_the_citation_has_the_version():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {__version__}" in lines


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (\d+\.\d+\.\d+) - (unreleased|\d{4}-\d\d-\d\d)", text, re.M)
    assert heads[0][0] == __version__
    numbers = [release_number(number) for number, _ in heads]
    assert numbers == sorted(set(numbers), reverse=True)
    assert len(heads) == text.count("\n## ")


@pytest.mark.parametrize("name", sorted(OLD_NAMES))
def test_a_name_is_removed_in_the_version_that_its_warning_states(name):
    old_name = OLD_NAMES[name]
    assert release_number(__version__) < release_number(old_name.gone), (
        f"{name} goes in {old_name.gone}, and this is {__version__}: remove it, its line in "
        "base/versions.py and its tests, and write it into CHANGELOG.md"
    )


@pytest.mark.parametrize("name", sorted(OLD_NAMES))
def test_a_name_warns_for_at_least_one_minor_version(name):
    since, gone = release_number(OLD_NAMES[name].since), release_number(OLD_NAMES[name].gone)
    assert since <= release_number(__version__)
    assert gone[:2] > since[:2]


def test_a_warning_points_at_the_line_of_the_caller():
    with pytest.warns(KinetreeDeprecationWarning) as seen:
        warn_old("weight", TABLE)
        line = inspect.currentframe().f_lineno - 1
    assert (seen[0].filename, seen[0].lineno) == (__file__, line)
    assert str(seen[0].message) == "weight goes in kinetree 0.4.0; use gravity_forces instead."


def test_a_deprecation_is_shown_without_any_option_of_python():
    """Python hides a DeprecationWarning outside of the main program; ours is for users."""
    assert issubclass(KinetreeDeprecationWarning, KinetreeWarning)
    assert not issubclass(KinetreeDeprecationWarning, DeprecationWarning)
    program = "from kinetree.base.versions import warn_old; warn_old('column F_ext.mx')"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "KinetreeDeprecationWarning: column F_ext.mx goes in" in found.stderr
