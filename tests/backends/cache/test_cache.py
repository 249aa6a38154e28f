"""The disk cache: found again, never trusted blindly, never in the way."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinetree.engine.cache import entries as cache
from kinetree.engine.cache import folder as cache_folder
from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.compiler.store import digest
from kinetree.engine.kernel import Kernel
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.programs import code_key
from kinetree.engine.llvm.target import host_target


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*" + cache.SUFFIX))


def test_second_kernel_is_loaded_not_compiled(folder, compiled, arm_graph, states):
    arrays = states(20, 3)
    first = Kernel(arm_graph)(*arrays)
    assert len(compiled) == 1 and len(entries(folder)) == 1
    second = Kernel(arm_graph, "another name", "and another text")(*arrays)
    assert len(compiled) == 1
    assert first.tobytes() == second.tobytes()


def test_every_ingredient_changes_the_key(arm_graph, monkeypatch, scale):
    target = host_target()
    keys = {
        code_key([digest(arm_graph), "float64"], target),
        code_key([digest(arm_graph), "float32"], target),
        code_key([digest(arm_graph), "float64"], target.with_lanes(1)),
        code_key([digest(scale(0.0)), "float64"], target),
        code_key([digest(scale(-0.0)), "float64"], target),
        code_key([digest(scale(np.nextafter(0.5, 1))), "float64"], target),
        code_key([digest(scale(0.5)), "float64"], target),
    }
    monkeypatch.setattr(engine, "versions", lambda: "another LLVM")
    keys.add(code_key([digest(arm_graph), "float64"], target))
    assert len(keys) == 8


def test_shapes_and_results_are_part_of_the_key():
    nodes = (Node("input", value=(0, 0)), Node("input", value=(1, 0)))
    graphs = [
        Graph(nodes, (Port("a", (1,)), Port("b", ())), (Port("y", ()),), ((0,),)),
        Graph(nodes, (Port("a", ()), Port("b", (1,))), (Port("y", ()),), ((0,),)),
        Graph(nodes, (Port("a", ()), Port("b", (1,))), (Port("y", ()),), ((1,),)),
    ]
    assert len({code_key([digest(graph), "float64"], host_target()) for graph in graphs}) == 3


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


def test_damaged_files_are_compiled_again(folder, monkeypatch, scale):
    graph, target = scale(3.0), host_target()
    kernel = Kernel(graph)
    (path,) = entries(folder)
    good = path.read_bytes()
    code = cache.unseal(path.stem, good)
    assert code is not None
    again = []

    def assemble(text, target, effort=None):
        again.append(text)
        return code

    monkeypatch.setattr(engine, "assemble", assemble)
    dice = random.Random(11)
    for _ in range(80):
        path.write_bytes(damage(good, dice))
        kernel = Kernel(graph)
        assert kernel(2.0) == 6.0
        assert path.read_bytes() == good
    assert len(again) == 80
    assert Kernel(graph)(2.0) == 6.0 and len(again) == 80
    assert target == host_target()


def test_sealed_nonsense_is_compiled_again(folder, compiled, caplog, scale):
    """A right hash over code that LLVM does not take."""
    Kernel(scale(3.0))
    (path,) = entries(folder)
    path.write_bytes(cache.seal(path.stem, b"nonsense"))
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2 and "compiles again" in caplog.text
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 2


def test_an_empty_file_and_a_folder_in_its_place(folder, compiled, scale):
    Kernel(scale(3.0))
    (path,) = entries(folder)
    path.write_bytes(b"")
    assert Kernel(scale(3.0))(2.0) == 6.0
    path.unlink()
    path.mkdir()
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 3


@pytest.mark.parametrize("call", ["mkstemp", "replace", "utime", "listdir", "stat"])
def test_trouble_with_the_disk_is_no_failure(folder, monkeypatch, compiled, call, scale):
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


SHARING = """
import sys
from kinetree.engine.kernel import Kernel
from kinetree.engine.llvm import engine
from kinetree.engine.compiler.graph import Graph, Node, Port
engine.level = lambda text: 0
for k in range(int(sys.argv[1])):
    factor = float(2 + k % 3)
    nodes = (Node("input", value=(0, 0)), Node("const", value=factor), Node("mul", (0, 1)))
    kernel = Kernel(Graph(nodes, (Port("x", ()),), (Port("y", ()),), ((2,),)), dtypes=("float64",))
    assert kernel(3.0) == 3.0 * factor
    print("made", flush=True)
"""


def test_processes_share_a_cache_while_some_are_killed(folder, monkeypatch):
    # a bound that three entries break, so that entries also vanish while others read them
    monkeypatch.setenv("KINETREE_CACHE_SIZE", "8K")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SHARING, "100000" if k == 0 else "6"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(4)
    ]
    for k, process in enumerate(running):
        if k == 0:
            assert process.stdout.readline() == "made\n"
            process.kill()
    for k, process in enumerate(running):
        _, errors = process.communicate(timeout=180)
        assert k == 0 or (process.returncode, errors) == (0, "")
    for path in entries(folder):
        assert cache.unseal(path.stem, path.read_bytes()) is not None
