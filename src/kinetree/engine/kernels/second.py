"""Second derivatives of a quantity, times a vector: what second-order planning needs.

A result of n numbers has second derivatives of n^3 numbers. Their sum with weights y is the second
derivative of one number, y . result. Inverse dynamics has a recursion for it
(dynamics/derivatives/second.py). Of any other quantity, the gradient takes one pass back through
the graph, and every entry of the gradient is then differentiated along the directions that it
depends on. All n^3 are the derivatives of `inverse_dynamics_derivatives`, with unit weights.

q is moved along tangent vectors v of `integrate(q, v)`. The gradient along these is known at every
position, and its change, in the directions of one joint, is not symmetric where a joint turns about
several axes: half of the sum of both orders is the second derivative by v.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from kinetree.dynamics.traced import over_tree
from kinetree.engine.compiler.derivatives import Along, jacobian
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.quantity import Make

WEIGHTS = "y"


Traced = tuple[Callable[..., Any], list[Port], list[tuple[str, tuple[str, ...]]]]


def has_recursion(model: Model, wrt: Sequence[str]) -> bool:
    """Return True if the recursion gives the second derivatives of inverse dynamics."""
    return set(wrt) <= set(ARGUMENTS) and model.constraints is None


def recursion(
    model: Model, prepared: Callable[[Make], Callable[..., Any]], ports: Sequence[Port],
    wrt: Sequence[str], along: Along | None,
) -> Traced:  # fmt: skip
    """Return the function of the second derivatives by recursion, its ports and its results.

    prepared: makes a function of q, dq, ddq, y and the other arguments of one of a tree.
    """
    blocks, inputs = _ordered(model, prepared, ports, wrt, along)
    apart = _one_joint(model)
    pairs = list(combinations_with_replacement(wrt, 2))

    def function(*arrays: Array) -> Any:
        found = blocks(*arrays)
        results = [
            _symmetric(found[a, b], apart) if a == b == "q" else found[a, b] for a, b in pairs
        ]
        return results[0] if len(results) == 1 else tuple(results)

    return function, inputs, [(f"d_d{a}_d{b}", ("n", "n")) for a, b in pairs]


def tensors(
    model: Model, prepared: Callable[[Make], Callable[..., Any]], ports: Sequence[Port],
    wrt: Sequence[str], along: Along | None,
) -> Traced:  # fmt: skip
    """Return the function of all derivatives of d tau/d q and d tau/d dq, as in `recursion`."""
    first = ("q", "dq")
    blocks, _ = _ordered(model, prepared, ports, tuple(dict.fromkeys((*first, *wrt))), along)
    pairs = list(product(first, wrt))

    def function(*arrays: Array) -> Any:
        rows = [blocks(*arrays, unit) for unit in np.eye(model.n, dtype=int).astype(object)]
        return tuple(np.array([row[pair] for row in rows]) for pair in pairs)

    letters = {"q": "dtau_dq", "dq": "dtau_dv"}
    return function, list(ports), [(f"d{letters[a]}_d{b}", ("n", "n", "n")) for a, b in pairs]


def _ordered(
    model: Model, prepared: Callable[[Make], Callable[..., Any]], ports: Sequence[Port],
    wrt: Sequence[str], along: Along | None,
) -> tuple[Callable[..., Blocks], list[Port]]:  # fmt: skip
    """Return the function of the blocks of all ordered pairs of `wrt`, and its ports."""
    links = prepared(over_tree(tree_second_derivatives, 3))
    inputs = [*ports, Port(WEIGHTS, (model.n,), ("n",))]
    passive = trace(prepared(over_tree(passive_power, 3)), inputs, [("s", ())])
    of_passive, _ = _twice(optimise(passive), wrt, along)

    def function(*arrays: Array) -> Blocks:
        found, added = links(*arrays), interpret(of_passive, *arrays)
        zero = np.zeros((model.n, model.n), int)
        for a, b in [pair for pair in found if pair[0] != pair[1]]:
            found[b, a] = found[a, b].T
        pairs = zip(product(wrt, wrt), added, strict=True)
        return {pair: found.get(pair, zero) + more for pair, more in pairs}

    return function, inputs


def second_graph(
    model: Model, function: Callable[..., Any], ports: Sequence[Port], quantity: str,
    wrt: Sequence[str], along: Along | None,
) -> Graph:  # fmt: skip
    """The graph of d^2(y . result)/d a d b for each pair of arguments of `wrt`.

    The weights y follow the arguments; a result of one number has none.
    """
    graph = optimise(trace(function, ports))
    if len(graph.outputs) != 1:
        raise InputError(
            f"{quantity} has {len(graph.outputs)} results; expected one for second derivatives. "
            "Differentiate its derivatives for each of them."
        )
    (result,) = graph.outputs
    weights = [Port(WEIGHTS, result.shape, result.dims)] if result.shape else []

    def weighted(*arrays: Array) -> Any:
        (values,) = interpret(graph, *arrays[: len(ports)])
        return np.sum(values * arrays[-1]) if weights else values

    number = optimise(trace(weighted, [*ports, *weights], [("s", ())]))
    return optimise(_pairs(model, *_twice(number, wrt, along), wrt))


def _twice(number: Graph, wrt: Sequence[str], along: Along | None) -> tuple[Graph, Graph]:
    """Return the second derivatives of a number by all pairs of arguments, and the first ones."""
    slopes = optimise(jacobian(number, wrt, along=along, mode="reverse"))
    return jacobian(slopes, wrt, along=along, mode="forward"), slopes


def _one_joint(model: Model) -> set[tuple[int, int]]:
    """Return the pairs of degrees of freedom of one joint, whose moves do not commute."""
    return {(d, e) for joint in model.joints for d in joint.dofs for e in joint.dofs}


def _pairs(model: Model, changes: Graph, slopes: Graph, wrt: Sequence[str]) -> Graph:
    """The blocks with a before b in `wrt`, and those of one argument symmetric."""
    apart = _one_joint(model)
    places = list(combinations_with_replacement(range(len(wrt)), 2))
    count = len(wrt)
    inputs = changes.inputs

    def blocks(*arrays: Array) -> tuple[Array, ...]:
        values = interpret(changes, *arrays)
        found = []
        for a, b in places:
            block = values[a * count + b]
            found.append(block if a != b else _symmetric(block, apart if wrt[a] == "q" else set()))
        return tuple(found)

    names = [(f"d_d{wrt[a]}_d{wrt[b]}", ()) for a, b in places]
    pruned = trace(blocks, inputs, names)
    by = [port.dims for port in slopes.outputs]
    outputs = tuple(
        replace(port, dims=(*by[a], *by[b])) if by[a] and by[b] else port
        for port, (a, b) in zip(pruned.outputs, places, strict=True)
    )
    return replace(pruned, outputs=outputs)


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
