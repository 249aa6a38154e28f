"""Raw requests to a workbench."""

import json
import socket
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
        guard = workbench.guard
        self.port, self.token = guard.port, guard.token
        self.host, self.origin = f"127.0.0.1:{guard.port}", f"http://127.0.0.1:{guard.port}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, path, *headers, method="GET", host=None, body=b""):
        """The answer to a request; `host` may be a name or () for none at all."""
        with self.connect() as wire:
            wire.sendall(self.request(path, headers, method, host) + body)
            return read_answer(wire)

    def request(self, path, headers=(), method="GET", host=None):
        host = self.host if host is None else host
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host else []), *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def post(self, name="robots", body=None, *, token=None, origin="own", host=None, kind=None):
        """The answer to a request of the page; what is given differs from the page's own."""
        data = json.dumps({} if body is None else body).encode()
        origin = self.origin if origin == "own" else origin
        headers = [
            f"Content-Type: {'application/json' if kind is None else kind}",
            f"Content-Length: {len(data)}",
            *([f"Origin: {origin}"] if origin else []),
        ]
        path = f"/{self.token if token is None else token}/api/{name}"
        return self.ask(path, *headers, method="POST", host=host, body=data)


def read_answer(wire):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = wire.recv(65536)
        if not piece:
            break
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        return Answer(0, {}, b"")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split()[1])
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        piece = wire.recv(65536)
        if not piece:
            break
        body += piece
    return Answer(status, headers, body)
