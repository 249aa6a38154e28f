"""Raw requests to a workbench."""

import socket
import struct
from base64 import b64encode
from dataclasses import dataclass


@dataclass
class Answer:
    """An answer to a request: its status, its headers in small letters, its body."""

    status: int
    headers: dict
    body: bytes


class Door:
    """Requests as bytes, without a library that would correct them."""

    def __init__(self, workbench):
        guard = workbench.bench.guard
        self.port, self.token = guard.port, guard.token
        self.host, self.origin = f"127.0.0.1:{guard.port}", f"http://127.0.0.1:{guard.port}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, path, *headers, method="GET", host=None):
        """The answer to a request; `host` may be a name or () for none at all."""
        with self.connect() as wire:
            wire.sendall(self.request(path, headers, method, host))
            return read_answer(wire)

    def request(self, path, headers=(), method="GET", host=None):
        host = self.host if host is None else host
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host else []), *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def websocket(self, path=None, origin="own", host=None):
        """The socket and the answer to a request for a websocket."""
        import viser

        path = f"/{self.token}" if path is None else path
        origin = self.origin if origin == "own" else origin
        headers = [
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {b64encode(b'0123456789abcdef').decode()}",
            f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
            *([f"Origin: {origin}"] if origin else []),
        ]
        wire = self.connect()
        wire.sendall(self.request(path, headers, host=host))
        return wire, read_answer(wire, upgraded=True)


def read_answer(wire, upgraded=False):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = wire.recv(1 if upgraded else 65536)  # what follows an upgrade is not ours to read
        if not piece:
            break
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        return Answer(0, {}, b"")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split()[1])
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    while not upgraded and len(body) < int(headers.get("content-length", 0)):
        piece = wire.recv(65536)
        if not piece:
            break
        body += piece
    return Answer(status, headers, body)


def frame(payload):
    """A masked binary frame of a client."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65536:
        length = bytes([0x80 | 126]) + struct.pack("!H", size)
    else:
        length = bytes([0x80 | 127]) + struct.pack("!Q", size)
    return b"\x82" + length + bytes(4) + payload  # a mask of zeros leaves the payload as it is


def closing_code(wire):
    """The code of the server's closing frame; what it sends before is skipped."""
    code = None
    try:
        while True:
            kind, length = exactly(wire, 2)
            length &= 127
            if length > 125:
                length = int.from_bytes(exactly(wire, 2 if length == 126 else 8), "big")
            payload = exactly(wire, length)
            if kind & 15 == 8:
                code = int.from_bytes(payload[:2], "big")
                return code
    except (ConnectionError, TimeoutError):
        return code


def exactly(wire, count):
    data = b""
    while len(data) < count:
        piece = wire.recv(count - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data
