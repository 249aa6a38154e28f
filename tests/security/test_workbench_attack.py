"""The workbench attacked over raw sockets: lies about lengths, hostile JSON.

Nothing of its own code is used for the requests, and every test ends with the question that counts:
is the page of the user still answered at once?
"""

import base64
import io
import json
import math
import socket
import zipfile

import pytest
from security_door import read_answer


def is_open(door):
    """A good request is answered."""
    return door.post().status == 200


def post_head(door, name, length, *more):
    """The head of a request of the page, with a length that may be a lie."""
    lines = [f"Origin: {door.origin}", "Content-Type: application/json", *more]
    return door.request(f"/{door.token}/api/{name}", [*lines, f"Content-Length: {length}"], "POST")


def until_closed(wire):
    """All bytes until the server closes."""
    data = b""
    try:
        while piece := wire.recv(65536):
            data += piece
    except ConnectionError:
        pass
    return data


@pytest.mark.parametrize("length", ["5, 5", "+5", "0x10", "5 ", "1e3", "٣", "-1", "", "9" * 400])
def test_a_length_that_is_no_length_is_refused(door, length):
    with door.connect() as wire:
        wire.sendall(post_head(door, "robots", length) + b"{}   ")
        if length == "5 ":  # blanks around a value do not count
            assert read_answer(wire).status == 200
        else:
            assert read_answer(wire).status in (400, 411, 413)


def test_a_body_that_is_shorter_than_announced_is_not_answered(door):
    with door.connect() as wire:
        wire.sendall(post_head(door, "robots", 500) + b"{}")
        wire.shutdown(socket.SHUT_WR)
        assert until_closed(wire) == b""
    assert is_open(door)


def test_bytes_behind_a_body_are_the_next_request_and_judged_as_such(door):
    with door.connect() as wire:
        wire.sendall(post_head(door, "robots", 2) + b"{}GET /etc/passwd HTTP/1.1\r\n\r\n")
        data = until_closed(wire)
    assert data.count(b"HTTP/1.1 200") == 1 and data.count(b"HTTP/1.1 403") == 1
    assert b"root:" not in data


@pytest.mark.parametrize("coding", ["chunked", "identity", "gzip, chunked", "CHUNKED", ""])
def test_no_coding_of_a_body_is_accepted(door, coding):
    with door.connect() as wire:
        wire.sendall(post_head(door, "robots", 5, f"Transfer-Encoding: {coding}") + b"0\r\n\r\n")
        answer = read_answer(wire)
    assert answer.status == 411 and answer.headers["connection"] == "close"


LONG = {
    "a line": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
    "a header": b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
    "long headers": b"GET / HTTP/1.1\r\n" + (b"X: " + b"y" * 60_000 + b"\r\n") * 90 + b"\r\n",
    "no end": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
}


@pytest.mark.parametrize("what", LONG)
def test_a_head_that_is_too_long_is_refused(door, what):
    with door.connect() as wire:
        try:
            wire.sendall(LONG[what])
        except ConnectionError:
            pass  # closed before all of it was sent
        data = until_closed(wire)
    assert data == b"" or data.split()[1] in (b"400", b"403", b"414", b"431")
    assert is_open(door)


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "HEAD", "CONNECT"]
)
def test_other_methods_are_refused_with_and_without_a_body(door, method):
    for path in (f"/{door.token}/", f"/{door.token}/api/robots", "*"):
        assert door.ask(path, method=method).status in (400, 403, 405)
        answer = door.ask(path, "Content-Length: 2", method=method, body=b"{}")
        assert answer.status in (400, 403, 405)


@pytest.mark.parametrize("line", ["Upgrade: websocket", "Upgrade: h2c", "Expect: 100-continue"])
def test_no_other_protocol_is_spoken(door, line):
    """There are no websockets: a request to change the protocol is an ordinary request."""
    answer = door.ask(f"/{door.token}/", "Connection: Upgrade", line)
    assert answer.status in (100, 200, 400, 417) and "upgrade" not in answer.headers
    answer = door.ask("/wrong/", "Connection: Upgrade", line)
    assert answer.status in (100, 400, 403, 417)


TRAVERSALS = [
    "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "..\\..\\etc\\passwd", "%2e%2e%5c%2e%2e%5cetc",
    "/etc/passwd", "//etc/passwd", "%00", "api/../../etc/passwd", "api/open/../robots",
    "api/open%00", "api/%6fpen", "api//open", "api/open/", "api/", "./api/open", "api/open;x",
    "\x7f", "api/open\u0000", "C:/windows/win.ini", "file:///etc/passwd",
]  # fmt: skip


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_anywhere_else(door, path):
    for method in ("GET", "POST"):
        headers = [f"Origin: {door.origin}", "Content-Type: application/json", "Content-Length: 2"]
        headers = headers if method == "POST" else []
        body = b"{}" if method == "POST" else b""
        answer = door.ask(f"/{door.token}/{path}", *headers, method=method, body=body)
        assert answer.status in (0, 400, 404) and b"root:" not in answer.body


DEEP = {
    "lists": b"[" * 300_000,
    "closed lists": b"[" * 200_000 + b"]" * 200_000,
    "records": b'{"a":' * 100_000,
    "a list in a record": b'{"robot": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "digits": b'{"robot": ' + b"9" * 500_000 + b"}",
    "not text": b"\xff\xfe" * 1000,
    "zero bytes": b"\x00" * 1000,
    "lone surrogates": b'{"robot": "\\ud800"}',
    "two keys": b'{"robot": "given", "robot": 5}',
    "a number": b"5",
    "nothing": b"",
}


@pytest.mark.parametrize("what", DEEP)
def test_hostile_json_is_an_answer_of_400(door, what):
    body = DEEP[what]
    with door.connect() as wire:
        wire.sendall(post_head(door, "readings", len(body)) + body)
        answer = read_answer(wire)
    assert answer.status == 400 and len(answer.body) < 2000
    json.loads(answer.body)
    assert is_open(door)


NUMBERS = [
    math.nan, math.inf, -math.inf, 1e308, 10**400, -(10**4000), "1", None, True, [], {}, [[0.0]],
]  # fmt: skip
ENTRIES = {
    "readings": lambda x: {"q": [x, 0.0]},
    "reach": lambda x: {"q": [0.0, 0.0], "T": [x] * 16},
    "recursion": lambda x: {"q": [0.0, 0.0], "ddq": [x, x]},
    "unfold": lambda x: {"q": [0.0, 0.0], "what": {"kind": "tau", "dof": x}},
    "simulate": lambda x: {"q": [0.0, 0.0], "preset": "release", "duration": x},
    "random": lambda x: {"gravity": [x, 0, 0]},
    "equations": lambda x: {"payload": {"mass": x, "com": [0, 0, x]}},
    "save": lambda x: {"kind": "csv", "motion": {"t": [0.0, x], "q": [[x, x]]}},
    "motion": lambda x: {"file": {"name": "a.csv", "base64": x}},
    "open": lambda x: {"files": x, "main": x},
}


@pytest.mark.parametrize("name", ENTRIES)
def test_numbers_that_are_none_are_named_and_never_an_error_of_kinetree_itself(door, name):
    for x in NUMBERS:
        answer = door.post(name, {"robot": "given", **ENTRIES[name](x)})
        assert answer.status in (200, 400), (name, x, answer.body[:300])
        json.loads(answer.body, parse_constant=pytest.fail)  # NaN and infinity are not JSON


def file(name, content=b"<robot name='a'><link name='b'/></robot>"):
    return {"name": name, "base64": base64.b64encode(content).decode()}


NAMES = [
    "../a.urdf", "/etc/a.urdf", "a/../../b.urdf", "..\\a.urdf", "C:\\a.urdf", "a\x00.urdf", "",
    ".", "..", "a" * 300 + ".urdf", "/".join("abcdefghijk") + ".urdf", "a\n.urdf", "con:.urdf",
    "a\u202e.urdf", "\x1b[31m.urdf", "a.urdf/", "~/a.urdf ", "x/.", "aux.urdf:stream",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_an_upload_stays_in_its_folder(door, name, tmp_path):
    answer = door.post("open", {"files": [file(name)]})
    # a slash or dot at the end of a path means nothing; all else is refused
    assert answer.status == 400 or (answer.status == 200 and name in ("a.urdf/",))
    assert "\x1b" not in json.loads(answer.body).get("error", "")


def zipped(size):
    """A zip file of a file of zeros, about a thousandth of its size."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("a.urdf", b"\0" * size)
    return data.getvalue()


UPLOADS = {
    "a zip bomb": lambda: [file("a.zip", zipped(1 << 26))],
    "a zip bomb as a robot": lambda: [file("a.urdf", zipped(1 << 26))],
    "many files": lambda: [file(f"{k}.urdf") for k in range(500)],
    "one name twice": lambda: [file("a.urdf"), file("A.URDF")],
    "wrong base64": lambda: [{"name": "a.urdf", "base64": "!!!!"}],
    "entities": lambda: [
        file("a.urdf", b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><robot>&b;</robot>')
    ],
    "a secret by xacro": lambda: [
        file(
            "a.xacro",
            b'<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">'
            b"<link name=\"${xacro.load_yaml('/etc/passwd')}$(env HOME)\"/></robot>",
        )
    ],
    "a secret by MJCF": lambda: [file("a.xml", b'<mujoco><include file="/etc/passwd"/></mujoco>')],
    "deep XML": lambda: [file("a.urdf", b"<robot>" * 100_000)],
}


@pytest.mark.parametrize("what", UPLOADS)
def test_a_hostile_upload_is_refused(door, what):
    answer = door.post("open", {"files": UPLOADS[what]()})
    assert answer.status == 400 and len(answer.body) < 3000 and b"root:" not in answer.body
    assert is_open(door)


@pytest.mark.parametrize(("name", "bound"), [("SECONDS", 0.01), ("MEMORY", 1 << 24)])
def test_an_upload_that_takes_mujoco_too_long_or_too_much_memory_is_refused(
    door, monkeypatch, name, bound
):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    compiling = "kinetree.files.description.mjcf.compile"
    model = b'<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>'
    assert door.post("open", {"files": [file("good.xml", model)]}).status == 200
    monkeypatch.setattr(f"{compiling}.{name}", bound)
    answer = door.post("open", {"files": [file("late.xml", model)]})
    assert answer.status == 400 and b"takes more than" in answer.body
