"""What object code depends on, in short: the key of the disk cache.

The key is made from the graph and from the source of the emitter, not from the emitted text: the
text of a large robot takes longer to write than its object code takes to load.
"""

from kinetree.backends import cache, engine
from kinetree.backends.source import source_hash
from kinetree.compiler.graph import Graph
from kinetree.compiler.store import StoredGraph, encode

# what decides which code is made of a graph
EMITTER = (
    "backends/llvm",
    "backends/arrays_abi.py",
    "backends/engine.py",
    "backends/fastbatch.py",
    "backends/fastcall.py",
    "backends/fastinto.py",
    "backends/programs.py",
    "backends/quiet.py",
)


def emitter_text() -> str:
    """A hash over the source of everything that turns a graph into code."""
    return source_hash(*EMITTER)


def code_key(graph: Graph, target: object, dtype: str) -> str:
    """The key of the object code of `graph` for `target` in numbers of type `dtype`."""
    digest = graph.digest if isinstance(graph, StoredGraph) else StoredGraph(encode(graph)).digest
    parts = [digest, dtype, repr(target), emitter_text(), engine.versions()]
    return cache.make_key(parts)
