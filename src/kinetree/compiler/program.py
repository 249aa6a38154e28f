"""Programs: a computation as calls of a few small graphs over one block of memory.

A graph of a thousand links has half a million nodes, of which every link has the same few hundred.
A program has these once, as a body, and a table with the places and constants of every call.
`record` makes it from a function whose recursion consists of pieces (`kinetree.base.pieces`): each
piece is traced once for each pattern of its arguments and then only noted. Whatever the function
computes outside its pieces becomes calls of bodies of one operation.

    runs     (body, calls): calls of one body that follow one another
    slots    places of one number of every state
    bundles  arguments of a body that lie side by side in every call: one place in the table
    sheaves  results of a body that the same bodies need: written side by side, forgotten together

The order of the calls is chosen for long runs; slots are used again when nothing needs them.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.pieces import NUMBER, Form, put_together, recording, take_apart
from kinetree.compiler.builder import Builder
from kinetree.compiler.graph import OPERATIONS, Graph, Node, Port, no_collection, prune
from kinetree.compiler.optimise import optimise
from kinetree.compiler.store import digest
from kinetree.compiler.trace import TracedScalar, read, traced_array
from kinetree.errors import GraphError

VARIANTS = 6  # patterns of a piece that get bodies of their own; more are made one
INPUTS, WORK = 0, 1  # where a bundle lies: in the arguments of the kernel, or in the slots
PLAIN = frozenset({0.0, 1.0, -1.0})  # constants that shorten a body


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
    slots: how many there are. The last runs write the outputs.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    bodies: tuple[Body, ...]
    runs: Array
    places: Array
    constants: Array
    slots: int

    @property
    def operations(self) -> int:
        """Floating-point operations for one state; sine and cosine are not counted."""
        return sum(int(count) * self.bodies[body].graph.operations for body, count, *_ in self.runs)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """A program has no single graph, so whatever needs one is refused."""
        raise GraphError(
            f"{self.outputs[0].name} of this robot is computed by loops over its many links, which "
            "have no graph that could be differentiated, exported or run on a GPU. Expected a "
            "robot with fewer joints here."
        )

    results = nodes

    @cached_property
    def digest(self) -> str:
        """A hash of everything that decides what the program computes."""
        found = hashlib.sha256(repr((self.inputs, self.outputs, self.slots)).encode())
        for body in self.bodies:
            found.update(digest(body.graph).encode() + repr((body.bundles, body.sheaves)).encode())
        for table in (self.runs, self.places, self.constants):
            found.update(np.ascontiguousarray(table).tobytes())
        return found.hexdigest()


@dataclass(eq=False)
class Call:
    """A noted call: its variant, the nodes of its values, its constants, and its results."""

    variant: "Variant"
    values: tuple[int, ...]
    constants: tuple[float, ...]
    first: int  # the node of its first result; the others follow


@dataclass(eq=False)
class Variant:
    """A piece traced for one pattern of its arguments."""

    graph: Graph
    form: Form  # of what it returns
    results: tuple[Any, ...]  # for each number returned: a constant, ("in", k) or ("out", k)
    used: set[int]  # outputs that something needs


class Again(Exception):
    """A piece has more patterns than it may have, so that recording starts again with fewer."""


def recorded(
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
) -> Graph:
    """Return the program of a function where a graph is expected: it has the same ports."""
    return cast("Graph", record(function, inputs, outputs))


@no_collection()
def record(
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
) -> Program:
    """Return the program of a function of arrays; arguments as in `trace`."""
    common: dict[Any, tuple[Any, ...]] = {}
    while True:
        recorder = PieceRecorder(common)
        try:
            arrays = [traced_array(recorder.builder, k, port) for k, port in enumerate(inputs)]
            with recording(recorder):
                found = function(*arrays)
        except Again:
            continue
        results = [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]
        if len(results) != len(outputs):
            raise GraphError(
                f"the function returned {len(results)} arrays; expected {len(outputs)}."
            )
        ports = [
            Port(name, x.shape, dims) for (name, dims), x in zip(outputs, results, strict=True)
        ]
        nodes = [
            read(recorder.builder, x, port, k)
            for port, array in zip(ports, results, strict=True)
            for k, x in enumerate(array.ravel().tolist())
        ]
        return Assembly(recorder, tuple(inputs), tuple(ports), nodes).program()


class PieceRecorder:
    """Notes the calls of pieces, and traces each piece once for each pattern.

    common: for a piece with too many patterns, the pattern that all its calls share; it outlives
    the recorder.
    """

    def __init__(self, common: dict[Any, tuple[Any, ...]]) -> None:
        self.builder = Builder()
        self.calls: list[Call] = []
        self.common = common
        self._variants: dict[Any, Variant] = {}
        self._patterns: dict[Any, list[tuple[Any, ...]]] = {}

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Note a call; return its result around new nodes."""
        numbers: list[Any] = []
        form = take_apart(arguments, numbers)
        known = self.builder.numbers
        flat = [
            x.node if type(x) is TracedScalar and known[x.node] is None else self._number(x)
            for x in numbers
        ]
        kind = (function, form)
        pattern = self._pattern(kind, flat)
        values, constants = self._chosen(flat, pattern)
        variant = self._variants.get((kind, pattern))
        if variant is None:
            variant = _traced(function, form, pattern)
            self._variants[kind, pattern] = variant
        first = len(self.builder.ops)
        call = len(self.calls)
        for k in range(variant.graph.outputs[0].size):
            self.builder.input(-1 - call, k)
        self.calls.append(Call(variant, values, constants, first))
        builder = self.builder

        def result(x: Any) -> Any:
            if type(x) is not tuple:
                return x
            return TracedScalar(builder, first + x[1] if x[0] == "out" else values[x[1]])

        return put_together(variant.form, iter([result(x) for x in variant.results]))

    def _chosen(
        self, flat: Sequence[int | float], pattern: tuple[Any, ...]
    ) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The nodes and the constants that a call hands to its body."""
        values: list[int] = []
        constants: list[float] = []
        for k, (x, entry) in enumerate(zip(flat, pattern, strict=True)):
            if type(entry) is float or entry[1] != k:
                continue
            if entry[2]:
                constants.append(float(x))
            else:  # other calls have a value where this one has a constant
                values.append(x if type(x) is int else self.builder.constant(float(x)))
        return tuple(values), tuple(constants)

    def _number(self, x: Any) -> float:
        """A number, or a traced scalar that turned out to be one."""
        if type(x) is TracedScalar:
            found = self.builder.numbers[x.node]
            assert found is not None
            return found
        return float(x)

    def _pattern(self, kind: Any, flat: Sequence[int | float]) -> tuple[Any, ...]:
        """For each number: the constant that it is, or the first number that it equals."""
        seen: dict[Any, int] = {}
        pattern: list[Any] = []
        for k, x in enumerate(flat):
            if type(x) is float and x in PLAIN:
                pattern.append(x)
            else:
                pattern.append(("=", seen.setdefault((type(x), x), k), type(x) is float))
        found = tuple(pattern)
        shared = self.common.get(kind)
        if shared is None:
            known = self._patterns.setdefault(kind, [])
            if found not in known:
                known.append(found)
                if len(known) > VARIANTS:
                    self.common[kind] = _shared(known)
                    raise Again
            return found
        if (merged := _shared([shared, found])) != shared:
            self.common[kind] = merged
            raise Again
        return shared


def _shared(patterns: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The pattern that several have in common."""
    made: list[Any] = []
    for k, entries in enumerate(zip(*patterns, strict=True)):
        first = entries[0]
        if all(entry == first for entry in entries):
            made.append(first)
        else:  # it stands for itself; a constant if it is one in all calls
            made.append(("=", k, all(type(x) is float or x[2] for x in entries)))
    return tuple(made)


def _traced(function: Callable[..., Any], form: Form, pattern: tuple[Any, ...]) -> Variant:
    """Trace a piece for a pattern of its arguments."""
    builder = Builder()
    heads = [k for k, x in enumerate(pattern) if type(x) is tuple and x[1] == k]
    own: dict[int, TracedScalar] = {}
    counts = [0, 0]
    for k in heads:
        port = int(pattern[k][2])
        own[k] = TracedScalar(builder, builder.input(port, counts[port]))
        counts[port] += 1
    numbers = [x if type(x) is float else own[x[1]] for x in pattern]
    with recording(None):
        found = function(*put_together(form, iter(numbers)))
    returned: list[Any] = []
    shape = take_apart(found, returned)
    given = {own[k].node: j for j, k in enumerate(k for k in heads if not pattern[k][2])}
    outputs: dict[int, int] = {}
    results: list[Any] = []
    for x in returned:
        number = builder.numbers[x.node] if type(x) is TracedScalar else float(x)
        if number is not None:
            results.append(number)
        elif x.node in given:
            results.append(("in", given[x.node]))
        else:
            results.append(("out", outputs.setdefault(x.node, len(outputs))))
    ports = [Port("values", (counts[0],)), Port("constants", (counts[1],))]
    graph = builder.graph(ports, [Port("results", (len(outputs),))], [tuple(outputs)])
    return Variant(prune(graph), shape, tuple(results), set())


class Assembly:
    """Makes a program of noted calls and of the nodes between them."""

    def __init__(
        self,
        recorder: PieceRecorder,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        wanted: Sequence[int],
    ) -> None:
        self.builder, self.inputs, self.outputs = recorder.builder, inputs, outputs
        self.wanted = wanted
        self.starts = np.cumsum([0, *(port.size for port in inputs)]).tolist()
        self.single: dict[Any, Variant] = {}
        self.calls: list[Call] = []
        self.source: dict[int, tuple[int, int]] = {}  # node -> (call, number of its result)
        self._collect(recorder.calls)

    def _collect(self, noted: Sequence[Call]) -> None:
        """All calls that the outputs need, in an order that they could have."""
        builder = self.builder
        count = len(builder.ops)
        needed = bytearray(count)
        owner: dict[int, Call] = {}
        for call in noted:
            for k in range(call.variant.graph.outputs[0].size):
                owner[call.first + k] = call
        live: set[int] = set()  # the first nodes of the calls that are needed
        for node in self.wanted:
            needed[node] = True
        sine: dict[int, list[int]] = {}  # angle -> its sine and cosine
        for node in reversed(range(count)):
            if not needed[node]:
                continue
            call = owner.get(node)
            if call is None:
                for arg in builder.args[node]:
                    needed[arg] = True
                if builder.ops[node] in ("sin", "cos"):
                    sine.setdefault(builder.args[node][0], []).append(node)
                continue
            call.variant.used.add(node - call.first)
            if call.first not in live:
                live.add(call.first)
                for value in call.values:
                    needed[value] = True
        taken: set[int] = set()
        for node in range(count):
            call = owner.get(node)
            if call is not None:
                if call.first == node and node in live:
                    self._add(call, [node + k for k in range(call.variant.graph.outputs[0].size)])
            elif needed[node] and node not in taken and self._is_computed(node):
                angle = builder.args[node][0] if builder.ops[node] in ("sin", "cos") else None
                made = [node] if angle is None else sorted(sine[angle])
                taken.update(made)
                self._add(self._loose(made), made)

        self._settle()

    def _is_computed(self, node: int) -> bool:
        return self.builder.ops[node] != "input" and self.builder.numbers[node] is None

    def _settle(self) -> None:
        """Copy constants into slots, and inputs that other calls of their body have in slots."""
        mixed: dict[int, list[set[bool]]] = {}
        for call in self.calls:
            kinds = mixed.setdefault(id(call.variant), [set() for _ in call.values])
            for kind, node in zip(kinds, call.values, strict=True):
                kind.add(node in self.source or self.builder.numbers[node] is not None)
        copied: dict[int, int] = {}
        for call in list(self.calls):
            kinds = mixed[id(call.variant)]
            values = list(call.values)
            for k, (kind, node) in enumerate(zip(kinds, call.values, strict=True)):
                if node in self.source:
                    continue
                if len(kind) == 2 or self.builder.numbers[node] is not None:
                    if node not in copied:
                        copied[node] = self._copied(node)
                    values[k] = copied[node]
            call.values = tuple(values)

    def _copied(self, node: int) -> int:
        """A new node that a call of its own copies from an input or a constant."""
        number = self.builder.numbers[node]
        space = INPUTS if number is None else None
        variant = self.single.get(space)
        if variant is None:
            variant = self.single[space] = Variant(_copied_graph(space), NUMBER, (), {0})
        made = -1 - len(self.calls)  # no node of the builder
        values, constants = ((node,), ()) if number is None else ((), (number,))
        self._add(Call(variant, values, constants, made), [made])
        return made

    def _add(self, call: Call, made: Sequence[int]) -> None:
        for k, node in enumerate(made):
            self.source[node] = len(self.calls), k
        self.calls.append(call)

    def _loose(self, made: Sequence[int]) -> Call:
        """A call of one operation; of a sine together with the cosine of the same angle."""
        builder = self.builder
        ops = tuple(builder.ops[node] for node in made)
        args = builder.args[made[0]]
        numbers = [builder.numbers[arg] for arg in args]
        key = (ops, tuple(number is None for number in numbers))
        if key not in self.single:
            self.single[key] = _one_operation(ops, [number is None for number in numbers])
        values = tuple(arg for arg, x in zip(args, numbers, strict=True) if x is None)
        constants = tuple(x for x in numbers if x is not None)
        variant = self.single[key]
        variant.used.update(range(len(made)))
        return Call(variant, values, constants, made[0])

    def program(self) -> Program:
        """Order the calls, give them slots, and write the tables."""
        order = long_runs(self.calls, self.source)
        variants = list(dict.fromkeys(self.calls[k].variant for k in order))
        graphs = {v: optimise(_only(v.graph, sorted(v.used))) for v in variants}
        self.sheaves = self._sheaves(variants)
        self.place = {
            v: {k: (s, at) for s, sheaf in enumerate(sheaves) for at, k in enumerate(sheaf)}
            for v, sheaves in self.sheaves.items()
        }
        self.where, slots = self._slots(order)
        spots: dict[Variant, list[list[tuple[int, int]]]] = {v: [] for v in variants}
        for k in order:
            call = self.calls[k]
            spots[call.variant].append([self._spot(node) for node in call.values])
        bundles = {v: bundled(spots[v]) for v in variants}
        runs: list[list[int]] = []
        table: list[int] = []
        constants: list[float] = []
        taken = {v: iter(spots[v]) for v in variants}
        number = {v: k for k, v in enumerate(variants)}
        for k in order:
            call = self.calls[k]
            if not runs or runs[-1][0] != number[call.variant]:
                runs.append([number[call.variant], 0, len(table), len(constants)])
            runs[-1][1] += 1
            own = next(taken[call.variant])
            table += [own[bundle.offsets[0][0]][1] for bundle in bundles[call.variant]]
            table += self.where[k]
            constants += call.constants
        bodies = []
        for v in variants:
            new = {old: k for k, old in enumerate(sorted(v.used))}
            sheaves = tuple(tuple(new[k] for k in sheaf) for sheaf in self.sheaves[v])
            bodies.append(Body(graphs[v], bundles[v], sheaves))
        self._copy_out(runs, table, constants, bodies)
        return Program(
            self.inputs,
            self.outputs,
            tuple(bodies),
            np.array(runs, np.int32).reshape(-1, 4),
            np.array(table, np.int32),
            np.array(constants, np.float64),
            slots,
        )

    def _sheaves(self, variants: Sequence[Variant]) -> dict[Variant, list[tuple[int, ...]]]:
        """The results of each variant, those that the same variants need together."""
        users: dict[Variant, dict[int, set[Any]]] = {
            v: {k: set() for k in v.used} for v in variants
        }
        for call in self.calls:
            for node in call.values:
                if node in self.source:
                    maker, k = self.source[node]
                    users[self.calls[maker].variant][k].add(call.variant)
        for node in self.wanted:
            if node in self.source:
                maker, k = self.source[node]
                users[self.calls[maker].variant][k].add("outputs")
        made: dict[Variant, list[tuple[int, ...]]] = {}
        for v in variants:
            together: dict[frozenset[Any], list[int]] = {}
            for k in sorted(v.used):
                together.setdefault(frozenset(users[v][k]), []).append(k)
            made[v] = [tuple(sheaf) for sheaf in together.values()]
        return made

    def _copy_out(
        self,
        runs: list[list[int]],
        table: list[int],
        constants: list[float],
        bodies: list[Body],
    ) -> None:
        """Append the runs that copy the results to the outputs, one for each kind of source."""
        for kind in (WORK, INPUTS, None):
            start, first = len(table), len(constants)
            for element, node in enumerate(self.wanted):
                number = self.builder.numbers[node] if node >= 0 else None
                space, slot = (None, 0) if number is not None else self._spot(node)
                if space != kind:
                    continue
                if number is None:
                    table.append(slot)
                else:
                    constants.append(number)
                table.append(element)
            count = (len(table) - start) // (1 if kind is None else 2)
            if count:
                runs.append([len(bodies), count, start, first])
                bodies.append(_copying(kind))

    def _spot(self, node: int) -> tuple[int, int]:
        """The space and the place of a node."""
        if node not in self.source:
            port, element = self.builder.values[node]  # type: ignore[misc]
            return INPUTS, self.starts[port] + element
        call, k = self.source[node]
        sheaf, at = self.place[self.calls[call].variant][k]
        return WORK, self.where[call][sheaf] + at

    def _slots(self, order: Sequence[int]) -> tuple[list[list[int]], int]:
        """The first slot of each sheaf of each call, and how many slots there are."""
        last: dict[tuple[int, int], int] = {}  # when a sheaf is needed for the last time
        for time, k in enumerate(order):
            for node in self.calls[k].values:
                if node in self.source:
                    maker, result = self.source[node]
                    last[maker, self.place[self.calls[maker].variant][result][0]] = time
        for node in self.wanted:
            if node in self.source:
                maker, result = self.source[node]
                last[maker, self.place[self.calls[maker].variant][result][0]] = len(order)
        free: dict[int, list[int]] = {}
        ends: dict[int, list[tuple[int, int]]] = {}
        where: list[list[int]] = [[] for _ in self.calls]
        count = 0
        for time, k in enumerate(order):
            for s, sheaf in enumerate(self.sheaves[self.calls[k].variant]):
                size = len(sheaf)
                if free.get(size):
                    slot = free[size].pop()
                else:
                    slot, count = count, count + size
                where[k].append(slot)
                ends.setdefault(max(last.get((k, s), time), time), []).append((size, slot))
            # the results of this call must not overwrite its own arguments
            for size, slot in ends.pop(time, ()):
                free.setdefault(size, []).append(slot)
        return where, count


def long_runs(calls: Sequence[Call], source: dict[int, tuple[int, int]]) -> list[int]:
    """An order of the calls in which those of one body follow one another where they can."""
    users: list[list[int]] = [[] for _ in calls]
    missing = [0] * len(calls)
    for k, call in enumerate(calls):
        needs = {source[node][0] for node in call.values if node in source}
        missing[k] = len(needs)
        for other in needs:
            users[other].append(k)
    ready: dict[int, deque[int]] = {}
    for k, count in enumerate(missing):
        if not count:
            ready.setdefault(id(calls[k].variant), deque()).append(k)
    order: list[int] = []
    while ready:
        # the body whose next call was noted first; the recursion then keeps its own passes
        key = min(ready, key=lambda key: ready[key][0])
        queue = ready[key]
        while queue:
            k = queue.popleft()
            order.append(k)
            for user in users[k]:
                missing[user] -= 1
                if not missing[user]:
                    ready.setdefault(id(calls[user].variant), deque()).append(user)
        del ready[key]
    return order


def bundled(spots: Sequence[Sequence[tuple[int, int]]]) -> tuple[Bundle, ...]:
    """Arguments whose distance and space are the same in every call, together."""
    if not spots or not spots[0]:
        return ()
    where = np.array(spots)  # (calls, arguments, 2)
    spaces = where[:, :, 0]
    found: list[tuple[int, list[tuple[int, int]]]] = []
    for j in range(where.shape[1]):
        if not (spaces[:, j] == spaces[0, j]).all():
            raise GraphError(f"argument {j} of a piece comes from two places.")
        for head, offsets in found:
            apart = where[:, j, 1] - where[:, head, 1]
            if spaces[0, j] == spaces[0, head] and (apart == apart[0]).all():
                offsets.append((j, int(apart[0])))
                break
        else:
            found.append((j, [(j, 0)]))
    return tuple(Bundle(int(spaces[0, head]), tuple(offsets)) for head, offsets in found)


def _one_operation(ops: tuple[str, ...], varies: Sequence[bool]) -> Variant:
    """A body of one operation, or of a sine and a cosine of one angle."""
    nodes: list[Node] = []
    counts = [0, 0]
    for value in varies:
        port = 0 if value else 1
        nodes.append(Node("input", (), (port, counts[port])))
        counts[port] += 1
    args = tuple(range(len(varies)))
    assert all(OPERATIONS[op][0] == len(args) for op in ops)
    nodes += [Node(op, args) for op in ops]
    ports = (Port("values", (counts[0],)), Port("constants", (counts[1],)))
    results = tuple(range(len(varies), len(nodes)))
    graph = Graph(tuple(nodes), ports, (Port("results", (len(ops),)),), (results,))
    return Variant(graph, NUMBER, (), set())


def _copying(space: int | None) -> Body:
    """A body whose result, an element of the outputs, is its argument; None: its constant."""
    graph = _copied_graph(space, "outputs")
    return Body(graph, () if space is None else (Bundle(space, ((0, 0),)),), ((0,),))


def _copied_graph(space: int | None, name: str = "results") -> Graph:
    constant = int(space is None)
    ports = (Port("values", (1 - constant,)), Port("constants", (constant,)))
    node = Node("input", (), (constant, 0))
    return Graph((node,), ports, (Port(name, (1,)),), ((0,),))


def _only(graph: Graph, outputs: Iterable[int]) -> Graph:
    """The graph with some of its results."""
    kept = tuple(graph.results[0][k] for k in outputs)
    return prune(Graph(graph.nodes, graph.inputs, (Port("results", (len(kept),)),), (kept,)))
