"""The same state gives the same bits: alone, anywhere in a batch, in any layout, on any thread."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics, robots
from kinetree.engine import Kernel
from kinetree.engine.call import dispatch
from kinetree.engine.llvm import engine
from kinetree.kernels import threads
from random_robots import ALL_TYPES, random_model

MODELS = {
    "puma": robots.puma_560().model,
    "all types": random_model(3, 4, types=ALL_TYPES, mimic=True),
}
# sines, products, divisions, several shapes; emitted code knows no more of a quantity
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "link_poses", "kinetic_energy")


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]


@pytest.fixture(scope="module", params=QUANTITIES)
def kernel(request, model):
    return kt.Robot(model).compile(request.param)


def batch(model, kernel, count):
    """Random states, one to a row."""
    rng = np.random.default_rng(count)
    arrays = []
    for port in kernel.graph.inputs:
        if port.name == "q":
            arrays.append(np.array([dynamics.random(model, rng) for _ in range(count)]))
        else:
            arrays.append(rng.normal(size=(count, *port.shape)))
    return arrays


def test_a_state_gives_the_same_bits_anywhere_in_a_batch(model, kernel):
    arrays = batch(model, kernel, 37)
    together = kernel(*arrays)
    for k in range(37):
        assert np.asarray(kernel(*(a[k] for a in arrays))).tobytes() == together[k].tobytes()
    for start, stop in ((0, 1), (1, 9), (3, 20), (5, 37)):
        part = kernel(*(a[start:stop] for a in arrays))
        assert part.tobytes() == together[start:stop].tobytes()
    turned = kernel(*(a[::-1].copy() for a in arrays))
    assert turned.tobytes() == together[::-1].tobytes()


def test_threads_change_no_bit(model, kernel, monkeypatch):
    monkeypatch.setattr(dispatch, "THREADED_OPERATIONS", 1)  # threads from the first state on
    eager = kt.Robot(model.replace(name="eager")).compile(kernel.name)
    arrays = batch(model, kernel, 101)
    counts, run = [], dispatch.run

    def watched(pieces, count):
        counts.append(count)
        run(pieces, count)

    monkeypatch.setattr(dispatch, "run", watched)
    with threads(1):
        one = eager(*arrays)
    with threads(2):
        two = eager(*arrays)
    assert counts == [2]
    assert one.tobytes() == two.tobytes() == kernel(*arrays).tobytes()


def test_the_effort_of_the_code_generator_changes_no_bit(model, kernel, monkeypatch):
    """Other tests let it make none, see tests/conftest.py."""
    monkeypatch.setenv("KINETREE_CACHE", "0")
    monkeypatch.setattr(engine, "level", lambda text: 0)
    arrays = batch(model, kernel, 13)
    quick = Kernel(kernel.graph, kernel.name)
    assert quick(*arrays).tobytes() == kernel(*arrays).tobytes()
    one = [array[5] for array in arrays]
    assert np.asarray(quick(*one)).tobytes() == np.asarray(kernel(*one)).tobytes()


def test_nan_stays_in_its_own_row(model, kernel):
    arrays = batch(model, kernel, 19)
    expected = kernel(*arrays)
    used = {node.value[0] for node in kernel.graph.nodes if node.op == "input"}
    for k in (0, 7, 18):
        for j, array in enumerate(arrays):
            spoilt = array.copy()
            spoilt[k] = np.nan
            found = kernel(*arrays[:j], spoilt, *arrays[j + 1 :])
            others = np.arange(19) != k
            assert found[others].tobytes() == expected[others].tobytes()
            assert np.isnan(found[k]).any() == (j in used)
