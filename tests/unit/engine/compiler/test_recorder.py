"""Programs: pieces recorded once, run over tables, compute what the function computes."""

from dataclasses import dataclass

import numpy as np

from kinetree.base.pieces import piece
from kinetree.engine import Kernel, Port
from kinetree.engine.compiler.recorder import record
from kinetree.scalars import cos, sin, tanh


@dataclass(frozen=True, eq=False)
class Pair:
    """A record of an array and a number."""

    x: np.ndarray
    y: object


@piece
def turned(pair, angle, gain, shift):
    """A piece with sines, constants, and a result that is one of its arguments."""
    c, s = cos(angle), sin(angle)
    x = np.array([c * pair.x[0] - s * pair.x[1], s * pair.x[0] + c * pair.x[1]])
    return Pair(x * gain + shift, pair.y), pair.x[0]


def recursion(gains, shifts):
    """A function that calls the piece once for each gain."""

    def function(q, start):
        pair, total = Pair(start, q[0]), 0
        for k, (gain, shift) in enumerate(zip(gains, shifts, strict=True)):
            pair, first = turned(pair, q[k], gain, np.array(shift))
            total = total + tanh(first) * (k + 1)
        return np.array([*pair.x, pair.y, total, 3.5])

    return function


def compare(function, n):
    """The compiled program and the function on numbers, for several states."""
    program = record(function, [Port("q", (n,)), Port("start", (2,))], [("out", ())])
    kernel = Kernel(program, "test")
    rng = np.random.default_rng(0)
    q, start = rng.normal(size=(11, n)), rng.normal(size=(11, 2))
    found = kernel(q, start)
    expected = [function(*x) for x in zip(q, start, strict=True)]
    assert np.abs(found - np.array(expected, float)).max() < 1e-12
    assert np.array_equal(kernel(q[3].copy(), start[3].copy()), found[3])
    return program


def test_a_piece_is_traced_once_however_often_it_is_called():
    rng = np.random.default_rng(1)
    program = compare(recursion(rng.normal(size=40), rng.normal(size=(40, 2))), 40)
    # the first call has an angle that is also passed on, which makes a pattern of its own
    assert sum(body.graph.operations >= 8 for body in program.bodies) == 2
    assert len(program.bodies) < 12
    assert len(program.runs) < 30


def test_zeros_and_ones_shorten_a_body():
    generic = compare(recursion([2.0] * 5, [(3.0, 4.0)] * 5), 5)
    plain = compare(recursion([1.0] * 5, [(0.0, 0.0)] * 5), 5)
    assert plain.operations < generic.operations


def test_arguments_may_be_inputs_constants_and_results_in_different_calls():
    @piece
    def sum_of(a, b):
        return a * b + a

    def function(q, start):
        first = sum_of(q[0], 2.5)
        second = sum_of(first, q[1])
        third = sum_of(7.0, second)
        return np.array([first, second, third, sum_of(start[0], start[1])])

    compare(function, 3)


def test_a_function_without_operations_is_a_program_of_copies():
    def function(q, start):
        return np.array([0.0, q[1], 2.5])

    assert compare(function, 3).operations == 0
    assert compare(lambda q, start: np.array([0.0, -1.0]), 3).slots == 0
