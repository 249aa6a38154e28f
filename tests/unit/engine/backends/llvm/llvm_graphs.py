"""Graphs built by hand, for the tests of emitted code."""

import random

from llvm_harness import Builder

from kinetree.engine import OPERATIONS, Graph


def every_operation() -> Graph:
    """One output element per operation of two inputs a and b of three numbers each."""
    b = Builder()
    x, y = b.input("a", 3), b.input("b", 3)
    arguments = [x[0], y[1], x[2]]
    results = [b.const(0.1), x[1]]
    for op, operation in OPERATIONS.items():
        count = operation.arity
        if count:
            results.append(b.op(op, *arguments[:count]))
    results.append(b.op("fms", b.const(0.3), x[1], y[0]))
    results.append(b.op("fnma", y[2], b.const(1e-3), b.const(7.0)))
    return b.graph(results)


def chain(joints: int = 5, seed: int = 0) -> Graph:
    """Matrix, vector and scalar in; sums of products with sines and divisions; three arrays out.

    Angles are inputs, sums of inputs, and a sine again.
    """
    choose = random.Random(seed)
    b = Builder()
    q, m, s = b.input("q", joints), b.input("m", 2, 3), b.input("s")
    live = [*q, *m, *s]
    live += [b.op(op, i) for i in q for op in ("sin", "cos")]
    live += [b.op("sin", b.op("add", q[0], q[1])), b.op("cos", b.op("sin", m[4]))]
    for _ in range(40 * joints):
        op = choose.choice(["add", "sub", "mul", "fma", "fms", "fnma", "mul", "neg"])
        arguments = [choose.choice(live[-30:]) for _ in range(OPERATIONS[op].arity)]
        if op == "mul":
            arguments[1] = b.const(choose.uniform(-1, 1))
        live.append(b.op(op, *arguments))
    # bounded, so that numbers stay tame along the chain
    live = live[: len(live) // 2] + [b.op("sin", i) for i in live[-12:]]
    ratio = b.op("div", live[-1], b.op("sqrt", b.op("fma", s[0], s[0], b.const(1.0))))
    matrix = live[-6:]
    return b.graph([*live[-joints:]], [*matrix], [ratio], shapes=[(joints,), (3, 2), ()])


def sines(count: int) -> Graph:
    """Sine and cosine of every element of one input."""
    b = Builder()
    x = b.input("x", count)
    return b.graph([b.op("sin", i) for i in x], [b.op("cos", i) for i in x])
