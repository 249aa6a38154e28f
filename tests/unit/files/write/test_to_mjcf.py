"""A robot written as MJCF and read again is the same robot, and nothing is lost in silence."""

import numpy as np
import pytest
from exported_robots import limits_by_name, plain_robot, worst_difference
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Actuator, Builder, Friction, Limits, Mimic, Rotor, algorithms
from kinetree.errors import InputError, KinetreeWarning, ModelError
from kinetree.files.write import to_mjcf
from kinetree.model import build_model, random_model

mujoco = pytest.importorskip("mujoco")

from kinetree.files.description.mjcf import read_mjcf  # noqa: E402 (needs mujoco)

TYPES = ("revolute", "revolute", "prismatic", "spherical")
SEEDS = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def reread(tmp_path_factory):
    """Reads a text as a file."""
    path = tmp_path_factory.mktemp("written") / "robot.xml"

    def read(text, warnings=0):
        path.write_text(text, encoding="utf-8")
        description = read_mjcf(path)
        assert len(description.warnings) == warnings
        return build_model(description, unphysical="allow")

    return read


def pendulum(name="swing", **options):
    builder = Builder("pendulum").link("base").link("rod", 1, (0, 0, -0.5), np.eye(3) * 0.1)
    return builder.joint(name, "revolute", "base", "rod", axis=(0, 1, 0), **options).build_model()


@settings(max_examples=50)
@given(SEEDS)
def test_reading_what_was_written_gives_the_same_robot(reread, seed):
    model = plain_robot(
        seed, 1 + seed % 10, TYPES, depth_first=True, mimic=False, rotors=False
    ).with_gravity((1, 2, 3))
    found = reread(to_mjcf(model))
    assert found.coordinate_names == model.coordinate_names
    assert found.tool == model.tool and set(model.frames) <= set(found.frames)
    assert limits_by_name(found) == limits_by_name(model)
    np.testing.assert_array_equal(found.gravity, model.gravity)
    assert worst_difference(found, model, seed) < 1e-13


@settings(max_examples=30)
@given(SEEDS)
def test_trees_come_back_with_their_joints_in_another_order(reread, seed):
    model = plain_robot(seed, 10, TYPES, mimic=False, rotors=False)
    found = reread(to_mjcf(model, losses="allow"))
    assert set(found.joint_names) == set(model.joint_names)
    assert worst_difference(found, model, seed) < 1e-13


def test_numbers_without_rotation_come_back_bit_by_bit(reread):
    rng = np.random.default_rng(1)
    builder = Builder("straight").link("base", 3, (1, 2, 3), np.diag([0.1, 0.2, 0.25]))
    for i in range(4):
        I = np.diag(rng.uniform(1, 2, 3)) * 10.0 ** rng.uniform(-9, 0)
        builder.link(f"l{i}", float(rng.uniform(0.1, 3)), rng.normal(size=3), I)
        parent = "base" if i == 0 else f"l{i - 1}"
        offset, friction = float(rng.normal()), Friction(*rng.uniform(0, 1, 2))
        builder.joint(
            f"j{i}",
            "revolute",
            parent,
            f"l{i}",
            at=rng.normal(size=3),
            axis=np.eye(3)[rng.integers(3)],
            offset=offset,
            friction=friction,
            armature=float(rng.uniform(0, 1)),
        )
    model = builder.build_model()
    found = reread(to_mjcf(model))
    for key in ("M_pi", "m", "com", "I_com", "gravity"):
        np.testing.assert_array_equal(getattr(found, key), getattr(model, key))
    for a, b in zip(found.joints, model.joints, strict=True):
        assert (a.offset, a.armature, a.friction) == (b.offset, b.armature, b.friction)
    assert found.base[0] == 3 and list(found.base[1]) == [1, 2, 3]


def test_armature_of_a_free_joint_is_written_and_comes_back(reread):
    builder = Builder("ship").link("world").link("hull", 2, (0, 0.1, 0), np.eye(3))
    model = builder.joint("float", "free", "world", "hull", armature=0.25).build_model()
    assert reread(to_mjcf(model, losses="error")).joints[0].armature == 0.25


def test_a_free_base_comes_back_under_the_world(reread):
    builder = Builder("drone").link("world").link("hull", 1, (0, 0, 0.1), np.eye(3))
    builder.link("arm", 1, (0.1, 0, 0), np.eye(3)).joint("base", "free", "world", "hull")
    model = builder.joint("hinge", "revolute", "hull", "arm", point=(0, 1, 0)).build_model()
    found = reread(to_mjcf(model))
    assert found.base_name == "world" and found.coordinate_names == model.coordinate_names
    assert set(found.frames) == set(model.frames)
    assert worst_difference(found, model, 3) < 1e-14


def test_massless_links_between_joints_become_joints_of_one_body(reread):
    """A hinge, a slide and a ball at one body, each with a turned frame of its own."""
    rng = np.random.default_rng(5)
    at = random_model(5, 3).M_pi
    builder = Builder("gimbal").link("base").link("outer").link("inner")
    builder.link("ball", 1, rng.normal(size=3), np.diag([2, 2, 3]))
    builder.joint("a", "revolute", "base", "outer", at=at[0], axis=(1, 0, 0), point=(0, 1, 2))
    builder.joint("b", "prismatic", "outer", "inner", at=at[1], axis=(0, 1, 0))
    model = builder.joint("c", "spherical", "inner", "ball", at=at[2]).build_model()
    text = to_mjcf(model)
    found = reread(text)
    assert text.count("<body") == 2  # the base and the ball
    assert found.coordinate_names == model.coordinate_names
    expected = model.replace(frames={k: v for k, v in model.frames.items() if k in found.frames})
    assert worst_difference(found, expected, 5) < 1e-14


def test_flat_bodies_pass_though_rounding_breaks_their_triangle(reread):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        R = random_model(seed, 1).M_pi[0][:3, :3]
        a, b = rng.uniform(0.1, 1, 2)
        I = R @ np.diag([a, b, a + b]) @ R.T
        builder = Builder("plate").link("base").link("plate", 1, (0, 0, 0), (I + I.T) / 2)
        model = builder.joint("j", "revolute", "base", "plate").build_model()
        found = reread(to_mjcf(model))
        np.testing.assert_allclose(found.I_com, model.I_com, rtol=0, atol=2e-15)


def test_a_rotor_on_the_base_is_armature(reread):
    model = pendulum(rotor=Rotor(1e-3, 30), armature=0.5)
    found = reread(to_mjcf(model))
    assert found.joints[0].armature == 0.5 + 1e-3 * 30 * 30
    assert worst_difference(found, model, 1) < 1e-15


def test_mimic_joints_are_equality_constraints():
    builder = Builder("pair").link("base").link("a", 1, I_com=np.eye(3))
    builder.link("b", 1, I_com=np.eye(3)).joint("ja", "revolute", "base", "a", offset=0.3)
    mimic = Mimic("ja", 2.0, 0.5)
    model = builder.joint("jb", "revolute", "a", "b", axis=(1, 0, 0), mimic=mimic).build_model()
    with pytest.warns(KinetreeWarning, match="joint 'jb' follows 'ja' exactly"):
        text = to_mjcf(model)
    compiled = mujoco.MjModel.from_xml_string(text)
    a0, a1 = compiled.eq_data[0][:2]
    qa = 0.7
    x, ref = qa - compiled.qpos0[0], compiled.qpos0[1]
    data = mujoco.MjData(compiled)
    data.qpos[:] = [qa, ref + a0 + a1 * x]
    mujoco.mj_forward(compiled, data)
    assert abs(data.efc_pos[0]) < 1e-15
    R = algorithms.pose(model, [qa], "b")[:3, :3]
    np.testing.assert_allclose(data.body("b").xmat.reshape(3, 3), R, atol=1e-15)


LOSSES = {
    "velocity limit 5 of joint 'swing'": {"limits": Limits(velocity=5.0)},
    "limits of joint 'swing': lower = upper = 1": {"limits": Limits(1.0, 1.0)},
    "effort limit 0 of joint 'swing'": {"limits": Limits(effort=0.0)},
    "viscous friction of joint 'swing' differs": {"friction": Friction((1, 2))},
    "the friction function of joint 'swing'": {"friction": Friction(function=lambda dq: dq)},
    "rotor of joint 'swing' on 'rod'": {"rotor": Rotor(1e-3, link="rod")},
}


@pytest.mark.parametrize("text", LOSSES)
def test_what_mjcf_cannot_say_is_told_and_written_as_a_comment(reread, text):
    model = pendulum(**LOSSES[text])
    with pytest.warns(KinetreeWarning, match=text):
        written = to_mjcf(model)
    assert f"<!-- not supported by MJCF: {text}" in written
    reread(written)
    with pytest.raises(ModelError, match=rf"{text}.*losses='warn'"):
        to_mjcf(model, losses="error")


def test_an_effort_limit_is_written_for_a_joint_with_actuators(reread):
    bare = pendulum(limits=Limits(effort=8.0))
    weak = {"servo": Actuator.position("swing", 90.0, gear=2.0, force_range=(-3.0, 4.0))}
    model = bare.with_actuators(weak)
    assert limits_by_name(reread(to_mjcf(model, losses="error"))) == limits_by_name(model)
    words = "an effort limit of joint 'swing' that does not clamp its actuators .8 is written"
    strong = {"motor": Actuator.motor("swing", 5.0, control_range=(-2.0, 2.0), force_range=(-9, 9))}
    for more in ({"servo": Actuator.position("swing", 90.0)}, weak | strong):
        model = bare.with_actuators(more)
        with pytest.warns(KinetreeWarning, match=words):
            found = reread(to_mjcf(model))
        assert limits_by_name(found) == limits_by_name(model)
        assert found.joints[0].actuation == (-8, 8)
    implied = bare.with_actuators({"motor": Actuator.motor("swing", 4, control_range=(-2, 2))})
    found = reread(to_mjcf(implied, losses="error"))
    assert limits_by_name(found) == limits_by_name(implied)
    weaker = bare.with_actuators({"motor": Actuator.motor("swing", 4, control_range=(-1, 1))})
    with pytest.warns(KinetreeWarning, match="effort limit 8 of joint 'swing'"):
        assert reread(to_mjcf(weaker)).joints[0].limits.effort == 4


def test_a_joint_that_follows_a_driven_one_has_no_effort_limit_to_lose():
    builder = Builder("hand").link("base")
    builder.link("a", 1, I_com=np.eye(3)).link("b", 1, I_com=np.eye(3))
    builder.joint("ja", "revolute", "base", "a", limits=Limits(effort=8.0))
    builder.joint("jb", "revolute", "a", "b", mimic=Mimic("ja", 2.0))
    motor = Actuator.motor("ja", 4.0, control_range=(-2.0, 2.0))
    with pytest.warns(KinetreeWarning) as told:
        to_mjcf(builder.build_model().with_actuators({"motor": motor}))
    assert "'jb' follows 'ja' exactly" in str(told[0].message)
    assert "effort" not in str(told[0].message)


def test_order_tool_and_limits_of_balls_are_told(reread):
    builder = Builder("fork").link("base")
    for name in "abcd":
        builder.link(name, 1, I_com=np.eye(3))
    builder.joint("ja", "spherical", "base", "a", limits=Limits(-1, 1))
    builder.joint("jb", "revolute", "base", "b").joint("jc", "revolute", "a", "c")
    model = builder.joint("jd", "revolute", "b", "d").build_model().replace(tool="a")
    with pytest.warns(KinetreeWarning) as told:
        text = to_mjcf(model)
    for words in ("order of the joints, which becomes ja, jc, jb, jd", "the tool is 'a'"):
        assert words in str(told[0].message) and words in text
    assert "limits of joint 'ja' (spherical)" in text
    assert reread(text).joint_names == ("ja", "jc", "jb", "jd")


def test_one_end_of_a_range_may_be_open(reread):
    model = pendulum(limits=Limits(lower=-1.0, effort=3.0))
    assert limits_by_name(reread(to_mjcf(model))) == limits_by_name(model)


def test_names_are_escaped(reread):
    name = "a <b> & \"c\" 'd' \u00e9 100%s"
    builder = Builder(name).link("base").link(name, 1, I_com=np.eye(3))
    model = builder.joint(name, "revolute", "base", name).frame(f"{name}!", name).build_model()
    found = reread(to_mjcf(model))
    assert found.name == name and found.joint_names == (name,) and f"{name}!" in found.frames


def refused(type, at=None, parent="base", I=None):
    builder = Builder("odd").link("base").link("a", 1, I_com=np.eye(3))
    builder.joint("ja", "revolute", "base", "a")
    builder.link("b", None if I == 0 else 1, I_com=np.eye(3) if I is None else np.diag([I] * 3))
    return builder.joint("jb", type, parent, "b", at=(0, 0, 0) if at is None else at).build_model()


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (refused("helical"), "'jb' is helical, which MJCF does not have: MuJoCo has no screw"),
        (refused("planar"), "'jb' is planar.*two slides and a hinge"),
        (refused("free", parent="a"), "'jb' is on 'a', which moves"),
        (refused("free", at=(1, 0, 0)), "'jb' measures q from a pose other than the origin"),
        (refused("revolute", I=0), "link 'b' moves and is massless"),
        (refused("revolute", I=1e-20), "MuJoCo refuses less than 1e-15"),
    ],
)
def test_what_mujoco_does_not_have_is_refused(model, text):
    with pytest.raises(ModelError, match=text):
        to_mjcf(model)


def test_impossible_bodies_and_the_name_of_the_world_are_refused():
    builder = Builder("odd").link("base").link("a", 1, I_com=np.diag([1, 1, 3]))
    with pytest.raises(ModelError, match="larger than the sum of the others"):
        to_mjcf(builder.joint("j", "revolute", "base", "a").build_model(unphysical="allow"))
    builder = Builder("odd").link("base").link("world", 1, I_com=np.eye(3))
    with pytest.raises(ModelError, match="link 'world' of 'odd' moves"):
        to_mjcf(builder.joint("j", "revolute", "base", "world").build_model())
    with pytest.raises(InputError, match="losses is 'no'"):
        to_mjcf(pendulum(), losses="no")
