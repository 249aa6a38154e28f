"""Locked packages: they have hashes, name no host, and are within the bounds of the project."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ("docs", "lint", "release", "test")
LINE = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)(?: ; [^\\]+)? ?\\\n((?:    --hash=.*\n)+)", re.M)


def lock(extra: str) -> str:
    return (ROOT / "requirements" / f"{extra}.txt").read_text(encoding="utf-8")


def wanted(requirement: str) -> tuple[str, tuple[int, ...]]:
    """Name and lower bound of a requirement."""
    name, bound = re.match(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
    return re.sub(r"[-_.]+", "-", name).lower(), tuple(map(int, bound.split(".")))


@pytest.mark.parametrize("extra", LOCKS)
def test_every_locked_package_has_hashes(extra):
    text = lock(extra)
    packages = re.findall(r"^(?!#)\S.*==", text, re.M)
    found = LINE.findall(text)
    assert len(found) == len(packages) > 10
    for name, _, hashes in found:
        for line in hashes.splitlines():
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line), (name, line)


@pytest.mark.parametrize("extra", LOCKS)
def test_locks_name_no_host_and_no_folder(extra):
    assert not re.search(r"://|--index|--find-links|\.(?:org|com|net)\b|^/", lock(extra), re.M)


@pytest.mark.parametrize("extra", LOCKS)
def test_locks_have_every_requirement_within_its_bounds(extra):
    found: dict[str, list[tuple[int, ...]]] = {}
    for name, version, _ in LINE.findall(lock(extra)):
        found.setdefault(name, []).append(tuple(map(int, re.findall(r"\d+", version)[:3])))
    for line in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]):
        name, bound = wanted(line)
        assert name in found, f"{name} is not locked for {extra}: run make lock"
        assert all(version >= bound for version in found[name]), (name, bound, found[name])


def test_pins_are_in_the_locks():
    pins = re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "requirements/pins.txt").read_text(), re.M)
    assert pins
    for name, version in pins:
        assert re.search(rf"^{name}=={re.escape(version)}\b", lock("test"), re.M)


def test_nothing_that_users_install_is_pinned():
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        assert not [line for line in lines if "==" in line.partition(";")[0]]
