"""Checks of arrays before a kernel sees them, without any package of tensors."""

import numpy as np
import pytest

from kinetree.engine.call.diagnose import ArgumentError
from kinetree.engine.tensors.operation import (
    Operation,
    check_call,
    check_real,
    holds,
    number_type,
    refuse_kind,
)
from kinetree.errors import InputError
from tensor_robots import arm


@pytest.fixture(scope="module")
def operation():
    return Operation(arm().inverse_dynamics.graph, "inverse_dynamics")


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), "float64"),  # numbers of Python
        (("float32",), "float32"),
        (("float64", "float64"), "float64"),
        (("float32", "int64"), "float32"),  # a floating array decides
        (("int64", "float64"), "float64"),
        (("int8", "uint8", "bool"), "float64"),  # integers alone
        (("int16", "int64"), "float64"),
    ],
)
def test_floating_arrays_decide_and_integers_alone_compute_in_float64(operation, kinds, expected):
    found = dict(zip(("q", "dq", "ddq"), kinds, strict=False))
    assert number_type(operation, found) == expected


@pytest.mark.parametrize("kind", ["complex64", "bfloat16", "float16", "object", "datetime64[s]"])
def test_other_types_are_refused_with_the_name_of_the_argument(operation, kind):
    for found in ({"dq": kind}, {"q": "float64", "dq": kind}, {"q": "int8", "dq": kind}):
        with pytest.raises(InputError, match=f"dq of inverse_dynamics is {kind[:8]}"):
            number_type(operation, found)


def test_two_floating_types_are_not_mixed(operation):
    with pytest.raises(InputError, match="q is float32, ddq is float64"):
        number_type(operation, {"q": "float32", "dq": "int8", "ddq": "float64"})


@pytest.mark.parametrize("x", [1, 1.5, True, [1, 2], (1, 2.5), np.float32(3), np.zeros(2)])
def test_real_numbers_pass_as_they_are(operation, x):
    check_real(operation, "q", x)


@pytest.mark.parametrize("x", ["a", 1j, [1, 1j], [[1], [1, 2]], None, {"a": 1}])
def test_what_is_not_real_numbers_is_quoted(operation, x):
    with pytest.raises(InputError) as caught:
        check_real(operation, "q", x)
    assert str(caught.value).startswith(f"q of inverse_dynamics is {x!r}; expected real numbers")


def test_a_long_quotation_is_cut_at_80_characters(operation):
    for length, cut in ((78, False), (79, True)):
        with pytest.raises(InputError) as caught:
            check_real(operation, "q", "x" * length)
        written = repr("x" * length)
        quoted = f"{written[:77]}..." if cut else written
        assert f"is {quoted}; expected" in str(caught.value) and len(quoted) == 80


def test_arrays_are_found_in_nested_lists():
    x = np.zeros(2)
    assert holds(x, np.ndarray) and holds([1, (2, [x])], np.ndarray)
    assert not holds([1, (2, [3])], np.ndarray) and not holds([], np.ndarray)


def test_arrays_and_options_are_counted(operation):
    x = [np.zeros(2)] * 3
    check_call(operation, x, {})
    check_call(operation, x, {"out": None})
    with pytest.raises(ArgumentError, match=r"was given 2 arrays; .* takes 3 arrays"):
        check_call(operation, x[:2], {})
    with pytest.raises(ArgumentError, match="was given 4 arrays"):
        check_call(operation, [*x, x[0]], {"out": None})
    with pytest.raises(ArgumentError, match="was given the option where"):
        check_call(operation, x, {"where": True})
    with pytest.raises(Exception, match="dq"):
        check_call(operation, [x[0], np.zeros(3), x[0]], {})


def test_an_array_of_another_package_is_named_with_the_way_out(operation):
    message = "is a numpy.ndarray among arrays of torch; .* with torch.as_tensor"
    with pytest.raises(InputError, match=message):
        refuse_kind(operation, "q", np.zeros(2), "torch", "torch.as_tensor(q)")
    with pytest.raises(InputError, match="is a list among arrays of jax"):
        refuse_kind(operation, "q", [1], "jax", "jax.numpy.asarray(q)")
