"""Factoring: write a x + a y + z as a (x + y) + z where that saves operations.

A sum is read as a flat list of signed products, as deep as its nodes have no other use. The factor
that most products share is taken out, then the next, inside and outside the new bracket. Each
bracket around k products saves k - 1 multiplications.
"""

from collections import Counter
from typing import NamedTuple

from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.graph import Graph, needed_nodes, select

LEAST = 1 / 1000  # sums to change for each operation of the graph from which a round is worth it
SUMS = frozenset({"add", "sub", "neg"})
AROUND_PRODUCTS = SUMS | {"mul"}


class Product(NamedTuple):
    """A signed product: factors are nodes of the old graph, times an optional bracket."""

    negative: bool
    factors: tuple[int, ...]
    bracket: tuple["Product", ...] = ()


def factor(graph: Graph) -> Graph:
    """Take common factors out of the sums of a graph; the result never has more operations.

    Taking out a factor may bring others together, so it is done until nothing, or hardly anything,
    is left to gain.
    """
    # each round rebuilds the whole graph: for a handful of sums that is not worth the time
    while len(brackets := grouped_sums(graph)) > LEAST * graph.operations:
        factored = rebuild(graph, brackets)
        if factored.operations >= graph.operations:
            break
        graph = factored
    return graph


def grouped_sums(graph: Graph) -> dict[int, list[Product]]:
    """Return the sums that have common factors, with these taken out."""
    inner = inner_nodes(graph)
    brackets: dict[int, list[Product]] = {}
    for i, node in enumerate(graph.nodes):
        if node.op in SUMS and not inner[i]:
            terms = products(graph, inner, i)
            flat = [f for _, factors in terms if len(factors) > 1 for f in factors]
            if len(set(flat)) == len(flat):  # so it is with most sums
                continue
            grouped = group([Product(*term) for term in terms])
            if grouped is not None:
                brackets[i] = grouped
    return brackets


def rebuild(graph: Graph, brackets: dict[int, list[Product]]) -> Graph:
    """Build the graph again with some of its sums replaced, without dead nodes."""
    builder = Builder()
    new: list[int] = []
    ready: list[int] = []  # for each new node: after which old node it can be computed
    for i, node in enumerate(graph.nodes):
        op, args, value = node
        if len(args) == 2 and i not in brackets:  # as most are
            new.append(builder.apply(op, (new[args[0]], new[args[1]]), value))
            if len(ready) < len(builder.ops):
                ready += [i] * (len(builder.ops) - len(ready))
            continue
        if i in brackets:
            new.append(build_sum(builder, brackets[i], new))
        elif op == "const":
            new.append(builder.constant(node.number))
        elif op == "input":
            new.append(builder.input(*node.place))
        else:
            new.append(builder.apply(op, tuple([new[arg] for arg in args]), value))
        if args and i not in brackets:
            ready += [i] * (len(builder.ops) - len(ready))
        for k in range(len(ready), len(builder.ops)):
            ready.append(max([ready[arg] for arg in builder.args[k]], default=-1))
    results = [[new[node] for node in result] for result in graph.results]
    rebuilt = builder.graph(graph.inputs, graph.outputs, results)
    needed = needed_nodes(rebuilt)
    # A sum may reach over half the graph: its parts are computed when they are ready, not last.
    order = sorted(range(len(ready)), key=ready.__getitem__)
    return select(rebuilt, [k for k in order if needed[k]])


def inner_nodes(graph: Graph) -> list[bool]:
    """Mark the nodes with a single use: a sum in a sum, a product in a sum or a product."""
    uses = graph.uses()
    inner = [False] * len(graph.nodes)
    for node in graph.nodes:
        if node.op in AROUND_PRODUCTS:
            for arg in node.args:
                if uses[arg] == 1:
                    op = graph.nodes[arg].op
                    inner[arg] = op == "mul" or (op in SUMS and node.op in SUMS)
    return inner


def products(graph: Graph, inner: list[bool], root: int) -> list[tuple[bool, tuple[int, ...]]]:
    """Return the sum at `root` as signed products, from left to right: is negative, factors."""
    terms: list[tuple[bool, tuple[int, ...]]] = []
    stack = [(root, False)]
    nodes = graph.nodes
    while stack:
        i, negative = stack.pop()
        op, args, _ = nodes[i]
        if op in SUMS and (i == root or inner[i]):
            stack.append((args[-1], negative if op == "add" else not negative))
            if len(args) == 2:
                stack.append((args[0], negative))
        else:
            terms.append((negative, factors(graph, inner, i) if inner[i] else (i,)))
    return terms


def factors(graph: Graph, inner: list[bool], i: int) -> tuple[int, ...]:
    """Return the factors of a product that has no other use, from left to right."""
    args = graph.nodes[i].args
    if len(args) == 2 and not (inner[args[0]] or inner[args[1]]):  # as most are
        return args
    leaves: list[int] = []
    stack = [i]
    while stack:
        i = stack.pop()
        node = graph.nodes[i]
        if node.op == "mul" and inner[i]:
            stack.extend(reversed(node.args))
        else:
            leaves.append(i)
    return tuple(leaves)


def group(terms: list[Product]) -> list[Product] | None:
    """Take common factors out of a sum; None where no two products share one."""
    changed = False
    while True:
        shared = common_factor(terms)
        if shared is None:
            return terms if changed else None
        changed = True
        first = next(k for k, t in enumerate(terms) if has(t, shared))
        outside = terms[first].negative
        inside = [without(t, shared, outside) for t in terms if has(t, shared)]
        bracket = Product(outside, (shared,), tuple(group(inside) or inside))
        terms = [
            bracket if k == first else t
            for k, t in enumerate(terms)
            if k == first or not has(t, shared)
        ]


def common_factor(terms: list[Product]) -> int | None:
    """Return the first factor that most products of the sum have; None where all occur once."""
    several = [t.factors for t in terms if not t.bracket and len(t.factors) > 1]
    counts = Counter([f for factors in several for f in set(factors)])
    ordered = [f for t in terms for f in t.factors if counts[f] > 1]
    return max(ordered, key=lambda f: counts[f], default=None)


def has(product: Product, shared: int) -> bool:
    """Return True if a factor can be taken out of a product and leaves a factor."""
    return not product.bracket and len(product.factors) > 1 and shared in product.factors


def without(product: Product, shared: int, negative: bool) -> Product:
    """Return the product without one occurrence of the factor, signed relative to the bracket."""
    k = product.factors.index(shared)
    others = product.factors[:k] + product.factors[k + 1 :]
    return Product(product.negative != negative, others)


def build_sum(builder: Builder, terms: list[Product] | tuple[Product, ...], new: list[int]) -> int:
    """Return the node of a sum of products; those known first are added first."""
    total = builder.constant(0)
    for product in sorted(terms, key=latest):
        node = build_product(builder, product, new)
        total = builder.apply("sub" if product.negative else "add", (total, node))
    return total


def latest(product: Product) -> int:
    """Return the last old node that a product needs."""
    return max((*product.factors, *map(latest, product.bracket)))


def build_product(builder: Builder, product: Product, new: list[int]) -> int:
    """Return the node of a product without its sign, multiplied from left to right."""
    nodes = [new[f] for f in product.factors]
    if product.bracket:
        nodes.append(build_sum(builder, product.bracket, new))
    total = nodes[0]
    for node in nodes[1:]:
        total = builder.apply("mul", (total, node))
    return total
