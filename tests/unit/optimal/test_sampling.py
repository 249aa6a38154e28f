"""Plans by MPPI and the cross-entropy method, their random numbers, and their costs by hand."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree import optimal
from kinetree.errors import KinetreeError
from kinetree.optimal.numbers import numbers_of
from kinetree.optimal.problem import bounds_of_forces
from kinetree.optimal.sampling import METHODS, normals, sampler
from kinetree.parallel.philox import philox

START = [0.3, -0.4]


def reach(target=(0.8, 0.1), *, limits=15.0, steps=20, **costs):
    costs = {
        "posture": optimal.Posture(target=target, weight=1.0, final=20.0),
        "rates": optimal.Rates(weight=0.1, final=2.0),
        "effort": optimal.Effort(weight=0.02),
        **costs,
    }
    robot = kt.robots.double_pendulum()
    return optimal.Problem(robot, dt=0.05, steps=steps, costs=costs, limits=limits)


@pytest.mark.parametrize("method", METHODS)
def test_the_cost_comes_near_the_optimum(method):
    problem = reach()
    best = problem.solve(START, tolerance=1e-12)
    found = problem.sample(START, method=method, samples=1024)
    before = problem.sample(START, iterations=0)
    assert before.cost > 2 * best.cost
    assert best.cost < found.cost < 1.05 * best.cost
    assert found.reason == "iterations"
    assert not found.gains.any()
    costs = [before.cost, *(row["cost"] for row in found.history)]
    assert min(costs) == found.cost
    for row, cost in zip(found.history, costs, strict=False):  # the plan is among the samples
        assert row["least"] <= cost * (1 + 1e-12)
    assert costs[10] < 0.7 * costs[0]
    polished = problem.solve(START, guess=found, tolerance=1e-12)
    assert polished.cost == pytest.approx(best.cost, rel=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_the_same_bits_with_any_number_of_threads(method):
    problem = reach()
    options = {"method": method, "samples": 1500, "iterations": 3}
    with kt.threads(1):
        one = problem.sample(START, **options, seed=5)
    with kt.threads(2):
        two = problem.sample(START, **options, seed=5)
    other = problem.sample(START, **options, seed=6)
    np.testing.assert_array_equal(one.tau, two.tau)
    assert one.cost == two.cost
    assert one.cost != other.cost


@pytest.mark.parametrize(
    ("method", "cost"), [("mppi", 2.070655740197626), ("cross-entropy", 2.133723880707571)]
)
def test_a_seed_gives_the_same_bits_on_every_machine(method, cost):
    found = reach().sample(START, method=method, samples=300, iterations=4)
    assert found.cost == cost


@pytest.mark.parametrize("method", METHODS)
def test_weights_scaled_together_keep_the_plan(method):
    """A power of two keeps the bits."""
    problem, options = reach(), {"method": method, "samples": 300, "iterations": 4}
    costs = {
        name: type(x)(target=x.target, weight=4 * x.weight, final=4 * x.final)
        for name, x in problem.costs.items()
    }
    first = problem.sample(START, **options)
    second = problem.with_costs(**costs).sample(START, **options)
    np.testing.assert_array_equal(first.tau, second.tau)
    assert second.cost == 4 * first.cost


def test_samples_have_the_same_bits_in_two_batches():
    problem = reach()
    p, bounds = numbers_of(problem.transcription, problem.steps)[:, 0], bounds_of_forces(problem)
    runs = sampler(problem.transcription, p[:, None])
    batches = [range(300), range(101), range(101, 300)]
    drawn = [5 * normals(3, 7, batch, 16) for batch in batches]
    np.testing.assert_array_equal(drawn[0], np.concatenate(drawn[1:]))
    table, x0 = runs.table(np.zeros((20, 2)), p), np.array([*START, 0, 0])
    costs = [runs.run(x0, table, runs.params(y, p, bounds), p)[0] for y in drawn]
    np.testing.assert_array_equal(costs[0], np.concatenate(costs[1:]))


def test_forces_of_samples_are_lines_between_knots_and_clipped():
    problem = reach(limits=3.0)
    p, bounds = numbers_of(problem.transcription, problem.steps)[:, 0], bounds_of_forces(problem)
    runs = sampler(problem.transcription, p[:, None], 5)
    y, guess = 5 * normals(0, 0, range(50), 10), normals(1, 0, range(20), 2)
    table, x0 = runs.table(guess, p), np.array([*START, 0, 0])
    costs, _, forces = runs.run(x0, table, runs.params(y, p, bounds), p, recorded=True)
    at = np.linspace(0, 4, 20)
    lines = [
        [np.interp(at, np.arange(5), knots) for knots in sample.T] for sample in y.reshape(50, 5, 2)
    ]
    wanted = np.clip(guess + np.swapaxes(lines, 1, 2), -3, 3)
    np.testing.assert_allclose(forces.swapaxes(0, 1), wanted, atol=1e-13)
    table = runs.table(forces[:, 7], p)
    again = runs.run(x0, table, runs.params(np.zeros((1, 10)), p, bounds), p)[0]
    np.testing.assert_allclose(again[0], costs[7], rtol=1e-13)


def test_noise_is_normal_and_made_of_the_words_of_philox():
    x = normals(11, 2, range(4000), 50)
    np.testing.assert_allclose(x.mean(), 0, atol=4 / np.sqrt(x.size))
    for power, moment in ((2, 1), (3, 0), (4, 3)):
        np.testing.assert_allclose((x**power).mean(), moment, atol=0.05)
    assert abs(np.corrcoef(x.T) - np.eye(50)).max() < 0.1
    assert abs(np.corrcoef(x[:200]) - np.eye(200)).max() < 0.7
    # sample 3 has the blocks 22 to 28 of a stream of seven blocks a sample; the counter begins at 1
    counter = np.array([[3 * 7 + k + 1, 0, 0, 0] for k in range(7)], np.uint64)
    words = philox(counter, np.array([[11, 2]], np.uint64)).ravel()
    low, high = words & np.uint64(2**32 - 1), words >> np.uint64(32)
    r, angle = np.sqrt(-2 * np.log((low + 0.5) / 2**32)), high * (2 * np.pi / 2**32)
    pairs = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).ravel()
    np.testing.assert_allclose(x[3], pairs[:50], atol=1e-13)


def test_noise_has_its_spread():
    """Any force is better than none here, so that the better one of two samples is the noise."""

    def idle(t, q, dq, tau):
        return np.array([1 / (1 + tau @ tau)])

    problem = optimal.Problem(
        kt.robots.double_pendulum(), dt=0.02, steps=300, limits=None,
        costs=[optimal.Residual(function=idle, weight=1.0)],
    )  # fmt: skip
    noise = np.array([0.2, 0.05])
    found = problem.sample(
        START, guess=np.zeros((300, 2)), noise=noise, knots=300, samples=2, iterations=1
    )
    y = found.tau / noise
    np.testing.assert_allclose(y.std(0), 1, atol=0.15)
    assert abs((y[1:] * y[:-1]).mean()) < 0.15
    assert abs((y[:, 0] * y[:, 1]).mean()) < 0.15


def test_the_noise_of_forces_moves_each_joint_by_itself():
    """At a knot, accelerations of different joints do not depend on each other."""
    robot = kt.robots.panda()
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    problem = optimal.Problem(
        robot, dt=0.5, steps=2, limits=None, costs=[optimal.Effort(weight=1e-9, target=np.ones(7))]
    )
    changes = [
        problem.sample(q, samples=2, iterations=1, seed=seed, share=0.9).tau[0]
        - robot.gravity_forces(q)
        for seed in range(300)
    ]
    moved = np.array(changes) @ robot.inverse_mass_matrix(q)
    moved = moved[np.abs(moved).max(1) > 0]  # of the two samples, one is the plan itself
    scale = moved.std(0)
    np.testing.assert_allclose(scale, scale.mean(), rtol=0.2)
    assert abs(np.corrcoef(moved.T) - np.eye(7)).max() < 0.3


def by_hand(problem, found, target):
    """The cost of a plan by its definition, with robot.step and the forces of the plan."""
    robot, q, dq, total = problem.robot, found.q[0], found.dq[0], 0.0
    for t, tau in enumerate(found.tau):
        off = q - target[t]
        total += 0.025 * (off @ off + 0.1 * dq @ dq + 0.02 * tau @ tau)
        q, dq = robot.step(q, dq, tau, 0.05, method="semi_implicit_euler")
        np.testing.assert_allclose(found.q[t + 1], q, atol=1e-12)
    return total + 10 * ((q - target[-1]) ** 2).sum() + dq @ dq


@pytest.mark.parametrize("path", [False, True], ids=["point", "path"])
def test_the_cost_is_what_its_definition_says(path):
    rng = np.random.default_rng(0)
    target = np.broadcast_to([0.8, 0.1], (21, 2)) + path * rng.normal(size=(21, 2))
    problem = reach(target=target[0])
    if path:  # after a point, of which the robot remembers the machine code
        problem.sample(START, samples=2, iterations=0)
        problem = problem.with_costs(posture=problem.costs["posture"].with_target(target))
    # samples of tiny noise around a guess: the least cost among them is that of the guess
    found = problem.sample(
        START, [0.2, 0.1], guess=5 * rng.normal(size=(20, 2)), noise=1e-9, samples=8, iterations=1
    )
    total = by_hand(problem, found, target)
    assert found.cost == pytest.approx(total, rel=1e-11)
    assert found.history[0]["least"] == pytest.approx(total, rel=1e-7)
    assert sum(found.costs.values()) == pytest.approx(found.cost, rel=1e-13)
    assert found.cost == pytest.approx(
        problem.solve(START, [0.2, 0.1], guess=found, iterations=0).cost
    )


def test_time_is_an_argument_of_a_residual():
    def late(t, q, dq, tau):
        return np.array([t * q[0]])

    problem = reach(late=optimal.Residual(function=late, weight=3.0, final=2.0))
    found = problem.sample(START, samples=16, iterations=1)
    q = found.q[:, 0]
    t = 0.05 * np.arange(21)
    wanted = 0.05 * 1.5 * ((t * q)[:-1] ** 2).sum() + (t * q)[-1] ** 2
    assert found.costs["late"] == pytest.approx(wanted, rel=1e-12)


def test_forces_stay_within_limits():
    problem = reach(target=(2.5, 1.0), limits=[9.0, 4.0])
    for method in METHODS:
        found = problem.sample(START, method=method, noise=20.0, samples=256, iterations=10)
        most = np.abs(found.tau).max(0)
        assert (most <= [9.0, 4.0]).all()
        assert most[0] == 9.0


def test_many_starts_are_those_one_by_one():
    problem, starts = reach(), np.array([[0.0, 0.2], [0.3, -0.4]])
    options = {"samples": 200, "iterations": 4}
    both = problem.sample(starts, **options)
    assert both.tau.shape == (20, 2, 2)
    for b, start in enumerate(starts):
        alone = problem.sample(start, **options)
        np.testing.assert_array_equal(both.tau[:, b], alone.tau)
        assert both.cost[b] == alone.cost
        assert both.history[-1]["cost"][b] == alone.history[-1]["cost"]


def test_a_robot_with_a_free_base_is_sampled():
    robot = kt.robots.quadruped()
    start = robot.neutral()
    problem = optimal.Problem(
        robot, dt=0.01, steps=6, limits=None,
        costs=[optimal.Posture(target=start, weight=1, final=50), optimal.Effort(weight=1e-3)],
    )  # fmt: skip
    found = problem.sample(start, [0.5, -0.3, 0.2, *np.zeros(15)], samples=256, iterations=5)
    assert found.cost < problem.sample(start, [0.5, -0.3, 0.2, *np.zeros(15)], iterations=0).cost
    assert not found.tau[:, :6].any()
    np.testing.assert_allclose(np.linalg.norm(found.q[:, :4], axis=1), 1, atol=1e-13)


def test_samples_that_are_lost_do_not_count():
    """A residual that is not a number for most samples; where it is for all, the reason says so."""

    def root(t, q, dq, tau):
        return np.array([kt.scalars.sqrt(tau[0] + 100.0)])

    problem = reach(root=optimal.Residual(function=root, weight=1.0), limits=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in METHODS:
            found = problem.sample(START, method=method, noise=200.0, samples=500, iterations=3)
            assert np.isfinite(found.cost)
        lost = problem.sample(START, guess=np.full((20, 2), -500.0), samples=50, iterations=2)
    assert "finite" in lost.reason
    assert not lost.converged


def test_samples_that_count_are_the_cheapest_with_a_finite_cost():
    def root(t, q, dq, tau):
        return np.array([1 / kt.scalars.sqrt(tau[0] + 1.0)])

    problem = optimal.Problem(
        kt.robots.double_pendulum(), dt=0.05, steps=5, limits=None,
        costs=[optimal.Residual(function=root, weight=1.0)],
    )  # fmt: skip
    options = {"method": "cross-entropy", "samples": 300, "share": 0.5, "iterations": 1}
    found = problem.sample(START, guess=np.zeros((5, 2)), noise=0.8, knots=5, seed=4, **options)
    v = 0.8 * normals(4, 0, range(300), 10).reshape(300, 5, 2)
    v[0] = 0
    v = v[v[..., 0].min(1) > -1]
    assert 50 < len(v) < 250
    cheapest = np.argsort((1 / (v[..., 0] + 1)).sum(1))[: len(v) // 2]
    np.testing.assert_allclose(found.tau, v[cheapest].mean(0), atol=1e-3)


def test_a_path_that_stays_is_a_point():
    problem = reach()
    posture = problem.costs["posture"].with_target(np.tile([0.8, 0.1], (21, 1)))
    options = {"samples": 64, "iterations": 2}
    point = problem.sample(START, **options)
    path = problem.with_costs(posture=posture).sample(START, **options)
    np.testing.assert_array_equal(point.tau, path.tau)


def test_targets_and_weights_compile_nothing():
    problem = reach()
    other = problem.with_costs(posture=optimal.Posture(target=[0.1, 0.2], weight=3.0))
    make = [sampler(x.transcription, numbers_of(x.transcription, 20)) for x in (problem, other)]
    assert make[0] is make[1]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"method": "annealing"}, "'cross-entropy'"),
        ({"samples": 1}, "at least 2"),
        ({"samples": 10.5}, "whole number"),
        ({"iterations": -1}, "whole number"),
        ({"share": 0.0}, "between 0 and 1"),
        ({"share": np.nan}, "finite"),
        ({"knots": 1}, "at least 2"),
        ({"knots": 21}, "2 to 20"),
        ({"seed": 2**64}, r"below 2\^64"),
        ({"seed": -1}, "whole number"),
        ({"noise": 0.0}, "> 0"),
        ({"noise": [1.0, 2.0, 3.0]}, r"\(2,\)"),
        ({"noise": [1.0, np.inf]}, "finite"),
        ({"noise": "much"}, "N m or N"),
        ({"guess": np.zeros((3, 2))}, r"\(20, 2\)"),
        ({"guess": np.full((20, 2), np.nan)}, "finite"),
        ({"q0": [0.0, np.nan]}, "q0"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, word):
    with pytest.raises(KinetreeError, match=word):
        reach().sample(**{"q0": START, **wrong})
