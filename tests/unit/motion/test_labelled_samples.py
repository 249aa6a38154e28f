"""Trajectories made of data frames, and their frames in the functions of a robot."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import kinetree as kt
from kinetree.errors import InputError, ShapeError
from kinetree.motion import Trajectory, check_limits, resample
from labelled_states import ROBOTS

RNG = np.random.default_rng(3)
T = np.array([0.0, 0.1, 0.25, 0.4])
Q, DQ, DDQ, TAU = (RNG.normal(size=(4, 3)) * 0.1 for _ in range(4))
NAMES = ("a", "b", "c")
ORDER = [2, 0, 1]


def frame(x, **options):
    return pd.DataFrame(x, columns=NAMES, **options).iloc[:, ORDER]


def polars(x):
    return pl.DataFrame({NAMES[k]: x[:, k] for k in ORDER})


def xarray(x):
    return xr.DataArray(x, dims=("t", "joint"), coords={"joint": list(NAMES)}).isel(joint=ORDER).T


def columns(x):
    return {NAMES[k]: x[:, k] for k in ORDER}


@pytest.mark.parametrize("make", [frame, polars, xarray, columns])
def test_signals_are_put_into_the_order_of_the_names(make):
    found = Trajectory(t=T, q=make(Q), dq=make(DQ), ddq=make(DDQ), tau=make(TAU), joint_names=NAMES)
    for name, x in (("q", Q), ("dq", DQ), ("ddq", DDQ), ("tau", TAU)):
        assert np.array_equal(getattr(found, name), x)


def test_names_come_from_q_if_no_robot_is_given():
    found = Trajectory(t=T, q=frame(Q), dq=frame(DQ)[["a", "b", "c"]], ddq=frame(DDQ))
    assert found.joint_names == ("c", "a", "b")
    assert np.array_equal(found.q, Q[:, ORDER]) and np.array_equal(found.dq, DQ[:, ORDER])


@pytest.mark.parametrize("make", ROBOTS.values(), ids=list(ROBOTS))
def test_a_frame_of_a_motion_goes_back_into_the_robot(make):
    robot, rng = make(), np.random.default_rng(1)
    start, rates = robot.random(rng=rng), rng.normal(size=robot.n) * 0.1
    motion = robot.simulate(start, rates, duration=0.05, dt=0.01, limits="ignore")
    table = motion.to_dataframe()
    mixed = table.sample(frac=1, axis=1, random_state=2)
    tau = robot.inverse_dynamics(mixed, mixed, mixed)
    assert np.array_equal(tau, robot.inverse_dynamics(motion.q, motion.dq, motion.ddq))
    assert tau.index.equals(table.index) and tau.columns.tolist() == list(robot.dof_names)
    parts = dict.fromkeys(("q", "dq", "ddq", "tau"), mixed)
    again = Trajectory(t=mixed.index, **parts, model=robot.model)
    for name in ("t", "q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(again, name), getattr(motion, name))


@pytest.mark.parametrize(
    "t", [pd.Series(T), pd.Index(T), pd.to_timedelta(T, unit="s"), pl.Series(T), T.tolist()]
)
def test_times_are_columns_or_indexes_in_seconds(t):
    assert np.array_equal(Trajectory(t=t, q=Q, dq=DQ, ddq=DDQ).t, T)


def test_an_index_of_time_differences_is_in_seconds():
    rows = pd.to_timedelta(T, unit="s")
    found = Trajectory(t=rows, q=frame(Q, index=rows), dq=DQ[:, ORDER], ddq=DDQ[:, ORDER])
    assert np.array_equal(found.t, T)
    still = found.replace(q=0 * Q, dq=0 * Q, ddq=0 * Q)
    assert np.array_equal(resample(still, pd.to_timedelta([0.0, 0.4], unit="s")).t, [0.0, 0.4])


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"t": pd.date_range("2024-01-01", periods=4)}, InputError, r"t has dates.*t - t\[0\]"),
        ({"t": pd.DataFrame({"t": T})}, InputError, "expected one column of times"),
        (
            {"dq": frame(DQ).rename(columns={"a": "x"})},
            InputError,
            "dq: .*missing 'a'; unknown 'x'",
        ),
        ({"dq": frame(DQ).drop(columns="b")}, InputError, "missing 'b'"),
        ({"dq": frame(DQ).iloc[::-1]}, InputError, "rows of q and dq are labelled differently"),
        ({"dq": frame(DQ).iloc[:2]}, InputError, "q has 4 rows and dq has 2"),
        ({"dq": polars(DQ)}, InputError, "expected all labelled arguments of one package"),
        ({"dq": [frame(DQ).loc[0]]}, InputError, "list of objects of type pandas Series"),
        ({"q": frame(Q).T}, InputError, "labels 0, 1, 2, 3"),
        ({"q": frame(Q).loc[0]}, ShapeError, r"q has shape \(3,\)"),
        ({"q": pd.DataFrame(Q)}, InputError, "labels 0, 1, 2"),
        ({"t": pd.Series(T, index=[3, 2, 1, 0])}, InputError, "rows of t and q"),
        ({"q": frame(Q).assign(time=T)}, InputError, "unknown 'time'|missing 'time'"),
        ({"q": Q.view([(x, float) for x in NAMES])}, InputError, "structured NumPy array"),
    ],
)
def test_signals_that_do_not_fit_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        Trajectory(**{"t": T, "q": frame(Q), "dq": frame(DQ), "ddq": frame(DDQ)} | given)


def test_the_time_of_a_batch_is_found_by_its_name():
    x = RNG.normal(size=(4, 4, 3))
    array = xr.DataArray(x, dims=("time", "run", "joint"), coords={"joint": list(NAMES)})
    found = Trajectory(t=T, q=array.transpose("run", "joint", "time"), dq=x, ddq=x)
    assert np.array_equal(found.q, x)
    with pytest.raises(InputError, match="expected that of time to be called 'time'"):
        Trajectory(t=T, q=array.rename(time="sample"), dq=x, ddq=x)


def test_a_change_of_a_trajectory_takes_frames():
    motion = Trajectory(t=T, q=Q, dq=DQ, ddq=DDQ, joint_names=NAMES)
    assert np.array_equal(motion.replace(tau=frame(TAU)).tau, TAU)


@pytest.fixture(scope="module")
def robot():
    return kt.robots.ur5e()


@pytest.fixture(scope="module")
def motion(robot):
    return kt.motion.quintic(np.zeros(6), np.full(6, 0.5), 1.0, 0.05, robot=robot)


def test_limits_are_given_by_joint(robot, motion):
    effort, velocity = np.arange(1.0, 7) * 30, np.arange(1.0, 7)
    names = robot.joint_names
    by_name = dict(zip(names[::-1], effort[::-1], strict=True))
    series = pd.Series(velocity, index=names).sample(frac=1, random_state=3)
    found = robot.check(motion, effort=by_name, velocity=series)
    assert str(found) == str(robot.check(motion, effort=effort, velocity=velocity))
    with pytest.raises(InputError, match=r"effort: .*missing"):
        check_limits(robot, motion, effort={names[0]: 1.0})


def test_a_frame_in_the_place_of_a_trajectory_is_refused_with_the_way(robot, motion):
    with pytest.raises(InputError, match=r"is a pandas DataFrame; .*Trajectory\(t=t, q=q"):
        robot.check(motion.to_dataframe())


def test_times_and_values_of_xarray_have_the_same_labels_of_rows():
    t = xr.DataArray(T, dims="t", coords={"t": range(4)})
    q = xr.DataArray(Q, dims=("t", "joint"), coords={"t": range(4), "joint": list(NAMES)})
    assert np.array_equal(Trajectory(t=t, q=q, dq=DQ, ddq=DDQ, joint_names=NAMES).q, Q)
    turned = q.assign_coords(t=[3, 2, 1, 0])
    with pytest.raises(InputError, match="rows of t and q are labelled differently"):
        Trajectory(t=t, q=turned, dq=DQ, ddq=DDQ, joint_names=NAMES)
