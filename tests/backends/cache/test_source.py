"""The hash over kinetree's own source, with and without the source at hand."""

import pytest

import kinetree as kt
from kinetree.engine.cache import entries as source
from kinetree.engine.cache.entries import source_hash


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder that stands for the installed package."""
    (tmp_path / "stage").mkdir()
    (tmp_path / "stage" / "one.py").write_bytes(b"x = 1\n")
    (tmp_path / "stage" / "two.py").write_bytes(b"y = 2\n")
    (tmp_path / "alone.py").write_bytes(b"z = 3\n")
    monkeypatch.setattr(source, "files", lambda name: tmp_path)
    source_hash.cache_clear()
    yield tmp_path
    source_hash.cache_clear()


def fresh(*places: str) -> str:
    source_hash.cache_clear()
    return source_hash(*places)


@pytest.mark.parametrize("name", ["stage/one.py", "stage/two.py", "alone.py"])
def test_every_byte_counts(package, name):
    before = fresh("stage", "alone.py")
    assert fresh("stage", "alone.py") == before
    (package / name).write_bytes((package / name).read_bytes() + b"#")
    assert fresh("stage", "alone.py") != before


def test_names_count_and_what_is_no_module_does_not(package):
    before = fresh("stage")
    (package / "stage" / "notes.txt").write_bytes(b"")
    (package / "stage" / "__pycache__").mkdir()
    assert fresh("stage") == before
    (package / "stage" / "two.py").rename(package / "stage" / "three.py")
    assert fresh("stage") != before


@pytest.mark.parametrize("place", ["stage", "alone.py", "nowhere"])
def test_without_source_the_version_is_what_is_known(package, place):
    for module in package.rglob("*.py"):
        module.rename(module.with_suffix(".pyc"))
    assert fresh(place) == f"kinetree {kt.__version__} without its source"


def test_kernels_and_their_cache_work_without_source(package, tmp_path, monkeypatch):
    for module in package.rglob("*.py"):
        module.unlink()
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "cache"))
    robot = kt.robots.planar_2r()
    g = robot.gravity_forces([0.3, 0.7])
    assert (tmp_path / "cache").is_dir() and len(list((tmp_path / "cache").iterdir())) == 2
    assert list(robot.compile("gravity_forces")([0.3, 0.7])) == list(g)


def test_modules_of_subfolders_count(package):
    before = fresh("stage")
    (package / "stage" / "room").mkdir()
    assert fresh("stage") == before
    (package / "stage" / "room" / "three.py").write_bytes(b"w = 4\n")
    assert fresh("stage") != before
