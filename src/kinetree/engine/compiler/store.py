"""Graphs as bytes and back: compact and exact; reading runs no stored code.

The bytes begin with a line of JSON (ports, counts), followed by flat arrays: operations, the
arguments one after the other, the numbers of constants, the places of inputs, the results.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import LOOPS, Graph, Node, Port, Sweep, node_of
from kinetree.engine.compiler.ops import LEAVES, OPERATIONS
from kinetree.errors import GraphError

NAMES = (*LEAVES, *OPERATIONS, *sorted(LOOPS))
CODES = {name: k for k, name in enumerate(NAMES)}
ARITY = {"const": 0, "input": 0, "carried": 1}
ARITY |= {name: op.arity for name, op in OPERATIONS.items()}


def encode(graph: Graph) -> bytes:
    """Return the bytes of a graph."""
    ops = np.array([CODES[node.op] for node in graph.nodes], np.uint8)
    args = np.array([a for node in graph.nodes for a in node.args], np.int32)
    values = [node.value for node in graph.nodes if node.op == "const"]
    inputs = [node.value for node in graph.nodes if node.op in ("input", "carried")]
    results = np.array([k for result in graph.results for k in result], np.int32)
    head: dict[str, object] = {
        "inputs": [[p.name, p.shape, p.dims] for p in graph.inputs],
        "outputs": [[p.name, p.shape, p.dims] for p in graph.outputs],
        "operations": graph.operations,
        "sizes": [len(ops), len(args), len(values), len(inputs), len(results)],
    }
    if sweeps := [graph.nodes[i].sweep for i in graph.repeats()]:
        head["sweeps"] = [[x.rounds, encode(x.graph).hex(), x.solves, x.scans] for x in sweeps]
    arrays = [ops, args, np.array(values, np.float64), np.array(inputs, np.int32), results]
    return json.dumps(head).encode() + b"\n" + b"".join(x.tobytes() for x in arrays)


class StoredGraph(Graph):
    """A graph whose nodes are read from its bytes at the first access.

    key: texts that state what the graph was made of, where that is known.
    """

    __slots__ = ("__dict__",)

    def __init__(self, data: bytes, key: tuple[str, ...] = ()) -> None:
        line, _, body = data.partition(b"\n")
        head = json.loads(line)
        object.__setattr__(self, "inputs", _ports(head["inputs"]))
        object.__setattr__(self, "outputs", _ports(head["outputs"]))
        self.__dict__.update(_body=body, _head=head, _data=data, key=key)

    @classmethod
    def of(cls, graph: Graph, key: tuple[str, ...] = ()) -> "StoredGraph":
        """Return the bytes of a graph, which keep its nodes instead of reading them again."""
        stored = cls(encode(graph), key)
        stored.__dict__["_read"] = graph.nodes, graph.results
        return stored

    @property
    def operations(self) -> int:
        """As `Graph.operations`, without reading the nodes."""
        return self.__dict__["_head"]["operations"]

    @property
    def length(self) -> int:
        """As `Graph.length`, without reading the nodes."""
        return self.__dict__["_head"]["sizes"][0]

    @property
    def has_loops(self) -> bool:
        """As `Graph.has_loops`, without reading the nodes."""
        return "sweeps" in self.__dict__["_head"]

    @property
    def data(self) -> bytes:
        """The graph as bytes."""
        return self.__dict__["_data"]

    @cached_property
    def digest(self) -> str:
        """A hash of everything in the graph."""
        return sha256(self.data).hexdigest()

    def arrays(self) -> tuple[Array, ...]:
        """Return operations, arguments, constants, places of inputs and results, without nodes."""
        body, sizes = self.__dict__["_body"], self.__dict__["_head"]["sizes"]
        n, n_args, n_values, n_inputs, n_results = sizes
        expected = n + 4 * n_args + 8 * n_values + 8 * n_inputs + 4 * n_results
        if len(body) != expected:
            raise GraphError(f"a stored graph has {len(body)} bytes; expected {expected}.")
        cuts = np.cumsum([0, n, 4 * n_args, 8 * n_values, 8 * n_inputs, 4 * n_results])
        kinds = (np.uint8, np.int32, np.float64, np.int32, np.int32)
        return tuple(
            np.frombuffer(body[cuts[k] : cuts[k + 1]], kind) for k, kind in enumerate(kinds)
        )

    @cached_property
    def _read(self) -> tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]]:
        sweeps = self.__dict__["_head"].get("sweeps", ())
        loops = [Sweep(n, _graph(bytes.fromhex(x)), y, z) for n, x, y, z in sweeps]
        return _nodes(self.arrays(), self.outputs, loops)

    @property
    def nodes(self) -> tuple[Node, ...]:  # type: ignore[override]
        """As `Graph.nodes`."""
        return self._read[0]

    @property
    def results(self) -> tuple[tuple[int, ...], ...]:  # type: ignore[override]
        """As `Graph.results`."""
        return self._read[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredGraph, (self.__dict__["_data"], self.__dict__["key"])


def digest(graph: Graph) -> str:
    """Return a hash of everything in a graph or program, the same in every process."""
    known = getattr(graph, "digest", None)
    return sha256(encode(graph)).hexdigest() if known is None else known


def key_of(graph: Graph) -> tuple[str, ...]:
    """Return the key of a graph on disk: what it was made of, else a hash of it."""
    return getattr(graph, "key", ()) or (digest(graph),)


def _graph(data: bytes) -> Graph:
    """Return a graph that was encoded, as a plain one."""
    stored = StoredGraph(data)
    return stored.with_nodes(stored.nodes, stored.results)


def _ports(rows: Sequence[Sequence[object]]) -> tuple[Port, ...]:
    return tuple(Port(str(n), tuple(s), tuple(d)) for n, s, d in rows)  # type: ignore[arg-type]


def _nodes(
    arrays: Sequence[Array], outputs: Sequence[Port], sweeps: Sequence[Sweep]
) -> tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]]:
    ops, args, values, inputs, results = (x.tolist() for x in arrays)
    entries = list(zip(inputs[::2], inputs[1::2], strict=True))
    kept = {"const": iter(values), "repeat": iter(sweeps)}
    kept |= dict.fromkeys(("input", "carried"), iter(entries))
    nodes, at = list[Node](), 0
    for op in ops:
        name = NAMES[op]
        value = next(kept[name]) if name in kept else None
        end = at + (value.size if isinstance(value, Sweep) else ARITY[name])
        nodes.append(node_of((name, tuple(args[at:end]), value)))
        at = end
    ends = np.cumsum([0, *(port.size for port in outputs)]).tolist()
    split = tuple(tuple(results[a:b]) for a, b in pairwise(ends))
    return tuple(nodes), split
