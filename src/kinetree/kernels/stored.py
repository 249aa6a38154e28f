"""Traced graphs on disk, so that a known robot is not traced again.

The key covers the robot's data, the quantity, and the source of everything between a model and its
graph.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kinetree.backends.cache import entries as cache
from kinetree.backends.cache import folder as cache_folder
from kinetree.base.arrays import ArrayLike
from kinetree.compiler.graph import Graph
from kinetree.compiler.notes import Stage, collecting
from kinetree.compiler.store import StoredGraph
from kinetree.errors import KinetreeError
from kinetree.model import Model
from kinetree.model.friction import friction_numbers

SOURCES = (
    "spatial",
    "description",
    "model",
    "algorithms",
    "compiler",
    "base",
    "kernels",
    "scalars.py",
)


def stored_graph(model: Model, request: object, make: Callable[[], Graph]) -> Graph:
    """Return the graph that `make` would make, from the disk where it is known.

    The text of `request` states everything that the graph depends on apart from the model.
    """
    if not cache_folder.enabled() or not comparable(model):
        return made_graph(make)
    return kept_graph([model_hash(model), repr(request)], make)


def kept_graph(known: Iterable[str], make: Callable[[], Graph]) -> Graph:
    """Return the graph that `make` would make, from the disk; `known` are the parts of its key."""
    key = cache.make_key(["graph", *known, tracer_text()]) if cache_folder.enabled() else ""
    data = cache.load(key)
    if data is not None:
        try:
            return StoredGraph(data).noting(Stage("graph", None))
        except (ValueError, KeyError, KinetreeError):  # written by another version of kinetree
            pass
    graph = made_graph(make)
    cache.store(key, graph.data)
    return graph


def made_graph(make: Callable[[], Graph]) -> StoredGraph:
    """Return the graph that `make` makes, with notes on how."""
    with collecting() as stages:
        graph = make()
    return StoredGraph.of(graph).noting(*stages)


def comparable(model: Model) -> bool:
    """Return True if two models with equal numbers are equal."""
    return all(x.dtype != object for x in (model.M_pi, model.m, model.com, model.I_com))


def model_hash(model: Model) -> str:
    """Return a hash over all data of a model that its results depend on, computed once."""
    known = model.memo.get("hash")
    return model.memo.setdefault("hash", hashed(model)) if known is None else known


def hashed(model: Model) -> str:
    """Compute the hash of a model."""
    digest = hashlib.sha256()
    for x in (model.M_pi, model.m, model.com, model.I_com, model.gravity, *model.base):
        _feed(digest, np.asarray(x, float).tobytes())
    _feed(digest, repr((model.parent, model.tool)).encode())
    for joint in model.joints:
        screw = b"" if joint.screw is None else np.asarray(joint.screw, float).tobytes()
        bend = joint.friction.stribeck
        exponent = () if bend is None else (bend.exponent,)
        friction = friction_numbers(joint.friction) + exponent
        numbers = _plain((joint.scale, joint.offset, joint.armature, *friction))
        data = joint.name, joint.type, joint.coords, joint.dofs, numbers, joint.follows
        _feed(digest, screw + repr(data).encode())
        if joint.drive is not None:
            _feed(digest, repr(joint.drive).encode())
        if joint.friction.function is not None:
            _feed(digest, joint.friction.function.digest.encode())
    for rotor in model.rotors:
        data = rotor.joint, rotor.dof, rotor.link, _plain((rotor.inertia, rotor.ratio, rotor.s))
        _feed(digest, repr(data).encode())
    for spring in model.springs:
        numbers = _plain((spring.stiffness, spring.rest, spring.arms))
        _feed(digest, repr(("spring", spring.name, spring.coords, spring.dofs, numbers)).encode())
    for actuator in model.actuators:
        _feed(digest, repr(actuator).encode())
    for joint in model.joints if model.actuators else ():
        _feed(digest, repr(joint.actuation).encode())
    if model.constraints is not None:
        numbers = [(name, *_plain((x,))) for name, x in model.constraints.numbers()]
        _feed(digest, repr(("constraints", model.constraints.structure(), numbers)).encode())
    for name, frame in model.frames.items():
        _feed(digest, repr((name, frame.link)).encode() + np.asarray(frame.T_if, float).tobytes())
    return digest.hexdigest()


def _plain(values: Iterable[ArrayLike]) -> list[Any]:
    """Return ints, floats and lists, whose text does not depend on the version of NumPy."""
    return [np.asarray(x).tolist() for x in values]


def tracer_text() -> str:
    """Return a hash over the source of everything that turns a model into a graph."""
    return cache.source_hash(*SOURCES)


def _feed(digest: "hashlib._Hash", data: bytes) -> None:
    digest.update(len(data).to_bytes(8, "little"))
    digest.update(data)
