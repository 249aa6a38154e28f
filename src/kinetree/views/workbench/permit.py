"""Which messages of a browser reach the workbench: a list, sizes, and a pace.

The viewer's own protocol knows more than the workbench uses, among it the request for a public
tunnel; what is not listed here is dropped before the viewer's server sees it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kinetree.views.workbench.limits import (
    MESSAGE_BYTES,
    MESSAGES_PER_SECOND,
    UPLOAD_BYTES,
    UPLOAD_PARTS,
    UPLOADS_AT_ONCE,
)

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


class TooMuch(Exception):
    """A message after which the connection is closed."""


@dataclass
class Permit:
    """What one connection has sent so far: uploads under way, as bytes that may still come."""

    uploads: dict[str, int] = field(default_factory=dict)
    tokens: float = 2.0 * MESSAGES_PER_SECOND
    last: float | None = None


def allows(permit: Permit, raw: bytes | str, message: Any, now: float) -> bool:
    """Whether a message passes; False drops it, TooMuch ends the connection.

    Args:
        permit: the connection's own, changed by what passes.
        raw: the message as it came.
        message: the same, decoded; None where it cannot be decoded.
        now: a clock, s.
    """
    pace(permit, now)
    if isinstance(raw, str) or len(raw) > MESSAGE_BYTES:
        raise TooMuch(f"a message of text, or of more than {MESSAGE_BYTES} bytes")
    if not isinstance(message, dict) or message.get("type") not in ALLOWED:
        return False
    if message["type"] == "GuiUpdateMessage":
        # other entries would be set on the server's own record of the element
        updates = message.get("updates")
        return isinstance(updates, dict) and set(updates) == {"value"}
    if message["type"] == "FileTransferStartUpload":
        return starts(permit, message)
    if message["type"] == "FileTransferPart":
        return continues(permit, message)
    return True


def pace(permit: Permit, now: float) -> None:
    """Count a message against the pace; bursts of two seconds' worth pass."""
    elapsed = 0.0 if permit.last is None else max(now - permit.last, 0.0)
    full = 2.0 * MESSAGES_PER_SECOND
    permit.tokens = min(permit.tokens + elapsed * MESSAGES_PER_SECOND, full) - 1
    permit.last = now
    if permit.tokens < 0:
        raise TooMuch(f"more than {MESSAGES_PER_SECOND} messages a second")


def starts(permit: Permit, message: Mapping[str, Any]) -> bool:
    """An upload announces its size: the whole of it is refused when it is too large."""
    key = message.get("transfer_uuid")
    size, parts = count(message.get("size_bytes")), count(message.get("part_count"))
    if not isinstance(key, str) or size < 0 or parts < 0:
        return False
    if size > UPLOAD_BYTES or parts > UPLOAD_PARTS:
        raise TooMuch(f"an upload of {size} bytes; at most {UPLOAD_BYTES} are taken")
    if key in permit.uploads or len(permit.uploads) >= UPLOADS_AT_ONCE:
        raise TooMuch(f"more than {UPLOADS_AT_ONCE} uploads at once")
    if size and parts:
        permit.uploads[key] = size
    return True


def continues(permit: Permit, message: Mapping[str, Any]) -> bool:
    """A part of an upload; together they never exceed what was announced."""
    key, content = message.get("transfer_uuid"), message.get("content")
    if key not in permit.uploads or not isinstance(content, bytes):
        return False
    permit.uploads[key] -= len(content)
    if permit.uploads[key] < 0:
        raise TooMuch("an upload that is longer than it said")
    if permit.uploads[key] == 0:
        del permit.uploads[key]
    return True


def count(x: Any) -> int:
    """A number of things; -1 for what is none."""
    return x if isinstance(x, int) and not isinstance(x, bool) else -1
