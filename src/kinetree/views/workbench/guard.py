"""The guard of the workbench: which requests of a browser are let in.

Every request is judged by its head, before any part of its body is read.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from email.message import Message

from kinetree.errors import InputError

TOKEN_BYTES = 24  # 192 random bits cannot be guessed within the life of a process
BODY_BYTES = 1 << 20
LARGE_BODIES = {"open": 96 << 20, "motion": 24 << 20, "save": 24 << 20}
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


Refusal = tuple[int, str]  # HTTP status and reason of a refused request, without a secret


def address(guard: Guard) -> str:
    """The address to open in a browser."""
    return f"http://127.0.0.1:{guard.port}/{guard.token}/"


def values(headers: Message, name: str) -> list[str]:
    """All values of a header."""
    return [x.strip() for x in headers.get_all(name, ())]


def judge(guard: Guard, method: str, path: str, headers: Message) -> Refusal | None:
    """Judge a request by its head; None lets it in.

    A Host other than the loopback's is DNS rebinding: a foreign page that had its own name resolved
    to this machine. A browser sends an Origin with every request of a script that changes anything,
    so a POST without one does not come from the page. No script can set Sec-Fetch-Site.
    """
    hosts, origins = values(headers, "Host"), values(headers, "Origin")
    if len(hosts) != 1 or hosts[0].lower() not in own_hosts(guard.port):
        return 403, "The Host header does not name this workbench."
    asks = method == "POST"
    if len(origins) > 1 or (asks and not origins):
        return 403, "Exactly one Origin is expected."
    foreign = asks and any(x != "same-origin" for x in values(headers, "Sec-Fetch-Site"))
    if foreign or (origins and origins[0].lower() != f"http://{hosts[0].lower()}"):
        return 403, "The request comes from another page."
    token, _, rest = path.partition("?")[0].removeprefix("/").partition("/")
    if not hmac.compare_digest(token.encode(), guard.token.encode()):
        return 403, "The address lacks the token that was printed at the start."
    if method not in ("GET", "POST"):
        return 405, "The workbench answers GET and POST."
    name = rest.removeprefix("api/") if asks else ""
    if (rest and not asks) or (asks and (not name.isidentifier() or rest == name)):
        return 404, "The workbench has a single page, at another address."
    return judge_body(headers, name, asks)


def asked_name(path: str) -> str:
    """The name of a request that was let in."""
    return path.partition("?")[0].rpartition("/")[2]


def judge_body(headers: Message, name: str, asks: bool) -> Refusal | None:
    """Judge the announced body of a request: JSON of a stated length, not too long."""
    lengths, types = values(headers, "Content-Length"), values(headers, "Content-Type")
    if values(headers, "Transfer-Encoding") or len(lengths) > 1 or (asks and not lengths):
        return 411, "A body must have one Content-Length."
    announced = lengths[0] if lengths else "0"
    if not (announced.isascii() and announced.isdigit() and len(announced) < 12):
        return 400, "The Content-Length is not a number."
    if not asks:
        return (413, "A GET has no body.") if int(announced) else None
    # other types could be sent by a form of a foreign page without asking first
    if len(types) != 1 or types[0].partition(";")[0].strip().lower() != JSON:
        return 415, f"The body must be of the type {JSON}."
    most = LARGE_BODIES.get(name, BODY_BYTES)
    if int(announced) > most:
        return 413, f"The request has {int(announced)} bytes; the limit is {most}."
    return None


def own_hosts(port: int) -> frozenset[str]:
    """Host headers of a browser that was sent to the loopback."""
    names = ("127.0.0.1", "localhost")
    plain = names if port == 80 else ()
    return frozenset((*plain, *(f"{name}:{port}" for name in names)))
