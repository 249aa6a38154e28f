"""The server of the workbench: page and requests, on the loopback only, behind the guard."""

import io
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kinetree.base.system import claim_port
from kinetree.errors import InputError, KinetreeError
from kinetree.views.workbench.guard import (
    BODY_SECONDS,
    CONNECTIONS,
    HEAD_SECONDS,
    IDLE_SECONDS,
    JSON,
    Guard,
    Head,
    Pace,
    Refusal,
    asked_name,
    judge,
)
from kinetree.views.workbench.page import Page, headers
from kinetree.views.workbench.state import Request, plain

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
LOOPBACK = "127.0.0.1"
COMMON = {  # headers of every answer
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the token is in the address
    "X-Content-Type-Options": "nosniff",
}
THREAD = "kinetree workbench"  # name of the server's threads

Respond = Callable[[str, Request], object]  # answer of a request by its name


class Server(ThreadingHTTPServer):
    """A server that answers with one page and with JSON; a thread for each connection."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, guard: Guard, page: Page, respond: Respond):
        super().__init__((LOOPBACK, guard.port), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.guard, self.page, self.respond, self.pace = guard, page, respond, Pace()
        self._open: set[socket.socket] = set()
        self._serving: list[threading.Thread] = []  # a thread outlives its connection a little
        self._turn = threading.Lock()
        self._loop = threading.Thread(
            target=self.serve_forever, args=(0.1,), name=THREAD, daemon=True
        )
        self._loop.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, or close it if there are too many."""
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name=THREAD,
            daemon=True,
        )
        with self._turn:
            full = len(self._open) >= CONNECTIONS
            if not full:
                self._open.add(request)
                self._serving = [x for x in self._serving if x.is_alive()]
        if full:
            log.warning("A connection was closed: more than %d are open.", CONNECTIONS)
            self.shutdown_request(request)
        else:
            thread.start()
            self._serving.append(thread)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._turn:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error of a connection; a browser that went away is not one."""
        log.debug("A connection ended with an error.", exc_info=True)

    def stop(self, seconds: float = 10.0) -> None:
        """End the server: close all connections and wait for their threads."""
        self.shutdown()
        self._loop.join()
        with self._turn:
            for connection in self._open:
                with_no_error(lambda c=connection: c.shutdown(socket.SHUT_RDWR))
        end = time.monotonic() + seconds
        for thread in self._serving:
            if thread is not threading.current_thread():
                thread.join(max(end - time.monotonic(), 0.0))
        self.server_close()


def with_no_error(action: Callable[[], object]) -> None:
    """Close something that may be closed already."""
    try:
        action()
    except OSError:
        pass


class TimedReader(io.RawIOBase):
    """Bytes of a connection until a deadline, however slowly they come."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.deadline = 0.0

    def allow(self, seconds: float) -> None:
        """Move the deadline to some seconds from now."""
        self.deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; TimeoutError after the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """Answers requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server: Server  # type: ignore[assignment]

    def setup(self) -> None:
        """Open the two ends of the connection; reading has a deadline."""
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.rfile.close()
        self.reader = TimedReader(self.connection)
        self.buffer = self.rfile = io.BufferedReader(self.reader)

    def handle_one_request(self) -> None:
        """Wait for a request, read it and answer it."""
        try:
            self.reader.allow(IDLE_SECONDS)
            if not self.buffer.peek(1):
                self.close_connection = True
                return
            self.reader.allow(HEAD_SECONDS)
            self.raw_requestline = self.rfile.readline(65537)
            if len(self.raw_requestline) > 65536:
                self.close_connection = True
                return
            if not self.parse_request():
                return
            self.connection.settimeout(BODY_SECONDS)  # of sending
            self.respond()
            self.wfile.flush()
        except (TimeoutError, ConnectionError) as error:
            log.debug("A connection was closed: %r.", error)
            self.close_connection = True

    def respond(self) -> None:
        """Judge the request, then send the page or the answer."""
        head = self.head()
        refusal = judge(self.server.guard, head)
        if refusal is None and not self.server.pace.allows():
            refusal = Refusal(429, "Too many requests; try again in a second.")
        if refusal is not None:
            self.close_connection = True  # its body, if any, is not read
            self.send(refusal.status, {"error": refusal.reason})
        elif head.method == "GET":
            self.send_bytes(200, self.server.page.body, headers(self.server.page))
        else:
            self.reader.allow(BODY_SECONDS)
            body = self.rfile.read(int(head.lengths[0]))
            if len(body) < int(head.lengths[0]):
                self.close_connection = True
                return
            self.send(*answered(self.server.respond, asked_name(head), body))

    def head(self) -> Head:
        """The parts of the request that the guard judges."""

        def all_of(name: str) -> tuple[str, ...]:
            return tuple(x.strip() for x in self.headers.get_all(name, ()))

        return Head(
            self.command, self.path, all_of("Host"), all_of("Origin"), all_of("Sec-Fetch-Site"),
            all_of("Content-Type"), all_of("Content-Length"), all_of("Transfer-Encoding"),
        )  # fmt: skip

    def send(self, status: int, content: object) -> None:
        """Send an answer as JSON."""
        body = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        self.send_bytes(status, body, {"Content-Type": f"{JSON}; charset=utf-8"})

    def send_bytes(self, status: int, body: bytes, fields: Mapping[str, str]) -> None:
        """Send an answer."""
        self.send_response_only(status)
        closing = {"Connection": "close"} if self.close_connection else {}
        for name, value in {**COMMON, **fields, **closing}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not HTTP, without an echo of it."""
        self.close_connection = True
        self.send(int(code), {"error": HTTPStatus(code).phrase})

    def __getattr__(self, name: str) -> Callable[[], None]:
        # all methods are answered in one place, by the guard
        if name.startswith("do_"):
            return self.respond
        raise AttributeError(name)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing of requests: their paths have the token."""


def answered(respond: Respond, name: str, body: bytes) -> tuple[int, object]:
    """Status and answer of a request with a body of JSON."""
    try:
        request = read_json(body)
        return 200, plain(respond(name, request))
    except KinetreeError as error:
        return 400, {"error": str(error)}
    except Exception as error:
        log.exception("The request %r failed.", name[:40])
        words = f"{type(error).__name__}: {error}"[:300]
        return 500, {"error": f"This is an error of kinetree itself, please report it: {words}"}


def read_json(body: bytes) -> Request:
    """The record that a body has; InputError if it is another thing."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The request is not JSON: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise InputError("The request is not a record with named entries.")
    return found


def listen(port: int) -> socket.socket:
    """A listening socket on the loopback; InputError if the port cannot be used."""
    if not 0 <= port < 65536:
        raise InputError(f"--port is {port}; expected 1 to 65535, or 0 for any free port.")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    claim_port(listening)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise InputError(
            f"Port {port} of {LOOPBACK} cannot be used ({error.strerror or error}). "
            "Choose another with --port, or leave it out to use any free port."
        ) from error
    return listening
