"""Single behaviours of forward dynamics and of its articulated-body form."""

import numpy as np
import pytest

from kinetree import Builder, robots
from kinetree import algorithms as kt
from kinetree.files.description import Mimic, Rotor
from kinetree.model import random_body, random_direction
from robot_states import EPS, random_state, relative

WAYS = (
    kt.forward_dynamics,
    kt.forward_dynamics_by_articulated_bodies,
    kt.forward_dynamics_by_inverse_dynamics,
)


@pytest.mark.parametrize("way", WAYS)
def test_masses_on_level_rods_fall_freely(way):
    """Straight out, released: both masses fall freely, so the lower rod does not turn in {s}."""
    model = robots.double_pendulum().model
    ddq = way(model, [-np.pi / 2, 0], [0, 0], [0, 0])
    assert ddq == pytest.approx([9.81, -9.81], rel=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_wrenches_push_the_links(way):
    model = robots.cart_pole(m_cart=2, m_pole=1).model.with_gravity((0, 0, 0))
    onto = np.zeros((2, 6))
    onto[0, 3] = 6  # onto the cart, along the rail
    held = way(model, [0, np.pi / 2], [0, 0], [0, 0], onto)
    assert held[0] == pytest.approx(6 / 3)  # the pole lies along the rail and just follows


TREE = {"a": "base", "b": "a", "c": "a", "d": "c"}  # link: parent
FAR = {"a": "d", "b": "d", "c": "b", "d": "a"}  # neither parent nor own: ties branches together
OWN = {name: name for name in TREE}


@pytest.mark.parametrize("carrier", [TREE, FAR, OWN], ids=["parent", "far", "own"])
@pytest.mark.parametrize("seed", range(5))
def test_rotors_on_any_link_are_honoured(seed, carrier):
    rng = np.random.default_rng(seed)
    builder = Builder().link("base")
    for name, parent in TREE.items():
        rotor = Rotor(1e-3, float(rng.uniform(-20, 20)), random_direction(rng), carrier[name])
        builder.link(name, *random_body(rng))
        builder.joint(f"j{name}", "revolute", parent, name, at=rng.normal(size=3), rotor=rotor)
    model = builder.frame("tool", "d", tool=True).build_model()
    x = random_state(model, seed)
    slack = 100 * EPS * np.linalg.cond(kt.mass_matrix(model, x.q))
    tau = kt.inverse_dynamics(model, *x.motion, **x.wrenches)
    for way in WAYS:
        assert relative(way(model, x.q, x.dq, tau, **x.wrenches), x.ddq) < slack
    for name in kt.FORMULATIONS:
        other = kt.inverse_dynamics(model, *x.motion, **x.wrenches, formulation=name)
        assert relative(other, tau) < 100 * EPS


def test_articulated_bodies_take_joints_that_share_a_degree_of_freedom_together():
    builder = Builder().link("base").link("a", 1, (1, 0, 0)).link("b", 1, (1, 0, 0))
    builder.joint("ja", "revolute", "base", "a")
    builder.joint("jb", "revolute", "base", "b", mimic=Mimic("ja", -2.0))
    model = builder.build_model()
    assert kt.forward_dynamics_by_articulated_bodies(model, [0.1], [1], [3]) == pytest.approx(
        kt.forward_dynamics(model, [0.1], [1], [3])
    )
