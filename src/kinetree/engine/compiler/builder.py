"""The builder: applies operations to nodes, simplifies them, and keeps equal nodes once."""

import math
from collections.abc import Sequence
from typing import Any

from kinetree.engine.compiler.graph import (
    LONGEST,
    LOOPS,
    Graph,
    LongGraphError,
    Port,
    Sweep,
    node_of,
)
from kinetree.engine.compiler.ops import COMMUTATIVE, OPERATIONS
from kinetree.engine.compiler.rules import FORMS
from kinetree.errors import GraphError


class Builder:
    """A growing list of nodes. Nodes are named by their positions.

    `ops`, `args` and `values` are the fields of each node, `numbers` the constant that a node
    stands for (None where it depends on an input), and `kinds` its key in the index of rules
    (`rules.py`). `refused` is the first error that a traced scalar raised; "" without any.
    """

    def __init__(self) -> None:
        self.refused = ""
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.values: list[float | tuple[int, int] | Sweep | None] = []
        self.numbers: list[float | None] = []
        self.kinds: list[str] = []
        self._leaves: dict[float | tuple[int, int], int] = {}
        self._nodes: dict[str, dict[Any, int]] = {op: {} for op in (*OPERATIONS, *LOOPS)}

    def constant(self, value: float) -> int:
        """Return the node of a number; a negative one is the negation of a positive one."""
        node = self._leaves.get(value)
        if node is not None:
            return node
        value = float(value)
        if not math.isfinite(value):
            raise GraphError(
                f"a constant of the traced function is {value}; graphs have finite numbers only. "
                "Look for missing or infinite data in what the function was given."
            )
        if value < 0:
            return self.apply("neg", (self.constant(-value),))
        value += 0.0  # no negative zero
        kind = {0.0: "0", 1.0: "1"}.get(value, "const")
        node = self._leaves[value] = self._append("const", (), value, value, kind)
        return node

    def input(self, port: int, element: int) -> int:
        """Return the node of one element of an input array, counted in row-major order."""
        node = self._leaves.get((port, element))
        if node is None:
            node = self._append("input", (), (port, element), None, "input")
            self._leaves[port, element] = node
        return node

    def given(self, count: int) -> int:
        """Append nodes whose values come from elsewhere; return the first."""
        first = len(self.ops)
        self.ops += ["input"] * count
        self.args += [()] * count
        self.values += [None] * count
        self.numbers += [None] * count
        self.kinds += ["input"] * count
        return first

    def apply(self, op: str, args: tuple[int, ...], value: Any = None) -> int:
        """Return the node of `op` applied to nodes, in its simplest known form.

        value: that of a part of a loop, which is left as it is.
        """
        nodes = self._nodes[op]
        if value is not None:
            if (args, value) not in nodes:
                nodes[args, value] = self._append(op, args, value, None, op)
            return nodes[args, value]
        node = nodes.get(args)
        if node is not None:
            return node
        kinds = self.kinds
        if len(args) == 2:  # as most have: without a list
            simplify, kind = FORMS[op, kinds[args[0]], kinds[args[1]]]
        else:
            simplify, kind = FORMS[op, *[kinds[arg] for arg in args]]
        # a rule builds its replacement through `apply`, which simplifies it again in turn
        node = None if simplify is None else simplify(self, args)
        if node is None:
            node = self._intern(op, args, kind)
        nodes[args] = node
        return node

    def graph(
        self, inputs: Sequence[Port], outputs: Sequence[Port], results: Sequence[Sequence[int]]
    ) -> Graph:
        """Return everything built so far as a graph with these results."""
        nodes = map(node_of, zip(self.ops, self.args, self.values, strict=True))
        return Graph(tuple(nodes), tuple(inputs), tuple(outputs), tuple(map(tuple, results)))

    def _intern(self, op: str, args: tuple[int, ...], kind: str) -> int:
        """Return the node of an operation that no rule fits; there is one for a + b and b + a."""
        nodes, number = self._nodes[op], None
        if op in COMMUTATIVE:
            if args[0] > args[1]:
                args = (args[1], args[0])
                if (node := nodes.get(args)) is not None:
                    return node
        elif op == "sub":
            reverse = nodes.get((args[1], args[0]))
            if reverse is not None and self.args[reverse] == (args[1], args[0]):
                return self.apply("neg", (reverse,))  # a - b and b - a are one subtraction
        elif kind == "-const":
            # kept with the node, so that -(2) is folded like 2 although it is two nodes
            known = self.numbers[args[0]]
            assert known is not None
            number = -known
        if len(self.ops) > LONGEST:
            raise LongGraphError(
                f"the traced function has more than {LONGEST:,} operations, too many for a graph; "
                "kinetree.dynamics computes quantities of such robots state by state."
            )
        node = nodes[args] = self._append(op, args, None, number, kind)
        return node

    def _append(
        self,
        op: str,
        args: tuple[int, ...],
        value: float | tuple[int, int] | Sweep | None,
        number: float | None,
        kind: str,
    ) -> int:
        self.ops.append(op)
        self.args.append(args)
        self.values.append(value)
        self.numbers.append(number)
        self.kinds.append(kind)
        return len(self.ops) - 1
