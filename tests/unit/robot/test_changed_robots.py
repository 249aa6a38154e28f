"""Changed robots: they keep the report of their file and what was not changed."""

import pytest

import kinetree as kt

TEXT = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="2"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hip" type="continuous"><parent link="base"/><child link="upper"/></joint>
<joint name="knee" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 0.3"/><axis xyz="0 1 0"/></joint></robot>"""
ARM = kt.load_string(TEXT)
CHANGES = {
    "with_gravity": lambda x: kt.Robot.with_gravity(x, (0, 0, -1.6)),
    "with_payload": lambda x: kt.Robot.with_payload(x, 0.5),
    "with_friction": lambda x: kt.Robot.with_friction(x, kt.friction.Friction(0.1)),
    "with_springs": lambda x: kt.Robot.with_springs(x, {"knee": kt.joints.Spring(2)}),
    "with_drives": lambda x: kt.Robot.with_drives(x, {"knee": kt.joints.Drive(peak=3)}),
    "with_motors": lambda x: kt.Robot.with_motors(
        x, {"m": kt.joints.Motor({"hip": 1, "knee": 1}, 0.1)}
    ),
    "with_actuators": lambda x: kt.Robot.with_actuators(
        x, {"m": kt.joints.Actuator.motor("knee", 2)}
    ),
    "with_contacts": lambda x: kt.Robot.with_contacts(
        x, [kt.contacts.ContactPoint("heel", "lower")]
    ),
    "with_elastic_joint": lambda x: kt.Robot.with_elastic_joint(x, "knee", 50, motor_inertia=0.1),
    "with_tool": lambda x: kt.Robot.with_tool(x, "hand", (0, 0, 0.3)),
    "constrained": lambda x: kt.Robot.constrained(
        x, {"gear": kt.constraints.Couple("knee", {"hip": -2})}
    ),
    "lock": lambda x: kt.Robot.lock(x, {"hip": 0.3}),
    "subtree": lambda x: kt.Robot.subtree(x, "upper"),
    "attach": lambda x: kt.Robot.attach(x, kt.robots.planar_2r(), prefix="b/"),
    "unconstrained": kt.constraints.unconstrained,
    "without_load_friction": kt.motion.without_load_friction,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_robot_has_the_report_of_its_file_and_its_own_model(name):
    changed = CHANGES[name](ARM)
    assert changed.report.source == ARM.report.source and changed.report.model is changed.model
    assert changed.name == ARM.name and ARM.n == 2


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_model_is_that_of_its_robot(name):
    model, robot = CHANGES[name](ARM.model), CHANGES[name](ARM)
    assert isinstance(model, type(ARM.model))
    q = robot.random(rng=0)
    same = kt.dynamics.gravity_forces(model, q) == kt.dynamics.gravity_forces(robot, q)
    assert same.all() and model.notes == robot.model.notes


def test_changes_keep_what_they_do_not_name():
    every = ARM
    for name in ("with_friction", "with_springs", "with_motors", "with_actuators", "with_contacts"):
        every = CHANGES[name](every)
    loaded = every.with_payload(0.5).with_gravity((1, 2, 3)).with_drives({})
    for part in ("springs", "motors", "actuators", "contacts"):
        assert getattr(loaded.model, part) == getattr(every.model, part)
    assert [x.friction for x in loaded.model.joints] == [x.friction for x in every.model.joints]


def test_a_method_of_a_robot_is_the_function_of_its_subject():
    assert kt.Robot.with_gravity(ARM.model, (0, 0, 1)).gravity.tolist() == [0, 0, 0, 0, 0, 1]
    assert "free fall" in (kt.Robot.with_gravity.__doc__ or "")
    with pytest.raises(kt.errors.InputError, match="expected a Robot or a Model"):
        kt.Robot.with_gravity(3, (0, 0, 1))
