"""examples/ros2: the controllers give the efforts of the robot, in a loop without ROS.

ROS is not on the package index: the controllers are built against stand-ins for its types.
"""

import platform
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt

FOLDER = Path(__file__).parents[2] / "examples" / "ros2"
PACKAGE = FOLDER / "kinetree_controllers"
STUBS = Path(__file__).parent / "ros2_stubs"
HEADERS = (
    "controller_interface/chainable_controller_interface.hpp",
    "controller_interface/controller_interface.hpp",
    "controller_interface/controller_interface_base.hpp",
    "hardware_interface/types/hardware_interface_type_values.hpp",
    "pluginlib/class_list_macros.hpp",
    "rclcpp/logging.hpp",
)
FLAGS = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off"]
SUCCESS, FAILURE = "97", "98"
GRAVITY, DYNAMICS = (
    (x.get("type"), x.get("base_class_type"))
    for x in ElementTree.parse(PACKAGE / "plugins.xml").findall("class")
)
needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None or platform.system() != "Linux", reason="needs g++ on Linux"
)
ROBOT = kt.robots.panda()
NAMES = ROBOT.dof_names
N = len(NAMES)


@pytest.fixture
def example(monkeypatch):
    """Import a module of the folder of the example."""
    monkeypatch.syspath_prepend(FOLDER)
    yield lambda name: runpy.run_path(str(FOLDER / f"{name}.py"))
    sys.modules.pop("export_robot", None)


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """Compile the package with the loop of the test; a function of a plugin and commands."""
    place = tmp_path_factory.mktemp("ros2")
    package = Path(shutil.copytree(PACKAGE, place / "package"))
    runpy.run_path(str(FOLDER / "export_robot.py"))["write_robot"](ROBOT, package)
    for name in HEADERS:
        (place / "stubs" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "stubs" / name).write_text('#include "ros2.hpp"\n')
    includes = [f"-I{package / 'include'}", f"-I{STUBS}", f"-I{place / 'stubs'}"]
    sources = [*sorted((package / "src").glob("*.cpp")), STUBS / "loop.cpp"]
    subprocess.run(["g++", *FLAGS, *includes, *sources, "-o", place / "loop"], check=True)

    def run(plugin: tuple[str, str], *commands: str) -> tuple[list[list[str]], str]:
        text = "\n".join(commands) + "\n"
        ended = subprocess.run(
            [place / "loop", *plugin], input=text, capture_output=True, text=True, check=True
        )
        return [line.split() for line in ended.stdout.splitlines()], ended.stderr

    return run


def state(q, dq) -> list[str]:
    """Commands that set the measured state."""
    return [
        f"set {name}/{kind} {float(x).hex()}"
        for kind, values in (("position", q), ("velocity", dq))
        for name, x in zip(NAMES, values, strict=True)
    ]


def reference(q, dq, ddq) -> list[str]:
    """Commands of a preceding controller."""
    pairs = zip(("position", "velocity", "acceleration"), (q, dq, ddq), strict=True)
    return [
        f"set under_test/{name}/{kind} {float(x).hex()}"
        for kind, values in pairs
        for name, x in zip(NAMES, values, strict=True)
    ]


def parameters(joints=NAMES, **numbers) -> list[str]:
    """Commands that set parameters."""
    lists = [f"numbers {key} {' '.join(map(str, values))}" for key, values in numbers.items()]
    return [f"strings joints {' '.join(joints)}", *lists]


def efforts(line: list[str]) -> np.ndarray:
    """Efforts of an update in the order of the robot; it must not allocate or lock."""
    assert line[:4] == ["update", "0", "0", "0"]
    values = dict(x.split("/effort=") for x in line[4:])
    return np.array([float.fromhex(values[name]) for name in NAMES])


@needs_compiler
def test_gravity_compensation_has_the_bits_of_the_robot(loop):
    random = np.random.default_rng(3)
    q, dq = random.uniform(-3, 3, (2, 50, N))
    damping = random.uniform(0, 2, N)
    commands = [*parameters(damping=damping), "configure", *state(q[0], dq[0]), "activate"]
    for k in range(50):
        commands += [*state(q[k], dq[k]), "update"]
    (configured, activated, *updates), _ = loop(GRAVITY, *commands)
    assert (configured, activated) == (["configure", SUCCESS], ["activate", SUCCESS])
    expected = ROBOT.gravity_forces(q) - damping * dq
    np.testing.assert_array_equal([efforts(line) for line in updates], expected)


@needs_compiler
def test_inverse_dynamics_has_the_bits_of_the_robot(loop):
    random = np.random.default_rng(4)
    q, dq, q_r, dq_r, ddq_r = random.uniform(-2, 2, (5, 50, N))
    kp, kd = random.uniform(0, 400, (2, N))
    begin = ["chained", *parameters(kp=kp, kd=kd), "configure", *state(q[0], dq[0]), "activate"]
    for k in range(50):
        begin += [*state(q[k], dq[k]), *reference(q_r[k], dq_r[k], ddq_r[k]), "update"]
    (_, _, *updates), _ = loop(DYNAMICS, *begin)
    ddq = ddq_r + kp * (q_r - q) + kd * (dq_r - dq)
    expected = ROBOT.inverse_dynamics(q, dq, ddq)
    np.testing.assert_array_equal([efforts(line) for line in updates], expected)


@needs_compiler
def test_inverse_dynamics_alone_holds_the_position_of_its_activation(loop):
    q0, q1, dq = np.random.default_rng(5).uniform(-1, 1, (3, N))
    commands = [*parameters(kp=[100] * N, kd=[20] * N), "configure", *state(q0, 0 * dq), "activate"]
    (_, _, line), _ = loop(DYNAMICS, *commands, *state(q1, dq), "update")
    expected = ROBOT.inverse_dynamics(q1, dq, 100 * (q0 - q1) + 20 * (0 - dq))
    np.testing.assert_array_equal(efforts(line), expected)


@needs_compiler
@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (NAMES[::-1], "entry 0 is 'panda_joint7', expected 'panda_joint1'"),
        ((*NAMES[:-1], "finger"), "'panda_joint7' is missing; 'finger' is not a joint"),
        ((*NAMES, NAMES[0]), "8 names with a repeated one, expected 7"),
        ((), "'panda_joint1' is missing; 'panda_joint2' is missing"),
    ],
)
def test_other_joints_are_refused_by_name(loop, joints, words):
    lines, errors = loop(GRAVITY, *parameters(joints), "configure")
    assert lines == [["configure", FAILURE]]
    assert words in errors and "'Franka Panda'" in errors


@needs_compiler
@pytest.mark.parametrize(
    ("kd", "words"),
    [
        ([1.0], "parameter kd has 1 numbers; expected 7"),
        ([1, 1, -1, 1, 1, 1, 1], "parameter kd is -1.000000 for 'panda_joint3'"),
        (["nan"] * N, "parameter kd is nan for 'panda_joint1'"),
    ],
)
def test_gains_are_checked(loop, kd, words):
    lines, errors = loop(DYNAMICS, *parameters(kp=[1] * N, kd=kd), "configure")
    assert lines == [["configure", FAILURE]] and words in errors


@needs_compiler
def test_states_that_are_not_numbers_never_become_efforts(loop):
    q = np.linspace(-1, 1, N)
    commands = [*parameters(), "configure", "activate", *state(q, 0 * q), "activate", "update"]
    commands += [f"set {NAMES[2]}/velocity nan", "update", "deactivate", "update"]
    lines, errors = loop(GRAVITY, *commands)
    assert [line[1] for line in lines] == [SUCCESS, FAILURE, SUCCESS, "0", "1", SUCCESS, "1"]
    assert "position or velocity is not a finite number: panda_joint1 panda_joint2" in errors
    assert lines[3][4:] == lines[4][4:]  # the last efforts stay until the controller is stopped
    assert all(x.endswith("=0x0p+0") for x in lines[6][4:])


@needs_compiler
def test_a_busy_handle_keeps_its_number_for_a_cycle(loop):
    q, moved = np.linspace(-1, 1, N), np.linspace(1, 0, N)
    commands = [*parameters(), "configure", *state(q, 0 * q), "activate", *state(moved, 0 * q)]
    (_, _, line), _ = loop(GRAVITY, *commands, f"busy {NAMES[1]}/position 1", "update")
    read = np.where(np.arange(N) == 1, q, moved)
    np.testing.assert_array_equal(efforts(line), ROBOT.gravity_forces(read))


def test_the_package_names_what_it_uses():
    package = ElementTree.parse(PACKAGE / "package.xml").getroot()
    depends = {x.text for x in package if x.tag.endswith("depend")}
    build = (PACKAGE / "CMakeLists.txt").read_text()
    assert set(re.findall(r"find_package\((\w+)", build)) <= depends
    text = "".join(path.read_text() for path in PACKAGE.rglob("*.[ch]pp"))
    included = set(re.findall(r'#include "(.+?)"', text))
    assert {x for x in included if not x.startswith("kinetree")} == set(HEADERS)
    assert {x.split("/")[0] for x in HEADERS} <= depends
    for source in re.findall(r"^  (src/(?!robot)\S+)$", build, re.MULTILINE):
        assert (PACKAGE / source).exists()


def test_the_parameters_are_those_of_a_panda():
    yaml = pytest.importorskip("yaml")
    text = (PACKAGE / "config" / "controllers.yaml").read_text()
    sections = {key: x["ros__parameters"] for key, x in yaml.safe_load(text).items()}
    for section in sections.values():
        assert section["joints"] == list(NAMES)
        assert all(len(section.get(key, NAMES)) == N for key in ("damping", "kp", "kd"))
    classes = {x.get("name") for x in ElementTree.parse(PACKAGE / "plugins.xml").iter("class")}
    assert classes < {section["type"] for section in sections.values()}
    chained = sections["arm_controller"]["command_joints"]
    assert chained == [f"inverse_dynamics/{name}" for name in NAMES]
    launch = (PACKAGE / "launch" / "controllers.launch.py").read_text()
    assert all(f'"{key}"' in launch for key in sections)
    compile(launch, "controllers.launch.py", "exec")


@pytest.mark.parametrize("robot", [kt.robots.humanoid(), kt.robots.four_bar()])
def test_robots_that_efforts_cannot_drive_are_refused(example, robot, tmp_path):
    with pytest.raises(ValueError, match="expected joints with one coordinate each"):
        example("export_robot")["write_robot"](robot, tmp_path)


def test_the_law_of_the_node_takes_joints_in_any_order(example):
    law = example("gravity_node")["gravity_efforts"]
    q = dict(zip(NAMES, np.linspace(-1, 1, N), strict=True))
    names = ["finger", *reversed(NAMES)]
    tau = law(ROBOT, names, [0.02, *(q[name] for name in reversed(NAMES))])
    np.testing.assert_array_equal(tau, ROBOT.gravity_forces(list(q.values())))
    with pytest.raises(kt.errors.KinetreeError, match="panda_joint7"):
        law(ROBOT, NAMES[:-1], [0.0] * (N - 1))


@needs_compiler
def test_the_latencies_are_printed_as_a_table():
    command = [sys.executable, FOLDER / "measure_latency.py", "planar_2r", "0.02"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| (\S+), (.+?) \|((?: [\d.]+ \|){4})$", printed, re.MULTILINE)
    assert [row[:2] for row in rows] == [
        (language, what) for language in ("C++", "Python") for what in ("tick to torques", "call")
    ]
    for row in rows:
        numbers = [float(x) for x in row[2].strip(" |").split("|")]
        assert numbers == sorted(numbers) and numbers[-1] > 0
