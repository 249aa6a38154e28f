"""robot.step: the bits of simulate, for every batch, and errors in words."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.methods import METHODS
from kinetree.engine.kernels.step import PREFIX
from kinetree.errors import InputError, ShapeError
from tensor_robots import arm, flyer

DT = 2.0**-9  # so that the differences of simulate's times are exactly dt


def rubbing():
    """Two joints with Coulomb friction, of which the second one comes to rest."""
    friction = {
        "shoulder": kt.friction.Friction(viscous=0.5, coulomb=0.4),
        "slide": kt.friction.Friction(viscous=1.0, coulomb=100.0),
    }
    return arm().with_friction(friction)


ROBOTS = {"arm": arm(), "flyer": flyer(), "rubbing": rubbing()}


def state(robot, count=None):
    rng = np.random.default_rng(3)
    lead = () if count is None else (count,)
    q = np.array([robot.random(rng=k) for k in range(count or 1)])
    q = q[0] if count is None else q
    return q, rng.normal(size=(*lead, robot.n)), rng.normal(size=(*lead, robot.n))


@pytest.mark.filterwarnings("ignore:the motion of 'arm' is off")  # a joint that is braked hard
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_repeated_steps_are_those_of_simulate(name, method):
    robot = ROBOTS[name]
    q, dq, tau = state(robot)
    F_ext = np.random.default_rng(1).normal(size=(len(robot.model.links), 6))
    options = {"tau": tau, "duration": 20 * DT, "dt": DT, "method": method, "limits": "ignore"}
    for load in ({}, {"F_ext": F_ext}):
        motion = robot.simulate(q, dq, **options, **load)
        x = q, dq
        for k in range(20):
            for found, expected in zip(x, (motion.q[k], motion.dq[k]), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
            x = robot.step(*x, tau, DT, *load.values(), method=method)
    if name == "rubbing":
        assert abs(x[1][1]) < 1e-5 < abs(dq[1])  # friction has stopped the joint


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


def test_float32_stays_float32_but_where_friction_is_solved():
    for robot, kind in ((kt.robots.planar_2r(), np.float32), (ROBOTS["rubbing"], np.float64)):
        single = [np.float32(x) for x in state(robot, 3)]
        found = robot.step(*single, 0.001)
        exact = robot.step(*[x.astype(float) for x in single], 0.001)
        for got, wanted in zip(found, exact, strict=True):
            assert got.dtype == kind and np.allclose(got, wanted, rtol=0, atol=1e-6)


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


def test_out_has_an_array_for_each_result():
    robot = ROBOTS["arm"].with_actuators(
        {"servo": kt.joints.Actuator({"shoulder": 1}, (9, 0, 0), (0, -9, 0), "integrator")}
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
            with pytest.raises(InputError):
                robot.step(*x, dt)
            with pytest.raises(InputError):
                robot.step(*x, dt, out=tuple(map(np.empty_like, x[:2])))


def test_a_step_can_be_differentiated_by_its_length():
    robot = ROBOTS["flyer"]
    q, dq, tau = state(robot)
    by_dt = robot.derivative("step_rk4", "dt")(q, dq, tau, 0.01)
    h = 1e-6
    ahead, behind = (robot.step(q, dq, tau, 0.01 + s, method="rk4") for s in (h, -h))
    for slope, a, b in zip(by_dt, ahead, behind, strict=True):
        assert np.allclose(slope, (a - b) / (2 * h), rtol=1e-6, atol=1e-7)
