"""SDF: values, defaults, joints and refusals, by hand and against the same robot as URDF."""

import math
import re

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.files.description.sdf import read_sdf_text
from kinetree.files.description.urdf import read_urdf_text
from kinetree.model import build_model

URDF = """<robot name="arm"><link name="world"/>
<link name="base"><inertial><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><mass value="3"/>
  <inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.25"/></inertial></link>
<link name="upper"><inertial><origin xyz="0 0.1 0.2"/><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.05"/></inertial></link>
<link name="slide"><inertial><origin rpy="0 0 1"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.025"/></inertial></link>
<link name="left"><inertial><mass value="0.2"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
<link name="right"><inertial><mass value="0.3"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
<joint name="stand" type="fixed"><parent link="world"/><child link="base"/>
  <origin xyz="0 0 0.5" rpy="0.3 0 0"/></joint>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <origin xyz="0.1 0 0.4" rpy="0 0.5 0"/><axis xyz="0 0.6 0.8"/>
  <limit lower="-1.5" upper="2" effort="40" velocity="3"/>
  <dynamics damping="0.7" friction="0.2"/></joint>
<joint name="lift" type="prismatic"><parent link="upper"/><child link="slide"/>
  <origin xyz="0 0 0.3" rpy="0 0 0.7"/><axis xyz="0 0 1"/>
  <limit lower="0" upper="0.4" effort="100" velocity="1"/></joint>
<joint name="lead" type="continuous"><parent link="slide"/><child link="left"/>
  <origin xyz="0.05 0 0"/><axis xyz="1 0 0"/></joint>
<joint name="follow" type="continuous"><parent link="slide"/><child link="right"/>
  <origin xyz="-0.05 0 0.1"/><axis xyz="1 0 0"/>
  <mimic joint="lead" multiplier="-0.5" offset="0.2"/></joint>
</robot>"""


def inertial(m, I, pose=""):
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = "".join(f"<{k}>{x}</{k}>" for k, x in zip(names, I, strict=False))
    pose = f"<pose>{pose}</pose>" if pose else ""
    return f"<inertial>{pose}<mass>{m}</mass><inertia>{entries}</inertia></inertial>"


SDF = f"""<sdf version="1.11"><model name="arm">
<link name="base"><pose>0 0 0.5 0.3 0 0</pose>
  {inertial(3, (0.1, 0.2, 0.25, 0.01, 0.02, 0.03), "0 0 0.1 0.1 0.2 0.3")}</link>
<joint name="stand" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="shoulder" type="revolute"><pose relative_to="base">0.1 0 0.4 0 0.5 0</pose>
  <parent>base</parent><child>upper</child>
  <axis><xyz>0 0.6 0.8</xyz><limit><lower>-1.5</lower><upper>2</upper><effort>40</effort>
  <velocity>3</velocity></limit><dynamics><damping>0.7</damping><friction>0.2</friction></dynamics>
  </axis></joint>
<link name="upper"><pose relative_to="shoulder"/>{inertial(2, (0.1, 0.1, 0.05), "0 0.1 0.2 0 0 0")}
</link>
<joint name="lift" type="prismatic"><pose relative_to="upper">0 0 0.3 0 0 0.7</pose>
  <parent>upper</parent><child>slide</child>
  <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>0.4</upper><effort>100</effort>
  <velocity>1</velocity></limit></axis></joint>
<link name="slide"><pose relative_to="lift"/>{inertial(1, (0.01, 0.02, 0.025), "0 0 0 0 0 1")}
</link>
<joint name="lead" type="continuous"><pose relative_to="slide">0.05 0 0 0 0 0</pose>
  <parent>slide</parent><child>left</child><axis><xyz>1 0 0</xyz></axis></joint>
<link name="left"><pose relative_to="lead"/>{inertial(0.2, (0.001, 0.001, 0.001))}</link>
<joint name="follow" type="continuous"><pose relative_to="slide">-0.05 0 0.1 0 0 0</pose>
  <parent>slide</parent><child>right</child><axis><xyz>1 0 0</xyz>
  <mimic joint="lead"><multiplier>-0.5</multiplier><offset>0</offset><reference>0.4</reference>
  </mimic></axis></joint>
<link name="right"><pose relative_to="follow"/>{inertial(0.3, (0.001, 0.001, 0.001))}</link>
</model></sdf>"""
ONE = f"""<sdf version="1.11"><model name="m"><link name="a">{inertial(2, (1, 1, 1))}</link>
<joint name="j" type="{{type}}">{{inside}}<parent>world</parent><child>a</child>
<axis><xyz>0 0 1</xyz>{{axis}}</axis></joint>{{more}}</model></sdf>"""


def one(inside="", axis="", more="", type="revolute"):
    """A model of one joint."""
    return ONE.format(type=type, inside=inside, axis=axis, more=more)


def joint(text):
    (found,) = read_sdf_text(text).joints
    return found


def test_a_robot_is_the_same_as_sdf_and_as_urdf():
    one, two = (build_model(x) for x in (read_urdf_text(URDF), read_sdf_text(SDF)))
    assert one.joint_names == two.joint_names == ("shoulder", "lift", "lead")
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, dq, ddq = rng.normal(size=(3, 3))
        for name in ("mass_matrix", "gravity_forces", "kinetic_energy", "coriolis_matrix"):
            function = getattr(kt.algorithms, name)
            arguments = (q, dq) if name in ("kinetic_energy", "coriolis_matrix") else (q,)
            found, wanted = function(two, *arguments), function(one, *arguments)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        tau = [kt.algorithms.inverse_dynamics(model, q, dq, ddq) for model in (one, two)]
        np.testing.assert_allclose(tau[1], tau[0], rtol=1e-12, atol=1e-12)
    assert [x.limits for x in one.joints] == [x.limits for x in two.joints]
    assert two.frames.keys() == one.frames.keys()


def test_stray_text_is_warned_about():
    (warning,) = read_sdf_text(one("stray")).warnings
    assert "text 'stray' in <joint> is not read" in warning.text and "joint 'j'" in warning.text


def test_offset_and_reference_of_mimic_are_zero_by_default():
    parts = "<offset>0</offset><reference>0.4</reference>"
    short, long, wanted = (
        {j.name: j.mimic for j in read_sdf_text(SDF.replace(parts, x)).joints}["follow"]
        for x in ("", "<offset>0</offset><reference>0</reference>", parts)
    )
    assert short == long and wanted.offset == 0.2


def test_a_pose_relative_to_the_parent_is_kept_to_the_last_bit():
    wanted = {x.name: x.M_pc for x in read_urdf_text(URDF).joints}
    for found in read_sdf_text(SDF).joints:
        np.testing.assert_array_equal(found.M_pc, wanted[found.name])


def test_the_thread_of_a_screw_is_right_handed_in_one_way_of_writing_and_left_in_the_other():
    new = joint(one("<screw_thread_pitch>0.5</screw_thread_pitch>", type="screw")).A
    np.testing.assert_allclose(new, [0, 0, 1, 0, 0, 0.5 / (2 * math.pi)])
    old = joint(one("<thread_pitch>4</thread_pitch>", type="screw")).A
    np.testing.assert_allclose(old, [0, 0, 1, 0, 0, -0.25])
    both = "<thread_pitch>-12.5664</thread_pitch><screw_thread_pitch>0.5</screw_thread_pitch>"
    np.testing.assert_array_equal(joint(one(both, type="screw")).A, new)
    with pytest.raises(
        kt.errors.ParseError, match=r"0\.5 m per turn, and <thread_pitch> 4 rad/m is -1\.57"
    ):
        read_sdf_text(one(both.replace("-12.5664", "4"), type="screw"))
    description = read_sdf_text(one(type="screw"))
    assert "1 m per turn by the rules of SDF" in description.warnings[0].text


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        ("", kt.Limits()),
        ("<limit/>", kt.Limits()),
        ("<lower>-1e16</lower><upper>1e16</upper><effort>-1</effort><velocity>-1</velocity>", None),
        ("<lower>-inf</lower><upper>inf</upper><effort>inf</effort>", None),
        ("<lower>-1</lower>", kt.Limits(lower=-1)),
        ("<upper>2</upper><velocity>3</velocity>", kt.Limits(upper=2, velocity=3)),
        ("<lower>1</lower><upper>-1</upper>", kt.Limits()),
        ("<effort>0</effort>", kt.Limits()),
    ],
)
def test_limits_that_mean_none_are_none(limit, wanted):
    text = limit if limit.startswith("<limit") or not limit else f"<limit>{limit}</limit>"
    assert joint(one(axis=text)).limits == (wanted or kt.Limits())


def test_friction_and_springs_are_read():
    spring = "<spring_stiffness>4</spring_stiffness><spring_reference>0.1</spring_reference>"
    friction = "<damping>0.5</damping><friction>0.25</friction>"
    text = one(axis=f"<dynamics>{friction}{spring}</dynamics>")
    robot = kt.load_string(text)
    tau = robot.inverse_dynamics([0.6], [2.0], [0.0])
    assert tau == pytest.approx(0.5 * 2 + 0.25 + 4 * (0.6 - 0.1))


def test_defaults_of_the_format_are_used_and_named():
    text = '<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>'
    description = read_sdf_text(text)
    body = description.links[1].bodies[0]
    assert body.m == 1 and np.array_equal(body.I_com, np.eye(3))
    assert "1 kg and unit moments of inertia by the rules of SDF" in description.warnings[0].text
    assert "no joint connects link 'a' to the world" in description.notes[0].text


def test_a_model_stands_where_the_file_places_it():
    text = f"""<sdf version="1.9"><model name="m"><pose>0 0 0 0 1.5707963267948966 0</pose>
    <link name="a"/><link name="b">{inertial(2, (1, 1, 1), "0.5 0 0 0 0 0")}</link>
    <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis>
    </joint></model></sdf>"""
    model = build_model(read_sdf_text(text))
    assert model.base_name == "world"
    # the x-axis of the model points down: the link hangs
    assert kt.algorithms.gravity_forces(model, [0.0]) == pytest.approx([0], abs=1e-14)
    tau = kt.algorithms.gravity_forces(model, [0.1])
    assert tau == pytest.approx([2 * 9.81 * 0.5 * math.sin(0.1)])
    free = build_model(read_sdf_text(text, floating=True))
    assert free.base_name == "world" and free.joint_names == ("base", "j")


def test_gravity_is_that_of_the_world():
    world = one().replace('<model name="m">', '<world name="w">{}<model name="m">')
    world = world.replace("</model>", "</model></world>")
    for gravity, wanted in (("<gravity>0 1 -3</gravity>", (0, 1, -3)), ("", (0, 0, -9.8))):
        found = read_sdf_text(world.replace("{}", gravity))
        assert found.gravity == wanted
        assert any("no <gravity>: 0 0 -9.8" in x.text for x in found.notes) == (not gravity)
    assert read_sdf_text(one()).gravity == (0, 0, -9.81)


@pytest.mark.parametrize(("version", "read"), [("1.5", True), ("1.6", False), ("1.9", False)])
def test_gravity_inside_physics_is_read_or_warned_of(version, read):
    physics = "<physics type='ode'><gravity>0 0 -1.62</gravity></physics>"
    text = one().replace('<model name="m">', f'<world name="w">{physics}<model name="m">')
    text = re.sub(r"<sdf version=[^>]*>", f'<sdf version="{version}">', text)
    found = read_sdf_text(text.replace("</model>", "</model></world>"))
    assert found.gravity == ((0, 0, -1.62) if read else (0, 0, -9.8))
    told = [x for x in found.warnings if "<gravity> inside <physics>" in str(x)]
    assert len(told) == (0 if read else 1)
    assert any("of <physics>, the <gravity> is read" in x.text for x in found.notes) == read


def test_a_static_model_does_not_move():
    text = one().replace("<link", "<static>true</static><link", 1)
    description = read_sdf_text(text)
    assert build_model(description).n == 0
    assert "is <static>: its 1 joints do not move" in description.warnings[0].text
    with pytest.raises(KinetreeError, match="it is <static> and cannot float"):
        read_sdf_text(text, floating=True)


def test_a_joint_to_the_world_and_floating_contradict_each_other():
    with pytest.raises(KinetreeError, match="joint 'j' connects it to the world"):
        kt.load_string(one(), floating=True)


def test_links_that_no_joint_connects_to_the_world_are_fixed_there_or_float():
    """Two trees beside one that a joint holds: each is the robot that it is by itself."""
    parts = {
        "held": f"""<link name="a">{inertial(2, (1, 1, 1), "0.2 0 0 0 0 0")}</link>
        <joint name="j" type="revolute"><parent>world</parent><child>a</child>
        <axis><xyz>0 1 0</xyz></axis></joint>""",
        "b": f"""<link name="b"><pose>1 0 0 0 0 0.3</pose>{inertial(3, (1, 2, 2.5))}</link>""",
        "c": f"""<link name="c"><pose>0 1 0 0 0 0</pose>{inertial(0.5, (0.1, 0.2, 0.2))}</link>
        <link name="d"><pose>0 2 0 0 0 0</pose>{inertial(4, (0.3, 0.2, 0.4))}</link>
        <joint name="k" type="prismatic"><parent>d</parent><child>c</child>
        <axis><xyz>1 0 0</xyz></axis></joint>""",
    }
    text = '<sdf version="1.9"><model name="m">{}</model></sdf>'
    whole = read_sdf_text(text.format("".join(parts.values())))
    assert "links 'b', 'd' to the world: fixed there" in whole.warnings[0].text
    fixed = build_model(whole)
    assert fixed.joint_names == ("j", "k")
    np.testing.assert_allclose(fixed.frames["b"].T_if[:3, 3], [1, 0, 0])

    free = build_model(read_sdf_text(text.format("".join(parts.values())), floating=True))
    assert free.joint_names == ("b/base", "d/base", "j", "k")
    q = kt.algorithms.neutral(free)
    M = np.zeros((free.n, free.n))
    for names, part, floating in ((("j",), "held", False), (("b/base",), "b", True),
                                  (("d/base", "k"), "c", True)):  # fmt: skip
        alone = build_model(read_sdf_text(text.format(parts[part]), floating=floating))
        dofs = [d for joint in free.joints if joint.name in names for d in joint.dofs]
        M[np.ix_(dofs, dofs)] = kt.algorithms.mass_matrix(alone, kt.algorithms.neutral(alone))
    np.testing.assert_allclose(kt.algorithms.mass_matrix(free, q), M, atol=1e-13)
    assert kt.load_string(text.format("".join(parts.values())), floating=True).n == 6 + 6 + 2


def test_damping_of_a_ball_joint_acts_about_every_axis():
    text = one(
        "<pose>0.1 0 0 0.2 0 0</pose>", "<dynamics><damping>0.5</damping></dynamics>", type="ball"
    )
    robot = kt.load_string(text)
    dq = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(robot.friction_forces(dq), 0.5 * dq)
    lost = "<dynamics><friction>2</friction></dynamics><limit><upper>1</upper></limit>"
    description = read_sdf_text(one(axis=lost, type="ball"))
    assert description.joints[0].friction == kt.Friction()
    warned = " ".join(x.text for x in description.warnings)
    assert "<friction> of a ball joint is not honoured" in warned
    assert "<limit> of a ball joint is not honoured" in warned


def test_a_second_velocity_decay_is_no_error():
    for decay, count in (
        ("<velocity_decay/>", 0),
        ("<velocity_decay><linear>1</linear></velocity_decay>", 1),
    ):
        text = one().replace("<inertial>", f"<velocity_decay/>{decay}<inertial>")
        warned = [x.text for x in read_sdf_text(text).warnings]
        assert sum("<velocity_decay> is not honoured" in x for x in warned) == count


def test_the_pose_of_an_inertial_may_be_relative_to_its_own_link():
    pose = '<pose relative_to="a">1 2 3 0.1 0.2 0.3</pose>'
    found = read_sdf_text(one().replace("<inertial>", f"<inertial>{pose}"))
    plain = pose.replace(' relative_to="a"', "")
    wanted = read_sdf_text(one().replace("<inertial>", f"<inertial>{plain}"))
    np.testing.assert_array_equal(found.links[1].bodies[0].com, [1, 2, 3])
    np.testing.assert_array_equal(found.links[1].bodies[0].I_com, wanted.links[1].bodies[0].I_com)


WORLD = """<sdf version="1.9"><world name="w"><model name="ground"><static>1</static>
<link name="l"/></model>{}</world></sdf>"""
ARM = '<model name="{}"><link name="a"/></model>'


def test_the_only_model_that_can_move_is_the_robot():
    description = read_sdf_text(WORLD.format(ARM.format("arm")))
    assert description.name == "arm"
    assert any("only model 'arm' is read, without 'ground'" in x.text for x in description.notes)


def test_several_models_are_refused_with_their_list_unless_one_is_chosen():
    text = WORLD.format(ARM.format("left") + ARM.format("right"))
    with pytest.raises(KinetreeError, match="The models are 'ground', 'left', 'right'"):
        read_sdf_text(text)
    assert read_sdf_text(text, model="right").name == "right"
    with pytest.raises(KinetreeError, match="no model 'up'; expected one of 'ground', 'left'"):
        read_sdf_text(text, model="up")


def test_a_joint_of_the_world_holds_the_robot():
    held = ARM.format("arm") + (
        '<joint name="hold" type="revolute"><parent>world</parent><child>arm::a</child>'
        "<axis><xyz>0 1 0</xyz></axis></joint>"
    )
    assert build_model(read_sdf_text(WORLD.format(held))).joint_names == ("hold",)
    with pytest.raises(KinetreeError, match="connects model 'arm' with 'ground::l'"):
        read_sdf_text(WORLD.format(held.replace(">world<", ">ground::l<")))


def test_a_joint_whose_child_is_nearer_to_the_base_is_turned_round():
    parts = f'<link name="b">{inertial(1, (1, 2, 2.5), "0.3 0.2 0.1 0 0 0")}</link>'
    forward = f'{parts}<joint name="k" type="{{}}"><parent>a</parent><child>b</child>{{}}</joint>'
    for kind, axis in (("revolute", "1"), ("prismatic", "1"), ("screw", "1"), ("fixed", "")):
        element = "<axis><xyz>0 0.6 {}0.8</xyz></axis>" if axis else "{}"
        thread = "<screw_thread_pitch>0.7</screw_thread_pitch>" if kind == "screw" else ""
        plain = one(more=forward.format(kind, thread + element.format("")))
        # the opposite axis of the swapped joint is the same motion
        swapped = plain.replace("<parent>a</parent><child>b<", "<parent>b</parent><child>a<")
        swapped = swapped.replace("<xyz>0 0.6 0.8<", "<xyz>0 -0.6 -0.8<")
        models = [build_model(read_sdf_text(text)) for text in (plain, swapped)]
        q = np.array([0.3, 0.7][: models[0].n])
        for name in ("mass_matrix", "gravity_forces"):
            first, second = (getattr(kt.algorithms, name)(model, q) for model in models)
            np.testing.assert_allclose(second, first, atol=1e-13)


def test_meshes_are_kept_for_viewers():
    shape = """<visual name="v"><pose>0 0 1 0 0 0</pose><geometry><mesh><uri>model://m/a.stl</uri>
    <scale>2 2 2</scale></mesh></geometry></visual>"""
    text = one().replace('<link name="a">', f'<link name="a">{shape}')
    (mesh,) = read_sdf_text(text).meshes
    assert (mesh.link, mesh.path, mesh.scale, mesh.kind) == (
        "a",
        "model://m/a.stl",
        (2, 2, 2),
        "visual",
    )
    assert mesh.T[2, 3] == 1


def test_whatever_is_not_read_is_listed():
    text = one(
        axis="<initial_position>1</initial_position>",
        more='<plugin name="p"/><plugin name="q"/><drake:thing/><lnk name="x"/>',
    ).replace('<link name="a">', '<link name="a"><sensor name="s"/><gravity>0</gravity>')
    description = read_sdf_text(text)
    notes = [x.text for x in description.notes]
    assert "<plugin> in <model> is not read (2 times)" in notes
    assert "<sensor> in <link> is not read" in notes
    warned = " ".join(x.text for x in description.warnings)
    for words in ("<initial_position> in <axis>", "<drake:thing> in <model>", "was 'link' meant?",
                  "gravity acts on every link"):  # fmt: skip
        assert words in warned


JOINT = '<joint name="{}" type="fixed"><parent>{}</parent><child>{}</child></joint>'
REFUSED = {
    "old version": (one().replace("1.11", "1.0"), r"robot\.sdf:1:1: this is SDF 1\.0.*gz sdf -p"),
    "new version": (one().replace("1.11", "2.0"), "this is SDF 2.0; expected 1.2 to 1.12"),
    "canonical": (
        one().replace('<model name="m">', '<model name="m" canonical_link="x">'),
        "canonical_link of <model> is 'x', which is not a frame",
    ),
    "placement": (
        one().replace('<model name="m">', '<model name="m" placement_frame="x">'),
        "placement_frame is 'x', which is not a frame",
    ),
    "no version": (one().replace(' version="1.11"', ""), "<sdf> has no version"),
    "root": ("<model name='m'/>", "the root is <model>, expected <sdf>; put it into <sdf"),
    "no model": ('<sdf version="1.9"/>', "the file has no <model>"),
    "no link": ('<sdf version="1.9"><model name="m"/></sdf>', "it has no <link>"),
    "gearbox": (one(type="gearbox"), "joint 'j': type is 'gearbox': a gearbox couples two joints"),
    "type": (one(type="hinge"), "type is 'hinge'; expected one of revolute"),
    "case": (one(type="Revolute"), "Was 'revolute' meant?"),
    "pose": (one("<pose>1 2 3</pose>"), "found 3, expected 6 numbers"),
    "old pose": (one('<pose frame="a">0 0 0 0 0 0</pose>'), "frame='a'.*expected relative_to"),
    "frame": (one('<pose relative_to="b"/>'), "relative_to of <pose> is 'b', which is not a frame"),
    "circle": (
        one(more='<frame name="f"><pose relative_to="g"/></frame>'
            '<frame name="g"><pose relative_to="f"/></frame>'),
        "circle: frame 'f' -> frame 'g' -> frame 'f'",
    ),
    "attached circle": (
        one(more='<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'),
        "attached to each other in a circle",
    ),
    "world": (one('<pose relative_to="world"/>'), "only <parent> of a joint can name the world"),
    "child": (one().replace("<child>a", "<child>b"), "<child> is 'b', which is not a frame"),
    "no child": (one().replace("<child>a</child>", ""), "<child> is none"),
    "world child": (one().replace("<child>a", "<child>world"), "<child> is 'world'"),
    "itself": (one().replace(">world<", ">a<"), "are the same link"),
    "two names": (one(more='<link name="j"/>'), "a link and a joint .line 2. are both called 'j'"),
    "reserved": (one(more='<link name="__x__"/>'), "reserved by SDF"),
    "named world": (one(more='<link name="world"/>'), "reserved by SDF"),
    "colons": (one(more='<link name="x::y"/>'), "contains '::'"),
    "loop": (
        one(more='<link name="b"/><link name="c"/>' + JOINT.format("k", "a", "b")
            + JOINT.format("l", "b", "c") + JOINT.format("o", "c", "a")),
        "the joints 'o', 'k', 'l' form a loop",
    ),
    "parallel": (one(more=JOINT.format("k", "world", "a")), "the joints 'k', 'j' form a loop"),
    "axis": (one().replace("0 0 1", "0 0 0"), "the axis is zero"),
    "axis2": (one(type="universal"), "a universal joint needs <axis2>"),
    "parallel axes": (
        one("<axis2><xyz>0 0 -1</xyz></axis2>", type="universal"),
        "joints 'j/axis', 'j/axis2' of one body always allow rates that move nothing",
    ),
    "moment": (one().replace("<iyy>1", "<iyy>-1"), "<iyy> is -1 kg m.2, less than zero"),
    "number": (one(axis="<limit><lower>-1,5</lower></limit>"), "has a comma"),
    "nan": (one(axis="<dynamics><damping>nan</damping></dynamics>"), "is not finite"),
    "damping": (one(axis="<dynamics><damping>-1</damping></dynamics>"), "expected >= 0"),
    "mimic": (one(axis='<mimic joint="x"><multiplier>1</multiplier></mimic>'), "<mimic> is 'x'"),
    "no parent": (one().replace("<parent>world</parent>", ""), "<parent> is missing"),
    "fixed child": (
        one(more='<frame name="f" attached_to="world"/>').replace("<child>a", "<child>f"),
        "world",
    ),
    "thread": (one("<thread_pitch>0</thread_pitch>", type="screw"), "<thread_pitch> is 0 rad/m"),
    "screw": (one("<screw_thread_pitch>0</screw_thread_pitch>", type="screw"), "use a revolute"),
    "spring": (
        one(axis="<dynamics><spring_stiffness>-1</spring_stiffness></dynamics>"),
        "<spring_stiffness> is -1; expected >= 0",
    ),
    "mimic axis": (one(axis='<mimic joint="j" axis="axis3"/>'), "expected axis or axis2"),
    "mimic link": (one(axis='<mimic joint="a"/>'), "<mimic> follows link 'a'; expected a joint"),
    "mimic fixed": (
        one(axis='<mimic joint="k"/>', more='<link name="b"/>' + JOINT.format("k", "a", "b")),
        "follows <axis> of joint 'k', which is fixed",
    ),
    "mimic axis2": (one(axis='<mimic joint="j" axis="axis2"/>'), "<axis2> of joint 'j'"),
    "multiplier": (one(axis='<mimic joint="j"/>'), "no <multiplier>"),
    "long name": (one(more=f'<link name="{"x" * 1001}"/>'), "1001 characters"),
    "no type": (one().replace(' type="revolute"', ""), "no attribute 'type'; expected one of"),
    "nested": (
        one(more='<model name="n"><static>true</static><link name="b"/></model>'),
        "<static> of a nested model",
    ),
    "deep": (
        one(more='<model name="n">' * 60 + '<link name="b"/>' + "</model>" * 60),
        "nested more than",
    ),
    "ball turned": (
        one(more='<link name="b"/><joint name="k" type="ball"><parent>b</parent><child>a</child>'
            "</joint>"),
        "a ball joint cannot be read that way",
    ),
    "auto": (one().replace("<inertial>", '<inertial auto="true">'), "auto='true'"),
    "inertial": (
        one("<pose>0 0 1 0 0 0</pose>").replace(
            "<inertial>", '<inertial><pose relative_to="j"/>'),
        "<pose> of <inertial> is relative to 'j'",
    ),
    "mass": (one().replace("<mass>2", "<mass>-2"), "less than zero"),
    "flag": (one().replace("<link", "<static>maybe</static><link", 1), "expected true or false"),
    "twice": (one().replace("<mass>2</mass>", "<mass>2</mass>" * 2), "2 elements <mass>"),
    "expressed": (one().replace("<xyz>", '<xyz expressed_in="x">'), "expressed_in of <xyz> is 'x'"),
    "degrees": (
        one('<pose degrees="true" rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose>'),
        "a quaternion and degrees",
    ),
    "entity": (f"<!DOCTYPE sdf [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>{one()}", "document type"),
    "include": (one(more="<include><uri>https://x.org/m</uri></include>"), "Nothing is downloaded"),
    "no uri": (one(more="<include/>"), "<include> has no <uri>"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_fault_is_refused_with_its_place_and_the_way_out(case):
    text, words = REFUSED[case]
    with pytest.raises(KinetreeError, match=f"(?s){words}") as caught:
        read_sdf_text(text)
    assert str(caught.value).startswith("robot.sdf:")


WARNED = {
    "limits are beyond|lower='-400' upper='400' are beyond two turns": one(
        axis="<limit><lower>-400</lower><upper>400</upper></limit>"),
    "upper='300' are beyond 100 m": one(axis="<limit><upper>300</upper></limit>", type="prismatic"),
    "the joint is locked at 0.5": one(
        axis='<mimic joint="k"><multiplier>0</multiplier><offset>0.5</offset></mimic>',
        more='<link name="b"/><joint name="k" type="revolute"><parent>a</parent><child>b</child>'
        "<axis><xyz>0 0 1</xyz></axis></joint>"),
    "<kinematic>true</kinematic> is not honoured": one().replace(
        "<inertial>", "<kinematic>true</kinematic><inertial>"),
    "<fluid_added_mass> is not honoured": one().replace(
        "<inertial>", "<inertial><fluid_added_mass/>"),
    "is more than 100 m away": one("<pose>0 0 101 0 0 0</pose>"),
    "turns by more than a turn": one("<pose>0 0 0 0 0 7</pose>"),
    "SDF 1.13 is newer than the versions known here; it is read as 1.12": one().replace(
        "1.11", "1.13"),
}  # fmt: skip


@pytest.mark.parametrize("words", WARNED)
def test_a_doubt_is_warned_of(words):
    warned = " ".join(x.text for x in read_sdf_text(WARNED[words]).warnings)
    assert words.rpartition("|")[2] in warned


@pytest.mark.parametrize("size", ["-12.5", "12.5"])
def test_usual_limits_are_read_without_a_word(size):
    for kind in ("revolute", "prismatic"):
        found = read_sdf_text(one(axis=f"<limit><{END[size[0]]}>{size}</{END[size[0]]}></limit>",
                                  type=kind))  # fmt: skip
        assert not found.warnings
    endless = one(type="continuous", axis="<limit><lower>-1</lower></limit>")
    found = read_sdf_text(endless)
    assert found.joints[0].limits == kt.Limits() and "are ignored" in found.notes[0].text


END = {"-": "lower", "1": "upper"}


def test_a_long_chain_of_poses_is_read_and_a_longer_one_refused():
    def chain(n):
        frames = "".join(
            f'<frame name="f{k}"><pose relative_to="f{k - 1}">0 0 0.001 0 0 0</pose></frame>'
            for k in range(1, n)
        )
        return one(more=f'<frame name="f0"/>{frames}')

    assert read_sdf_text(chain(300)).frames[-1].T[2, 3] == pytest.approx(0.299)
    with pytest.raises(KinetreeError, match="more than 4000 poses"):
        read_sdf_text(chain(4100))
