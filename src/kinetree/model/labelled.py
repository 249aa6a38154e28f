"""labelled: functions of a model and one state that take arrays with names, and return them alike.

    @labelled("n", "n")
    def mass_matrix(model, q): ...

Arguments called q, dq, ... in AXES are aligned with the names of the robot (`present/labels.py`).
The letters name the axes of the result. Calls with plain arrays go straight to the function.
"""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from kinetree.core.containers import label_kind
from kinetree.model import HasModel, Model, model_of
from kinetree.model.inputs import (
    activation_axis,
    actuator_axis,
    check_one_state,
    coordinate_axis,
    dof_axis,
    link_axis,
)
from kinetree.present.labels import Alignment, Axis

Given = ParamSpec("Given")
Result = TypeVar("Result")
OfModel = Callable[Concatenate[Model, Given], Result]
OfRobot = Callable[Concatenate[Model | HasModel, Given], Result]

# the names along arguments of the state
AXES: Mapping[str, Callable[[Model], Axis]] = {
    **dict.fromkeys(("q", "q0", "q1"), coordinate_axis),
    **dict.fromkeys(("dq", "ddq", "tau", "v", "dq0", "dq_r", "ddq_r"), dof_axis),
}
LETTERS = {
    **{"n": dof_axis, "nq": coordinate_axis, "l": link_axis},
    **{"u": actuator_axis, "a": activation_axis},
}
# names of directions, by the letter of a dimension: moments and rotations come before translations
DIRECTIONS = {
    "3": ("x", "y", "z"),
    "4": ("x", "y", "z", "w"),
    "6": ("angular_x", "angular_y", "angular_z", "linear_x", "linear_y", "linear_z"),
}


def labelled(
    *dims: str | tuple[str, ...],
) -> Callable[[OfModel[Given, Result]], OfRobot[Given, Result]]:
    """Let a function take a robot and labelled states.

    dims: the letters of the axes of the result (n, nq, l, 3, 4, 6); or one tuple of letters for
    each of several results.
    """

    def decorate(function: OfModel[Given, Result]) -> OfRobot[Given, Result]:
        @functools.wraps(function)
        def call(model: Model | HasModel, *args: Given.args, **options: Given.kwargs) -> Result:
            model = model_of(model)
            for value in (*args, *options.values()):
                if type(value) is not np.ndarray and label_kind(type(value)) is not None:
                    return _by_name(function, dims, (model, *args), options)
            return function(model, *args, **options)

        return call

    return decorate


def _by_name(
    function: Callable[..., Any],
    dims: Sequence[str | tuple[str, ...]],
    args: tuple[Any, ...],
    options: Mapping[str, Any],
) -> Any:
    bound = inspect.signature(function).bind(*args, **options)
    model, given = bound.arguments["model"], bound.arguments
    states = [(x, AXES[k](model), k) for k, x in given.items() if k in AXES and x is not None]
    alignment = Alignment(states)
    for (value, _, name), x in zip(states, alignment.values, strict=True):
        given[name] = x
        if x is not value:
            check_one_state(x, name)
    result = function(*bound.args, **bound.kwargs)

    def with_names(x: Any, letters: Sequence[Any]) -> Any:
        return alignment.label(x, [letter_axis(model, y) for y in letters], function.__name__)

    several = [x for x in dims if isinstance(x, tuple)]
    if several:
        parts = [with_names(x, letters) for x, letters in zip(result, several, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return with_names(result, dims) if isinstance(result, np.ndarray | float | int) else result


def letter_axis(model: Model, letter: str) -> Axis | None:
    """Return the names along a dimension with a letter of the notation; None if it has none."""
    constraints, contacts = model.constraints, model.contacts
    if letter in LETTERS:
        return LETTERS[letter](model)
    if letter in DIRECTIONS:
        return Axis(DIRECTIONS[letter], "axis")
    named: dict[str, tuple[str, tuple[str, ...]]] = {}
    if contacts is not None:
        named["c"] = "contact", contacts.names
    if constraints is not None:
        named["m"] = "equation", constraints.row_names
        named["d"] = "joint", tuple(model.dof_names[d] for d in constraints.independent)
    return Axis(named[letter][1], named[letter][0], model.name) if letter in named else None
