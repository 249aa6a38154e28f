"""Optimal control on a GPU; without one these tests skip."""

import numpy as np
import pytest
from optimal_problems import RNG, agree, arm, bent_arm, check_plans

from kinetree.errors import InputError

pytestmark = pytest.mark.usefixtures("cp")


@pytest.mark.parametrize("limits", [None, 8.0])
@pytest.mark.parametrize("count", [1, 5, 70])
def test_many_problems_are_solved_as_on_the_cpu(count, limits):
    agree(arm(limits=limits), RNG.normal(size=(count, 2)), iterations=6)


def test_other_robots_and_a_search_to_its_end():
    check_plans()


def test_arrays_on_the_gpu_stay_there(cp):
    problem, q0 = bent_arm(steps=8)
    found = problem.solve(cp.asarray(q0), iterations=2, target="cuda")
    expected = problem.solve(q0, iterations=2, target="cuda")
    for name in ("q", "dq", "tau", "gains", "cost"):
        assert isinstance(getattr(found, name), cp.ndarray)
        np.testing.assert_array_equal(getattr(found, name).get(), getattr(expected, name))
    assert found.gap == expected.gap
    with pytest.raises(InputError, match="q0 is on the GPU"):
        problem.solve(cp.asarray(q0))


@pytest.mark.parametrize("method", ["mppi", "cross-entropy"])
@pytest.mark.parametrize("samples", [300, 2048])
def test_samples_have_the_costs_of_the_cpu(cp, method, samples):
    options = {"samples": samples, "iterations": 2, "seed": 2**40 + 7, "method": method}
    options |= {"noise": [3.0, 2.0]}
    found = arm().sample([0.2, 0.1], target="cuda", **options)
    expected = arm().solve([0.2, 0.1], guess=found.tau, iterations=0)
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-9)
    assert found.cost < arm().solve([0.2, 0.1], iterations=0).cost
    again = arm().sample([0.2, 0.1], target="cuda", **options)
    np.testing.assert_array_equal(again.tau, found.tau)


def test_float32_follows_the_type_of_q0(cp):
    options = {"samples": 1000, "iterations": 1, "noise": 2.0, "target": "cuda"}
    q0 = np.array([0.2, 0.1])
    found = arm().sample(cp.asarray(q0, "float32"), **options).history[0]["least"]
    expected = arm().sample(cp.asarray(q0), **options).history[0]["least"]
    assert found != expected
    np.testing.assert_allclose(found, expected, rtol=1e-5)
