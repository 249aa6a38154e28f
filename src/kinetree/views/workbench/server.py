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

from kinetree.core.system import claim_port
from kinetree.errors import InputError, KinetreeError
from kinetree.present.tables import plain
from kinetree.views.workbench.guard import (
    BODY_SECONDS,
    CONNECTIONS,
    HEAD_BYTES,
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
from kinetree.views.workbench.page import Page, sent_page
from kinetree.views.workbench.shelf import BusyError
from kinetree.views.workbench.state import Request

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
LONGEST_END_S = 5.0  # of the end for requests that are being answered
PIECE_BYTES = 1 << 16  # of a body that are read at a time

Respond = Callable[[str, Request], object]  # answer of a request by its name


class Server(ThreadingHTTPServer):
    """A server that answers with one page and with JSON; a thread for each connection.

    When all connections are taken, the one that has waited longest for a request, or for more of
    its body, is closed in favour of a new one: clients that open many and do not finish what they
    send do not keep the page out. Those that never had a whole good request go first.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, guard: Guard, page: Page, respond: Respond):
        super().__init__((LOOPBACK, guard.port), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.guard, self.page, self.respond, self.pace = guard, page, respond, Pace()
        self._open: set[socket.socket] = set()
        self._waiting: dict[socket.socket, None] = {}  # for a request, the longest first
        self._known: set[socket.socket] = set()  # those that have had a whole good request
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
            full = len(self._open) >= CONNECTIONS and not self._close_waiting()
            if not full:
                self._open.add(request)
                self._waiting[request] = None
                self._serving = [x for x in self._serving if x.is_alive()]
        if full:
            log.warning("A connection was closed: more than %d are open.", CONNECTIONS)
            self.shutdown_request(request)
        else:
            thread.start()
            self._serving.append(thread)

    def _close_waiting(self) -> bool:
        """Close the connection that has waited longest; False if all are being answered."""
        strangers = (x for x in self._waiting if x not in self._known)
        chosen = next(strangers, next(iter(self._waiting), None))
        if chosen is None:
            return False
        self._forget(chosen)
        with_no_error(lambda: chosen.shutdown(socket.SHUT_RDWR))  # its thread wakes and ends
        return True

    def _forget(self, request: socket.socket) -> None:
        self._open.discard(request)
        self._known.discard(request)
        self._waiting.pop(request, None)

    def waits(self, request: socket.socket, *, is_known: bool) -> None:
        """Note that a connection waits for a request or for more of it.

        is_known: whether it has had a whole good request.
        """
        with self._turn:
            if request in self._open:
                self._waiting.pop(request, None)  # to the end
                self._waiting[request] = None
                if is_known:
                    self._known.add(request)

    def answers(self, request: socket.socket) -> None:
        """Note that a whole good request of a connection is being answered."""
        with self._turn:
            self._waiting.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._turn:
            self._forget(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error of a connection; a browser that went away is not one."""
        log.debug("A connection ended with an error.", exc_info=True)

    def stop(self) -> None:
        """End the server: close all connections and wait a little for their threads."""
        self.shutdown()
        self._loop.join()
        with self._turn:
            for connection in self._open:
                with_no_error(lambda c=connection: c.shutdown(socket.SHUT_RDWR))
        end = time.monotonic() + LONGEST_END_S
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


class TooLongError(ConnectionError):
    """More bytes than a request may have."""


class TimedReader(io.RawIOBase):
    """Bytes of a connection until a deadline and up to a count, however slowly they come."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.deadline, self.left = 0.0, 0

    def allow(self, seconds: float, count: int) -> None:
        """Move the deadline to some seconds from now, and allow that many bytes until then."""
        self.deadline, self.left = time.monotonic() + seconds, count

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; TimeoutError after the deadline, TooLongError after the count."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        if self.left <= 0:
            raise TooLongError
        self.connection.settimeout(seconds)
        count = self.connection.recv_into(memoryview(buffer)[: self.left])
        self.left -= count
        return count


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
        self.is_known = False  # whether it has had a whole good request

    def handle_one_request(self) -> None:
        """Wait for a request, read it and answer it."""
        try:
            self.server.waits(self.connection, is_known=self.is_known)
            self.reader.allow(IDLE_SECONDS, HEAD_BYTES)
            if not self.buffer.peek(1):
                self.close_connection = True
                return
            self.reader.allow(HEAD_SECONDS, HEAD_BYTES)
            self.raw_requestline = self.rfile.readline(HEAD_BYTES)
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
            return
        body = self.body(int(head.lengths[0]) if head.lengths else 0)
        if body is None:
            self.close_connection = True
            return
        self.is_known = True
        self.server.answers(self.connection)
        if head.method == "GET":
            accepted = ", ".join(self.headers.get_all("Accept-Encoding", ["gzip"]))
            self.send_bytes(200, *sent_page(self.server.page, accepted))
        else:
            self.send(*answered(self.server.respond, asked_name(head), body))

    def body(self, length: int) -> bytes | None:
        """The body of the request; None if it ends early. Until it is whole the client waits."""
        self.reader.allow(BODY_SECONDS, length)
        pieces: list[bytes] = []
        while length > 0:
            piece = self.buffer.read1(min(length, PIECE_BYTES))
            if not piece:
                return None
            self.server.waits(self.connection, is_known=self.is_known)
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

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
        allowed = {"Allow": "GET, POST"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
        for name, value in {**COMMON, **fields, **closing, **allowed}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
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
    except BusyError as error:
        return 503, {"error": str(error)}
    except KinetreeError as error:
        return 400, {"error": str(error)}
    except Exception as error:
        log.exception("The request %r failed.", name[:40])
        words = f"{type(error).__name__}: {error}"[:300]
        return 500, {"error": f"This is an error of kinetree itself, please report it: {words}"}


def read_json(body: bytes) -> Request:
    """The record that a body has; InputError if it is another thing."""
    try:
        request = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The request is not JSON: {str(error)[:200]}") from None
    if not isinstance(request, dict):
        raise InputError("The request is not a record with named entries.")
    return request


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


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
