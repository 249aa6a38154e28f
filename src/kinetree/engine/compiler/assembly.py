"""Assembly: the calls that a recorder noted, ordered, with slots and tables, as a program.

The order of the calls is chosen for long runs, and slots are used again when nothing needs them.
Whatever the function computes outside its pieces becomes calls of bodies of one operation.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.pieces import NUMBER, Form
from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.graph import OPERATIONS, Graph, Node, Port, prune
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.program import INPUTS, WORK, Body, Bundle, Program


@dataclass(eq=False, slots=True)
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
    size: int = field(init=False)  # outputs
    is_plain: bool = field(init=False)  # what is returned are the outputs, in their order

    def __post_init__(self) -> None:
        self.size = self.graph.outputs[0].size
        self.is_plain = self.results == tuple([("out", k) for k in range(self.size)])


@dataclass(frozen=True, eq=False)
class Group:
    """The calls of one variant: their numbers, and a row for each of them of what they have.

    values: nodes of the values, (calls, values). constants: (calls, constants). made: nodes of the
    results, (calls, results).
    """

    calls: Array
    values: Array
    constants: Array
    made: Array

    def sorted_by(self, time: Array) -> "Group":
        """The same with the calls in the order of their times."""
        at = np.argsort(time[self.calls])
        return Group(self.calls[at], self.values[at], self.constants[at], self.made[at])


Groups = dict[Variant, Group]
Sheaves = dict[Variant, list[tuple[int, ...]]]


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
        self.wanted = np.array(wanted, int)
        self.place = np.zeros(len(builder.ops), int)  # of an input among all of them together
        self.is_number = np.zeros(len(builder.ops), bool)
        self.single: dict[Any, Variant] = {}
        self.calls: list[Call] = []
        self.made: list[Sequence[int]] = []  # the nodes of the results of each call
        self._collect(noted)
        self._settle()
        self.maker, self.number = self._makers()

    def _collect(self, noted: Sequence[Call]) -> None:
        """All calls that the outputs need, in an order that they could have."""
        builder = self.builder
        calls = {call.first: call for call in noted if call.variant.size}
        given = np.zeros(len(builder.ops) + 1, int)
        given[list(calls)] += 1  # where results of a call begin
        given[[call.first + call.variant.size for call in calls.values()]] -= 1  # and behind them
        loose = np.flatnonzero(np.cumsum(given[:-1]) == 0).tolist()
        starts = np.cumsum([0, *(port.size for port in self.inputs)]).tolist()
        for node in loose:
            place = builder.values[node]
            if type(place) is tuple:
                self.place[node] = starts[place[0]] + place[1]
            elif builder.numbers[node] is not None:
                self.is_number[node] = True
        nodes = sorted([*loose, *calls])
        needed = bytearray(len(builder.ops))
        for node in self.wanted.tolist():
            needed[node] = True
        sine: dict[int, list[int]] = {}  # angle -> its sine and cosine
        for node in reversed(nodes):
            call = calls.get(node)
            if call is not None:
                call.needed = True in needed[node : node + call.variant.size]
                for value in call.values if call.needed else ():
                    needed[value] = True
            elif needed[node]:
                for arg in builder.args[node]:
                    needed[arg] = True
                if builder.ops[node] in ("sin", "cos"):
                    sine.setdefault(builder.args[node][0], []).append(node)
        for node in nodes:
            call, op = calls.get(node), builder.ops[node]
            if call is not None:
                if call.needed:
                    self._add(call, range(node, node + call.variant.size))
            elif op in ("sin", "cos"):  # both at once, where the first of them is
                made = sine.pop(builder.args[node][0], ())
                if made:
                    self._add(self._loose(made[::-1]), made[::-1])
            elif needed[node] and op != "input" and builder.numbers[node] is None:
                self._add(self._loose([node]), [node])
        self.groups = self._grouped(0)
        is_needed = np.frombuffer(needed, bool)
        for variant, group in self.groups.items():
            variant.used.update(np.flatnonzero(is_needed[group.made].any(0)).tolist())

    def _add(self, call: Call, made: Sequence[int]) -> None:
        self.calls.append(call)
        self.made.append(made)

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
        values = tuple([arg for arg, x in zip(args, numbers, strict=True) if x is None])
        constants = tuple([x for x in numbers if x is not None])
        return Call(variant, values, constants, made[0])

    def _grouped(self, start: int) -> Groups:
        """The calls of each variant, from call `start` on."""
        numbers: dict[Variant, list[int]] = {}
        for k, call in enumerate(self.calls[start:], start):
            numbers.setdefault(call.variant, []).append(k)
        groups: Groups = {}
        for variant, own in numbers.items():
            calls = [self.calls[k] for k in own]
            groups[variant] = Group(
                np.array(own),
                table([call.values for call in calls], int),
                table([call.constants for call in calls], float),
                table([self.made[k] for k in own], int),
            )
        return groups

    def _makers(self) -> tuple[Array, Array]:
        """For each node the call that makes it, -1 if none does, and which of its results it is."""
        groups = self.groups.values()
        count = max([len(self.builder.ops), *(int(x.made.max()) + 1 for x in groups)])
        maker, number = np.full(count, -1), np.zeros(count, int)
        for group in groups:
            maker[group.made] = group.calls[:, None]
            number[group.made] = np.arange(group.made.shape[1])
        return maker, number

    def _settle(self) -> None:
        """Copy constants into slots, and inputs that other calls of their body have in slots."""
        is_made = self._makers()[0] >= 0
        copied: dict[int, int] = {}
        start = len(self.calls)
        for group in self.groups.values():
            placed = is_made[group.values]
            numbers = self.is_number[group.values] & ~placed
            mixed = (placed | numbers).any(0) & ~(placed | numbers).all(0)
            for row, column in np.argwhere(numbers | (mixed & ~placed)).tolist():
                node = int(group.values[row, column])
                if node not in copied:
                    copied[node] = len(self.builder.ops) + len(copied)  # behind all its nodes
                    self._add(self._copied(node, copied[node]), [copied[node]])
                group.values[row, column] = copied[node]
        self.groups |= self._grouped(start)

    def _copied(self, node: int, made: int) -> Call:
        """A call that copies an input or a constant to a new node."""
        number = self.builder.numbers[node]
        space = INPUTS if number is None else None
        variant = self.single.get(space)
        if variant is None:
            variant = self.single[space] = Variant(_copied(space), NUMBER, (), {0})
        values, constants = ((node,), ()) if number is None else ((), (number,))
        return Call(variant, values, constants, made)

    def program(self) -> Program:
        """Order the calls, give them slots, and write the tables."""
        kinds = list(self.groups)
        kind = np.empty(len(self.calls), int)
        for k, group in enumerate(self.groups.values()):
            kind[group.calls] = k
        order = np.array(self._long_runs(kind.tolist()), int)
        time = np.empty(len(order), int)
        time[order] = np.arange(len(order))
        begins = np.flatnonzero(np.diff(kind[order], prepend=-1))  # of runs of one variant
        lengths = np.diff(begins, append=len(order)).tolist()
        run_kinds = kind[order[begins]].tolist()
        groups = {kinds[k]: self.groups[kinds[k]].sorted_by(time) for k in dict.fromkeys(run_kinds)}
        sheaves = self._sheaves(groups, kind)
        places = self._slots(order, time, groups, sheaves)
        rows: dict[Variant, Array] = {}
        bodies: list[Body] = []
        for v, group in groups.items():
            spaces, spots = self._spots(group.values, places)
            bundles = bundled(spaces, spots)
            heads = [bundle.offsets[0][0] for bundle in bundles]
            own = places.first[group.calls][:, : len(sheaves[v])]
            rows[v] = np.concatenate([spots[:, heads], own], axis=1)
            new = {old: k for k, old in enumerate(sorted(v.used))}
            parts = tuple(tuple(new[k] for k in sheaf) for sheaf in sheaves[v])
            bodies.append(Body(optimise(_only(v.graph, sorted(v.used))), bundles, parts))
        tables = Tables()
        number = {v: k for k, v in enumerate(groups)}
        done = dict.fromkeys(groups, 0)
        for k, length in zip(run_kinds, lengths, strict=True):
            v = kinds[k]
            part = slice(done[v], done[v] + length)
            tables.add(number[v], rows[v][part], groups[v].constants[part])
            done[v] += length
        self._copy_out(tables, bodies, places)
        arrays = tables.arrays()
        return Program(self.inputs, self.outputs, tuple(bodies), *arrays, places.count)

    def _long_runs(self, kind: Sequence[int]) -> list[int]:
        """An order of the calls in which those of one body follow one another where they can.

        kind: the variant of each call, as a number.
        """
        count = len(self.calls)
        # maker * count + user, where one call needs the other
        pairs: list[Array] = [np.zeros(0, int)]
        for group in self.groups.values():
            makers = self.maker[group.values]
            # most values come from the same call as their neighbours
            new = (makers >= 0) & (np.diff(makers, axis=1, prepend=-1) != 0)
            pairs.append((makers * count + group.calls[:, None])[new])
        # each once; np.unique would import numpy.ma, 10 ms
        sorted_pairs = np.sort(np.concatenate(pairs))
        maker, user = np.divmod(sorted_pairs[np.diff(sorted_pairs, prepend=-1) > 0], count)
        missing = np.bincount(user, minlength=count).tolist()
        ends = np.cumsum(np.bincount(maker, minlength=count)).tolist()
        users: list[int] = user.tolist()
        ready: dict[int, deque[int]] = {}
        for k, needs in enumerate(missing):
            if not needs:
                ready.setdefault(kind[k], deque()).append(k)
        order: list[int] = []
        while ready:
            # the body whose next call was noted first; the recursion then keeps its own passes
            key = min(ready, key=lambda key: ready[key][0])
            queue = ready[key]
            while queue:
                k = queue.popleft()
                order.append(k)
                for user_of_k in users[ends[k - 1] if k else 0 : ends[k]]:
                    missing[user_of_k] -= 1
                    if not missing[user_of_k]:
                        ready.setdefault(kind[user_of_k], deque()).append(user_of_k)
            del ready[key]
        return order

    def _sheaves(self, groups: Groups, kind: Array) -> Sheaves:
        """The results of each variant, those that the same variants need together.

        kind: the variant of each call, as a number.
        """
        most = 1 + int(self.number.max(initial=0))

        def needed_of(nodes: Array) -> list[int]:
            """Results that are among some nodes: variant * most + number of the result."""
            nodes = nodes[self.maker[nodes] >= 0]
            found = np.zeros((1 + int(kind.max(initial=0))) * most, bool)
            found[kind[self.maker[nodes]] * most + self.number[nodes]] = True
            return np.flatnonzero(found).tolist()

        users: dict[int, list[Variant | None]] = {}
        for v, group in groups.items():
            for result in needed_of(group.values):
                users.setdefault(result, []).append(v)
        for result in needed_of(self.wanted):
            users.setdefault(result, []).append(None)
        made: Sheaves = {}
        for v, group in groups.items():
            first = int(kind[group.calls[0]]) * most
            together: dict[Any, list[int]] = {}
            for k in sorted(v.used):
                together.setdefault(tuple(users.get(first + k, ())), []).append(k)
            made[v] = [tuple(sheaf) for sheaf in together.values()]
        return made

    def _slots(self, order: Array, time: Array, groups: Groups, sheaves: Sheaves) -> "Places":
        """Give every sheaf of every call slots; they are free again after their last use."""
        widest = max((len(x) for x in sheaves.values()), default=1)
        count = len(order)
        # the sheaf of each node and its place in it
        sheaf, at = np.zeros(len(self.maker), int), np.zeros(len(self.maker), int)
        sizes: list[list[int]] = [[]] * count  # of the sheaves of each call
        for v, group in groups.items():
            for s, parts in enumerate(sheaves[v]):
                nodes = group.made[:, list(parts)]
                sheaf[nodes], at[nodes] = s, np.arange(len(parts))
            own = [len(parts) for parts in sheaves[v]]
            for k in group.calls.tolist():
                sizes[k] = own
        last = np.repeat(time[:, None], widest, axis=1)
        for group in groups.values():
            nodes = group.values
            when = np.broadcast_to(time[group.calls][:, None], nodes.shape)
            made = self.maker[nodes] >= 0
            np.maximum.at(last, (self.maker[nodes[made]], sheaf[nodes[made]]), when[made])
        wanted = self.wanted[self.maker[self.wanted] >= 0]
        last[self.maker[wanted], sheaf[wanted]] = count
        first = [[0] * widest for _ in range(count)]
        free: dict[int, list[int]] = {}
        ends: dict[int, list[tuple[int, int]]] = {}
        slots, until = 0, last.tolist()
        for now, k in enumerate(order.tolist()):
            for s, size in enumerate(sizes[k]):
                if free.get(size):
                    slot = free[size].pop()
                else:
                    slot, slots = slots, slots + size
                first[k][s] = slot
                ends.setdefault(until[k][s], []).append((size, slot))
            # the results of this call must not overwrite its own arguments
            for size, slot in ends.pop(now, ()):
                free.setdefault(size, []).append(slot)
        return Places(np.array(first, int).reshape(count, widest), sheaf, at, slots)

    def _spots(self, nodes: Array, places: "Places") -> tuple[Array, Array]:
        """The space and the place of nodes."""
        maker = self.maker[nodes]
        if not len(places.first):
            return np.where(maker >= 0, WORK, INPUTS), self.place[nodes]
        spots = places.first[maker, places.sheaf[nodes]] + places.at[nodes]
        inputs = maker < 0
        spots[inputs] = self.place[nodes[inputs]]
        return np.where(inputs, INPUTS, WORK), spots

    def _copy_out(self, tables: "Tables", bodies: list[Body], places: "Places") -> None:
        """Append the runs that copy the results to the outputs, one for each kind of source."""
        numbers = [self.builder.numbers[node] for node in self.wanted.tolist()]
        computed = np.array([k for k, x in enumerate(numbers) if x is None], int)
        spaces, spots = self._spots(self.wanted[computed], places)
        for space in (WORK, INPUTS):
            rows = np.stack([spots, computed], axis=1)[spaces == space]
            if len(rows):
                tables.add(len(bodies), rows, np.zeros((len(rows), 0)))
                bodies.append(Body(_copied(space, "outputs"), (Bundle(space, ((0, 0),)),), ((0,),)))
        fixed = [k for k, x in enumerate(numbers) if x is not None]
        if fixed:
            constants = np.array([numbers[k] for k in fixed], float)
            tables.add(len(bodies), np.array(fixed)[:, None], constants)
            bodies.append(Body(_copied(None, "outputs"), (), ((0,),)))


class Tables:
    """The tables of a program: runs, places and constants, filled run by run."""

    def __init__(self) -> None:
        self.runs: list[list[int]] = []
        self.places: list[Array] = []
        self.constants: list[Array] = []
        self.sizes = [0, 0]

    def add(self, body: int, places: Array, constants: Array) -> None:
        """Append a run: a row of places and one of constants for each call of a body."""
        self.runs.append([body, len(places), *self.sizes])
        self.places.append(places.ravel())
        self.constants.append(constants.ravel())
        self.sizes = [self.sizes[0] + places.size, self.sizes[1] + constants.size]

    def arrays(self) -> tuple[Array, Array, Array]:
        """The tables as they are in a `Program`."""
        return (
            np.array(self.runs, np.int32).reshape(-1, 4),
            np.concatenate([np.zeros(0), *self.places]).astype(np.int32),
            np.concatenate([np.zeros(0), *self.constants]),
        )


@dataclass(frozen=True, eq=False)
class Places:
    """Where results are: the first slot of each sheaf of each call, (calls, sheaves).

    sheaf, at: for each node, its sheaf and its place in that. count: the number of slots.
    """

    first: Array
    sheaf: Array
    at: Array
    count: int


def table(rows: Sequence[Sequence[Any]], kind: type) -> Array:
    """Rows of one length as an array, in half the time that NumPy takes for tuples."""
    return np.fromiter(chain.from_iterable(rows), kind).reshape(len(rows), len(rows[0]))


def bundled(spaces: Array, spots: Array) -> tuple[Bundle, ...]:
    """Arguments whose distance and space are the same in every call, together.

    `spaces` has INPUTS or WORK for each call and argument, `spots` the place of each in its
    space.
    """
    bundles: dict[tuple[int, bytes], list[tuple[int, int]]] = {}
    moved = np.ascontiguousarray((spots - spots[:1]).T)  # from the place in the first call
    for j, (space, spot) in enumerate(zip(spaces[0].tolist(), spots[0].tolist(), strict=True)):
        offsets = bundles.setdefault((space, moved[j].tobytes()), [])
        head = offsets[0][0] if offsets else j
        offsets.append((j, spot - int(spots[0, head])))
    return tuple(Bundle(space, tuple(offsets)) for (space, _), offsets in bundles.items())


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
