"""robot.step: the bits of simulate, for every batch, and errors in words."""

import inspect
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms import step as textbook_step
from kinetree.algorithms.steps import METHODS
from kinetree.engine.call.dispatch import Dispatch
from kinetree.engine.kernels.step import PREFIX
from kinetree.errors import InputError, ShapeError
from tensor_robots import arm, flyer

DT = 2.0**-9  # so that the differences of simulate's times are exactly dt


def rubbing():
    """Two joints with Coulomb friction, of which the second one comes to rest."""
    friction = {
        "shoulder": kt.Friction(viscous=0.5, coulomb=0.4),
        "slide": kt.Friction(viscous=1.0, coulomb=100.0),
    }
    return arm().with_friction(friction)


ROBOTS = {"arm": arm(), "flyer": flyer(), "rubbing": rubbing()}


def state(robot, count=None):
    rng = np.random.default_rng(3)
    lead = () if count is None else (count,)
    q = np.array([robot.random(rng=k) for k in range(count or 1)])
    q = q[0] if count is None else q
    return q, rng.normal(size=(*lead, robot.n)), rng.normal(size=(*lead, robot.n))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_repeated_steps_are_those_of_simulate_to_the_last_bit(name, method):
    robot = ROBOTS[name]
    q, dq, tau = state(robot)
    F_ext = np.random.default_rng(1).normal(size=(len(robot.model.links), 6))
    options = {"tau": tau, "duration": 20 * DT, "dt": DT, "method": method, "limits": "ignore"}
    for load in ({}, {"F_ext": F_ext}):
        motion = robot.simulate(q, dq, **options, **load)
        x = q, dq
        for k in range(20):
            assert np.array_equal(x[0], motion.q[k]) and np.array_equal(x[1], motion.dq[k])
            x = robot.step(*x, tau, DT, *load.values(), method=method)
    if name == "rubbing":
        assert abs(x[1][1]) < 1e-5 < abs(dq[1])  # friction has stopped the joint


@pytest.mark.parametrize("method", METHODS)
def test_the_textbook_takes_the_same_step(method):
    for robot in ROBOTS.values():
        q, dq, tau = state(robot)
        expected = textbook_step(robot.model, q, dq, tau, DT, method=method)
        for got, wanted in zip(robot.step(q, dq, tau, DT, method=method), expected, strict=True):
            assert np.allclose(got, wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_bits_do_not_depend_on_the_batch(method):
    robot = ROBOTS["rubbing"]
    q, dq, tau = state(robot, 37)
    whole = robot.step(q, dq, tau, DT, method=method)
    order = np.random.default_rng(0).permutation(37)
    mixed = robot.step(q[order], dq[order], tau[order], DT, method=method)
    into = np.empty_like(q), np.empty_like(dq)
    assert robot.step(q, dq, tau, DT, method=method, out=into) is not None
    each = robot.step(q, dq, tau, np.full(37, DT), method=method)
    for k, found in enumerate(whole):
        assert np.array_equal(mixed[k], found[order])
        assert np.array_equal(into[k], found) and np.array_equal(each[k], found)
        rows = [robot.step(*x, DT, method=method)[k] for x in zip(q, dq, tau, strict=True)]
        assert np.array_equal(rows, found)


def test_a_number_of_any_kind_is_the_same_dt():
    robot = ROBOTS["arm"]
    q, dq, tau = state(robot)
    expected = robot.step(q, dq, tau, 0.5)
    for dt in (np.float64(0.5), np.array(0.5), np.float32(0.5)):
        for got, wanted in zip(robot.step(q, dq, tau, dt), expected, strict=True):
            assert np.array_equal(got, wanted)
    whole = robot.step(q, dq, tau, 1)  # seconds, as an integer
    assert np.array_equal(whole[0], robot.step(q, dq, tau, 1.0)[0])


def test_each_state_may_have_its_own_dt():
    robot = ROBOTS["flyer"]
    q, dq, tau = state(robot, 5)
    dt = np.linspace(0.001, 0.01, 5)
    found = robot.step(q, dq, tau, dt)
    for k in range(5):
        assert np.array_equal(found[0][k], robot.step(q[k], dq[k], tau[k], float(dt[k]))[0])


def test_names_align_the_arguments():
    robot = ROBOTS["arm"]
    q, dq, tau = state(robot)
    names = robot.joint_names
    given = [dict(zip(names[::-1], x[::-1], strict=True)) for x in (q, dq, tau)]
    expected, found = robot.step(q, dq, tau, DT), robot.step(*given, DT)
    for got, wanted in zip(found, expected, strict=True):
        assert [got[name] for name in names] == list(wanted)


def test_float32_stays_float32():
    robot = ROBOTS["arm"]
    single = [np.float32(x) for x in state(robot, 3)]
    found = robot.step(*single, 0.001)
    exact = robot.step(*[x.astype(float) for x in single], 0.001)
    for got, wanted in zip(found, exact, strict=True):
        assert got.dtype == np.float32 and np.allclose(got, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit"])
def test_free_parameters_are_those_of_a_simulation(method):
    robot = ROBOTS["arm"]
    q, dq, tau = state(robot)
    mass = robot.model.m * 1.25
    kernel = robot.compile(f"{PREFIX}{method}", free=["mass"])
    options = {"tau": tau, "duration": DT, "dt": DT, "method": method, "limits": "ignore"}
    motion = robot.simulate(q, dq, parameters={"mass": mass}, **options)
    found = kernel(q, dq, tau, DT, mass)
    assert np.array_equal(found[0], motion.q[-1]) and np.array_equal(found[1], motion.dq[-1])


def test_implicit_steps_solve_for_friction_and_gains_at_the_end():
    robot = arm().with_friction({"shoulder": kt.Friction(viscous=(2.0, 5.0))})
    q, dq, tau = state(robot)
    rng, h = np.random.default_rng(4), 0.01
    kp, kd = rng.uniform(1, 100, (2, 2))
    D = np.array([2.0 if dq[0] > 0 else 5.0, 0.0])
    M, bias = algorithms.mass_matrix(robot.model, q), algorithms.bias_forces(robot.model, q, dq)
    for gains in ({}, {"kd": kd}, {"kp": kp}, {"kp": kp, "kd": kd}):
        K, extra = gains.get("kp", np.zeros(2)), gains.get("kd", np.zeros(2))
        A = M + np.diag(h * (D + extra) + h * h * K)
        expected = dq + h * np.linalg.solve(A, tau - bias - h * K * dq)
        q_next, dq_next = robot.step(q, dq, tau, h, method="implicit", **gains)
        assert np.allclose(dq_next, expected, rtol=1e-13)
        assert np.allclose(q_next, q + h * expected, rtol=1e-14)


def test_a_falling_friction_function_is_not_implicit():
    robot = arm().with_friction({"shoulder": kt.Friction(function=lambda dq: dq * -0.5)})
    q, dq, tau = state(robot)
    implicit, explicit = (
        robot.step(q, dq, tau, 0.01, method=name) for name in ("implicit", "semi_implicit_euler")
    )
    assert np.allclose(implicit[1], explicit[1], rtol=1e-14)


REFUSED = [
    (0.0, {}, "dt is 0; expected the length of a step in seconds, positive"),
    (-0.1, {}, "dt is -0.1; expected"),
    (float("nan"), {}, "dt is nan; expected"),
    (float("inf"), {}, "dt is inf; expected"),
    (np.array([0.1, -1.0]), {}, r"dt\[1\] is -1; expected"),
    ("0.1", {}, "dt is '0.1'; expected the length of a step"),
    (None, {}, "dt is None; expected"),
    (True, {}, "dt is True; expected"),
    (0.1j, {}, "dt has values of type complex128; expected seconds as numbers"),
    (0.1, {"method": "rk5"}, "'rk5'; choose one of euler, semi_implicit_euler, rk4, implicit"),
    (0.1, {"method": ["rk4"]}, "choose one of euler"),
    (0.1, {"kd": [1.0, 1.0]}, "kd given for method 'semi_implicit_euler', which does not use it"),
]


@pytest.mark.parametrize(("dt", "options", "pattern"), REFUSED)
def test_bad_arguments_are_refused_in_words(dt, options, pattern):
    robot = ROBOTS["arm"]
    with pytest.raises(InputError, match=pattern):
        robot.step(*state(robot), dt, **options)


def test_a_wrong_shape_names_the_argument():
    robot = ROBOTS["arm"]
    q, dq, _ = state(robot)
    with pytest.raises(ShapeError, match=r"tau has shape \(3,\), but step_semi_implicit_euler"):
        robot.step(q, dq, np.zeros(3), 0.1)


def test_out_has_an_array_for_each_result():
    robot = ROBOTS["arm"].with_actuators(
        {"servo": kt.Actuator.integrated_velocity("shoulder", 9.0)}
    )
    q, dq, tau = state(robot)
    two, three = (np.empty(2), np.empty(2)), (np.empty(2), np.empty(2), np.empty(1))
    servo = {"controls": [0.1], "activation": [0.2]}
    results = r"expected a tuple of 2 arrays: q_next \(2,\), dq_next \(2,\)"
    for out, found in ((two[0], "one array"), (two[:1], "a tuple of length 1"), (3.0, "3.0")):
        with pytest.raises(ShapeError, match=f"is {found}; {results}"):
            robot.step(q, dq, tau, 0.1, out=out)
    with pytest.raises(ShapeError, match=r"length 2; .* 3 arrays: .*activation_next \(1,\)"):
        robot.step(q, dq, tau, 0.1, **servo, out=two)
    expected = robot.step(q, dq, tau, 0.1, **servo)
    robot.step(q, dq, tau, 0.1, **servo, out=three)
    assert all(map(np.array_equal, three, expected))
    with pytest.raises(ShapeError, match=r"length 2; expected one array: forward_dynamics \(2,\)"):
        robot.forward_dynamics(q, dq, tau, out=two)


def test_a_robot_that_cannot_move_is_refused_by_name():
    ghost = kt.Builder("ghost").link("base").link("arm", 1.0, (0.2, 0, 0)).link("hand")
    ghost.joint("shoulder", "revolute", "base", "arm", axis=(0, 1, 0))
    ghost.joint("wrist", "revolute", "arm", "hand", at=(0.4, 0, 0))
    with pytest.raises(kt.KinetreeError, match="'wrist'"):
        ghost.build().step([0, 0], [0, 0], [0, 0], 0.1)


def test_the_second_call_finds_the_function_in_the_robot():
    robot = kt.Robot(ROBOTS["arm"].model)
    first, again = robot.step, None
    robot.step(*state(robot), 0.1)
    again = robot.step
    assert again is robot.step and first is not again
    assert again.__doc__ == first.__doc__ and "dt" in again.__doc__
    assert inspect.signature(again) == inspect.signature(first)
    copied = pickle.loads(pickle.dumps(again))
    x = state(robot)
    assert np.array_equal(copied(*x, 0.1, method="rk4")[0], robot.step(*x, 0.1, method="rk4")[0])


def test_numbers_that_are_no_length_never_enter_machine_code():
    """Also as arrays without axes and in batches, which kernels take without looking at values."""
    robot = ROBOTS["arm"]
    one, many = state(robot), state(robot, 3)
    robot.step(*one, 0.1)
    for bad in (0.0, -1.0, np.nan, np.inf):
        for x, dt in (
            (one, bad),
            (one, np.float64(bad)),
            (one, np.array(bad)),
            (many, np.full(3, bad)),
        ):
            with pytest.raises(InputError, match="dt"):
                robot.step(*x, dt)
            with pytest.raises(InputError, match="dt"):
                robot.step(*x, dt, out=tuple(map(np.empty_like, x[:2])))


def test_single_states_with_a_method_enter_the_kernel_of_that_method(monkeypatch):
    """After the first call, nothing in Python runs; other arguments still are checked there."""
    robot = kt.Robot(ROBOTS["arm"].model)
    x = state(robot)
    for method in METHODS:
        first = robot.step(*x, 0.1, method=method)
        with monkeypatch.context() as patch:
            if robot.step._direct:
                patch.setattr(Dispatch, "call", None)
            again = robot.step(*x, 0.1, method=method)
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        with pytest.raises(InputError, match=r"dt is -0\.1"):
            robot.step(*x, -0.1, method=method)
        with pytest.raises(InputError, match="dt is nan"):
            robot.step(*x, np.float64("nan"), method=method)
        listed = robot.step(*map(list, x), 0.1, method=method)
        assert all(np.array_equal(a, b) for a, b in zip(first, listed, strict=True))
        many = [np.tile(part, (3, 1)) for part in x]
        rows = robot.step(*many, 0.1, method=method)
        assert all(np.array_equal(a[2], b) for a, b in zip(rows, first, strict=True))


def test_a_step_can_be_differentiated_by_its_length():
    robot = ROBOTS["flyer"]
    q, dq, tau = state(robot)
    by_dt = robot.derivative("step_rk4", "dt")(q, dq, tau, 0.01)
    h = 1e-6
    ahead, behind = (robot.step(q, dq, tau, 0.01 + s, method="rk4") for s in (h, -h))
    for slope, a, b in zip(by_dt, ahead, behind, strict=True):
        assert np.allclose(slope, (a - b) / (2 * h), rtol=1e-6, atol=1e-7)
