"""Errors: one root, and each is also the builtin error that it refines."""

import inspect
from functools import partial

import numpy as np
import pytest

import kinetree as kt
from kinetree import errors
from kinetree.errors import KinetreeError

OWN = [x for _, x in inspect.getmembers(errors, inspect.isclass) if x.__module__ == errors.__name__]
ALL = [x for x in OWN if not issubclass(x, Warning)]


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.__name__)
def test_every_error_has_one_root_and_says_what_it_is_for(error):
    assert issubclass(error, KinetreeError)
    assert error.__doc__ and error.__doc__.strip().endswith(".")


@pytest.mark.parametrize(
    "error", [x for x in ALL if x is not KinetreeError], ids=lambda error: error.__name__
)
def test_every_error_refines_a_builtin_error(error):
    builtins = [x for x in error.__mro__ if x.__module__ == "builtins"]
    assert set(builtins) - {Exception, BaseException, object}


def test_the_shape_and_the_inertia_are_kinds_of_bad_input():
    assert issubclass(errors.ShapeError, errors.InputError)
    assert issubclass(errors.InertiaError, errors.ModelError)
    assert issubclass(errors.ModelError, errors.InputError)
    assert issubclass(errors.InputError, ValueError)


def test_a_missing_name_is_a_lookup_error_and_keeps_its_message():
    """A KeyError would print its message in quotes; LookupError does not."""
    assert issubclass(errors.NameLookupError, LookupError)
    assert not issubclass(errors.NameLookupError, KeyError)
    assert str(errors.NameLookupError("no frame 'x'")) == "no frame 'x'"


@pytest.mark.parametrize(
    "code", [0x34F, 0x115F, 0x1160, 0x180B, 0x2800, 0x3164, 0xFE0F, 0xFFA0, 0xE0100]
)
def test_characters_without_a_picture_are_escaped_in_messages(code):
    assert str(KinetreeError(f"arm{chr(code)}")) == f"arm{ascii(chr(code))[1:-1]}"
    assert str(KinetreeError("Gelenk é 한 👍")) == "Gelenk é 한 👍"


def impossible_robot() -> kt.Robot:
    points, inertia = [(0, 0, 0)], [np.diag([1, 1, 9])]
    return kt.convert.from_points(
        points, points, [(0, 0, 1)], m=[1], I_com=inertia, unphysical="warn"
    )


@pytest.mark.parametrize("call", [impossible_robot, partial(kt.convert.to_mjcf, kt.robots.panda())])
def test_warnings_point_at_the_line_of_the_caller(call):
    with pytest.warns(kt.errors.KinetreeWarning) as told:
        call()
    assert [warning.filename for warning in told] == [__file__]
