"""Programs: a computation as calls of a few small graphs over one block of memory.

A graph of a thousand links has half a million nodes, of which every link has the same few hundred.
A program has these once, as a body, and a table with the places and constants of every call.

    runs     (body, calls): calls of one body that follow one another
    slots    places of one number of every state
    bundles  arguments of a body that lie side by side in every call: one place in the table
    sheaves  results of a body that the same bodies need: written side by side, forgotten together

`recorder.py` makes programs of functions.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.store import digest
from kinetree.errors import GraphError

INPUTS, WORK = 0, 1  # where a bundle lies: in the arguments of the kernel, or in the slots


@dataclass(frozen=True)
class Bundle:
    """Arguments of a body that lie side by side: the first of them, and the offsets of all.

    space: INPUTS or WORK. offsets: by the number of the argument.
    """

    space: int
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Body:
    """A small graph of two inputs, values and constants.

    bundles: where its values are found. sheaves: the results that are written side by side.
    """

    graph: Graph
    bundles: tuple[Bundle, ...]
    sheaves: tuple[tuple[int, ...], ...]

    @property
    def constants(self) -> int:
        """How many constants each call has."""
        return self.graph.inputs[1].size


@dataclass(frozen=True, eq=False)
class Program:
    """Calls of bodies that compute the outputs of a kernel from its inputs.

    runs: (body, calls, first place, first constant) of each, (runs, 4). places: for each call the
    slots of its bundles and those of its sheaves, int32. constants: those of each call, float64.
    slots: how many there are. The last runs write the outputs. trace: makes the same as a graph.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    bodies: tuple[Body, ...]
    runs: Array
    places: Array
    constants: Array
    slots: int
    trace: Callable[[], Graph] | None = None

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; sine and cosine are not counted."""
        calls = np.bincount(self.runs[:, 0], self.runs[:, 1], len(self.bodies)).tolist()
        pairs = zip(calls, self.bodies, strict=True)
        return sum(int(count) * body.graph.operations for count, body in pairs)

    @cached_property
    def straight(self) -> Graph:
        """The same as one graph, traced where it is needed: for derivatives, CUDA and so on."""
        if self.trace is None:
            raise GraphError(
                f"{self.outputs[0].name} of this robot is computed by loops over its many links, "
                "and as a copy from another process it has no single graph. Expected the kernel "
                "of a robot of this process: take it from the robot."
            )
        return self.trace()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Graph, name):
            raise AttributeError(name)
        return getattr(self.straight, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"trace": None}  # a function of this process

    @cached_property
    def digest(self) -> str:
        """A hash of everything that decides what the program computes."""
        hashed = hashlib.sha256(repr((self.inputs, self.outputs, self.slots)).encode())
        for body in self.bodies:
            hashed.update(digest(body.graph).encode() + repr((body.bundles, body.sheaves)).encode())
        for table in (self.runs, self.places, self.constants):
            hashed.update(np.ascontiguousarray(table).tobytes())
        return hashed.hexdigest()
