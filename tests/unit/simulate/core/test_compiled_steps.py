"""Steps in machine code have the bits of those in NumPy, which batches of more rollouts take."""

import math
import threading

import numpy as np
import pytest

import kinetree as kt
from closed_loops import four_bar, four_bar_position
from kinetree.scalars import where
from kinetree.simulate.tuning import MAX_BY_ROW

STARTS = np.linspace(-1.0, 1.0, 2 * (MAX_BY_ROW + 1)).reshape(-1, 2)
METHODS = ("dop853", "radau", "auto")
TIMES = np.linspace(0, 0.4, 5)
OPTIONS = {
    "signal": {"tau": kt.simulate.signal(TIMES, np.sin(TIMES[:, None] + [3.0, 5.0]), "linear")},
    "held signal": {"tau": kt.simulate.signal(TIMES, np.sin(TIMES[:, None] + [3.0, 5.0]))},
    "time in Python": {"tau": lambda t: np.array([math.sin(9 * t), 0.1])},
    "event": {"events": [kt.simulate.event(lambda t, q, dq: q[0] + dq[1])]},
}


def rubbing_arm() -> kt.Robot:
    friction = {"joint1": kt.Friction(0.1, coulomb=3.0), "joint2": kt.Friction(coulomb=0.5)}
    return kt.robots.planar_2r().with_friction(friction)


def check_equal(run: kt.motion.Trajectory, i: int, alone: kt.motion.Trajectory) -> None:
    for name in ("q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(run, name)[:, i], getattr(alone, name)), name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_rollout_alone_has_the_bits_of_one_among_many(kind: str, method: str) -> None:
    robot = kt.robots.planar_2r()
    options = {"duration": 0.4, "rtol": 1e-6, "method": method, **OPTIONS[kind]}
    run = robot.simulate(STARTS, **options)
    for i in (0, 3):
        alone = robot.simulate(STARTS[i], **options)
        check_equal(run, i, alone)
        if kind == "event":
            among = [x for x in run.meta["events"] if x.rollout == (i,)]
            assert [x.t for x in among] == [x.t for x in alone.meta["events"]] != []


@pytest.mark.parametrize("method", METHODS)
def test_dry_friction_holds_and_releases_at_the_same_times(method: str) -> None:
    robot = rubbing_arm()
    options = {"duration": 0.6, "rtol": 1e-6, "atol": 1e-8, "method": method}
    run = robot.simulate(STARTS, **options)
    assert (run.dq == 0).any() and (run.dq != 0).any()
    for i in (0, 3):
        check_equal(run, i, robot.simulate(STARTS[i], **options))


@pytest.mark.parametrize("method", METHODS)
def test_a_law_that_is_traced_moves_like_its_twin_in_python(method: str) -> None:
    """The twin runs in NumPy, with another kernel: equal up to the tolerance."""
    robot = kt.robots.planar_2r()

    def law(t, q, dq):
        return np.array([where(t > 0.2, 2.0, -1.0) - dq[0], -3 * q[1]])

    def twin(t, q, dq):
        return law(float(t), np.array(q, float), np.array(dq, float))

    options = {"duration": 0.5, "method": method, "rtol": 1e-7, "atol": 1e-9}
    runs = [robot.simulate([0.3, -0.4], tau=f, **options) for f in (law, twin)]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_quaternions_and_loops_are_kept(method: str) -> None:
    robot, loop = kt.robots.quadruped(), four_bar()
    q0, dq0 = robot.random(rng=3), np.random.default_rng(3).normal(size=robot.n)
    run = robot.simulate(q0, dq0, duration=0.1, method=method, limits="ignore")
    assert np.allclose(np.linalg.norm(run.q[:, :4], axis=1), 1, rtol=0, atol=1e-15)
    run = loop.simulate(four_bar_position(loop, 0.5), duration=0.5, method=method)
    assert run.meta["closure"].max() < 1e-12


def test_an_error_of_a_function_of_time_reaches_the_caller_with_its_time() -> None:
    def tau(t):
        if t > 0.1:
            raise ZeroDivisionError("no torque")
        return np.array([math.sin(t), 0.0])

    with pytest.raises(ZeroDivisionError, match="no torque"):
        kt.robots.planar_2r().simulate([0.1, 0.2], duration=0.5, tau=tau)


def test_results_between_steps_do_not_change_the_motion() -> None:
    robot = kt.robots.planar_2r()
    coarse, fine = (
        robot.simulate([1.0, 0.3], duration=0.5, dt=dt, rtol=1e-10, atol=1e-12)
        for dt in (0.05, 0.0005)
    )
    assert np.abs(fine.q[::100] - coarse.q).max() < 1e-10


def test_threads_and_batches_do_not_change_a_rollout() -> None:
    robot, starts = kt.robots.planar_2r(), np.random.default_rng(0).normal(size=(30, 2))
    runs = []
    for count in (1, 3):
        with kt.threads(count):
            runs.append(robot.simulate(starts, duration=0.5))
    assert np.array_equal(runs[0].q, runs[1].q)
    alone: list[kt.motion.Trajectory] = []
    workers = [
        threading.Thread(target=lambda: alone.append(robot.simulate(starts[7], duration=0.5)))
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(alone) == 3
    for run in alone:
        check_equal(runs[0], 7, run)
