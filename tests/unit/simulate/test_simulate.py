"""The front of simulations: what goes in, in every form, and what comes out."""

import logging

import numpy as np
import pytest

import kinetree as kt
from kinetree.scalars import cos, sin, where
from kinetree.simulate import SimulationError, signal

ROBOT = kt.robots.planar_2r()
Q0, DQ0 = np.array([0.3, -0.4]), np.array([0.5, 0.1])
FAST = {"duration": 0.2, "dt": 1e-3, "method": "rk4", "limits": "ignore"}


def run(**options):
    return ROBOT.simulate(Q0, DQ0, **(FAST | options))


def same(a, b, tolerance=1e-12):
    return all(
        np.allclose(getattr(a, name), getattr(b, name), rtol=0, atol=tolerance)
        for name in ("q", "dq", "ddq", "tau")
    )


def test_the_record_has_everything():
    motion = run(tau=[1.0, 2.0])
    assert motion.t.shape == (201,) and motion.t[-1] == 0.2
    assert motion.q.shape == motion.dq.shape == motion.ddq.shape == motion.tau.shape == (201, 2)
    assert np.array_equal(motion.q[0], Q0) and np.array_equal(motion.dq[0], DQ0)
    assert (motion.tau == [1.0, 2.0]).all()
    ddq = ROBOT.forward_dynamics(motion.q, motion.dq, motion.tau)
    assert np.allclose(motion.ddq, ddq, rtol=1e-12, atol=1e-12)
    assert motion.model is ROBOT.model and motion.joint_names == ROBOT.model.joint_names
    assert motion.meta["method"] == "rk4" and motion.meta["steps"] == 200
    assert not motion.q.flags.writeable


def test_dq0_is_zero_where_left_out():
    assert (ROBOT.simulate(Q0, **FAST).dq[0] == 0).all()


def test_a_step_that_does_not_divide_the_duration_ends_with_a_shorter_one():
    motion = run(duration=0.1005, dt=0.01)
    assert np.allclose(np.diff(motion.t)[:-1], 0.01) and motion.t[-1] == 0.1005
    fine = run(duration=0.1005, dt=0.0005)
    assert abs(motion.q[-1] - fine.q[-1]).max() < 1e-7


def test_every_keeps_some_steps_and_the_last():
    whole, some = run(), run(every=30)
    kept = [0, 30, 60, 90, 120, 150, 180, 200]
    assert np.array_equal(some.t, whole.t[kept]) and np.array_equal(some.q, whole.q[kept])
    assert np.array_equal(some.ddq, whole.ddq[kept])


def test_torque_constant_as_signal_as_function_and_as_law():
    tau = np.array([2.0, -1.0])
    constant = run(tau=tau)
    assert same(constant, run(tau=signal([0.0], [tau])))
    assert same(constant, run(tau=lambda t: tau))
    assert same(constant, run(tau=lambda t, q, dq: tau))
    assert same(constant, run(controller=lambda t, q, dq: tau))
    assert same(constant, run(tau=tau / 2, controller=lambda t, q, dq: tau / 2))


def test_a_traced_function_of_time_and_the_same_from_numpy():
    traced = run(tau=lambda t: np.array([sin(5 * t), cos(3 * t)]))
    sampled = run(tau=lambda t: np.array([np.sin(5 * float(t)), np.cos(3 * float(t))]))
    assert same(traced, sampled) and traced.meta["compiled"] and sampled.meta["compiled"]
    adaptive = run(tau=lambda t: np.array([np.sin(5 * float(t)), np.cos(3 * float(t))]),
                   method="dop853", rtol=1e-11, atol=1e-13)  # fmt: skip
    assert np.allclose(adaptive.q, traced.q, atol=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_held_signal_jumps_between_steps_and_not_within(method):
    """Two halves, each with its own constant torque, one after the other."""
    first, second = np.array([3.0, 0.0]), np.array([-3.0, 1.0])
    options = {"method": method, "rtol": 1e-11, "atol": 1e-13}
    held = run(tau=signal([0, 0.1], [first, second]), **options)
    a = run(tau=first, duration=0.1, **options)
    b = ROBOT.simulate(a.q[-1], a.dq[-1], **(FAST | options | {"duration": 0.1}), tau=second)
    assert np.allclose(held.q[:101], a.q, atol=1e-10)
    assert np.allclose(held.q[100:], b.q, atol=1e-10)
    assert np.array_equal(held.tau[99], first) and np.array_equal(held.tau[100], second)


def test_times_of_a_signal_that_are_sums_of_steps():
    """0.1 + 0.2 is not 0.3, but the value changes at the step all the same."""
    times = np.arange(4) * 0.05
    held = run(tau=signal(times, [[k, 0] for k in range(4)]), dt=0.01)
    assert held.tau[:, 0].tolist() == [0.0] * 5 + [1.0] * 5 + [2.0] * 5 + [3.0] * 6


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_linear_signal_is_the_line(method):
    slope = signal([0, 0.2], [[0, 0], [4.0, 2.0]], kind="linear")
    exact = run(tau=lambda t: np.array([20 * t, 10 * t]), method=method)
    assert same(run(tau=slope, method=method), exact, 1e-9)


def test_wrenches_in_every_form():
    F = ROBOT.wrenches({ROBOT.model.tool: [0, 0, 1.0, 2.0, -1.0, 0]})
    constant = run(F_ext=F)
    assert abs(constant.q - run().q).max() > 1e-3
    assert same(constant, run(F_ext=lambda t: F)) and same(constant, run(F_ext=signal([0.0], [F])))
    assert same(constant, run(F_ext=lambda t, q, dq: F + 0 * q[0]))
    ddq = ROBOT.forward_dynamics(constant.q, constant.dq, constant.tau, F)
    assert np.allclose(ddq, constant.ddq, atol=1e-12)


@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "rk4", "dop853"])
def test_a_batch_is_its_rollouts(method):
    rng = np.random.default_rng(0)
    q0, tau = rng.normal(size=(3, 1, 2)), rng.normal(size=(5, 2))
    options = FAST | {"method": method, "duration": 0.05}
    batch = ROBOT.simulate(q0, DQ0, tau=tau, **options)
    assert batch.q.shape == (51, 3, 5, 2) and batch.batch_shape == (3, 5)
    for i, j in ((0, 0), (2, 4), (1, 3)):
        one = ROBOT.simulate(q0[i, 0], DQ0, tau=tau[j], **options)
        tolerance = 1e-9 if method == "dop853" else 1e-13
        assert same(batch.rollout(i, j), one, tolerance)


def test_rollouts_may_follow_signals_of_their_own():
    values = np.zeros((2, 3, 2))
    values[1] = np.arange(6).reshape(3, 2)
    ramp = signal([0, 0.2], values, kind="linear")
    for method in ("rk4", "dop853"):
        batch = ROBOT.simulate(Q0, tau=ramp, **(FAST | {"method": method}))
        own = signal([0, 0.2], values[:, 2], kind="linear")
        one = ROBOT.simulate(Q0, tau=own, **(FAST | {"method": method}))
        assert batch.q.shape == (201, 3, 2) and same(batch.rollout(2), one, 1e-9)


def test_parameters_of_a_rollout_make_another_robot():
    mass = ROBOT.model.m * np.array([[1.0], [1.5]])
    for method in ("rk4", "dop853"):
        batch = ROBOT.simulate(Q0, parameters={"mass": mass}, **(FAST | {"method": method}))
        heavy = kt.Robot(ROBOT.model.replace(m=mass[1]))
        one = heavy.simulate(Q0, **(FAST | {"method": method}))
        assert same(batch.rollout(1), one, 1e-9)


def branching(t, q, dq):
    """A law that no tracer can follow."""
    return -dq if q[0] > 0 else -2 * dq


def smooth(t, q, dq):
    """The same law, in a form that can be compiled."""
    return np.array([where(q[0], -x, -2 * x) for x in dq])


@pytest.mark.parametrize("method", ["euler", "rk4", "dop853"])
def test_a_law_that_cannot_be_traced_runs_in_python_and_says_why(method, caplog):
    with caplog.at_level(logging.WARNING):
        slow = run(controller=branching, method=method, duration=0.05)
    fast = run(controller=smooth, method=method, duration=0.05)
    assert not slow.meta["compiled"] and "has no truth value" in slow.meta["note"]
    assert "has no truth value" in caplog.text
    assert fast.meta["compiled"] and fast.meta["note"] is None
    assert same(slow, fast)


def test_python_laws_in_a_batch_with_wrenches_and_parameters():
    q0 = np.array([[0.3, 0.1], [-0.3, 0.1]])
    F = ROBOT.wrenches({ROBOT.model.tool: [0, 0, 0.5, 1.0, 0, 0]})
    mass = ROBOT.model.m * np.array([[1.0], [1.2]])
    options = FAST | {"duration": 0.02, "parameters": {"mass": mass}}
    slow = ROBOT.simulate(q0, DQ0, controller=branching, F_ext=lambda t, q, dq: F, **options)
    fast = ROBOT.simulate(q0, DQ0, controller=smooth, F_ext=F, **options)
    assert same(slow, fast) and not slow.meta["compiled"]


def test_a_mistake_in_a_law_is_shown_as_it_is():
    def law(t, q, dq):
        return unknown_gain * q  # noqa: F821

    with pytest.raises(NameError, match="unknown_gain"):
        run(controller=law)


def test_a_run_that_diverges_says_when_and_which_joint():
    def push(t, q, dq):
        return dq * 1e6

    for method in ("rk4", "euler"):
        with pytest.raises(SimulationError, match=r"t = .* s: .* of joint .* not finite") as error:
            run(controller=push, method=method, duration=1.0)
        before = error.value.trajectory
        assert before is not None and np.isfinite(before.q).all() and len(before) > 1


def test_rollouts_that_run_away_stand_still_on_request():
    q0, dq0 = np.zeros((2, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])
    gravity_free = ROBOT.with_gravity((0, 0, 0))
    motion = gravity_free.simulate(
        q0, dq0, controller=lambda t, q, dq: dq * 1e6, **(FAST | {"limits": "record"})
    )
    assert np.isfinite(motion.q).all() and (motion.dq[-1] == 0).all()
    assert {v.rollout for v in motion.meta["violations"]} == {(1,)}
    assert all(v.by is None for v in motion.meta["violations"])


def test_a_state_at_the_end_of_the_range_of_numbers_is_no_matter_for_warnings():
    options = {"duration": 0.002, "dt": 1e-3, "method": "dop853", "limits": "record"}
    motion = ROBOT.simulate(np.zeros((2, 2)), np.array([[0.0, 0.0], [1e160, 1e160]]), **options)
    assert {v.rollout for v in motion.meta["violations"]} == {(1,)}


def test_compiled_code_is_made_once_for_equal_calls():
    run(tau=[1.0, 1.0])
    loops = ROBOT.model.memo["simulate", "loops"]
    before = list(loops)
    run(tau=[2.0, 3.0])
    assert list(loops) == before


def test_a_bar_on_request(capsys):
    run(progress=True)
    shown = capsys.readouterr()
    assert "simulating" in shown.err and shown.out == ""
    run(progress=None)
    assert capsys.readouterr().err == ""
