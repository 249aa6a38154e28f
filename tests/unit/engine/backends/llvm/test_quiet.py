"""NaN and infinity are answers: no kernel warns, in whatever way it runs."""

import sys

import numpy as np
import pytest
from eager_kernels import eager

from kinetree import scalars
from kinetree.engine import Graph, Kernel, Port, interpreted, optimise, trace
from kinetree.engine.llvm import engine
from kinetree.kernels import threads


def dangerous(a, b):
    """Divides by zero, overflows and is invalid for suitable numbers."""
    return np.array([scalars.sqrt(a), scalars.sin(b), a * b, a / b], dtype=object)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return optimise(trace(dangerous, [Port("a", ()), Port("b", ())], [("y", ("n",))]))


BAD = [
    (1, 0),
    (0, 0),
    (-1, 1),
    (1e300, 1e300),
    (1, np.inf),
    (np.nan, 1),
    (1e-300, 1e300),
    (1, 1e22),
]


def same(kernel, kind="f8"):
    """Each state alone and all together, in a strict NumPy: every event would raise."""
    a, b = np.array(BAD, dtype="f8").T.clip(-3e38, None if kind == "f8" else 3e38).astype(kind)
    with np.errstate(all="raise"):
        batch = kernel(a, b)
        singles = np.array([kernel(a[k : k + 1], b[k : k + 1])[0] for k in range(len(a))])
        numbers = np.array([kernel(np.array(x), np.array(y)) for x, y in zip(a, b, strict=True)])
    assert batch.tobytes() == singles.tobytes() == numbers.tobytes()
    return batch


@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_compiled_kernels_are_silent(graph, kind):
    batch = same(Kernel(graph), kind)
    assert np.isinf(batch[0, 3]) and np.isnan(batch[1, 3]) and np.isnan(batch[2, 0])
    assert np.isnan(batch[4, 1]) or kind == "f4"


def test_threads_are_silent(graph):
    kernel = eager(Kernel(graph))
    a, b = np.repeat(np.array(BAD), 100, axis=0).T
    with threads(2), np.errstate(all="raise"):
        kernel(a, b)


@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_interpreted_kernels_are_silent(graph, monkeypatch, kind):
    engine.binding.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    monkeypatch.setattr(interpreted, "_warned", True)
    same(Kernel(graph), kind)
    monkeypatch.undo()
    engine.binding.cache_clear()


def test_kernels_leave_the_flags_of_others_alone(graph):
    """The events of NumPy's own operations are still seen after a kernel has run."""
    Kernel(graph)(np.ones(3), np.zeros(3))
    with np.errstate(all="raise"):
        assert np.add(np.ones(3), 1).sum() == 6
        with pytest.raises(FloatingPointError):
            np.divide(np.ones(3), np.zeros(3))
