"""Access to the workbench: only with the token and from this machine."""

import socket
import sys
from pathlib import Path

import pytest


def test_the_address_opens_the_page(door):
    answer = door.ask(f"/{door.token}/")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/html")
    assert b"kinetree workbench" in answer.body


def test_localhost_is_this_machine_too(door):
    assert door.ask(f"/{door.token}/", host=f"localhost:{door.port}").status == 200


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/wrong/", "//", "/?token=", "/%2e", "http://127.0.0.1/"]
)
def test_without_the_token_nothing_is_served(door, path):
    answer = door.ask(path)
    assert answer.status == 403 and door.token.encode() not in answer.body


def test_a_token_that_is_nearly_right_is_wrong(door):
    for token in (door.token[:-1], door.token + "x", door.token.swapcase(), door.token[::-1]):
        assert door.ask(f"/{token}/").status == 403
        assert door.post(token=token).status == 403


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]"])
def test_a_foreign_host_is_refused(door, host):
    """A page whose name was made to point to this machine (DNS rebinding)."""
    assert door.ask(f"/{door.token}/", host=host).status == 403
    assert door.post(host=host).status == 403


def test_no_host_and_two_hosts_are_refused(door):
    assert door.ask(f"/{door.token}/", host=()).status in (400, 403)
    answer = door.ask(f"/{door.token}/", "Host: example.org")
    assert answer.status in (400, 403)


@pytest.mark.parametrize(
    "origin",
    ["http://example.org", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "null", "file://"],
)
def test_a_foreign_origin_is_refused(door, origin):
    origin = origin.format(port=door.port)
    assert door.ask(f"/{door.token}/", f"Origin: {origin}").status == 403
    assert door.post(origin=origin).status == 403


def test_a_request_without_an_origin_is_refused(door):
    """Every browser sends an Origin, so a request without one does not come from the page."""
    assert door.post(origin=None).status == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_page_is_refused(door, kind):
    """Forms may be sent to any address without asking first, but never as JSON."""
    assert door.post(kind=kind).status == 415


def test_the_names_of_this_machine_do_not_mix(door):
    """A page at localhost is another origin than one at 127.0.0.1."""
    answer = door.ask(f"/{door.token}/", f"Origin: http://localhost:{door.port}")
    assert answer.status == 403


def test_a_request_with_token_and_origin_is_answered(door):
    answer = door.post()
    assert answer.status == 200 and b"panda" in answer.body
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "rest",
    [
        "../../../../etc/passwd",
        "..%2f..%2fetc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..\\..\\windows\\win.ini",
        "index.html",
        ".",
        "/etc/passwd",
        "\x00",
    ],
)
def test_no_path_leads_to_a_file(door, rest):
    answer = door.ask(f"/{door.token}/{rest}")
    assert answer.status in (0, 400, 404) and b"root:" not in answer.body


def test_traversal_without_the_token_is_refused(door):
    assert door.ask("/../../etc/passwd").status == 403


def test_the_page_may_load_nothing_and_run_only_its_own_scripts(door):
    headers = door.ask(f"/{door.token}/").headers
    policy = dict(
        rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'" and policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy["script-src"] and policy["script-src"].count("sha256-") == 1
    assert "unsafe" not in policy["style-src"] and policy["connect-src"] == "'self'"
    assert headers["referrer-policy"] == "no-referrer"  # the token is in the address
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "HEAD", "x"])
def test_the_page_is_only_got(door, method):
    assert door.ask(f"/{door.token}/", method=method).status in (0, 400, 403, 404, 405, 501)


def test_a_refused_method_names_the_allowed_ones(door):
    answer = door.ask(f"/{door.token}/", method="PUT")
    assert answer.status == 405 and answer.headers["allow"] == "GET, POST"
    with door.connect() as wire:
        wire.settimeout(5)
        wire.sendall(door.request(f"/{door.token}/", method="HEAD"))
        data = b""
        while piece := wire.recv(65536):
            data += piece
    assert data.startswith(b"HTTP/1.1 405") and data.endswith(b"\r\n\r\n")  # no body


def test_garbage_does_not_end_the_server(door):
    for junk in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\x00" * 4096, b"A" * 70000):
        with door.connect() as wire:
            wire.settimeout(5)
            try:
                wire.sendall(junk)
                wire.shutdown(socket.SHUT_WR)
                while wire.recv(65536):
                    pass
            except TimeoutError:
                raise
            except OSError:  # closed by the server, perhaps before all of it was sent
                pass
    assert door.ask(f"/{door.token}/").status == 200


def test_only_the_loopback_listens(door):
    """No other address of this machine has the port open."""
    psutil = pytest.importorskip("psutil")
    listening = {
        x.laddr.ip
        for x in psutil.Process().net_connections("inet")
        if x.status == psutil.CONN_LISTEN and x.laddr.port == door.port
    }
    assert listening == {"127.0.0.1"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the kernel's own table")
def test_the_kernel_agrees_that_only_the_loopback_listens(door):
    rows = []
    for name in ("tcp", "tcp6"):
        table = Path("/proc/net") / name
        rows += table.read_text().splitlines()[1:] if table.exists() else []
    local = [row.split()[1] for row in rows if row.split()[3] == "0A"]
    ours = [address for address in local if int(address.rsplit(":", 1)[1], 16) == door.port]
    assert ours == [f"0100007F:{door.port:04X}"]


def test_every_workbench_has_a_token_of_its_own(workbench):
    guards = [type(workbench.guard)(1) for _ in range(100)]
    tokens = {guard.token for guard in guards}
    assert len(tokens) == 100 and all(len(token) >= 32 for token in tokens)
    assert guards[0].token not in repr(guards[0])
