"""What every command prints, as text and as JSON: one stored file per command.

After a change that is meant to change them, write them anew and read the diff:

    PYTHONPATH=tests:tests/interfaces python tests/interfaces/test_commands.py [COMMAND ...]

Exact texts are stored; where a machine rounds the last digit differently, the words must be the
same and the numbers close.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from stored_text import compare

import kinetree as kt
from cli_program import Program, Server

FOLDER = Path(__file__).parent / "commands"
RENEW = "PYTHONPATH=tests:tests/interfaces python tests/interfaces/test_commands.py"
MAX_LINES = 36  # of one output that are stored; the middle of longer ones is left out
MAX_ENTRIES = 8  # of one array of JSON
MAX_LETTERS = 400  # of one text of JSON
# states of robots, which the lines below name
STATES = {
    "$PANDA": "panda --q panda_joint2=-0.5 --dq 0.1 -0.2 0.3 0 0 1 -1",
    "$ARM": "planar_2r --q 0.3 0.5 --dq 1 -0.5",
}

# lines of every command: text, and JSON where they end in --json. Files that a line writes are read
# by later lines of other commands, in the order of this table.
COMMANDS = {
    "info": """
info panda
info arm.urdf --degrees
info planar_2r --json
info four_bar
info mast.xacro --arg mass:=3 --strict
info servo.xml --degrees
info arm.urdf --folder nowhere
info mast.xacro --json
""",
    "lint": """
lint panda
lint broken.urdf
lint broken.urdf --json
""",
    "report": "report planar_2r --samples 10 -o page.html",
    "id": """
id $PANDA --ddq 1 0 0 0 0 0 0
id $ARM --json
id arm.urdf --floating --degrees
id planar_2r rows.csv
id planar_2r -
id planar_2r rows.csv --json
id four_bar --q crank=0.5 --dq crank=1 --ddq 1 1 1
id mast.xacro --dq 2 --arg mass:=2
id planar_2r rows.csv --degrees
""",
    "fd": """
fd $PANDA
fd $ARM --tau 1 2 --json
fd cart_pole --q hinge=30 --degrees
fd four_bar
fd four_bar --q 0.5 0 0
fd cart_pole --q 0.1 0.2 --json --degrees
""",
    "terms": """
terms scara --q 0.3 0.5 -0.1 0 --dq 1 1 0.1 1
terms $ARM --json
terms four_bar
terms panda rows.csv
""",
    "explain": """
explain $ARM --ddq 1 2
explain $PANDA
explain $ARM --json
explain four_bar
explain planar_2r rows.csv --row 1 --json
explain panda --link panda_link7 --format markdown
""",
    "ik": """
ik panda --pose 0.4 0.1 0.5 0 1 0 0
ik ur5e --position 0.4 0.3 0.5 --degrees
ik planar_2r --position 3 0 0
ik planar_2r --pose 1 2 3
ik planar_2r --position 1 0.5 0 --json
ik planar_2r
""",
    "plan": """
plan planar_2r --to 1 0.5 --duration 1 -o plan.csv
plan panda --to panda_joint1=30 / panda_joint2=20 --time-optimal --degrees -o quick.csv
plan planar_2r --to 1 0.5 --duration 1 --json
plan panda --to panda_joint1=9
plan panda --to panda_joint1=0.5 --speed 1 --effort 20
""",
    "optimize": """
optimize planar_2r --to 1 0.5 -o best.csv
optimize rp --to 0.5 0.2 --dt 0.05 --json
optimize arm.urdf --to 0.3 0.2 0.1
optimize double_pendulum --to 0.5 0 --actuated elbow --effort 10 --duration 0.5
""",
    "simulate": """
simulate panda
simulate planar_2r --duration 0.1 --q 0.2 0.1
simulate panda --duration 0.2 --limits record --degrees
simulate panda --controller computed-torque --to panda_joint1=0.3 -o reach.csv
simulate planar_2r --duration 0.02 --dt 0.01 -o -
simulate planar_2r --duration 0.02 --dt 0.01 --json
simulate planar_2r --controller pd --to 0.3 -0.4
simulate planar_2r --controller pid --to 0.3 0 --kp 50 --kd 9 --ki 3 --duration 0.1
simulate planar_2r --controller computed-torque --reference plan.csv --duration 0.2
simulate four_bar --q crank=0.5 --duration 0.05 --limits record
simulate leg.urdf --floating --contacts foot --ground friction=0.5 --duration 0.3
simulate leg.urdf --floating --contacts foot --ground frition=1
simulate panda --payload 2 --friction viscous=1 --duration 0.05 --limits ignore
simulate servo.xml --controls 30 --degrees --duration 0.02 --limits ignore
simulate rp --plot run.svg --duration 0.02 --method euler --dt 0.001
""",
    "check": """
check panda reach.csv
check panda reach.csv --effort 10
check panda reach.csv --json
check planar_2r plan.csv --velocity 1 --degrees
""",
    "size": """
size panda quick.csv --payload 2
size planar_2r plan.csv --json
size planar_2r plan.csv --motors motors.csv
""",
    "render": """
render planar_2r -o a.png --size 64x48
render rp -o b.png --json
render planar_2r plan.csv -o c.gif --size 64x48 --json
render rp -o a.webp
""",
    "excite": "excite arm.urdf --duration 4 --dt 0.02 --rounds 3 -o excite.csv",
    "identify": """
identify arm.urdf waved.csv -o found.xml
identify arm.urdf waved.csv -o again.urdf --json
""",
    "watch": """
watch arm.urdf waved.csv --threshold 8 arm_left_2_joint=4
watch arm.urdf waved.csv --threshold 8 --json
watch arm.urdf waved.csv
watch arm.urdf waved.csv --report found.html --json
""",
    "convert": """
convert four_bar -o again.xml --json
convert four_bar -o again.urdf
""",
    "equations": """
equations planar_2r
equations rp --format latex
equations rp --json
equations slider_crank --quantity Phi
equations planar_2r --symbols inertial --quantity M
""",
    "export": """
export rp gravity_forces
export planar_2r mass_matrix --language matlab
export planar_2r gravity_forces --json
""",
    "demo": """
demo
demo --json
""",
    "cache": """
cache info
cache clear --json
cache remove
""",
    "completion": "completion bash",
    "options": "options",
    "help": "help cache",
    "view": "",
    "program": """
--help
--version
simulat panda
check panda
id pandda
info no.urdf
id panda --q panda_joint44=1
id planar_2r --q 1
id planar_2r --q 1 x
id planar_2r --dt 1
simulate planar_2r --method rk5
check planar_2r missing.csv
simulate planar_2r --duration -1
id planar_2r words.csv
convert planar_2r -o a.txt
""",
}

LINK = """<link name="{0}"><inertial><origin xyz="0.01 0 0.06"/><mass value="{1}"/>
<inertia ixx="{2}" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
<origin xyz="0 0.02 0.11"/><axis xyz="{3}"/><dynamics damping="0.2" friction="0.1"/>
<limit lower="-2" upper="2" velocity="3.5" effort="{4}"/></joint>"""
LEG = """<robot name="leg"><link name="body"><inertial><mass value="2"/><inertia ixx="0.1"
iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="foot"><inertial>
<mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.05"/></geometry></collision>
</link><joint name="knee" type="prismatic"><parent link="body"/><child link="foot"/>
<origin xyz="0 0 -0.3"/><axis xyz="0 0 1"/><limit lower="-0.1" upper="0.1" effort="9" velocity="9"/>
</joint></robot>"""
MAST = """<robot name="mast" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="1"/><link name="a"/><link name="b"><inertial>
<origin xyz="0 0 1"/><mass value="$(arg mass)"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link><joint name="turn" type="continuous"><parent link="a"/><child link="b"/>
<axis xyz="0 1 0"/><dynamics damping="0.5"/></joint></robot>"""
SERVO = """<mujoco model="servo"><worldbody><body><joint name="j" axis="0 1 0" damping="1"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody>
<actuator><position name="p" joint="j" kp="20" ctrlrange="-1 1"/></actuator></mujoco>"""
MOTORS = """motor,ratio,peak,rated,speed,inertia
small,50,1,0.4,400,1e-5
large,100,12,6,300,1e-4
"""
NAMES = ["base_link", *(f"arm_left_{k}_link" for k in (1, 2, 3))]


def arm(ixx=0.02):
    """URDF of three joints with names as long as those on real robots."""
    links = [LINK.format(name, 1.5 / (k + 1), ixx) for k, name in enumerate(NAMES)]
    axes = ("0 0 1", "0 1 0", "1 0 0")
    joints = [
        JOINT.format(f"arm_left_{k + 1}_joint", NAMES[k], NAMES[k + 1], axes[k], 80 / (k + 1))
        for k in range(3)
    ]
    return f'<robot name="arm of long names">{"".join(links + joints)}</robot>'


def recorded(robot):
    """A motion of sines within the limits, with the joint forces of the robot and noise."""
    rng = np.random.default_rng(8)
    t, w = np.linspace(0, 8, 401), rng.uniform(1, 5, (robot.n, 3, 1))
    a = rng.uniform(0.1, 0.3, (robot.n, 3, 1))
    q = (a * np.sin(w * t)).sum(axis=1).T
    dq, ddq = (a * w * np.cos(w * t)).sum(axis=1).T, -(a * w * w * np.sin(w * t)).sum(axis=1).T
    tau = robot.inverse_dynamics(q, dq, ddq) + 0.05 * rng.normal(size=q.shape)
    return kt.motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq, tau=tau, model=robot.model)


def prepare(program):
    """The files that the commands read."""
    files = {"arm.urdf": arm(), "broken.urdf": arm(ixx=0.5), "words.csv": "one,two\n"}
    files |= {"leg.urdf": LEG, "mast.xacro": MAST, "servo.xml": SERVO, "motors.csv": MOTORS}
    files["rows.csv"] = "q:joint1,q:joint2,dq:joint1,dq:joint2\n0.1,0.2,1,0\n-0.5,0.3,0,2\n"
    for name, text in files.items():
        program.folder.joinpath(name).write_text(text, encoding="utf-8")
    recorded(kt.load(program.folder / "arm.urdf")).to_csv(program.folder / "waved.csv")


def shortened(value):
    """JSON with long arrays and texts cut."""
    if isinstance(value, dict):
        return {key: shortened(x) for key, x in value.items()}
    if isinstance(value, list):
        more = [f"... {len(value)} entries"] if len(value) > MAX_ENTRIES else []
        return [shortened(x) for x in value[: 3 if more else MAX_ENTRIES]] + more
    if isinstance(value, str) and len(value) > MAX_LETTERS:
        return f"{value[:MAX_LETTERS]}..."
    return float(f"{value:.6g}") if isinstance(value, float) else value


def pretty(text):
    """JSON as lines, of one document or of one on each line; an array of numbers is one line."""
    documents = [text] if text.startswith("{\n") or text.count("\n") < 2 else text.splitlines()
    found = [json.dumps(shortened(json.loads(x)), indent=1, ensure_ascii=False) for x in documents]
    joined = "\n".join(found)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda x: f"[{' '.join(x[1].split())}]", joined)


def shown(program, line):
    """The line, stdout, stderr marked by 2>, and the exit code."""
    found = program(line, code=None, stdin="0.1,0.2\n0.3,0.4\n", COLUMNS="80")
    is_json = line.endswith("--json") and found.stdout
    lines = [x.rstrip() for x in (pretty if is_json else str)(found.stdout).splitlines()]
    if len(lines) > MAX_LINES and not line.endswith("--help") and line.split()[0] != "info":
        lines = [*lines[: MAX_LINES - 12], "[...]", *lines[-11:]]
    lines += [f"2> {x}" for x in found.stderr.splitlines()]
    lines += [f"[exit code {found.returncode}]"] if found.returncode else []
    text = "\n".join([f"$ kinetree {line}", *lines, ""])
    text = re.sub(rf"{re.escape(str(program.folder))}\b", "FOLDER", text)
    text = re.sub(r"(?<=^folder   ).*", "FOLDER", text, flags=re.MULTILINE)
    text = re.sub(r"^(entries  |size     )[\d.]+", r"\1#", text, flags=re.MULTILINE)
    text = re.sub(r'"(removed|entries|size)": \d+', r'"\1": "#"', text)
    text = text.replace(kt.__version__, "VERSION")
    return re.sub(r"\d\.\d+e-1\d(?=,?\s)", "#", text)  # rounding


def lines_of(name):
    """The help of a command and its lines."""
    lines = COMMANDS[name].strip()
    for word, state in STATES.items():
        lines = lines.replace(word, state)
    return [*([] if name == "program" else [f"{name} --help"]), *lines.splitlines()]


def text_of(program, name):
    return "\n".join(shown(program, line) for line in lines_of(name))


@pytest.fixture(scope="module")
def texts(with_own_cache):
    """The text of each command, in the order of the table, since files pass from one to another."""
    pytest.importorskip("sympy")
    pytest.importorskip("PIL")
    prepare(with_own_cache)
    return {name: text_of(with_own_cache, name) for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_texts_and_json_are_as_stored(texts, name):
    compare(texts[name], FOLDER / f"{name}.txt", f"{RENEW} {name}")


def test_every_command_is_stored(texts):
    listed = set(re.findall(r"^│ ([a-z]+) {2,}", texts["program"], re.MULTILINE))
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(COMMANDS) == listed | {"program"}


def test_lines_fit_the_terminal_and_no_name_is_cut():
    for path in FOLDER.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "…" not in text and "Traceback" not in text, path.name
        assert not re.search(r"arm_left_\d_(?!joint|link)|panda_j(?!oint\d)", text), path.name
        boxes = [x for x in text.splitlines() if x.startswith(("│", "╭"))]
        assert all(len(x) <= 80 for x in boxes), path.name


def write(names):
    """Store the texts of this version."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server()
        program = Program(Path(folder), server, Path(folder) / "cache")
        prepare(program)
        for name in COMMANDS:
            text = text_of(program, name)
            if name in names or not names:
                path = FOLDER / f"{name}.txt"
                path.write_text(text, encoding="utf-8", newline="\n")
        server.close()


if __name__ == "__main__":
    write(sys.argv[1:])
