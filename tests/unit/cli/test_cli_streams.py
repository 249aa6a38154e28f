"""The program among others: pipes that close, Ctrl-C, many rows, terminals, shells."""

import os
import select
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import kinetree as kt

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")

ROW = b"0.1,-0.2\n"
BLOCK = ROW * 1000
SLACK = 16 << 10  # KiB that the memory of two runs may differ by


@pytest.fixture(scope="module")
def warm(program):
    """The kernel is in the cache, so that compiling it does not count."""
    program("id planar_2r")
    return program


def test_rows_come_out_as_they_come_in(warm):
    """A pipe that is slow is answered at once, not when a block is full."""
    with warm.start("id planar_2r -", stderr=subprocess.DEVNULL) as process:
        for k in range(3):
            process.stdin.write(ROW)
            lines = [process.stdout.readline() for _ in range(1 + (k == 0))]
            assert lines[-1].count(b",") == 1 and lines[-1].endswith(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("output", ["", " -o out.csv"])
def test_ctrl_c_leaves_whole_rows(warm, output):
    path = warm.folder / "out.csv"
    with warm.start("id planar_2r -" + output) as process:
        process.stdin.write(BLOCK)
        first = b"" if output else process.stdout.readline()
        while output and not (path.exists() and path.stat().st_size):
            time.sleep(0.01)
            assert process.poll() is None
        process.stdin.write(BLOCK * 3)
        process.send_signal(signal.SIGINT)
        rest, words = process.communicate(timeout=120)
    assert process.returncode == 130 and words.endswith(b"\nkinetree: interrupted\n")
    found = path.read_bytes() if output else first + rest
    assert found.startswith(b"tau:joint1,tau:joint2\n") and found.endswith(b"\n")
    assert {line.count(b",") for line in found.splitlines()} == {1}


@pytest.mark.parametrize("terminal", [False, True])
def test_ctrl_c_deep_in_compiled_code(warm, terminal):
    """Where Python itself does not take notice: here a hash of many rounds, which takes minutes."""
    pty, shown = pytest.importorskip("pty"), None
    code = """
        import hashlib
        import os
        import threading
        from rich.console import Console
        from kinetree.cli.program import end_promptly
        end_promptly()
        Console(stderr=True).status("compiling", refresh_per_second=1).start()
        # when the hash has begun; not by print, which rich takes to its own terminal
        threading.Timer(0.5, os.write, [1, b"ready\\n"]).start()
        hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 10**9)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if terminal:
        shown, pipes["stderr"] = pty.openpty()
    environment = warm.environment | {"TERM": "xterm-256color"}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        words = process.communicate(timeout=120)[1]
    if terminal:
        words = b""  # a terminal may give what was written in several parts
        while not words.endswith(b"interrupted\r\n") and select.select([shown], [], [], 5)[0]:
            words += os.read(shown, 1 << 14)
        assert b"\x1b[?25l" in words
        os.close(shown)
        os.close(pipes["stderr"])
    cleaned = b"\r\x1b[2K\x1b[?25h" if terminal else b""  # the cursor may have been hidden
    assert process.returncode == 130
    assert words.replace(b"\r\n", b"\n").endswith(cleaned + b"kinetree: interrupted\n")
    assert terminal or words == b"kinetree: interrupted\n"


# ----- many rows

MEASURE = """
import resource, subprocess, sys
rows, output = int(sys.argv[1]), sys.argv[2]
words = [sys.executable, "-m", "kinetree", "id", "planar_2r", "-", "-o", output]
child = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
for _ in range(rows // 1000):
    child.stdin.write(b"".join(b"%f,%f\\n" % (0.001 * k, -0.002 * k) for k in range(1000)))
child.stdin.close()
code = child.wait()
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measured(program, rows):
    """Peak memory of the program, KiB, for so many rows, and what it wrote."""
    path = program.folder / f"{rows}.csv"
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, str(rows), str(path)], capture_output=True, text=True,
        env=program.environment, timeout=600, check=True,
    )  # fmt: skip
    code, memory = map(int, found.stdout.split())
    assert code == 0, found.stderr
    return memory / (1024 if sys.platform == "darwin" else 1), path


def test_many_rows_take_no_more_memory_than_ten_thousand(warm):
    """A row that stayed in memory would be 100 bytes at least, 30 MB in all."""
    few, _ = measured(warm, 10_000)
    many, path = measured(warm, 300_000)
    assert many < few + SLACK
    tau = kt.robots.planar_2r().inverse_dynamics([0.999, -1.998], [0.0, 0], [0.0, 0])
    with path.open(encoding="utf-8") as file:
        for count, line in enumerate(file, 1):  # noqa: B007
            last = line
    assert count == 300_001
    assert [float(x) for x in last.split(",")] == pytest.approx(tau.tolist(), rel=1e-13)
    path.unlink()


# ----- terminals
