"""Nothing that acts between the stages of a long step is passed over."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.scalars import where

HOLD = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])


def cart(mass=2.0):
    return (
        kt.Builder("cart")
        .link("base")
        .link("cart", m=mass, I_com=np.eye(3))
        .joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0))
        .build()
    )


def pulse(begin, length, size, where=where):
    return lambda t: np.array([where(t > begin, where(t < begin + length, size, 0), 0)])


def branching(begin, length, size):
    return lambda t: np.array([size if begin < t < begin + length else 0.0])


def test_a_bump_after_a_long_rest_is_followed():
    """Panda stands still until its reference moves between t = 3 and 3.5."""
    robot = kt.robots.panda()

    def reference(t):
        bump = where(t > 3, where(t < 3.5, (t - 3) * (3.5 - t), 0), 0)
        return HOLD + np.array([4 * bump] * 7)

    control = kt.controllers.ComputedTorque(reference, kp=100, kd=20)
    common = {"duration": 4.0, "controller": control, "limits": "ignore"}
    found = robot.simulate(HOLD, **common)
    fine = robot.simulate(HOLD, method="rk4", dt=1e-4, every=100, **common)
    assert abs(fine.q - HOLD).max() > 0.05  # it did move
    assert abs(found.q - fine.q).max() < 1e-6


@pytest.mark.parametrize("make", [pulse, branching], ids=["where", "python"])
@pytest.mark.parametrize("length", [0.05, 0.2])
def test_a_pulse_given_as_a_function_of_time(make, length):
    motion = cart().simulate([0.0], duration=100.0, tau=make(41.7, length, 50.0), limits="ignore")
    speed = 50.0 * length / 2.0
    assert motion.dq[-1, 0] == pytest.approx(speed, rel=1e-9)
    assert motion.q[-1, 0] == pytest.approx(speed * (100 - 41.7 - length / 2), rel=1e-9)


def test_a_millisecond_in_a_hundred_seconds():
    motion = cart().simulate([0.0], duration=100.0, tau=pulse(63.21, 1e-3, 1e3), limits="ignore")
    assert motion.q[-1, 0] == pytest.approx(0.5 * (100 - 63.21 - 5e-4), rel=1e-9)
    law = cart().simulate(
        [0.0], duration=100.0, limits="ignore",
        controller=lambda t, q, dq: pulse(63.21, 1e-3, 1e3)(t) - 0.0 * q,
    )  # fmt: skip
    assert law.q[-1, 0] == pytest.approx(motion.q[-1, 0], rel=1e-9)


def test_a_pulse_in_a_law_that_only_python_runs_is_seen_where_results_are():
    """Its times cannot be found before; the results themselves show the force."""

    def law(t, q, dq):
        return np.array([50.0 if 41.7 < t < 41.75 else 0.0])

    motion = cart().simulate([0.0], duration=100.0, controller=law, limits="ignore")
    assert not motion.meta["compiled"]
    assert motion.dq[-1, 0] == pytest.approx(1.25, rel=1e-6)


def test_recorded_forces_are_those_that_moved_the_robot():
    """The impulse of the recorded forces is the momentum, results every millisecond."""
    motion = cart().simulate(
        [0.0], duration=20.0, dt=1e-3, tau=pulse(13.005, 0.05, 40.0), limits="ignore"
    )
    impulse = np.trapezoid(motion.tau[:, 0], motion.t)
    assert motion.dq[-1, 0] * 2.0 == pytest.approx(impulse, rel=0.03)
    assert np.allclose(motion.ddq * 2.0, motion.tau, atol=1e-9)


def test_a_switch_keeps_the_order_of_the_method():
    """Steps end at the switch, so that few are needed and the end is exact."""
    tau = pulse(1.0 / 3.0, 1.0, 6.0)
    motion = cart().simulate([0.0], duration=2.0, tau=tau, limits="ignore")
    assert motion.meta["steps"] < 80
    a, left = 3.0, 2.0 - 1.0 / 3.0 - 1.0
    assert motion.q[-1, 0] == pytest.approx(a / 2 + a * left, rel=1e-12)
    assert motion.dq[-1, 0] == pytest.approx(a, rel=1e-12)


def test_finer_results_change_no_sample():
    robot = kt.robots.double_pendulum()
    coarse = robot.simulate([1.0, 0.5], duration=3.0, dt=0.0625, limits="ignore")
    fine = robot.simulate([1.0, 0.5], duration=3.0, dt=0.015625, limits="ignore")
    assert np.array_equal(coarse.q, fine.q[::4]) and np.array_equal(coarse.dq, fine.dq[::4])


def test_every_thins_the_results_of_every_method():
    robot = kt.robots.double_pendulum()
    for options in ({}, {"method": "rk4"}):
        common = {"duration": 1.0, "dt": 0.01, "limits": "ignore", **options}
        all_of_them = robot.simulate([1.0, 0.5], **common)
        some = robot.simulate([1.0, 0.5], every=7, **common)
        kept = [*range(0, 101, 7), 100]
        assert np.array_equal(some.t, all_of_them.t[kept])
        assert np.array_equal(some.q, all_of_them.q[kept])
        assert np.array_equal(some.tau, all_of_them.tau[kept])


def test_no_step_is_longer_than_max_step():
    robot = cart()
    for longest in (0.5, 0.05):
        motion = robot.simulate([0.0], duration=10.0, max_step=longest)
        assert motion.meta["steps"] >= 10.0 / longest
    assert robot.simulate([0.0], duration=10.0).meta["steps"] >= 25
    with pytest.raises(ValueError, match="max_step is -1 s"):
        robot.simulate([0.0], duration=1.0, max_step=-1)
    with pytest.raises(ValueError, match="max_step is for adaptive methods"):
        robot.simulate([0.0], duration=1.0, max_step=0.1, method="rk4")


def test_forces_that_jump_back_and_forth_end_with_a_word():
    """A hand-made friction law chatters at rest; the run says so instead of going on for hours."""
    from kinetree.scalars import sign

    with pytest.raises(kt.simulate.SimulationError, match="jump back and forth") as error:
        cart().simulate(
            [0.0], [1.0], duration=10.0, controller=lambda t, q, dq: -2.0 * sign(dq) + 0.0 * q
        )
    assert error.value.trajectory.t[-1] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("options", [{}, {"method": "rk4"}], ids=["dop853", "rk4"])
def test_a_duration_of_one_step_may_be_shorter_by_rounding(options):
    motion = cart().simulate([0.0], [1.0], duration=2.0 - 1.95, dt=0.05, **options)
    assert motion.t.tolist() == [0.0, 2.0 - 1.95]
    assert motion.q[-1, 0] == pytest.approx(0.05)
    with pytest.raises(ValueError, match="longer than the duration"):
        cart().simulate([0.0], duration=0.0499, dt=0.05, **options)
