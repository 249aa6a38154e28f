"""The server of the workbench: page and requests, on the loopback only, behind the guard."""

import json
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kinetree.core.system import claim_port
from kinetree.errors import InputError, KinetreeError
from kinetree.present.tables import plain
from kinetree.views.workbench.guard import JSON, Guard, asked_name, judge
from kinetree.views.workbench.page import Page
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
IDLE_SECONDS = 75.0  # that a connection may keep silent

Respond = Callable[[str, Request], object]  # answer of a request by its name


class Server(ThreadingHTTPServer):
    """A server that answers with one page and with JSON; a thread for each connection."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, guard: Guard, page: Page, respond: Respond):
        super().__init__((LOOPBACK, guard.port), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.guard, self.page, self.respond = guard, page, respond
        self._loop = threading.Thread(
            target=self.serve_forever, args=(0.1,), name=THREAD, daemon=True
        )
        self._loop.start()

    def stop(self) -> None:
        """End the server; requests that are being answered end with the process."""
        self.shutdown()
        self._loop.join()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS
    server: Server  # type: ignore[assignment]

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        try:
            super().handle_one_request()
        except (TimeoutError, ConnectionError) as error:
            log.debug("A connection was closed: %r.", error)
            self.close_connection = True

    def respond(self) -> None:
        """Judge the request, then send the page or the answer."""
        refusal = judge(self.server.guard, self.command, self.path, self.headers)
        if refusal is not None:
            self.close_connection = True  # its body, if any, is not read
            self.send(refusal[0], {"error": refusal[1]})
            return
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        if self.command == "GET":
            self.send_bytes(200, self.server.page.body, self.server.page.headers)
        else:
            self.send(*answered(self.server.respond, asked_name(self.path), body))

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
