"""`kinetree view` as a program: it prints its address, ends with Ctrl-C, and reports errors."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from cli_program import Program

posix = pytest.mark.skipif(os.name != "posix", reason="signals of Windows are other ones")
PROGRAM = [sys.executable, "-W", "error", "-m", "kinetree", "view"]


def started(*arguments, **environment):
    return subprocess.Popen(
        [*PROGRAM, "planar_2r", "--no-browser", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 0), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_it_prints_its_address_serves_and_ends(name, code, tmp_path):
    if signal.getsignal(getattr(signal, name)) == signal.SIG_IGN:
        pytest.skip(f"{name} is ignored here and by the programs started from here (nohup)")
    words = ["--json"] if name == "SIGTERM" else []
    process = started(*words, TMPDIR=str(tmp_path))
    try:
        line = process.stdout.readline()
        address = urlsplit(re.search(r"http://[^\s\"]+", line)[0])
        assert address.hostname == "127.0.0.1" and len(address.path) > 30
        if words:
            place = json.loads(line)
            assert place["robot"] == "planar 2R" and place["port"] == address.port
        wire = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
        wire.request("GET", address.path)
        assert wire.getresponse().status == 200
        wire.close()
        assert len(list(tmp_path.glob("kinetree-*"))) == 1  # for uploads
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code and err.strip() == ""
    assert ("closed" in out) == (code == 0) and list(tmp_path.glob("kinetree-*")) == []
    with socket.socket() as free:  # nothing listens there any more
        assert free.connect_ex(("127.0.0.1", address.port)) != 0


def test_a_port_that_is_taken_a_robot_and_a_folder_that_do_not_exist(server, tmp_path):
    def refused(words):
        ended = Program(tmp_path, server)(f"view --no-browser {words}", code=2)
        assert ended.stdout == ""
        return ended.stderr

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        message = refused(f"planar_2r --port {port}")
    assert port in message and "--port" in message
    assert "panda" in refused("pnada")
    assert "--folder is" in refused("planar_2r --folder none")
