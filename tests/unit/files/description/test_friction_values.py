"""A friction function is the value it was when it was given, in every quantity and for ever."""

import copy
import multiprocessing as mp
import pickle
from dataclasses import replace
from functools import partial

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.friction import Friction
from kinetree.scalars import tanh

ARM = kt.robots.planar_2r()
Q, DQ, DDQ = np.array([0.3, -0.4]), np.array([0.5, -0.7]), np.array([0.2, 0.9])
OLD, NEW = 1.5, 40.0


def force(k, dq):
    return k * tanh(2 * dq) + 0.25 * dq


class Held:
    def __init__(self):
        self.k = OLD

    def __call__(self, dq):
        return force(self.k, dq)


def by_closure():
    k = OLD

    def law(dq):
        return force(k, dq)

    def change():
        nonlocal k
        k = NEW

    return law, change


def by_default():
    def law(dq, k=OLD):
        return force(k, dq)

    return law, lambda: setattr(law, "__defaults__", (NEW,))


def by_replaced_method():
    class Own(Held):
        pass

    law = Own()
    return lambda dq: law(dq), lambda: setattr(Own, "__call__", lambda self, dq: NEW * dq)


def by_array():
    kept = np.full(2, OLD)
    return lambda dq: force(kept[1], dq), lambda: kept.fill(NEW)


WAYS = {
    "closure": by_closure,
    "default": by_default,
    "replaced method": by_replaced_method,
    "callable object": lambda: (x := Held(), lambda: setattr(x, "k", NEW)),
    "array": by_array,
}


def rubbing(function):
    return ARM.with_friction({ARM.model.joint_names[0]: Friction(0.1, function=function)})


def quantities(robot):
    """Friction of the first joint by all doors."""
    tau = robot.inverse_dynamics(Q, DQ, DDQ)
    found = {
        "inverse_dynamics": (tau - ARM.inverse_dynamics(Q, DQ, DDQ))[0],
        "friction_forces": robot.friction_forces(DQ)[0],
        "dynamics": dynamics.friction_forces(robot.model, DQ)[0],
        "bias_forces": (robot.bias_forces(Q, DQ) - ARM.bias_forces(Q, DQ))[0],
        "simulate": robot.simulate(Q, DQ, tau=tau, duration=1e-3, method="rk4", dt=1e-3).ddq[0, 0],
        "forward_dynamics": robot.forward_dynamics(Q, DQ, tau)[0],
        "explain": float(robot.explain(Q, DQ, DDQ).tau[0]),
    }
    with mpmath.workdps(50):
        exact = dynamics.friction_forces(robot.model, np.array([mpmath.mpf(x) for x in DQ]))
        found["50 digits"] = float(exact[0])
    return found


def expected():
    b = 0.1 * DQ[0] + force(OLD, DQ[0])
    wanted = dict.fromkeys(("inverse_dynamics", "friction_forces", "dynamics", "50 digits"), b)
    wanted["bias_forces"] = b
    wanted |= {"simulate": DDQ[0], "forward_dynamics": DDQ[0]}
    return wanted


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_changes_later_has_no_effect_on_any_quantity(way):
    law, change = WAYS[way]()
    robot = rubbing(law)
    robot.inverse_dynamics(Q, DQ, DDQ)  # one kernel before, the others after the change
    change()
    found = quantities(robot)
    tau = robot.inverse_dynamics(Q, DQ, DDQ)[0]
    assert found.pop("explain") == pytest.approx(tau, abs=1e-12)
    assert found == pytest.approx(expected(), rel=1e-9)
    slope = robot.inverse_dynamics_derivatives(Q, DQ, DDQ)[1][0, 0]
    assert slope == pytest.approx(rubbing(partial(force, OLD)).inverse_dynamics_derivatives(
        Q, DQ, DDQ)[1][0, 0], rel=1e-12)  # fmt: skip


def test_friction_compares_and_hashes_by_what_it_computes():
    def law(dq):
        return OLD * tanh(2 * dq) + 0.25 * dq

    ways = [law, lambda dq: force(1.5, dq), partial(force, OLD), Held()]
    records = [Friction(0.1, function=way) for way in ways]
    assert len(set(records)) == 1
    assert records[0] != Friction(0.1, function=partial(force, NEW))
    assert records[0] != Friction(0.1) and records[0].function != 3
    assert replace(records[0], viscous=2).function is records[0].function
    assert copy.deepcopy(records[0]) == records[0] == pickle.loads(pickle.dumps(records[0]))
    assert repr(records[0].function) == "<law law(dq), 4 operations>"


def friction_there(robot):
    return robot.friction_forces(DQ)


def test_robots_with_functions_go_to_other_processes():
    robot = rubbing(partial(force, OLD))
    with mp.get_context("spawn").Pool(1) as pool:
        found = pool.apply(friction_there, [robot])
    assert np.array_equal(found, robot.friction_forces(DQ))
