"""The disk cache: found again, never trusted blindly, never in the way."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.engine import Kernel, cache
from kinetree.engine.llvm import engine
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
    (code,) = cache.unseal(path.stem, good).values()
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


def test_an_empty_file_and_a_folder_in_its_place(folder, compiled, scale):
    Kernel(scale(3.0))
    (path,) = entries(folder)
    path.write_bytes(b"")
    assert Kernel(scale(3.0))(2.0) == 6.0
    path.unlink()
    path.mkdir()
    assert Kernel(scale(3.0))(2.0) == 6.0
    assert len(compiled) == 3


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


def package(place: Path, **sources: str) -> Path:
    """A folder of modules; "__" in a name is a folder's end."""
    for name, text in sources.items():
        path = place / "kinetree" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place / "kinetree"


def identity(monkeypatch, folder: Path) -> str:
    monkeypatch.setattr(sys.modules["kinetree"], "__path__", [str(folder)])
    return cache.identity.__wrapped__()


def test_every_source_that_may_decide_a_kernel_is_part_of_the_key(tmp_path, monkeypatch):
    def of(name: str, **changes: str) -> str:
        texts = {"model": "x = 1", "engine__compiler__ops": "y = 2", "views__page": "z = 3"}
        return identity(monkeypatch, package(tmp_path / name, **texts | changes))

    one = of("one")
    assert of("same") == one
    assert of("page", views__page="z = 4") == one  # the pages make no kernel
    others = [
        of("deep", engine__compiler__ops="y = 3"),
        of("model", model="x = 2"),
        of("more", engine__compiler__more=""),
    ]
    assert len({one, *others}) == 4
    package(tmp_path / "one", model="x = 2").joinpath("engine/compiler/ops.py").unlink()
    assert identity(monkeypatch, tmp_path / "one" / "kinetree") not in (one, *others)


def test_another_package_has_other_entries(monkeypatch):
    before = cache.entry("key")
    monkeypatch.setattr(cache, "identity", lambda: "another package")
    assert cache.entry("key") != before


def test_an_installed_package_is_known_by_its_record(tmp_path, monkeypatch):
    record = tmp_path / f"kinetree-{kt.__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("kinetree/model.py,sha256=1,5\n")
    one = identity(monkeypatch, package(tmp_path, model="x = 1"))
    assert identity(monkeypatch, package(tmp_path, model="x = 2")) == one
    record.write_text("kinetree/model.py,sha256=2,5\n")
    assert identity(monkeypatch, tmp_path / "kinetree") != one


def test_graph_and_machine_code_of_a_kernel_share_an_entry(folder, compiled):
    robot = kt.robots.planar_2r()
    q = np.array([0.3, -0.2])
    one = robot.mass_matrix(q)
    (path,) = entries(folder)
    batch = robot.mass_matrix(np.tile(q, (3, 1)).astype("float32"))
    assert entries(folder) == [path] and len(compiled) == 2
    parts = cache.unseal(path.stem, path.read_bytes())
    assert [name.partition(" ")[0] for name in parts] == ["graph", "float64", "float32"]
    again = kt.robots.planar_2r()
    assert again.mass_matrix(q).tobytes() == one.tobytes()
    assert again.mass_matrix(np.tile(q, (3, 1)).astype("float32")).tobytes() == batch.tobytes()
    assert len(compiled) == 2
