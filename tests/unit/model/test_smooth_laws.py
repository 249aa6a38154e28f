"""Every smooth law of friction reaches every door from its one record."""

from dataclasses import fields

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.commands.info import document
from kinetree.files.description.friction import SMOOTH, law_numbers


@pytest.fixture(params=sorted(SMOOTH))
def rubbing(request: pytest.FixtureRequest):
    """The name of a law, the law, and a robot whose first joint has it."""
    kind = SMOOTH[request.param]
    law = kind(*(0.5 + 0.25 * k for k in range(len(fields(kind)))))
    robot = kt.robots.planar_2r()
    friction = {robot.model.joints[0].name: kt.friction.Friction(**{request.param: law})}
    return request.param, law, robot.with_friction(friction)


def test_its_force_is_zero_at_rest_odd_in_sign_and_that_of_every_backend(rubbing):
    _, law, robot = rubbing
    dq = np.array([0.7, 0.3])
    forces = robot.friction_forces(dq)
    exact = type(law)(*(mpmath.mpf(x) for x in law_numbers(law).values())).force(mpmath.mpf(0.7))
    np.testing.assert_allclose(forces, [float(exact), 0], rtol=1e-14)
    assert not robot.friction_forces(0 * dq).any() and robot.friction_forces(-dq)[0] < 0 < forces[0]
    difference = robot.inverse_dynamics([0, 0], dq, [0, 0]) - kt.robots.planar_2r(
    ).inverse_dynamics([0, 0], dq, [0, 0])  # fmt: skip
    np.testing.assert_allclose(difference, forces, rtol=1e-12, atol=1e-13)


def test_its_numbers_are_in_the_description_the_report_and_the_symbols(rubbing):
    name, law, robot = rubbing
    joint = robot.model.joints[0]
    assert getattr(joint.friction, name) == law
    assert document(robot, False)["joints"][0][name] == law_numbers(law)
    letters = {f"{x.metadata['symbol']}1" for x in fields(law)}
    tau = kt.symbolic(robot, parameters="all").tau
    assert letters <= {str(x) for x in tau.free_symbols}


def test_it_is_a_part_of_the_unfolded_torque(rubbing):
    name, _, robot = rubbing
    torque = robot.explain([0, 0], [0.7, 0.3], [0, 0]).unfold(robot.model.joints[0].name)
    (part,) = [node for node in torque.leaves() if node.name == name]
    np.testing.assert_allclose(part.value, robot.friction_forces([0.7, 0])[0], rtol=1e-14)


def test_every_number_of_every_law_has_a_symbol_of_its_own():
    symbols = [x.metadata["symbol"] for law in SMOOTH.values() for x in fields(law)]
    assert len({*symbols, "b", "f", "fs", "vs", "mu"}) == len(symbols) + 5
