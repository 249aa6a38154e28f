"""Stepping: a loop over time as data, made of graphs. It knows nothing of robots.

A state x moves by steps of a one-step method with several stages. With inputs p that stay and
inputs s that change with time, each step is

    x_1 = x;   k_i, y_i = rate(t_i, x_i, p, s_i);   x_{i+1} = stage_i(h, x, k_1, ..., k_i)

and the result of the last stage is the state of the next step. k_1 and y_1 belong to the state that
the step begins with; they are recorded and watched.

`Composition` makes one graph of the graphs of a step, which gives the same bits: traced as a whole,
the passes of `optimise` would take factors out of sums and fuse products across their borders.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Node, Port, prune, share
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.schedule import schedule

NEVER = -1

Function = Callable[..., Sequence[Array]]
Values = Sequence[int]  # nodes of the composition, one for each element of an array


@dataclass(frozen=True, slots=True)
class Field:
    """Neighbouring elements of "x", "k" or "y" that are recorded together."""

    source: str
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Stepping:
    """The graphs of a step, and the fields that are recorded of it.

    rate: inputs t (), x, p, s; outputs k, y. stages[i]: inputs h (), x, k1, ..., k(i+1); output x.
    watch: inputs x, k, y; output: margins, which are negative where a limit is violated.
    """

    rate: Graph
    stages: tuple[Graph, ...]
    watch: Graph
    fields: tuple[Field, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of one rollout in x, p, s, k, y and in the watched margins w."""
        inputs = {port.name: port.size for port in self.rate.inputs}
        outputs = {port.name: port.size for port in self.rate.outputs}
        return {**inputs, **outputs, "w": self.watch.outputs[0].size}

    @property
    def watched(self) -> int:
        """Numbers that are watched: elements of x must be finite, margins not negative."""
        return self.sizes["x"] + self.sizes["w"]


@dataclass(frozen=True, eq=False)
class Run:
    """The arrays of one run of B rollouts over E evaluations of a method with S stages.

    state: (B, x), replaced by the last state. params: (B or 1, p). table: (E, S, B or 1, s).
    times: (E, S). h: (E,). rows: (E,), the row of the records to write, or NEVER. steps: how many
    of the evaluations are followed by a step: E, or E - 1 where the last state is only recorded.
    records: for each field (R, B, size). first: (B, watched), the number of the first evaluation at
    which the number was not finite or the margin negative, or NEVER; amount: its value there.
    offset: number of the first evaluation.
    """

    state: Array
    params: Array
    table: Array
    times: Array
    h: Array
    rows: Array
    steps: int
    records: Sequence[Array]
    first: Array
    amount: Array
    offset: int = 0

    @property
    def empty(self) -> bool:
        """True where there is no rollout or no evaluation."""
        return len(self.state) == 0 or len(self.h) == 0


def interpreted(graph: Graph) -> Function:
    """The function of arrays that a graph describes."""
    return partial(interpret, graph)


def interpret_run(
    stepping: Stepping,
    run: Run,
    rate: Function | None = None,
    function_of: Callable[[Graph], Function] = interpreted,
) -> None:
    """Run the steps on arrays, slowly; `rate`, a function of arrays, may replace its graph.

    This is the reference for the compiled loops. function_of: computes a graph.
    """
    rate = rate or function_of(stepping.rate)
    stages = [function_of(stage) for stage in stepping.stages]
    x = run.state.copy()
    for e in range(len(run.h)):
        begun, ks = x, []
        for i, stage in enumerate(stages):
            t, s = run.times[e, i], run.table[e, i]
            k, y = rate(t, begun, run.params, s)
            ks.append(np.broadcast_to(k, (len(x), k.shape[-1])))
            if i == 0:
                values = {"x": x, "k": ks[0], "y": y}
                _record(stepping, run, values, int(run.rows[e]))
                _watch(stepping, run, values, run.offset + e)
                if e >= run.steps:
                    break
            (begun,) = stage(run.h[e], x, *ks)
        else:
            x = begun
    run.state[...] = x


def _record(stepping: Stepping, run: Run, values: dict[str, Array], row: int) -> None:
    if row != NEVER:
        for field, record in zip(stepping.fields, run.records, strict=True):
            part = slice(field.start, field.start + field.size)
            record[row] = values[field.source][..., part]


def _watch(stepping: Stepping, run: Run, values: dict[str, Array], number: int) -> None:
    x = values["x"]
    (w,) = interpret(stepping.watch, x, values["k"], values["y"])
    wrong = np.concatenate([~np.isfinite(x), np.broadcast_to(w < 0, (len(x), w.shape[-1]))], -1)
    watched = np.concatenate([x, np.broadcast_to(w, (len(x), w.shape[-1]))], -1)
    new = wrong & (run.first == NEVER)
    run.first[new] = number
    run.amount[new] = watched[new]


class Composition:
    """Graphs placed one after the other, each operation rounded as in its own graph."""

    def __init__(self, inputs: Sequence[Port]) -> None:
        self.inputs = tuple(inputs)
        self.nodes: list[Node] = []
        self.places = {
            port.name: [self.add(Node("input", (), (k, i))) for i in range(port.size)]
            for k, port in enumerate(inputs)
        }

    def add(self, node: Node) -> int:
        """Append a node and return its position."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def ratio(self, number: float, divisor: int) -> int:
        """A number divided by a node."""
        return self.add(Node("div", (self.add(Node("const", (), number)), divisor)))

    def place(self, graph: Graph, *arguments: Values) -> list[list[int]]:
        """Append the nodes of a graph whose inputs are these nodes; the nodes of each output."""
        at: list[int] = []
        for node in graph.nodes:
            if node.op == "input":
                k, element = node.place
                at.append(arguments[k][element])
            else:
                at.append(self.add(Node(node.op, tuple([at[a] for a in node.args]), node.value)))
        return [[at[node] for node in result] for result in graph.results]

    def graph(self, outputs: Sequence[Port], results: Sequence[Values]) -> Graph:
        """The whole as a graph: equal nodes once, unused ones removed, well ordered."""
        whole = Graph(tuple(self.nodes), self.inputs, tuple(outputs), tuple(map(tuple, results)))
        return schedule(prune(share(whole)))
