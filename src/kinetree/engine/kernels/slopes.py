"""Graphs of derivatives: of a quantity once, or twice with weights of its results.

A graph is differentiated by the rules of `engine/compiler`, or the quantity has a recursion. For
few joints both are made, and the shorter one is kept.

A result of n numbers has second derivatives of n^3 numbers. Their sum with weights y is the second
derivative of one number, y . result. Inverse dynamics has a recursion for it
(dynamics/derivatives/second.py). Of any other quantity, the gradient takes one pass back through
the graph, and every entry of the gradient is then differentiated along the directions that it
depends on. All n^3 are the derivatives of its first ones, with unit weights.

q is moved along tangent vectors v of `integrate(q, v)`. The gradient along these is known at every
position, and its change, in the directions of one joint, is not symmetric where a joint turns about
several axes: half of the sum of both orders is the second derivative by v.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement, product
from math import isqrt
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.derivatives.second import (
    ARGUMENTS,
    Blocks,
    passive_power,
    tree_second_derivatives,
)
from kinetree.dynamics.joints.tangents import tangent_map
from kinetree.dynamics.traced import traced
from kinetree.engine.compiler.derivatives import Along, jacobian
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernels.free import with_free
from kinetree.engine.kernels.request import Request
from kinetree.engine.kernels.traced import traced_function
from kinetree.errors import InputError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.model.quantity import Make

WEIGHTS = "y"
DIFFERENTIATED = 8  # degrees of freedom up to which differentiating a graph may be shorter

# a function, its arguments, and the names of its results with the letters of their shapes
Traced = tuple[Callable[..., Any], list[Port], list[tuple[str, tuple[str, ...]]]]


def slope_graph(
    model: Model, request: Request, function: Callable[..., Any], ports: Sequence[Port]
) -> Graph:
    """Return the graph of a quantity that is a derivative, or of the derivatives of any."""
    quantity, small = request.quantity, model.n <= DIFFERENTIATED
    if request.wrt is None:
        # differentiating is shorter for parallel axes, and the only way with constraints
        graphs = [] if model.constraints is not None else [trace(function, ports, quantity.outputs)]
        if small or not graphs:
            graphs.append(_slope(model, request))
        return optimise(min(graphs, key=_operations))
    graphs = []
    recursion = RECURSIONS.get((request.name, request.order))
    if recursion and {*request.wrt} <= {*ARGUMENTS} and model.constraints is None:
        graphs.append(optimise(trace(*recursion(model, request, ports))))
    if small or not graphs:
        graphs.append(_differentiated(model, request, function, ports))
    return min(graphs, key=_operations)


def _operations(graph: Graph) -> int:
    return graph.operations


def tangents(model: Model) -> Along | None:
    """Return the directions of q where its tangent vectors are not changes of its entries."""
    curved = any(joint.type not in SCREW_TYPES for joint in model.joints)
    return {"q": partial(tangent_map, model)} if curved else None


def _slope(model: Model, request: Request) -> Graph:
    """Return the results of a request by differentiating the quantity that it is the slope of."""
    name, wrt = request.quantity.slope_of or ("", ())
    own = Request(name, wrenches=request.wrenches, free=request.free)
    graph = trace(*traced_function(model, own))
    slopes = jacobian(graph, wrt, along=tangents(model), mode="forward")
    named = zip(slopes.outputs, request.quantity.outputs, strict=True)
    outputs = tuple(Port(letter, port.shape, dims) for port, (letter, dims) in named)
    return replace(slopes, outputs=outputs)


def _differentiated(
    model: Model, request: Request, function: Callable[..., Any], ports: Sequence[Port]
) -> Graph:
    """Return the derivatives of the graph of a quantity, of the first or second order."""
    wrt, along = request.wrt or (), tangents(model)
    if request.order == 2:
        return _second(model, request, function, ports)
    graph = trace(function, ports, request.quantity.outputs)
    return optimise(jacobian(graph, wrt, along=along))


def _second(
    model: Model, request: Request, function: Callable[..., Any], ports: Sequence[Port]
) -> Graph:
    """The graph of d^2(y . result)/d a d b for each pair of arguments of `wrt`.

    The weights y follow the arguments; a result of one number has none.
    """
    graph, wrt = optimise(trace(function, ports)), request.wrt or ()
    if len(graph.outputs) != 1:
        raise InputError(
            f"{request.name} has {len(graph.outputs)} results; expected one for second "
            "derivatives. Differentiate its derivatives for each of them."
        )
    (result,) = graph.outputs
    weights = [Port(WEIGHTS, result.shape, result.dims)] if result.shape else []

    def weighted(*arrays: Array) -> Any:
        (values,) = interpret(graph, *arrays[: len(ports)])
        return np.sum(values * arrays[-1]) if weights else values

    number = optimise(trace(weighted, [*ports, *weights], [("s", ())]))
    return optimise(_pairs(model, *_twice(number, wrt, tangents(model)), wrt))


def _twice(number: Graph, wrt: Sequence[str], along: Along | None) -> tuple[Graph, Graph]:
    """Return the second derivatives of a number by all pairs of arguments, and the first ones."""
    slopes = optimise(jacobian(number, wrt, along=along, mode="reverse"))
    return jacobian(slopes, wrt, along=along, mode="forward"), slopes


def _pairs(model: Model, changes: Graph, slopes: Graph, wrt: Sequence[str]) -> Graph:
    """The blocks with a before b in `wrt`, and those of one argument symmetric."""
    apart = _one_joint(model)
    places = list(combinations_with_replacement(range(len(wrt)), 2))

    def blocks(*arrays: Array) -> tuple[Array, ...]:
        values = interpret(changes, *arrays)
        found = []
        for a, b in places:
            block = values[a * len(wrt) + b]
            found.append(block if a != b else _symmetric(block, apart if wrt[a] == "q" else set()))
        return tuple(found)

    pruned = trace(blocks, changes.inputs, [(f"d_d{wrt[a]}_d{wrt[b]}", ()) for a, b in places])
    by = [port.dims for port in slopes.outputs]
    outputs = tuple(
        replace(port, dims=(*by[a], *by[b])) if by[a] and by[b] else port
        for port, (a, b) in zip(pruned.outputs, places, strict=True)
    )
    return replace(pruned, outputs=outputs)


def _one_joint(model: Model) -> set[tuple[int, int]]:
    """Return the pairs of degrees of freedom of one joint, whose moves do not commute."""
    return {(d, e) for joint in model.joints for d in joint.dofs for e in joint.dofs}


def _symmetric(block: Array, apart: set[tuple[int, int]]) -> Array:
    """The block, (*a, *a), with its lower half mirrored; both are read where they differ."""
    size = isqrt(block.size)
    M = block.reshape(size, size)
    rows: list[list[Any]] = [[0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            entry = M[i, j]
            if i != j and (i, j) in apart:
                entry = (entry + M[j, i]) * 0.5
            rows[i][j] = rows[j][i] = entry
    return np.array(rows, dtype=object).reshape(block.shape)


# The recursion of inverse dynamics


def _blocks(
    model: Model, request: Request, ports: Sequence[Port], wrt: Sequence[str]
) -> tuple[Callable[..., Blocks], list[Port]]:
    """Return the function of the blocks of all ordered pairs of `wrt`, and its ports."""
    state = len(request.quantity.inputs)
    rest = state + request.wrenches

    def prepared(make: Make) -> Callable[..., Any]:
        def function(*arrays: Array) -> Any:
            *given, y = arrays
            changed = with_free(model, request.free, given[rest:])
            made = make(changed, not request.free, None)
            return made(*given[:state], y, *given[state:rest])

        return function

    links = prepared(traced(tree_second_derivatives, "tree", 3))
    inputs = [*ports, Port(WEIGHTS, (model.n,), ("n",))]
    passive = trace(prepared(traced(passive_power, "tree", 3)), inputs, [("s", ())])
    of_passive, _ = _twice(optimise(passive), wrt, tangents(model))

    def function(*arrays: Array) -> Blocks:
        found, added = links(*arrays), interpret(of_passive, *arrays)
        zero = np.zeros((model.n, model.n), int)
        for a, b in [pair for pair in found if pair[0] != pair[1]]:
            found[b, a] = found[a, b].T
        pairs = zip(product(wrt, wrt), added, strict=True)
        return {pair: found.get(pair, zero) + more for pair, more in pairs}

    return function, inputs


def _weighted(model: Model, request: Request, ports: Sequence[Port]) -> Traced:
    """The second derivatives of y . tau by pairs of arguments."""
    wrt = request.wrt or ()
    blocks, inputs = _blocks(model, request, ports, wrt)
    apart = _one_joint(model)
    pairs = list(combinations_with_replacement(wrt, 2))

    def function(*arrays: Array) -> Any:
        found = blocks(*arrays)
        results = [
            _symmetric(found[a, b], apart) if a == b == "q" else found[a, b] for a, b in pairs
        ]
        return results[0] if len(results) == 1 else tuple(results)

    return function, inputs, [(f"d_d{a}_d{b}", ("n", "n")) for a, b in pairs]


def _tensors(model: Model, request: Request, ports: Sequence[Port]) -> Traced:
    """All derivatives of d tau/d q and d tau/d dq."""
    wrt, first = request.wrt or (), ("q", "dq")
    blocks, _ = _blocks(model, request, ports, tuple(dict.fromkeys((*first, *wrt))))
    pairs = list(product(first, wrt))

    def function(*arrays: Array) -> Any:
        rows = [blocks(*arrays, unit) for unit in np.eye(model.n, dtype=int).astype(object)]
        return tuple(np.array([row[pair] for row in rows]) for pair in pairs)

    letters = [letter for letter, _ in request.quantity.outputs]
    of = dict(zip(first, letters, strict=True))
    return function, list(ports), [(f"d{of[a]}_d{b}", ("n", "n", "n")) for a, b in pairs]


# quantities with a recursion for derivatives of an order
RECURSIONS: Mapping[tuple[str, int], Callable[[Model, Request, Sequence[Port]], Traced]] = {
    ("inverse_dynamics", 2): _weighted,
    ("inverse_dynamics_derivatives", 1): _tensors,
}
