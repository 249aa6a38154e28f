"""The viewer's server behind the guard: on the loopback only, with a token, without a tunnel."""

import contextlib
import http.client
import io
import logging
import os
import socket
import threading
import time
import types
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from kinetree.errors import InputError, KinetreeError, MissingPackageError, need
from kinetree.views.workbench.guard import (
    CONNECTIONS,
    MESSAGE_BYTES,
    Guard,
    Permit,
    Refusal,
    TooMuch,
    allows,
    judge,
)
from kinetree.views.workbench.page import Page, headers, read_page

if TYPE_CHECKING:
    from viser import ViserServer

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
LOOPBACK = "127.0.0.1"
OLDEST = (1, 1)  # the first viser with panels at the edges of the page
_starting = threading.Lock()  # the viewer's module is patched while its server starts


def start_server(port: int = 0) -> "tuple[ViserServer, Guard]":
    """Start a viser server that answers only requests with the token of the returned guard.

    Args:
        port: port of 127.0.0.1; 0 means any free port.
    """
    viser = need("viser", "view", "The workbench")
    if tuple(map(int, viser_version().split(".")[:2])) < OLDEST:
        raise MissingPackageError(
            f"The workbench needs viser {'.'.join(map(str, OLDEST))} or newer; installed is "
            f"{viser_version()}. Update it with: pip install -U 'kinetree[view]'."
        )
    listening = listen(port)
    guard = Guard(listening.getsockname()[1])
    page = read_page()
    with _starting, quiet(), guarded(listening, guard, page):
        server = viser.ViserServer(host=LOOPBACK, port=guard.port, verbose=False)
    try:
        forget_tunnel(server)
        check_guard(guard)
    except BaseException:
        stop_server(server)
        raise
    return server, guard


def viser_version() -> str:
    """Version of the installed viewer."""
    return str(need("viser", "view", "The workbench").__version__)


def stop_server(server: "ViserServer") -> None:
    """End the server and its threads, without the viewer's message."""
    with quiet():
        server.stop()


def listen(port: int) -> socket.socket:
    """A listening socket on the loopback; InputError if the port cannot be used."""
    if not 0 <= port < 65536:
        raise InputError(f"--port is {port}; expected 1 to 65535, or 0 for any free port.")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # on Windows the same option would let another program take the port over
    option = "SO_REUSEADDR" if os.name == "posix" else "SO_EXCLUSIVEADDRUSE"
    listening.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise InputError(
            f"Port {port} of {LOOPBACK} cannot be used ({error.strerror or error}). "
            "Choose another with --port, or leave it out to use any free port."
        ) from error
    listening.setblocking(False)
    return listening


@contextlib.contextmanager
def guarded(listening: socket.socket, guard: Guard, page: Page) -> Generator[None]:
    """While active, a viewer's server that starts uses our socket, guard and page.

    The viewer has no settings for these, so its reference to the websockets package is replaced.
    """
    infra = need("viser.infra._infra", "view", "The workbench")
    original = infra.websockets

    def serve(handler: Callable[..., Any], host: str, port: int, **options: Any) -> Any:
        options |= serving(guard, page) | {"select_subprotocol": options["select_subprotocol"]}
        return original.asyncio.server.serve(handler, sock=listening, **options)

    inner = types.SimpleNamespace(serve=serve)
    infra.websockets = types.SimpleNamespace(
        asyncio=types.SimpleNamespace(server=inner),
        exceptions=original.exceptions,
        datastructures=original.datastructures,
    )
    try:
        yield
    finally:
        infra.websockets = original


def serving(guard: Guard, page: Page) -> dict[str, Any]:
    """Options of the websocket server: requests are judged, then every message is checked."""
    http11 = need("websockets.http11", "view", "The workbench")
    structures = need("websockets.datastructures", "view", "The workbench")

    def answer(status: int, reason: str, fields: dict[str, str], body: bytes) -> Any:
        fields = fields | {"Content-Length": str(len(body)), "Connection": "close"}
        return http11.Response(status, reason, structures.Headers(**fields), body)

    def process_request(connection: Any, request: Any) -> Any:
        upgrade = [x.lower() for x in request.headers.get_all("Upgrade")]
        websocket = "websocket" in upgrade
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        refusal = judge(guard, request.path, hosts, origins, websocket)
        if refusal is None and websocket and len(connection.server.connections) > CONNECTIONS:
            refusal = Refusal(503, f"More than {CONNECTIONS} pages are open.")
        if refusal is not None:
            text = {"Content-Type": "text/plain; charset=utf-8"}
            return answer(refusal.status, "Refused", text, f"{refusal.reason}\n".encode())
        return None if websocket else answer(200, "OK", headers(page, guard.port), page.body)

    return {
        "process_request": process_request,
        "create_connection": connection_class(),
        "max_size": MESSAGE_BYTES,
        "compression": None,
        "close_timeout": 1,  # s; a closed page does not delay the end
        "server_header": None,
        "logger": log,
    }


def connection_class() -> type:
    """Class of connections that pass on only permitted messages."""
    server = need("websockets.asyncio.server", "view", "The workbench")
    msgspec = need("msgspec", "view", "The workbench")

    class PermittedConnection(server.ServerConnection):  # type: ignore[misc, name-defined]
        """A connection with its own permit."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.permit = Permit()

        async def recv(self, decode: bool | None = None) -> Any:
            """Return the next permitted message; a message that is too much ends the connection."""
            while True:
                raw = await super().recv(decode)
                try:
                    message = msgspec.msgpack.decode(raw) if isinstance(raw, bytes) else None
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    message = None
                try:
                    if allows(self.permit, raw, message, time.monotonic()):
                        return raw
                except TooMuch as error:
                    log.warning("A connection was closed: %s.", error)
                    await self.close(1008, str(error))

    return PermittedConnection


def forget_tunnel(server: "ViserServer") -> None:
    """Remove the viewer's tunnel to a public address: its handlers, and the method they call."""
    messages = need("viser._messages", "view", "The workbench")
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server._incoming_handlers.pop(kind, None)

    def refuse(*_: Any, **__: Any) -> None:
        raise KinetreeError("The workbench is never shared: it listens on this machine alone.")

    server.request_share_url = refuse


def check_guard(guard: Guard) -> None:
    """Send a request without the token and one with a foreign Host; raise if either is answered."""
    for path, host in (("/", f"{LOOPBACK}:{guard.port}"), (f"/{guard.token}/", "example.org")):
        knock = http.client.HTTPConnection(LOOPBACK, guard.port, timeout=10)
        try:
            knock.request("GET", path, headers={"Host": host})
            status = knock.getresponse().status
        finally:
            knock.close()
        if status != 403:
            raise KinetreeError(
                f"The viewer's server answered {status} to a stranger, so it was stopped. "
                f"viser {viser_version()} cannot be guarded; 1.1.1 can: pip install viser==1.1.1"
            )


@contextlib.contextmanager
def quiet() -> Generator[None]:
    """Suppress what the viewer prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
