"""Kernels of a seven-joint arm, a six-joint arm and a humanoid of 44 joints, to 8 and 24 eps."""

from functools import cache

import pytest

from compiled_robots import CASES, Terms, arguments, case_name, textbook, tolerance
from example_robots import example
from kinetree.compile import compile_kernel
from precise_robots import numbers
from robot_states import size

mpmath = pytest.importorskip("mpmath")

JOINTS = {"panda": 7, "ur5": 6, "talos": 44}
STATES = {"panda": 3, "ur5": 3, "talos": 1}


@cache
def precise_model(robot):
    return example(robot).astype(mpmath.mpf)


@cache
def terms_of(robot, seed):
    return Terms.at(example(robot), seed)


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("robot", JOINTS)
def test_kernels_agree_with_floats_and_with_fifty_digits(robot, case, fifty_digits):
    name, wrenches = case
    model = example(robot)
    kernel = compile_kernel(model, name, wrenches=wrenches)
    for seed in range(STATES[robot]):
        terms = terms_of(robot, seed)
        given = arguments(name, wrenches, terms.x)
        found, slack = kernel(*given), tolerance(model) * terms.of(name, wrenches)
        assert size(found - textbook(model, name, given)) <= slack
        reference = textbook(precise_model(robot), name, [numbers(array) for array in given])
        assert size(numbers(found) - reference) <= slack


@pytest.mark.parametrize("robot", JOINTS)
def test_the_robots_are_those_of_the_benchmark(robot):
    assert example(robot).n == len(example(robot).links) == JOINTS[robot]
