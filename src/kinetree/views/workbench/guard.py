"""Who may talk to the workbench: judged on every request, before anything of it is used."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

TOKEN_BYTES = 24  # 192 random bits: nobody guesses them within the life of a process


def new_token() -> str:
    """A fresh secret, safe in a path of an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@dataclass(frozen=True)
class Guard:
    """What a request must know and where it must come from.

    The token is the first part of the path. The viewer opens its websocket at the path of its
    page, so that one secret covers both, and unlike a cookie it never travels to another port.
    """

    port: int
    token: str = field(default_factory=new_token, repr=False)


@dataclass(frozen=True)
class Refusal:
    """Why a request is turned away; the words name no secret."""

    status: int
    reason: str


def address(guard: Guard) -> str:
    """The address to open in a browser."""
    return f"http://127.0.0.1:{guard.port}/{guard.token}/"


def judge(
    guard: Guard, path: str, hosts: Sequence[str], origins: Sequence[str], websocket: bool
) -> Refusal | None:
    """Whether a request is refused; None lets it in.

    Args:
        guard: the secret and the port.
        path: the request's target as it was sent, with its query.
        hosts: all Host headers. Another name than the loopback's is DNS rebinding: a foreign page
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
        return Refusal(404, "There is one page, and this is not it.")
    return None


def own_hosts(port: int) -> frozenset[str]:
    """Host headers of a browser that was sent to the loopback."""
    names = ("127.0.0.1", "localhost")
    plain = names if port == 80 else ()
    return frozenset((*plain, *(f"{name}:{port}" for name in names)))
