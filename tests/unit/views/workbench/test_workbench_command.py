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


def refused(*arguments):
    """Text on stderr of a command that ends with exit code 2."""
    found = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=120)
    assert found.returncode == 2 and "Traceback" not in found.stderr and found.stdout == ""
    return found.stderr


@posix
def test_json_says_where_it_is():
    process = started("--json")
    try:
        lines = []
        while "}" not in "".join(lines):
            lines.append(process.stdout.readline())
        said = json.loads("".join(lines))
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert said["robot"] == "planar 2R" and said["address"].startswith("http://127.0.0.1:")
    assert str(said["port"]) in said["address"] and rest == "" and process.returncode == 0


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 0), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_it_prints_its_address_serves_and_ends(name, code, tmp_path):
    process = started(TMPDIR=str(tmp_path))
    try:
        address = urlsplit(re.search(r"http://\S+", process.stdout.readline())[0])
        assert address.hostname == "127.0.0.1" and len(address.path) > 30
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


def test_a_port_that_is_taken_is_said_with_a_way_out():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        said = refused("planar_2r", "--no-browser", "--port", port)
    assert port in said and "--port" in said


def test_an_unknown_robot_is_an_error_with_the_nearest_name():
    assert "panda" in refused("pnada", "--no-browser")


def test_a_missing_folder_is_an_error(tmp_path):
    said = refused("planar_2r", "--no-browser", "--folder", str(tmp_path / "none"))
    assert "--folder is" in said
