"""Long code in parts: functions of their own that hand numbers over in memory.

What LLVM does with a function takes a time that grows faster than its length. Hardly any value of a
long graph could stay in a register from one part to the next anyway, so none is asked to: what a
later part needs is stored once and loaded where that part first uses it. Inputs, sines and cosines
stand in memory already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

from kinetree.compiler.graph import Graph

PART = 500  # nodes of a part, at most
WHOLE = 2000  # nodes up to which vector code, which has more registers, stays in one part
IN_MEMORY = frozenset({"input", "sin", "cos"})

PARTED = ' noinline "stackrealign"'

Item = int | list[int]  # a node, or a stage of angles


@dataclass(frozen=True)
class Head:
    """How a function is defined: its pointers with their attributes, linkage and attributes."""

    pointers: Sequence[str]
    linkage: str = ""
    attributes: str = ""


def split(order: Sequence[Item], lanes: int) -> list[Sequence[Item]]:
    """The parts of an order of evaluation, of about equal lengths."""
    count = 1 if lanes > 1 and len(order) <= WHOLE else -(-len(order) // PART)
    ends = [k * len(order) // max(count, 1) for k in range(count + 1)]
    return [order[a:b] for a, b in pairwise(ends)] or [[]]


def needed(graph: Graph, item: Item) -> Sequence[int]:
    """The nodes that an item reads by their names."""
    if isinstance(item, list):
        return item
    node = graph.nodes[item]
    return () if node.op in IN_MEMORY else node.args


def kept_slots(graph: Graph, parts: Sequence[Sequence[Item]]) -> tuple[dict[int, int], int]:
    """A place in memory for each value that a later part needs, and how many places there are.

    A place is used again once the part that last needs it is over.
    """
    made: dict[int, int] = {}
    last: dict[int, int] = {}
    for k, part in enumerate(parts):
        for item in part:
            for arg in needed(graph, item):
                if made.get(arg, k) != k:
                    last[arg] = k
            if not isinstance(item, list) and graph.nodes[item].op not in (*IN_MEMORY, "const"):
                made[item] = k
    slots: dict[int, int] = {}
    free: list[int] = []
    ends: list[list[int]] = [[] for _ in parts]
    count = 0
    for k, part in enumerate(parts):
        for item in part:
            if isinstance(item, int) and item in last:
                if not free:
                    heappush(free, count)
                    count += 1
                slots[item] = heappop(free)
                ends[last[item]].append(slots[item])
        for slot in ends[k]:
            heappush(free, slot)
    return slots, count


def assemble(name: str, head: Head, buffers: Mapping[str, str], parts: Sequence[list[str]]) -> str:
    """Text of a function whose statements come in parts.

    Args:
        name: of the function; parts are called by numbers behind it.
        head: how it is defined.
        buffers: pointers to memory of its own, with the types to allocate.
        parts: the statements of each.
    """
    made = [f"  {pointer} = alloca {kind}" for pointer, kind in buffers.items()]
    end = "  ret void\n}\n"
    first = f"define {head.linkage}void @{name}({', '.join(head.pointers)}){head.attributes} {{"
    if len(parts) == 1:
        return "\n".join([first, *made, *parts[0], end])
    given = ", ".join([*head.pointers, *(f"ptr {pointer}" for pointer in buffers)])
    passed = ", ".join(f"ptr {x.split()[-1]}" for x in given.split(", "))
    lines = []
    for k, part in enumerate(parts):
        lines += [f"define internal void @{name}_part{k}({given}){PARTED} {{", *part, end]
    calls = [f"  call void @{name}_part{k}({passed})" for k in range(len(parts))]
    return "\n".join([*lines, first, *made, *calls, end])
