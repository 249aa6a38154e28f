"""Single decisions of an examination that larger cases do not tell apart."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from kinetree.compiler.graph import Port
from kinetree.compiler.trace import trace
from kinetree.simulate.core.memory import Memory
from kinetree.simulate.core.purity import Calls

PORTS = (Port("t", ()), Port("q", (2,)))
START = (0.25, np.array([0.5, -0.25]))


@pytest.mark.parametrize(("a", "b"), [(1.0, 1e308), (1e308, 1.0), (1e308, 1e308)])
def test_numbers_lost_on_one_side_alone_are_no_difference(a, b):
    """Code and graph may add and multiply in another order; one of them may then overflow."""

    def law(t, q, scale):
        with np.errstate(over="ignore"):
            return (q * scale * 10,)

    graph = trace(lambda t, q: law(t, q, a), PORTS)
    assert Calls(lambda t, q: law(t, q, b), PORTS, START).differs(graph) is None


def test_finite_numbers_that_differ_are_a_difference():
    graph = trace(lambda t, q: (q * 2,), PORTS)
    assert Calls(lambda t, q: (q * 2,), PORTS, START).differs(graph) is None
    assert "something else" in Calls(lambda t, q: (q * 2.001,), PORTS, START).differs(graph)
    assert "something else" in Calls(lambda t, q: (q[:1] * 2,), PORTS, START).differs(graph)


def test_a_class_of_datetime_is_a_clock_only_where_it_is_read():
    assert Memory(lambda: datetime.now()).clock == "datetime.datetime"
    assert Memory(lambda: datetime(2020, 1, 1)).clock is None
    assert Memory(lambda: timedelta(seconds=1).total_seconds()).clock is None


class Slots:
    """An object without a dictionary."""

    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


def test_slots_count_as_levels_of_the_walk():
    for levels in range(7):
        inner = [0.0]
        outer = inner
        for _ in range(levels):
            outer = Slots(outer)
        memory = Memory(outer)
        inner.append(1.0)
        assert (memory.change() is not None) == (levels <= 4), levels


class Token:
    """An object that is equal to nothing but itself."""

    __slots__ = ()


def test_another_object_of_the_same_class_is_a_change():
    holder = Slots(Token())
    memory = Memory(holder)
    assert memory.change() is None
    holder.inside = Token()
    assert memory.change() is not None


def test_every_object_with_slots_is_watched_and_put_back():
    """The second of a class too: a law may keep two filters."""
    pair = [Slots(1.0), Slots(2.0), Slots([3.0])]
    for k, other in enumerate((5.0, 6.0)):
        memory = Memory(pair)
        pair[k].inside = other
        assert memory.change() is not None
        memory.restore()
        assert pair[k].inside == k + 1.0
    memory = Memory(pair)
    pair[2].inside.append(4.0)
    assert memory.change() is not None
    memory.restore()
    assert pair[2].inside == [3.0]
