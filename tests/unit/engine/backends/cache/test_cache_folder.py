"""Where the cache lies and who may write there."""

import os
import stat
from pathlib import Path

import pytest

from kinetree.engine import Kernel, cache

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
unprivileged = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*" + cache.SUFFIX))


@posix
def test_only_the_owner_can_read_the_cache(folder):
    old = os.umask(0)
    try:
        cache.store(cache.entry("x"), "part", b"code")
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entries(folder)[0].stat().st_mode) == 0o600


@posix
def test_what_others_may_write_is_not_loaded(folder, caplog):
    key = cache.entry("x")
    cache.store(key, "part", b"code")
    (path,) = entries(folder)
    path.chmod(0o620)
    assert cache.load(key, "part") is None
    assert "may be written by other users" in caplog.text
    path.chmod(0o600)
    assert cache.load(key, "part") == b"code"
    folder.chmod(0o777)
    assert cache.load(key, "part") is None
    cache.store(cache.entry("y"), "part", b"more")
    assert len(entries(folder)) == 1


@posix
def test_what_belongs_to_others_is_not_loaded(folder, monkeypatch, caplog):
    key = cache.entry("x")
    cache.store(key, "part", b"code")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert cache.load(key, "part") is None
    assert f"belongs to user {mine}" in caplog.text


@posix
def test_links_are_not_followed(folder, tmp_path):
    key = cache.entry("x")
    cache.store(key, "part", b"code")
    (path,) = entries(folder)
    moved = path.rename(tmp_path / "elsewhere")
    path.symlink_to(moved)
    assert cache.load(key, "part") is None


def test_a_folder_that_cannot_be_made_is_no_failure(tmp_path, monkeypatch, compiled, scale):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2


@posix
@unprivileged
def test_a_read_only_folder_is_no_failure(folder, compiled, scale):
    folder.mkdir(mode=0o700)
    folder.chmod(0o500)
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 1 and entries(folder) == []
    folder.chmod(0o700)


def test_without_a_home_there_is_no_cache(monkeypatch, compiled, scale):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("KINETREE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 1


@pytest.mark.parametrize("word", ["0", " false "])
def test_off_switch(folder, monkeypatch, compiled, word, scale):
    monkeypatch.setenv("KINETREE_CACHE", word)
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2 and not folder.exists()
    assert not cache.info().enabled


@pytest.mark.parametrize(
    "text, size",
    [("1000", 1000), ("2K", 2048), ("1.5M", 3 << 19), ("1g", 1 << 30), ("5MB", 5 << 20)],
)
def test_sizes_have_units(monkeypatch, text, size):
    monkeypatch.setenv("KINETREE_CACHE_SIZE", text)
    assert cache.limit() == size


def test_the_entries_used_longest_ago_go_when_the_cache_is_full(folder, monkeypatch, scale):
    Kernel(scale(3.0))(2.0)
    (first,) = entries(folder)
    size = first.stat().st_size
    monkeypatch.setenv("KINETREE_CACHE_SIZE", str(int(2.5 * size)))
    os.utime(first, (1, 1))
    for k in range(4, 8):
        assert Kernel(scale(float(k)))(2.0) == 2 * k
    assert not first.exists() and len(entries(folder)) == 2
