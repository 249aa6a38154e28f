"""Laws get t, q and dq by place, parameters are those of a robot, and their errors say where."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, KinetreeError
from kinetree.friction import Friction
from kinetree.joints import Spring
from kinetree.studies import Grid, rollouts

METHODS = ("DOP853", "rk4")


def cart(mass=2.0, inertia=0.1, stiffness=0.0, coulomb=0.0):
    """A cart on a rail without gravity."""
    builder = kt.Builder("rail", gravity=(0, 0, 0)).link("base")
    builder.link("cart", mass, I_com=np.eye(3) * inertia)
    options = {"friction": Friction(0.0, coulomb), "spring": Spring(stiffness)}
    return builder.joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), **options).build()


CART = cart()


def run(robot=CART, duration=1.0, **options):
    return robot.simulate([1.0], duration=duration, limits="ignore", **options)


WAYS = {
    "tau": lambda f: run(tau=f),
    "F_ext": lambda f: run(F_ext=f),
    "controller": lambda f: run(controller=f),
    "law": lambda f: kt.simulate.law(f, CART),
    "python": lambda f: run(tau=kt.simulate.python(f)),
    "Law": lambda f: run(controller=controllers.Law(f)),
    "Sampled": lambda f: run(controller=controllers.Sampled(f, 0.01)),
    "event": lambda f: run(events=[f]),
    "step_by_step": lambda f: controllers.step_by_step(f, CART),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_gain_in_the_place_of_dq_is_refused_with_the_way_out(way):
    def spring(t, q, gain=2.0):
        return -gain * q

    with pytest.raises(InputError):
        WAYS[way](spring)


@pytest.mark.parametrize("method", METHODS)
def test_q_and_dq_with_defaults_are_passed(method):
    def law(t, q=None, dq=None):
        return np.zeros(1) if q is None else -2 * q

    for acting in ({"tau": law}, {"controller": law}, {"tau": kt.simulate.law(law, CART)}):
        assert abs(run(method=method, **acting).q[-1, 0] - np.cos(1)) < 1e-6
    with pytest.raises(InputError, match="needs the robot"):
        kt.simulate.law(law)


@pytest.mark.parametrize("law", [lambda t, q=None: q, lambda t, *, dq=None: dq, lambda q: q])
@pytest.mark.parametrize("way", ["tau", "F_ext", "law"])
def test_a_state_that_would_be_dropped_is_refused(way, law):
    with pytest.raises(InputError):
        WAYS[way](law)


UNPHYSICAL = {
    "mass": ({"mass": -2.0}, [-2.0]),
    "springs": ({"stiffness": -5.0}, [[-5.0, 0.0]]),
    "friction": ({"coulomb": -1.0}, [[0, 0, -1.0, -1.0]]),
    "inertia": ({"inertia": -0.1}, [-0.1 * np.eye(3)]),
}


@pytest.mark.parametrize("name", UNPHYSICAL)
def test_parameters_are_refused_by_the_rules_of_a_robot(name):
    own, bad = UNPHYSICAL[name]
    with pytest.raises(KinetreeError):
        cart(**own)
    robot = cart(stiffness=5.0, coulomb=1.0)
    good = cart(stiffness=5.0, coulomb=1.0).model
    rows = {"mass": good.m, "inertia": good.I_com, "springs": [[5, -1]], "friction": [[0, 0, 1, 2]]}
    batch = np.array([rows[name], rows[name], bad], float)
    run(robot, 0.1, parameters={name: batch[:2].astype(np.float32)})
    for call in (
        lambda: run(robot, 0.1, parameters={name: bad}),
        lambda: run(robot, 0.1, parameters={name: batch}, method="rk4"),
        lambda: kt.simulate.sensitivities(
            robot, [1.0], duration=0.1, wrt="q0", parameters={name: bad}
        ),
        lambda: rollouts(robot, 1, q0=0.0, duration=0.01, parameters={name: Grid(batch)}),
    ):
        with pytest.raises(KinetreeError):
            call()
    with pytest.raises(KinetreeError, match=rf"parameter {name}\[2\]"):
        run(robot, 0.1, parameters={name: batch})


def test_numbers_of_an_unphysical_robot_are_its_own():
    builder = kt.Builder("odd").link("base").link("arm", 1.0, I_com=np.diag([1.0, 1.0, 3.0]))
    robot = builder.joint("j", "revolute", "base", "arm").build(unphysical="allow")
    run(robot, 0.1, parameters={"inertia": robot.model.I_com})
    with pytest.raises(KinetreeError):
        run(robot, 0.1, parameters={"inertia": 2 * robot.model.I_com})
