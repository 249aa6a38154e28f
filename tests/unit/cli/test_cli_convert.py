"""`kinetree convert`: what is written reads back as the same robot, and losses are named."""

import os
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.files.write.json import from_json, to_json
from kinetree.files.write.sdf import to_sdf
from kinetree.model import build_model


@pytest.mark.parametrize("ending", ["urdf", "xml", "sdf", "json"])
@pytest.mark.parametrize("name", ["ur5e", "hand"])
def test_the_written_file_is_the_same_robot(program, name, ending):
    if ending == "xml":
        pytest.importorskip("mujoco")
    about = program.json(f"convert {name} -o out.{ending}")
    assert about["difference"] < 1e-12 and about["joints"] == len(kt.load(name).model.joints)
    path = program.folder / f"out.{ending}"
    if ending == "json":
        again = kt.Robot(build_model(from_json(path.read_text(encoding="utf-8"))))
    else:
        again = kt.load(path, friction="none")
    robot = kt.load(name, friction="none")
    q = robot.random(rng=np.random.default_rng(3))
    if again.n == robot.n:  # MJCF has mimic joints as constraints
        position = dict(zip(robot.model.coordinate_names, q, strict=True))
        order = [position[x] for x in again.model.coordinate_names]
        g = dict(zip(again.model.dof_names, again.gravity_forces(order), strict=True))
        assert robot.gravity_forces(q) == pytest.approx([g[x] for x in robot.model.dof_names])


def test_losses_are_named_on_the_screen(program):
    shown = program("convert hand -o hand.urdf").stdout
    assert "read back, 20 joints agree to" in shown and "not written:" in shown
    assert "armature" in shown or "friction" in shown or "tool" in shown
    dropped = program.json("convert four_bar -o bar.sdf")["dropped"]
    assert any("constraint" in x for x in dropped) and any("'crank_link'" in x for x in dropped)


def test_shapes_are_named_as_lost(program):
    text = kt.robots.ur5e().to_urdf()
    box = '<visual><geometry><box size="1 1 1"/></geometry></visual></link>'
    (program.folder / "a.urdf").write_text(text.replace("</link>", box, 1), encoding="utf-8")
    assert "1 shape" in program.json("convert a.urdf -o b.urdf")["dropped"][-1]


def test_wrong_outputs_leave_no_file(program):
    assert "expected a name that ends with" in program("convert panda -o a.foo", code=2).stderr
    refused = program("convert humanoid -o h.sdf", code=2)
    assert "free" in refused.stderr and not (program.folder / "h.sdf").exists()
    assert "--output is missing" in program("convert panda", code=2).stderr
    (program.folder / "p.urdf").write_text(kt.robots.panda().to_urdf(), encoding="utf-8")
    assert "being read" in program("convert p.urdf -o p.urdf", code=2).stderr


@pytest.mark.parametrize("name", kt.robots.__all__)
def test_json_keeps_every_bit(name):
    model = getattr(kt.robots, name)().model
    description = from_json(to_json(model))
    again = (
        to_json(build_model(description, unphysical="allow")) if model.constraints is None else ""
    )
    assert again in ("", to_json(model))
    names = () if description.constrained is None else description.constrained.constraints
    assert list(names) == list(() if model.constraints is None else model.constraints.given)


def test_sdf_has_springs_and_limits():
    robot = kt.robots.scara().with_springs({"j3": kt.Spring(stiffness=3.0, rest=0.1)})
    again = kt.load_string(to_sdf(robot.model, losses="allow"))
    (spring,) = again.model.springs
    assert (float(spring.stiffness), float(spring.rest)) == (3.0, 0.1)
    for joint in robot.model.joints:
        assert again.model.joint(joint.name).limits == joint.limits


def test_sdf_has_dampers_and_springs_over_a_multiple_of_a_joint():
    springs = {"j3": kt.Spring(3.0, 0.1, damping=2.0), "belt": kt.Spring(5.0, 0.4, {"j1": -2})}
    robot = kt.robots.scara().with_springs(springs)
    again = kt.load_string(to_sdf(robot.model, losses="allow"))
    rng = np.random.default_rng(0)
    for q, dq, ddq in rng.normal(size=(5, 3, robot.n)):
        tau = robot.inverse_dynamics(q, dq, ddq)
        assert again.inverse_dynamics(q, dq, ddq) == pytest.approx(tau, rel=1e-12, abs=1e-12)


def test_without_mujoco_the_error_says_why_a_written_file_needs_it(program):
    hidden = program.folder / "hidden"
    hidden.mkdir()
    (hidden / "mujoco.py").write_text("raise ImportError('hidden')", encoding="utf-8")
    path = f"{hidden}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    line = f"'{sys.executable}' -m kinetree convert ur5e -o never.xml"
    found = program.shell(line, PYTHONPATH=path)
    assert found.returncode == 2 and not (program.folder / "never.xml").exists()
    assert "reads the MJCF text back, to compare it with the robot" in found.stderr
    assert "pip install 'kinetree[mjcf]'" in found.stderr
