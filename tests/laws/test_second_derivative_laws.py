"""Second derivatives of inverse dynamics: the recursion, fifty-digit differences and laws."""

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.derivatives.second import ARGUMENTS, tree_second_derivatives
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.kernels.compile import trace_quantity
from precise_robots import derivative, numbers, precise, precise_state
from robot_states import any_robot, random_state, screw_robot, size

pytest.importorskip("mpmath")

ACCURACY = 1e-11
TREES = range(30)  # of 1 to 12 joints of all types, chains and trees, mimic joints, all drives


def weights(model, seed):
    return np.random.default_rng(seed + 100).normal(size=(2, model.n))


def slopes(model, x, y, v):
    """y . d tau/d q and y . d tau/d dq changed along v in q, dq and ddq, in fifty digits."""
    exact = precise(model)
    s, y, v = precise_state(exact, x), numbers(y), numbers(v)

    def weighted(q, dq, ddq):
        found = kt.inverse_dynamics_derivatives(exact, q, dq, ddq, s.F_ext)
        return np.array([y @ matrix for matrix in found])

    return {
        "q": derivative(lambda h: weighted(kt.integrate(exact, s.q, v * h), s.dq, s.ddq)),
        "dq": derivative(lambda h: weighted(s.q, s.dq + v * h, s.ddq)),
        "ddq": derivative(lambda h: weighted(s.q, s.dq, s.ddq + v * h)),
    }


def graph_values(model, x, *given, **options):
    graph = trace_quantity(model, wrenches=True, **options)
    return [np.asarray(block, float) for block in interpret(graph, *x.motion, x.F_ext, *given)]


@pytest.mark.parametrize("seed", TREES)
def test_weighted_second_derivatives_are_differences_of_the_first(seed, fifty_digits):
    model = any_robot(seed, 12)
    x, (y, v) = random_state(model, seed), weights(model, seed)
    found = graph_values(model, x, y, name="inverse_dynamics", wrt=ARGUMENTS, order=2)
    pairs = [(a, b) for k, a in enumerate(ARGUMENTS) for b in ARGUMENTS[k:]]
    blocks = dict(zip(pairs, found, strict=True))
    expected = slopes(model, x, y, v)
    for block, slope in (
        (blocks["q", "dq"], expected["dq"][0]),
        (blocks["q", "dq"].T, expected["q"][1]),
        (blocks["dq", "dq"], expected["dq"][1]),
        (blocks["q", "ddq"], expected["ddq"][0]),
    ):
        assert size(block @ v - slope) <= ACCURACY * max(1.0, size(block)) * size(v)
    by_q = blocks["q", "q"]
    assert np.array_equal(by_q, by_q.T)
    assert (
        abs(v @ by_q @ v - expected["q"][0] @ v) <= ACCURACY * max(1.0, size(by_q)) * size(v) ** 2
    )
    assert not blocks["dq", "ddq"].any() and not blocks["ddq", "ddq"].any()


@pytest.mark.parametrize("seed", TREES[::3])
def test_full_tensors_are_differences_of_the_first(seed, fifty_digits):
    """Also in the order of the moves of one joint, which the weighted ones do not have."""
    model = any_robot(seed, 5)
    x, (y, v) = random_state(model, seed), weights(model, seed)
    found = graph_values(model, x, name="inverse_dynamics_derivatives", wrt=ARGUMENTS)
    expected = slopes(model, x, y, v)
    for k, tensor in enumerate(found):
        first, second = divmod(k, len(ARGUMENTS))
        slope = expected[ARGUMENTS[second]][first]
        weighted = np.einsum("k,kba,a->b", y, tensor, v)
        assert size(weighted - slope) <= ACCURACY * max(1.0, size(tensor)) * size(y) * size(v)


@pytest.mark.parametrize("seed", TREES[::3])
def test_rates_enter_by_the_christoffel_symbols(seed):
    """d^2(y . tau)/d dq^2 is twice the symbols times y, where rates are those of coordinates."""
    model = screw_robot(seed, 12)
    x, (y, _) = random_state(model, seed), weights(model, seed)
    blocks = tree_second_derivatives(book_tree(model, x.q), x.dq, x.ddq, y)
    smooth = [rotor for rotor in model.rotors if rotor.link >= 0]
    symbols = np.einsum("k,kab->ab", y, kt.christoffel_symbols(model, x.q))
    if not smooth:  # the recursion leaves rotors to `drive_power`
        assert size(blocks["dq", "dq"] - 2 * symbols) <= ACCURACY * max(1.0, size(symbols))


@pytest.mark.parametrize("seed", [6, 8])
def test_moved_masses_of_lean_frames_change_nothing(seed):
    model = any_robot(seed, 12)
    x, (y, _) = random_state(model, seed), weights(model, seed)
    book = tree_second_derivatives(book_tree(model, x.q, x.F_ext), x.dq, x.ddq, y)
    lean = lean_tree(lean_model(model), x.q, x.F_ext)
    for pair, block in tree_second_derivatives(lean, x.dq, x.ddq, y).items():
        assert size(block - book[pair]) <= ACCURACY * max(1.0, size(block)), pair
