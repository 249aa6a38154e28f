"""The guard of the workbench: which requests and which messages of a browser are let in.

Every request is judged before any part of it is used. Messages are checked against a list, sizes
and a rate: the viewer's own protocol has more than the workbench uses, such as the request for a
public tunnel, and a message that is not listed is dropped before the viewer's server sees it.
"""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TOKEN_BYTES = 24  # 192 random bits cannot be guessed within the life of a process
MESSAGE_BYTES = 1 << 20  # the viewer cuts uploads into parts of half of this
MESSAGES_PER_SECOND = 400  # a slider that is dragged sends 20 per second
UPLOAD_BYTES = 16 << 20
UPLOAD_PARTS = 64
UPLOADS_AT_ONCE = 2
CONNECTIONS = 16
ALLOWED = frozenset(
    {
        "ViewerCameraMessage",
        "GuiUpdateMessage",
        "TransformControlsUpdateMessage",
        "TransformControlsDragStartMessage",
        "TransformControlsDragEndMessage",
        "FileTransferStartUpload",
        "FileTransferPart",
        "FileTransferPartAck",
    }
)


def new_token() -> str:
    """A fresh secret that can stand in the path of an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class Guard:
    """The port of the workbench, and the token that a request must have.

    The token is the first part of the path. The viewer opens its websocket at the path of its page,
    so one secret covers both, and unlike a cookie it is never sent to another port.
    """

    port: int
    token: str = field(default_factory=new_token, repr=False)


@dataclass(frozen=True)
class Refusal:
    """HTTP status and reason of a refused request; the reason contains no secret."""

    status: int
    reason: str


def address(guard: Guard) -> str:
    """The address to open in a browser."""
    return f"http://127.0.0.1:{guard.port}/{guard.token}/"


def judge(
    guard: Guard, path: str, hosts: Sequence[str], origins: Sequence[str], websocket: bool
) -> Refusal | None:
    """Judge a request; None lets it in.

    Args:
        guard: the secret and the port.
        path: the request's target as it was sent, with its query.
        hosts: all Host headers. A name other than the loopback's is DNS rebinding: a foreign page
            that had its own name resolved to this machine.
        origins: all Origin headers. A browser sends one with every websocket, so a websocket
            without one is refused as well.
        websocket: whether the request asks for a websocket.
    """
    names = own_hosts(guard.port)
    if len(hosts) != 1 or hosts[0].lower() not in names:
        return Refusal(403, "The Host header does not name this workbench.")
    if len(origins) > 1 or (websocket and not origins):
        return Refusal(403, "Exactly one Origin is expected.")
    if origins and origins[0].lower() != f"http://{hosts[0].lower()}":
        return Refusal(403, "The request comes from another page.")
    token, _, rest = path.partition("?")[0].removeprefix("/").partition("/")
    if not hmac.compare_digest(token.encode(), guard.token.encode()):
        return Refusal(403, "The address lacks the token that was printed at the start.")
    if rest:
        return Refusal(404, "The workbench has a single page, at another address.")
    return None


def own_hosts(port: int) -> frozenset[str]:
    """Host headers of a browser that was sent to the loopback."""
    names = ("127.0.0.1", "localhost")
    plain = names if port == 80 else ()
    return frozenset((*plain, *(f"{name}:{port}" for name in names)))


class TooMuch(Exception):
    """A message after which the connection is closed."""


@dataclass
class Permit:
    """The account of one connection: bytes that its uploads may still send, and its rate."""

    uploads: dict[str, int] = field(default_factory=dict)
    tokens: float = 2.0 * MESSAGES_PER_SECOND
    last: float | None = None


def allows(permit: Permit, raw: bytes | str, message: object, now: float) -> bool:
    """Return True if a message passes, False to drop it; TooMuch ends the connection.

    Args:
        permit: the account of the connection, changed by messages that pass.
        raw: the message as it was received.
        message: the same, decoded; None if it cannot be decoded.
        now: a clock, s.
    """
    pace(permit, now)
    if isinstance(raw, str) or len(raw) > MESSAGE_BYTES:
        raise TooMuch(f"a message of text, or of more than {MESSAGE_BYTES} bytes")
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(kind, str) or kind not in ALLOWED:
        return False
    if kind == "GuiUpdateMessage":
        # other entries would be set on the server's own record of the element
        updates = message.get("updates")
        return isinstance(updates, dict) and set(updates) == {"value"}
    if kind == "FileTransferStartUpload":
        return starts(permit, message)
    if kind == "FileTransferPart":
        return continues(permit, message)
    return True


def pace(permit: Permit, now: float) -> None:
    """Count a message against the rate; bursts of two seconds' worth of messages pass."""
    elapsed = 0.0 if permit.last is None else max(now - permit.last, 0.0)
    full = 2.0 * MESSAGES_PER_SECOND
    permit.tokens = min(permit.tokens + elapsed * MESSAGES_PER_SECOND, full) - 1
    permit.last = now
    if permit.tokens < 0:
        raise TooMuch(f"more than {MESSAGES_PER_SECOND} messages a second")


def starts(permit: Permit, message: Mapping[str, Any]) -> bool:
    """Check the announced size of an upload; one that is too large is refused as a whole."""
    key = message.get("transfer_uuid")
    size, parts = count(message.get("size_bytes")), count(message.get("part_count"))
    if not isinstance(key, str) or size < 0 or parts < 0:
        return False
    if size > UPLOAD_BYTES or parts > UPLOAD_PARTS:
        raise TooMuch(f"an upload of {size} bytes; the limit is {UPLOAD_BYTES}")
    if key in permit.uploads or len(permit.uploads) >= UPLOADS_AT_ONCE:
        raise TooMuch(f"more than {UPLOADS_AT_ONCE} uploads at once")
    if size and parts:
        permit.uploads[key] = size
    return True


def continues(permit: Permit, message: Mapping[str, Any]) -> bool:
    """Check a part of an upload; all parts together must not exceed the announced size."""
    key, content = message.get("transfer_uuid"), message.get("content")
    if not isinstance(key, str) or key not in permit.uploads or not isinstance(content, bytes):
        return False
    permit.uploads[key] -= len(content)
    if permit.uploads[key] < 0:
        raise TooMuch("an upload that is longer than announced")
    if permit.uploads[key] == 0:
        del permit.uploads[key]
    return True


def count(x: object) -> int:
    """x if it is a whole number, otherwise -1."""
    return x if isinstance(x, int) and not isinstance(x, bool) else -1
