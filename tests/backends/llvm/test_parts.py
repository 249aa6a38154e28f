"""Long code is cut into functions that hand numbers over in memory, and nothing else changes."""

import numpy as np
import pytest
from llvm_graphs import chain
from llvm_harness import Compiled, host, same_bits

from kinetree.engine.llvm import body as parts
from kinetree.engine.llvm.emit import emit


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [1, 90])
def test_parts_do_not_change_a_bit(
    dtype: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = chain(6, seed=3)
    rng = np.random.default_rng(8)
    inputs = [rng.normal(size=(21, *p.shape)).astype(dtype) for p in graph.inputs]
    monkeypatch.setattr(parts, "PART_NODES", 10**6)
    whole = Compiled(graph, host(4, 8), dtype).states(*inputs)
    monkeypatch.setattr(parts, "PART_NODES", length)
    monkeypatch.setattr(parts, "WHOLE_NODES", length)
    code = Compiled(graph, host(4, 8), dtype)
    assert all(map(same_bits, code.states(*inputs), whole))
    for k in range(0, 21, 5):
        found = code.one(*(x[k] for x in inputs))
        assert all(same_bits(x, y[k]) for x, y in zip(found, whole, strict=True))


def test_short_code_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain(2)
    assert "_part" not in emit(graph, host(4))
    monkeypatch.setattr(parts, "PART_NODES", 10)
    text = emit(graph, host(4))
    assert "@kernel_one_part1(" in text
    assert "@kernel_block_part1(" not in text
