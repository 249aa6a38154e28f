"""Transmissions of URDF as motors of coupled joints, read where asked for and written back."""

import numpy as np
import pytest

import kinetree as kt

LINK = """<link name="l{0}"><inertial><mass value="1"/><origin xyz=".1 0 .1"/>
<inertia ixx=".02" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{0}" type="continuous"><parent link="{1}"/><child link="l{0}"/>
<axis xyz="{2}"/><origin xyz=".2 0 0"/></joint>"""
TREE = "".join(
    LINK.format(k, f"l{k - 1}" if k > 1 else "base", axis)
    for k, axis in enumerate(["0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0"], 1)
)


def end(tag, name, role, reduction, more=""):
    return f"""<{tag} name="{name}"><role>{role}</role>
<mechanicalReduction>{reduction}</mechanicalReduction>{more}</{tag}>"""


def pair(kind, joints, reductions, more=("", "")):
    """A transmission of two joints, in the wrong order of its roles."""
    n1, n2, r1, r2 = reductions
    a, b = joints
    return f"""<transmission name="{a}{b}"><type>transmission_interface/{kind}</type>
{end("joint", b, "joint2", n2)}{end("joint", a, "joint1", n1)}
{end("actuator", f"m{b}", "actuator2", r2, more[1])}
{end("actuator", f"m{a}", "actuator1", r1, more[0])}</transmission>"""


ROTOR = "<rotor_inertia value='{}'/>"
SIMPLE = """<ros2_control name="c" type="system"><transmission name="s">
<plugin>transmission_interface/SimpleTransmission</plugin><joint name="j1" role="joint1">
<mechanical_reduction>50</mechanical_reduction></joint><actuator name="m1" role="actuator1"/>
</transmission></ros2_control>"""
DIFFERENTIAL = pair(
    "DifferentialTransmission", ("j4", "j5"), (2, 3, 10, -20), (ROTOR.format(1e-4), "")
)
FOUR_BAR = pair("FourBarLinkageTransmission", ("j2", "j3"), (0.5, 4, 30, 25))
TEXT = f'<robot name="arm"><link name="base"/>{TREE}{SIMPLE}{DIFFERENTIAL}{FOUR_BAR}</robot>'
MATRIX = {
    "m1": [50, 0, 0, 0, 0],
    "mj4": [0, 0, 0, 20, 30],
    "mj5": [0, 0, 0, -40, 60],
    "mj2": [0, 15, 0, 0, 0],
    "mj3": [0, 25, 100, 0, 0],
}
READ = pytest.fixture(scope="module")(lambda: kt.load_string(TEXT, transmissions="file"))


def test_matrices_are_those_of_transmission_interface(READ):
    names = [x.name for x in READ.model.motors]
    assert {*names} == {*MATRIX}
    assert READ.model.motor_matrix.tolist() == [MATRIX[name] for name in names]
    assert [x.inertia for x in READ.model.motors if x.name == "mj4"] == [1e-4]
    assert "motor 'mj3' turns by 25 j2 + 100 j3" in str(READ.report)


def test_motors_are_read_by_declaration_alone():
    with pytest.warns(kt.KinetreeWarning, match="rotor inertia is not used"):
        plain = kt.load_string(TEXT)
    assert plain.model.motors == ()


def test_forces_of_motors_do_the_work_of_the_joints(READ):
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 5))
    tau = READ.inverse_dynamics(q, dq, ddq)
    forces = READ.motor_forces(tau)
    assert forces @ (READ.model.motor_matrix @ dq) == pytest.approx(tau @ dq, rel=1e-12)


@pytest.mark.filterwarnings("ignore:URDF cannot represent")
def test_a_written_file_has_the_same_motors(READ):
    text = READ.to_urdf()
    again = kt.load_string(text, transmissions="file")
    matrices = [
        dict(zip([x.name for x in r.model.motors], r.model.motor_matrix.tolist(), strict=True))
        for r in (READ, again)
    ]
    assert matrices[0] == matrices[1]
    q, dq, ddq = np.random.default_rng(1).normal(size=(3, 5))
    assert np.allclose(
        again.inverse_dynamics(q, dq, ddq), READ.inverse_dynamics(q, dq, ddq), rtol=1e-12
    )
    odd = READ.with_motors({"mj2": kt.Motor({"j1": 1, "j2": 2, "j3": 3})})
    assert "motor 'mj2' on j1 + 2 j2 + 3 j3" in odd.to_urdf()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<role>joint2</role>", "<role>elbow</role>", "roles 'elbow', 'joint1'; expected joint1"),
        ("<mechanicalReduction>3<", "<mechanicalReduction>0<", "a reduction is 0"),
        ("<mechanicalReduction>3<", "<mechanicalReduction>x<", "'x'"),
        ("value='0.0001'", "value='-1'", "rotor inertia is -1"),
    ],
)
def test_what_is_wrong_is_refused_by_name(old, new, words):
    assert old in TEXT
    with pytest.raises(kt.KinetreeError, match=words):
        kt.load_string(TEXT.replace(old, new), transmissions="file")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("/DifferentialTransmission", "/Tendon", "the type 'Tendon' is not read; expected one of"),
        ('<joint name="j4"><role>', '<joint name="moon"><role>', "it drives 'moon', 'j5'"),
    ],
)
def test_what_is_left_out_is_named(old, new, words):
    assert old in TEXT
    with pytest.warns(kt.KinetreeWarning, match=words):
        robot = kt.load_string(TEXT.replace(old, new), transmissions="file")
    assert len(robot.model.motors) == 3


def test_another_word_is_refused():
    with pytest.raises(kt.KinetreeError, match="transmissions is 'all'; expected 'file' or 'none'"):
        kt.load_string(TEXT, transmissions="all")
