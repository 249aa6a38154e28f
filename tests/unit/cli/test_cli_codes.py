"""Exit codes: every command gives the documented ones, 0, 1, 2, 130 and 141, and no others."""

import os
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.app import app
from kinetree.motion import quintic, write_csv

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
COMMANDS = [
    *(x for x in app.resolved_commands() if not x.startswith("-") and x != "cache"),
    "cache info", "cache clear",
]  # fmt: skip
# commands that print more than nothing to stdout
PRINTING = [
    "info panda", "id planar_2r", "fd planar_2r", "terms planar_2r", "explain planar_2r", "demo",
    "simulate planar_2r --duration 0.05", "simulate planar_2r --duration 0.05 -o -",
    "check planar_2r calm.csv --effort 1000", "export planar_2r", "cache info", "completion bash",
    "report planar_2r --samples 10", "id planar_2r rows.csv", "info panda --json", "--help",
    "simulate --help", "plan planar_2r --to 1 0 --duration 1 -o -", "size planar_2r calm.csv",
    "lint panda", "options", "optimize planar_2r --to 1 0 --dt 0.1 -o -",
]  # fmt: skip
# one for each way to read standard input
WAITING = ["id planar_2r -", "check planar_2r -", "identify planar_2r - -o never.urdf"]


@pytest.fixture(scope="module")
def ready(program):
    robot = kt.robots.planar_2r()
    calm = quintic([0.0, 0.0], [0.1, 0.1], duration=1.0, robot=robot)
    write_csv(calm, program.folder / "calm.csv")
    rows = "\n".join(",".join(map(repr, x)) for x in np.zeros((3000, 2)).tolist())
    (program.folder / "rows.csv").write_text(rows, encoding="utf-8")
    return program


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_options_have_code_2_in_every_command(ready, name):
    found = ready(f"{name} --no-such-option", code=2)
    assert found.stdout == "" and found.stderr.startswith("kinetree: ")
    assert f"See kinetree {name.split()[0]} --help" in found.stderr or name == "completion"


@pytest.mark.parametrize("name", [x for x in COMMANDS if "cache" not in x])
def test_wrong_words_have_code_2_in_every_command(ready, name):
    """A robot, shell or word that does not exist."""
    more = {"identify": " rows.csv -o x.urdf", "render": " -o x.png", "convert": " -o x.urdf"}
    more |= dict.fromkeys(("check", "watch", "size"), " rows.csv")
    more = more.get(name, "")
    found = ready(f"{name} no_such_word{more}", code=2)
    assert found.stdout == "" and "no_such_word" in found.stderr


@pytest.mark.parametrize("words", ["-o -", "--output -", "--output=-"])
def test_a_dash_is_standard_output_or_refused(ready, words):
    plain = ready(f"simulate planar_2r --duration 0.05 {words}")
    assert plain.stdout.startswith("t,q:joint1")
    for name in ("id planar_2r", "export planar_2r", "report planar_2r", "convert planar_2r"):
        found = ready(f"{name} {words}", code=2)
        assert found.stdout == "" and found.stderr.startswith("kinetree: -o is -;")
    assert not [x.name for x in ready.folder.iterdir() if x.name in ("-", "<standard stream>")]


def test_negative_verdicts_have_code_1(ready):
    ready("check planar_2r calm.csv --effort 1", code=1)
    ready("check planar_2r calm.csv --effort 1 --json", code=1)
    ready("check planar_2r calm.csv --effort 1e5")
    ready("simulate panda", code=1)
    ready("simulate panda --q 0 0 0 0 0 0 0", code=1)
    ready("simulate panda --duration 0.01")
    # a number that is not finite is no verdict on the robot
    lost = "simulate cart_pole --q hinge=0.1 --dq 0 1e160 --duration 100 --dt 1 --method euler"
    assert "not finite" in ready(lost, code=2).stderr


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
    assert process.returncode == 130, (shlex.split(line), words)
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


def test_a_narrow_terminal_loses_no_digit_and_the_version_is_printed(program):
    assert "…" not in program("demo", COLUMNS="44").stdout
    assert program("--version").stdout.strip() == kt.__version__


def test_the_cache_is_shown_and_cleared(with_own_cache, tmp_path):
    program, place = with_own_cache, with_own_cache.folder / "cache"
    empty = program("cache info").stdout
    assert str(place) in empty and "entries  0" in empty and "cache    on" in empty
    program("id rp")
    count = len(list(place.glob("*.kto")))
    shown = program.json("cache info")
    assert shown["entries"] == count > 0 and shown["size"] > 0 and shown["enabled"] is True
    assert f"entries  {count}" in program("cache info").stdout
    assert f"{count} entries removed" in program("cache clear").stdout
    assert list(place.glob("*.kto")) == []
    assert program.json("cache clear")["removed"] == 0
    off = {"KINETREE_CACHE": "0", "KINETREE_CACHE_DIR": str(tmp_path / "cache")}
    assert "off (KINETREE_CACHE=0)" in program("cache info", **off).stdout
    program("id rp", **off)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["[bold]odd[/bold] name", "[/nope]", "ümläut"])
def test_the_folder_of_the_cache_may_be_called_anything(program, tmp_path, name):
    place = str(tmp_path / name)
    assert name in program("cache info", KINETREE_CACHE_DIR=place).stdout


@pytest.mark.parametrize("command", ["info", "clear"])
def test_a_home_that_does_not_exist_is_one_sentence(program, command):
    ended = program(f"cache {command}", code=2, KINETREE_CACHE_DIR="~nobody-of-this-name/cache")
    assert ended.stderr.startswith("kinetree: no folder for the cache")
