"""The guard of the workbench: which requests of a browser are let in.

Every request is judged by its head, before any part of its body is read.
"""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from kinetree.errors import InputError

TOKEN_BYTES = 24  # 192 random bits cannot be guessed within the life of a process
BODY_BYTES = 1 << 20
LARGE_BODIES = {"open": 96 << 20, "motion": 24 << 20, "save": 24 << 20, "record": 8 << 20}
JSON = "application/json"
TOKEN_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def new_token() -> str:
    """A fresh secret that can stand in the path of an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class Guard:
    """The port of the workbench, and the token that a request must have.

    The token is the first part of the path. Unlike a cookie it is never sent to another port, and
    the page reads it from its own address.
    """

    port: int
    token: str = field(default_factory=new_token, repr=False)

    def __post_init__(self) -> None:
        if not self.token or not TOKEN_LETTERS.issuperset(self.token):
            raise InputError(
                "the token of the workbench has other characters than letters, digits, - and _, or "
                "is empty. Leave it out to use a fresh one."
            )


@dataclass(frozen=True)
class Refusal:
    """HTTP status and reason of a refused request; the reason contains no secret."""

    status: int
    reason: str


@dataclass(frozen=True)
class Head:
    """The head of a request: its method, its target as it was sent, and all values of headers."""

    method: str
    path: str
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    sites: Sequence[str] = ()  # Sec-Fetch-Site, which no script can set
    types: Sequence[str] = ()
    lengths: Sequence[str] = ()
    codings: Sequence[str] = ()  # Transfer-Encoding


def address(guard: Guard) -> str:
    """The address to open in a browser."""
    return f"http://127.0.0.1:{guard.port}/{guard.token}/"


def judge(guard: Guard, head: Head) -> Refusal | None:
    """Judge a request by its head; None lets it in.

    A Host other than the loopback's is DNS rebinding: a foreign page that had its own name resolved
    to this machine. A browser sends an Origin with every request of a script that changes anything,
    so a POST without one does not come from the page.
    """
    if len(head.hosts) != 1 or head.hosts[0].lower() not in own_hosts(guard.port):
        return Refusal(403, "The Host header does not name this workbench.")
    asks = head.method == "POST"
    if len(head.origins) > 1 or (asks and not head.origins):
        return Refusal(403, "Exactly one Origin is expected.")
    if head.origins and head.origins[0].lower() != f"http://{head.hosts[0].lower()}":
        return Refusal(403, "The request comes from another page.")
    if asks and any(site != "same-origin" for site in head.sites):
        return Refusal(403, "The request comes from another page.")
    token, _, rest = head.path.partition("?")[0].removeprefix("/").partition("/")
    if not hmac.compare_digest(token.encode(), guard.token.encode()):
        return Refusal(403, "The address lacks the token that was printed at the start.")
    if head.method not in ("GET", "POST"):
        return Refusal(405, "The workbench answers GET and POST.")
    name = rest.removeprefix("api/") if asks else ""
    if (rest and not asks) or (asks and (not name.isidentifier() or rest == name)):
        return Refusal(404, "The workbench has a single page, at another address.")
    return judge_body(head, name)


def asked_name(head: Head) -> str:
    """The name of a request that was let in."""
    return head.path.partition("?")[0].rpartition("/")[2]


def judge_body(head: Head, name: str) -> Refusal | None:
    """Judge the announced body of a request: JSON of a stated length, not too long."""
    if head.codings or len(head.lengths) > 1:
        return Refusal(411, "A body must have one Content-Length.")
    announced = head.lengths[0] if head.lengths else "0"
    if not (announced.isascii() and announced.isdigit() and len(announced) < 12):
        return Refusal(400, "The Content-Length is not a number.")
    if head.method == "GET":
        return Refusal(413, "A GET has no body.") if int(announced) else None
    if not head.lengths:
        return Refusal(411, "A body must have one Content-Length.")
    # other types could be sent by a form of a foreign page without asking first
    if len(head.types) != 1 or head.types[0].partition(";")[0].strip().lower() != JSON:
        return Refusal(415, f"The body must be of the type {JSON}.")
    most = LARGE_BODIES.get(name, BODY_BYTES)
    if int(announced) > most:
        return Refusal(413, f"The request has {int(announced)} bytes; the limit is {most}.")
    return None


def own_hosts(port: int) -> frozenset[str]:
    """Host headers of a browser that was sent to the loopback."""
    names = ("127.0.0.1", "localhost")
    plain = names if port == 80 else ()
    return frozenset((*plain, *(f"{name}:{port}" for name in names)))
