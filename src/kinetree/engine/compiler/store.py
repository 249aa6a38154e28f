"""Graphs as bytes and back: compact and exact; reading runs no stored code.

The bytes begin with a line of JSON (ports, counts), followed by flat arrays: operations, the
arguments one after the other, the numbers of constants, the places of inputs, the results.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

import numpy as np

from kinetree.engine.compiler.graph import OPERATIONS, Graph, Node, Port, node_of
from kinetree.engine.compiler.notes import Stage
from kinetree.errors import GraphError

CODES = {name: k for k, name in enumerate(OPERATIONS)}
NAMES = tuple(OPERATIONS)
ARITY = tuple(OPERATIONS[name][0] for name in NAMES)


def encode(graph: Graph) -> bytes:
    """Return the bytes of a graph."""
    ops = np.array([CODES[node.op] for node in graph.nodes], np.uint8)
    args = np.array([a for node in graph.nodes for a in node.args], np.int32)
    values = [node.value for node in graph.nodes if node.op == "const"]
    inputs = [node.value for node in graph.nodes if node.op == "input"]
    results = np.array([k for result in graph.results for k in result], np.int32)
    head = {
        "inputs": [[p.name, p.shape, p.dims] for p in graph.inputs],
        "outputs": [[p.name, p.shape, p.dims] for p in graph.outputs],
        "operations": graph.operations,
        "sizes": [len(ops), len(args), len(values), len(inputs), len(results)],
    }
    arrays = [ops, args, np.array(values, np.float64), np.array(inputs, np.int32), results]
    return json.dumps(head).encode() + b"\n" + b"".join(x.tobytes() for x in arrays)


class StoredGraph(Graph):
    """A graph whose nodes are read from its bytes at the first access."""

    __slots__ = ("__dict__",)

    def __init__(self, data: bytes) -> None:
        line, _, body = data.partition(b"\n")
        head = json.loads(line)
        object.__setattr__(self, "inputs", _ports(head["inputs"]))
        object.__setattr__(self, "outputs", _ports(head["outputs"]))
        self.__dict__.update(_body=body, _head=head, _data=data)

    @classmethod
    def of(cls, graph: Graph) -> "StoredGraph":
        """Return the bytes of a graph, which keep its nodes instead of reading them again."""
        stored = cls(encode(graph))
        stored.__dict__["_read"] = graph.nodes, graph.results
        return stored

    @property
    def stages(self) -> tuple[Stage, ...]:
        """How the graph was made, where that was noted."""
        return self.__dict__.get("stages", ())

    def noting(self, *stages: Stage) -> "StoredGraph":
        """Return the graph itself, with notes on how it was made."""
        self.__dict__["stages"] = stages
        return self

    @property
    def operations(self) -> int:
        """As `Graph.operations`, without reading the nodes."""
        return self.__dict__["_head"]["operations"]

    @property
    def data(self) -> bytes:
        """The graph as bytes."""
        return self.__dict__["_data"]

    @cached_property
    def digest(self) -> str:
        """A hash of everything in the graph."""
        return sha256(self.data).hexdigest()

    @cached_property
    def _read(self) -> tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]]:
        return _nodes(self.__dict__["_body"], self.__dict__["_head"]["sizes"], self.outputs)

    @property
    def nodes(self) -> tuple[Node, ...]:  # type: ignore[override]
        """As `Graph.nodes`."""
        return self._read[0]

    @property
    def results(self) -> tuple[tuple[int, ...], ...]:  # type: ignore[override]
        """As `Graph.results`."""
        return self._read[1]

    def __reduce__(self) -> tuple[type, tuple[bytes]]:
        return StoredGraph, (self.__dict__["_data"],)


def digest(graph: Graph) -> str:
    """Return a hash of everything in a graph or program, the same in every process."""
    known = getattr(graph, "digest", None)
    return sha256(encode(graph)).hexdigest() if known is None else known


def _ports(rows: Sequence[Sequence[object]]) -> tuple[Port, ...]:
    return tuple(Port(str(n), tuple(s), tuple(d)) for n, s, d in rows)  # type: ignore[arg-type]


def _nodes(
    body: bytes, sizes: Sequence[int], outputs: Sequence[Port]
) -> tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]]:
    n, n_args, n_values, n_inputs, n_results = sizes
    expected = n + 4 * n_args + 8 * n_values + 8 * n_inputs + 4 * n_results
    if len(body) != expected:
        raise GraphError(f"a stored graph has {len(body)} bytes; expected {expected}.")
    cuts = np.cumsum([0, n, 4 * n_args, 8 * n_values, 8 * n_inputs, 4 * n_results])
    kinds = (np.uint8, np.int32, np.float64, np.int32, np.int32)
    ops, args, values, inputs, results = (
        np.frombuffer(body[cuts[k] : cuts[k + 1]], kind).tolist() for k, kind in enumerate(kinds)
    )
    nodes, at, value, entry = [], 0, iter(values), iter(zip(inputs[::2], inputs[1::2], strict=True))
    for op in ops:
        end = at + ARITY[op]
        name = NAMES[op]
        leaf_value = None
        if end == at:
            leaf_value = next(value) if name == "const" else next(entry)
        nodes.append(node_of((name, tuple(args[at:end]), leaf_value)))
        at = end
    ends = np.cumsum([0, *(port.size for port in outputs)]).tolist()
    split = tuple(tuple(results[a:b]) for a, b in pairwise(ends))
    return tuple(nodes), split
