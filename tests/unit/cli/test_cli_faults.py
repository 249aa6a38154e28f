"""What is typed wrongly: one paragraph on stderr that names it and the way out, exit code 2."""

import shutil

import pytest

from cli_program import Program

CASES = {
    "id": "ROBOT is missing: kinetree id ROBOT [DATA] [OPTIONS]",
    "id pandda": "Did you mean 'panda'?",
    "info nope.urdf": "kinetree: there is no file nope.urdf; expected a robot",
    "info arn.urdf": "Did you mean 'arm.urdf'?",
    "info nowhere/arm.urdf": "There is no folder nowhere either",
    "info .": "is a folder; expected a robot file. It has arm.urdf",
    "info text.urdf": "text.urdf:1:1: not XML",
    "info page.xml": "page.xml",
    "info notes.txt": "notes.txt ends with '.txt'",
    "id panda --q 1 2": "--q has 2 numbers; 'Franka Panda' needs 7: panda_joint1",
    "id panda --q": "--q needs at least one value",
    "id planar_2r --q 1 x": "'x' for 'joint2' is not a number",
    "id planar_2r --q 1_0 2": "'1_0' for 'joint1' is not a number",
    "id planar_2r --q 1 \u0661": "'\u0661' for 'joint2' is not a number",
    "id planar_2r --q 1 nan": "'joint2' is nan; expected a finite number",
    "id planar_2r --dq inf 0": "--dq: 'joint1' is inf",
    "id planar_2r --q jiont1=1": "Did you mean 'joint1'?",
    "id planar_2r --q joint1=1 joint1=2": "names 'joint1' twice",
    "id planar_2r --q joint1=1 2": "'2' has no name",
    "id planar_2r --ddq 1 2 3": "--ddq has 3 numbers",
    "id --q 1 2 planar_2r": "lists take all words up to the next option",
    "id quadruped --q base.qw=0.5": "quaternion of joint 'base' in --q",
    "id planar_2r --qq 1 2": "Did you mean '--q'?",
    "id planar_2r --floatin": "Did you mean '--floating'?",
    "id planar_2r --folder": "--folder needs a value. See kinetree id --help.",
    "id planar_2r --folder nowhere": "--folder is nowhere, which is not a folder",
    "id planar_2r --jsn": "Did you mean '--json'?",
    "id planar_2r -x": "there is no option -x",
    "id planar_2r nope.csv": "there is no file nope.csv",
    "id planar_2r .": "is a folder without metadata.yaml; expected a recording",
    "id planar_2r in.csv --q 1 2": "--q and the file in.csv both give states",
    "id planar_2r - --q 1 2": "--q and standard input both give states",
    "id ''": "there is no robot ''",
    "id planar_2r in.csv -o in.csv": "which is being read",
    "id planar_2r in.csv -o no/out.csv": "there is no folder no",
    "id planar_2r in.csv -o .": "a folder; expected the name of a file",
    "terms planar_2r --dq 1": "--dq has 1 number;",
    "explain planar_2r --formulation screws": "Did you mean 'screw'?",
    "explain planar_2r in.csv --row 0": "rows are counted from 1",
    "equations planar_2r --quantity Q": "there is no quantity 'Q'",
    "equations planar_2r --symbols inertia": "Did you mean 'inertial'?",
    "equations planar_2r --digits 40": "expected 1 to 17",
    "equations planar_2r --quantity M_r": "need a robot with constraints",
    "export planar_2r mass_matrx": "Did you mean 'mass_matrix'?",
    "export planar_2r pose --frame tol": "Did you mean 'tool'?",
    "export planar_2r --language cobol": "--language is 'cobol'; expected one of 'c'",
    "export planar_2r --language julia --driver": "a test driver exists in C",
    "simulate planar_2r --duration -1": "--duration is -1 s",
    "simulate planar_2r --duration x": "--duration is 'x'; expected a number",
    "simulate planar_2r --controller pd": "needs --kp and --kd",
    "simulate planar_2r --controller pd --kp 1 --kd 1 --ki 1": "does not use --ki",
    "simulate planar_2r --kp 1": "--controller none does not use --kp",
    "simulate planar_2r --controller pid --kp 1 --kd 1 --ki 1 --to 1 1 --reference x": "--to and",
    "simulate planar_2r --tau 1 1 --forces in.csv": "--tau and --forces",
    "simulate planar_2r --plot x.foo": "expected a name ending with .png",
    "simulate planar_2r -o no/m.csv": "there is no folder no",
    "check planar_2r": "TRAJECTORY is missing: kinetree check ROBOT TRAJECTORY",
    "check planar_2r nope.csv": "there is no file nope.csv",
    "check planar_2r in.csv": "line 1: columns without names; expected a first line",
    "identify planar_2r nope.csv -o x.urdf": "nope.csv is not a file",
    "completion tcsh": "SHELL is 'tcsh'",
    "--bogus": "there is no option --bogus; the command comes first. See kinetree --help.",
    "demo twice": "too many words: 'twice'",
    "cache burn": "there is no command 'burn'. See kinetree cache --help.",
    "id planar_2r --json=x": "--json takes no value",
    "id planar_2r --q joint1=1rad": "Leave the unit out",
    "identify planar_2r in.csv": "--output is missing: kinetree identify ROBOT DATA --output FILE",
    "identify planar_2r in.csv -o": "-o needs a value",
    "simulate planar_2r --dt 1 --dt 2": "--dt is given twice",
    "simulate panda --to 0 0": "--controller none does not use --to",
    "simulate planar_2r --controller pd --kp 1 --kd 1 --to 0": "--to has 1 number;",
    "explain planar_2r --row x": "--row is 'x'; expected a whole number",
    "explain planar_2r --row 1.4": "--row is '1.4'; expected a whole number",
    "view planar_2r --port 8123.6": "--port is '8123.6'; expected a whole number",
    "report planar_2r --samples 20.5": "--samples is '20.5'; expected a whole number",
    "equations planar_2r --digits 2.5": "--digits is '2.5'; expected a whole number",
    "info quadruped --floating": "expected a robot that stands. Leave out --floating.",
    "simulat planar_2r": "Did you mean 'simulate'?",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory, server):
    found = Program(tmp_path_factory.mktemp("faults"), server)
    (found.folder / "in.csv").write_text("1,2\n", encoding="utf-8")
    (found.folder / "text.urdf").write_text("hello\n", encoding="utf-8")
    (found.folder / "page.xml").write_text("<html></html>\n", encoding="utf-8")
    (found.folder / "notes.txt").write_text("<robot/>\n", encoding="utf-8")
    (found.folder / "arm.urdf").write_text("<robot name='x'><link name='a'/></robot>")
    return found


@pytest.mark.parametrize("line", CASES)
def test_a_fault_is_one_paragraph(folder, line):
    found = folder(line, code=2)
    assert CASES[line] in found.stderr, found.stderr
    assert found.stderr.startswith("kinetree: ") and found.stderr.count("\n") == 1
    assert found.stdout == ""
    assert "(in Python" not in found.stderr and "=True" not in found.stderr


def test_nothing_is_written_where_something_is_wrong(folder):
    folder("simulate planar_2r --controller pd -o m.csv", code=2)
    assert not (folder.folder / "m.csv").exists()


@pytest.mark.skipif(not shutil.which("chmod"), reason="no permissions to take away")
def test_a_file_that_may_not_be_read(folder):
    path = folder.folder / "closed.csv"
    path.write_text("1,2\n", encoding="utf-8")
    path.chmod(0)
    try:
        path.read_text(encoding="utf-8")
    except PermissionError:
        assert "Permission denied" in folder("id planar_2r closed.csv", code=2).stderr
    else:
        pytest.skip("this user may read everything")


def test_a_robot_without_joints_is_told_of_plainly(folder):
    found = folder("info arm.urdf --json")
    assert '"n": 0' in found.stdout
    assert "Traceback" not in folder("id arm.urdf", code=2).stderr


@pytest.mark.parametrize("line", ["fd", "simulate", "export ghost.urdf forward_dynamics"])
@pytest.mark.parametrize("mass", ["", '<inertial><mass value="1e-320"/></inertial>'])
def test_a_robot_without_mass_is_told_which_link_needs_some(folder, line, mass):
    joint = "<joint name='{0}' type='continuous'><parent link='{1}'/><child link='{2}'/></joint>"
    (folder.folder / "ghost.urdf").write_text(
        f"<robot name='ghost'><link name='a'/><link name='b'>{mass}</link><link name='c'/>"
        f"{joint.format('j', 'a', 'b')}{joint.format('k', 'b', 'c')}</robot>",
        encoding="utf-8",
    )
    found = folder(line if "ghost" in line else f"{line} ghost.urdf", code=2)
    assert "joint 'k', which moves link 'c'" in found.stderr
    assert "Give the links that it moves mass, or the joint armature" in found.stderr
