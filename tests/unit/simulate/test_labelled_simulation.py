"""Simulations with names: states, forces, gains, masses, and functions that return names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError
from kinetree.simulate import signal
from labelled_states import ROBOTS

RUN = {"duration": 0.02, "dt": 0.01, "method": "rk4", "limits": "ignore"}
RNG = np.random.default_rng(5)
Q, DQ, TAU = (RNG.normal(size=6) * size for size in (0.3, 0.5, 2.0))
KP, KD = np.arange(1.0, 7) * 0.3, np.arange(1.0, 7) * 0.01
T, FORCES = np.array([0.0, 0.004, 0.01, 0.02]), RNG.normal(size=(4, 6))
BATCH = RNG.normal(size=(3, 6)) * 0.3
ORDER = [3, 1, 5, 0, 2, 4]


@pytest.fixture(scope="module")
def robot():
    return kt.robots.ur5e()


def by_dict(robot, x):
    return {robot.joint_names[k]: x[..., k] for k in ORDER}


def by_series(robot, x):
    return pd.Series(x, index=robot.joint_names).iloc[ORDER]


def by_frame(robot, x):
    return pd.DataFrame(x, columns=robot.joint_names).iloc[:, ORDER]


def by_polars(robot, x):
    return pl.DataFrame({robot.joint_names[k]: x[:, k] for k in ORDER})


def by_xarray(robot, x, dims=("run", "joint")):
    coords = {"joint": list(robot.joint_names)}
    return xr.DataArray(x, dims=dims, coords=coords).isel(joint=ORDER).T


def same(found, expected):
    for name in ("t", "q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("make", [by_dict, by_series])
def test_a_state_with_names_starts_where_the_plain_one_does(robot, make):
    found = robot.simulate(make(robot, Q), make(robot, DQ), tau=make(robot, TAU), **RUN)
    same(found, robot.simulate(Q, DQ, tau=TAU, **RUN))


@pytest.mark.parametrize("make", [by_dict, by_frame, by_polars, by_xarray])
def test_rows_are_a_batch_of_rollouts(robot, make):
    same(robot.simulate(make(robot, BATCH), DQ, **RUN), robot.simulate(BATCH, DQ, **RUN))


def test_one_state_goes_with_every_row(robot):
    found = robot.simulate(by_frame(robot, BATCH), by_series(robot, DQ), **RUN)
    same(found, robot.simulate(BATCH, DQ, **RUN))


@pytest.mark.parametrize("make", [by_dict, by_series])
def test_functions_may_return_names(robot, make):
    expected = robot.simulate(Q, DQ, tau=TAU, **RUN)
    same(robot.simulate(Q, DQ, tau=lambda t: make(robot, TAU), **RUN), expected)
    same(robot.simulate(Q, DQ, tau=lambda t, q, dq: make(robot, TAU), **RUN), expected)
    law = robot.simulate(Q, DQ, controller=lambda t, q, dq: make(robot, TAU), **RUN)
    same(law, expected)


def test_a_law_that_returns_a_dict_is_compiled(robot):
    names = robot.joint_names

    def plain(t, q, dq):
        return np.array([-2 * q[k] - 0.1 * dq[k] for k in range(6)])

    def named(t, q, dq):
        return {names[k]: -2 * q[k] - 0.1 * dq[k] for k in reversed(range(6))}

    found = robot.simulate(Q, DQ, controller=named, **RUN)
    same(found, robot.simulate(Q, DQ, controller=plain, **RUN))
    assert found.meta["compiled"]


@pytest.mark.parametrize("make", [by_dict, by_frame, by_polars])
@pytest.mark.parametrize("times", [T, pd.Series(T), pd.to_timedelta(T, unit="s")])
def test_forces_over_time_are_aligned(robot, make, times):
    found = robot.simulate(Q, DQ, tau=signal(times, make(robot, FORCES), "linear"), **RUN)
    same(found, robot.simulate(Q, DQ, tau=signal(T, FORCES, "linear"), **RUN))


def test_forces_of_a_batch_have_their_time_found_by_its_name(robot):
    values = RNG.normal(size=(4, 3, 6))
    coords = {"joint": list(robot.joint_names)}
    array = xr.DataArray(values, dims=("time", "run", "joint"), coords=coords)
    mixed = array.transpose("joint", "run", "time").isel(joint=ORDER)
    found = robot.simulate(BATCH, DQ, tau=signal(T, mixed), **RUN)
    same(found, robot.simulate(BATCH, DQ, tau=signal(T, values), **RUN))
    with pytest.raises(InputError, match="expected that of time to be called"):
        signal(T, array.rename(time="moment"))


@pytest.mark.parametrize(
    ("make", "plain"),
    [
        (
            lambda x, y: controllers.PD(y(Q), x(KP), y(KD)),
            lambda: controllers.PD(Q, KP, KD),
        ),
        (
            lambda x, y: controllers.PD(lambda t: (x(Q), y(DQ)), x(KP), x(KD), gravity=True),
            lambda: controllers.PD(lambda t: (Q, DQ), KP, KD, gravity=True),
        ),
        (
            lambda x, y: controllers.PID(x(Q), x(KP), y(KD), x(KP), bound=y(KD)),
            lambda: controllers.PID(Q, KP, KD, KP, bound=KD),
        ),
        (
            lambda x, y: controllers.ComputedTorque(x(Q), y(KP), x(KD)),
            lambda: controllers.ComputedTorque(Q, KP, KD),
        ),
        (
            lambda x, y: controllers.GravityCompensation(x(KD)),
            lambda: controllers.GravityCompensation(KD),
        ),
        (
            lambda x, y: controllers.Law(lambda t, q, dq, q_d: q_d - q, y(Q)),
            lambda: controllers.Law(lambda t, q, dq, q_d: q_d - q, Q),
        ),
        (
            lambda x, y: controllers.Stateful(lambda t, q, dq, z: (x(q - Q), -z), [1.0]),
            lambda: controllers.Stateful(lambda t, q, dq, z: (q - Q, -z), [1.0]),
        ),
    ],
)
def test_gains_and_references_are_aligned(robot, make, plain):
    law = make(lambda x: by_dict(robot, x), lambda x: by_series(robot, x))
    found = robot.simulate(Q * 0.9, DQ, controller=law, **RUN)
    same(found, robot.simulate(Q * 0.9, DQ, controller=plain(), **RUN))


def test_gains_that_differ_by_their_names_alone_are_different_laws(robot):
    values = KP[ORDER]
    first = pd.Series(values, index=np.array(robot.joint_names)[ORDER])
    second = pd.Series(values, index=robot.joint_names)
    one, two = (
        robot.simulate(Q, DQ, controller=controllers.PD(0 * Q, kp, KD), **RUN)
        for kp in (first, second)
    )
    same(one, robot.simulate(Q, DQ, controller=controllers.PD(0 * Q, KP, KD), **RUN))
    same(two, robot.simulate(Q, DQ, controller=controllers.PD(0 * Q, values, KD), **RUN))
    assert not np.array_equal(one.q, two.q)


def test_a_posture_is_aligned(robot):
    T_d = robot.pose(Q)
    found, expected = (
        robot.simulate(
            Q,
            DQ,
            controller=controllers.OperationalSpace(
                T_d, 1.0, 1.0, posture=controllers.Posture(x(Q), x(KP), x(KD)), damping=0.1
            ),
            **RUN,
        )
        for x in (lambda v: by_dict(robot, v), lambda v: v)
    )
    same(found, expected)


def test_masses_are_aligned_by_link(robot):
    mass = np.asarray(robot.model.m, float) * np.linspace(1, 1.2, 6)
    by_link = dict(reversed(list(zip(robot.model.link_names, mass, strict=True))))
    found = robot.simulate(Q, DQ, parameters={"mass": by_link}, **RUN)
    same(found, robot.simulate(Q, DQ, parameters={"mass": mass}, **RUN))


def test_a_loop_of_ones_own_keeps_the_names(robot):
    law = controllers.step_by_step(controllers.PD(by_dict(robot, Q), KP, KD), robot)
    found, _ = law(0.0, by_series(robot, DQ), by_series(robot, DQ))
    assert found.index.tolist() == list(robot.joint_names)
    assert np.array_equal(found, law(0.0, DQ, DQ)[0])


def test_sensitivities_are_those_of_the_plain_state(robot):
    options = {"duration": 0.02, "dt": 0.01, "limits": "ignore", "wrt": ("q0", "tau")}
    found = robot.sensitivities(by_series(robot, Q), DQ, tau=by_dict(robot, TAU), **options)
    expected = robot.sensitivities(Q, DQ, tau=TAU, **options)
    assert np.array_equal(found.by("tau"), expected.by("tau"))


@pytest.mark.parametrize("name", ROBOTS)
def test_joints_of_several_entries_are_given_whole(name):
    robot, rng = ROBOTS[name](), np.random.default_rng(1)
    q, dq = robot.random(rng=rng), rng.normal(size=robot.n) * 0.1
    free = [joint for joint in robot.model.joints if joint.follows is None]
    q_by_joint = {x.name: q[list(x.coords)] if len(x.coords) > 1 else q[x.coords[0]] for x in free}
    dq_by_joint = {x.name: dq[list(x.dofs)] if len(x.dofs) > 1 else dq[x.dofs[0]] for x in free}
    same(robot.simulate(q_by_joint, dq_by_joint, **RUN), robot.simulate(q, dq, **RUN))


NAMES = kt.robots.ur5e().joint_names
FRAME = pd.DataFrame(BATCH, columns=NAMES)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"q0": FRAME.iloc[:, :5]}, "q0: .* missing 'wrist_3'"),
        ({"q0": FRAME.T}, r"q0 .*Pass frame\.T"),
        ({"q0": FRAME, "dq0": FRAME.iloc[::-1]}, "rows of q0 and dq0 are labelled differently"),
        ({"q0": Q, "dq0": {"x": 1}}, "dq0: .*unknown 'x'"),
        ({"q0": Q, "tau": FRAME.loc[0].rename({"elbow": "Elbow"})}, "'elbow' meant by 'Elbow'"),
        ({"q0": Q, "tau": lambda t: {"x": 1}}, "tau: .*unknown 'x'"),
        ({"q0": Q, "tau": lambda t, q, dq: [{"x": 1}]}, "list of objects of type dict"),
        ({"q0": Q, "F_ext": {"tool": [0] * 6}}, r"robot\.wrenches"),
        ({"q0": Q, "F_ext": lambda t: FRAME}, "F_ext is a pandas DataFrame"),
        ({"q0": Q, "F_ext": signal(T, pd.DataFrame(FORCES, columns=NAMES))}, "F_ext is a signal"),
        ({"q0": Q, "parameters": {"com": dict.fromkeys(NAMES, 0)}}, "parameter com is a dict"),
        ({"q0": Q, "controller": controllers.PD(Q, {"elbow": 1.0}, 1)}, "kp: .*missing"),
        ({"q0": Q, "controller": controllers.PD(Q, FRAME, 1)}, "kp .*one number for each joint"),
        ({"q0": Q, "controller": controllers.PD({"x": 1}, 1, 1)}, "reference: .*unknown 'x'"),
        (
            {"q0": Q, "controller": controllers.OperationalSpace(np.eye(4), {"x": 1.0}, 1)},
            "kp of OperationalSpace is a dict",
        ),
        ({"q0": [FRAME.loc[0]]}, "list of objects of type pandas Series"),
    ],
)
def test_names_that_do_not_fit_are_refused(robot, given, words):
    with pytest.raises(InputError, match=words):
        robot.simulate(**given, **RUN)


def test_rows_of_times_and_values_must_belong_together():
    values = pd.DataFrame(FORCES, columns=NAMES)
    with pytest.raises(InputError, match="rows of t and values are labelled differently"):
        signal(pd.Series(T, index=[3, 2, 1, 0]), values)
    with pytest.raises(InputError, match="t has dates"):
        signal(pd.date_range("2024-01-01", periods=4), values)


def test_laws_get_plain_arrays(robot):
    def law(t, q, dq):
        assert type(q) is np.ndarray and type(dq) is np.ndarray
        return dict.fromkeys(robot.joint_names, 0.0)

    robot.simulate(by_series(robot, Q), by_dict(robot, DQ), controller=law, **RUN)


def test_a_reference_with_joints_in_another_order_is_refused():
    robot = kt.robots.planar_2r()
    start, goal = {"joint2": 0.0, "joint1": 1.0}, {"joint1": 2.0, "joint2": 3.0}
    turned = kt.motion.quintic(start, goal, duration=1.0, dt=0.02)
    law = kt.controllers.PD(turned, 100.0, 1.0)
    for follow in (
        lambda: robot.simulate([1.0, 0.0], controller=law, duration=0.1),
        lambda: kt.controllers.step_by_step(law, robot),
        lambda: kt.identify.simulated_recording(robot, turned),
    ):
        with pytest.raises(InputError, match=r"moves joint2, joint1; .*Names and order must agree"):
            follow()
    straight = kt.motion.quintic(start, goal, duration=1.0, dt=0.02, robot=robot)
    plain = kt.motion.quintic([1.0, 0.0], [2.0, 3.0], duration=1.0, dt=0.02)  # joint_1, joint_2
    for reference in (straight, plain):
        own = kt.controllers.PD(reference, 100.0, 1.0)
        tau, _ = kt.controllers.step_by_step(own, robot)(0.0, np.array([1.0, 0.0]), np.zeros(2), [])
        assert np.array_equal(tau, [0, 0])
