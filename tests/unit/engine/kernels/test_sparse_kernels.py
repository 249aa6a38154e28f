"""Kernels with sparse=True: the numbers of dense results, bit by bit, and where they stand."""

import functools
import pickle

import mpmath
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError, ShapeError
from kinetree.model import ALL_TYPES, random_model

STATES = 11  # more than the lanes of any processor, and no multiple of them
# quantity, arguments to differentiate by (None: the quantity itself), options
KERNELS = [
    ("inverse_dynamics_derivatives", ["q", "dq"], {}),
    ("inverse_dynamics", ["q", "dq"], {"order": 2}),
    ("inverse_dynamics", ["ddq", "mass"], {"free": ["mass"]}),
    ("mass_matrix", "q", {}),
    ("potential_energy", "q", {}),
    ("space_jacobian", "q", {}),
    ("inverse_dynamics_derivatives", None, {"wrenches": True}),
    ("mass_matrix", None, {}),
]


def several(found):
    return found if isinstance(found, tuple) else (found,)


def both(robot, name, wrt, options):
    if wrt is None:
        return [robot.compile(name, sparse=x, **options) for x in (False, True)]
    return [robot.derivative(name, wrt, sparse=x, **options) for x in (False, True)]


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


@functools.cache
def trees():
    return [kt.Robot(random_model(seed, 3, types=ALL_TYPES)) for seed in (1, 2)]


@pytest.mark.parametrize(("name", "wrt", "options"), KERNELS)
def test_expanded_values_are_the_dense_results_bit_by_bit(name, wrt, options):
    for robot in trees():
        dense, kernel = both(robot, name, wrt, options)
        x = states(robot, dense, STATES)
        for arrays in (x, [a[0] for a in x], [a.astype(np.float32) for a in x]):
            values = kernel(*arrays)
            assert (
                values.shape[-1] == kernel.pattern.size <= sum(p.size for p in dense.graph.outputs)
            )
            found, expected = several(kernel.pattern.dense(values)), several(dense(*arrays))
            for a, b in zip(found, expected, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_threads_out_and_pickled_kernels_give_the_same_values():
    robot = quadruped()
    kernel = robot.derivative("inverse_dynamics_derivatives", ["q", "dq"], sparse=True)
    x = states(robot, kernel, 600)
    with kt.threads(1):
        expected = kernel(*x)
    out = np.empty_like(expected)
    with kt.threads(2):
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


def test_mirrored_entries_have_one_value_and_unrelated_joints_none():
    robot = quadruped()
    (block,) = robot.compile("mass_matrix", sparse=True).pattern.blocks
    source = np.full(block.shape, -1)
    source[tuple(block.index)] = block.source
    assert np.array_equal(source, source.T)
    legs = np.repeat(np.arange(4), 3)
    assert ((source[6:, 6:] >= 0) <= (legs[:, None] == legs)).all()
    lower = block.index[0] >= block.index[1]  # what a solver with symmetric Hessians asks for
    assert len(block.source[lower]) < len(block.source)


def test_the_pattern_is_that_of_scipy():
    robot = quadruped()
    kernel = robot.derivative("inverse_dynamics", "dq", sparse=True)
    x = [a[0] for a in states(robot, kernel, 1)]
    (block,) = kernel.pattern.blocks
    entries = kernel(*x)[block.source]
    matrix = scipy.sparse.coo_array((entries, tuple(block.index)), block.shape)
    assert np.array_equal(matrix.toarray(), robot.derivative("inverse_dynamics", "dq")(*x))


def paths(model):
    """The links on the way from each link to the base."""
    found = []
    for link, parent in enumerate(model.parent):
        found.append({link} | (found[parent] if parent >= 0 else set()))
    return found


def test_entries_outside_the_pattern_are_zero_and_those_inside_are_not_at_fifty_digits():
    """All second differences of tau of a tree with general axes, one joint a link."""
    model = random_model(3, 5, types=("revolute",))
    n, h = model.n, mpmath.mpf(10) ** -12
    assert sorted(map(len, paths(model))) == [1, 1, 1, 2, 3]
    robot, exact, unit = kt.Robot(model), model.astype(mpmath.mpf), np.eye(n, dtype=int)
    kernel = robot.derivative("inverse_dynamics_derivatives", ["q", "dq"], sparse=True)

    def largest(first, second):
        """Of each entry among two states; the arguments are numbers of q, dq, ddq."""
        slopes = np.zeros((2, n, n, n))
        for trial, a, b in np.ndindex(2, n, n):
            state = np.random.default_rng(trial).normal(size=(3, n)).astype(object) + 0 * h
            total = 0
            for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = state.copy()
                moved[first] = moved[first] + unit[a] * (s * h)
                moved[second] = moved[second] + unit[b] * (t * h)
                total = total + s * t * algorithms.inverse_dynamics(exact, *moved)
            slopes[trial, :, a, b] = total / (4 * h * h)
        return abs(slopes).max(0)

    with mpmath.workdps(50):
        q_q, q_dq, dq_dq = largest(0, 0), largest(0, 1), largest(1, 1)
    found = q_q, q_dq, q_dq.transpose(0, 2, 1), dq_dq
    for block, slopes in zip(kernel.pattern.blocks, found, strict=True):
        inside = np.zeros(block.shape, bool)
        inside[tuple(block.index)] = True
        # axes of unit length are rounded to float64, which kernels do not take for a slope
        assert (slopes[~inside] < 1e-14).all() and (slopes[inside] > 1e-9).all()


def test_an_entry_needs_three_joints_on_one_path():
    robot = quadruped()
    kernel = robot.derivative("inverse_dynamics_derivatives", ["q", "dq"], sparse=True)
    link = {d: k for k, joint in enumerate(robot.model.joints) for d in joint.dofs}
    before = paths(robot.model)
    for block in kernel.pattern.blocks:
        for place in block.index.T.tolist():
            links = {link[d] for d in place}
            assert any(links <= path for path in before)


def test_labelled_states_name_the_values():
    robot = kt.robots.planar_2r()
    kernel = robot.compile("mass_matrix", sparse=True)
    q = dict(zip(robot.coordinate_names, (0.1, 0.2), strict=True))
    names = [f"mass_matrix:{a}:{b}" for a, b in (("joint1", "joint1"), ("joint1", "joint2"))]
    expected = kernel([0.1, 0.2])
    assert kernel(q) == dict(zip([*names, "mass_matrix:joint2:joint2"], expected, strict=True))
    frame = kernel(pd.DataFrame([q, q]))
    assert list(frame.columns[:2]) == names and np.array_equal(frame.iloc[1], expected)
    array = xr.DataArray([0.1, 0.2], dims="joint", coords={"joint": list(q)})
    assert kernel(array).dims == ("value",) and np.array_equal(kernel(array), expected)


def test_what_has_no_values_or_no_pattern_is_refused():
    robot = kt.robots.planar_2r()
    still = kt.Robot(random_model(0, 2, types=("prismatic",), chain=True))
    with pytest.raises(InputError, match=r"zero at every state.*leave out sparse=True"):
        still.derivative("mass_matrix", "q", sparse=True)
    with pytest.raises(AttributeError, match=r"dense results.*sparse=True"):
        robot.derivative("mass_matrix").pattern  # noqa: B018
    kernel = robot.derivative("mass_matrix", sparse=True)
    for wrong in (np.zeros(kernel.pattern.size + 1), {"a": 1}, 3.0, ["text"]):
        with pytest.raises(ShapeError, match=r"in a NumPy array of shape \(\.\.\., "):
            kernel.pattern.dense(wrong)
    with pytest.raises(InputError, match="has 2 results; expected one"):
        robot.derivative("inverse_dynamics_derivatives", order=2, sparse=True)


def test_wrenches_are_an_argument_only_where_they_are_requested():
    """With them a result may have more values, so that no call changes the length of results."""
    robot = kt.robots.planar_2r()
    x = [0.1, 0.2], [1, 0], [0, 2]
    kernel = robot.compile("inverse_dynamics_derivatives", sparse=True)
    assert "F_ext" not in kernel.__doc__
    with pytest.raises(InputError):
        kernel(*x, np.ones((2, 6)))
    loaded = robot.compile("inverse_dynamics_derivatives", sparse=True, wrenches=True)
    found = loaded.pattern.dense(loaded(*x, np.ones((2, 6))))
    expected = robot.inverse_dynamics_derivatives(*x, np.ones((2, 6)))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_the_help_of_a_sparse_kernel_states_its_result():
    kernel = kt.robots.planar_2r().derivative("mass_matrix", sparse=True)
    assert f"values, shape (..., {kernel.pattern.size})" in kernel.__doc__
    assert "pattern.dense(values)" in kernel.__doc__


@pytest.mark.parametrize("package", ["torch", "jax"])
def test_tensors_have_the_same_values_and_gradients(package):
    tensors = pytest.importorskip(package)
    robot = kt.robots.planar_2r()
    kernel = robot.derivative("mass_matrix", sparse=True)
    q = np.array([0.1, 0.2])
    second = kt.derivative(kernel)(q)
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


@pytest.mark.parametrize("leading", [(), (1,), (5,), (2, 3)])
def test_a_result_of_one_number_is_expanded_to_the_shape_of_the_states(leading):
    robot, rng = kt.robots.panda(), np.random.default_rng(5)
    q, dq = rng.uniform(-1, 1, (2, *leading, 7))
    kernel = robot.compile("kinetic_energy", sparse=True)
    np.testing.assert_array_equal(
        kernel.pattern.dense(kernel(q, dq)), robot.kinetic_energy(q, dq), strict=leading != ()
    )
