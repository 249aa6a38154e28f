"""Options of a kernel: the same requests are refused for every form of its code and every door."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.quantities import BALANCES, CONSTRAINED, DERIVED, QUANTITIES, WHOLE_BODY
from kinetree.errors import InputError, KinetreeError
from kinetree.kernels import compile as compiling
from kinetree.kernels.forms import is_looped
from kinetree.kernels.quantities import CONTROLLED, STEPS
from kinetree.model.samples import random_model

EVERY = [*QUANTITIES, *DERIVED, *BALANCES, *WHOLE_BODY, *CONSTRAINED, *STEPS, *CONTROLLED]
OPTIONS = (
    {},
    {"frame": "no such frame"},
    {"frame": "base"},
    {"expressed": "space"},
    {"expressed": "banana"},
    {"rows": (3, 4)},
    {"rows": (9,)},
    {"wrenches": True},
    {"free": ("mass",)},
    {"free": ("banana",)},
)
LONG = 150


class Accepted(Exception):
    """The request passed all checks; nothing needs to be compiled."""


@pytest.fixture(scope="module")
def robots():
    few, many = (random_model(1, n, types=("revolute",), chain=True) for n in (6, LONG))
    return [kt.Robot(model.replace(name="chain")) for model in (few, many)]


def answer(robot, name, options):
    """What `compile` says to a request, without the names of the robot's frames."""
    try:
        robot.compile(name, **options)
    except Accepted:
        return "accepted"
    except KinetreeError as refusal:
        return type(refusal), str(refusal).partition("; its frames")[0]
    raise AssertionError("the request was compiled")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_quantity_answers_a_request_alike_in_both_forms(robots, options, monkeypatch):
    def accept(*_, **__):
        raise Accepted

    monkeypatch.setattr(compiling, "stored_graph", accept)
    monkeypatch.setattr(compiling, "computation", accept)
    forms = set()
    for name in EVERY:
        forms |= {is_looped(robot.model, name) for robot in robots}
        few, many = (answer(robot, name, options) for robot in robots)
        assert few == many, name
    assert forms == {True, False}


@pytest.mark.parametrize("rows", [[3, 4], (3, 4), range(3, 5), np.array([3, 4], np.int8)])
def test_rows_may_be_any_list_of_whole_numbers(rows):
    robot = kt.robots.planar_2r()
    kernel = robot.compile("task_space", rows=rows)
    assert kernel is robot.compile("task_space", rows=(3, 4))
    q = [0.3, 0.4]
    np.testing.assert_array_equal(robot.task_space(q, rows=rows).J, kernel(q, [0, 0])[0])


@pytest.mark.parametrize(
    "rows", [3, "34", [True, False], [0.0], [[0], [1]], np.zeros((2, 2)), {0: 1}]
)
def test_rows_that_are_not_whole_numbers_are_refused(rows):
    robot = kt.robots.planar_2r()
    with pytest.raises(InputError, match=r"(?s)rows are .* whole numbers"):
        robot.compile("task_space", rows=rows)


WRONG = (["a"], {"a": 1}, np.arange(2.0), object(), 7, float("nan"))


@pytest.mark.parametrize("value", WRONG, ids=lambda x: type(x).__name__)
def test_options_of_another_type_are_refused_with_their_name(value):
    robot, q = kt.robots.planar_2r(), [0.3, 0.4]
    calls = {
        "frame": (
            lambda: robot.pose(q, value),
            lambda: robot.body_jacobian_rate(q, q, value),
            lambda: robot.frame_velocity(q, q, value),
            lambda: robot.task_space(q, frame=value),
            lambda: robot.compile("pose", frame=value),
            lambda: robot.derivative("pose", frame=value),
            lambda: robot.model.frame(value),
        ),
        "expressed": (
            lambda: robot.frame_velocity(q, q, expressed=value),
            lambda: robot.task_space(q, expressed=value),
            lambda: robot.compile("frame_velocity", expressed=value),
        ),
        "quantity": (lambda: robot.compile(value), lambda: robot.derivative(value)),
        "wrenches": (lambda: robot.compile("inverse_dynamics", wrenches=value),),
        "target": (lambda: robot.compile("inverse_dynamics", target=value),),
        "wrt": (lambda: robot.derivative("inverse_dynamics", [value]),),
        "free": (lambda: robot.compile("inverse_dynamics", free=[value]),),
    }
    for option, doors in calls.items():
        for call in doors:
            with pytest.raises(KinetreeError, match=option):
                call()


def test_equal_values_of_another_type_are_not_taken_for_a_request_that_was_made():
    robot = kt.robots.planar_2r()
    robot.compile("inverse_dynamics", wrenches=True)
    with pytest.raises(InputError, match="wrenches is 1; expected True or False"):
        robot.compile("inverse_dynamics", wrenches=1)
