"""Times at which forces jump or bend, found before a simulation so that steps can end there.

A method of order 8 keeps its order only if the forces are smooth within a step, and its error
estimate cannot see a pulse that lies between two of its stages. Three kinds of times are found:

1. Switches. A choice by time alone, such as `where(t > 3, ...)`, is a condition in the traced graph
   that depends on t and on nothing else. Interval arithmetic proves for most stretches of time that
   the condition keeps its sign there; the other stretches are halved until two neighbouring
   floating-point numbers are left, the last time before the switch and the first one after it.
   No switch is missed, because a stretch is dropped only if its bounds exclude a change of sign.
2. Beginnings and ends of activity. Functions of time that are smooth but short are sampled; a step
   ends where they begin and end to change, so that no step passes over them.
3. Jumps of functions that cannot be traced. They are sampled too, and a large difference between
   two samples is bisected: the jump is where the difference stays as large.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Node
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.simulate.tuning import (
    CHANGE,
    JUMP,
    MAX_STRETCHES,
    PYTHON_SAMPLES,
    SHORTEST_REST,
    TRACED_SAMPLES,
)

EPS = np.finfo(float).eps

Interval = tuple[Array, Array]
Pair = tuple[float, float]  # the last time before a break, and the first one after it


@dataclass(frozen=True, eq=False)
class Breaks:
    """Times at which a step ends, increasing: the last time before, the first one after, (K,).

    They are neighbours for a switch, and equal for a sampled input, whose argument `ends` selects
    the side of a jump. The last break is the end of the simulation.
    """

    before: Array
    after: Array

    def next(self, t: Array) -> tuple[Array, Array]:
        """The first break after each time."""
        k = np.searchsorted(self.after, t, "right")
        k = np.minimum(k, len(self.after) - 1)
        return self.before[k], self.after[k]


def merged(pairs: Iterable[Pair], end: float) -> Breaks:
    """All breaks within (0, end), those that are neighbours joined, and the end."""
    breaks: list[list[float]] = []
    for before, after in sorted((b, a) for b, a in pairs if b > 0 and a < end):
        if breaks and before - breaks[-1][1] <= 8 * EPS * abs(before):
            breaks[-1][1] = max(breaks[-1][1], after)
        else:
            breaks.append([before, after])
    while breaks and end - breaks[-1][1] <= 8 * EPS * end:
        breaks.pop()
    breaks.append([end, end])
    before, after = np.array(breaks).T
    return Breaks(before.copy(), after.copy())


def time_switches(graph: Graph, end: float) -> list[Pair]:
    """Neighbouring times between which a condition of time changes, over (0, end)."""
    # a minimum and a maximum bend where the difference of their arguments changes its sign
    graph = graph.with_nodes([*graph.nodes, *differences(graph)], graph.results)
    alone = depends_on_time_alone(graph)
    conditions: dict[int, bool] = {}  # whether the condition is the argument of a sign
    for node in graph.nodes:
        if node.op in ("select", "sign", "abs") and alone[node.args[0]]:
            conditions[node.args[0]] = conditions.get(node.args[0], False) or node.op != "select"
    count = len(graph.nodes)
    for k in range(count - len(differences(graph)), count):
        if alone[k]:
            conditions.setdefault(k, False)
    return [
        pair
        for condition, both in conditions.items()
        for pair in _sign_changes(TimeFunction(graph, condition), end, both)
    ]


def differences(graph: Graph) -> list[Node]:
    """Return the difference of the arguments of each minimum and maximum."""
    return [Node("sub", node.args) for node in graph.nodes if node.op in ("min", "max")]


def depends_on_time_alone(graph: Graph) -> list[bool]:
    """For each node, whether it is a function of t, the first input, and is not constant."""
    CONSTANT, ALONE, MORE = 0, 1, 2  # of several arguments, the largest kind counts
    kinds: list[int] = []
    for node in graph.nodes:
        if node.op == "const":
            kinds.append(CONSTANT)
        elif node.op == "input":
            kinds.append(ALONE if node.value[0] == 0 else MORE)  # type: ignore[index]
        else:
            kinds.append(max(kinds[k] for k in node.args))
    return [kind == ALONE for kind in kinds]


class TimeFunction:
    """Nodes of a graph as functions of time: on times, and on intervals of time."""

    def __init__(self, graph: Graph, *wanted: int) -> None:
        needed: set[int] = set()
        stack = list(wanted)
        while stack:
            k = stack.pop()
            if k not in needed:
                needed.add(k)
                stack.extend(graph.nodes[k].args)
        self.wanted = wanted
        self.nodes = [(k, graph.nodes[k]) for k in sorted(needed)]

    def __call__(self, t: Array) -> Array:
        """Values of the first node wanted at times (K,)."""
        return self.all(t)[0]

    def all(self, t: Array) -> Array:
        """Values of all nodes wanted, (W, K)."""
        values: dict[int, Array] = {}
        with np.errstate(all="ignore"):
            for k, node in self.nodes:
                if node.op == "const":
                    values[k] = np.asarray(node.value, float)
                elif node.op == "input":
                    values[k] = t
                else:
                    values[k] = OPERATIONS[node.op].numpy(*(values[a] for a in node.args))
        return np.array([np.broadcast_to(values[k], t.shape) for k in self.wanted])

    def range(self, low: Array, high: Array) -> Interval:
        """Bounds of the first node wanted between two times."""
        bounds: dict[int, Interval] = {}
        with np.errstate(all="ignore"):
            for k, node in self.nodes:
                bounds[k] = interval(node, [bounds[a] for a in node.args], (low, high))
        return bounds[self.wanted[0]]


def interval(node: Node, args: list[Interval], time: Interval) -> Interval:
    """Bounds of one operation on intervals."""
    if node.op == "const":
        return np.full_like(time[0], node.value), np.full_like(time[0], node.value)
    if node.op == "input":
        return time
    low, high = INTERVALS[node.op](*args)
    unknown = ~(low <= high)  # NaN, if a quotient or a root is not defined
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def _hull(*values: Array) -> Interval:
    """The least interval with all values, widened by rounding; everything if one is NaN."""
    stacked = np.array(np.broadcast_arrays(*values))
    low, high = np.nanmin(stacked, 0), np.nanmax(stacked, 0)
    bad = np.isnan(stacked).any(0)
    low, high = np.where(bad, -np.inf, low), np.where(bad, np.inf, high)
    return low - 2 * EPS * abs(low), high + 2 * EPS * abs(high)


def _add(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _sub(a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def _mul(a: Interval, b: Interval) -> Interval:
    return _hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])


def _div(a: Interval, b: Interval) -> Interval:
    low, high = _hull(a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1])
    through = (b[0] <= 0) & (b[1] >= 0)
    return np.where(through, -np.inf, low), np.where(through, np.inf, high)


def _cos(a: Interval) -> Interval:
    return _with_extremes(_hull(np.cos(a[0]), np.cos(a[1])), a)


def _sin(a: Interval) -> Interval:
    # not the cosine of a - pi / 2, whose rounding hides the zeros of a sine near a = 0
    shifted = a[0] - np.pi / 2, a[1] - np.pi / 2
    return _with_extremes(_hull(np.sin(a[0]), np.sin(a[1])), shifted)


def _with_extremes(ends: Interval, a: Interval) -> Interval:
    """Bounds of cos over a, from those of its values at both ends."""
    turn = 2 * np.pi
    top = np.floor(a[1] / turn) > np.ceil(a[0] / turn) - 1  # a multiple of 2 pi lies between
    bottom = np.floor((a[1] - np.pi) / turn) > np.ceil((a[0] - np.pi) / turn) - 1
    return np.where(bottom, -1.0, ends[0]), np.where(top, 1.0, ends[1])


def _select(a: Interval, b: Interval, c: Interval) -> Interval:
    first, second = a[0] > 0, a[1] <= 0
    low = np.where(first, b[0], np.where(second, c[0], np.minimum(b[0], c[0])))
    return low, np.where(first, b[1], np.where(second, c[1], np.maximum(b[1], c[1])))


def _atan2(y: Interval, x: Interval) -> Interval:
    low, high = _hull(*(np.arctan2(b, a) for b in y for a in x))
    round_about = (x[0] <= 0) & (y[0] <= 0) & (y[1] >= 0)  # across the jump from pi to -pi
    return np.where(round_about, -np.pi, low), np.where(round_about, np.pi, high)


def _abs(a: Interval) -> Interval:
    low, high = abs(a[0]), abs(a[1])
    through = (a[0] <= 0) & (a[1] >= 0)
    return np.where(through, 0.0, np.minimum(low, high)), np.maximum(low, high)


INTERVALS: dict[str, Callable[..., Interval]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": lambda a: (-a[1], -a[0]),
    "fma": lambda a, b, c: _add(_mul(a, b), c),
    "fms": lambda a, b, c: _sub(_mul(a, b), c),
    "fnma": lambda a, b, c: _sub(c, _mul(a, b)),
    "sin": _sin,
    "cos": _cos,
    "sqrt": lambda a: (np.sqrt(np.maximum(a[0], 0)), np.sqrt(a[1])),
    "sign": lambda a: (np.sign(a[0]), np.sign(a[1])),
    "select": _select,
    "exp": lambda a: _hull(np.exp(a[0]), np.exp(a[1])),
    "log": lambda a: _hull(np.log(np.maximum(a[0], 0)), np.log(a[1])),
    "tanh": lambda a: _hull(np.tanh(a[0]), np.tanh(a[1])),
    "atan2": _atan2,
    "abs": _abs,
    "min": lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    "max": lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
}


def _sign_changes(function: TimeFunction, end: float, both: bool) -> list[Pair]:
    """Neighbouring times in (0, end) between which `function > 0` changes.

    both: its sign counts, that is whether it is below, at or above zero.
    """

    def sides(t: Array) -> Array:
        values = function(t)
        return np.sign(values) if both else (values > 0).astype(float)

    edges = np.linspace(0.0, end, 257)
    low, high = edges[:-1], edges[1:]
    while len(low) <= MAX_STRETCHES:
        bottom, top = function.range(low, high)
        changes = (bottom <= 0) & (top > 0)
        if both:
            changes |= (bottom < 0) & (top >= 0)
        changes &= high > EPS * end  # a change before that belongs to the start
        low, high = low[changes], high[changes]
        middle = (low + high) / 2
        fine = (middle <= low) | (middle >= high)  # neighbours, or equal
        if fine.all():
            break
        low, high = np.append(low, middle), np.append(middle, high)
        order = np.argsort(low, kind="stable")
        low, high = low[order], high[order]
        low, high = low[low < high], high[low < high]
    times = np.unique(np.concatenate([low, high]))
    side = sides(times) if len(times) else times
    changed = np.flatnonzero(side[1:] != side[:-1])
    return [_neighbours(sides, times[k], times[k + 1]) for k in changed]


def _neighbours(sides: Callable[[Array], Array], low: float, high: float) -> Pair:
    """The last time on one side of a change and the first on the other."""
    side = sides(np.array([low]))[0]
    while low < (middle := (low + high) / 2) < high:
        if sides(np.array([middle]))[0] == side:
            low = middle
        else:
            high = middle
    return float(low), float(high)


def traced_activity(graph: Graph, end: float) -> list[Pair]:
    """Times at which the functions of time in a graph begin and end to change, over (0, end)."""
    alone = depends_on_time_alone(graph)
    used = {(k, False) for k in graph.roots() if alone[k]}  # and whether something is divided by it
    for node, timed in zip(graph.nodes, alone, strict=True):
        if not timed:
            pairs = enumerate(node.args)
            used |= {(k, node.op == "div" and j == 1) for j, k in pairs if alone[k]}
    if not used:
        return []
    t = np.linspace(0.0, end, TRACED_SAMPLES + 1)
    nodes, divides = zip(*sorted(used), strict=True)
    values = TimeFunction(graph, *nodes).all(t)
    with np.errstate(all="ignore"):  # infinite is a value like another
        values = np.where(np.array(divides)[:, None], 1 / values, values)
    return _activity(t, values.T)


def _activity(t: Array, values: Array) -> list[Pair]:
    """The samples between which functions, (K, G), stand still before or after they change."""
    with np.errstate(all="ignore"):
        change = abs(np.diff(values, axis=0))
        size = np.nanmax(values, 0) - np.nanmin(values, 0)
    change = np.where(np.isfinite(change), change, np.inf)
    active = (change > CHANGE * np.where(np.isfinite(size), size, 1.0)).any(-1)
    window = np.ones(2 * SHORTEST_REST + 1)  # the crest of a wave is no rest
    active = np.convolve(np.convolve(active, window, "same") <= 0.5, window, "same") < 0.5
    edges = t[1:-1][active[1:] != active[:-1]]
    return [(float(x), float(x)) for x in edges]


def python_breaks(function: Callable[[Array], Array], end: float) -> list[Pair]:
    """Jumps, and beginnings and ends of changes, of a function of time that only Python can run.

    function: times (K,) -> values (K, G).
    """
    t = np.linspace(0.0, end, PYTHON_SAMPLES + 1)
    values = function(t)
    size = np.maximum(np.ptp(values, axis=0), np.finfo(float).tiny)
    breaks = _activity(t, values)
    large = np.flatnonzero((abs(np.diff(values, axis=0)) > JUMP * size).any(-1))
    if len(large) > PYTHON_SAMPLES // 4:
        return breaks  # it changes all the time; jumps cannot be distinguished
    for k in large:
        pair = _jump(function, t[k], t[k + 1], values[k], values[k + 1], size)
        if pair is not None:
            breaks.append(pair)
    return breaks


def _jump(
    function: Callable[[Array], Array], low: float, high: float, a: Array, b: Array, size: Array
) -> Pair | None:
    """The neighbouring times of the largest jump between two times, if there is one."""
    before = (abs(b - a) / size).max()
    while low < (middle := (low + high) / 2) < high:
        m = function(np.array([middle]))[0]
        if (abs(m - a) / size).max() >= (abs(b - m) / size).max():
            high, b = middle, m
        else:
            low, a = middle, m
    return (float(low), float(high)) if (abs(b - a) / size).max() > 0.25 * before else None
