"""Optimal control for a GPU, with the emitted kernels run on the CPU."""

import numpy as np
import pytest
from cuda_host_optimal import pretend
from optimal_problems import RNG, agree, arm, bent_arm, check_plans

import kinetree as kt
from kinetree import optimal


@pytest.fixture(autouse=True)
def gpu(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path)


@pytest.mark.parametrize("limits", [None, 8.0])
def test_many_problems_are_solved_as_on_the_cpu(limits):
    agree(arm(limits=limits), RNG.normal(size=(5, 2)), iterations=6)


def test_other_robots_and_a_search_to_its_end():
    check_plans()


def test_limits_are_those_of_a_quadratic_problem():
    """At the optimum a force is at a limit, or its slope is zero."""
    problem, q0 = bent_arm(steps=8, limits=[20, 60, 20, 40, 5, 5, 3.0])
    plan = problem.solve(q0[:2], iterations=3, target="cuda")
    assert (np.abs(plan.tau) >= np.array([20, 60, 20, 40, 5, 5, 3.0])).any()
    assert max(row["limit error"].max() for row in plan.history) < 1e-9


@pytest.mark.parametrize("method", ["mppi", "cross-entropy"])
def test_samples_have_the_costs_of_the_cpu(method):
    options = {"samples": 300, "iterations": 2, "seed": 2**40 + 7, "method": method}
    options |= {"noise": [3.0, 2.0]}
    found, expected = (arm().sample([0.2, 0.1], target=x, **options) for x in ("cuda", "cpu"))
    assert found.history[0]["least"] == expected.history[0]["least"]  # bit by bit
    np.testing.assert_allclose(found.tau, expected.tau, rtol=1e-9)


def test_samples_follow_a_path():
    path = np.linspace([0, 0], [1, 0.5], 14)
    problem = arm().with_costs(posture=optimal.Posture(target=path, weight=5.0))
    options = {"samples": 64, "iterations": 1, "noise": 3.0}
    found, expected = (problem.sample([0, 0], target=x, **options) for x in ("cuda", "cpu"))
    assert found.history[0]["least"] == expected.history[0]["least"]


def test_wrong_targets_are_named():
    with pytest.raises(kt.errors.InputError, match="target is 'gpu'; expected 'cpu' or 'cuda'"):
        arm().solve([0, 0], target="gpu")
    with pytest.raises(kt.errors.InputError, match="target is 'gpu'"):
        arm().sample([0, 0], target="gpu")
