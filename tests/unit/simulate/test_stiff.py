"""Stiff motions: Radau's method, and `auto`, which takes it once a motion is stiff."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from closed_loops import four_bar, four_bar_position
from kinetree.errors import InputError, KinetreeWarning
from kinetree.scalars import where
from kinetree.simulate import SimulationError

STIFFNESS = 1e6  # N m/rad
ADAPTIVE = ("radau", "auto")


def stiff_arm() -> kt.Robot:
    """An arm whose second joint is held by a stiff spring with a damper."""
    return (
        kt.robots.planar_2r()
        .with_springs({"joint2": kt.Spring(STIFFNESS)})
        .with_friction({"joint2": kt.Friction(viscous=STIFFNESS / 50)})
    )


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_stiff_motion_is_that_of_scipy(method: str) -> None:
    robot = stiff_arm()
    run = robot.simulate([0.3, 0.01], duration=1.0, method=method, limits="ignore")

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        ddq = robot.forward_dynamics(x[:2], x[2:], np.zeros(2))
        return np.concatenate([x[2:], np.asarray(ddq)])

    x0 = [0.3, 0.01, 0.0, 0.0]
    same = solve_ivp(rate, (0, 1), x0, method="Radau", rtol=1e-10, atol=1e-13, t_eval=run.t)
    assert np.allclose(run.q, same.y[:2].T, rtol=0, atol=2e-8)
    assert run.meta["steps"] < 600  # dop853 needs some 5,000


def test_auto_is_dop853_for_a_motion_that_is_not_stiff() -> None:
    robot = kt.robots.panda()
    runs = [
        robot.simulate(np.zeros(7), duration=0.3, method=method, limits="ignore")
        for method in ("dop853", "auto")
    ]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert "stiff" not in runs[1].meta


def test_a_long_stiff_run_of_dop853_says_what_is_quicker() -> None:
    with pytest.warns(KinetreeWarning, match="stiff from .* s on.*method='auto'"):
        stiff_arm().simulate([0.3, 0.01], duration=0.3, method="dop853", limits="ignore")


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_rollout_of_a_batch_has_the_bits_of_its_own_run(method: str) -> None:
    robot = stiff_arm()
    starts = np.array([[0.3, 0.01], [0.1, 0.0], [2.0, 0.02]])
    run = robot.simulate(starts, duration=0.2, method=method, limits="ignore")
    for i, q0 in enumerate(starts):
        alone = robot.simulate(q0, duration=0.2, method=method, limits="ignore")
        assert np.array_equal(run.q[:, i], alone.q)


def test_radau_on_quaternions_is_dop853() -> None:
    robot = kt.robots.quadruped()
    q0, dq0 = robot.random(rng=3), np.random.default_rng(3).normal(size=robot.n)
    runs = [
        robot.simulate(q0, dq0, duration=0.1, method=method, limits="ignore")
        for method in ("dop853", "radau")
    ]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-7)


def test_radau_finds_events_and_stops_where_dry_friction_holds() -> None:
    robot = stiff_arm().with_friction({"joint1": kt.Friction(coulomb=3.0)})
    passed = kt.simulate.event(lambda t, q, dq: q[0] + 0.5)
    runs = [
        robot.simulate([0.3, 0.0], duration=3.0, method=m, limits="ignore", events=[passed])
        for m in ADAPTIVE
    ]
    for run in runs:
        (first, *_) = run.meta["events"]
        at = np.interp(first.t, run.t, run.q[:, 0])
        assert abs(at + 0.5) < 1e-4
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-6)


def test_radau_keeps_a_loop_closed_and_its_energy() -> None:
    robot = four_bar()
    q0 = four_bar_position(robot, 0.5)
    run = robot.simulate(q0, duration=1.0, method="radau", limits="ignore")
    energy = robot.kinetic_energy(run.q, run.dq) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-6
    assert np.abs(run.meta["closure"]).max() < 1e-9


def test_auto_returns_to_dop853_where_a_motion_is_no_longer_stiff() -> None:
    """A stiff law lets go after 0.5 s; from then on radau takes ten times as many steps."""

    def hold(t, q, dq):
        on = where(t < 0.5, 1, 0)
        return np.array([0 * t, on * (-1e8 * (q[1] - 0.5) - 5e6 * dq[1])])

    robot, options = kt.robots.planar_2r(), {"duration": 3.0, "tau": hold, "limits": "ignore"}
    auto, radau = (robot.simulate([0.3, 0.5], method=m, **options) for m in ("auto", "radau"))
    assert auto.meta["stiff"] < 0.1
    assert auto.meta["steps"] < radau.meta["steps"] / 4
    assert np.abs(auto.q - radau.q).max() < 1e-5


def test_auto_stays_with_radau_where_a_motion_stays_stiff() -> None:
    """Tries of dop853 become rarer: they are a small part of all steps."""
    runs = [
        stiff_arm().simulate([0.3, 0.01], duration=5.0, method=m, limits="ignore") for m in ADAPTIVE
    ]
    radau, auto = (run.meta["steps"] + run.meta["rejected"] for run in runs)
    assert auto < 1.3 * radau


def test_sensitivities_refuse_it_by_name() -> None:
    with pytest.raises(InputError, match="method is 'radau'"):
        kt.robots.planar_2r().sensitivities([0.1, 0.2], duration=0.1, method="radau")


def test_a_step_that_blows_up_names_the_method_for_stiff_robots() -> None:
    options = {"duration": 1.0, "limits": "ignore"}
    with pytest.raises(SimulationError, match="method='auto'"):
        stiff_arm().simulate([0.5, 0.1], dt=0.01, method="rk4", **options)
    assert np.isfinite(stiff_arm().simulate([0.5, 0.1], method="auto", **options).q).all()
