"""Small graphs and their kernels, with a cache folder that belongs to the test run."""

import numpy as np
import pytest

from kinetree import scalars
from kinetree.backends.kernel import Kernel
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace


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
