"""Assembly: the calls that a recorder noted, ordered, with slots and tables, as a program.

The order of the calls is chosen for long runs, and slots are used again when nothing needs them.
Whatever the function computes outside its pieces becomes calls of bodies of one operation.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.pieces import NUMBER, Form
from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.graph import OPERATIONS, Graph, Node, Port, prune
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.program import INPUTS, WORK, Body, Bundle, Program


@dataclass(eq=False)
class Call:
    """A noted call: its variant, the nodes of its values, its constants, and its results."""

    variant: "Variant"
    values: tuple[int, ...]
    constants: tuple[float, ...]
    first: int  # the node of its first result; the others follow
    needed: bool = False


@dataclass(eq=False)
class Variant:
    """A piece traced for one pattern of its arguments."""

    graph: Graph
    form: Form  # of what it returns
    results: tuple[Any, ...]  # for each number returned: a constant, ("in", k) or ("out", k)
    used: set[int]  # outputs that something needs


class Assembly:
    """Makes a program of noted calls and of the nodes between them."""

    def __init__(
        self,
        builder: Builder,
        noted: Sequence[Call],
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        wanted: Sequence[int],
    ) -> None:
        self.builder, self.inputs, self.outputs = builder, inputs, outputs
        self.wanted = wanted
        self.starts = np.cumsum([0, *(port.size for port in inputs)]).tolist()
        self.single: dict[Any, Variant] = {}
        self.pairs: dict[int, Sequence[int]] = {}  # the nodes of a sine and cosine, by the first
        self.calls: list[Call] = []
        count = len(self.builder.ops)
        self.maker = [-1] * count  # the call that makes a node; -1: it is an input or a constant
        self.number = [0] * count  # which of its results the node is
        self._collect(noted)
        self._settle()

    def _collect(self, noted: Sequence[Call]) -> None:
        """All calls that the outputs need, in an order that they could have."""
        builder = self.builder
        count = len(builder.ops)
        owner: list[Call | None] = [None] * count
        for call in noted:
            size = call.variant.graph.outputs[0].size
            owner[call.first : call.first + size] = [call] * size
        needed = bytearray(count)
        for node in self.wanted:
            needed[node] = True
        sine: dict[int, list[int]] = {}  # angle -> its sine and cosine
        for node in reversed(range(count)):
            if not needed[node]:
                continue
            call = owner[node]
            if call is None:
                for arg in builder.args[node]:
                    needed[arg] = True
                if builder.ops[node] in ("sin", "cos"):
                    sine.setdefault(builder.args[node][0], []).append(node)
                continue
            call.variant.used.add(node - call.first)
            if not call.needed:
                call.needed = True
                for value in call.values:
                    needed[value] = True
        for node in range(count):
            call = owner[node]
            if call is not None:
                if call.first == node and call.needed:
                    self._add(call, range(node, node + call.variant.graph.outputs[0].size))
            elif needed[node] and self.maker[node] < 0:
                op = builder.ops[node]
                if op == "input" or builder.numbers[node] is not None:
                    continue
                angle = builder.args[node][0] if op in ("sin", "cos") else None
                made = [node] if angle is None else sorted(sine[angle])
                self._add(self._loose(made), made)

    def _add(self, call: Call, made: Sequence[int]) -> None:
        for k, node in enumerate(made):
            self.maker[node], self.number[node] = len(self.calls), k
        self.calls.append(call)

    def _loose(self, made: Sequence[int]) -> Call:
        """A call of one operation; of a sine together with the cosine of the same angle."""
        builder = self.builder
        ops = tuple([builder.ops[node] for node in made])
        args = builder.args[made[0]]
        numbers = [builder.numbers[arg] for arg in args]
        varies = tuple([number is None for number in numbers])
        variant = self.single.get((ops, varies))
        if variant is None:
            variant = self.single[ops, varies] = _one_operation(ops, varies)
            variant.used.update(range(len(made)))
        values = tuple([arg for arg, x in zip(args, numbers, strict=True) if x is None])
        constants = tuple([x for x in numbers if x is not None])
        self.pairs[made[0]] = made
        return Call(variant, values, constants, made[0])

    def _settle(self) -> None:
        """Copy constants into slots, and inputs that other calls of their body have in slots."""
        is_number = np.array([x is not None for x in self.builder.numbers])
        is_made = np.array(self.maker) >= 0
        copied: dict[int, int] = {}
        for calls in self._by_variant(self.calls).values():
            values = np.array([self.calls[k].values for k in calls]).reshape(len(calls), -1)
            if not values.size:
                continue
            placed = is_made[values]
            numbers = is_number[values] & ~placed
            mixed = (placed | numbers).any(0) & ~(placed | numbers).all(0)
            for row, column in np.argwhere(numbers | (mixed & ~placed)):
                call = self.calls[calls[row]]
                node = call.values[column]
                if node not in copied:
                    copied[node] = self._copied(node)
                changed = list(call.values)
                changed[column] = copied[node]
                call.values = tuple(changed)

    def _copied(self, node: int) -> int:
        """A new node that a call of its own copies from an input or a constant."""
        number = self.builder.numbers[node]
        space = INPUTS if number is None else None
        variant = self.single.get(space)
        if variant is None:
            variant = self.single[space] = Variant(_copied(space), NUMBER, (), {0})
        values, constants = ((node,), ()) if number is None else ((), (number,))
        made = len(self.maker)  # behind the nodes of the builder
        self.maker.append(-1)
        self.number.append(0)
        self._add(Call(variant, values, constants, made), [made])
        return made

    def _by_variant(self, calls: Sequence[Call], order: Iterable[int] | None = None) -> "ByVariant":
        """The calls of each variant, in their order."""
        groups: ByVariant = {}
        for k in range(len(calls)) if order is None else order:
            groups.setdefault(calls[k].variant, []).append(k)
        return groups

    def program(self) -> Program:
        """Order the calls, give them slots, and write the tables."""
        order = long_runs(self.calls, self.maker)
        groups = self._by_variant(self.calls, order)
        values = {
            v: np.array([self.calls[k].values for k in calls], int).reshape(len(calls), -1)
            for v, calls in groups.items()
        }
        self.maker_of, self.number_of = np.array(self.maker), np.array(self.number)
        sheaves = self._sheaves(values)
        places = self._slots(order, groups, values, sheaves)
        number = {v: k for k, v in enumerate(groups)}
        rows: dict[Variant, Array] = {}
        bodies: list[Body] = []
        for v, calls in groups.items():
            spaces, spots = self._spots(values[v], places)
            bundles = bundled(spaces, spots)
            heads = [bundle.offsets[0][0] for bundle in bundles]
            own = places.first[np.array(calls)][:, : len(sheaves[v])]
            rows[v] = np.concatenate([spots[:, heads], own], axis=1)
            new = {old: k for k, old in enumerate(sorted(v.used))}
            parts = tuple(tuple(new[k] for k in sheaf) for sheaf in sheaves[v])
            bodies.append(Body(optimise(_only(v.graph, sorted(v.used))), bundles, parts))
        runs: list[list[int]] = []
        tables: list[Array] = []
        constants: list[float] = []
        done = dict.fromkeys(groups, 0)
        size = 0
        for v, calls in _runs(self.calls, order):
            own = rows[v][done[v] : done[v] + len(calls)].ravel()
            runs.append([number[v], len(calls), size, len(constants)])
            tables.append(own)
            done[v] += len(calls)
            size += len(own)
            for k in calls:
                constants += self.calls[k].constants
        table = [int(x) for part in tables for x in part.tolist()]
        self._copy_out(runs, table, constants, bodies, places)
        return Program(
            self.inputs,
            self.outputs,
            tuple(bodies),
            np.array(runs, np.int32).reshape(-1, 4),
            np.array(table, np.int32),
            np.array(constants, np.float64),
            places.count,
        )

    def _sheaves(self, values: "dict[Variant, Array]") -> dict[Variant, list[tuple[int, ...]]]:
        """The results of each variant, those that the same variants need together."""
        kinds = list(values)
        kind_of = {v: k for k, v in enumerate(kinds)}
        kind = np.array([kind_of[call.variant] for call in self.calls], int)
        users: dict[Variant, dict[int, set[int]]] = {v: {k: set() for k in v.used} for v in kinds}
        most = 1 + max(self.number, default=0)

        def note(nodes: Array, user: int) -> None:
            nodes = nodes[self.maker_of[nodes] >= 0]
            pairs = np.unique(kind[self.maker_of[nodes]] * most + self.number_of[nodes])
            for pair in pairs.tolist():
                users[kinds[pair // most]][pair % most].add(user)

        for v, nodes in values.items():
            note(nodes.ravel(), kind_of[v])
        note(np.array(self.wanted, int), -1)
        made: dict[Variant, list[tuple[int, ...]]] = {}
        for v in kinds:
            together: dict[frozenset[int], list[int]] = {}
            for k in sorted(v.used):
                together.setdefault(frozenset(users[v][k]), []).append(k)
            made[v] = [tuple(sheaf) for sheaf in together.values()]
        return made

    def _slots(
        self,
        order: Sequence[int],
        groups: "ByVariant",
        values: "dict[Variant, Array]",
        sheaves: dict[Variant, list[tuple[int, ...]]],
    ) -> "Places":
        """Give every sheaf of every call slots; they are free again after their last use."""
        widest = max((len(x) for x in sheaves.values()), default=1)
        count = len(self.calls)
        # the sheaf of each node and its place in it
        sheaf, at = np.zeros(len(self.maker), int), np.zeros(len(self.maker), int)
        for v, calls in groups.items():
            for s, parts in enumerate(sheaves[v]):
                for k, result in enumerate(parts):
                    nodes = [self._made(call, result) for call in calls]
                    sheaf[nodes], at[nodes] = s, k
        time = np.empty(count, int)
        time[np.array(order, int)] = np.arange(count)
        last = np.repeat(time[:, None], widest, axis=1)
        for v, calls in groups.items():
            nodes = values[v]
            when = np.broadcast_to(time[np.array(calls)][:, None], nodes.shape)
            made = self.maker_of[nodes] >= 0
            np.maximum.at(last, (self.maker_of[nodes[made]], sheaf[nodes[made]]), when[made])
        wanted = np.array([x for x in self.wanted if self.maker[x] >= 0], int)
        last[self.maker_of[wanted], sheaf[wanted]] = count
        first = np.zeros((count, widest), int)
        free: dict[int, list[int]] = {}
        ends: dict[int, list[tuple[int, int]]] = {}
        slots, until = 0, last.tolist()
        for now, k in enumerate(order):
            for s, parts in enumerate(sheaves[self.calls[k].variant]):
                size = len(parts)
                if free.get(size):
                    slot = free[size].pop()
                else:
                    slot, slots = slots, slots + size
                first[k, s] = slot
                ends.setdefault(until[k][s], []).append((size, slot))
            # the results of this call must not overwrite its own arguments
            for size, slot in ends.pop(now, ()):
                free.setdefault(size, []).append(slot)
        return Places(first, sheaf, at, slots)

    def _made(self, call: int, result: int) -> int:
        """The node of a result of a call."""
        noted = self.calls[call]
        pair = self.pairs.get(noted.first)  # a sine and its cosine need not be neighbours
        return noted.first + result if pair is None else pair[result]

    def _spots(self, nodes: Array, places: "Places") -> tuple[Array, Array]:
        """The space and the place of nodes."""
        maker = self.maker_of[nodes]
        spots = places.first[maker, places.sheaf[nodes]] + places.at[nodes]
        for node in set(nodes[maker < 0].ravel().tolist()):
            port, element = self.builder.values[node]  # type: ignore[misc]
            spots[nodes == node] = self.starts[port] + element
        return np.where(maker >= 0, WORK, INPUTS), spots

    def _copy_out(
        self,
        runs: list[list[int]],
        table: list[int],
        constants: list[float],
        bodies: list[Body],
        places: "Places",
    ) -> None:
        """Append the runs that copy the results to the outputs, one for each kind of source."""
        numbers = [self.builder.numbers[node] for node in self.wanted]
        computed = [k for k, x in enumerate(numbers) if x is None]
        spaces, spots = self._spots(np.array([self.wanted[k] for k in computed], int), places)
        for space in (WORK, INPUTS):
            start = len(table)
            for k, source, spot in zip(computed, spaces.tolist(), spots.tolist(), strict=True):
                if source == space:
                    table += [spot, k]
            if len(table) > start:
                runs.append([len(bodies), (len(table) - start) // 2, start, len(constants)])
                bodies.append(Body(_copied(space, "outputs"), (Bundle(space, ((0, 0),)),), ((0,),)))
        fixed = [(k, x) for k, x in enumerate(numbers) if x is not None]
        if fixed:
            runs.append([len(bodies), len(fixed), len(table), len(constants)])
            bodies.append(Body(_copied(None, "outputs"), (), ((0,),)))
            table += [k for k, _ in fixed]
            constants += [x for _, x in fixed]


ByVariant = dict[Variant, list[int]]  # the positions of the calls of each variant


@dataclass(frozen=True, eq=False)
class Places:
    """Where results are: the first slot of each sheaf of each call, (calls, sheaves).

    sheaf, at: for each node, its sheaf and its place in that. count: the number of slots.
    """

    first: Array
    sheaf: Array
    at: Array
    count: int


def _runs(calls: Sequence[Call], order: Sequence[int]) -> Iterator[tuple[Variant, list[int]]]:
    """Calls of one variant that follow one another."""
    for variant, run in groupby(order, key=lambda k: calls[k].variant):
        yield variant, list(run)


def long_runs(calls: Sequence[Call], maker: Sequence[int]) -> list[int]:
    """An order of the calls in which those of one body follow one another where they can."""
    users: list[list[int]] = [[] for _ in calls]
    missing = [0] * len(calls)
    for k, call in enumerate(calls):
        needs = {maker[node] for node in call.values}
        needs.discard(-1)
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


def bundled(spaces: Array, spots: Array) -> tuple[Bundle, ...]:
    """Arguments whose distance and space are the same in every call, together.

    `spaces` has INPUTS or WORK for each call and argument, `spots` the place of each in its
    space.
    """
    bundles: list[tuple[int, list[tuple[int, int]]]] = []
    for j in range(spots.shape[1]):
        for head, offsets in bundles:
            apart = spots[:, j] - spots[:, head]
            if spaces[0, j] == spaces[0, head] and (apart == apart[0]).all():
                offsets.append((j, int(apart[0])))
                break
        else:
            bundles.append((j, [(j, 0)]))
    return tuple(Bundle(int(spaces[0, head]), tuple(offsets)) for head, offsets in bundles)


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


def _copied(space: int | None, name: str = "results") -> Graph:
    """The graph of a body whose result is its argument; without a space, its constant."""
    constant = int(space is None)
    ports = (Port("values", (1 - constant,)), Port("constants", (constant,)))
    node = Node("input", (), (constant, 0))
    return Graph((node,), ports, (Port(name, (1,)),), ((0,),))


def _only(graph: Graph, outputs: Iterable[int]) -> Graph:
    """The graph with some of its results."""
    kept = tuple(graph.results[0][k] for k in outputs)
    return prune(Graph(graph.nodes, graph.inputs, (Port("results", (len(kept),)),), (kept,)))
