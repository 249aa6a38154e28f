"""The contract with functions of the user: traced when given, pure, checked by calls alone."""

import pickle
import threading
import time
from functools import partial

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError
from kinetree.scalars import cos, sign, sin, where
from spacing import by

ROBOT = kt.robots.planar_2r()
Q0 = np.array([0.3, -0.4])
METHODS = ("euler", "semi_implicit_euler", "implicit", "rk4", "DOP853")
FREE = {"duration": 0.1, "limits": "ignore"}


def run(method="rk4", q0=Q0, **acting):
    return ROBOT.simulate(q0, **by(method, 0.01), **FREE, **acting)


# laws with a memory, each made anew: the first three cannot be traced


def late():
    kept = {"z": 0.0}

    def law(t, q, dq):
        if t > 0.05:
            kept["z"] += 0.01 * q[0]
        return -5 * q - 3 * kept["z"]

    return law


def latch():
    kept = [False]

    def law(t, q, dq):
        kept[0] = kept[0] or t > 0.05
        return -q if kept[0] else 5 - q

    return law


def switch():
    """Untouched by tracing, since float(t) refuses a traced scalar before anything is kept."""
    kept = [False]

    def law(t, q, dq):
        kept[0] = float(t) > 0.05 or kept[0]
        return -q if kept[0] else 5 - q

    return law


def integral():
    total = [0.0]

    def law(t, q, dq):
        total[0] = total[0] + 0.01 * q[0]
        return -q - total[0]

    return law


def counter():
    calls = []

    def law(t, q, dq):
        calls.append(1)
        return -q * len(calls)

    return law


def noise():
    random = np.random.default_rng(0)
    return lambda t, q, dq: -q + random.normal()


def clock():
    began = time.perf_counter()
    return lambda t, q, dq: -q * (time.perf_counter() - began)


WITH_MEMORY = (late, latch, switch, integral, counter, noise, clock)
CASES = [(make, "tau", "rk4") for make in WITH_MEMORY]
CASES += [(make, "controller", "DOP853") for make in WITH_MEMORY]
CASES += [(late, "tau", method) for method in METHODS]


@pytest.mark.parametrize(("make", "role", "method"), CASES)
def test_what_is_no_function_of_its_arguments_is_an_error_in_every_method(make, role, method):
    with pytest.raises(InputError):
        run(method, **{role: make()})


@pytest.mark.parametrize("method", ["euler", "DOP853"])
def test_pure_laws_are_never_accused(method):
    """Jumps, rest, arguments that are written, arrays returned again, and values near rounding."""
    kept = np.zeros(2)

    def own_array(t, q, dq):
        kept[:] = [float(x) for x in -q]
        return kept

    laws = [
        lambda t, q, dq: sign(q - Q0) * 1e-3,  # on the jump at the start
        lambda t, q, dq: where(t - 0.05, -q, -2 * q) + sin(100 * q),
        lambda t, q, dq: (q * 1e9 + 0.1) - q * 1e9,  # rounding of large numbers
        lambda t, q, dq: sin(q) ** 2 + cos(q) ** 2 - 1,  # nothing but rounding
        kt.simulate.python(lambda t, q, dq: sin(q) ** 2 + cos(q) ** 2 - 1),
        lambda t, q, dq: -q if t <= 0.05 else -2 * q,
        lambda t, q, dq: 0 * q,
        own_array,
    ]
    for law in laws:
        run(method, tau=law)
        run(method, controller=law)
    run(method, q0=np.zeros((3, 2)), controller=laws[1])


def test_what_another_thread_changes_is_left_alone():
    """A list keeps all entries, and random numbers are not drawn again."""
    entries, drawn, done = [], [], threading.Event()

    def law(t, q, dq):
        return -q - 0.0 * float(len(entries) >= 0)

    def work():
        while not done.is_set():
            entries.append(len(entries))
            drawn.append(np.random.uniform())
            time.sleep(1e-4)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(2):
            run("rk4", tau=law)
            run("DOP853", tau=lambda t, q, dq: law(t, q, dq) if q[0] < 9 else q)
    finally:
        done.set()
        thread.join()
    assert entries == list(range(len(entries))) and len(entries) > 10
    assert len(set(drawn)) == len(drawn)


def test_a_law_is_called_and_nothing_that_it_holds_is_touched():
    class Guarded:
        """An object that only the law may read."""

        allowed = False

        def __getattribute__(self, name):
            if name != "__class__" and not object.__getattribute__(self, "allowed"):
                raise AssertionError(f"somebody read {name}")
            return object.__getattribute__(self, name)

    held = Guarded()

    def law(t, q, dq):
        Guarded.allowed = True
        found = -q if held.allowed else q
        Guarded.allowed = False
        return found

    assert run("rk4", tau=law).meta["compiled"]


def test_one_law_given_four_ways_is_one_loop_and_one_motion():
    gain = 8.0625

    def plain(t, q, dq):
        return gain * (0.1 - q) - dq

    class Held:
        def __call__(self, t, q, dq):
            return plain(t, q, dq)

    ways = [
        plain,
        lambda t, q, dq: 8.0625 * (0.1 - q) - dq,
        partial(lambda k, t, q, dq: k * (0.1 - q) - dq, gain),
        Held(),
    ]
    first = run("rk4", controller=plain)
    loops = set(ROBOT.model.memo["simulate", "loops"])
    for law in ways:
        assert np.array_equal(run("rk4", controller=law).q, first.q)
    assert set(ROBOT.model.memo["simulate", "loops"]) == loops


def test_a_law_that_was_made_a_value_stays_what_it_is():
    gains = {"kp": 5.0}

    def function(t, q, dq):
        return gains["kp"] * (0.1 - q) - dq

    law = kt.simulate.law(function, ROBOT)
    before = {role: run("rk4", **{role: function}) for role in ("tau", "controller")}
    gains["kp"] = 50.0
    for role, motion in before.items():
        assert np.array_equal(run("rk4", **{role: law}).q, motion.q)
        assert abs(run("rk4", **{role: function}).q - motion.q).max() > 1e-3
    again = pickle.loads(pickle.dumps(law))
    assert again == law and hash(again) == hash(law) and law != kt.simulate.law(function, ROBOT)
    assert np.array_equal(law(0.0, Q0, -Q0), 5.0 * (0.1 - Q0) + Q0)
    assert kt.simulate.law(law) is law
    goal = kt.simulate.law(lambda t: Q0 * gains["kp"] * t)
    pd = controllers.PD(goal, 5.0, 1.0)
    first = run("rk4", controller=pd)
    gains["kp"] = 5.0
    assert np.array_equal(run("rk4", controller=pd).q, first.q)


def test_a_stateful_law_is_made_a_value_with_the_shape_of_its_state():
    ki = [3.0]

    def function(t, q, dq, z):
        return -q - ki[0] * z, q

    plain = run("DOP853", controller=controllers.Stateful(function, np.zeros(2)))
    law = kt.simulate.law(function, ROBOT, shapes={"z": 2})
    ki[0] = 9.0
    kept = run("DOP853", controller=controllers.Stateful(law, np.zeros(2)))
    assert np.array_equal(kept.q, plain.q)


def test_derivatives_of_functions_are_those_of_their_values():
    k = [2.0]

    def function(x):
        return k[0] * sin(x)

    first = kt.kernels.derivative(function, shapes={"x": 1})
    assert kt.kernels.derivative(lambda x: 2.0 * sin(x), shapes={"x": 1})([0.5]) == first([0.5])
    k[0] = 3.0
    assert kt.kernels.derivative(function, shapes={"x": 1})([0.5]) == pytest.approx(
        1.5 * first([0.5])
    )
    assert kt.kernels.derivative(function, shapes={"x": 1}) is kt.kernels.derivative(
        function, shapes={"x": 1}
    )
