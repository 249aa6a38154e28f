"""The disk cache: found again, never trusted blindly, never in the way."""

import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinetree.backends import cache, cache_folder, engine
from kinetree.backends.fingerprint import code_key, graph_text
from kinetree.backends.kernel import Kernel
from kinetree.backends.llvm import host_target
from kinetree.compiler.graph import Graph, Node, Port

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
unprivileged = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty cache of its own."""
    path = tmp_path / "cache"
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(path))
    return path


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """The texts that had to be compiled."""
    texts = []
    assemble = engine.assemble

    def watched(text, target):
        texts.append(text)
        return assemble(text, target)

    monkeypatch.setattr(engine, "assemble", watched)
    return texts


def scale(factor: float) -> Graph:
    """The graph of y = factor x."""
    nodes = (Node("input", value=(0, 0)), Node("const", value=factor), Node("mul", (0, 1)))
    return Graph(nodes, (Port("x", ()),), (Port("y", ()),), ((2,),))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*" + cache.SUFFIX))


def test_second_kernel_is_loaded_not_compiled(folder, compiled, arm_graph, states):
    arrays = states(20, 3)
    first = Kernel(arm_graph)(*arrays)
    assert len(compiled) == 1 and len(entries(folder)) == 1
    second = Kernel(arm_graph, "another name", "and another text")(*arrays)
    assert len(compiled) == 1
    assert first.tobytes() == second.tobytes()


def test_every_ingredient_changes_the_key(arm_graph, monkeypatch):
    target = host_target()
    keys = {
        code_key(arm_graph, target, "float64"),
        code_key(arm_graph, target, "float32"),
        code_key(arm_graph, target.with_lanes(1), "float64"),
        code_key(scale(0.0), target, "float64"),
        code_key(scale(-0.0), target, "float64"),
        code_key(scale(np.nextafter(0.5, 1)), target, "float64"),
        code_key(scale(0.5), target, "float64"),
    }
    monkeypatch.setattr(engine, "versions", lambda: "another LLVM")
    keys.add(code_key(arm_graph, target, "float64"))
    assert len(keys) == 8


def test_shapes_are_part_of_the_key_and_names_are_not():
    nodes = (Node("input", value=(0, 0)), Node("input", value=(1, 0)))
    graphs = [
        Graph(nodes, (Port("a", (1,)), Port("b", ())), (Port("y", ()),), ((0,),)),
        Graph(nodes, (Port("a", ()), Port("b", (1,))), (Port("y", ()),), ((0,),)),
        Graph(nodes, (Port("a", ()), Port("b", (1,))), (Port("y", ()),), ((1,),)),
        Graph(nodes, (Port("c", ()), Port("d", (1,))), (Port("z", ()),), ((1,),)),
    ]
    texts = [graph_text(graph) for graph in graphs]
    assert len(set(texts)) == 3 and texts[2] == texts[3]


def test_parts_of_a_key_cannot_run_together():
    assert cache.make_key(["ab", "c"]) != cache.make_key(["a", "bc"])


def test_what_is_stored_is_found(folder):
    key = cache.make_key(["x"])
    assert cache.load(key) is None
    cache.store(key, b"code")
    assert cache.load(key) == b"code"
    assert cache.load(cache.make_key(["y"])) is None


def test_entry_under_another_key_is_refused(folder, caplog):
    one, other = cache.make_key(["1"]), cache.make_key(["2"])
    cache.store(one, b"code")
    os.replace(entries(folder)[0], folder / (other + cache.SUFFIX))
    assert cache.load(other) is None
    assert "damaged" in caplog.text


def damage(data: bytes, dice: random.Random) -> bytes:
    """Flip a bit, cut the end off, add something, or replace a stretch."""
    kind = dice.randrange(4)
    at = dice.randrange(len(data))
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data + dice.randbytes(1 + dice.randrange(9))
    stretch = dice.randbytes(16)
    broken = data[:at] + stretch + data[at + 16 :]
    return broken if broken != data else data[:-1]


def test_a_thousand_damaged_files_are_compiled_again(folder, monkeypatch):
    graph, target = scale(3.0), host_target()
    kernel = Kernel(graph)
    (path,) = entries(folder)
    good = path.read_bytes()
    code = cache.unseal(path.stem, good)
    assert code is not None
    again = []

    def assemble(text, target):
        again.append(text)
        return code

    monkeypatch.setattr(engine, "assemble", assemble)
    dice = random.Random(11)
    for _ in range(1000):
        path.write_bytes(damage(good, dice))
        kernel = Kernel(graph)
        assert kernel(2.0) == 6.0
        assert path.read_bytes() == good
    assert len(again) == 1000
    assert Kernel(graph)(2.0) == 6.0 and len(again) == 1000
    assert target == host_target()


def test_sealed_nonsense_is_compiled_again(folder, compiled, caplog):
    """A right hash over code that LLVM does not take."""
    Kernel(scale(3.0))
    (path,) = entries(folder)
    path.write_bytes(cache.seal(path.stem, b"nonsense"))
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2 and "compiles again" in caplog.text
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2


def test_an_empty_file_and_a_folder_in_its_place(folder, compiled):
    Kernel(scale(3.0))
    (path,) = entries(folder)
    path.write_bytes(b"")
    assert Kernel(scale(3.0))(2.0) == 6.0
    path.unlink()
    path.mkdir()
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 3


@posix
def test_only_the_owner_can_read_the_cache(folder):
    old = os.umask(0)
    try:
        cache.store(cache.make_key(["x"]), b"code")
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entries(folder)[0].stat().st_mode) == 0o600


@posix
def test_what_others_may_write_is_not_loaded(folder, caplog):
    key = cache.make_key(["x"])
    cache.store(key, b"code")
    (path,) = entries(folder)
    path.chmod(0o620)
    assert cache.load(key) is None
    assert "may be written by others" in caplog.text
    path.chmod(0o600)
    assert cache.load(key) == b"code"
    folder.chmod(0o777)
    assert cache.load(key) is None
    cache.store(cache.make_key(["y"]), b"more")
    assert len(entries(folder)) == 1


@posix
def test_what_belongs_to_others_is_not_loaded(folder, monkeypatch, caplog):
    key = cache.make_key(["x"])
    cache.store(key, b"code")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert cache.load(key) is None
    assert f"belongs to user {mine}" in caplog.text


@posix
def test_links_are_not_followed(folder, tmp_path):
    key = cache.make_key(["x"])
    cache.store(key, b"code")
    (path,) = entries(folder)
    moved = path.rename(tmp_path / "elsewhere")
    path.symlink_to(moved)
    assert cache.load(key) is None


def test_a_folder_that_cannot_be_made_is_no_failure(tmp_path, monkeypatch, compiled):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2


@posix
@unprivileged
def test_a_read_only_folder_is_no_failure(folder, compiled):
    folder.mkdir(mode=0o700)
    folder.chmod(0o500)
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 1 and entries(folder) == []
    folder.chmod(0o700)


@pytest.mark.parametrize("call", ["mkstemp", "replace", "utime", "listdir", "stat"])
def test_trouble_with_the_disk_is_no_failure(folder, monkeypatch, compiled, call):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    owner = {"mkstemp": cache.tempfile, "stat": Path}.get(call, os)
    Kernel(scale(4.0))
    monkeypatch.setattr(owner, call, full)
    assert Kernel(scale(4.0))(2.0) == 8.0
    assert Kernel(scale(5.0))(2.0) == 10.0


def test_nothing_stays_behind_when_writing_fails(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.store(cache.make_key(["x"]), b"code")
    assert list(folder.iterdir()) == []


def test_without_a_home_there_is_no_cache(monkeypatch, compiled):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("KINETREE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 1


@pytest.mark.parametrize("word", ["0", "off", "No", " false "])
def test_off_switch(folder, monkeypatch, compiled, word):
    monkeypatch.setenv("KINETREE_CACHE", word)
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2 and not folder.exists()
    assert not cache.info().enabled


def test_the_least_recently_used_entry_goes_first(folder, monkeypatch):
    size = len(cache.seal("x", bytes(1000)))
    monkeypatch.setenv("KINETREE_CACHE_SIZE", str(3 * size))
    keys = [cache.make_key([str(k)]) for k in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.store(key, bytes(1000))
        os.utime(folder / (key + cache.SUFFIX), (age, age))
    assert cache.load(keys[0]) is not None  # used: now the newest
    cache.store(keys[3], bytes(1000))
    assert [cache.load(key) is not None for key in keys] == [True, False, True, True]
    assert cache.info().size <= cache.info().limit


@pytest.mark.parametrize(
    "text, size",
    [("1000", 1000), ("2K", 2048), ("1.5M", 3 << 19), ("1g", 1 << 30), ("5MB", 5 << 20)],
)
def test_sizes_have_units(monkeypatch, text, size):
    monkeypatch.setenv("KINETREE_CACHE_SIZE", text)
    assert cache_folder.limit() == size


def test_a_size_that_is_none_is_reported(monkeypatch, caplog):
    monkeypatch.setenv("KINETREE_CACHE_SIZE", "plenty")
    assert cache_folder.limit() == cache_folder.DEFAULT_LIMIT
    assert "KINETREE_CACHE_SIZE" in caplog.text


def test_rubbish_of_killed_processes_is_removed(folder):
    cache.store(cache.make_key(["1"]), b"code")
    old, young = folder / (cache.ASIDE + "old"), folder / (cache.ASIDE + "young")
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (1, 1))
    cache.store(cache.make_key(["2"]), b"code")
    assert not old.exists() and young.exists()


def test_info_and_clear(folder):
    assert cache.info() == cache.CacheInfo(folder, True, 0, 0, cache_folder.DEFAULT_LIMIT)
    assert cache.clear() == 0
    for k in range(3):
        cache.store(cache.make_key([str(k)]), b"code")
    stranger = folder / "letter.txt"
    stranger.write_text("not ours")
    assert cache.info().entries == 3
    assert cache.info().size == 3 * len(cache.seal("x", b"code"))
    assert cache.clear() == 3
    assert cache.info().entries == 0 and stranger.exists()


def test_default_folder_is_the_system_s(monkeypatch, tmp_path):
    monkeypatch.delenv("KINETREE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    places = {"linux": "xdg", "darwin": "Library/Caches", "win32": "local"}
    for platform, place in places.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder.folder() == tmp_path / place / "kinetree"


SHARING = """
import sys
from kinetree.backends.kernel import Kernel
from kinetree.compiler.graph import Graph, Node, Port
for k in range(int(sys.argv[1])):
    factor = float(2 + k % 3)
    nodes = (Node("input", value=(0, 0)), Node("const", value=factor), Node("mul", (0, 1)))
    kernel = Kernel(Graph(nodes, (Port("x", ()),), (Port("y", ()),), ((2,),)), dtypes=("float64",))
    assert kernel(3.0) == 3.0 * factor
    print("made", flush=True)
"""


def test_sixteen_processes_share_a_cache_while_some_are_killed(folder, monkeypatch):
    # a bound that three entries break, so that entries also vanish while others read them
    monkeypatch.setenv("KINETREE_CACHE_SIZE", "8K")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SHARING, "100000" if k % 4 == 0 else "30"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(16)
    ]
    for k, process in enumerate(running):
        if k % 4 == 0:
            assert process.stdout.readline() == "made\n"
            process.kill()
    for k, process in enumerate(running):
        _, errors = process.communicate(timeout=60)
        assert k % 4 == 0 or (process.returncode, errors) == (0, "")
    for path in entries(folder):
        assert cache.unseal(path.stem, path.read_bytes()) is not None
