"""Small graphs and their kernels, with a cache folder that belongs to the test run."""

import weakref
from pathlib import Path

import numpy as np
import pytest

from kinetree import scalars
from kinetree.engine import Graph, Kernel, Node, Port, optimise, trace
from kinetree.engine.llvm import engine


def three_joints(q, dq, ddq):
    """Something like an arm: every input matters, with sines, products and a division."""
    tau = []
    for i in range(3):
        s, c = scalars.sin(q[i]), scalars.cos(q[i - 1])
        tau.append(s * ddq[i] + c * dq[i] * dq[i - 1] + 9.81 * s * c + dq[i] / (2 + c * c))
    return np.array(tau, dtype=object)


def matrix_and_energy(q, dq):
    """Two outputs, one of them without dimensions."""
    c = np.array([scalars.cos(x) for x in q], dtype=object)
    M = np.array([[c[0] + 3, c[0] * c[1]], [c[0] * c[1], c[1] + 2]], dtype=object)
    return M, dq @ M @ dq / 2


def line(a, b, c):
    """The smallest kernel: numbers only."""
    return a * b + c


@pytest.fixture(scope="session")
def scale():
    """The graph of y = factor x, for any factor."""

    def graph(factor: float) -> Graph:
        nodes = (Node("input", value=(0, 0)), Node("const", value=factor), Node("mul", (0, 1)))
        return Graph(nodes, (Port("x", ()),), (Port("y", ()),), ((2,),))

    return graph


@pytest.fixture(scope="session")
def arm_graph() -> Graph:
    ports = [Port(name, (3,), ("n",)) for name in ("q", "dq", "ddq")]
    return optimise(trace(three_joints, ports, [("tau", ("n",))]))


@pytest.fixture(scope="session")
def pair_graph() -> Graph:
    ports = [Port(name, (2,), ("n",)) for name in ("q", "dq")]
    return optimise(trace(matrix_and_energy, ports, [("M", ("n", "n")), ("energy", ())]))


@pytest.fixture(scope="session")
def line_graph() -> Graph:
    return optimise(trace(line, [Port(name, ()) for name in "abc"], [("y", ())]))


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache_home, monkeypatch):
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(cache_home))
    monkeypatch.delenv("KINETREE_CACHE", raising=False)
    monkeypatch.delenv("KINETREE_CACHE_SIZE", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch, own_cache) -> Path:
    """An empty cache of its own, not made yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(path))
    return path


@pytest.fixture
def compiled(monkeypatch, own_cache) -> list[str]:
    """The texts that had to be compiled."""
    texts = []
    assemble = engine.assemble

    def watched(text, target, effort=None):
        texts.append(text)
        return assemble(text, target, effort)

    monkeypatch.setattr(engine, "assemble", watched)
    return texts


@pytest.fixture
def living(monkeypatch) -> weakref.WeakSet:
    """The machine code that was loaded and is still in memory."""
    codes = weakref.WeakSet()
    load = engine.load

    def watched(*given):
        code = load(*given)
        codes.add(code)
        return code

    monkeypatch.setattr(engine, "load", watched)
    return codes


@pytest.fixture
def arm(arm_graph) -> Kernel:
    return Kernel(arm_graph, "arm_torques")


@pytest.fixture
def pair(pair_graph) -> Kernel:
    return Kernel(pair_graph, "pair")


@pytest.fixture
def line_kernel(line_graph) -> Kernel:
    return Kernel(line_graph, "line")


@pytest.fixture
def states():
    """Make `count` arrays of normally distributed numbers."""
    rng = np.random.default_rng(7)
    return lambda *shape, count=3: [rng.normal(size=shape) for _ in range(count)]
