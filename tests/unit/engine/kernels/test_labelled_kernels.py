"""Kernels with labelled arguments: bit for bit the results of plain arrays, whatever the order."""

import functools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels import find_quantity
from kinetree.model.labelled import DIRECTIONS
from labelled_states import KINDS, MANY, ROBOTS, labelled, read_back, states

STATE = ("q", "dq", "ddq", "tau")
QUANTITIES = [
    name
    for name, x in DECLARED.items()
    if set(x.inputs) <= set(STATE) and not x.letters & {*"mdck"}
]


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
        "p": tuple(map(str, kt.dynamics.parameter_list(robot.model))),
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
@pytest.mark.parametrize("quantity", QUANTITIES)
@settings(max_examples=3)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_every_quantity_takes_names_in_any_order(robot, quantity, kind, seed):
    what = find_quantity(quantity)
    results = [dims for _, dims in what.outputs]
    compare(kernel_of(robot, quantity), robot_of(robot), what.inputs, results, kind, seed)


@pytest.mark.parametrize("kind", ["jacobian", "jvp", "vjp"])
def test_derivatives_of_a_kernel_keep_its_names(kind):
    robot, rng = robot_of("rolling"), np.random.default_rng(0)
    kernel = kt.kernels.derivative(robot.gravity_forces, "q", kind=kind)
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


@pytest.mark.parametrize("wrong", [{1: 0.1}, pd.DataFrame({1: [0.1]}), np.zeros(1, [("1", float)])])
def test_one_joint_called_1_is_not_the_number_1(wrong):
    builder = kt.Builder("one").link("base").link("rod", 1, (0, 0, 1))
    robot = builder.joint("1", "revolute", "base", "rod", axis=(1, 0, 0)).build()
    assert robot.gravity_forces({"1": 0.1}) == {"1": robot.gravity_forces([0.1])[0]}
    with pytest.raises(kt.errors.KinetreeError, match=r"'1'|structured NumPy array"):
        robot.gravity_forces(wrong)
