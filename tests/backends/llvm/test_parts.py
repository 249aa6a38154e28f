"""Long code is cut into functions that hand numbers over in memory, and nothing else changes."""

from collections.abc import Sequence

import numpy as np
import pytest
from llvm_graphs import chain
from llvm_harness import Compiled, host, same_bits

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.llvm import body as parts
from kinetree.engine.llvm.body import angle_stages, order
from kinetree.engine.llvm.emit import emit


def cut(graph: Graph, length: int) -> list[Sequence[parts.Item]]:
    items = list(order(graph, angle_stages(graph)))
    return [items[k : k + length] for k in range(0, len(items), length)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [1, 7, 90])
def test_parts_do_not_change_a_bit(
    dtype: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chain(6, seed=3)
    rng = np.random.default_rng(8)
    inputs = [rng.normal(size=(21, *p.shape)).astype(dtype) for p in graph.inputs]
    monkeypatch.setattr(parts, "PART", 10**6)
    whole = Compiled(graph, host(4, 8), dtype).states(*inputs)
    monkeypatch.setattr(parts, "PART", length)
    monkeypatch.setattr(parts, "WHOLE", length)
    code = Compiled(graph, host(4, 8), dtype)
    assert all(map(same_bits, code.states(*inputs), whole))
    for k in range(21):
        found = code.one(*(x[k] for x in inputs))
        assert all(same_bits(x, y[k]) for x, y in zip(found, whole, strict=True))


@pytest.mark.parametrize("length", [1, 5, 40])
def test_every_part_finds_what_it_needs(length: int) -> None:
    graph = chain(5, seed=1)
    divided = cut(graph, length)
    slots, count = parts.kept_slots(graph, divided)
    memory: list[int | None] = [None] * count
    for part in divided:
        here: set[int] = set()
        for item in part:
            for i in parts.needed(graph.nodes, item):
                if graph.nodes[i].op not in (*parts.IN_MEMORY, "const"):
                    assert i in here or memory[slots[i]] == i
            if isinstance(item, int):
                here.add(item)
                if item in slots:
                    memory[slots[item]] = item
    assert count < len(slots) or length == 40  # places are used again


def test_short_code_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(2)
    assert "_part" not in emit(graph, host(4))
    monkeypatch.setattr(parts, "PART", 10)
    text = emit(graph, host(4))
    assert "@kernel_one_part1(" in text
    assert "@kernel_block_part1(" not in text


def test_parts_are_even() -> None:
    lengths = [len(part) for part in parts.split(list(range(2 * parts.PART + 1)), 1)]
    assert len(lengths) == 3
    assert max(lengths) - min(lengths) <= 1
    assert parts.split([], 1) == [[]]
