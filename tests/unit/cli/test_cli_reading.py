"""How a robot is read: on a free joint, with mimic joints independent, strictly, from folders."""

import warnings

import pytest

import kinetree as kt
from kinetree.errors import ModelError

BODY = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" '
    'iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)
GRIPPER = f"""<robot name="gripper">
  <link name="palm">{BODY}</link> <link name="left">{BODY}</link> <link name="right">{BODY}</link>
  <joint name="close" type="revolute"><parent link="palm"/><child link="left"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="1" effort="9" velocity="9"/></joint>
  <joint name="mirror" type="revolute"><parent link="palm"/><child link="right"/>
    <origin xyz="0.1 0 0"/><axis xyz="0 1 0"/><mimic joint="close" multiplier="-1"/>
    <limit lower="-1" upper="0" effort="9" velocity="9"/></joint>
</robot>"""
BLOCK = f'<robot name="block"><link name="block">{BODY}</link></robot>'
# every command that takes a robot, with what else it needs; view is tried with the workbench
COMMANDS = {
    "info": "", "convert": "-o copy.json", "id": "", "fd": "", "terms": "",
    "explain": "", "simulate": "--duration 0.01",
    "equations": "--quantity g", "export": "gravity_forces", "check": "motion.csv",
    "identify": "motion.csv -o found.urdf",
    "report": "-o page.html --samples 10", "watch": "motion.csv",
    "render": "-o arm.png --size 32x24", "plan": "--to 1", "excite": "", "size": "motion.csv",
    "optimize": "--to 0.5 --dt 0.1",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(program):
    """The program, beside a gripper, a block and a robot with an odd inertia."""
    texts = {"gripper": GRIPPER, "block": BLOCK, "odd": GRIPPER.replace('izz="0.04"', 'izz="0.4"')}
    for name, text in texts.items():
        (program.folder / f"{name}.urdf").write_text(text, encoding="utf-8")
    return program


def names(robot):
    return list(robot.model.dof_names)


def test_a_file_floats_as_load_lets_it(files):
    robot = kt.load(files.folder / "gripper.urdf", floating=True)
    q = robot.neutral()
    q[-1] = 0.5
    found = files.json("id gripper.urdf --floating --q close=0.5")
    assert found["joints"] == names(robot) and found["q"] == q.tolist()
    tau = robot.inverse_dynamics(q, [0.0] * 7, [0.0] * 7)
    assert found["tau"] == pytest.approx(tau.tolist(), rel=1e-13, abs=1e-13)


def test_mimic_joints_become_independent(files):
    assert files.json("info gripper.urdf")["n"] == 1
    found = files.json("terms gripper.urdf --no-mimic --q 0.1 0.2")
    robot = kt.load(files.folder / "gripper.urdf", mimic=False)
    assert found["joints"] == names(robot) == ["close", "mirror"]
    assert found["g"] == pytest.approx(robot.gravity_forces([0.1, 0.2]).tolist(), rel=1e-13)


def test_a_block_falls(files):
    """A file without joints has no dynamics until it floats."""
    assert "--floating" in files("fd block.urdf", code=2).stderr
    assert files.json("fd block.urdf --floating")["ddq"] == pytest.approx([0, 0, 0, 0, 0, -9.81])


def test_built_in_robots_float_too(files):
    panda = kt.robots.panda()
    found = files.json("id panda --floating --q panda_joint4=-1")
    assert found["joints"][:2] == ["base.wx", "base.wy"] and len(found["joints"]) == 13
    q = [0.0, 0, 0, -1, 0, 0, 0]
    fixed = panda.inverse_dynamics(q, [0.0] * 7, [0.0] * 7)
    assert found["tau"][6:] == pytest.approx(fixed.tolist(), rel=1e-12, abs=1e-12)
    base = float(panda.model.base[0])  # held up as well
    mass = float(sum(panda.model.m)) + base
    assert found["tau"][5] == pytest.approx(9.81 * mass, rel=1e-12)


def test_built_in_mimic_joints_become_independent(files):
    following = sum(x.follows is not None for x in kt.robots.hand().model.joints)
    coupled, free = (files.json(f"info hand {x}")["n"] for x in ("", "--no-mimic"))
    assert following and free == coupled + following


@pytest.mark.parametrize("robot", ["quadruped", "humanoid", "afloat.urdf"])
def test_what_floats_already_is_not_hung_twice(files, robot):
    path = files.folder / "afloat.urdf"
    path.write_text(kt.load(files.folder / "block.urdf", floating=True).to_urdf(), encoding="utf-8")
    found = files(f"info {robot} --floating", code=2).stderr
    assert "floats already" in found and "--floating" in found
    with pytest.raises(ModelError, match="floats already"):
        kt.load(path, floating=True)


def test_strict_refuses_what_is_odd(files):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kt.load(files.folder / "odd.urdf").report.warnings
    assert "odd.urdf" in files("info odd.urdf").stderr
    assert "triangle" in files("info odd.urdf --strict", code=2).stderr
    files("info gripper.urdf --strict")


def test_a_folder_holds_what_a_file_includes(files):
    pytest.importorskip("mujoco")
    shelf = files.folder / "shelf"
    (files.folder / "desk").mkdir()
    shelf.mkdir()
    (shelf / "part.xml").write_text(
        '<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size="0.1"/></body>'
        "</worldbody></mujoco>"
    )
    (files.folder / "desk" / "arm.xml").write_text(
        '<mujoco model="arm"><include file="../shelf/part.xml"/></mujoco>'
    )
    assert "--folder on the command line" in files("info desk/arm.xml", code=2).stderr
    assert files.json("info desk/arm.xml --folder shelf")["n"] == 1
    assert files.json("info desk/arm.xml --folder . --folder shelf")["n"] == 1
    assert "--folder is nowhere" in files("info desk/arm.xml --folder nowhere", code=2).stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_them(files, command):
    """Nothing but the robot can be wrong, so what is said of it shows that the option arrived."""
    rest = COMMANDS[command]
    (files.folder / "motion.csv").write_text("t,q:close\n0,0\n1,1\n", encoding="utf-8")
    found = files(f"{command} quadruped {rest} --floating", code=2).stderr
    assert "floats already" in found
    assert "triangle" in files(f"{command} odd.urdf {rest} --strict", code=2).stderr
    assert "built-in" in files(f"{command} panda {rest} --arg a:=b", code=2).stderr
    if command != "identify":  # whose --friction is the friction to be found
        assert "none" in files(f"{command} panda {rest} --friction some", code=2).stderr


XACRO = """<robot name="mast" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/> <xacro:arg name="name" default="rod"/>
  <link name="base"/> <link name="$(arg name)"><inertial><mass value="$(arg mass)"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="$(arg name)"/>
    <axis xyz="0 0 1"/><dynamics damping="0.5"/></joint></robot>"""


@pytest.fixture(scope="module")
def mast(files):
    (files.folder / "mast.xacro").write_text(XACRO, encoding="utf-8")
    return files


def test_arguments_reach_a_xacro_file(mast):
    assert mast.json("info mast.xacro")["mass"] == 2
    found = mast.json("info mast.xacro --arg mass:=-0 --arg name:=a:=b")
    assert found["mass"] == 0 and found["links"][0]["name"] == "a:=b"
    assert any("mass:=-0 (given)" in note["text"] for note in found["notes"])


def test_arguments_that_are_not_there_are_named(mast):
    found = mast("info mast.xacro --arg mas:=3").stderr
    assert "no argument 'mas'. Is 'mass' meant? It is ignored." in found
    found = mast("info mast.xacro --arg mas:=3 --strict", code=2).stderr
    assert "no argument 'mas'" in found and "mass:=2, name:=rod" in found
    assert "NAME:=VALUE" in mast("info mast.xacro --arg mass=3", code=2).stderr
    assert "twice" in mast("info mast.xacro --arg mass:=3 --arg mass:=4", code=2).stderr
    assert "takes no arguments" in mast("info gripper.urdf --arg a:=b", code=2).stderr
    assert "built-in" in mast("info panda --arg a:=b", code=2).stderr


def test_friction_can_be_left_out(mast):
    assert mast.json("id mast.xacro --dq 2")["tau"] == [1.0]
    assert mast.json("id mast.xacro --dq 2 --friction none")["tau"] == [0.0]
    assert mast.json("info mast.xacro")["effects"] == ["viscous friction 0.5, 1 of 1 joint"]
    assert mast.json("info mast.xacro --friction none")["effects"] == []
    assert "viscous friction 0.5" in mast("info mast.xacro").stdout
    assert mast.json("info cart_pole --friction none")["effects"] == []


def test_a_legged_robot_falls_from_the_command_line(files):
    """The example of the page on the command line, at a time when the answer is known."""
    found = files.json("simulate gripper.urdf --floating --duration 0.1 --q base.z=1")
    drop = found["q"][0][6] - found["q"][-1][6]
    assert drop == pytest.approx(9.81 * 0.1**2 / 2, rel=1e-9)


SDF = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity>{}</world></sdf>"""
PENDULUM = """<model name="{}"><link name="rod"><inertial><pose>0 0 -0.5 0 0 0</pose>
<mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
<joint name="{}" type="revolute"><parent>world</parent><child>rod</child>
<axis><xyz>0 1 0</xyz></axis></joint></model>"""


def test_an_sdf_file_is_read_and_a_model_of_several_is_chosen(files):
    (files.folder / "one.sdf").write_text(SDF.format(PENDULUM.format("one", "pivot")))
    found = files.json("id one.sdf --q 0.5")
    assert found["joints"] == ["pivot"]
    assert found["tau"] == pytest.approx([2 * 9.8 * 0.5 * 0.479425538604203])
    assert "one" in files("info one.sdf").stdout
    two = PENDULUM.format("left", "l") + PENDULUM.format("right", "r")
    (files.folder / "two.world").write_text(SDF.format(two))
    refused = " ".join(files("info two.world", code=2).stderr.split())
    assert "'left', 'right'" in refused and "--model" in refused
    assert files.json("id two.world --model right")["joints"] == ["r"]


def test_an_unknown_name_is_refused_with_the_nearest_one(files):
    assert "Did you mean 'panda'?" in files("info pnda", code=2).stderr
