"""Options of a kernel: the same requests are refused for every form of its code and every door."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError

Q = [0.3, 0.4]
WRONG = (["a"], {"a": 1}, np.arange(2.0), object(), 7, float("nan"))
KERNEL = {  # doors that take every option
    "compile": lambda robot, name, **options: robot.compile(name, **options),
    "derivative": lambda robot, name, **options: robot.derivative(name, "q", **options),
    "export": kt.export,
}
FRAME = KERNEL | {  # doors to a quantity of a frame
    "attribute": lambda robot, name, **options: getattr(robot, name)(Q, Q, **options),
    "task space": lambda robot, name, **options: robot.task_space(Q, **options),
}
TASK = KERNEL | {"task space": FRAME["task space"]}
# option: a quantity that has it, the doors, values that are refused
REFUSED = {
    "frame": ("frame_velocity", FRAME, WRONG),
    "expressed": ("frame_velocity", FRAME, (*WRONG, "banana")),
    "rows": (
        "task_space",
        TASK,
        (3, "34", [True, False], [0.0], [[0], [1]], np.zeros((2, 2)), (9,), (3, 3), ()),
    ),
    "wrenches": ("inverse_dynamics", KERNEL, (*WRONG, 1)),
    "free": ("inverse_dynamics", KERNEL, ("mass", 7, [7], [["mass"]], None)),
    "sparse": (
        "inverse_dynamics",
        {door: KERNEL[door] for door in ("compile", "derivative")},
        (*WRONG, 1),
    ),
}


@pytest.mark.parametrize(
    ("option", "door"),
    [(option, door) for option, (_, doors, _) in REFUSED.items() for door in doors],
)
def test_every_door_refuses_a_wrong_value_and_names_the_option(option, door):
    robot = kt.robots.planar_2r()
    name, doors, values = REFUSED[option]
    for value in values:
        with pytest.raises(InputError):
            doors[door](robot, name, **{option: value})


@pytest.mark.parametrize("rows", [[3, 4], (3, 4), range(3, 5), np.array([3, 4], np.int8)])
def test_rows_may_be_any_list_of_whole_numbers(rows):
    robot = kt.robots.planar_2r()
    kernel = robot.compile("task_space", rows=rows)
    assert kernel is robot.compile("task_space", rows=(3, 4))
    np.testing.assert_array_equal(robot.task_space(Q, rows=rows).J, kernel(Q, [0, 0])[0])


def test_a_stated_default_is_the_same_request():
    robot = kt.robots.planar_2r()
    assert robot.compile("frame_velocity") is robot.compile("frame_velocity", expressed="body")
    assert robot.compile("task_space") is robot.compile("task_space", rows=range(6))
