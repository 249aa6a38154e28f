"""The recorder: a function whose recursion consists of pieces becomes a program.

Each piece (`kinetree.core.pieces`) is traced once for each pattern of its arguments: which of them
are the constants 0, 1 and -1, and which are equal. Every further call is only noted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, repeat
from operator import itemgetter, sub
from typing import Any, cast

from kinetree.core.pieces import Form, Parts, form_of, recording
from kinetree.engine.compiler.assembly import Assembly, Call, Variant
from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.graph import Graph, Port, no_collection, prune
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.program import Program
from kinetree.engine.compiler.trace import TracedScalar, read_results, trace, traced_array

VARIANTS = 12  # patterns of a piece that get bodies of their own; more are made one
# constants that shorten a body, each with a number that no argument has
SHORTENING = {0.0: -1, 1.0: -2, -1.0: -3}
NODES = 1 << 60  # added to a node beside constants, none of which is so large a whole number


# a variant; values of its calls, whether all of them are nodes, and constants, of all numbers
Known = tuple[Variant, Callable[[list[Any]], tuple[Any, ...]], bool, Callable[[list[Any]], Any]]


class Again(Exception):
    """A further piece has more patterns than it may have, so that recording starts again."""


def recorded(
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
) -> Graph:
    """Return the program of a function where a graph is expected: it becomes one when asked."""
    program = record(function, inputs, outputs)
    made = replace(program, trace=lambda: optimise(trace(function, inputs, outputs)))
    return cast("Graph", made)


@no_collection()
def record(
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
) -> Program:
    """Return the program of a function of arrays; arguments as in `trace`."""
    common: dict[Any, tuple[Any, ...]] = {}
    traced: dict[Any, Variant] = {}
    while True:
        recorder = PieceRecorder(common, traced)
        try:
            arrays = [traced_array(recorder.builder, k, port) for k, port in enumerate(inputs)]
            with recording(recorder):
                returned = function(*arrays)
        except Again:
            continue
        if recorder.outdated:
            continue
        ports, results = read_results(recorder.builder, returned, outputs)
        nodes = [node for result in results for node in result]
        return Assembly(
            recorder.builder, recorder.calls, tuple(inputs), tuple(ports), nodes
        ).program()


class PieceRecorder:
    """Notes the calls of pieces, and traces each piece once for each pattern.

    common: for a piece with too many patterns, the pattern that all its calls share. traced: pieces
    by their patterns. Both outlive the recorder. outdated: a pattern was joined with others, which
    calls noted before do not know, so that recording has to start again. It goes on meanwhile to
    find what else is to be joined. Patterns only ever become more general, and so do results and
    the patterns of calls that take them: whatever is joined now would be joined later as well.
    """

    def __init__(self, common: dict[Any, tuple[Any, ...]], traced: dict[Any, Variant]) -> None:
        self.builder = Builder()
        self.calls: list[Call] = []
        self.common, self._traced, self.outdated = common, traced, False
        self._variants: dict[Any, Variant] = {}
        self._patterns: dict[Any, list[tuple[Any, ...]]] = {}
        self._known: dict[Any, Known] = {}  # calls like one before
        # not a method of the recorder, which would keep itself alive
        self._key = partial(_key, self.builder.numbers)
        self._parts = Parts(self._key)

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Note a call; return its result around new nodes."""
        flat: list[int | float] = []
        kind: list[Any] = [function]
        for argument in arguments:
            form, keys, _ = self._parts.of(argument)
            kind.append(form)
            flat += keys
        seen: dict[int | float, int] = dict(SHORTENING)
        heads = tuple(map(seen.setdefault, flat, count()))
        like = (*kind, heads, tuple(map(type, flat)))
        known = self._known.get(like) or self._like_no_other(like, tuple(kind), flat)
        variant, chosen, are_nodes, fixed = known
        builder = self.builder
        if are_nodes:
            values = tuple(map(sub, chosen(flat), repeat(NODES)))
        else:  # a constant is a value where other calls have one
            constant = builder.constant
            values = tuple([x - NODES if type(x) is int else constant(x) for x in chosen(flat)])
        first = builder.given(variant.size)
        self.calls.append(Call(variant, values, fixed(flat), first))
        if variant.is_plain:  # all results are new, each once
            end = first + variant.size
            results = list(map(TracedScalar, repeat(builder), range(first, end)))
            keys = list(range(first + NODES, end + NODES))
            return self._parts.together(variant.form, results, keys)
        results = [
            x
            if type(x) is float
            else TracedScalar(builder, first + x[1] if x[0] == "out" else values[x[1]])
            for x in variant.results
        ]
        return self._parts.together(variant.form, results, list(map(self._key, results)))

    def _like_no_other(
        self, like: Any, kind: tuple[Any, ...], flat: Sequence[int | float]
    ) -> "Known":
        """The variant of a new pattern, and how its values and its constants are taken."""
        pattern = self._pattern(kind, flat)
        variant = self._variants.get((kind, pattern))
        if variant is None:
            variant = self._traced.get((kind, pattern))
            if variant is None:
                variant = self._traced[kind, pattern] = _traced(*kind, pattern=pattern)
            variant = self._variants[kind, pattern] = replace(variant, used=set())
        heads = [k for k, x in enumerate(pattern) if type(x) is tuple and x[1] == k]
        chosen = [k for k in heads if not pattern[k][2]]
        are_nodes = all(type(flat[k]) is int for k in chosen)
        fixed = _taken([k for k in heads if pattern[k][2]])
        self._known[like] = known = variant, _taken(chosen), are_nodes, fixed
        return known

    def _pattern(self, kind: Any, flat: Sequence[int | float]) -> tuple[Any, ...]:
        """For each number: the constant that it is, or the first number that it equals."""
        seen: dict[Any, int] = {}
        pattern: list[Any] = []
        for k, x in enumerate(flat):
            if type(x) is float and x in SHORTENING:
                pattern.append(x)
            else:
                pattern.append(("=", seen.setdefault((type(x), x), k), type(x) is float))
        whole_pattern = tuple(pattern)
        shared = self.common.get(kind)
        if shared is None:
            known = self._patterns.setdefault(kind, [])
            if whole_pattern not in known:
                known.append(whole_pattern)
                if len(known) > VARIANTS:
                    if self.outdated:  # there may be fewer once it is not
                        raise Again
                    return self._join(kind, known)
            return whole_pattern
        if _shared([shared, whole_pattern]) != shared:
            return self._join(kind, [shared, whole_pattern])
        return shared

    def _join(self, kind: Any, patterns: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """The pattern that all calls of a piece share from now on."""
        self.outdated = True
        self._known.clear()
        self.common[kind] = _shared(patterns)
        return self.common[kind]


def _key(known: Sequence[float | None], x: Any) -> int | float:
    """What stands for a number: its node, or the constant that it is; known: those of nodes."""
    if type(x) is TracedScalar:
        number = known[x.node]
        return x.node + NODES if number is None else number
    return float(x)


def _taken(places: Sequence[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """A function that takes the entries of a list at some places."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda x: tuple([x[k] for k in places])


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


def _traced(function: Callable[..., Any], *forms: Form, pattern: tuple[Any, ...]) -> Variant:
    """Trace a piece for a pattern of its arguments."""
    builder = Builder()
    heads = [k for k, x in enumerate(pattern) if type(x) is tuple and x[1] == k]
    scalar_of: dict[int, TracedScalar] = {}
    counts = [0, 0]
    for k in heads:
        port = int(pattern[k][2])
        scalar_of[k] = TracedScalar(builder, builder.input(port, counts[port]))
        counts[port] += 1
    numbers = [x if type(x) is float else scalar_of[x[1]] for x in pattern]
    parts, arguments = Parts(lambda x: x), form_of(tuple, *forms)
    with recording(None):
        piece_result = function(*parts.together(arguments, numbers, numbers))
    shape, returned, _ = parts.of(piece_result)
    value_number = {
        scalar_of[k].node: j for j, k in enumerate(k for k in heads if not pattern[k][2])
    }
    outputs: dict[int, int] = {}
    results: list[Any] = []
    for x in returned:
        number = builder.numbers[x.node] if isinstance(x, TracedScalar) else float(x)
        if number is not None:
            results.append(number)
        elif x.node in value_number:
            results.append(("in", value_number[x.node]))
        else:
            results.append(("out", outputs.setdefault(x.node, len(outputs))))
    ports = [Port("values", (counts[0],)), Port("constants", (counts[1],))]
    graph = builder.graph(ports, [Port("results", (len(outputs),))], [tuple(outputs)])
    return Variant(prune(graph), shape, tuple(results), set())
