"""The texts of every command, with Panda's and Talos's joint names, also in a wide terminal.

After a change that is meant to change them, write them anew and read the diff:

    PYTHONPATH=tests python tests/unit/cli/test_cli_golden.py

Exact texts are stored; where a machine rounds the last digit differently, the words must be the
same and the numbers close.
"""

import difflib
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from cli_program import Program, Server
from kinetree.cli.app import app
from kinetree.motion import write_csv

FOLDER = Path(__file__).parent / "golden"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?")
MAX_LINES = 45  # of one output that are stored; the middle of longer ones is left out

MOVING = "--q panda_joint2=-0.5 --dq 0.1 -0.2 0.3 0 0 1 -1"
COMMANDS = {
    "panda": (
        "info panda",
        "info panda --degrees",
        "lint panda",
        "convert panda -o again.sdf",
        "id panda",
        f"id panda {MOVING} --ddq 1 0 0 0 0 0 0",
        f"fd panda {MOVING}",
        f"terms panda {MOVING}",
        f"explain panda {MOVING}",
        "simulate panda",
        "simulate panda --q 0 0 0 0 0 0 0",
        "simulate panda --duration 0.5 --limits record --degrees",
        "simulate panda --controller computed-torque --to panda_joint1=0.3 -o reach.csv",
        "plan panda --to panda_joint1=0.5 -o plan.csv",
        "plan panda --to panda_joint1=30 / panda_joint2=20 --time-optimal --degrees",
        "size panda plan.csv --payload 2",
        "excite panda --duration 4 --dt 0.02 --rounds 3 -o excite.csv",
        "check panda reach.csv",
        "check panda reach.csv --effort 10",
        "identify panda recorded.csv -o found.xml",
        "watch panda recorded.csv --threshold 8 panda_joint2=40",
        "export panda gravity_forces",
        "id pandda",
        "id panda --q panda_joint44=1",
    ),
    "talos": (
        "info talos.urdf",
        "lint talos.urdf",
        "id talos.urdf --dq arm_left_1_joint=1",
        "id talos.urdf --floating --degrees",
        "fd talos.urdf",
        "terms talos.urdf --dq arm_left_1_joint=1",
        "explain talos.urdf",
        "simulate talos.urdf --limits record --duration 0.3 -o fall.csv",
        "check talos.urdf fall.csv",
        "identify arm.urdf waved.csv -o waved.xml --friction directional",
        "export talos.urdf gravity_forces --language julia",
    ),
    "others": (
        "demo",
        "info scara --degrees",
        "id quadruped",
        "fd cart_pole --q hinge=30 --degrees",
        "terms scara --q 0.3 0.5 -0.1 0 --dq 1 1 0.1 1",
        "optimize planar_2r --to 1 0.5 -o plan.csv",
        "equations planar_2r",
        "cache info",
        "simulat panda",
        "check panda",
    ),
}

# stored texts and their widths in columns; tables are those that use the room of a wide terminal
STORED = [*((name, 80) for name in (*COMMANDS, "help")), ("panda", 120), ("talos", 120)]

# names of joints and links as on PAL Robotics' Talos; lengths, masses and limits are made up
BRANCHES = {
    "torso": ("base_link", 2, 5.0, 0.12, (-1.25, 1.25)),
    "head": ("torso_2_link", 2, 1.2, 0.15, (-0.3, 0.9)),
    "arm_left": ("torso_2_link", 7, 1.5, 0.11, (-2.6, -0.2)),
    "arm_right": ("torso_2_link", 7, 1.5, 0.11, (-2.0, 2.0)),
}
INERTIA = '<inertia ixx="{0:.6f}" ixy="0" ixz="0" iyy="{0:.6f}" iyz="0" izz="{1:.6f}"/>'


def talos(branches=BRANCHES) -> str:
    """URDF of a tree with Talos's names, without legs."""
    parts = [_link("base_link", 12.0, 0.1)]
    for k, (branch, (root, count, mass, length, limits)) in enumerate(branches.items()):
        parent = root
        for i in range(1, count + 1):
            child, joint = f"{branch}_{i}_link", f"{branch}_{i}_joint"
            axis = ("0 0 1", "0 1 0", "1 0 0")[(i + k) % 3]
            low, high = limits if i == 4 or branch != "arm_left" else (-2.0, 2.0)
            parts.append(_link(child, mass / i, length))
            parts.append(
                f'<joint name="{joint}" type="revolute"><parent link="{parent}"/>'
                f'<child link="{child}"/><origin xyz="0 {0.02 * k} {length}"/><axis xyz="{axis}"/>'
                f'<limit lower="{low}" upper="{high}" velocity="3.5" effort="{80 / i:.0f}"/>'
                f'<dynamics damping="{0.5 / i:.3f}" friction="0"/></joint>'
            )
            parent = child
    if branches is not BRANCHES:
        return f'<robot name="arm of talos names">{"".join(parts)}</robot>'
    grip = (
        '<joint name="gripper_left_joint" type="prismatic"><parent link="arm_left_7_link"/>'
        '<child link="gripper_left_link"/><origin xyz="0 0 0.08"/><axis xyz="0 1 0"/>'
        '<limit lower="0" upper="0.04" velocity="0.1" effort="40"/></joint>'
    )
    parts += [_link("gripper_left_link", 0.2, 0.05), grip]
    return f'<robot name="talos names">{"".join(parts)}</robot>'


def _link(name, mass, length):
    moments = INERTIA.format(mass * length**2, mass * length**2 / 2)
    centre = f'<origin xyz="0.01 0 {length / 2:.4f}"/>'
    body = f'<inertial>{centre}<mass value="{mass:.4f}"/>{moments}</inertial>'
    return f'<link name="{name}">{body}</link>'


def recorded(robot, moved):
    """A motion of sines within the limits, with the forces of the robot `moved` and noise."""
    rng = np.random.default_rng(8)
    t = np.linspace(0, 8, 401)
    w = rng.uniform(1, 5, (robot.n, 3, 1))
    low, high = np.array([(x.limits.lower, x.limits.upper) for x in robot.model.joints]).T
    a = np.minimum(high - low, 3)[:, None, None] * rng.uniform(0.05, 0.15, (robot.n, 3, 1))
    q = (low + high) / 2 + (a * np.sin(w * t)).sum(axis=1).T
    dq, ddq = (a * w * np.cos(w * t)).sum(axis=1).T, -(a * w * w * np.sin(w * t)).sum(axis=1).T
    tau = moved.inverse_dynamics(q, dq, ddq) + 0.05 * rng.normal(size=q.shape)
    return kt.motion.Trajectory(t=t, q=q, dq=dq, ddq=ddq, tau=tau, model=robot.model)


def prepare(program):
    """The files that the commands read."""
    program.folder.joinpath("talos.urdf").write_text(talos(), encoding="utf-8")
    arm = {"arm_left": ("base_link", 3, 1.5, 0.11, (-2.0, 2.0))}
    program.folder.joinpath("arm.urdf").write_text(talos(arm), encoding="utf-8")
    panda, other = kt.robots.panda(), kt.load(program.folder / "arm.urdf")
    rubs = {name: kt.Friction(viscous=1.2, coulomb=0.6) for name in panda.model.joint_names}
    loaded = panda.with_payload(0.8, (0, 0, 0.05)).with_friction(rubs)
    write_csv(recorded(panda, loaded), program.folder / "recorded.csv")
    write_csv(recorded(other, other), program.folder / "waved.csv")


def shown(program, line, width):
    """What a terminal of that width would show: the line, stdout, stderr marked by 2>, the code."""
    found = program(line, code=None, COLUMNS=str(width))
    lines = [x.rstrip() for x in found.stdout.splitlines()]
    assert all(len(x) <= width for x in lines) or line.startswith("export")
    if len(lines) > MAX_LINES and "--help" not in line and not line.startswith("info"):
        lines = [*lines[: MAX_LINES - 16], "[...]", *lines[-15:]]
    lines += [f"2> {x}" for x in found.stderr.splitlines()]
    lines += [f"[exit code {found.returncode}]"] if found.returncode else []
    text = "\n".join([f"$ kinetree {line}", *lines, ""])
    folder = re.escape(str(program.folder))
    text = re.sub(rf"{folder}/cache|(?<=^folder   ).*", "FOLDER", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=^entries  )\d+|(?<=^size     )[\d.]+", "#", text, flags=re.MULTILINE)
    text = text.replace(kt.__version__, "VERSION")
    return re.sub(r"\d\.\de-1\d(?=,\s)", "#", text)  # disagreement of formulations: rounding


def helps():
    """`--help` of the program and of every command."""
    names = [x for x in app.resolved_commands() if not x.startswith("-")]
    return ["--help", *(f"{x} --help" for x in names), "cache info --help", "cache clear --help"]


def text_of(program, name, width):
    lines = helps() if name == "help" else COMMANDS[name]
    return "\n".join(shown(program, line, width) for line in lines)


def same(found, stored):
    """Equal; or the same words, with numbers that differ in the last shown digit at most."""
    if found == stored:
        return True
    words = [" ".join(NUMBER.sub("#", x).replace("─", "").split()) for x in (found, stored)]
    numbers = [[float(y) for y in NUMBER.findall(x)] for x in (found, stored)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=2e-3, abs=1e-6)


@pytest.fixture(scope="module")
def ready(program):
    prepare(program)
    return program


@pytest.mark.parametrize(("name", "width"), STORED)
def test_texts_are_as_stored(ready, name, width):
    pytest.importorskip("sympy")
    stored = (FOLDER / f"{name}_{width}.txt").read_text(encoding="utf-8")
    found = text_of(ready, name, width)
    if not same(found, stored):
        files = f"{name}_{width}.txt, as stored", "now"
        diff = "\n".join(difflib.unified_diff(stored.split("\n"), found.split("\n"), *files))
        command = "python tests/unit/cli/test_cli_golden.py"
        pytest.fail(f"{diff}\nIf this is meant: {command}", pytrace=False)


def test_every_command_that_prints_has_a_golden_text():
    typed = {line.split()[0] for lines in COMMANDS.values() for line in lines}
    listed = {name for name in app.resolved_commands() if not name.startswith("-")}
    # view, report and render write files; completion prints a script, options its own help
    assert listed - typed == {"view", "report", "render", "completion", "options"}


def test_no_stored_text_has_python_or_cut_names():
    for path in FOLDER.glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "…" not in text and "Traceback" not in text, path.name
        cut = re.search(
            r"arm_left_7_(?!joint|link)|panda_j(?!oint\d)|gripper_left_(?!joint|link)", text
        )
        assert cut is None, (path.name, cut)
        assert not re.search(r"\b\w+=(True|False|None)\b|\bkt\.\w+", text), path.name


def write():
    """Store the texts of this version."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server()
        program = Program(Path(folder), server, Path(folder) / "cache")
        prepare(program)
        for name, width in STORED:
            path = FOLDER / f"{name}_{width}.txt"
            path.write_text(text_of(program, name, width), encoding="utf-8", newline="\n")
        server.close()


if __name__ == "__main__":
    write()
