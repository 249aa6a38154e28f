"""The textbook's functions with names: numbers and symbols, in any order."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError, ShapeError
from labelled_states import ROBOTS, labelled, names_of, read_back, states, whole

# function -> arguments, and the letters of its result
RESULTS = {
    "inverse_dynamics": (("q", "dq", "ddq"), "n"),
    "forward_dynamics": (("q", "dq", "tau"), "n"),
    "forward_dynamics_by_inverse_dynamics": (("q", "dq", "tau"), "n"),
    "mass_matrix": (("q",), "nn"),
    "mass_matrix_by_jacobians": (("q",), "nn"),
    "mass_matrix_by_inverse_dynamics": (("q",), "nn"),
    "bias_forces": (("q", "dq"), "n"),
    "gravity_forces": (("q",), "n"),
    "gravity_forces_by_wrenches": (("q",), "n"),
    "coriolis_matrix": (("q", "dq"), "nn"),
    "coriolis_forces": (("q", "dq"), "n"),
    "mass_matrix_rate": (("q", "dq"), "nn"),
    "friction_forces": (("dq",), "n"),
    "integrate": (("q", "dq"), "q"),
    "kinetic_energy": (("q", "dq"), ""),
    "potential_energy": (("q",), ""),
    "body_jacobian": (("q",), "6n"),
    "space_jacobian_rate": (("q", "dq"), "6n"),
    "pose": (("q",), "44"),
    "tangent_map": (("q",), "qn"),
}
SIX = ("angular_x", "angular_y", "angular_z", "linear_x", "linear_y", "linear_z")


def names(robot, letter):
    four = ("x", "y", "z", "w")
    return {"n": robot.dof_names, "q": robot.coordinate_names, "6": SIX, "4": four}[letter]


@pytest.mark.parametrize("function", RESULTS)
@pytest.mark.parametrize(("name", "kind"), [*zip(ROBOTS, ("Series", "dict", "dict"), strict=True)])
def test_one_state_is_taken_by_name(name, function, kind):
    robot = ROBOTS[name]()
    rng = np.random.default_rng(len(function))
    arguments, letters = RESULTS[function]
    call = getattr(algorithms, function)
    plain = [states(robot, rng, (), name) for name in arguments]
    pairs = zip(arguments, plain, strict=True)
    found = call(robot.model, *(labelled(kind, robot, name, x, rng) for name, x in pairs))
    expected = call(robot.model, *plain)
    if kind == "dict" and not set(letters) & {"n", "q"}:
        assert np.array_equal(found, expected)  # directions have no keys
    elif kind == "dict" and letters == "6n":
        assert np.array_equal(np.stack([*found.values()], -1), expected)
        assert list(found) == list(robot.dof_names)
    else:
        axes = [names(robot, letter) for letter in letters]
        assert np.array_equal(read_back(found, axes), expected)


@pytest.mark.parametrize("robot", [make() for make in ROBOTS.values()], ids=list(ROBOTS))
def test_the_way_between_two_positions_is_labelled_like_rates(robot):
    rng = np.random.default_rng(0)
    q0, q1 = states(robot, rng, (2,), "q")
    found = robot.difference(*(labelled("Series", robot, "q", q, rng) for q in (q0, q1)))
    assert found.index.tolist() == list(robot.dof_names)
    assert np.array_equal(found, robot.difference(q0, q1))
    back = robot.integrate(
        labelled("dict", robot, "q", q0, rng), whole(robot, "dq", found.to_numpy(), rng)
    )
    assert np.allclose([*back.values()], robot.integrate(q0, found.to_numpy()), rtol=0, atol=0)


def test_several_results_are_labelled_each():
    robot, rng = ROBOTS["floating"](), np.random.default_rng(1)
    state = [states(robot, rng, (), name) for name in ("q", "dq", "ddq")]
    series = [
        labelled("Series", robot, n, x, rng) for n, x in zip(("q", "dq", "ddq"), state, strict=True)
    ]
    for found, expected in zip(
        algorithms.inverse_dynamics_derivatives(robot.model, *series),
        algorithms.inverse_dynamics_derivatives(robot.model, *state),
        strict=True,
    ):
        assert np.array_equal(read_back(found, [robot.dof_names, robot.dof_names]), expected)
    Y = algorithms.regressor(robot.model, *series)
    assert Y.columns.tolist() == [str(x) for x in algorithms.parameter_list(robot.model)]
    assert np.array_equal(Y, algorithms.regressor(robot.model, *state))


def test_records_of_one_state_take_names_and_stay_plain():
    robot, rng = kt.robots.ur5e(), np.random.default_rng(2)
    q, dq, tau = (rng.normal(size=6) for _ in range(3))
    named = [labelled("Series", robot, "dq", x, rng) for x in (q, dq, tau)]
    pairs = [
        (robot.task_space(*named[:2]).Lambda, robot.task_space(q, dq).Lambda),
        (robot.newton_euler(*named).tau, robot.newton_euler(q, dq, tau).tau),
        (robot.linearize(*named).A, robot.linearize(q, dq, tau).A),
        (
            algorithms.linearize(robot.model, *named).B,
            algorithms.linearize(robot.model, q, dq, tau).B,
        ),
        (robot.mass_ellipsoid(named[0]).lengths, robot.mass_ellipsoid(q).lengths),
        (robot.force_ellipsoid(named[0]).axes, robot.force_ellipsoid(q).axes),
        (robot.explain(*named).recursion.tau, robot.explain(q, dq, tau).recursion.tau),
        (
            algorithms.closed_form(robot.model, *named).M,
            algorithms.closed_form(robot.model, q, dq, tau).M,
        ),
    ]
    for found, expected in pairs:
        assert type(found) is np.ndarray and np.array_equal(found, expected)


def test_many_states_of_one_function_of_the_kernels():
    robot, rng = ROBOTS["rolling"](), np.random.default_rng(3)
    state = [states(robot, rng, (4,), name) for name in ("q", "dq", "tau")]
    names = ("q", "dq", "tau")
    frames = [labelled("DataFrame", robot, n, x, rng) for n, x in zip(names, state, strict=True)]
    assert np.array_equal(robot.linearize(*frames).A, robot.linearize(*state).A)
    found = robot.task_space_derivatives(*frames[:2], rows=[5])
    expected = robot.task_space_derivatives(*state[:2], rows=[5])
    assert np.array_equal(found.dJ_dq, expected.dJ_dq)


@pytest.mark.parametrize("make", [dict, pd.Series])
def test_symbols_are_taken_by_name(make):
    sympy = pytest.importorskip("sympy")
    robot = kt.robots.planar_2r()
    a, b = sympy.symbols("a b")
    first, second = robot.joint_names
    found = algorithms.gravity_forces(robot.model, make({second: b, first: a}))
    expected = algorithms.gravity_forces(robot.model, [a, b])
    assert list(found.keys()) == [first, second]
    assert [found[first], found[second]] == list(expected)


def test_parameters_are_taken_by_name():
    robot = kt.robots.planar_2r()
    pi = np.asarray(robot.parameters, float) * 1.01
    names = [str(x) for x in algorithms.parameter_list(robot.model)]
    mixed = pd.Series(pi, index=names).sample(frac=1, random_state=1)
    found = algorithms.with_parameters(robot.model, mixed)
    assert np.array_equal(found.m, algorithms.with_parameters(robot.model, pi).m)
    with pytest.raises(InputError, match="pi is a pandas Series"):
        robot.base_parameters().values(mixed)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda r, f: algorithms.mass_matrix(r.model, f), ShapeError, "q has 2 states"),
        (lambda r, f: algorithms.mass_matrix(r.model, f.loc[0].iloc[:1]), InputError, "missing"),
        (lambda r, f: algorithms.mass_matrix(r.model, [f.loc[0]]), InputError, "a list of objects"),
        (lambda r, f: r.integrate(f.loc[0], {"x": 1}), InputError, "v: .*unknown 'x'"),
        (lambda r, f: r.newton_euler(f.loc[0], [0, 0], [0, 0], f), InputError, r"robot\.wrenches"),
        (lambda r, f: r.wrenches({"tool": f.loc[0]}), InputError, "wrench onto 'tool'"),
        (lambda r, f: r.task_space(f.loc[0], V=f.loc[0]), InputError, "V is a pandas Series"),
        (lambda r, f: r.with_gravity(pd.Series([0, 0, -1])), InputError, "gravity is a pandas"),
        (lambda r, f: r.with_payload(1, com={"x": 1}), InputError, "centre of mass .* is a dict"),
    ],
)
def test_names_that_do_not_fit_are_refused(call, error, words):
    robot = kt.robots.planar_2r()
    frame = pd.DataFrame(np.zeros((2, 2)), columns=robot.joint_names)
    with pytest.raises(error, match=words):
        call(robot, frame)


def test_a_locked_joint_is_named_in_a_series():
    robot = kt.robots.ur5e()
    found = robot.lock(pd.Series({"elbow": 0.3, "wrist_1": 0.1}))
    assert found.joint_names == robot.lock({"wrist_1": 0.1, "elbow": 0.3}).joint_names
    with pytest.raises(InputError, match="lock needs a mapping"):
        robot.lock(pd.DataFrame({"elbow": [0.3]}))


def test_a_table_of_dh_parameters_is_read_by_its_columns():
    rows = np.array([[0.5, 0.0, 0.1, 0.2], [0.3, 0.4, 0.0, 0.1]])
    body = {"m": [1, 2], "com": np.zeros((2, 3)), "I_com": [np.eye(3) * 0.1] * 2}
    frame = pd.DataFrame(rows, columns=["a", "alpha", "d", "theta"])
    found = kt.Robot.from_dh(frame[["theta", "d", "a", "alpha"]], **body)
    assert np.array_equal(found.model.M_pi, kt.Robot.from_dh(rows, **body).model.M_pi)
    with pytest.raises(InputError, match=r"DH table: .*missing 'd'"):
        kt.Robot.from_dh(frame.drop(columns="d"), **body)
    with pytest.raises(InputError, match="armature is a dict"):
        kt.Robot.from_dh(rows, **body, armature={"joint1": 1})


def test_closed_forms_are_evaluated_by_name():
    pytest.importorskip("sympy")
    robot = kt.robots.planar_2r()
    symbolic = kt.symbolic(robot)
    first, second = robot.joint_names
    state = {second: 0.4, first: 0.1}, pd.Series({second: 2.0, first: 1.0})
    found = symbolic.evaluate("tau", *state, {first: 0.0, second: 3.0})
    assert np.array_equal(found, symbolic.evaluate("tau", [0.1, 0.4], [1, 2], [0, 3]))


def test_other_libraries_take_states_by_name():
    robot, rng = ROBOTS["floating"](), np.random.default_rng(6)
    q, dq = (states(robot, rng, (), name) for name in ("q", "dq"))
    to, back = kt.convert.to_pinocchio(robot), kt.convert.from_pinocchio(robot)
    named = [labelled("Series", robot, n, x, rng) for n, x in (("q", q), ("dq", dq))]
    assert np.array_equal(to.dq(*named), to.dq(q, dq))
    with pytest.raises(InputError, match="q is a pandas Series"):
        back.q(named[0])


def test_arrays_of_one_dimension_count_as_one_state():
    robot, rng = ROBOTS["hand"](), np.random.default_rng(7)
    q = states(robot, rng, (), "q")
    order = rng.permutation(robot.nq)
    given = xr.DataArray(q, dims="joint", coords={"joint": list(names_of(robot, "q"))})[order]
    found = algorithms.gravity_forces(robot.model, given)
    assert found.dims == ("joint",) and found.joint.to_numpy().tolist() == list(robot.dof_names)
    assert np.array_equal(found, algorithms.gravity_forces(robot.model, q))
