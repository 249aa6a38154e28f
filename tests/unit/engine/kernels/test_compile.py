"""What can be compiled, and what is refused before the work begins."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import Friction, Rotor, algorithms
from kinetree.algorithms.forward_dynamics import check_inertia
from kinetree.algorithms.quantities import QUANTITIES
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.errors import ModelError, NameLookupError, SingularityError
from kinetree.model import random_model


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


def ghost(armature=0.0):
    """A hand without mass on an arm with mass."""
    builder = kt.Builder("ghost").link("base").link("arm", 1, (0, 0, 1)).link("hand")
    builder.joint("shoulder", "revolute", "base", "arm", axis=(1, 0, 0))
    builder.joint("wrist", "revolute", "arm", "hand", axis=(0, 1, 0), armature=armature)
    return builder.build()


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_kernel_says_what_it_is(robot, name):
    kernel = compile_kernel(robot.model, name)
    quantity = QUANTITIES[name]
    assert kernel.name == name
    assert tuple(port.name for port in kernel.graph.inputs) == quantity.inputs
    assert kernel.graph.outputs[0].dims == quantity.results[0].axes
    assert kernel.signature.endswith(f"->({','.join(quantity.results[0].axes)})")
    assert repr(robot.name) in kernel.__doc__ and kernel.__doc__.startswith(quantity.title)
    assert kernel.gufunc.types == [
        f"{'f' * len(quantity.inputs)}->f",
        f"{'d' * len(quantity.inputs)}->d",
    ]


def test_coordinates_have_a_letter_of_their_own_where_they_are_more():
    model = random_model(1, 1, types=("free",))
    kernel = compile_kernel(model, "inverse_dynamics")
    assert kernel.signature == "(nq),(n),(n)->(n)"
    assert kernel.gufunc.signature == "(7),(6),(6)->(6)"


def test_unknown_frames_are_refused_with_the_known_ones(robot):
    known = ", ".join(robot.model.frames)
    with pytest.raises(NameLookupError, match=f"no frame 'hand'; its frames are {known}"):
        robot.compile("pose", frame="hand")


def test_a_singular_mass_matrix_names_the_joint_and_its_link():
    with pytest.raises(
        SingularityError, match=r"joint 'wrist', which moves link 'hand', is 0 .* armature"
    ):
        compile_kernel(ghost().model, "forward_dynamics")
    with pytest.raises(SingularityError, match="joint 'wrist'"):
        compile_kernel(ghost().model, "forward_dynamics", wrenches=True)
    with pytest.raises(SingularityError, match="joint 'wrist'"):
        check_inertia(ghost().model)
    assert compile_kernel(ghost().model, "inverse_dynamics")([0, 0], [0, 0], [0, 0]).shape == (2,)
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
        compile_kernel(model, "forward_dynamics")
    assert np.linalg.matrix_rank(compile_kernel(model, "mass_matrix")([0.4, 0.5, 0.6])) == 2


def test_symbols_and_long_numbers_are_sent_to_the_algorithms(robot):
    sympy = pytest.importorskip("sympy")
    mpmath = pytest.importorskip("mpmath")
    g = sympy.Symbol("g")
    with pytest.raises(ModelError, match=r"gravity of 'planar 2R' has -g \(.*\.algorithms"):
        robot.with_gravity((0, -g, 0)).compile("inverse_dynamics")
    with pytest.raises(ModelError, match=r"M_pi of 'planar 2R' has .*\(mpf\).*astype\(float\)"):
        compile_kernel(robot.model.astype(mpmath.mpf), "pose")
    again = robot.model.astype(mpmath.mpf).astype(float)
    state = [0.3, 0.4], [1.0, 2.0], [0.5, 0.6]
    assert (
        compile_kernel(again, "inverse_dynamics")(*state).tobytes()
        == robot.inverse_dynamics(*state).tobytes()
    )


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("armature", "drive of joint 'j'"),
        ("offset", "drive of joint 'j'"),
        ("friction", "friction of joint 'j'"),
        ("rotor", "rotor of joint 'j'"),
        ("frame", "pose of frame 'tip'"),
        ("base", "m of the base"),
    ],
)
def test_a_symbol_anywhere_in_a_robot_is_named(place, text):
    x = pytest.importorskip("sympy").Symbol("x")
    drives = {"armature": x, "offset": x, "friction": Friction(x), "rotor": Rotor(x, 10)}
    builder = kt.Builder("odd").link("base", x if place == "base" else 1).link("arm", 1, (1, 0, 0))
    drive = {place: drives[place]} if place in drives else {}
    builder.joint("j", "revolute", "base", "arm", **drive)
    builder.frame("tip", "arm", (x if place == "frame" else 1, 0, 0))
    with pytest.raises(ModelError, match=rf"{text} of 'odd' has x \(Symbol\)"):
        compile_kernel(builder.build_model(), "potential_energy")


def test_a_robot_without_joints_has_no_kernels():
    model = kt.Builder("block").link("base", 1, (0, 0, 1)).build_model()
    for name in QUANTITIES:
        with pytest.raises(ModelError, match=r"'block' has no joint that moves.*floating=True"):
            compile_kernel(model, name)
    assert algorithms.potential_energy(model, []) == pytest.approx(9.81)


def test_constants_of_the_robot_are_folded(robot):
    """A planar arm needs no third dimension: its tau has fewer operations than one 6x6 product."""
    assert robot.inverse_dynamics.operations < 36
    assert (
        robot.with_gravity((0, 0, 0)).inverse_dynamics.operations
        < robot.inverse_dynamics.operations
    )


def test_robots_of_any_name_compile():
    """Names reach NumPy as bytes, also those that are no text in UTF-8."""
    builder = kt.Builder("lone \ud800 surrogate").link("base").link("arm", 1, (0, 0, 1))
    builder.joint("\udfff", "revolute", "base", "arm", axis=(0, 1, 0))
    robot = builder.build()
    np.testing.assert_allclose(robot.gravity_forces([np.pi / 2]), [-9.81])
