"""What cannot be simulated is refused before anything moves, with the reason."""

import inspect
from typing import get_args

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ShapeError
from kinetree.simulate import event, signal, simulate

ROBOT = kt.robots.planar_2r()
GOOD = {"q0": [0.1, 0.2], "duration": 0.1, "dt": 0.01, "method": "rk4"}


def refused(kind, pattern, **changes):
    with pytest.raises(kind, match=pattern):
        ROBOT.simulate(**(GOOD | changes))


@pytest.mark.parametrize("dt", [0, -0.1, np.nan, np.inf])
def test_a_step_is_a_positive_time(dt):
    refused(InputError, r"dt is .* expected a finite number above 0", dt=dt)


def test_times_that_make_no_sense():
    refused(InputError, "duration is -1 s", duration=-1)
    refused(InputError, "dt is 'fast'; expected a number", dt="fast")
    refused(InputError, "dt is 1 s, longer than the duration of 0.1 s", dt=1)
    refused(InputError, r"1e\+12 steps; choose a larger dt", dt=1e-13)
    refused(InputError, "every is 0; expected a whole number", every=0)
    refused(InputError, "every is True", every=True)


@pytest.mark.parametrize(
    ("duration", "dt", "count"),
    [(0.1, 0.02, 6), (0.1, 0.03, 5), (0.05, 2.0 - 1.95, 2), (0.1, 0.02 * (1 - 1e-7), 7)],
)
def test_only_rounding_joins_a_short_last_step_to_the_one_before(duration, dt, count):
    motion = ROBOT.simulate([0.1, 0.2], duration=duration, dt=dt, method="rk4")
    assert len(motion) == count and motion.t[-1] == duration


def test_an_unknown_method_names_the_known():
    refused(
        InputError,
        "'rk5'; choose one of euler, semi_implicit_euler, rk4, implicit, implicitfast, dop853",
        method="rk5",
    )
    refused(InputError, "limits is 'warn'; expected one of stop, record, ignore", limits="warn")
    refused(InputError, "target is 'gpu'; expected 'cpu' or 'cuda'", target="gpu")


def test_states_of_the_wrong_shape_name_the_joints():
    refused(ShapeError, r"q0 has shape \(3,\); expected \(..., 2\): .*joint", q0=[0, 0, 0])
    refused(ShapeError, r"dq0 has shape \(\)", dq0=1.0)
    refused(InputError, r"q0\[1\] is nan", q0=[0, np.nan])
    refused(InputError, "q0 is 'home'", q0="home")


def test_leading_axes_that_do_not_broadcast_are_listed():
    refused(ShapeError, r"q0 \(3,\), tau \(4,\)", q0=np.zeros((3, 2)), tau=np.zeros((4, 2)))


def test_torques_must_be_numbers_of_the_right_shape():
    refused(ShapeError, r"tau has shape \(3,\).*signal\(t, values\)", tau=[1, 2, 3])
    refused(InputError, r"tau\[0, 1\] is nan", tau=[[0, np.nan]])
    refused(ShapeError, r"F_ext has shape \(6,\); expected \(..., 2, 6\)", F_ext=np.zeros(6))
    refused(ShapeError, r"the function tau returned shape \(3,\)", tau=lambda t: np.zeros(3))
    refused(InputError, "the function tau returned nan", tau=lambda t: np.array([0, np.nan]))
    refused(InputError, "expected an array", tau="full")


def test_signals_over_time():
    with pytest.raises(InputError, match=r"t\[2\] = 0.1 follows t\[1\] = 0.1"):
        signal([0, 0.1, 0.1], np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"values\[1, 0\] of the signal, at t = 0.1 s, is nan"):
        signal([0, 0.1], [[0, 0], [np.nan, 0]])
    with pytest.raises(ShapeError, match="2 times but values of shape"):
        signal([0, 0.1], np.zeros((3, 2)))
    with pytest.raises(ShapeError, match="times of the signal have shape"):
        signal([[0.0]], np.zeros((1, 2)))
    with pytest.raises(InputError, match="expected hold or linear"):
        signal([0, 0.1], np.zeros((2, 2)), kind="cubic")
    with pytest.raises(InputError, match="time 1 of the signal is not finite"):
        signal([0, np.nan], np.zeros((2, 2)))
    for text in (["a", "b"], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="the signal needs numbers"):
            signal([0, 1], text)
    short = signal([0, 1], np.zeros((2, 3)))
    refused(ShapeError, r"tau over time has values of shape \(2, 3\)", tau=short)


def test_quaternions_have_length_one():
    free = (kt.Builder().link("base").link("b", m=1.0, I_com=np.eye(3)).joint(
        "float", "free", "base", "b").build())  # fmt: skip
    with pytest.raises(InputError, match=r"quaternion of joint 'float' in q0 has length 2"):
        free.simulate([2, 0, 0, 0, 0, 0, 0], duration=1.0)


def test_controllers_that_are_none():
    refused(InputError, "a controller is 3; expected a function", controller=3)
    pd = kt.controllers.PD("home", 1.0, 1.0)
    refused(InputError, "reference is 'home'; expected a position q", controller=pd)
    refused(
        ShapeError, r"law\(t, q, dq\) returned an array of shape \(1,\); expected \(2,\)",
        controller=short_law,
    )  # fmt: skip


def short_law(t, q, dq):
    return q[:1]


short_law.__name__ = "law"


def test_parameters_and_events():
    refused(InputError, "'size' cannot be left free", parameters={"size": 1.0})
    refused(InputError, "expected values by name", parameters=[1.0])
    slow = ROBOT.with_drives({"joint1": kt.Drive(lag=0.05)})
    with pytest.raises(InputError, match=r"drive_state has shape \(3,\); expected \(..., 1\)"):
        slow.simulate([0.1, 0.2], duration=0.1, drive_state=[0, 0, 0])
    refused(ShapeError, r"parameter mass .*\(..., 2\): link1, link2", parameters={"mass": [1.0]})
    refused(InputError, "events are found by adaptive methods", events=lambda t, q, dq: q[0])
    with pytest.raises(InputError, match="expected a function g"):
        event(3)
    with pytest.raises(InputError, match="direction of the event is 2"):
        event(len, direction=2)
    batch = {"q0": np.zeros((2, 2)), "method": "dop853"}
    last = event(lambda t, q, dq: q[0] - 1, terminal=True)
    refused(InputError, "a terminal event was given for a batch", events=last, **batch)
    refused(InputError, "rtol is 0", rtol=0, method="dop853")


def test_a_robot_without_joints_has_nothing_to_simulate():
    rigid = kt.Builder().link("base").build()
    with pytest.raises(kt.KinetreeError, match="no joint that moves"):
        rigid.simulate([], duration=1.0)


def test_every_door_has_the_same_options_and_defaults():
    own, robots = (inspect.signature(f).parameters for f in (simulate, kt.Robot.simulate))
    listed = {name: x.default for name, x in own.items() if name != "robot"}
    assert listed == {name: x.default for name, x in robots.items() if name != "self"}
    (typed,) = get_args(simulate.__annotations__["options"])
    assert {*typed.__annotations__, "q0", "dq0", "target"} == set(listed)
    assert inspect.signature(type(kt.simulate).__call__) == inspect.signature(simulate)


def test_a_robot_and_its_model_are_simulated_alike():
    motions = [run(ROBOT, [0.1, 0.2], duration=0.1) for run in (kt.simulate, simulate)]
    motions += [simulate(ROBOT.model, q0=[0.1, 0.2], duration=0.1)]
    assert all(np.array_equal(x.q, motions[0].q) for x in motions)
    with pytest.raises(TypeError, match="lenght"):
        simulate(ROBOT, [0.1, 0.2], duration=0.1, lenght=3)
