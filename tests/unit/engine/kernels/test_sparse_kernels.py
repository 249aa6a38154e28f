"""Kernels with sparse=True: the numbers of dense results, bit by bit, and where they stand."""

import functools
import pickle

import numpy as np
import pytest
import scipy.sparse

import kinetree as kt
from kinetree.errors import ShapeError


def states(robot, kernel, count, seed=0):
    rng = np.random.default_rng(seed)
    arrays = []
    for port in kernel.graph.inputs:
        x = rng.normal(size=(count, *port.shape))
        if port.name == "q":
            x = np.array([robot.random(rng=rng) for _ in range(count)])
        arrays.append(x)
    return arrays


@functools.cache
def quadruped():
    return kt.robots.quadruped()


def test_threads_out_and_pickled_kernels_give_the_same_values():
    robot = quadruped()
    kernel = robot.derivative("inverse_dynamics_derivatives", ["q", "dq"], sparse=True)
    x = states(robot, kernel, 600)
    with kt.kernels.threads(1):
        expected = kernel(*x)
    out = np.empty_like(expected)
    with kt.kernels.threads(2):
        assert kernel(*x, out=out) is out
    again = pickle.loads(pickle.dumps(kernel))
    assert np.array_equal(out, expected) and np.array_equal(again(*x), expected)
    blocks = zip(again.pattern.blocks, kernel.pattern.blocks, strict=True)
    assert all(np.array_equal(a.index, b.index) for a, b in blocks)


def test_values_come_in_the_order_of_their_first_places():
    robot = quadruped()
    pattern = robot.derivative("mass_matrix", "q", sparse=True).pattern
    (block,) = pattern.blocks
    assert block.shape == (18, 18, 18)
    flat = np.ravel_multi_index(tuple(block.index), block.shape)
    assert (np.diff(flat) > 0).all()  # row by row
    distinct, first = np.unique(block.source, return_index=True)
    assert np.array_equal(distinct, np.arange(pattern.size)) and (np.diff(first) > 0).all()
    with pytest.raises(ValueError, match="read-only"):
        block.index[0, 0] = 1


def test_the_pattern_is_that_of_scipy():
    robot = quadruped()
    kernel = robot.derivative("inverse_dynamics", "dq", sparse=True)
    x = [a[0] for a in states(robot, kernel, 1)]
    (block,) = kernel.pattern.blocks
    entries = kernel(*x)[block.source]
    matrix = scipy.sparse.coo_array((entries, tuple(block.index)), block.shape)
    assert np.array_equal(matrix.toarray(), robot.derivative("inverse_dynamics", "dq")(*x))


@pytest.mark.parametrize("package", ["torch", "jax"])
def test_tensors_have_the_same_values_and_gradients(package):
    tensors = pytest.importorskip(package)
    robot = kt.robots.planar_2r()
    kernel = robot.derivative("mass_matrix", sparse=True)
    q = np.array([0.1, 0.2])
    second = kt.kernels.derivative(kernel)(q)
    if package == "torch":
        x = tensors.tensor(q, requires_grad=True)
        values = kernel(x)
        (slope,) = tensors.autograd.grad(values.sum(), x)
        with pytest.raises(ShapeError, match=r"Tensor of shape .*without sparse=True"):
            kernel.pattern.dense(values)
        values = values.detach()
    else:
        tensors.config.update("jax_enable_x64", True)
        values = kernel(tensors.numpy.asarray(q))
        slope = tensors.grad(lambda x: kernel(x).sum())(tensors.numpy.asarray(q))
    assert np.array_equal(np.asarray(values), kernel(q))
    assert np.allclose(np.asarray(slope), second.sum(0), 1e-13, 1e-13)
