"""`kinetree lint`: every planted fault is found, its correction is right, sound files are fine."""

import re

import numpy as np
import pytest

SOUND = """<robot name="arm">
  <link name="base"/>
  <link name="arm"><inertial><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="9"/></joint>
</robot>"""

# a fault: what is replaced, by what, and words of the finding and of its correction
PROBLEMS = {
    "triangle": ('izz="0.04"', 'izz="0.4"', "triangle inequality", "<inertia ixx="),
    "negative": ('ixx="0.02"', 'ixx="-0.02"', "not positive", "<inertia ixx="),
    "all equal": (
        'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"',
        'ixx="0.01" ixy="0.01" ixz="0.01" iyy="0.01" iyz="0.01" izz="0.01"',
        "not a physical body", "<inertia ixx=",
    ),
    "singular": (
        'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"',
        'ixx="0" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"', "singular", "<inertia ixx=",
    ),
    "unit": (
        'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"',
        'ixx="2e7" ixy="0" ixz="0" iyy="3e7" iyz="0" izz="4e7"',
        "m across", "if the unit is mistaken: <inertia",
    ),
    "grams": ('<mass value="2"/>', '<mass value="2000"/>', "g/cm^3", '<mass value="2"/>'),
    "far too heavy": ('<mass value="2"/>', '<mass value="2e7"/>', "g/cm^3", "<inertia ixx="),
    "tiny moments": (
        'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"',
        'ixx="1e-8" ixy="0" ixz="0" iyy="1e-8" iyz="0" izz="1e-8"',
        "solid ball 0.00022 m across", '<inertia ixx="0.00',
    ),
    "no mass": ('<mass value="2"/>', '<mass value="0"/>', "without mass", "<mass value="),
    "negative mass": ('<mass value="2"/>', '<mass value="-2"/>', "less than zero", "positive"),
    "mass missing": ('<mass value="2"/>', "", "no <mass>", "add <mass"),
    "inertia missing": (' ixy="0"', "", "no ixy", '"0" for ixy'),
    "limits swapped": (
        'lower="-1" upper="1"', 'lower="1" upper="-1"', "above upper", 'lower="-1" upper="1"',
    ),
    "no limit": ('<limit lower="-1" upper="1" velocity="2" effort="9"/>', "", "needs a <limit>",
                 "<limit lower="),
    "no effort": (' effort="9"', "", "no effort", 'effort="..."'),
    "negative speed": ('velocity="2"', 'velocity="-2"', "negative", 'velocity="2"'),
    "flat box": ("0.1 0.1 0.1", "0.1 0 0.1", 'size="0.1 0 0.1"', "size > 0"),
    "blank": ('izz="0.04"', 'izz="0.04 "', "has a blank", 'izz="0.04"'),
    "mesh": ('<box size="0.1 0.1 0.1"/>', '<mesh filename="no.stl"/>', "'no.stl'", "--folder"),
    "materials": (
        '<link name="base"/>', '<link name="base"/>' + 2 * '<material name="red"/>',
        "'red' is defined 2 times", "keep one",
    ),
    "no tree": ('<child link="arm"/>', '<child link="arn"/>', "Did you mean 'arm'?", ""),
    "no XML": ("</robot>", "", "", ""),
}  # fmt: skip


RED = '<material name="red"/>'


@pytest.fixture(scope="module")
def lint(program):
    def lint(text, options=""):
        (program.folder / "arm.urdf").write_text(text, encoding="utf-8")
        return program.json(f"lint arm.urdf {options}", code=None)

    return lint


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_fault_is_found_and_answered(lint, program, name):
    before, after, words, correction = PROBLEMS[name]
    assert before in SOUND
    found = lint(SOUND.replace(before, after))
    unreadable = name in ("negative mass", "no tree", "no XML")
    assert found["verdict"] == ("unreadable" if unreadable else "problems")
    problem = next(x for x in found["problems"] if words in x["text"])
    assert correction in problem["correction"]
    shown = program("lint arm.urdf", code=1)
    assert shown.stderr == "" and shown.stdout.startswith("arm.urdf: ")


@pytest.mark.parametrize("name", ["triangle", "negative", "all equal", "singular", "unit"])
def test_a_suggested_inertia_is_physical(lint, name):
    """Of a real body: the moments d of I = tr(d) - d are positive, and so are those of I."""
    before, after, *_ = PROBLEMS[name]
    (problem,) = lint(SOUND.replace(before, after))["problems"]
    words = dict(re.findall(r'(i\w\w)="([^"]*)"', problem["correction"]))
    xx, yy, zz, xy, xz, yz = (float(words[k]) for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert np.linalg.eigvalsh(np.trace(I) / 2 * np.eye(3) - I)[0] > 0
    assert np.linalg.eigvalsh(I)[0] > 0
    # the corrected file is fine
    tag = re.search("<inertia [^>]*/>", problem["correction"])[0]
    assert lint(re.sub("<inertia [^>]*/>", tag, SOUND))["verdict"] == "fine"


def test_pinocchio_and_mujoco_refuse_what_is_a_problem(tmp_path):
    """The peers' own words, where these are installed: a refusal is no invention of lint."""
    mujoco = pytest.importorskip("mujoco")
    for name in ("triangle", "negative", "all equal", "no mass"):
        before, after, *_ = PROBLEMS[name]
        with pytest.raises(ValueError, match=r"inertia|mass|eigenvalues"):
            mujoco.MjModel.from_xml_string(SOUND.replace(before, after))
    mujoco.MjModel.from_xml_string(SOUND)
    pinocchio = pytest.importorskip("pinocchio")
    for name in ("no effort", "no limit", "inertia missing", "mass missing", "blank", "materials"):
        before, after, *_ = PROBLEMS[name]
        path = tmp_path / "arm.urdf"
        path.write_text(SOUND.replace(before, after), encoding="utf-8")
        try:
            moments = pinocchio.buildModelFromUrdf(str(path)).inertias[1].inertia
        except ValueError:
            continue
        assert not moments.any(), name  # urdfdom has dropped the inertia, and goes on


def test_a_mass_that_its_shape_cannot_have_is_a_remark(lint):
    found = lint(SOUND.replace("0.1 0.1 0.1", "0.01 0.02 0.03"))
    assert found["verdict"] == "fine"
    (remark,) = found["remarks"]
    assert "6 cm^3: 333 g/cm^3" in remark["text"]
    meshes = '<visual><geometry><mesh filename="no.stl"/></geometry></visual></link>'
    found = lint(SOUND.replace("0.1 0.1 0.1", "0.01 0.02 0.03").replace("</link>", meshes))
    assert not found["remarks"]  # meshes are not read: the volume is unknown


def test_all_faults_of_an_unreadable_file_are_listed(lint, tmp_path):
    """Faults of links and joints, and what the rest of the file has besides them."""
    faults = SOUND.replace('mass value="2"', 'mass value="-2"').replace('"revolute"', '"hinge"')
    faults = faults.replace('<link name="base"/>', '<link name="base"/>' + 2 * RED)
    found = lint(faults)
    assert found["verdict"] == "unreadable"
    texts = [x["text"] for x in found["problems"]]
    assert len(texts) == 3 and "'hinge'" in texts[1] and "'red'" in texts[2]
    assert found["problems"][0]["code"] == "mass-negative"
    swapped = SOUND.replace('mass value="2"', 'mass value="-2"').replace('lower="-1"', 'lower="7"')
    assert [x["code"] for x in lint(swapped)["problems"]] == ["mass-negative", "limits-reversed"]


def test_the_function_finds_what_the_command_prints(lint, tmp_path):
    import kinetree as kt

    text = SOUND.replace('lower="-1" upper="1"', 'lower="1" upper="-1"')
    (tmp_path / "arm.urdf").write_text(text)
    found = kt.lint(tmp_path / "arm.urdf")
    assert found.verdict == "problems" and found.robot == "arm" and "above upper" in str(found)
    assert found.to_dict() | {"source": "arm.urdf"} == lint(text)
    with pytest.raises(kt.errors.ParseError) as caught:
        kt.load_string(SOUND.replace('"2"', '"-2"', 1).replace('"revolute"', '"hinge"'))
    assert len(caught.value.faults) == 2 and caught.value.code == "mass-negative"
