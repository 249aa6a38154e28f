"""Sampled controllers: called once a sample, in order, with a state of their own."""

import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.controllers import PD, Sampled, Stateful, step_by_step
from kinetree.errors import InputError, ShapeError
from kinetree.simulate import event, signal

ROBOT = kt.robots.planar_2r()
Q0, GOAL = np.array([0.3, -0.4]), np.array([0.6, 0.1])
METHODS = ("euler", "semi_implicit_euler", "implicit", "rk4", "dop853")
PERIOD = 0.01


class Memory:
    """An integral, and the calls that were made."""

    def __init__(self):
        self.z, self.calls = np.zeros(2), []


def pid(t, q, dq, state):
    state.calls.append(t)
    state.z = state.z + PERIOD * (GOAL - q)
    return 20 * (GOAL - q) - 3 * dq + 30 * state.z


def run(method, law, q0=Q0, dq0=None, duration=0.1, robot=ROBOT, **more):
    dt = {"dop853": 0.005}.get(method, 0.002)
    more = {"limits": "ignore"} | more
    return robot.simulate(q0, dq0, duration=duration, dt=dt, method=method, controller=law, **more)


def by_hand(method, law, state, q0=Q0, duration=0.1, robot=ROBOT, period=PERIOD, **more):
    """The same by one simulation for each sample, with constant forces."""
    q, dq, parts = np.array(q0, float), np.zeros(robot.n), []
    for k in range(round(duration / period)):
        tau = law(k * period, q, dq, state)
        part = run(method, None, q, dq, period, robot, tau=tau, **more)
        q, dq = part.q[-1], part.dq[-1]
        parts.append(part)
    return np.concatenate([x.q[:-1] for x in parts] + [q[None]]), parts


@pytest.mark.parametrize("method", METHODS)
def test_it_is_called_once_a_sample_in_order_and_held_between(method):
    motion = run(method, Sampled(pid, PERIOD, Memory))
    state, other = motion.meta["controller_state"], Memory()
    assert state.calls == [k * PERIOD for k in range(10)]
    q, parts = by_hand(method, pid, other)
    assert np.allclose(motion.q, q, rtol=0, atol=1e-9 if method == "dop853" else 1e-14)
    assert np.allclose(state.z, other.z, rtol=0, atol=1e-10)
    each = (len(motion) - 1) // 10
    assert (np.ptp(motion.tau[:-1].reshape(10, each, 2), 1) == 0).all()
    assert np.allclose(motion.tau[:-1:each], [x.tau[0] for x in parts], rtol=0, atol=1e-8)
    assert np.array_equal(motion.tau[-1], motion.tau[-2])  # the end belongs to the next run
    assert "called in Python, every 0.01 s" in motion.meta["note"]


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_is_split_is_the_same_motion(method):
    whole = run(method, Sampled(pid, PERIOD, Memory))
    first = run(method, Sampled(pid, PERIOD, Memory), duration=0.04)
    state = first.meta["controller_state"]
    second = run(method, Sampled(pid, PERIOD, state), first.q[-1], first.dq[-1], duration=0.06)
    at = len(first) - 1
    assert np.allclose(second.q, whole.q[at:], rtol=0, atol=1e-9 if method == "dop853" else 1e-14)
    assert np.allclose(second.tau, whole.tau[at:], rtol=0, atol=1e-6)
    assert len(state.calls) == 4 and len(second.meta["controller_state"].calls) == 10


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_every_rollout_has_a_state_of_its_own(method):
    starts = np.array([[[0.3, -0.4], [0.5, 0.5]], [[0.0, 0.0], [-1.0, 2.0]], [[1, 0], [0, 1]]])
    motion = run(method, Sampled(pid, PERIOD, Memory), starts)
    states = motion.meta["controller_state"]
    assert states.shape == (3, 2)
    for at in np.ndindex(3, 2):
        alone = run(method, Sampled(pid, PERIOD, Memory), starts[at])
        allowed = 1e-8 if method == "dop853" else 1e-13
        assert np.allclose(motion.q[(slice(None), *at)], alone.q, rtol=0, atol=allowed)
        assert len(states[at].calls) == 10
    more = run(method, Sampled(pid, PERIOD, states), motion.q[-1], motion.dq[-1])
    assert [len(x.calls) for x in more.meta["controller_state"].flat] == [20] * 6
    assert [len(x.calls) for x in states.flat] == [10] * 6  # a value is copied


def test_values_are_copied_and_no_state_is_no_argument():
    held = {"n": 0}

    def counting(t, q, dq, state):
        state["n"] += 1
        return -q * state["n"]

    law = Sampled(counting, PERIOD, held)
    first, second = run("rk4", law), run("rk4", law)
    assert held == {"n": 0} and np.array_equal(first.q, second.q)
    assert first.meta["controller_state"] == {"n": 10}
    calls = []
    motion = run("rk4", Sampled(lambda t, q, dq: calls.append(t) or -q, PERIOD))
    assert len(calls) == 10 and "controller_state" not in motion.meta


def test_rejected_steps_and_stiff_friction_do_not_call_it():
    """Dry friction that holds and lets go, and an error allowed that rejects steps."""
    names = ROBOT.model.joint_names
    rubbing = ROBOT.with_friction({name: kt.Friction(0.1, 2.0) for name in names})
    for method in ("dop853", "semi_implicit_euler"):
        motion = run(method, Sampled(pid, PERIOD, Memory), robot=rubbing, q0=Q0)
        assert motion.meta["controller_state"].calls == [k * PERIOD for k in range(10)]
        q, _ = by_hand(method, pid, Memory(), robot=rubbing)
        assert np.allclose(motion.q, q, rtol=0, atol=1e-7)
    bang = Sampled(lambda t, q, dq, s: s.calls.append(t) or 50 * np.sign(GOAL - q), PERIOD, Memory)
    motion = run("dop853", bang, rtol=1e-12, atol=1e-13, max_step=0.05)
    assert motion.meta["rejected"] > 0
    assert motion.meta["controller_state"].calls == [k * PERIOD for k in range(10)]


def test_events_are_found_and_end_a_run_before_the_next_sample():
    crossing = event(lambda t, q, dq: q[0] - 0.25, terminal=True, name="there")
    motion = run("dop853", Sampled(pid, PERIOD, Memory), duration=1.0, events=[crossing])
    end = motion.meta["ended"]
    calls = motion.meta["controller_state"].calls
    assert calls == [k * PERIOD for k in range(len(calls))]
    assert calls[-1] < end <= calls[-1] + PERIOD
    assert motion.q[-1, 0] == pytest.approx(0.25)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_references_wrenches_and_other_forces_act_as_well(method):
    def follow(t, q, dq, state, goal, *rates):
        return 20 * (goal - q) - 3 * dq

    def goal(t):
        return GOAL * t

    F = ROBOT.wrenches({ROBOT.model.tool: [0, 0, 0.5, 1.0, 0, 0]})
    more = {"F_ext": F, "tau": lambda t, q, dq: -dq}
    motion = run(method, Sampled(follow, PERIOD, Memory, goal), **more)
    same = run(method, Sampled(lambda t, q, dq: follow(t, q, dq, 0, GOAL * t), PERIOD), **more)
    assert np.allclose(motion.q, same.q, rtol=0, atol=1e-12)
    bare = run(method, Sampled(lambda t, q, dq: follow(t, q, dq, 0, GOAL * t), PERIOD))
    assert abs(motion.q - bare.q).max() > 1e-4
    planned = run(method, PD(GOAL, 20.0, 3.0))
    traced = run(method, Sampled(follow, PERIOD, Memory, planned))
    assert abs(traced.q - same.q).max() > 1e-4


def test_a_fast_sample_time_comes_close_to_the_continuous_law():
    def law(t, q, dq, z):
        return 20 * (GOAL - q) - 3 * dq + 30 * z, GOAL - q

    exact = run("dop853", Stateful(law, np.zeros(2)), rtol=1e-11, atol=1e-12).q[-1]
    errors = []
    for period in (0.005, 0.0025, 0.00125):

        def digital(t, q, dq, state, period=period):
            tau = 20 * (GOAL - q) - 3 * dq + 30 * state.z
            state.z = state.z + period * (GOAL - q)
            return tau

        errors.append(abs(run("dop853", Sampled(digital, period, Memory)).q[-1] - exact).max())
    ratios = np.array(errors[:-1]) / errors[1:]
    assert np.allclose(ratios, 2, atol=0.2)  # of first order


def test_what_it_cannot_be_is_refused():
    with pytest.raises(InputError, match="expected a function"):
        Sampled(3, 0.01)
    with pytest.raises(InputError, match="dt of Sampled"):
        Sampled(pid, -1.0)
    with pytest.raises(
        InputError, match=r"0\.003 s, which is not a whole number of steps of 0\.002"
    ):
        run("rk4", Sampled(pid, 0.003, Memory))
    with pytest.raises(InputError, match="not a whole number"):
        run("rk4", Sampled(pid, 0.001, Memory))
    with pytest.raises(InputError, match="the motion has no derivative"):
        ROBOT.sensitivities(Q0, duration=0.1, controller=Sampled(pid, PERIOD, Memory))
    with pytest.raises(InputError, match="call the function itself"):
        step_by_step(Sampled(pid, PERIOD, Memory), ROBOT)(0.0, Q0, Q0)
    with pytest.raises(ShapeError, match=r"at t = 0 s returned shape \(1,\); expected \(2,\)"):
        run("rk4", Sampled(lambda t, q, dq: q[:1], PERIOD))
    with pytest.raises(InputError, match="returned nan"):
        run("rk4", Sampled(lambda t, q, dq: q * np.nan, PERIOD))
    with pytest.raises(InputError, match="writes into an array"):
        run("rk4", Sampled(lambda t, q, dq: q.sort(), PERIOD))
    batch = run("rk4", None, np.zeros((3, 2)), tau=signal([0.0], [[0.0, 0.0]]))
    with pytest.raises(ShapeError, match="reference"):
        run("rk4", Sampled(lambda t, q, dq, a, b, c: a, PERIOD, reference=batch))


def test_names_of_joints_order_the_forces():
    one, two = ROBOT.model.dof_names
    named = run("rk4", Sampled(lambda t, q, dq: {two: -2.0, one: 1.0}, PERIOD))
    assert np.array_equal(named.tau[0], [1.0, -2.0])


def test_too_many_samples_and_a_state_that_cannot_be_copied_are_refused():
    with pytest.raises(InputError, match=r"999,999,999 times.*at most 1,000,000"):
        ROBOT.simulate(Q0, duration=1.0, controller=Sampled(lambda t, q, dq: -q, 1e-9))
    with pytest.raises(InputError, match=r"cannot be copied.*function without arguments"):
        run("rk4", Sampled(lambda t, q, dq, lock: -q, PERIOD, threading.Lock()))
