"""What object code depends on, in short: the key of the disk cache.

The key is made from the graph and from the source of the emitter, not from the emitted text: the
text of a large robot takes longer to write than its object code takes to load.
"""

import functools
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

from kinetree.backends import cache, engine
from kinetree.compiler.graph import Graph
from kinetree.compiler.store import StoredGraph, encode

# the modules of this folder that decide what code is made; all of llvm/ does
MAKERS = (
    "arrays_abi.py",
    "engine.py",
    "fastbatch.py",
    "fastcall.py",
    "fastinto.py",
    "programs.py",
    "quiet.py",
)


@functools.cache
def emitter_text() -> str:
    """A hash over the source of everything that turns a graph into code."""
    here = files("kinetree.backends")
    digest = hashlib.sha256()
    for source in (*sources(here / "llvm"), *(here / name for name in MAKERS)):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def sources(folder: Traversable) -> list[Traversable]:
    """The files of a package in a fixed order."""
    found = [item for item in folder.iterdir() if item.is_file()]
    return sorted(found, key=lambda item: item.name)


def code_key(graph: Graph, target: object, dtype: str) -> str:
    """The key of the object code of `graph` for `target` in numbers of type `dtype`."""
    digest = graph.digest if isinstance(graph, StoredGraph) else StoredGraph(encode(graph)).digest
    parts = [digest, dtype, repr(target), emitter_text(), engine.versions()]
    return cache.make_key(parts)
