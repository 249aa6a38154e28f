"""The program starts quickly because a command imports only the modules that it needs."""

import json
import subprocess
import sys

import pytest

MAX_MODULES = 109  # of kinetree, for a command that only computes dynamics
COMMAND = """
import json, sys
sys.argv = ["kinetree", *{words!r}]
from kinetree.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
sys.stdout.flush()
packages = ("kinetree", "rich", "cyclopts")
print(json.dumps([x for x in sys.modules if x.split(".")[0] in packages]), file=sys.stderr)
"""


def imported(program, words):
    """What a command prints, and the modules of these packages that a new process imports."""
    run = subprocess.run(
        [sys.executable, "-c", COMMAND.format(words=words.split())], capture_output=True,
        text=True, cwd=program.folder, env=program.environment, check=True, timeout=120,
    )  # fmt: skip
    return run.stdout, json.loads(run.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def second(program):
    """`kinetree id panda` when its kernel is on disk."""
    imported(program, "id panda")
    return imported(program, "id panda")


def test_inverse_dynamics_imports_few_modules(second):
    shown, modules = second
    assert "panda_joint7" in shown
    own = [x for x in modules if x.startswith("kinetree")]
    assert len(own) <= MAX_MODULES, sorted(own)


@pytest.mark.parametrize("words", ["id panda --q 0 0 0 -1 0 0 0", "terms planar_2r", "lint panda"])
def test_plain_words_and_tables_in_a_pipe_need_no_parser_and_no_rich(program, words):
    shown, modules = imported(program, words)
    assert shown and not [x for x in modules if x.startswith(("rich", "cyclopts"))]


@pytest.mark.parametrize(
    "room", ["simulate", "motion", "views", "identify", "report", "symbols", "write"]
)
def test_inverse_dynamics_imports_no_other_room(second, room):
    assert not [x for x in second[1] if x.split(".")[1:2] == [room]]


def test_a_built_in_robot_imports_no_reader_of_files(second):
    readers = {"urdf", "mjcf", "sdf", "xacro"}
    assert not [x for x in second[1] if set(x.split(".")[2:3]) & readers and "description" in x]


def test_the_command_on_the_cache_imports_no_heavy_room(program):
    shown, modules = imported(program, "cache info")
    assert "folder" in shown
    heavy = {"simulate", "motion", "views", "identify", "symbols", "write", "model", "robot"}
    assert not {x.split(".")[1] for x in modules if x.startswith("kinetree.")} & heavy
