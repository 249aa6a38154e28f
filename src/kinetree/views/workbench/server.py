"""The viewer's server behind the guard: loopback only, a token, no foreign page, no tunnel."""

import contextlib
import http.client
import io
import logging
import os
import socket
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

from kinetree.base.extras import need
from kinetree.errors import InputError, KinetreeError, MissingPackageError
from kinetree.views.workbench.guard import Guard, Refusal, judge
from kinetree.views.workbench.limits import CONNECTIONS, MESSAGE_BYTES
from kinetree.views.workbench.page import Page, headers, read_page
from kinetree.views.workbench.permit import Permit, TooMuch, allows

log = logging.getLogger("kinetree.views.workbench")
log.addHandler(logging.NullHandler())
LOOPBACK = "127.0.0.1"
OLDEST = (1, 1)  # the first viser with panels at the edges of the page
_starting = threading.Lock()  # the viewer's module is changed while its server starts


def start_server(port: int = 0) -> tuple[Any, Guard]:
    """A viser server that only the holder of the token can reach, and what guards it.

    Args:
        port: to listen on at 127.0.0.1; 0 takes a free one.
    """
    viser = need("viser", "view", "The workbench")
    if tuple(map(int, viser_version().split(".")[:2])) < OLDEST:
        raise MissingPackageError(
            f"The workbench needs viser {'.'.join(map(str, OLDEST))} or newer; installed is "
            f"{viser_version()}. Renew it with: pip install -U 'kinetree[view]'."
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
    """The version of the viewer that is installed."""
    return str(need("viser", "view", "The workbench").__version__)


def stop_server(server: Any) -> None:
    """End the server and its threads; the viewer's farewell is not printed."""
    with quiet():
        server.stop()


def listen(port: int) -> socket.socket:
    """A listening socket on the loopback; a port that is taken is refused with words."""
    if not 0 <= port < 65536:
        raise InputError(f"--port is {port}; expected 1 to 65535, or 0 for any that is free.")
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
            "Choose another with --port, or leave it out for any that is free."
        ) from error
    listening.setblocking(False)
    return listening


@contextlib.contextmanager
def guarded(listening: socket.socket, guard: Guard, page: Page) -> Iterator[None]:
    """While inside, a viewer's server that starts is ours: it has no such settings of its own."""
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
    """How connections are taken: judged first, then with messages that are judged."""
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
        "close_timeout": 1,  # a page that is gone does not hold up the end
        "server_header": None,
        "logger": log,
    }


def connection_class() -> type:
    """Connections that hand on only the messages that are permitted."""
    server = need("websockets.asyncio.server", "view", "The workbench")
    msgspec = need("msgspec", "view", "The workbench")

    class PermittedConnection(server.ServerConnection):  # type: ignore[misc, name-defined]
        """A connection with a permit of its own."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.permit = Permit()

        async def recv(self, decode: bool | None = None) -> Any:
            """The next message that passes; one that is too much ends the connection."""
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


def forget_tunnel(server: Any) -> None:
    """Take away the viewer's way to a public address: its handlers, and what they would call."""
    messages = need("viser._messages", "view", "The workbench")
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server._incoming_handlers.pop(kind, None)

    def refuse(*_: Any, **__: Any) -> None:
        raise KinetreeError("The workbench is never shared: it listens on this machine alone.")

    server.request_share_url = refuse


def check_guard(guard: Guard) -> None:
    """Knock without the token and under a foreign name; a server that answers is stopped."""
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
def quiet() -> Iterator[None]:
    """Keep what the viewer prints by itself off the screen."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
