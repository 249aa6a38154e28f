"""What can be compiled, and what is refused before the work begins."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.dynamics.forward_dynamics import check_inertia
from kinetree.dynamics.quantities import DECLARED
from kinetree.errors import ModelError, SingularityError


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


def ghost(armature=0.0):
    """A hand without mass on an arm with mass."""
    builder = kt.Builder("ghost").link("base").link("arm", 1, (0, 0, 1)).link("hand")
    builder.joint("shoulder", "revolute", "base", "arm", axis=(1, 0, 0))
    builder.joint("wrist", "revolute", "arm", "hand", axis=(0, 1, 0), armature=armature)
    return builder.build()


def test_a_singular_mass_matrix_names_the_joint_and_its_link():
    with pytest.raises(
        SingularityError, match=r"joint 'wrist', which moves link 'hand', is 0 .* armature"
    ):
        ghost().compile("forward_dynamics")
    with pytest.raises(SingularityError, match="joint 'wrist'"):
        ghost().compile("forward_dynamics", wrenches=True)
    with pytest.raises(SingularityError, match="joint 'wrist'"):
        check_inertia(ghost().model)
    assert ghost().compile("inverse_dynamics")([0, 0], [0, 0], [0, 0]).shape == (2,)
    assert np.isfinite(ghost(armature=0.1).forward_dynamics([1, 1], [1, 1], [1, 1])).all()


def test_a_mass_matrix_that_is_singular_at_every_angle_names_a_joint():
    """A point mass on three axes through one point: no entry of M is zero, but two would do."""
    builder = kt.Builder("wrist").link("base").link("a").link("b")
    builder.link("c", 1, (0.3, 0.2, 0.5))
    builder.joint("yaw", "revolute", "base", "a", axis=(0, 0, 1))
    builder.joint("pitch", "revolute", "a", "b", axis=(0, 1, 0))
    builder.joint("roll", "revolute", "b", "c", axis=(1, 0, 0))
    model = builder.build_model()
    with pytest.raises(SingularityError, match="joint 'yaw'"):
        kt.Robot(model).compile("forward_dynamics")
    assert np.linalg.matrix_rank(kt.Robot(model).compile("mass_matrix")([0.4, 0.5, 0.6])) == 2


def test_symbols_and_long_numbers_are_sent_to_the_algorithms(robot):
    sympy = pytest.importorskip("sympy")
    mpmath = pytest.importorskip("mpmath")
    g = sympy.Symbol("g")
    with pytest.raises(ModelError, match=r"gravity of 'planar 2R' has -g \(.*\.dynamics"):
        robot.with_gravity((0, -g, 0)).compile("inverse_dynamics")
    with pytest.raises(ModelError, match=r" of 'planar 2R' has .*\(mpf\).*astype\(float\)"):
        kt.Robot(robot.model.astype(mpmath.mpf)).compile("pose")
    again = robot.model.astype(mpmath.mpf).astype(float)
    state = [0.3, 0.4], [1.0, 2.0], [0.5, 0.6]
    assert (
        kt.Robot(again).compile("inverse_dynamics")(*state).tobytes()
        == robot.inverse_dynamics(*state).tobytes()
    )


def test_a_robot_without_joints_has_no_kernels():
    model = kt.Builder("block").link("base", 1, (0, 0, 1)).build_model()
    for name in DECLARED:
        with pytest.raises(ModelError, match=r"'block' has no joint that moves.*floating=True"):
            kt.Robot(model).compile(name)
    assert dynamics.potential_energy(model, []) == pytest.approx(9.81)
