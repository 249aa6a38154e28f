"""A and B of linearize come from one kernel, with the numbers of the textbook form."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.derivatives.forward_dynamics import assemble
from kinetree.errors import ShapeError


def floating():
    """A body that floats, with an arm of two joints: quaternions in q, brackets in A."""
    return kt.load_string(
        """<robot name="glider">
          <link name="hull"><inertial><mass value="3"/>
            <inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
          <link name="arm"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>
            <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
          <joint name="hinge" type="continuous"><parent link="hull"/><child link="arm"/>
            <axis xyz="0 0.6 0.8"/></joint>
        </robot>""",
        floating=True,
    )


ROBOTS = {"planar": kt.robots.planar_2r, "floating": floating}


def state(robot, rng, *batch):
    q = np.array([robot.random(rng=rng) for _ in range(int(np.prod(batch, dtype=int)))])
    q = q.reshape(*batch, robot.nq)
    return q, rng.normal(size=(*batch, robot.n)), rng.normal(size=(*batch, robot.n))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_and_b_are_those_of_the_textbook(name):
    robot, rng = ROBOTS[name](), np.random.default_rng(1)
    for _ in range(3):
        given = state(robot, rng)
        F_ext = rng.normal(size=(len(robot.model.links), 6))
        for loads in ((), (F_ext,)):
            found = robot.linearize(*given, *loads)
            expected = kt.algorithms.linearize(robot.model, *given, *loads)
            np.testing.assert_allclose(found.A, expected.A, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found.B, expected.B, rtol=1e-9, atol=1e-9)
            assert found.A.dtype == found.B.dtype == np.float64 and found.dt is None


@pytest.mark.parametrize("name", ROBOTS)
def test_the_blocks_have_the_bits_of_the_derivatives(name):
    robot, rng = ROBOTS[name](), np.random.default_rng(2)
    for batch in ((), (1,), (3,), (2, 2)):
        given = state(robot, rng, *batch)
        found = robot.linearize(*given)
        expected = assemble(robot.model, given[1], *robot.forward_dynamics_derivatives(*given))
        assert np.array_equal(found.A, expected.A) and np.array_equal(found.B, expected.B)


def test_other_arguments_give_the_same_numbers():
    robot, rng = kt.robots.planar_2r(), np.random.default_rng(3)
    given = state(robot, rng)
    expected = robot.linearize(*given)
    by_name = [dict(zip(robot.joint_names, x, strict=True)) for x in given]
    for other in ([x.tolist() for x in given], by_name, [x[::-1][::-1] for x in given]):
        found = robot.linearize(*other)
        assert np.array_equal(found.A, expected.A) and np.array_equal(found.B, expected.B)
    narrow = robot.linearize(*(x.astype("f4") for x in given))
    assert narrow.B.dtype == np.float32  # computed in float32, as the derivatives are
    discrete = robot.linearize(*given, dt=0.01)
    assert np.array_equal(discrete.A, expected.discrete(0.01).A) and discrete.dt == 0.01


def test_wrong_shapes_are_named():
    robot = kt.robots.planar_2r()
    with pytest.raises(ShapeError, match="dq has shape"):
        robot.linearize(np.zeros(2), np.zeros(3), np.zeros(2))
