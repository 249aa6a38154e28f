"""A keyword chooses a kernel in machine code; every other call reaches the function unchanged."""

import gc
import weakref

import numpy as np
import pytest

from kinetree.engine import Kernel, Port, has_llvm, trace
from kinetree.engine.call import vectorcall
from kinetree.engine.call.choice import Choice

DIRECT = vectorcall.available() and has_llvm()
needs_code = pytest.mark.skipif(not DIRECT, reason="calls do not enter machine code here")


def scaled(factor):
    return Kernel(trace(lambda x: x * factor, [Port("x", (2,))], [("y", ())]), f"times {factor}")


def choice():
    """A choice between two kernels, and the calls that its function has seen."""
    seen = []

    def function(*args, **options):
        seen.append((args, options))
        return "function"

    made = Choice(function, "kind")
    made.add("double", scaled(2))
    made.add("triple", scaled(3))
    return made, seen


X = np.array([1.0, -2.0])


@needs_code
def test_the_keyword_alone_enters_its_kernel():
    made, seen = choice()
    assert np.array_equal(made.call(X, kind="double"), 2 * X)
    assert np.array_equal(made.call(X, kind="triple"), 3 * X)
    many = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(made.call(many, kind="triple"), 3 * many)  # the kernel's own batch
    assert np.array_equal(made.call([1, 2], kind="double"), [2, 4])  # and its general call
    assert seen == []


CALLS = [
    ((X,), {}),
    ((X,), {"kind": "fourfold"}),
    ((X,), {"kind": "".join(["dou", "ble"])}),  # an equal string that is another object
    ((X,), {"kind": 2}),
    ((X,), {"sort": "double"}),
    ((X,), {"kind": "double", "more": 1}),
    ((X,), {"more": 1, "kind": "double"}),
    ((), {"x": X}),
    ((), {}),
]


@pytest.mark.parametrize(("args", "options"), CALLS)
def test_any_other_call_reaches_the_function_unchanged(args, options):
    made, seen = choice()
    assert made.call(*args, **options) == "function"
    ((got, given),) = seen
    assert len(got) == len(args) and all(a is b for a, b in zip(got, args, strict=True))
    assert given.keys() == options.keys()
    assert all(given[name] is options[name] for name in options)


def test_an_error_of_the_function_is_passed_on():
    def function(*args):
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        Choice(function, "kind").call(X)


def test_a_choice_is_freed_with_its_kernels():
    made, _ = choice()
    kernel = scaled(7)
    made.add("sevenfold", kernel)
    freed = weakref.ref(made)
    del made, kernel
    gc.collect()
    assert freed() is None


def placed():
    """A choice by the second argument, which may be left out."""
    seen = []

    def function(*args, **options):
        seen.append((args, options))
        return "function"

    made = Choice(function, "kind", 1)
    made.add(None, scaled(5))
    made.add("double", scaled(2))
    return made, seen


@needs_code
def test_an_argument_may_be_given_by_position_by_name_or_not_at_all():
    made, seen = placed()
    for found, factor in (
        (made.call(X), 5),
        (made.call(X, None), 5),
        (made.call(X, kind=None), 5),
        (made.call(X, "double"), 2),
        (made.call(X, kind="double"), 2),
    ):
        assert np.array_equal(found, factor * X)
    assert seen == []


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((), {}),
        ((), {"kind": "double"}),
        ((X, "triple"), {}),
        ((X, "double", 1), {}),
        ((X, "double"), {"kind": "double"}),
        ((X, 2), {}),
        ((X,), {"other": "double"}),
    ],
)
def test_other_calls_of_an_argument_by_position_reach_the_function(args, options):
    made, seen = placed()
    assert made.call(*args, **options) == "function"
    assert len(seen) == 1 and len(seen[0][0]) == len(args) and seen[0][1] == options


@needs_code
def test_a_value_is_added_once():
    made, _ = placed()
    room = made.room
    made.add("double", scaled(3))
    assert made.room == room and np.array_equal(made.call(X, "double"), 2 * X)
    made.add("triple", object())  # not a kernel in machine code
    assert made.room == room
