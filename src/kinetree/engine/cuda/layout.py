"""The places of the rows of a state while it is computed: tiles of shared memory, or in place.

A tile serves the 32 states of a warp. Small rows all go through tiles, because 32 threads that each
walk along their own row would fetch every piece of memory several times. Shared memory is small,
though: rows are left in place, the widest first, where tiles would leave too few warps on a
multiprocessor to hide each other's waiting.

Spilling: values that do not fit the registers wait in rows of shared memory that are free.

A robot of 44 joints has more values alive at once than a thread has registers. The compiler would
move some of them to slow memory outside of the multiprocessor. But the rows in which the inputs of
a state arrived are near, and most of their numbers are not needed any more, or were not written
yet in the case of results. Here it is decided which value leaves the registers (the one that is
needed last), into which number of which row, and where it comes back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

from kinetree.engine.compiler.graph import LOOPS, Graph, Port

WARP = 32
BANKS = 128  # bytes that the banks of shared memory deliver at once
STATE_BYTES = 1792  # of shared memory for a state; four warps fit a multiprocessor with 228 KB
PIECE = 16  # bytes that a thread copies at once
BARRIER = 16  # bytes of shared memory for a warp, of which a block counts in 8 what has arrived
WAITING = 4  # times that a warp may have to ask for its numbers; rows that need more are padded


@dataclass(frozen=True, slots=True)
class Row:
    """One port: numbers in a row, and its place in the warp's tiles (None: left in place)."""

    port: Port
    pitch: int
    start: int | None

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.port.size


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of inputs and outputs, and the numbers that the tiles of one warp hold.

    spare: numbers of each thread behind the rows, for values that do not fit its registers.
    """

    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]
    rows: int
    itemsize: int
    spare: int = 0

    @property
    def tile(self) -> int:
        """Numbers of the rows and of the spare room of one warp."""
        return self.rows + self.spare * WARP

    @property
    def warp_bytes(self) -> int:
        """Shared memory of one warp."""
        return self.tile * self.itemsize + BARRIER


def plan(graph: Graph, itemsize: int, budget: int = STATE_BYTES) -> Layout:
    """The places of all rows, with at most `budget` bytes of shared memory for a state."""
    ports = [*graph.inputs, *graph.outputs]
    read = {node.place[0] for node in graph.nodes if node.op == "input"}
    shared = {len(graph.inputs) + k: port for k, port in in_place(graph).items()}
    made = set(range(len(graph.inputs), len(ports))) - set(shared)
    staged: dict[int, tuple[int, int]] = {}
    used = 0
    for k in sorted(read | made, key=lambda k: (ports[k].size, k)):
        pitch = padded(ports[k].size, itemsize)
        if used + pitch * itemsize > budget:
            break
        staged[k] = (pitch, used // itemsize * WARP)
        used += pitch * itemsize
    staged |= {k: staged[port] for k, port in shared.items() if port in staged}
    rows = [Row(port, *staged.get(k, (port.size, None))) for k, port in enumerate(ports)]
    count = len(graph.inputs)
    return Layout(tuple(rows[:count]), tuple(rows[count:]), used // itemsize * WARP, itemsize)


def in_place(graph: Graph) -> dict[int, int]:
    """Outputs that may take the place of an input of their size: output -> input.

    Each thread has its rows to itself, so a result may be stored where an input lay that was read
    before. Joint forces are known after the accelerations that they depend on, for instance.
    """
    reads: dict[tuple[int, int], int] = {}
    for i, node in enumerate(graph.nodes):
        if node.op == "input":
            reads[node.place] = i
    input_of: dict[int, int] = {}
    for output, result in enumerate(graph.results):
        for port in range(len(graph.inputs)):
            fits = graph.inputs[port].size == len(result) and port not in input_of.values()
            used = any((port, element) in reads for element in range(len(result)))
            before = all(reads.get((port, k), -1) <= i for k, i in enumerate(result))
            if fits and used and before:
                input_of[output] = port
                break
    return input_of


def padded(width: int, itemsize: int) -> int:
    """Distance of rows in a tile: 16 bytes more where too many threads would use one bank.

    The banks deliver 32 floats or 16 doubles at once, so a warp asks at least twice for doubles.
    Such rows have a multiple of 16 bytes, and still have it: they are copied in such pieces.
    """
    meetings = gcd(width, BANKS // itemsize) * itemsize // 4
    return width + PIECE // itemsize * (meetings > WAITING)


# Spilling


NEVER = 1 << 60
Place = tuple[int, int]  # port (inputs, then outputs, then spare numbers) and element
LEAVES = ("const", "input")


@dataclass(frozen=True, slots=True)
class Visit:
    """What happens just before a node is computed.

    stores: (value, place) pairs that are written. loads: those that are read again.
    """

    stores: tuple[tuple[int, Place], ...] = ()
    loads: tuple[tuple[int, Place], ...] = ()


@dataclass
class _Slots:
    """Places of shared memory: from when each is free, and until when."""

    free: dict[Place, int] = field(default_factory=dict)  # place -> when a result is written there

    def take(self, until: int) -> Place | None:
        """A place that stays free until a value has been used for the last time."""
        fitting = [(end, place) for place, end in self.free.items() if end > until]
        if not fitting:
            return None
        _, place = min(fitting)
        del self.free[place]
        return place


def spill(graph: Graph, layout: Layout, most: int) -> dict[int, Visit]:
    """Return what is stored and loaded before each node, so that about `most` values wait.

    Rows that are left in place have no room; the spare numbers of the layout are taken last.
    """
    return _Spilling(graph, layout, most).plan()


class _Spilling:
    """Walks along the nodes of a graph with a set of values in registers."""

    def __init__(self, graph: Graph, layout: Layout, most: int) -> None:
        self.graph, self.nodes, self.most = graph, tuple(graph.nodes), most
        self.uses: list[list[int]] = [[] for _ in self.nodes]  # later uses, the last one first
        for i in reversed(range(len(self.nodes))):
            for a in self.args(i):
                self.uses[a].append(i)
        self.written = _written(graph, layout)
        self.slots = _Slots()
        self.place: dict[int, Place] = {}  # of values that lie in shared memory
        self.inside: dict[int, None] = {}  # values in registers
        inputs = len(graph.inputs)
        staged = [row.start is not None for row in (*layout.inputs, *layout.outputs)]
        read = {node.place for node in graph.nodes if node.op == "input"}
        input_of = in_place(graph)
        for k, row in enumerate(layout.inputs):
            if staged[k]:
                places = [(k, e) for e in range(row.width) if (k, e) not in read]
                # numbers that nothing reads are free from the start, if the row is there at all
                if any(port == k for port, _ in read):
                    self.slots.free |= {x: self.written.get(x, NEVER) for x in places}
        for k, row in enumerate(layout.outputs):
            if staged[inputs + k] and k not in input_of:
                places = [(inputs + k, e) for e in range(row.width)]
                self.slots.free |= {x: self.written.get(x, NEVER) for x in places}
        ports = inputs + len(graph.outputs)
        self.slots.free |= {(ports, e): NEVER for e in range(layout.spare)}
        self.staged = staged

    def args(self, i: int) -> Sequence[int]:
        """The values that a node needs; a loop has copied its own when they were made."""
        node = self.nodes[i]
        return () if node.op in LOOPS else tuple(dict.fromkeys(node.args))

    def plan(self) -> dict[int, Visit]:
        """Visits by node; nodes without one are left out."""
        visits: dict[int, Visit] = {}
        for i, node in enumerate(self.nodes):
            if node.op in LEAVES:  # inputs are read where they are first used
                continue
            args = [a for a in self.args(i) if self.nodes[a].op != "const"]
            loads = [(a, self.place[a]) for a in args if a not in self.inside and a in self.place]
            self.inside.update(dict.fromkeys(args))
            self._inputs(args)
            for a in args:
                self.uses[a].pop()
                if not self.uses[a]:
                    self._end(a)
            if self.uses[i]:
                self.inside[i] = None
            stores = list(self._leave(set(args) | {i}))
            if stores or loads:
                visits[i] = Visit(tuple(stores), tuple(loads))
        return visits

    def _inputs(self, args: Sequence[int]) -> None:
        """Inputs lie in their rows from the start."""
        for a in args:
            node = self.nodes[a]
            if node.op != "input" or not self.staged[node.place[0]]:
                continue
            # a result may be written there before the input was used for the last time
            if self.uses[a] and self.uses[a][0] <= self.written.get(node.place, NEVER):
                self.place.setdefault(a, node.place)

    def _end(self, value: int) -> None:
        """A value was used for the last time: its register and its place are free."""
        self.inside.pop(value, None)
        place = self.place.pop(value, None)
        if place is not None:
            self.slots.free[place] = self.written.get(place, NEVER)

    def _leave(self, needed: set[int]) -> Iterator[tuple[int, Place]]:
        """Take values out of the registers until few enough are left, the one needed last first."""
        excess = len(self.inside) - self.most
        if excess <= 0:
            return
        uses = self.uses
        others = [(uses[v][-1], v) for v in self.inside if v not in needed]
        for _, value in sorted(others, reverse=True):
            if value not in self.place:
                place = self.slots.take(uses[value][0])
                if place is None:
                    continue  # it stays
                self.place[value] = place
                yield value, place
            del self.inside[value]
            excess -= 1
            if not excess:
                return


def _written(graph: Graph, layout: Layout) -> dict[Place, int]:
    """When a result is written into each place; results may lie where an input lay."""
    input_of, inputs = in_place(graph), len(graph.inputs)
    written_at: dict[Place, int] = {}
    for output, result in enumerate(graph.results):
        port = input_of[output] if output in input_of else inputs + output
        for element, node in enumerate(result):
            written_at[port, element] = node
    return written_at
