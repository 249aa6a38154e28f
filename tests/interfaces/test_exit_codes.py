"""Exit codes and streams: every command has the documented codes 0, 1, 2, 130 and 141 alone."""

import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

import kinetree as kt

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
# a word that does not exist, beside what each command needs
NEEDS = {"identify": " rows.csv -o x.urdf", "render": " -o x.png", "convert": " -o x.urdf"}
NEEDS |= dict.fromkeys(("check", "watch", "size"), " rows.csv")
PRINTING = [
    "info panda", "id planar_2r", "fd planar_2r", "terms planar_2r", "explain planar_2r", "demo",
    "simulate planar_2r --duration 0.05 -o -", "check planar_2r calm.csv --effort 1000",
    "export planar_2r", "cache info", "completion bash", "report planar_2r --samples 10",
    "id planar_2r rows.csv", "info panda --json", "simulate --help", "lint panda", "options",
    "plan planar_2r --to 1 0 --duration 1 -o -", "size planar_2r calm.csv",
]  # fmt: skip
# one for each way to read standard input
WAITING = ["id planar_2r -", "check planar_2r -", "identify planar_2r - -o never.urdf"]


@pytest.fixture(scope="module")
def ready(program):
    robot = kt.robots.planar_2r()
    calm = kt.motion.quintic([0.0, 0.0], [0.1, 0.1], duration=1.0, robot=robot)
    calm.to_csv(program.folder / "calm.csv")
    np.savetxt(program.folder / "rows.csv", np.zeros((3000, 2)), delimiter=",")
    return program


@pytest.fixture(scope="module")
def commands(program):
    """The names that `kinetree --help` lists."""
    return re.findall(r"^│ ([a-z]+) {2,}", program("--help").stdout, re.MULTILINE)


def test_wrong_options_and_words_have_code_2_in_every_command(ready, commands):
    assert len(commands) > 20
    for name in commands:
        found = ready(f"{name} --no-such-option", code=2)
        assert found.stdout == "" and found.stderr.startswith("kinetree: "), name
        if name != "cache":
            found = ready(f"{name} no_such_word{NEEDS.get(name, '')}", code=2)
            assert found.stdout == "" and "no_such_word" in found.stderr, name


def test_negative_verdicts_have_code_1(ready):
    ready("check planar_2r calm.csv --effort 1", code=1)
    ready("check planar_2r calm.csv --effort 1 --json", code=1)
    ready("check planar_2r calm.csv --effort 1e5")
    ready("simulate panda --limits error", code=1)
    ready("simulate panda")
    ready("simulate panda --duration 0.01")
    # a number that is not finite is no verdict on the robot
    lost = "simulate cart_pole --q hinge=0.1 --dq 0 1e160 --duration 100 --dt 1 --method euler"
    assert "not finite" in ready(lost, code=2).stderr


def test_a_dash_is_standard_output_or_refused(ready):
    assert ready("simulate planar_2r --duration 0.05 -o -").stdout.startswith("t,q:joint1")
    for name in ("id planar_2r", "export planar_2r", "report planar_2r", "convert planar_2r"):
        found = ready(f"{name} -o -", code=2)
        assert found.stdout == "" and found.stderr.startswith("kinetree: -o is -;")
    assert not [x.name for x in ready.folder.iterdir() if x.name in ("-", "<standard stream>")]


def test_commands_are_chained_by_pipes(ready):
    """What one command writes to a pipe, the next one reads, to the last bit."""
    line = "kinetree simulate planar_2r --duration 0.05 -o - | tee run.csv | kinetree check {} -"
    found = ready.shell(line.format("planar_2r --effort 1e5 --json"))
    assert found.returncode == 0 and '"ok": true' in found.stdout, found.stderr
    read = kt.motion.read(ready.folder / "run.csv", kt.robots.planar_2r())
    run = kt.robots.planar_2r().simulate([0.0, 0.0], duration=0.05)
    assert np.array_equal(read.q[-1], run.q[-1]) and np.array_equal(read.dq[-1], run.dq[-1])


def test_messages_are_one_paragraph_and_results_alone_are_on_stdout(ready):
    found = ready("id pandda", code=2)
    assert found.stdout == "" and found.stderr.count("\n") == 1
    assert found.stderr.startswith("kinetree: there is no robot 'pandda'. Did you mean 'panda'?")
    assert "\x1b" not in found.stderr  # no colours in a pipe


@posix
@pytest.mark.parametrize("line", PRINTING)
def test_a_reader_that_is_gone_gives_code_141(ready, line):
    ready(line, code=141, no_reader=True)


@posix
@pytest.mark.parametrize("line", WAITING)
def test_ctrl_c_gives_code_130(ready, line):
    process = subprocess.Popen(
        ready.command(line), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=ready.folder, env=ready.environment,
    )  # fmt: skip
    with process:
        wait_until_it_reads(process)
        process.send_signal(signal.SIGINT)
        words = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, words
    assert words.endswith("kinetree: interrupted\n") and "Traceback" not in words
    assert not (ready.folder / "never.urdf").exists()


def wait_until_it_reads(process):
    """Wait until the process sleeps in a read of its standard input."""
    path = f"/proc/{process.pid}/wchan"
    if not os.path.exists(path):
        time.sleep(5)
        return
    for _ in range(600):
        with open(path) as file:
            if "pipe" in file.read():
                return
        time.sleep(0.1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk to write to")
def test_a_full_disk_is_one_sentence(program):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            program.command("demo"), stdout=full, stderr=subprocess.PIPE, env=program.environment,
            timeout=120, check=False,
        )  # fmt: skip
    words = ended.stderr.decode()
    assert ended.returncode == 2 and words.startswith("kinetree: ") and words.count("\n") == 1


def test_the_cache_is_shown_and_cleared(with_own_cache):
    program, place = with_own_cache, with_own_cache.folder / "cache"
    assert program.json("cache info")["entries"] == 0
    program("id rp")
    count = len(list(place.glob("*.kto")))
    shown = program.json("cache info")
    assert shown["entries"] == count > 0 and shown["size"] > 0 and shown["enabled"] is True
    assert program.json("cache clear")["removed"] == count
    assert list(place.glob("*.kto")) == []
    program("id rp", KINETREE_CACHE="0")
    assert list(place.glob("*.kto")) == []
    found = program("cache info", code=2, KINETREE_CACHE_DIR="~nobody-of-this-name/cache")
    assert found.stderr.startswith("kinetree: no folder for the cache")
