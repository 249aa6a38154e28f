"""Limits end a simulation with time and joint, or are recorded on request."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulate import SimulationError, signal


def cart(**limits):
    """One kilogram on a rail: everything about it is known."""
    return (
        kt.Builder("cart")
        .link("base")
        .link("cart", m=1.0, I_com=np.eye(3))
        .joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0), limits=kt.Limits(**limits))
        .build()
    )


METHODS = [{"method": "rk4", "dt": 1e-3}, {"method": "euler", "dt": 1e-3}, {"dt": 1e-3}]


@pytest.mark.parametrize("options", METHODS, ids=["rk4", "euler", "dop853"])
def test_a_position_limit_stops_with_time_and_joint(options):
    """x = t^2 reaches 0.25 at t = 0.5."""
    robot = cart(lower=-1, upper=0.25)
    with pytest.raises(SimulationError, match=r"position of joint 'rail' is .* beyond") as error:
        robot.simulate([0.0], tau=[2.0], duration=1.0, **options)
    assert 'limits="record"' in str(error.value)
    before = error.value.trajectory
    assert before.t[-1] == pytest.approx(0.5, abs=2e-3) and before.q.max() <= 0.25 + 1e-9


@pytest.mark.parametrize("options", METHODS, ids=["rk4", "euler", "dop853"])
def test_violations_are_recorded_on_request(options):
    robot = cart(upper=0.25, velocity=1.5, effort=3.0)
    tau = signal([0, 0.8], [[2.0], [4.0]])
    motion = robot.simulate([0.0], tau=tau, duration=1.0, limits="record", **options)
    found = {v.quantity: v for v in motion.meta["violations"]}
    assert found["position"].t == pytest.approx(0.5, abs=2e-3)
    assert found["velocity"].t == pytest.approx(0.75, abs=2e-3)
    assert found["effort"].t == pytest.approx(0.8, abs=2e-3)
    assert found["effort"].by == pytest.approx(1.0) and found["effort"].joint == "rail"
    assert 0 < found["position"].by < 3e-3 and str(found["position"]).endswith(
        " m beyond its limit"
    )
    assert [found[x].unit for x in ("position", "velocity", "effort")] == ["m", "m/s", "N"]
    assert motion.t[-1] == 1.0


def test_a_violation_between_records_is_seen():
    """The cart swings beyond the limit and is back at every recorded time."""
    robot = cart(upper=0.5)
    spring = {"controller": lambda t, q, dq: -q * (2 * np.pi) ** 2, "duration": 2.0}
    motion = robot.simulate(
        [0.0], [2 * np.pi], dt=1e-3, method="rk4", every=1000, limits="record", **spring
    )
    assert abs(motion.q).max() < 1e-3
    assert motion.meta["violations"][0].t == pytest.approx(1 / 12, abs=2e-3)


def test_ignored_limits_are_not_looked_at():
    motion = cart(upper=0.25).simulate([0.0], tau=[2.0], duration=1.0, limits="ignore")
    assert motion.q[-1, 0] == pytest.approx(1.0, abs=1e-9) and "violations" not in motion.meta


def test_the_first_violation_of_a_batch_names_its_rollout():
    robot = cart(upper=0.25)
    tau = np.array([[0.0], [1.0], [8.0], [2.0]])
    with pytest.raises(SimulationError, match=r"joint 'rail' of rollout \[2\]") as error:
        robot.simulate([0.0], tau=tau, duration=1.0, dt=1e-3, method="rk4")
    assert error.value.trajectory.t[-1] == pytest.approx(0.25, abs=2e-3)


def test_each_kind_of_limit_has_its_margin():
    one_sided = cart(lower=-0.1)
    with pytest.raises(SimulationError, match="position"):
        one_sided.simulate([0.0], tau=[-1.0], duration=1.0, dt=1e-3, method="rk4")
    assert one_sided.simulate([0.0], tau=[1.0], duration=1.0, dt=1e-3, method="rk4").q[-1] > 0.4
    with pytest.raises(SimulationError, match="velocity"):
        cart(velocity=0.1).simulate([0.0], [0.2], duration=1.0, dt=1e-3, method="rk4")


def test_rounding_on_a_limit_is_no_violation_and_a_micrometre_beyond_it_is():
    options = {"duration": 0.01, "dt": 1e-3, "method": "rk4"}
    robot = cart(lower=-1.0, upper=0.0)
    assert len(robot.simulate([1e-12], **options)) == 11
    with pytest.raises(SimulationError, match="position of joint 'rail'"):
        robot.simulate([1e-6], **options)
