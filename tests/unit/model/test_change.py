"""New models from old: gravity, payload, another kind of number; the old one stays as it is.

Merged bodies differ by the rounding of one composition: the issue's 1e-12 of agreement.
"""

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import chain_data
import kinetree as kt
from kinetree import Builder, dynamics, robots
from kinetree.errors import InputError
from kinetree.friction import Friction
from kinetree.joints import Mimic
from kinetree.model import WORLD
from kinetree.spatial import compose, move_body
from random_robots import random_body, random_model

SAME = 1e-12


def changed(model, method, *args, **named):
    """The model of a robot that a method made from another."""
    return getattr(kt.Robot(model), method)(*args, **named).model


seeds = st.integers(0, 10**6)


@settings(max_examples=25)
@given(seeds, st.integers(1, 6))
def test_a_payload_is_a_body_merged_into_its_link(seed, n):
    data = chain_data.random_chain(seed, n)
    body = random_body(np.random.default_rng(seed))
    m, com, I_com = body
    bodies = [*data.bodies[:-1], compose(data.bodies[-1], move_body(*body, data.M_pi[-1]))]
    merged = chain_data.ChainData(**(vars(data) | {"bodies": bodies}))
    loaded = changed(chain_data.by_builder(data), "with_payload", m, com, I_com)
    assert chain_data.difference(chain_data.by_builder(merged), loaded, seed) < SAME


@settings(max_examples=25)
@given(seeds)
def test_a_payload_may_hang_on_any_frame(seed):
    """Its weight is felt where it hangs: g changes by -J^T of the weight, at any frame."""
    model = random_model(seed, 5)
    q = np.random.default_rng(seed).normal(size=5)
    for frame in model.frames:
        R_sf = dynamics.pose(model, q, frame)[:3, :3]
        J = dynamics.body_jacobian(model, q, frame)
        weight = np.concatenate([np.zeros(3), R_sf.T @ (2.5 * model.gravity[3:])])
        g = dynamics.gravity_forces(model, q)
        found = dynamics.gravity_forces(changed(model, "with_payload", 2.5, frame=frame), q)
        assert np.allclose(found, g - J.T @ weight, rtol=0, atol=SAME * max(1, np.abs(g).max()))


def test_payloads_of_a_batch_are_those_of_robots_one_by_one():
    """Also with axes that broadcast, on a frame that is turned and shifted in its link."""
    robot = robots.panda()
    rng = np.random.default_rng(4)
    q, m, com = rng.uniform(-1, 1, 7), rng.uniform(0, 3, (2, 1)), rng.uniform(-0.1, 0.1, (3, 3))
    I_com = np.diag([0.004, 0.003, 0.002])
    for frame in (None, "panda_link5"):
        data = kt.simulate.payload_parameters(robot, m, com, I_com, frame)
        run = robot.simulate(q, duration=0.1, tau=np.zeros(7), parameters=data, limits="ignore")
        for a, b in np.ndindex(2, 3):
            loaded = robot.with_payload(m[a, 0], com[b], I_com, frame)
            assert np.array_equal(data["mass"][a, b], loaded.model.m)
            assert np.array_equal(data["com"][a, b], loaded.model.com)
            assert np.array_equal(data["inertia"][a, b], loaded.model.I_com)
            alone = loaded.simulate(q, duration=0.1, tau=np.zeros(7), limits="ignore")
            assert np.allclose(run.q[:, a, b], alone.q, rtol=0, atol=1e-9)
    step = robot.compile("step_rk4", free=list(data))
    assert step(q, q, q, 1e-3, *data.values())[0].shape == (2, 3, 7)


def test_a_payload_on_the_base_changes_the_base_alone():
    model = random_model(3, 4)
    loaded = changed(model, "with_payload", 2.0, (0, 0, 1), frame="base")
    assert model.frames["base"].link == WORLD
    assert loaded.base[0] == pytest.approx(model.base[0] + 2, rel=1e-15)
    assert np.array_equal(loaded.G, model.G)


@given(seeds, st.tuples(*[st.floats(-20, 20)] * 3))
def test_gravity_acts_along_the_given_vector(seed, gravity):
    model = random_model(seed % 50, 4)
    q = np.random.default_rng(seed).normal(size=4)
    found = dynamics.potential_energy(changed(model, "with_gravity", gravity), q)
    mass, centre = dynamics.total_mass(model), dynamics.center_of_mass(model, q)
    size = mass * (1 + np.abs(gravity).max()) * (1 + np.abs(centre).max())
    assert abs(found + mass * centre @ np.array(gravity)) <= 64 * np.finfo(float).eps * size


def test_changes_leave_the_old_model_alone():
    model = random_model(1, 3)
    before = model.m.copy(), model.gravity.copy()
    (
        changed(model, "with_payload", 3.0),
        changed(model, "with_gravity", (0, 0, 0)),
        model.astype(mpmath.mpf),
    )
    assert np.array_equal(model.m, before[0]) and np.array_equal(model.gravity, before[1])


@settings(max_examples=10)
@given(seeds)
def test_another_kind_of_number_is_the_same_robot(seed):
    """Fifty digits and float64 agree to rounding, drives and rotors included."""
    model = random_model(seed, 4)
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, 4))
    with mpmath.workdps(50):
        precise = model.astype(mpmath.mpf)
        state = [np.array([mpmath.mpf(x) for x in v]) for v in (q, dq, ddq)]
        tau = dynamics.inverse_dynamics(precise, *state)
        assert all(isinstance(x, mpmath.mpf) for x in tau)
        error = np.abs(np.array(tau - dynamics.inverse_dynamics(model, q, dq, ddq), float)).max()
    assert error <= SAME * float(max(abs(x) for x in tau))


def test_every_number_is_converted():
    model = random_model(5, 6).astype(lambda x: sympy.Rational(float(x)))
    joint = model.joints[0]
    numbers = [
        *model.M_pi.flat, *model.m, *model.com.flat, *model.I_com.flat, *model.gravity,
        joint.armature, *joint.friction.viscous, *joint.friction.coulomb, *joint.screw,
        model.base[0], *model.base[1], *model.frames["tool"].T_if.flat,
        *(x for rotor in model.rotors for x in (rotor.inertia, rotor.ratio, *rotor.s)),
    ]  # fmt: skip
    assert model.rotors and all(isinstance(x, sympy.Rational) for x in numbers)


def test_floats_stay_an_array_of_floats():
    model = random_model(1, 3)
    assert model.astype(float).M_pi.dtype == np.float64
    assert chain_data.difference(model, model.astype(float)) == 0


def test_friction_is_given_to_the_joints_that_are_named():
    model = random_model(3, 3)
    name = model.joint_names[1]
    rubbed = changed(model, "with_friction", {name: Friction((2.0, 3.0), 0.5)})
    dq = np.array([1.0, -2.0, 3.0])
    more = dynamics.friction_forces(rubbed, dq) - dynamics.friction_forces(
        changed(model, "with_friction", {name: Friction()}), dq
    )
    np.testing.assert_array_equal(more, [0, -2.0 * 3.0 - 0.5, 0])
    assert rubbed.joints[0].friction == model.joints[0].friction


def test_a_joint_that_follows_another_can_have_friction():
    builder = Builder("fingers").link("base").link("a", 1).link("b", 1)
    builder.joint("lead", "revolute", "base", "a")
    builder.joint("follow", "revolute", "a", "b", mimic=Mimic("lead", 2.0))
    model = changed(builder.build_model(), "with_friction", {"follow": Friction(3.0)})
    # it turns at 2 dq and its force does twice the work on the one it follows
    np.testing.assert_array_equal(dynamics.friction_forces(model, np.array([1.0])), [12.0])


def test_one_friction_is_that_of_all_joints_but_free_ones():
    robot = robots.quadruped().with_friction(Friction(2.0))
    dq = np.ones(robot.n)
    np.testing.assert_array_equal(robot.friction_forces(dq), [0.0] * 6 + [2.0] * (robot.n - 6))
    with pytest.raises(InputError, match=r"expected Friction\(\.\.\.\), of all joints alike"):
        robot.with_friction(1.0)
