"""The places of the rows of a state while it is computed: tiles of shared memory, or in place.

A tile serves the 32 states of a warp. Small rows all go through tiles, because 32 threads that each
walk along their own row would fetch every piece of memory several times. Shared memory is small,
though: rows are left in place, the widest first, where tiles would leave too few warps on a
multiprocessor to hide each other's waiting.
"""

from dataclasses import dataclass
from math import gcd

from kinetree.engine.compiler.graph import Graph, Port

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
