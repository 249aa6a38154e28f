"""Phi, its Jacobian and its second derivative against differences, for every kind and joint."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Couple, Hold, Loop, Rod
from kinetree.model.constrain import resolve
from kinetree.model.constraints import Constraints
from random_robots import ALL_TYPES, random_model

STEP = 1e-5


def open_model(seed):
    """A random robot with a constraint of every kind, far from closed."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, 6, types=ALL_TYPES, mimic=True)
    first, second, last = model.link_names[0], model.link_names[-2], model.link_names[-1]
    at = dynamics.pose(model, dynamics.random(model, rng), last)
    given = {
        "held": Hold(last, "pose", at),
        "pinned": Hold(second, "point", (0.1, 0.2, 0.3)),
        "hinge": Loop(first, last, "axis", "xyz"[seed % 3]),
        "table": Loop(second, "base", "plane", "xyz"[(seed + 1) % 3]),
        "weld": Loop(second, last, "pose"),
        "ball": Loop(last, first, "point"),
        "rod": Rod(first, last, 0.4),
    }
    free = [x.name for x in model.joints if x.follows is None and len(x.dofs) == 1]
    if len(free) > 1:
        given["gear"] = Couple(free[0], {free[1]: (0.5, 0.2, -0.3)}, 0.1)
    items = resolve(model, given)
    return model.replace(constraints=Constraints(given, items, (), ())), rng


@pytest.fixture(params=range(8))
def case(request):
    model, rng = open_model(request.param)
    return model, dynamics.random(model, rng), rng.normal(size=model.n)


def differences(f):
    """Derivative of order four of f(t) at 0."""
    return (8 * (f(STEP) - f(-STEP)) - (f(2 * STEP) - f(-2 * STEP))) / (12 * STEP)


def test_the_jacobian_is_the_derivative_of_the_errors(case):
    model, q, _ = case
    J = dynamics.constraint_jacobian(model, q)
    for d, v in enumerate(np.eye(model.n)):
        slope = differences(
            lambda t, v=v: dynamics.constraint_errors(model, dynamics.integrate(model, q, t * v))
        )
        assert np.abs(slope - J[:, d]).max() < 1e-7 * (1 + np.abs(J).max() ** 3)


def test_the_bias_is_the_change_of_the_jacobian_times_the_rates(case):
    model, q, dq = case

    def rate(t):
        moved = dynamics.integrate(model, q, t * dq)
        return dynamics.constraint_jacobian(model, moved) @ dq

    gamma = dynamics.constraint_bias(model, q, dq)
    assert np.abs(differences(rate) - gamma).max() < 1e-7 * (1 + np.abs(gamma).max() ** 2)


def swing(kind, axis="z"):
    """A free body that is compared with a frame of the base."""
    builder = kt.Builder("body").link("base").link("body", m=1, I_com=np.eye(3))
    robot = builder.joint("free", "free", "base", "body").build()
    given = {"loop": Loop("base", "body", kind, axis)}
    items = resolve(robot.model, given)
    return robot.model.replace(constraints=Constraints(given, items, (), ()))


def test_a_turned_frame_never_counts_as_closed():
    """Half a turn would be a false solution of an error that is the sine of the angle."""
    for kind in ("axis", "plane", "pose"):
        model = swing(kind)
        near = np.array([np.cos(1.5), np.sin(1.5), 0, 0, 0, 0, 0])  # 3 rad about x
        tree = model.replace(constraints=None)
        closed = kt.Robot.constrained(tree, {"loop": Loop("base", "body", kind)})
        found = kt.constraints.project(closed, near)
        R = dynamics.pose(model, found, "body")[:3, :3]
        assert abs(R[2, 2] - 1) < 1e-9
