"""What the library answers to wrong input: one file, read from top to bottom by a person.

Each entry is a call, the class of the error and its text. After a change that is meant to change
them, write the file anew and read the diff:

    PYTHONPATH=tests:tests/interfaces python tests/interfaces/test_error_messages.py
"""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from stored_text import compare

import kinetree as kt
from kinetree.errors import KinetreeError

STORED = Path(__file__).with_name("error_messages.txt")
RENEW = "PYTHONPATH=tests:tests/interfaces python tests/interfaces/test_error_messages.py"

URDF = """<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="{mass}"/>
<inertia ixx="{ixx}" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="{type}"><parent link="base"/><child link="{child}"/>
<axis xyz="{axis}"/>{limit}</joint></robot>"""

# what the calls use, besides kt and np
SETTING = """\
robot = kt.robots.planar_2r(); panda = kt.robots.panda(); four_bar = kt.robots.four_bar()
plan = kt.motion.quintic([0, 0], [1, 0.5], duration=1.0, robot=robot)
builder = kt.Builder("arm").link("base").link("upper", 1.0)"""

# calls, one to a line
CALLS = {
    "Robots and files": """
kt.load("no_such_file.urdf")
kt.load("pandda")
kt.robots.pandda()
kt.load_string("robot")
kt.load_string(urdf(mass="heavy"))
kt.load_string(urdf(mass="-1"))
kt.load_string(urdf(limit=""), strict=True)
kt.load_string(urdf(ixx="9"), strict=True)
kt.load_string(urdf(type="ball_joint"))
kt.load_string(urdf(child="lower"))
kt.load_string(urdf(axis="0 0 0"))
kt.load_string(urdf(), friction="no")
kt.load_string(urdf(), arguments={"a": 1})
kt.load_string("<robot>")
kt.inverse_dynamics
robot.inverse_dynamic
robot.rnea
""",
    "The builder": """
kt.Builder("arm").link("base").link("base").build()
builder.joint("j", "hinge", "base", "upper")
builder.joint("j", "revolute", "base", "uper").build()
builder.joint("j", "revolute", "base", "upper", axis=(0, 0, 0))
builder.build()
robot.with_friction({"joint1": kt.friction.Friction(viscous=-1)})
kt.convert.from_points([(0, 0, 0)], [(0, 0, 0)], [(0, 0, 1)], m=[1, 2], I_com=[np.eye(3)])
""",
    "States and options": """
robot.inverse_dynamics([0.1], [0, 0], [0, 0])
robot.gravity_forces([0.1, 1j])
robot.gravity_forces(["a", "b"])
robot.gravity_forces({"joint1": 1, "elbow": 2})
robot.gravity_forces({"joint1": 1})
robot.mass_matrix(np.zeros((4, 3)))
robot.inverse_dynamics(np.zeros((4, 2)), np.zeros((3, 2)), [0, 0])
robot.gravity_forces([0, 0], out=np.zeros(3))
robot.pose([0, 0], frame="finger")
panda.body_jacobian([0] * 7, frame="panda_hnd")
robot.forward_dynamics([0, 0], [0, 0], "1 2")
four_bar.simulate([0, 1, 2], duration=0.1)
robot.with_payload(-1)
robot.with_gravity((0, 0))
robot.with_friction({"elbow": kt.friction.Friction(1)})
robot.lock({"joint3": 0})
robot.random(-1)
robot.compile("mass")
""",
    "Motions and simulation": """
robot.simulate([0, 0], duration=-1)
robot.simulate([0, 0], duration=1, method="rk5")
robot.simulate([0, 0], duration=1, dt=0)
robot.simulate([0, 0, 0], duration=1)
robot.simulate([0, 0], duration=1, controller="pd")
robot.simulate([0, 0], duration=1, controler=None)
robot.simulate([0, 0], duration=0.01, tau=lambda t, q, dq: [0])
kt.motion.quintic([0, 0], [1], duration=1.0, robot=robot)
kt.motion.quintic([0, 0], [1, 1], duration=0, robot=robot)
kt.motion.Trajectory(t=[0, 0], q=np.zeros((2, 2)), model=robot.model)
kt.motion.read("no_such.csv", robot)
kt.motion.read("words.csv", robot)
panda.simulate([0] * 7, duration=0.01)
kt.controllers.PD(robot, kp=-1, kd=1)
robot.inverse_kinematics(2 * np.eye(4))
kt.motion.resample(plan, -1)
""",
    "Identification and optimal control": """
kt.identify.identify(robot, plan)
kt.identify.identify(robot, "no_such.csv")
kt.identify.excite(robot, duration=-1)
kt.optimal.Problem(robot, dt=-0.1, steps=10, costs=[])
kt.identify.read_recording("words.csv", robot)
""",
    "Symbols, code and pictures": """
kt.symbolic(robot, ["masses"])
kt.export(robot, "mass")
kt.export(robot, "mass_matrix", language="fortran")
robot.explain([0, 0], [0, 0], [0])
kt.dynamics.newton_euler(robot, [0, 0], [0, 0], [0, 0], formulation="lagrange")["elbow"]
kt.views.render(robot, path="robot.bmp")
kt.views.render(robot, path="a.png", size=(0, 9))
kt.views.render(robot, path="a.png", hide=["shadow"])
kt.views.report_page(robot, samples=0)
kt.views.session_page(panda, plan)
kt.testing.check_robot(robot, kernel_names=["mass"])
kt.kernels.threads(-1)
kt.convert.to_urdf(robot, losses="maybe")
kt.convert.to_urdf(four_bar, losses="error")
""",
    "Constraints and contacts": """
robot.constrained({"h": kt.constraints.Hold("finger", "point", (0, 0, 0))})
robot.constrained({"c": kt.constraints.Couple("joint9", {}, 0)})
kt.contacts.Plane(normal=(0, 0, 0))
kt.contacts.ContactPoint("foot", (0, 0))
""",
}


def urdf(**values):
    limit = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
    usual = {"mass": "1", "ixx": "0.1", "type": "revolute", "child": "upper", "axis": "0 0 1"}
    return URDF.format(**({"limit": limit} | usual | values))


def answer(call, names):
    """The class and the text of the error of a call; or that there is none."""
    try:
        found = eval(call, names)
    except Exception as error:
        text = re.sub(r"\s*\n\s*", "\n        ", str(error))
        return f"{type(error).__name__}{'' if isinstance(error, KinetreeError) else ' !'}: {text}"
    return f"NO ERROR: {type(found).__name__}"


def answers():
    """The whole file."""
    names = {"kt": kt, "np": np, "urdf": urdf}
    exec(SETTING, names)
    Path("words.csv").write_text("one,two\nthree,four\n", encoding="utf-8")
    lines = [*SETTING.splitlines(), ""]
    for family, calls in CALLS.items():
        lines += [family, "=" * len(family), ""]
        for call in calls.strip().splitlines():
            lines += [call, f"    {answer(call, names)}", ""]
    return "\n".join(lines)


def test_wrong_input_is_answered_as_stored(tmp_path, monkeypatch):
    pytest.importorskip("sympy")
    monkeypatch.chdir(tmp_path)
    found = answers().replace(str(tmp_path), "FOLDER")
    assert "NO ERROR" not in found
    compare(found, STORED, RENEW)


if __name__ == "__main__":
    import os

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        STORED.write_text(answers().replace(folder, "FOLDER"), encoding="utf-8", newline="\n")
