"""Compiled simulations are remembered by what laws compute, not by which objects they are."""

from dataclasses import dataclass

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from spacing import by

ROBOT = kt.robots.planar_2r()
Q0, DQ0 = np.array([0.3, -0.4]), np.array([0.5, 0.1])
GOAL = np.array([0.1, 0.2])
METHODS = ("DOP853", "rk4")
SOFT, STIFF = 5.0, 60.0


def run(method, robot=ROBOT, **acting):
    steps = by(method, 0.05 if method == "DOP853" else 0.005)
    return robot.simulate(Q0, DQ0, duration=0.2, limits="ignore", **steps, **acting)


def force(kp, q, dq):
    return kp * (GOAL - q) - 2.0 * dq


def expected(method, kp):
    """The same law with its gain written into it, each time a new function."""
    return run(method, tau=lambda t, q, dq: force(kp, q, dq))


def closure():
    kp = SOFT

    def law(t, q, dq):
        return force(kp, q, dq)

    def change():
        nonlocal kp
        kp = STIFF

    return {"tau": law}, change


def array_in_place():
    kp = np.full(2, SOFT)
    return {"controller": lambda t, q, dq: force(kp, q, dq)}, lambda: kp.fill(STIFF)


def own_controller():
    @dataclass
    class Own(controllers.Controller):
        kp: float = SOFT

        @property
        def signals(self):
            return {}

        def start(self, model):
            return np.zeros(0)

        def act(self, model, t, q, dq, z, given):
            return force(self.kp, q, dq), z

    law = Own()
    return {"controller": law}, lambda: setattr(law, "kp", STIFF)


def declared_state():
    gains = {"kp": SOFT}
    law = controllers.Stateful(lambda t, q, dq, z: (force(gains["kp"], q, dq), -z), [1.0])
    return {"controller": law}, lambda: gains.update(kp=STIFF)


WAYS = {x.__name__: x for x in (closure, array_in_place, own_controller, declared_state)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", WAYS)
def test_a_gain_that_was_changed_counts(way, method):
    acting, change = WAYS[way]()
    for kp in (SOFT, STIFF):
        motion = run(method, **acting)
        assert motion.meta["compiled"]
        wanted = expected(method, kp)
        assert np.allclose(motion.q, wanted.q, rtol=0, atol=1e-12), f"{way} {method} {kp}"
        assert np.allclose(motion.tau, wanted.tau, rtol=0, atol=1e-10)
        change()


def test_derivatives_are_those_of_the_law_as_it_is():
    gains = {"kp": SOFT}

    def law(t, q, dq):
        return force(gains["kp"], q, dq)

    options = {"duration": 0.1, "dt": 0.002, "limits": "ignore"}
    kt.simulate.sensitivities(ROBOT, Q0, DQ0, controller=law, **options)
    gains["kp"] = STIFF
    found = kt.simulate.sensitivities(ROBOT, Q0, DQ0, controller=law, **options).by("q0")
    e = 1e-6
    ends = [
        ROBOT.simulate(Q0 + step, DQ0, tau=lambda t, q, dq: force(STIFF, q, dq), **options)
        for step in (np.array([e, 0]), np.array([-e, 0]))
    ]
    slope = (ends[0].q[-1] - ends[1].q[-1]) / (2 * e)
    assert np.allclose(found[-1][:2, 0], slope, atol=1e-6)


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_references_and_wrenches_count_by_value_too(method):
    goal, load = np.array([0.1, 0.2]), np.zeros((2, 6))
    law = controllers.PD(lambda t: goal * (1 + t), 20.0, 2.0)
    pushed = {"controller": law, "F_ext": lambda t, q, dq: load * dq[0]}
    before = run(method, **pushed)
    goal[:], load[1, 4] = [-0.5, 0.7], 3.0
    after = run(method, **pushed)
    fresh_goal, fresh_load = goal.copy(), load.copy()
    fresh = run(
        method,
        controller=controllers.PD(lambda t: fresh_goal * (1 + t), 20.0, 2.0),
        F_ext=lambda t, q, dq: fresh_load * dq[0],
    )
    assert abs(after.q - before.q).max() > 1e-2
    assert np.allclose(after.q, fresh.q, rtol=0, atol=1e-12)


def count_loops():
    return set(ROBOT.model.memo["simulate", "loops"])


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_laws_that_compute_the_same_share_one_loop(method):
    made = [lambda t, q, dq, kp=kp: kp * (GOAL - q) - dq for kp in (7.25, 7.25)]
    run(method, tau=made[0])
    before = count_loops()
    run(method, tau=made[1])
    assert count_loops() == before
    run(method, controller=controllers.PD(GOAL, 3.125, 1.0))
    before = count_loops()
    run(method, controller=controllers.PD(GOAL + 1, 3.125, 1.0))  # the reference is fed
    assert count_loops() == before
    run(method, controller=controllers.PD(GOAL, 3.25, 1.0))
    assert count_loops() != before


def test_a_controller_of_ones_own_with_signals_and_varied_data():
    """Two signals of different sizes and the masses of each robot go to their places."""

    class Own:
        signals = {"goal": lambda t: GOAL * (1 + t), "rest": lambda t: (np.array([t]), GOAL)}  # noqa: RUF012

        def start(self, model):
            return np.zeros(0)

        def act(self, model, t, q, dq, z, given):
            (goal,), (push, other) = given["goal"], given["rest"]
            return 20 * (goal - q) - dq * model.m[0] + push[0] * other, z

    mass = ROBOT.model.m * np.array([[1.0, 1.0], [1.5, 0.5]])
    found = run("rk4", controller=Own(), parameters={"mass": mass})
    assert found.meta["compiled"]
    for row, m in enumerate(mass):
        alone = run(
            "rk4",
            tau=lambda t, q, dq, m=m: 20 * (GOAL * (1 + t) - q) - dq * m[0] + t * GOAL,
            parameters={"mass": m},
        )
        assert np.allclose(found.q[:, row], alone.q, rtol=0, atol=1e-12)
