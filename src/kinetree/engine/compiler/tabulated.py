"""A graph as a program of single operations: a table of what to compute instead of code for it.

The operations of a graph are collected into runs of equal ones, and the program (program.py) has a
small loop for each kind. Its code is short, so it is made at once, while the straight-line code of
a large graph takes seconds. Both round every operation alike: the results have the same bits.

Values are in slots of one block of memory. A slot is used again after the run in which its value
was needed for the last time.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.engine.compiler.graph import Graph, Node, Port, no_collection
from kinetree.engine.compiler.program import INPUTS, WORK, Body, Bundle, Program

LEAVES = frozenset({"const", "input"})
Kind = tuple[tuple[str, ...], tuple[int | None, ...]]  # operations, and where arguments are


@no_collection()
def tabulated(graph: Graph) -> Program:
    """Return the program that computes the operations of a graph one by one."""
    return Tables(graph).program()


class Tables:
    """The rows of a program: for each run its operation, and for each call the slots."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.nodes = graph, graph.nodes
        self.starts = np.cumsum([0, *(port.size for port in graph.inputs)]).tolist()
        self.space = [self._space(node.op) for node in graph.nodes]
        self.pairs = self._pairs()
        self.kinds = [self._kind(i) for i in range(len(graph.nodes))]
        self.bodies: dict[Kind | tuple[str, int | None], int] = {}
        self.made: list[Body] = []
        self.slot: dict[int, int] = {}  # of each computed node
        self.runs: list[list[int]] = []
        self.places: list[int] = []
        self.constants: list[float] = []

    def _pairs(self) -> dict[int, tuple[int, ...]]:
        """For the first of a sine and cosine of one angle: both; the second is computed with it."""
        found: dict[int, list[int]] = {}
        for i, node in enumerate(self.nodes):
            if node.op in ("sin", "cos"):
                found.setdefault(node.args[0], []).append(i)
        return {both[0]: tuple(both) for both in found.values()}

    def _space(self, op: str) -> int | None:
        """Where the result of an operation is found: None for a constant."""
        return None if op == "const" else INPUTS if op == "input" else WORK

    def _place(self, i: int) -> int:
        node = self.nodes[i]
        if node.op == "input":
            port, element = node.place
            return self.starts[port] + element
        return self.slot[i]

    def _kind(self, i: int) -> Kind:
        """What the call of a node computes, and where its arguments are."""
        op, args, _ = self.nodes[i]
        ops = tuple([self.nodes[k].op for k in self.pairs[i]]) if i in self.pairs else (op,)
        return ops, tuple([self.space[a] for a in args])

    def program(self) -> Program:
        """Write all tables."""
        groups = self._groups()
        last = self._last(groups)
        free: list[int] = []
        slots = 0
        for time, group in enumerate(groups):
            self._begin(len(group), self._body(self.kinds[group[0]]))
            for i in group:
                for a in self.nodes[i].args:
                    if self.space[a] is None:
                        self.constants.append(self.nodes[a].number)
                    else:
                        self.places.append(self._place(a))
                for k in self.pairs.get(i, (i,)):
                    if not free:
                        free.append(slots)
                        slots += 1
                    self.slot[k] = free.pop()
                    self.places.append(self.slot[k])
            free += [self.slot[i] for i in last[time]]
        self._outputs()
        return Program(
            self.graph.inputs,
            self.graph.outputs,
            tuple(self.made),
            np.array(self.runs, np.int32).reshape(-1, 4),
            np.array(self.places, np.int32),
            np.array(self.constants, np.float64),
            slots,
        )

    def _groups(self) -> list[list[int]]:
        """The computed nodes in runs of one kind: always the kind of which most are ready."""
        second = {k for pair in self.pairs.values() for k in pair[1:]}
        first = {k: pair[0] for pair in self.pairs.values() for k in pair}
        users: dict[int, list[int]] = {}
        missing: dict[int, int] = {}
        ready: dict[Kind, list[int]] = {}
        for i, node in enumerate(self.nodes):
            if node.op in LEAVES or i in second:
                continue
            needs = {first.get(a, a) for a in node.args if self.space[a] == WORK}
            missing[i] = len(needs)
            for a in needs:
                users.setdefault(a, []).append(i)
            if not needs:
                ready.setdefault(self.kinds[i], []).append(i)
        groups: list[list[int]] = []
        while ready:
            kind = max(ready, key=lambda kind: len(ready[kind]))
            group = ready.pop(kind)
            groups.append(group)
            for i in group:
                for user in users.get(i, ()):
                    missing[user] -= 1
                    if not missing[user]:
                        ready.setdefault(self.kinds[user], []).append(user)
        return groups

    def _last(self, groups: Sequence[Sequence[int]]) -> list[list[int]]:
        """For each run: the nodes that nothing needs after it."""
        last: dict[int, int] = {}
        for time, group in enumerate(groups):
            for i in group:
                for k in self.pairs.get(i, (i,)):
                    last[k] = time
                for a in self.nodes[i].args:
                    if self.space[a] == WORK:
                        last[a] = time
        for i in self.graph.roots():
            last.pop(i, None)  # results stay until they are written
        found: list[list[int]] = [[] for _ in groups]
        for i, time in last.items():
            found[time].append(i)
        return found

    def _begin(self, calls: int, body: int) -> None:
        """Begin a run."""
        self.runs.append([body, calls, len(self.places), len(self.constants)])

    def _body(self, kind: Kind) -> int:
        """The number of the body for one kind of call."""
        if kind not in self.bodies:
            self.bodies[kind] = len(self.made)
            self.made.append(one_operation(*kind))
        return self.bodies[kind]

    def _outputs(self) -> None:
        """Append the runs that copy results to the outputs, one for each place they come from."""
        results = list(self.graph.roots())
        for space in (WORK, INPUTS, None):
            chosen = [(k, i) for k, i in enumerate(results) if self.space[i] == space]
            if chosen:
                self._begin(len(chosen), len(self.made))
                self.made.append(copied(space))
            for k, i in chosen:
                if space is None:
                    self.constants.append(self.nodes[i].number)
                    self.places.append(k)
                else:
                    self.places += [self._place(i), k]


def one_operation(ops: tuple[str, ...], spaces: Sequence[int | None]) -> Body:
    """Return a body of one operation, or of a sine and a cosine of one angle."""
    nodes: list[Node] = []
    counts = [0, 0]
    for space in spaces:
        port = int(space is None)
        nodes.append(Node("input", (), (port, counts[port])))
        counts[port] += 1
    args = tuple(range(len(nodes)))
    results = tuple(range(len(nodes), len(nodes) + len(ops)))
    nodes += [Node(op, args) for op in ops]
    return body_of(nodes, counts, results, [space for space in spaces if space is not None])


def copied(space: int | None) -> Body:
    """Return a body whose result, an element of the outputs, is its argument or constant."""
    constant = int(space is None)
    nodes = [Node("input", (), (constant, 0))]
    spaces = [] if space is None else [space]
    return body_of(nodes, [1 - constant, constant], (0,), spaces, "outputs")


def body_of(
    nodes: Sequence[Node],
    counts: Sequence[int],
    results: tuple[int, ...],
    spaces: Sequence[int],
    name: str = "results",
) -> Body:
    """Return a body with a place in the table for each of its values and results."""
    ports = (Port("values", (counts[0],)), Port("constants", (counts[1],)))
    graph = Graph(tuple(nodes), ports, (Port(name, (len(results),)),), (results,))
    bundles = tuple(Bundle(space, ((k, 0),)) for k, space in enumerate(spaces))
    return Body(graph, bundles, tuple((k,) for k in range(len(results))))
