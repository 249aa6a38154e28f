"""Kernels behave like any other generalised ufunc."""

import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError


def test_leading_axes_broadcast(arm, states):
    q, dq, ddq = states(3)[0], states(5, 3)[0], states(4, 1, 3)[0]
    result = arm(q, dq, ddq)
    assert result.shape == (4, 5, 3)
    for i in range(4):
        for j in range(5):
            assert result[i, j].tobytes() == arm(q, dq[j], ddq[i, 0]).tobytes()


@pytest.mark.parametrize("shape", [(0, 3), (4, 0, 3), (0, 0, 3)])
def test_empty_batches_give_empty_results(arm, pair, shape):
    assert arm(*[np.empty(shape)] * 3).shape == shape
    M, energy = pair(*[np.empty((*shape[:-1], 2))] * 2)
    assert M.shape == (*shape[:-1], 2, 2) and energy.shape == shape[:-1]


@pytest.mark.parametrize(
    "kind, result",
    [
        ("f8", "f8"),
        ("f4", "f4"),
        ("f2", "f8"),
        ("i1", "f8"),
        ("u1", "f8"),
        ("i2", "f8"),
        ("u2", "f8"),
        ("i4", "f8"),
        ("i8", "f8"),
        ("?", "f8"),
        (">f8", "f8"),
        (">f4", "f4"),
    ],
)
def test_only_float32_computes_in_float32(arm, kind, result):
    arrays = [np.arange(6).reshape(2, 3).astype(kind)] * 3
    expected = arm(*(array.astype(result) for array in arrays))
    before = arm(*arrays)  # the float32 loop may not be compiled yet
    assert arm.gufunc.nin == 3  # now it is
    out = np.empty((2, 3))
    for found in (before, arm(*arrays), arm(*(list(array) for array in arrays))):
        assert found.dtype == np.dtype(result)
        assert found.tobytes() == expected.tobytes()
    assert arm(*arrays, out=out) is out
    np.testing.assert_array_equal(out, expected)
    one = arm(*(array[1] for array in arrays))
    assert one.dtype == np.dtype(result) and one.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("kind", ["i1", "i2", "?", "i8", "f2"])
def test_an_array_of_integers_beside_float32_computes_in_float64(arm, kind):
    q = np.arange(6).reshape(2, 3) % 2
    mixed = arm(q.astype("f4"), q.astype(kind), q.astype("f4"))
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(mixed, arm(*[q.astype("f8")] * 3))


def test_axes_can_be_moved(arm, states):
    arrays = states(10, 3)
    columns = [array.T.copy() for array in arrays]
    moved = arm(*columns, axes=[0, 0, 0, 0])
    np.testing.assert_array_equal(moved.T, arm(*arrays))


def test_eight_threads_call_one_kernel(arm, states):
    arrays = states(500, 3)
    expected = arm(*arrays)
    wrong = []

    def work(start):
        for k in range(start, 500, 8):
            if arm(*(a[k] for a in arrays)).tobytes() != expected[k].tobytes():
                wrong.append(k)
        if arm(*arrays).tobytes() != expected.tobytes():
            wrong.append(-1)

    workers = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_out_of_none_is_no_out_also_for_several_results():
    robot = kt.robots.planar_2r()
    q = np.array([0.3, 0.4])
    for found, expected in zip(
        robot.compile("momentum_balance")(q, q, q, out=None),
        robot.compile("momentum_balance")(q, q, q),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("number", [1e-46, 1e39])
def test_numbers_that_float32_does_not_hold_are_not_computed_with(number):
    kernel = kt.kernels.derivative(lambda x: number * x * x, shapes={"x": ()})
    x = np.ones(3)
    assert kernel(x).tolist() == [2 * number] * 3
    with pytest.raises(InputError, match="was given float32, which its numbers do not fit"):
        kernel(x.astype("float32"))
    assert kernel.gufunc(x.astype("float32")).tolist() == [2 * number] * 3  # in float64
