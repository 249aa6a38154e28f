"""Kernels of a seven-joint arm, a six-joint arm and a humanoid of 44 joints, to 8 and 24 eps."""

from functools import cache

import pytest

from compiled_robots import CASES, Terms, case_name, check_kernel
from example_robots import example
from kinetree.engine.kernels.memo import kernel as compile_kernel

mpmath = pytest.importorskip("mpmath")

JOINTS = {"panda": 7, "ur5": 6, "talos": 44}
STATES = {"panda": 2, "ur5": 2, "talos": 1}


@cache
def precise_model(robot):
    return example(robot).astype(mpmath.mpf)


@cache
def terms_of(robot, seed):
    return Terms.at(example(robot), seed)


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("robot", JOINTS)
def test_kernels_agree_with_floats_and_with_fifty_digits(robot, case, fifty_digits):
    kernel = compile_kernel(example(robot), case[0], wrenches=case[1])
    for seed in range(STATES[robot]):
        check_kernel(kernel, precise_model(robot), terms_of(robot, seed), case)


@pytest.mark.parametrize("robot", JOINTS)
def test_the_robots_are_those_of_the_benchmark(robot):
    assert example(robot).n == len(example(robot).links) == JOINTS[robot]
