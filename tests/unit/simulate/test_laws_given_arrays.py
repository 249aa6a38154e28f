"""Laws get arrays that they cannot write into, and may return the same array every time."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError
from kinetree.simulate import event
from spacing import by

ROBOT = kt.robots.planar_2r()
Q0, DQ0 = np.array([0.3, -0.4]), np.array([0.5, 0.1])
GOAL = np.array([0.1, 0.2])
METHODS = ("DOP853", "rk4")


def run(method, **options):
    steps = by(method, 0.05 if method == "DOP853" else 0.005)
    q0 = options.pop("q0", Q0)
    return ROBOT.simulate(q0, DQ0, duration=0.1, limits="ignore", **steps, **options)


def shift_in_place(t, q, dq):
    q -= GOAL
    return -10 * q - dq


def shift_by_python(t, q, dq):
    if q[0] > 1e9:  # not traceable
        return dq
    q -= GOAL
    return -10 * q - dq


def set_one_entry(t, q, dq):
    dq[0] = 0.0
    return -dq


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", [shift_in_place, shift_by_python, set_one_entry])
@pytest.mark.parametrize("role", ["tau", "controller"])
def test_writing_into_an_argument_is_refused_with_the_way_out(role, law, method):
    with pytest.raises(InputError):
        run(method, **{role: law})


def test_states_and_references_are_read_only_too():
    def of_state(t, q, dq, z):
        z += 1
        return -q, -z

    def of_reference(t, q, dq, goal):
        goal -= q
        return goal

    with pytest.raises(InputError):
        run("rk4", controller=controllers.Stateful(of_state, [0.0]))
    with pytest.raises(InputError):
        run("rk4", controller=controllers.Law(of_reference, reference=lambda t: GOAL * t))

    class Own:
        signals: dict = {}  # noqa: RUF012

        def start(self, model):
            return np.zeros(0)

        def act(self, model, t, q, dq, z, given):
            q *= 2
            return -q, z

    with pytest.raises(InputError):
        run("rk4", controller=Own())


def test_wrenches_from_a_law_are_held_to_the_same():
    def push(t, q, dq):
        q += 1
        return np.zeros((2, 6))

    with pytest.raises(InputError):
        run("rk4", F_ext=push)


@pytest.mark.parametrize("method", METHODS)
def test_a_law_may_return_the_same_buffer_for_every_rollout(method):
    kept = np.zeros(2)

    def law(t, q, dq):
        kept[:] = [float(x) for x in -10 * (q - GOAL) - dq]
        return kept

    starts = Q0 + np.array([[0.0, 0.0], [0.2, 0.1], [-0.3, 0.5]])
    clean = run(method, q0=starts, tau=lambda t, q, dq: -10 * (q - GOAL) - dq)
    found = run(method, q0=starts, tau=law)
    assert not found.meta["compiled"]
    assert np.allclose(found.q, clean.q, rtol=0, atol=1e-9)
    assert np.allclose(found.tau, clean.tau, rtol=0, atol=1e-8)


def test_arguments_are_as_they_were_after_a_run():
    q0, dq0, tau, mass = Q0.copy(), DQ0.copy(), np.ones(2), ROBOT.model.m * np.ones((3, 2))
    ROBOT.simulate(q0, dq0, tau=tau, parameters={"mass": mass}, duration=0.1, limits="ignore")
    assert np.array_equal(q0, Q0) and np.array_equal(dq0, DQ0) and (tau == 1).all()
    assert np.array_equal(mass, ROBOT.model.m * np.ones((3, 2)))


def test_what_a_law_keeps_of_its_arguments_does_not_change_the_run():
    seen = []

    def keeps(t, q, dq):
        seen.append(q)
        for x in seen[:-1]:
            assert not x.flags.writeable and not np.shares_memory(x, q)
        return -10 * q if q[0] < 1e9 else dq

    run("rk4", tau=keeps)
    assert len(seen) > 80 and len({id(x) for x in seen}) == len(seen)


def test_steps_taken_by_hand_are_held_to_the_same():
    with pytest.raises(InputError, match="'shift_in_place' writes into"):
        controllers.step_by_step(shift_in_place, ROBOT)
    by_hand = controllers.step_by_step(lambda t, q, dq: -q if q[0] < 9 else dq, ROBOT)
    states = np.arange(12.0).reshape(3, 2, 2)
    tau, dz = by_hand(0.0, states, np.zeros(2))
    assert np.array_equal(tau[0], -states[0]) and (tau[2, 1] == 0).all() and dz.shape == (3, 2, 0)


def test_events_may_not_write_either():
    def passes(t, q, dq):
        q -= GOAL
        return q[0]

    with pytest.raises((InputError, ValueError)):
        run("DOP853", events=event(passes))
