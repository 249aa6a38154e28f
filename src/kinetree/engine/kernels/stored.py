"""Traced graphs on disk, so that a known robot is not traced again.

The key of an entry (`engine/cache.py` adds the identity of the package) is a hash of the robot's
data and the text of the request. The machine code of the graph lies in the same entry.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from time import perf_counter
from typing import Any, cast

import numpy as np

from kinetree.engine import cache
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.store import StoredGraph
from kinetree.model import Model

log = logging.getLogger(__name__)

PART = "graph"
# fields that decide no result: names, remarks, and limits, which only `dynamics.random` reads
IGNORED = {
    "Model": ("name", "link_names", "base_name", "collisions", "notes", "warnings"),
    "Joint": ("limits",),
    "Constraints": ("given", "home"),
}


def stored_graph(model: Model, request: object, make: Callable[[], Graph]) -> Graph:
    """Return the graph that `make` would make, from the disk where it is known.

    The text of `request` states everything that the graph depends on apart from the model.
    """
    if not comparable(model):
        return made_graph(make)
    return kept_graph((model_hash(model), repr(request)), make)


def kept_graph(key: tuple[str, ...], make: Callable[[], Graph]) -> Graph:
    """Return the graph that `make` would make, from the disk; `key` states what it is made of."""
    if not cache.enabled():
        return made_graph(make)
    entry = cache.entry(*key)
    data = cache.load(entry, PART)
    if data is not None:
        return StoredGraph(data, key)
    graph = made_graph(make, key)
    cache.store(entry, PART, graph.data)
    return graph


def made_graph(make: Callable[[], Graph], key: tuple[str, ...] = ()) -> StoredGraph:
    """Return the graph that `make` makes, with its bytes."""
    start = perf_counter()
    graph = StoredGraph.of(make(), key)
    log.info("kinetree traced %d operations in %.2f s", graph.operations, perf_counter() - start)
    return graph


def comparable(model: Model) -> bool:
    """Return True if two models with equal numbers are equal."""
    return all(x.dtype != object for x in (model.M_pi, model.m, model.com, model.I_com))


def model_hash(model: Model) -> str:
    """Return a hash over all data of a model that its results depend on, computed once."""
    known = model.memo.get("hash")
    return model.memo.setdefault("hash", hashed(model)) if known is None else known


def hashed(model: Model) -> str:
    """Compute the hash of a model, over all fields of its records but those of IGNORED."""
    return hashlib.sha256(_text(model).encode()).hexdigest()


def _text(value: Any) -> str:
    """Return a text of everything that a value consists of, the same in every process."""
    if isinstance(digest := getattr(value, "digest", None), str):  # a function of the user
        return digest
    if is_dataclass(value):
        kind = type(value).__name__
        kept = [x.name for x in fields(value) if x.name not in IGNORED.get(kind, ())]
        return f"{kind}({', '.join(f'{x}={_text(getattr(value, x))}' for x in kept)})"
    if isinstance(value, Mapping):
        return _text([*cast("Mapping[str, Any]", value).items()])
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_text, cast('Iterable[Any]', value)))}]"
    if isinstance(value, np.ndarray):
        return f"{value.shape} {np.asarray(value, float).tobytes().hex()}"
    # plain numbers: the text of NumPy's depends on its version
    return repr(value.item() if isinstance(value, np.generic) else value)
