"""Models that a model attaches: put in their place by MuJoCo, and never a way to read more."""

import os

import pytest
from test_mjcf_meshes import tetrahedron

from kinetree import algorithms, convert
from kinetree.algorithms.joints.friction import frictionless
from kinetree.errors import ParseError
from kinetree.files.description.mjcf import read_mjcf
from kinetree.model import build_model
from robot_states import random_state, relative

mujoco = pytest.importorskip("mujoco", reason="MJCF needs mujoco")

FINGER = """<mujoco model="finger">
<compiler angle="radian"/>
<default><joint damping=".3"/></default>
<worldbody>
<frame name="root" pos="0 0 .1">
<body name="f1" pos=".1 0 0"><joint name="j1" axis="0 1 0" armature=".2" ref=".3"/>
<geom size=".1" mass="1" pos=".1 0 .2"/>
<body name="f2" pos="0 0 .5"><joint name="j2" type="slide" axis="1 1 0"/>
<inertial pos=".1 .2 .3" mass="2" diaginertia=".1 .2 .25"/><site name="tip"/></body></body>
</frame>
</worldbody></mujoco>"""
HAND = """<mujoco model="hand">
<option gravity="1 2 -9"/>
<asset><model name="finger" file="finger.xml"/></asset>
<worldbody><body name="palm"><joint name="free" type="free" armature=".1"/>
<geom size=".2" mass="3"/>
<frame pos="0 .5 0" euler="0 0 30">{}</frame>
</body></worldbody></mujoco>"""
ATTACHED = {
    "a body": '<attach model="finger" body="f1" prefix="a_"/>',
    "a body inside another": '<attach model="finger" body="f2" prefix="a_"/>',
    "a frame": '<attach model="finger" frame="root" prefix="a_"/>',
    "the whole": '<attach model="finger" prefix="a_"/>',
    "twice": '<attach model="finger" body="f1" prefix="a_"/>'
    '<frame pos="0 0 1"><attach model="finger" body="f1" prefix="b_"/></frame>',
    "replicated": '<replicate count="3" offset="0 .1 0"><attach model="finger" body="f1" '
    'prefix="r_"/></replicate>',
    "a part of itself": '<body name="arm" pos="1 0 0"><joint/><geom size=".1"/></body>'
    '<attach body="arm" prefix="copy_"/>',
}


def write(folder, **files: str):
    for name, text in files.items():
        path = (folder / name.replace("__", "/")).with_suffix(".xml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "robot.xml"


def assert_agrees(path, seed=0, **options):
    """Compare with MuJoCo's own reading of the files; returns the description."""
    description = read_mjcf(path, **options)
    model = frictionless(build_model(description, unphysical="allow"))
    theirs = mujoco.MjModel.from_xml_path(str(path))
    for flag in ("DAMPER", "CONSTRAINT"):
        theirs.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    names = [theirs.joint(j).name or f"#j{j}" for j in range(theirs.njnt)]
    there, back = convert.to_mujoco(model, names), convert.from_mujoco(model, names)
    x, data = random_state(model, seed), mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = there.q(x.q), there.dq(x.q, x.dq)
    data.qacc[:] = there.ddq(x.q, x.dq, x.ddq)
    mujoco.mj_inverse(theirs, data)
    tau = back.tau(data.qpos.copy(), data.qfrc_inverse)
    assert relative(algorithms.inverse_dynamics(model, *x.motion), tau) < 1e-11
    data.qfrc_applied[:] = data.qfrc_inverse
    mujoco.mj_forward(theirs, data)
    ddq = back.ddq(data.qpos.copy(), data.qvel.copy(), data.qacc.copy())
    assert relative(algorithms.forward_dynamics(model, x.q, x.dq, tau), ddq) < 1e-10
    return description


@pytest.mark.parametrize("inside", ATTACHED.values(), ids=ATTACHED)
def test_an_attached_model_computes_as_in_mujoco(tmp_path, inside):
    path = write(tmp_path, robot=HAND.format(inside), finger=FINGER)
    description = assert_agrees(path)
    assert any("<attach>" in note.text for note in description.notes)


def test_models_in_models_in_folders_of_their_own(tmp_path):
    middle = (
        '<mujoco model="middle"><asset><model file="deeper/finger.xml"/></asset><worldbody>'
        '<body name="m"><joint name="j"/><geom size=".1"/>'
        '<attach model="finger" body="f1" prefix="x_"/></body></worldbody></mujoco>'
    )
    robot = HAND.replace('name="finger" file="finger.xml"', 'file="sub/middle.xml"').format(
        '<attach model="middle" body="m" prefix="m_"/>'
    )
    path = write(tmp_path, robot=robot, sub__middle=middle, sub__deeper__finger=FINGER)
    joints = {joint.name: joint for joint in assert_agrees(path).joints}
    assert joints["m_x_j1"].where == "deeper/finger.xml:6"
    assert joints["m_x_j1"].friction.viscous == 0.3  # by the default of the file it stands in
    assert joints["m_x_j1"].offset == -0.3


def test_a_file_may_be_included_by_a_model_and_by_one_that_it_attaches(tmp_path):
    part = '<mujocoinclude><option gravity="0 0 -1"/></mujocoinclude>'
    kid = FINGER.replace("<compiler", '<include file="part.xml"/><compiler')
    robot = HAND.replace('<option gravity="1 2 -9"/>', '<include file="part.xml"/>')
    path = write(tmp_path, robot=robot.format(ATTACHED["a body"]), finger=kid, part=part)
    assert assert_agrees(path).gravity == (0, 0, -1)


def test_meshes_of_an_attached_model_lie_beside_it(tmp_path):
    kid = """<mujoco model="finger"><compiler meshdir="shapes"/>
    <asset><mesh name="shape" file="shape.stl" scale=".1 .1 .1"/></asset>
    <worldbody><body name="f1"><joint name="j1"/><geom type="mesh" mesh="shape"/></body></worldbody>
    </mujoco>"""
    robot = HAND.replace("finger.xml", "sub/finger.xml").format(ATTACHED["twice"])
    path = write(tmp_path, robot=robot, sub__finger=kid)
    with pytest.raises(ParseError, match=r"finger\.xml:3: body 'a_f1' .* mesh 'shape'"):
        read_mjcf(path)
    (tmp_path / "sub" / "shapes").mkdir()
    (tmp_path / "sub" / "shapes" / "shape.stl").write_bytes(tetrahedron())
    description = assert_agrees(path)
    assert {mesh.path for mesh in description.meshes} == {"sub/shapes/shape.stl"}
    assert {mesh.link for mesh in description.meshes} == {"a_f1", "b_f1"}


def test_two_models_may_have_meshes_of_one_name(tmp_path):
    def kid(name, scale):
        return f"""<mujoco model="{name}"><asset>
        <mesh name="shape" file="shape.stl" scale="{scale} {scale} {scale}"/></asset>
        <worldbody><body name="f1"><joint name="j1"/><geom type="mesh" mesh="shape"/></body>
        </worldbody></mujoco>"""

    robot = HAND.replace(
        '<model name="finger" file="finger.xml"/>', '<model file="a/k.xml"/><model file="b/k.xml"/>'
    ).format('<attach model="a" body="f1" prefix="a_"/><attach model="b" body="f1" prefix="b_"/>')
    path = write(tmp_path, robot=robot, a__k=kid("a", 0.1), b__k=kid("b", 0.2))
    for folder in "ab":
        (tmp_path / folder / "shape.stl").write_bytes(tetrahedron())
    masses = {link.name: link.bodies[0].m for link in assert_agrees(path).links if link.bodies}
    assert masses["b_f1"] == pytest.approx(8 * masses["a_f1"])


@pytest.mark.parametrize("name", ["../finger.xml", "sub/../../finger.xml", "{outside}/finger.xml"])
def test_a_model_outside_the_folder_is_not_opened_unless_allowed(tmp_path, name):
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (tmp_path / "finger.xml").write_text(FINGER)
    robot = HAND.replace("finger.xml", name.format(outside=tmp_path)).format(ATTACHED["a body"])
    path = write(home, robot=robot)
    with pytest.raises(ParseError, match=r"outside the model's folder.*folders="):
        read_mjcf(path)
    assert "a_f1" in {link.name for link in read_mjcf(path, folders=[tmp_path]).links}


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "finger.xml").write_text(FINGER)
    try:
        os.symlink(tmp_path / "finger.xml", home / "finger.xml")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    with pytest.raises(ParseError, match="outside"):
        read_mjcf(write(home, robot=HAND.format(ATTACHED["a body"])))


def test_meshes_and_includes_of_an_attached_model_stay_inside_as_well(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "part.xml").write_text("<mujocoinclude><option/></mujocoinclude>")
    (tmp_path / "shape.stl").write_bytes(tetrahedron())
    robot = HAND.format(ATTACHED["a body"])
    kid = FINGER.replace("<compiler", '<include file="../part.xml"/><compiler')
    with pytest.raises(ParseError, match=r"finger\.xml:2: <include> .*outside"):
        read_mjcf(write(home, robot=robot, finger=kid))
    kid = FINGER.replace(
        "<worldbody>", '<asset><mesh name="s" file="../shape.stl"/></asset><worldbody>'
    ).replace('<geom size=".1" mass="1"', '<geom type="mesh" mesh="s"')
    with pytest.raises(ParseError, match=r"body 'a_f1' .*outside"):
        read_mjcf(write(home, robot=robot, finger=kid))


@pytest.mark.parametrize(
    "files, words",
    [
        ({}, "does not exist"),
        ({"finger": "root:x:0:0:secret"}, "finger.xml:1"),
        ({"finger": "<robot/>"}, "expected <mujoco>"),
        ({"finger": "<mujocoinclude/>"}, "expected <mujoco>"),
        ({"finger": FINGER.replace("finger", "x").replace('axis="0 1 0"', 'axis="0 0 0"')},
         "finger.xml:6: MuJoCo refuses <joint> 'j1' of body 'f1'"),
        ({"finger": FINGER.replace("</worldbody>", "<body wrong='1'/></worldbody>")},
         "finger.xml:11: "),
        ({"finger": FINGER.replace("</worldbody>", "<body><flexcomp/></body></worldbody>")},
         "finger.xml:11: <flexcomp>"),
        ({"finger": FINGER.replace('armature=".2"', 'armature="nan"')}, "finger.xml:6: armature"),
        ({"finger": FINGER.replace(
            "<compiler", '<asset><model file="robot.xml"/></asset><compiler')}, "contains this"),
        ({"finger": FINGER.replace(
            "<compiler", '<asset><model file="finger.xml"/></asset><compiler')}, "contains this"),
    ],
)  # fmt: skip
def test_models_that_cannot_be_attached_are_named(tmp_path, files, words):
    path = write(tmp_path, robot=HAND.format(ATTACHED["a body"]), **files)
    with pytest.raises(ParseError) as caught:
        read_mjcf(path)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_unknown_model_or_body_is_a_message_with_its_line(tmp_path):
    for inside in ('<attach model="none" prefix="a"/>', '<attach model="finger" body="none"/>'):
        path = write(tmp_path, robot=HAND.format(inside), finger=FINGER)
        with pytest.raises(ParseError, match=r"robot\.xml:6: .*<attach>.*palm"):
            read_mjcf(path)


def test_copies_of_copies_are_counted_before_mujoco_makes_them(tmp_path):
    def level(k):
        twice = f'<attach model="m{k + 1}" prefix="a"/><attach model="m{k + 1}" prefix="b"/>'
        return (
            f'<mujoco model="m{k}"><asset><model file="m{k + 1}.xml"/></asset><worldbody>'
            f"{twice * 5}</worldbody></mujoco>"
        )

    leaf = (
        '<mujoco model="m7"><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
    )
    files = {f"m{k}": level(k) for k in range(1, 7)}
    path = write(tmp_path, robot=level(0), m7=leaf, **files)
    with pytest.raises(ParseError, match="more than 200000 elements"):
        read_mjcf(path)


def test_a_model_that_copies_itself_again_and_again_is_refused(tmp_path):
    bodies = '<body name="b0"><joint/><geom size=".1"/></body>' + "".join(
        f'<body name="b{k}"><geom size=".1"/><attach body="b{k - 1}" prefix="x{k}"/>'
        f'<attach body="b{k - 1}" prefix="y{k}"/></body>'
        for k in range(1, 40)
    )
    path = write(tmp_path, robot=f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    with pytest.raises(ParseError, match="more than 200000 elements"):
        read_mjcf(path)


def test_data_that_copies_would_multiply_are_refused(tmp_path):
    long = " ".join(["0.123456"] * 400_000)
    kid = (
        f'<mujoco model="finger"><asset><mesh name="m" vertex="{long}"/></asset><worldbody>'
        '<body name="f1"><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    inside = "".join(f'<attach model="finger" body="f1" prefix="p{k}"/>' for k in range(100))
    path = write(tmp_path, robot=HAND.format(inside), finger=kid)
    with pytest.raises(ParseError, match="characters"):
        read_mjcf(path)


def test_models_nested_too_deep_are_refused(tmp_path):
    def level(k):
        return (
            f'<mujoco model="m{k}"><asset><model file="m{k + 1}.xml"/></asset><worldbody/></mujoco>'
        )

    path = write(tmp_path, robot=level(0), **{f"m{k}": level(k) for k in range(1, 30)})
    with pytest.raises(ParseError, match="nested more than 16 deep"):
        read_mjcf(path)


def test_a_diamond_of_models_is_bounded(tmp_path):
    def level(k):
        asset = f'<model name="x" file="m{k + 1}.xml"/><model name="y" file="m{k + 1}.xml"/>'
        return f'<mujoco model="m{k}"><asset>{asset}</asset><worldbody/></mujoco>'

    files = {f"m{k}": level(k) for k in range(1, 12)}
    path = write(tmp_path, robot=level(0), m12="<mujoco><worldbody/></mujoco>", **files)
    with pytest.raises(ParseError, match="more than 256 files"):
        read_mjcf(path)
