"""The program among others: Ctrl-C, terminals, shells."""

import os
import select
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")


@pytest.fixture(scope="module")
def warm(program):
    """The kernel is in the cache, so that compiling it does not count."""
    program("id planar_2r")
    return program


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


# ----- terminals
