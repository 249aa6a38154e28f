"""Flat code: a graph or a program as one list of steps, which a walker runs without compiling.

A step is five whole numbers: an operation, the slot of its result, and the slots of its arguments.
A state has one number in each slot: first the inputs, then constants, then everything computed.

    SINCOS  sine to the first slot, cosine to the slot of argument 2, of the angle in argument 1
    MOVE    a copy
    TEST    leave a loop by skipping so many steps (argument 2) where no state is open (argument 1)
            or after the rounds of argument 3, which the result counts
    JUMP    skip so many steps (argument 1), backwards if negative

The steps are the operations of the graph in its own order, so results have the same bits as those
of compiled code. `engine/llvm/walk.py` has the walker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import LOOPS, OPERATIONS, Graph, Node, Port
from kinetree.engine.compiler.program import INPUTS, Body, Program

PLAIN = tuple(op for op in OPERATIONS if op not in ("const", "input", "sin", "cos"))
STEPS = (*PLAIN, "SINCOS", "MOVE", "TEST", "JUMP")
CODES = {op: k for k, op in enumerate(STEPS)}
NO_STEP = -1
WIDTH = 5  # whole numbers of a step
CODE_OF = {op: CODES.get(op, NO_STEP) for op in (*OPERATIONS, *LOOPS)}

# Slots of a body that differ from call to call are column * FAR + offset: what the call has in that
# column of its table is added to the offset. Column 0 is for slots that are the same in all calls.
FAR = 1 << 32


@dataclass(frozen=True, eq=False)
class Flat:
    """Steps that compute the outputs of a kernel from its inputs.

    steps: (steps, 5), int32. constants: numbers of the slots behind those of the inputs. results:
    the slot of every number of the outputs, int32. slots: how many there are.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    steps: Array
    constants: Array
    results: Array
    slots: int


def flattened(graph: "Graph | Program") -> Flat:
    """Return the steps of a graph or of a program."""
    first = sum(port.size for port in graph.inputs)
    flattener = _Flattener(first)
    if isinstance(graph, Program):
        steps, results = _program_steps(flattener, graph)
    else:
        ends = np.cumsum([port.size for port in graph.inputs])
        steps, slots = flattener.steps(graph, np.split(np.arange(first), ends[:-1]))
        results = slots[np.array(list(graph.roots()), int)]
        steps, results = (_behind(x, first, len(flattener.constants)) for x in (steps, results))
    constants = np.array(flattener.constants, float)
    return Flat(
        graph.inputs,
        graph.outputs,
        steps,
        constants,
        results,
        flattener.used - WORK + first + len(constants),
    )


# Work slots are counted from here on until the number of constants is known.
WORK = 1 << 30
COUNTED = 1 << 29  # and jumps, which are no slots, lie between -COUNTED and COUNTED


def _behind(slots: Array, first: int, constants: int) -> Array:
    """Move work slots to their places behind inputs and constants."""
    made = slots.astype(np.int32)
    made[made >= COUNTED] -= WORK - first - constants
    return made


class _Flattener:
    """Makes steps of graphs; `constants` and `used` grow with each. first: slot of constants."""

    def __init__(self, first: int) -> None:
        self.first, self.used = first, WORK
        self.constants: list[float] = []

    def take(self, count: int) -> int:
        """Return the first of some new slots."""
        self.used += count
        return self.used - count

    def constant(self, number: float) -> int:
        """Return the slot of a new constant."""
        self.constants.append(number)
        return self.first + len(self.constants) - 1

    def steps(
        self, graph: Graph, starts: Sequence[Array], wanted: "dict[int, int] | None" = None
    ) -> tuple[Array, Array]:
        """Return the steps of a graph, and the slot of each node.

        Args:
            graph: what to compute.
            starts: for each input the slots of its elements.
            wanted: slots that some nodes shall have.
        """
        nodes = graph.nodes
        codes = np.array([CODE_OF[node.op] for node in nodes], int)
        computed = codes >= 0
        slots = np.zeros(len(nodes), int)
        slots[computed] = self.take(int(computed.sum())) + np.arange(computed.sum())
        chosen = wanted or {}
        slots[list(chosen)] = list(chosen.values())
        loops: dict[int, Array] = {}  # by node: the steps that take its place
        carried: dict[int, int] = {}  # by node of a loop: the slot of the first number it carries
        pairs: dict[int, dict[str, int]] = {}  # by angle: the nodes of its sine and cosine
        for i in np.flatnonzero(~computed).tolist():
            op, args, _ = node = nodes[i]
            if op == "const":
                slots[i] = self.constant(node.number)
            elif op == "input":
                port, element = node.place
                slots[i] = starts[port][element]
            elif op == "carried":
                slots[i] = carried[args[0]] + node.place[1]
            elif op == "repeat":
                loops[i], carried[i] = self._loop(node, slots[list(args)])
            else:
                pairs.setdefault(args[0], {})[op] = i
                slots[i] = chosen[i] if i in chosen else self.take(1)
        for angle, made in pairs.items():
            sine, cosine = (slots[made[x]] if x in made else self.take(1) for x in ("sin", "cos"))
            step = [CODES["SINCOS"], sine, slots[angle], cosine, 0]
            loops[min(made.values())] = np.array([step])
        whole = np.stack([codes, slots, *slots[_arguments(nodes)]], axis=1)
        pieces: list[Array] = []
        done = 0
        for i in sorted(loops):
            pieces += [whole[done:i][computed[done:i]], loops[i]]
            done = i + 1
        return np.concatenate([*pieces, whole[done:][computed[done:]]]), slots

    def _loop(self, node: Node, given: Array) -> tuple[Array, int]:
        """Return the steps of a loop, and the slot of the first number that it carries."""
        sweep = node.sweep
        count = sweep.carried
        carried, copies = self.take(count), self.take(count)
        counter, zero = self.take(1), self.constant(0.0)
        at = np.arange(count)
        body, slots = self.steps(sweep.graph, [carried + at, given[count:]])
        begin = _moves(np.append(given[:count], zero), np.append(carried + at, counter))
        # all results of a round are read before any is written
        results = slots[list(sweep.graph.results[0])]
        end = np.concatenate([_moves(results, copies + at), _moves(copies + at, carried + at)])
        inside = len(body) + len(end)
        rounds = self.constant(float(sweep.rounds))
        test = np.array([[CODES["TEST"], counter, carried, inside + 2, rounds]])
        jump = np.array([[CODES["JUMP"], 0, -inside - 1, 0, 0]])
        return np.concatenate([begin, test, body, end, jump]), carried


def _arguments(nodes: Sequence[Node]) -> Array:
    """Return the arguments of every node, (3, nodes); 0 where a node has fewer, or is a loop."""
    counts = np.array([len(node.args) for node in nodes], int)
    flat = np.array([arg for node in nodes for arg in node.args] or [0], int)
    first = np.cumsum(counts) - counts
    places = [np.minimum(first + k, len(flat) - 1) for k in range(3)]
    return np.stack([np.where(counts > k, flat[at], 0) for k, at in enumerate(places)])


def _moves(sources: Array, targets: Array) -> Array:
    """Return steps that copy numbers."""
    zeros = np.zeros(len(sources), int)
    return np.stack([zeros + CODES["MOVE"], targets, sources, zeros, zeros], axis=1)


def _program_steps(flattener: _Flattener, program: Program) -> tuple[Array, Array]:
    """Return the steps of all calls of a program in their order, and the slots of the outputs.

    Work slots are at their places already: there are a million steps, but few in the bodies.
    """
    flattener.constants += program.constants.tolist()
    work = flattener.take(program.slots)
    count = sum(port.size for port in program.outputs)
    out = flattener.take(count)
    runs = program.runs.tolist()
    bodies = [_body_steps(flattener, body) for body in program.bodies]
    behind = partial(_behind, first=flattener.first, constants=len(flattener.constants))
    made: list[Array] = []  # the steps of every call of each body
    for k, body in enumerate(program.bodies):
        last = body.graph.outputs[0].name == "outputs"
        columns = len(body.bundles) + len(body.sheaves)
        own = [run for run in runs if run[0] == k]
        places = [program.places[at : at + calls * columns] for _, calls, at, _ in own]
        table = np.concatenate(places).reshape(-1, columns).astype(int)
        spaces = [0 if bundle.space == INPUTS else work for bundle in body.bundles]
        table[:, : len(body.bundles)] += np.array(spaces, int)
        table[:, len(body.bundles) :] += out if last else work
        first = [at + body.constants * np.arange(calls) for _, calls, _, at in own]
        added = np.concatenate(first)[:, None] + flattener.first
        table = np.concatenate([np.zeros_like(added), table, added], axis=1)
        varying = (bodies[k] + FAR // 2) // FAR  # offsets may be negative
        made.append(behind(table)[:, varying])
        made[-1] += behind(bodies[k] - varying * FAR)  # in place: a million numbers
    done = [0] * len(made)
    pieces: list[Array] = []
    for k, calls, *_ in runs:
        pieces.append(made[k][done[k] : done[k] + calls].reshape(-1, WIDTH))
        done[k] += calls
    return np.concatenate(pieces), behind(out + np.arange(count))


def _body_steps(flattener: _Flattener, body: Body) -> Array:
    """Return the steps of one call of a body, with columns for what differs between calls."""
    values = np.zeros(body.graph.inputs[0].size, int)
    for column, bundle in enumerate(body.bundles, 1):
        for argument, offset in bundle.offsets:
            values[argument] = column * FAR + offset
    last = 1 + len(body.bundles) + len(body.sheaves)
    constants = last * FAR + np.arange(body.constants)
    nodes, results = body.graph.nodes, body.graph.results[0]
    wanted: dict[int, int] = {}
    copied: list[tuple[int, int]] = []  # results that have a slot already
    for s, sheaf in enumerate(body.sheaves, 1 + len(body.bundles)):
        for at, k in enumerate(sheaf):
            node, slot = results[k], s * FAR + at
            if nodes[node].op in ("const", "input", "carried") or node in wanted:
                copied.append((node, slot))
            else:
                wanted[node] = slot
    steps, slots = flattener.steps(body.graph, [values, constants], wanted)
    if copied:
        sources = slots[[node for node, _ in copied]]
        steps = np.concatenate([steps, _moves(sources, np.array([slot for _, slot in copied]))])
    return steps
