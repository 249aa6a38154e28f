"""Random requests to the workbench over raw sockets: each is answered rightly, and none harms.

What is right is decided here, by the parts that a request was made of: only one with the right
host, origin, token, path, type and length may be answered with 200.
"""

import json
import socket
import threading
import time
from dataclasses import dataclass

import numpy as np
from attack_case import law, note

import kinetree as kt

PROMPT = 20.0  # s for a good request on a busy machine
REFUSALS = (400, 403, 404, 405, 411, 413, 414, 415, 417, 429, 431, 501, 505)
NAMES = (
    "robots",
    "readings",
    "close",
    "recursion",
    "unfold",
    "random",
    "equations",
    "save",
    "open",
)
PATHS = (
    "/", "/api/robots", "/{t}", "/{t}/../{t}/", "/{t}//", "/{t}/api", "/{t}/api/", "/{t}/api/no",
    "/{t}/api/robots/", "/{t}/api/../../etc/passwd", "/{t}/%2e%2e/etc/passwd", "/{t}\\..\\x",
    "/{t}/api/robots%00", "/{t}/api/__class__", "/%7Bt%7D/", "/{t}x/", "*", "",
    "http://127.0.0.1/{t}/", "/{t}/\x00", "/{t}/api/robots#x", "/{t} /", "/{t}/\x1b[2J",
)  # fmt: skip
HOSTS = ("example.org", "127.0.0.1", "localhost", "", "[::1]:{p}", "127.0.0.1:1", "a@127.0.0.1:{p}")
ORIGINS = ("http://example.org", "null", "https://127.0.0.1:{p}", "http://localhost:{p}x", "")
LENGTHS = ("-1", "+2", "2, 2", "0x2", "", "abc", "9" * 50, "1e3")
TYPES = ("text/plain", "multipart/form-data; boundary=x", "", "application/jsonp")
JUNK = (
    b"", b"[]", b"null", b"NaN", b"{", b"[" * 5000, b'{"a":' * 3000, b"\xff\xfe", b"\x00" * 50,
    b'{"robot": "given", "q": [NaN, Infinity]}',
    b'{"robot": "\\ud800"}', b'{"robot": ' + b"9" * 5000 + b"}",
)  # fmt: skip


@dataclass
class Target:
    """A workbench, as a client sees it."""

    port: int
    token: str

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PROMPT)

    def fill(self, text):
        return text.replace("{t}", self.token).replace("{p}", str(self.port))


def one(rng, values):
    return values[int(rng.integers(len(values)))]


def value(rng, depth=0):
    """A value of JSON, some of them hostile."""
    kind = int(rng.integers(12))
    if kind < 5:
        size = float(10.0 ** rng.integers(-8, 12))
        return float(rng.normal()) * size
    if kind < 8 or depth > 3:
        return one(rng, (None, True, "", "given", "x" * 50, "\x1b[2J", "<b>", "../x", 10**400, -1))
    if kind < 10:
        return [value(rng, depth + 1) for _ in range(int(rng.integers(4)))]
    keys = ("q", "dq", "ddq", "robot", "push", "frame", "kept", "what", "files", "gravity")
    return {one(rng, keys): value(rng, depth + 1) for _ in range(int(rng.integers(4)))}


def body_of(rng):
    """A body, and whether it must be refused by itself."""
    if rng.random() < 0.3:
        return one(rng, JUNK), True
    content = value(rng)
    content = content if isinstance(content, dict) else {"q": content}
    if rng.random() < 0.7:
        content = {"robot": "given", "q": [0.1, 0.2], **content}
    return json.dumps(content).encode(), False


def request(rng, target):
    """The bytes of a request, its parts in words, and the statuses that are right."""
    right = True
    post = rng.random() < 0.7
    method = "POST" if post else "GET"
    path = target.fill(f"/{{t}}/api/{one(rng, NAMES)}" if post else "/{t}/")
    host = target.fill("127.0.0.1:{p}")
    origin, length, kind, more = f"http://{host}", None, "application/json", []
    body, is_junk = body_of(rng) if post else (b"", False)
    wrong = int(rng.integers(12))  # from 8: nothing is wrong but perhaps the body
    if wrong == 0:
        method, right = one(rng, ("PUT", "HEAD", "OPTIONS", "TRACE", "x", "get", "CONNECT")), False
    elif wrong == 1:
        path, right = target.fill(one(rng, PATHS)), False
    elif wrong == 2:
        host, right = target.fill(one(rng, HOSTS)), False
    elif wrong == 3:
        origin, right = target.fill(one(rng, ORIGINS)), False
    elif wrong == 4 and post:
        length, right = one(rng, LENGTHS), False
    elif wrong == 5 and post:
        kind, right = one(rng, TYPES), False
    elif wrong == 6:
        more, right = (
            [one(rng, ("Transfer-Encoding: chunked", "Host: a", "Origin: http://a"))],
            False,
        )
    elif wrong == 7:
        more = ["X: " + "y" * int(rng.integers(1, 70_000))] * int(rng.integers(1, 120))
        right = len("".join(more)) < 30_000 and len(more) < 60
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    if post or wrong == 3:
        lines.append(f"Origin: {origin}")
    if post:
        lines += [f"Content-Type: {kind}", f"Content-Length: {length or len(body)}"]
        if wrong == 4 and not length:
            lines[-1] = "Content-Length:"
    data = "\r\n".join([*lines, *more]).encode("latin-1", "replace") + b"\r\n\r\n" + body
    allowed = (200, 400) if right and not is_junk else (400,) if right else REFUSALS
    if wrong == 7 and len("".join(more)) < 80_000:  # near the limits either is right
        allowed = (*REFUSALS, 200)
    return data, f"{lines} {more[:1]} {body[:200]!r}", allowed


def answer(wire):
    """Status and body of an answer; 0 if the connection was closed without one."""
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            piece = wire.recv(65536)
            if not piece:
                return 0, data
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        status = int(head.split()[1])
        lengths = [x.split(b":")[1] for x in head.split(b"\r\n") if x.startswith(b"Content-Length")]
        while len(body) < int(lengths[0]):
            piece = wire.recv(65536)
            if not piece:
                break
            body += piece
        return status, body
    except ConnectionError:
        return 0, data


def good(target):
    """Send a good request, and check that it is answered in time."""
    start = time.monotonic()
    host = target.fill("127.0.0.1:{p}")
    with target.connect() as wire:
        wire.sendall(
            f"POST /{target.token}/api/robots HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
        )
        status, body = answer(wire)
    assert status == 200 and b"planar_2r" in body, (status, body[:100])
    assert time.monotonic() - start < PROMPT


@law(ci=2, weight=0.5)
def law_random_requests_are_answered_rightly(rng):
    """Random requests, some cut, some slow, beside connections that send nothing."""
    from kinetree.views.workbench import view

    robot = kt.robots.planar_2r()
    with view(robot, browser=False) as running:
        target = Target(running.guard.port, running.guard.token)
        threads = threading.active_count()
        idle = [target.connect() for _ in range(int(rng.integers(0, 100)))]
        try:
            for wire in idle:
                wire.sendall(one(rng, (b"", b"G", b"GET / HTTP/1.1\r\nHost: ")))
            for _ in range(25):
                data, words, allowed = request(rng, target)
                note(rng, request=words, allowed=allowed)
                cut = rng.random() < 0.15
                with target.connect() as wire:
                    try:
                        end = int(rng.integers(len(data))) if cut else len(data)
                        for piece in np.array_split(np.frombuffer(data[:end], np.uint8), 3):
                            wire.sendall(piece.tobytes())
                        if cut:
                            wire.shutdown(socket.SHUT_WR)
                        status, body = answer(wire)
                    except OSError:  # closed before all of it was sent
                        status, body = 0, b""
                note(rng, status=status, body=body[:300])
                closed = cut or REFUSALS[-1] in allowed
                assert status in allowed or (status == 0 and closed) or (cut and status != 500)
                assert b"root:" not in body and target.token.encode() not in body
                assert status == 200 or len(body) < 5000
            good(target)
            assert threading.active_count() - threads < 2 * 64 + 10
        finally:
            for wire in idle:
                wire.close()
        good(target)
