"""The viewer's page, and the headers that limit what it may do in the browser."""

import base64
import gzip
import hashlib
import logging
import re
from dataclasses import dataclass
from pathlib import Path

from kinetree.errors import need

log = logging.getLogger(__name__)
SCRIPT = re.compile(rb"<script([^>]*)>(.*?)</script>", re.DOTALL)
PACKED = re.compile(rb'data-(p|ss|cs)="([^"]*)"')
# printable characters that stand for themselves inside an attribute, as the viewer packs its code
ALPHABET = bytes(c for c in range(0x21, 0x7F) if c not in b"\"&<>'`")


@dataclass(frozen=True)
class Page:
    """The page, compressed, and hashes of the scripts that it may run."""

    body: bytes
    scripts: tuple[str, ...]


def read_page() -> Page:
    """The page of the installed viewer, a single file with all of its code."""
    viser = need("viser", "view", "The workbench")
    html = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_bytes()
    html = html.replace(b"<title>Viser</title>", b"<title>kinetree workbench</title>")
    return Page(gzip.compress(html), script_hashes(html))


def script_hashes(html: bytes) -> tuple[str, ...]:
    """Hashes of the scripts of the page and of the script that its loader unpacks and runs.

    If the viewer is packed in an unknown way, all inline scripts are allowed: text of robot files
    is escaped in any case, and the policy is only a second line of defence.
    """
    loader = [(dict(PACKED.findall(tag)), text) for tag, text in SCRIPT.findall(html)]
    try:
        code = [unpacked(x[b"p"], int(x[b"ss"]), int(x[b"cs"])) for x, _ in loader]
    except (KeyError, ValueError, need("zstandard", "view", "The workbench").ZstdError):
        log.warning("The viewer's page is packed in an unknown way; its scripts are not pinned.")
        return ("'unsafe-inline'",)
    return tuple(digest(text) for text in (*(text for _, text in loader), *code))


def unpacked(text: bytes, styles: int, code: int) -> bytes:
    """Code in the loader's attribute: base 88, then Zstandard; the styles come first."""
    zstandard = need("zstandard", "view", "The workbench")
    data = zstandard.ZstdDecompressor().decompress(base_88(text), max_output_size=styles + code)
    return data[styles : styles + code]


def base_88(text: bytes) -> bytes:
    """Decode base 88: five characters are four bytes, the last group is shorter."""
    digit = {c: k for k, c in enumerate(ALPHABET)}
    out = bytearray()
    for start in range(0, len(text), 5):
        group = text[start : start + 5]
        value = 0
        for c in group:
            value = value * 88 + digit[c]
        out += value.to_bytes(len(group) - 1, "big")
    return bytes(out)


def digest(script: bytes) -> str:
    """Name of a script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def headers(page: Page, port: int) -> dict[str, str]:
    """Headers of the page: only its own scripts and connections, and not inside a foreign frame."""
    own = " ".join(f"ws://{host}:{port}" for host in ("127.0.0.1", "localhost"))
    policy = {
        "default-src": "'none'",
        "script-src": f"{' '.join(page.scripts)} 'wasm-unsafe-eval'",
        "style-src": "'unsafe-inline'",  # the viewer's components set their own styles
        "img-src": "data: blob:",
        "font-src": "data:",
        "connect-src": f"{own} data: blob:",
        "worker-src": "blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {what}" for name, what in policy.items()),
        "Content-Type": "text/html; charset=utf-8",
        "Content-Encoding": "gzip",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
