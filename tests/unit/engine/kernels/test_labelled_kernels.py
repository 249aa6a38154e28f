"""Kernels with labelled arguments: bit for bit the results of plain arrays, whatever the order."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.algorithms.quantities import DERIVED, QUANTITIES
from kinetree.engine.kernels import find_quantity
from kinetree.model.labelled import DIRECTIONS
from labelled_states import KINDS, MANY, ROBOTS, labelled, names_of, read_back, states

STATE = ("q", "dq", "ddq", "tau")
FIRST = [x for x in QUANTITIES if set(find_quantity(x).inputs) <= set(STATE)]
SECOND = [x for x in DERIVED if set(find_quantity(x).inputs) <= set(STATE)]
WRT_Q = [x for x in FIRST if "q" in find_quantity(x).inputs]


@functools.cache
def robot_of(name):
    return ROBOTS[name]()


@functools.cache
def kernel_of(robot, quantity, wrt=None):
    own = robot_of(robot)
    return own.compile(quantity) if wrt is None else own.derivative(quantity, wrt)


def axis_names(robot, letter):
    """Names along a dimension with a letter, from the robot's own lists."""
    if letter in DIRECTIONS:
        return DIRECTIONS[letter]
    return {
        "n": robot.dof_names,
        "nq": robot.coordinate_names,
        "l": robot.model.link_names,
        "p": tuple(map(str, kt.algorithms.parameter_list(robot.model))),
    }[letter]


def compare(kernel, robot, inputs, results, kind, seed):
    """The kernel on labelled states in random order equals itself on plain arrays, bit for bit."""
    rng = np.random.default_rng(seed)
    shape = (3,) if kind in MANY else ()
    plain = [states(robot, rng, shape, name) for name in inputs]
    expected = kernel(*plain)
    found = kernel(
        *(labelled(kind, robot, name, x, rng) for name, x in zip(inputs, plain, strict=True))
    )
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for own, x, dims in zip(found, expected, results, strict=True):
        if "dict" in kind and not any(letter in "nqlp" for letter in dims):
            assert isinstance(own, np.ndarray | float)  # directions have no keys
            back = own
        elif "dict" in kind:
            back = dict_result(own, [axis_names(robot, x) for x in dims], dims)
        else:
            back = read_back(own, [axis_names(robot, letter) for letter in dims])
        assert np.array_equal(np.asarray(back), x)


def dict_result(found, axes, dims):
    """A dict by joints, links or parameters whose entries keep the axes of directions."""
    named = [k for k, letter in enumerate(dims) if letter not in DIRECTIONS]
    if not named:
        return np.asarray(found)
    k = named[0]
    assert list(found) == list(axes[k])
    rest = [*axes[:k], *axes[k + 1 :]], [*dims[:k], *dims[k + 1 :]]
    parts = [dict_result(x, *rest) for x in found.values()]
    return np.stack(parts, parts[0].ndim - len(rest[0]) + k)


@pytest.mark.parametrize("robot", ["floating", "hand"])
@pytest.mark.parametrize("quantity", [*FIRST, *SECOND])
@settings(max_examples=3)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_every_quantity_takes_names_in_any_order(robot, quantity, kind, seed):
    what = find_quantity(quantity)
    results = [dims for _, dims in what.outputs]
    compare(kernel_of(robot, quantity), robot_of(robot), what.inputs, results, kind, seed)


@pytest.mark.parametrize("quantity", WRT_Q)
@settings(max_examples=2)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_derivative_kernels_take_names_in_any_order(quantity, kind, seed):
    what = find_quantity(quantity)
    results = [(*dims, "n") for _, dims in what.outputs]  # q moves along tangents
    kernel = kernel_of("floating", quantity, "q")
    compare(kernel, robot_of("floating"), what.inputs, results, kind, seed)


@pytest.mark.parametrize("kind", ["jacobian", "jvp", "vjp"])
def test_derivatives_of_a_kernel_keep_its_names(kind):
    robot, rng = robot_of("rolling"), np.random.default_rng(0)
    kernel = kt.derivative(robot.gravity_forces, "q", kind=kind)
    q, v = states(robot, rng, (), "q"), rng.normal(size=robot.n)
    more = {"jacobian": [], "jvp": [v], "vjp": [v]}[kind]
    names = {
        "jacobian": (robot.dof_names, robot.coordinate_names),
        "jvp": (robot.dof_names,),
        "vjp": (robot.coordinate_names,),
    }[kind]
    along = {"jvp": "q", "vjp": "dq"}.get(kind, "dq")
    given_by_name = [labelled("Series", robot, "q", q, rng)]
    given_by_name += [labelled("Series", robot, along, x, rng) for x in more]
    assert np.array_equal(read_back(kernel(*given_by_name), names), kernel(q, *more))


@pytest.mark.parametrize("kind", KINDS)
def test_free_masses_are_aligned_by_link(kind):
    robot, rng = robot_of("rolling"), np.random.default_rng(2)
    kernel = robot.compile("inverse_dynamics", free=["mass"])
    shape = (3,) if kind in MANY else ()
    plain = [states(robot, rng, shape, name) for name in ("q", "dq", "ddq")]
    mass = np.array([1.5, 2.5])
    links = robot.model.link_names
    by_link = {links[1]: mass[1], links[0]: mass[0]}
    given_by_name = [
        labelled(kind, robot, n, x, rng) for n, x in zip(("q", "dq", "ddq"), plain, strict=True)
    ]
    found = kernel(*given_by_name, by_link)
    assert np.array_equal(np.asarray(read_back(found, [robot.dof_names])), kernel(*plain, mass))


def test_names_do_not_change_which_arguments_are_given_by_keyword():
    robot, rng = robot_of("rolling"), np.random.default_rng(4)
    q, dq = (states(robot, rng, (), name) for name in ("q", "dq"))
    by_name = {x: labelled("dict", robot, x, y, rng) for x, y in (("q", q), ("dq", dq))}
    found = robot.coriolis_forces(dq=by_name["dq"], q=by_name["q"])
    assert np.array_equal(list(found.values()), robot.coriolis_forces(q, dq))
    assert list(found) == list(names_of(robot, "dq"))


@pytest.mark.parametrize("robot", ["floating", "hand"])
@pytest.mark.parametrize("kind", ["Series", "DataFrame", "whole dict"])
def test_steps_take_names_in_any_order(robot, kind):
    own, rng = robot_of(robot), np.random.default_rng(6)
    shape = (3,) if kind in MANY else ()
    plain = [states(own, rng, shape, name) for name in ("q", "dq", "tau")]
    pairs = zip(("q", "dq", "tau"), plain, strict=True)
    by_name = [labelled(kind, own, name, x, rng) for name, x in pairs]
    gains = np.arange(1.0, own.n + 1)
    by_joint = labelled("dict", own, "dq", gains, rng)
    for method, options, named in (
        ("semi_implicit_euler", {}, {}),
        ("implicit", {"kd": gains}, {"kd": by_joint}),
    ):
        expected = own.step(*plain, 0.01, method=method, **options)
        found = own.step(*by_name, 0.01, method=method, **named)
        for x, y, names in zip(found, expected, (own.coordinate_names, own.dof_names), strict=True):
            assert np.array_equal(read_back(x, [names]), y)


ROWS = np.arange(8.0).reshape(4, 2)
INDEXES = {
    "numbers": pd.RangeIndex(4),
    "times": pd.Index([0.0, 0.1, 0.2, 0.3], name="t"),
    "dates": pd.date_range("2024-01-01", periods=4, tz="UTC"),
    "time differences": pd.to_timedelta(range(4), unit="s"),
    "repeated": pd.Index(["a", "a", "b", "b"]),
    "categories": pd.CategoricalIndex(list("abba")),
    "two levels": pd.MultiIndex.from_product([["x", "y"], [0, 1]], names=["run", None]),
}


@pytest.mark.parametrize("rows", INDEXES)
def test_the_labels_of_rows_are_those_of_the_argument(rows):
    robot = kt.robots.planar_2r()
    frame = pd.DataFrame(ROWS, index=INDEXES[rows], columns=robot.joint_names).iloc[:, ::-1]
    assert robot.gravity_forces(frame).index.equals(frame.index)
    assert robot.potential_energy(frame).index.equals(frame.index)
    M = robot.mass_matrix(frame)
    levels = frame.index.nlevels
    assert np.array_equal(M.to_numpy().reshape(4, 2, 2), robot.mass_matrix(ROWS))
    assert [x[:levels] for x in M.index.tolist()[::2]] == [
        x if levels > 1 else (x,) for x in frame.index.tolist()
    ]


@pytest.mark.parametrize("wrong", [{1: 0.1}, pd.DataFrame({1: [0.1]}), np.zeros(1, [("1", float)])])
def test_one_joint_called_1_is_not_the_number_1(wrong):
    builder = kt.Builder("one").link("base").link("rod", 1, (0, 0, 1))
    robot = builder.joint("1", "revolute", "base", "rod", axis=(1, 0, 0)).build()
    assert robot.gravity_forces({"1": 0.1}) == {"1": robot.gravity_forces([0.1])[0]}
    with pytest.raises(kt.KinetreeError, match=r"'1'|structured NumPy array"):
        robot.gravity_forces(wrong)


def test_results_go_into_new_objects():
    robot = kt.robots.planar_2r()
    frame = pd.DataFrame(ROWS, columns=robot.joint_names)
    with pytest.raises(kt.KinetreeError, match="out= and axes= are for plain arrays"):
        robot.gravity_forces(frame, out=np.zeros((4, 2)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_results_are_not_written_by_position_under_names(make):
    robot = kt.robots.planar_2r()
    out = make({name: np.zeros(4) for name in reversed(robot.joint_names)})
    with pytest.raises(kt.KinetreeError, match="written in the order of the robot"):
        robot.gravity_forces(np.array(ROWS), out=out)
    with pytest.raises(kt.KinetreeError, match="written in the order of the robot"):
        robot.step(ROWS, ROWS, ROWS, 0.01, out=(np.zeros((4, 2)), out))
    assert not np.any(list(out.values()) if make is dict else out.to_numpy())


@pytest.mark.parametrize(
    "q", [[0.1, 0.2j], ["0.1", "0.2"], [None, 0.1], np.zeros(2, np.clongdouble)]
)
def test_values_that_are_not_real_numbers_are_named(q):
    with pytest.raises(kt.KinetreeError, match=r"q of gravity_forces\(q\) has values of type"):
        kt.robots.planar_2r().gravity_forces(q)


def test_masked_entries_are_not_read():
    robot = kt.robots.planar_2r()
    with pytest.raises(kt.KinetreeError, match=r"q is a masked array.*q\.filled"):
        robot.gravity_forces(np.ma.masked_array([0.1, 0.2], [False, True]))
    whole = robot.gravity_forces(np.ma.masked_array([0.1, 0.2]))
    assert np.array_equal(whole, robot.gravity_forces([0.1, 0.2]))


def test_a_plain_array_has_all_dimensions_of_data_arrays_or_none():
    robot, rng = kt.robots.planar_2r(), np.random.default_rng(8)
    q, own = rng.normal(size=(3, 3, 2)), {"joint": list(robot.joint_names)}
    x = xr.DataArray(q, dims=("run", "time", "joint"), coords=own)
    with pytest.raises(kt.KinetreeError, match=r"ddq is a plain array.*dimensions run, time"):
        robot.inverse_dynamics(x, x, q[0])
    for ddq in (q, q[0, 0]):
        assert np.array_equal(robot.inverse_dynamics(x, x, ddq), robot.inverse_dynamics(q, q, ddq))
