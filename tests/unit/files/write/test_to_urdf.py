"""A robot written as URDF and read again is the same robot, and nothing is lost in silence."""

import math
import warnings

import numpy as np
import pytest
from exported_robots import limits_by_name, plain_robot, worst_difference
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Actuator, Builder, Friction, Limits, Mimic, Rotor, algorithms, robots
from kinetree.errors import InputError, KinetreeWarning, ModelError
from kinetree.files.description.urdf import read_urdf_text
from kinetree.files.write import to_urdf
from kinetree.files.write.urdf import roll_pitch_yaw
from kinetree.model import build_model, random_model
from kinetree.spatial import exp_so3, rpy

TYPES = ("revolute", "revolute", "prismatic", "planar", "free")
SEEDS = st.integers(0, 10**6)


def reread(text):
    description = read_urdf_text(text)
    assert not description.warnings
    return build_model(description, unphysical="allow")


def pendulum(name="swing", **options):
    builder = Builder("pendulum").link("base").link("rod", 1, (0, 0, -0.5), np.eye(3) * 0.1)
    return builder.joint(name, "revolute", "base", "rod", axis=(0, 1, 0), **options).build_model()


@settings(max_examples=60)
@given(SEEDS)
def test_reading_what_was_written_gives_the_same_robot(seed):
    model = plain_robot(seed, 1 + seed % 12, TYPES)
    found = reread(to_urdf(model))
    assert found.coordinate_names == model.coordinate_names
    assert found.dof_names == model.dof_names
    assert found.tool == model.tool and set(model.frames) <= set(found.frames)
    assert {x.name: x.limits for x in found.joints} == {x.name: x.limits for x in model.joints}
    assert worst_difference(found, model, seed) < 1e-13


@settings(max_examples=30)
@given(SEEDS)
def test_numbers_without_rotation_come_back_bit_by_bit(seed):
    rng = np.random.default_rng(seed)
    builder = Builder("straight").link("base")
    for i in range(4):
        I = np.diag(rng.uniform(1, 2, 3)) * 10.0 ** rng.uniform(-9, 0)
        builder.link(f"l{i}", float(rng.uniform(0.1, 3)), rng.normal(size=3), I)
        axis = np.eye(3)[rng.integers(3)]
        parent = "base" if i == 0 else f"l{i - 1}"
        builder.joint(f"j{i}", "revolute", parent, f"l{i}", at=rng.normal(size=3), axis=axis)
    model = builder.build_model()
    found = reread(to_urdf(model))
    for key in ("M_pi", "m", "com", "I_com", "gravity"):
        np.testing.assert_array_equal(getattr(found, key), getattr(model, key))


def test_quarter_turns_come_back_exactly():
    turns = [0, math.pi / 2, math.pi, -math.pi / 2]
    for angles in ((a, b, c) for a in turns for b in turns for c in turns):
        R = np.round(rpy(*angles))
        T = np.block([[R, np.zeros((3, 1))], [np.zeros((1, 3)), 1]])
        builder = Builder("turned").link("base").link("a", 1).link("b", 1)
        builder.joint("j", "revolute", "base", "a", at=T).joint("w", "fixed", "a", "b", at=T)
        found = reread(to_urdf(builder.build_model()))
        np.testing.assert_array_equal(found.M_pi[0][:3, :3], R)
        np.testing.assert_array_equal(found.frame("b").T_if[:3, :3], R)


@settings(max_examples=200)
@given(SEEDS, st.floats(-16, 0))
def test_angles_keep_their_digits_near_a_pitch_of_ninety_degrees(seed, exponent):
    rng = np.random.default_rng(seed)
    a, c = rng.uniform(-4, 4, 2)
    for b in (math.pi / 2, -math.pi / 2):
        R = rpy(a, b, c) @ exp_so3(rng.normal(size=3) * 10**exponent)
        np.testing.assert_allclose(rpy(*roll_pitch_yaw(R)), R, rtol=0, atol=2e-15)
    R = exp_so3(rng.normal(size=3) * 3)
    np.testing.assert_allclose(rpy(*roll_pitch_yaw(R)), R, rtol=0, atol=2e-15)


def test_an_axis_that_misses_the_origin_keeps_the_name_on_the_frame():
    model = pendulum(point=(0.1, 0, 0.2))
    text = to_urdf(model)
    found = reread(text)
    assert '<link name="rod_axis"/>' in text and found.link_names == ("rod_axis",)
    assert found.tool == model.tool == "rod"
    assert worst_difference(found, model, 1) < 1e-15


def test_names_are_escaped_and_extra_names_are_new():
    name = "a <b> & \"c\" 'd' \u00e9\n"
    builder = Builder(name.strip()).link("base").link(name, 1).link("rod_axis", 1).link("rod", 1)
    builder.joint(f"{name}!", "revolute", "base", name).joint(
        "rod_axis_2_fixed", "revolute", name, "rod_axis"
    )
    builder.joint("x", "revolute", "rod_axis", "rod", point=(0, 1, 0))
    model = builder.build_model()
    found = reread(to_urdf(model))
    assert found.name == model.name and found.joint_names == model.joint_names
    assert set(model.frames) < set(found.frames)


@pytest.mark.parametrize("name", ["", "  ", "bell\a", "${name}", "x" * 1001])
def test_names_that_no_reader_takes_are_refused(name):
    with pytest.raises(ModelError, match=r"joint .* which URDF does not allow"):
        to_urdf(pendulum(name))


@pytest.mark.parametrize("type", ["helical", "spherical"])
def test_joints_that_urdf_does_not_have_are_refused(type):
    model = random_model(1, 1, types=(type,), drives=False)
    with pytest.raises(ModelError, match=f"'joint1' is {type}, which URDF does not have"):
        to_urdf(model)


LOSSES = {
    "armature 0.25 of joint 'swing'": {"armature": 0.25},
    "viscous friction of joint 'swing' differs": {"friction": Friction((1, 2))},
    "coulomb friction of joint 'swing' differs": {"friction": Friction(0, (1, 2))},
    "the friction function of joint 'swing'": {"friction": Friction(function=lambda dq: dq)},
    "rotor of joint 'swing' on 'rod'": {"rotor": Rotor(1e-3, link="rod")},
    "rotor of joint 'swing' on 'base' about 0 0 1": {"rotor": Rotor(1e-3, axis=(0, 0, 1))},
}


@pytest.mark.parametrize("text", LOSSES)
def test_what_urdf_cannot_say_is_told_and_written_as_a_comment(text):
    model = pendulum(**LOSSES[text])
    with pytest.warns(KinetreeWarning, match=text):
        written = to_urdf(model)
    assert f"<!-- not supported by URDF: {text}" in written
    reread(written)
    assert to_urdf(model, losses="allow") == written
    with pytest.raises(ModelError, match=rf"{text}.*losses='warn'"):
        to_urdf(model, losses="error")


def test_gravity_tools_and_joints_of_many_freedoms_are_told():
    model = random_model(4, 6, types=("free", "planar", "prismatic"))
    with pytest.warns(KinetreeWarning) as told:
        text = to_urdf(model.with_gravity((0, 0, -1.62)).replace(tool="link1"))
    message = str(told[0].message)
    for word in (
        "gravity 0 0 -1.62",
        "limits of joint",
        "friction of joint",
        "the tool is 'link1'",
    ):
        assert word in message and word in text
    reread(text)


def test_the_mean_of_both_directions_is_written():
    found = reread(to_urdf(pendulum(friction=Friction((1, 2), (3, 5))), losses="allow"))
    assert found.joints[0].friction.viscous == (1.5, 1.5)
    assert found.joints[0].friction.coulomb == (4, 4)


def test_hyphens_in_names_do_not_break_comments():
    text = to_urdf(pendulum("a--b-", armature=1), losses="allow")
    assert reread(text).joint_names == ("a--b-",)


def test_infinite_limits_are_written_as_a_number_that_reads_back_as_none():
    builder = Builder("endless").link("base").link("a", 1).link("b", 1).link("c", 1).link("d", 1)
    builder.joint("slide", "prismatic", "base", "a").joint("turn", "revolute", "a", "b")
    builder.joint("half", "revolute", "b", "c", limits=Limits(0, 1))
    builder.joint("up", "revolute", "c", "d", limits=Limits(lower=-1, effort=3))
    model = builder.build_model()
    text = to_urdf(model, losses="error")
    assert text.count("<limit") == 3 and text.count('type="continuous"') == 1
    assert limits_by_name(reread(text)) == limits_by_name(model)
    notes = [note.text for note in read_urdf_text(text).notes]
    assert "limits of 1e+30 and beyond are taken as none (8 times)" in notes
    found = limits_by_name(reread(to_urdf(model, infinity=1e9)))
    assert found["slide"] == Limits(-1e9, 1e9, 1e9, 1e9)
    assert found["turn"] == Limits() and found["half"] == Limits(0, 1, 1e9, 1e9)
    for wrong in (math.inf, math.nan, 0, -1e9, None):
        with pytest.raises(InputError, match=f"infinity is {wrong}"):
            to_urdf(model, infinity=wrong)


def test_joints_that_follow_have_no_limits_of_their_own():
    builder = Builder("fingers").link("base").link("a", 1).link("b", 1).link("c", 1)
    builder.joint("first", "revolute", "base", "a", limits=Limits(0, 1, 2, 3))
    builder.joint("second", "prismatic", "a", "b", mimic=Mimic("first", 0.5, -0.1))
    builder.joint("third", "revolute", "b", "c", mimic=Mimic("first"))
    model = builder.build_model()
    found = reread(to_urdf(model, losses="error"))
    assert [x.limits for x in found.joints] == [Limits(0, 1, 2, 3), Limits(), Limits()]
    assert not [x.text for x in found.notes if "mimic" in x.text]


def test_symbols_and_negative_masses_are_refused():
    import sympy

    m = sympy.Symbol("m")
    builder = Builder("symbolic").link("base").link("a", m).joint("j", "revolute", "base", "a")
    with pytest.raises(InputError, match="m of 'symbolic' has symbols"):
        to_urdf(builder.build_model())
    swing = pendulum()
    with pytest.raises(InputError, match=r"drive of joint .* has symbols, such as m;"):
        to_urdf(pendulum(armature=m))
    with pytest.raises(ModelError, match="'rod' has the mass -1 kg"):
        to_urdf(swing.replace(m=-swing.m))
    with pytest.raises(InputError, match="losses is 'perhaps'"):
        to_urdf(swing, losses="perhaps")


def test_many_digits_are_rounded_to_floats(fifty_digits):
    import mpmath

    model = plain_robot(3, 4)
    assert to_urdf(model.astype(mpmath.mpf)) == to_urdf(model)


def test_a_stone_and_a_built_in_robot():
    stone = Builder("stone").link("rock", 2, (0, 0, 1)).build_model()
    assert algorithms.total_mass(reread(to_urdf(stone))) == 2
    puma = robots.puma_560().model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        found = build_model(read_urdf_text(to_urdf(puma)), unphysical="allow")
    assert found.joint_names == puma.joint_names


def test_losses_name_the_whole_law_of_an_actuator():
    servo = Actuator.integrated_velocity(
        "swing", 9.0, delay=0.25, control_range=(-2.0, 2.0), activation_range=(-1.0, 1.5)
    )
    slow = Actuator.position("swing", 9.0, 3.0, gear=2.0, time_constant=0.125, force_range=(-4, 5))
    with pytest.warns(KinetreeWarning) as told:
        text = to_urdf(pendulum().with_actuators({"servo": servo, "slow": slow}))
    for words in (
        "actuator 'servo' on swing: gain 9 0 0, bias 0 -9 0, dynamics integrator, delay 0.25 s, "
        "control range -2 to 2, activation range -1 to 1.5",
        "actuator 'slow' on 2 swing: gain 9 0 0, bias 0 -9 -3, dynamics filterexact, "
        "time constant 0.125 s, force range -4 to 5",
    ):
        assert words in str(told[0].message) and words.split(",")[0] in text
