"""What each part of an MJCF file becomes."""

import math
import sys

import numpy as np
import pytest
from mjcf_files_given import model

from kinetree import algorithms
from kinetree.errors import KinetreeError
from kinetree.files.description.mjcf import read_mjcf
from kinetree.model import build_model
from kinetree.spatial import screw_parts

mujoco = pytest.importorskip("mujoco", reason="MJCF needs mujoco")

EVERY_JOINT = """
<mujoco model="toy">
  <compiler angle="radian"/>
  <worldbody>
    <body name="wall" pos="0 0 1"><geom size=".1"/><site name="hook" pos="0 0 .1"/>
      <body name="b1" pos=".1 .2 .3" euler=".1 .2 .3">
        <joint name="x" type="slide" axis="1 2 0" ref=".4" armature=".3"/>
        <joint name="turn" pos=".1 0 .2" axis="0 1 1" ref="-.7" damping=".5" frictionloss=".25"
               range="-1 2"/>
        <geom type="box" size=".1 .2 .3" pos=".1 0 0"/><site name="b2" pos="0 0 .5" euler="0 0 1"/>
        <body name="b2" pos="0 0 .6">
          <joint name="ball" type="ball" pos=".1 .2 -.1" armature=".05"/>
          <geom type="capsule" size=".05" fromto="0 0 0 .3 .1 .2"/>
          <body pos="0 .1 .1"><joint axis="1 0 0"/><geom size=".07" pos=".1 0 0"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="x" gear="3" armature=".02" forcerange="-5 4" ctrlrange="-1 1"/>
    <motor joint="turn" gear="-2" forcerange="-5 4"/>
  </actuator>
</mujoco>
"""  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        (tmp_path / "toy.xml").write_text(text)
        return read_mjcf(tmp_path / "toy.xml")

    return read_text


def by_name(records):
    return {record.name: record for record in records}


def test_a_body_with_two_joints_hangs_on_a_massless_link(read):
    robot = read(EVERY_JOINT)
    joints, links = by_name(robot.joints), by_name(robot.links)
    assert (joints["x"].parent, joints["x"].child) == ("wall", "b1/x")
    assert (joints["turn"].parent, joints["turn"].child) == ("b1/x", "b1")
    assert links["b1/x"].bodies == () and len(links["b1"].bodies) == 1


def test_the_world_is_the_base_and_static_bodies_are_fixed_to_it(read):
    robot = read(EVERY_JOINT)
    assert robot.links[0].name == "world"
    joint = by_name(robot.joints)["wall/fixed"]
    assert (joint.type, joint.parent, joint.child) == ("fixed", "world", "wall")
    assert build_model(robot).base[0] == pytest.approx(1000 * 4 / 3 * math.pi * 0.1**3)


def test_a_hinge_turns_about_its_point(read):
    point, axis, pitch = screw_parts(by_name(read(EVERY_JOINT).joints)["turn"].A)
    assert axis == pytest.approx(np.array([0, 1, 1]) / math.sqrt(2))
    assert np.cross(point - [0.1, 0, 0.2], axis) == pytest.approx(0, abs=1e-15)
    assert pitch == pytest.approx(0)


def test_a_joint_stands_at_q_less_its_reference(read):
    joints = by_name(read(EVERY_JOINT).joints)
    assert (joints["x"].offset, joints["turn"].offset) == (-0.4, 0.7)


def test_a_ball_with_a_point_gets_a_link_at_that_point(read):
    joints = by_name(read(EVERY_JOINT).joints)
    assert joints["ball"].type == "spherical" and joints["ball"].child == "b2/ball"
    assert joints["ball"].M_pc[:3, 3] == pytest.approx([0.1, 0.2, 0.5])
    assert joints["b2/fixed"].M_pc[:3, 3] == pytest.approx([-0.1, -0.2, 0.1])


def test_drives_are_kept(read):
    joints = by_name(read(EVERY_JOINT).joints)
    turn, x = joints["turn"], joints["x"]
    assert (turn.friction.viscous, turn.friction.coulomb) == (0.5, 0.25)
    assert (turn.limits.lower, turn.limits.upper, turn.limits.effort) == (-1, 2, 10)
    assert x.armature == pytest.approx(0.3 + 9 * 0.02)
    assert x.limits.effort == 3 and x.limits.upper == math.inf


def test_elements_without_name_are_numbered(read):
    robot = read(EVERY_JOINT)
    assert robot.links[-1].name == "#4" and robot.joints[-1].name == "#j3"


def test_a_number_that_is_someone_elses_name_is_not_used_twice(read):
    robot = read(model('<body><geom size=".1"/><body name="#2"><geom size=".1"/></body></body>'))
    assert [link.name for link in robot.links] == ["world", "b1", "#2~2", "#2"]


def test_named_sites_are_frames_and_yield_to_links(read):
    frames = by_name(read(EVERY_JOINT).frames)
    assert frames["hook"].link == "wall"
    assert frames["site/b2"].link == "b1"
    assert frames["site/b2"].T[:3, 3] == pytest.approx([0, 0, 0.5])


def test_records_know_their_line(read):
    robot = read(EVERY_JOINT)
    lines = EVERY_JOINT.splitlines()
    for joint in ("x", "turn", "ball"):
        where = by_name(robot.joints)[joint].where
        assert f'name="{joint}"' in lines[int(where.removeprefix("toy.xml:")) - 1]


def test_every_joint_moves_as_in_mujoco(read):
    robot = build_model(read(EVERY_JOINT))
    peer = mujoco.MjModel.from_xml_string(EVERY_JOINT)
    data, M = mujoco.MjData(peer), np.zeros((peer.nv, peer.nv))
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, dq = rng.normal(size=peer.nq), rng.normal(size=peer.nv)
        q[2:6] /= np.linalg.norm(q[2:6])
        data.qpos[:], data.qvel[:] = q, dq
        mujoco.mj_forward(peer, data)
        mujoco.mj_fullM(peer, data, M)
        bias = algorithms.gravity_forces(robot, q) + algorithms.coriolis_forces(robot, q, dq)
        assert np.abs(algorithms.mass_matrix(robot, q) - M).max() < 1e-12 * np.abs(M).max()
        assert np.abs(bias - data.qfrc_bias).max() < 1e-12 * np.abs(data.qfrc_bias).max()
        for b, name in ((2, "b1"), (3, "b2"), (4, "#4")):
            T = algorithms.pose(robot, q, name)
            assert np.abs(T[:3, 3] - data.xpos[b]).max() < 1e-13
            assert np.abs(T[:3, :3].ravel() - data.xmat[b]).max() < 1e-13


def test_a_free_body_has_its_pose_as_coordinates(read):
    body = '<body name="b" pos="1 2 3"><freejoint/><geom size=".1"/>{}</body>'
    (joint,) = read(model(body=body)).joints
    assert joint.type == "free" and np.array_equal(joint.M_pc, np.eye(4))


def test_gravity_is_that_of_the_file(read):
    assert read(model(top='<option gravity="1 2 -3"/>')).gravity == (1, 2, -3)


def test_balanced_inertia_is_the_compiled_one(read):
    text = model(top='<compiler balanceinertia="true"/>').replace("1 1 1", ".01 .01 .05")
    (body,) = read(text).links[1].bodies
    assert body.I_com == pytest.approx(np.eye(3) * 0.07 / 3)


CORD = (
    '<fixed name="cord" armature="1" limited="true" range="0 1">'
    '<joint joint="j1" coef="1"/></fixed>'
)
MUSCLE = '<muscle name="biceps" joint="j1" lengthrange="0 1"/>'
ROUND = '<geom size=".1"/>'

# What stands beside the world, or in a body -> words of the warning.
NOT_HONOURED = {
    "equality": (
        f"<tendon>{CORD}</tendon><equality><tendon name='pull' tendon1='cord'/></equality>",
        "equality pull",
    ),
    "tendon": (f"<tendon>{CORD}</tendon>", "tendons motors kept without limits cord"),
    "fluid": ('<option density="1.2"/>', "fluid density"),
    "muscle": (f"<actuator>{MUSCLE}</actuator>", "actuators muscle biceps left out"),
    "plugin": ('<extension><plugin plugin="a.b"/></extension>', "plugin a.b"),
}
NOT_HONOURED_INSIDE = {
    "gravcomp": (f'<body name="balloon" gravcomp="1">{ROUND}</body>', "gravcomp balloon"),
    "spring": (
        f'<body><joint name="soft" type="ball" stiffness="2"/>{ROUND}</body>',
        "stiffness soft",
    ),
    "damping": (f'<body><joint name="oil" damping="1 2"/>{ROUND}</body>', "damping linear oil"),
}


@pytest.mark.parametrize("top, words", NOT_HONOURED.values(), ids=NOT_HONOURED)
def test_what_a_tree_cannot_honour_is_named(read, top, words):
    text = " ".join(note.text for note in read(model(top=top)).warnings)
    assert all(word in text for word in words.split()), text


@pytest.mark.parametrize("inside, words", NOT_HONOURED_INSIDE.values(), ids=NOT_HONOURED_INSIDE)
def test_what_a_body_holds_and_a_tree_cannot_honour_is_named(read, inside, words):
    (note,) = read(model(inside)).warnings
    assert all(word in note.text for word in words.split()), note.text
    assert note.where == "toy.xml:1"


def test_a_plain_robot_has_no_warnings(read):
    assert read(model()).warnings == () and read(model()).notes == ()


def test_appearance_is_not_compiled(read):
    asset = (
        '<asset><texture name="t" type="2d" file="missing.png"/><material name="m" texture="t"/>'
        '<hfield name="h" file="missing.png" size="1 1 1 1"/>'
        '<texture name="huge" type="2d" builtin="flat" width="900000" height="900000"/></asset>'
        '<size memory="900T" nkey="2000000000"/>'
    )
    robot = read(model('<geom size=".1" material="m"/>', top=asset))
    assert robot.warnings == ()


def test_replicates_are_written_out_and_noted(read):
    body = '<body name="b"><joint name="j"/><geom size=".1"/>{}</body>'
    robot = read(model(body=f'<replicate count="3" offset="0 0 1">{body}</replicate>'))
    assert [joint.name for joint in robot.joints] == ["j0", "j1", "j2"]
    assert any("<replicate>" in note.text for note in robot.notes)


def test_without_mujoco_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(KinetreeError, match=r"kinetree\[mjcf\]"):
        read_mjcf(tmp_path / "toy.xml")
