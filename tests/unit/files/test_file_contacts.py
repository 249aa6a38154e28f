"""Contacts of files: shapes, ground and friction of URDF, SDF and MJCF, and what is left out."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import Boxes, ContactPoint, ContactRim, HeightField, Plane
from kinetree.errors import ModelError

LEG = """<robot name="leg">
  <link name="trunk"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><geometry><box size="0.2 0.4 0.6"/></geometry></collision></link>
  <link name="shank"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision name="tube"><origin xyz="0 0 -0.2" rpy="1.5707963267948966 0 0"/>
      <geometry><cylinder radius="0.05" length="0.3"/></geometry></collision></link>
  <link name="foot"><contact><lateral_friction value="0.9"/></contact>
    <collision><geometry><sphere radius="0.03"/></geometry></collision></link>
  <link name="toe"><collision><origin xyz="0 0 {toe}"/><geometry>
    <mesh filename="toe.stl"/></geometry></collision></link>
  <joint name="knee" type="revolute"><parent link="trunk"/><child link="shank"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="ankle" type="fixed"><parent link="shank"/><child link="foot"/>
    <origin xyz="0 0 -0.5"/></joint>
  <joint name="tip" type="fixed"><parent link="foot"/><child link="toe"/></joint>
  <gazebo reference="shank"><mu1>0.3</mu1></gazebo>
</robot>"""
STL = """solid toe
facet normal 0 0 1
 outer loop
  vertex 0 0 0
  vertex 0.01 0 0
  vertex 0 0.01 0
 endloop
endfacet
endsolid toe
"""


def leg(folder, toe=0.0, **options):
    (folder / "leg.urdf").write_text(LEG.format(toe=toe))
    return kt.load(folder / "leg.urdf", floating=True, **options)


def test_shapes_of_a_urdf_become_contacts_with_the_friction_of_the_file(tmp_path):
    robot = leg(tmp_path)
    contacts = robot.with_contacts(["foot", "tube", "trunk"]).model.contacts
    assert [type(x) for x in contacts.points].count(ContactRim) == 2
    assert len(contacts.points) == 1 + 2 * (1 + 3) + 8
    assert contacts.frictions == (0.9,) + (0.3,) * 8 + (1.0,) * 8
    foot, rim, *_ = contacts.points
    assert foot == ContactPoint("foot", "foot", (0, 0, 0), 0.03, 0.9)
    assert rim.axis == pytest.approx((0, -1, 0)) and rim.centre == pytest.approx((0, 0.15, -0.2))
    corners = np.array([x.position for x in contacts.points[9:]])
    assert sorted(map(tuple, np.abs(corners).round(12).tolist())) == [(0.1, 0.2, 0.3)] * 8
    changed = robot.with_contacts(["foot"], friction=0.2).model.contacts
    assert changed.frictions == (0.2,) and changed.ground == Plane()


def test_contacts_of_the_file_are_refused_where_a_mesh_would_touch_first(tmp_path):
    (tmp_path / "toe.stl").write_text(STL)
    with pytest.raises(ModelError, match=r"'toe' of link 'toe' is a mesh.*0.07 m inside the gro"):
        leg(tmp_path, -0.1, contacts="file")
    assert leg(tmp_path, -0.1).with_contacts(["foot"]).model.contacts.names == ("foot",)


SDF = """<sdf version="1.9"><model name="m"><link name="wheel">
  <inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
  <collision name="tyre"><pose>0 0 0 1.5707963267948966 0 0</pose>
    <geometry><cylinder><radius>0.2</radius><length>0.1</length></cylinder></geometry>
    <surface><friction><ode><mu>0.55</mu></ode></friction>
      <bounce><restitution_coefficient>0.25</restitution_coefficient></bounce></surface>
  </collision></link></model></sdf>"""


def test_shapes_of_an_sdf_have_friction_and_restitution():
    robot = kt.load_string(SDF, floating=True, contacts="file")
    contacts = robot.model.contacts
    assert contacts.names[0] == "tyre.0" and len(contacts.points) == 8
    assert set(contacts.frictions) == {0.55} and set(contacts.restitutions) == {0.25}
    assert kt.dynamics.start_position(robot)[6] == pytest.approx(0.2, abs=1e-12)


MJCF = """<mujoco><worldbody>{world}
  <body name="a" pos="0 0 1"><freejoint/><geom name="ball" type="sphere" size="0.1" {ball}/>
    <geom name="ghost" type="sphere" size="0.5" contype="0" conaffinity="0"/>
    <body name="b" pos="0 0 {apart}"><joint type="hinge" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <body name="c" pos="0 0 0.1"><joint type="hinge" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom name="pill" type="capsule" size="0.05 0.1"/></body></body></body>
</worldbody>{more}</mujoco>"""
FLOOR = '<geom name="floor" type="plane" size="1 1 1" pos="0 0 -0.5" friction="0.4"/>'


def mjcf(world=FLOOR, ball="", apart=0.5, more="", **options):
    pytest.importorskip("mujoco")
    text = MJCF.format(world=world, ball=ball, apart=apart, more=more)
    return kt.load_string(text, **options)


def friction_of_ball(**parts):
    return mjcf(**parts).with_contacts(["ball"]).model.contacts.frictions[0]


def test_the_friction_of_mjcf_follows_priority_size_and_pairs():
    assert friction_of_ball() == 1.0  # the larger of two, and 1 is the default
    assert friction_of_ball(ball='friction="0.2"') == 0.4
    assert friction_of_ball(ball='friction="0.2" priority="1"') == 0.2
    frictionless = FLOOR.replace("/>", ' condim="1"/>')
    assert friction_of_ball(world=frictionless, ball='condim="1"') == 0.0
    pair = '<contact><pair geom1="floor" geom2="ball" friction="0.7 0.7 0 0 0"/></contact>'
    assert friction_of_ball(world="", ball='condim="1" friction="0.2"') == 1.0  # of a default floor
    assert friction_of_ball(world="", ball='priority="1" friction="0.2"') == 0.2
    paired = mjcf(more=pair, contacts="file")
    assert paired.model.contacts.frictions[0] == 0.7 and not paired.report.warnings


def test_the_ground_of_mjcf_is_a_plane_boxes_or_a_height_field():
    assert mjcf().with_contacts(["ball"]).model.contacts.ground == Plane(point=(0, 0, -0.5))
    box = '<geom type="box" size="0.1 0.2 0.3" euler="0 0 90" pos="1 0 0"/>'
    ground = mjcf(FLOOR + box).with_contacts(["ball"]).model.contacts.ground
    assert isinstance(ground, Boxes) and ground.plane == Plane(point=(0, 0, -0.5))
    assert ground.boxes[0].size == (0.2, 0.4, 0.6)
    assert ground.boxes[0].yaw == pytest.approx(np.pi / 2)
    asset = """<asset><hfield name="h" nrow="2" ncol="3" size="1 2 0.5 0.1"
        elevation="0 1 2 3 4 5"/></asset>"""
    field = mjcf('<geom type="hfield" hfield="h"/>', more=asset)
    ground = field.with_contacts([ContactPoint("p", "a")]).model.contacts.ground
    assert isinstance(ground, HeightField) and ground.spacing == (1.0, 4.0)
    # MuJoCo scales heights to 0 .. 1 and writes rows from the highest y
    assert np.max(ground.heights) == pytest.approx(0.5)
    assert np.shape(ground.heights) == (3, 2)
    asset = '<asset><hfield name="h" file="h.png" size="1 2 0.5 0.1"/></asset>'
    with pytest.raises(ModelError, match=r"ground of the file cannot be used.*height field"):
        mjcf('<geom type="hfield" hfield="h"/>', more=asset, contacts="file")


def test_geoms_that_cannot_touch_the_ground_have_no_contacts():
    robot = mjcf(ball='contype="2" conaffinity="2"', contacts="file")
    assert robot.model.contacts.names == ("pill.0", "pill.1")
    shapes = [x.name for x in mjcf(contacts="file").model.collisions.shapes]
    assert shapes == ["ball", "pill"]
